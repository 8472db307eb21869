/* A checkpoint in memory, which counts how often each element was written, and fails on request.
 * It knows entries, copies and offsets, and nothing of a split: what ref and the engine save under
 * any two splits of one model must be equal in every byte. */
#ifndef ZP_TESTS_ENGINE_STORE_H
#define ZP_TESTS_ENGINE_STORE_H

#include <string.h>

#include "../../ref/engine/rank.h"
#include "../unit/plan_random.h"

enum { STORE_NUMEL = 40, STORE_TP = 2, STORE_EP = 2, STORE_KINDS = 3, STORE_RANKS = 12 };
enum { STORE_GROUPS = 3 };

typedef struct memory {
  float value[RANDOM_ENTRIES][STORE_TP][STORE_EP][STORE_KINDS][STORE_NUMEL];
  uint8_t written[RANDOM_ENTRIES][STORE_TP][STORE_EP][STORE_KINDS][STORE_NUMEL];
  zp_train_state state[STORE_RANKS]; /* what each rank says; loads take the first */
  zp_optim_state optim[STORE_RANKS][STORE_GROUPS];
  int32_t committed;
} memory;

/* One rank's way to it. The rank's call number fail_at (from 1) fails. */
typedef struct memory_rank {
  memory *m;
  int32_t rank, calls, fail_at;
} memory_rank;

static inline int refused(memory_rank *r, const char *what, zp_error *err)
{
  if (++r->calls != r->fail_at) return 0;
  return zp_fail(err, ZP_E_FILE, r->rank, "the store's %s failed as planned", what);
}

static inline int32_t kind_of(int32_t what)
{
  return what == ZP_WHAT_MOMENT1 ? 1 : what == ZP_WHAT_MOMENT2 ? 2 : 0;
}

static inline int memory_put(void *ctx, int32_t param, int32_t tp, int32_t ep, int32_t what,
                             int64_t offset, int64_t count, const float *value, zp_error *err)
{
  memory_rank *r = ctx;
  if (refused(r, "put", err)) return -1;
  memcpy(r->m->value[param][tp][ep][kind_of(what)] + offset, value, (size_t)count * sizeof *value);
  for (int64_t i = 0; i < count; i++) r->m->written[param][tp][ep][kind_of(what)][offset + i]++;
  return 0;
}

static inline int memory_finish(void *ctx, const zp_train_state *state, zp_error *err)
{
  memory_rank *r = ctx;
  if (refused(r, "finish", err)) return -1;
  r->m->state[r->rank] = *state;
  r->m->state[r->rank].optim = NULL;
  memcpy(r->m->optim[r->rank], state->optim, (size_t)state->groups * sizeof *state->optim);
  return 0;
}

static inline int memory_commit(void *ctx, zp_error *err)
{
  memory_rank *r = ctx;
  if (refused(r, "commit", err)) return -1;
  r->m->committed++;
  return 0;
}

static inline int memory_get(void *ctx, int32_t param, int32_t tp, int32_t ep, int32_t what,
                             int64_t offset, int64_t count, float *value, zp_error *err)
{
  memory_rank *r = ctx;
  if (refused(r, "get", err)) return -1;
  for (int64_t i = 0; i < count; i++)
    if (r->m->written[param][tp][ep][kind_of(what)][offset + i] != 1)
      return zp_fail(err, ZP_E_FILE, r->rank, "entry %d, element %lld was not saved once", param,
                     (long long)(offset + i));
  memcpy(value, r->m->value[param][tp][ep][kind_of(what)] + offset, (size_t)count * sizeof *value);
  return 0;
}

static inline int memory_state(void *ctx, zp_train_state *state, zp_error *err)
{
  memory_rank *r = ctx;
  zp_optim_state *optim = state->optim;
  if (refused(r, "state", err)) return -1;
  *state = r->m->state[0];
  state->optim = optim;
  memcpy(optim, r->m->optim[0], (size_t)state->groups * sizeof *optim);
  return 0;
}

static inline zp_store memory_store(memory_rank *r)
{
  return (zp_store){r, memory_put, memory_finish, memory_commit, memory_get, memory_state};
}

/* A checkpoint that nobody has saved, of step `step`: any numbers. */
static inline void memory_invent(memory *m, uint64_t seed, int64_t step, zp_scaler scaler)
{
  float *x = &m->value[0][0][0][0][0];
  const size_t n = sizeof m->value / sizeof *x;
  memset(m, 0, sizeof *m);
  memset(m->written, 1, sizeof m->written);
  for (size_t i = 0; i < n; i++) {
    seed = seed * 6364136223846793005u + 1442695040888963407u;
    x[i] = (float)(1 + (seed >> 40)) * 0x1p-25f; /* moments must not be negative */
  }
  m->state[0] = (zp_train_state){step, scaler, STORE_GROUPS, NULL};
  for (int32_t g = 0; g < STORE_GROUPS; g++)
    m->optim[0][g] = (zp_optim_state){1 / (double)(step + g + 2), 0.5, step};
}

/* NULL, or what differs. ranks: that have saved. */
static inline const char *memory_differs(const memory *a, const memory *b, int32_t ranks)
{
  if (memcmp(a->written, b->written, sizeof a->written)) return "which elements were saved";
  if (memcmp(a->value, b->value, sizeof a->value)) return "the value of a saved element";
  if (memcmp(a->optim, b->optim, (size_t)ranks * sizeof a->optim[0]))
    return "a saved optimizer state";
  if (a->committed != b->committed) return "how often a checkpoint was published";
  for (int32_t r = 0; r < ranks; r++) {
    const zp_train_state *s = &a->state[r], *t = &b->state[r];
    const zp_scaler *u = &s->scaler, *v = &t->scaler;
    if (s->step != t->step || s->groups != t->groups) return "the saved step";
    if (u->dynamic != v->dynamic || u->log2_scale != v->log2_scale || u->log2_min != v->log2_min ||
        u->log2_max != v->log2_max || u->window != v->window || u->hysteresis != v->hysteresis ||
        u->consecutive != v->consecutive || u->iter != v->iter ||
        u->last_overflow != v->last_overflow || u->hysteresis_left != v->hysteresis_left)
      return "the saved scaler";
  }
  return NULL;
}

#endif
