/* The options of an engine, judged before anything is made of them, and compared between ranks.
 * spec: LIM-0 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bucket_slots.h"
#include "early.h"
#include "engine_parts.h"
#include "refusal.h"

/* What the first version of each struct had; larger ones are for members to come. */
#define V1_OPTIONS (offsetof(zp_engine_options, deadline_s) + sizeof(double))
#define V1_STATE (offsetof(zp_engine_state, ledger) + ZP_GROUPS * sizeof(zp_ledger_sum))
enum { SIZE_LIMIT = 1 << 20 };

static int refuse(zp_error *err, int32_t rank, const char *member, const char *what, int64_t value)
{
  return zp_fail(err, ZP_E_REFUSED, rank, "rank %d: options.%s: %s (it is %lld)", (int)rank, member,
                 what, (long long)value);
}

void zp_engine_defaults(zp_engine_options *o, size_t size, zp_job *job)
{
  zp_engine_options d = {.size = size, .world = 1};
  if (!o) return; /* zp_engine_create refuses NULL */
  if (job) {
    d.rank = job->rank;
    d.world = job->world;
    d.device = job->local_rank;
    d.exchange = zp_job_exchange;
    d.exchange_ctx = job;
  }
  d.hyper.groups = 1;
  d.hyper.optim[0] =
      (zp_optim){.kind = ZP_OPTIM_ADAMW, .lr = 1e-3, .beta1 = 0.9, .beta2 = 0.999, .eps = 1e-8};
  d.hyper.clip = 1;
  d.hyper.clip_eps = 1e-6;
  zp_scaler_init(&d.hyper.scaler, 0, 0, 0, 0, 1, 1, 0);
  memset(o, 0, size);
  memcpy(o, &d, size < sizeof d ? size : sizeof d);
}

const char *zp_engine_host(const zp_engine_options *o)
{
  const zp_job *job = o->exchange == zp_job_exchange ? o->exchange_ctx : NULL;
  if (job == NULL) return NULL;
  return job->address[0] != 0 ? job->address : "127.0.0.1";
}

/* A caller with a newer header may be asking for what is not known here. */
static int take_size(zp_engine_options *to, const zp_engine_options *from, zp_error *err)
{
  const char *bytes = (const char *)from;
  if (!from) return zp_fail(err, ZP_E_REFUSED, -1, "options are NULL");
  if (from->size < V1_OPTIONS || from->size > SIZE_LIMIT)
    return zp_fail(err, ZP_E_REFUSED, -1,
                   "options.size is %llu; set it to sizeof(zp_engine_options)",
                   (unsigned long long)from->size);
  for (size_t i = sizeof *to; i < from->size; i++)
    if (bytes[i] != 0)
      return zp_fail(
          err, ZP_E_REFUSED, -1,
          "options.size is %llu: a member is set that this library, older than the header, "
          "does not know; it knows %llu bytes",
          (unsigned long long)from->size, (unsigned long long)sizeof *to);
  memset(to, 0, sizeof *to);
  memcpy(to, from, from->size < sizeof *to ? from->size : sizeof *to);
  to->size = sizeof *to;
  return ZP_OK;
}

static int check_config(const zp_engine_options *o, zp_error *err)
{
  zp_refusal why;
  zp_error why_not = {0};
  char text[256], name[64];
  if (!o->config || !o->config->params)
    return refuse(err, o->rank, "config", "a configuration with its parameter list is needed", 0);
  if (zp_config_check(o->config, &why)) {
    zp_engine_name(o, why.index, name, sizeof name);
    zp_refusal_say(&why, why.index >= 0 ? name : NULL, text, sizeof text);
    return zp_fail(err, ZP_E_REFUSED, o->rank, "rank %d: options.config: %s (LIM-0)", (int)o->rank,
                   text);
  }
  if (o->world != zp_world(o->config))
    return zp_fail(
        err, ZP_E_REFUSED, o->rank,
        "rank %d: options.world is %d, and the configuration's pp x dp x tp = %d x %d x %d "
        "needs %d: start that many processes, or change the topology",
        (int)o->rank, (int)o->world, (int)o->config->pp, (int)o->config->dp, (int)o->config->tp,
        (int)zp_world(o->config));
  if (zp_block_check(o->config, zp_replicas(&o->hyper), &why_not) ||
      zp_block_check_align(o->config, zp_entry_align(o->hyper.entry_align, o->config->precision),
                           &why_not) ||
      zp_slots_check(o->hyper.slots, &why_not))
    return zp_fail(err, ZP_E_REFUSED, o->rank, "rank %d: options.hyper.%s", (int)o->rank,
                   why_not.text);
  if (o->hyper.fp32_gradients != 0 && o->hyper.fp32_gradients != 1)
    return refuse(err, o->rank, "hyper.fp32_gradients", "0 or 1", o->hyper.fp32_gradients);
  if (o->rank < 0 || o->rank >= o->world)
    return refuse(err, o->rank, "rank", "0 to world - 1", o->rank);
  return ZP_OK;
}

