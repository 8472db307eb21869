/* The rounded mean of an exact sum, by long division of its limbs. This file is separate from
 * value.c because its proofs use other lemmas.
 */
#include "../../spec/acsl/bounds.h"
#include "../../spec/acsl/exact.acsl.h"
#include "../../spec/acsl/value_division.h"
#include "../../spec/acsl/value_from.h"
#include "../../spec/acsl/value_opposite.h"
#include "../../spec/acsl/value_powers.h"
#include "../../spec/acsl/value_rounding.h"
#include "exact.h"
#include "value.h"

/* Limbs of a carried sum: one more than ZP_VAL_LIMBS, for the part of the top limb above 2^32. */
enum { CARRIED_LIMBS = ZP_VAL_LIMBS + 1 };

/* State of the long division: rem is the remainder of the bits processed so far, q the quotient's
 * leading bits, `last` the index of the bit processed last (320 at the start).
 */
typedef struct div_state {
  uint64_t q, rem;
  int32_t last;
  int32_t lower; /* 1 if a bit below `last` is not zero */
} div_state;

/* Processes one more bit of the dividend: schoolbook division, one quotient bit per bit.
 * st: rem < divisor, q < 2^24. bit: 0 or 1. divisor: 1 to 2^40. Errors: none.
 * spec: SUM-7
 */
/*@ requires valid: \valid(st);
    requires range: 0 <= bit <= 1 && 1 <= divisor <= ZP_LIMIT_CONTRIBUTIONS;
    requires state: 0 <= st->rem < divisor && 0 <= st->q < 16777216;
    terminates \true; exits \false;
    assigns st->q, st->rem;
    ensures rem: 0 <= st->rem < divisor;
    ensures grown: st->q == 2 * \old(st->q) || st->q == 2 * \old(st->q) + 1;
    ensures value: Times(st->q, divisor) + st->rem ==
      2 * (Times(\old(st->q), divisor) + \old(st->rem)) + bit;
*/
static void take_bit(div_state *st, uint64_t bit, uint64_t divisor)
{
  uint64_t rem = 2u * st->rem + bit;
  int one = rem >= divisor;
  st->rem = one ? rem - divisor : rem;
  st->q = 2u * st->q + (one ? 1u : 0u);
}

/* Processes the bits of word v, highest first, until q has 25 bits. Returns v shifted left by the
 * number of bits processed: 0 if the remaining bits are 0.
 * st: rem < divisor, q < 2^24, last 32 to 320. v: below 2^32. divisor: 1 to 2^40. Errors: none.
 * spec: SUM-7
 */
/*@ requires valid: \valid(st);
    requires range: 0 <= v < 4294967296 && 1 <= divisor <= ZP_LIMIT_CONTRIBUTIONS;
    requires state: 0 <= st->rem < divisor && 0 <= st->q < 16777216;
    requires last: 32 <= st->last <= 320;
    terminates \true; exits \false;
    assigns st->q, st->rem, st->last;
    ensures state: 0 <= st->rem < divisor && 0 <= st->q < 33554432;
    ensures last: \old(st->last) - 32 <= st->last <= \old(st->last);
    ensures all: st->q < 16777216 ==> st->last == \old(st->last) - 32;
    ensures extracted: WordExtracted(4294967296 * (Times(\old(st->q), divisor) + \old(st->rem)) + v,
      st->last - \old(st->last) + 32, Times(st->q, divisor) + st->rem, \result);
*/
static uint64_t take_word(div_state *st, uint64_t v, uint64_t divisor)
{
  /*@ loop invariant j_range: 0 <= j <= 32;
      loop invariant v_range: 0 <= v < 4294967296;
      loop invariant state: 0 <= st->rem < divisor && 0 <= st->q < 33554432;
      loop invariant last: st->last == \at(st->last,Pre) - j;
      loop invariant extracted:
        Shift2(32 - j, 4294967296 * (Times(st->q, divisor) + st->rem) + v) ==
        Shift2(32, 4294967296 * \at(Times(st->q, divisor) + st->rem,Pre) + \at(v,Pre));
      loop assigns j, v, st->q, st->rem, st->last;
      loop variant 32 - j; */
  for (int32_t j = 0; j < 32 && st->q < 16777216u; j++) {
    //@ ghost B: ;
    take_bit(st, v / 2147483648u, divisor);
    v = v % 2147483648u * 2u;
    st->last -= 1;
    /*@ assert double: 4294967296 * (Times(st->q, divisor) + st->rem) + v ==
          2 * \at(4294967296 * (Times(st->q, divisor) + st->rem) + v,B); */
    /*@ assert moved: Shift2(32 - j, \at(4294967296 * (Times(st->q, divisor) + st->rem) + v,B)) ==
          Shift2(31 - j, 4294967296 * (Times(st->q, divisor) + st->rem) + v); */
  }
  return v;
}

