/* The predicates of op_slot.h and op_gradient.h determine the ops: two programs that satisfy them
 * are equal op by op. A and B are where the two programs a and b are read, F the configuration.
 * Include after op_is_lemmas.h. LEDG-1, STEP-2 */
#ifndef ZP_SPEC_ACSL_OP_UNIQUE_H
#define ZP_SPEC_ACSL_OP_UNIQUE_H

/*@ // The ops lo … hi-1 of a and b are equal in every field.
    predicate EqualRange{A,B}(zp_op *a, zp_op *b, integer lo, integer hi) =
      \forall integer p; lo <= p < hi ==> EqualOps{A,B}(a + p, b + p);
    lemma Equal_None{A,B}: \forall zp_op *a, zp_op *b, integer lo, hi; hi <= lo ==>
      EqualRange{A,B}(a, b, lo, hi);
    lemma Equal_One{A,B}: \forall zp_op *a, zp_op *b, integer lo, hi; hi == lo + 1 &&
      EqualOps{A,B}(a + lo, b + lo) ==> EqualRange{A,B}(a, b, lo, hi);
    lemma Equal_Join{A,B}: \forall zp_op *a, zp_op *b, integer lo, mid, hi;
      EqualRange{A,B}(a, b, lo, mid) && EqualRange{A,B}(a, b, mid, hi) ==>
      EqualRange{A,B}(a, b, lo, hi);
*/

/* ---- Single ops ---- */
/*@ lemma Local_Unique{A,B}: \forall zp_op *o, zp_op *x, integer kind, k, b, stepped, t, i;
      IsLocal{A}(o, kind, k, b, stepped, t, i) && IsLocal{B}(x, kind, k, b, stepped, t, i) ==>
      EqualOps{A,B}(o, x);
    lemma OnBucket_Unique{A,B}: \forall zp_op *o, zp_op *x, integer kind, what, g, key, dtype,
      redop, k, b, stepped, count, t, i;
      IsOnBucket{A}(o, kind, what, g, key, dtype, redop, k, b, stepped, count, t, i) &&
      IsOnBucket{B}(x, kind, what, g, key, dtype, redop, k, b, stepped, count, t, i) ==>
      EqualOps{A,B}(o, x);
    lemma Agreement_Unique{A,B}: \forall zp_op *o, zp_op *x, integer what, count, t, i;
      IsAgreement{A}(o, what, count, t, i) && IsAgreement{B}(x, what, count, t, i) ==>
      EqualOps{A,B}(o, x);
    lemma Hop_Unique{A,B}: \forall zp_op *o, zp_op *x, integer kind, dtype, s, backward, send, recv,
      t, i; IsHop{A}(o, kind, dtype, s, backward, send, recv, t, i) &&
      IsHop{B}(x, kind, dtype, s, backward, send, recv, t, i) ==> EqualOps{A,B}(o, x);
    lemma Micro_Unique{A,B}: \forall zp_op *o, zp_op *x, integer kind, mb, place, t, i;
      IsMicro{A}(o, kind, mb, place, t, i) && IsMicro{B}(x, kind, mb, place, t, i) ==>
      EqualOps{A,B}(o, x);
    lemma Addition_Unique{A,B}: \forall zp_op *o, zp_op *x, integer stage, k, param, mb, n, c, from,
      to, t, clock, b; IsAddition{A}(o, stage, k, param, mb, n, c, from, to, t, clock, b) &&
      IsAddition{B}(x, stage, k, param, mb, n, c, from, to, t, clock, b) ==> EqualOps{A,B}(o, x);
    lemma Reduced_Unique{A,B}: \forall zp_op *o, zp_op *x, integer stage, exact, group, dtype, k,
      mb, n, c, d, a, t, clock, b;
      IsReduced{A}(o, stage, exact, group, dtype, k, mb, n, c, d, a, t, clock, b) &&
      IsReduced{B}(x, stage, exact, group, dtype, k, mb, n, c, d, a, t, clock, b) ==>
      EqualOps{A,B}(o, x);
*/

