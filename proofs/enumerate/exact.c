/* Compares exact sums, means and norms of every bf16 and fp16 number, and of all pairs of a set of
 * fp32 patterns, with sums of single bits: a number is the list of its significant bits, a product
 * multiplies every bit by every bit, and a sum carries as on paper.
 * spec: SUM-1 … SUM-7, NORM-1, NORM-2 */
#include <string.h>

#include "../../ref/num/exact.h"
#include "../../ref/num/norm.h"
#include "../../ref/num/value.h"
#include "enumerate.h"

/* A natural number, one bit per byte, the lowest first. */
enum { BITS = 1280 };
typedef struct natural {
  uint8_t bit[BITS];
  int top; /* all bits from here on are 0 */
} natural;

static void add_bit(natural *a, int i)
{
  while (a->bit[i]) a->bit[i++] = 0;
  a->bit[i] = 1;
  if (i >= a->top) a->top = i + 1;
}

static void add_shifted(natural *a, const natural *b, int shift)
{
  for (int i = 0; i < b->top; i++)
    if (b->bit[i]) add_bit(a, i + shift);
}

static natural of_number(uint64_t n, int shift)
{
  natural a = {{0}, 0};
  for (int i = 0; i < 64; i++)
    if (n >> i & 1) add_bit(&a, i + shift);
  return a;
}

static natural times(const natural *a, const natural *b)
{
  natural c = {{0}, 0};
  for (int i = 0; i < a->top; i++)
    if (a->bit[i]) add_shifted(&c, b, i);
  return c;
}

static natural plus(const natural *a, const natural *b)
{
  natural c = *a;
  add_shifted(&c, b, 0);
  return c;
}

/* The sign of a - b. */
static int compare(const natural *a, const natural *b)
{
  for (int i = (a->top > b->top ? a->top : b->top) - 1; i >= 0; i--)
    if (a->bit[i] != b->bit[i]) return a->bit[i] - b->bit[i];
  return 0;
}

/* a - b, when a >= b. */
static natural minus(const natural *a, const natural *b)
{
  natural c = *a;
  for (int i = 0; i < b->top; i++) {
    int j = i;
    if (!b->bit[i]) continue;
    while (!c.bit[j]) c.bit[j++] = 1;
    c.bit[j] = 0;
  }
  return c;
}

/* |x| in units of 2^-149 for a finite fp32 pattern: significand and exponent come from the bits.
 * For +infinity, the number that would follow the largest. */
static natural magnitude(uint32_t x)
{
  const int e = (int)(x >> 23 & 255);
  const uint64_t m = x & 0x7fffff;
  return e == 0 ? of_number(m, 0) : of_number(m | 1u << 23, e - 1);
}

static int finite(uint32_t x)
{
  return (x >> 23 & 255) != 255;
}

/* The canonical limbs of a natural: 32 bits each. */
static void to_limbs(const natural *a, int64_t *limb, int n)
{
  memset(limb, 0, (size_t)n * sizeof *limb);
  for (int i = 0; i < 32 * n; i++) limb[i / 32] |= (int64_t)a->bit[i] << i % 32;
  MUST(a->top <= 32 * n);
}

/* The canonical limbs of a - b: all but the top one in 0 … 2^32-1. */
static void difference(const natural *a, const natural *b, int64_t *limb)
{
  int64_t x[10], y[10], carry = 0;
  to_limbs(a, x, 10);
  to_limbs(b, y, 10);
  for (int i = 0; i < ZP_VAL_LIMBS; i++) {
    limb[i] = x[i] - y[i] + carry;
    carry = 0;
    while (i < ZP_VAL_LIMBS - 1 && limb[i] < 0) {
      limb[i] += (int64_t)1 << 32;
      carry--;
    }
  }
}

/* ---- Squares --------------------------------------------------------------------------------- */

static natural square(uint32_t x)
{
  const natural m = magnitude(x), zero = {{0}, 0};
  return finite(x) ? times(&m, &m) : zero;
}

static void is_sum(zp_sumsq *s, const natural *want)
{
  int64_t got[ZP_SQ_LIMBS], wanted[ZP_SQ_LIMBS];
  zp_sumsq_limbs(s, got);
  to_limbs(want, wanted, ZP_SQ_LIMBS);
  MUST(memcmp(got, wanted, sizeof got) == 0);
}

/* 1 if `it` is RN of sqrt(v): four times v lies between the squares of the sums of neighbours; at a
 * bound the even one is right. upper: NULL for infinity, which has no upper neighbour. */
