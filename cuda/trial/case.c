#include "case.h"

#include <string.h>

#include "../../ref/cli/fuzz_random.h"
#include "trial_internal.h"

const char *const zp_trial_lack_names[ZP_TRIAL_LACKS] = {
    [ZP_TRIAL_VARYING_SHAPES] = "shapes that vary without dynamic_shapes",
    [ZP_TRIAL_RELOAD] = "saved and loaded",
    [ZP_TRIAL_RELOAD_ELSEWHERE] = "loaded under another topology",
};

uint32_t zp_trial_lacking(const zp_case *c)
{
  const zp_reload *r = &c->reload;
  const int elsewhere = r->pp > 0 && (r->pp != c->cfg.pp || r->dp != c->cfg.dp);
  uint32_t bits = 0;
  if (c->synth.vary && c->cfg.pp > 1 && !c->cfg.dynamic_shapes)
    bits |= 1u << ZP_TRIAL_VARYING_SHAPES;
  if (r->pp > 0) bits |= 1u << ZP_TRIAL_RELOAD;
  if (elsewhere) bits |= 1u << ZP_TRIAL_RELOAD_ELSEWHERE;
  return bits;
}

uint32_t zp_trial_leave_out(zp_case *c)
{
  const uint32_t bits = zp_trial_lacking(c);
  if (bits >> ZP_TRIAL_VARYING_SHAPES & 1u) c->synth.vary = 0;
  c->reload.pp = 0;
  return bits;
}

void zp_trial_random_case(uint64_t seed, uint64_t i, zp_case *c, uint32_t *lacking)
{
  uint64_t state = seed * 0x9e3779b97f4a7c15u + i;
  zp_fuzz_random(seed, i, c);
  *lacking = zp_trial_leave_out(c);
  c->schedule = zp_trial_random(&state) >> 24; /* short in a text, and not 0 */
  c->schedule += c->schedule == 0;
}

int zp_trial_any_order(const zp_case *c)
{
  return c->cfg.reduce == ZP_ORDERED && c->synth.mode != ZP_SYNTH_WILD &&
         (c->synth.mode != ZP_SYNTH_CODED || zp_synth_digits(&c->cfg) > 0);
}

int zp_trial_subject_open(zp_trial_subject *s, const zp_case *c, zp_error *err)
{
  memset(s, 0, sizeof *s);
  zp_case_copy(&s->c, c);
  zp_case_hyper(&s->c, &s->hyper);
  s->synth.opt = s->c.synth;
  s->work = zp_synth_workload(&s->synth);
  s->trial = zp_trial_open(&s->c.cfg, &s->hyper, &s->work, s->c.steps, NULL, err);
  return s->trial ? 0 : err->status;
}

void zp_trial_subject_close(zp_trial_subject *s)
{
  zp_trial_close(s->trial);
  s->trial = NULL;
}
