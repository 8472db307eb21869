#include "train_outcome.h"

#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

int zp_outcome_open(zp_outcome *out, const zp_config *cfg, int64_t first, int64_t steps)
{
  zp_snapshot *e = &out->end;
  memset(out, 0, sizeof *out);
  out->first = first;
  out->steps = steps;
  out->result = calloc((size_t)steps + 1, sizeof *out->result);
  e->entries = cfg->n_params;
  e->at = calloc((size_t)cfg->n_params + 1, sizeof *e->at);
  e->home = calloc((size_t)cfg->n_params + 1, sizeof *e->home);
  if (out->result == NULL || e->at == NULL || e->home == NULL) return -1;
  for (int32_t j = 0; j < cfg->n_params; j++) {
    const int32_t key = cfg->params[j].tied;
    const int32_t size = (int32_t)zp_dtype_bytes(zp_entry_dtype(cfg, j));
    int32_t h = 0;
    if (size > e->size) e->size = size;
    while (h < j && (key < 0 || cfg->params[h].tied != key)) h++;
    e->home[j] = h;
    e->at[j] = h < j ? e->at[h] : e->elements;
    if (h == j) e->elements += cfg->params[j].numel;
  }
  for (int i = 0; i < 3; i++) {
    e->state[i] = calloc((size_t)e->elements + 1, sizeof(float));
    if (e->state[i] == NULL) return -1;
  }
  e->param = calloc((size_t)e->elements + 1, (size_t)e->size);
  return e->param == NULL ? -1 : 0;
}

void zp_outcome_close(zp_outcome *out)
{
  free(out->result);
  free(out->end.at);
  free(out->end.home);
  for (int i = 0; i < 3; i++) free(out->end.state[i]);
  free(out->end.param);
  memset(out, 0, sizeof *out);
}

static uint64_t mix(uint64_t seed, const void *data, int64_t bytes)
{
  return XXH3_64bits_withSeed(data, (size_t)bytes, seed);
}

uint64_t zp_outcome_end_hash(const zp_outcome *out)
{
  const zp_snapshot *e = &out->end;
  const int64_t scaler[4] = {out->scaler.log2_scale, out->scaler.iter, out->scaler.last_overflow,
                             out->scaler.hysteresis_left};
  uint64_t h = mix(0, e->param, e->elements * e->size);
  for (int i = 0; i < 3; i++) h = mix(h, e->state[i], e->elements * (int64_t)sizeof(float));
  return mix(h, scaler, sizeof scaler);
}

uint64_t zp_outcome_hash(const zp_outcome *out, int64_t from)
{
  uint64_t h = zp_outcome_end_hash(out);
  for (int64_t i = from - out->first; i < out->steps; i++) {
    const zp_step_result *r = &out->result[i];
    const uint64_t bits[5] = {r->loss, r->norm_f64, r->norm_f32, (uint64_t)(int64_t)r->log2_scale,
                              (uint64_t)r->skipped};
    h = mix(h, bits, sizeof bits);
  }
  return h;
}
