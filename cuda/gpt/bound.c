/* ref/model/gpt.c and gpt_net.c over affine forms, for one micro-batch of all stages. spec: ERR-2,
 * ERR-6 */
#include "bound.h"

#include <string.h>

#include "../../ref/model/gpt_cast.h"
#include "../../ref/model/gpt_net.h"
#include "bound_layers.h"

enum { V = ZP_GPT_VOCAB, ENTRIES = ZP_GPT_BLOCK_ENTRIES };

typedef struct block_kept {
  zp_affine *x, *ln1, *h1, *r1, *qkv, *p, *att, *mid, *ln2, *h2, *r2, *fc, *gelu;
} block_kept;

typedef struct net {
  const zp_bound_input *in;
  zp_bound_context k;
  zp_gpt_pool pool;
  const float **w;                          /* [entries] parameters */
  block_kept *block;                        /* [layers] */
  zp_affine *x, *norm, *h, *r, *p;          /* of the head */
  zp_affine *wide, *narrow, *mid, *dx, *dy; /* (N,4C), (N,C) … */
  zp_affine *dp;                            /* (T,T) */
} net;

static zp_affine *take(net *me, int64_t n)
{
  return zp_affine_alloc(&me->k.symbols, n);
}

static void take_block(net *me, block_kept *kept)
{
  const zp_gpt_dims d = me->k.d;
  const int64_t N = d.B * d.T, C = d.C;
  kept->x = take(me, N * C);
  kept->ln1 = take(me, N * C);
  kept->h1 = take(me, N * C);
  kept->r1 = take(me, N);
  kept->qkv = take(me, N * 3 * C);
  kept->p = take(me, N * d.H * d.T);
  kept->att = take(me, N * C);
  kept->mid = take(me, N * C);
  kept->ln2 = take(me, N * C);
  kept->h2 = take(me, N * C);
  kept->r2 = take(me, N);
  kept->fc = take(me, N * 4 * C);
  kept->gelu = take(me, N * 4 * C);
}

static const float *entry_of(net *me, int32_t j)
{
  const int64_t n = zp_gpt_numel(&me->in->shape, j);
  float *x = zp_gpt_take_f32(&me->pool, n);
  if (x) zp_gpt_decode(x, me->in->params[j], n, me->in->precision);
  return x;
}

static int open_net(net *me)
{
  const zp_gpt_shape *shape = &me->in->shape;
  const zp_gpt_dims d = me->k.d;
  const int64_t N = d.B * d.T, C = d.C;
  me->k.symbols.pool = &me->pool;
  /* Arrays that get symbols: in forward 19 and in backward 17 of the size of an activation, four of
   * the size of p, two numbers for each row; of the head five arrays and one number. */
  me->k.symbols.cap = shape->layers * (36 * N * C + 4 * N * d.H * d.T + 2 * N) + 5 * N * C + N;
  me->k.spare = take(me, ZP_BOUND_SPARE);
  me->w = zp_gpt_take(&me->pool, zp_gpt_entries(shape), sizeof *me->w);
  me->block = zp_gpt_take(&me->pool, shape->layers, sizeof *me->block);
  for (int32_t j = 0; me->w && j < zp_gpt_entries(shape); j++) me->w[j] = entry_of(me, j);
  for (int32_t l = 0; me->block && l < shape->layers; l++) take_block(me, &me->block[l]);
  me->x = take(me, N * C);
  me->norm = take(me, N * C);
  me->h = take(me, N * C);
  me->r = take(me, N);
  me->p = take(me, N * V);
  me->wide = take(me, N * 4 * C);
  me->narrow = take(me, N * C);
  me->mid = take(me, N * C);
  me->dx = take(me, N * C);
  me->dy = take(me, N * C);
  me->dp = take(me, d.T * d.T);
  return me->pool.failed ? -1 : 0;
}

/* ---- Layers ---------------------------------------------------------------------------------- */

