/* Consequences of the logic of the STEP program. */
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
    lemma Run_Within: \forall integer c, from, to, e; 1 <= c && 0 <= from <= e < to ==>
      0 <= FirstBucket(c, from) <= FirstBucket(c, e) < StopBucket(c, from, to);
    lemma Run_One: \forall integer c, from, to, b, e; 1 <= c && 0 <= from && 0 <= b ==>
      InRun(c, from, to, b, e) == (from <= e && e < to && b == FirstBucket(c, e) ? 1 : 0);
    lemma First_Low: \forall integer c, x; 1 <= c && 0 <= x ==> 0 <= FirstBucket(c, x);
    // The runs together, bucket by bucket, contain exactly the entry's elements.
    lemma Run_Goes: \forall integer c, from, to, b, p, j, e; 1 <= c && 0 <= from <= to ==>
      GoesInto(p, j, c, from, to, e, b) == (p == j && FirstBucket(c, from) <= b &&
        b < StopBucket(c, from, to) ? InRun(c, from, to, b, from + e) : 0);
*/

/* ---- One exchange, seen by its two participants: PIPE-3 ---- */
/*@ lemma Exchange_Pair: \forall trace tr, integer s, dynamic, down, up, t; 0 <= s ==>
      ExchangeTrace(tr, s, s + 1, dynamic, 1, down, up, t) ==
      ExchangeTrace(tr, s + 1, s, dynamic, 0, up, down, t);
    // Two neighbours' links are equal: LEDG-1, PIPE-3, PIPE-5.
    lemma Link_Pair: \forall integer t; 0 <= t ==> \forall trace tr, integer S, M, s, dynamic;
      0 <= s < S - 1 && 1 <= M ==>
      LinkDown(tr, S, M, s, dynamic, t) == LinkUp(tr, S, M, s + 1, dynamic, t);
*/

/* ---- One entry of a backward: the layout's numbers are the configuration's ---- */
/*@ lemma Stage_Entry{L}: \forall zp_config *c, zp_layout *lay, integer i;
      StageSeen(c, lay) && 0 <= i < lay->n_params ==>
      EntryFits(c, lay, i) && EntrySeen(c, lay, i) &&
      StageEnd(c, lay->stage) - (lay->n_params - i) == lay->first_param + i;
    lemma Raw_Len{L}: \forall zp_config *c, zp_layout *lay, integer i, r; EntrySeen(c, lay, i) ==>
      RawLen(c, lay, i, r) == StepLen(c, lay->stage, lay->first_param + i, r);
    lemma Raw_Trace{L}: \forall zp_config *c, zp_layout *lay, integer i, g, t, trace tr;
      EntrySeen(c, lay, i) ==> RawTrace(tr, c, lay, i, g, t) ==
        StepTrace(tr, c, lay->stage, lay->first_param + i, lay->n_params - i, g, t);
    lemma Raw_Adds{L}: \forall zp_config *c, zp_layout *lay, integer i, p, e, k, b;
      EntrySeen(c, lay, i) ==> RawAdds(c, lay, i, p, e, k, b) ==
        StepAdds(c, lay->stage, lay->first_param + i, p, e, k, b);
    lemma Raw_Done{L}: \forall zp_config *c, zp_layout *lay, integer i, k, b;
      EntrySeen(c, lay, i) ==> RawDone(c, lay, i, k, b) ==
        StepDone(c, lay->stage, lay->first_param + i, k, b);
*/

/* ---- The inputs do not change while ops are written ---- */
/*@ lemma Same_Fits{A,B}: \forall zp_config *c, zp_layout *lay, integer i;
      SameRaw{A,B}(c, lay, i) && EntryFits{A}(c, lay, i) ==> EntryFits{B}(c, lay, i);
    lemma Same_Len{A,B}: \forall zp_config *c, zp_layout *lay, integer i, r;
      SameRaw{A,B}(c, lay, i) ==> RawLen{A}(c, lay, i, r) == RawLen{B}(c, lay, i, r);
    lemma Same_Trace{A,B}: \forall zp_config *c, zp_layout *lay, integer i, g, t, trace tr;
      SameRaw{A,B}(c, lay, i) ==>
      RawTrace{A}(tr, c, lay, i, g, t) == RawTrace{B}(tr, c, lay, i, g, t);
    lemma Same_Adds{A,B}: \forall zp_config *c, zp_layout *lay, integer i, p, e, k, b;
      SameRaw{A,B}(c, lay, i) ==>
      RawAdds{A}(c, lay, i, p, e, k, b) == RawAdds{B}(c, lay, i, p, e, k, b);
    lemma Same_Done{A,B}: \forall zp_config *c, zp_layout *lay, integer i, k, b;
      SameRaw{A,B}(c, lay, i) ==>
      RawDone{A}(c, lay, i, k, b) == RawDone{B}(c, lay, i, k, b);
*/

#endif
