/* Lemmas about op_slot.h: an op keeps its place while later ones are written. */
#ifndef ZP_SPEC_ACSL_OP_SLOT_LEMMAS_H
#define ZP_SPEC_ACSL_OP_SLOT_LEMMAS_H

/*@ // An exchange of stage s with a neighbour is one hop of that link, and of no other.
    predicate HopOp(zp_op op, integer kind, integer dtype, integer s, integer backward,
        integer send, integer recv, integer t, integer i) =
      op.kind == kind && op.group == ZP_GROUP_PP && op.dtype == dtype && op.count == 0 &&
      op.root == (backward != 0 ? s + 1 : s - 1) &&
      op.what == (backward != 0 ? ZP_WHAT_ACTIVATION : ZP_WHAT_ACTIVATION_GRADIENT) &&
      op.mb == send && op.recv_mb == recv && op.clock_t == t && op.clock_i == i;
    lemma Hop_Link: \forall trace tr, zp_op op, integer kind, dtype, s, backward, send, recv, t, i,
      peer; HopOp(op, kind, dtype, s, backward, send, recv, t, i) ==> Link(tr, op, peer) ==
        HopTrace(tr, s, backward, peer, kind, dtype, send, recv, t, i);
    lemma Hop_Frame{A,B}: \forall zp_op *ops, integer hi, p, kind, dtype, s, backward, send, recv,
      t, i; SameOps{A,B}(ops, hi) && 0 <= p < hi &&
      IsHop{A}(ops + p, kind, dtype, s, backward, send, recv, t, i) ==>
      IsHop{B}(ops + p, kind, dtype, s, backward, send, recv, t, i);
    lemma Micro_Frame{A,B}: \forall zp_op *ops, integer hi, p, kind, mb, place, t, i;
      SameOps{A,B}(ops, hi) && 0 <= p < hi && IsMicro{A}(ops + p, kind, mb, place, t, i) ==>
      IsMicro{B}(ops + p, kind, mb, place, t, i);
    lemma ExchangeOps_Frame{A,B}: \forall zp_op *ops, integer n, hi, s, dynamic, backward, send,
      recv, t; 0 <= n && SameOps{A,B}(ops, hi) &&
      n + ExchangeLen(dynamic, backward, send, recv) <= hi &&
      ExchangeOps{A}(ops, n, s, dynamic, backward, send, recv, t) ==>
      ExchangeOps{B}(ops, n, s, dynamic, backward, send, recv, t);
    lemma RunOps_Frame{A,B}: \forall zp_op *ops, integer n, hi, loads, backward, mb, place, t;
      0 <= n && SameOps{A,B}(ops, hi) && 0 <= loads <= 1 &&
      n + (backward != 0 ? 2 : loads + 1) <= hi &&
      RunOps{A}(ops, n, loads, backward, mb, place, t) ==>
      RunOps{B}(ops, n, loads, backward, mb, place, t);
    lemma HeadOps_Frame{A,B}: \forall zp_op *ops, integer n, hi, S, M, s, dynamic, t; 0 <= n &&
      SameOps{A,B}(ops, hi) && n + HeadLen(S, M, s, dynamic, t) <= hi &&
      HeadOps{A}(ops, n, S, M, s, dynamic, t) ==> HeadOps{B}(ops, n, S, M, s, dynamic, t);
    lemma SlotOps_Same{F,G,O}: \forall zp_op *ops, integer n, zp_config *c, zp_layout *lay,
      integer t; SameScalars{F,G}(c) && SameHead{F,G}(lay) && SlotOps{G,O}(ops, n, c, lay, t) ==>
      SlotOps{F,O}(ops, n, c, lay, t);
    lemma SlotOps_Frame{F,A,B}: \forall zp_op *ops, integer n, hi, zp_config *c, zp_layout *lay,
      integer t; 0 <= n && SameOps{A,B}(ops, hi) &&
      n + SlotHead{F}(c, lay, t) <= hi && SlotOps{F,A}(ops, n, c, lay, t) ==>
      SlotOps{F,B}(ops, n, c, lay, t);
*/

#endif
