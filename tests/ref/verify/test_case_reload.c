/* Saving in memory, loading under another topology and going on, as fuzz does it.
 * spec: CKPT-1, CKPT-3, CKPT-5 */
#include <criterion/criterion.h>
#include <string.h>

#include "../../../ref/verify/case_run.h"

/* A case that has run one step on the simulator and on serial, and where it goes on. */
typedef struct run {
  zp_case c, other;
  zp_hyper hyper;
  zp_synth synth;
  zp_workload work;
  zp_verdict v;
  zp_case_state s;
  zp_error err;
} run;

static const char first[] =
    "reduce=exact,precision=bf16,pp=2,dp=4,tp=2,ep=2,M=3,stage=2,bucket=5,optim=adamw,clip=1,"
    "scale=4:1:1:0:0:9,seed=3,reload=3:6:1:7,list=9@0.0+8@0.1s+7@0.0t0+6@0.0e+3@1.1f+7@1.0t0+11@1."
    "1";

static void begin(run *r, const char *text)
{
  char why[128] = "";
  memset(r, 0, sizeof *r);
  zp_case_init(&r->c);
  cr_assert_eq(zp_case_parse(&r->c, text, why, sizeof why), 0, "%s", why);
  cr_assert(zp_case_reloaded(&r->c, &r->other));
  zp_case_hyper(&r->c, &r->hyper);
  r->synth.opt = r->c.synth;
  r->work = zp_synth_workload(&r->synth);
  r->s = (zp_case_state){.c = &r->c, .synth = &r->synth, .scaler = r->c.scaler, .v = &r->v};
  r->s.sim = zp_sim_open(&r->c.cfg, &r->hyper, &r->work, &r->err);
  r->s.serial = zp_serial_open(&r->c.cfg, &r->hyper, &r->work, &r->err);
  cr_assert(r->s.sim != NULL && r->s.serial != NULL, "%s", r->err.text);
  cr_assert_eq(zp_sim_run(r->s.sim, ZP_PHASE_INIT, &r->err), 0, "%s", r->err.text);
}

/* One step on both; 1 when they differ. */
static int step(run *r)
{
  cr_assert_eq(zp_sim_run(r->s.sim, ZP_PHASE_STEP, &r->err), 0, "%s", r->err.text);
  cr_assert_eq(zp_serial_step(r->s.serial, &r->s.want, &r->err), 0, "%s", r->err.text);
  zp_scaler_update(&r->s.scaler, r->s.want.skipped);
  if (zp_compare_step(&r->s)) return 1;
  r->s.step++;
  return 0;
}

static int reload(run *r)
{
  return zp_case_reload(&r->s, &r->other, &r->hyper, &r->work, &r->err);
}

static void end(run *r)
{
  zp_serial_close(r->s.serial);
  zp_sim_close(r->s.sim);
}

static run r;

Test(case_reload, continues_under_another_topology_with_the_uninterrupted_bits)
{
  begin(&r, first);
  cr_assert_eq(step(&r), 0, "%s", r.v.text);
  cr_assert_eq(reload(&r), 0, "%s", r.err.text);
  cr_assert_eq(zp_sim_world(r.s.sim), 3 * 6 * 2, "it runs under the other topology");
  for (int32_t i = 0; i < 3; i++) cr_assert_eq(step(&r), 0, "%s", r.v.text);
  end(&r);
}

/* Each state that one rank saves wrongly is seen one step later. */
Test(case_reload, a_wrong_value_in_the_checkpoint_is_seen)
{
  for (int32_t what = 0; what < 4; what++) {
    begin(&r, first);
    cr_assert_eq(step(&r), 0, "%s", r.v.text);
    zp_flat_state *f = &zp_sim_rank(r.s.sim, 0)->flat[0];
    if (what == 0) f->master[0] += 1;
    if (what == 1) f->moment1[0] += 1;
    if (what == 2) f->moment2[0] += 1;
    for (int32_t q = 0; what == 3 && q < zp_sim_world(r.s.sim); q++)
      zp_sim_rank(r.s.sim, q)->scaler.log2_scale--;
    cr_assert_eq(reload(&r), 0, "%s", r.err.text);
    cr_assert_eq(step(&r), 1, "state %d", what);
    cr_assert(r.v.failed);
    end(&r);
  }
}

/* Frozen entries, which no step changes: the loaded ranks start from other first values. */
Test(case_reload, a_frozen_entry_that_is_not_loaded_is_seen)
{
  static run r;
  float value[16];
  begin(&r, first);
  cr_assert_eq(step(&r), 0, "%s", r.v.text);
  cr_assert_eq(reload(&r), 0, "%s", r.err.text);
  for (int32_t q = 0; q < zp_sim_world(r.s.sim); q++) {
    const zp_rank *k = zp_sim_rank(r.s.sim, q);
    for (int32_t i = 0; i < k->lay.n_params; i++) {
      const int32_t j = k->lay.first_param + i;
      if (!k->cfg->params[j].frozen) continue;
      r.work.init(r.work.ctx, k->cfg, j, 0, 0, value);
      zp_round_to(k->cfg->precision, value, k->cfg->params[j].numel, k->param[i], 0);
    }
  }
  cr_assert_eq(step(&r), 1);
  cr_assert(zp_verdict_names(&r.v, "STEP-8"), "%s", r.v.text);
  end(&r);
}

Test(case_reload, ranks_that_disagree_are_not_published)
{
  begin(&r, first);
  cr_assert_eq(step(&r), 0, "%s", r.v.text);
  zp_sim_rank(r.s.sim, 5)->scaler.iter++;
  cr_assert_eq(reload(&r), ZP_E_VERDICT);
  cr_assert_not_null(strstr(r.err.text, "CKPT-1"), "%s", r.err.text);
  end(&r);
}

/* What cannot end in the same bits is not tried. CKPT-5 */
Test(case_reload, only_the_same_global_batch_and_under_ordered_the_same_split)
{
  static const char *const no[] = {
      "reduce=exact,dp=4,M=3,reload=1:5:0:4,list=3@0.0",      /* 12 is not 5 · M */
      "reduce=exact,dp=4,ep=2,M=3,reload=1:3:0:4,list=3@0.0", /* experts need an even dp */
      "reduce=ordered,dp=4,M=3,reload=1:2:0:4,list=3@0.0",
      "reduce=ordered,dp=4,M=3,reload=2:4:0:4,list=3@0.0+4@0.0", "reduce=exact,dp=4,list=3@0.0"};
  char why[128];
  for (int32_t i = 0; i < 5; i++) {
    zp_case_init(&r.c);
    cr_assert_eq(zp_case_parse(&r.c, no[i], why, sizeof why), 0, "%s", why);
    cr_assert_not(zp_case_reloaded(&r.c, &r.other), "%s", no[i]);
  }
}
