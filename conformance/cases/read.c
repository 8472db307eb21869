/* A case from JSON, for the oracle and for ref's own adapter. What the schema forbids is
 * refused. */
#define _GNU_SOURCE
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../ref/comm/comm.h"
#include "../../ref/verify/config_text.h"
#include "cases.h"

typedef struct reader {
  char *why;
  int64_t cap;
  int bad;
} reader;

static void refuse(reader *r, const char *what)
{
  if (!r->bad) snprintf(r->why, (size_t)r->cap, "the case's %s is missing or wrong", what);
  r->bad = 1;
}

static int64_t integer(reader *r, const json_t *at, const char *name, int64_t lo, int64_t hi)
{
  const json_t *v = json_object_get(at, name);
  if (!json_is_integer(v) || json_integer_value(v) < lo || json_integer_value(v) > hi) {
    refuse(r, name);
    return lo;
  }
  return json_integer_value(v);
}

static double real(reader *r, const json_t *at, const char *name)
{
  const json_t *v = json_object_get(at, name);
  if (!json_is_number(v)) refuse(r, name);
  return json_number_value(v);
}

static int32_t flag(reader *r, const json_t *at, const char *name)
{
  const json_t *v = json_object_get(at, name);
  if (!json_is_boolean(v)) refuse(r, name);
  return json_is_true(v);
}

static const char *word(reader *r, const json_t *at, const char *name)
{
  const char *v = json_string_value(json_object_get(at, name));
  if (v == NULL) refuse(r, name);
  return v == NULL ? "" : v;
}

static const json_t *list(reader *r, const json_t *at, const char *name, int64_t n)
{
  const json_t *v = json_object_get(at, name);
  if (!json_is_array(v) || (n >= 0 && (int64_t)json_array_size(v) != n)) refuse(r, name);
  return v;
}

static int32_t dtype_of(reader *r, const char *name)
{
  for (int32_t d = 0; d < ZP_DTYPES; d++)
    if (strcmp(zp_dtype_name(d), name) == 0) return d;
  refuse(r, "dtype");
  return ZP_F32;
}

/* 2^result = x */
static int32_t log2_of(reader *r, double x, const char *name)
{
  int e;
  if (frexp(x, &e) != 0.5) refuse(r, name);
  return e - 1;
}

/* ---- The parts ------------------------------------------------------------------------------- */

enum { MOST_ENTRIES = 512, MOST_SIZE = 1 << 20, MOST_IN_MESSAGES = 1 << 24 };

static void read_config(reader *r, const json_t *from, zp_config *c, zp_param *params)
{
  const json_t *topology = json_object_get(from, "topology");
  const json_t *entries = list(r, from, "parameters", -1);
  memset(c, 0, sizeof *c);
  if (strcmp(word(r, from, "schema"), "zeroproof/case/1") != 0) refuse(r, "schema");
  c->pp = (int32_t)integer(r, topology, "pp", 1, 64);
  c->dp = (int32_t)integer(r, topology, "dp", 1, 64);
  c->tp = (int32_t)integer(r, topology, "tp", 1, 64);
  c->ep = (int32_t)integer(r, topology, "ep", 1, 64);
  c->stage = (int32_t)integer(r, from, "zero", 0, 2);
  c->reduce = ZP_EXACT;
  c->precision = dtype_of(r, word(r, from, "precision"));
  c->dynamic_shapes = flag(r, from, "dynamic_shapes");
  c->sequence_parallel = json_is_true(json_object_get(from, "sequence"));
  c->micro_batches = integer(r, from, "micro_batches", 1, 4096);
  c->bucket = integer(r, from, "bucket", 1, (int64_t)1 << 40);
  c->align = 1;
  c->optgroups = (int32_t)json_array_size(list(r, from, "groups", -1));
  c->params = params;
  if (json_array_size(entries) > MOST_ENTRIES) refuse(r, "parameters");
  for (int32_t j = 0; !r->bad && j < (int32_t)json_array_size(entries); j++) {
    const json_t *e = json_array_get(entries, (size_t)j), *tied = json_object_get(e, "tied");
    zp_param *p = &params[j];
    p->numel = integer(r, e, "numel", 0, MOST_SIZE);
    p->stage = (int32_t)integer(r, e, "stage", 0, c->pp - 1);
    p->optgroup = (int32_t)integer(r, e, "group", 0, c->optgroups - 1);
    p->tied = json_is_null(tied) ? -1 : (int32_t)integer(r, e, "tied", 0, 1 << 10);
    p->sharded = flag(r, e, "sharded");
    p->expert = flag(r, e, "expert");
    p->frozen = flag(r, e, "frozen");
    p->fp32 = json_is_true(json_object_get(e, "fp32"));
    if (p->tied >= c->tied_keys) c->tied_keys = p->tied + 1;
    c->n_params = j + 1;
  }
}

/* R: the field is optional, as cases are made without it. */
static int32_t replicas_of(reader *r, const json_t *from)
{
  if (json_object_get(from, "replicas") == NULL) return 1;
  return (int32_t)integer(r, from, "replicas", 1, 64);
}

