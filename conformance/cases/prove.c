/* No correct implementation rounds: shown by going through every subset of the contributions that
 * meet in an element, and through every operand of every update. spec: RED-2, RED-3 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../ref/engine/partial.h"
#include "../../ref/model/synth.h"
#include "cases.h"

/* 2^12 subsets an element; coded elements have at most 6 contributions that are not zero. */
enum { MOST_PARTS = 12 };

/* Significand bits with the hidden one, exponents of the smallest normal number and of the first
 * power of two that is too large. */
typedef struct format {
  int32_t bits, least, top;
} format;

typedef struct part {
  double x;
  int64_t mb;
} part;

typedef struct prover {
  const zp_recipe *r;
  zp_table *n;
  zp_serial *serial;
  float **master, **moment; /* before the step, by zp_table_first */
  int32_t except;           /* the entry of an element whose sum overflows, or -1 */
  int64_t except_element;
  char *why;
  int64_t cap;
} prover;

static format format_of(int32_t precision)
{
  const format f32 = {24, -126, 128}, bf16 = {8, -126, 128}, f16 = {11, -14, 16};
  return precision == ZP_F32 ? f32 : precision == ZP_BF16 ? bf16 : f16;
}

/* x rounded to the format, to nearest even; x has at most 53 bits, so one rounding. */
static double rounded(format f, double x)
{
  int e;
  if (x == 0) return 0;
  frexp(x, &e);
  if (e - 1 < f.least) e = f.least + 1;
  x = ldexp(rint(ldexp(x, f.bits - e)), e - f.bits);
  return fabs(x) >= ldexp(1, f.top) ? INFINITY : x;
}

/* Is x / by a number of the format, and does multiplying by the rounded reciprocal give it? */
static int divides(format f, double x, double by)
{
  const double right = x / by;
  return right * by == x && rounded(f, right) == right &&
         rounded(f, x * rounded(f, 1 / by)) == right;
}

/* One partial sum: itself, and what is left of it after one or both of the divisions. */
static int holds(const zp_config *c, format f, double x)
{
  const double D = c->dp, M = (double)c->micro_batches;
  return rounded(f, x) == x && divides(f, x, D) && divides(f, x, M) && divides(f, x, D * M) &&
         divides(f, x / D, M) && divides(f, x / M, D);
}

/* dtype: of the entry. */
static int subset_holds(const prover *p, int32_t dtype, const part *parts, int32_t n,
                        uint32_t subset)
{
  const zp_config *c = &p->n->cfg;
  const format narrow = format_of(dtype), wide = format_of(ZP_F32);
  double sum = 0;
  int64_t mb = -1;
  int32_t same = 1, one = (subset & (subset - 1)) == 0;
  for (int32_t i = 0; i < n; i++) {
    if ((subset >> i & 1) == 0) continue;
    if (mb >= 0 && parts[i].mb != mb) same = 0;
    mb = parts[i].mb;
    sum += parts[i].x;
  }
  if (p->r->wide == 0) return holds(c, narrow, sum);
  if (one && !holds(c, narrow, sum)) return 0;
  return holds(c, same && !p->r->comm_fp32 ? narrow : wide, sum);
}

/* All that meets in one element of one copy: 0 or -1. *n: how many are not zero. */
static int gather(const prover *p, int64_t step, int32_t home, int32_t t, int32_t e, int64_t i,
                  int32_t log2, part *parts, int32_t *n)
{
  const zp_config *c = &p->n->cfg;
  *n = 0;
  for (int64_t g = 0; g < c->dp * c->micro_batches; g++) {
    for (int32_t j = home; j < c->n_params; j++) {
      if (zp_synth_use_of(c, j).home != home) continue;
      if (c->params[j].expert && g % c->dp % c->ep != e) continue;
      const int32_t to = zp_is_partial(c, j) ? c->tp : t + 1; /* t is 0 if it is partial */
      for (int32_t q = t; q < to; q++) {
        const float *x = p->n->value[zp_table_row(p->n, step, g, j, q)];
        if (x == NULL || x[i] == 0) continue;
        if (*n == MOST_PARTS) return -1;
        parts[*n].x = ldexp((double)x[i], log2);
        parts[(*n)++].mb = g / c->dp;
      }
    }
  }
  return 0;
}

