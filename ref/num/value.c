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
    ensures power: \result == Shift2(r, m);
*/
static uint64_t times_power(uint64_t m, uint32_t r)
{
  uint64_t t = m;
  if (r % 2u == 1u) t *= 2u;
  //@ assert one: t == Shift2(r % 2, m) && t < 33554432;
  if (r / 2u % 2u == 1u) t *= 4u;
  //@ assert two: t == Shift2(r % 4, m) && t < 134217728;
  if (r / 4u % 2u == 1u) t *= 16u;
  //@ assert three: t == Shift2(r % 8, m) && t < 2147483648;
  if (r / 8u % 2u == 1u) t *= 256u;
  //@ assert four: t == Shift2(r % 16, m) && t < 549755813888;
  if (r / 16u == 1u) t *= 65536u;
  return t;
}

/* Adds d to limb q.
 * limb: (ZP_VAL_LIMBS). 0 <= q < 9, |d| < 2^32, |limb[q]| <= 2^63 - 2^32. Errors: none.
 * spec: SUM-5
 */
/*@ requires valid: \valid(limb + (0 .. 8)) && 0 <= q < 9;
    requires range: -4294967296 < d < 4294967296;
    requires fits: -9223372032559808512 <= limb[q] <= 9223372032559808512;
    terminates \true; exits \false;
    assigns limb[q];
    ensures added: limb[q] == \old(limb[q]) + d;
    ensures value: LimbSum(limb, 9) == LimbSum{Pre}(limb, 9) + Shift32(q, d);
*/
static inline void add_to_limb(int64_t *limb, uint32_t q, int64_t d)
{
  limb[q] += d;
  //@ assert others: \forall integer j; 0 <= j < 9 && j != q ==> limb[j] == \at(limb[j],Pre);
  //@ assert difference: limb[q] - \at(limb[q],Pre) == d;
}

/* Adds fp32 pattern u to one element's sum; a non-finite u adds nothing.
 * limb: (ZP_VAL_LIMBS), each of magnitude at most 2^63 - 2^33. Errors: none.
 * spec: SUM-5
 */
/*@ requires valid: \valid(limb + (0 .. 8));
    requires small: LimbsSmall(limb, 0, 9, 9223372028264841216);
    terminates \true; exits \false;
    assigns limb[0 .. 8];
    ensures step: \forall integer k; 0 <= k < 9 ==>
      -4294967296 < limb[k] - \old(limb[k]) < 4294967296;
    ensures value: LimbSum(limb, 9) == LimbSum{Pre}(limb, 9) + Value32(u);
*/
static inline void add_value(int64_t *limb, uint32_t u)
{
  uint32_t be = u / 8388608u % 256u, fr = u % 8388608u;
  if (be == 255u) return;
  uint32_t e = be == 0 ? 0 : be - 1;
  uint64_t m = be == 0 ? fr : fr + 8388608u;
  //@ assert pattern: m == Mant32(u) && e == Exp32(u) && m < 16777216 && e <= 253;
  uint64_t t = times_power(m, e % 32u);
  uint32_t q = e / 32u;
  int64_t low = (int64_t)(t % 4294967296u), high = (int64_t)(t / 4294967296u);
  //@ assert q_range: q <= 7;
  //@ assert split: Shift32(q, t) == Shift32(q, low) + Shift32(q + 1, high);
  //@ assert magnitude: Magnitude32(u) == Shift32(q, t);
  int negative = u / 2147483648u == 1u;
  add_to_limb(limb, q, negative ? -low : low);
  add_to_limb(limb, q + 1, negative ? -high : high);
  //@ assert opposite: Shift32(q, -low) == -Shift32(q, low);
  //@ assert opposite_high: Shift32(q + 1, -high) == -Shift32(q + 1, high);
}

void zp_val_add_f32(int64_t *limbs, const uint32_t *x, int64_t n)
{
  /*@ loop invariant i_range: 0 <= i <= n;
      loop invariant done: \forall integer j; 0 <= j < i ==>
        ElementSum(limbs, j) == ElementSum{Pre}(limbs, j) + \at(Value32(x[j]),Pre);
      loop invariant step: \forall integer k; 0 <= k < 9 * i ==>
        -4294967296 < limbs[k] - \at(limbs[k],Pre) < 4294967296;
      loop invariant rest: \forall integer k; 9 * i <= k < 9 * n ==> limbs[k] == \at(limbs[k],Pre);
      loop assigns i, limbs[0 .. 9 * n - 1];
      loop variant n - i; */
  for (int64_t i = 0; i < n; i++) {
    //@ ghost B: ;
    add_value(limbs + ZP_VAL_LIMBS * i, x[i]);
    //@ assert before: \let k = i; \at(ElementSum(limbs, k),B) == \at(ElementSum(limbs, k),Pre);
    /*@ assert here: \let k = i;
          ElementSum(limbs, k) == \at(ElementSum(limbs, k),B) + \at(Value32(x[k]),Pre); */
    /*@ assert others: \let k = i; \forall integer j; 0 <= j < k ==>
          ElementSum(limbs, j) == \at(ElementSum(limbs, j),B); */
  }
}

