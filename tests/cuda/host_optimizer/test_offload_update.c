/* The update on the host has the bits of zp_ordered_mean_f32, zp_optim_step and the conversions of
 * ref/num, for every vector instruction set, length, alignment and number of threads. */
#include <criterion/criterion.h>
#include <fenv.h>
#include <stdlib.h>
#include <string.h>
#if defined(__x86_64__)
#include <xmmintrin.h>
#endif

#include "../../../cuda/host_optimizer/update.h"
#include "../../../cuda/verify/same_bits.h"
#include "../../../ref/num/half.h"
#include "../../../ref/num/ordered.h"
#include "../../../ref/num/simd/fast.h"
#include "../../ref/num/test_num_patterns.h"

/* GUARD: elements after the last one, which must not be written. */
enum { N_MAX = 400, GUARD = 24, LEVELS = 3 };

/* A shard before or after the update. out: 4 bytes an element, of which 16-bit types use 2. */
typedef struct shard {
  float g[N_MAX + GUARD], w[N_MAX + GUARD], m[N_MAX + GUARD], v[N_MAX + GUARD];
  uint32_t out[N_MAX + GUARD];
} shard;

/* A step's scalars: as hyperparameters for zp_optim_step, and as zp_kernel_decide computes them. */
typedef struct step {
  zp_optim optim;
  zp_optim_state state;
  float clip;
  int32_t log2;
  int64_t divisor; /* 0: gradients are means */
  zp_group_state group;
} step;

/* The left column of the table in ref/num/optim.h. */
static void make_group(step *s)
{
  const zp_optim *o = &s->optim;
  const float scalar[ZP_STEP_SCALARS] = {(float)ldexp(1, -s->log2),
                                         s->clip,
                                         (float)(1 - o->lr * o->weight_decay),
                                         (float)o->beta1,
                                         (float)(1 - o->beta1),
                                         (float)o->beta2,
                                         (float)(1 - o->beta2),
                                         (float)sqrt(1 - s->state.beta2_pow),
                                         (float)(o->lr / (1 - s->state.beta1_pow)),
                                         (float)o->eps,
                                         (float)o->lr,
                                         (float)o->momentum};
  s->group.optim = s->state;
  s->group.rule = o->kind == ZP_OPTIM_ADAMW ? ZP_RULE_ADAMW
                  : o->momentum != 0        ? ZP_RULE_MOMENTUM
                                            : ZP_RULE_SGD;
  memcpy(s->group.scalar, scalar, sizeof scalar);
}

static step some_step(rng *r, int rule)
{
  step s = {.optim = {.kind = rule == ZP_RULE_ADAMW ? ZP_OPTIM_ADAMW : ZP_OPTIM_SGD}};
  s.optim.lr = ldexp(1 + (double)rng_below(r, 1000) / 1000, -(int)rng_below(r, 14));
  s.optim.beta1 = rng_below(r, 8) ? 0.9 : 0;
  s.optim.beta2 = rng_below(r, 8) ? 0.999 : 0.5;
  s.optim.eps = rng_below(r, 4) ? 1e-8 : 0;
  s.optim.weight_decay = rng_below(r, 2) ? 0.1 : 0;
  s.optim.momentum = rule == ZP_RULE_MOMENTUM ? 0.9 : 0;
  s.clip = rng_below(r, 2) ? 1 : (float)(1 + rng_below(r, 1000)) / 1001;
  s.log2 = (int32_t)rng_below(r, 40) - 8;
  if (rng_below(r, 2)) s.divisor = 1 + rng_below(r, rng_below(r, 4) ? 48 : INT64_C(1) << 40);
  else if (rng_below(r, 2)) s.divisor = INT64_C(1) << rng_below(r, 63);
  zp_optim_state_init(&s.state);
  for (int64_t t = rng_below(r, 5); t >= 0; t--) zp_optim_tick(&s.state, &s.optim);
  make_group(&s);
  return s;
}

/* kind: of all arrays; v is a possible square, except for KIND_UNIFORM and KIND_EDGE. */
static void fill(rng *r, int kind, shard *s)
{
  float *array[4] = {s->g, s->w, s->m, s->v};
  for (int a = 0; a < 4; a++) {
    const uint32_t spot = rng_u32(r);
    for (int i = 0; i < N_MAX + GUARD; i++) {
      const uint32_t u = pattern(r, kind, spot);
      array[a][i] =
          f32_of(a == 3 && kind != KIND_UNIFORM && kind != KIND_EDGE ? u & 0x7fffffff : u);
    }
  }
  memset(s->out, 0xa5, sizeof s->out);
}

static uint32_t rounded(int32_t dtype, float x)
{
  if (dtype == ZP_F32) return bits_of(x);
  return dtype == ZP_BF16 ? zp_bf16_from_f32(bits_of(x)) : zp_f16_from_f32(bits_of(x));
}