static void read_hyper(reader *r, const json_t *from, zp_hyper *h)
{
  const json_t *groups = json_object_get(from, "groups"), *clip = json_object_get(from, "clip");
  const json_t *scale = json_object_get(from, "scale");
  h->groups = (int32_t)json_array_size(groups);
  if (h->groups < 1 || h->groups > ZP_HYPER_GROUPS) refuse(r, "groups");
  for (int32_t g = 0; !r->bad && g < h->groups; g++) {
    const json_t *from_group = json_array_get(groups, (size_t)g);
    zp_optim *o = &h->optim[g];
    o->kind =
        strcmp(word(r, from_group, "optimizer"), "adamw") == 0 ? ZP_OPTIM_ADAMW : ZP_OPTIM_SGD;
    o->lr = real(r, from_group, "lr");
    o->weight_decay = real(r, from_group, "weight_decay");
    if (o->kind == ZP_OPTIM_SGD) {
      o->momentum = real(r, from_group, "momentum");
      continue;
    }
    const json_t *betas = list(r, from_group, "betas", 2);
    o->beta1 = json_number_value(json_array_get(betas, 0));
    o->beta2 = json_number_value(json_array_get(betas, 1));
    o->eps = real(r, from_group, "eps");
  }
  if (json_is_object(clip)) {
    h->clip = real(r, clip, "max_norm");
    h->clip_eps = real(r, clip, "eps");
  }
  const int32_t log2 = log2_of(r, real(r, scale, "first"), "scale");
  const int32_t dynamic = flag(r, scale, "dynamic");
  if (r->bad) return;
  if (zp_scaler_init(&h->scaler, dynamic, log2,
                     dynamic ? log2_of(r, real(r, scale, "least"), "least") : log2,
                     dynamic ? log2_of(r, real(r, scale, "most"), "most") : log2,
                     dynamic ? integer(r, scale, "window", 1, 1 << 20) : 1,
                     dynamic ? (int32_t)integer(r, scale, "hysteresis", 1, 1 << 20) : 1,
                     dynamic ? flag(r, scale, "consecutive") : 0) != 0)
    refuse(r, "scale");
}

static float number(reader *r, const json_t *v, int32_t log2)
{
  const char *name = json_string_value(v);
  char *end = NULL;
  if (json_is_integer(v)) return ldexpf((float)json_integer_value(v), log2);
  if (name != NULL && (name[0] == '-' || (name[0] >= '1' && name[0] <= '9'))) {
    const double k = strtod(name, &end);
    if (end != name && *end == 0 && isfinite(k)) return (float)ldexp(k, log2);
  }
  if (name != NULL && strcmp(name, "nan") == 0) return NAN;
  if (name != NULL && strcmp(name, "inf") == 0) return INFINITY;
  if (name != NULL && strcmp(name, "-inf") == 0) return -INFINITY;
  refuse(r, "data");
  return 0;
}

static void read_row(reader *r, const json_t *row, float **table, int64_t i, int64_t numel,
                     int32_t log2)
{
  if (!json_is_array(row) || (int64_t)json_array_size(row) != numel ||
      zp_table_add(table, i, numel)) {
    refuse(r, "data");
    return;
  }
  for (int64_t e = 0; e < numel; e++) table[i][e] = number(r, json_array_get(row, (size_t)e), log2);
}

static void read_first(reader *r, const json_t *from, zp_table *n)
{
  const zp_config *c = &n->cfg;
  for (int32_t j = 0; !r->bad && j < c->n_params; j++) {
    const zp_param *p = &c->params[j];
    const int32_t tps = p->sharded ? c->tp : 1, eps = p->expert ? c->ep : 1;
    const json_t *e = json_array_get(json_object_get(from, "parameters"), (size_t)j);
    const json_t *first = list(r, e, "first", (int64_t)tps * eps);
    for (int32_t i = 0; !r->bad && i < tps * eps; i++)
      read_row(r, json_array_get(first, (size_t)i), n->first,
               zp_table_first(n, j, i / eps, i % eps), p->numel, n->log2_first);
  }
}

static void read_data(reader *r, const json_t *from, zp_table *n)
{
  const zp_config *c = &n->cfg;
  const int64_t global = c->dp * c->micro_batches;
  const json_t *data = list(r, from, "data", n->steps);
  for (int64_t i = 0; !r->bad && i < n->steps * global; i++) {
    const json_t *step = json_array_get(data, (size_t)(i / global));
    const json_t *batch = json_array_get(step, (size_t)(i % global));
    if ((int64_t)json_array_size(step) != global || (int32_t)json_array_size(batch) != c->n_params)
      refuse(r, "data");
    for (int32_t j = 0; !r->bad && j < c->n_params; j++) {
      const json_t *copies = json_array_get(batch, (size_t)j);
      const int32_t tps = zp_table_rows(c, j);
      if (json_is_null(copies)) continue;
      if ((int32_t)json_array_size(copies) != tps || c->params[j].frozen) refuse(r, "data");
      for (int32_t t = 0; !r->bad && t < tps; t++)
        read_row(r, json_array_get(copies, (size_t)t), n->value,
                 zp_table_row(n, i / global, i % global, j, t), c->params[j].numel, n->log2_unit);
    }
  }
}

