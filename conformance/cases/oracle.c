/* What serial training makes of a case. Adapters never see it. spec: RED-2, STAT-4, STEP-6,
 * STEP-7 */
#define _GNU_SOURCE
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../ref/engine/rank_query.h"
#include "../../ref/model/synth.h"
#include "cases.h"

typedef struct oracle {
  zp_table *n;
  zp_serial *serial;
  zp_slack **slack;                     /* by zp_table_first */
  float **master, **moment1, **moment2; /* before the step */
  zp_optim_state optim[ZP_HYPER_GROUPS];
  zp_scaler scaler;
  int64_t elements; /* that the norm runs over */
  double lr[ZP_HYPER_GROUPS];
} oracle;

json_t *zp_conf_hex(double x)
{
  char text[64];
  if (isnan(x)) return json_string("nan");
  if (isinf(x)) return json_string(x > 0 ? "inf" : "-inf");
  snprintf(text, sizeof text, "%a", x);
  return json_string(text);
}

static json_t *hexes(const float *x, int64_t n, int32_t log2)
{
  json_t *list = json_array();
  for (int64_t i = 0; i < n; i++)
    json_array_append_new(list, zp_conf_hex(ldexp((double)x[i], log2)));
  return list;
}

/* x as a parameter of the dtype would hold it. */
static double as_parameter(int32_t dtype, double x)
{
  const float master = (float)x;
  uint32_t bits;
  float out;
  zp_round_to(dtype, &master, 1, &bits, 0);
  zp_widen_from(dtype, &bits, 0, 1, &out);
  return (double)out;
}

/* What an element may be: its master ± slack, those as parameters, its moments ± slack. */
static void add_bounds(int32_t dtype, json_t *copy, const float *const state[3], const zp_slack *s,
                       int64_t n)
{
  static const char *const names[8] = {"master_low",    "master_high",   "moment1_low",
                                       "moment1_high",  "moment2_low",   "moment2_high",
                                       "parameter_low", "parameter_high"};
  json_t *list[8];
  for (int32_t i = 0; i < 8; i++) list[i] = json_array();
  for (int64_t i = 0; i < n; i++) {
    const double slack[3] = {s[i].master, s[i].moment1, s[i].moment2};
    for (int32_t k = 0; k < 6; k++) {
      const double x = (double)state[k / 2][i] + (k % 2 == 0 ? -slack[k / 2] : slack[k / 2]);
      json_array_append_new(list[k], zp_conf_hex(x));
      if (k < 2) json_array_append_new(list[6 + k], zp_conf_hex(as_parameter(dtype, x)));
    }
  }
  for (int32_t i = 0; i < 8; i++) json_object_set_new(copy, names[i], list[i]);
}

static int has_slack(const zp_slack *s, int64_t n)
{
  for (int64_t i = 0; i < n; i++)
    if (s[i].master != 0 || s[i].moment1 != 0 || s[i].moment2 != 0) return 1;
  return 0;
}

static json_t *copy_json(const oracle *o, int32_t j, int32_t t, int32_t e, int32_t log2,
                         int32_t skipped)
{
  const zp_param *p = &o->n->cfg.params[j];
  const int32_t home = zp_synth_use_of(&o->n->cfg, j).home, dtype = zp_entry_dtype(&o->n->cfg, j);
  const void *param = zp_serial_get(o->serial, ZP_WHAT_PARAMETER, j, t, e);
  const float *const state[3] = {zp_serial_get(o->serial, ZP_WHAT_MASTER, j, t, e),
                                 zp_serial_get(o->serial, ZP_WHAT_MOMENT1, j, t, e),
                                 zp_serial_get(o->serial, ZP_WHAT_MOMENT2, j, t, e)};
  const zp_slack *slack = o->slack[zp_table_first(o->n, home, t, e)];
  float *wide = calloc((size_t)p->numel + 1, sizeof *wide);
  json_t *copy = json_object();
  if (wide == NULL) return copy;
  zp_widen_from(dtype, param, 0, p->numel, wide);
  json_object_set_new(copy, "parameter", hexes(wide, p->numel, 0));
  free(wide);
  if (p->frozen) return copy;
  json_object_set_new(copy, "master", hexes(state[0], p->numel, 0));
  json_object_set_new(copy, "moment1", hexes(state[1], p->numel, 0));
  json_object_set_new(copy, "moment2", hexes(state[2], p->numel, 0));
  if (!skipped)
    json_object_set_new(
        copy, "gradient",
        hexes(zp_serial_get(o->serial, ZP_WHAT_GRADIENT, j, t, e), p->numel, -log2));
  if (has_slack(slack, p->numel)) add_bounds(dtype, copy, state, slack, p->numel);
  return copy;
}

