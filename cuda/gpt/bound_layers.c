/* spec: ERR-2 … ERR-5 */
#include "bound_layers.h"

#include "../../ref/model/gpt_cast.h"

enum { V = ZP_GPT_VOCAB };

static double most(const zp_affine *x)
{
  return fabs(x->mid) + x->all;
}

/* γ_n, plus the rounding errors of fp64. */
static double gamma_of(double n)
{
  return n * ZP_AFFINE_U / (1 - n * ZP_AFFINE_U) + n * 0x1p-50;
}

zp_range zp_bound_range(const zp_bound_context *k, const zp_affine *x)
{
  float end[2] = {(float)(x->mid - x->all), (float)(x->mid + x->all)};
  zp_gpt_round(end, 2, k->precision);
  if (!(end[0] <= end[1])) return (zp_range){-INFINITY, INFINITY};
  return (zp_range){end[0], end[1]};
}

void zp_bound_round(zp_bound_context *k, zp_affine *x, int64_t n)
{
  for (int64_t i = 0; i < n; i++) {
    zp_affine_round(&x[i], k->precision);
    zp_affine_new_symbol(&k->symbols, &x[i]);
  }
}

/* ---- Products -------------------------------------------------------------------------------- */

/* y += a·b for one element of each; returns the largest absolute value of the term. 0: the term is
 * zero, and adding it is exact in any order. */
static double add_term(zp_affine *y, zp_bound_matrix a, int64_t at_a, zp_bound_matrix b,
                       int64_t at_b)
{
  if (a.form && b.form) {
    const double size = most(&a.form[at_a]) * most(&b.form[at_b]);
    if (size != 0) zp_affine_add_product(y, &a.form[at_a], &b.form[at_b]);
    return size;
  }
  const double number = a.number ? a.number[at_a] : b.number[at_b];
  const zp_affine *form = a.form ? &a.form[at_a] : &b.form[at_b];
  zp_affine_add(y, number, form);
  return fabs(number) * most(form);
}

/* ERR-3 */
static void sum_of(zp_affine *y, const zp_bound_product *p, int64_t m, int64_t n)
{
  double size = 0, terms = 0;
  zp_affine_set(y, 0);
  if (p->bias) {
    zp_affine_set(y, p->bias[n]);
    size = fabs(y->mid);
    terms = 1;
  }
  for (int64_t i = 0; i < p->K; i++) {
    const double term =
        add_term(y, p->a, m * p->a.row + i * p->a.column, p->b, i * p->b.row + n * p->b.column);
    size += term;
    terms += term != 0;
  }
  zp_affine_finish_absolute(y, gamma_of(terms) * size + terms * 0x1p-149);
}

void zp_bound_multiply(zp_bound_context *k, const zp_bound_product *p)
{
  for (int64_t m = 0; m < p->M; m++)
    for (int64_t n = 0; n < p->N; n++) {
      zp_affine *y = p->c ? &p->c[m * p->ldc + n] : &k->spare[0];
      sum_of(y, p, m, n);
      if (!p->c) p->range[m * p->N + n] = zp_bound_range(k, y);
      else if (!p->without_symbols) zp_affine_new_symbol(&k->symbols, y);
    }
}

void zp_bound_columns(zp_bound_context *k, zp_range *db, const zp_affine *x, int64_t rows,
                      int64_t columns)
{
  zp_affine *y = &k->spare[0];
  for (int64_t c = 0; c < columns; c++) {
    double size = 0;
    zp_affine_set(y, 0);
    for (int64_t n = 0; n < rows; n++) {
      zp_affine_add(y, 1, &x[n * columns + c]);
      size += most(&x[n * columns + c]);
    }
    zp_affine_finish_absolute(y, gamma_of((double)rows) * size);
    db[c] = zp_bound_range(k, y);
  }
}

void zp_bound_residual(zp_bound_context *k, zp_affine *y, const zp_affine *x, int64_t n)
{
  zp_affine *sum = &k->spare[0];
  for (int64_t i = 0; i < n; i++) {
    zp_affine_sum(sum, &x[i], 1, &y[i]);
    zp_affine_copy(&y[i], sum);
  }
}

/* ---- Norms ----------------------------------------------------------------------------------- */

