/* Bodies of the model's kernels on the way forward, and of the product in ref's order. Operations
 * and their order are those of ref/model/gpt_layers.c and gpt_matmul.h. spec: ERR-1 */
#ifndef ZP_CUDA_FORWARD_H
#define ZP_CUDA_FORWARD_H
#include "layers.h"
#include "ref_math.h"

/* A thread's things: i, i + step, … */
ZP_ON_DEVICE int64_t zp_thing(simdev_thread t)
{
  return (int64_t)t.blockIdx[0] * t.blockDim[0] + t.threadIdx[0];
}

ZP_ON_DEVICE int64_t zp_thing_step(simdev_thread t)
{
  return (int64_t)t.gridDim[0] * t.blockDim[0];
}

ZP_ON_DEVICE float zp_rounded_to(int32_t dtype, float x)
{
  if (dtype == ZP_BF16) return zp_float_of(zp_f32_from_bf16(zp_bf16_from_f32(zp_bits_of(x))));
  if (dtype == ZP_F16) return zp_float_of(zp_f32_from_f16(zp_f16_from_f32(zp_bits_of(x))));
  return x;
}

/* Element i of C, counted over all of the products: where it is, its row of A, its column of B. */
typedef struct zp_product_element {
  const float *a, *b;
  float *c;
  int64_t n;
} zp_product_element;

ZP_ON_DEVICE int64_t zp_product_elements(const zp_product *p)
{
  return p->outer * p->inner * p->M * p->N;
}

ZP_ON_DEVICE zp_product_element zp_product_at(const zp_product *p, int64_t i)
{
  const int64_t size = p->M * p->N, which = i / size, m = i % size / p->N, n = i % p->N;
  const int64_t outer = which / p->inner, inner = which % p->inner;
  zp_product_element e;
  e.a = p->a + outer * p->step_a.outer + inner * p->step_a.inner + m * p->am;
  e.b = p->b + outer * p->step_b.outer + inner * p->step_b.inner + n * p->bn;
  e.c = p->c + outer * p->step_c.outer + inner * p->step_c.inner + m * p->ldc + n;
  e.n = n;
  return e;
}

/* Thing: an element; one chain over ascending k. */
ZP_ON_DEVICE void zp_product_body(const void *params, simdev_thread t, void *shared, int phase)
{
  const zp_product *p = (const zp_product *)params;
  (void)shared, (void)phase;
  for (int64_t i = zp_thing(t); i < zp_product_elements(p); i += zp_thing_step(t)) {
    const zp_product_element e = zp_product_at(p, i);
    float sum = p->bias ? p->bias[e.n] : 0.0f;
    for (int64_t k = 0; k < p->K; k++) sum += e.a[k * p->ak] * e.b[k * p->bk];
    *e.c = sum;
  }
}

/* How many times farther off than allowed, as a power of 2. */
ZP_ON_DEVICE int32_t zp_times_too_far(double off, double most)
{
  int32_t log2 = 0;
  for (double next = 2 * most; log2 < ZP_JUDGED_TIMES - 1 && !(off < next); next *= 2) log2++;
  return log2;
}

/* Thing: an element that has been made. spec: ERR-7 */
ZP_ON_DEVICE void zp_judge_product_body(const void *params, simdev_thread t, void *shared,
                                        int phase)
{
  const zp_judge_product_params *j = (const zp_judge_product_params *)params;
  const zp_product *p = &j->p;
  int64_t within = 0, outside = 0, unsaid = 0;
  double worst = 0;
  (void)shared, (void)phase;
  for (int64_t i = zp_thing(t); i < zp_product_elements(p); i += zp_thing_step(t)) {
    const zp_product_element e = zp_product_at(p, i);
    double sum = p->bias ? (double)p->bias[e.n] : 0.0, size = fabs(sum);
    for (int64_t k = 0; k < p->K; k++) {
      const double term = (double)e.a[k * p->ak] * (double)e.b[k * p->bk];
      sum += term;
      size += fabs(term);
    }
    /* neither is infinite or no number; terms of fp32 numbers add up to far less */
    const int terms = size < 0x1p300, made = fabs((double)*e.c) < 0x1p128;
    const double off = fabs((double)*e.c - sum), most = j->share * size + j->least;
    if (made ? !terms || off > most : size < 0x1p127) {
      outside++;
      ZP_ADD_GLOBAL(&j->found->times[zp_times_too_far(off, most)], 1);
    } else if (terms && !made) unsaid++;
    else {
      within++;
      if (off > worst * most) worst = off / most;
    }
  }
  if (unsaid > 0) ZP_ADD_GLOBAL(&j->found->unsaid, unsaid);
  if (outside > 0) ZP_ADD_GLOBAL(&j->found->outside[p->name], outside);
  int32_t near = 0;
  for (double share = 0; near < ZP_JUDGED_NEAR - 1 && worst > share; share += ZP_JUDGED_SHARE)
    near++;
  ZP_ADD_GLOBAL(&j->found->near[near], within);
}

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
  if (zp_thing(t) == 0 && p->state->step != p->step) *p->refused += 1;
  for (int64_t i = zp_thing(t); i < p->B * p->T; i += zp_thing_step(t)) {
    const uint8_t *window = p->text + p->first[i / p->T] + i % p->T;
    p->token[i] = window[0];
    p->target[i] = window[1];
  }
}