static json_t *entries_json(const oracle *o, int32_t log2, int32_t skipped)
{
  const zp_config *c = &o->n->cfg;
  json_t *list = json_array();
  for (int32_t j = 0; j < c->n_params; j++) {
    json_t *copies = json_array();
    for (int32_t t = 0; t < (c->params[j].sharded ? c->tp : 1); t++)
      for (int32_t e = 0; e < (c->params[j].expert ? c->ep : 1); e++)
        json_array_append_new(copies, copy_json(o, j, t, e, log2, skipped));
    json_array_append_new(list, copies);
  }
  return list;
}

/* ---- Steps ----------------------------------------------------------------------------------- */

typedef void (*on_copy)(oracle *o, const zp_step_result *result, int32_t j, int32_t t, int32_t e);

static void each(oracle *o, const zp_step_result *result, on_copy f)
{
  const zp_config *c = &o->n->cfg;
  for (int32_t j = 0; j < c->n_params; j++) {
    if (c->params[j].frozen || zp_synth_use_of(c, j).home != j) continue;
    for (int32_t t = 0; t < (c->params[j].sharded ? c->tp : 1); t++)
      for (int32_t e = 0; e < (c->params[j].expert ? c->ep : 1); e++) f(o, result, j, t, e);
  }
}

static void keep(oracle *o, const zp_step_result *result, int32_t j, int32_t t, int32_t e)
{
  const int64_t at = zp_table_first(o->n, j, t, e);
  const size_t bytes = (size_t)o->n->cfg.params[j].numel * sizeof(float);
  (void)result;
  memcpy(o->master[at], zp_serial_get(o->serial, ZP_WHAT_MASTER, j, t, e), bytes);
  memcpy(o->moment1[at], zp_serial_get(o->serial, ZP_WHAT_MOMENT1, j, t, e), bytes);
  memcpy(o->moment2[at], zp_serial_get(o->serial, ZP_WHAT_MOMENT2, j, t, e), bytes);
}

static void loosen(oracle *o, const zp_step_result *result, int32_t j, int32_t t, int32_t e)
{
  const int64_t at = zp_table_first(o->n, j, t, e);
  const int32_t group = o->n->cfg.params[j].optgroup;
  if (result->step < o->n->since[group]) return;
  const float *mean = zp_serial_get(o->serial, ZP_WHAT_GRADIENT, j, t, e);
  for (int64_t i = 0; i < o->n->cfg.params[j].numel; i++)
    zp_slack_step(&o->slack[at][i], &o->n->hyper.optim[group], &o->optim[group],
                  result->clip_factor, o->elements, (double)o->master[at][i],
                  (double)o->moment1[at][i], (double)o->moment2[at][i],
                  ldexp((double)mean[i], -result->log2_scale));
}

static double as_double(uint64_t bits)
{
  double x;
  memcpy(&x, &bits, sizeof x);
  return x;
}

/* How far the loss of right implementations may be from serial's: any order of n additions and one
 * product each in fp32, where subnormal numbers may be 0, and what the parameters may differ by.
 * overflow. */