static void read_since(reader *r, const json_t *from, zp_table *n)
{
  const json_t *groups = json_object_get(from, "groups");
  for (int32_t g = 0; !r->bad && g < n->hyper.groups; g++) {
    const json_t *group = json_array_get(groups, (size_t)g);
    if (json_object_get(group, "since") != NULL)
      n->since[g] = (int32_t)integer(r, group, "since", 1, 1000);
  }
}

/* The factors of learning rates are those that cases have. */
static void read_rates(reader *r, const json_t *from, const zp_table *n)
{
  const json_t *all = n->rates ? list(r, from, "rates", n->steps) : NULL;
  for (int32_t s = 0; all != NULL && s < n->steps; s++)
    if (json_number_value(json_array_get(all, (size_t)s)) != zp_table_rate(n->rates, s))
      refuse(r, "rates");
}

/* The elements of the tensor; what is not an integer counts as 0, which no dimension may be. */
static int64_t read_tensor(reader *r, const json_t *from, int32_t precision, zp_tensor *t)
{
  const json_t *shape = list(r, from, "shape", -1);
  t->dtype = dtype_of(r, word(r, from, "dtype"));
  if (t->dtype != precision && t->dtype != ZP_I32) refuse(r, "dtype");
  if (json_array_size(shape) < 1 || json_array_size(shape) > ZP_MSG_DIMS) refuse(r, "shape");
  if (r->bad) return 0;
  t->ndim = (int32_t)json_array_size(shape);
  for (int32_t d = 0; d < t->ndim; d++)
    t->dim[d] = json_integer_value(json_array_get(shape, (size_t)d));
  const int64_t n = zp_tensor_checked(t, MOST_SIZE);
  if (n < 0) refuse(r, "shape");
  return n;
}

static void read_messages(reader *r, const json_t *from, zp_table *n)
{
  const int64_t global = n->cfg.dp * n->cfg.micro_batches;
  const json_t *all = list(r, from, "messages", n->cfg.pp - 1);
  int64_t elements = 0; /* of a step's messages */
  for (int64_t i = 0; !r->bad && i < (n->cfg.pp - 1) * global; i++) {
    const json_t *tensors =
        json_array_get(json_array_get(all, (size_t)(i / global)), (size_t)(i % global));
    zp_message *m = &n->shape[i];
    if (json_array_size(tensors) < 1 || json_array_size(tensors) > ZP_MSG_TENSORS)
      refuse(r, "messages");
    else m->n = (int32_t)json_array_size(tensors);
    for (int32_t k = 0; !r->bad && k < m->n; k++)
      elements += read_tensor(r, json_array_get(tensors, (size_t)k), n->cfg.precision, &m->t[k]);
    const double all_ranks = (double)elements * n->steps * n->cfg.tp;
    if (!r->bad && all_ranks > MOST_IN_MESSAGES) {
      r->bad = 1;
      snprintf(r->why, (size_t)r->cap,
               "the case's steps·tp·(elements of messages) is at least %.0f; the limit is %d",
               all_ranks, (int)MOST_IN_MESSAGES);
    }
    if (r->bad) return;
  }
}

zp_table *zp_conf_read(const json_t *from, char *why, int64_t cap)
{
  zp_param params[MOST_ENTRIES] = {{0}};
  zp_config c;
  zp_refusal refusal;
  zp_error err = {0};
  zp_table *n;
  reader r = {why, cap, 0};
  read_config(&r, from, &c, params);
  const int32_t steps = (int32_t)integer(&r, from, "steps", 1, 1000);
  if (r.bad) return NULL;
  if (zp_config_check(&c, &refusal) != 0) {
    zp_refusal_text(&refusal, NULL, why, cap);
    return NULL;
  }
  const int32_t replicas = replicas_of(&r, from);
  if (zp_block_check(&c, replicas, &err) != 0) {
    snprintf(why, (size_t)cap, "%s", err.text);
    return NULL;
  }
  if (zp_conf_check_size(&c, steps, why, cap) != 0) return NULL;
  n = zp_table_new(&c, steps);
  if (n == NULL) {
    snprintf(why, (size_t)cap, "no memory");
    return NULL;
  }
  n->log2_unit = (int32_t)integer(&r, from, "log2_unit", -126, 126);
  n->log2_first = (int32_t)integer(&r, from, "log2_first", -126, 126);
  n->rates = json_object_get(from, "rates") != NULL;
  n->either = json_is_true(json_object_get(from, "either"));
  read_hyper(&r, from, &n->hyper);
  n->hyper.replicas = replicas;
  read_since(&r, from, n);
  read_first(&r, from, n);
  read_data(&r, from, n);
  read_messages(&r, from, n);
  read_rates(&r, from, n);
  if (!r.bad) return n;
  zp_table_free(n);
  return NULL;
}
