/* Laws of ref/num/norm.h. fp64 against MPFR, fp32 against GMP's integer square root. */
#include <criterion/criterion.h>
#include <mpfr.h>
#include <stdlib.h>

#include "../../../ref/num/exact.h"
#include "../../../ref/num/norm.h"
#include "test_num_patterns.h"

static void mpz_to_limbs(const mpz_t z, int64_t *limb)
{
  mpz_t t;
  mpz_init_set(t, z);
  for (int i = 0; i < ZP_SQ_LIMBS; i++) {
    limb[i] = (int64_t)(mpz_get_ui(t) & 0xffffffffu);
    mpz_tdiv_q_2exp(t, t, 32);
  }
  cr_assert_eq(mpz_sgn(t), 0);
  mpz_clear(t);
}

/* correctly rounded sqrt(v) * 2^-149 with the given precision and exponent range */
static double norm_by_mpfr(const mpz_t v, int bits, long emin, long emax)
{
  mpfr_t x, y;
  mpfr_exp_t e0 = mpfr_get_emin(), e1 = mpfr_get_emax();
  mpfr_init2(x, 700);
  mpfr_init2(y, bits);
  mpfr_set_z(x, v, MPFR_RNDN);
  mpfr_mul_2si(x, x, -298, MPFR_RNDN);
  mpfr_set_emin(emin);
  mpfr_set_emax(emax);
  int side = mpfr_sqrt(y, x, MPFR_RNDN);
  side = mpfr_check_range(y, side, MPFR_RNDN);
  mpfr_subnormalize(y, side, MPFR_RNDN);
  double d = mpfr_get_d(y, MPFR_RNDN);
  mpfr_set_emin(e0);
  mpfr_set_emax(e1);
  mpfr_clears(x, y, NULL);
  return d;
}

static void check(const mpz_t v)
{
  int64_t limb[ZP_SQ_LIMBS];
  mpz_to_limbs(v, limb);
  double want = norm_by_mpfr(v, 53, -1073, 1024);
  cr_assert_eq(zp_norm_f64(limb), bits64_of(want), "f64: got %a want %a", f64_of(zp_norm_f64(limb)),
               want);
  float want32 = (float)norm_by_mpfr(v, 24, -148, 128);
  cr_assert_eq(zp_norm_f32(limb), bits_of(want32), "f32: got %a want %a",
               (double)f32_of(zp_norm_f32(limb)), (double)want32);
}

static void check_around(const mpz_t v)
{
  mpz_t t;
  mpz_init(t);
  for (int d = -1; d <= 1; d++) {
    if (d < 0) mpz_sub_ui(t, v, 1);
    else mpz_add_ui(t, v, (unsigned long)d);
    if (mpz_sgn(t) >= 0) check(t);
  }
  mpz_clear(t);
}

static void random_bits(rng *r, mpz_t v, int bits)
{
  mpz_set_ui(v, 0);
  for (int i = 0; i < bits; i += 32) {
    mpz_mul_2exp(v, v, 32);
    mpz_add_ui(v, v, rng_u32(r));
  }
  mpz_tdiv_r_2exp(v, v, (mp_bitcnt_t)bits);
  if (bits > 0) mpz_setbit(v, (mp_bitcnt_t)(bits - 1));
}

/* spec: NORM-1, NORM-2 */
Test(num_norm, norm_is_correctly_rounded_at_every_magnitude)
{
  rng r = {6};
  mpz_t v;
  mpz_init(v);
  check(v);
  for (int bits = 1; bits <= 640; bits++) {
    for (int k = 0; k < 12; k++) {
      random_bits(&r, v, bits);
      check(v);
    }
    mpz_set_ui(v, 0);
    mpz_setbit(v, (mp_bitcnt_t)(bits - 1));
    check_around(v);
  }
  mpz_clear(v);
}

/* spec: NORM-1, NORM-2 */
Test(num_norm, exact_ties_round_to_even_and_their_neighbours_do_not)
{
  rng r = {7};
  mpz_t root, v;
  mpz_inits(root, v, NULL);
  int width[2] = {25, 54}; /* one bit more than the significand, the last one set */
  for (int w = 0; w < 2; w++) {
    for (int k = 0; k < 600; k++) {
      random_bits(&r, root, width[w]);
      mpz_setbit(root, 0);
      mpz_mul(v, root, root);
      mpz_mul_2exp(v, v, (mp_bitcnt_t)(2 * rng_below(&r, (640 - 2 * width[w]) / 2)));
      check_around(v);
    }
  }
  mpz_clears(root, v, NULL);
}

/* spec: NORM-1, NORM-2 */
Test(num_norm, exact_roots_are_exact)
{
  rng r = {8};
  mpz_t root, v;
  mpz_inits(root, v, NULL);
  for (int k = 0; k < 1000; k++) {
    random_bits(&r, root, 1 + (int)rng_below(&r, 60));
    mpz_mul(v, root, root);
    mpz_mul_2exp(v, v, (mp_bitcnt_t)(2 * rng_below(&r, 260)));
    check_around(v);
  }
  mpz_clears(root, v, NULL);
}

/* spec: NORM-2 */
Test(num_norm, subnormal_fp32_norms_round_at_the_last_unit)
{
  mpz_t v;
  mpz_init(v);
  for (unsigned long k = 0; k < 3000; k++) {
    mpz_set_ui(v, k);
    check(v);
    mpz_set_ui(v, 8388608 - 1500 + k); /* about the first normal number */
    mpz_mul(v, v, v);
    check_around(v);
  }
  mpz_clear(v);
}

/* spec: NORM-1, NORM-2 */
Test(num_norm, fp32_overflow_begins_at_half_a_unit_beyond_the_largest)
{
  mpz_t v;
  mpz_init(v);
  int64_t limb[ZP_SQ_LIMBS];
  mpz_set_ui(v, 33554431); /* 2^128 - 2^103 = (2^25 - 1) * 2^103; the unit of sqrt(V) is 2^-149 */
  mpz_mul_2exp(v, v, 103 + 149);
  mpz_mul(v, v, v);
  mpz_to_limbs(v, limb);
  cr_assert_eq(zp_norm_f32(limb), 0x7f800000u);
  mpz_sub_ui(v, v, 1);
  mpz_to_limbs(v, limb);
  cr_assert_eq(zp_norm_f32(limb), 0x7f7fffffu);
  cr_assert(isfinite(f64_of(zp_norm_f64(limb))));
  check_around(v);
  for (int i = 0; i < ZP_SQ_LIMBS; i++) limb[i] = 4294967295;
  cr_assert_eq(zp_norm_f32(limb), 0x7f800000u);
  cr_assert_eq(f64_of(zp_norm_f64(limb)), ldexp(1, 171));
  mpz_clear(v);
}

Test(num_norm, norm_of_one_element_is_its_magnitude)
{
  rng r = {9};
  for (int i = 0; i < 3000; i++) {
    uint32_t u = i < EDGES_F32 ? edge_f32[i] : pattern(&r, KIND_WIDE, 0);
    if (!isfinite(f32_of(u))) continue;
    zp_sumsq s;
    int64_t limb[ZP_SQ_LIMBS];
    zp_sumsq_clear(&s);
    zp_sumsq_add_f32(&s, &u, 1);
    zp_sumsq_limbs(&s, limb);
    cr_assert_eq(zp_norm_f32(limb), u & 0x7fffffffu);
    cr_assert_eq(f64_of(zp_norm_f64(limb)), fabs((double)f32_of(u)));
  }
}
