/* From a recipe to the tables of a case. spec: RED-1, STEP-1 */
#define _GNU_SOURCE
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../ref/model/synth_random.h"
#include "../../ref/verify/config_text.h"
#include "cases.h"

/* Of a case: as many as conf_read.c takes; and values of gradients, a second's work or two. */
enum { MOST_MICRO_BATCHES = 4096, MOST_VALUES = 1 << 22 };

int zp_recipe_parse(zp_recipe *r, const char *text, char *why, int64_t cap)
{
  const struct {
    const char *text;
    int32_t *at;
  } flags[] = {{"comm=fp32,", &r->comm_fp32},
               {"sum=1,", &r->sum},
               {"rates=1,", &r->rates},
               {"late=1,", &r->late}};
  memset(r, 0, sizeof *r);
  zp_case_init(&r->c);
  for (;;) {
    int used = 0;
    if (sscanf(text, "wide=%4d,%n", &r->wide, &used) == 1 && used > 0) text += used;
    else if (sscanf(text, "first=%4d,%n", &r->first, &used) == 1 && used > 0) text += used;
    for (size_t i = 0; used == 0 && i < sizeof flags / sizeof *flags; i++) {
      if (strncmp(text, flags[i].text, strlen(flags[i].text)) != 0) continue;
      *flags[i].at = 1;
      used = (int)strlen(flags[i].text);
      text += used;
    }
    if (used == 0) break;
  }
  r->scaler = strstr(text, "scale=") != NULL;
  if (r->wide < 0 || r->wide > 16) {
    snprintf(why, (size_t)cap, "wide=%d is not in 0..16", r->wide);
    return -1;
  }
  if (r->first < -100 || r->first > 100) {
    snprintf(why, (size_t)cap, "first=%d is not in -100..100", r->first);
    return -1;
  }
  return zp_case_parse(&r->c, text, why, cap);
}

static void conf_hyper(const zp_recipe *r, zp_hyper *hyper)
{
  memset(hyper, 0, sizeof *hyper);
  hyper->groups = r->c.cfg.optgroups;
  for (int32_t g = 0; g < hyper->groups && g < ZP_HYPER_GROUPS; g++) {
    zp_optim *o = &hyper->optim[g];
    o->kind = r->c.optim == ZP_CASE_ADAMW ? ZP_OPTIM_ADAMW : ZP_OPTIM_SGD;
    o->lr = ldexp(1, -(g % 3) - (o->kind == ZP_OPTIM_ADAMW ? 5 : 1));
    /* torch's SGD puts the decay into the momentum buffer, the spec does not: never both */
    o->momentum = r->c.optim == ZP_CASE_MOMENTUM ? 0.5 : 0;
    o->weight_decay = r->c.optim != ZP_CASE_MOMENTUM && g % 2 == 1 ? 0.5 : 0;
    if (o->kind != ZP_OPTIM_ADAMW) continue;
    o->beta1 = 0.5;
    o->beta2 = 0.75;
    o->eps = ldexp(1, -10);
  }
  hyper->clip = r->c.clip;
  hyper->clip_eps = 1e-6;
  hyper->scaler = r->c.scaler;
}

/* Whole numbers of -8 … 8, times 2^log2_first; other ones in each copy, the same in every use. */
static int make_first(const zp_recipe *r, zp_table *n, int32_t j)
{
  const zp_config *c = &n->cfg;
  const zp_param *p = &c->params[j];
  const uint64_t home = (uint64_t)zp_synth_use_of(c, j).home;
  for (int32_t t = 0; t < (p->sharded ? c->tp : 1); t++) {
    for (int32_t e = 0; e < (p->expert ? c->ep : 1); e++) {
      const int64_t at = zp_table_first(n, j, t, e);
      uint64_t h = zp_synth_mix(zp_synth_mix(r->c.synth.seed, ZP_SYNTH_FOR_VALUES), home);
      h = zp_synth_mix(h, (uint64_t)t << 32 | (uint32_t)e);
      if (zp_table_add(n->first, at, p->numel)) return -1;
      for (int64_t i = 0; i < p->numel; i++)
        n->first[at][i] =
            (float)ldexp((double)((int64_t)(zp_synth_mix(h, (uint64_t)i) % 17) - 8), n->log2_first);
    }
  }
  return 0;
}

