/* Laws of ref/model/synth.h. spec: RED-1, RED-2, RED-3, RED-6, PIPE-6 */
#include <criterion/criterion.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "../../../ref/model/synth.h"
#include "../../../ref/num/half.h"

enum { NUMEL = 120, CAP = 64 };

/* Two stages; entries: dense, sharded, expert, two uses of a key on stage 0, one on stage 1. */
static const zp_param list[6] = {{NUMEL, 0, 0, -1, 0, 0, 0, 0}, {NUMEL, 0, 0, -1, 1, 0, 0, 0},
                                 {NUMEL, 0, 0, -1, 0, 1, 0, 0}, {NUMEL, 0, 0, 0, 0, 0, 0, 0},
                                 {NUMEL, 0, 0, 0, 0, 0, 0, 0},  {NUMEL, 1, 0, 0, 0, 0, 0, 0}};

static zp_config config(int32_t dp, int64_t M, int32_t precision)
{
  zp_config c;
  memset(&c, 0, sizeof c);
  c.pp = 2;
  c.dp = dp;
  c.tp = 2;
  c.ep = dp % 2 == 0 ? 2 : 1;
  c.stage = 1;
  c.precision = precision;
  c.micro_batches = M;
  c.bucket = 64;
  c.align = 1;
  c.optgroups = 1;
  c.tied_keys = 1;
  c.n_params = 6;
  c.params = list;
  return c;
}

static zp_synth_options coded(void)
{
  zp_synth_options o;
  memset(&o, 0, sizeof o);
  o.seed = 11;
  return o;
}

/* The reduced gradient, contribution `but` taken `times` times. */
static void reduce(const zp_synth_options *o, const zp_config *c, int64_t step, int32_t j,
                   int32_t tp, int32_t ep, int64_t but, int32_t times, float *out)
{
  const int64_t n = zp_synth_contributions(c, j);
  for (int64_t e = 0; e < NUMEL; e++) {
    double sum = 0;
    for (int64_t k = 0; k < n; k++) {
      if (!zp_synth_used(o, c, step, j, ep, k) && k != but) continue;
      sum += (k == but ? times : 1) * (double)zp_synth_value(o, c, step, j, tp, ep, k, e);
    }
    out[e] = (float)(sum / (double)(c->dp * c->micro_batches));
  }
}

static int64_t decode(const zp_synth_options *o, const zp_config *c, int64_t step, int32_t j,
                      int32_t tp, int32_t ep, const float *x, zp_synth_finding *f, int32_t *n)
{
  *n = 0;
  return zp_synth_decode(o, c, step, j, tp, ep, 0, 0, NUMEL, x, f, n, CAP);
}

Test(synth, right_reductions_decode_as_right)
{
  for (int32_t dp = 1; dp <= 8; dp++) {
    for (int64_t M = 1; M <= 5; M++) {
      const zp_config c = config(dp, M, (int32_t)(M % 3));
      zp_synth_options o = coded();
      o.unused = M % 2 == 0 ? 80 : 0;
      if (zp_synth_digits(&c) == 0) continue;
      for (int32_t j = 0; j < 6; j++) {
        float x[NUMEL];
        zp_synth_finding f[CAP];
        int32_t n;
        reduce(&o, &c, 3, j, j == 1, 0, -1, 0, x);
        cr_assert_eq(decode(&o, &c, 3, j, j == 1, 0, x, f, &n), 0, "dp %d M %d entry %d", dp,
                     (int)M, j);
        cr_assert_eq(n, 0);
      }
    }
  }
}