/* One row: h = (x − mean)·rstd and r = rstd. */
static void normalize(zp_bound_context *k, zp_affine *h, zp_affine *r, const zp_affine *x)
{
  zp_affine *sum = &k->spare[0], *mean = &k->spare[1], *squares = &k->spare[2], *v = &k->spare[3];
  const int64_t C = k->d.C;
  double size = 0, sizes = 0;
  zp_affine_set(sum, 0);
  for (int64_t c = 0; c < C; c++) {
    zp_affine_add(sum, 1, &x[c]);
    size += most(&x[c]);
  }
  zp_affine_finish_absolute(sum, gamma_of((double)C) * size);
  zp_affine_divide(mean, sum, (double)C);
  zp_affine_set(squares, 0);
  for (int64_t c = 0; c < C; c++) {
    zp_affine_sum(&h[c], &x[c], -1, mean);
    zp_affine_add_product(squares, &h[c], &h[c]);
    sizes += most(&h[c]) * most(&h[c]);
  }
  zp_affine_finish_absolute(squares, gamma_of((double)C + 1) * sizes + (double)C * 0x1p-149);
  zp_affine_divide(v, squares, (double)C);
  v->mid += (double)1e-5f;
  zp_affine_finish(v, ZP_AFFINE_U);
  zp_affine_rsqrt(r, v, 0.99e-5); /* squares are not negative */
  zp_affine_new_symbol(&k->symbols, r);
  for (int64_t c = 0; c < C; c++) {
    zp_affine_mul(sum, &h[c], r);
    zp_affine_new_symbol(&k->symbols, sum);
    zp_affine_copy(&h[c], sum);
  }
}

void zp_bound_norm(zp_bound_context *k, zp_affine *y, zp_affine *h, zp_affine *r,
                   const zp_affine *x, const float *g, const float *b)
{
  const int64_t C = k->d.C;
  for (int64_t n = 0; n < k->d.B * k->d.T; n++) {
    normalize(k, h + n * C, r + n, x + n * C);
    for (int64_t c = 0; c < C; c++) {
      zp_affine *to = &y[n * C + c];
      zp_affine_scale(to, g[c], &h[n * C + c]);
      to->mid += b[c];
      zp_affine_finish(to, ZP_AFFINE_U);
      zp_affine_new_symbol(&k->symbols, to);
    }
  }
}

/* Σ e and Σ e·h of one row, over C. */
static void means_of(zp_bound_context *k, zp_affine *mean_e, zp_affine *mean_eh,
                     const zp_affine *dy, const zp_affine *h, const float *g)
{
  zp_affine *sum_e = &k->spare[0], *sum_eh = &k->spare[1], *e = &k->spare[2];
  const double C = (double)k->d.C;
  double size = 0, sizes = 0;
  zp_affine_set(sum_e, 0);
  zp_affine_set(sum_eh, 0);
  for (int64_t c = 0; c < k->d.C; c++) {
    zp_affine_scale(e, g[c], &dy[c]);
    zp_affine_add(sum_e, 1, e);
    zp_affine_add_product(sum_eh, e, &h[c]);
    size += most(e);
    sizes += most(e) * most(&h[c]);
  }
  zp_affine_finish_absolute(sum_e, gamma_of(C) * size);
  zp_affine_finish_absolute(sum_eh, gamma_of(C + 1) * sizes + C * 0x1p-149);
  zp_affine_divide(mean_e, sum_e, C);
  zp_affine_divide(mean_eh, sum_eh, C);
}

static void norm_rows(zp_bound_context *k, zp_affine *dx, const zp_affine *dy, const zp_affine *add,
                      const zp_affine *h, const zp_affine *r, const float *g)
{
  zp_affine *mean_e = &k->spare[3], *mean_eh = &k->spare[4], *t = &k->spare[5], *s = &k->spare[6];
  const int64_t C = k->d.C;
  for (int64_t n = 0; n < k->d.B * k->d.T; n++) {
    means_of(k, mean_e, mean_eh, dy + n * C, h + n * C, g);
    for (int64_t c = n * C; c < (n + 1) * C; c++) {
      zp_affine_scale(t, g[c - n * C], &dy[c]);
      zp_affine_sum(s, t, -1, mean_e);
      zp_affine_mul(t, &h[c], mean_eh);
      zp_affine_sum(&dx[c], s, -1, t);
      zp_affine_mul(t, &r[n], &dx[c]);
      if (add) zp_affine_sum(&dx[c], &add[c], 1, t);
      else zp_affine_copy(&dx[c], t);
      zp_affine_new_symbol(&k->symbols, &dx[c]);
    }
  }
}

void zp_bound_norm_backward(zp_bound_context *k, zp_affine *dx, zp_range *dg, zp_range *db,
                            const zp_affine *dy, const zp_affine *add, const zp_affine *h,
                            const zp_affine *r, const float *g)
{
  const int64_t N = k->d.B * k->d.T, C = k->d.C;
  zp_affine *y = &k->spare[0];
  norm_rows(k, dx, dy, add, h, r, g);
  for (int64_t c = 0; c < C; c++) {
    double size = 0;
    zp_affine_set(y, 0);
    for (int64_t n = 0; n < N; n++) {
      zp_affine_add_product(y, &dy[n * C + c], &h[n * C + c]);
      size += most(&dy[n * C + c]) * most(&h[n * C + c]);
    }
    zp_affine_finish_absolute(y, gamma_of((double)N + 1) * size + (double)N * 0x1p-149);
    dg[c] = zp_bound_range(k, y);
  }
  zp_bound_columns(k, db, dy, N, C);
}

