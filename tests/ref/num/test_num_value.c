/* Laws of ref/num/value.h, against GMP integers and rationals; and of ref/num/ordered.h. */
#include <criterion/criterion.h>
#include <gmp.h>
#include <stdlib.h>

#include "../../../ref/num/exact.h"
#include "../../../ref/num/half.h"
#include "../../../ref/num/ordered.h"
#include "../../../ref/num/value.h"
#include "test_num_patterns.h"

/* adds the value of u, in units of 2^-149, to sum; a non-finite u adds nothing */
static void add_value_gmp(mpz_t sum, uint32_t u)
{
  if ((u >> 23 & 255) == 255) return;
  double x = (double)f32_of(u);
  mpz_t t;
  mpz_init_set_d(t, ldexp(x, 149)); /* an integer below 2^277, exact in fp64 */
  mpz_add(sum, sum, t);
  mpz_clear(t);
}

static void limbs_to_mpz(mpz_t z, const int64_t *limb)
{
  mpz_set_ui(z, 0);
  for (int i = ZP_VAL_LIMBS - 1; i >= 0; i--) {
    mpz_mul_2exp(z, z, 32);
    if (limb[i] >= 0) mpz_add_ui(z, z, (unsigned long)limb[i]);
    else mpz_sub_ui(z, z, -(unsigned long)limb[i]);
  }
}

static void mpz_to_limbs(const mpz_t z, int64_t *limb)
{
  mpz_t t, r;
  mpz_init_set(t, z);
  mpz_init(r);
  for (int i = 0; i < ZP_VAL_LIMBS; i++) {
    if (i == ZP_VAL_LIMBS - 1) mpz_set(r, t);
    else mpz_fdiv_r_2exp(r, t, 32);
    limb[i] = mpz_get_si(r);
    mpz_fdiv_q_2exp(t, t, 32);
  }
  mpz_clears(t, r, NULL);
}

typedef struct limbs9 {
  int64_t limb[ZP_VAL_LIMBS];
} limbs9;

static limbs9 limb_copy(const int64_t *limb)
{
  limbs9 c;
  memcpy(c.limb, limb, sizeof c.limb);
  return c;
}

/* compares |v| / d with the midpoint of the neighbouring patterns a and a + 1: sign of the
 * difference; patterns up to infinity's, whose value is that of the next binade */
static int against_midpoint(const mpz_t v, int64_t d, uint32_t a)
{
  mpz_t mid, left;
  mpz_inits(mid, left, NULL);
  for (uint32_t k = a; k <= a + 1; k++) {
    uint32_t be = k >> 23, m = (k & 0x7fffff) | (be ? 0x800000 : 0);
    mpz_set_ui(left, m);
    mpz_mul_2exp(left, left, be ? be - 1 : 0);
    mpz_add(mid, mid, left);
  }
  mpz_mul_ui(mid, mid, (unsigned long)d); /* twice the midpoint, times d */
  mpz_abs(left, v);
  mpz_mul_2exp(left, left, 1);
  int c = mpz_cmp(left, mid);
  mpz_clears(mid, left, NULL);
  return c;
}

/* the pattern whose two midpoints enclose the quotient, ties to even; independent of division */
static void check_mean_limbs(const mpz_t v, const int64_t *limb, int64_t d)
{
  uint32_t got = zp_val_mean_f32(limb, d), a = got & 0x7fffffffu;
  if (mpz_sgn(v) == 0) {
    cr_assert_eq(got, 0u);
    return;
  }
  cr_assert_eq(got >> 31, mpz_sgn(v) < 0 ? 1u : 0u);
  cr_assert(a <= 0x7f800000u);
  if (a > 0) {
    int c = against_midpoint(v, d, a - 1);
    cr_assert(c > 0 || (c == 0 && a % 2 == 0), "too large: %08x, divisor %ld", got, (long)d);
  }
  if (a < 0x7f800000u) {
    int c = against_midpoint(v, d, a);
    cr_assert(c < 0 || (c == 0 && a % 2 == 0), "too small: %08x, divisor %ld", got, (long)d);
  }
}

static void check_mean(const mpz_t v, int64_t d)
{
  int64_t limb[ZP_VAL_LIMBS];
  mpz_t neg;
  mpz_init(neg);
  mpz_to_limbs(v, limb);
  check_mean_limbs(v, limb, d);
  mpz_neg(neg, v);
  mpz_to_limbs(neg, limb);
  check_mean_limbs(neg, limb, d);
  mpz_clear(neg);
}

static int64_t some_divisor(rng *r)
{
  int64_t d = 1 + rng_below(r, (int64_t)1 << rng_below(r, 41));
  return rng_below(r, 5) == 0 ? (int64_t)1 << rng_below(r, 41) : d;
}

