/* The fast sums of squares leave the same limbs and counts as the plain ones, bit for bit. */
#include <criterion/criterion.h>
#include <fenv.h>
#include <stdlib.h>
#if defined(__x86_64__)
#include <xmmintrin.h>
#endif

#include "../../../ref/num/simd/fast.h"
#include "test_num_patterns.h"

enum { N_MAX = 300000 };

typedef struct outcome {
  int64_t limb[ZP_SQ_LIMBS], bad;
} outcome;

/* how: -2 threads, -1 plain function, else the ZP_SIMD level */
static outcome sum32(int how, const uint32_t *x, int64_t n)
{
  outcome o;
  zp_sumsq s;
  zp_sumsq_clear(&s);
  if (how == -2) o.bad = zp_sumsq_add_f32_mt(&s, x, n, 3);
  else if (how == -1) o.bad = zp_sumsq_add_f32(&s, x, n);
  else o.bad = zp_sumsq_add_f32_level(how, &s, x, n);
  zp_sumsq_limbs(&s, o.limb);
  return o;
}

static outcome sum16(int how, int bf16, const uint16_t *x, int64_t n)
{
  outcome o;
  zp_sumsq s;
  zp_sumsq_clear(&s);
  if (how == -2 && bf16) o.bad = zp_sumsq_add_bf16_mt(&s, x, n, 3);
  else if (how == -2) o.bad = zp_sumsq_add_f16_mt(&s, x, n, 3);
  else if (how == -1) o.bad = bf16 ? zp_sumsq_add_bf16(&s, x, n) : zp_sumsq_add_f16(&s, x, n);
  else if (bf16) o.bad = zp_sumsq_add_bf16_level(how, &s, x, n);
  else o.bad = zp_sumsq_add_f16_level(how, &s, x, n);
  zp_sumsq_limbs(&s, o.limb);
  return o;
}

static void same(outcome a, outcome b, const char *what, int how, int kind, int64_t n)
{
  cr_assert_eq(a.bad, b.bad, "%s how %d kind %d n %ld: %ld non-finite, plain %ld", what, how, kind,
               (long)n, (long)b.bad, (long)a.bad);
  cr_assert_eq(memcmp(a.limb, b.limb, sizeof a.limb), 0, "%s how %d kind %d n %ld", what, how, kind,
               (long)n);
}

/* every level and type on the first n patterns of x; h is scratch for (n) half patterns */
static void check_all(const uint32_t *x, uint16_t *h, int64_t n, int kind)
{
  outcome plain = sum32(-1, x, n);
  for (int how = -2; how <= zp_simd_level(); how++) {
    if (how != -1) same(plain, sum32(how, x, n), "f32", how, kind, n);
  }
  for (int bf16 = 0; bf16 < 2; bf16++) {
    for (int64_t i = 0; i < n; i++) h[i] = (uint16_t)(bf16 ? x[i] >> 16 : x[i] >> 13);
    plain = sum16(-1, bf16, h, n);
    for (int how = -2; how <= zp_simd_level(); how++) {
      if (how != -1) same(plain, sum16(how, bf16, h, n), bf16 ? "bf16" : "f16", how, kind, n);
    }
  }
}

Test(num_simd, every_small_size_and_kind_equals_plain)
{
  rng r = {20};
  uint32_t x[208];
  uint16_t h[208];
  for (int n = 0; n <= 200; n++) {
    for (int kind = 0; kind < KINDS; kind++) {
      uint32_t spot = rng_u32(&r);
      int at = (int)rng_below(&r, 8); /* unaligned starts */
      for (int i = 0; i < n + at; i++) x[i] = pattern(&r, kind, spot);
      check_all(x + at, h + at, n, kind);
    }
  }
}

Test(num_simd, large_arrays_of_every_kind_equal_plain)
{
  rng r = {21};
  uint32_t *x = malloc(N_MAX * sizeof *x);
  uint16_t *h = malloc(N_MAX * sizeof *h);
  for (int round = 0; round < 3 * KINDS; round++) {
    int kind = round % KINDS;
    int64_t n = round < KINDS ? N_MAX : rng_below(&r, 20000);
    uint32_t spot = rng_u32(&r);
    for (int64_t i = 0; i < n; i++) x[i] = pattern(&r, kind, spot);
    check_all(x, h, n, kind);
  }
  free(x);
  free(h);
}

Test(num_simd, blocks_that_change_their_window_equal_plain)
{
  rng r = {22};
  uint32_t *x = malloc(N_MAX * sizeof *x);
  uint16_t *h = malloc(N_MAX * sizeof *h);
  for (int round = 0; round < 6; round++) {
    int64_t n = 100000, i = 0;
    while (i < n) { /* runs of another kind, none of a block's length */
      int kind = (int)rng_below(&r, KINDS);
      uint32_t spot = rng_u32(&r);
      for (int64_t end = i + 1 + rng_below(&r, 9000); i < n && i < end; i++) {
        x[i] = pattern(&r, kind, spot);
      }
    }
    check_all(x, h, n, 100 + round);
  }
  free(x);
  free(h);
}

