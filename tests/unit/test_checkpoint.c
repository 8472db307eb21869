/* Laws of ref/engine/checkpoint.h. spec: CKPT-1 … CKPT-5 */
#define _GNU_SOURCE
#include <criterion/criterion.h>
#include <fcntl.h>
#include <ftw.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../../ref/engine/checkpoint_internal.h"
#include "../../ref/engine/sim.h"
#include "../../ref/model/synth.h"

/* ---- A small model and its values ------------------------------------------------------------ */

/* 0 and 4 share one storage; 1 is sharded, 2 an expert, 3 frozen, 5 empty. */
enum { ENTRIES = 6, TP = 2, EP = 2, WORLD = 4 };
static const zp_param list[ENTRIES] = {{11, 0, 0, 0, 0, 0, 0}, {7, 0, 1, -1, 1, 0, 0},
                                       {5, 0, 0, -1, 0, 1, 0}, {6, 0, 0, -1, 0, 0, 1},
                                       {11, 0, 0, 0, 0, 0, 0}, {0, 0, 0, -1, 0, 0, 0}};
static const zp_config config = {.pp = 1, .dp = 2, .tp = 2, .ep = 2, .stage = 1, .optgroups = 2,
                                 .tied_keys = 1, .n_params = ENTRIES, .micro_batches = 1,
                                 .bucket = 8, .align = 1, .params = list};
static const zp_ckpt_model model = {&config, NULL};

static float value_of(int32_t entry, int32_t tp, int32_t ep, int32_t what, int64_t e, int64_t step)
{
  const int32_t home = entry == 4 ? 0 : entry;
  return (float)(((((home * 2 + tp) * 2 + ep) * 12 + what) * 16 + e) * 100 + step) * 0.125f;
}

static zp_train_state state_of(int64_t step, zp_optim_state optim[2])
{
  zp_train_state s = {.step = step, .groups = 2, .optim = optim};
  zp_scaler_init(&s.scaler, 1, 7, -3, 20, 5, 2, 1);
  s.scaler.iter = step + 9;
  s.scaler.last_overflow = step;
  for (int g = 0; g < 2; g++)
    optim[g] = (zp_optim_state){0.9 / (double)(step + g + 3), 1e-300, step};
  return s;
}

static char dir[64];

static int remove_one(const char *path, const struct stat *s, int flag, struct FTW *f)
{
  (void)s, (void)flag, (void)f;
  return remove(path);
}
static void make_temp(void)
{
  snprintf(dir, sizeof dir, "/tmp/zp-ckpt-XXXXXX");
  cr_assert_not_null(mkdtemp(dir));
}
static void remove_temp(void)
{
  nftw(dir, remove_one, 16, FTW_DEPTH | FTW_PHYS);
}
TestSuite(checkpoint, .init = make_temp, .fini = remove_temp);

/* Rank r's part: runs of `cut` elements. Rank 3 writes nothing. */
static int put_part(zp_store *store, int32_t r, int64_t cut, int64_t step, zp_error *err)
{
  for (int32_t j = 0; j < ENTRIES; j++) {
    const zp_param *p = &list[j];
    const int32_t tp = r % TP, ep = r / TP;
    if (j == 4 || r == 3 || (!p->sharded && tp != 0) || (!p->expert && ep != 0)) continue;
    const int32_t first = p->frozen ? ZP_WHAT_PARAMETER : ZP_WHAT_MASTER;
    const int32_t last = p->frozen ? ZP_WHAT_PARAMETER : ZP_WHAT_MOMENT2;
    for (int32_t what = first; what <= last; what++) {
      for (int64_t at = 0; at < p->numel; at += cut) {
        float v[16];
        const int64_t n = p->numel - at < cut ? p->numel - at : cut;
        for (int64_t e = 0; e < n; e++)
          v[e] = value_of(j, p->sharded ? tp : 0, p->expert ? ep : 0, what, at + e, step);
        const int32_t use = j == 0 && step % 2 ? 4 : j; /* either use of the shared storage */
        if (store->put(store->ctx, use, p->sharded ? tp : 0, p->expert ? ep : 0, what, at, n, v,
                       err))
          return err->status;
      }
    }
  }
  return 0;
}

typedef struct crash {
  int left; /* events until the process dies; -1: only count */
  int seen;
} crash;

static void at_event(void *ctx, const char *what)
{
  crash *c = ctx;
  (void)what;
  if (c->left >= 0 && c->seen == c->left) _exit(42);
  c->seen++;
}

