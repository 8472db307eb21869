/* Lemmas about step_means.h. Include after it. */
#ifndef ZP_SPEC_ACSL_STEP_MEANS_LEMMAS_H
#define ZP_SPEC_ACSL_STEP_MEANS_LEMMAS_H

#include "step_means.h"

/* The gradients of one backward. */
/*@ lemma NoMeans_Join{L}: \forall zp_op *ops, integer lo, mid, hi; NoMeans(ops, lo, mid) &&
      NoMeans(ops, mid, hi) ==> NoMeans(ops, lo, hi);
    lemma NoMeans_Pairs{L}: \forall zp_op *ops, integer lo, hi, b0, stage, exact, group, dtype, k,
      param, mb, n, c, d, a, from, to, t, clock;
      PairOps(ops, lo, hi, b0, stage, exact, group, dtype, k, param, mb, n, c, d, a, from, to, t,
        clock) ==> NoMeans(ops, lo, hi);
    lemma NoMeans_Additions{L}: \forall zp_op *ops, integer lo, hi, b0, stage, k, param, mb, n, c,
      from, to, t, clock;
      AdditionOps(ops, lo, hi, b0, stage, k, param, mb, n, c, from, to, t, clock) ==>
      NoMeans(ops, lo, hi);
    lemma NoMeans_Runs{L}: \forall zp_op *ops, integer lo, hi, reduces, stage, exact, group, dtype,
      k, param, mb, n, c, d, a, from, to, t, clock; hi == lo + EntryLen(n, c, from, to, reduces) &&
      EntryRuns(ops, lo, reduces, stage, exact, group, dtype, k, param, mb, n, c, d, a, from, to, t,
        clock) ==> NoMeans(ops, lo, hi);
    lemma NoMeans_Gradient{F,O}: \forall zp_op *ops, integer lo, hi, zp_config *c, zp_layout *lay,
      integer i, mb, t; hi == lo + RawLen{F}(c, lay, i, ReducesOn{F}(c, mb)) &&
      GradientAt{F,O}(ops, lo, c, lay, i, mb, t) ==> NoMeans{O}(ops, lo, hi);
    predicate BackedTo{F,O}(zp_op *ops, integer lo, zp_config *c, zp_layout *lay, integer mb,
        integer x) =
      NoMeans{O}(ops, lo, lo + RawBackLen{F}(c, lay, ReducesOn{F}(c, mb), x));
    lemma NoMeans_Back{F,O}: \forall zp_op *ops, integer lo, zp_config *c, zp_layout *lay,
      integer mb, t, y, x; x == y + 1 && 0 <= y &&
      BackAt{F,O}(ops, lo, c, lay, mb, t, y) && BackedTo{F,O}(ops, lo, c, lay, mb, y) ==>
      BackedTo{F,O}(ops, lo, c, lay, mb, x);
    lemma NoMeans_BackOne{F,O}: \forall zp_op *ops, integer lo, zp_config *c, zp_layout *lay,
      integer mb, t, y, x; x == y + 1 && 0 <= y && GradientsAt{F,O}(ops, lo, c, lay, mb, t, x) ==>
      GradientsAt{F,O}(ops, lo, c, lay, mb, t, y) && BackAt{F,O}(ops, lo, c, lay, mb, t, y);
    lemma NoMeans_Backs{F,O}: \forall integer x; 0 <= x ==> \forall zp_op *ops, integer lo,
      zp_config *c, zp_layout *lay, integer mb, t; GradientsAt{F,O}(ops, lo, c, lay, mb, t, x) ==>
      BackedTo{F,O}(ops, lo, c, lay, mb, x);
*/

