/* Saving. Order of what reaches the disk: each rank's data, then what it says of them; on rank 0
 * the manifest, the folder's name, LATEST. Nothing that LATEST names is touched before LATEST names
 * something newer. spec: CKPT-1, CKPT-2 */
#define _GNU_SOURCE
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <xxhash.h>

#include "../base/invariant.h"
#include "checkpoint_format.h"

enum { BUFFER = 1 << 16 };

struct zp_ckpt_writer {
  zp_ckpt_model model;
  zp_ckpt_dir dir, folder; /* folder: DIR/step-N.tmp */
  char data[32], note[32]; /* rank-R.bin, rank-R.json */
  int lock;                /* of this rank's part, or -1 */
  char *workload;
  zp_ckpt_save save; /* without the workload, which is copied */
  int32_t world;
  int32_t *home; /* [n_params] */
  int fd;        /* of data, or -1 */
  int64_t bytes; /* written or buffered */
  size_t used;
  unsigned char buffer[BUFFER];
  XXH3_state_t *hash;
  void (*watch)(void *ctx, const char *what);
  void *watch_ctx;
};

static int invariant(const zp_ckpt_writer *w, zp_error *err)
{
  ZP_INVARIANT(err, w->save.rank,
               w->save.rank >= 0 && w->save.rank < w->world && w->save.step >= 0);
  ZP_INVARIANT(err, w->save.rank, w->used <= BUFFER && w->bytes >= (int64_t)w->used);
  ZP_INVARIANT(err, w->save.rank,
               w->fd >= -1 && (w->fd >= 0 || w->used == 0 || err->status != ZP_OK));
  return ZP_OK;
}

/* The name of the folder in which the save is prepared. */
static void folder_name(const zp_ckpt_writer *w, char name[64])
{
  snprintf(name, 64, "step-%lld.tmp", (long long)w->save.step);
}

/* The random word of this save: the notes of an interrupted one have another. CKPT-9 */
static void word_text(const zp_ckpt_writer *w, char text[17])
{
  snprintf(text, 17, "%016" PRIx64, w->save.word);
}

static void watched(const zp_ckpt_writer *w, const char *what)
{
  if (w->watch) w->watch(w->watch_ctx, what);
}

void zp_ckpt_writer_watch(zp_ckpt_writer *w, void (*at)(void *ctx, const char *what), void *ctx)
{
  w->watch = at;
  w->watch_ctx = ctx;
}

/* ---- This rank's data ------------------------------------------------------------------------ */

static int flush(zp_ckpt_writer *w, zp_error *err)
{
  size_t at = 0;
  watched(w, "data");
  while (at < w->used) {
    const ssize_t n = write(w->fd, w->buffer + at, w->used - at);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return zp_ckpt_errno(err, "write", w->folder.path, w->data);
    at += (size_t)n;
  }
  w->used = 0;
  return 0;
}

static int append(zp_ckpt_writer *w, const void *data, size_t n, zp_error *err)
{
  const unsigned char *from = data;
  XXH3_128bits_update(w->hash, data, n);
  w->bytes += (int64_t)n;
  while (n > 0) {
    const size_t k = n < BUFFER - w->used ? n : BUFFER - w->used;
    memcpy(w->buffer + w->used, from, k);
    w->used += k;
    from += k;
    n -= k;
    if (w->used == BUFFER && flush(w, err)) return err->status;
  }
  return 0;
}

/* The file begins with who wrote it, so that files that changed places are noticed. */
static int begin_data(zp_ckpt_writer *w, zp_error *err)
{
  unsigned char head[ZP_CKPT_HEAD];
  watched(w, "create data");
  w->fd = zp_ckpt_create(&w->folder, w->data, err);
  if (w->fd < 0) return err->status;
  XXH3_128bits_reset(w->hash);
  memcpy(head, ZP_CKPT_MAGIC, 8);
  zp_ckpt_put_le(head + 8, (uint64_t)w->save.rank, 8);
  return append(w, head, sizeof head, err);
}

