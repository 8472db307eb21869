/* A case as JSON: conformance/schema/case.json. */
#define _GNU_SOURCE
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "../../ref/comm/comm.h"
#include "../../ref/model/synth_random.h"
#include "../../ref/verify/config_text.h"
#include "cases.h"

/* x / 2^log2 as a whole number, in decimal text if it is larger than JSON's integers; what is not
 * finite by its name. */
static json_t *whole(float x, int32_t log2)
{
  const double k = ldexp((double)x, -log2);
  char text[512];
  if (!isfinite(x)) return zp_conf_hex((double)x);
  if (fabs(k) < 0x1p53) return json_integer((json_int_t)k);
  snprintf(text, sizeof text, "%.0f", k);
  return json_string(text);
}

static json_t *row_json(const float *x, int64_t n, int32_t log2)
{
  json_t *row = json_array();
  for (int64_t i = 0; i < n; i++) json_array_append_new(row, whole(x[i], log2));
  return row;
}

static json_t *first_json(const zp_table *n, int32_t j)
{
  const zp_param *p = &n->cfg.params[j];
  json_t *copies = json_array();
  for (int32_t t = 0; t < (p->sharded ? n->cfg.tp : 1); t++)
    for (int32_t e = 0; e < (p->expert ? n->cfg.ep : 1); e++)
      json_array_append_new(
          copies, row_json(n->first[zp_table_first(n, j, t, e)], p->numel, n->log2_first));
  return copies;
}

static json_t *params_json(const zp_table *n)
{
  json_t *list = json_array();
  for (int32_t j = 0; j < n->cfg.n_params; j++) {
    const zp_param *p = &n->cfg.params[j];
    char name[24];
    snprintf(name, sizeof name, "p%d", j);
    json_t *entry =
        json_pack("{s:s, s:I, s:i, s:i, s:o, s:b, s:b, s:b, s:o}", "name", name, "numel",
                  (json_int_t)p->numel, "stage", p->stage, "group", p->optgroup, "tied",
                  p->tied < 0 ? json_null() : json_integer(p->tied), "sharded", p->sharded,
                  "expert", p->expert, "frozen", p->frozen, "first", first_json(n, j));
    if (p->fp32) json_object_set_new(entry, "fp32", json_true());
    json_array_append_new(list, entry);
  }
  return list;
}

static json_t *groups_json(const zp_table *n)
{
  json_t *list = json_array();
  for (int32_t g = 0; g < n->cfg.optgroups; g++) {
    const zp_optim *o = &n->hyper.optim[g];
    json_t *group =
        json_pack("{s:s, s:f, s:f}", "optimizer", o->kind == ZP_OPTIM_ADAMW ? "adamw" : "sgd", "lr",
                  o->lr, "weight_decay", o->weight_decay);
    if (o->kind == ZP_OPTIM_ADAMW)
      json_object_update_new(
          group, json_pack("{s:[f,f], s:f}", "betas", o->beta1, o->beta2, "eps", o->eps));
    else json_object_set_new(group, "momentum", json_real(o->momentum));
    if (n->since[g] > 0) json_object_set_new(group, "since", json_integer(n->since[g]));
    json_array_append_new(list, group);
  }
  return list;
}

static json_t *scale_json(const zp_scaler *s, int32_t explicit)
{
  json_t *scale = json_pack("{s:b, s:f, s:b}", "dynamic", s->dynamic, "first",
                            ldexp(1, s->log2_scale), "explicit", explicit);
  if (s->dynamic)
    json_object_update_new(scale, json_pack("{s:I, s:i, s:b, s:f, s:f}", "window",
                                            (json_int_t)s->window, "hysteresis", s->hysteresis,
                                            "consecutive", s->consecutive, "least",
                                            ldexp(1, s->log2_min), "most", ldexp(1, s->log2_max)));
  return scale;
}

static json_t *rates_json(const zp_table *n)
{
  json_t *list = json_array();
  for (int32_t s = 0; s < n->steps; s++)
    json_array_append_new(list, json_real(zp_table_rate(n->rates, s)));
  return list;
}

