/* Edge cases: flags must not wrap, answers must not change, and errors must name their cause. */
#include "engine_job.h"

/* ---- The non-finite flag --------------------------------------------------------------------- */

static void count_much(void *ctx, zp_rank *r, const zp_op *op)
{
  (void)ctx;
  if (op->kind == ZP_OP_ARRIVED) zp_statistics_nonfinite(&r->stats, (int64_t)1 << 62);
}

/* Four ranks with 2^62 bad values each: a sum of counts would be 0. spec: STAT-3, STEP-6 */
Test(engine, a_flood_of_non_finite_values_still_skips)
{
  static job j;
  const zp_hook hook = {NULL, NULL, count_much};
  job_fill(&j, 2, 2, 4, 1, 16, ZP_EXACT, ZP_SYNTH_DYADIC);
  zp_sim *sim = job_start(&j);
  zp_sim_hook(sim, &hook);
  cr_assert_eq(zp_sim_run(sim, ZP_PHASE_STEP, &j.err), 0, "%s", j.err.text);
  cr_assert_eq(zp_sim_rank(sim, 0)->result.skipped, 1);
  cr_assert_eq(zp_sim_rank(sim, 0)->result.nonfinite, 4);
  zp_sim_close(sim);
}

/* ---- Stores that fail ------------------------------------------------------------------------ */

static int32_t failing;

static int put_nothing(void *ctx, int32_t param, int32_t tp, int32_t ep, int32_t what,
                       int64_t offset, int64_t count, const float *value, zp_error *err)
{
  (void)ctx, (void)param, (void)tp, (void)ep, (void)what, (void)offset, (void)count, (void)value;
  (void)err;
  return 0;
}

static int finish_or_fail(void *ctx, const zp_train_state *state, zp_error *err)
{
  (void)state;
  if (*(const int32_t *)ctx != failing) return 0;
  return zp_fail(err, ZP_E_FILE, failing, "rank %d: No space left on device", failing);
}

static int32_t commits;

static int commit_counted(void *ctx, zp_error *err)
{
  (void)ctx, (void)err;
  commits++;
  return 0;
}

static int run_save(int32_t fails, job *j)
{
  static int32_t id[4] = {0, 1, 2, 3};
  zp_store store[4];
  memset(store, 0, sizeof store);
  failing = fails;
  commits = 0;
  job_fill(j, 2, 2, 4, 1, 16, ZP_EXACT, ZP_SYNTH_DYADIC);
  j->synth.opt.overflow = 1; /* step 0 is skipped */
  zp_sim *sim = job_start(j);
  cr_assert_eq(zp_sim_run(sim, ZP_PHASE_STEP, &j->err), 0, "%s", j->err.text);
  for (int32_t r = 0; r < 4; r++) {
    store[r] = (zp_store){
        .ctx = &id[r], .put = put_nothing, .finish = finish_or_fail, .commit = commit_counted};
    zp_sim_rank(sim, r)->store = &store[r];
  }
  const int status = zp_sim_run(sim, ZP_PHASE_SAVE, &j->err);
  cr_assert_eq(zp_sim_rank(sim, 0)->result.skipped, 1, "the step's answer stays (STEP-9)");
  zp_sim_close(sim);
  return status;
}

/* spec: STEP-9, CKPT-2 */
Test(engine, saving_leaves_the_steps_answers)
{
  static job j;
  cr_assert_eq(run_save(-1, &j), 0, "%s", j.err.text);
  cr_assert_eq(commits, 1);
}

/* Whichever rank's disk is full: its own message is the error, and nothing is published.
 * spec: CKPT-2, LEDG-7 */
Test(engine, a_failed_save_names_the_rank_and_publishes_nothing)
{
  static job j;
  for (int32_t r = 0; r < 4; r++) {
    cr_assert_eq(run_save(r, &j), ZP_E_FILE);
    cr_assert_eq(j.err.rank, r);
    cr_assert(strstr(j.err.text, "No space left"), "%s", j.err.text);
    cr_assert_eq(commits, 0);
  }
}

/* ---- A loss that is not finite --------------------------------------------------------------- */

/* All gradients are finite, and one micro-batch's loss is NaN: on every rank nothing is updated,
 * and the dynamic scale is lowered; the next step trains. spec: STAT-3, STAT-5, STEP-6, SCALE-3 */