/* ---- Softmax --------------------------------------------------------------------------------- */

/* ERR-5: s (n) becomes e^(s − shift), where shift is the largest mid, which is returned; sum: their
 * sum. The program subtracts the largest s, which differs between runs, but the subtracted number
 * cancels in every quotient and in the loss. */
static double exponentials(zp_bound_context *k, zp_affine *s, int64_t n, zp_affine *sum)
{
  zp_affine *x = &k->spare[0];
  double shift = s[0].mid, apart = 0, size = 0;
  for (int64_t u = 0; u < n; u++) {
    shift = fmax(shift, s[u].mid);
    apart = fmax(apart, s[u].all);
  }
  zp_affine_set(sum, 0);
  for (int64_t u = 0; u < n; u++) {
    zp_affine_copy(x, &s[u]);
    x->mid -= shift;
    zp_affine_finish_absolute(x, ZP_AFFINE_U * (most(x) + apart));
    zp_affine_exp(&s[u], x);
    zp_affine_add(sum, 1, &s[u]);
    size += most(&s[u]);
  }
  zp_affine_finish_absolute(sum, gamma_of((double)n) * size);
  return shift;
}

static double widest(const zp_affine *s, int64_t n)
{
  double apart = 0;
  for (int64_t u = 0; u < n; u++) apart = fmax(apart, s[u].all);
  return apart;
}

void zp_bound_softmax(zp_bound_context *k, zp_affine *s)
{
  const int64_t T = k->d.T;
  const double scale = 1.0f / sqrtf((float)(k->d.C / k->d.H));
  zp_affine *t = &k->spare[1], *sum = &k->spare[2], *inverse = &k->spare[3];
  for (int64_t row = 0; row < T; row++, s += T) {
    for (int64_t u = 0; u <= row; u++) {
      zp_affine_scale(t, scale, &s[u]);
      zp_affine_copy(&s[u], t);
    }
    const double apart = widest(s, row + 1);
    exponentials(k, s, row + 1, sum);
    zp_affine_inverse(inverse, sum, 0.999 * exp(-apart));
    for (int64_t u = 0; u <= row; u++) {
      zp_affine_mul(t, &s[u], inverse);
      zp_affine_new_symbol(&k->symbols, t);
      zp_affine_copy(&s[u], t);
    }
    for (int64_t u = row + 1; u < T; u++) zp_affine_set(&s[u], 0);
  }
}

void zp_bound_softmax_backward(zp_bound_context *k, zp_affine *dp, const zp_affine *p)
{
  const int64_t T = k->d.T;
  const double scale = 1.0f / sqrtf((float)(k->d.C / k->d.H));
  zp_affine *dot = &k->spare[0], *t = &k->spare[1], *s = &k->spare[2];
  for (int64_t row = 0; row < T; row++, dp += T, p += T) {
    double size = 0;
    zp_affine_set(dot, 0);
    for (int64_t u = 0; u <= row; u++) {
      zp_affine_add_product(dot, &p[u], &dp[u]);
      size += most(&p[u]) * most(&dp[u]);
    }
    zp_affine_finish_absolute(dot, gamma_of((double)row + 2) * size + (double)(row + 1) * 0x1p-149);
    for (int64_t u = 0; u <= row; u++) {
      zp_affine_sum(t, &dp[u], -1, dot);
      zp_affine_mul(s, &p[u], t);
      zp_affine_scale(&dp[u], scale, s);
      zp_affine_new_symbol(&k->symbols, &dp[u]);
    }
    for (int64_t u = row + 1; u < T; u++) zp_affine_set(&dp[u], 0);
  }
}

/* ---- GELU ------------------------------------------------------------------------------------ */

/* tanh(√(2/π)·(x + 0.044715·x³)), in t. */
static void gelu_tanh(zp_bound_context *k, zp_affine *t, const zp_affine *x)
{
  zp_affine *a = &k->spare[0], *b = &k->spare[1];
  zp_affine_scale(a, 0.044715f, x);
  zp_affine_mul(b, a, x);
  zp_affine_mul(a, b, x);
  zp_affine_sum(b, x, 1, a);
  zp_affine_scale(a, 0.797884561f, b);
  zp_affine_tanh(t, a);
}

