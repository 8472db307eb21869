/* Loading: everything is checked first, then any run of any entry can be asked for, however it was
 * cut when it was saved. spec: CKPT-3, CKPT-4, CKPT-5, CKPT-8 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "../base/invariant.h"
#include "checkpoint_format.h"

/* One record, and where its values are. */
typedef struct record {
  int32_t entry, tp, ep, what;
  int64_t offset, count;
  int32_t file;
  int64_t at; /* of its first value in the file */
} record;

/* A data file at its checksum: unchanged if opening it again gives these. */
typedef struct contents {
  dev_t device;
  ino_t inode;
  off_t bytes;
  struct timespec written;
} contents;

struct zp_ckpt_reader {
  zp_ckpt_dir folder;
  char name[64]; /* of the folder below the named one; "": the named folder itself */
  zp_ckpt_manifest m;
  contents *checked; /* [m.n_files]; inode 0: not yet */
  int32_t *entry_of; /* [cfg->n_params] the saved entry that holds entry j's values */
  record *record;    /* sorted by (entry, tp, ep, what, offset) */
  int64_t n_records, cap_records;
  int fd; /* the file used last, or -1 */
  int32_t fd_file;
};

static int invariant(const zp_ckpt_reader *r, zp_error *err)
{
  ZP_INVARIANT(err, -1, r->n_records >= 0 && r->n_records <= r->cap_records);
  ZP_INVARIANT(err, -1, r->fd >= -1);
  ZP_INVARIANT(err, -1, r->fd < 0 || (r->fd_file >= 0 && r->fd_file < r->m.n_files));
  ZP_INVARIANT(err, -1, r->entry_of != NULL && r->checked != NULL);
  return ZP_OK;
}

static const char advice[] = "restore it from a copy or load another checkpoint (CKPT-4)";

/* ---- Records --------------------------------------------------------------------------------- */

static int by_position(const void *a, const void *b)
{
  const record *x = a, *y = b;
  if (x->entry != y->entry) return x->entry < y->entry ? -1 : 1;
  if (x->tp != y->tp) return x->tp < y->tp ? -1 : 1;
  if (x->ep != y->ep) return x->ep < y->ep ? -1 : 1;
  if (x->what != y->what) return x->what < y->what ? -1 : 1;
  return (x->offset > y->offset) - (x->offset < y->offset);
}

static int same_key(const record *a, const record *b)
{
  return a->entry == b->entry && a->tp == b->tp && a->ep == b->ep && a->what == b->what;
}

/* Are the record's fields ones that a save can have made? */
static int plausible(const zp_ckpt_manifest *m, const record *k, int64_t left)
{
  if (k->entry < 0 || k->entry >= m->n_entries) return 0;
  const zp_ckpt_entry *e = &m->entry[k->entry];
  const int state = k->what >= ZP_WHAT_MASTER && k->what <= ZP_WHAT_MOMENT2;
  if (e->home != k->entry || k->tp < 0 || k->tp >= e->tp || k->ep < 0 || k->ep >= e->ep) return 0;
  if (e->frozen ? k->what != ZP_WHAT_PARAMETER : !state) return 0;
  if (k->offset < 0 || k->count < 1 || k->count > e->numel || k->offset > e->numel - k->count)
    return 0;
  return k->count <= left / 4;
}

static int add_record(zp_ckpt_reader *r, record k)
{
  if (r->n_records == r->cap_records) {
    const int64_t cap = 2 * r->cap_records + 256;
    record *p = realloc(r->record, (size_t)cap * sizeof *p);
    if (!p) return -1;
    r->record = p;
    r->cap_records = cap;
  }
  r->record[r->n_records++] = k;
  return 0;
}

static int read_at(int fd, void *to, int64_t n, int64_t at)
{
  char *p = to;
  while (n > 0) {
    const ssize_t k = pread(fd, p, (size_t)n, (off_t)at);
    if (k < 0 && errno == EINTR) continue;
    if (k <= 0) return -1;
    p += k;
    at += k;
    n -= k;
  }
  return 0;
}

static int changed(const zp_ckpt_reader *r, int32_t f, zp_error *err)
{
  return zp_fail(err, ZP_E_FILE, -1, "%s/%s changed while it was being loaded", r->folder.path,
                 r->m.file[f].name);
}

