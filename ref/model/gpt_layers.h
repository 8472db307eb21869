/* The model's layers, forward and backward, in fp32: B sequences of T tokens, N = B·T rows,
 * C = d_model columns, H heads of C/H columns.
 *
 * All arrays are row-major with the shapes given, distinct and without overlap. A "sum over n" adds
 * in ascending n, one chain in fp32, from +0. Backward functions overwrite their results (none
 * accumulates), so a micro-batch's gradient never depends on the one before. */
#ifndef ZP_MODEL_GPT_LAYERS_H
#define ZP_MODEL_GPT_LAYERS_H

#include <stdint.h>

typedef struct zp_gpt_dims {
  int64_t B, T, C, H;
} zp_gpt_dims;

/* x (N,C) = wte (256,C) row of token (N) + wpe (context,C) row of position. */
void zp_gpt_embed(float *x, const int32_t *token, const float *wte, const float *wpe,
                  zp_gpt_dims d);

/* dwte (256,C): sum over the n that hold the byte; dwpe (context,C): sum over sequences, zeros in
 * the rows from T on. dx (N,C). */
void zp_gpt_embed_backward(float *dwte, float *dwpe, const float *dx, const int32_t *token,
                           int64_t context, zp_gpt_dims d);

/* y (N,C) = (x − mean)·rstd·g + b per row; x (N,C), g, b (C); keeps mean, rstd (N). Sums over
 * columns; rstd = 1/√(mean of squares + 1e-5). */
void zp_gpt_norm(float *y, float *mean, float *rstd, const float *x, const float *g, const float *b,
                 zp_gpt_dims d);

/* dx (N,C), dg, db (C): sums over n. When `add` is not NULL (N,C), dx = add + the norm's own. */
void zp_gpt_norm_backward(float *dx, float *dg, float *db, const float *dy, const float *add,
                          const float *x, const float *mean, const float *rstd, const float *g,
                          zp_gpt_dims d);

/* y (rows,out) = x (rows,in)·w (in,out) + b (out): starts from b, then adds over `in`. */
void zp_gpt_linear(float *y, const float *x, const float *w, const float *b, int64_t rows,
                   int64_t in, int64_t out);

/* dx (rows,in) = dy·wᵀ, sum over `out`, from wt (out,in), the transpose of w; dw (in,out) = xᵀ·dy,
 * db (out): sums over rows. */
void zp_gpt_linear_backward(float *dx, float *dw, float *db, const float *dy, const float *x,
                            const float *wt, int64_t rows, int64_t in, int64_t out);

/* t (cols,rows) = the transpose of w (rows,cols). */
void zp_gpt_transpose(float *t, const float *w, int64_t rows, int64_t cols);

/* y (N,C) = causal attention of qkv (N,3C): q, k, v in this order, heads adjacent within each;
 * keeps the probabilities p (B,H,T,T), zeros after the diagonal. scratch: C/H·T floats. */
void zp_gpt_attention(float *y, float *p, const float *qkv, float *scratch, zp_gpt_dims d);

/* dqkv (N,3C) from dy (N,C); scratch: C/H·T + T·T floats. */
void zp_gpt_attention_backward(float *dqkv, const float *dy, const float *p, const float *qkv,
                               float *scratch, zp_gpt_dims d);

/* Turns logits (N,256) in p into probabilities and returns the mean over n of −log p(target), the
 * sum over n in fp64. */
float zp_gpt_cross_entropy(float *p, const int32_t *target, zp_gpt_dims d);

/* dlogits (N,256) = (p − 1 at the target)·(1/N)·scale. */
void zp_gpt_cross_entropy_backward(float *dlogits, const float *p, const int32_t *target,
                                   float scale, zp_gpt_dims d);

#endif