/* The edge of exactness: a block full of the largest of a window's top binade, with elements of
 * odd significand `below` binades under it. */
Test(num_simd, window_edges_are_exact_in_every_rounding_mode)
{
  enum { N = 4096 + 40 };
  static uint32_t x[N];
  static uint16_t h[N];
  int modes[4] = {FE_TONEAREST, FE_UPWARD, FE_DOWNWARD, FE_TOWARDZERO};
  for (int below = 0; below <= 44; below++) {
    for (int top = 1; top <= 254; top += 23) {
      for (int i = 0; i < N; i++) {
        int small = i % 128 < below; /* some lanes get few, some many */
        int e = small ? top - below : top;
        uint32_t fr = small ? (i % 3 ? 0x010001u : 0x7f0001u | (uint32_t)i << 13) : 0x7fffffu;
        x[i] = e < 1 ? fr & 0x7fffffu : (uint32_t)e << 23 | (fr & 0x7fffffu);
      }
      fesetround(modes[(below + top) % 4]);
      outcome got = sum32(ZP_SIMD_AVX512, x, N), got2 = sum32(ZP_SIMD_AVX2, x, N);
      fesetround(FE_TONEAREST);
      same(sum32(-1, x, N), got, "f32", ZP_SIMD_AVX512, below, top);
      same(sum32(-1, x, N), got2, "f32", ZP_SIMD_AVX2, below, top);
      check_all(x, h, N, below);
    }
  }
}

/* No window is worthwhile, because the sampled elements, one in 4, are of any exponent. All others
 * have the largest significand and the top exponent of a class, so that some bins get as many of
 * the largest squares as they can get. */
Test(num_simd, bins_are_emptied_before_they_overflow)
{
  enum { N = 2097152 + 65536 };
  uint32_t *x = malloc(N * sizeof *x);
  uint16_t *h = malloc(N * sizeof *h);
  for (int64_t i = 0; i < N; i++) {
    x[i] = i % 4 == 0 ? (uint32_t)(i / 4 * 37 % 254 + 1) << 23 : 0x77ffffffu;
  }
  check_all(x, h, N, -1);
  free(x);
  free(h);
}

/* Bins belong to pairs of exponents: every exponent occurs at every place of a vector, beside
 * others at several distances, with the largest and with a small significand. */
Test(num_simd, every_exponent_at_every_place_equals_plain)
{
  enum { N = 544 };
  static const int stride[] = {1, 37, 90, 128, 249};
  uint32_t x[N];
  uint16_t h[N];
  for (int first = 0; first < 256; first++) {
    for (int s = 0; s < 5; s++) {
      for (int i = 0; i < N; i++) {
        uint32_t e = (uint32_t)(first + stride[s] * i) % 256, fr = i % 3 ? 0x7fffffu : 0x012001u;
        x[i] = (i % 2 ? 0x80000000u : 0) | e << 23 | fr;
      }
      check_all(x, h, N, first);
    }
  }
}

/* The fullest lanes of the integer sums of bf16: all elements have the largest significand and are
 * in the top exponent of one half of a window, whose ends a few elements fix. */
Test(num_simd, halves_of_windows_of_bf16_do_not_overflow)
{
  enum { N = 2 * 4096 + 32, TOP = 13 };
  static uint16_t x[N];
  for (int at = 0; at <= TOP; at++) {
    for (int low = 1; low + TOP <= 254; low += 11) {
      for (int i = 0; i < N; i++) {
        int e = i % 1024 == 0   ? low
                : i % 1024 == 4 ? low + TOP
                                : low + at; /* every 4th is sampled */
        x[i] = (uint16_t)(e << 7 | 0x7f);
      }
      for (int how = 1; how <= zp_simd_level(); how++) {
        same(sum16(-1, 1, x, N), sum16(how, 1, x, N), "bf16", how, at, low);
      }
    }
  }
}

/* Elements outside of a window, from none to all: the ways through a block change with their share.
 */
Test(num_simd, any_share_of_outliers_equals_plain)
{
  rng r = {25};
  uint32_t *x = malloc(N_MAX * sizeof *x);
  uint16_t *h = malloc(N_MAX * sizeof *h);
  for (int share = 0; share <= 32; share++) {
    int64_t n = 40000 + rng_below(&r, 100);
    for (int64_t i = 0; i < n; i++) {
      x[i] = pattern(&r, rng_below(&r, 32) < share ? KIND_WIDE : KIND_NORMAL, 110);
      if (share % 3 == 1 && rng_below(&r, 2) == 0) x[i] = 0;
    }
    check_all(x, h, n, share);
  }
  free(x);
  free(h);
}