void zp_val_add_bf16(int64_t *limbs, const uint16_t *x, int64_t n)
{
  /*@ loop invariant i_range: 0 <= i <= n;
      loop invariant done: \forall integer j; 0 <= j < i ==>
        ElementSum(limbs, j) == ElementSum{Pre}(limbs, j) + \at(Value32(WidenB16(x[j])),Pre);
      loop invariant step: \forall integer k; 0 <= k < 9 * i ==>
        -4294967296 < limbs[k] - \at(limbs[k],Pre) < 4294967296;
      loop invariant rest: \forall integer k; 9 * i <= k < 9 * n ==> limbs[k] == \at(limbs[k],Pre);
      loop assigns i, limbs[0 .. 9 * n - 1];
      loop variant n - i; */
  for (int64_t i = 0; i < n; i++) {
    //@ ghost B: ;
    add_value(limbs + ZP_VAL_LIMBS * i, zp_f32_from_bf16(x[i]));
    //@ assert before: \let k = i; \at(ElementSum(limbs, k),B) == \at(ElementSum(limbs, k),Pre);
    /*@ assert here: \let k = i;
          ElementSum(limbs, k) == \at(ElementSum(limbs, k),B) + \at(Value32(WidenB16(x[k])),Pre); */
    /*@ assert others: \let k = i; \forall integer j; 0 <= j < k ==>
          ElementSum(limbs, j) == \at(ElementSum(limbs, j),B); */
  }
}

void zp_val_add_f16(int64_t *limbs, const uint16_t *x, int64_t n)
{
  /*@ loop invariant i_range: 0 <= i <= n;
      loop invariant done: \forall integer j; 0 <= j < i ==>
        ElementSum(limbs, j) == ElementSum{Pre}(limbs, j) + \at(Value32(WidenF16(x[j])),Pre);
      loop invariant step: \forall integer k; 0 <= k < 9 * i ==>
        -4294967296 < limbs[k] - \at(limbs[k],Pre) < 4294967296;
      loop invariant rest: \forall integer k; 9 * i <= k < 9 * n ==> limbs[k] == \at(limbs[k],Pre);
      loop assigns i, limbs[0 .. 9 * n - 1];
      loop variant n - i; */
  for (int64_t i = 0; i < n; i++) {
    //@ ghost B: ;
    add_value(limbs + ZP_VAL_LIMBS * i, zp_f32_from_f16(x[i]));
    //@ assert before: \let k = i; \at(ElementSum(limbs, k),B) == \at(ElementSum(limbs, k),Pre);
    /*@ assert here: \let k = i;
          ElementSum(limbs, k) == \at(ElementSum(limbs, k),B) + \at(Value32(WidenF16(x[k])),Pre); */
    /*@ assert others: \let k = i; \forall integer j; 0 <= j < k ==>
          ElementSum(limbs, j) == \at(ElementSum(limbs, j),B); */
  }
}