static double loss_slack(const oracle *o, int64_t step, int32_t stage, int64_t g, int32_t t)
{
  const zp_config *c = &o->n->cfg;
  double sum = 0, off = 0;
  int64_t n = 0;
  for (int32_t j = 0; j < c->n_params; j++) {
    const zp_param *p = &c->params[j];
    const float *x = o->n->value[zp_table_row(o->n, step, g, j, t % zp_table_rows(c, j))];
    const int32_t ep = p->expert ? (int32_t)(g % c->dp % c->ep) : 0;
    const int64_t at = zp_table_first(o->n, zp_synth_use_of(c, j).home, p->sharded ? t : 0, ep);
    if (p->stage != stage || x == NULL) continue;
    for (int64_t i = 0; i < p->numel; i++) {
      const double w = (double)o->master[at][i], d = o->slack[at][i].master;
      const double low = as_parameter(zp_entry_dtype(c, j), w - d),
                   high = as_parameter(zp_entry_dtype(c, j), w + d);
      sum += fabs((double)x[i]) * fmax(fabs(low), fabs(high));
      off += fabs((double)x[i]) * (high - low);
      n++;
    }
  }
  return sum < 0x1p127 ? off + (double)(n + 8) * (0x1p-24 * sum + 0x1p-126) : INFINITY;
}

/* losses[stage][g][tp]: [value, bound], or null where a sum may overflow. */
static json_t *losses_json(const oracle *o, int64_t step)
{
  const zp_config *c = &o->n->cfg;
  json_t *stages = json_array();
  for (int32_t s = 0; s < c->pp; s++) {
    json_t *batches = json_array();
    for (int64_t g = 0; g < c->dp * c->micro_batches; g++) {
      json_t *copies = json_array();
      for (int32_t t = 0; t < c->tp; t++) {
        const double loss = o->n->loss[zp_table_loss(o->n, s, g, t)];
        const double slack = loss_slack(o, step, s, g, t);
        json_array_append_new(
            copies, isfinite(slack) ? json_pack("[o, o]", zp_conf_hex(loss), zp_conf_hex(slack))
                                    : json_null());
      }
      json_array_append_new(batches, copies);
    }
    json_array_append_new(stages, batches);
  }
  return stages;
}

/* The element of which a sum may overflow, and the scale after the step if it is skipped; NULL: the
 * step has none. skipped: the scaler after a skipped step. */
static json_t *sum_json(const oracle *o, int32_t s, int32_t log2_scale, const zp_scaler *skipped)
{
  int32_t entry;
  int64_t element;
  if (!zp_conf_sum_overflows(o->n, s, log2_scale, &entry, &element)) return NULL;
  return json_pack("{s:i, s:I, s:o}", "entry", entry, "element", (json_int_t)element, "scale",
                   zp_conf_hex(ldexp(1, skipped->log2_scale)));
}

static json_t *step_json(oracle *o, int32_t s, char *why, int64_t cap)
{
  zp_error err = {0};
  zp_step_result result;
  zp_scaler skipped = o->scaler;
  each(o, NULL, keep);
  zp_conf_set_rates(o->n, o->lr, s);
  if (zp_serial_step(o->serial, &result, &err)) {
    snprintf(why, (size_t)cap, "%.400s", err.text);
    return NULL;
  }
  zp_scaler_update(&skipped, 1);
  zp_scaler_update(&o->scaler, result.skipped);
  for (int32_t g = 0; g < o->n->cfg.optgroups && !result.skipped; g++)
    if (s >= o->n->since[g]) zp_optim_tick(&o->optim[g], &o->n->hyper.optim[g]);
  json_t *losses = losses_json(o, s);
  if (!result.skipped) each(o, &result, loosen);
  json_t *sum = sum_json(o, s, result.log2_scale, &skipped);
  /* "norm_slack": derived in SPEC.md, "Bounds" */
  return json_pack(
      "{s:o, s:o, s:b, s:o, s:o, s:o, s:o, s:b, s:o}", "losses", losses, "either",
      sum != NULL ? sum : json_null(), "skipped", result.skipped, "used_scale",
      zp_conf_hex(ldexp(1, result.log2_scale)), "scale",
      zp_conf_hex(ldexp(1, o->scaler.log2_scale)), "norm", zp_conf_hex(as_double(result.norm_f64)),
      "norm_slack", zp_conf_hex(ldexp((double)(o->elements + 17), -24)), "clipped",
      result.clip_factor < 1, "entries", entries_json(o, result.log2_scale, result.skipped));
}