static int same_contents(const contents *a, const contents *b)
{
  return a->device == b->device && a->inode == b->inode && a->bytes == b->bytes &&
         a->written.tv_sec == b->written.tv_sec && a->written.tv_nsec == b->written.tv_nsec;
}

/* Makes file f the open one: every time the same file, since its checksum is taken once. CKPT-8 */
static int use_file(zp_ckpt_reader *r, int32_t f, zp_error *err)
{
  int64_t bytes;
  struct stat s;
  if (r->fd >= 0 && r->fd_file == f) return 0;
  if (r->fd >= 0) close(r->fd);
  r->fd = zp_ckpt_open_regular(&r->folder, r->m.file[f].name, &bytes, err);
  r->fd_file = f;
  if (r->fd < 0) return err->status;
  if (fstat(r->fd, &s)) return zp_ckpt_errno(err, "read", r->folder.path, r->m.file[f].name);
  const contents now = {s.st_dev, s.st_ino, s.st_size, s.st_mtim};
  if (r->checked[f].inode == 0) r->checked[f] = now;
  return same_contents(&r->checked[f], &now) ? 0 : changed(r, f, err);
}

/* Walks through the records of file f, which is open and has the right checksum. */
static int index_file(zp_ckpt_reader *r, int32_t f, zp_error *err)
{
  const zp_ckpt_file *file = &r->m.file[f];
  unsigned char head[ZP_CKPT_RECORD];
  int64_t at = ZP_CKPT_HEAD;
  if (read_at(r->fd, head, ZP_CKPT_HEAD, 0))
    return zp_ckpt_errno(err, "read", r->folder.path, file->name);
  if (memcmp(head, ZP_CKPT_MAGIC, 8) != 0 ||
      (int64_t)zp_ckpt_get_le(head + 8, 8) != strtoll(file->name + 5, NULL, 10))
    goto foreign;
  while (at < file->bytes) {
    if (file->bytes - at < ZP_CKPT_RECORD) goto foreign;
    if (read_at(r->fd, head, ZP_CKPT_RECORD, at))
      return zp_ckpt_errno(err, "read", r->folder.path, file->name);
    at += ZP_CKPT_RECORD;
    const record k = {(int32_t)zp_ckpt_get_le(head, 4),
                      (int32_t)zp_ckpt_get_le(head + 4, 4),
                      (int32_t)zp_ckpt_get_le(head + 8, 4),
                      (int32_t)zp_ckpt_get_le(head + 12, 4),
                      (int64_t)zp_ckpt_get_le(head + 16, 8),
                      (int64_t)zp_ckpt_get_le(head + 24, 8),
                      f,
                      at};
    if (!plausible(&r->m, &k, file->bytes - at)) goto foreign;
    if (add_record(r, k))
      return zp_fail(err, ZP_E_MEMORY, -1, "no memory for the checkpoint's index");
    at += 4 * k.count;
  }
  return 0;
foreign:
  return zp_fail(err, ZP_E_FILE, -1,
                 "%s/%s has something at byte %lld that is no record of this "
                 "checkpoint: %s",
                 r->folder.path, file->name, (long long)at, advice);
}

/* All data files: length, checksum, records. CKPT-4 */
static int index_all(zp_ckpt_reader *r, zp_error *err)
{
  char hex[ZP_CKPT_HEX];
  for (int32_t f = 0; f < r->m.n_files; f++) {
    const zp_ckpt_file *file = &r->m.file[f];
    if (use_file(r, f, err) || zp_ckpt_hash_file(&r->folder, file->name, r->fd, r->checked[f].bytes,
                                                 file->bytes, hex, err))
      return err->status;
    if (strcmp(hex, file->checksum) != 0)
      return zp_fail(err, ZP_E_FILE, -1, "%s/%s is damaged: its checksum is %s instead of %s; %s",
                     r->folder.path, file->name, hex, file->checksum, advice);
    if (index_file(r, f, err)) return err->status;
  }
  if (r->n_records > 0) qsort(r->record, (size_t)r->n_records, sizeof *r->record, by_position);
  return 0;
}

