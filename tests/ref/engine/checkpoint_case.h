/* A small checkpoint: its model and values, saving it, and what must be read back. */
#ifndef ZP_TESTS_CHECKPOINT_CASE_H
#define ZP_TESTS_CHECKPOINT_CASE_H

#include <criterion/criterion.h>
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../../../ref/engine/checkpoint_format.h"

/* 0 and 4 share one storage; 1 is sharded, 2 an expert, 3 frozen, 5 empty. */
enum { ENTRIES = 6, TP = 2, EP = 2, WORLD = 4 };
static const zp_param list[ENTRIES] = {{11, 0, 0, 0, 0, 0, 0, 0}, {7, 0, 1, -1, 1, 0, 0, 0},
                                       {5, 0, 0, -1, 0, 1, 0, 0}, {6, 0, 0, -1, 0, 0, 1, 0},
                                       {11, 0, 0, 0, 0, 0, 0, 0}, {0, 0, 0, -1, 0, 0, 0, 0}};
static const zp_config config = {.pp = 1,
                                 .dp = 2,
                                 .tp = 2,
                                 .ep = 2,
                                 .stage = 1,
                                 .optgroups = 2,
                                 .tied_keys = 1,
                                 .n_params = ENTRIES,
                                 .micro_batches = 1,
                                 .bucket = 8,
                                 .align = 1,
                                 .params = list};
static const zp_ckpt_model model = {&config, NULL};

static inline float value_of(int32_t entry, int32_t tp, int32_t ep, int32_t what, int64_t e,
                             int64_t step)
{
  const int32_t home = entry == 4 ? 0 : entry;
  return (float)(((((home * 2 + tp) * 2 + ep) * 12 + what) * 16 + e) * 100 + step) * 0.125f;
}

static inline zp_train_state state_of(int64_t step, zp_optim_state optim[2])
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

static inline int remove_one(const char *path, const struct stat *s, int flag, struct FTW *f)
{
  (void)s, (void)flag, (void)f;
  return remove(path);
}
static inline void make_temp(void)
{
  snprintf(dir, sizeof dir, "/tmp/zp-ckpt-XXXXXX");
  cr_assert_not_null(mkdtemp(dir));
}
static inline void remove_temp(void)
{
  nftw(dir, remove_one, 16, FTW_DEPTH | FTW_PHYS);
}

/* Rank r's part: runs of `cut` elements. Rank 3 writes nothing. */
static inline int put_part(zp_store *store, int32_t r, int64_t cut, int64_t step, zp_error *err)
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

static inline void at_event(void *ctx, const char *what)
{
  crash *c = ctx;
  (void)what;
  if (c->left >= 0 && c->seen == c->left) _exit(42);
  c->seen++;
}

/* A whole save by WORLD writers, in the order in which a job does it. */
static inline int save_at(const char *where, int64_t step, int64_t cut, crash *c, zp_error *err)
{
  zp_ckpt_writer *w[WORLD] = {0};
  zp_store store[WORLD];
  zp_optim_state optim[2];
  const zp_train_state state = state_of(step, optim);
  int status = 0;
  for (int32_t r = 0; r < WORLD && !status; r++) {
    const zp_ckpt_save s = {.step = step, .rank = r, .word = 5, .workload = "{\"seed\": 7}"};
    status = zp_ckpt_writer_open(&w[r], where, model, &s, &store[r], err);
    if (!status && c) zp_ckpt_writer_watch(w[r], at_event, c);
  }
  for (int32_t r = 0; r < WORLD && !status; r++) status = put_part(&store[r], r, cut, step, err);
  for (int32_t r = 0; r < WORLD && !status; r++)
    status = store[r].finish(store[r].ctx, &state, err);
  if (!status) status = store[0].commit(store[0].ctx, err);
  for (int32_t r = 0; r < WORLD; r++) zp_ckpt_writer_close(w[r]);
  return status;
}

static inline void save(int64_t step, int64_t cut)
{
  zp_error err = {0};
  cr_assert_eq(save_at(dir, step, cut, NULL, &err), 0, "%s", err.text);
}

/* Everything in the store, asked for in runs of `cut`, is that of `step`. */
static inline void check_values(const zp_store *store, int64_t cut, int64_t step)
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

static inline void check_state(const zp_store *store, int64_t step)
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
static inline void check_current(int64_t step, int64_t cut)
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
static inline void check_refused(const char *where, zp_ckpt_model m, int32_t status,
                                 const char *word)
{
  zp_error err = {0};
  zp_ckpt_reader *r;
  zp_store store;
  const int got = zp_ckpt_reader_open(&r, where, m, &store, &err);
  if (got == 0) zp_ckpt_reader_close(r);
  cr_assert_eq(got, status, "%s: %d %s", word, got, err.text);
  cr_assert_not_null(strstr(err.text, word), "'%s' is not in: %s", word, err.text);
}

#endif