static int nearest_root(const natural *v, const natural *lower, const natural *it,
                        const natural *upper, int even)
{
  const natural low = plus(lower, it), low2 = times(&low, &low);
  natural v4 = {{0}, 0};
  add_shifted(&v4, v, 2);
  const int below = compare(&v4, &low2);
  if (below < 0 || (below == 0 && !even)) return 0;
  if (upper == NULL) return 1;
  const natural high = plus(it, upper), high2 = times(&high, &high);
  const int above = compare(&v4, &high2);
  return above < 0 || (above == 0 && even);
}

/* |x| of an fp64 pattern in units of 2^-202; 0 or at least 2^-150. */
static natural magnitude64(uint64_t x)
{
  const natural zero = {{0}, 0};
  const int e = (int)(x >> 52) - 1023 - 52 + 202; /* of the last bit */
  return x == 0 ? zero : of_number((x & (((uint64_t)1 << 52) - 1)) | (uint64_t)1 << 52, e);
}

static void check_norms(const natural *v)
{
  int64_t limb[ZP_SQ_LIMBS];
  natural scaled = {{0}, 0};
  to_limbs(v, limb, ZP_SQ_LIMBS);
  const uint32_t r = zp_norm_f32(limb);
  const uint64_t q = zp_norm_f64(limb);
  const natural lo = magnitude(r == 0 ? 0 : r - 1), it = magnitude(r), hi = magnitude(r + 1);
  MUST(r <= 0x7f800000);
  if (v->top == 0) MUST(r == 0 && q == 0);
  if (v->top == 0) return;
  MUST(nearest_root(v, &lo, &it, r < 0x7f800000 ? &hi : NULL, r % 2 == 0));
  add_shifted(&scaled, v, 106); /* the root in units of 2^-202 */
  const natural l = magnitude64(q - 1), m = magnitude64(q), h = magnitude64(q + 1);
  MUST(nearest_root(&scaled, &l, &m, &h, q % 2 == 0));
}

/* ---- Values ---------------------------------------------------------------------------------- */

/* RN of (a - b) / n, fp32: twice the sum lies between n times the sums of neighbours. */
static void check_mean(const natural *a, const natural *b, uint64_t n, const int64_t *limb)
{
  const int sign = compare(a, b);
  const uint32_t r = zp_val_mean_f32(limb, (int64_t)n), p = r & 0x7fffffff;
  const natural v = sign >= 0 ? minus(a, b) : minus(b, a), count = of_number(n, 0);
  natural v2 = {{0}, 0};
  if (sign == 0) MUST(r == 0);
  if (sign == 0) return;
  MUST((r >> 31 == 1) == (sign < 0) && p <= 0x7f800000);
  add_shifted(&v2, &v, 1);
  const natural it = magnitude(p);
  if (p > 0) {
    const natural lower = magnitude(p - 1), mid = plus(&lower, &it), low = times(&mid, &count);
    const int c = compare(&v2, &low);
    MUST(c > 0 || (c == 0 && p % 2 == 0));
  }
  if (p < 0x7f800000) {
    const natural upper = magnitude(p + 1), mid = plus(&it, &upper), high = times(&mid, &count);
    const int c = compare(&v2, &high);
    MUST(c < 0 || (c == 0 && p % 2 == 0));
  }
}

static void check_values(const uint32_t *x, int n)
{
  static const uint64_t divisors[] = {1, 2, 3, 5, 7, 1000003, (uint64_t)1 << 40};
  int64_t limb[ZP_VAL_LIMBS] = {0}, part[ZP_VAL_LIMBS], merged[ZP_VAL_LIMBS] = {0};
  int64_t want[ZP_VAL_LIMBS];
  natural up = {{0}, 0}, down = {{0}, 0};
  for (int i = 0; i < n; i++) {
    const natural m = magnitude(x[i]);
    zp_val_add_f32(limb, &x[i], 1);
    memset(part, 0, sizeof part);
    zp_val_add_f32(part, &x[n - 1 - i], 1);
    zp_val_normalise(part, 1);
    zp_limbs_merge(merged, part, ZP_VAL_LIMBS);
    if (finite(x[i])) add_shifted(x[i] >> 31 ? &down : &up, &m, 0);
  }
  difference(&up, &down, want);
  for (int i = 0; i < 7; i++) check_mean(&up, &down, divisors[i], limb);
  zp_val_normalise(limb, 1);
  zp_val_normalise(merged, 1);
  MUST(memcmp(limb, want, sizeof want) == 0);
  MUST(memcmp(merged, want, sizeof want) == 0);
  check_mean(&up, &down, 3, limb);
}

