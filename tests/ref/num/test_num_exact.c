/* Laws of ref/num/exact.h, against GMP integers, and of ref/num/nonfinite.h. */
#include <criterion/criterion.h>
#include <gmp.h>
#include <stdlib.h>

#include "../../../ref/num/exact.h"
#include "../../../ref/num/half.h"
#include "../../../ref/num/nonfinite.h"
#include "test_num_patterns.h"

/* adds the square of u, in units of 2^-298, to sum; returns 1 if u is non-finite */
static int64_t add_square_gmp(mpz_t sum, uint32_t u)
{
  double x = (double)f32_of(u);
  if (!isfinite(x)) return 1;
  int e;
  double m = frexp(fabs(x), &e); /* x = m * 2^e; m * 2^24 is an integer unless x is subnormal */
  mpz_t t;
  mpz_init_set_d(t, ldexp(m, 149 + e > 24 ? 24 : 149 + e));
  if (149 + e > 24) mpz_mul_2exp(t, t, (mp_bitcnt_t)(149 + e - 24));
  mpz_addmul(sum, t, t);
  mpz_clear(t);
  return 0;
}

static void limbs_to_mpz(mpz_t z, const int64_t *limb, int n)
{
  mpz_set_ui(z, 0);
  for (int i = n - 1; i >= 0; i--) {
    mpz_mul_2exp(z, z, 32);
    if (limb[i] >= 0) mpz_add_ui(z, z, (unsigned long)limb[i]);
    else mpz_sub_ui(z, z, -(unsigned long)limb[i]);
  }
}

static void assert_canonical(const int64_t *limb)
{
  for (int i = 0; i < ZP_SQ_LIMBS; i++) {
    cr_assert(limb[i] >= 0 && limb[i] < 4294967296, "limb %d", i);
  }
}

static void fill(rng *r, int kind, uint32_t *x, int n)
{
  uint32_t spot = rng_u32(r);
  for (int i = 0; i < n; i++) x[i] = pattern(r, kind, spot);
}

/* spec: SUM-1, SUM-3, NUM-3 */
Test(num_exact, sum_of_squares_equals_the_integer_sum)
{
  rng r = {2};
  uint32_t x[700];
  for (int round = 0; round < 60 * KINDS; round++) {
    int n = (int)rng_below(&r, 700);
    fill(&r, round % KINDS, x, n);
    mpz_t want, got;
    mpz_inits(want, got, NULL);
    int64_t bad = 0;
    for (int i = 0; i < n; i++) bad += add_square_gmp(want, x[i]);
    zp_sumsq s;
    zp_sumsq_clear(&s);
    cr_assert_eq(zp_sumsq_add_f32(&s, x, n), bad);
    cr_assert_eq(zp_nonfinite_f32(x, n), bad);
    int64_t limb[ZP_SQ_LIMBS];
    zp_sumsq_limbs(&s, limb);
    limbs_to_mpz(got, limb, ZP_SQ_LIMBS);
    cr_assert_eq(mpz_cmp(got, want), 0, "kind %d, n %d", round % KINDS, n);
    assert_canonical(limb);
    mpz_clears(want, got, NULL);
  }
}

/* spec: SUM-1, NUM-3 */
Test(num_exact, every_single_element_is_squared_exactly)
{
  rng r = {3};
  for (int i = 0; i < 3000; i++) {
    uint32_t u = ((uint32_t)(i % 255) << 23) | (rng_u32(&r) & 0x807fffffu);
    if (i < EDGES_F32) u = edge_f32[i];
    mpz_t want, got;
    mpz_inits(want, got, NULL);
    int64_t bad = add_square_gmp(want, u), limb[ZP_SQ_LIMBS];
    zp_sumsq s;
    zp_sumsq_clear(&s);
    cr_assert_eq(zp_sumsq_add_f32(&s, &u, 1), bad, "%08x", u);
    zp_sumsq_limbs(&s, limb);
    limbs_to_mpz(got, limb, ZP_SQ_LIMBS);
    cr_assert_eq(mpz_cmp(got, want), 0, "%08x", u);
    mpz_clears(want, got, NULL);
  }
}

