/* The lemmas of exact_most_lemmas.h that code uses: proven in proofs/lemmas/exact_most.c. ACSL
 * only. */
#ifndef ZP_SPEC_ACSL_EXACT_MOST_COUNT_H
#define ZP_SPEC_ACSL_EXACT_MOST_COUNT_H
#include "exact_most.h"

/*@ lemma Most_Sum: \forall integer a, b; MostSquares(a + b) == MostSquares(a) + MostSquares(b);
    lemma Most_Join: \forall integer x, a, b; MostJoin(x, a, b) ==>
      MostSquares(x) == MostSquares(a) + MostSquares(b);
    lemma Most_None: MostSquares(0) == 0;
    lemma Most_More: \forall integer a, b; a <= b ==> MostSquares(a) <= MostSquares(b);
    lemma Squares_Most{L}: \forall integer n; 0 <= n ==> \forall uint32_t *x;
      0 <= SumSquares32(x, n) <= MostSquares(n);
    // a rank has fewer than 2^59 elements
    lemma Most_Rank: MostSquares(576460752303423488) == Shift32(19, 32);
*/

#endif