#if defined(__x86_64__)
/* What many training programs switch on. */
Test(num_simd, subnormals_count_even_if_the_cpu_takes_them_for_zero)
{
  rng r = {26};
  enum { N = 20000 };
  static uint32_t x[N];
  static uint16_t h[N];
  for (int kind = 0; kind < KINDS; kind++) {
    for (int i = 0; i < N; i++) x[i] = pattern(&r, i % 3 ? kind : KIND_SUBNORMAL, 1);
    unsigned mode = _mm_getcsr();
    _mm_setcsr(mode | 0x8040u); /* flush to zero, subnormals are zero */
    check_all(x, h, N, kind);
    _mm_setcsr(mode);
  }
}
#endif

Test(num_simd, adding_to_a_sum_in_use_equals_plain)
{
  rng r = {23};
  enum { N = 20000 };
  static uint32_t x[N];
  for (int round = 0; round < 20; round++) {
    zp_sumsq a, b;
    int64_t la[ZP_SQ_LIMBS], lb[ZP_SQ_LIMBS];
    zp_sumsq_clear(&a);
    zp_sumsq_clear(&b);
    for (int part = 0; part < 5; part++) {
      int64_t n = rng_below(&r, N);
      for (int64_t i = 0; i < n; i++) x[i] = pattern(&r, (part + round) % KINDS, (uint32_t)round);
      int64_t bad = zp_sumsq_add_f32(&a, x, n);
      cr_assert_eq(part % 2 ? zp_sumsq_add_f32(&b, x, n) : zp_sumsq_add_f32_fast(&b, x, n), bad);
    }
    zp_sumsq_limbs(&a, la);
    zp_sumsq_limbs(&b, lb);
    cr_assert_eq(memcmp(la, lb, sizeof la), 0);
  }
}

Test(num_simd, threads_of_every_number_equal_plain)
{
  rng r = {24};
  enum { N = 1000003 };
  uint32_t *x = malloc(N * sizeof *x);
  for (int64_t i = 0; i < N; i++) x[i] = pattern(&r, i < N / 2 ? KIND_NORMAL : KIND_WIDE, 90);
  outcome plain = sum32(-1, x, N);
  for (int threads = -1; threads <= 70; threads += threads < 9 ? 1 : 20) {
    outcome o;
    zp_sumsq s;
    zp_sumsq_clear(&s);
    o.bad = zp_sumsq_add_f32_mt(&s, x, N, threads);
    zp_sumsq_limbs(&s, o.limb);
    same(plain, o, "mt", threads, 0, N);
  }
  free(x);
}

/* Cuts x into random pieces, many of them empty or short, in any order. */
static int64_t cut(rng *r, const char *x, int size, int64_t n, const void **at, int64_t *len)
{
  int64_t pieces = 0;
  for (int64_t from = 0; from < n; pieces++) {
    static const int64_t most[] = {1, 40, 5000, 150000};
    int64_t piece = rng_below(r, most[rng_below(r, 4)]);
    if (piece > n - from) piece = n - from;
    at[pieces] = piece ? x + size * from : 0;
    len[pieces] = piece;
    from += piece;
  }
  for (int64_t i = pieces - 1; i > 0; i--) {
    int64_t j = rng_below(r, i + 1), n_i = len[i];
    const void *x_i = at[i];
    at[i] = at[j], len[i] = len[j];
    at[j] = x_i, len[j] = n_i;
  }
  return pieces;
}

Test(num_simd, lists_of_arrays_equal_one_array)
{
  enum { N = 700001, PIECES = 1000000 };
  rng r = {25};
  uint32_t *x = malloc(N * sizeof *x);
  uint16_t *h = malloc(N * sizeof *h);
  const void **at = malloc(PIECES * sizeof *at);
  int64_t *len = malloc(PIECES * sizeof *len);
  for (int64_t i = 0; i < N; i++) {
    x[i] = pattern(&r, i < N / 2 ? KIND_NORMAL : KIND_WIDE, 90);
    h[i] = (uint16_t)(x[i] >> 16);
  }
  outcome plain[] = {sum32(-1, x, N), sum16(-1, 1, h, N), sum16(-1, 0, h, N)};
  for (int threads = 0; threads <= 5; threads++) {
    for (int type = 0; type < 3; type++) {
      outcome o;
      zp_sumsq s;
      zp_sumsq_clear(&s);
      int64_t n = cut(&r, type ? (char *)h : (char *)x, type ? 2 : 4, N, at, len);
      o.bad = type == 0   ? zp_sumsq_add_f32_list(&s, at, len, n, threads)
              : type == 1 ? zp_sumsq_add_bf16_list(&s, at, len, n, threads)
                          : zp_sumsq_add_f16_list(&s, at, len, n, threads);
      zp_sumsq_limbs(&s, o.limb);
      same(plain[type], o, "list", threads, type, n);
    }
  }
  free(x), free(h), free(at), free(len);
}