static int prove_sum(const prover *p, int64_t step, int32_t j, int32_t t, int32_t e, int64_t i,
                     int32_t log2)
{
  part parts[MOST_PARTS];
  int32_t n;
  int bad = gather(p, step, j, t, e, i, log2, parts, &n);
  for (uint32_t s = 1; !bad && s < (uint32_t)1 << n; s++)
    bad = !subset_holds(p, zp_entry_dtype(&p->n->cfg, j), parts, n, s);
  if (!bad) return 0;
  snprintf(p->why, (size_t)p->cap,
           "step %lld, entry %d, element %lld: a sum of its contributions, or a division by D or "
           "M, is not exact",
           (long long)step, j, (long long)i);
  return -1;
}

/* ---- Updates --------------------------------------------------------------------------------- */

/* The exponent of the lowest bit of x that is set; 2000 for 0. */
static int low_bit(double x)
{
  int e;
  double m = frexp(fabs(x), &e);
  if (x == 0) return 2000;
  while (m != floor(m)) {
    m *= 2;
    e--;
  }
  while (fmod(m, 2) == 0) {
    m /= 2;
    e++;
  }
  return e;
}

/* Any sum of any of these terms, in any order, is exact in fp32. */
static int sums_are_exact(const double *term, int32_t n)
{
  double all = 0;
  int low = 2000;
  for (int32_t i = 0; i < n; i++) {
    const int b = low_bit(term[i]);
    all += fabs(term[i]);
    if (b < low) low = b;
  }
  return all == 0 || (low >= -149 && all <= ldexp(1, low + 24));
}

/* SGD on one element. */
static int update_holds(const zp_optim *o, double w, double m, double g)
{
  const double moment[2] = {o->momentum * m, g};
  const double terms[4] = {w, o->lr * o->weight_decay * w, o->lr * g, o->lr * o->momentum * m};
  return sums_are_exact(moment, 2) && sums_are_exact(terms, 4);
}

static int prove_update(const prover *p, const zp_step_result *result, int32_t j, int32_t t,
                        int32_t e, int64_t i)
{
  const int64_t at = zp_table_first(p->n, j, t, e);
  const zp_optim *o = &p->n->hyper.optim[p->n->cfg.params[j].optgroup];
  const float *mean = zp_serial_get(p->serial, ZP_WHAT_GRADIENT, j, t, e);
  const double g = ldexp((double)mean[i], -result->log2_scale);
  if (result->step < p->n->since[p->n->cfg.params[j].optgroup]) return 0;
  if (o->kind != ZP_OPTIM_SGD || result->clip_factor < 1) return 0; /* bounded: slack.c */
  if (update_holds(o, (double)p->master[at][i], (double)p->moment[at][i], g)) return 0;
  snprintf(p->why, (size_t)p->cap, "step %lld, entry %d, element %lld: its update rounds",
           (long long)result->step, j, (long long)i);
  return -1;
}

/* ---- Steps ----------------------------------------------------------------------------------- */

/* Calls for every element of every trained copy; the first answer that is not 0 ends it. */
static int each(const prover *p, const zp_step_result *result,
                int (*f)(const prover *, const zp_step_result *, int32_t, int32_t, int32_t,
                         int64_t))
{
  const zp_config *c = &p->n->cfg;
  for (int32_t j = 0; j < c->n_params; j++) {
    if (c->params[j].frozen || zp_synth_use_of(c, j).home != j) continue;
    for (int32_t t = 0; t < (c->params[j].sharded ? c->tp : 1); t++)
      for (int32_t e = 0; e < (c->params[j].expert ? c->ep : 1); e++)
        for (int64_t i = 0; i < c->params[j].numel; i++)
          if ((j != p->except || i != p->except_element) && f(p, result, j, t, e, i)) return -1;
  }
  return 0;
}