/* A matrix whose rows are `row` apart. */
static zp_bound_matrix forms(const zp_affine *x, int64_t row)
{
  return (zp_bound_matrix){x, NULL, row, 1};
}

static zp_bound_matrix numbers(const float *x, int64_t row)
{
  return (zp_bound_matrix){NULL, x, row, 1};
}

static zp_bound_matrix transposed(zp_bound_matrix m)
{
  return (zp_bound_matrix){m.form, m.number, m.column, m.row};
}

/* y (N,out) = x (N,in)·w + b; w: the matrix' and the bias' entries. */
static void linear(net *me, zp_affine *y, const zp_affine *x, const float *const *w, int64_t in,
                   int64_t out)
{
  const int64_t N = me->k.d.B * me->k.d.T;
  zp_bound_multiply(&me->k, &(zp_bound_product){.M = N,
                                                .N = out,
                                                .K = in,
                                                .c = y,
                                                .ldc = out,
                                                .a = forms(x, in),
                                                .b = numbers(w[0], out),
                                                .bias = w[1]});
}

/* dw: the ranges of the matrix' and the bias' gradients. */
static void linear_backward(net *me, zp_affine *dx, zp_range *const *dw, const zp_affine *dy,
                            const zp_affine *x, const float *w, int64_t in, int64_t out)
{
  const int64_t N = me->k.d.B * me->k.d.T;
  zp_bound_multiply(&me->k, &(zp_bound_product){.M = N,
                                                .N = in,
                                                .K = out,
                                                .c = dx,
                                                .ldc = in,
                                                .a = forms(dy, out),
                                                .b = transposed(numbers(w, out))});
  zp_bound_multiply(&me->k, &(zp_bound_product){.M = in,
                                                .N = out,
                                                .K = N,
                                                .range = dw[0],
                                                .a = transposed(forms(x, in)),
                                                .b = forms(dy, out)});
  zp_bound_columns(&me->k, dw[1], dy, N, out);
}

static void one_head(net *me, int64_t M, int64_t N, int64_t K, zp_affine *c, int64_t ldc,
                     zp_bound_matrix a, zp_bound_matrix b)
{
  zp_bound_multiply(
      &me->k, &(zp_bound_product){.M = M, .N = N, .K = K, .c = c, .ldc = ldc, .a = a, .b = b});
}

static void attention(net *me, zp_affine *y, zp_affine *p, const zp_affine *qkv)
{
  const zp_gpt_dims d = me->k.d;
  const int64_t hs = d.C / d.H, T = d.T, C = d.C, R = 3 * d.C;
  for (int64_t i = 0; i < d.B * d.H; i++, p += T * T) {
    const zp_affine *q = qkv + i / d.H * T * R + i % d.H * hs;
    one_head(me, T, T, hs, p, T, forms(q, R), transposed(forms(q + C, R)));
    zp_bound_softmax(&me->k, p);
    one_head(me, T, hs, T, y + i / d.H * T * C + i % d.H * hs, C, forms(p, T), forms(q + 2 * C, R));
  }
}

static void attention_backward(net *me, zp_affine *dqkv, const zp_affine *dy, const zp_affine *p,
                               const zp_affine *qkv)
{
  const zp_gpt_dims d = me->k.d;
  const int64_t hs = d.C / d.H, T = d.T, C = d.C, R = 3 * d.C;
  for (int64_t i = 0; i < d.B * d.H; i++, p += T * T) {
    const int64_t at = i / d.H * T * R + i % d.H * hs;
    const zp_affine *q = qkv + at, *out = dy + i / d.H * T * C + i % d.H * hs;
    one_head(me, T, T, hs, me->dp, T, forms(out, C), transposed(forms(q + 2 * C, R)));
    one_head(me, T, hs, T, dqkv + at + 2 * C, R, transposed(forms(p, T)), forms(out, C));
    zp_bound_softmax_backward(&me->k, me->dp, p);
    one_head(me, T, hs, T, dqkv + at, R, forms(me->dp, T), forms(q + C, R));
    one_head(me, T, hs, T, dqkv + at + C, R, transposed(forms(me->dp, T)), forms(q, R));
  }
}