/* Gradients of fp32 entries beside others have this many bits more than the precision holds, so
 * that a sum in the precision rounds. 0: all entries have the precision. */
static int32_t more_bits(const zp_config *c)
{
  for (int32_t j = 0; j < c->n_params; j++)
    if (c->params[j].fp32) return c->precision == ZP_BF16 ? 8 : 11;
  return 0;
}

/* The rows of entry j for micro-batch g of a step. */
static int make_rows(const zp_recipe *r, zp_table *n, int64_t step, int64_t g, int32_t j)
{
  const zp_config *c = &n->cfg;
  const zp_param *p = &c->params[j];
  const int32_t dp = (int32_t)(g % c->dp), ep = p->expert ? dp % c->ep : 0;
  const int64_t mb = g / c->dp;
  const float widened = p->fp32 ? 1 + ldexpf(1, -more_bits(c)) : 1;
  for (int32_t t = 0; t < zp_table_rows(c, j); t++) {
    const int64_t number = zp_synth_number(c, j, dp, t, mb);
    if (p->frozen || !zp_synth_used(&r->c.synth, c, step, j, ep, number)) return 0;
    const int64_t at = zp_table_row(n, step, g, j, t);
    if (zp_table_add(n->value, at, p->numel)) return -1;
    for (int64_t e = 0; e < p->numel; e++)
      n->value[at][e] =
          ldexpf(zp_synth_value(&r->c.synth, c, step, j, p->sharded ? t : 0, ep, number, e),
                 r->wide * (int32_t)mb) *
          widened;
  }
  return 0;
}

/* What boundary b carries for micro-batch g: a float tensor of odd sizes, with `tuple` also an
 * integer one before or behind it, which may be smaller or larger; with `vary` other sizes, and
 * another order, by micro-batch. PIPE-6 */
static zp_message make_shape(const zp_recipe *r, int32_t b, int64_t g)
{
  const zp_synth_options *o = &r->c.synth;
  const uint64_t h = zp_synth_mix(zp_synth_mix(o->seed, ZP_SYNTH_FOR_ACTIVATION), (uint64_t)b);
  const int64_t rows = 1 + (int64_t)((h % 3 + (o->vary ? (uint64_t)g : 0)) % 3);
  const int64_t ints[4] = {1, rows, 3 * rows, 3 * rows + 2};
  const int32_t first = (h / 3 + (o->vary ? (uint64_t)g : 0)) % 2 == 0;
  zp_message m;
  memset(&m, 0, sizeof m);
  m.n = o->tuple ? 2 : 1;
  zp_tensor *f = &m.t[o->tuple && first ? 1 : 0], *i = &m.t[first ? 0 : 1];
  if (o->tuple) *i = (zp_tensor){ZP_I32, 1, {ints[h / 6 % 4]}, NULL};
  *f = (zp_tensor){r->c.cfg.precision, 2, {rows, 3}, NULL};
  return m;
}

/* The loss scale of the last step, if no step overflows. */
static int32_t last_scale(const zp_table *n)
{
  zp_scaler scaler = n->hyper.scaler;
  for (int32_t s = 1; s < n->steps; s++) zp_scaler_update(&scaler, 0);
  return scaler.log2_scale;
}

/* The row in the last step of the first micro-batch and use in which this rank uses the storage of
 * entry j, or NULL. */
static float *first_row(const zp_table *n, int32_t j, int32_t dp)
{
  const zp_config *c = &n->cfg;
  for (int64_t g = dp; g < c->dp * c->micro_batches; g += c->dp)
    for (int32_t i = j; i < c->n_params; i++)
      if (zp_synth_use_of(c, i).home == j && n->value[zp_table_row(n, n->steps - 1, g, i, 0)])
        return n->value[zp_table_row(n, n->steps - 1, g, i, 0)];
  return NULL;
}

/* In the last step, one element of entry j has contributions of two ranks alone, in one micro-batch
 * each: each is finite, also times the loss scale, and their sum is not. Whether the mean overflows
 * depends on where an implementation divides. 0 if two ranks do not use the entry. */