static int put_run(zp_ckpt_writer *w, int32_t param, int32_t tp, int32_t ep, int32_t what,
                   int64_t offset, int64_t count, const float *value, zp_error *err)
{
  enum { VALUES = 4096 };
  unsigned char head[ZP_CKPT_RECORD], block[4 * VALUES];
  if (count == 0) return 0;
  if (w->fd < 0 && begin_data(w, err)) return err->status;
  zp_ckpt_put_le(head, (uint64_t)w->home[param], 4);
  zp_ckpt_put_le(head + 4, (uint64_t)tp, 4);
  zp_ckpt_put_le(head + 8, (uint64_t)ep, 4);
  zp_ckpt_put_le(head + 12, (uint64_t)what, 4);
  zp_ckpt_put_le(head + 16, (uint64_t)offset, 8);
  zp_ckpt_put_le(head + 24, (uint64_t)count, 8);
  if (append(w, head, sizeof head, err)) return err->status;
  for (int64_t at = 0; at < count; at += VALUES) {
    const int64_t n = count - at < VALUES ? count - at : VALUES;
    zp_ckpt_swap_f32(block, value + at, n);
    if (append(w, block, (size_t)n * 4, err)) return err->status;
  }
  return 0;
}

/* Ends the data file; its entry for the manifest, null when this rank wrote nothing. */
static json_t *end_data(zp_ckpt_writer *w, zp_error *err)
{
  char hex[ZP_CKPT_HEX];
  int bad;
  if (w->fd < 0) return json_null();
  if (flush(w, err)) return NULL;
  watched(w, "sync data");
  bad = fsync(w->fd);
  if (bad) zp_ckpt_errno(err, "write", w->folder.path, w->data);
  if (close(w->fd) && !bad) bad = zp_ckpt_errno(err, "write", w->folder.path, w->data);
  w->fd = -1;
  if (bad) return NULL;
  const XXH128_hash_t h = XXH3_128bits_digest(w->hash);
  zp_ckpt_hex(h.high64, h.low64, hex);
  return json_pack("{s:s, s:I, s:s}", "name", w->data, "bytes", (json_int_t)w->bytes, "xxh3_128",
                   hex);
}

/* Data on disk first, then the note that says so. CKPT-2 */
static int end_rank(zp_ckpt_writer *w, const zp_train_state *state, zp_error *err)
{
  if (state->step != w->save.step)
    return zp_fail(err, ZP_E_REFUSED, w->save.rank,
                   "rank %d is at step %lld but the checkpoint was opened for step %lld",
                   w->save.rank, (long long)state->step, (long long)w->save.step);
  json_t *file = end_data(w, err);
  char word[17];
  if (!file)
    return err->status ? err->status : zp_fail(err, ZP_E_MEMORY, w->save.rank, "no memory");
  word_text(w, word);
  json_t *note = json_pack("{s:s, s:i, s:i, s:o, s:o}", "save", word, "rank", w->save.rank, "world",
                           w->world, "state", zp_ckpt_state_json(state), "file", file);
  char *text = note ? json_dumps(note, JSON_INDENT(1)) : NULL;
  json_decref(note);
  if (!text) return zp_fail(err, ZP_E_MEMORY, w->save.rank, "no memory to describe the checkpoint");
  watched(w, "note");
  int status = zp_ckpt_write_file(&w->folder, w->note, text, strlen(text), err);
  free(text);
  watched(w, "sync folder");
  return status ? status : zp_ckpt_sync_dir(&w->folder, err);
}

/* ---- Publication ----------------------------------------------------------------------------- */

/* Has this job's rank r written the note, into this folder? CKPT-9 */
static int check_note(const zp_ckpt_writer *w, int32_t r, const char *name, const json_t *note,
                      zp_error *err)
{
  const char *word = json_string_value(json_object_get(note, "save"));
  char mine[17];
  word_text(w, mine);
  if (!word || strcmp(word, mine) != 0)
    return zp_fail(err, ZP_E_FILE, r,
                   "%s/%s was left by another save, which was interrupted: rank %d of this job "
                   "saves to another folder; all machines must see one file system at %s (CKPT-9)",
                   w->folder.path, name, r, w->dir.path);
  if (json_integer_value(json_object_get(note, "rank")) == r &&
      json_integer_value(json_object_get(note, "world")) == w->world)
    return 0;
  return zp_fail(err, ZP_E_FILE, r, "%s/%s is not what rank %d wrote: is another job saving to %s?",
                 w->folder.path, name, r, w->dir.path);
}

/* Rank r's note; NULL after *err. */
static json_t *read_note(const zp_ckpt_writer *w, int32_t r, zp_error *err)
{
  char name[32];
  int64_t n = 0;
  snprintf(name, sizeof name, "rank-%d.json", r);
  char *text = zp_ckpt_read_file(&w->folder, name, ZP_CKPT_TEXT_MAX, &n, err);
  if (!text) {
    zp_error_append(err,
                    "; rank %d's part of the checkpoint is not there: all machines must see "
                    "one file system at %s",
                    r, w->dir.path);
    return NULL;
  }
  json_t *note = json_loadb(text, (size_t)n, JSON_REJECT_DUPLICATES, NULL);
  free(text);
  if (check_note(w, r, name, note, err) == 0) return note;
  json_decref(note);
  return NULL;
}