/* ---- Blocks ---------------------------------------------------------------------------------- */

static void block(net *me, zp_affine *y, block_kept *kept, const float *const *w)
{
  const int64_t n = me->k.d.B * me->k.d.T * me->k.d.C, C = me->k.d.C;
  zp_bound_context *k = &me->k;
  zp_bound_norm(k, kept->ln1, kept->h1, kept->r1, kept->x, w[ZP_GPT_LN1_G], w[ZP_GPT_LN1_B]);
  linear(me, kept->qkv, kept->ln1, w + ZP_GPT_QKV_W, C, 3 * C);
  attention(me, kept->att, kept->p, kept->qkv);
  linear(me, kept->mid, kept->att, w + ZP_GPT_PROJ_W, C, C);
  zp_bound_residual(k, kept->mid, kept->x, n);
  zp_bound_norm(k, kept->ln2, kept->h2, kept->r2, kept->mid, w[ZP_GPT_LN2_G], w[ZP_GPT_LN2_B]);
  linear(me, kept->fc, kept->ln2, w + ZP_GPT_FC_W, C, 4 * C);
  zp_bound_gelu(k, kept->gelu, kept->fc, 4 * n);
  linear(me, y, kept->gelu, w + ZP_GPT_OUT_W, 4 * C, C);
  zp_bound_residual(k, y, kept->mid, n);
  zp_bound_round(k, y, n);
}

static void block_backward(net *me, zp_affine *dx, zp_range *const *dw, const zp_affine *dy,
                           const block_kept *kept, const float *const *w)
{
  const int64_t n = me->k.d.B * me->k.d.T * me->k.d.C, C = me->k.d.C;
  zp_affine *wide = me->wide, *narrow = me->narrow, *mid = me->mid;
  zp_bound_context *k = &me->k;
  linear_backward(me, wide, dw + ZP_GPT_OUT_W, dy, kept->gelu, w[ZP_GPT_OUT_W], 4 * C, C);
  zp_bound_gelu_backward(k, wide, kept->fc, 4 * n);
  linear_backward(me, narrow, dw + ZP_GPT_FC_W, wide, kept->ln2, w[ZP_GPT_FC_W], C, 4 * C);
  zp_bound_norm_backward(k, mid, dw[ZP_GPT_LN2_G], dw[ZP_GPT_LN2_B], narrow, dy, kept->h2, kept->r2,
                         w[ZP_GPT_LN2_G]);
  linear_backward(me, narrow, dw + ZP_GPT_PROJ_W, mid, kept->att, w[ZP_GPT_PROJ_W], C, C);
  attention_backward(me, wide, narrow, kept->p, kept->qkv);
  linear_backward(me, narrow, dw + ZP_GPT_QKV_W, wide, kept->ln1, w[ZP_GPT_QKV_W], C, 3 * C);
  zp_bound_norm_backward(k, dx, dw[ZP_GPT_LN1_G], dw[ZP_GPT_LN1_B], narrow, mid, kept->h1, kept->r1,
                         w[ZP_GPT_LN1_G]);
  zp_bound_round(k, dx, n);
}

/* Parameters are the same in all runs, and so is their sum. */
static void embed(net *me, zp_affine *x)
{
  const zp_gpt_dims d = me->k.d;
  for (int64_t i = 0; i < d.B * d.T * d.C; i++) {
    const int64_t n = i / d.C, c = i % d.C;
    float sum = me->w[0][me->in->token[n] * d.C + c] + me->w[1][n % d.T * d.C + c];
    zp_gpt_round(&sum, 1, me->in->precision);
    zp_affine_set(&x[i], sum);
  }
}

/* The range of the rounded sum, in column c, of the rows n of dy with which[n] = row (NULL: n %
 * T). */
