/* Lemmas on sums over limbs, bins and elements: frames, updates, zeros. ACSL only.
 * spec: SUM-1, SUM-2, SUM-3
 */
#ifndef ZP_SPEC_ACSL_EXACT_FRAMES_H
#define ZP_SPEC_ACSL_EXACT_FRAMES_H
#include "exact_defs.h"

/*@
  // sums over limbs
  lemma LimbSum_Zero{L}: \forall integer n; 0 <= n ==> \forall int64_t *a;
    (\forall integer j; 0 <= j < n ==> a[j] == 0) ==> LimbSum(a, n) == 0;
  lemma LimbSum_Frame{L1,L2}: \forall integer n; 0 <= n ==> \forall int64_t *a;
    (\forall integer j; 0 <= j < n ==> \at(a[j],L2) == \at(a[j],L1)) ==>
    LimbSum{L2}(a, n) == LimbSum{L1}(a, n);
  lemma LimbSum_Update{L1,L2}: \forall integer n; 0 <= n ==> \forall int64_t *a, integer q, d;
    0 <= q < n && (\forall integer j; 0 <= j < n && j != q ==> \at(a[j],L2) == \at(a[j],L1)) &&
    \at(a[q],L2) == \at(a[q],L1) + d ==> LimbSum{L2}(a, n) == LimbSum{L1}(a, n) + Shift32(q, d);
  lemma LimbSum_Congruent{L1,L2}: \forall integer n; 0 <= n ==> \forall int64_t *a, *b;
    (\forall integer j; 0 <= j < n ==> \at(a[j],L1) == \at(b[j],L2)) ==>
    LimbSum{L1}(a, n) == LimbSum{L2}(b, n);
  lemma LimbSum_Add{L1,L2}: \forall integer n; 0 <= n ==> \forall int64_t *c, *a, *b;
    (\forall integer j; 0 <= j < n ==> \at(c[j],L2) == \at(a[j],L1) + \at(b[j],L1)) ==>
    LimbSum{L2}(c, n) == LimbSum{L1}(a, n) + LimbSum{L1}(b, n);
*/

/*@
  // sums over bins
  lemma BinSum_Zero{L}: \forall integer n; 0 <= n ==> \forall int64_t *a;
    (\forall integer j; 0 <= j < n ==> a[j] == 0) ==> BinSum(a, n) == 0;
  lemma BinSum_Frame{L1,L2}: \forall integer n; 0 <= n ==> \forall int64_t *a;
    (\forall integer j; 0 <= j < n ==> \at(a[j],L2) == \at(a[j],L1)) ==>
    BinSum{L2}(a, n) == BinSum{L1}(a, n);
  lemma BinSum_Update{L1,L2}: \forall integer n; 0 <= n ==> \forall int64_t *a, integer q, d;
    0 <= q < n && (\forall integer j; 0 <= j < n && j != q ==> \at(a[j],L2) == \at(a[j],L1)) &&
    \at(a[q],L2) == \at(a[q],L1) + d ==> BinSum{L2}(a, n) == BinSum{L1}(a, n) + Shift16(q, d);
*/

/*@
  // sums over elements
  lemma SumSquares32_Frame{L1,L2}: \forall integer n; 0 <= n ==> \forall uint32_t *x;
    (\forall integer i; 0 <= i < n ==> \at(x[i],L2) == \at(x[i],L1)) ==>
    SumSquares32{L2}(x, n) == SumSquares32{L1}(x, n);
  lemma CountNonFinite32_Range{L}: \forall integer n; 0 <= n ==> \forall uint32_t *x;
    0 <= CountNonFinite32(x, n) <= n;
  lemma WidenF16_Range: \forall integer h; 0 <= h <= 65535 ==>
    0 <= WidenF16(h) <= 4294967295 && NonFinite32(WidenF16(h)) == NonFiniteF16(h);

  lemma BiasedExp32_B16: \forall integer h; 0 <= h <= 65535 ==>
    NonFinite32(WidenB16(h)) == NonFiniteB16(h);
*/

#endif