/* data[step][g][entry]: null, or a row for each tp copy. */
static json_t *data_json(const zp_table *n)
{
  const int64_t global = n->cfg.dp * n->cfg.micro_batches;
  json_t *steps = json_array();
  for (int32_t s = 0; s < n->steps; s++) {
    json_t *batches = json_array();
    for (int64_t g = 0; g < global; g++) {
      json_t *entries = json_array();
      for (int32_t j = 0; j < n->cfg.n_params; j++) {
        const zp_param *p = &n->cfg.params[j];
        json_t *copies = json_null();
        for (int32_t t = 0; t < zp_table_rows(&n->cfg, j); t++) {
          const float *x = n->value[zp_table_row(n, s, g, j, t)];
          if (x == NULL) continue;
          if (t == 0) copies = json_array();
          json_array_append_new(copies, row_json(x, p->numel, n->log2_unit));
        }
        json_array_append_new(entries, copies);
      }
      json_array_append_new(batches, entries);
    }
    json_array_append_new(steps, batches);
  }
  return steps;
}

static json_t *message_json(const zp_message *m)
{
  json_t *list = json_array();
  for (int32_t i = 0; i < m->n; i++) {
    json_t *shape = json_array();
    for (int32_t d = 0; d < m->t[i].ndim; d++)
      json_array_append_new(shape, json_integer((json_int_t)m->t[i].dim[d]));
    json_array_append_new(
        list, json_pack("{s:s, s:o}", "dtype", zp_dtype_name(m->t[i].dtype), "shape", shape));
  }
  return list;
}

/* messages[boundary][g]: the tensors of a tuple. */
static json_t *messages_json(const zp_table *n)
{
  const int64_t global = n->cfg.dp * n->cfg.micro_batches;
  json_t *list = json_array();
  for (int32_t b = 0; b < n->cfg.pp - 1; b++) {
    json_t *batches = json_array();
    for (int64_t g = 0; g < global; g++)
      json_array_append_new(batches, message_json(&n->shape[b * global + g]));
    json_array_append_new(list, batches);
  }
  return list;
}

/* A name that is the same wherever the recipe is. */
static void name_of(const char *text, char id[24])
{
  uint64_t h = 1;
  for (const char *p = text; *p != 0; p++) h = zp_synth_mix(h, (uint64_t)(unsigned char)*p);
  snprintf(id, 24, "c%012llx", (unsigned long long)(h >> 16));
}

json_t *zp_conf_json(const zp_recipe *r, const zp_table *n, const char *text)
{
  const zp_config *c = &n->cfg;
  const char *precision = zp_precision_name(c->precision);
  json_t *clauses = json_array(), *hunts = json_array();
  json_t *clip = json_null();
  char id[24];
  name_of(text, id);
  zp_conf_tags(r, clauses, hunts);
  if (n->hyper.clip > 0)
    clip = json_pack("{s:f, s:f}", "max_norm", n->hyper.clip, "eps", n->hyper.clip_eps);
  json_t *all = json_pack("{s:s, s:s, s:s, s:o, s:o}", "schema", "zeroproof/case/1", "id", id,
                          "recipe", text, "clauses", clauses, "hunts", hunts);
  int bad = json_object_update_new(
      all,
      json_pack("{s:i, s:{s:i, s:i, s:i, s:i}, s:i, s:s, s:s, s:s, s:I, s:i, s:I, s:b}", "zero",
                c->stage, "topology", "pp", c->pp, "dp", c->dp, "tp", c->tp, "ep", c->ep, "world",
                c->pp * c->dp * c->tp, "precision", precision, "accumulate",
                r->wide > 0 ? "fp32" : precision, "communicate", r->comm_fp32 ? "fp32" : precision,
                "micro_batches", (json_int_t)c->micro_batches, "steps", n->steps, "bucket",
                (json_int_t)c->bucket, "dynamic_shapes", c->dynamic_shapes));
  bad |= json_object_update_new(
      all, json_pack("{s:o, s:o, s:o, s:o, s:i, s:i, s:o, s:o, s:{}}", "groups", groups_json(n),
                     "clip", clip, "scale", scale_json(&n->hyper.scaler, r->scaler), "parameters",
                     params_json(n), "log2_unit", n->log2_unit, "log2_first", n->log2_first, "data",
                     data_json(n), "messages", messages_json(n), "options"));
  if (n->rates) bad |= json_object_set_new(all, "rates", rates_json(n));
  if (c->sequence_parallel) bad |= json_object_set_new(all, "sequence", json_true());
  if (n->either) bad |= json_object_set_new(all, "either", json_true());
  if (bad) json_decref(all);
  return bad ? NULL : all;
}
