/* Laws of ref/num/optim.h. Each fp32 operation is redone in fp64 and rounded: for + - * / sqrt that
 * is the correctly rounded fp32 result (53 >= 2 * 24 + 2), whatever the compiler does to floats. */
#include <criterion/criterion.h>

#include "../../../ref/num/optim.h"
#include "test_num_patterns.h"

enum { N = 137 };

static double r32(double x)
{
  volatile float f = (float)x;
  return (double)f;
}

typedef struct element {
  double w, m, v;
} element;

static void adamw(element *e, const zp_optim *o, double pow1, double pow2, double clip, int log2,
                  double g)
{
  g = r32(g * ldexp(1, -log2));
  g = r32(g * clip);
  double w = r32(e->w * r32(1 - o->lr * o->weight_decay));
  e->m = r32(r32(r32(o->beta1) * e->m) + r32(r32(1 - o->beta1) * g));
  e->v = r32(r32(r32(o->beta2) * e->v) + r32(r32(1 - o->beta2) * r32(g * g)));
  double d = r32(r32(r32(sqrt(e->v)) / r32(sqrt(1 - pow2))) + r32(o->eps));
  e->w = r32(w - r32(r32(o->lr / (1 - pow1)) * r32(e->m / d)));
}

static void sgd(element *e, const zp_optim *o, double clip, int log2, double g)
{
  g = r32(r32(g * ldexp(1, -log2)) * clip);
  double w = r32(e->w * r32(1 - o->lr * o->weight_decay));
  if (o->momentum != 0) {
    e->m = r32(r32(r32(o->momentum) * e->m) + g);
    g = e->m;
  }
  e->w = r32(w - r32(r32(o->lr) * g));
}

static float gauss_like(rng *r, double size)
{
  double a = 0;
  for (int k = 0; k < 4; k++) a += (double)rng_u32(r) / 4294967296.0 - 0.5;
  return (float)(a * size);
}

typedef struct shard {
  float w[N], m[N], v[N];
} shard;

static void fresh(rng *r, shard *s)
{
  memset(s, 0, sizeof *s);
  for (int i = 0; i < N; i++) s->w[i] = gauss_like(r, 1);
}

static const zp_optim adam = {ZP_OPTIM_ADAMW, 3e-4, 0.9, 0.95, 1e-8, 0.1, 0};

/* spec: OPT-3, OPT-4 */
Test(num_optim, adamw_is_the_table_operation_by_operation)
{
  rng r = {50};
  for (int round = 0; round < 40; round++) {
    zp_optim o = adam;
    o.weight_decay = round % 3 ? 0.1 : 0;
    o.lr = ldexp(1e-3, -(round % 9));
    int log2 = (int)rng_below(&r, 40) - 8;
    shard s;
    fresh(&r, &s);
    element e[N];
    for (int i = 0; i < N; i++) e[i] = (element){(double)s.w[i], 0, 0};
    zp_optim_state st;
    zp_optim_state_init(&st);
    double pow1 = 1, pow2 = 1;
    for (int t = 0; t < 12; t++) {
      float g[N], clip = t % 2 ? 1.0f : (float)rng_below(&r, 1000) / 1001.0f;
      for (int i = 0; i < N; i++) g[i] = gauss_like(&r, ldexp(i % 11 ? 1e-2 : 1e-18, log2));
      zp_optim_tick(&st, &o);
      pow1 *= o.beta1;
      pow2 *= o.beta2;
      zp_optim_step(&o, &st, clip, log2, N, g, s.w, s.m, s.v);
      for (int i = 0; i < N; i++) {
        adamw(&e[i], &o, pow1, pow2, (double)clip, log2, (double)g[i]);
        cr_assert_eq((double)s.w[i], e[i].w, "round %d step %d element %d", round, t, i);
        cr_assert_eq((double)s.m[i], e[i].m);
        cr_assert_eq((double)s.v[i], e[i].v);
      }
    }
    cr_assert_eq(st.t, 12);
  }
}

/* spec: OPT-3, OPT-4 */
Test(num_optim, sgd_is_the_table_operation_by_operation)
{
  rng r = {51};
  for (int round = 0; round < 40; round++) {
    zp_optim o = {ZP_OPTIM_SGD, 0.05, 0, 0, 0, round % 3 ? 0.01 : 0, round % 2 ? 0.9 : 0};
    shard s;
    fresh(&r, &s);
    element e[N];
    for (int i = 0; i < N; i++) e[i] = (element){(double)s.w[i], 0, 0};
    zp_optim_state st;
    zp_optim_state_init(&st);
    for (int t = 0; t < 8; t++) {
      float g[N], clip = t % 2 ? 1.0f : 0.37f;
      for (int i = 0; i < N; i++) g[i] = gauss_like(&r, 30);
      zp_optim_tick(&st, &o);
      zp_optim_step(&o, &st, clip, 5, N, g, s.w, o.momentum != 0 ? s.m : 0, 0);
      for (int i = 0; i < N; i++) {
        sgd(&e[i], &o, (double)clip, 5, (double)g[i]);
        cr_assert_eq((double)s.w[i], e[i].w, "round %d step %d element %d", round, t, i);
        cr_assert_eq((double)s.m[i], e[i].m);
      }
    }
  }
}

Test(num_optim, sgd_without_momentum_leaves_the_buffers_alone)
{
  rng r = {52};
  zp_optim o = {ZP_OPTIM_SGD, 0.05, 0, 0, 0, 0, 0};
  zp_optim_state st;
  zp_optim_state_init(&st);
  zp_optim_tick(&st, &o);
  shard s;
  fresh(&r, &s);
  for (int i = 0; i < N; i++) s.m[i] = s.v[i] = NAN;
  float g[N] = {0};
  zp_optim_step(&o, &st, 1, 0, N, g, s.w, s.m, s.v);
  for (int i = 0; i < N; i++) cr_assert(isnan(s.m[i]) && isnan(s.v[i]) && !isnan(s.w[i]));
}

