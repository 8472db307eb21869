/* The rate is lr · (floor + (1 − floor)·c) with c the decay's factor, a fraction. lr and floor are
 * integers times powers of two, so the product is an integer N over one denominator. c is rational
 * for warm-up, for linear decay, and for a cosine of 0, ±1/2 and ±1; every other cosine of a
 * rational multiple of π is irrational (Niven), and c is enclosed between two multiples of 2^-384.
 * N is rounded to 53 bits at both ends of the enclosure; equal results are the exact one's, since
 * rounding is monotonic. spec: OPT-8 */
#include "lr_schedule.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define FLOOR_LEAST 1e-9

/* ---- Natural numbers ------------------------------------------------------------------------- */

/* 32-bit limbs, the least first. The largest number is below 2^1000. */
enum { LIMBS = 32, FRACTION = 12 /* limbs of a fixed-point number below its point */ };

typedef struct big {
  uint32_t limb[LIMBS];
} big;

static big big_of(uint64_t x)
{
  big a = {{(uint32_t)x, (uint32_t)(x >> 32)}};
  return a;
}

static big big_add(const big *a, const big *b)
{
  big sum;
  uint64_t carry = 0;
  for (int i = 0; i < LIMBS; i++) {
    carry += (uint64_t)a->limb[i] + b->limb[i];
    sum.limb[i] = (uint32_t)carry;
    carry >>= 32;
  }
  return sum;
}

/* a − b, for a ≥ b. */
static big big_subtract(const big *a, const big *b)
{
  big rest;
  uint32_t borrow = 0;
  for (int i = 0; i < LIMBS; i++) {
    const uint64_t x = (uint64_t)a->limb[i] - b->limb[i] - borrow;
    rest.limb[i] = (uint32_t)x;
    borrow = x >> 63 != 0;
  }
  return rest;
}

static big big_multiply(const big *a, const big *b)
{
  big product = {{0}};
  for (int i = 0; i < LIMBS; i++) {
    uint64_t carry = 0;
    for (int j = 0; i + j < LIMBS; j++) {
      carry += (uint64_t)a->limb[i] * b->limb[j] + product.limb[i + j];
      product.limb[i + j] = (uint32_t)carry;
      carry >>= 32;
    }
  }
  return product;
}

/* *a becomes ⌊a / d⌋; returns the remainder. d > 0. */
static uint32_t big_divide(big *a, uint32_t d)
{
  uint64_t rest = 0;
  for (int i = LIMBS - 1; i >= 0; i--) {
    rest = rest << 32 | a->limb[i];
    a->limb[i] = (uint32_t)(rest / d);
    rest %= d;
  }
  return (uint32_t)rest;
}

/* a · 2^(32·limbs), without the limbs below the point if that is negative. */
static big big_shift(const big *a, int limbs)
{
  big b = {{0}};
  for (int i = 0; i < LIMBS; i++)
    if (i - limbs >= 0 && i - limbs < LIMBS) b.limb[i] = a->limb[i - limbs];
  return b;
}

static int big_bit(const big *a, int i)
{
  return i >= 0 && i < 32 * LIMBS && (a->limb[i / 32] >> i % 32 & 1);
}

static int big_length(const big *a)
{
  int n = 32 * LIMBS;
  while (n > 0 && !big_bit(a, n - 1)) n--;
  return n;
}

/* a · 2^e rounded to the nearest fp64 number, ties to even; more: the number is a little larger
 * than that. Below 2^200; a is 0 or has at least 54 bits. */
static double big_round(const big *a, int more, int e)
{
  const int length = big_length(a);
  const int last = length + e - 53 > -1074 ? length + e - 53 : -1074; /* place of the last bit */
  const int cut = last - e;
  uint64_t q = 0, bits;
  double x;
  int half, below = more;
  if (length == 0) return 0;
  for (int i = 52; i >= 0; i--) q = q << 1 | (uint64_t)big_bit(a, cut + i);
  half = big_bit(a, cut - 1);
  for (int i = 0; i < cut - 1; i++) below |= big_bit(a, i);
  q += half && (below || (q & 1));
  bits = ((uint64_t)(last + 1074) << 52) + q; /* a carry of q increases the exponent */
  memcpy(&x, &bits, sizeof x);
  return x;
}

/* x = m · 2^e, for a finite x ≥ 0; also for -0. */
static uint64_t take_apart(double x, int *e)
{
  uint64_t bits;
  memcpy(&bits, &x, sizeof bits);
  const int exponent = (int)(bits >> 52 & 0x7ff);
  const uint64_t m = bits & (((uint64_t)1 << 52) - 1);
  *e = (exponent > 0 ? exponent : 1) - 1075;
  return exponent > 0 ? m | (uint64_t)1 << 52 : m;
}

