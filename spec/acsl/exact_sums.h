/* Lemmas on the logic of exact_defs.h that all proofs of exact sums use. ACSL only: nothing here is
 * compiled.
 * spec: SUM-1, SUM-2, SUM-5
 */
#ifndef ZP_SPEC_ACSL_EXACT_SUMS_H
#define ZP_SPEC_ACSL_EXACT_SUMS_H
#include "exact_defs.h"

/*@
  // shifts are linear
  lemma Shift32_Add: \forall integer q; 0 <= q ==>
    \forall integer x, y; Shift32(q, x + y) == Shift32(q, x) + Shift32(q, y);
  lemma Shift32_Zero: \forall integer q; 0 <= q ==> Shift32(q, 0) == 0;
  lemma Shift16_Add: \forall integer q; 0 <= q ==>
    \forall integer x, y; Shift16(q, x + y) == Shift16(q, x) + Shift16(q, y);
  lemma Shift16_Zero: \forall integer q; 0 <= q ==> Shift16(q, 0) == 0;
*/
/* after the lemmas that they use */
#include "exact_frames.h"

#endif
