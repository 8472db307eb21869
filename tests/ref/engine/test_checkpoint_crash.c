/* Laws of ref/engine/checkpoint.h: whatever is damaged, cut off or missing is refused by name, and
 * neither a crash nor a failing disk loses the last checkpoint. spec: CKPT-2, CKPT-4 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <sys/stat.h>

#include "crash_case.h"

TestSuite(checkpoint_crash, .init = make_temp, .fini = remove_temp);

/* ---- Damage ---------------------------------------------------------------------------------- */

static unsigned char *slurp(const char *path, int64_t *n)
{
  unsigned char *p = malloc(1 << 20);
  const int fd = open(path, O_RDONLY);
  cr_assert(p && fd >= 0, "%s", path);
  *n = read(fd, p, 1 << 20);
  cr_assert(*n >= 0 && *n < 1 << 20, "%s", path);
  close(fd);
  return p;
}

static void spit(const char *path, const void *data, int64_t n)
{
  const int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0666);
  cr_assert(fd >= 0 && write(fd, data, (size_t)n) == n);
  close(fd);
}

static void overwrite(const char *path, const void *data, int64_t n)
{
  const int fd = open(path, O_WRONLY | O_TRUNC);
  cr_assert(fd >= 0 && write(fd, data, (size_t)n) == n);
  close(fd);
}

static const char *const parts[] = {"LATEST", "step-5/manifest.json", "step-5/rank-0.bin",
                                    "step-5/rank-1.bin", "step-5/rank-2.bin"};
enum { PARTS = sizeof parts / sizeof *parts };

Test(checkpoint_crash, every_flipped_bit_is_refused)
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

Test(checkpoint_crash, every_truncation_and_extension_is_refused)
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

Test(checkpoint_crash, missing_and_foreign_files_are_refused_by_name)
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
  snprintf(path, sizeof path, "%s/none/folder", dir);
  check_refused(path, model, ZP_E_FILE, path);
}

Test(checkpoint_crash, the_manifest_of_another_checkpoint_is_refused)
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

Test(checkpoint_crash, arbitrary_bytes_with_valid_checksums_do_no_harm)
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

Test(checkpoint_crash, records_that_no_save_can_have_made_are_refused)
{
  save(5, 4);
  check_patched(0, 'z'); /* magic */
  check_patched(8, 1);   /* another rank's file */
  check_patched(16, 9);  /* record: an entry that is not there */
  check_patched(16, 3);  /* a frozen entry has no master */
  check_patched(16, 4);  /* a use whose values are filed under the first one */
  check_patched(20, 1);  /* a copy that is not there: tp */
  check_patched(24, 1);  /* ep */
  check_patched(28, ZP_WHAT_GRADIENT);
  check_patched(32, 10);  /* offset + count is beyond the entry */
  check_patched(39, 255); /* negative */
  check_patched(40, 0);   /* no elements */
  check_patched(40, 9);   /* more elements than before: the next record is misread */
  check_current(5, 3);
}

/* ---- Crashes and failures -------------------------------------------------------------------- */

Test(checkpoint_crash, a_crash_at_any_moment_leaves_a_whole_checkpoint)
{
  check_crashes(save_at);
}

Test(checkpoint_crash, a_failing_disk_is_reported_and_loses_nothing)
{
  check_full_disks(save_at);
}

Test(checkpoint_crash, folders_that_cannot_be_made_are_reported)
{
  zp_error err = {0};
  char path[128];
  snprintf(path, sizeof path, "%s/file", dir);
  spit(path, "x", 1);
  cr_assert_eq(save_at(path, 1, 4, NULL, &err), ZP_E_FILE);
  cr_assert_not_null(strstr(err.text, path), "%s", err.text);
  memset(&err, 0, sizeof err);
  snprintf(path, sizeof path, "%s/none/folder", dir);
  cr_assert_eq(save_at(path, 1, 4, NULL, &err), ZP_E_FILE);
  memset(&err, 0, sizeof err);
  cr_assert_eq(save_at("/proc/zeroproof", 1, 4, NULL, &err), ZP_E_FILE);
}

Test(checkpoint_crash, missing_elements_are_refused_by_entry)
{
  for (int32_t silent = 0; silent < 3; silent++) {
    static const char *const lost[3] = {"entry 'p0' (master", "entry 'p1' (master, tp 1",
                                        "entry 'p2' (master, tp 0, ep 1"};
    zp_ckpt_writer *w[WORLD];
    zp_store store[WORLD];
    zp_optim_state optim[2];
    const zp_train_state state = state_of(2, optim);
    zp_error err = {0};
    for (int32_t r = 0; r < WORLD; r++) {
      const zp_ckpt_save part = {.step = 2, .rank = r, .workload = ""};
      cr_assert_eq(zp_ckpt_writer_open(&w[r], dir, model, &part, &store[r], &err), 0);
    }
    for (int32_t r = 0; r < WORLD; r++) {
      if (r != silent) cr_assert_eq(put_part(&store[r], r, 4, 2, &err), 0);
      cr_assert_eq(store[r].finish(store[r].ctx, &state, &err), 0);
    }
    cr_assert_eq(store[0].commit(store[0].ctx, &err), 0);
    for (int32_t r = 0; r < WORLD; r++) zp_ckpt_writer_close(w[r]);
    check_refused(dir, model, ZP_E_FILE, lost[silent]);
  }
}

Test(checkpoint_crash, ranks_that_disagree_are_not_published)
{
  zp_ckpt_writer *w[WORLD];
  zp_store store[WORLD];
  zp_optim_state optim[2];
  zp_train_state state = state_of(2, optim);
  zp_error err = {0};
  save(1, 4);
  for (int32_t r = 0; r < WORLD; r++) {
    const zp_ckpt_save part = {.step = 2, .rank = r, .workload = ""};
    cr_assert_eq(zp_ckpt_writer_open(&w[r], dir, model, &part, &store[r], &err), 0);
  }
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