/* The records from *i on cover all of the key's elements; *i moves behind them. */
static int covers(const zp_ckpt_reader *r, const record *key, int64_t numel, int64_t *i)
{
  int64_t end = 0;
  for (; *i < r->n_records && same_key(&r->record[*i], key); (*i)++) {
    const record *k = &r->record[*i];
    if (k->offset > end) return 0;
    if (k->offset + k->count > end) end = k->offset + k->count;
  }
  return end == numel;
}

/* Every element of every state of every copy is there. CKPT-1 */
static int check_coverage(const zp_ckpt_reader *r, zp_error *err)
{
  int64_t i = 0;
  for (int32_t j = 0; j < r->m.n_entries; j++) {
    const zp_ckpt_entry *e = &r->m.entry[j];
    if (e->home != j || e->numel == 0) continue;
    for (int64_t copy = 0; copy < (int64_t)e->tp * e->ep; copy++) {
      const int32_t first = e->frozen ? ZP_WHAT_PARAMETER : ZP_WHAT_MASTER;
      const int32_t last = e->frozen ? ZP_WHAT_PARAMETER : ZP_WHAT_MOMENT2;
      for (int32_t what = first; what <= last; what++) {
        const record key = {
            .entry = j, .tp = (int32_t)(copy / e->ep), .ep = (int32_t)(copy % e->ep), .what = what};
        if (covers(r, &key, e->numel, &i)) continue;
        return zp_fail(err, ZP_E_FILE, -1,
                       "the checkpoint %s lacks elements of entry '%s' (%s, tp "
                       "%d, ep %d): %s",
                       r->folder.path, e->name, zp_what_name(what), key.tp, key.ep, advice);
      }
    }
  }
  return 0;
}

/* ---- The model ------------------------------------------------------------------------------- */

static int refuse_entry(const zp_ckpt_reader *r, const char *name, const char *field, int64_t saved,
                        int64_t wanted, zp_error *err)
{
  return zp_fail(err, ZP_E_REFUSED, -1,
                 "the checkpoint %s does not fit the model: entry '%s' has %s %lld there and %lld "
                 "here; use the model that was saved (CKPT-3)",
                 r->folder.path, name, field, (long long)saved, (long long)wanted);
}

/* Entry j of the model against what was saved under its name. */
static int match(const zp_ckpt_reader *r, const zp_config *cfg, int32_t j, const zp_ckpt_entry *e,
                 zp_error *err)
{
  const zp_param *p = &cfg->params[j];
  const struct {
    const char *field;
    int64_t saved, wanted;
  } pair[6] = {{"numel", e->numel, p->numel},           {"sharded", e->sharded, p->sharded != 0},
               {"expert", e->expert, p->expert != 0},   {"frozen", e->frozen, p->frozen != 0},
               {"tp", e->tp, p->sharded ? cfg->tp : 1}, {"ep", e->ep, p->expert ? cfg->ep : 1}};
  for (int32_t i = 0; i < 6; i++)
    if (pair[i].saved != pair[i].wanted)
      return refuse_entry(r, e->name, pair[i].field, pair[i].saved, pair[i].wanted, err);
  return 0;
}

/* Places of the saved names; NULL after *err. */
static json_t *name_table(const zp_ckpt_reader *r, zp_error *err)
{
  json_t *table = json_object();
  for (int32_t j = 0; table && j < r->m.n_entries; j++) {
    const char *name = r->m.entry[j].name;
    if (json_object_get(table, name)) {
      zp_fail(err, ZP_E_FILE, -1, "the checkpoint %s has two entries '%s'", r->folder.path, name);
      json_decref(table);
      return NULL;
    }
    if (json_object_set_new(table, name, json_integer(j))) {
      json_decref(table);
      table = NULL;
    }
  }
  if (!table) zp_fail(err, ZP_E_MEMORY, -1, "no memory for the checkpoint's names");
  return table;
}