/* Every contribution of every kind of entry, lost or doubled, is named: rank, micro-batch, use. */
Test(synth, a_lost_or_doubled_contribution_is_named)
{
  for (int32_t dp = 2; dp <= 6; dp++) {
    const zp_config c = config(dp, 3, dp % 3);
    const zp_synth_options o = coded();
    for (int32_t j = 0; j < 6; j++) {
      const int64_t all = zp_synth_contributions(&c, j);
      for (int64_t k = 0; k < all; k++) {
        for (int32_t times = 0; times <= 2; times += 2) {
          const int32_t ep = list[j].expert ? c.ep - 1 : 0;
          const zp_synth_who who = zp_synth_name(&c, j, ep, k);
          float x[NUMEL];
          zp_synth_finding f[CAP];
          int32_t n;
          reduce(&o, &c, 0, j, 0, ep, k, times, x);
          cr_assert_gt(decode(&o, &c, 0, j, 0, ep, x, f, &n), 0);
          for (int32_t i = 0; i < n; i++) {
            cr_assert_eq(f[i].kind, times == 0 ? ZP_SYNTH_MISSING : ZP_SYNTH_DOUBLED);
            cr_assert_eq(f[i].who.entry, who.entry);
            cr_assert_eq(f[i].who.dp, who.dp);
            cr_assert_eq(f[i].who.mb, who.mb);
            cr_assert_eq(f[i].param, j);
          }
        }
      }
    }
  }
}

Test(synth, a_contribution_declared_unused_is_named_when_it_is_there)
{
  const zp_config c = config(3, 4, ZP_F32);
  zp_synth_options o = coded();
  int32_t seen = 0;
  o.unused = 100;
  for (int64_t k = 0; k < 12; k++) {
    float x[NUMEL];
    zp_synth_finding f[CAP];
    int32_t n;
    if (zp_synth_used(&o, &c, 0, 0, 0, k)) continue;
    reduce(&o, &c, 0, 0, 0, 0, k, 1, x);
    cr_assert_gt(decode(&o, &c, 0, 0, 0, 0, x, f, &n), 0);
    cr_assert_eq(f[0].kind, ZP_SYNTH_UNASKED);
    cr_assert_eq(f[0].who.mb * 3 + f[0].who.dp, k);
    seen++;
  }
  cr_assert_gt(seen, 0);
}

/* A mask takes exactly the listed uses of its entry out of the sum, of the others none. RED-6 */
Test(synth, masked_uses_are_missing_from_the_sum)
{
  const zp_config c = config(4, 3, ZP_F32);
  const zp_synth_options whole = coded();
  zp_synth_skip skip[2] = {{1, 2}, {2, 0}}; /* not a whole place of codes apart */
  zp_synth_mask mask[6];
  zp_synth_options masked = coded();
  for (int32_t j = 0; j < 6; j++) {
    for (int32_t i = 0; i < 6; i++)
      mask[i] = (zp_synth_mask){i == j ? 2 : 0, -1, i == j ? skip : NULL};
    masked.mask = mask;
    for (int32_t k = 0; k < 6; k++) {
      for (int32_t ep = 0; ep < (list[k].expert ? c.ep : 1); ep++) {
        float x[NUMEL], y[NUMEL];
        zp_synth_finding f[CAP];
        int32_t n, gone = 0;
        for (int64_t i = 0; i < zp_synth_contributions(&c, k); i++) {
          const zp_synth_who who = zp_synth_name(&c, k, ep, i);
          const int out =
              who.entry == j && ((who.dp == 1 && who.mb == 2) || (who.dp == 2 && who.mb == 0));
          cr_assert_eq(zp_synth_used(&masked, &c, 1, k, ep, i), !out);
          gone += out;
        }
        cr_assert_eq(gone > 0, k == j || (list[k].tied >= 0 && list[k].tied == list[j].tied));
        reduce(&masked, &c, 1, k, 0, ep, -1, 0, x);
        cr_assert_eq(decode(&masked, &c, 1, k, 0, ep, x, f, &n), 0);
        for (int64_t e = 0; e < NUMEL; e++)
          cr_assert_eq((double)x[e], (double)zp_synth_expected(&masked, &c, 1, k, 0, ep, e));
        reduce(&whole, &c, 1, k, 0, ep, -1, 0, y);
        cr_assert_eq(decode(&masked, &c, 1, k, 0, ep, y, f, &n) > 0, gone > 0);
        int32_t named = 0;
        /* among the many codes of a tied key, a full place can pass for a neighbour's */
        if (list[k].tied >= 0) continue;
        for (int32_t i = 0; i < n; i++)
          named +=
              f[i].kind == ZP_SYNTH_UNASKED && f[i].who.entry == j &&
              ((f[i].who.dp == 1 && f[i].who.mb == 2) || (f[i].who.dp == 2 && f[i].who.mb == 0));
        cr_assert_eq(named, gone, "entry %d masked, %d judged", j, k);
      }
    }
  }
}

