/* Laws of the interpreter and the simulator, on synth. That every random configuration equals
 * serial is fuzz's law; here stand the ones that need a particular situation. */
#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

#include "engine_job.h"

/* ---- Exactness ------------------------------------------------------------------------------- */

typedef struct bits {
  float master[ENTRIES][64];
  zp_step_result result[6];
} bits;

static void take(void *ctx, int32_t param, int64_t offset, int64_t count, const float *value)
{
  memcpy(&((bits *)ctx)->master[param][offset], value, (size_t)count * sizeof *value);
}

static void run_bits(bits *out, int32_t pp, int32_t dp, int32_t stage, int64_t bucket)
{
  job *j = malloc(sizeof *j);
  job_fill(j, pp, dp, 12, stage, bucket, ZP_EXACT, ZP_SYNTH_WILD);
  zp_sim *sim = job_start(j);
  memset(out, 0, sizeof *out);
  for (int32_t s = 0; s < 6; s++) {
    cr_assert_eq(zp_sim_run(sim, ZP_PHASE_STEP, &j->err), 0, "%s", j->err.text);
    out->result[s] = zp_sim_rank(sim, 0)->result;
    out->result[s].nonfinite = 0; /* a flag: its size means nothing (STAT-3) */
  }
  for (int32_t r = 0; r < zp_sim_world(sim); r++)
    zp_rank_visit(zp_sim_rank(sim, r), ZP_WHAT_MASTER, take, out);
  zp_sim_close(sim);
  free(j);
}

/* spec: RED-5, STAT-4, CKPT-5 (equal bits for every split of the same global batch) */
Test(engine, exact_bits_do_not_depend_on_the_split)
{
  static bits first, other;
  run_bits(&first, 1, 1, 0, 1000);
  cr_assert_eq(first.result[3].skipped, 1, "the planted overflow skips step 3");
  for (int32_t pp = 1; pp <= 4; pp++)
    for (int32_t dp = 1; dp <= 12; dp++)
      for (int32_t stage = 0; stage <= 2 && 12 % dp == 0; stage++) {
        run_bits(&other, pp, dp, stage, 1 + 7 * stage + dp);
        cr_assert_arr_eq(&first, &other, sizeof first, "pp %d dp %d stage %d", pp, dp, stage);
      }
}

/* ---- Arrival --------------------------------------------------------------------------------- */

static int32_t withheld_dp, withheld_mb;
static zp_workload real_work;

typedef struct filter {
  zp_sink to;
  int32_t drop;
} filter;

static void pass_on(void *ctx, int32_t param, const void *grad)
{
  filter *f = ctx;
  if (!(f->drop && param == 2)) f->to.arrive(f->to.ctx, param, grad);
}

typedef struct wrapped {
  void *inst;
  int32_t dp;
} wrapped;

static int open_wrapped(void *ctx, const zp_config *cfg, zp_place_of where,
                        const void *const *params, void **inst)
{
  wrapped *w = calloc(1, sizeof *w);
  w->dp = where.dp_index;
  *inst = w;
  return real_work.open(ctx, cfg, where, params, &w->inst);
}

static void close_wrapped(void *inst)
{
  real_work.close(((wrapped *)inst)->inst);
  free(inst);
}

static int forward_wrapped(void *inst, zp_mb at, int32_t slot, const zp_message *in,
                           const zp_message *out, float *loss)
{
  return real_work.forward(((wrapped *)inst)->inst, at, slot, in, out, loss);
}

static int backward_wrapped(void *inst, zp_mb at, int32_t slot, const zp_message *dout,
                            const zp_message *din, zp_sink sink)
{
  wrapped *w = inst;
  filter f = {sink, w->dp == withheld_dp && at.mb == withheld_mb && at.step == 1};
  const zp_sink through = {&f, pass_on};
  return real_work.backward(w->inst, at, slot, dout, din, through);
}

/* Parameters and masters of all ranks, as one hash. */
static uint64_t state_hash(zp_sim *sim)
{
  uint64_t h = 1469598103934665603u;
  for (int32_t r = 0; r < zp_sim_world(sim); r++) {
    const zp_rank *k = zp_sim_rank(sim, r);
    for (int32_t f = 0; f < k->lay.n_flats; f++)
      for (int64_t i = 0; k->flat[f].master && i < k->flat[f].extent * 4; i++)
        h = (h ^ ((const uint8_t *)k->flat[f].master)[i]) * 1099511628211u;
    for (int32_t i = 0; i < k->lay.n_params; i++)
      for (int64_t b = 0; b < k->cfg->params[k->lay.first_param + i].numel * 2; b++)
        h = (h ^ ((const uint8_t *)k->param[i])[b]) * 1099511628211u;
    h = (h ^ (uint64_t)k->scaler.log2_scale ^ (uint64_t)k->step << 8) * 1099511628211u;
  }
  return h;
}

