/* spec: ERR-2, ERR-4 */
#include "affine.h"

#include <float.h>
#include <string.h>

#include "../../ref/model/gpt_cast.h"

/* The rounding errors of fp64 in an operation, relative to its result; the smallest
 * positive fp32 number. */
#define FP64_ERROR 0x1p-50
#define FP32_MIN 0x1p-149

zp_affine *zp_affine_alloc(zp_affine_symbols *symbols, int64_t count)
{
  zp_affine *x = zp_gpt_take(symbols->pool, count, sizeof *x);
  double *c = zp_gpt_take(symbols->pool, count * symbols->cap, sizeof *c);
  if (!x || !c) return NULL;
  for (int64_t i = 0; i < count; i++) x[i].c = c + i * symbols->cap;
  return x;
}

void zp_affine_set(zp_affine *x, double v)
{
  x->mid = v;
  x->rad = x->all = 0;
  x->n = 0;
}

void zp_affine_copy(zp_affine *y, const zp_affine *x)
{
  zp_affine_set(y, 0);
  zp_affine_add(y, 1, x);
  y->all = x->all;
}

/* Extends y to n coefficients; new ones are zero. */
static void widen(zp_affine *y, int64_t n)
{
  if (n <= y->n) return;
  memset(y->c + y->n, 0, (size_t)(n - y->n) * sizeof *y->c);
  y->n = n;
}

void zp_affine_add(zp_affine *y, double a, const zp_affine *x)
{
  double *restrict to = y->c;
  const double *restrict from = x->c;
  if (a == 0) return;
  widen(y, x->n);
  for (int64_t i = 0; i < x->n; i++) to[i] += a * from[i];
  y->mid += a * x->mid;
  y->rad += fabs(a) * x->rad;
}

void zp_affine_add_product(zp_affine *y, const zp_affine *a, const zp_affine *b)
{
  const double mid = y->mid;
  zp_affine_add(y, a->mid, b);
  zp_affine_add(y, b->mid, a);
  y->mid = mid + a->mid * b->mid;
  y->rad += a->all * b->all;
}

static void count(zp_affine *y)
{
  double all = y->rad;
  for (int64_t i = 0; i < y->n; i++) all += fabs(y->c[i]);
  y->all = all;
}

void zp_affine_finish_absolute(zp_affine *y, double off)
{
  count(y);
  off += FP64_ERROR * (fabs(y->mid) + y->all);
  y->rad += off;
  y->all += off * (1 + FP64_ERROR);
}

void zp_affine_finish(zp_affine *y, double relative)
{
  count(y);
  const double off = (relative + FP64_ERROR) * (fabs(y->mid) + y->all) + FP32_MIN;
  y->rad += off;
  y->all += off * (1 + FP64_ERROR);
}

void zp_affine_apply(zp_affine *y, const zp_affine *x, double value, double slope, double bend)
{
  zp_affine_set(y, 0);
  zp_affine_add(y, slope, x);
  y->mid = value;
  y->rad += bend * x->all * x->all;
}

void zp_affine_new_symbol(zp_affine_symbols *symbols, zp_affine *x)
{
  if (x->rad == 0 || symbols->used == symbols->cap) return;
  widen(x, symbols->used + 1);
  x->c[symbols->used++] = x->rad;
  x->rad = 0;
}

void zp_affine_round(zp_affine *x, int32_t precision)
{
  float end[2] = {(float)(x->mid - x->all), (float)(x->mid + x->all)};
  if (precision == ZP_F32) return;
  zp_gpt_round(end, 2, precision);
  /* Rounding is monotone, so the rounded ends bound the result. Adding half a unit of the last
   * place to rad is a bound as well; take the narrower one. */
  const double half = ((double)end[1] - end[0]) / 2;
  const double unit = precision == ZP_BF16 ? 0x1p-8 : 0x1p-11; /* 8 and 11 significant bits */
  const double moved = unit * (fabs(x->mid) + x->all) + 0x1p-25;
  if (x->all + moved < half) {
    x->rad += moved;
    x->all += moved;
    return;
  }
  zp_affine_set(x, ((double)end[0] + end[1]) / 2);
  x->rad = x->all = half;
}

/* ---- Operations of fp32 ---------------------------------------------------------------------- */

void zp_affine_mul(zp_affine *y, const zp_affine *a, const zp_affine *b)
{
  zp_affine_set(y, 0);
  zp_affine_add_product(y, a, b);
  zp_affine_finish(y, ZP_AFFINE_U);
}

void zp_affine_scale(zp_affine *y, double a, const zp_affine *x)
{
  zp_affine_set(y, 0);
  zp_affine_add(y, a, x);
  zp_affine_finish(y, ZP_AFFINE_U);
}

void zp_affine_sum(zp_affine *y, const zp_affine *a, double s, const zp_affine *b)
{
  zp_affine_set(y, 0);
  zp_affine_add(y, 1, a);
  zp_affine_add(y, s, b);
  zp_affine_finish(y, ZP_AFFINE_U);
}

void zp_affine_divide(zp_affine *y, const zp_affine *x, double count)
{
  zp_affine_scale(y, 1 / count, x);
}

/* Error: 1.03 units of 2^-23, and the rounding of the two factors. */
void zp_affine_exp(zp_affine *y, const zp_affine *x)
{
  const double v = exp(x->mid);
  zp_affine_apply(y, x, v, v, 0.5 * exp(x->mid + x->all));
  zp_affine_finish(y, 0x1p-22);
}

/* |tanh''| < 0.77. Error: 2.43 units of 2^-23. */
void zp_affine_tanh(zp_affine *y, const zp_affine *x)
{
  const double t = tanh(x->mid);
  zp_affine_apply(y, x, t, 1 - t * t, 0.385);
  zp_affine_finish(y, 0x1p-21);
}

/* No bound of y is known. */
static void set_unbounded(zp_affine *y)
{
  zp_affine_set(y, 0);
  y->rad = y->all = INFINITY;
}

/* A root and a quotient, each rounded once. */
void zp_affine_rsqrt(zp_affine *y, const zp_affine *x, double least)
{
  const double low = fmax(x->mid - x->all, least), r = 1 / sqrt(x->mid);
  if (!(x->mid >= least)) {
    set_unbounded(y);
    return;
  }
  zp_affine_apply(y, x, r, -0.5 * r * r * r, 0.375 / (low * low * sqrt(low)));
  zp_affine_finish(y, 2.01 * ZP_AFFINE_U);
}

void zp_affine_inverse(zp_affine *y, const zp_affine *x, double least)
{
  const double low = fmax(x->mid - x->all, least), r = 1 / x->mid;
  if (!(x->mid >= least)) {
    set_unbounded(y);
    return;
  }
  zp_affine_apply(y, x, r, -r * r, 1 / (low * low * low));
  zp_affine_finish(y, ZP_AFFINE_U);
}