/* Processes the bits of limb i of the dividend until the quotient is complete.
 * st: the state of leading_quotient after limbs 9 to i + 1, not overlapping limb. limb:
 * (CARRIED_LIMBS), canonical including the top limb. 0 <= i < 10. divisor: 1 to 2^40. Errors: none.
 * spec: SUM-7
 */
/*@ requires valid: \valid(st) && \valid_read(limb + (0 .. 9));
    requires apart: \separated(st, limb + (0 .. 9));
    requires canonical: Canonical(limb, 10) && 0 <= i < 10;
    requires divisor: 1 <= divisor <= ZP_LIMIT_CONTRIBUTIONS;
    requires state: 0 <= st->q < 33554432 && 0 <= st->rem < divisor;
    requires last: 32 * (i + 1) <= st->last <= 320;
    requires open: st->q < 16777216 ==> st->lower == 0 && st->last == 32 * (i + 1);
    requires lower: st->lower == 0 || st->lower == 1;
    terminates \true; exits \false;
    assigns *st;
    ensures state: 0 <= st->q < 33554432 && 0 <= st->rem < divisor;
    ensures last: 32 * i <= st->last <= 320;
    ensures open: st->q < 16777216 ==> st->lower == 0 && st->last == 32 * i;
    ensures lower: st->lower == 0 || st->lower == 1;
    ensures extracted: \forall integer a; BitsExtracted(a, LimbSum(limb, i + 1), \old(st->last),
        \old(Times(st->q, divisor) + st->rem), \old(st->lower)) ==>
      BitsExtracted(a, LimbSum(limb, i), st->last, Times(st->q, divisor) + st->rem, st->lower);
*/
static void take_limb(div_state *st, const int64_t *limb, int32_t i, uint64_t divisor)
{
  uint64_t v = (uint64_t)limb[i];
  //@ assert unfold: LimbSum(limb, i + 1) == LimbSum(limb, i) + Shift32(i, v);
  //@ assert below: 0 <= LimbSum(limb, i) < Shift32(i, 1);
  if (v == 0 && st->q == 0 && st->rem == 0) {
    st->last = 32 * i; /* leading zeros: all 32 bits are processed at once */
    /*@ assert zeros: \forall integer a; BitsExtracted(a, LimbSum(limb, i + 1), \at(st->last,Pre),
          0, 0) ==> BitsExtracted(a, LimbSum(limb, i), st->last, 0, 0); */
    return;
  }
  if (st->q >= 16777216u) {
    if (v != 0) st->lower = 1;
    /*@ assert stopped: \forall integer a; BitsExtracted(a, LimbSum(limb, i + 1), st->last,
          Times(st->q, divisor) + st->rem, \at(st->lower,Pre)) ==>
        BitsExtracted(a, LimbSum(limb, i),
          st->last, Times(st->q, divisor) + st->rem, st->lower); */
    return;
  }
  uint64_t left = take_word(st, v, divisor);
  if (left != 0) st->lower = 1;
  /*@ assert sum: \forall integer a; BitsExtracted(a, LimbSum(limb, i + 1), \at(st->last,Pre),
        \at(Times(st->q, divisor) + st->rem,Pre), 0) ==> a == LimbSum(limb, i) +
          Shift32(i, 4294967296 * \at(Times(st->q, divisor) + st->rem,Pre) + v); */
  /*@ assert bits: \forall integer a; a == LimbSum(limb, i) +
          Shift32(i, 4294967296 * \at(Times(st->q, divisor) + st->rem,Pre) + v) ==>
        BitsExtracted(a, LimbSum(limb, i), st->last, Times(st->q, divisor) + st->rem, st->lower); */
}

