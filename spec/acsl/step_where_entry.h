/* The ops of one entry's gradient do not change, follow each other, and belong to the entry. RED-3.
 * Include after ref/plan/step_internal.h. */
#ifndef ZP_SPEC_ACSL_STEP_WHERE_ENTRY_H
#define ZP_SPEC_ACSL_STEP_WHERE_ENTRY_H

/*@ lemma Arrival_Frame{A,B}: \forall zp_arrival a, integer done, zp_op *ops, integer lo, hi;
      0 <= lo && SameOps{A,B}(ops, hi) && ArrivalOps{A}(a, done, ops, lo, hi) ==>
      ArrivalOps{B}(a, done, ops, lo, hi);
    lemma Arrival_More{L}: \forall zp_arrival a, integer done, more, zp_op *ops, integer lo, hi;
      done <= more && ArrivalOps(a, done, ops, lo, hi) ==> ArrivalOps(a, more, ops, lo, hi);
    lemma Arrival_Join{L}: \forall zp_arrival a, integer done, zp_op *ops, integer lo, mid, hi;
      ArrivalOps(a, done, ops, lo, mid) && ArrivalOps(a, done, ops, mid, hi) ==>
      ArrivalOps(a, done, ops, lo, hi);
    lemma Arrival_EntryOp{C,L}: \forall zp_config *c, zp_layout *lay, integer i, zp_arrival a,
      zp_op *p; ArrivalOfEntry{C}(c, lay, i, a) && ArrivalOp{L}(a, ArrivalLast(a), p) ==>
      OpOf{L}(p, a.mb, a.t) && EntryOp{C,L}(c, lay, i, p);
    lemma Arrival_EntryOps{C,L}: \forall zp_config *c, zp_layout *lay, integer i, zp_arrival a,
      zp_op *ops, integer lo, hi; ArrivalOfEntry{C}(c, lay, i, a) &&
      ArrivalOps{L}(a, ArrivalLast(a), ops, lo, hi) ==>
      EntryOps{C,L}(c, lay, i, a.mb, a.t, ops, lo, hi);
*/

/* In all fields, by place. */
/*@ // Buckets b0 … b-1 are at ops[lo … n-1], bucket b at ops[n] and ops[n + 1].
    predicate NextPair{L}(zp_op *ops, integer lo, integer n, integer next, zp_arrival a,
        integer b0, integer b) =
      b0 <= b && n == lo + 2 * (b - b0) && next == n + 2 && ArrivalPairs(ops, lo, n, a, b0) &&
      ArrivalAddition(ops + n, a, b) && ArrivalReduced(ops + (n + 1), a, b);
    lemma ArrivalPairs_Next{L}: \forall zp_op *ops, integer lo, n, next, zp_arrival a,
      integer b0, b; NextPair(ops, lo, n, next, a, b0, b) ==> ArrivalPairs(ops, lo, next, a, b0);
    lemma ArrivalAdditions_Next{L}: \forall zp_op *ops, integer lo, n, zp_arrival a,
      integer b0, b; b0 <= b && n == lo + (b - b0) && ArrivalAdditions(ops, lo, n, a, b0) &&
      ArrivalAddition(ops + n, a, b) ==> ArrivalAdditions(ops, lo, n + 1, a, b0);
    lemma ArrivalPairs_Frame{A,B}: \forall zp_op *ops, integer lo, hi, zp_arrival a, integer b0;
      0 <= lo && SameOps{A,B}(ops, hi) && ArrivalPairs{A}(ops, lo, hi, a, b0) ==>
      ArrivalPairs{B}(ops, lo, hi, a, b0);
    lemma ArrivalAdditions_Frame{A,B}: \forall zp_op *ops, integer lo, hi, zp_arrival a,
      integer b0; 0 <= lo && SameOps{A,B}(ops, hi) && ArrivalAdditions{A}(ops, lo, hi, a, b0) ==>
      ArrivalAdditions{B}(ops, lo, hi, a, b0);
    lemma Arrival_Runs{L}: \forall zp_op *ops, integer lo, mid, hi, zp_arrival a;
      mid == lo + 2 * (ArrivalLast(a) - FirstBucket(a.flat.capacity, a.from)) &&
      hi == lo + ArrivalLen(a) &&
      ArrivalPairs(ops, lo, mid, a, FirstBucket(a.flat.capacity, a.from)) &&
      ArrivalAdditions(ops, mid, hi, a, ArrivalLast(a)) ==> ArrivalRuns(ops, lo, a);
    lemma Arrival_Gradient{F,O}: \forall zp_config *c, zp_layout *lay, integer i, zp_arrival a,
      zp_op *ops, integer lo; ArrivalOfEntry{F}(c, lay, i, a) && ArrivalRuns{O}(ops, lo, a) ==>
      GradientAt{F,O}(ops, lo, c, lay, i, a.mb, a.t);
*/

#endif