/* payloads: 1: the bits of NaNs must be equal, too. NUM-4 */
static void same(uint32_t a, uint32_t b, int32_t dtype, int payloads, const char *what, int64_t i)
{
  if (!payloads && zp_as_compared(dtype, a) == zp_as_compared(dtype, b)) return;
  cr_assert_eq(a, b, "%s, element %ld: %08x, ref has %08x", what, (long)i, a, b);
}

/* The first element in each array, so that the alignments differ. */
typedef struct start {
  int g, w, m, v, out;
} start;

/* The expected elements 0 … n-1, by ref's functions; all after `real` are padding. */
static void expect(const step *k, const shard *before, start at, int64_t real, shard *s)
{
  float mean[N_MAX];
  const float *grad = before->g + at.g;
  if (k->divisor != 0) zp_ordered_mean_f32(mean, grad, k->divisor, real);
  *s = *before;
  zp_optim_step(&k->optim, &k->state, k->clip, k->log2, real, k->divisor != 0 ? mean : grad,
                s->w + at.w, s->m + at.m, s->v + at.v);
}

static void compare_state(const shard *want, const shard *got, const shard *before, int payloads)
{
  for (int i = 0; i < N_MAX + GUARD; i++) {
    same(bits_of(got->w[i]), bits_of(want->w[i]), ZP_F32, payloads, "master", i);
    same(bits_of(got->m[i]), bits_of(want->m[i]), ZP_F32, payloads, "m", i);
    same(bits_of(got->v[i]), bits_of(want->v[i]), ZP_F32, payloads, "v", i);
    cr_assert_eq(bits_of(got->g[i]), bits_of(before->g[i]), "a gradient was written");
  }
}

static void compare(const shard *want, const shard *got, const shard *before, start at, int64_t n,
                    int32_t dtype, int payloads)
{
  const int half = dtype == ZP_F32 ? 0 : 1;
  compare_state(want, got, before, payloads);
  for (int64_t i = -at.out; i < n + 8; i++) {
    uint32_t x = got->out[half ? 0 : i + at.out], was = 0xa5a5a5a5;
    if (half) {
      x = ((const uint16_t *)(const void *)got->out)[i + at.out];
      was = 0xa5a5;
    }
    if (i < 0 || i >= n) cr_assert_eq(x, was, "written outside of `out`, at %ld", (long)i);
    else same(x, rounded(dtype, want->w[i + at.w]), dtype, payloads, "rounded", i);
  }
}

static zp_host_update update_of(const step *k, shard *s, start at, int64_t n, int64_t real,
                                int32_t dtype)
{
  const zp_host_update u = {.group = &k->group,
                            .grad = s->g + at.g,
                            .master = s->w + at.w,
                            .m = s->m + at.m,
                            .v = s->v + at.v,
                            .out = (char *)s->out + at.out * (dtype == ZP_F32 ? 4 : 2),
                            .divisor = k->divisor,
                            .n = n,
                            .real = real,
                            .dtype = dtype};
  return u;
}

/* One case with every vector instruction set. */
static void check(const step *k, const shard *before, start at, int64_t n, int64_t real,
                  int32_t dtype, int payloads)
{
  shard want, got;
  expect(k, before, at, real, &want);
  for (int level = 0; level <= zp_simd_level(); level++) {
    got = *before;
    const zp_host_update u = update_of(k, &got, at, n, real, dtype);
    zp_host_update_level(level, &u);
    compare(&want, &got, before, at, n, dtype, payloads);
  }
  if (k->divisor != 0) return; /* of the reference: gradients are means */
  got = *before;
  zp_host_optim_step(&k->optim, &k->state, k->clip, k->log2, real, got.g + at.g, got.w + at.w,
                     got.m + at.m, got.v + at.v);
  compare_state(&want, &got, before, payloads);
}

static const int32_t dtypes[3] = {ZP_F32, ZP_BF16, ZP_F16};

/* spec: OPT-3, OPT-4, STEP-7, NUM-2 */
Test(offload_update, has_the_bits_of_ref_for_every_length_rule_type_and_kind_of_number)
{
  rng r = {70};
  static shard before;
  for (int n = 0; n <= 70; n++)
    for (int kind = 0; kind < KINDS; kind++) {
      fill(&r, kind, &before);
      for (int rule = ZP_RULE_SGD; rule <= ZP_RULE_ADAMW; rule++) {
        const step k = some_step(&r, rule);
        const start at = {(int)rng_below(&r, 9), (int)rng_below(&r, 9), (int)rng_below(&r, 9),
                          (int)rng_below(&r, 9), (int)rng_below(&r, 9)};
        const int64_t real = rng_below(&r, 3) ? n : rng_below(&r, n + 1);
        check(&k, &before, at, n, real, dtypes[rng_below(&r, 3)], 0);
      }
    }
}