/* Finds each entry of the model among the saved ones. CKPT-3 */
static int match_model(zp_ckpt_reader *r, const zp_ckpt_model *model, zp_error *err)
{
  const zp_config *cfg = model->cfg;
  char buffer[ZP_CKPT_NAME];
  int status = 0;
  if (cfg->n_params != r->m.n_entries)
    return zp_fail(err, ZP_E_REFUSED, -1,
                   "the checkpoint %s has %d entries and the model has %d: "
                   "use the model that was saved (CKPT-3)",
                   r->folder.path, r->m.n_entries, cfg->n_params);
  if (cfg->optgroups != r->m.state.groups)
    return zp_fail(err, ZP_E_REFUSED, -1,
                   "the checkpoint %s has %d optimizer groups and the "
                   "configuration has %d (CKPT-3)",
                   r->folder.path, r->m.state.groups, cfg->optgroups);
  json_t *table = name_table(r, err);
  if (!table) return err->status;
  r->entry_of = calloc((size_t)cfg->n_params + 1, sizeof *r->entry_of);
  if (!r->entry_of) status = zp_fail(err, ZP_E_MEMORY, -1, "no memory for the checkpoint's names");
  for (int32_t j = 0; j < cfg->n_params && !status; j++) {
    const char *name = zp_ckpt_name(model, j, buffer);
    const json_t *place = json_object_get(table, name);
    const int32_t home = zp_ckpt_home(cfg, j);
    if (!place)
      status = zp_fail(err, ZP_E_REFUSED, -1,
                       "the checkpoint %s has no entry '%s': use the model "
                       "that was saved (CKPT-3)",
                       r->folder.path, name);
    else {
      const int32_t saved = (int32_t)json_integer_value(place);
      status = match(r, cfg, j, &r->m.entry[saved], err);
      r->entry_of[j] = r->m.entry[saved].home;
      /* the same entries share storage: this one and its home have one home there, too */
      if (!status &&
          (r->entry_of[home] != r->entry_of[j] || (home == j) != (r->m.entry[saved].home == saved)))
        status = refuse_entry(r, name, "tied", saved != r->m.entry[saved].home, home != j, err);
    }
  }
  json_decref(table);
  return status;
}

/* ---- The store ------------------------------------------------------------------------------- */

/* The last record of the key that begins at or before `offset`; or -1. */
static int64_t find(const zp_ckpt_reader *r, const record *key)
{
  int64_t lo = 0, hi = r->n_records;
  while (lo < hi) {
    const int64_t mid = lo + (hi - lo) / 2;
    if (by_position(&r->record[mid], key) <= 0) lo = mid + 1;
    else hi = mid;
  }
  return lo > 0 && same_key(&r->record[lo - 1], key) ? lo - 1 : -1;
}

static int get_run(zp_ckpt_reader *r, int32_t param, int32_t tp, int32_t ep, int32_t what,
                   int64_t offset, int64_t count, float *value, zp_error *err)
{
  record key = {.entry = r->entry_of[param], .tp = tp, .ep = ep, .what = what, .offset = offset};
  while (count > 0) {
    int64_t i = find(r, &key);
    /* records may overlap: an earlier, longer one may reach further than the nearest */
    while (i >= 0 && same_key(&r->record[i], &key) &&
           r->record[i].offset + r->record[i].count <= key.offset)
      i--;
    if (i < 0 || !same_key(&r->record[i], &key))
      return zp_fail(err, ZP_E_FILE, -1,
                     "the checkpoint %s has no %s of entry '%s' (tp %d, ep %d) "
                     "at element %lld (CKPT-1)",
                     r->folder.path, zp_what_name(what), r->m.entry[key.entry].name, tp, ep,
                     (long long)key.offset);
    const record *k = &r->record[i];
    const int64_t skip = key.offset - k->offset;
    const int64_t n = k->count - skip < count ? k->count - skip : count;
    if (use_file(r, k->file, err)) return err->status;
    if (read_at(r->fd, value, 4 * n, k->at + 4 * skip)) return changed(r, k->file, err);
    zp_ckpt_swap_f32(value, value, n);
    value += n;
    key.offset += n;
    count -= n;
  }
  return 0;
}

static int get(void *ctx, int32_t param, int32_t tp, int32_t ep, int32_t what, int64_t offset,
               int64_t count, float *value, zp_error *err)
{
  zp_ckpt_reader *r = ctx;
  if (invariant(r, err) || get_run(r, param, tp, ep, what, offset, count, value, err))
    return err->status;
  return invariant(r, err);
}