/* A whole save by WORLD writers, in the order in which a job does it. */
static int save_at(const char *where, int64_t step, int64_t cut, crash *c, zp_error *err)
{
  zp_ckpt_writer *w[WORLD] = {0};
  zp_store store[WORLD];
  zp_optim_state optim[2];
  const zp_train_state state = state_of(step, optim);
  int status = 0;
  for (int32_t r = 0; r < WORLD && !status; r++) {
    status = zp_ckpt_writer_open(&w[r], where, model, step, r, "{\"seed\": 7}", &store[r], err);
    if (!status && c) zp_ckpt_writer_watch(w[r], at_event, c);
  }
  for (int32_t r = 0; r < WORLD && !status; r++) status = put_part(&store[r], r, cut, step, err);
  for (int32_t r = 0; r < WORLD && !status; r++)
    status = store[r].finish(store[r].ctx, &state, err);
  if (!status) status = store[0].commit(store[0].ctx, err);
  for (int32_t r = 0; r < WORLD; r++) zp_ckpt_writer_close(w[r]);
  return status;
}

static void save(int64_t step, int64_t cut)
{
  zp_error err = {0};
  cr_assert_eq(save_at(dir, step, cut, NULL, &err), 0, "%s", err.text);
}

/* Everything in the store, asked for in runs of `cut`, is that of `step`. */
static void check_values(const zp_store *store, int64_t cut, int64_t step)
{
  zp_error err = {0};
  for (int32_t j = 0; j < ENTRIES; j++)
    for (int32_t tp = 0; tp < (list[j].sharded ? TP : 1); tp++)
      for (int32_t ep = 0; ep < (list[j].expert ? EP : 1); ep++)
        for (int32_t what = list[j].frozen ? ZP_WHAT_PARAMETER : ZP_WHAT_MASTER;
             what <= (list[j].frozen ? ZP_WHAT_PARAMETER : ZP_WHAT_MOMENT2); what++)
          for (int64_t at = 0; at < list[j].numel; at += cut) {
            float v[16];
            const int64_t n = list[j].numel - at < cut ? list[j].numel - at : cut;
            const int got = store->get(store->ctx, j, tp, ep, what, at, n, v, &err);
            cr_assert_eq(got, 0, "%s", err.text);
            for (int64_t e = 0; e < n; e++)
              cr_assert_eq(v[e], value_of(j, tp, ep, what, at + e, step), "%d, %d", j, what);
          }
}

static void check_state(const zp_store *store, int64_t step)
{
  zp_error err = {0};
  zp_optim_state want[2], have[2];
  const zp_train_state a = state_of(step, want);
  zp_train_state b = {.groups = 2, .optim = have};
  cr_assert_eq(store->state(store->ctx, &b, &err), 0);
  cr_assert_eq(b.step, a.step);
  cr_assert_eq(memcmp(&b.scaler, &a.scaler, sizeof a.scaler), 0);
  for (int g = 0; g < 2; g++) {
    cr_assert_eq(have[g].beta1_pow, want[g].beta1_pow);
    cr_assert_eq(have[g].beta2_pow, want[g].beta2_pow);
    cr_assert_eq(have[g].t, want[g].t);
  }
}

/* The current checkpoint is that of `step`, whole. */
static void check_current(int64_t step, int64_t cut)
{
  zp_error err = {0};
  zp_ckpt_reader *r;
  zp_store store;
  cr_assert_eq(zp_ckpt_reader_open(&r, dir, model, &store, &err), 0, "%s", err.text);
  check_values(&store, cut, step);
  check_state(&store, step);
  zp_ckpt_reader_close(r);
}

/* Opening is refused with a message that has `word` in it. */
static void check_refused(const char *where, zp_ckpt_model m, int32_t status, const char *word)
{
  zp_error err = {0};
  zp_ckpt_reader *r;
  zp_store store;
  const int got = zp_ckpt_reader_open(&r, where, m, &store, &err);
  if (got == 0) zp_ckpt_reader_close(r);
  cr_assert_eq(got, status, "%s: %d %s", word, got, err.text);
  cr_assert_not_null(strstr(err.text, word), "'%s' is not in: %s", word, err.text);
}

/* ---- Laws ------------------------------------------------------------------------------------ */

Test(checkpoint, is_read_back_however_it_is_cut)
{
  int64_t step = 0;
  for (int64_t put = 1; put <= 11; put += 2)
    for (int64_t get = 1; get <= 11; get += 3) {
      save(++step, put);
      check_current(step, get);
    }
}