/* ---- Cosine ---------------------------------------------------------------------------------- */

/* ⌊π · 2^384⌋ */
static const big pi = {{0x34e90c6c, 0xbe5466cf, 0x38d01377, 0x452821e6, 0xec4e6c89, 0x082efa98,
                        0x299f31d0, 0xa4093822, 0x03707344, 0x13198a2e, 0x85a308d3, 0x243f6a88,
                        0x00000003}};

/* In units of 2^-384: how far cosine_square's result is from the exact number, at most. θ is
 * wrong by 2, θ² by 5, each term of the series by 6, the sum of fewer than 64 terms by 400, its
 * square by 801. */
enum { COSINE_ERROR = 1024 };

/* cos²(πk/2n) · 2^384, for 0 < k and 2k ≤ n: the angle is at most π/4. */
static big cosine_square(uint32_t k, uint32_t n)
{
  const big one = big_of(1), factor = big_of(k);
  big sum = big_shift(&one, FRACTION), term = sum, angle = big_multiply(&pi, &factor), square;
  big_divide(&angle, 2 * n);
  square = big_multiply(&angle, &angle);
  square = big_shift(&square, -FRACTION);
  for (uint32_t j = 1; big_length(&term) > 0; j++) {
    term = big_multiply(&term, &square);
    term = big_shift(&term, -FRACTION);
    big_divide(&term, (2 * j - 1) * (2 * j));
    sum = j % 2 == 1 ? big_subtract(&sum, &term) : big_add(&sum, &term);
  }
  sum = big_multiply(&sum, &sum);
  return big_shift(&sum, -FRACTION);
}

/* ---- Factors --------------------------------------------------------------------------------- */

/* A factor from `least` to `most`, in units of 1/(divisor · 2^384). */
typedef struct factor {
  big least, most;
  uint32_t divisor;
} factor;

static factor rational(uint32_t numerator, uint32_t denominator)
{
  const big a = big_of(numerator), scaled = big_shift(&a, FRACTION);
  const factor f = {scaled, scaled, denominator};
  return f;
}

/* (1 + cos πk/n) / 2, for 0 ≤ k ≤ n. */
static factor cosine(uint32_t k, uint32_t n)
{
  const big one = big_of(1), whole = big_shift(&one, FRACTION), error = big_of(COSINE_ERROR);
  factor f;
  big c;
  if (k == 0 || k == n) return rational(k == 0, 1);
  if (2 * k == n) return rational(1, 2);
  if (3 * (uint64_t)k == n) return rational(3, 4);
  if (3 * (uint64_t)k == 2 * (uint64_t)n) return rational(1, 4);
  c = cosine_square(2 * k < n ? k : n - k, n);
  if (2 * k > n) c = big_subtract(&whole, &c);
  f.least = big_subtract(&c, &error);
  f.most = big_add(&c, &error);
  f.divisor = 1;
  return f;
}

/* The floor and 1 − floor are multiples of 2^-96. */
enum { FLOOR_LIMBS = 3 };

/* peak · (floor + (1 − floor) · c), where c = numerator / (divisor · 2^384). */
static double rate_of(double peak, double floor, const big *numerator, uint32_t divisor)
{
  const big one = big_of(1), whole = big_shift(&one, FLOOR_LIMBS);
  int e_floor, e_peak;
  const uint64_t m_floor = take_apart(floor, &e_floor), m_peak = take_apart(peak, &e_peak);
  big low = big_of(m_floor), factor = big_of(m_peak), rest, n;
  uint32_t left;
  /* floor · 2^96 is an integer: 0, or floor ≥ 2^-30, the last of whose 53 bits is at least 2^-82 */
  for (e_floor += 32 * FLOOR_LIMBS; m_floor > 0 && e_floor > 0; e_floor--)
    low = big_add(&low, &low);
  rest = big_subtract(&whole, &low);
  n = big_of(divisor);
  low = big_multiply(&low, &n);
  low = big_shift(&low, FRACTION);
  rest = big_multiply(&rest, numerator);
  n = big_add(&low, &rest);
  n = big_multiply(&n, &factor);
  n = big_shift(&n, 4); /* 128 more bits of the quotient, so that it has enough for any divisor */
  left = big_divide(&n, divisor);
  return big_round(&n, left != 0, e_peak - 32 * (FLOOR_LIMBS + FRACTION + 4));
}