/* spec: STEP-3, STEP-5 */
Test(engine, a_gradient_that_never_arrives_is_named_and_changes_nothing)
{
  for (int32_t stage = 0; stage <= 2; stage++) {
    job *j = malloc(sizeof *j);
    job_fill(j, 2, 3, 12, stage, 16, ZP_ORDERED, ZP_SYNTH_DYADIC);
    j->synth.opt.unused = 0;
    j->synth.opt.overflow = 0;
    real_work = j->work;
    j->work.open = open_wrapped;
    j->work.close = close_wrapped;
    j->work.forward = forward_wrapped;
    j->work.backward = backward_wrapped;
    withheld_dp = 1;
    withheld_mb = 2;
    zp_sim *sim = job_start(j);
    cr_assert_eq(zp_sim_run(sim, ZP_PHASE_STEP, &j->err), 0, "%s", j->err.text);
    const uint64_t before = state_hash(sim);
    cr_assert_eq(zp_sim_run(sim, ZP_PHASE_STEP, &j->err), ZP_E_ARRIVAL);
    cr_assert_eq(j->err.rank, 1);
    cr_assert(strstr(j->err.text, "2 of 3 gradients arrived"), "%s", j->err.text);
    cr_assert(strstr(j->err.text, "entry 2"), "%s", j->err.text);
    cr_assert(strstr(j->err.text, "stopped by rank 1"), "%s", j->err.text);
    cr_assert_eq(state_hash(sim), before);
    zp_sim_close(sim);
    free(j);
  }
}

/* ---- The caller's gradients ------------------------------------------------------------------ */

enum { GIVEN = 512, GIVEN_BYTES = 40 * 4 };

/* Every gradient of a step in separate memory that is not reused before the step has ended. */
static uint8_t given[GIVEN][GIVEN_BYTES], as_given[GIVEN][GIVEN_BYTES];
static int32_t n_given;
static const zp_config *given_cfg;

static void give_a_copy(void *ctx, int32_t param, const void *grad)
{
  const zp_sink *to = ctx;
  const int64_t bytes = given_cfg->params[param].numel * zp_dtype_bytes(given_cfg->precision);
  cr_assert(n_given < GIVEN && bytes <= GIVEN_BYTES);
  memset(given[n_given], 0xa5, GIVEN_BYTES);
  memcpy(given[n_given], grad, (size_t)bytes);
  memcpy(as_given[n_given], given[n_given], GIVEN_BYTES);
  to->arrive(to->ctx, param, given[n_given++]);
}

static int backward_giving(void *inst, zp_mb at, int32_t slot, const zp_message *dout,
                           const zp_message *din, zp_sink sink)
{
  const zp_sink through = {&sink, give_a_copy};
  return real_work.backward(((wrapped *)inst)->inst, at, slot, dout, din, through);
}

static void check_synthetic(job *j, int32_t stage, int32_t dp, int32_t micro_batches)
{
  zp_sim *sim = job_start(j);
  for (int32_t s = 0; s < 5; s++) { /* step 3 overflows and is skipped */
    n_given = 0;
    cr_assert_eq(zp_sim_run(sim, ZP_PHASE_STEP, &j->err), 0, "%s", j->err.text);
    cr_assert_gt(n_given, 0);
    for (int32_t i = 0; i < n_given; i++)
      cr_assert_arr_eq(given[i], as_given[i], GIVEN_BYTES,
                       "stage %d, dp %d, %d micro-batches, step %d: gradient %d was written", stage,
                       dp, micro_batches, s, i);
  }
  zp_sim_close(sim);
}

/* One micro-batch and one rank are the cases in which nothing needs a buffer of its own.
 * spec: PART-8 */
Test(engine, the_callers_gradient_is_never_written)
{
  static job j;
  for (int32_t k = 0; k < 3 * 3 * 3 * 2 * 2; k++) {
    const int32_t stage = k % 3, dp = 1 + k / 3 % 3, micro_batches = 1 + k / 9 % 3;
    job_fill(&j, 2, dp, dp * micro_batches, stage, 16, k / 27 % 2 ? ZP_EXACT : ZP_ORDERED,
             ZP_SYNTH_WILD);
    j.cfg.precision = k / 54 ? ZP_F32 : ZP_BF16;
    real_work = j.work;
    given_cfg = &j.cfg;
    j.work.open = open_wrapped;
    j.work.close = close_wrapped;
    j.work.forward = forward_wrapped;
    j.work.backward = backward_giving;
    check_synthetic(&j, stage, dp, micro_batches);
  }
}