Test(checkpoint, gives_back_step_and_workload)
{
  zp_error err = {0};
  int64_t step = 0;
  char *words = NULL;
  save(12, 3);
  cr_assert_eq(zp_ckpt_peek(dir, &step, &words, &err), 0, "%s", err.text);
  cr_assert_eq(step, 12);
  cr_assert_str_eq(words, "{\"seed\": 7}");
  free(words);
}

Test(checkpoint, keeps_the_previous_one_and_removes_older_ones)
{
  char path[128];
  struct stat s;
  for (int64_t step = 1; step <= 4; step++) save(step, 4);
  for (int64_t step = 1; step <= 4; step++) {
    snprintf(path, sizeof path, "%s/step-%d", dir, (int)step);
    cr_assert_eq(stat(path, &s) == 0, step >= 3, "%s", path);
  }
  save(4, 5); /* the same step again gets a folder of its own */
  check_current(4, 2);
  snprintf(path, sizeof path, "%s/step-4.1", dir);
  cr_assert_eq(stat(path, &s), 0);
}

Test(checkpoint, can_be_named_by_its_own_folder)
{
  zp_error err = {0};
  zp_ckpt_reader *r;
  zp_store store;
  char path[128];
  save(1, 4);
  save(2, 4);
  snprintf(path, sizeof path, "%s/step-1", dir);
  cr_assert_eq(zp_ckpt_reader_open(&r, path, model, &store, &err), 0, "%s", err.text);
  check_values(&store, 3, 1);
  zp_ckpt_reader_close(r);
}

/* ---- Damage ---------------------------------------------------------------------------------- */

static unsigned char *slurp(const char *path, int64_t *n)
{
  zp_error err = {0};
  char *p = zp_ckpt_read_file(path, 1 << 20, n, &err);
  cr_assert_not_null(p, "%s", err.text);
  return (unsigned char *)p;
}

static void spit(const char *path, const void *data, int64_t n)
{
  zp_error err = {0};
  cr_assert_eq(zp_ckpt_write_file(path, data, (size_t)n, &err), 0, "%s", err.text);
}

/* Not through zp_ckpt_write_file: its fsync would make thousands of these slow. */
static void overwrite(const char *path, const void *data, int64_t n)
{
  const int fd = open(path, O_WRONLY | O_TRUNC);
  cr_assert(fd >= 0 && write(fd, data, (size_t)n) == n);
  close(fd);
}

static const char *const parts[] = {"LATEST", "step-5/manifest.json", "step-5/rank-0.bin",
                                    "step-5/rank-1.bin", "step-5/rank-2.bin"};
enum { PARTS = sizeof parts / sizeof *parts };

Test(checkpoint, every_flipped_bit_is_refused)
{
  save(5, 4);
  for (int i = 0; i < PARTS; i++) {
    char path[128];
    int64_t n;
    snprintf(path, sizeof path, "%s/%s", dir, parts[i]);
    unsigned char *good = slurp(path, &n);
    for (int64_t at = 0; at < n; at++) {
      good[at] ^= (unsigned char)(1 << (at % 8));
      overwrite(path, good, n);
      check_refused(dir, model, ZP_E_FILE, strrchr(path, '/') + 1);
      good[at] ^= (unsigned char)(1 << (at % 8));
    }
    overwrite(path, good, n);
    free(good);
    check_current(5, 4);
  }
}

Test(checkpoint, every_truncation_and_extension_is_refused)
{
  save(5, 4);
  for (int i = 0; i < PARTS; i++) {
    char path[128];
    int64_t n;
    snprintf(path, sizeof path, "%s/%s", dir, parts[i]);
    unsigned char *good = slurp(path, &n);
    unsigned char *more = calloc((size_t)n + 1, 1);
    memcpy(more, good, (size_t)n);
    for (int64_t length = 0; length <= n + 1; length++) {
      if (length == n) continue;
      overwrite(path, more, length);
      check_refused(dir, model, ZP_E_FILE, strrchr(path, '/') + 1);
    }
    overwrite(path, good, n);
    free(good);
    free(more);
  }
}

