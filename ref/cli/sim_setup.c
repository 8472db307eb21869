#define _GNU_SOURCE
#include "sim_setup.h"

#include <stdio.h>
#include <string.h>

#include "../verify/case_list.h"

static int is_set(const zp_options *o, int32_t opt)
{
  return o->by_flag[opt] || o->by_file[opt];
}

/* --groups K0,K1,…: entries of a stage take turns. A stage with too few of them gets more, unless
 * the list is the user's: zp_options_check refuses that. */
static void apply_groups(const zp_options *o, zp_case *c)
{
  int32_t n = c->cfg.n_params;
  for (int32_t s = 0; s < c->cfg.pp && s < o->n_groups; s++) {
    int32_t turn = 0, at = 0;
    while (at < n && c->params[at].stage < s) at++;
    for (; at < n && c->params[at].stage == s; at++) {
      zp_param *p = &c->params[at];
      if (p->tied >= 0) p->optgroup = 0;
      else if (!p->frozen) p->optgroup = turn++ % o->groups[s];
    }
    for (; o->params == NULL && turn < o->groups[s] && n < ZP_CASE_PARAMS; turn++) {
      memmove(&c->params[at + 1], &c->params[at], (size_t)(n - at) * sizeof c->params[0]);
      c->params[at++] = zp_case_entry(7, s, turn);
      n++;
    }
  }
  c->cfg.n_params = n;
}

/* Every field that was given, or all of them when there is no case to start from. */
static void apply_fields(const zp_options *o, zp_case *c, int all)
{
  zp_config *cfg = &c->cfg;
  int32_t *const fields[ZP_OPTS] = {
      [ZP_OPT_PP] = &cfg->pp,         [ZP_OPT_DP] = &cfg->dp,
      [ZP_OPT_TP] = &cfg->tp,         [ZP_OPT_EP] = &cfg->ep,
      [ZP_OPT_STAGE] = &cfg->stage,   [ZP_OPT_PRECISION] = &cfg->precision,
      [ZP_OPT_REDUCE] = &cfg->reduce, [ZP_OPT_DYNAMIC_SHAPES] = &cfg->dynamic_shapes,
      [ZP_OPT_STEPS] = &c->steps,     [ZP_OPT_REPLICAS] = &c->replicas,
      [ZP_OPT_SLOTS] = &c->slots,     [ZP_OPT_FP32_GRADIENTS] = &c->synth.fp32_gradients};
  for (int32_t i = 0; i < ZP_OPTS; i++)
    if (fields[i] != NULL && (all || is_set(o, i))) *fields[i] = (int32_t)o->value[i];
  if (all || is_set(o, ZP_OPT_MICRO_BATCHES)) cfg->micro_batches = o->value[ZP_OPT_MICRO_BATCHES];
  if (all || is_set(o, ZP_OPT_BUCKET)) cfg->bucket = o->value[ZP_OPT_BUCKET];
  if (all || is_set(o, ZP_OPT_ALIGN)) cfg->align = o->value[ZP_OPT_ALIGN];
  /* else no padding: each simulated rank would keep a list of flat sizes of its own */
  if (is_set(o, ZP_OPT_ENTRY_ALIGN))
    c->entry_align = (int32_t)zp_entry_align((int32_t)o->value[ZP_OPT_ENTRY_ALIGN], cfg->precision);
  if (all || is_set(o, ZP_OPT_SEED)) c->synth.seed = (uint64_t)o->value[ZP_OPT_SEED];
}

/* Optimizer, clipping and scale: the case's, but for what was given. Without a case, fp16 has the
 * dynamic scale of the options' defaults, and coded values are small enough for it. */
static void apply_hyper(zp_sim_args *a, zp_case *c, int all)
{
  const zp_options *o = &a->o;
  const int optimizer =
      o->hyper_by_flag[ZP_HYPER_OPTIMIZER] || o->hyper_by_file[ZP_HYPER_OPTIMIZER];
  const int scale = o->hyper_by_flag[ZP_HYPER_SCALE] || o->hyper_by_file[ZP_HYPER_SCALE];
  if (all || o->hyper_by_flag[ZP_HYPER_CLIP] || o->hyper_by_file[ZP_HYPER_CLIP])
    c->clip = o->hyper.clip;
  if (scale || (all && c->cfg.precision == ZP_F16)) {
    c->scaler = o->hyper.scaler;
    c->synth.log2_unit = -c->scaler.log2_scale;
  }
  if (!optimizer) return;
  a->hyper = o->hyper;
  a->hyper.clip = c->clip;
  a->hyper.scaler = c->scaler;
  c->hyper = &a->hyper;
}

static int start(const zp_sim_args *a, zp_case *c)
{
  char why[256];
  const char *text = a->text != NULL ? a->text : a->fault != NULL ? a->fault->example : "";
  zp_case_init(c);
  if (zp_case_parse(c, text, why, sizeof why) == 0) return ZP_EXIT_GOOD;
  return zp_refuse(&a->o, "--case: %s.", why);
}

static int take_list(const zp_sim_args *a, zp_case *c, int all, int32_t old_pp)
{
  const zp_options *o = &a->o;
  if (o->params != NULL && o->n_params > ZP_CASE_PARAMS)
    return zp_refuse(o, "params: %d entries; sim takes 0 to %d.", o->n_params, ZP_CASE_PARAMS);
  if (o->params != NULL) {
    memcpy(c->params, o->params, (size_t)o->n_params * sizeof c->params[0]);
    c->cfg.n_params = o->n_params;
  } else if (all) {
    zp_case_default_list(c);
  } else if (c->cfg.pp != old_pp) {
    zp_case_recut(c, old_pp);
  }
  if (o->groups != NULL) apply_groups(o, c);
  zp_case_settle(c);
  return ZP_EXIT_GOOD;
}

int zp_sim_setup(zp_sim_args *a, zp_case *c)
{
  const int all = a->text == NULL && a->fault == NULL;
  int32_t old_pp;
  int code = start(a, c);
  if (code != ZP_EXIT_GOOD) return code;
  old_pp = c->cfg.pp;
  if (a->o.value[ZP_OPT_STEPS] > 32 && is_set(&a->o, ZP_OPT_STEPS))
    return zp_refuse(&a->o, "steps: %lld; sim takes 0 to 32.", (long long)a->o.value[ZP_OPT_STEPS]);
  apply_fields(&a->o, c, all);
  code = take_list(a, c, all, old_pp);
  if (code != ZP_EXIT_GOOD) return code;
  if (a->mode >= 0) c->synth.mode = a->mode;
  else if (zp_synth_digits(&c->cfg) == 0)
    c->synth.mode = ZP_SYNTH_WILD; /* coded values do not fit */
  if (a->unused >= 0) c->synth.unused = a->unused;
  if (a->vary) c->synth.vary = 1;
  if (a->tuple) c->synth.tuple = 1;
  apply_hyper(a, c, all);
  a->o.hyper.replicas = c->replicas;
  a->o.hyper.entry_align = c->entry_align;
  a->o.hyper.slots = c->slots;
  a->o.hyper.fp32_gradients = c->synth.fp32_gradients;
  return zp_options_check(&a->o, &c->cfg);
}