void zp_val_normalise(int64_t *limbs, int64_t n)
{
  /*@ loop invariant i_range: 0 <= i <= n;
      loop invariant settled: \forall integer j; 0 <= j < i ==> ElementSettled(limbs, j);
      loop invariant kept: \forall integer j; 0 <= j < i ==>
        ElementSum(limbs, j) == ElementSum{Pre}(limbs, j);
      loop invariant rest: \forall integer k; 9 * i <= k < 9 * n ==> limbs[k] == \at(limbs[k],Pre);
      loop assigns i, limbs[0 .. 9 * n - 1];
      loop variant n - i; */
  for (int64_t i = 0; i < n; i++) {
    //@ ghost B: ;
    zp_limbs_normalise(limbs + ZP_VAL_LIMBS * i, ZP_VAL_LIMBS);
    //@ assert before: \let k = i; \at(ElementSum(limbs, k),B) == \at(ElementSum(limbs, k),Pre);
    //@ assert here: \let k = i; ElementSum(limbs, k) == \at(ElementSum(limbs, k),B);
    /*@ assert others: \let k = i; \forall integer j; 0 <= j < k ==>
          ElementSum(limbs, j) == \at(ElementSum(limbs, j),B); */
  }
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
 * st: rem < divisor, q < 2^24. bit: 0 or 1. divisor: 1 to 2^40. Errors: none.
 * spec: SUM-7
 */
/*@ requires valid: \valid(st);
    requires range: 0 <= bit <= 1 && 1 <= divisor <= 1099511627776;
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

/* Takes the bits of word v, highest first, until q has 25 bits. Returns what is left of v, moved
 * up by the bits taken: 0 if nothing is.
 * st: rem < divisor, q < 2^24, last 32 to 320. v: below 2^32. divisor: 1 to 2^40. Errors: none.
 * spec: SUM-7
 */
/*@ requires valid: \valid(st);
    requires range: 0 <= v < 4294967296 && 1 <= divisor <= 1099511627776;
    requires state: 0 <= st->rem < divisor && 0 <= st->q < 16777216;
    requires last: 32 <= st->last <= 320;
    terminates \true; exits \false;
    assigns st->q, st->rem, st->last;
    ensures state: 0 <= st->rem < divisor && 0 <= st->q < 33554432;
    ensures last: \old(st->last) - 32 <= st->last <= \old(st->last);
    ensures all: st->q < 16777216 ==> st->last == \old(st->last) - 32;
    ensures taken: WordTaken(4294967296 * (Times(\old(st->q), divisor) + \old(st->rem)) + v,
      st->last - \old(st->last) + 32, Times(st->q, divisor) + st->rem, \result);
*/
static uint64_t take_word(div_state *st, uint64_t v, uint64_t divisor)
{
  /*@ loop invariant j_range: 0 <= j <= 32;
      loop invariant v_range: 0 <= v < 4294967296;
      loop invariant state: 0 <= st->rem < divisor && 0 <= st->q < 33554432;
      loop invariant last: st->last == \at(st->last,Pre) - j;
      loop invariant taken: Shift2(32 - j, 4294967296 * (Times(st->q, divisor) + st->rem) + v) ==
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
    ensures full: \result.q < 16777216 ==> \result.last == -1;
    ensures floor: QuotientFloor(2 * LimbSum(limb, 10), \result.last + 1, divisor, \result.q,
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
      loop invariant taken: BitsTaken(LimbSum(limb, 10), LimbSum(limb, i + 1), st.last,
        Times(st.q, divisor) + st.rem, st.lower);
      loop assigns i, st;
      loop variant i; */
  for (int32_t i = CARRIED_LIMBS - 1; i >= 0; i--) {
    uint64_t v = (uint64_t)limb[i];
    //@ assert unfold: LimbSum(limb, i + 1) == LimbSum(limb, i) + Shift32(i, v);
    //@ assert below: 0 <= LimbSum(limb, i) < Shift32(i, 1);
    if (v == 0 && st.q == 0 && st.rem == 0) {
      st.last = 32 * i; /* leading zeros: all 32 bits taken at once */
      continue;
    }
    if (st.q < 16777216u) v = take_word(&st, v, divisor);
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

/* q / 2, rounded to nearest even, where q's last bit is the half and what lies below it is told
 * by rem and lower.
 * st: from leading_quotient. Errors: none.
 * spec: SUM-7
 */
/*@ requires valid: \valid_read(st);
    requires range: 0 <= st->q < 33554432;
    terminates \true; exits \false;
    assigns \nothing;
    ensures near: \result == st->q / 2 || \result == st->q / 2 + st->q % 2;
    ensures up: st->q % 2 == 1 && (st->rem != 0 || st->lower != 0 || st->q / 2 % 2 == 1) ==>
      \result == st->q / 2 + 1;
    ensures down: st->q % 2 == 0 || (st->rem == 0 && st->lower == 0 && st->q / 2 % 2 == 0) ==>
      \result == st->q / 2;
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
      QuotientFloor(2 * w, st->last + 1, n, st->q, st->rem, st->lower) ==>
      RoundedMagnitude(w, n, \result);
*/
static uint32_t pattern_of(const div_state *st)
{
  uint32_t q = rounded(st);
  //@ assert q_range: q <= 16777216 && (0 <= st->last ==> 8388608 <= q);
  /*@ assert near: \forall integer w, n; 0 < n &&
        QuotientFloor(2 * w, st->last + 1, n, st->q, st->rem, st->lower) ==>
        NearestQuotient(2 * w, n, st->last + 1, q); */
  /*@ assert boundary: \forall integer w, n; 0 < n && 0 <= st->last &&
        QuotientFloor(2 * w, st->last + 1, n, st->q, st->rem, st->lower) ==>
        Shift2(st->last, Times(33554431, n)) <= 2 * w; */
  /* q * 2^(last + 1 - 149), the pattern as in zp_norm_f32: the leading bit of q is one exponent */
  uint64_t bits = (uint64_t)(st->last + 1) * 8388608u + q;
  return bits > 2139095040u ? 2139095040u : (uint32_t)bits;
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
  //@ assert copy: LimbSum(&a[0], 9) == LimbSum(limb, 9);
  //@ assert extended: LimbSum(&a[0], 10) == LimbSum(limb, 9);
  zp_limbs_normalise(a, CARRIED_LIMBS);
  //@ assert carried: LimbSum(&a[0], 10) == LimbSum(limb, 9);
  uint32_t sign = a[ZP_VAL_LIMBS] < 0 ? 2147483648u : 0u;
  //@ assert sign: sign != 0 <==> LimbSum(limb, 9) < 0;
  if (sign != 0) negate(a);
  //@ assert magnitude: LimbSum(&a[0], 10) == (sign != 0 ? -LimbSum(limb, 9) : LimbSum(limb, 9));
  div_state st = leading_quotient(a, (uint64_t)divisor);
  if (st.q == 0 && st.rem == 0) return 0;
  return sign + pattern_of(&st);
}
