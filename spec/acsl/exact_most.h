/* The most that squares of n fp32 patterns can add up to. ACSL only.
 * spec: SUM-2, STAT-1 */
#ifndef ZP_SPEC_ACSL_EXACT_MOST_H
#define ZP_SPEC_ACSL_EXACT_MOST_H
#include "exact_defs.h"

/*@ // fp32's largest square is below 2^256, which is 2^554 = 2^(32 * 17 + 10) in units of 2^-298
    logic integer MostSquares(integer n) = Shift32(17, 1024 * n);
    predicate MostJoin(integer x, integer a, integer b) = x == a + b;
*/

#endif
