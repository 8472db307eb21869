#include "case.h"

#include <string.h>

#include "../../ref/verify/random_case.h"
#include "state.h"

const char *const zp_cuda_unsupported[ZP_UNSUPPORTED_COUNT] = {
    [ZP_UNSUPPORTED_VARYING_SHAPES] = "shapes that vary without dynamic_shapes",
};

uint32_t zp_cuda_unsupported_in(const zp_case *c)
{
  const int stages = c->cfg.pp > 1 || c->reload.pp > 1;
  return (uint32_t)(c->synth.vary && stages && !c->cfg.dynamic_shapes)
         << ZP_UNSUPPORTED_VARYING_SHAPES;
}

static uint32_t remove_unsupported(zp_case *c)
{
  const uint32_t bits = zp_cuda_unsupported_in(c);
  if (bits >> ZP_UNSUPPORTED_VARYING_SHAPES & 1u) c->synth.vary = 0;
  return bits;
}

void zp_cuda_random_case(uint64_t seed, uint64_t i, zp_case *c, uint32_t *removed)
{
  uint64_t state = seed * 0x9e3779b97f4a7c15u + i;
  zp_fuzz_random(seed, i, c);
  *removed = remove_unsupported(c);
  c->schedule = zp_random_next(&state) >> 24; /* short in a text, and not 0 */
  c->schedule -= c->schedule % ZP_SCHEDULE_PLAIN;
  c->schedule += c->schedule == 0 ? ZP_SCHEDULE_PLAIN : 0;
}

int zp_sums_are_exact_in_any_order(const zp_case *c)
{
  return c->cfg.reduce == ZP_ORDERED && c->synth.mode != ZP_SYNTH_WILD &&
         (c->synth.mode != ZP_SYNTH_CODED || zp_synth_digits(&c->cfg) > 0);
}

/* Opens the step after loading. 0, or a negative status. */
static int open_next(zp_diff_case *s, zp_error *err)
{
  const zp_diff_watch watch = {.storage = &s->load, .rates = &s->c};
  s->saved = zp_diff_saved(s->diff);
  s->load.load = &s->saved;
  s->load.save = 1;
  s->other_synth = s->synth;
  s->other_synth.opt.first++; /* what is not loaded keeps a value that the checkpoint has not */
  s->other_work = zp_synth_workload(&s->other_synth);
  s->next_hyper = s->hyper;
  s->next_hyper.replicas = s->other.replicas;
  s->next_hyper.entry_align = s->other.entry_align;
  s->next_hyper.slots = s->other.slots;
  s->next = zp_diff_open(&s->other.cfg, &s->next_hyper, &s->other_work, 1, &watch, err);
  return s->next ? 0 : err->status;
}

int zp_diff_case_watched(zp_diff_case *s, const zp_case *c, const zp_diff_watch *watch,
                         zp_error *err)
{
  zp_diff_watch with = watch ? *watch : (zp_diff_watch){0};
  with.storage = &s->save;
  with.rates = &s->c;
  memset(s, 0, sizeof *s);
  zp_case_copy(&s->c, c);
  zp_case_hyper(&s->c, &s->hyper);
  s->synth.opt = s->c.synth;
  s->synth.opt.reads = s->c.reload.pp == 0;
  s->work = zp_synth_workload(&s->synth);
  s->save.save = c->reload.pp > 0 && c->steps < ZP_CASE_STEPS && zp_case_reloaded(c, &s->other);
  s->diff = zp_diff_open(&s->c.cfg, &s->hyper, &s->work, s->c.steps, &with, err);
  if (!s->diff) return err->status;
  return s->save.save ? open_next(s, err) : 0;
}

int zp_diff_case_open(zp_diff_case *s, const zp_case *c, zp_error *err)
{
  return zp_diff_case_watched(s, c, NULL, err);
}

const zp_diff *zp_diff_case_run(const zp_diff_case *s, const zp_schedule *how)
{
  if (zp_diff_run(s->diff, how)) return s->diff;
  return s->next && zp_diff_run(s->next, how) ? s->next : NULL;
}

void zp_diff_case_close(zp_diff_case *s)
{
  zp_diff_close(s->diff);
  zp_diff_close(s->next);
  s->diff = s->next = NULL;
}