/* A share of an entry's own overrides the common one. */
Test(synth, of_the_uses_of_a_tied_key_one_takes_part_in_each_step)
{
  const zp_config c = config(2, 3, ZP_F32);
  zp_synth_options o = coded();
  int32_t taken[6] = {0};
  o.oneside = 1;
  for (int64_t step = 0; step < 6; step++) {
    for (int64_t g = 0; g < 6; g++) {
      int32_t uses = 0;
      for (int32_t j = 0; j < 6; j++) {
        const int64_t k = zp_synth_number(&c, j, (int32_t)(g % 2), 0, g / 2);
        const int used = zp_synth_used(&o, &c, step, j, 0, k);
        if (list[j].tied < 0) cr_assert(used);
        else uses += used;
        taken[j] += used;
      }
      cr_assert_eq(uses, 1);
    }
  }
  for (int32_t j = 3; j < 6; j++) cr_assert_eq(taken[j], 12); /* two steps of six micro-batches */
}

Test(synth, an_entry_may_have_its_own_share_of_unused)
{
  const zp_config c = config(4, 3, ZP_F32);
  zp_synth_mask mask[6];
  zp_synth_options o = coded();
  int32_t unused[6] = {0};
  for (int32_t i = 0; i < 6; i++)
    mask[i] = (zp_synth_mask){0, i == 0 ? 255 : i == 1 ? 0 : -1, NULL};
  o.mask = mask;
  o.unused = 128;
  for (int64_t step = 0; step < 50; step++)
    for (int32_t j = 0; j < 3; j++)
      for (int64_t i = 0; i < zp_synth_contributions(&c, j); i++)
        unused[j] += !zp_synth_used(&o, &c, step, j, 0, i);
  cr_assert_gt(unused[0], 590); /* of 600, but for one in 256 */
  cr_assert_eq(unused[1], 0);
  cr_assert(unused[2] > 75 && unused[2] < 225); /* of 300, half */
}

Test(synth, misplaced_stale_and_misdivided_elements_are_distinguished)
{
  const zp_config c = config(3, 2, ZP_F32);
  const zp_synth_options o = coded();
  float x[NUMEL], y[NUMEL], old[NUMEL];
  zp_synth_finding f[CAP];
  int32_t n;
  reduce(&o, &c, 1, 0, 0, 0, -1, 0, x);
  reduce(&o, &c, 0, 0, 0, 0, -1, 0, old);
  for (int32_t e = 0; e < NUMEL; e++) y[e] = e >= 40 && e < 80 ? x[e + 7] : x[e];
  cr_assert_gt(decode(&o, &c, 1, 0, 0, 0, y, f, &n), 0);
  cr_assert_eq(f[0].kind, ZP_SYNTH_MOVED);
  cr_assert_eq(f[0].from - f[0].element, 7);
  for (int32_t e = 0; e < NUMEL; e++) y[e] = x[e] / 3;
  cr_assert_gt(decode(&o, &c, 1, 0, 0, 0, y, f, &n), 0);
  cr_assert_eq(f[0].kind, ZP_SYNTH_RATIO);
  cr_assert_eq(f[0].numerator, 1);
  cr_assert_eq(f[0].denominator, 3);
  for (int32_t e = 0; e < NUMEL; e++) y[e] = x[e] + old[e];
  cr_assert_gt(decode(&o, &c, 1, 0, 0, 0, y, f, &n), 0);
  cr_assert_eq(f[0].kind, ZP_SYNTH_STALE);
  cr_assert_eq(f[0].times, 2);
  cr_assert_gt(decode(&o, &c, 1, 0, 0, 0, old, f, &n), 0);
  cr_assert_eq(f[0].kind, ZP_SYNTH_STALE);
  cr_assert_eq(f[0].times, 1);
  for (int32_t e = 0; e < NUMEL; e++) y[e] = e == 5 ? 0.3f : x[e];
  cr_assert_eq(decode(&o, &c, 1, 0, 0, 0, y, f, &n), 1);
  cr_assert_eq(f[0].kind, ZP_SYNTH_GARBLED);
  cr_assert_eq(f[0].element, 5);
}

