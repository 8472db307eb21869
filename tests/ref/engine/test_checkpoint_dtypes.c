/* Checkpoints hold fp32 whatever the dtypes of entries and gradients, which may be others when they
 * are loaded. spec: CKPT-1, CKPT-3, PART-2, RED-1 */
#include "../../../ref/verify/memory_checkpoint.h"
#include "engine_job.h"

enum { ELEMENTS = 40, WORLD = 4 };

typedef struct values {
  float at[ENTRIES][ELEMENTS];
} values;

static void put(void *ctx, int32_t param, int64_t offset, int64_t count, const float *value)
{
  values *v = ctx;
  memcpy(&v->at[param][offset], value, (size_t)count * sizeof *value);
}

/* Masters or moments of all ranks. */
static void collect(zp_sim *sim, int32_t what, values *v)
{
  memset(v, 0, sizeof *v);
  for (int32_t r = 0; r < WORLD; r++) zp_rank_visit(zp_sim_rank(sim, r), what, put, v);
}

static void run_phase(job *j, zp_sim *sim, int32_t phase, zp_store *store)
{
  for (int32_t r = 0; r < WORLD; r++) zp_sim_rank(sim, r)->store = store;
  cr_assert_eq(zp_sim_run(sim, phase, &j->err), 0, "%s", j->err.text);
}

static void step(job *j, zp_sim *sim)
{
  cr_assert_eq(zp_sim_run(sim, ZP_PHASE_STEP, &j->err), 0, "%s", j->err.text);
}

/* Each parameter is what the checkpoint has, rounded to its entry's dtype: the master, or of entry
 * 1, which is frozen, `frozen`. */
static void has_rounded(const job *j, zp_sim *sim, const values *master, float frozen)
{
  for (int32_t r = 0; r < WORLD; r++) {
    const zp_rank *k = zp_sim_rank(sim, r);
    for (int32_t i = 0; i < k->lay.n_params; i++) {
      const int32_t p = k->lay.first_param + i, dtype = zp_entry_dtype(&j->cfg, p);
      for (int64_t e = 0; e < j->list[p].numel; e++) {
        const float wide = p == 1 ? frozen : master->at[p == 4 ? 0 : p][e];
        uint32_t want = 0;
        zp_round_to(dtype, &wide, 1, &want, 0);
        cr_assert_eq(memcmp(&want, (char *)k->param[i] + e * zp_dtype_bytes(dtype),
                            (size_t)zp_dtype_bytes(dtype)),
                     0, "entry %d, element %d", p, (int)e);
      }
    }
  }
}

static float frozen_value(const job *j, zp_sim *sim)
{
  float x;
  const zp_rank *k = zp_sim_rank(sim, 0);
  zp_widen_from(zp_entry_dtype(&j->cfg, 1), k->param[1 - k->lay.first_param], 0, 1, &x);
  return x;
}

/* Trains a, saves it, loads it as b, and compares; b then continues. */
static void moves(job *a, job *b)
{
  static values before[3], after[3];
  zp_case_memory memory;
  zp_store store = zp_case_memory_store(&memory);
  cr_assert_eq(zp_case_memory_open(&memory, &a->cfg), 0);
  zp_sim *sim = job_start(a), *other = job_start(b);
  for (int32_t s = 0; s < 2; s++) step(a, sim);
  for (int32_t w = 0; w < 3; w++) collect(sim, ZP_WHAT_MASTER + w, &before[w]);
  run_phase(a, sim, ZP_PHASE_SAVE, &store);
  run_phase(b, other, ZP_PHASE_LOAD, &store);
  for (int32_t w = 0; w < 3; w++) collect(other, ZP_WHAT_MASTER + w, &after[w]);
  for (int32_t p = 0; p < 4; p++) /* 4 is 0's other use */
    for (int32_t w = 0; w < 3; w++)
      cr_assert_eq(memcmp(before[w].at[p], after[w].at[p], sizeof before[w].at[p]), 0,
                   "entry %d, state %d", p, w);
  has_rounded(b, other, &after[0], frozen_value(a, sim));
  step(b, other);
  zp_sim_close(sim);
  zp_sim_close(other);
  zp_case_memory_close(&memory);
}

static void fill(job *j, int32_t stage, uint32_t fp32, int32_t fp32_gradients)
{
  job_fill(j, 2, 2, 4, stage, 8, ZP_ORDERED, ZP_SYNTH_WILD);
  for (int32_t p = 0; p < ENTRIES; p++) j->list[p].fp32 = fp32 >> p & 1;
  j->list[1].frozen = 1;
  j->synth.opt.overflow = 0;
  j->hyper.fp32_gradients = j->synth.opt.fp32_gradients = fp32_gradients;
}

/* Bits of entries; 0 and 4 are tied. */
Test(checkpoint_dtypes, an_entry_loads_in_another_dtype)
{
  static const uint32_t from[] = {10, 0, 25, 31}, to[] = {0, 10, 6, 0};
  static job a, b;
  for (int32_t k = 0; k < 12; k++) {
    fill(&a, k % 3, from[k / 3], 0);
    fill(&b, (k + 1) % 3, to[k / 3], 0);
    moves(&a, &b);
  }
}

Test(checkpoint_dtypes, gradients_may_have_another_dtype_after_loading)
{
  static job a, b;
  for (int32_t k = 0; k < 6; k++) {
    fill(&a, 2, 10, k % 2);
    fill(&b, k / 2, 10, !(k % 2));
    moves(&a, &b);
  }
}
