/* The layers of ref/model/gpt_layers.h over affine forms; same shapes, same order. Parameters are
 * numbers. What an entry's gradient becomes is a range. spec: ERR-2 … ERR-5 */
#ifndef ZP_CUDA_BOUND_LAYERS_H
#define ZP_CUDA_BOUND_LAYERS_H
#include "../../ref/model/gpt_layers.h"
#include "bound.h"
#include "form.h"

enum { ZP_BOUND_SPARE = 12 };

/* What all layers use: room for symbols, forms that live within one element. */
typedef struct zp_bound_desk {
  zp_form_room room;
  zp_form *spare; /* [ZP_BOUND_SPARE] */
  zp_gpt_dims d;
  int32_t precision;
} zp_bound_desk;

/* A matrix, of forms or of numbers: element (i,j) stands at i·row + j·column. */
typedef struct zp_bound_matrix {
  const zp_form *form; /* or … */
  const float *number; /* … this */
  int64_t row, column;
} zp_bound_matrix;

/* c (M,N) = bias + a (M,K)·b (K,N), added in any order; c's rows are ldc apart; or, where c is
 * NULL, the ranges of the results, rounded. bias: (N) or NULL. */
typedef struct zp_bound_product {
  int64_t M, N, K;
  zp_form *c;
  int64_t ldc;
  zp_range *range;
  zp_bound_matrix a, b;
  const float *bias;
  int32_t crowd; /* 1: there are too many results for each to have a symbol */
} zp_bound_product;
void zp_bound_multiply(zp_bound_desk *k, const zp_bound_product *p);

/* The range of what x, rounded to the precision, is. */
zp_range zp_bound_range(const zp_bound_desk *k, const zp_form *x);
/* x (n), each rounded to the precision, as between layers. */
void zp_bound_round(zp_bound_desk *k, zp_form *x, int64_t n);

/* h: (x − mean)·rstd, r: rstd, both for the way back. */
void zp_bound_norm(zp_bound_desk *k, zp_form *y, zp_form *h, zp_form *r, const zp_form *x,
                   const float *g, const float *b);
/* add: NULL, or what dx begins with. */
void zp_bound_norm_backward(zp_bound_desk *k, zp_form *dx, zp_range *dg, zp_range *db,
                            const zp_form *dy, const zp_form *add, const zp_form *h,
                            const zp_form *r, const float *g);
/* db (columns): of x (rows, columns). */
void zp_bound_columns(zp_bound_desk *k, zp_range *db, const zp_form *x, int64_t rows,
                      int64_t columns);
/* y = x + y. */
void zp_bound_residual(zp_bound_desk *k, zp_form *y, const zp_form *x, int64_t n);
/* Scores s (T,T) of one head become probabilities; dp those of the scores. */
void zp_bound_softmax(zp_bound_desk *k, zp_form *s);
void zp_bound_softmax_backward(zp_bound_desk *k, zp_form *dp, const zp_form *p);
void zp_bound_gelu(zp_bound_desk *k, zp_form *y, const zp_form *x, int64_t n);
void zp_bound_gelu_backward(zp_bound_desk *k, zp_form *dy, const zp_form *x, int64_t n);
/* Logits p (N,V) become probabilities; the loss's range. */
zp_range zp_bound_cross_entropy(zp_bound_desk *k, zp_form *p, const int32_t *target);
/* p becomes the gradient of the logits. */
void zp_bound_cross_entropy_backward(zp_bound_desk *k, zp_form *p, const int32_t *target,
                                     float scale);

#endif
