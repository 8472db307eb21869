/* The IEEE leaves (ASSUMPTIONS.md, I-1 … I-5) against MPFR: each is one operation, rounded to
 * nearest even, subnormals kept, so its bits are a function of its operands' bits. */
#include <criterion/criterion.h>
#include <math.h>
#include <mpfr.h>
#include <stdint.h>
#include <string.h>

#include "../../../ref/num/ieee.h"

enum { RANDOM = 100000 };

static uint64_t random_bits(void)
{
  static uint64_t x = 88172645463325252u;
  x ^= x << 13;
  x ^= x >> 7;
  x ^= x << 17;
  return x * 0x2545f4914f6cdd1du;
}

/* Patterns of a format with `digits` stored significand bits and the largest exponent `most`:
 * zeros, subnormals, powers and their neighbours, the largest, infinity; some finite ones of any
 * kind. */
static uint64_t pattern(int i, int digits, uint64_t most)
{
  static const int exponents = 9, significands = 4;
  const uint64_t all = ((uint64_t)1 << digits) - 1;
  const uint64_t e[] = {0,        1,   2, most / 2 - 1, most / 2, most / 2 + 1, most / 2 + 60,
                        most - 1, most};
  const uint64_t m[] = {0, 1, all / 2, all};
  const uint64_t sign = (uint64_t)(i % 2) << (digits + (most == 255 ? 8 : 11));
  uint64_t r = random_bits();
  if (i / 2 < exponents * significands && !(i / 2 % exponents == 8 && i / 2 / exponents > 0))
    return sign | e[i / 2 % exponents] << digits | m[i / 2 / exponents];
  if (r % 3 == 0) r = most / 2 << digits | (r & all); /* near one */
  else r = (r >> digits) % most << digits | (r & all);
  return sign | r;
}
enum { KINDS = 2 * 9 * 4 };

static double number(int single, int i)
{
  if (single) return zp_f32_of_bits((uint32_t)pattern(i, 23, 255));
  return zp_f64_of_bits(pattern(i, 52, 2047));
}

/* Same bits; for NaN only that it is one. */
static int same(double a, double b)
{
  if (isnan(a) || isnan(b)) return isnan(a) && isnan(b);
  return memcmp(&a, &b, sizeof a) == 0;
}

/* a op b, rounded once to fp32 or fp64. */
static double rounded(int single, char op, double a, double b)
{
  mpfr_t x, y;
  int t = 0;
  double r;
  mpfr_set_emin(single ? -148 : -1073);
  mpfr_set_emax(single ? 128 : 1024);
  mpfr_init2(x, single ? 24 : 53);
  mpfr_init2(y, 53);
  mpfr_set_d(y, a, MPFR_RNDN);
  if (op == '+') t = mpfr_add_d(x, y, b, MPFR_RNDN);
  if (op == '-') t = mpfr_sub_d(x, y, b, MPFR_RNDN);
  if (op == '*') t = mpfr_mul_d(x, y, b, MPFR_RNDN);
  if (op == '/') t = mpfr_div_d(x, y, b, MPFR_RNDN);
  if (op == 'r') t = mpfr_sqrt(x, y, MPFR_RNDN);
  if (op == '=') t = mpfr_set(x, y, MPFR_RNDN);
  t = mpfr_subnormalize(x, t, MPFR_RNDN);
  r = mpfr_get_d(x, MPFR_RNDN);
  mpfr_clears(x, y, NULL);
  return r;
}

static void check(double got, double want, const char *leaf, double a, double b)
{
  cr_assert(same(got, want), "%s(%a, %a) = %a, not %a", leaf, a, b, got, want);
}

static void pair32(float a, float b)
{
  check(zp_add32(a, b), rounded(1, '+', a, b), "zp_add32", a, b);
  check(zp_sub32(a, b), rounded(1, '-', a, b), "zp_sub32", a, b);
  check(zp_mul32(a, b), rounded(1, '*', a, b), "zp_mul32", a, b);
  check(zp_div32(a, b), rounded(1, '/', a, b), "zp_div32", a, b);
  check(zp_sqrt32(a), rounded(1, 'r', a, 0), "zp_sqrt32", a, 0);
  check(zp_widen(a), a, "zp_widen", a, 0);
}

static void pair64(double a, double b)
{
  check(zp_add64(a, b), rounded(0, '+', a, b), "zp_add64", a, b);
  check(zp_sub64(a, b), rounded(0, '-', a, b), "zp_sub64", a, b);
  check(zp_mul64(a, b), rounded(0, '*', a, b), "zp_mul64", a, b);
  check(zp_div64(a, b), rounded(0, '/', a, b), "zp_div64", a, b);
  check(zp_sqrt64(a), rounded(0, 'r', a, 0), "zp_sqrt64", a, 0);
  check(zp_narrow(a), rounded(1, '=', a, 0), "zp_narrow", a, 0);
  cr_assert_eq(zp_less64(a, b), isless(a, b) != 0);
  cr_assert_eq(zp_equal64(a, b), !islessgreater(a, b) && !isunordered(a, b));
}

/* spec: OPT-3 */
Test(num_ieee, every_leaf_is_one_correctly_rounded_operation)
{
  for (int i = 0; i < KINDS; i++)
    for (int j = 0; j < KINDS; j++) {
      pair32((float)number(1, i), (float)number(1, j));
      pair64(number(0, i), number(0, j));
    }
  for (int i = 0; i < RANDOM; i++) {
    pair32((float)number(1, KINDS + i % 2), (float)number(1, KINDS + i / 2 % 2));
    pair64(number(0, KINDS + i % 2), number(0, KINDS + i / 2 % 2));
  }
}

/* spec: NUM-1 */
Test(num_ieee, patterns_and_numbers_are_the_same_thing)
{
  for (int i = 0; i < RANDOM; i++) {
    const uint64_t u = pattern(i % (2 * KINDS), 52, 2047);
    const uint32_t v = (uint32_t)pattern(i % (2 * KINDS), 23, 255);
    const float f = zp_f32_of_bits(v);
    cr_assert_eq(zp_f64_bits(zp_f64_of_bits(u)), u);
    cr_assert(memcmp(&f, &v, sizeof v) == 0);
  }
  cr_assert_eq(zp_f32_of_bits(1), ldexpf(1, -149));
  cr_assert_eq(zp_f32_of_bits(0x3f800000), 1);
  cr_assert_eq(zp_f64_of_bits(0x7fefffffffffffff), 0x1.fffffffffffffp1023);
}

/* spec: RED-2 */
Test(num_ieee, integers_convert_to_the_nearest_number)
{
  const int64_t edge[] = {0, 1, -1, ((int64_t)1 << 53) + 1, INT64_MAX, INT64_MIN};
  for (int i = 0; i < RANDOM; i++) {
    const int64_t n = i < 6 ? edge[i] : (int64_t)random_bits() >> i % 64;
    mpfr_t x;
    mpfr_init2(x, 53);
    mpfr_set_si(x, n, MPFR_RNDN);
    cr_assert_eq(zp_from_i64(n), mpfr_get_d(x, MPFR_RNDN), "%lld", (long long)n);
    mpfr_clear(x);
  }
}