Test(synth, successive_elements_cover_all_contributions)
{
  for (int32_t dp = 1; dp <= 8; dp++) {
    const zp_config c = config(dp, 4, dp % 3);
    const zp_synth_options o = coded();
    for (int32_t j = 0; j < 6; j++) {
      const int64_t n = zp_synth_contributions(&c, j);
      const int32_t q = zp_synth_digits(&c);
      for (int64_t k = 0; k < n; k++) {
        int32_t codes = 0;
        for (int64_t e = 0; e < (n + q - 1) / q + 1; e++)
          codes += zp_synth_value(&o, &c, 0, j, 0, 0, k, e) != 0;
        cr_assert_geq(codes, 1);
      }
    }
  }
}

/* x in the precision's arithmetic. */
static float through(int32_t precision, float x)
{
  uint32_t u;
  memcpy(&u, &x, sizeof u);
  if (precision == ZP_BF16) u = zp_f32_from_bf16(zp_bf16_from_f32(u));
  if (precision == ZP_F16) u = zp_f32_from_f16(zp_f16_from_f32(u));
  memcpy(&x, &u, sizeof x);
  return x;
}

/* What zp_synth_prove claims is looked at with real arithmetic: sums in random orders, divided
 * before, after, and by the rounded reciprocal, in the precision itself. */
Test(synth, what_is_proven_exact_is_exact_in_any_order)
{
  int32_t proven = 0;
  for (int32_t dp = 1; dp <= 7; dp++) {
    for (int64_t M = 1; M <= 4; M++) {
      const zp_config c = config(dp, M, (int32_t)((dp + M) % 3));
      const zp_synth_options o = coded();
      const float all = (float)(dp * M), reciprocal = through(c.precision, 1 / all);
      const int64_t n = zp_synth_contributions(&c, 0);
      if (zp_synth_prove(&c, &o, 0, NULL, 0) != ZP_SYNTH_ALL) continue;
      proven++;
      for (int64_t e = 0; e < NUMEL; e++) {
        float sum = 0, pre = 0, pre_reciprocal = 0;
        const float right = (float)zp_synth_expected(&o, &c, 0, 0, 0, 0, e);
        const int64_t from = rand() % n;
        for (int64_t i = 0; i < n; i++) {
          const float v = zp_synth_value(&o, &c, 0, 0, 0, 0, (from + i * (n - 1)) % n, e);
          if (i > 0 && n > 2 && (from + i * (n - 1)) % n == from) break;
          sum = through(c.precision, sum + v);
          pre = through(c.precision, pre + through(c.precision, v / all));
          pre_reciprocal =
              through(c.precision, pre_reciprocal + through(c.precision, v * reciprocal));
        }
        cr_assert_eq(through(c.precision, sum / all), right);
        cr_assert_eq(through(c.precision, sum * reciprocal), right);
        cr_assert_eq(pre, right);
        cr_assert_eq(pre_reciprocal, right);
      }
    }
  }
  cr_assert_gt(proven, 20);
}

Test(synth, data_that_cannot_be_coded_are_reported)
{
  char why[256];
  zp_config c = config(2, 64, ZP_BF16);
  zp_synth_options o = coded();
  cr_assert_eq(zp_synth_prove(&c, &o, 0, why, sizeof why), 0);
  cr_assert(strstr(why, "128") != NULL, "%s", why);
  c = config(2, 2, ZP_F16);
  cr_assert_eq(zp_synth_prove(&c, &o, 0, why, sizeof why), ZP_SYNTH_ALL, "%s", why);
  cr_assert_eq(zp_synth_prove(&c, &o, 10, why, sizeof why), 0);
  o.log2_unit = -10;
  cr_assert_eq(zp_synth_prove(&c, &o, 10, why, sizeof why), ZP_SYNTH_ALL, "%s", why);
  /* 41: the smallest integer with 41 · fl32(1/41) != 1 */
  c = config(41, 1, ZP_F32);
  o.log2_unit = 0;
  cr_assert_eq(zp_synth_prove(&c, &o, 0, why, sizeof why), ZP_SYNTH_ALL & ~ZP_SYNTH_RECIPROCAL);
  cr_assert(strstr(why, "reciprocal") != NULL, "%s", why);
}