Test(engine, a_loss_that_is_not_finite_skips_the_step_on_every_rank)
{
  static job j;
  static float before[4][4096];
  job_fill(&j, 2, 2, 4, 1, 16, ZP_EXACT, ZP_SYNTH_DYADIC);
  cr_assert_eq(zp_scaler_init(&j.hyper.scaler, 1, 8, 0, 20, 100, 1, 0), 0);
  j.synth.opt.bad_loss = 1; /* of step 0 */
  zp_sim *sim = job_start(&j);
  for (int32_t r = 0; r < 4; r++) {
    const zp_flat_state *flat = &zp_sim_rank(sim, r)->flat[0];
    cr_assert(flat->extent > 0 && flat->extent <= 4096);
    memcpy(before[r], flat->master, (size_t)flat->extent * sizeof(float));
  }
  cr_assert_eq(zp_sim_run(sim, ZP_PHASE_STEP, &j.err), 0, "%s", j.err.text);
  for (int32_t r = 0; r < 4; r++) {
    const zp_rank *rank = zp_sim_rank(sim, r);
    float loss;
    memcpy(&loss, &rank->result.loss, sizeof loss);
    cr_assert(loss != loss, "the loss is NaN");
    cr_assert_eq(rank->result.skipped, 1);
    cr_assert_eq(rank->result.nonfinite, 0, "all gradients are finite");
    cr_assert_eq(rank->result.norm_f64, 0x7ff0000000000000u);
    cr_assert_eq(rank->scaler.log2_scale, 7);
    cr_assert_arr_eq(rank->flat[0].master, before[r], (size_t)rank->flat[0].extent * sizeof(float));
  }
  cr_assert_eq(zp_sim_run(sim, ZP_PHASE_STEP, &j.err), 0, "%s", j.err.text);
  for (int32_t r = 0; r < 4; r++) {
    const zp_rank *rank = zp_sim_rank(sim, r);
    cr_assert_eq(rank->result.skipped, 0);
    cr_assert_arr_neq(rank->flat[0].master, before[r],
                      (size_t)rank->flat[0].extent * sizeof(float));
  }
  zp_sim_close(sim);
}

/* ---- Gradients of no entry
 * --------------------------------------------------------------------- */

static zp_workload plain;
static int32_t stray;

static int backward_and_stray(void *inst, zp_mb at, int32_t slot, const zp_message *dout,
                              const zp_message *din, zp_sink sink)
{
  static const float zero[64];
  const int status = plain.backward(inst, at, slot, dout, din, sink);
  sink.arrive(sink.ctx, stray, zero);
  return status;
}

/* spec: STEP-3 */
Test(engine, a_gradient_for_no_entry_is_an_error)
{
  static job j;
  const int32_t ids[4] = {-1, ENTRIES, INT32_MAX, 1};
  for (int32_t i = 0; i < 4; i++) {
    zp_step_result result;
    job_fill(&j, 1, 1, 1, 2, 16, ZP_ORDERED, ZP_SYNTH_DYADIC);
    j.synth.opt.unused = 0;
    plain = j.work;
    j.work.backward = backward_and_stray;
    stray = ids[i];
    zp_sim *sim = job_start(&j);
    cr_assert_eq(zp_sim_run(sim, ZP_PHASE_STEP, &j.err), ZP_E_ARRIVAL, "id %d", ids[i]);
    zp_sim_close(sim);
    zp_error err = {0};
    zp_serial *s = zp_serial_open(&j.cfg, &j.hyper, &j.work, &err);
    cr_assert_eq(zp_serial_step(s, &result, &err), ZP_E_WORKLOAD, "id %d", ids[i]);
    zp_serial_close(s);
  }
}

/* ---- Shapes of pipelines that hardly occur --------------------------------------------------- */

/* Many stages, one micro-batch: a program's length does not grow with S². spec: LEDG-8, PIPE-2 */
Test(plan, a_long_pipeline_has_short_programs)
{
  const zp_config c = {.pp = 1 << 19,
                       .dp = 1,
                       .tp = 1,
                       .ep = 1,
                       .stage = 2,
                       .optgroups = 1,
                       .micro_batches = 1,
                       .bucket = 1,
                       .align = 1};
  zp_op ops[64];
  int64_t total = 0;
  for (int32_t s = 0; s < c.pp; s++) {
    const zp_coord at = {s, 0, 0};
    zp_layout lay = {.stage = s};
    const int64_t n = zp_program_write(&c, &lay, ZP_PHASE_STEP, at, ops, 64);
    cr_assert(n > 0 && n <= 12);
    total += n;
  }
  cr_assert_gt(total, c.pp);
}

/* ---- Shapes from elsewhere. PIPE-6 ----------------------------------------------------------- */

/* spec: PIPE-6 */
Test(engine, shapes_have_limits_and_their_products_do_not_overflow)
{
  static const struct {
    int32_t ndim;
    int64_t dim[ZP_MSG_DIMS], elements;
  } some[] = {{1, {1}, 1},
              {4, {1, 2, 3, 5}, 30},
              {2, {1 << 20, 1 << 20}, ZP_MAX_ELEMENTS},
              {2, {1 << 20, (1 << 20) + 1}, -1},
              {1, {ZP_MAX_ELEMENTS + 1}, -1},
              {1, {(int64_t)1 << 62}, -1},
              {4, {(int64_t)1 << 16, (int64_t)1 << 16, (int64_t)1 << 16, (int64_t)1 << 16}, -1},
              {2, {(int64_t)1 << 32, (int64_t)1 << 32}, -1}, /* 2^64 wraps to 0 */
              {2, {-4, -4}, -1},
              {1, {INT64_MIN}, -1},
              {2, {3, 0}, -1},
              {0, {0}, -1},
              {ZP_MSG_DIMS + 1, {1, 1, 1, 1}, -1},
              {-1, {1}, -1}};
  for (size_t i = 0; i < sizeof some / sizeof *some; i++) {
    zp_tensor t = {.dtype = ZP_F32, .ndim = some[i].ndim};
    memcpy(t.dim, some[i].dim, sizeof t.dim);
    cr_assert_eq(zp_tensor_checked(&t, ZP_MAX_ELEMENTS), some[i].elements, "shape %zu", i);
  }
}
