#include "case.h"

#include <string.h>

#include "../../ref/cli/fuzz_random.h"
#include "trial_internal.h"

const char *const zp_trial_lack_names[ZP_TRIAL_LACKS] = {
    [ZP_TRIAL_VARYING_SHAPES] = "shapes that vary without dynamic_shapes",
};

uint32_t zp_trial_lacking(const zp_case *c)
{
  const int stages = c->cfg.pp > 1 || c->reload.pp > 1;
  return (uint32_t)(c->synth.vary && stages && !c->cfg.dynamic_shapes) << ZP_TRIAL_VARYING_SHAPES;
}

uint32_t zp_trial_leave_out(zp_case *c)
{
  const uint32_t bits = zp_trial_lacking(c);
  if (bits >> ZP_TRIAL_VARYING_SHAPES & 1u) c->synth.vary = 0;
  return bits;
}

void zp_trial_random_case(uint64_t seed, uint64_t i, zp_case *c, uint32_t *lacking)
{
  uint64_t state = seed * 0x9e3779b97f4a7c15u + i;
  zp_fuzz_random(seed, i, c);
  *lacking = zp_trial_leave_out(c);
  c->schedule = zp_trial_random(&state) >> 24; /* short in a text, and not 0 */
  c->schedule -= c->schedule % ZP_TRIAL_PLAIN;
  c->schedule += c->schedule == 0 ? ZP_TRIAL_PLAIN : 0;
}

int zp_trial_any_order(const zp_case *c)
{
  return c->cfg.reduce == ZP_ORDERED && c->synth.mode != ZP_SYNTH_WILD &&
         (c->synth.mode != ZP_SYNTH_CODED || zp_synth_digits(&c->cfg) > 0);
}

/* The step after loading. 0, or a negative status. */
static int open_next(zp_trial_subject *s, zp_error *err)
{
  const zp_trial_watch watch = {.storage = &s->load};
  s->saved = zp_trial_saved(s->trial);
  s->load.load = &s->saved;
  s->load.save = 1;
  s->next = zp_trial_open(&s->other.cfg, &s->hyper, &s->work, 1, &watch, err);
  return s->next ? 0 : err->status;
}

int zp_trial_subject_watched(zp_trial_subject *s, const zp_case *c, const zp_trial_watch *watch,
                             zp_error *err)
{
  zp_trial_watch with = watch ? *watch : (zp_trial_watch){0};
  with.storage = &s->save;
  memset(s, 0, sizeof *s);
  zp_case_copy(&s->c, c);
  zp_case_hyper(&s->c, &s->hyper);
  s->synth.opt = s->c.synth;
  s->work = zp_synth_workload(&s->synth);
  s->save.save = c->reload.pp > 0 && c->steps < ZP_CASE_STEPS && zp_case_reloaded(c, &s->other);
  s->trial = zp_trial_open(&s->c.cfg, &s->hyper, &s->work, s->c.steps, &with, err);
  if (!s->trial) return err->status;
  return s->save.save ? open_next(s, err) : 0;
}

int zp_trial_subject_open(zp_trial_subject *s, const zp_case *c, zp_error *err)
{
  return zp_trial_subject_watched(s, c, NULL, err);
}

int zp_trial_subject_text(zp_trial_subject *s, const char *text, zp_error *err)
{
  static zp_case c;
  char why[256] = "";
  zp_case_init(&c);
  if (zp_case_parse(&c, text, why, sizeof why))
    return zp_fail(err, ZP_E_REFUSED, -1, "%s: %s", text, why);
  return zp_trial_subject_open(s, &c, err);
}

const zp_trial *zp_trial_subject_run(const zp_trial_subject *s, const zp_trial_schedule *how)
{
  if (zp_trial_run(s->trial, how)) return s->trial;
  return s->next && zp_trial_run(s->next, how) ? s->next : NULL;
}

void zp_trial_subject_close(zp_trial_subject *s)
{
  zp_trial_close(s->trial);
  zp_trial_close(s->next);
  s->trial = s->next = NULL;
}