/* The same global batch, split otherwise, has the same contributions. */
Test(synth, contributions_do_not_depend_on_the_split)
{
  const zp_config a = config(6, 2, ZP_F32), b = config(3, 4, ZP_F32);
  for (int32_t mode = 0; mode < ZP_SYNTH_MODES; mode++) {
    zp_synth_options o = coded();
    o.mode = mode;
    o.unused = 60;
    for (int64_t k = 0; k < 12; k++) {
      cr_assert_eq(zp_synth_used(&o, &a, 2, 0, 0, k), zp_synth_used(&o, &b, 2, 0, 0, k));
      for (int64_t e = 0; e < NUMEL; e++) {
        const float x = zp_synth_value(&o, &a, 2, 0, 0, 0, k, e);
        const float y = zp_synth_value(&o, &b, 2, 0, 0, 0, k, e);
        cr_assert_eq(memcmp(&x, &y, sizeof x), 0);
      }
    }
  }
}

static int64_t differing(const zp_synth_options *o, const zp_config *c, int64_t step, int32_t j,
                         int32_t tp, int64_t k, int64_t step2, int32_t tp2, int64_t k2)
{
  int64_t n = 0;
  for (int64_t e = 0; e < NUMEL; e++)
    n +=
        zp_synth_value(o, c, step, j, tp, 0, k, e) != zp_synth_value(o, c, step2, j, tp2, 0, k2, e);
  return n;
}

Test(synth, steps_shards_uses_and_micro_batches_differ)
{
  const zp_config c = config(2, 3, ZP_F32);
  for (int32_t mode = 0; mode < ZP_SYNTH_MODES; mode++) {
    zp_synth_options o = coded();
    o.mode = mode;
    cr_assert_gt(differing(&o, &c, 0, 0, 0, 1, 0, 0, 2), 5); /* contributions */
    cr_assert_gt(differing(&o, &c, 0, 0, 0, 1, 1, 0, 1), 5); /* steps */
    cr_assert_gt(differing(&o, &c, 0, 1, 0, 1, 0, 1, 1), 5); /* shards */
    cr_assert_gt(differing(&o, &c, 0, 3, 0, 1, 0, 0, 7),
                 5); /* uses of a key: 6 contributions each */
  }
}

Test(synth, every_use_of_an_entry_varies_over_steps)
{
  const zp_config c = config(3, 2, ZP_F32);
  zp_synth_options o = coded();
  int32_t back = 0;
  o.unused = 128;
  for (int64_t k = 0; k < 6; k++)
    for (int64_t t = 0; t < 20; t++)
      back += zp_synth_used(&o, &c, t, 0, 0, k) && !zp_synth_used(&o, &c, t + 1, 0, 0, k) &&
              zp_synth_used(&o, &c, t + 2, 0, 0, k);
  cr_assert_gt(back, 5);
}

Test(synth, dyadic_sums_are_exact_in_the_precision)
{
  for (int32_t precision = ZP_F32; precision <= ZP_F16; precision++) {
    const zp_config c = config(3, 3, precision);
    zp_synth_options o = coded();
    int32_t different = 0;
    o.mode = ZP_SYNTH_DYADIC;
    for (int64_t e = 0; e < NUMEL; e++) {
      float up = 0, down = 0;
      for (int64_t k = 0; k < 9; k++) {
        const float x = zp_synth_value(&o, &c, 0, 0, 0, 0, k, e);
        up = through(precision, up + x);
        down = through(precision, down + zp_synth_value(&o, &c, 0, 0, 0, 0, 8 - k, e));
        different += x != 0;
      }
      cr_assert_eq(up, down);
      cr_assert_eq(up / 9, floorf(up / 9)); /* a multiple of D·M */
    }
    cr_assert_gt(different, 20);
  }
}