/* The 25 leading bits of magnitude / divisor or, if the quotient has fewer, all its bits and one
 * more (the half).
 * limb: (CARRIED_LIMBS), canonical including the top limb. divisor: 1 to 2^40. Errors: none.
 * spec: SUM-7
 */
/*@ requires valid: \valid_read(limb + (0 .. 9));
    requires canonical: Canonical(limb, 10);
    requires divisor: 1 <= divisor <= ZP_LIMIT_CONTRIBUTIONS;
    terminates \true; exits \false;
    assigns \nothing;
    ensures range: 0 <= \result.q < 33554432 && -1 <= \result.last <= 320;
    ensures full: \result.q < 16777216 ==> \result.last == -1;
    ensures floor: QuotientFloor(LimbSum(limb, 10), \result.last + 1, divisor, \result.q,
      \result.rem, \result.lower);
*/
static div_state leading_quotient(const int64_t *limb, uint64_t divisor)
{
  div_state st = {0, 0, 32 * CARRIED_LIMBS, 0};
  /*@ loop invariant i_range: -1 <= i <= 9;
      loop invariant state: 0 <= st.q < 33554432 && 0 <= st.rem < divisor;
      loop invariant last: 32 * (i + 1) <= st.last <= 320;
      loop invariant open: st.q < 16777216 ==> st.lower == 0 && st.last == 32 * (i + 1);
      loop invariant lower: st.lower == 0 || st.lower == 1;
      loop invariant same: LimbSum(limb, 10) == LimbSum{Pre}(limb, 10);
      loop invariant extracted: BitsExtracted(LimbSum(limb, 10), LimbSum(limb, i + 1), st.last,
        Times(st.q, divisor) + st.rem, st.lower);
      loop assigns i, st;
      loop variant i; */
  for (int32_t i = CARRIED_LIMBS - 1; i >= 0; i--) take_limb(&st, limb, i, divisor);
  /*@ assert all: BitsExtracted(LimbSum(limb, 10), 0, st.last, Times(st.q, divisor) + st.rem,
        st.lower); */
  if (st.q < 16777216u) {
    take_bit(&st, 0, divisor);
    st.last -= 1;
    //@ assert half: QuotientFloor(LimbSum(limb, 10), 0, divisor, st.q, st.rem, st.lower);
    return st;
  }
  //@ assert whole: QuotientFloor(LimbSum(limb, 10), st.last + 1, divisor, st.q, st.rem, st.lower);
  return st;
}

/* Replaces canonical limbs with a negative top limb by those of the negated number.
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
  //@ assert above: Shift32(9, limb[9]) <= LimbSum(limb, 10) < Shift32(9, limb[9] + 1);
  /*@ loop invariant i_range: 0 <= i <= 10;
      loop invariant done: \forall integer k; 0 <= k < i ==> limb[k] == -\at(limb[k],Pre);
      loop invariant rest: \forall integer k; i <= k < 10 ==> limb[k] == \at(limb[k],Pre);
      loop assigns i, limb[0 .. 9];
      loop variant 10 - i; */
  for (int32_t i = 0; i < CARRIED_LIMBS; i++) limb[i] = -limb[i];
  //@ assert opposite: LimbSum(limb, 10) == -LimbSum{Pre}(limb, 10);
  //@ assert range: 0 < LimbSum(limb, 10) <= Shift32(9, -\at(limb[9],Pre));
  zp_limbs_normalise(limb, CARRIED_LIMBS);
  //@ assert top: 0 <= limb[9] < 4294967296;
}

/* q / 2, rounded to nearest even. q's last bit is the half; the bits below it are all zero iff rem
 * and lower are 0.
 * st: from leading_quotient. Errors: none.
 * spec: SUM-7
 */