/* ---- One entry, one backward ---- */
/*@ lemma Paired_Unique{A,B}: \forall zp_op *o, zp_op *x, integer b0, stage, exact, group, dtype, k,
      param, mb, n, c, d, a, from, to, t, clock, q; 0 <= q &&
      IsPaired{A}(o, b0, stage, exact, group, dtype, k, param, mb, n, c, d, a, from, to, t, clock,
        q) &&
      IsPaired{B}(x, b0, stage, exact, group, dtype, k, param, mb, n, c, d, a, from, to, t, clock,
        q) ==> EqualOps{A,B}(o, x);
    lemma Pairs_Unique{A,B}: \forall zp_op *v, zp_op *w, integer lo, hi, b0, stage, exact, group,
      dtype, k, param, mb, n, c, d, a, from, to, t, clock;
      PairOps{A}(v, lo, hi, b0, stage, exact, group, dtype, k, param, mb, n, c, d, a, from, to, t,
        clock) &&
      PairOps{B}(w, lo, hi, b0, stage, exact, group, dtype, k, param, mb, n, c, d, a, from, to, t,
        clock) ==> EqualRange{A,B}(v, w, lo, hi);
    lemma Additions_Unique{A,B}: \forall zp_op *v, zp_op *w, integer lo, hi, b0, stage, k, param,
      mb, n, c, from, to, t, clock;
      AdditionOps{A}(v, lo, hi, b0, stage, k, param, mb, n, c, from, to, t, clock) &&
      AdditionOps{B}(w, lo, hi, b0, stage, k, param, mb, n, c, from, to, t, clock) ==>
      EqualRange{A,B}(v, w, lo, hi);
    lemma Runs_Unique{A,B}: \forall zp_op *v, zp_op *w, integer lo, hi, reduces, stage, exact,
      group, dtype, k, param, mb, n, c, d, a, from, to, t, clock;
      hi == lo + EntryLen(n, c, from, to, reduces) &&
      EntryRuns{A}(v, lo, reduces, stage, exact, group, dtype, k, param, mb, n, c, d, a, from, to,
        t, clock) &&
      EntryRuns{B}(w, lo, reduces, stage, exact, group, dtype, k, param, mb, n, c, d, a, from, to,
        t, clock) ==> EqualRange{A,B}(v, w, lo, hi);
    lemma Gradient_Unique{F,A,B}: \forall zp_op *v, zp_op *w, integer lo, hi, zp_config *c,
      zp_layout *lay, integer i, mb, t; hi == lo + RawLen{F}(c, lay, i, ReducesOn{F}(c, mb)) &&
      GradientAt{F,A}(v, lo, c, lay, i, mb, t) && GradientAt{F,B}(w, lo, c, lay, i, mb, t) ==>
      EqualRange{A,B}(v, w, lo, hi);
    lemma Back_Unique{F,A,B}: \forall zp_op *v, zp_op *w, integer lo, mid, hi, zp_config *c,
      zp_layout *lay, integer mb, t, y, next; 0 <= y && next == y + 1 &&
      mid == lo + RawBackLen{F}(c, lay, ReducesOn{F}(c, mb), y) &&
      hi == lo + RawBackLen{F}(c, lay, ReducesOn{F}(c, mb), next) &&
      BackAt{F,A}(v, lo, c, lay, mb, t, y) && BackAt{F,B}(w, lo, c, lay, mb, t, y) ==>
      EqualRange{A,B}(v, w, mid, hi);
    // The gradients of the stage's last x entries are those of one backward in both.
    predicate TwoBacks{F,A,B}(zp_op *v, zp_op *w, integer lo, zp_config *c, zp_layout *lay,
        integer mb, integer t, integer x) =
      GradientsAt{F,A}(v, lo, c, lay, mb, t, x) && GradientsAt{F,B}(w, lo, c, lay, mb, t, x);
    lemma TwoBacks_Less{F,A,B}: \forall zp_op *v, zp_op *w, integer lo, zp_config *c,
      zp_layout *lay, integer mb, t, x, next; 0 <= x && next == x + 1 &&
      TwoBacks{F,A,B}(v, w, lo, c, lay, mb, t, next) ==>
      TwoBacks{F,A,B}(v, w, lo, c, lay, mb, t, x) &&
      BackAt{F,A}(v, lo, c, lay, mb, t, x) && BackAt{F,B}(w, lo, c, lay, mb, t, x);
    predicate EqualBacks{F,A,B}(zp_op *v, zp_op *w, integer lo, zp_config *c, zp_layout *lay,
        integer mb, integer x) =
      EqualRange{A,B}(v, w, lo, lo + RawBackLen{F}(c, lay, ReducesOn{F}(c, mb), x));
    lemma EqualBacks_Next{F,A,B}: \forall zp_op *v, zp_op *w, integer lo, zp_config *c,
      zp_layout *lay, integer mb, t, x, next; 0 <= x && next == x + 1 &&
      EqualBacks{F,A,B}(v, w, lo, c, lay, mb, x) &&
      BackAt{F,A}(v, lo, c, lay, mb, t, x) && BackAt{F,B}(w, lo, c, lay, mb, t, x) ==>
      EqualBacks{F,A,B}(v, w, lo, c, lay, mb, next);
    lemma Backs_Unique{F,A,B}: \forall integer x; 0 <= x ==> \forall zp_op *v, zp_op *w, integer lo,
      zp_config *c, zp_layout *lay, integer mb, t; TwoBacks{F,A,B}(v, w, lo, c, lay, mb, t, x) ==>
      EqualBacks{F,A,B}(v, w, lo, c, lay, mb, x);
*/