static int overflow_in(const zp_recipe *r, const zp_table *n, int32_t j)
{
  const zp_config *c = &n->cfg;
  const uint64_t h = zp_synth_mix(r->c.synth.seed, ZP_SYNTH_FOR_OVERFLOW);
  const int32_t from = (int32_t)(h / 7 % (uint64_t)c->dp);
  const float large = ldexpf(0.75f, (zp_entry_dtype(c, j) == ZP_F16 ? 16 : 128) - last_scale(n));
  float *row[2] = {NULL, NULL};
  int32_t rows = 0;
  for (int32_t d = 0; d < c->dp && rows < 2; d++) {
    row[rows] = first_row(n, j, (from + d) % c->dp);
    rows += row[rows] != NULL;
  }
  if (rows < 2) return 0;
  const int64_t e = (int64_t)(h % (uint64_t)c->params[j].numel);
  for (int64_t g = 0; g < c->dp * c->micro_batches; g++) {
    for (int32_t i = j; i < c->n_params; i++) {
      float *x = n->value[zp_table_row(n, n->steps - 1, g, i, 0)];
      if (x == NULL || zp_synth_use_of(c, i).home != j) continue;
      x[e] = x == row[0] || x == row[1] ? large : 0;
    }
  }
  return 1;
}

static int overflow_in_sum(const zp_recipe *r, const zp_table *n)
{
  const zp_config *c = &n->cfg;
  for (int32_t j = 0; j < c->n_params; j++)
    if (!c->params[j].frozen && !c->params[j].expert && c->params[j].numel > 0 &&
        zp_synth_use_of(c, j).home == j && overflow_in(r, n, j))
      return 1;
  return 0;
}

/* The sum of the magnitudes of all contributions to an element. */
static double magnitude(const zp_table *n, int64_t step, int32_t j, int32_t t, int64_t e)
{
  const zp_config *c = &n->cfg;
  double sum = 0;
  for (int64_t g = 0; g < c->dp * c->micro_batches; g++) {
    for (int32_t i = j; i < c->n_params; i++) {
      const float *x = n->value[zp_table_row(n, step, g, i, t)];
      if (x != NULL && zp_synth_use_of(c, i).home == j) sum += fabs((double)x[e]);
    }
  }
  return sum;
}

int zp_conf_sum_overflows(const zp_table *n, int64_t step, int32_t log2_scale, int32_t *entry,
                          int64_t *element)
{
  const zp_config *c = &n->cfg;
  if (!n->either || step != n->steps - 1) return 0;
  for (int32_t j = 0; j < c->n_params; j++) {
    if (c->params[j].frozen || c->params[j].expert || zp_synth_use_of(c, j).home != j) continue;
    for (int64_t e = 0; e < c->params[j].numel; e++) {
      *entry = j;
      *element = e;
      if (ldexp(magnitude(n, step, j, 0, e), log2_scale) >=
          ldexp(1, zp_entry_dtype(c, j) == ZP_F16 ? 16 : 128))
        return 1;
    }
  }
  return 0;
}

/* The last group comes after one step or more. 0, or -1 if there is no such step, or if one of the
 * optimizer's first groups or the last one has nothing to train. */
static int add_late_group(const zp_recipe *r, zp_table *n)
{
  const zp_config *c = &n->cfg;
  const int32_t last = c->optgroups - 1;
  int32_t early = 0, late = 0;
  for (int32_t j = 0; j < c->n_params; j++) {
    early |= !c->params[j].frozen && c->params[j].optgroup < last;
    late |= !c->params[j].frozen && c->params[j].optgroup == last;
  }
  if (!early || !late || n->steps < 2) return -1;
  n->since[last] = 1 + (int32_t)(r->c.synth.seed / 64 % (uint64_t)(n->steps - 1));
  return 0;
}

static int fill(const zp_recipe *r, zp_table *n)
{
  const zp_config *c = &n->cfg;
  const int64_t global = c->dp * c->micro_batches;
  for (int32_t j = 0; j < c->n_params; j++) {
    if (make_first(r, n, j)) return -1;
    for (int64_t i = 0; i < n->steps * global; i++)
      if (make_rows(r, n, i / global, i % global, j)) return -1;
  }
  for (int32_t b = 0; b < c->pp - 1; b++)
    for (int64_t g = 0; g < global; g++) n->shape[b * global + g] = make_shape(r, b, g);
  return 0;
}