Test(checkpoint, missing_and_foreign_files_are_refused_by_name)
{
  char path[128], other[128], aside[160];
  save(5, 4);
  for (int i = 1; i < PARTS; i++) {
    snprintf(path, sizeof path, "%s/%s", dir, parts[i]);
    snprintf(aside, sizeof aside, "%s.aside", path);
    cr_assert_eq(rename(path, aside), 0);
    check_refused(dir, model, ZP_E_FILE, strrchr(path, '/') + 1);
    cr_assert_eq(mkdir(path, 0777), 0); /* a folder, a link, a pipe in its place */
    check_refused(dir, model, ZP_E_FILE, "regular file");
    cr_assert_eq(rmdir(path), 0);
    cr_assert_eq(symlink(aside, path), 0);
    check_refused(dir, model, ZP_E_FILE, strrchr(path, '/') + 1);
    cr_assert_eq(unlink(path), 0);
    cr_assert_eq(mkfifo(path, 0666), 0);
    check_refused(dir, model, ZP_E_FILE, "regular file");
    cr_assert_eq(unlink(path), 0);
    cr_assert_eq(rename(aside, path), 0);
  }
  snprintf(path, sizeof path, "%s/step-5/rank-0.bin", dir);
  snprintf(other, sizeof other, "%s/step-5/rank-1.bin", dir);
  cr_assert_eq(renameat2(AT_FDCWD, path, AT_FDCWD, other, RENAME_EXCHANGE), 0);
  check_refused(dir, model, ZP_E_FILE, "rank-0.bin");
  check_refused("/tmp", model, ZP_E_FILE, "holds no checkpoint");
  check_refused("/nonexistent/folder", model, ZP_E_FILE, "/nonexistent/folder");
}

Test(checkpoint, the_manifest_of_another_checkpoint_is_refused)
{
  char a[128], b[128];
  int64_t n;
  save(4, 4);
  save(5, 4);
  snprintf(a, sizeof a, "%s/step-4/manifest.json", dir);
  snprintf(b, sizeof b, "%s/step-5/manifest.json", dir);
  unsigned char *other = slurp(a, &n);
  spit(b, other, n);
  free(other);
  check_refused(dir, model, ZP_E_FILE, "LATEST names");
}

static uint64_t next(uint64_t *s)
{
  *s = *s * 6364136223846793005u + 1442695040888963407u;
  return *s >> 33;
}

/* Puts the right checksum into a manifest's text. */
static void reseal(char *text, int64_t n)
{
  char hex[ZP_CKPT_HEX];
  memset(text + 14, '0', 32);
  zp_ckpt_hash(text, (size_t)n, hex);
  memcpy(text + 14, hex, 32);
}

/* What it says may be wrong, but nothing may crash, loop or read what is not there. */
static int try_all(const char *where)
{
  zp_error err = {0};
  zp_ckpt_reader *r;
  zp_store store;
  float v[16];
  if (zp_ckpt_reader_open(&r, where, model, &store, &err)) return 0;
  for (int32_t j = 0; j < ENTRIES; j++)
    if (list[j].numel > 0) store.get(store.ctx, j, 0, 0, ZP_WHAT_MASTER, 0, list[j].numel, v, &err);
  zp_ckpt_reader_close(r);
  return 1;
}

Test(checkpoint, arbitrary_bytes_behind_right_checksums_do_no_harm)
{
  char manifest[160], data[160], folder[128];
  int64_t n, n_data;
  uint64_t seed = 1;
  save(5, 4);
  snprintf(folder, sizeof folder, "%s/step-5", dir);
  snprintf(manifest, sizeof manifest, "%s/manifest.json", folder);
  snprintf(data, sizeof data, "%s/rank-0.bin", folder);
  unsigned char *text = slurp(manifest, &n), *values = slurp(data, &n_data);
  unsigned char *t = malloc((size_t)n + 1), *v = malloc((size_t)n_data);
  reseal((char *)text, n);
  overwrite(manifest, text, n);
  cr_assert_eq(try_all(folder), 1); /* resealing is what the program does */
  for (int round = 0; round < 3000; round++) {
    static const char letters[] = "0123456789-\",:{}[]tfn.x";
    memcpy(t, text, (size_t)n);
    for (uint64_t k = 1 + next(&seed) % 4; k > 0; k--)
      t[46 + next(&seed) % (uint64_t)(n - 46)] = (unsigned char)letters[next(&seed) % 23];
    reseal((char *)t, n);
    overwrite(manifest, t, n);
    try_all(folder);
  }
  for (int round = 0; round < 3000; round++) {
    char hex[ZP_CKPT_HEX], old[ZP_CKPT_HEX];
    memcpy(v, values, (size_t)n_data);
    for (uint64_t k = 1 + next(&seed) % 4; k > 0; k--)
      v[next(&seed) % (uint64_t)(n_data < 200 ? n_data : 200)] = (unsigned char)next(&seed);
    zp_ckpt_hash(values, (size_t)n_data, old);
    zp_ckpt_hash(v, (size_t)n_data, hex);
    memcpy(t, text, (size_t)n);
    t[n] = 0;
    char *at = strstr((char *)t, old);
    cr_assert_not_null(at);
    memcpy(at, hex, 32);
    reseal((char *)t, n);
    overwrite(manifest, t, n);
    overwrite(data, v, n_data);
    try_all(folder);
  }
  free(text);
  free(values);
  free(t);
  free(v);
}

