/* Family 6: over the reals, the usual norm (one norm for each of K parameter groups, those of
 * expert groups averaged over their ranks, then the root of the sum of their squares) is the norm
 * of one sum of squares over all elements. These are only lemmas; they are not about floating-point
 * evaluation of the formulas. An array of fp64 numbers holds the values; all are finite.
 */
#include <stdint.h>

/*@
  logic real Squared(real x) = x * x;

  // elements lo .. hi - 1
  logic real RealSquares{L}(double *g, integer lo, integer hi) =
    lo >= hi ? 0.0 : RealSquares(g, lo, hi - 1) + Squared(g[hi - 1]);
  logic real GroupNorm{L}(double *g, integer lo, integer hi) = \sqrt(RealSquares(g, lo, hi));

  // an expert group's norm: n of d ranks have added their d-th part of x
  logic real RealPart(real x, integer d) = x / d;
  logic real PartSums(real part, integer n) = n <= 0 ? 0.0 : PartSums(part, n - 1) + part;
  logic real Averaged(real x, integer d) = PartSums(RealPart(x, d), d);

  // k reductions: group i holds elements off[i] .. off[i + 1] - 1 and is averaged over d[i] ranks
  logic real OldTotal{L}(double *g, int64_t *off, int64_t *d, integer k) = k <= 0 ? 0.0 :
    OldTotal(g, off, d, k - 1) +
      Squared(Averaged(GroupNorm(g, off[k - 1], off[k]), d[k - 1]));
  logic real OldNorm{L}(double *g, int64_t *off, int64_t *d, integer k) =
    \sqrt(OldTotal(g, off, d, k));
  logic real NewNorm{L}(double *g, integer n) = \sqrt(RealSquares(g, 0, n));

  predicate Groups{L}(int64_t *off, int64_t *d, integer k) = off[0] == 0 &&
    (\forall integer i; 0 <= i < k ==> off[i] <= off[i + 1]) &&
    (\forall integer i; 0 <= i < k ==> 1 <= d[i]);
*/

/*@
  lemma Squared_NotNegative: \forall real x; Squared(x) >= 0.0;
  lemma Squares_NotNegative{L}: \forall integer hi; 0 <= hi ==> \forall double *g, integer lo;
    0 <= lo ==> RealSquares(g, lo, hi) >= 0.0;
  lemma Squares_Join{L}: \forall integer hi; 0 <= hi ==> \forall double *g, integer lo, mid;
    0 <= lo <= mid <= hi ==>
    RealSquares(g, lo, hi) == RealSquares(g, lo, mid) + RealSquares(g, mid, hi);
  lemma Root_Squared: \forall real x; x >= 0.0 ==> Squared(\sqrt(x)) == x;
  lemma Norm_Squared{L}: \forall double *g, integer lo, hi; 0 <= lo && 0 <= hi ==>
    Squared(GroupNorm(g, lo, hi)) == RealSquares(g, lo, hi);

  logic real RealTimes(integer n, real x) = n * x;
  lemma RealTimes_Next: \forall integer n, real x; RealTimes(n, x) == RealTimes(n - 1, x) + x;
  lemma Times_Zero: \forall real x; RealTimes(0, x) == 0.0;
  lemma Times_Part: \forall integer d, real x; 1 <= d ==> RealTimes(d, RealPart(x, d)) == x;
  lemma Parts_Times: \forall integer n; 0 <= n ==>
    \forall real x; PartSums(x, n) == RealTimes(n, x);
  lemma Averaged_Same: \forall integer d, real x; 1 <= d ==> Averaged(x, d) == x;
  lemma Group_Term{L}: \forall double *g, integer lo, hi, d; 0 <= lo && 0 <= hi && 1 <= d ==>
    Squared(Averaged(GroupNorm(g, lo, hi), d)) == RealSquares(g, lo, hi);

  lemma Offsets_Rise{L}: \forall integer k; 0 <= k ==> \forall int64_t *off, *d;
    Groups(off, d, k) ==> 0 <= off[k];
  lemma Groups_Fewer{L}: \forall integer k; 1 <= k ==> \forall int64_t *off, *d;
    Groups(off, d, k) ==> Groups(off, d, k - 1) && off[k - 1] <= off[k] && 1 <= d[k - 1];
  lemma Old_Total{L}: \forall integer k; 0 <= k ==> \forall double *g, int64_t *off, *d;
    Groups(off, d, k) ==> OldTotal(g, off, d, k) == RealSquares(g, 0, off[k]);
  // the theorem
  lemma Old_New{L}: \forall integer k; 0 <= k ==> \forall double *g, int64_t *off, *d;
    Groups(off, d, k) ==> OldNorm(g, off, d, k) == NewNorm(g, off[k]);
*/

//@ check lemma sentinel_equivalence: \false;

/*@
  // a control: the sum of the groups' norms is another number
  logic real NormSum{L}(double *g, int64_t *off, integer k) = k <= 0 ? 0.0 :
    NormSum(g, off, k - 1) + GroupNorm(g, off[k - 1], off[k]);
  check lemma Control_SumOfNorms{L}: \forall integer k; 0 <= k ==>
    \forall double *g, int64_t *off, *d;
    Groups(off, d, k) ==> NormSum(g, off, k) == NewNorm(g, off[k]);
*/