/* ---- One slot ---- */
/*@ lemma Exchange_Unique{A,B}: \forall zp_op *v, zp_op *w, integer n, hi, s, dynamic, backward,
      send, recv, t; hi == n + ExchangeLen(dynamic, backward, send, recv) &&
      ExchangeOps{A}(v, n, s, dynamic, backward, send, recv, t) &&
      ExchangeOps{B}(w, n, s, dynamic, backward, send, recv, t) ==> EqualRange{A,B}(v, w, n, hi);
    lemma RunOps_Unique{A,B}: \forall zp_op *v, zp_op *w, integer n, hi, loads, backward, mb, place,
      t; 0 <= loads <= 1 && hi == n + (backward != 0 ? 2 : loads + 1) &&
      RunOps{A}(v, n, loads, backward, mb, place, t) &&
      RunOps{B}(w, n, loads, backward, mb, place, t) ==> EqualRange{A,B}(v, w, n, hi);
    predicate EqualExchange{A,B}(zp_op *v, zp_op *w, integer n, integer S, integer M, integer s,
        integer d, integer t) =
      EqualRange{A,B}(v, w, n, n + ExchangeLen(d, BackwardSlot(s, t), Sent(S, M, s, t),
        Received(S, M, s, t)));
    lemma Head_Exchange{A,B}: \forall zp_op *v, zp_op *w, integer n, S, M, s, d, t;
      HeadOps{A}(v, n, S, M, s, d, t) && HeadOps{B}(w, n, S, M, s, d, t) ==>
      EqualExchange{A,B}(v, w, n, S, M, s, d, t);
    predicate EqualCompute{A,B}(zp_op *v, zp_op *w, integer n, integer S, integer M, integer s,
        integer d, integer t) =
      EqualRange{A,B}(v, w, n + ExchangeLen(d, BackwardSlot(s, t), Sent(S, M, s, t),
        Received(S, M, s, t)), n + HeadLen(S, M, s, d, t));
    predicate TwoRunOps{A,B}(zp_op *v, zp_op *w, integer n, integer loads, integer backward,
        integer mb, integer place, integer t) =
      RunOps{A}(v, n, loads, backward, mb, place, t) &&
      RunOps{B}(w, n, loads, backward, mb, place, t);
    predicate EqualRunOps{A,B}(zp_op *v, zp_op *w, integer n, integer loads, integer backward) =
      EqualRange{A,B}(v, w, n, n + (backward != 0 ? 2 : loads + 1));
    lemma Two_RunOps{A,B}: \forall zp_op *v, zp_op *w, integer n, loads, backward, mb, place, t;
      0 <= loads <= 1 && TwoRunOps{A,B}(v, w, n, loads, backward, mb, place, t) ==>
      EqualRunOps{A,B}(v, w, n, loads, backward);
    lemma Loads_Bit: \forall integer S, s; 0 <= Loads(S, s) <= 1;
    lemma Head_TwoRunOps{A,B}: \forall zp_op *v, zp_op *w, integer n, S, M, s, d, t;
      0 <= Computed(S, M, s, t) && HeadOps{A}(v, n, S, M, s, d, t) &&
      HeadOps{B}(w, n, S, M, s, d, t) ==>
      TwoRunOps{A,B}(v, w, n + ExchangeLen(d, BackwardSlot(s, t), Sent(S, M, s, t),
        Received(S, M, s, t)), Loads(S, s), BackwardSlot(s, t), Computed(S, M, s, t),
        Computed(S, M, s, t) % Places(S, M, s), t);
    lemma Head_EqualRunOps{A,B}: \forall zp_op *v, zp_op *w, integer n, S, M, s, d, t;
      0 <= Computed(S, M, s, t) && HeadOps{A}(v, n, S, M, s, d, t) &&
      HeadOps{B}(w, n, S, M, s, d, t) ==>
      EqualRunOps{A,B}(v, w, n + ExchangeLen(d, BackwardSlot(s, t), Sent(S, M, s, t),
        Received(S, M, s, t)), Loads(S, s), BackwardSlot(s, t));
    lemma Compute_Len: \forall integer S, M, s, t; 0 <= s && 0 <= t && 0 <= Computed(S, M, s, t) ==>
      ComputeLen(S, M, s, t) == (BackwardSlot(s, t) != 0 ? 2 : Loads(S, s) + 1);
    lemma Head_SomeCompute{A,B}: \forall zp_op *v, zp_op *w, integer n, S, M, s, d, t; 0 <= s &&
      0 <= t && 0 <= Computed(S, M, s, t) &&
      EqualRunOps{A,B}(v, w, n + ExchangeLen(d, BackwardSlot(s, t), Sent(S, M, s, t),
        Received(S, M, s, t)), Loads(S, s), BackwardSlot(s, t)) ==>
      EqualCompute{A,B}(v, w, n, S, M, s, d, t);
    lemma Head_NoCompute{A,B}: \forall zp_op *v, zp_op *w, integer n, S, M, s, d, t;
      Computed(S, M, s, t) < 0 ==> EqualCompute{A,B}(v, w, n, S, M, s, d, t);
    lemma Head_Compute{A,B}: \forall zp_op *v, zp_op *w, integer n, S, M, s, d, t; 0 <= s &&
      0 <= t && HeadOps{A}(v, n, S, M, s, d, t) && HeadOps{B}(w, n, S, M, s, d, t) ==>
      EqualCompute{A,B}(v, w, n, S, M, s, d, t);
    predicate EqualHeadOps{A,B}(zp_op *v, zp_op *w, integer n, integer S, integer M, integer s,
        integer d, integer t) = EqualRange{A,B}(v, w, n, n + HeadLen(S, M, s, d, t));
    lemma Head_Both{A,B}: \forall zp_op *v, zp_op *w, integer n, S, M, s, d, t;
      EqualExchange{A,B}(v, w, n, S, M, s, d, t) && EqualCompute{A,B}(v, w, n, S, M, s, d, t) ==>
      EqualHeadOps{A,B}(v, w, n, S, M, s, d, t);
    lemma Head_OpsUnique{A,B}: \forall zp_op *v, zp_op *w, integer n, S, M, s, d, t; 0 <= s &&
      0 <= t && HeadOps{A}(v, n, S, M, s, d, t) && HeadOps{B}(w, n, S, M, s, d, t) ==>
      EqualHeadOps{A,B}(v, w, n, S, M, s, d, t);
    // Slot t's ops are at v[n …] and at w[n …].
    predicate TwoSlots{F,A,B}(zp_op *v, zp_op *w, integer n, zp_config *c, zp_layout *lay,
        integer t) =
      SlotOps{F,A}(v, n, c, lay, t) && SlotOps{F,B}(w, n, c, lay, t) &&
      SlotGradients{F,A}(v, n, c, lay, t) && SlotGradients{F,B}(w, n, c, lay, t);
    predicate EqualHead{F,A,B}(zp_op *v, zp_op *w, integer n, zp_config *c, zp_layout *lay,
        integer t) = EqualRange{A,B}(v, w, n, n + SlotHead{F}(c, lay, t));
    lemma Slot_HeadOps{F,A,B}: \forall zp_op *v, zp_op *w, integer n, zp_config *c,
      zp_layout *lay, integer t; 0 <= \at(lay->stage, F) && 0 <= t &&
      SlotOps{F,A}(v, n, c, lay, t) && SlotOps{F,B}(w, n, c, lay, t) ==>
      EqualHeadOps{A,B}(v, w, n, \at(c->pp, F), \at(c->micro_batches, F), \at(lay->stage, F),
        \at(c->dynamic_shapes, F), t);
    lemma Slot_EqualHead{F,A,B}: \forall zp_op *v, zp_op *w, integer n, zp_config *c,
      zp_layout *lay, integer t; EqualHeadOps{A,B}(v, w, n, \at(c->pp, F),
        \at(c->micro_batches, F), \at(lay->stage, F), \at(c->dynamic_shapes, F), t) ==>
      EqualHead{F,A,B}(v, w, n, c, lay, t);
    lemma Slot_HeadUnique{F,A,B}: \forall zp_op *v, zp_op *w, integer n, zp_config *c,
      zp_layout *lay, integer t; 0 <= \at(lay->stage, F) && 0 <= t &&
      SlotOps{F,A}(v, n, c, lay, t) && SlotOps{F,B}(w, n, c, lay, t) ==>
      EqualHead{F,A,B}(v, w, n, c, lay, t);
    predicate EqualBack{F,A,B}(zp_op *v, zp_op *w, integer n, zp_config *c, zp_layout *lay,
        integer t) =
      EqualRange{A,B}(v, w, n + SlotHead{F}(c, lay, t),
        n + SlotHead{F}(c, lay, t) + MicroLen{F}(c, lay, BackwardOf{F}(c, lay, t)));
    lemma Slot_TwoBacks{F,A,B}: \forall zp_op *v, zp_op *w, integer n, zp_config *c,
      zp_layout *lay, integer t; 0 <= BackwardOf{F}(c, lay, t) &&
      SlotGradients{F,A}(v, n, c, lay, t) && SlotGradients{F,B}(w, n, c, lay, t) ==>
      TwoBacks{F,A,B}(v, w, n + SlotHead{F}(c, lay, t), c, lay, BackwardOf{F}(c, lay, t), t,
        \at(lay->n_params, F));
    lemma Slot_EqualBacks{F,A,B}: \forall zp_op *v, zp_op *w, integer n, zp_config *c,
      zp_layout *lay, integer t; 0 <= \at(lay->n_params, F) && 0 <= BackwardOf{F}(c, lay, t) &&
      SlotGradients{F,A}(v, n, c, lay, t) && SlotGradients{F,B}(w, n, c, lay, t) ==>
      EqualBacks{F,A,B}(v, w, n + SlotHead{F}(c, lay, t), c, lay, BackwardOf{F}(c, lay, t),
        \at(lay->n_params, F));
    lemma Slot_BackUnique{F,A,B}: \forall zp_op *v, zp_op *w, integer n, zp_config *c,
      zp_layout *lay, integer t; 0 <= \at(lay->n_params, F) &&
      SlotGradients{F,A}(v, n, c, lay, t) && SlotGradients{F,B}(w, n, c, lay, t) ==>
      EqualBack{F,A,B}(v, w, n, c, lay, t);
    lemma Slot_Both{F,A,B}: \forall zp_op *v, zp_op *w, integer n, hi, zp_config *c,
      zp_layout *lay, integer t; hi == n + SlotLen{F}(c, lay, t) &&
      EqualHead{F,A,B}(v, w, n, c, lay, t) && EqualBack{F,A,B}(v, w, n, c, lay, t) ==>
      EqualRange{A,B}(v, w, n, hi);
    lemma Slot_Signs{L}: \forall zp_config *c, zp_layout *lay; StageFits(c, lay) ==>
      0 <= lay->stage && 0 <= lay->n_params;
    lemma Slot_Parts{F,A,B}: \forall zp_op *v, zp_op *w, integer n, zp_config *c, zp_layout *lay,
      integer t; 0 <= \at(lay->stage, F) && 0 <= \at(lay->n_params, F) && 0 <= t &&
      TwoSlots{F,A,B}(v, w, n, c, lay, t) ==>
      EqualHead{F,A,B}(v, w, n, c, lay, t) && EqualBack{F,A,B}(v, w, n, c, lay, t);
    lemma Slot_Unique{F,A,B}: \forall zp_op *v, zp_op *w, integer n, hi, zp_config *c,
      zp_layout *lay, integer t; 0 <= \at(lay->stage, F) && 0 <= \at(lay->n_params, F) &&
      0 <= t && hi == n + SlotLen{F}(c, lay, t) && TwoSlots{F,A,B}(v, w, n, c, lay, t) ==>
      EqualRange{A,B}(v, w, n, hi);
*/

#endif