/* The first data file with one byte changed, and all checksums made right again, is refused. */
static void check_patched(int64_t at, unsigned char byte)
{
  char manifest[160], data[160], folder[128], hex[ZP_CKPT_HEX], old[ZP_CKPT_HEX];
  int64_t n, n_data;
  snprintf(folder, sizeof folder, "%s/step-5", dir);
  snprintf(manifest, sizeof manifest, "%s/manifest.json", folder);
  snprintf(data, sizeof data, "%s/rank-0.bin", folder);
  unsigned char *text = slurp(manifest, &n), *values = slurp(data, &n_data);
  const unsigned char before = values[at];
  zp_ckpt_hash(values, (size_t)n_data, old);
  values[at] = byte;
  zp_ckpt_hash(values, (size_t)n_data, hex);
  memcpy(strstr((char *)text, old), hex, 32);
  reseal((char *)text, n);
  overwrite(manifest, text, n);
  overwrite(data, values, n_data);
  check_refused(folder, model, ZP_E_FILE, "no record of this checkpoint");
  memcpy(strstr((char *)text, hex), old, 32);
  reseal((char *)text, n);
  values[at] = before;
  overwrite(manifest, text, n);
  overwrite(data, values, n_data);
  free(text);
  free(values);
}

Test(checkpoint, records_that_no_save_can_have_made_are_refused)
{
  save(5, 4);
  check_patched(0, 'z');  /* magic */
  check_patched(8, 1);    /* another rank's file */
  check_patched(16, 9);   /* record: an entry that is not there */
  check_patched(16, 3);   /* a frozen entry has no master */
  check_patched(16, 4);   /* a use whose values are filed under the first one */
  check_patched(20, 1);   /* a copy that is not there: tp */
  check_patched(24, 1);   /* ep */
  check_patched(28, ZP_WHAT_GRADIENT);
  check_patched(32, 10);  /* offset + count is beyond the entry */
  check_patched(39, 255); /* negative */
  check_patched(40, 0);   /* no elements */
  check_patched(40, 9);   /* more elements than before: the next record is misread */
  check_current(5, 3);
}

/* ---- Another model --------------------------------------------------------------------------- */

Test(checkpoint, another_model_is_refused_by_entry)
{
  zp_param other[ENTRIES];
  char names[ENTRIES][ZP_CKPT_NAME];
  zp_config cfg = config;
  const zp_ckpt_model m = {&cfg, NULL}, renamed = {&config, names};
  cfg.params = other;
  save(5, 4);
  memcpy(other, list, sizeof list);
  other[1].numel = 8;
  check_refused(dir, m, ZP_E_REFUSED, "entry 'p1' has numel 7 there and 8 here");
  memcpy(other, list, sizeof list);
  other[2].expert = 0;
  check_refused(dir, m, ZP_E_REFUSED, "entry 'p2' has expert");
  memcpy(other, list, sizeof list);
  other[3].frozen = 0;
  check_refused(dir, m, ZP_E_REFUSED, "entry 'p3' has frozen");
  memcpy(other, list, sizeof list);
  other[4].tied = -1;
  check_refused(dir, m, ZP_E_REFUSED, "entry 'p4' has tied");
  memcpy(other, list, sizeof list);
  cfg.tp = 1;
  check_refused(dir, m, ZP_E_REFUSED, "entry 'p1' has tp 2 there and 1 here");
  cfg.tp = 2;
  cfg.n_params = ENTRIES - 1;
  check_refused(dir, m, ZP_E_REFUSED, "has 6 entries and the model has 5");
  cfg.n_params = ENTRIES;
  cfg.optgroups = 3;
  check_refused(dir, m, ZP_E_REFUSED, "2 optimizer groups");
  for (int j = 0; j < ENTRIES; j++) snprintf(names[j], ZP_CKPT_NAME, "p%d", j == 3 ? 33 : j);
  check_refused(dir, renamed, ZP_E_REFUSED, "no entry 'p33'");
}

