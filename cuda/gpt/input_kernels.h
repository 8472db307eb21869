/* The kernels that prepare a stage's input: conversion of parameters and messages, tokens, targets,
 * embedding. Operations are those of ref/model/gpt_data.c and gpt_layers.c. spec: ERR-1 */
#ifndef ZP_CUDA_INPUT_KERNELS_H
#define ZP_CUDA_INPUT_KERNELS_H
#include "../kernels/element.h"
#include "items.h"
#include "layers.h"

ZP_ON_DEVICE void zp_convert_body(const void *params, simdev_thread t, void *shared, int phase)
{
  const zp_convert_params *p = (const zp_convert_params *)params;
  const zp_memory_run *table = zp_run_table(&p->runs);
  (void)shared, (void)phase;
  for (int64_t tile = t.blockIdx[0]; tile < p->runs.tiles; tile += t.gridDim[0]) {
    const zp_memory_run *run = zp_run_of(table, p->runs.n, tile);
    const zp_span s = zp_span_of(tile - run->first_tile, run->count, t);
    for (int64_t i = s.i; i < s.end; i += s.step)
      zp_store_rounded(p->dtype_out, run->out, i, zp_float_of(zp_element(p->dtype_in, run->in, i)));
  }
}

ZP_ON_DEVICE void zp_read_body(const void *params, simdev_thread t, void *shared, int phase)
{
  const zp_read_params *p = (const zp_read_params *)params;
  (void)shared, (void)phase;
  if (zp_item(t) == 0 && p->state->step != p->step) *p->refused += 1;
  for (int64_t i = zp_item(t); i < p->B * p->T; i += zp_item_step(t)) {
    const uint8_t *window = p->text + p->first[i / p->T] + i % p->T;
    p->token[i] = window[0];
    p->target[i] = window[1];
  }
}

/* One item: a row; an invalid target is replaced by a byte, so that no other memory is read. */
ZP_ON_DEVICE void zp_targets_body(const void *params, simdev_thread t, void *shared, int phase)
{
  const zp_targets_params *p = (const zp_targets_params *)params;
  (void)shared, (void)phase;
  if (phase == 0)
    for (int64_t i = zp_item(t); i < p->N; i += zp_item_step(t))
      p->target[i] = p->in[i] & (ZP_LAYERS_V - 1);
  if (zp_item(t) == 0)
    for (int64_t i = 0; i < p->N; i++)
      if (p->in[i] < 0 || p->in[i] >= ZP_LAYERS_V) *p->refused += 1;
}

ZP_ON_DEVICE void zp_embed_body(const void *params, simdev_thread t, void *shared, int phase)
{
  const zp_embed_params *p = (const zp_embed_params *)params;
  (void)shared, (void)phase;
  for (int64_t i = zp_item(t); i < p->N * p->C; i += zp_item_step(t)) {
    const int64_t n = i / p->C, c = i % p->C;
    p->x[i] = zp_rounded_to(p->dtype, p->wte[p->token[n] * p->C + c] + p->wpe[n % p->T * p->C + c]);
  }
}

#endif