double zp_lr_schedule_rate(const zp_lr_schedule *s, double peak, int64_t step)
{
  const uint32_t n = (uint32_t)(s->total - s->warmup), left = (uint32_t)(s->total - step);
  double floor = s->floor, least, most;
  factor c;
  if (s->kind == ZP_LR_CONSTANT) return peak;
  if (step < s->warmup) {
    c = rational((uint32_t)step, (uint32_t)s->warmup);
    floor = 0;
  } else if (step >= s->total) c = rational(0, 1);
  else if (s->kind == ZP_LR_LINEAR) c = rational(left, n);
  else c = cosine(n - left, n);
  least = rate_of(peak, floor, &c.least, c.divisor);
  most = rate_of(peak, floor, &c.most, c.divisor);
  return memcmp(&least, &most, sizeof least) == 0 ? least : __builtin_nan("");
}

void zp_lr_schedule_hyper(const zp_lr_schedule *schedule, const zp_hyper *peak, int64_t step,
                          zp_hyper *now)
{
  if (now != peak) *now = *peak;
  for (int32_t g = 0; g < now->groups; g++)
    now->optim[g].lr = zp_lr_schedule_rate(schedule, peak->optim[g].lr, step);
}

/* ---- Text ------------------------------------------------------------------------------------ */

static const char *const kinds[3] = {"constant", "linear", "cosine"};

/* A whole number up to the next comma or the end, to which *text moves; -1: no number. */
static int64_t read_steps(const char **text)
{
  int64_t n = 0;
  const char *p = *text;
  for (; *p >= '0' && *p <= '9' && n <= ZP_LR_STEPS_MAX; p++) n = 10 * n + (*p - '0');
  if (p == *text || (*p != 0 && *p != ',')) return -1;
  *text = p;
  return n;
}

/* 0, or -1 where the text is not of the form. The ranges are the caller's. */
static int read_numbers(const char *text, zp_lr_schedule *s)
{
  char *end;
  s->warmup = read_steps(&text);
  if (s->warmup < 0 || *text++ != ',') return -1;
  s->total = read_steps(&text);
  if (s->total < 0) return -1;
  if (*text == 0) return 0;
  text++;
  /* strtod accepts more: signs, hexadecimal, infinity */
  if (*text < '0' || *text > '9' || text[strspn(text, "0123456789.eE+-")] != 0) return -1;
  s->floor = strtod(text, &end);
  return *end == 0 ? 0 : -1;
}

int zp_lr_schedule_parse(const char *text, zp_lr_schedule *schedule, zp_error *err)
{
  zp_lr_schedule s = {0};
  if (strcmp(text, kinds[0]) == 0) return *schedule = s, 0;
  for (int32_t k = 1; k < 3; k++) {
    const size_t n = strlen(kinds[k]);
    if (strncmp(text, kinds[k], n) == 0 && text[n] == ':' && read_numbers(text + n + 1, &s) == 0)
      s.kind = k;
  }
  if (s.kind == ZP_LR_CONSTANT)
    return zp_fail(err, ZP_E_REFUSED, -1,
                   "'%.60s' is not a schedule; write constant, linear:WARMUP,TOTAL[,FLOOR] or "
                   "cosine:WARMUP,TOTAL[,FLOOR], in steps and a fraction of the learning rate, as "
                   "in cosine:100,2000,0.1",
                   text);
  if (s.total < 1 || s.total > ZP_LR_STEPS_MAX)
    return zp_fail(err, ZP_E_REFUSED, -1, "'%.60s': TOTAL is out of range; allowed is 1 to %d",
                   text, ZP_LR_STEPS_MAX);
  if (s.warmup >= s.total)
    return zp_fail(err, ZP_E_REFUSED, -1,
                   "'%.60s': WARMUP is part of TOTAL and must be less than it; allowed is 0 to "
                   "%lld",
                   text, (long long)s.total - 1);
  if (!(s.floor == 0 || (s.floor >= FLOOR_LEAST && s.floor <= 1)))
    return zp_fail(err, ZP_E_REFUSED, -1,
                   "'%.60s': FLOOR is a fraction of the learning rate; allowed is 0, and 1e-9 to 1",
                   text);
  *schedule = s;
  return 0;
}

const char *zp_lr_schedule_text(const zp_lr_schedule *s, char text[ZP_LR_TEXT])
{
  char floor[32] = "";
  if (s->floor > 0) snprintf(floor, sizeof floor, ",%.15g", s->floor);
  if (s->floor > 0 && strtod(floor + 1, NULL) != s->floor)
    snprintf(floor, sizeof floor, ",%.17g", s->floor);
  if (s->kind == ZP_LR_CONSTANT) snprintf(text, ZP_LR_TEXT, "%s", kinds[0]);
  else
    snprintf(text, ZP_LR_TEXT, "%s:%lld,%lld%s", kinds[s->kind], (long long)s->warmup,
             (long long)s->total, floor);
  return text;
}
