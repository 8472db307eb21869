/* The kernels of a forward pass, from the first norm to the loss. Operations and their order are
 * those of ref/model/gpt_layers.c. spec: ERR-1 */
#ifndef ZP_CUDA_FORWARD_H
#define ZP_CUDA_FORWARD_H
#include "items.h"
#include "layers.h"
#include "ref_math.h"

/* A warp's row. Phases: its mean; its deviation; its elements. */
ZP_ON_DEVICE void zp_layer_norm_body(const void *params, simdev_thread t, void *shared, int phase)
{
  const zp_layer_norm_params *p = (const zp_layer_norm_params *)params;
  const zp_row row = zp_row_of(t, shared);
  if (row.n >= p->N) return;
  const float *x = p->x + row.n * p->C;
  float *y = p->y + row.n * p->C;
  float sum = 0.0f;
  if (phase == 0) {
    ZP_IN_ORDER(row, c, p->C, term, x[c], sum += term)
    if (row.lane == 0) p->mean[row.n] = sum / p->count;
    return;
  }
  const float m = p->mean[row.n];
  if (phase == 1) {
    ZP_IN_ORDER(row, c, p->C, term, (x[c] - m) * (x[c] - m), sum += term)
    if (row.lane == 0) p->rstd[row.n] = 1.0f / sqrtf(sum / p->count + 1e-5f);
    return;
  }
  const float r = p->rstd[row.n];
  for (int64_t c = row.lane; c < p->C; c += ZP_WARP) y[c] = (x[c] - m) * r * p->g[c] + p->b[c];
}

ZP_ON_DEVICE void zp_residual_body(const void *params, simdev_thread t, void *shared, int phase)
{
  const zp_residual_params *p = (const zp_residual_params *)params;
  (void)shared, (void)phase;
  for (int64_t i = zp_item(t); i < p->n; i += zp_item_step(t))
    p->y[i] = zp_rounded_to(p->dtype, p->x[i] + p->y[i]);
}

ZP_ON_DEVICE void zp_round_body(const void *params, simdev_thread t, void *shared, int phase)
{
  const zp_round_params *p = (const zp_round_params *)params;
  (void)shared, (void)phase;
  for (int64_t i = zp_item(t); i < p->n; i += zp_item_step(t))
    p->x[i] = zp_rounded_to(p->dtype, p->x[i]);
}

ZP_ON_DEVICE void zp_gelu_body(const void *params, simdev_thread t, void *shared, int phase)
{
  const zp_gelu_params *p = (const zp_gelu_params *)params;
  (void)shared, (void)phase;
  for (int64_t i = zp_item(t); i < p->n; i += zp_item_step(t)) zp_gelu(p->y + i, p->x + i, 1);
}

/* A warp's row of one head. Phases: its largest score; exponentials; their sum; probabilities. */
ZP_ON_DEVICE void zp_softmax_body(const void *params, simdev_thread t, void *shared, int phase)
{
  const zp_softmax_params *p = (const zp_softmax_params *)params;
  const zp_row row = zp_row_of(t, shared);
  if (row.n >= p->rows) return;
  const int64_t last = row.n % p->T;
  float *s = p->p + row.n * p->T;
  if (phase == 0) {
    float top = s[0] * p->scale;
    ZP_IN_ORDER(row, u, last + 1, x, s[u] * p->scale, top = x > top ? x : top)
    if (row.lane == 0) row.kept[0] = top;
  }
  if (phase == 2) {
    float sum = 0.0f;
    ZP_IN_ORDER(row, u, last + 1, x, s[u], sum += x)
    if (row.lane == 0) row.kept[0] = 1.0f / sum;
  }
  if (phase == 0 || phase == 2) return;
  for (int64_t u = row.lane; u < p->T; u += ZP_WARP) {
    s[u] = u > last ? 0.0f : s[u] * (phase == 1 ? p->scale : row.kept[0]);
    if (phase == 1 && u <= last) zp_exp_shifted(s + u, row.kept[0], 1);
  }
}

/* A warp's row. Phases as of zp_softmax_body. */
ZP_ON_DEVICE void zp_entropy_body(const void *params, simdev_thread t, void *shared, int phase)
{
  const zp_entropy_params *p = (const zp_entropy_params *)params;
  const zp_row row = zp_row_of(t, shared);
  if (row.n >= p->N) return;
  float *x = p->p + row.n * ZP_LAYERS_V, *top = &row.kept[0], *hit = &row.kept[1];
  float *inverse = &row.kept[2];
  if (phase == 0) {
    float most = x[0];
    ZP_IN_ORDER(row, v, ZP_LAYERS_V, score, x[v], most = score > most ? score : most)
    if (row.lane == 0) *top = most;
    if (row.lane == 0) *hit = x[p->target[row.n]];
  }
  if (phase == 2) {
    float sum = 0.0f;
    ZP_IN_ORDER(row, v, ZP_LAYERS_V, term, x[v], sum += term)
    if (row.lane == 0) p->row[row.n] = (double)zp_logf(sum) + ((double)*top - (double)*hit);
    if (row.lane == 0) *inverse = 1.0f / sum;
  }
  for (int v = row.lane; v < ZP_LAYERS_V; v += ZP_WARP) {
    if (phase == 1) zp_exp_shifted(x + v, *top, 1);
    if (phase == 3) x[v] *= *inverse;
  }
}

ZP_ON_DEVICE void zp_entropy_mean_body(const void *params, simdev_thread t, void *shared, int phase)
{
  const zp_entropy_params *p = (const zp_entropy_params *)params;
  double total = 0.0;
  (void)shared, (void)phase;
  if (zp_item(t) != 0) return;
  for (int64_t n = 0; n < p->N; n++) total += p->row[n];
  *p->loss = (float)(total / p->count);
}

#endif