int zp_engine_message(const zp_engine_options *o, const zp_message *m, const char *member,
                      zp_error *err)
{
  if (m->n < 0 || m->n > ZP_MSG_TENSORS)
    return refuse(err, o->rank, member, "0 to 4 tensors", m->n);
  for (int32_t i = 0; i < m->n; i++) {
    const zp_tensor *t = &m->t[i];
    if (t->dtype != o->config->precision && t->dtype != ZP_I32 && t->dtype != ZP_I64)
      return refuse(err, o->rank, member,
                    "a tensor's dtype is the precision or an integer's (PIPE-6)", t->dtype);
    if (t->ndim < 1 || t->ndim > ZP_MSG_DIMS)
      return refuse(err, o->rank, member, "a tensor has 1 to 4 dimensions", t->ndim);
    zp_tensor first = *t; /* its first dimensions */
    for (first.ndim = 1; first.ndim <= t->ndim; first.ndim++)
      if (zp_tensor_checked(&first, ZP_MAX_ELEMENTS) < 0)
        return refuse(err, o->rank, member, "a tensor has 1 to 2^40 elements: a dimension",
                      t->dim[first.ndim - 1]);
  }
  return ZP_OK;
}

static int check_callbacks(const zp_engine_options *o, zp_error *err)
{
  if (!o->forward != !o->backward || (o->config->pp > 1 && !o->forward))
    return refuse(err, o->rank, "forward, backward", "both or none; both when pp > 1: pp",
                  o->config->pp);
  if (o->world > 1 && !o->exchange && !o->transport)
    return refuse(err, o->rank, "exchange", "needed when there are several ranks: world", o->world);
  if (o->config->dynamic_shapes && !o->shape &&
      zp_coord_of(o->config, o->rank).pp < o->config->pp - 1)
    return refuse(err, o->rank, "shape",
                  "needed with dynamic_shapes, on all stages but the last: pp", o->config->pp);
  if (o->message_bytes < 0)
    return refuse(err, o->rank, "message_bytes", "not negative", o->message_bytes);
  if (o->ordered != 0 && o->ordered != 1)
    return refuse(err, o->rank, "ordered", "0 or 1", o->ordered);
  if (o->ordered && o->config->reduce != ZP_ORDERED)
    return refuse(err, o->rank, "ordered", "only with config.reduce ZP_ORDERED", o->config->reduce);
  if (o->offload != 0 && o->offload != 1)
    return refuse(err, o->rank, "offload", "0 or 1", o->offload);
  if (o->gradual != 0 && o->gradual != 1)
    return refuse(err, o->rank, "gradual", "0 or 1", o->gradual);
  if (o->offload_threads < 0)
    return refuse(err, o->rank, "offload_threads", "not negative", o->offload_threads);
  if (o->early_bytes < ZP_EARLY_ALL)
    return refuse(err, o->rank, "early_bytes", "-1, 0 or a number of bytes", o->early_bytes);
  if (o->partial_gather != 0 && o->partial_gather != 1)
    return refuse(err, o->rank, "partial_gather", "0 or 1", o->partial_gather);
  if (o->partial_gather && o->config->stage == 0)
    return refuse(err, o->rank, "partial_gather",
                  "0 at ZeRO stage 0, where no parameters are gathered", o->partial_gather);
  if (!(o->deadline_s >= 0) || o->deadline_s >= 1e9)
    return zp_fail(err, ZP_E_REFUSED, o->rank,
                   "rank %d: options.deadline_s: 0 to 1e9 seconds (it is %g)", (int)o->rank,
                   o->deadline_s);
  if (zp_engine_message(o, &o->in, "in", err)) return err->status;
  return zp_engine_message(o, &o->out, "out", err);
}