/* spec: SUM-4 */
Test(num_exact, order_and_split_do_not_matter)
{
  rng r = {4};
  enum { N = 500, PARTS = 7 };
  uint32_t x[N];
  for (int round = 0; round < 200; round++) {
    fill(&r, round % KINDS, x, N);
    int64_t whole[ZP_SQ_LIMBS], parts[ZP_SQ_LIMBS] = {0}, one[ZP_SQ_LIMBS];
    zp_sumsq s;
    zp_sumsq_clear(&s);
    int64_t bad = zp_sumsq_add_f32(&s, x, N);
    zp_sumsq_limbs(&s, whole);
    for (int i = N - 1; i > 0; i--) { /* shuffle */
      int j = (int)rng_below(&r, i + 1);
      uint32_t t = x[i];
      x[i] = x[j];
      x[j] = t;
    }
    int at = 0;
    for (int p = 0; p < PARTS; p++) {
      int n = p == PARTS - 1 ? N - at : (int)rng_below(&r, N - at + 1);
      zp_sumsq_clear(&s);
      bad -= zp_sumsq_add_f32(&s, x + at, n / 2);
      zp_sumsq_limbs(&s, one); /* a flush in the middle changes nothing */
      bad -= zp_sumsq_add_f32(&s, x + at + n / 2, n - n / 2);
      zp_sumsq_limbs(&s, one);
      zp_limbs_merge(parts, one, ZP_SQ_LIMBS);
      at += n;
    }
    zp_limbs_normalise(parts, ZP_SQ_LIMBS);
    cr_assert_eq(bad, 0);
    cr_assert_eq(memcmp(whole, parts, sizeof whole), 0);
  }
}

/* spec: SUM-1, NUM-3 */
Test(num_exact, half_types_sum_like_their_fp32_values)
{
  enum { N = 65536 };
  uint16_t *h = malloc(N * sizeof *h);
  uint32_t *b = malloc(N * sizeof *b), *f = malloc(N * sizeof *f);
  for (uint32_t i = 0; i < N; i++) {
    h[i] = (uint16_t)(i * 40503u); /* every pattern once, mixed */
    b[i] = zp_f32_from_bf16(h[i]);
    f[i] = zp_f32_from_f16(h[i]);
  }
  int64_t want[ZP_SQ_LIMBS], got[ZP_SQ_LIMBS];
  zp_sumsq s;
  zp_sumsq_clear(&s);
  cr_assert_eq(zp_sumsq_add_f32(&s, b, N), 2 * 128);
  zp_sumsq_limbs(&s, want);
  zp_sumsq_clear(&s);
  cr_assert_eq(zp_sumsq_add_bf16(&s, h, N), 2 * 128);
  cr_assert_eq(zp_nonfinite_bf16(h, N), 2 * 128);
  zp_sumsq_limbs(&s, got);
  cr_assert_eq(memcmp(want, got, sizeof want), 0);
  zp_sumsq_clear(&s);
  cr_assert_eq(zp_sumsq_add_f32(&s, f, N), 2 * 1024);
  zp_sumsq_limbs(&s, want);
  zp_sumsq_clear(&s);
  cr_assert_eq(zp_sumsq_add_f16(&s, h, N), 2 * 1024);
  cr_assert_eq(zp_nonfinite_f16(h, N), 2 * 1024);
  zp_sumsq_limbs(&s, got);
  cr_assert_eq(memcmp(want, got, sizeof want), 0);
  free(h);
  free(b);
  free(f);
}

