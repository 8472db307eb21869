#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../engine/checkpoint.h"

#include "binding_internal.h"

zp_binding *zp_binding_new(int32_t rank, int32_t world, int32_t stage, int32_t reduce,
                           int32_t precision, int64_t micro_batches, int64_t bucket)
{
  zp_binding *b = calloc(1, sizeof *b);
  if (!b) return NULL;
  b->cfg = (zp_config){.pp = 1,
                       .dp = world,
                       .tp = 1,
                       .ep = 1,
                       .stage = stage,
                       .reduce = reduce == ZP_EXACT ? ZP_EXACT : ZP_ORDERED,
                       .precision = precision,
                       .micro_batches = micro_batches,
                       .bucket = bucket,
                       .align = 1,
                       .optgroups = 1};
  zp_engine_defaults(&b->o, sizeof b->o, NULL);
  b->o.rank = rank;
  b->o.world = world;
  b->o.hyper.clip = 0;
  b->o.gradual = 1;
  b->o.ordered = reduce == ZP_ORDERED;
  return b;
}

/* Room for one entry more in an array; 0, or -1 without memory. */
static int grow(void *array, size_t size, int32_t room)
{
  void **at = array;
  void *p = realloc(*at, (size_t)room * size);
  if (p) *at = p;
  return p ? 0 : -1;
}

int zp_binding_param(zp_binding *b, const char *name, int64_t numel, int32_t group, int32_t frozen,
                     int32_t fp32, const void *first)
{
  const int32_t j = b->cfg.n_params;
  if (j == b->room) {
    const int32_t room = 2 * j + 16;
    if (grow(&b->param, sizeof *b->param, room) || grow(&b->own_name, sizeof *b->own_name, room) ||
        grow(&b->name, sizeof *b->name, room) || grow(&b->first, sizeof *b->first, room))
      return -1;
    b->room = room;
  }
  b->param[j] = (zp_param){.numel = numel, .optgroup = group, .tied = -1};
  b->param[j].frozen = frozen;
  b->param[j].fp32 = fp32;
  memset(&b->own_name[j], 0, sizeof b->own_name[j]);
  strncpy(b->own_name[j].text, name, sizeof b->own_name[j].text - 1);
  b->first[j] = first;
  b->cfg.n_params = j + 1;
  if (group >= b->cfg.optgroups) b->cfg.optgroups = group + 1;
  return 0;
}

static int set_hyper(zp_binding *b)
{
  if (!b->e) return ZP_OK;
  const int status = zp_engine_set_hyper(b->e, &b->o.hyper);
  if (status) (void)zp_engine_get_hyper(b->e, &b->o.hyper);
  return status;
}

int zp_binding_optimizer(zp_binding *b, int32_t group, int32_t kind, double lr, double weight_decay,
                         double beta1, double beta2, double eps, double momentum)
{
  if (group < 0 || group >= ZP_HYPER_GROUPS) return ZP_E_REFUSED;
  b->o.hyper.optim[group] = (zp_optim){kind, lr, beta1, beta2, eps, weight_decay, momentum};
  if (!b->e && group >= b->o.hyper.groups) b->o.hyper.groups = group + 1;
  return set_hyper(b);
}

void zp_binding_numbers(const zp_binding *b, int32_t group, double number[6])
{
  const zp_optim *o = &b->o.hyper.optim[group];
  const double numbers[6] = {o->lr, o->weight_decay, o->beta1, o->beta2, o->eps, o->momentum};
  memcpy(number, numbers, sizeof numbers);
}

int zp_binding_rates(zp_binding *b, int32_t n, const double *lr)
{
  if (n < 0 || n > b->o.hyper.groups) return ZP_E_REFUSED;
  for (int32_t g = 0; g < n; g++) b->o.hyper.optim[g].lr = lr[g];
  return set_hyper(b);
}

void zp_binding_device(zp_binding *b, int32_t device,
                       int (*exchange)(void *, int32_t, void *, size_t), void *ctx)
{
  b->o.device = device;
  b->o.exchange = exchange;
  b->o.exchange_ctx = ctx;
}

int zp_binding_peek(const char *dir, char *text, int64_t size)
{
  int64_t step;
  char *words = NULL;
  zp_error err = {0};
  int status = zp_ckpt_peek(dir, &step, &words, &err);
  if (status == ZP_OK && snprintf(text, (size_t)size, "%s", words) >= size) status = ZP_E_FILE;
  free(words);
  return status;
}

int zp_binding_load(zp_binding *b, const char *dir)
{
  const int status = zp_engine_load(b->e, dir);
  if (status == ZP_OK) (void)zp_engine_get_hyper(b->e, &b->o.hyper);
  return status;
}

int zp_binding_clip(zp_binding *b, double most, double eps)
{
  b->o.hyper.clip = most;
  b->o.hyper.clip_eps = eps;
  return set_hyper(b);
}

int zp_binding_scale(zp_binding *b, int32_t dynamic, int32_t log2_scale, int32_t log2_min,
                     int32_t log2_max, int64_t window, int32_t hysteresis, int32_t consecutive)
{
  return zp_scaler_init(&b->o.hyper.scaler, dynamic, log2_scale, log2_min, log2_max, window,
                        hysteresis, consecutive);
}

int zp_binding_open(zp_binding *b, int (*all_gather)(void *, const void *, void *, int64_t),
                    int (*all_to_all)(void *, const void *, void *, int64_t),
                    int (*broadcast)(void *, void *, int64_t, int32_t), const char *(*why)(void *),
                    void (*alarm)(void *, int32_t, const char *), void *ctx)
{
  const zp_transport t = {sizeof t, ctx, all_gather, all_to_all, broadcast, why, alarm};
  b->cfg.params = b->param;
  for (int32_t j = 0; j < b->cfg.n_params; j++) b->name[j] = b->own_name[j].text;
  b->o.config = &b->cfg;
  b->o.names = b->name;
  b->o.first = b->first;
  b->o.transport = all_gather ? &t : NULL;
  (void)zp_engine_create(&b->e, &b->o, &b->err);
  b->o.transport = NULL; /* the engine has a copy */
  return b->err.status;
}

zp_engine *zp_binding_engine(zp_binding *b)
{
  return b->e;
}

int32_t zp_binding_why(const zp_binding *b, const char **text)
{
  const zp_error *err = b->err.status || !b->e ? &b->err : zp_engine_why(b->e);
  *text = err->text;
  return err->status;
}

int zp_binding_get(zp_binding *b, double number[6], int64_t ledger[6])
{
  zp_engine_state s = {.size = sizeof s};
  static const int32_t group[2] = {ZP_GROUP_WORLD, ZP_GROUP_DP};
  const int status = zp_engine_get(b->e, &s);
  const double numbers[6] = {(double)s.step, s.norm, s.clip, s.scale, (double)s.loss, s.skipped};
  if (status) return status;
  memcpy(number, numbers, sizeof numbers);
  for (int32_t g = 0; g < 2; g++) {
    ledger[3 * g] = s.ledger[group[g]].ops;
    ledger[3 * g + 1] = s.ledger[group[g]].bytes;
    ledger[3 * g + 2] = (int64_t)s.ledger[group[g]].hash;
  }
  return ZP_OK;
}

int zp_binding_close(zp_binding *b)
{
  zp_error err = {0};
  const int status = zp_engine_destroy(b->e, &err);
  if (status && b->o.world > 1) return status;
  free(b->param);
  free(b->own_name);
  free(b->name);
  free(b->first);
  free(b);
  return status;
}
