/* The serial oracle checks its state at the entry and exit of a step: damage is an internal error
 * with file and line. */
#include "../../../ref/engine/serial.c" /* for the members of its state */

#include "damage.h"
#include "engine_job.h"

static job j;
static zp_serial *s;

static void open_oracle(void)
{
  static zp_error err;
  job_fill(&j, 1, 1, 2, 0, 16, ZP_ORDERED, ZP_SYNTH_DYADIC);
  s = zp_serial_open(&j.cfg, &j.hyper, &j.work, &err);
  cr_assert_not_null(s, "%s", err.text);
}

static void close_oracle(void)
{
  zp_serial_close(s);
}

static void step_fails(const char *condition)
{
  static zp_error err;
  zp_step_result out;
  const int64_t step = s->step;
  memset(&err, 0, sizeof err);
  cr_assert_eq(zp_serial_step(s, &out, &err), ZP_E_INTERNAL, "%s", condition);
  check_internal(&err, "ref/engine/serial.c", condition);
  cr_assert_eq(s->step, step, "%s: the step ran", condition);
}

static void step_succeeds(void)
{
  static zp_error err;
  zp_step_result out;
  cr_assert_eq(zp_serial_step(s, &out, &err), ZP_OK, "%s", err.text);
}

TestSuite(serial_invariant, .init = open_oracle, .fini = close_oracle);

Test(serial_invariant, each_damaged_member_is_an_internal_error_with_file_and_line)
{
  step_succeeds();
  WITH_DAMAGE(s->copies, j.cfg.n_params - 1, step_fails("s->copies >= s->cfg->n_params"));
  WITH_DAMAGE(s->step, -1, step_fails("s->step >= 0"));
  WITH_DAMAGE(s->nonfinite, -1, step_fails("s->nonfinite >= 0"));
  WITH_DAMAGE(s->bad_loss, -1, step_fails("s->bad_loss >= 0"));
  WITH_DAMAGE(s->scaler.log2_scale, 127, step_fails("s->scaler.log2_scale <= 126"));
  WITH_DAMAGE(s->scaler.log2_scale, -127, step_fails("s->scaler.log2_scale >= -126"));
  WITH_DAMAGE(s->first[1], 2, step_fails("s->first[j] <= j"));
  WITH_DAMAGE(s->first[1], -1, step_fails("s->first[j] >= 0"));
  WITH_DAMAGE(s->base[1], s->copies, step_fails("s->base[j] < s->copies"));
  WITH_DAMAGE(s->base[1], -1, step_fails("s->base[j] >= 0"));
  step_succeeds();
}

/* ---- At the exit ----------------------------------------------------------------------------- */

static int (*backward_of_synth)(void *inst, zp_mb at, int32_t slot, const zp_message *dout,
                                const zp_message *din, zp_sink sink);

static int damaging_backward(void *inst, zp_mb at, int32_t slot, const zp_message *dout,
                             const zp_message *din, zp_sink sink)
{
  s->bad_loss = INT64_MIN;
  return backward_of_synth(inst, at, slot, dout, din, sink);
}

Test(serial_invariant, damage_during_a_step_is_found_at_its_end)
{
  static zp_error err;
  zp_step_result out;
  backward_of_synth = j.work.backward;
  j.work.backward = damaging_backward;
  cr_assert_eq(zp_serial_step(s, &out, &err), ZP_E_INTERNAL);
  check_internal(&err, "ref/engine/serial.c", "s->bad_loss >= 0");
  cr_assert_eq(s->step, 1, "the step did not run");
}
