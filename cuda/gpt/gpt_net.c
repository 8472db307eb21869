/* Blocks and head as launches: ref/model/gpt_net.c and gpt_layers.c, call by call. spec: ERR-1 */
#include <math.h> /* only for sqrtf */
#include <string.h>

#include "gpt_internal.h"

enum { V = ZP_GPT_VOCAB };

/* A zeroed kernel parameter: simdev checks unused members for pointers, too. */
#define PARAMS(type, name)                                                                         \
  type name;                                                                                       \
  memset(&name, 0, sizeof name)

void zp_cuda_gpt_launch(zp_cuda_gpt_work *w, const void *kernel, zp_launch l, const void *params)
{
  void *copy, *args[1];
  memcpy(&copy, &params, sizeof copy); /* CUDA's array has pointers to non-const */
  args[0] = copy;
  if (w->failed || w->products_only || l.grid == 0) return;
  w->failed = (int32_t)cudaLaunchKernel(kernel, (dim3){l.grid, 1, 1}, (dim3){l.block, 1, 1}, args,
                                        l.shared, w->stream);
}

static void multiply(zp_cuda_gpt_work *w, const zp_product *p)
{
  const zp_products *products = w->gpt->o.products;
  if (!w->failed) w->failed = products->multiply(products->ctx, p, w->stream);
}

static zp_product product_of(const zp_cuda_gpt_work *w, int32_t name, int64_t M, int64_t N,
                             int64_t K)
{
  PARAMS(zp_product, p);
  p.name = name;
  p.operands = w->gpt->o.operands;
  p.M = M;
  p.N = N;
  p.K = K;
  p.outer = p.inner = 1;
  return p;
}

/* ---- Layers ---------------------------------------------------------------------------------- */

static void norm(zp_cuda_gpt_work *w, float *y, float *mean, float *rstd, const float *x,
                 int32_t entry)
{
  PARAMS(zp_layer_norm_params, p);
  p.y = y;
  p.mean = mean;
  p.rstd = rstd;
  p.x = x;
  p.g = w->gpt->value[entry];
  p.b = w->gpt->value[entry + 1];
  p.N = w->d.B * w->d.T;
  p.C = w->d.C;
  p.count = (float)w->d.C;
  zp_cuda_gpt_launch(w, zp_kernel_layer_norm, zp_launch_rows(p.N), &p);
}

typedef struct norm_input {
  const float *x, *mean, *rstd;
} norm_input;

static void norm_backward(zp_cuda_gpt_work *w, float *dx, const float *dy, const float *add,
                          norm_input in, int32_t entry)
{
  PARAMS(zp_layer_norm_params, p);
  p.dx = dx;
  p.dg = w->gpt->dvalue[entry];
  p.db = w->gpt->dvalue[entry + 1];
  p.dy = dy;
  p.add = add;
  p.x = in.x;
  memcpy(&p.mean, &in.mean, sizeof p.mean); /* the kernels of this pass only read them */
  memcpy(&p.rstd, &in.rstd, sizeof p.rstd);
  p.g = w->gpt->value[entry];
  p.N = w->d.B * w->d.T;
  p.C = w->d.C;
  p.count = (float)w->d.C;
  zp_cuda_gpt_launch(w, zp_kernel_layer_norm_backward, zp_launch_rows(p.N), &p);
  zp_cuda_gpt_launch(w, zp_kernel_layer_norm_columns, zp_launch_items(p.C), &p);
}

/* y (N,out) = x (N,in)·w (in,out) + b. entry: that of w; the next one is b's. */
static void linear(zp_cuda_gpt_work *w, int32_t name, float *y, const float *x, int32_t entry,
                   int64_t in, int64_t out)
{
  zp_product p = product_of(w, name, w->d.B * w->d.T, out, in);
  p.c = y;
  p.ldc = out;
  p.a = x;
  p.am = in;
  p.ak = 1;
  p.b = w->gpt->value[entry];
  p.bk = out;
  p.bn = 1;
  p.bias = w->gpt->value[entry + 1];
  multiply(w, &p);
}

/* dx (N,in) = dy·wᵀ. */
static void left_gradient(zp_cuda_gpt_work *w, int32_t name, float *dx, const float *dy,
                          const float *weights, int64_t in, int64_t out)
{
  zp_product p = product_of(w, ZP_PRODUCT_LEFT + name, w->d.B * w->d.T, in, out);
  p.c = dx;
  p.ldc = in;
  p.a = dy;
  p.am = out;
  p.ak = 1;
  p.b = weights;
  p.bk = 1;
  p.bn = out;
  multiply(w, &p);
}

