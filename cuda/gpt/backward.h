/* The model's kernels of backward. Operations and their order are those of ref/model/gpt_layers.c.
 * spec: ERR-1 */
#ifndef ZP_CUDA_BACKWARD_H
#define ZP_CUDA_BACKWARD_H
#include "items.h"
#include "layers.h"
#include "ref_math.h"

/* One item: an element of dwte, which searches the rows of its byte, or of dwpe. */
ZP_ON_DEVICE void zp_embed_backward_body(const void *params, simdev_thread t, void *shared,
                                         int phase)
{
  const zp_embed_params *p = (const zp_embed_params *)params;
  const int64_t bytes = ZP_LAYERS_V * p->C;
  (void)shared, (void)phase;
  for (int64_t i = zp_item(t); i < bytes + p->context * p->C; i += zp_item_step(t)) {
    const int64_t c = i % p->C, which = (i < bytes ? i : i - bytes) / p->C;
    float sum = 0.0f;
    if (i < bytes) {
      for (int64_t n = 0; n < p->N; n++)
        if (p->token[n] == which) sum += p->dx[n * p->C + c];
      p->dwte[i] = sum;
    } else {
      for (int64_t n = which; n < p->N && which < p->T; n += p->T) sum += p->dx[n * p->C + c];
      p->dwpe[i - bytes] = sum;
    }
  }
}

/* A warp's row of dx. Phases: its two means; its elements. */
ZP_ON_DEVICE void zp_layer_norm_backward_body(const void *params, simdev_thread t, void *shared,
                                              int phase)
{
  const zp_layer_norm_params *p = (const zp_layer_norm_params *)params;
  const zp_row row = zp_row_of(t, shared);
  if (row.n >= p->N) return;
  const float *x = p->x + row.n * p->C, *dy = p->dy + row.n * p->C;
  const float m = p->mean[row.n], r = p->rstd[row.n];
  float *dx = p->dx + row.n * p->C, *mean_e = &row.kept[0], *mean_eh = &row.kept[1];
  if (phase == 0) {
    float sum_e = 0.0f, sum_eh = 0.0f;
    ZP_IN_ORDER(row, c, p->C, e, dy[c] * p->g[c], sum_e += e)
    ZP_IN_ORDER(row, c, p->C, eh, dy[c] * p->g[c] * ((x[c] - m) * r), sum_eh += eh)
    if (row.lane == 0) *mean_e = sum_e / p->count;
    if (row.lane == 0) *mean_eh = sum_eh / p->count;
    return;
  }
  for (int64_t c = row.lane; c < p->C; c += ZP_WARP) {
    const float h = (x[c] - m) * r;
    const float own = r * (dy[c] * p->g[c] - *mean_e - h * *mean_eh);
    dx[c] = p->add ? p->add[row.n * p->C + c] + own : own;
  }
}

/* One item: a column of dg and db. */
ZP_ON_DEVICE void zp_layer_norm_columns_body(const void *params, simdev_thread t, void *shared,
                                             int phase)
{
  const zp_layer_norm_params *p = (const zp_layer_norm_params *)params;
  (void)shared, (void)phase;
  for (int64_t c = zp_item(t); c < p->C; c += zp_item_step(t)) {
    float dg = 0.0f, db = 0.0f;
    for (int64_t n = 0; n < p->N; n++) {
      const float dy = p->dy[n * p->C + c];
      dg += dy * ((p->x[n * p->C + c] - p->mean[n]) * p->rstd[n]);
      db += dy;
    }
    p->dg[c] = dg;
    p->db[c] = db;
  }
}

ZP_ON_DEVICE void zp_gelu_backward_body(const void *params, simdev_thread t, void *shared,
                                        int phase)
{
  const zp_gelu_params *p = (const zp_gelu_params *)params;
  (void)shared, (void)phase;
  for (int64_t i = zp_item(t); i < p->n; i += zp_item_step(t))
    zp_gelu_backward(p->y + i, p->x + i, 1);
}

/* A warp's row of one head. Phases: its sum; its elements. */
ZP_ON_DEVICE void zp_softmax_backward_body(const void *params, simdev_thread t, void *shared,
                                           int phase)
{
  const zp_softmax_params *a = (const zp_softmax_params *)params;
  const zp_row row = zp_row_of(t, shared);
  if (row.n >= a->rows) return;
  const int64_t last = row.n % a->T;
  const float *p = a->p + row.n * a->T;
  float *dp = a->dp + row.n * a->T, *dot = &row.kept[0];
  if (phase == 0) {
    float sum = 0.0f;
    ZP_IN_ORDER(row, u, last + 1, term, p[u] * dp[u], sum += term)
    if (row.lane == 0) *dot = sum;
    return;
  }
  for (int64_t u = row.lane; u < a->T; u += ZP_WARP)
    dp[u] = u > last ? 0.0f : p[u] * (dp[u] - *dot) * a->scale;
}

/* One item: a column. */
ZP_ON_DEVICE void zp_columns_body(const void *params, simdev_thread t, void *shared, int phase)
{
  const zp_columns_params *p = (const zp_columns_params *)params;
  (void)shared, (void)phase;
  for (int64_t c = zp_item(t); c < p->columns; c += zp_item_step(t)) {
    float sum = 0.0f;
    for (int64_t n = 0; n < p->N; n++) sum += p->x[n * p->columns + c];
    p->sum[c] = sum;
  }
}

ZP_ON_DEVICE void zp_entropy_backward_body(const void *params, simdev_thread t, void *shared,
                                           int phase)
{
  const zp_entropy_params *p = (const zp_entropy_params *)params;
  const float scale = zp_pow2f(p->state->scaler.log2_scale);
  (void)shared, (void)phase;
  for (int64_t i = zp_item(t); i < p->N * ZP_LAYERS_V; i += zp_item_step(t)) {
    const int hit = p->target[i / ZP_LAYERS_V] == i % ZP_LAYERS_V;
    p->dlogits[i] = (hit ? p->p[i] - 1.0f : p->p[i]) * p->mean * scale;
  }
}

#endif