static int one_sum(const prover *p, const zp_step_result *result, int32_t j, int32_t t, int32_t e,
                   int64_t i)
{
  return prove_sum(p, result->step, j, t, e, i, result->log2_scale);
}

static int keep(const prover *p, const zp_step_result *result, int32_t j, int32_t t, int32_t e,
                int64_t i)
{
  const int64_t at = zp_table_first(p->n, j, t, e);
  (void)result;
  p->master[at][i] = ((const float *)zp_serial_get(p->serial, ZP_WHAT_MASTER, j, t, e))[i];
  p->moment[at][i] = ((const float *)zp_serial_get(p->serial, ZP_WHAT_MOMENT1, j, t, e))[i];
  return 0;
}

static int prove_steps(prover *p)
{
  zp_error err = {0};
  double lr[ZP_HYPER_GROUPS];
  zp_conf_get_rates(p->n, lr);
  for (int32_t s = 0; s < p->n->steps; s++) {
    zp_step_result result = {0};
    (void)each(p, &result, keep);
    zp_conf_set_rates(p->n, lr, s);
    if (zp_serial_step(p->serial, &result, &err)) {
      snprintf(p->why, (size_t)p->cap, "%.400s", err.text);
      return -1;
    }
    if (result.skipped) continue; /* no value of it is used */
    p->except = -1;
    (void)zp_conf_sum_overflows(p->n, s, result.log2_scale, &p->except, &p->except_element);
    if (each(p, &result, one_sum) || each(p, &result, prove_update)) return -1;
  }
  zp_conf_set_rates(p->n, lr, 1);
  return 0;
}

/* Stages pass the loss's gradient on in the precision. Where it is divided by M before, 1/M rounds,
 * which fp32 parameters would show. */
static int passes_on(const zp_config *c)
{
  int32_t fp32 = 0;
  for (int32_t j = 0; j < c->n_params; j++) fp32 |= c->params[j].fp32;
  return !fp32 || c->pp == 1 || (c->micro_batches & (c->micro_batches - 1)) == 0;
}

int zp_conf_prove(const zp_recipe *r, zp_table *table, char *why, int64_t cap)
{
  const int64_t n = zp_table_first(table, table->cfg.n_params, 0, 0);
  const zp_workload work = zp_table_workload(table);
  zp_error err = {0};
  prover p = {r,
              table,
              NULL,
              calloc((size_t)n + 1, sizeof(float *)),
              calloc((size_t)n + 1, sizeof(float *)),
              -1,
              0,
              why,
              cap};
  int bad = p.master == NULL || p.moment == NULL || !passes_on(&table->cfg);
  for (int64_t i = 0; !bad && i < n; i++)
    if (table->first[i] != NULL)
      bad =
          zp_table_add(p.master, i, table->cfg.params[i / (table->cfg.tp * table->cfg.ep)].numel) ||
          zp_table_add(p.moment, i, table->cfg.params[i / (table->cfg.tp * table->cfg.ep)].numel);
  if (!bad) p.serial = zp_conf_serial(table, &work, &err);
  if (!passes_on(&table->cfg))
    snprintf(why, (size_t)cap, "with fp32 parameters and several stages, M must be a power of 2");
  else if (p.serial == NULL) snprintf(why, (size_t)cap, "no memory");
  bad = p.serial == NULL || prove_steps(&p);
  zp_serial_close(p.serial);
  for (int64_t i = 0; i < n; i++) {
    if (p.master != NULL) free(p.master[i]);
    if (p.moment != NULL) free(p.moment[i]);
  }
  free(p.master);
  free(p.moment);
  return bad ? -1 : 0;
}