/* spec: SUM-5, SUM-6 */
Test(num_value, sums_equal_the_integer_sums_for_every_type)
{
  rng r = {30};
  enum { N = 40, ROUNDS = 30 };
  for (int kind = 0; kind < KINDS; kind++) {
    int64_t limbs[3][N * ZP_VAL_LIMBS] = {{0}};
    mpz_t want[3][N], got;
    mpz_init(got);
    for (int i = 0; i < 3 * N; i++) mpz_init(want[i / N][i % N]);
    for (int round = 0; round < ROUNDS; round++) {
      uint32_t x[N];
      uint16_t b[N], h[N];
      for (int i = 0; i < N; i++) {
        x[i] = pattern(&r, kind, 70);
        b[i] = (uint16_t)(x[i] >> 16);
        h[i] = (uint16_t)(x[i] >> 13);
        add_value_gmp(want[0][i], x[i]);
        add_value_gmp(want[1][i], zp_f32_from_bf16(b[i]));
        add_value_gmp(want[2][i], zp_f32_from_f16(h[i]));
      }
      zp_val_add_f32(limbs[0], x, N);
      zp_val_add_bf16(limbs[1], b, N);
      zp_val_add_f16(limbs[2], h, N);
      if (round == ROUNDS / 2) zp_val_normalise(limbs[round % 3], N);
    }
    for (int i = 0; i < 3 * N; i++) {
      int64_t *limb = limbs[i / N] + i % N * ZP_VAL_LIMBS, d = some_divisor(&r);
      limbs_to_mpz(got, limb);
      cr_assert_eq(mpz_cmp(got, want[i / N][i % N]), 0, "kind %d type %d", kind, i / N);
      check_mean_limbs(got, limb, d);
      uint32_t before = zp_val_mean_f32(limb, d);
      zp_val_normalise(limb, 1);
      limbs_to_mpz(got, limb);
      cr_assert_eq(mpz_cmp(got, want[i / N][i % N]), 0);
      for (int q = 0; q < ZP_VAL_LIMBS - 1; q++) cr_assert(limb[q] >= 0 && limb[q] < 4294967296);
      cr_assert_eq(zp_val_mean_f32(limb, d), before);
      mpz_clear(want[i / N][i % N]);
    }
    mpz_clear(got);
  }
}

/* spec: SUM-7 */
Test(num_value, mean_is_the_nearest_fp32_at_every_magnitude)
{
  rng r = {31};
  mpz_t v;
  mpz_init(v);
  for (int bits = 0; bits < 318; bits++) { /* 2^318: a top limb of 2^62 */
    for (int k = 0; k < 40; k++) {
      mpz_set_ui(v, 1);
      for (int at = 0; at < bits; at += 32) {
        mpz_mul_2exp(v, v, 32);
        if (k % 4) mpz_add_ui(v, v, rng_u32(&r));
      }
      mpz_fdiv_r_2exp(v, v, (mp_bitcnt_t)bits);
      mpz_setbit(v, (mp_bitcnt_t)bits);
      check_mean(v, some_divisor(&r));
    }
  }
  mpz_clear(v);
}

/* spec: SUM-7 */
Test(num_value, ties_round_to_even_and_their_neighbours_do_not)
{
  rng r = {32};
  mpz_t v, t;
  mpz_inits(v, t, NULL);
  for (int k = 0; k < 4000; k++) {
    int64_t d = some_divisor(&r) / 2 * 2 + 2; /* even, so that half a unit times d is an integer */
    if (d > (int64_t)1 << 40) d = (int64_t)1 << 40;
    uint32_t a = k % 3 == 0 ? rng_u32(&r) % 0x1000000u : rng_u32(&r) % 0x7a000000u;
    uint32_t be = a >> 23, m = (a & 0x7fffff) | (be ? 0x800000 : 0);
    mpz_set_ui(v, 2 * (unsigned long)m + 1); /* between a and its successor */
    mpz_mul_2exp(v, v, be ? be - 1 : 0);
    mpz_mul_ui(v, v, (unsigned long)d);
    mpz_fdiv_q_2exp(v, v, 1);
    if (mpz_sizeinbase(v, 2) > 318) continue;
    for (int side = -1; side <= 1; side++) {
      mpz_set_si(t, side);
      mpz_add(t, t, v);
      check_mean(t, d);
    }
  }
  mpz_clears(v, t, NULL);
}

/* spec: SUM-7 */
Test(num_value, overflow_gives_infinity_from_half_a_unit_beyond_the_largest)
{
  mpz_t v;
  mpz_init(v);
  int64_t limb[ZP_VAL_LIMBS];
  for (int64_t d = 1; d <= 7; d += 2) {
    mpz_set_ui(v, 33554431); /* (2^25 - 1) * 2^252 units is the tie between the largest and 2^128 */
    mpz_mul_2exp(v, v, 252);
    mpz_mul_ui(v, v, (unsigned long)d);
    mpz_to_limbs(v, limb);
    cr_assert_eq(zp_val_mean_f32(limb, d), 0x7f800000u);
    check_mean(v, d);
    mpz_sub_ui(v, v, 1);
    mpz_to_limbs(v, limb);
    cr_assert_eq(zp_val_mean_f32(limb, d), 0x7f7fffffu);
    check_mean(v, d);
  }
  mpz_clear(v);
}