/* ---- Crashes and failures -------------------------------------------------------------------- */

Test(checkpoint, a_crash_at_any_moment_leaves_a_whole_checkpoint)
{
  crash all = {-1, 0};
  zp_error err = {0};
  int old = 0, new = 0;
  save(1, 4);
  cr_assert_eq(save_at(dir, 2, 3, &all, &err), 0, "%s", err.text);
  cr_assert_gt(all.seen, 15);
  for (int k = 0; k < all.seen; k++) {
    int status;
    int64_t step = 0;
    char *words = NULL;
    remove_temp();
    cr_assert_eq(mkdir(dir, 0777), 0);
    save(1, 4);
    const pid_t child = fork();
    if (child == 0) {
      crash c = {k, 0};
      save_at(dir, 2, 3, &c, &err);
      _exit(0);
    }
    cr_assert_eq(waitpid(child, &status, 0), child);
    cr_assert(WIFEXITED(status) && WEXITSTATUS(status) == 42, "event %d did not come", k);
    cr_assert_eq(zp_ckpt_peek(dir, &step, &words, &err), 0, "event %d: %s", k, err.text);
    free(words);
    check_current(step, 5);
    if (step == 1) old++;
    else new++;
    cr_assert(new == 0 || step == 2, "published at one moment, not undone later");
    save(2, 4); /* and the next save works, whatever was left behind */
    check_current(2, 5);
  }
  cr_assert_gt(old, 10);
  cr_assert_gt(new, 0);
}

Test(checkpoint, a_failing_disk_is_reported_and_loses_nothing)
{
  save(1, 4);
  for (rlim_t limit = 0; limit < 2200; limit += 50) {
    const pid_t child = fork();
    int status;
    if (child == 0) {
      const struct rlimit most = {limit, limit};
      zp_error err = {0};
      signal(SIGXFSZ, SIG_IGN);
      setrlimit(RLIMIT_FSIZE, &most);
      status = save_at(dir, 2, 3, NULL, &err);
      _exit(status == 0 ? 0 : status == ZP_E_FILE && strstr(err.text, "cannot write") ? 1 : 2);
    }
    cr_assert_eq(waitpid(child, &status, 0), child);
    cr_assert(WIFEXITED(status));
    if (WEXITSTATUS(status) == 0) return; /* large enough for all files */
    cr_assert_eq(WEXITSTATUS(status), 1, "limit %d", (int)limit);
    check_current(1, 4);
  }
  cr_assert_fail("a save never fitted");
}

Test(checkpoint, folders_that_cannot_be_made_are_reported)
{
  zp_error err = {0};
  char path[128];
  snprintf(path, sizeof path, "%s/file", dir);
  spit(path, "x", 1);
  cr_assert_eq(save_at(path, 1, 4, NULL, &err), ZP_E_FILE);
  cr_assert_not_null(strstr(err.text, path), "%s", err.text);
  memset(&err, 0, sizeof err);
  cr_assert_eq(save_at("/nonexistent/folder", 1, 4, NULL, &err), ZP_E_FILE);
  memset(&err, 0, sizeof err);
  cr_assert_eq(save_at("/proc/zeroproof", 1, 4, NULL, &err), ZP_E_FILE);
}

Test(checkpoint, missing_elements_are_refused_by_entry)
{
  for (int32_t silent = 0; silent < 3; silent++) {
    static const char *const lost[3] = {"entry 'p0' (master", "entry 'p1' (master, tp 1",
                                        "entry 'p2' (master, tp 0, ep 1"};
    zp_ckpt_writer *w[WORLD];
    zp_store store[WORLD];
    zp_optim_state optim[2];
    const zp_train_state state = state_of(2, optim);
    zp_error err = {0};
    for (int32_t r = 0; r < WORLD; r++)
      cr_assert_eq(zp_ckpt_writer_open(&w[r], dir, model, 2, r, "", &store[r], &err), 0);
    for (int32_t r = 0; r < WORLD; r++) {
      if (r != silent) cr_assert_eq(put_part(&store[r], r, 4, 2, &err), 0);
      cr_assert_eq(store[r].finish(store[r].ctx, &state, &err), 0);
    }
    cr_assert_eq(store[0].commit(store[0].ctx, &err), 0);
    for (int32_t r = 0; r < WORLD; r++) zp_ckpt_writer_close(w[r]);
    check_refused(dir, model, ZP_E_FILE, lost[silent]);
  }
}