/* spec: OPT-3, NUM-2 */
Test(offload_update, has_the_bits_of_ref_on_random_bits)
{
  rng r = {71};
  static shard before;
  for (int round = 0; round < 600; round++) {
    const start at = {round % 5, round % 7, round % 3, round % 2, round % 4};
    const step k = some_step(&r, round % 4 ? ZP_RULE_ADAMW : (int)rng_below(&r, 2));
    fill(&r, round % 2 ? KIND_UNIFORM : (int)rng_below(&r, KINDS), &before);
    check(&k, &before, at, 300 + round % 90, 300, dtypes[round % 3], 0);
  }
}

/* Sums whose quotients by about 2^log2 are subnormal numbers, the half-way cases between two of
 * them and their neighbours, below the least subnormal number, normal, zero, or not finite. */
static void fill_quotients(rng *r, int log2, shard *s)
{
  fill(r, KIND_NORMAL, s);
  for (int i = 0; i < N_MAX + GUARD; i++) {
    const double half_units = (double)(rng_below(r, 64) + 1) * (i % 2 ? 1 : 0x1p18);
    const float sum = (float)ldexp(half_units, log2 - 150);
    const uint32_t near = bits_of(sum) + (i % 6 == 4) - (i % 6 == 2 && sum != 0);
    s->g[i] = f32_of(i % 31 == 0   ? 0x7f800000
                     : i % 37 == 0 ? 0
                                   : (near | (rng_u32(r) & 0x80000000)));
  }
}

/* Where a multiplication replaces the division (D·M is a power of two), and beside it, where it
 * must not. Without momentum and decay, masters of zero show each bit of the means. spec: RED-4 */
Test(offload_update, a_mean_is_rounded_once_whether_or_not_its_divisor_is_a_power_of_two)
{
  rng r = {77};
  static shard before;
  const start at = {1, 0, 2, 3, 0};
  for (int log2 = 0; log2 <= 62; log2++)
    for (int64_t away = -1; away <= 1; away++)
      for (int rule = ZP_RULE_SGD; rule <= ZP_RULE_ADAMW; rule++) {
        step k = some_step(&r, rule);
        k.divisor = (INT64_C(1) << log2) + away;
        k.log2 = (int32_t)rng_below(&r, 3) - 1;
        if (rule != ZP_RULE_ADAMW) {
          k.optim.lr = 1;
          k.optim.weight_decay = 0;
        }
        make_group(&k);
        fill_quotients(&r, log2, &before);
        if (rule != ZP_RULE_ADAMW) memset(before.w, 0, sizeof before.w);
        check(&k, &before, at, 150, 150, ZP_F32, 0);
      }
}

/* One NaN among finite numbers: its payload is ref's, also after rounding. spec: OPT-3, NUM-2 */
Test(offload_update, one_nan_keeps_the_payload_that_it_has_in_ref)
{
  rng r = {72};
  static shard before;
  for (int round = 0; round < 200; round++) {
    const start at = {0, 1, 2, 3, 0};
    step k = some_step(&r, round % 3);
    float *array[4] = {before.g, before.w, before.m, before.v};
    k.optim.eps = 1e-8;
    make_group(&k);
    fill(&r, KIND_NORMAL, &before);
    for (int i = 0; i < N_MAX + GUARD; i++)
      for (int a = 0; a < 4; a++) array[a][i] = (float)(i % 7 + 1) / 8;
    for (int i = 0; i < N_MAX; i += 3)
      array[i / 3 % 4][i] = f32_of(rng_u32(&r) | 0x7f800001u | (uint32_t)(i % 2) << 31);
    check(&k, &before, at, 200, 200, dtypes[round % 3], 1);
  }
}

/* Every third element is half-way between two numbers of a 16-bit type. */
static void put_ties(shard *s, int32_t dtype)
{
  const uint32_t unit = dtype == ZP_BF16 ? 0x10000 : 0x2000;
  for (int i = 0; i < N_MAX; i += 3) s->w[i] = f32_of(bits_of(s->w[i]) / unit * unit + unit / 2);
}

/* A skipped step, and padding, are only rounded. spec: STEP-6, NUM-2 */
Test(offload_update, a_skipped_step_only_rounds)
{
  rng r = {73};
  static shard before;
  for (int round = 0; round < 100; round++) {
    const start at = {0, round % 8, 0, 0, round % 3};
    const step k = some_step(&r, round % 3);
    fill(&r, round % KINDS, &before);
    if (round % 2) put_ties(&before, dtypes[round % 3]);
    check(&k, &before, at, 64 + round % 65, 0, dtypes[round % 3], 1);
  }
}

