/* Family 6: the norm of a step from the vectors of statistics of all ranks. Each function is a
 * harness: its contract is the theorem, its body makes the calls. */
#include "../../spec/acsl/bounds.h"
#include "norm.h"

#include "../../ref/num/exact.h"

#include "../../spec/acsl/exact_bounds.h"
#include "../../spec/acsl/exact_sums.h"

/*@ lemma Total_Low: \forall integer n; 0 <= n <= ZP_LIMIT_RANKS ==>
      Shift32(19, 32 * n) < Shift32(19, 4294967296);
    lemma Total_More: \forall integer n; Shift32(19, 32 * n) + Shift32(19, 32) ==
      Shift32(19, 32 * (n + 1));
*/

//@ check lemma sentinel_norm: \false;

/* The squares of no vector. STAT-1 */
/*@ requires total: \valid(total + (0 .. 19));
    terminates \true; exits \false;
    assigns total[0 .. 19];
    ensures total: Squares(total, 0);
*/
static void no_squares(int64_t *total)
{
  /*@ loop invariant range: 0 <= i <= 20;
      loop invariant zero: \forall integer j; 0 <= j < i ==> total[j] == 0;
      loop assigns i, total[0 .. 19];
      loop variant 20 - i; */
  for (int32_t i = 0; i < 20; i++) total[i] = 0;
  //@ assert none: LimbSum(total, 20) == 0;
  //@ assert values: ValuesOf(0) == 0;
  //@ assert shift: Shift32(19, 32 * 0) == 0;
}

/* Adds the squares of vector number n. STAT-1 */
/*@ requires total: \valid(total + (0 .. 19)) && Squares(total, n);
    requires vector: \valid_read(v + (0 .. 46)) && Vector(v, n);
    requires apart: \separated(total + (0 .. 19), v + (0 .. 46));
    requires limit: 0 <= n < ZP_LIMIT_RANKS;
    terminates \true; exits \false;
    assigns total[0 .. 19];
    ensures total: Squares(total, n + 1);
*/
static void add_squares(int64_t *total, const int64_t *v, int64_t n)
{
  zp_limbs_merge(total, v, 20);
  //@ assert value: LimbSum(total, 20) == ValuesOf(n + 1);
  //@ assert most: 0 <= ValuesOf(n + 1) <= Shift32(19, 32 * (n + 1));
}

/* The losses of no vector. STAT-1 */
/*@ requires total: \valid(total + (0 .. 8));
    terminates \true; exits \false;
    assigns total[0 .. 8];
    ensures small: Losses(total, 0);
*/
static void no_losses(int64_t *total)
{
  /*@ loop invariant range: 0 <= i <= 9;
      loop invariant zero: \forall integer j; 0 <= j < i ==> total[j] == 0;
      loop assigns i, total[0 .. 8];
      loop variant 9 - i; */
  for (int32_t i = 0; i < 9; i++) total[i] = 0;
}

/* Adds the losses of vector number n. STAT-1 */
/*@ requires total: \valid(total + (0 .. 8)) && Losses(total, n);
    requires vector: \valid_read(v + (0 .. 46)) && Vector(v, n);
    requires apart: \separated(total + (0 .. 8), v + (0 .. 46));
    requires limit: 0 <= n < ZP_LIMIT_RANKS;
    terminates \true; exits \false;
    assigns total[0 .. 8];
    ensures small: Losses(total, n + 1);
*/
static void add_losses(int64_t *total, const int64_t *v, int64_t n)
{
  /*@ loop invariant range: 0 <= i <= 9;
      loop invariant done: LimbsSmall(total, 0, i, ZP_LIMIT_LOSS_LIMB * (n + 1));
      loop invariant left: LimbsSmall(total, i, 9, ZP_LIMIT_LOSS_LIMB * n);
      loop assigns i, total[0 .. 8];
      loop variant 9 - i; */
  for (int32_t i = 0; i < 9; i++) {
    //@ assert loss: -ZP_LIMIT_LOSS_LIMB <= v[20 + i] <= ZP_LIMIT_LOSS_LIMB;
    total[i] += v[20 + i];
  }
}

zp_decision norm_of_total(int64_t *squares, const int64_t *loss, int64_t nonfinite,
                          int64_t bad_loss, int64_t ranks, int64_t divisor, double clip, double eps,
                          int32_t log2_scale)
{
  //@ assert low: 0 <= LimbSum(squares, 20) < Shift32(19, 4294967296);
  //@ assert finite: nonfinite == 0 && bad_loss == 0 <==> AllFinite(ranks);
  zp_squares_settle(squares);
  return zp_judge(squares, loss, nonfinite, bad_loss, divisor, clip, eps, log2_scale);
}