/* ---- All cases ------------------------------------------------------------------------------- */

static void check_squares(const uint32_t *x, int n)
{
  natural want = {{0}, 0};
  int64_t merged[ZP_SQ_LIMBS] = {0}, bad = 0;
  zp_sumsq all, one;
  zp_sumsq_clear(&all);
  for (int i = 0; i < n; i++) {
    const natural q = square(x[i]);
    int64_t limb[ZP_SQ_LIMBS];
    add_shifted(&want, &q, 0);
    bad += !finite(x[i]);
    zp_sumsq_clear(&one);
    zp_sumsq_add_f32(&one, &x[n - 1 - i], 1);
    zp_sumsq_limbs(&one, limb);
    zp_limbs_merge(merged, limb, ZP_SQ_LIMBS);
  }
  MUST(zp_sumsq_add_f32(&all, x, n) == bad);
  is_sum(&all, &want);
  is_sum(&all, &want); /* again: reading the limbs must not change the sum */
  zp_limbs_normalise(merged, ZP_SQ_LIMBS);
  to_limbs(&want, all.limb, ZP_SQ_LIMBS);
  MUST(memcmp(merged, all.limb, sizeof merged) == 0);
  check_norms(&want);
}

/* fp32 patterns: significands and exponents at carries, ties, subnormals and limits. */
enum { SET = 2 * 17 * 6 };
static uint32_t set[SET];
static void fill_set(void)
{
  static const uint32_t exponent[17] = {0,   1,   2,   7,   8,   9,   31,  32, 33,
                                        126, 127, 128, 160, 200, 253, 254, 255};
  static const uint32_t significand[6] = {0, 1, 0x400000, 0x7fffff, 0x555555, 0x3ffffe};
  for (uint32_t i = 0; i < SET; i++)
    set[i] = i % 2 << 31 | exponent[i / 2 % 17] << 23 | significand[i / 34];
}

/* |x| of a bf16 or fp16 pattern, in units of 2^-149; 0 for a non-finite one. */
static natural half_magnitude(uint32_t x, int f16)
{
  const int digits = f16 ? 10 : 7, e = (int)((x & 0x7fff) >> digits), most = f16 ? 31 : 255;
  const int last = f16 ? 149 - 24 : 149 - 133; /* subnormals: multiples of 2^-24, 2^-133 */
  const uint64_t m = x & ((1u << digits) - 1);
  if (e == most) return of_number(0, 0);
  return e == 0 ? of_number(m, last) : of_number(m | 1u << digits, last + e - 1);
}

/* Every single 16-bit pattern. */
static void all_halves(void)
{
  for (uint32_t h = 0; h < 65536; h++)
    for (int f16 = 0; f16 < 2; f16++) {
      const uint16_t x = (uint16_t)h;
      const int bad = f16 ? (h >> 10 & 31) == 31 : (h >> 7 & 255) == 255;
      const natural m = half_magnitude(h, f16), zero = {{0}, 0}, q = times(&m, &m);
      int64_t limb[ZP_VAL_LIMBS] = {0}, want[ZP_VAL_LIMBS];
      zp_sumsq s;
      CASE("%s 0x%04x", f16 ? "fp16" : "bf16", (unsigned)h);
      zp_sumsq_clear(&s);
      MUST((f16 ? zp_sumsq_add_f16(&s, &x, 1) : zp_sumsq_add_bf16(&s, &x, 1)) == bad);
      is_sum(&s, &q);
      if (f16) zp_val_add_f16(limb, &x, 1);
      else zp_val_add_bf16(limb, &x, 1);
      zp_val_normalise(limb, 1);
      difference(h >> 15 ? &zero : &m, h >> 15 ? &m : &zero, want);
      MUST(memcmp(limb, want, sizeof want) == 0);
    }
}

int main(void)
{
  fill_set();
  all_halves();
  for (int i = 0; i < SET; i++)
    for (int j = 0; j <= i; j++) {
      const uint32_t x[2] = {set[i], set[j]};
      CASE("0x%08x, 0x%08x", (unsigned)x[0], (unsigned)x[1]);
      check_values(x, 2);
      check_squares(x, 2);
    }
  for (int i = 0; i < SET; i += 7)
    for (int j = 0; j <= i; j += 5)
      for (int k = 0; k <= j; k += 3) {
        const uint32_t x[3] = {set[i], set[j], set[k]};
        CASE("0x%08x, 0x%08x, 0x%08x", (unsigned)x[0], (unsigned)x[1], (unsigned)x[2]);
        check_values(x, 3);
        check_squares(x, 3);
      }
  return report("exact");
}
