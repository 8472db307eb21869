/* Affine forms: what a number is in any run that adds products in whatever order.
 *
 * A form is mid + Σ_i c_i·ε_i + rad·η, all of ε and η in −1 … 1, for the exact value of a computed
 * number. A symbol ε_i is one rounding error, or a few, of one place of the network, and the same
 * in all forms; so where errors meet again they cancel as they do in truth, and ranges do not grow
 * from layer to layer as those of interval arithmetic do. Each operation adds to rad what is not
 * linear, the rounding of its result (u = 2^-24), and fp64's own (2^-50 of the size).
 * spec: ERR-2 */
#ifndef ZP_CUDA_FORM_H
#define ZP_CUDA_FORM_H
#include <math.h>
#include <stdint.h>

#include "../../ref/model/gpt_pool.h"

/* c: (n) coefficients, room for all symbols. all: |c_1| + … + |c_n| + rad. */
typedef struct zp_form {
  double mid, rad, all;
  int64_t n;
  double *c;
} zp_form;

/* Symbols are counted through; none is given twice. When there is no more room, errors stay in rad:
 * wider, and right. */
typedef struct zp_form_room {
  zp_gpt_pool *pool;
  int64_t symbols, cap;
} zp_form_room;

/* count forms, all zero; NULL when memory ran out. */
zp_form *zp_form_take(zp_form_room *room, int64_t count);

/* x becomes the number v. */
void zp_form_set(zp_form *x, double v);
/* y = x. */
void zp_form_copy(zp_form *y, const zp_form *x);

/* y += a·x, exactly; zp_form_end has to follow. y is not x. */
void zp_form_add(zp_form *y, double a, const zp_form *x);
/* y += a·b to first order; the rest goes into rad; likewise. */
void zp_form_add_product(zp_form *y, const zp_form *a, const zp_form *b);

/* The exact value of y has been made, and is rounded to fp32, with errors of at most
 * relative·|y| + 2^-149 in all. */
void zp_form_end(zp_form *y, double relative);
/* The same where rounding may add up to `off`. */
void zp_form_end_off(zp_form *y, double off);

/* y = f(x): value and slope of f at x.mid, and half the largest |f''| in x's range. */
void zp_form_apply(zp_form *y, const zp_form *x, double value, double slope, double bend);

/* rad gets a symbol of its own. */
void zp_form_fresh(zp_form_room *room, zp_form *x);

/* x becomes the nearest number of `precision`. */
void zp_form_round(zp_form *x, int32_t precision);

/* ---- Operations of fp32 ---------------------------------------------------------------------- */

/* One rounding's relative error; the functions of zmath.h state theirs in units of the last place,
 * of 2^-23. */
#define ZP_FORM_U 0x1p-24

/* y = a·b, y = a·x, y = a + s·b, y = x/count, each rounded once; y is none of the operands. */
void zp_form_mul(zp_form *y, const zp_form *a, const zp_form *b);
void zp_form_scale(zp_form *y, double a, const zp_form *x);
void zp_form_sum(zp_form *y, const zp_form *a, double s, const zp_form *b);
void zp_form_over(zp_form *y, const zp_form *x, double count);

/* y = e^x, tanh x, 1/√x and 1/x (x > 0), by ref's functions and roundings. least: x is known not to
 * be below it. */
void zp_form_exp(zp_form *y, const zp_form *x);
void zp_form_tanh(zp_form *y, const zp_form *x);
void zp_form_root(zp_form *y, const zp_form *x, double least);
void zp_form_inverse(zp_form *y, const zp_form *x, double least);

#endif