static zp_range rows_of(net *me, const int32_t *which, int64_t row, int64_t c)
{
  const zp_gpt_dims d = me->k.d;
  zp_affine *y = &me->k.spare[0];
  double size = 0, terms = 0;
  zp_affine_set(y, 0);
  for (int64_t n = 0; n < d.B * d.T; n++) {
    const zp_affine *x = &me->dy[n * d.C + c];
    if ((which ? which[n] : n % d.T) != row) continue;
    zp_affine_add(y, 1, x);
    size += fabs(x->mid) + x->all;
    terms += 1;
  }
  zp_affine_finish_absolute(y, terms * ZP_AFFINE_U / (1 - terms * ZP_AFFINE_U) * size);
  return zp_bound_range(&me->k, y);
}

static zp_range forward(net *me)
{
  const int64_t N = me->k.d.B * me->k.d.T, C = me->k.d.C, L = me->in->shape.layers;
  const float *const *w = me->w + 2 + ENTRIES * L;
  embed(me, me->block[0].x);
  for (int64_t l = 0; l < L; l++)
    block(me, l + 1 < L ? me->block[l + 1].x : me->x, &me->block[l], me->w + 2 + ENTRIES * l);
  zp_bound_norm(&me->k, me->norm, me->h, me->r, me->x, w[0], w[1]);
  zp_bound_multiply(&me->k, &(zp_bound_product){.M = N,
                                                .N = V,
                                                .K = C,
                                                .c = me->p,
                                                .ldc = V,
                                                .a = forms(me->norm, C),
                                                .b = transposed(numbers(w[2], C)),
                                                .without_symbols = 1});
  return zp_bound_cross_entropy(&me->k, me->p, me->in->target);
}

static void head_backward(net *me, zp_range *const *grad)
{
  const int64_t N = me->k.d.B * me->k.d.T, C = me->k.d.C, head = zp_gpt_entries(&me->in->shape) - 3;
  zp_bound_cross_entropy_backward(&me->k, me->p, me->in->target, ldexpf(1.0f, me->in->log2_scale));
  zp_bound_multiply(&me->k, &(zp_bound_product){.M = V,
                                                .N = C,
                                                .K = N,
                                                .range = grad[head + 2],
                                                .a = transposed(forms(me->p, V)),
                                                .b = forms(me->norm, C)});
  zp_bound_multiply(&me->k, &(zp_bound_product){.M = N,
                                                .N = C,
                                                .K = V,
                                                .c = me->narrow,
                                                .ldc = C,
                                                .a = forms(me->p, V),
                                                .b = numbers(me->w[head + 2], C)});
  zp_bound_norm_backward(&me->k, me->dy, grad[head], grad[head + 1], me->narrow, NULL, me->h, me->r,
                         me->w[head]);
  zp_bound_round(&me->k, me->dy, N * C);
}

static void backward(net *me, zp_range *const *grad)
{
  const int64_t C = me->k.d.C;
  head_backward(me, grad);
  for (int64_t l = me->in->shape.layers - 1; l >= 0; l--) {
    zp_affine *dx = me->dx;
    block_backward(me, dx, grad + 2 + ENTRIES * l, me->dy, &me->block[l], me->w + 2 + ENTRIES * l);
    me->dx = me->dy;
    me->dy = dx;
  }
  for (int64_t i = 0; i < V * C; i++) grad[0][i] = rows_of(me, me->in->token, i / C, i % C);
  for (int64_t i = 0; i < me->in->shape.context * C; i++)
    grad[1][i] = rows_of(me, NULL, i / C, i % C);
}

int zp_bound_gpt(const zp_bound_input *in, zp_range *loss, zp_range *const *grad)
{
  const zp_gpt_shape *shape = &in->shape;
  net me = {
      .in = in,
      .k = {.d = {shape->batch, in->T, shape->d_model, shape->heads}, .precision = in->precision}};
  const int failed = open_net(&me);
  if (!failed) {
    *loss = forward(&me);
    backward(&me, grad);
  }
  zp_gpt_pool_free(&me.pool);
  return failed;
}
