/* The bins, two per limb, used only by ref/num/exact.c. ACSL only.
 * spec: SUM-3
 */
#ifndef ZP_SPEC_ACSL_EXACT_PAIRS_H
#define ZP_SPEC_ACSL_EXACT_PAIRS_H
#include "exact_defs.h"

/*@
  logic integer PairSum{L}(int64_t *lo, int64_t *hi, integer n) = n <= 0 ? 0 :
    PairSum(lo, hi, n - 1) + Shift32(n - 1,
      PairValue(lo[2 * n - 2], lo[2 * n - 1], hi[2 * n - 2], hi[2 * n - 1]));

  lemma PairSum_Prefix{L}: \forall integer n; 0 <= n ==> \forall int64_t *lo, *hi;
    PairSum(lo, hi, n) == BinPrefix(lo, hi, 2 * n);
  lemma PairSum_All{L}: \forall int64_t *lo, *hi; PairSum(lo, hi, 16) == BinValue(lo, hi);
*/

#endif
