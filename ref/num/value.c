#include "value.h"

#include "exact.h"
#include "half.h"

/* m * 2^r.
 * m: below 2^24. r: 0 to 31. Errors: none.
 * spec: SUM-5
 */
/*@ requires range: 0 <= m < 16777216 && 0 <= r <= 31;
    terminates \true; exits \false;
    assigns \nothing;
    ensures range: 0 <= \result < 36028797018963968;
*/
static uint64_t times_power(uint64_t m, uint32_t r)
{
  uint64_t t = m;
  if (r % 2u == 1u) t *= 2u;
  if (r / 2u % 2u == 1u) t *= 4u;
  if (r / 4u % 2u == 1u) t *= 16u;
  if (r / 8u % 2u == 1u) t *= 256u;
  if (r / 16u == 1u) t *= 65536u;
  return t;
}

/* Adds fp32 pattern u to one element's sum; a non-finite u adds nothing.
 * limb: (ZP_VAL_LIMBS), each of magnitude at most 2^62. Errors: none.
 * spec: SUM-5
 */
/*@ requires valid: \valid(limb + (0 .. 8));
    requires small: \forall integer k; 0 <= k < 9 ==>
      -4611686018427387904 <= limb[k] <= 4611686018427387904;
    terminates \true; exits \false;
    assigns limb[0 .. 8];
    ensures step: \forall integer k; 0 <= k < 9 ==>
      -4294967296 < limb[k] - \old(limb[k]) < 4294967296;
*/
static inline void add_value(int64_t *limb, uint32_t u)
{
  uint32_t be = u / 8388608u % 256u, fr = u % 8388608u;
  if (be == 255u) return;
  uint32_t e = be == 0 ? 0 : be - 1;
  uint64_t m = be == 0 ? fr : fr + 8388608u;
  uint64_t t = times_power(m, e % 32u);
  uint32_t q = e / 32u;
  int64_t low = (int64_t)(t % 4294967296u), high = (int64_t)(t / 4294967296u);
  //@ assert q_range: q <= 7;
  limb[q] += u / 2147483648u == 1u ? -low : low;
  limb[q + 1] += u / 2147483648u == 1u ? -high : high;
}

void zp_val_add_f32(int64_t *limbs, const uint32_t *x, int64_t n)
{
  /*@ loop invariant i_range: 0 <= i <= n;
      loop invariant rest: \forall integer k; 9 * i <= k < 9 * n ==> limbs[k] == \at(limbs[k],Pre);
      loop assigns i, limbs[0 .. 9 * n - 1];
      loop variant n - i; */
  for (int64_t i = 0; i < n; i++) add_value(limbs + ZP_VAL_LIMBS * i, x[i]);
}

void zp_val_add_bf16(int64_t *limbs, const uint16_t *x, int64_t n)
{
  /*@ loop invariant i_range: 0 <= i <= n;
      loop invariant rest: \forall integer k; 9 * i <= k < 9 * n ==> limbs[k] == \at(limbs[k],Pre);
      loop assigns i, limbs[0 .. 9 * n - 1];
      loop variant n - i; */
  for (int64_t i = 0; i < n; i++) add_value(limbs + ZP_VAL_LIMBS * i, zp_f32_from_bf16(x[i]));
}

void zp_val_add_f16(int64_t *limbs, const uint16_t *x, int64_t n)
{
  /*@ loop invariant i_range: 0 <= i <= n;
      loop invariant rest: \forall integer k; 9 * i <= k < 9 * n ==> limbs[k] == \at(limbs[k],Pre);
      loop assigns i, limbs[0 .. 9 * n - 1];
      loop variant n - i; */
  for (int64_t i = 0; i < n; i++) add_value(limbs + ZP_VAL_LIMBS * i, zp_f32_from_f16(x[i]));
}

void zp_val_normalise(int64_t *limbs, int64_t n)
{
  /*@ loop invariant i_range: 0 <= i <= n;
      loop invariant done: \forall integer j, q; 0 <= j < i && 0 <= q < 8 ==>
        0 <= limbs[9 * j + q] < 4294967296;
      loop invariant rest: \forall integer k; 9 * i <= k < 9 * n ==> limbs[k] == \at(limbs[k],Pre);
      loop assigns i, limbs[0 .. 9 * n - 1];
      loop variant n - i; */
  for (int64_t i = 0; i < n; i++) zp_limbs_normalise(limbs + ZP_VAL_LIMBS * i, ZP_VAL_LIMBS);
}

/* Limbs of a carried sum: the top limb of 2^62 gets a limb of its own for what is above 2^32. */
enum { CARRIED_LIMBS = ZP_VAL_LIMBS + 1 };

/* A long division in the making: rem is what is left of the bits taken so far, q the quotient's
 * leading bits, `last` the index of the bit taken last (320 at the start).
 */
typedef struct div_state {
  uint64_t q, rem;
  int32_t last;
  int32_t lower; /* 1 if a bit below `last` is not zero */
} div_state;

/* Takes one more bit of the dividend: schoolbook division, one quotient bit a bit.
 * st: rem < divisor, q < 2^24. bit: 0 or 1. divisor: at most 2^40. Errors: none.
 * spec: SUM-7
 */
