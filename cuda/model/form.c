/* spec: ERR-2, ERR-4 */
#include "form.h"

#include <float.h>
#include <string.h>

#include "../../ref/model/gpt_cast.h"

/* fp64's own roundings of an operation, of the size of what it made. */
#define OWN 0x1p-50
#define LEAST 0x1p-149

zp_form *zp_form_take(zp_form_room *room, int64_t count)
{
  zp_form *x = zp_gpt_take(room->pool, count, sizeof *x);
  double *c = zp_gpt_take(room->pool, count * room->cap, sizeof *c);
  if (!x || !c) return NULL;
  for (int64_t i = 0; i < count; i++) x[i].c = c + i * room->cap;
  return x;
}

void zp_form_set(zp_form *x, double v)
{
  x->mid = v;
  x->rad = x->all = 0;
  x->n = 0;
}

void zp_form_copy(zp_form *y, const zp_form *x)
{
  zp_form_set(y, 0);
  zp_form_add(y, 1, x);
  y->all = x->all;
}

/* Room for n coefficients, those that were not there zero. */
static void widen(zp_form *y, int64_t n)
{
  if (n <= y->n) return;
  memset(y->c + y->n, 0, (size_t)(n - y->n) * sizeof *y->c);
  y->n = n;
}

void zp_form_add(zp_form *y, double a, const zp_form *x)
{
  double *restrict to = y->c;
  const double *restrict from = x->c;
  if (a == 0) return;
  widen(y, x->n);
  for (int64_t i = 0; i < x->n; i++) to[i] += a * from[i];
  y->mid += a * x->mid;
  y->rad += fabs(a) * x->rad;
}

void zp_form_add_product(zp_form *y, const zp_form *a, const zp_form *b)
{
  const double mid = y->mid;
  zp_form_add(y, a->mid, b);
  zp_form_add(y, b->mid, a);
  y->mid = mid + a->mid * b->mid;
  y->rad += a->all * b->all;
}

static void count(zp_form *y)
{
  double all = y->rad;
  for (int64_t i = 0; i < y->n; i++) all += fabs(y->c[i]);
  y->all = all;
}

void zp_form_end_off(zp_form *y, double off)
{
  count(y);
  off += OWN * (fabs(y->mid) + y->all);
  y->rad += off;
  y->all += off * (1 + OWN);
}

void zp_form_end(zp_form *y, double relative)
{
  count(y);
  const double off = (relative + OWN) * (fabs(y->mid) + y->all) + LEAST;
  y->rad += off;
  y->all += off * (1 + OWN);
}

void zp_form_apply(zp_form *y, const zp_form *x, double value, double slope, double bend)
{
  zp_form_set(y, 0);
  zp_form_add(y, slope, x);
  y->mid = value;
  y->rad += bend * x->all * x->all;
}

void zp_form_fresh(zp_form_room *room, zp_form *x)
{
  if (x->rad == 0 || room->symbols == room->cap) return;
  widen(x, room->symbols + 1);
  x->c[room->symbols++] = x->rad;
  x->rad = 0;
}

void zp_form_round(zp_form *x, int32_t precision)
{
  float end[2] = {(float)(x->mid - x->all), (float)(x->mid + x->all)};
  if (precision == ZP_F32) return;
  zp_gpt_round(end, 2, precision);
  /* Rounding is monotone: what the ends become are the ends. Between them are the forms of x moved
   * by half a unit, where that is less. */
  const double half = ((double)end[1] - end[0]) / 2;
  const double unit = precision == ZP_BF16 ? 0x1p-8 : 0x1p-11; /* of 8 and 11 bits */
  const double moved = unit * (fabs(x->mid) + x->all) + 0x1p-25;
  if (x->all + moved < half) {
    x->rad += moved;
    x->all += moved;
    return;
  }
  zp_form_set(x, ((double)end[0] + end[1]) / 2);
  x->rad = x->all = half;
}

/* ---- Operations of fp32 ---------------------------------------------------------------------- */

void zp_form_mul(zp_form *y, const zp_form *a, const zp_form *b)
{
  zp_form_set(y, 0);
  zp_form_add_product(y, a, b);
  zp_form_end(y, ZP_FORM_U);
}

void zp_form_scale(zp_form *y, double a, const zp_form *x)
{
  zp_form_set(y, 0);
  zp_form_add(y, a, x);
  zp_form_end(y, ZP_FORM_U);
}

void zp_form_sum(zp_form *y, const zp_form *a, double s, const zp_form *b)
{
  zp_form_set(y, 0);
  zp_form_add(y, 1, a);
  zp_form_add(y, s, b);
  zp_form_end(y, ZP_FORM_U);
}

void zp_form_over(zp_form *y, const zp_form *x, double count)
{
  zp_form_scale(y, 1 / count, x);
}

/* 1.03 units of 2^-23, and the two factors' rounding. */
void zp_form_exp(zp_form *y, const zp_form *x)
{
  const double v = exp(x->mid);
  zp_form_apply(y, x, v, v, 0.5 * exp(x->mid + x->all));
  zp_form_end(y, 0x1p-22);
}

/* |tanh''| < 0.77. 2.43 units of 2^-23. */
void zp_form_tanh(zp_form *y, const zp_form *x)
{
  const double t = tanh(x->mid);
  zp_form_apply(y, x, t, 1 - t * t, 0.385);
  zp_form_end(y, 0x1p-21);
}

/* Nothing is known of y. */
static void lose(zp_form *y)
{
  zp_form_set(y, 0);
  y->rad = y->all = INFINITY;
}

/* A root and a quotient, each rounded once. */
void zp_form_root(zp_form *y, const zp_form *x, double least)
{
  const double low = fmax(x->mid - x->all, least), r = 1 / sqrt(x->mid);
  if (!(x->mid >= least)) {
    lose(y);
    return;
  }
  zp_form_apply(y, x, r, -0.5 * r * r * r, 0.375 / (low * low * sqrt(low)));
  zp_form_end(y, 2.01 * ZP_FORM_U);
}

void zp_form_inverse(zp_form *y, const zp_form *x, double least)
{
  const double low = fmax(x->mid - x->all, least), r = 1 / x->mid;
  if (!(x->mid >= least)) {
    lose(y);
    return;
  }
  zp_form_apply(y, x, r, -r * r, 1 / (low * low * low));
  zp_form_end(y, ZP_FORM_U);
}