/* dw (in,out) = xᵀ·dy. */
static void right_gradient(zp_cuda_gpt_work *w, int32_t name, float *dw, const float *x,
                           const float *dy, int64_t in, int64_t out)
{
  zp_product p = product_of(w, ZP_PRODUCT_RIGHT + name, in, out, w->d.B * w->d.T);
  p.c = dw;
  p.ldc = out;
  p.a = x;
  p.am = 1;
  p.ak = in;
  p.b = dy;
  p.bk = out;
  p.bn = 1;
  multiply(w, &p);
}

static void linear_backward(zp_cuda_gpt_work *w, int32_t name, float *dx, const float *dy,
                            const float *x, int32_t entry, int64_t in, int64_t out)
{
  PARAMS(zp_columns_params, columns);
  left_gradient(w, name, dx, dy, w->gpt->value[entry], in, out);
  right_gradient(w, name, w->gpt->dvalue[entry], x, dy, in, out);
  columns.sum = w->gpt->dvalue[entry + 1];
  columns.x = dy;
  columns.N = w->d.B * w->d.T;
  columns.columns = out;
  zp_cuda_gpt_launch(w, zp_kernel_columns, zp_launch_items(out), &columns);
}

/* ---- Attention ------------------------------------------------------------------------------- */

/* How the heads' matrices lie in an array, one for each head of each sequence. row: the distance of
 * a matrix' rows; step: the distances of sequences and of heads. */
typedef struct head_layout {
  int64_t row;
  zp_product_stride step;
} head_layout;

static head_layout qkv_layout(zp_gpt_dims d)
{
  return (head_layout){3 * d.C, {d.T * 3 * d.C, d.C / d.H}};
}

static head_layout y_layout(zp_gpt_dims d)
{
  return (head_layout){d.C, {d.T * d.C, d.C / d.H}};
}

static head_layout p_layout(zp_gpt_dims d)
{
  return (head_layout){d.T, {d.H * d.T * d.T, d.T * d.T}};
}

/* An operand of multiply_heads. transposed: 1: each matrix is used transposed. */
typedef struct head_operand {
  const float *data;
  head_layout layout;
  int32_t transposed;
} head_operand;

/* c = a·b for each head; p: the product's name and sizes. */
static void multiply_heads(zp_cuda_gpt_work *w, zp_product p, float *c, head_layout layout,
                           head_operand a, head_operand b)
{
  p.outer = w->d.B;
  p.inner = w->d.H;
  p.c = c;
  p.ldc = layout.row;
  p.step_c = layout.step;
  p.a = a.data;
  p.am = a.transposed ? 1 : a.layout.row;
  p.ak = a.transposed ? a.layout.row : 1;
  p.step_a = a.layout.step;
  p.b = b.data;
  p.bk = b.transposed ? 1 : b.layout.row;
  p.bn = b.transposed ? b.layout.row : 1;
  p.step_b = b.layout.step;
  multiply(w, &p);
}

static zp_softmax_params softmax_of(const zp_cuda_gpt_work *w, float *p, float *dp)
{
  PARAMS(zp_softmax_params, s);
  s.p = p;
  s.dp = dp;
  s.rows = w->d.B * w->d.H * w->d.T;
  s.T = w->d.T;
  s.scale = 1.0f / sqrtf((float)(w->d.C / w->d.H));
  return s;
}

static void attention(zp_cuda_gpt_work *w, float *y, float *p, const float *qkv)
{
  const zp_gpt_dims d = w->d;
  const int64_t T = d.T, hs = d.C / d.H;
  const zp_softmax_params s = softmax_of(w, p, NULL);
  multiply_heads(w, product_of(w, ZP_PRODUCT_SCORES, T, T, hs), p, p_layout(d),
                 (head_operand){qkv, qkv_layout(d), 0},
                 (head_operand){qkv + d.C, qkv_layout(d), 1});
  zp_cuda_gpt_launch(w, zp_kernel_softmax, zp_launch_rows(s.rows), &s);
  multiply_heads(w, product_of(w, ZP_PRODUCT_MIX, T, hs, T), y, y_layout(d),
                 (head_operand){p, p_layout(d), 0},
                 (head_operand){qkv + 2 * d.C, qkv_layout(d), 0});
}

