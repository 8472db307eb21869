/* Affine arithmetic: the range of a computed number over all orders of additions.
 *
 * An affine form mid + Σ_i c_i·ε_i + rad·η, with every ε_i and η in −1 … 1, contains each value
 * that the number can have. A noise symbol ε_i stands for one rounding error, or a few, at one
 * point of the network, and is shared by all forms. So an error that reaches a number along two
 * paths can cancel, and ranges do not grow from layer to layer as in interval arithmetic. Each
 * operation adds three terms to rad: its nonlinear part, the rounding of its result (u = 2^-24),
 * and the rounding of our own fp64 arithmetic (2^-50 relative). spec: ERR-2 */
#ifndef ZP_CUDA_AFFINE_H
#define ZP_CUDA_AFFINE_H
#include <math.h>
#include <stdint.h>

#include "../../ref/model/gpt_pool.h"

/* c: the n coefficients in use, allocated for all symbols. all: |c_1| + … + |c_n| + rad. */
typedef struct zp_affine {
  double mid, rad, all;
  int64_t n;
  double *c;
} zp_affine;

/* The noise symbols of a computation, of which `used` of `cap` are in use. When all are, errors
 * stay in rad: ranges are wider, but still correct. */
typedef struct zp_affine_symbols {
  zp_gpt_pool *pool;
  int64_t used, cap;
} zp_affine_symbols;

/* Allocates `count` forms, all zero; NULL: no memory. */
zp_affine *zp_affine_alloc(zp_affine_symbols *symbols, int64_t count);

/* x becomes the number v. */
void zp_affine_set(zp_affine *x, double v);
/* y = x. */
void zp_affine_copy(zp_affine *y, const zp_affine *x);

/* y += a·x, without rounding. After the last term call zp_affine_finish or _finish_absolute. y is
 * not x. */
void zp_affine_add(zp_affine *y, double a, const zp_affine *x);
/* y += a·b: terms of first order, the rest in rad; the same applies. */
void zp_affine_add_product(zp_affine *y, const zp_affine *a, const zp_affine *b);

/* Completes y after additions: computes `all`, and adds the error of the computation in fp32, at
 * most relative·|y| + 2^-149. */
void zp_affine_finish(zp_affine *y, double relative);
/* The same for an error of at most `off`. */
void zp_affine_finish_absolute(zp_affine *y, double off);

/* y = f(x): value and slope of f at x.mid, and half the largest |f''| in x's range. */
void zp_affine_apply(zp_affine *y, const zp_affine *x, double value, double slope, double bend);

/* Replaces rad by a new symbol, if one is left. */
void zp_affine_new_symbol(zp_affine_symbols *symbols, zp_affine *x);

/* x becomes the nearest number of `precision`. */
void zp_affine_round(zp_affine *x, int32_t precision);

/* ---- Operations of fp32 ---------------------------------------------------------------------- */

/* One rounding's relative error; the functions of zmath.h state theirs in units of the last place,
 * of 2^-23. */
#define ZP_AFFINE_U 0x1p-24

/* y = a·b, y = a·x, y = a + s·b, y = x/count, each rounded once; y is not an operand. */
void zp_affine_mul(zp_affine *y, const zp_affine *a, const zp_affine *b);
void zp_affine_scale(zp_affine *y, double a, const zp_affine *x);
void zp_affine_sum(zp_affine *y, const zp_affine *a, double s, const zp_affine *b);
void zp_affine_divide(zp_affine *y, const zp_affine *x, double count);

/* y = e^x, tanh x, 1/√x and 1/x (x > 0), by ref's functions and roundings. least: a lower bound of
 * x. */
void zp_affine_exp(zp_affine *y, const zp_affine *x);
void zp_affine_tanh(zp_affine *y, const zp_affine *x);
void zp_affine_rsqrt(zp_affine *y, const zp_affine *x, double least);
void zp_affine_inverse(zp_affine *y, const zp_affine *x, double least);

#endif
