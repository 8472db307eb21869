/* Family 6, exact reduction: contributions in two orders, or split over two ranks and merged, give
 * the same carried limbs. Each function is a harness: its contract is the theorem, its body makes
 * the calls. One element suffices: by the contracts, the elements of a vector are independent. */
#include "../../ref/num/exact.h"
#include "../../ref/num/value.h"
#include "../../spec/acsl/value_from.h"
#include "../../spec/acsl/value_unique.h"

//@ check lemma sentinel_reduction: \false;

/* Two contributions give the same limbs in either order. SUM-5, SUM-6 */
/*@ requires valid: \valid(a + (0 .. 8)) && \valid(b + (0 .. 8)) && \valid_read(x) &&
      \valid_read(y);
    requires apart: \separated(a + (0 .. 8), b + (0 .. 8), x, y);
    requires same: ElementSum(a, 0) == ElementSum(b, 0);
    requires small: LimbsSmall(a, 0, 9, 4611686018427387904) &&
      LimbsSmall(b, 0, 9, 4611686018427387904);
    terminates \true; exits \false;
    assigns a[0 .. 8], b[0 .. 8];
    ensures sum: ElementSum(a, 0) == \old(ElementSum(a, 0)) + \old(Value32(*x) + Value32(*y));
    ensures limbs: SameElement{Here,Here}(a, 0, b, 0);
    check ensures control_sum: ElementSum(a, 0) == \old(ElementSum(a, 0)) + \old(Value32(*x));
*/
static void two_orders(int64_t *a, int64_t *b, const uint32_t *x, const uint32_t *y)
{
  zp_val_add_f32(a, x, 1);
  zp_val_add_f32(a, y, 1);
  /*@ assert a_sum: ElementSum(a, 0) == \at(ElementSum(a, 0),Pre) + \at(Value32(*x),Pre) +
        \at(Value32(*y),Pre); */
  zp_val_normalise(a, 1);
  /*@ assert a_end: ElementSettled(a, 0) && ElementSum(a, 0) == \at(ElementSum(a, 0),Pre) +
        \at(Value32(*x),Pre) + \at(Value32(*y),Pre); */
  //@ ghost A: ;
  //@ assert b_limbs: LimbsSmall(b, 0, 9, 4611686018427387904);
  //@ assert b_same: \forall integer k; 0 <= k < 9 ==> b[k] == \at(b[k],Pre);
  //@ assert b_before: ElementSum(b, 0) == \at(ElementSum(b, 0),Pre);
  zp_val_add_f32(b, y, 1);
  //@ assert b_one: ElementSum(b, 0) == \at(ElementSum(b, 0),Pre) + \at(Value32(*y),Pre);
  //@ assert b_room: LimbsSmall(b, 0, 9, 4611686022722355200);
  zp_val_add_f32(b, x, 1);
  //@ assert b_more: LimbsSmall(b, 0, 9, 4611686027017322496);
  /*@ assert b_sum: ElementSum(b, 0) == \at(ElementSum(b, 0),Pre) + \at(Value32(*y),Pre) +
        \at(Value32(*x),Pre); */
  zp_val_normalise(b, 1);
  /*@ assert b_end: ElementSettled(b, 0) && ElementSum(b, 0) == \at(ElementSum(b, 0),Pre) +
        \at(Value32(*y),Pre) + \at(Value32(*x),Pre); */
  //@ assert a_same: \forall integer k; 0 <= k < 9 ==> a[k] == \at(a[k],A);
  //@ assert a_from_kept: LimbSumFrom(a, 0, 9) == \at(LimbSumFrom(a, 0, 9),A);
  //@ assert a_sum_kept: ElementSum(a, 0) == \at(ElementSum(a, 0),A);
  //@ assert a_settled: ElementSettled(a, 0);
  /*@ assert a_still: ElementSettled(a, 0) && ElementSum(a, 0) == \at(ElementSum(a, 0),Pre) +
        \at(Value32(*x),Pre) + \at(Value32(*y),Pre); */
}

/* Two sums, carried on their ranks and merged in either order, give the same limbs. Any third sum
 * with the merged value has these limbs, too. SUM-4, SUM-6 */
/*@ requires valid: \valid(a + (0 .. 8)) && \valid(b + (0 .. 8)) && \valid_read(c + (0 .. 8));
    requires apart: \separated(a + (0 .. 8), b + (0 .. 8), c + (0 .. 8));
    requires sum: LimbSum(a, 9) == LimbSum(b, 9) + LimbSum(c, 9);
    requires small: LimbsSmall(a, 0, 9, 4611686018427387904) &&
      LimbsSmall(b, 0, 9, 2305843009213693952) && LimbsSmall(c, 0, 9, 2305843009213693952);
    terminates \true; exits \false;
    assigns a[0 .. 8], b[0 .. 8];
    ensures sum: LimbSum(b, 9) == \old(LimbSum(b, 9)) + \old(LimbSum(c, 9));
    ensures limbs: SameElement{Here,Here}(a, 0, b, 0);
    check ensures control_split: LimbSum(b, 9) == \old(LimbSum(b, 9));
*/
static void merged(int64_t *a, int64_t *b, const int64_t *c)
{
  zp_val_normalise(a, 1);
  //@ assert a_end: ElementSettled(a, 0) && ElementSum(a, 0) == \at(ElementSum(a, 0),Pre);
  //@ assert b_before: LimbSum(b, 9) == \at(LimbSum(b, 9),Pre);
  //@ assert c_before: LimbSum(c, 9) == \at(LimbSum(c, 9),Pre);
  //@ assert b_limbs: LimbsSmall(b, 0, 9, 2305843009213693952);
  //@ assert c_limbs: LimbsSmall(c, 0, 9, 2305843009213693952);
  zp_limbs_merge(b, c, ZP_VAL_LIMBS);
  //@ assert b_sum: LimbSum(b, 9) == \at(LimbSum(b, 9),Pre) + \at(LimbSum(c, 9),Pre);
  //@ assert b_small: LimbsSmall(b, 0, 9, 4611686018427387904);
  zp_val_normalise(b, 1);
  /*@ assert b_end: ElementSettled(b, 0) &&
        LimbSum(b, 9) == \at(LimbSum(b, 9),Pre) + \at(LimbSum(c, 9),Pre); */
  //@ assert a_still: ElementSettled(a, 0) && ElementSum(a, 0) == \at(ElementSum(a, 0),Pre);
}