Test(synth, wild_values_are_of_every_kind)
{
  const zp_config c = config(2, 2, ZP_BF16);
  zp_synth_options o = coded();
  int32_t subnormal = 0, huge = 0, zero = 0;
  o.mode = ZP_SYNTH_WILD;
  o.huge = 1;
  for (int32_t j = 0; j < 6; j++) {
    for (int64_t k = 0; k < zp_synth_contributions(&c, j); k++) {
      for (int64_t e = 0; e < NUMEL; e++) {
        const float x = zp_synth_value(&o, &c, 0, j, 0, 0, k, e);
        subnormal += fpclassify(x) == FP_SUBNORMAL;
        huge += fabsf(x) > 1e37f;
        zero += x == 0;
      }
    }
  }
  cr_assert(subnormal > 20 && huge > 20 && zero > 20);
}

Test(synth, a_step_with_an_overflow_has_one)
{
  const zp_config c = config(2, 2, ZP_BF16);
  zp_synth_options o = coded();
  o.overflow = 2; /* step 1 */
  for (o.seed = 0; o.seed < 100; o.seed++) {
    int32_t bad[2] = {0, 0};
    for (int32_t j = 0; j < 6; j++)
      for (int64_t k = 0; k < zp_synth_contributions(&c, j); k++)
        for (int64_t i = 0; zp_synth_name(&c, j, 0, k).entry == j && i < 4 * NUMEL; i++)
          if (i % 4 < 2 || list[j].sharded)
            bad[i % 2] +=
                !isfinite(zp_synth_value(&o, &c, i % 2, j, (int32_t)(i % 4 / 2), 0, k, i / 4));
    cr_assert(bad[0] == 0 && bad[1] == 1, "%d, %d, seed %d", bad[0], bad[1], (int)o.seed);
  }
}

/* ---- The workload ---------------------------------------------------------------------------- */

typedef struct side {
  void *inst;
  zp_workload w;
} side;

static side open_side(zp_synth *synth, const zp_config *c, int32_t stage)
{
  side s;
  const zp_place_of where = {stage, stage, 1, 0};
  s.w = zp_synth_workload(synth);
  cr_assert_eq(s.w.open(s.w.ctx, c, where, NULL, &s.inst), 0);
  return s;
}

static void nothing(void *ctx, int32_t param, const void *grad)
{
  (void)param;
  (void)grad;
  ++*(int32_t *)ctx;
}

/* What stage 0 sends for micro-batch 1, in buffers of 64 bytes. */
static zp_message sent(side *first, const zp_config *c, char mem[2][64])
{
  static const zp_message none;
  const zp_mb at = {0, 1, 0};
  zp_message m;
  float loss;
  first->w.shape(first->w.ctx, c, 0, 1, at, &m);
  for (int32_t i = 0; i < m.n; i++) m.t[i].data = mem[i];
  cr_assert_eq(first->w.forward(first->inst, at, 0, &none, &m, &loss), 0);
  return m;
}

Test(synth, activations_are_refused_unless_they_are_the_senders)
{
  static const zp_message none;
  for (int32_t precision = ZP_F32; precision <= ZP_F16; precision++) {
    const zp_config c = config(2, 3, precision);
    zp_synth synth = {coded()};
    const zp_mb at = {0, 1, 0}, other = {0, 0, 0}, later = {1, 1, 0};
    char mem[2][64];
    float loss = -1;
    synth.opt.tuple = synth.opt.vary = 1;
    side first = open_side(&synth, &c, 0), last = open_side(&synth, &c, 1);
    zp_message m = sent(&first, &c, mem), bad;
    cr_assert_eq(m.n, 2);
    cr_assert_eq(last.w.forward(last.inst, at, 0, &m, &none, &loss), 0, "%s",
                 zp_synth_refusal(last.inst));
    cr_assert(loss >= 0 && loss < 8);
    cr_assert_eq(last.w.forward(last.inst, other, 0, &m, &none, &loss), -1);
    cr_assert_eq(last.w.forward(last.inst, later, 0, &m, &none, &loss), -1);
    bad = m;
    bad.n = 1;
    cr_assert_eq(last.w.forward(last.inst, at, 0, &bad, &none, &loss), -1);
    bad = m;
    bad.t[0].dtype = ZP_I64;
    cr_assert_eq(last.w.forward(last.inst, at, 0, &bad, &none, &loss), -1);
    bad = m;
    bad.t[1].dim[0]++;
    cr_assert_eq(last.w.forward(last.inst, at, 0, &bad, &none, &loss), -1);
    mem[0][1] ^= 1;
    cr_assert_eq(last.w.forward(last.inst, at, 0, &m, &none, &loss), -1);
    cr_assert_gt(strlen(zp_synth_refusal(last.inst)), 0);
    first.w.close(first.inst);
    last.w.close(last.inst);
  }
}