Test(checkpoint, ranks_that_disagree_are_not_published)
{
  zp_ckpt_writer *w[WORLD];
  zp_store store[WORLD];
  zp_optim_state optim[2];
  zp_train_state state = state_of(2, optim);
  zp_error err = {0};
  save(1, 4);
  for (int32_t r = 0; r < WORLD; r++)
    cr_assert_eq(zp_ckpt_writer_open(&w[r], dir, model, 2, r, "", &store[r], &err), 0);
  for (int32_t r = 0; r < WORLD; r++) {
    cr_assert_eq(put_part(&store[r], r, 4, 2, &err), 0);
    if (r == 2) state.scaler.log2_scale--;
    cr_assert_eq(store[r].finish(store[r].ctx, &state, &err), 0);
  }
  cr_assert_eq(store[0].commit(store[0].ctx, &err), ZP_E_FILE);
  cr_assert_not_null(strstr(err.text, "rank 2"), "%s", err.text);
  for (int32_t r = 0; r < WORLD; r++) zp_ckpt_writer_close(w[r]);
  check_current(1, 4);
}

/* ---- Continuation in the same bits, elsewhere. CKPT-3, CKPT-5 -------------------------------- */

typedef struct run {
  zp_config cfg;
  zp_param params[10];
  zp_hyper hyper;
  zp_synth synth;
  zp_workload work;
  zp_sim *sim;
  zp_error err;
} run;

static void run_open(run *u, int32_t pp, int32_t dp, int32_t stage, int64_t bucket)
{
  static const zp_param entries[10] = {
      {13, 0, 0, 0, 0, 0, 0},  {29, 0, 1, -1, 0, 0, 0}, {3, 0, 0, -1, 0, 0, 1},
      {17, 0, 0, -1, 0, 0, 0}, {8, 0, 1, -1, 0, 0, 0},  {1, 0, 0, -1, 0, 0, 0},
      {0, 0, 0, -1, 0, 0, 0},  {19, 0, 1, -1, 0, 0, 0}, {5, 0, 0, -1, 0, 0, 0},
      {13, 0, 0, 0, 0, 0, 0}};
  memset(u, 0, sizeof *u);
  memcpy(u->params, entries, sizeof entries);
  for (int32_t j = 0; j < 10; j++) u->params[j].stage = j * pp / 10;
  u->cfg = (zp_config){.pp = pp, .dp = dp, .tp = 1, .ep = 1, .stage = stage, .reduce = ZP_EXACT,
                       .precision = ZP_BF16, .optgroups = 2, .tied_keys = 1, .n_params = 10,
                       .micro_batches = 12 / dp, .bucket = bucket, .align = 1,
                       .params = u->params};
  u->hyper.groups = 1;
  u->hyper.optim[0] = (zp_optim){ZP_OPTIM_ADAMW, 1e-2, 0.9, 0.99, 1e-8, 0.01, 0};
  u->hyper.clip = 1;
  u->hyper.clip_eps = 1e-6;
  zp_scaler_init(&u->hyper.scaler, 1, 4, 0, 16, 2, 1, 0);
  u->synth.opt = (zp_synth_options){.seed = 7, .mode = ZP_SYNTH_WILD, .unused = 30, .overflow = 8};
  u->work = zp_synth_workload(&u->synth);
  u->sim = zp_sim_open(&u->cfg, &u->hyper, &u->work, &u->err);
  cr_assert_not_null(u->sim, "%s", u->err.text);
  cr_assert_eq(zp_sim_run(u->sim, ZP_PHASE_INIT, &u->err), 0, "%s", u->err.text);
}

static void run_steps(run *u, int steps)
{
  for (int s = 0; s < steps; s++)
    cr_assert_eq(zp_sim_run(u->sim, ZP_PHASE_STEP, &u->err), 0, "%s", u->err.text);
}

