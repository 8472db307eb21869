/* The kernels of a forward pass, from the first norm to the loss. Operations and their order are
 * those of ref/model/gpt_layers.c. spec: ERR-1 */
#ifndef ZP_CUDA_FORWARD_H
#define ZP_CUDA_FORWARD_H
#include "items.h"
#include "layers.h"
#include "ref_math.h"

/* One item: a row. */
ZP_ON_DEVICE void zp_layer_norm_body(const void *params, simdev_thread t, void *shared, int phase)
{
  const zp_layer_norm_params *p = (const zp_layer_norm_params *)params;
  (void)shared, (void)phase;
  for (int64_t n = zp_item(t); n < p->N; n += zp_item_step(t)) {
    const float *x = p->x + n * p->C;
    float *y = p->y + n * p->C;
    float sum = 0.0f, squares = 0.0f;
    for (int64_t c = 0; c < p->C; c++) sum += x[c];
    const float m = sum / p->count;
    for (int64_t c = 0; c < p->C; c++) squares += (x[c] - m) * (x[c] - m);
    const float r = 1.0f / sqrtf(squares / p->count + 1e-5f);
    for (int64_t c = 0; c < p->C; c++) y[c] = (x[c] - m) * r * p->g[c] + p->b[c];
    p->mean[n] = m;
    p->rstd[n] = r;
  }
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

/* One item: a row of one head. */
ZP_ON_DEVICE void zp_softmax_body(const void *params, simdev_thread t, void *shared, int phase)
{
  const zp_softmax_params *p = (const zp_softmax_params *)params;
  (void)shared, (void)phase;
  for (int64_t row = zp_item(t); row < p->rows; row += zp_item_step(t)) {
    const int64_t last = row % p->T;
    float *s = p->p + row * p->T;
    float top = s[0] * p->scale, sum = 0.0f;
    for (int64_t u = 0; u <= last; u++) {
      s[u] *= p->scale;
      top = s[u] > top ? s[u] : top;
    }
    zp_exp_shifted(s, top, last + 1);
    for (int64_t u = 0; u <= last; u++) sum += s[u];
    const float inverse = 1.0f / sum;
    for (int64_t u = 0; u <= last; u++) s[u] *= inverse;
    for (int64_t u = last + 1; u < p->T; u++) s[u] = 0.0f;
  }
}

/* One item: a row. */
ZP_ON_DEVICE void zp_entropy_body(const void *params, simdev_thread t, void *shared, int phase)
{
  const zp_entropy_params *p = (const zp_entropy_params *)params;
  (void)shared, (void)phase;
  for (int64_t n = zp_item(t); n < p->N; n += zp_item_step(t)) {
    float *x = p->p + n * ZP_LAYERS_V;
    float top = x[0], sum = 0.0f;
    for (int v = 1; v < ZP_LAYERS_V; v++) top = x[v] > top ? x[v] : top;
    const float hit = x[p->target[n]];
    zp_exp_shifted(x, top, ZP_LAYERS_V);
    for (int v = 0; v < ZP_LAYERS_V; v++) sum += x[v];
    const float inverse = 1.0f / sum;
    for (int v = 0; v < ZP_LAYERS_V; v++) x[v] *= inverse;
    p->row[n] = (double)zp_logf(sum) + ((double)top - (double)hit);
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
