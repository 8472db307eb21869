/* The limbs of exact sums: adding and carrying them. exact.c fills them. */
#include "../../spec/acsl/exact_bounds.h"
#include "../../spec/acsl/exact_frames.h"
#include "../../spec/acsl/exact_shifts.h"
#include "exact.h"

/* Sets limb i to v.
 * limb: (at least i + 1). i >= 0. Errors: none.
 * spec: SUM-3
 */
/*@ requires valid: \valid(limb + i) && 0 <= i < 2147483647;
    terminates \true; exits \false;
    assigns limb[i];
    ensures set: limb[i] == v;
    ensures value: LimbSum(limb, i + 1) == LimbSum{Pre}(limb, i) + Shift32(i, v);
*/
static inline void set_limb(int64_t *limb, int32_t i, int64_t v)
{
  limb[i] = v;
  //@ assert same: \forall integer j; 0 <= j < i ==> limb[j] == \at(limb[j],Pre);
  //@ assert frame: LimbSum(limb, i) == LimbSum{Pre}(limb, i);
}

void zp_limbs_merge(int64_t *into, const int64_t *from, int32_t n)
{
  /*@ loop invariant i_range: 0 <= i <= n;
      loop invariant done: \forall integer k; 0 <= k < i ==>
        into[k] == \at(into[k],Pre) + \at(from[k],Pre);
      loop invariant rest: \forall integer k; i <= k < n ==> into[k] == \at(into[k],Pre);
      loop invariant value: LimbSum(into, i) == LimbSum{Pre}(into, i) + LimbSum{Pre}(from, i);
      loop assigns i, into[0 .. n - 1];
      loop variant n - i; */
  for (int32_t i = 0; i < n; i++) {
    //@ assert left: \let k = i; into[k] == \at(into[k],Pre);
    //@ assert right: \let k = i; from[k] == \at(from[k],Pre);
    int64_t a = into[i], b = from[i];
    //@ assert two: SumOf(a + b, a, b);
    //@ assert sum: Shift32(i, a + b) == Shift32(i, a) + Shift32(i, b);
    set_limb(into, i, a + b);
  }
}

/* The floor of v / 2^32.
 * v: any. Errors: none.
 * spec: SUM-3
 */
/*@ terminates \true; exits \false;
    assigns \nothing;
    ensures floor: 4294967296 * \result <= v < 4294967296 * \result + 4294967296;
*/
static inline int64_t carry_of(int64_t v)
{
  int64_t c = v / 4294967296; /* C's division rounds towards zero */
  return v % 4294967296 < 0 ? c - 1 : c;
}

/* Adds `carry` to limb i, reduces the limb to [0, 2^32) and returns the carry into the next limb.
 * limb: (at least i + 1), limb i of magnitude at most 2^63 - 2^33. i >= 0. carry: at most 2^31 in
 * magnitude. Errors: none.
 * spec: SUM-3
 */
/*@ requires valid: \valid(limb + i) && 0 <= i < 2147483647;
    requires small: -9223372028264841216 <= limb[i] <= 9223372028264841216;
    requires carry: -2147483648 <= carry <= 2147483648;
    terminates \true; exits \false;
    assigns limb[i];
    ensures range: -2147483648 <= \result <= 2147483648 && 0 <= limb[i] < 4294967296;
    ensures value: LimbSum(limb, i + 1) + Shift32(i + 1, \result) ==
      LimbSum{Pre}(limb, i) + Shift32(i, \old(limb[i])) + Shift32(i, carry);
*/
static inline int64_t carry_limb(int64_t *limb, int32_t i, int64_t carry)
{
  int64_t v = limb[i] + carry;
  int64_t next = carry_of(v);
  int64_t rest = v - 4294967296 * next;
  //@ assert carried: CarryOf(v, rest, next);
  //@ assert split: Shift32(i, v) == Shift32(i, rest) + Shift32(i + 1, next);
  //@ assert two: SumOf(v, limb[i], carry);
  //@ assert sum: Shift32(i, v) == Shift32(i, limb[i]) + Shift32(i, carry);
  set_limb(limb, i, rest);
  return next;
}

/* Adds `carry` to limb i, the top one.
 * limb: (at least i + 1), limbs below i canonical, limb i of magnitude at most 2^63 - 2^33. i >= 0.
 * carry: at most 2^31 in magnitude. Errors: none.
 * spec: SUM-3
 */
/*@ requires valid: \valid(limb + (0 .. i)) && 0 <= i < 2147483647;
    requires canonical: Canonical(limb, i);
    requires small: -9223372028264841216 <= limb[i] <= 9223372028264841216;
    requires carry: -2147483648 <= carry <= 2147483648;
    terminates \true; exits \false;
    assigns limb[i];
    ensures set: limb[i] == \old(limb[i]) + carry;
    ensures canonical: Canonical(limb, i);
    ensures value: LimbSum(limb, i + 1) ==
      LimbSum{Pre}(limb, i) + Shift32(i, \old(limb[i])) + Shift32(i, carry);
    ensures between: Shift32(i, limb[i]) <= LimbSum(limb, i + 1) < Shift32(i, limb[i] + 1);
*/
static inline void carry_top(int64_t *limb, int32_t i, int64_t carry)
{
  int64_t v = limb[i] + carry;
  //@ assert two: SumOf(v, limb[i], carry);
  //@ assert sum: Shift32(i, v) == Shift32(i, limb[i]) + Shift32(i, carry);
  set_limb(limb, i, v);
  //@ assert canonical: Canonical(limb, i);
}

void zp_limbs_normalise(int64_t *limb, int32_t n)
{
  int64_t carry = 0;
  /*@ loop invariant i_range: 0 <= i <= n - 1;
      loop invariant carry_range: -2147483648 <= carry <= 2147483648;
      loop invariant canonical: \forall integer k; 0 <= k < i ==> 0 <= limb[k] < 4294967296;
      loop invariant rest: \forall integer k; i <= k < n ==> limb[k] == \at(limb[k],Pre);
      loop invariant value: LimbSum(limb, i) + Shift32(i, carry) == LimbSum{Pre}(limb, i);
      loop assigns i, carry, limb[0 .. n - 1];
      loop variant n - i; */
  for (int32_t i = 0; i < n - 1; i++) {
    //@ assert old: \let k = i; limb[k] == \at(limb[k],Pre);
    //@ ghost B: ;
    carry = carry_limb(limb, i, carry);
    //@ assert others: \forall integer k; i < k < n ==> limb[k] == \at(limb[k],B);
  }
  //@ assert old: limb[n - 1] == \at(limb[n - 1],Pre);
  //@ assert carried: LimbSum(limb, n - 1) + Shift32(n - 1, carry) == LimbSum{Pre}(limb, n - 1);
  /*@ assert last: LimbSum{Pre}(limb, n) ==
        LimbSum{Pre}(limb, n - 1) + Shift32(n - 1, \at(limb[n - 1],Pre)); */
  carry_top(limb, n - 1, carry);
  //@ assert value: LimbSum(limb, n) == LimbSum{Pre}(limb, n);
}