/*@ requires valid: \valid(st);
    requires range: 0 <= bit <= 1 && 1 <= divisor <= 1099511627776;
    requires state: 0 <= st->rem < divisor && 0 <= st->q < 16777216;
    terminates \true; exits \false;
    assigns st->q, st->rem;
    ensures rem: 0 <= st->rem < divisor;
    ensures grown: st->q == 2 * \old(st->q) || st->q == 2 * \old(st->q) + 1;
    ensures value: st->q * divisor + st->rem ==
      2 * (\old(st->q) * divisor + \old(st->rem)) + bit;
*/
static void take_bit(div_state *st, uint64_t bit, uint64_t divisor)
{
  uint64_t rem = 2u * st->rem + bit;
  int one = rem >= divisor;
  st->rem = one ? rem - divisor : rem;
  st->q = 2u * st->q + (one ? 1u : 0u);
}

/* The 25 leading bits of magnitude / divisor or, when the quotient is smaller, all its bits and
 * one more (the half).
 * limb: (CARRIED_LIMBS), canonical including the top limb. divisor: 1 to 2^40. Errors: none.
 * spec: SUM-7
 */
/*@ requires valid: \valid_read(limb + (0 .. 9));
    requires canonical: Canonical(limb, 10);
    requires divisor: 1 <= divisor <= 1099511627776;
    terminates \true; exits \false;
    assigns \nothing;
    ensures range: 0 <= \result.q < 33554432 && -1 <= \result.last <= 320;
*/
static div_state leading_quotient(const int64_t *limb, uint64_t divisor)
{
  div_state st = {0, 0, 32 * CARRIED_LIMBS, 0};
  /*@ loop invariant i_range: -1 <= i <= 9;
      loop invariant state: 0 <= st.q < 33554432 && 0 <= st.rem < divisor;
      loop invariant last: 0 <= st.last <= 320;
      loop invariant lower: st.lower == 0 || st.lower == 1;
      loop assigns i, st;
      loop variant i; */
  for (int32_t i = CARRIED_LIMBS - 1; i >= 0; i--) {
    uint64_t v = (uint64_t)limb[i];
    if (v == 0 && st.q == 0 && st.rem == 0) {
      st.last = 32 * i; /* leading zeros: all 32 bits taken at once */
      continue;
    }
    /*@ loop invariant j_range: 0 <= j <= 32;
        loop invariant v_range: 0 <= v < 4294967296;
        loop invariant state: 0 <= st.q < 33554432 && 0 <= st.rem < divisor;
        loop invariant last: 0 <= st.last <= 320;
        loop invariant lower: st.lower == 0 || st.lower == 1;
        loop assigns j, v, st;
        loop variant 32 - j; */
    for (int32_t j = 0; j < 32 && st.q < 16777216u; j++) {
      take_bit(&st, v / 2147483648u, divisor);
      v = v % 2147483648u * 2u;
      st.last = 32 * i + 31 - j;
    }
    if (v != 0) st.lower = 1;
  }
  if (st.q < 16777216u) {
    take_bit(&st, 0, divisor);
    st.last -= 1;
  }
  return st;
}

/* Replaces canonical limbs with a negative top limb by those of the opposite number.
 * limb: (CARRIED_LIMBS), limbs 0 to 8 in [0, 2^32), top limb above -2^32. Errors: none.
 * spec: SUM-7
 */
/*@ requires valid: \valid(limb + (0 .. 9));
    requires canonical: Canonical(limb, 9) && -4294967296 < limb[9] < 0;
    terminates \true; exits \false;
    assigns limb[0 .. 9];
    ensures canonical: Canonical(limb, 10);
    ensures opposite: LimbSum(limb, 10) == -\old(LimbSum(limb, 10));
*/
static void negate(int64_t *limb)
{
  /*@ loop invariant i_range: 0 <= i <= 10;
      loop invariant done: \forall integer k; 0 <= k < i ==> limb[k] == -\at(limb[k],Pre);
      loop invariant rest: \forall integer k; i <= k < 10 ==> limb[k] == \at(limb[k],Pre);
      loop assigns i, limb[0 .. 9];
      loop variant 10 - i; */
  for (int32_t i = 0; i < CARRIED_LIMBS; i++) limb[i] = -limb[i];
  zp_limbs_normalise(limb, CARRIED_LIMBS);
}

uint32_t zp_val_mean_f32(const int64_t limb[ZP_VAL_LIMBS], int64_t divisor)
{
  int64_t a[CARRIED_LIMBS];
  /*@ loop invariant i_range: 0 <= i <= 9;
      loop invariant copied: \forall integer k; 0 <= k < i ==> a[k] == limb[k];
      loop assigns i, a[0 .. 9];
      loop variant 9 - i; */
  for (int32_t i = 0; i < ZP_VAL_LIMBS; i++) a[i] = limb[i];
  a[ZP_VAL_LIMBS] = 0;
  zp_limbs_normalise(a, CARRIED_LIMBS);
  uint32_t sign = a[ZP_VAL_LIMBS] < 0 ? 2147483648u : 0u;
  if (sign != 0) negate(a);
  div_state st = leading_quotient(a, (uint64_t)divisor);
  if (st.q == 0 && st.rem == 0) return 0;
  uint32_t q = (uint32_t)(st.q / 2u);
  int half = st.q % 2u == 1u, more = st.rem != 0 || st.lower != 0;
  if (half && (more || q % 2u == 1u)) q += 1u;
  /* q * 2^(last + 1 - 149), the pattern as in zp_norm_f32: the leading bit of q is one exponent */
  uint64_t bits = (uint64_t)(st.last + 1) * 8388608u + q;
  if (bits > 2139095040u) bits = 2139095040u;
  return sign + (uint32_t)bits;
}