Test(num_optim, every_cut_into_shards_gives_the_same_bits)
{
  rng r = {53};
  for (int kind = 0; kind < 2; kind++) {
    zp_optim o = adam;
    o.kind = kind;
    o.momentum = 0.9;
    shard whole, cut;
    fresh(&r, &whole);
    cut = whole;
    zp_optim_state st;
    zp_optim_state_init(&st);
    for (int t = 0; t < 10; t++) {
      float g[N];
      for (int i = 0; i < N; i++) g[i] = gauss_like(&r, 1);
      zp_optim_tick(&st, &o);
      zp_optim_step(&o, &st, 0.5f, 3, N, g, whole.w, whole.m, whole.v);
      for (int at = 0; at < N;) {
        int n = 1 + (int)rng_below(&r, N - at);
        zp_optim_step(&o, &st, 0.5f, 3, n, g + at, cut.w + at, cut.m + at, cut.v + at);
        at += n;
      }
      cr_assert_eq(memcmp(&whole, &cut, sizeof whole), 0, "kind %d step %d", kind, t);
    }
  }
}

Test(num_optim, the_loss_scale_cancels_exactly)
{
  rng r = {54};
  for (int log2 = -60; log2 <= 60; log2 += 7) {
    shard a, b;
    fresh(&r, &a);
    b = a;
    zp_optim_state st;
    zp_optim_state_init(&st);
    for (int t = 0; t < 5; t++) {
      float g[N], scaled[N];
      for (int i = 0; i < N; i++) {
        g[i] = gauss_like(&r, 1);
        scaled[i] = ldexpf(g[i], log2);
      }
      zp_optim_tick(&st, &adam);
      zp_optim_step(&adam, &st, 1, 0, N, g, a.w, a.m, a.v);
      zp_optim_step(&adam, &st, 1, log2, N, scaled, b.w, b.m, b.v);
    }
    cr_assert_eq(memcmp(&a, &b, sizeof a), 0, "2^%d", log2);
  }
}

Test(num_optim, extreme_scales_are_reciprocal_powers)
{
  zp_optim o = {ZP_OPTIM_SGD, 1, 0, 0, 0, 0, 0};
  zp_optim_state st;
  zp_optim_state_init(&st);
  for (int log2 = -126; log2 <= 126; log2++) {
    float g = ldexpf(1, log2), w = 0;
    zp_optim_step(&o, &st, 1, log2, 1, &g, &w, 0, 0);
    cr_assert_eq(w, -1.0f, "2^%d", log2);
  }
}

/* spec: OPT-1 */
Test(num_optim, products_of_beta_are_one_multiplication_a_step)
{
  zp_optim_state st;
  zp_optim_state_init(&st);
  cr_assert(st.beta1_pow == 1 && st.beta2_pow == 1 && st.t == 0);
  double p1 = 1, p2 = 1;
  for (int t = 1; t <= 3000; t++) {
    zp_optim_tick(&st, &adam);
    p1 *= 0.9;
    p2 *= 0.95;
    cr_assert(st.beta1_pow == p1 && st.beta2_pow == p2 && st.t == t);
  }
}

/* spec: OPT-2 */
Test(num_optim, clipping_is_the_smaller_of_one_and_the_quotient)
{
  cr_assert_eq(zp_clip_factor(10, 1, 1e-6), 1 / (10 + 1e-6));
  cr_assert_eq(zp_clip_factor(0.5, 1, 1e-6), 1.0);
  cr_assert_eq(zp_clip_factor(1, 1, 0), 1.0);
  cr_assert_eq(zp_clip_factor(0, 1, 1e-6), 1.0);
  cr_assert_eq(zp_clip_factor(0, 1, 0), 1.0);
  cr_assert_eq(zp_clip_factor(1e30, 0, 1e-6), 1.0);
  cr_assert_eq(zp_clip_factor(1e30, -1, 1e-6), 1.0);
  cr_assert_eq(zp_clip_factor(4, 2, 0), 0.5);
}

/* spec: OPT-4 */
Test(num_optim, adamw_tracks_the_same_recurrence_in_fp64)
{
  rng r = {55};
  shard s;
  fresh(&r, &s);
  double w[N], m[N] = {0}, v[N] = {0};
  for (int i = 0; i < N; i++) w[i] = (double)s.w[i];
  zp_optim_state st;
  zp_optim_state_init(&st);
  for (int t = 1; t <= 100; t++) {
    float g[N];
    for (int i = 0; i < N; i++) g[i] = gauss_like(&r, 1);
    zp_optim_tick(&st, &adam);
    zp_optim_step(&adam, &st, 1, 0, N, g, s.w, s.m, s.v);
    for (int i = 0; i < N; i++) {
      m[i] = 0.9 * m[i] + 0.1 * (double)g[i];
      v[i] = 0.95 * v[i] + 0.05 * (double)g[i] * (double)g[i];
      double step = (m[i] / (1 - pow(0.9, t))) / (sqrt(v[i] / (1 - pow(0.95, t))) + 1e-8);
      w[i] = w[i] * (1 - 3e-4 * 0.1) - 3e-4 * step;
    }
  }
  /* 100 steps, each with under 4 roundings of a weight below 2, half a unit of 2^-23 */
  for (int i = 0; i < N; i++) cr_assert_lt(fabs((double)s.w[i] - w[i]), 400 * ldexp(1, -24));
}
