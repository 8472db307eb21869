/* Family 6, exact squares of fp16, as in exact.c: cut an array in two at any position, sum each
 * part separately, merge and carry: the limbs equal those of the whole array's sum. */
#include "../../ref/num/exact.h"

/*@ lemma SumSquaresF16_Frame{L1,L2}: \forall integer n; 0 <= n ==> \forall uint16_t *x;
      (\forall integer i; 0 <= i < n ==> \at(x[i],L2) == \at(x[i],L1)) ==>
      SumSquaresF16{L2}(x, n) == SumSquaresF16{L1}(x, n);
    lemma SumSquaresF16_JoinNext{L}: \forall uint16_t *x, integer m, n; 0 <= m && 0 <= n &&
      (1 <= n ==>
        SumSquaresF16(x, m + n - 1) == SumSquaresF16(x, m) + SumSquaresF16(x + m, n - 1)) ==>
      SumSquaresF16(x, m + n) == SumSquaresF16(x, m) + SumSquaresF16(x + m, n);
    lemma SumSquaresF16_Join{L}: \forall integer n; 0 <= n ==> \forall uint16_t *x, integer m;
      0 <= m ==> SumSquaresF16(x, m + n) == SumSquaresF16(x, m) + SumSquaresF16(x + m, n);
*/

/* after the lemmas, whose proofs are faster without theirs */
#include "../../spec/acsl/exact_sums.h"
#include "../../spec/acsl/exact_unique.h"

//@ check lemma sentinel_exact_f16: \false;

/* The carried limbs of the sum of n squares, computed with a separate sum. SUM-1, SUM-3 */
/*@ requires valid: \valid(limb + (0 .. 19)) && \valid_read(x + (0 .. n - 1));
    requires apart: \separated(limb + (0 .. 19), x + (0 .. n - 1));
    requires length: 0 <= n < 4611686018427387904;
    terminates \true; exits \false;
    assigns limb[0 .. 19];
    ensures sum: LimbSum(limb, 20) == \old(SumSquaresF16(x, n));
    ensures canonical: Canonical(limb, 20);
*/
static void sum_part_f16(const uint16_t *x, int64_t n, int64_t *limb)
{
  zp_sumsq own = {0};
  zp_sumsq_clear(&own);
  //@ assert elements: SumSquaresF16(x, n) == \at(SumSquaresF16(x, n),Pre);
  zp_sumsq_add_f16(&own, x, n);
  //@ assert added: SumsqValue(&own) == \at(SumSquaresF16(x, n),Pre);
  zp_sumsq_limbs(&own, limb);
}

/* Sums two parts separately. SUM-3 */
/*@ requires limbs: \valid(merged + (0 .. 19)) && \valid(other + (0 .. 19));
    requires array: \valid_read(x + (0 .. m + n - 1));
    requires cut: 0 <= m && 0 <= n && m + n < 4611686018427387904;
    requires apart: \separated(merged + (0 .. 19), other + (0 .. 19), x + (0 .. m + n - 1));
    terminates \true; exits \false;
    assigns merged[0 .. 19], other[0 .. 19];
    ensures first: LimbSum(merged, 20) == \old(SumSquaresF16(x, m));
    ensures second: LimbSum(other, 20) == \old(SumSquaresF16(x + m, n));
    ensures canonical: Canonical(merged, 20);
    ensures canonical_other: Canonical(other, 20);
*/
static void sum_parts_f16(const uint16_t *x, int64_t m, int64_t n, int64_t *merged, int64_t *other)
{
  sum_part_f16(x, m, merged);
  //@ assert rest: SumSquaresF16(x + m, n) == \at(SumSquaresF16(x + m, n),Pre);
  //@ ghost First: ;
  sum_part_f16(x + m, n, other);
  //@ assert merged_same: \forall integer i; 0 <= i < 20 ==> merged[i] == \at(merged[i],First);
}

/* Sums the parts of x before m and from m on, merges and carries. SUM-3, SUM-4 */
/*@ requires limbs: \valid(merged + (0 .. 19)) && \valid(other + (0 .. 19));
    requires array: \valid_read(x + (0 .. m + n - 1));
    requires cut: 0 <= m && 0 <= n && m + n < 4611686018427387904;
    requires apart: \separated(merged + (0 .. 19), other + (0 .. 19), x + (0 .. m + n - 1));
    terminates \true; exits \false;
    assigns merged[0 .. 19], other[0 .. 19];
    ensures sum: LimbSum(merged, 20) == \old(SumSquaresF16(x, m + n));
    ensures canonical: Canonical(merged, 19);
*/
static void merge_parts_f16(const uint16_t *x, int64_t m, int64_t n, int64_t *merged,
                            int64_t *other)
{
  sum_parts_f16(x, m, n, merged, other);
  //@ assert low: \forall integer i; 0 <= i < 20 ==> 0 <= merged[i] + other[i] <= 8589934590;
  //@ ghost Parts: ;
  zp_limbs_merge(merged, other, 20);
  /*@ assert added: \forall integer i; 0 <= i < 20 ==>
        merged[i] == \at(merged[i],Parts) + \at(other[i],Parts); */
  //@ assert small: \forall integer i; 0 <= i < 20 ==> 0 <= merged[i] <= 8589934590;
  //@ assert total: LimbSum(merged, 20) == \at(SumSquaresF16(x, m + n),Pre);
  zp_limbs_normalise(merged, 20);
}

/* If x is cut at m, the merged parts have the limbs of the whole, limb by limb. SUM-4 */
/*@ requires limbs: \valid(merged + (0 .. 19)) && \valid(other + (0 .. 19)) &&
      \valid(whole + (0 .. 19));
    requires array: \valid_read(x + (0 .. m + n - 1));
    requires cut: 0 <= m && 0 <= n && m + n < 4611686018427387904;
    requires apart: \separated(merged + (0 .. 19), other + (0 .. 19), whole + (0 .. 19),
      x + (0 .. m + n - 1));
    terminates \true; exits \false;
    assigns merged[0 .. 19], other[0 .. 19], whole[0 .. 19];
    ensures sum: LimbSum(whole, 20) == \old(SumSquaresF16(x, m + n));
    ensures equal: LimbsEqual{Here,Here}(merged, whole, 20);
    check ensures control_equal_f16: LimbsEqual{Here,Here}(other, whole, 20);
*/
void cut_anywhere_f16(const uint16_t *x, int64_t m, int64_t n, int64_t *merged, int64_t *other,
                      int64_t *whole)
{
  sum_part_f16(x, m + n, whole);
  //@ assert array: SumSquaresF16(x, m + n) == \at(SumSquaresF16(x, m + n),Pre);
  //@ ghost Whole: ;
  merge_parts_f16(x, m, n, merged, other);
  //@ assert kept: \forall integer i; 0 <= i < 20 ==> whole[i] == \at(whole[i],Whole);
  //@ assert whole_sum: LimbSum(whole, 20) == \at(SumSquaresF16(x, m + n),Pre);
  //@ assert whole_canonical: Canonical(whole, 20);
}