static void attention_backward(zp_cuda_gpt_work *w, float *dqkv, const float *dy, float *p,
                               const float *qkv)
{
  const zp_gpt_dims d = w->d;
  const int64_t T = d.T, hs = d.C / d.H;
  const zp_softmax_params s = softmax_of(w, p, w->gpt->dp);
  const head_operand q = {qkv, qkv_layout(d), 0}, k = {qkv + d.C, qkv_layout(d), 0};
  const head_operand v_transposed = {qkv + 2 * d.C, qkv_layout(d), 1}, out = {dy, y_layout(d), 0};
  const head_operand p_transposed = {p, p_layout(d), 1};
  const head_operand ds = {s.dp, p_layout(d), 0}, ds_transposed = {s.dp, p_layout(d), 1};
  multiply_heads(w, product_of(w, ZP_PRODUCT_LEFT + ZP_PRODUCT_MIX, T, T, hs), s.dp, p_layout(d),
                 out, v_transposed);
  multiply_heads(w, product_of(w, ZP_PRODUCT_RIGHT + ZP_PRODUCT_MIX, T, hs, T), dqkv + 2 * d.C,
                 qkv_layout(d), p_transposed, out);
  zp_cuda_gpt_launch(w, zp_kernel_softmax_backward, zp_launch_rows(s.rows), &s);
  multiply_heads(w, product_of(w, ZP_PRODUCT_LEFT + ZP_PRODUCT_SCORES, T, hs, T), dqkv,
                 qkv_layout(d), ds, k);
  multiply_heads(w, product_of(w, ZP_PRODUCT_RIGHT + ZP_PRODUCT_SCORES, T, hs, T), dqkv + d.C,
                 qkv_layout(d), ds_transposed, q);
}

/* ---- Blocks ---------------------------------------------------------------------------------- */

/* y = x + y, rounded to dtype. */
static void residual(zp_cuda_gpt_work *w, float *y, const float *x, int32_t dtype)
{
  PARAMS(zp_residual_params, p);
  p.y = y;
  p.x = x;
  p.n = w->d.B * w->d.T * w->d.C;
  p.dtype = dtype;
  zp_cuda_gpt_launch(w, zp_kernel_residual, zp_launch_items(p.n), &p);
}

static void gelu(zp_cuda_gpt_work *w, const void *kernel, float *y, const float *x)
{
  PARAMS(zp_gelu_params, p);
  p.y = y;
  p.x = x;
  p.n = w->d.B * w->d.T * 4 * w->d.C;
  zp_cuda_gpt_launch(w, kernel, zp_launch_items(p.n), &p);
}

static void round_activation(zp_cuda_gpt_work *w, float *x)
{
  PARAMS(zp_round_params, p);
  p.x = x;
  p.n = w->d.B * w->d.T * w->d.C;
  p.dtype = w->gpt->o.cfg->precision;
  if (p.dtype != ZP_F32) zp_cuda_gpt_launch(w, zp_kernel_round, zp_launch_items(p.n), &p);
}

/* Rounds y, as between layers. */
void zp_cuda_gpt_block(zp_cuda_gpt_work *w, float *y, const zp_gpt_block_kept *kept)
{
  const int64_t C = w->d.C;
  norm(w, kept->ln1, kept->mean1, kept->rstd1, kept->x, ZP_GPT_LN1_G);
  linear(w, ZP_PRODUCT_QKV, kept->qkv, kept->ln1, ZP_GPT_QKV_W, C, 3 * C);
  attention(w, kept->att, kept->p, kept->qkv);
  linear(w, ZP_PRODUCT_PROJ, kept->mid, kept->att, ZP_GPT_PROJ_W, C, C);
  residual(w, kept->mid, kept->x, ZP_F32);
  norm(w, kept->ln2, kept->mean2, kept->rstd2, kept->mid, ZP_GPT_LN2_G);
  linear(w, ZP_PRODUCT_FC, kept->fc, kept->ln2, ZP_GPT_FC_W, C, 4 * C);
  gelu(w, zp_kernel_gelu, kept->gelu, kept->fc);
  linear(w, ZP_PRODUCT_OUT, y, kept->gelu, ZP_GPT_OUT_W, 4 * C, C);
  residual(w, y, kept->mid, w->gpt->o.cfg->precision);
}