static void run_save(run *u)
{
  zp_ckpt_writer *w[32];
  zp_store store[32];
  const int32_t world = zp_sim_world(u->sim);
  const int64_t step = zp_sim_rank(u->sim, 0)->step;
  const zp_ckpt_model m = {&u->cfg, NULL};
  for (int32_t r = 0; r < world; r++) {
    cr_assert_eq(zp_ckpt_writer_open(&w[r], dir, m, step, r, "", &store[r], &u->err), 0, "%s",
                 u->err.text);
    zp_sim_rank(u->sim, r)->store = &store[r];
  }
  cr_assert_eq(zp_sim_run(u->sim, ZP_PHASE_SAVE, &u->err), 0, "%s", u->err.text);
  for (int32_t r = 0; r < world; r++) zp_ckpt_writer_close(w[r]);
}

static void run_load(run *u)
{
  zp_ckpt_reader *reader;
  zp_store store;
  const zp_ckpt_model m = {&u->cfg, NULL};
  cr_assert_eq(zp_ckpt_reader_open(&reader, dir, m, &store, &u->err), 0, "%s", u->err.text);
  for (int32_t r = 0; r < zp_sim_world(u->sim); r++) zp_sim_rank(u->sim, r)->store = &store;
  cr_assert_eq(zp_sim_run(u->sim, ZP_PHASE_LOAD, &u->err), 0, "%s", u->err.text);
  zp_ckpt_reader_close(reader);
}

typedef struct image {
  float state[ZP_WHATS][10][32];
  zp_scaler scaler;
  zp_optim_state optim[2];
  int64_t step;
  zp_step_result last;
  uint16_t param[10][32];
  int32_t what; /* being visited */
} image;

static void take_values(void *ctx, int32_t param, int64_t offset, int64_t count, const float *value)
{
  image *i = ctx;
  memcpy(&i->state[i->what][param][offset], value, (size_t)count * sizeof *value);
}

static image *take_image(const run *u)
{
  image *i = calloc(1, sizeof *i);
  for (int32_t r = 0; r < zp_sim_world(u->sim); r++) {
    const zp_rank *k = zp_sim_rank(u->sim, r);
    for (i->what = ZP_WHAT_MASTER; i->what <= ZP_WHAT_MOMENT2; i->what++)
      zp_rank_visit(k, i->what, take_values, i);
    for (int32_t p = 0; p < k->lay.n_params; p++)
      memcpy(i->param[k->lay.first_param + p], k->param[p],
             2 * (size_t)u->params[k->lay.first_param + p].numel);
    i->scaler = k->scaler;
    i->step = k->step;
    i->last = k->result;
    memcpy(i->optim, k->optim, sizeof i->optim);
  }
  /* a tied key's state is visited at one of its uses, which depends on pp */
  for (int32_t what = ZP_WHAT_MASTER; what <= ZP_WHAT_MOMENT2; what++)
    for (int32_t e = 0; e < 13; e++) {
      if (i->state[what][0][e] == 0) i->state[what][0][e] = i->state[what][9][e];
      i->state[what][9][e] = 0;
    }
  return i;
}

Test(checkpoint, continues_elsewhere_in_the_uninterrupted_bits)
{
  static const int32_t where[7][4] = {{1, 1, 0, 100}, {2, 3, 2, 7},  {3, 2, 1, 16}, {1, 6, 2, 5},
                                      {5, 1, 1, 3},   {2, 12, 0, 9}, {4, 3, 2, 64}};
  static run whole, first, second;
  run_open(&whole, 1, 2, 1, 11);
  run_steps(&whole, 7);
  image *want = take_image(&whole);
  zp_sim_close(whole.sim);
  for (int a = 0; a < 7; a++) {
    const int b = (a + 3) % 7;
    run_open(&first, where[a][0], where[a][1], where[a][2], where[a][3]);
    run_steps(&first, 4);
    run_save(&first);
    zp_sim_close(first.sim);
    run_open(&second, where[b][0], where[b][1], where[b][2], where[b][3]);
    run_load(&second);
    run_steps(&second, 3);
    image *have = take_image(&second);
    zp_sim_close(second.sim);
    cr_assert_eq(have->step, want->step);
    cr_assert_eq(memcmp(have->state, want->state, sizeof want->state), 0, "%d to %d: states", a, b);
    cr_assert_eq(memcmp(have->param, want->param, sizeof want->param), 0, "%d to %d: params", a, b);
    cr_assert_eq(memcmp(&have->scaler, &want->scaler, sizeof want->scaler), 0);
    cr_assert_eq(memcmp(have->optim, want->optim, sizeof want->optim), 0);
    cr_assert_eq(have->last.norm_f64, want->last.norm_f64);
    cr_assert_eq(have->last.loss, want->last.loss);
    free(have);
  }
  free(want);
}