/* Rank r's data file is there and as long as its note says. */
static int check_data(const zp_ckpt_writer *w, int32_t r, const json_t *file, zp_error *err)
{
  char expected[32];
  struct stat s;
  const char *name = json_string_value(json_object_get(file, "name"));
  if (json_is_null(file)) return 0;
  snprintf(expected, sizeof expected, "rank-%d.bin", r);
  if (!name || strcmp(name, expected) != 0)
    return zp_fail(err, ZP_E_FILE, r, "the note of rank %d in %s does not name %s", r,
                   w->folder.path, expected);
  if (fstatat(w->folder.fd, name, &s, AT_SYMLINK_NOFOLLOW))
    return zp_ckpt_errno(err, "find", w->folder.path, name);
  if (S_ISREG(s.st_mode) && s.st_size == json_integer_value(json_object_get(file, "bytes")))
    return 0;
  return zp_fail(err, ZP_E_FILE, -1,
                 "%s/%s has not the length that was written: is another job "
                 "saving to %s?",
                 w->folder.path, name, w->dir.path);
}

/* Collects all ranks' files; *state becomes rank 0's, which all others must equal. */
static int collect(const zp_ckpt_writer *w, json_t *files, json_t **state, zp_error *err)
{
  for (int32_t r = 0; r < w->world; r++) {
    json_t *note = read_note(w, r, err);
    if (!note) return err->status;
    json_t *file = json_object_get(note, "file"), *its = json_object_get(note, "state");
    if (!*state) *state = json_incref(its);
    if (!json_equal(*state, its))
      zp_fail(err, ZP_E_FILE, r,
              "rank %d would save another step, scaler or optimizer state than "
              "rank 0 (CKPT-1)",
              r);
    else if (check_data(w, r, file, err) == 0 && !json_is_null(file))
      json_array_append(files, file);
    json_decref(note);
    if (err->status) return err->status;
  }
  return 0;
}

static int write_manifest(const zp_ckpt_writer *w, char checksum[ZP_CKPT_HEX], zp_error *err)
{
  json_t *files = json_array(), *state = NULL;
  char *text = NULL;
  int status = collect(w, files, &state, err);
  if (!status) {
    text = zp_ckpt_manifest_text(&w->model, state, w->workload, files, checksum);
    watched(w, "manifest");
    status = text ? zp_ckpt_write_file(&w->folder, "manifest.json", text, strlen(text), err)
                  : zp_fail(err, ZP_E_MEMORY, 0,
                            "the manifest cannot be written: no memory, or a "
                            "name or the workload's words are not UTF-8");
  }
  free(text);
  json_decref(files);
  json_decref(state);
  return status;
}

