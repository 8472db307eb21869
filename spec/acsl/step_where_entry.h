/* The ops of one entry's gradient do not change, follow each other, and belong to the entry. RED-3.
 * Include after ref/plan/step_internal.h. */
#ifndef ZP_SPEC_ACSL_STEP_WHERE_ENTRY_H
#define ZP_SPEC_ACSL_STEP_WHERE_ENTRY_H

/*@ lemma Arrival_Frame{A,B}: \forall zp_arrival a, integer done, zp_op *ops, integer lo, hi;
      SameIds{A,B}(ops, lo, hi) && SameMicros{A,B}(ops, lo, hi) &&
      SameClocks{A,B}(ops, lo, hi) && ArrivalOps{A}(a, done, ops, lo, hi) ==>
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

#endif
