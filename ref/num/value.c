#include "value.h"

#include "../../spec/acsl/value_bounded.h"
#include "../../spec/acsl/value_from.h"
#include "../../spec/acsl/value_opposite.h"
#include "../../spec/acsl/value_powers.h"
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
  uint32_t one = r % 2u, two = r / 2u % 2u, four = r / 4u % 2u, eight = r / 8u % 2u, last = r / 16u;
  //@ assert bits: r == one + 2 * two + 4 * four + 8 * eight + 16 * last && last <= 1;
  if (one == 1u) t *= 2u;
  //@ assert one: t == Shift2(one, m) && t < 33554432;
  if (two == 1u) t *= 4u;
  //@ assert two: t == Shift2(one + 2 * two, m) && t < 134217728;
  if (four == 1u) t *= 16u;
  //@ assert three: t == Shift2(one + 2 * two + 4 * four, m) && t < 2147483648;
  if (eight == 1u) t *= 256u;
  //@ assert four: t == Shift2(one + 2 * two + 4 * four + 8 * eight, m) && t < 549755813888;
  if (last == 1u) t *= 65536u;
  //@ assert no: last == 0 ==> t == Shift2(one + 2 * two + 4 * four + 8 * eight, m);
  /*@ assert yes: last == 1 ==> t == Shift2(one + 2 * two + 4 * four + 8 * eight + 16, m); */
  //@ assert five: t == Shift2(one + 2 * two + 4 * four + 8 * eight + 16 * last, m);
  return t;
}

/* Adds d to limb q of the element whose limbs begin at s.
 * limbs: s to s + 8 writable. 0 <= s <= q < s + 9, |d| < 2^32,
 * |limbs[q]| <= 2^63 - 2^32. Errors: none.
 * spec: SUM-5
 */
/*@ requires valid: \valid(limbs + (s .. s + 8)) && 0 <= s <= q < s + 9;
    requires range: -4294967296 < d < 4294967296;
    requires fits: -9223372032559808512 <= limbs[q] <= 9223372032559808512;
    terminates \true; exits \false;
    assigns limbs[q];
    ensures added: limbs[q] == \old(limbs[q]) + d;
    ensures value: LimbSumFrom(limbs, s, 9) == LimbSumFrom{Pre}(limbs, s, 9) + Shift32(q - s, d);
*/
static inline void add_to_limb(int64_t *limbs, int64_t s, int64_t q, int64_t d)
{
  (void)s; /* used by the contract only */
  limbs[q] += d;
  //@ assert updated: OneUpdated{Pre,Here}(limbs, s, 9, q, d);
}

/* Adds fp32 pattern u to the sum of the element whose limbs begin at s, unless u is non-finite.
 * limbs: s to s + 8 writable, each of magnitude at most 2^63 - 2^33. s >= 0. Errors: none.
 * spec: SUM-5
 */
/*@ requires valid: \valid(limbs + (s .. s + 8)) && 0 <= s <= 9223372036854775000;
    requires small: LimbsSmall(limbs, s, s + 9, 9223372028264841216);
    terminates \true; exits \false;
    assigns limbs[s .. s + 8];
    ensures step: \forall integer k; s <= k < s + 9 ==>
      -4294967296 < limbs[k] - \old(limbs[k]) < 4294967296;
    ensures value: LimbSumFrom(limbs, s, 9) == LimbSumFrom{Pre}(limbs, s, 9) + Value32(u);
*/
static inline void add_value(int64_t *limbs, int64_t s, uint32_t u)
{
  uint32_t be = u / 8388608u % 256u, fr = u % 8388608u;
  if (be == 255u) return;
  uint32_t e = be == 0 ? 0 : be - 1;
  uint64_t m = be == 0 ? fr : fr + 8388608u;
  //@ assert pattern: m == Mant32(u) && e == Exp32(u) && m < 16777216 && e <= 253;
  uint64_t t = times_power(m, e % 32u);
  int64_t q = e / 32u;
  int64_t low = (int64_t)(t % 4294967296u), high = (int64_t)(t / 4294967296u);
  //@ assert q_range: 0 <= q <= 7;
  //@ assert halves: t == low + 4294967296 * high;
  /*@ assert joined: Shift32(q, low + 4294967296 * high) ==
        Shift32(q, low) + Shift32(q + 1, high); */
  //@ assert split: Shift32(q, t) == Shift32(q, low) + Shift32(q + 1, high);
  //@ assert magnitude: Magnitude32(u) == Shift32(q, t);
  int negative = u / 2147483648u == 1u;
  add_to_limb(limbs, s, s + q, negative ? -low : low);
  add_to_limb(limbs, s, s + q + 1, negative ? -high : high);
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
    add_value(limbs, ZP_VAL_LIMBS * i, x[i]);
    //@ assert lower: \forall integer k; 0 <= k < 9 * i ==> limbs[k] == \at(limbs[k],B);
    //@ assert before: \let k = i; \at(ElementSum(limbs, k),B) == \at(ElementSum(limbs, k),Pre);
    /*@ assert here: \let k = i; ElementSum(limbs, k) == \at(ElementSum(limbs, k),B) +
          \at(Value32(x[k]),Pre); */
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
    add_value(limbs, ZP_VAL_LIMBS * i, zp_f32_from_bf16(x[i]));
    //@ assert lower: \forall integer k; 0 <= k < 9 * i ==> limbs[k] == \at(limbs[k],B);
    //@ assert before: \let k = i; \at(ElementSum(limbs, k),B) == \at(ElementSum(limbs, k),Pre);
    /*@ assert here: \let k = i; ElementSum(limbs, k) == \at(ElementSum(limbs, k),B) +
          \at(Value32(WidenB16(x[k])),Pre); */
    /*@ assert others: \let k = i; \forall integer j; 0 <= j < k ==>
          ElementSum(limbs, j) == \at(ElementSum(limbs, j),B); */
    /*@ assert older: \let k = i; \forall integer j; 0 <= j < k ==>
          ElementSum(limbs, j) == ElementSum{Pre}(limbs, j) + \at(Value32(WidenB16(x[j])),Pre); */
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
    add_value(limbs, ZP_VAL_LIMBS * i, zp_f32_from_f16(x[i]));
    //@ assert lower: \forall integer k; 0 <= k < 9 * i ==> limbs[k] == \at(limbs[k],B);
    //@ assert before: \let k = i; \at(ElementSum(limbs, k),B) == \at(ElementSum(limbs, k),Pre);
    /*@ assert here: \let k = i; ElementSum(limbs, k) == \at(ElementSum(limbs, k),B) +
          \at(Value32(WidenF16(x[k])),Pre); */
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
    //@ assert lower: \forall integer k; 0 <= k < 9 * i ==> limbs[k] == \at(limbs[k],B);
    //@ assert before: \let k = i; \at(ElementSum(limbs, k),B) == \at(ElementSum(limbs, k),Pre);
    //@ assert sum: LimbSum(limbs + 9 * i, 9) == \at(LimbSum(limbs + 9 * i, 9),B);
    //@ assert here: \let k = i; ElementSum(limbs, k) == \at(ElementSum(limbs, k),B);
    //@ assert settled: \let k = i; ElementSettled(limbs, k);
    /*@ assert still: \let k = i; \forall integer j; 0 <= j < k ==>
          (\at(ElementSettled(limbs, j),B) ==> ElementSettled(limbs, j)); */
    /*@ assert others: \let k = i; \forall integer j; 0 <= j < k ==>
          ElementSum(limbs, j) == \at(ElementSum(limbs, j),B); */
  }
}