/* The slots of the pipeline. */
/*@ lemma NoMeans_Exchange{L}: \forall zp_op *ops, integer n, hi, s, dynamic, backward, send, recv,
      t; hi == n + ExchangeLen(dynamic, backward, send, recv) &&
      ExchangeOps(ops, n, s, dynamic, backward, send, recv, t) ==> NoMeans(ops, n, hi);
    lemma NoMeans_Run{L}: \forall zp_op *ops, integer n, hi, loads, backward, mb, place, t;
      0 <= loads <= 1 && hi == n + (backward != 0 ? 2 : loads + 1) &&
      RunOps(ops, n, loads, backward, mb, place, t) ==> NoMeans(ops, n, hi);
    predicate HeadTo{L}(zp_op *ops, integer n, integer hi, integer S, integer M, integer s,
        integer dynamic, integer t) =
      0 <= s && 0 <= t && hi == n + HeadLen(S, M, s, dynamic, t) &&
      HeadOps(ops, n, S, M, s, dynamic, t);
    predicate HeadAt{L}(zp_op *ops, integer n, integer mid, integer hi, integer S, integer M,
        integer s, integer dynamic, integer backward, integer t) =
      HeadTo(ops, n, hi, S, M, s, dynamic, t) && backward == BackwardSlot(s, t) &&
      0 <= backward <= 1 && mid == n + ExchangeLen(dynamic, backward, Sent(S, M, s, t),
        Received(S, M, s, t));
    lemma NoMeans_HeadFirst{L}: \forall zp_op *ops, integer n, mid, hi, S, M, s, dynamic, backward,
      t; HeadAt(ops, n, mid, hi, S, M, s, dynamic, backward, t) ==> NoMeans(ops, n, mid);
    lemma NoMeans_HeadRun{L}: \forall zp_op *ops, integer n, mid, hi, S, M, s, dynamic, backward,
      t, mb; HeadAt(ops, n, mid, hi, S, M, s, dynamic, backward, t) &&
      mb == Computed(S, M, s, t) && 0 <= mb ==>
      RunOps(ops, mid, Loads(S, s), backward, mb, mb % Places(S, M, s), t) &&
      0 <= Loads(S, s) <= 1 && hi == mid + (backward != 0 ? 2 : Loads(S, s) + 1);
    lemma NoMeans_HeadLast{L}: \forall zp_op *ops, integer n, mid, hi, S, M, s, dynamic, backward,
      t; HeadAt(ops, n, mid, hi, S, M, s, dynamic, backward, t) ==> NoMeans(ops, mid, hi);
    lemma NoMeans_HeadAt{L}: \forall zp_op *ops, integer n, mid, hi, S, M, s, dynamic, backward, t;
      HeadAt(ops, n, mid, hi, S, M, s, dynamic, backward, t) ==>
      NoMeans(ops, n, mid) && NoMeans(ops, mid, hi) && NoMeans(ops, n, hi);
    lemma NoMeans_Head{L}: \forall zp_op *ops, integer n, hi, S, M, s, dynamic, t;
      HeadTo(ops, n, hi, S, M, s, dynamic, t) ==>
      HeadAt(ops, n, n + ExchangeLen(dynamic, BackwardSlot(s, t), Sent(S, M, s, t),
        Received(S, M, s, t)), hi, S, M, s, dynamic, BackwardSlot(s, t), t) &&
      NoMeans(ops, n, hi);
    lemma NoMeans_SlotTo{F,O}: \forall zp_op *ops, integer n, mid, zp_config *c, zp_layout *lay,
      integer t; 0 <= \at(lay->stage, F) && 0 <= t && mid == n + SlotHead{F}(c, lay, t) &&
      SlotOps{F,O}(ops, n, c, lay, t) ==>
      HeadTo{O}(ops, n, mid, \at(c->pp, F), \at(c->micro_batches, F), \at(lay->stage, F),
        \at(c->dynamic_shapes, F), t);
    lemma NoMeans_SlotHead{F,O}: \forall zp_op *ops, integer n, mid, zp_config *c,
      zp_layout *lay, integer t; 0 <= \at(lay->stage, F) && 0 <= t &&
      mid == n + SlotHead{F}(c, lay, t) && SlotOps{F,O}(ops, n, c, lay, t) ==>
      HeadTo{O}(ops, n, mid, \at(c->pp, F), \at(c->micro_batches, F), \at(lay->stage, F),
        \at(c->dynamic_shapes, F), t) && NoMeans{O}(ops, n, mid);
    lemma NoMeans_SlotBack{F,O}: \forall zp_op *ops, integer mid, hi, zp_config *c,
      zp_layout *lay, integer m, t; 0 <= m && 0 <= \at(lay->n_params, F) &&
      hi == mid + MicroLen{F}(c, lay, m) &&
      GradientsAt{F,O}(ops, mid, c, lay, m, t, \at(lay->n_params, F)) ==> NoMeans{O}(ops, mid, hi);
    lemma NoMeans_SlotRest{F,O}: \forall zp_op *ops, integer n, mid, hi, zp_config *c,
      zp_layout *lay, integer t; 0 <= \at(lay->n_params, F) && mid == n + SlotHead{F}(c, lay, t) &&
      hi == mid + MicroLen{F}(c, lay, BackwardOf{F}(c, lay, t)) &&
      SlotGradients{F,O}(ops, n, c, lay, t) ==> NoMeans{O}(ops, mid, hi);
    // a slot from ops[n] to ops[mid - 1], its gradients to ops[hi - 1]
    predicate SlotTo{F,O}(zp_op *ops, integer n, integer mid, integer hi, zp_config *c,
        zp_layout *lay, integer t) =
      0 <= \at(lay->stage, F) && 0 <= \at(lay->n_params, F) && 0 <= t &&
      mid == n + SlotHead{F}(c, lay, t) &&
      hi == mid + MicroLen{F}(c, lay, BackwardOf{F}(c, lay, t)) &&
      SlotOps{F,O}(ops, n, c, lay, t) && SlotGradients{F,O}(ops, n, c, lay, t);
    lemma NoMeans_SlotFirst{F,O}: \forall zp_op *ops, integer n, mid, hi, zp_config *c,
      zp_layout *lay, integer t; SlotTo{F,O}(ops, n, mid, hi, c, lay, t) ==>
      HeadTo{O}(ops, n, mid, \at(c->pp, F), \at(c->micro_batches, F), \at(lay->stage, F),
        \at(c->dynamic_shapes, F), t) && NoMeans{O}(ops, n, mid);
    lemma NoMeans_SlotLast{F,O}: \forall zp_op *ops, integer n, mid, hi, zp_config *c,
      zp_layout *lay, integer t; SlotTo{F,O}(ops, n, mid, hi, c, lay, t) ==>
      NoMeans{O}(ops, mid, hi);
    lemma NoMeans_SlotAt{F,O}: \forall zp_op *ops, integer n, mid, hi, zp_config *c,
      zp_layout *lay, integer t; SlotTo{F,O}(ops, n, mid, hi, c, lay, t) ==>
      NoMeans{O}(ops, n, mid) && NoMeans{O}(ops, mid, hi) && NoMeans{O}(ops, n, hi);
    lemma Slots_Half: \forall integer M, d; 1 <= M ==> (0 <= HalfOf(M, d) ==>
      Clamp(M, d + 1) == HalfOf(M, d) && Clamp(M, d + 2) == HalfOf(M, d) + 1) &&
      (HalfOf(M, d) < 0 ==> Clamp(M, d + 2) == Clamp(M, d + 1));
    lemma Slots_Done{L}: \forall zp_config *c, zp_layout *lay, integer t, u; u == t + 1 &&
      1 <= c->micro_batches ==>
      (0 <= BackwardOf(c, lay, t) ==> DoneBefore(c, lay, t) == BackwardOf(c, lay, t) &&
        DoneBefore(c, lay, u) == BackwardOf(c, lay, t) + 1) &&
      (BackwardOf(c, lay, t) < 0 ==> DoneBefore(c, lay, u) == DoneBefore(c, lay, t));
    lemma Slots_MeanMicros{L}: \forall zp_config *c, zp_layout *lay, integer t, u; u == t + 1 &&
      1 <= c->micro_batches ==> MicrosLen(c, lay, DoneBefore(c, lay, u)) ==
        MicrosLen(c, lay, DoneBefore(c, lay, t)) + MicroLen(c, lay, BackwardOf(c, lay, t));
    lemma Slots_Grow{L}: \forall zp_config *c, zp_layout *lay, integer t, u; u == t + 1 && 0 <= t &&
      1 <= c->micro_batches ==> SlotsLen(c, lay, u) == SlotsLen(c, lay, t) + SlotLen(c, lay, t);
    lemma Slots_Early: \forall integer S, M, s, d, t; 0 <= t < s && s < S && 1 <= M ==>
      HeadLen(S, M, s, d, t) == 0;
    lemma Slots_Turn: \forall integer S, M, s, t; 0 <= s < S && 0 <= t && 1 <= M &&
      Computed(S, M, s, t) < 0 ==> BackwardAt(S, M, s, t) < 0;
    lemma Slots_Without: \forall integer S, M, s, d, t; 0 <= s < S && 0 <= t && 1 <= M &&
      HeadLen(S, M, s, d, t) <= 0 ==> BackwardAt(S, M, s, t) < 0 && HeadLen(S, M, s, d, t) == 0;
    lemma Slots_Idle{L}: \forall zp_config *c, zp_layout *lay, integer t; 0 <= t &&
      0 <= lay->stage < c->pp && 1 <= c->micro_batches && SlotHead(c, lay, t) <= 0 ==>
      SlotLen(c, lay, t) == 0;
    predicate SlottedTo{F,O}(zp_op *ops, zp_config *c, zp_layout *lay, integer t) =
      NoMeans{O}(ops, 0, SlotsLen{F}(c, lay, t));
    predicate SlotFine{L}(zp_config *c, zp_layout *lay, integer t) =
      0 <= t && 0 <= lay->stage < c->pp && 1 <= c->micro_batches && 0 <= lay->n_params;
    lemma Slotted_Idle{F,O}: \forall zp_op *ops, zp_config *c, zp_layout *lay, integer t, u;
      u == t + 1 && SlotFine{F}(c, lay, t) && SlotHead{F}(c, lay, t) <= 0 &&
      SlottedTo{F,O}(ops, c, lay, t) ==> SlottedTo{F,O}(ops, c, lay, u);
    lemma Slotted_Place{F,O}: \forall zp_op *ops, integer n, mid, hi, zp_config *c,
      zp_layout *lay, integer t, u; u == t + 1 && SlotFine{F}(c, lay, t) &&
      n == SlotsLen{F}(c, lay, t) && mid == n + SlotHead{F}(c, lay, t) &&
      hi == SlotsLen{F}(c, lay, u) && SlotOps{F,O}(ops, n, c, lay, t) &&
      SlotGradients{F,O}(ops, n, c, lay, t) ==> SlotTo{F,O}(ops, n, mid, hi, c, lay, t);
    lemma Slotted_More{F,O}: \forall zp_op *ops, integer n, mid, hi, zp_config *c,
      zp_layout *lay, integer t; NoMeans{O}(ops, 0, n) &&
      SlotTo{F,O}(ops, n, mid, hi, c, lay, t) ==> NoMeans{O}(ops, n, hi) &&
      NoMeans{O}(ops, 0, hi);
    lemma Slotted_Busy{F,O}: \forall zp_op *ops, zp_config *c, zp_layout *lay, integer t, u;
      u == t + 1 && SlotFine{F}(c, lay, t) &&
      SlotOps{F,O}(ops, SlotsLen{F}(c, lay, t), c, lay, t) &&
      SlotGradients{F,O}(ops, SlotsLen{F}(c, lay, t), c, lay, t) &&
      SlottedTo{F,O}(ops, c, lay, t) ==>
      SlotTo{F,O}(ops, SlotsLen{F}(c, lay, t), SlotsLen{F}(c, lay, t) + SlotHead{F}(c, lay, t),
        SlotsLen{F}(c, lay, u), c, lay, t) && SlottedTo{F,O}(ops, c, lay, u);
    lemma Slotted_One{F,O}: \forall zp_op *ops, integer n, zp_config *c, zp_layout *lay,
      integer t, u; u == t + 1 && SlotFine{F}(c, lay, t) && SlotsOps{F,O}(ops, n, c, lay, u) ==>
      SlotsOps{F,O}(ops, n, c, lay, t) && (SlotHead{F}(c, lay, t) <= 0 ||
        SlotOps{F,O}(ops, SlotsLen{F}(c, lay, t), c, lay, t) &&
        SlotGradients{F,O}(ops, SlotsLen{F}(c, lay, t), c, lay, t));
    lemma Slotted_Next{F,O}: \forall zp_op *ops, integer n, zp_config *c, zp_layout *lay,
      integer t, u; u == t + 1 && SlotFine{F}(c, lay, t) && SlotsOps{F,O}(ops, n, c, lay, u) &&
      SlottedTo{F,O}(ops, c, lay, t) ==> SlottedTo{F,O}(ops, c, lay, u);
    lemma Slotted_None{F,O}: \forall zp_op *ops, zp_config *c, zp_layout *lay;
      SlotFine{F}(c, lay, 0) ==> SlottedTo{F,O}(ops, c, lay, 0);
    lemma Slotted_All{F,O}: \forall integer t; 0 <= t ==> \forall zp_op *ops, integer n,
      zp_config *c, zp_layout *lay; SlotFine{F}(c, lay, 0) && SlotsOps{F,O}(ops, n, c, lay, t) ==>
      SlottedTo{F,O}(ops, c, lay, t);
*/