static int check_transport(const zp_engine_options *o, zp_error *err)
{
  const zp_transport *t = o->transport;
  const zp_config *c = o->config;
  if (!t) return ZP_OK;
  if (t->size != sizeof *t)
    return refuse(err, o->rank, "transport", "its size is sizeof(zp_transport): size",
                  (int64_t)t->size);
  if (!t->all_gather || !t->all_to_all || !t->broadcast)
    return refuse(err, o->rank, "transport", "needs all_gather, all_to_all and broadcast: world",
                  o->world);
  if (c->pp != 1 || c->tp != 1 || c->ep != 1)
    return refuse(err, o->rank, "transport", "pp, tp and ep are 1 with it: pp x tp x ep",
                  (int64_t)c->pp * c->tp * c->ep);
  if (zp_replicas(&o->hyper) != 1)
    return refuse(err, o->rank, "transport", "hyper.replicas is 1 with it", zp_replicas(&o->hyper));
  return ZP_OK;
}

static int compare(const void *a, const void *b)
{
  return strcmp(*(const char *const *)a, *(const char *const *)b);
}

static int check_names(const zp_engine_options *o, zp_error *err)
{
  const int32_t n = o->config->n_params;
  const char **sorted;
  if (!o->names) return ZP_OK;
  for (int32_t j = 0; j < n; j++)
    if (!o->names[j] || !o->names[j][0] || strlen(o->names[j]) >= ZP_CKPT_NAME)
      return refuse(err, o->rank, "names", "each has 1 to 47 bytes: that of entry", j);
  sorted = malloc((size_t)n * sizeof *sorted);
  if (!sorted) return zp_fail(err, ZP_E_MEMORY, o->rank, "rank %d: no memory", (int)o->rank);
  memcpy(sorted, o->names, (size_t)n * sizeof *sorted);
  qsort(sorted, (size_t)n, sizeof *sorted, compare);
  for (int32_t j = 1; j < n && err->status == ZP_OK; j++)
    if (strcmp(sorted[j - 1], sorted[j]) == 0)
      zp_fail(err, ZP_E_REFUSED, o->rank, "rank %d: options.names: two entries are called '%s'",
              (int)o->rank, sorted[j]);
  free(sorted);
  return err->status;
}

int zp_engine_take(zp_engine_options *to, const zp_engine_options *from, zp_error *err)
{
  if (take_size(to, from, err) || check_config(to, err) ||
      zp_hyper_check(&to->hyper, to->rank, err) || check_transport(to, err) ||
      check_callbacks(to, err) || check_names(to, err))
    return err->status;
  return ZP_OK;
}

void zp_engine_name(const zp_engine_options *o, int32_t j, char *text, int64_t cap)
{
  const int given = o->names && o->config && j >= 0 && j < o->config->n_params && o->names[j];
  if (given) snprintf(text, (size_t)cap, "%s", o->names[j]);
  else snprintf(text, (size_t)cap, "p%d", (int)j);
}

zp_engine_names_of zp_engine_names(const zp_engine_options *o)
{
  char(*names)[ZP_CKPT_NAME] = malloc((size_t)o->config->n_params * sizeof *names);
  for (int32_t j = 0; names && j < o->config->n_params; j++)
    zp_engine_name(o, j, names[j], sizeof *names);
  return names;
}

int zp_engine_state_size(const zp_engine_options *o, size_t size, zp_error *err)
{
  if (size >= V1_STATE && size <= SIZE_LIMIT) return ZP_OK;
  return zp_fail(err, ZP_E_REFUSED, o->rank,
                 "rank %d: the state is NULL or its size is %llu: set it to "
                 "sizeof(zp_engine_state) before zp_engine_get",
                 (int)o->rank, (unsigned long long)size);
}

int zp_engine_may_call(const zp_engine_options *o, int inside, const char *function, zp_error *err)
{
  if (!inside) return ZP_OK;
  return zp_fail(err, ZP_E_REFUSED, o->rank,
                 "rank %d: %s was called from within a callback (forward, backward, shape or "
                 "issued): call it after zp_engine_step, zp_engine_save or zp_engine_load has "
                 "returned",
                 (int)o->rank, function);
}

double zp_engine_scale(int32_t log2_scale)
{
  return ldexp(1, log2_scale);
}

int zp_engine_between(const zp_engine_options *o, const char *dir, int announced, zp_error *err)
{
  if (!dir || !*dir)
    return zp_fail(err, ZP_E_REFUSED, o->rank, "rank %d: a checkpoint's folder is not named",
                   (int)o->rank);
  if (announced)
    return zp_fail(
        err, ZP_E_REFUSED, o->rank,
        "rank %d: gradients or losses were announced for a step that has not been ended: "
        "a checkpoint is between two steps",
        (int)o->rank);
  return ZP_OK;
}