/* spec: SUM-2 */
Test(num_exact, full_bins_are_carried_before_they_overflow)
{
  /* bins as 2^31 - 1 worst elements of every exponent would leave them, then a few more */
  int64_t most = 2147483647LL * 2147483647LL;
  zp_sumsq s;
  zp_sumsq_clear(&s);
  mpz_t want, got, t;
  mpz_inits(want, got, t, NULL);
  for (int q = 0; q < ZP_SQ_BINS; q++) {
    s.lo[q] = most - q;
    s.hi[q] = most - 3 * q;
    mpz_set_si(t, s.hi[q]);
    mpz_mul_2exp(t, t, 31);
    mpz_add_ui(t, t, (unsigned long)s.lo[q]);
    mpz_mul_2exp(t, t, (mp_bitcnt_t)(16 * q));
    mpz_add(want, want, t);
  }
  s.pending = 2147483647;
  for (int i = 0; i < ZP_SQ_LIMBS - 2; i++) s.limb[i] = 4294967295;
  limbs_to_mpz(t, s.limb, ZP_SQ_LIMBS);
  mpz_add(want, want, t);
  uint32_t x[5] = {0x7f7fffff, 0x7f7fffff, 0x00000001, 0x7f7fffff, 0x7effffff};
  for (int i = 0; i < 5; i++) add_square_gmp(want, x[i]);
  zp_sumsq_add_f32(&s, x, 5);
  cr_assert_eq(s.pending, 4, "the second of them flushed");
  int64_t limb[ZP_SQ_LIMBS];
  zp_sumsq_limbs(&s, limb);
  limbs_to_mpz(got, limb, ZP_SQ_LIMBS);
  cr_assert_eq(mpz_cmp(got, want), 0);
  assert_canonical(limb);
  mpz_clears(want, got, t, NULL);
}

/* spec: SUM-4 */
Test(num_exact, two_to_the_twenty_worst_vectors_merge)
{
  int64_t sum[ZP_SQ_LIMBS] = {0}, worst[ZP_SQ_LIMBS];
  for (int i = 0; i < ZP_SQ_LIMBS; i++) worst[i] = 4294967295;
  worst[ZP_SQ_LIMBS - 1] = 511; /* 2^63 elements of the largest square */
  for (int k = 0; k < 1048576; k++) zp_limbs_merge(sum, worst, ZP_SQ_LIMBS);
  zp_limbs_normalise(sum, ZP_SQ_LIMBS);
  mpz_t want, got;
  mpz_inits(want, got, NULL);
  limbs_to_mpz(want, worst, ZP_SQ_LIMBS);
  mpz_mul_2exp(want, want, 20);
  limbs_to_mpz(got, sum, ZP_SQ_LIMBS);
  cr_assert_eq(mpz_cmp(got, want), 0);
  assert_canonical(sum);
  mpz_clears(want, got, NULL);
}

/* spec: SUM-3 */
Test(num_exact, normalising_keeps_the_value_and_is_unique)
{
  rng r = {5};
  for (int round = 0; round < 5000; round++) {
    int n = 1 + (int)rng_below(&r, ZP_SQ_LIMBS);
    int64_t limb[ZP_SQ_LIMBS];
    for (int i = 0; i < n; i++) {
      limb[i] = (int64_t)rng_next(&r) / (2LL << rng_below(&r, 62)); /* either sign, below 2^62 */
      if (round % 7 == 0) limb[i] = round % 2 ? -1 : 4294967295;
    }
    mpz_t want, got;
    mpz_inits(want, got, NULL);
    limbs_to_mpz(want, limb, n);
    zp_limbs_normalise(limb, n);
    limbs_to_mpz(got, limb, n);
    cr_assert_eq(mpz_cmp(got, want), 0);
    for (int i = 0; i < n - 1; i++) cr_assert(limb[i] >= 0 && limb[i] < 4294967296);
    int64_t again[ZP_SQ_LIMBS];
    memcpy(again, limb, sizeof limb);
    zp_limbs_normalise(again, n);
    cr_assert_eq(memcmp(again, limb, (size_t)n * sizeof limb[0]), 0);
    mpz_clears(want, got, NULL);
  }
}