/* y = 1 + a·x, rounded twice, or once if a is ±1. */
static void one_more(zp_affine *y, double a, const zp_affine *x)
{
  zp_affine_scale(y, a, x);
  y->mid += 1;
  zp_affine_finish(y, ZP_AFFINE_U);
}

void zp_bound_gelu(zp_bound_context *k, zp_affine *y, const zp_affine *x, int64_t n)
{
  zp_affine *t = &k->spare[2], *half = &k->spare[3], *more = &k->spare[4];
  for (int64_t i = 0; i < n; i++) {
    gelu_tanh(k, t, &x[i]);
    zp_affine_scale(half, 0.5, &x[i]);
    one_more(more, 1, t);
    zp_affine_mul(&y[i], half, more);
    zp_affine_new_symbol(&k->symbols, &y[i]);
  }
}

/* Ref clamps x to ±16; there is no bound beyond that. */
void zp_bound_gelu_backward(zp_bound_context *k, zp_affine *dy, const zp_affine *x, int64_t n)
{
  zp_affine *t = &k->spare[2], *a = &k->spare[3], *b = &k->spare[4], *slope = &k->spare[5];
  zp_affine *left = &k->spare[6];
  for (int64_t i = 0; i < n; i++) {
    gelu_tanh(k, t, &x[i]);
    zp_affine_scale(a, 0.134145f, &x[i]);
    zp_affine_mul(b, a, &x[i]);
    one_more(a, 1, b);
    zp_affine_scale(slope, 0.797884561f, a);
    one_more(a, 1, t);
    zp_affine_scale(left, 0.5, a);
    zp_affine_mul(b, t, t);
    one_more(a, -1, b);
    zp_affine_scale(b, 0.5, &x[i]);
    zp_affine_mul(t, b, a);
    zp_affine_mul(a, t, slope);
    zp_affine_sum(b, left, 1, a);
    zp_affine_mul(a, &dy[i], b);
    zp_affine_copy(&dy[i], a);
    if (most(&x[i]) >= 16) dy[i].rad = dy[i].all = INFINITY;
    zp_affine_new_symbol(&k->symbols, &dy[i]);
  }
}

/* ---- The loss -------------------------------------------------------------------------------- */

/* Adds log Σ e^(s − top) + top − hit of one row to loss, the mean over rows. The logarithm, of a
 * number of at most V + 1, is rounded to fp32. */
static void add_loss(zp_bound_context *k, zp_affine *loss, const zp_affine *sum, double shift,
                     const zp_affine *hit, double apart)
{
  const double rows = (double)(k->d.B * k->d.T),
               low = fmax(sum->mid - sum->all, 0.999 * exp(-apart));
  zp_affine *log_of = &k->spare[4];
  zp_affine_apply(log_of, sum, log(sum->mid), 1 / sum->mid, 0.5 / (low * low));
  zp_affine_finish(log_of, 0);
  log_of->rad += 0x1p-23 * (most(log_of) + apart);
  zp_affine_add(loss, 1 / rows, log_of);
  zp_affine_add(loss, -1 / rows, hit);
  loss->mid += shift / rows;
}

zp_range zp_bound_cross_entropy(zp_bound_context *k, zp_affine *p, const int32_t *target)
{
  zp_affine *t = &k->spare[1], *sum = &k->spare[2], *inverse = &k->spare[3];
  zp_affine *hit = &k->spare[5], *loss = &k->spare[6];
  zp_affine_set(loss, 0);
  for (int64_t n = 0; n < k->d.B * k->d.T; n++, p += V) {
    const double apart = widest(p, V);
    zp_affine_copy(hit, &p[target[n]]);
    const double shift = exponentials(k, p, V, sum);
    add_loss(k, loss, sum, shift, hit, apart);
    zp_affine_inverse(inverse, sum, 0.999 * exp(-apart));
    for (int v = 0; v < V; v++) {
      zp_affine_mul(t, &p[v], inverse);
      zp_affine_copy(&p[v], t);
    }
  }
  zp_affine_finish(loss, ZP_AFFINE_U);
  const zp_range r = {(float)(loss->mid - loss->all), (float)(loss->mid + loss->all)};
  return r;
}

void zp_bound_cross_entropy_backward(zp_bound_context *k, zp_affine *p, const int32_t *target,
                                     float scale)
{
  const int64_t N = k->d.B * k->d.T;
  const double mean = 1.0f / (float)N;
  zp_affine *t = &k->spare[0];
  for (int64_t i = 0; i < N * V; i++) {
    if (target[i / V] == i % V) {
      p[i].mid -= 1;
      zp_affine_finish(&p[i], ZP_AFFINE_U);
    }
    zp_affine_scale(t, mean, &p[i]);
    zp_affine_scale(&p[i], scale, t);
  }
}