/* Rounds dx, as between layers. */
void zp_cuda_gpt_block_backward(zp_cuda_gpt_work *w, float *dx, const float *dy,
                                const zp_gpt_block_kept *kept)
{
  const int64_t C = w->d.C;
  float *wide = w->gpt->wide, *narrow = w->gpt->narrow, *mid = w->gpt->mid;
  linear_backward(w, ZP_PRODUCT_OUT, wide, dy, kept->gelu, ZP_GPT_OUT_W, 4 * C, C);
  gelu(w, zp_kernel_gelu_backward, wide, kept->fc);
  linear_backward(w, ZP_PRODUCT_FC, narrow, wide, kept->ln2, ZP_GPT_FC_W, C, 4 * C);
  norm_backward(w, mid, narrow, dy, (norm_input){kept->mid, kept->mean2, kept->rstd2},
                ZP_GPT_LN2_G);
  linear_backward(w, ZP_PRODUCT_PROJ, narrow, mid, kept->att, ZP_GPT_PROJ_W, C, C);
  attention_backward(w, wide, narrow, kept->p, kept->qkv);
  linear_backward(w, ZP_PRODUCT_QKV, narrow, wide, kept->ln1, ZP_GPT_QKV_W, C, 3 * C);
  norm_backward(w, dx, narrow, mid, (norm_input){kept->x, kept->mean1, kept->rstd1}, ZP_GPT_LN1_G);
  round_activation(w, dx);
}

/* ---- Head ------------------------------------------------------------------------------------ */

void zp_cuda_gpt_head(zp_cuda_gpt_work *w, const zp_gpt_head_kept *kept)
{
  const int64_t C = w->d.C;
  zp_product p = product_of(w, ZP_PRODUCT_HEAD, w->d.B * w->d.T, V, C);
  norm(w, kept->norm, kept->mean, kept->rstd, kept->x, 0);
  p.c = kept->p;
  p.ldc = V;
  p.a = kept->norm;
  p.am = C;
  p.ak = 1;
  p.b = w->gpt->value[2]; /* (256,C) */
  p.bk = 1;
  p.bn = C;
  multiply(w, &p);
}

static zp_entropy_params entropy_of(const zp_cuda_gpt_work *w, const int32_t *target,
                                    const zp_gpt_head_kept *kept)
{
  PARAMS(zp_entropy_params, p);
  p.p = kept->p;
  p.row = w->gpt->row;
  p.target = target;
  p.N = w->d.B * w->d.T;
  p.count = (double)p.N;
  p.mean = 1.0f / (float)p.N;
  return p;
}

void zp_cuda_gpt_loss(zp_cuda_gpt_work *w, float *loss, const int32_t *target,
                      const zp_gpt_head_kept *kept)
{
  zp_entropy_params p = entropy_of(w, target, kept);
  p.loss = loss;
  zp_cuda_gpt_launch(w, zp_kernel_entropy, zp_launch_rows(p.N), &p);
  zp_cuda_gpt_launch(w, zp_kernel_entropy_mean, zp_launch_items(1), &p);
}

void zp_cuda_gpt_head_backward(zp_cuda_gpt_work *w, float *dx, const int32_t *target,
                               const zp_step_state *state, const zp_gpt_head_kept *kept)
{
  const int64_t C = w->d.C;
  zp_entropy_params e = entropy_of(w, target, kept);
  zp_product p = product_of(w, ZP_PRODUCT_LEFT + ZP_PRODUCT_HEAD, e.N, C, V);
  e.dlogits = w->gpt->wide;
  e.state = state;
  zp_cuda_gpt_launch(w, zp_kernel_entropy_backward, zp_launch_items(e.N * V), &e);
  /* dhead (256,C) = dlogitsᵀ·norm */
  right_gradient(w, ZP_PRODUCT_HEAD, w->gpt->dvalue[2], e.dlogits, kept->norm, V, C);
  p.c = w->gpt->narrow;
  p.ldc = C;
  p.a = e.dlogits;
  p.am = V;
  p.ak = 1;
  p.b = w->gpt->value[2];
  p.bk = C;
  p.bn = 1;
  multiply(w, &p);
  norm_backward(w, dx, w->gpt->narrow, NULL, (norm_input){kept->x, kept->mean, kept->rstd}, 0);
  round_activation(w, dx);
}