/* After the pipeline. */
/*@ lemma NoMeans_Key{F,O}: \forall zp_op *o, zp_flat *f, integer flats, stage, exact, t, x, q;
      KeysOp{F,O}(o, f, flats, stage, exact, t, x, q) ==> \at(o->kind, O) != ZP_OP_MEAN;
    predicate BlockLow{L}(zp_flat *f, integer u, integer stage, integer x, integer q) =
      UpdateLen(stage, Pass(f, PassBlock(f, u, stage, x, q), u)) <= q;
    lemma BlockLow_None{L}: \forall zp_flat *f, integer u, stage, x, q; x <= 0 && 0 <= q ==>
      BlockLow(f, u, stage, x, q);
    lemma BlockLow_Next{L}: \forall zp_flat *f, integer u, stage, x, y, q; y == x - 1 && 1 <= x &&
      BlockLow(f, u, stage, y, q) ==> BlockLow(f, u, stage, x, q);
    lemma PassBlock_Low{L}: \forall integer x; 0 <= x ==> \forall zp_flat *f, integer u, stage, q;
      0 <= q ==> BlockLow(f, u, stage, x, q);
    lemma NoMeans_Pass{F,O}: \forall zp_op *o, zp_flat *f, integer u, stage, precision, t, x, q;
      0 <= x && 0 <= q && PassOp{F,O}(o, f, u, stage, precision, t, x, q) ==>
      \at(o->kind, O) != ZP_OP_MEAN;
    lemma NoMeans_Update{F,O}: \forall zp_op *o, zp_flat *f, integer n, stage, precision, t, q;
      0 <= n && 0 <= q && UpdatesOp{F,O}(o, f, n, stage, precision, t, q) ==>
      \at(o->kind, O) != ZP_OP_MEAN;
    lemma Means_Op{F,O}: \forall zp_op *o, zp_layout *lay, integer t, q;
      MeansOp{F,O}(o, \at(lay->flat, F), t, \at(lay->n_flats, F), q) ==> MeanIsOp{F,O}(o, lay, q);
    // op q after the pipeline
    predicate TailMean{F,O}(zp_op *o, zp_config *c, zp_layout *lay, integer q) =
      \let sums = KeysLen{F}(\at(lay->flat, F), \at(lay->n_flats, F), \at(c->tied_keys, F));
      \let means = sums + Held{F}(\at(lay->flat, F), \at(lay->n_flats, F));
      (q < sums ==> \at(o->kind, O) != ZP_OP_MEAN) &&
      (sums <= q < means ==> MeanIsOp{F,O}(o, lay, q - sums)) &&
      (means <= q ==> \at(o->kind, O) != ZP_OP_MEAN);
    lemma Tail_Mean{F,O}: \forall zp_op *o, zp_config *c, zp_layout *lay, integer stage, exact,
      precision, t, q; 0 <= \at(lay->n_flats, F) &&
      TailOp{F,O}(o, \at(lay->flat, F), \at(lay->n_flats, F), \at(c->tied_keys, F), stage, exact,
        precision, t, q) ==> TailMean{F,O}(o, c, lay, q);
    predicate TailMeans{F,O}(zp_op *ops, integer lo, integer hi, zp_config *c, zp_layout *lay) =
      \forall integer p; lo <= p < hi ==> TailMean{F,O}(ops + p, c, lay, p - lo);
    lemma Tail_Means{F,O}: \forall zp_op *ops, integer lo, hi, zp_config *c, zp_layout *lay,
      integer stage, exact, precision, t; 0 <= \at(lay->n_flats, F) &&
      TailOps{F,O}(ops, lo, hi, \at(lay->flat, F), \at(lay->n_flats, F), \at(c->tied_keys, F),
        stage, exact, precision, t) ==> TailMeans{F,O}(ops, lo, hi, c, lay);
    // mid: the first mean, end: one past the last
    predicate TailSplit{F,O}(zp_op *ops, integer lo, integer mid, integer end, integer hi,
        zp_layout *lay) =
      NoMeans{O}(ops, lo, mid) && MeansAre{F,O}(ops, mid, end, lay) && NoMeans{O}(ops, end, hi);
    predicate TailPlaces{F}(integer lo, integer mid, integer end, integer hi, zp_config *c,
        zp_layout *lay) =
      0 <= KeysLen{F}(lay->flat, lay->n_flats, c->tied_keys) &&
      0 <= Held{F}(lay->flat, lay->n_flats) &&
      mid == lo + KeysLen{F}(lay->flat, lay->n_flats, c->tied_keys) &&
      end == mid + Held{F}(lay->flat, lay->n_flats) && end <= hi;
    lemma Tail_Split{F,O}: \forall zp_op *ops, integer lo, mid, end, hi, zp_config *c,
      zp_layout *lay; TailPlaces{F}(lo, mid, end, hi, c, lay) &&
      TailMeans{F,O}(ops, lo, hi, c, lay) ==> TailSplit{F,O}(ops, lo, mid, end, hi, lay);
    // the whole program
    predicate ProgramFits{L}(zp_config *c, zp_layout *lay) =
      SlotFine(c, lay, 0) && 0 <= lay->n_flats &&
      0 <= KeysLen(lay->flat, lay->n_flats, c->tied_keys) &&
      0 <= Held(lay->flat, lay->n_flats);
    lemma Step_Pipe{F,O}: \forall zp_op *ops, integer n, zp_config *c, zp_layout *lay;
      ProgramFits{F}(c, lay) && StepOf{F,O}(ops, n, c, lay) ==>
      NoMeans{O}(ops, 0, PipeLen{F}(c, lay));
    lemma Step_MeanTail{F,O}: \forall zp_op *ops, integer n, zp_config *c, zp_layout *lay;
      ProgramFits{F}(c, lay) && StepOf{F,O}(ops, n, c, lay) ==>
      TailMeans{F,O}(ops, PipeLen{F}(c, lay), n, c, lay) &&
      TailPlaces{F}(PipeLen{F}(c, lay), MeansFrom{F}(c, lay), MeansTo{F}(c, lay), n, c, lay);
    lemma Step_Means{F,O}: \forall zp_op *ops, integer n, zp_config *c, zp_layout *lay;
      ProgramFits{F}(c, lay) && StepOf{F,O}(ops, n, c, lay) ==> OnlyMeans{F,O}(ops, n, c, lay);
*/

#endif
