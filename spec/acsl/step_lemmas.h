/* What follows from the logic of the STEP program. */
#ifndef ZP_SPEC_ACSL_STEP_LEMMAS_H
#define ZP_SPEC_ACSL_STEP_LEMMAS_H

#include "step_program.h"

/* ---- One entry ---- */
/*@ lemma Run_Order: \forall integer n, c, from, to; 1 <= c && 0 <= from <= to <= n ==>
      0 <= FirstBucket(c, from) <= DoneBucket(n, c, from, to) <= StopBucket(c, from, to) &&
      StopBucket(c, from, to) - FirstBucket(c, from) <= to - from;
    lemma Entry_Range: \forall integer n, c, from, to, r; 1 <= c && 0 <= from <= to <= n ==>
      0 <= EntryLen(n, c, from, to, r) <= 2 * (to - from);
    // A bucket is completed iff its last element is among from … to-1.
    lemma Run_Completes: \forall integer n, c, from, to, b; 1 <= c && 0 <= from < to <= n &&
      Meets(c, from, to, b) ==>
        (b < DoneBucket(n, c, from, to) <==> b * c + BucketNumel(n, c, b) <= to);
    // Every element lies in exactly one run: that of its bucket.
    lemma Run_Home: \forall integer c, from, to, b, e; 1 <= c && 0 <= from && 0 <= b ==>
      (InRun(c, from, to, b, e) == 1 <==> from <= e < to && e / c == b);
    lemma Run_Bucket: \forall integer c, from, to, b; 1 <= c && 0 <= from < to &&
      Meets(c, from, to, b) ==> from <= RunFrom(c, from, b) < RunTo(c, to, b) <= to &&
        RunTo(c, to, b) - RunFrom(c, from, b) <= c;
    lemma Run_Inside: \forall integer c, from, to, b; 1 <= c && 0 <= from < to &&
      Meets(c, from, to, b) ==> 0 <= b <= b * c < to;
    lemma Quotient_Order: \forall integer c, x, y; 1 <= c && 0 <= x <= y ==> x / c <= y / c;
*/

#endif