/* Thing: a row; a stray target becomes a byte, so that nothing is read elsewhere. */
ZP_ON_DEVICE void zp_targets_body(const void *params, simdev_thread t, void *shared, int phase)
{
  const zp_targets_params *p = (const zp_targets_params *)params;
  (void)shared, (void)phase;
  if (phase == 0)
    for (int64_t i = zp_thing(t); i < p->N; i += zp_thing_step(t))
      p->target[i] = p->in[i] & (ZP_LAYERS_V - 1);
  if (zp_thing(t) == 0)
    for (int64_t i = 0; i < p->N; i++)
      if (p->in[i] < 0 || p->in[i] >= ZP_LAYERS_V) *p->refused += 1;
}

ZP_ON_DEVICE void zp_embed_body(const void *params, simdev_thread t, void *shared, int phase)
{
  const zp_embed_params *p = (const zp_embed_params *)params;
  (void)shared, (void)phase;
  for (int64_t i = zp_thing(t); i < p->N * p->C; i += zp_thing_step(t)) {
    const int64_t n = i / p->C, c = i % p->C;
    p->x[i] = zp_rounded_to(p->dtype, p->wte[p->token[n] * p->C + c] + p->wpe[n % p->T * p->C + c]);
  }
}

/* Thing: a row. */
ZP_ON_DEVICE void zp_layer_norm_body(const void *params, simdev_thread t, void *shared, int phase)
{
  const zp_layer_norm_params *p = (const zp_layer_norm_params *)params;
  (void)shared, (void)phase;
  for (int64_t n = zp_thing(t); n < p->N; n += zp_thing_step(t)) {
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
  for (int64_t i = zp_thing(t); i < p->n; i += zp_thing_step(t))
    p->y[i] = zp_rounded_to(p->dtype, p->x[i] + p->y[i]);
}

ZP_ON_DEVICE void zp_round_body(const void *params, simdev_thread t, void *shared, int phase)
{
  const zp_round_params *p = (const zp_round_params *)params;
  (void)shared, (void)phase;
  for (int64_t i = zp_thing(t); i < p->n; i += zp_thing_step(t))
    p->x[i] = zp_rounded_to(p->dtype, p->x[i]);
}

ZP_ON_DEVICE void zp_gelu_body(const void *params, simdev_thread t, void *shared, int phase)
{
  const zp_gelu_params *p = (const zp_gelu_params *)params;
  (void)shared, (void)phase;
  for (int64_t i = zp_thing(t); i < p->n; i += zp_thing_step(t)) zp_gelu(p->y + i, p->x + i, 1);
}

/* Thing: a row of one head. */
ZP_ON_DEVICE void zp_softmax_body(const void *params, simdev_thread t, void *shared, int phase)
{
  const zp_softmax_params *p = (const zp_softmax_params *)params;
  (void)shared, (void)phase;
  for (int64_t row = zp_thing(t); row < p->rows; row += zp_thing_step(t)) {
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

/* Thing: a row. */
ZP_ON_DEVICE void zp_entropy_body(const void *params, simdev_thread t, void *shared, int phase)
{
  const zp_entropy_params *p = (const zp_entropy_params *)params;
  (void)shared, (void)phase;
  for (int64_t n = zp_thing(t); n < p->N; n += zp_thing_step(t)) {
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
  if (zp_thing(t) != 0) return;
  for (int64_t n = 0; n < p->N; n++) total += p->row[n];
  *p->loss = (float)(total / p->count);
}

#endif