/* spec: STEP-7 */
Test(offload_update, nothing_is_rounded_without_an_output)
{
  rng r = {74};
  static shard before, want, got;
  const start at = {0, 0, 0, 0, 0};
  fill(&r, KIND_WIDE, &before);
  for (int level = 0; level <= zp_simd_level(); level++)
    for (int64_t real = 0; real <= 130; real += 65) {
      const step k = some_step(&r, ZP_RULE_ADAMW);
      zp_host_update u = update_of(&k, &got, at, 130, real, ZP_F32);
      got = before;
      u.out = NULL;
      expect(&k, &before, at, real, &want);
      zp_host_update_level(level, &u);
      compare(&want, &got, &before, at, 0, ZP_F32, 0);
    }
}

/* The update does not use the floating-point modes of the process, and restores them. spec:
 * OPT-3 */
Test(offload_update, flushing_modes_and_rounding_modes_change_nothing)
{
  rng r = {75};
  static shard before, want[LEVELS], got;
  const int modes[] = {FE_TONEAREST, FE_UPWARD, FE_TOWARDZERO};
  for (int round = 0; round < 60; round++) {
    const start at = {1, 0, 3, 2, 0};
    const step k = some_step(&r, round % 3);
    fill(&r, round % 2 ? KIND_SUBNORMAL : KIND_WIDE, &before);
    expect(&k, &before, at, 200, &want[0]);
    for (int level = 0; level <= zp_simd_level(); level++) {
      const zp_host_update u = update_of(&k, &got, at, 200, 200, ZP_BF16);
      got = before;
      fesetround(modes[round % 3]);
#if defined(__x86_64__)
      const unsigned int control = _mm_getcsr();
      _mm_setcsr(control | 0x8040); /* flush to zero, denormals are zero */
#endif
      zp_host_update_level(level, &u);
#if defined(__x86_64__)
      const unsigned int after = _mm_getcsr();
      _mm_setcsr(control);
      cr_assert_eq(after, control | 0x8040);
#endif
      cr_assert_eq(fegetround(), modes[round % 3]);
      fesetround(FE_TONEAREST);
      compare(&want[0], &got, &before, at, 200, ZP_BF16, 0);
    }
  }
}

/* ---- Threads --------------------------------------------------------------------------------- */

typedef struct large {
  float *g, *w, *m, *v;
  uint16_t *out;
} large;

static large large_make(rng *r, int64_t n)
{
  large l = {malloc((size_t)n * 4), malloc((size_t)n * 4), malloc((size_t)n * 4),
             malloc((size_t)n * 4), malloc((size_t)n * 2)};
  for (int64_t i = 0; i < n; i++) {
    l.g[i] = f32_of(pattern(r, KIND_WIDE, 0));
    l.w[i] = f32_of(pattern(r, KIND_NORMAL, 120));
    l.m[i] = f32_of(pattern(r, KIND_NORMAL, 100));
    l.v[i] = f32_of(pattern(r, KIND_NORMAL, 80) & 0x7fffffff);
  }
  return l;
}

static void large_free(large *l)
{
  free(l->g);
  free(l->w);
  free(l->m);
  free(l->v);
  free(l->out);
}

/* spec: OPT-3, STEP-7 */
Test(offload_update, any_number_of_threads_gives_the_same_bits)
{
  const int64_t sizes[] = {32767, 32768, 32769, 300001, 1000003};
  const int threads[] = {0, 1, 2, 3, 7, 64};
  for (int s = 0; s < 5; s++) {
    const int64_t n = sizes[s], real = n - 5;
    rng seed = {76}, r = {76};
    large want = large_make(&seed, n);
    const step k = some_step(&r, ZP_RULE_ADAMW);
    float *mean = malloc((size_t)n * sizeof *mean);
    zp_ordered_mean_f32(mean, want.g, 6, real);
    zp_optim_step(&k.optim, &k.state, k.clip, k.log2, real, mean, want.w, want.m, want.v);
    free(mean);
    for (int t = 0; t < 6; t++) {
      seed.at = 76;
      large got = large_make(&seed, n);
      const zp_host_update u = {&k.group, got.g, got.w, got.m, got.v, got.out, 6, n, real, ZP_BF16};
      zp_host_update_run(&u, threads[t]);
      cr_assert_eq(memcmp(got.w, want.w, (size_t)n * 4), 0, "n %ld", (long)n);
      cr_assert_eq(memcmp(got.m, want.m, (size_t)n * 4), 0);
      cr_assert_eq(memcmp(got.v, want.v, (size_t)n * 4), 0);
      for (int64_t i = 0; i < n; i++)
        cr_assert_eq(got.out[i], zp_bf16_from_f32(bits_of(want.w[i])));
      large_free(&got);
    }
    large_free(&want);
  }
}
