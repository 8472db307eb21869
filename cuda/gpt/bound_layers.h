/* The layers of ref/model/gpt_layers.h over affine forms, with the same shapes and order.
 * Parameters are numbers; gradients of entries are ranges. spec: ERR-2 … ERR-5 */
#ifndef ZP_CUDA_BOUND_LAYERS_H
#define ZP_CUDA_BOUND_LAYERS_H
#include "../../ref/model/gpt_layers.h"
#include "affine.h"
#include "bound.h"

enum { ZP_BOUND_SPARE = 12 };

/* Shared by all layers: noise symbols, and temporary forms. */
typedef struct zp_bound_context {
  zp_affine_symbols symbols;
  zp_affine *spare; /* [ZP_BOUND_SPARE] */
  zp_gpt_dims d;
  int32_t precision;
} zp_bound_context;

/* A matrix of forms or of numbers: element (i,j) is at i·row + j·column. */
typedef struct zp_bound_matrix {
  const zp_affine *form; /* forms, or … */
  const float *number;   /* … numbers */
  int64_t row, column;
} zp_bound_matrix;

/* c (M,N) = bias + a (M,K)·b (K,N), added in any order; c's rows are ldc apart. With c NULL: the
 * ranges of the rounded results. bias: (N) or NULL. */
typedef struct zp_bound_product {
  int64_t M, N, K;
  zp_affine *c;
  int64_t ldc;
  zp_range *range;
  zp_bound_matrix a, b;
  const float *bias;
  int32_t without_symbols; /* 1: no result gets a symbol, as there would be too many */
} zp_bound_product;
void zp_bound_multiply(zp_bound_context *k, const zp_bound_product *p);

/* The range of x rounded to the precision. */
zp_range zp_bound_range(const zp_bound_context *k, const zp_affine *x);
/* x (n), each rounded to the precision, as between layers. */
void zp_bound_round(zp_bound_context *k, zp_affine *x, int64_t n);

/* h: (x − mean)·rstd, r: rstd, both for backward. */
void zp_bound_norm(zp_bound_context *k, zp_affine *y, zp_affine *h, zp_affine *r,
                   const zp_affine *x, const float *g, const float *b);
/* add: NULL, or the initial dx. */
void zp_bound_norm_backward(zp_bound_context *k, zp_affine *dx, zp_range *dg, zp_range *db,
                            const zp_affine *dy, const zp_affine *add, const zp_affine *h,
                            const zp_affine *r, const float *g);
/* db (columns): the column sums of x (rows, columns). */
void zp_bound_columns(zp_bound_context *k, zp_range *db, const zp_affine *x, int64_t rows,
                      int64_t columns);
/* y = x + y. */
void zp_bound_residual(zp_bound_context *k, zp_affine *y, const zp_affine *x, int64_t n);
/* Replaces the scores s (T,T) of one head by probabilities; backward: dp, the gradient of the
 * probabilities p, by that of the scores. */
void zp_bound_softmax(zp_bound_context *k, zp_affine *s);
void zp_bound_softmax_backward(zp_bound_context *k, zp_affine *dp, const zp_affine *p);
void zp_bound_gelu(zp_bound_context *k, zp_affine *y, const zp_affine *x, int64_t n);
void zp_bound_gelu_backward(zp_bound_context *k, zp_affine *dy, const zp_affine *x, int64_t n);
/* Replaces logits p (N,V) by probabilities; returns the range of the loss. */
zp_range zp_bound_cross_entropy(zp_bound_context *k, zp_affine *p, const int32_t *target);
/* Replaces the probabilities p by the gradient of the logits. */
void zp_bound_cross_entropy_backward(zp_bound_context *k, zp_affine *p, const int32_t *target,
                                     float scale);

#endif