static int state(void *ctx, zp_train_state *out, zp_error *err)
{
  const zp_ckpt_reader *r = ctx;
  if (invariant(r, err)) return err->status;
  if (out->groups != r->m.state.groups)
    return zp_fail(err, ZP_E_REFUSED, -1, "the checkpoint %s has %d optimizer groups, not %d",
                   r->folder.path, r->m.state.groups, out->groups);
  out->step = r->m.state.step;
  out->scaler = r->m.state.scaler;
  for (int32_t g = 0; g < out->groups; g++) out->optim[g] = r->m.state.optim[g];
  return invariant(r, err);
}

/* ---- Open and close -------------------------------------------------------------------------- */

/* The checkpoint in the open folder `dir` that LATEST names, its name and its manifest. */
static int find_latest(const zp_ckpt_dir *dir, zp_ckpt_dir *folder, char name[64],
                       zp_ckpt_manifest *m, zp_error *err)
{
  zp_ckpt_latest latest = {0};
  int status = zp_ckpt_latest_read(dir, &latest, err);
  if (status < 0) return status;
  if (status == 0)
    return zp_fail(err, ZP_E_FILE, -1,
                   "%s holds no checkpoint: there is no LATEST and no "
                   "manifest.json in it; name the folder that was given to the save",
                   dir->path);
  memcpy(name, latest.current, sizeof latest.current);
  status = zp_ckpt_dir_open_in(folder, dir, latest.current, err);
  if (!status) status = zp_ckpt_manifest_read(folder, m, err);
  if (!status && strcmp(m->checksum, latest.checksum) != 0) {
    status = zp_fail(err, ZP_E_FILE, -1,
                     "%s/manifest.json is not the one that %s/LATEST names: it "
                     "belongs to another checkpoint (CKPT-4)",
                     folder->path, dir->path);
    zp_ckpt_manifest_free(m);
  }
  if (status && latest.previous[0])
    zp_error_append(err, "; the previous checkpoint is %s/%s", dir->path, latest.previous);
  return status;
}

/* The folder that dir means, its name below dir ("" for dir itself) and its manifest. After an
 * error the caller still closes *folder. */
static int find_folder(const char *dir, zp_ckpt_dir *folder, char name[64], zp_ckpt_manifest *m,
                       zp_error *err)
{
  zp_ckpt_dir above;
  folder->fd = -1;
  name[0] = 0;
  if (access(dir, F_OK) && errno == ENOENT)
    return zp_fail(err, ZP_E_FILE, -1,
                   "%s holds no checkpoint: there is no such folder; name the folder that was "
                   "given to the save",
                   dir);
  int status = zp_ckpt_dir_open(folder, dir, err);
  if (status) return status;
  if (faccessat(folder->fd, "manifest.json", F_OK, AT_SYMLINK_NOFOLLOW) == 0)
    return zp_ckpt_manifest_read(folder, m, err);
  above = *folder;
  folder->fd = -1;
  status = find_latest(&above, folder, name, m, err);
  zp_ckpt_dir_close(&above);
  return status;
}

/* Opens the folder that rank 0 has found. 0 if the checkpoint is there, and the same; otherwise
 * nothing is open. CKPT-8 */
static int open_first(zp_ckpt_reader *r, const char *dir, const zp_ckpt_id *first)
{
  zp_error ignored = {0};
  zp_ckpt_dir above;
  int other = -1;
  if (first->folder[0] && !zp_ckpt_is_folder(first->folder)) return -1;
  if (zp_ckpt_dir_open(&above, dir, &ignored)) return -1;
  if (first->folder[0]) (void)zp_ckpt_dir_open_in(&r->folder, &above, first->folder, &ignored);
  else r->folder = above;
  if (first->folder[0]) zp_ckpt_dir_close(&above);
  if (r->folder.fd >= 0 && zp_ckpt_manifest_read(&r->folder, &r->m, &ignored) == 0) {
    other = strcmp(r->m.checksum, first->checksum);
    if (other) zp_ckpt_manifest_free(&r->m);
  }
  if (other) zp_ckpt_dir_close(&r->folder);
  memcpy(r->name, first->folder, sizeof r->name);
  return other;
}