/* The names in a folder; NULL if it cannot be listed. The caller closes it. */
static DIR *open_list(const zp_ckpt_dir *d)
{
  const int fd = openat(d->fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  DIR *names = fd >= 0 ? fdopendir(fd) : NULL;
  if (!names && fd >= 0) close(fd);
  return names;
}

/* Removes from a folder the files of a checkpoint: all, or only those that are not part of a
 * published one. Failures leave files that are not needed, no damage. */
static void tidy(const zp_ckpt_dir *folder, int all, int32_t world)
{
  const struct dirent *e;
  DIR *d = open_list(folder);
  while (d && (e = readdir(d)) != NULL) {
    const char *n = e->d_name;
    const int note = zp_ckpt_numbered(n, "rank-", ".json");
    const int bin = zp_ckpt_numbered(n, "rank-", ".bin");
    const int stale = bin && strtoll(n + 5, NULL, 10) >= world;
    if (note || stale || (all && (bin || strcmp(n, "manifest.json") == 0)))
      unlinkat(folder->fd, n, 0);
  }
  if (d) closedir(d);
}

/* Renames the prepared folder to DIR/step-N, or the first free DIR/step-N.k. */
static int rename_folder(const zp_ckpt_writer *w, char name[64], zp_error *err)
{
  char prepared[64];
  folder_name(w, prepared);
  for (int32_t k = 0; k < 100000; k++) {
    if (k == 0) snprintf(name, 64, "step-%lld", (long long)w->save.step);
    else snprintf(name, 64, "step-%lld.%d", (long long)w->save.step, k);
    /* rename would replace an empty folder */
    if (faccessat(w->dir.fd, name, F_OK, AT_SYMLINK_NOFOLLOW) == 0) continue;
    if (renameat(w->dir.fd, prepared, w->dir.fd, name) == 0) return 0;
    if (errno != EEXIST && errno != ENOTEMPTY && errno != ENOTDIR)
      return zp_ckpt_errno(err, "rename", w->folder.path, "");
  }
  return zp_fail(err, ZP_E_FILE, 0, "%s holds too many checkpoints of step %lld", w->dir.path,
                 (long long)w->save.step);
}

/* Makes DIR/name the current checkpoint. */
static int point_to(const zp_ckpt_writer *w, const zp_ckpt_latest *latest, zp_error *err)
{
  static const char next[] = "LATEST.tmp";
  char *text = zp_ckpt_latest_text(latest);
  if (!text) return zp_fail(err, ZP_E_MEMORY, 0, "no memory to publish the checkpoint");
  watched(w, "next LATEST");
  const int status = zp_ckpt_write_file(&w->dir, next, text, strlen(text), err);
  free(text);
  if (status) return status;
  watched(w, "rename LATEST");
  if (renameat(w->dir.fd, next, w->dir.fd, "LATEST"))
    return zp_ckpt_errno(err, "rename", w->dir.path, next);
  watched(w, "sync DIR");
  return zp_ckpt_sync_dir(&w->dir, err);
}

/* Did the LATEST before this save name a checkpoint that is there? Otherwise any published folder
 * may be the only one that is whole. CKPT-7 */
static int is_there(const zp_ckpt_writer *w, const zp_ckpt_latest *old)
{
  zp_error ignored = {0};
  zp_ckpt_dir folder;
  zp_ckpt_manifest m;
  int same = 0;
  if (!old->current[0] || zp_ckpt_dir_open_in(&folder, &w->dir, old->current, &ignored)) return 0;
  if (zp_ckpt_manifest_read(&folder, &m, &ignored) == 0) {
    same = strcmp(m.checksum, old->checksum) == 0;
    zp_ckpt_manifest_free(&m);
  }
  zp_ckpt_dir_close(&folder);
  return same;
}

/* Removes what LATEST does not name: interrupted saves, and, where `all` says so, published
 * folders, but never the one that this job loaded. A link is removed nowhere and followed nowhere.
 * CKPT-7 */
static void remove_old(const zp_ckpt_writer *w, const zp_ckpt_latest *latest, int all)
{
  zp_error ignored = {0};
  zp_ckpt_dir folder;
  const struct dirent *e;
  DIR *d = open_list(&w->dir);
  watched(w, "remove old");
  while (d && (e = readdir(d)) != NULL) {
    const char *n = e->d_name;
    const int named = strcmp(n, latest->current) == 0 || strcmp(n, latest->previous) == 0;
    if (named || !(zp_ckpt_numbered(n, "step-", ".tmp") || (all && zp_ckpt_is_folder(n)))) continue;
    memset(&ignored, 0, sizeof ignored);
    if (zp_ckpt_dir_open_in(&folder, &w->dir, n, &ignored)) continue;
    const int kept = zp_ckpt_dir_is(&folder, &w->save.loaded);
    if (!kept) tidy(&folder, 1, 0);
    zp_ckpt_dir_close(&folder);
    if (!kept) unlinkat(w->dir.fd, n, AT_REMOVEDIR); /* unless something else is in it */
  }
  if (d) closedir(d);
}

/* CKPT-2 */
static int publish(zp_ckpt_writer *w, zp_error *err)
{
  zp_ckpt_latest old = {0}, latest = {0};
  zp_error ignored = {0};
  int status = write_manifest(w, latest.checksum, err);
  if (status) return status;
  tidy(&w->folder, 0, w->world);
  status = zp_ckpt_sync_dir(&w->folder, err);
  if (status) return status;
  watched(w, "rename folder");
  status = rename_folder(w, latest.current, err);
  if (status) return status;
  watched(w, "sync DIR");
  status = zp_ckpt_sync_dir(&w->dir, err);
  if (status) return status;
  /* a damaged LATEST must not keep anyone from saving: what it named stays where it is */
  const int found = zp_ckpt_latest_read(&w->dir, &old, &ignored);
  if (found != 1) memset(&old, 0, sizeof old);
  memcpy(latest.previous, old.current, sizeof latest.previous);
  const int all = is_there(w, &old);
  status = point_to(w, &latest, err);
  if (status) return status;
  remove_old(w, &latest, all);
  return 0;
}

/* ---- The store ------------------------------------------------------------------------------- */

static int put(void *ctx, int32_t param, int32_t tp, int32_t ep, int32_t what, int64_t offset,
               int64_t count, const float *value, zp_error *err)
{
  zp_ckpt_writer *w = ctx;
  if (invariant(w, err) || put_run(w, param, tp, ep, what, offset, count, value, err))
    return err->status;
  return invariant(w, err);
}

static int finish(void *ctx, const zp_train_state *state, zp_error *err)
{
  zp_ckpt_writer *w = ctx;
  if (invariant(w, err) || end_rank(w, state, err)) return err->status;
  return invariant(w, err);
}

static int commit(void *ctx, zp_error *err)
{
  zp_ckpt_writer *w = ctx;
  if (invariant(w, err) || publish(w, err)) return err->status;
  return invariant(w, err);
}

/* ---- Open and close -------------------------------------------------------------------------- */

/* Makes and opens DIR, locks this rank's part of it, then makes and opens the folder of the save:
 * before the lock nothing that another job may own is touched. CKPT-7 */
static int prepare(zp_ckpt_writer *w, const char *dir, zp_error *err)
{
  char name[64];
  if (zp_ckpt_dir_make(&w->dir, dir, err)) return err->status;
  w->lock = zp_ckpt_lock(&w->dir, w->save.rank, err);
  if (w->lock < 0) return err->status;
  folder_name(w, name);
  if (mkdirat(w->dir.fd, name, 0777) && errno != EEXIST)
    return zp_ckpt_errno(err, "make the folder", w->dir.path, name);
  if (zp_ckpt_dir_open_in(&w->folder, &w->dir, name, err)) return err->status;
  if (w->save.rank != 0) zp_ckpt_dir_close(&w->dir); /* only rank 0 publishes */
  snprintf(w->data, sizeof w->data, "rank-%d.bin", w->save.rank);
  snprintf(w->note, sizeof w->note, "rank-%d.json", w->save.rank);
  /* an interrupted save of the same step may have left its own */
  if (unlinkat(w->folder.fd, w->note, 0) && errno != ENOENT)
    return zp_ckpt_errno(err, "remove the old", w->folder.path, w->note);
  if (unlinkat(w->folder.fd, w->data, 0) && errno != ENOENT)
    return zp_ckpt_errno(err, "remove the old", w->folder.path, w->data);
  return 0;
}

int zp_ckpt_writer_open(zp_ckpt_writer **out, const char *dir, zp_ckpt_model model,
                        const zp_ckpt_save *save, zp_store *store, zp_error *err)
{
  zp_ckpt_writer *w = calloc(1, sizeof *w);
  if (!w) return zp_fail(err, ZP_E_MEMORY, save->rank, "no memory to save a checkpoint");
  w->model = model;
  w->save = *save;
  w->save.workload = NULL; /* the copy is w->workload */
  w->world = zp_world(model.cfg);
  w->fd = w->lock = w->dir.fd = w->folder.fd = -1;
  w->workload = strdup(save->workload);
  w->hash = XXH3_createState();
  w->home = calloc((size_t)model.cfg->n_params + 1, sizeof *w->home);
  if (!w->workload || !w->hash || !w->home)
    zp_fail(err, ZP_E_MEMORY, save->rank, "no memory to save a checkpoint");
  else if (prepare(w, dir, err) == 0) invariant(w, err);
  if (err->status) {
    zp_ckpt_writer_close(w);
    return err->status;
  }
  for (int32_t j = 0; j < model.cfg->n_params; j++) w->home[j] = zp_ckpt_home(model.cfg, j);
  *store = (zp_store){.ctx = w, .put = put, .finish = finish, .commit = commit};
  *out = w;
  return 0;
}

void zp_ckpt_writer_close(zp_ckpt_writer *w)
{
  if (!w) return;
  if (w->fd >= 0) close(w->fd);
  zp_ckpt_dir_close(&w->folder);
  zp_ckpt_dir_close(&w->dir);
  if (w->lock >= 0) close(w->lock); /* last: the next holder may remove this folder */
  XXH3_freeState(w->hash);
  free(w->workload);
  free(w->home);
  free(w);
}