/*@ requires valid: \valid_read(st);
    requires range: 0 <= st->q < 33554432;
    terminates \true; exits \false;
    assigns \nothing;
    ensures half: RoundedHalf(st->q, st->rem, st->lower, \result);
*/
static uint32_t rounded(const div_state *st)
{
  uint32_t q = (uint32_t)(st->q / 2u);
  int half = st->q % 2u == 1u, more = st->rem != 0 || st->lower != 0;
  return half && (more || q % 2u == 1u) ? q + 1u : q;
}

/* The fp32 pattern nearest to the quotient that st holds, without its sign.
 * st: from leading_quotient. Errors: none.
 * spec: SUM-7
 */
/*@ requires valid: \valid_read(st);
    requires range: 0 <= st->q < 33554432 && -1 <= st->last <= 320;
    requires full: st->q < 16777216 ==> st->last == -1;
    terminates \true; exits \false;
    assigns \nothing;
    ensures range: 0 <= \result <= 2139095040;
    ensures nearest: \forall integer w, n; 0 < n &&
      QuotientFloor(w, st->last + 1, n, st->q, st->rem, st->lower) ==>
      RoundedMagnitude(w, n, \result);
*/
static uint32_t pattern_of(const div_state *st)
{
  uint32_t q = rounded(st);
  /* q * 2^(last + 1 - 149), the pattern as in zp_norm_f32: the leading bit of q is one exponent */
  uint64_t bits = (uint64_t)(st->last + 1) * 8388608u + q;
  //@ assert pattern: bits == 8388608 * (st->last + 1) + q;
  return bits > 2139095040u ? 2139095040u : (uint32_t)bits;
}

uint32_t zp_val_mean_f32(const int64_t limb[ZP_VAL_LIMBS], int64_t divisor)
{
  int64_t a[CARRIED_LIMBS] = {0};
  /*@ loop invariant i_range: 0 <= i <= 9;
      loop invariant copied: \forall integer k; 0 <= k < i ==> a[k] == limb[k];
      loop assigns i, a[0 .. 9];
      loop variant 9 - i; */
  for (int32_t i = 0; i < ZP_VAL_LIMBS; i++) a[i] = limb[i];
  a[ZP_VAL_LIMBS] = 0;
  //@ assert copy: LimbSum(&a[0], 9) == LimbSum(limb, 9);
  //@ assert extended: LimbSum(&a[0], 10) == LimbSum(limb, 9);
  /*@ assert limbs: \forall integer k; 0 <= k < 9 ==>
        -9223372028264841216 <= limb[k] <= 9223372028264841216; */
  /*@ assert small: \forall integer k; 0 <= k < 10 ==>
        -9223372028264841216 <= a[k] <= 9223372028264841216; */
  zp_limbs_normalise(a, CARRIED_LIMBS);
  //@ assert carried: LimbSum(&a[0], 10) == LimbSum(limb, 9);
  uint32_t sign = a[ZP_VAL_LIMBS] < 0 ? 2147483648u : 0u;
  //@ assert sign: sign != 0 <==> LimbSum(limb, 9) < 0;
  if (sign != 0) negate(a);
  //@ assert opposite: LimbSum(limb, 9) < 0 ==> LimbSum(&a[0], 10) == -LimbSum(limb, 9);
  //@ assert same: 0 <= LimbSum(limb, 9) ==> LimbSum(&a[0], 10) == LimbSum(limb, 9);
  div_state st = leading_quotient(a, (uint64_t)divisor);
  //@ assert zero: st.q == 0 && st.rem == 0 ==> LimbSum(&a[0], 10) == 0;
  if (st.q == 0 && st.rem == 0) return 0;
  //@ assert positive: 0 < LimbSum(&a[0], 10);
  uint32_t magnitude = pattern_of(&st);
  //@ assert nearest: RoundedMagnitude(LimbSum(&a[0], 10), divisor, magnitude);
  /*@ assert minus: LimbSum(limb, 9) < 0 ==> sign == 2147483648 &&
        RoundedMagnitude(-LimbSum(limb, 9), divisor, magnitude); */
  /*@ assert plus: 0 < LimbSum(limb, 9) ==> sign == 0 &&
        RoundedMagnitude(LimbSum(limb, 9), divisor, magnitude); */
  return sign + magnitude;
}