/* What is asked for must be a case that the reader takes, and be made and proven within seconds. */
static int too_much(const zp_recipe *r, char *why, int64_t cap)
{
  const zp_config *c = &r->c.cfg;
  const double rows = (double)r->c.steps * c->dp * c->micro_batches;
  double values = 0;
  for (int32_t j = 0; j < c->n_params; j++)
    values += (double)c->params[j].numel * (c->params[j].sharded ? c->tp : 1);
  if (c->n_params < 1) snprintf(why, (size_t)cap, "a case needs a parameter");
  else if (c->micro_batches > MOST_MICRO_BATCHES)
    snprintf(why, (size_t)cap, "M is more than %d", MOST_MICRO_BATCHES);
  else if (rows * (values + c->n_params) > MOST_VALUES)
    snprintf(why, (size_t)cap, "its gradients have %.0f values, more than %d", rows * values,
             MOST_VALUES);
  else return zp_conf_check_size(c, r->c.steps, why, cap);
  return -1;
}

void zp_conf_get_rates(const zp_table *table, double lr[ZP_HYPER_GROUPS])
{
  for (int32_t g = 0; g < ZP_HYPER_GROUPS; g++) lr[g] = table->hyper.optim[g].lr;
}

void zp_conf_set_rates(zp_table *table, const double lr[ZP_HYPER_GROUPS], int64_t step)
{
  for (int32_t g = 0; g < ZP_HYPER_GROUPS; g++)
    table->hyper.optim[g].lr = lr[g] * zp_table_rate(table->rates, step);
}

zp_table *zp_conf_make(const zp_recipe *r, char *why, int64_t cap)
{
  const zp_config *c = &r->c.cfg;
  zp_refusal refusal;
  zp_table *n;
  if (zp_config_check(c, &refusal) != 0) {
    zp_refusal_text(&refusal, NULL, why, cap);
    return NULL;
  }
  if (c->optgroups > ZP_HYPER_GROUPS) {
    snprintf(why, (size_t)cap, "groups=%d is more than %d", c->optgroups, ZP_HYPER_GROUPS);
    return NULL;
  }
  if (r->c.synth.mode != ZP_SYNTH_CODED || r->c.optim == ZP_CASE_MIXED || r->c.steps < 1) {
    snprintf(why, (size_t)cap, "a case needs mode=coded, one kind of optimizer, and a step");
    return NULL;
  }
  if (r->c.replicas != 1) {
    snprintf(why, (size_t)cap, "replicas=%d is no field of a recipe: it follows it, as options do",
             r->c.replicas);
    return NULL;
  }
  if (r->c.entry_align != 1) {
    snprintf(why, (size_t)cap, "entry_align=%d is an engine's own choice, no field of a recipe",
             r->c.entry_align);
    return NULL;
  }
  if (r->c.slots != 0) {
    snprintf(why, (size_t)cap, "slots=%d is an engine's own choice, no field of a recipe",
             r->c.slots);
    return NULL;
  }
  if (r->c.synth.fp32_gradients) {
    snprintf(why, (size_t)cap, "fp32_gradients=1 is an engine's own choice, no field of a recipe");
    return NULL;
  }
  for (int32_t j = 0; j < c->n_params; j++)
    if (c->params[j].fp32 && c->precision == ZP_F32) {
      snprintf(why, (size_t)cap,
               "parameter %d has the flag w, which needs precision=bf16 or precision=fp16", j);
      return NULL;
    }
  if (too_much(r, why, cap)) return NULL;
  n = zp_table_new(c, r->c.steps);
  if (n == NULL) {
    snprintf(why, (size_t)cap, "no memory");
    return NULL;
  }
  n->log2_unit = r->c.synth.log2_unit - more_bits(c);
  n->log2_first = r->first - 2;
  n->rates = r->rates;
  n->either = r->sum;
  conf_hyper(r, &n->hyper);
  if (fill(r, n) != 0) snprintf(why, (size_t)cap, "no memory");
  else if (r->sum && !overflow_in_sum(r, n))
    snprintf(why, (size_t)cap, "no two ranks use a parameter in the last step");
  else if (r->late && add_late_group(r, n) != 0)
    snprintf(why, (size_t)cap, "late=1 needs two groups that train parameters, and two steps");
  else return n;
  zp_table_free(n);
  return NULL;
}