/* ---- Mismatch and deadlock ------------------------------------------------------------------- */

static int32_t bad_rank;

static void count_less(void *ctx, zp_rank *r, zp_op *op)
{
  (void)ctx;
  if (r->rank == bad_rank && op->what == ZP_WHAT_GRADIENT) op->count--;
}

static void take_away(void *ctx, zp_rank *r, zp_op *op)
{
  (void)ctx;
  if (r->rank == bad_rank && op->what == ZP_WHAT_STATISTICS) op->kind = -1;
}

static int run_hooked(job *j, void (*before)(void *, zp_rank *, zp_op *))
{
  const zp_hook hook = {NULL, before, NULL};
  job_fill(j, 2, 2, 4, 1, 16, ZP_ORDERED, ZP_SYNTH_DYADIC);
  zp_sim *sim = job_start(j);
  zp_sim_hook(sim, &hook);
  const int status = zp_sim_run(sim, ZP_PHASE_STEP, &j->err);
  zp_sim_close(sim);
  return status;
}

/* spec: LEDG-2 */
Test(engine, a_mismatch_names_both_members)
{
  static job j;
  bad_rank = 1;
  cr_assert_eq(run_hooked(&j, count_less), ZP_E_MISMATCH);
  cr_assert(strstr(j.err.text, "rank 0 (") && strstr(j.err.text, "rank 1 ("), "%s", j.err.text);
  cr_assert(strstr(j.err.text, "reduce_scatter(gradient"), "%s", j.err.text);
  cr_assert(strstr(j.err.text, "of group dp {0, 1}"), "%s", j.err.text);
  cr_assert(strstr(j.err.text, "program position"), "%s", j.err.text);
}

/* spec: LEDG-7 */
Test(engine, a_wait_without_end_is_reported_at_once)
{
  static job j;
  bad_rank = 3;
  cr_assert_eq(run_hooked(&j, take_away), ZP_E_DEADLOCK);
  cr_assert(strstr(j.err.text, "waits for rank 3"), "%s", j.err.text);
  cr_assert(strstr(j.err.text, "all_reduce(statistics"), "%s", j.err.text);
}

/* ---- Messages -------------------------------------------------------------------------------- */

/* spec: PIPE-6 */
Test(comm, meta_messages_come_back_and_nonsense_is_refused)
{
  zp_message m = {.n = 2}, back;
  int64_t meta[ZP_META_LONGS];
  m.t[0] = (zp_tensor){.dtype = ZP_I32, .ndim = 2, .dim = {3, 5}};
  m.t[1] = (zp_tensor){.dtype = ZP_BF16, .ndim = 3, .dim = {3, 5, 7}};
  zp_meta_encode(&m, meta);
  cr_assert_eq(zp_meta_decode(meta, &back), 0);
  cr_assert(zp_message_same(&m, &back));
  for (uint32_t seed = 0; seed < 20000; seed++) {
    srand(seed);
    for (int32_t i = 0; i < ZP_META_LONGS; i++)
      meta[i] = rand() % 3 ? rand() % 6 : (int64_t)((uint64_t)rand() << 33) * (rand() % 2 ? 1 : -1);
    if (zp_meta_decode(meta, &back)) continue;
    cr_assert(back.n >= 0 && back.n <= ZP_MSG_TENSORS);
    for (int32_t i = 0; i < back.n; i++)
      cr_assert(zp_tensor_numel(&back.t[i]) >= 0 && zp_tensor_numel(&back.t[i]) <= ZP_MAX_ELEMENTS);
  }
}

/* The order of additions is the members' order: another order gives other bits. spec: RED-4 */
Test(comm, ordered_reduction_adds_left_to_right)
{
  const float a[2] = {16777216.0f, 1.0f}, b[2] = {1.0f, -1.0f}, c[2] = {1.0f, 1e-8f};
  const void *in[3] = {a, b, c}, *turned[3] = {b, c, a};
  float out[2];
  zp_reduce_members(ZP_RED_ORDERED, ZP_F32, 3, in, 2, out);
  cr_assert(out[0] == 16777216.0f && out[1] == 1e-8f);
  zp_reduce_members(ZP_RED_ORDERED, ZP_F32, 3, turned, 2, out);
  cr_assert(out[0] == 16777218.0f && out[1] == 0.0f);
}