/* spec: SUM-7 */
Test(num_value, opposite_elements_cancel_to_plus_zero)
{
  rng r = {33};
  for (int k = 0; k < 500; k++) {
    int64_t limb[ZP_VAL_LIMBS] = {0};
    uint32_t x[9];
    for (int i = 0; i < 9; i++) x[i] = pattern(&r, k % 2 ? KIND_WIDE : KIND_SUBNORMAL, 0);
    for (int i = 0; i < 9; i++) zp_val_add_f32(limb, &x[i], 1);
    for (int i = 0; i < 9; i++) {
      uint32_t opposite = x[8 - i] ^ 0x80000000u;
      zp_val_add_f32(limb, &opposite, 1);
    }
    cr_assert_eq(zp_val_mean_f32(limb, 1 + k), 0u);
  }
}

/* spec: SUM-5, SUM-7 */
Test(num_value, mean_of_equal_elements_is_the_element)
{
  rng r = {34};
  for (int k = 0; k < 2000; k++) {
    int64_t limb[ZP_VAL_LIMBS] = {0};
    int64_t n = 1 + k % 300;
    uint32_t x = k < EDGES_F32 ? edge_f32[k] : pattern(&r, KIND_WIDE, 0);
    for (int64_t i = 0; i < n; i++) zp_val_add_f32(limb, &x, 1);
    uint32_t want = (x & 0x7fffffffu) == 0 || (x >> 23 & 255) == 255 ? 0 : x;
    cr_assert_eq(zp_val_mean_f32(limb, n), want, "%08x times %ld", x, (long)n);
  }
}

Test(num_value, limbs_at_their_bounds_do_not_overflow)
{
  static const int64_t divisor[] = {1, 2, 3, 1099511627775, 1099511627776};
  int64_t most = (int64_t)1 << 62;
  mpz_t v;
  mpz_init(v);
  for (int k = 0; k < 1 << ZP_VAL_LIMBS; k++) { /* every choice of signs */
    int64_t limb[ZP_VAL_LIMBS];
    for (int q = 0; q < ZP_VAL_LIMBS; q++) limb[q] = (k >> q) % 2 ? -most : most;
    limbs_to_mpz(v, limb);
    for (int d = 0; d < 5; d++) check_mean_limbs(v, limb, divisor[d]);
  }
  mpz_clear(v);
}

/* 2^40 numbers, as 2^20 ranks of 2^20 micro-batches add up to: built by doubling */
/* spec: SUM-6, SUM-7 */
Test(num_value, mean_of_as_many_numbers_as_there_can_be_is_rounded_once)
{
  static const uint32_t x[] = {0x7f7fffff, 0xff7fffff, 0x7f000001, 0x3f800001,
                               0x80000001, 0x00800000, 0xff7f7fff};
  mpz_t v, one;
  mpz_inits(v, one, NULL);
  for (int k = 0; k < 7; k++) {
    int64_t limb[ZP_VAL_LIMBS] = {0};
    for (int doubled = 0; doubled <= 40; doubled++) {
      int64_t n = (int64_t)1 << doubled;
      if (doubled == 0) zp_val_add_f32(limb, &x[k], 1);
      else zp_limbs_merge(limb, limb_copy(limb).limb, ZP_VAL_LIMBS);
      zp_val_normalise(limb, 1);
      mpz_set_ui(one, 0);
      add_value_gmp(one, x[k]);
      mpz_mul_2exp(one, one, (mp_bitcnt_t)doubled);
      limbs_to_mpz(v, limb);
      cr_assert_eq(mpz_cmp(v, one), 0);
      cr_assert_eq(zp_val_mean_f32(limb, n), x[k]);
      check_mean_limbs(v, limb, 1099511627776);
      check_mean_limbs(v, limb, n > 1 ? n - 1 : 3);
      check_mean_limbs(v, limb, 1);
    }
  }
  mpz_clears(v, one, NULL);
}

Test(num_ordered, addition_is_one_fp32_rounding_per_call_in_call_order)
{
  float acc[3] = {16777216.0f, 1.0f, -0.0f}, x[3] = {1.0f, 5.9604645e-8f, 0.0f};
  zp_ordered_add_f32(acc, x, 3);
  zp_ordered_add_f32(acc, x, 3);
  cr_assert_eq(acc[0], 16777216.0f, "16777216 + 1 ties to even, twice");
  cr_assert_eq(acc[1], 1.0f);
  cr_assert_eq(bits_of(acc[2]), 0u);
  zp_ordered_add_f32(acc, x, 0);
  float other[1] = {2.0f};
  zp_ordered_add_f32(other, acc, 1);
  cr_assert_eq(other[0], 16777218.0f);
}