static void count(oracle *o, const zp_step_result *result, int32_t j, int32_t t, int32_t e)
{
  (void)result;
  (void)t;
  (void)e;
  o->elements += o->n->cfg.params[j].numel;
}

static int open_arrays(oracle *o)
{
  const zp_config *c = &o->n->cfg;
  const int64_t n = zp_table_first(o->n, c->n_params, 0, 0);
  o->slack = calloc((size_t)n + 1, sizeof *o->slack);
  o->master = calloc((size_t)n + 1, sizeof *o->master);
  o->moment1 = calloc((size_t)n + 1, sizeof *o->moment1);
  o->moment2 = calloc((size_t)n + 1, sizeof *o->moment2);
  if (!o->slack || !o->master || !o->moment1 || !o->moment2) return -1;
  for (int64_t i = 0; i < n; i++) {
    const int64_t numel = c->params[i / ((int64_t)c->tp * c->ep)].numel;
    o->slack[i] = calloc((size_t)numel + 1, sizeof **o->slack);
    if (!o->slack[i] || zp_table_add(o->master, i, numel) || zp_table_add(o->moment1, i, numel) ||
        zp_table_add(o->moment2, i, numel))
      return -1;
  }
  return 0;
}

static void close_all(oracle *o)
{
  const int64_t n = zp_table_first(o->n, o->n->cfg.n_params, 0, 0);
  for (int64_t i = 0; i < n; i++) {
    if (o->slack) free(o->slack[i]);
    if (o->master) free(o->master[i]);
    if (o->moment1) free(o->moment1[i]);
    if (o->moment2) free(o->moment2[i]);
  }
  free(o->slack);
  free(o->master);
  free(o->moment1);
  free(o->moment2);
  zp_serial_close(o->serial);
}

zp_serial *zp_conf_serial(const zp_table *table, const zp_workload *work, zp_error *err)
{
  zp_serial *s = zp_serial_open(&table->cfg, &table->hyper, work, err);
  for (int32_t g = 0; s != NULL && g < table->cfg.optgroups; g++)
    zp_serial_without_group(s, g, table->since[g]);
  return s;
}

json_t *zp_conf_oracle(zp_table *table, char *why, int64_t cap)
{
  const zp_workload work = zp_table_workload(table);
  zp_error err = {0};
  oracle o = {table, NULL, NULL, NULL, NULL, NULL, {{0, 0, 0}}, table->hyper.scaler, 0, {0}};
  json_t *steps = NULL;
  zp_conf_get_rates(table, o.lr);
  if (open_arrays(&o) == 0) o.serial = zp_conf_serial(table, &work, &err);
  if (o.serial == NULL) snprintf(why, (size_t)cap, "no memory");
  else {
    steps = json_array();
    for (int32_t g = 0; g < ZP_HYPER_GROUPS; g++) zp_optim_state_init(&o.optim[g]);
    each(&o, NULL, count);
  }
  for (int32_t s = 0; steps != NULL && s < table->steps; s++) {
    json_t *step = step_json(&o, s, why, cap);
    if (step == NULL) {
      json_decref(steps);
      steps = NULL;
      break;
    }
    json_array_append_new(steps, step);
  }
  close_all(&o);
  return steps == NULL ? NULL
                       : json_pack("{s:s, s:o}", "schema", "zeroproof/expected/1", "steps", steps);
}