/* Another rank than 0 has found no checkpoint, or another one than rank 0. CKPT-8 */
static int fail_other(const zp_ckpt_reader *r, int32_t rank, const zp_ckpt_id *first, zp_error *err)
{
  if (err->status) {
    zp_error_append(err, "; rank 0 loads step %lld (checksum %s)", (long long)first->step,
                    first->checksum);
    return err->status;
  }
  return zp_fail(err, ZP_E_MISMATCH, rank,
                 "rank %d finds another checkpoint than rank 0: step %lld (checksum %s) here, step "
                 "%lld (checksum %s) on rank 0. All ranks must see one folder, and no other job "
                 "may save to it while they load. Here it is %s, on rank 0 %s (CKPT-8)",
                 rank, (long long)r->m.state.step, r->m.checksum, (long long)first->step,
                 first->checksum, r->folder.path,
                 first->folder[0] ? first->folder : "the named folder itself");
}

/* The folder and the manifest. */
static int find_checkpoint(zp_ckpt_reader *r, const char *dir, int32_t rank,
                           const zp_ckpt_id *first, zp_error *err)
{
  if (first && open_first(r, dir, first) == 0) return 0;
  if (find_folder(dir, &r->folder, r->name, &r->m, err))
    return first ? fail_other(r, rank, first, err) : err->status;
  return first && strcmp(r->m.checksum, first->checksum) ? fail_other(r, rank, first, err) : 0;
}

int zp_ckpt_reader_find(zp_ckpt_reader **out, const char *dir, int32_t rank,
                        const zp_ckpt_id *first, zp_error *err)
{
  zp_ckpt_reader *r = calloc(1, sizeof *r);
  if (!r) return zp_fail(err, ZP_E_MEMORY, rank, "no memory to load a checkpoint");
  r->fd = r->folder.fd = -1;
  if (find_checkpoint(r, dir, rank, first, err) == 0) {
    r->checked = calloc((size_t)r->m.n_files + 1, sizeof *r->checked);
    if (!r->checked) zp_fail(err, ZP_E_MEMORY, rank, "no memory to load a checkpoint");
  }
  if (err->status) zp_ckpt_reader_close(r);
  else *out = r;
  return err->status;
}

int zp_ckpt_reader_check(zp_ckpt_reader *r, zp_ckpt_model model, zp_store *store, zp_error *err)
{
  if (match_model(r, &model, err) || index_all(r, err) || check_coverage(r, err) ||
      invariant(r, err))
    return err->status;
  *store = (zp_store){.ctx = r, .get = get, .state = state};
  return 0;
}

int zp_ckpt_reader_open(zp_ckpt_reader **out, const char *dir, zp_ckpt_model model, zp_store *store,
                        zp_error *err)
{
  zp_ckpt_reader *r = NULL;
  if (zp_ckpt_reader_find(&r, dir, -1, NULL, err)) return err->status;
  if (zp_ckpt_reader_check(r, model, store, err)) zp_ckpt_reader_close(r);
  else *out = r;
  return err->status;
}

zp_ckpt_id zp_ckpt_reader_id(const zp_ckpt_reader *r)
{
  zp_ckpt_id id;
  memset(&id, 0, sizeof id); /* all of it is exchanged */
  id.step = r->m.state.step;
  memcpy(id.folder, r->name, sizeof r->name);
  memcpy(id.checksum, r->m.checksum, sizeof r->m.checksum);
  return id;
}

zp_ckpt_folder zp_ckpt_reader_folder(const zp_ckpt_reader *r)
{
  return zp_ckpt_dir_folder(&r->folder);
}

const char *zp_ckpt_reader_workload(const zp_ckpt_reader *r)
{
  return r->m.workload;
}

void zp_ckpt_reader_close(zp_ckpt_reader *r)
{
  if (!r) return;
  if (r->fd >= 0) close(r->fd);
  zp_ckpt_dir_close(&r->folder);
  zp_ckpt_manifest_free(&r->m);
  free(r->checked);
  free(r->entry_of);
  free(r->record);
  free(r);
}

int zp_ckpt_peek(const char *dir, int64_t *step, char **workload, zp_error *err)
{
  zp_ckpt_dir folder;
  zp_ckpt_manifest m;
  char name[64];
  const int status = find_folder(dir, &folder, name, &m, err);
  zp_ckpt_dir_close(&folder);
  if (status) return status;
  char *words = strdup(m.workload);
  if (words) {
    *step = m.state.step;
    *workload = words;
  }
  zp_ckpt_manifest_free(&m);
  return words ? 0 : zp_fail(err, ZP_E_MEMORY, -1, "no memory to load a checkpoint");
}