typedef struct catch
{
  const zp_config *c;
  float x[6][NUMEL];
}
catch;

static void keep(void *ctx, int32_t param, const void *grad)
{
  catch *k = ctx;
  for (int32_t e = 0; e < NUMEL; e++) {
    uint32_t u = 0;
    if (k->c->precision == ZP_F32) memcpy(&u, (const float *)grad + e, sizeof u);
    else if (k->c->precision == ZP_BF16) u = zp_f32_from_bf16(((const uint16_t *)grad)[e]);
    else u = zp_f32_from_f16(((const uint16_t *)grad)[e]);
    memcpy(&k->x[param][e], &u, sizeof u);
  }
}

/* What backward hands out is zp_synth_value, times the scale, rounded. */
Test(synth, gradients_are_the_formula)
{
  static const zp_message none;
  for (int32_t mode = 0; mode < ZP_SYNTH_MODES; mode++) {
    for (int32_t precision = ZP_F32; precision <= ZP_F16; precision++) {
      static catch got;
      zp_config c = config(2, 3, precision);
      zp_synth synth = {coded()};
      const zp_mb at = {0, 2, 1};
      const zp_place_of where = {0, 1, 1, 1};
      const zp_sink sink = {&got, keep};
      const zp_workload w = zp_synth_workload(&synth);
      float loss;
      void *inst;
      synth.opt.mode = mode;
      got.c = &c;
      cr_assert_eq(w.open(w.ctx, &c, where, NULL, &inst), 0);
      cr_assert_eq(w.forward(inst, at, 0, &none, &none, &loss), 0);
      cr_assert_eq(w.backward(inst, at, 0, &none, &none, sink), 0);
      for (int32_t j = 0; j < 6; j++) {
        const int64_t g = list[j].expert ? 2 : 2 * 2 + 1, use = j < 3 ? 0 : j - 3;
        for (int64_t e = 0; e < NUMEL; e++) {
          const float x =
              zp_synth_value(&synth.opt, &c, 0, j, list[j].sharded, list[j].expert, use * 6 + g, e);
          cr_assert_eq(got.x[j][e], through(precision, x * 2), "mode %d entry %d element %d", mode,
                       j, (int)e);
        }
      }
      w.close(inst);
    }
  }
}

Test(synth, backward_sees_that_its_activation_was_overwritten)
{
  static const zp_message none;
  const zp_config c = config(2, 3, ZP_F32);
  zp_synth synth = {coded()};
  const zp_mb at = {0, 1, 0};
  char mem[2][64], back[64];
  float loss;
  int32_t arrived = 0;
  const zp_sink sink = {&arrived, nothing};
  side first = open_side(&synth, &c, 0), last = open_side(&synth, &c, 1);
  zp_message m = sent(&first, &c, mem), din = m;
  din.t[0].data = back;
  cr_assert_eq(last.w.forward(last.inst, at, 0, &m, &none, &loss), 0);
  cr_assert_eq(last.w.backward(last.inst, at, 0, &none, &din, sink), 0);
  cr_assert_eq(arrived, 1);
  cr_assert_eq(first.w.backward(first.inst, at, 0, &din, &none, sink), 0);
  cr_assert_eq(arrived, 6);
  mem[0][0] ^= 64;
  cr_assert_eq(last.w.backward(last.inst, at, 0, &none, &din, sink), -1);
  cr_assert_eq(arrived, 6);
  first.w.close(first.inst);
  last.w.close(last.inst);
}
