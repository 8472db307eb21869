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

/* One item: a row of dx. */
ZP_ON_DEVICE void zp_layer_norm_backward_body(const void *params, simdev_thread t, void *shared,
                                              int phase)
{
  const zp_layer_norm_params *p = (const zp_layer_norm_params *)params;
  (void)shared, (void)phase;
  for (int64_t n = zp_item(t); n < p->N; n += zp_item_step(t)) {
    const float *x = p->x + n * p->C, *dy = p->dy + n * p->C;
    float *dx = p->dx + n * p->C;
    const float m = p->mean[n], r = p->rstd[n];
    float sum_e = 0.0f, sum_eh = 0.0f;
    for (int64_t c = 0; c < p->C; c++) {
      const float e = dy[c] * p->g[c];
      sum_e += e;
      sum_eh += e * ((x[c] - m) * r);
    }
    const float mean_e = sum_e / p->count, mean_eh = sum_eh / p->count;
    for (int64_t c = 0; c < p->C; c++) {
      const float h = (x[c] - m) * r;
      const float own = r * (dy[c] * p->g[c] - mean_e - h * mean_eh);
      dx[c] = p->add ? p->add[n * p->C + c] + own : own;
    }
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

/* One item: a row of one head. */
ZP_ON_DEVICE void zp_softmax_backward_body(const void *params, simdev_thread t, void *shared,
                                           int phase)
{
  const zp_softmax_params *a = (const zp_softmax_params *)params;
  (void)shared, (void)phase;
  for (int64_t row = zp_item(t); row < a->rows; row += zp_item_step(t)) {
    const int64_t last = row % a->T;
    const float *p = a->p + row * a->T;
    float *dp = a->dp + row * a->T, dot = 0.0f;
    for (int64_t u = 0; u <= last; u++) dot += p[u] * dp[u];
    for (int64_t u = 0; u <= last; u++) dp[u] = p[u] * (dp[u] - dot) * a->scale;
    for (int64_t u = last + 1; u < a->T; u++) dp[u] = 0.0f;
  }
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
