/* The logic of the STEP program's slots and of its length: STEP-2, PIPE-1 … PIPE-6, RED-3, LEDG-6,
 * LEDG-8. Included by ref/plan/step_internal.h; step_fold_lemmas.h has the consequences. S stages,
 * M micro-batches, stage s, slot t, micro-batch m, `dynamic` shapes. */
#ifndef ZP_SPEC_ACSL_STEP_FOLD_H
#define ZP_SPEC_ACSL_STEP_FOLD_H

#include "bounds.h"

/* ---- How an executor may run the ops lo … hi-1 ---- */
/*@ // STEP-6: every op of a group is a communication; PlainOps: and a skipped step omits no op.
    predicate Placed{L}(zp_op *ops, integer lo, integer hi) =
      \forall integer p; lo <= p < hi && ops[p].group != -1 ==> ops[p].kind >= ZP_OP_FIRST_COMM;
    predicate PlainOps{L}(zp_op *ops, integer lo, integer hi) =
      \forall integer p; lo <= p < hi ==> ops[p].if_stepped == 0;
    // Op p is DECIDE; the ops that a skipped step omits come after it.
    predicate DecidedAt{L}(zp_op *ops, integer n, integer p) =
      0 <= p < n && ops[p].kind == ZP_OP_DECIDE && PlainOps(ops, 0, p + 1) && Placed(ops, 0, n);
*/

/* ---- A slot without its gradients: exchange, load, forward or backward ---- */
/*@ logic integer Loads(integer S, integer s) = s == 0 || s == S - 1 ? 1 : 0;
    logic integer ComputeLen(integer S, integer M, integer s, integer t) =
      Computed(S, M, s, t) < 0 ? 0 : BackwardSlot(s, t) == 1 ? 2 : Loads(S, s) + 1;
    logic integer HeadLen(integer S, integer M, integer s, integer dynamic, integer t) =
      ExchangeLen(dynamic, BackwardSlot(s, t), Sent(S, M, s, t), Received(S, M, s, t)) +
      ComputeLen(S, M, s, t);
    // The same for the slots before t.
    logic integer HeadsLen(integer S, integer M, integer s, integer dynamic, integer t) =
      t <= 0 ? 0 : HeadsLen(S, M, s, dynamic, t - 1) + HeadLen(S, M, s, dynamic, t - 1);
    // The slot's addition to the link with `peer`; the links are LinkDown and LinkUp.
    logic trace HeadTrace(trace tr, integer S, integer M, integer s, integer peer, integer dynamic,
        integer t) =
      ExchangeTrace(tr, s, peer, dynamic, BackwardSlot(s, t), Sent(S, M, s, t),
        Received(S, M, s, t), t);
    logic trace StageLink(trace tr, integer S, integer M, integer s, integer peer, integer dynamic,
        integer t) =
      peer == s + 1 ? LinkDown(tr, S, M, s, dynamic, t) :
      peer == s - 1 ? LinkUp(tr, S, M, s, dynamic, t) : tr;
    logic trace StageLinkOf{L}(trace tr, zp_config *c, zp_layout *lay, integer peer, integer t) =
      StageLink(tr, c->pp, c->micro_batches, lay->stage, peer, c->dynamic_shapes, t);
    logic trace SlotLink{L}(trace tr, zp_config *c, zp_layout *lay, integer peer, integer t) =
      HeadTrace(tr, c->pp, c->micro_batches, lay->stage, peer, c->dynamic_shapes, t);
    // The number of backwards before slot t.
    logic integer Backwarded(integer S, integer M, integer s, integer t) =
      Clamp(M, t + s + 2 - 2 * S);
*/

/* ---- The gradients of one backward: the stage's last x entries, in numbers of the layout ---- */
/*@ logic integer RawBackLen{L}(zp_config *c, zp_layout *lay, integer r, integer x) =
      x <= 0 ? 0 : RawBackLen(c, lay, r, x - 1) + RawLen(c, lay, lay->n_params - x, r);
    logic trace RawBackTrace{L}(trace tr, zp_config *c, zp_layout *lay, integer g, integer t,
        integer x) =
      x <= 0 ? tr :
      RawTrace(RawBackTrace(tr, c, lay, g, t, x - 1), c, lay, lay->n_params - x, g, t);
    logic integer RawBackAdds{L}(zp_config *c, zp_layout *lay, integer x, integer p, integer e,
        integer k, integer b) =
      x <= 0 ? 0 : RawBackAdds(c, lay, x - 1, p, e, k, b) +
        RawAdds(c, lay, lay->n_params - x, p, e, k, b);
    logic integer RawBackDone{L}(zp_config *c, zp_layout *lay, integer x, integer k, integer b) =
      x <= 0 ? 0 : RawBackDone(c, lay, x - 1, k, b) + RawDone(c, lay, lay->n_params - x, k, b);

    // For micro-batch m, and for the micro-batches below m.
    logic integer MicroLen{L}(zp_config *c, zp_layout *lay, integer m) =
      m < 0 ? 0 : RawBackLen(c, lay, ReducesOn(c, m), lay->n_params);
    logic integer MicrosLen{L}(zp_config *c, zp_layout *lay, integer m) =
      m <= 0 ? 0 : MicrosLen(c, lay, m - 1) + MicroLen(c, lay, m - 1);
    logic trace MicroTrace{L}(trace tr, zp_config *c, zp_layout *lay, integer g, integer m) =
      m < 0 || ReducesOn(c, m) == 0 ? tr :
      RawBackTrace(tr, c, lay, g, BackwardTime(c->pp, lay->stage, m), lay->n_params);
    logic trace MicrosTrace{L}(trace tr, zp_config *c, zp_layout *lay, integer g, integer m) =
      m <= 0 ? tr : MicroTrace(MicrosTrace(tr, c, lay, g, m - 1), c, lay, g, m - 1);
    logic integer MicroAdds{L}(zp_config *c, zp_layout *lay, integer p, integer e, integer k,
        integer b) = RawBackAdds(c, lay, lay->n_params, p, e, k, b);
    logic integer MicroDone{L}(zp_config *c, zp_layout *lay, integer m, integer k, integer b) =
      ReducesOn(c, m) == 1 ? RawBackDone(c, lay, lay->n_params, k, b) : 0;

    // The number of ops of slot t, and of the slots before t.
    logic integer BackwardOf{L}(zp_config *c, zp_layout *lay, integer t) =
      BackwardAt(c->pp, c->micro_batches, lay->stage, t);
    logic integer DoneBefore{L}(zp_config *c, zp_layout *lay, integer t) =
      Backwarded(c->pp, c->micro_batches, lay->stage, t);
    logic integer SlotHead{L}(zp_config *c, zp_layout *lay, integer t) =
      HeadLen(c->pp, c->micro_batches, lay->stage, c->dynamic_shapes, t);
    logic integer SlotLen{L}(zp_config *c, zp_layout *lay, integer t) =
      SlotHead(c, lay, t) +
      MicroLen(c, lay, BackwardOf(c, lay, t));
    logic integer SlotsLen{L}(zp_config *c, zp_layout *lay, integer t) =
      HeadsLen(c->pp, c->micro_batches, lay->stage, c->dynamic_shapes, t) +
      MicrosLen(c, lay, DoneBefore(c, lay, t));
    logic integer SlotsOf{L}(zp_config *c) = Slots(c->pp, c->micro_batches);
    logic integer PipeLen{L}(zp_config *c, zp_layout *lay) = SlotsLen(c, lay, SlotsOf(c));
*/

/* ---- LEDG-6: the same from the configuration alone, micro-batch by micro-batch ---- */
/*@ logic trace WindowTrace{L}(trace tr, zp_config *c, integer s, integer g, integer m) =
      m <= 0 ? tr : ReducesOn(c, m - 1) == 0 ? WindowTrace(tr, c, s, g, m - 1) :
      BackTrace(WindowTrace(tr, c, s, g, m - 1), c, s, g, BackwardTime(c->pp, s, m - 1),
        StageLen(c, s));
*/

/* ---- The whole program ---- */
/*@ // LEDG-8
    logic integer StepNeed{L}(zp_config *c, zp_layout *lay) =
      PipeLen(c, lay) + TailLen(c->stage, lay->flat, lay->n_flats, c->tied_keys);
    // The position of DECIDE.
    logic integer StepDecides{L}(zp_config *c, zp_layout *lay) =
      PipeLen(c, lay) + TailBefore(lay->flat, lay->n_flats, c->tied_keys);
    // LEDG-3, LEDG-6: the ledger of group g, of key `key`; stepped 0: of a skipped step.
    logic trace StepLedger{L}(zp_config *c, zp_layout *lay, integer g, integer key,
        integer stepped) =
      TailTrace(WindowTrace(Nothing, c, lay->stage, g, c->micro_batches), c->stage, c->reduce,
        c->precision, lay->flat, lay->n_flats, c->tied_keys, g, key, stepped, SlotsOf(c));
    // PIPE-3: the link of stage s with stage `peer`.
    logic trace StepLink{L}(zp_config *c, integer s, integer peer) =
      StageLink(Nothing, c->pp, c->micro_batches, s, peer, c->dynamic_shapes, SlotsOf(c));
    // RED-3: the number of times that element e of entry p, of micro-batch m, is added into bucket
    // b of flat group k, and that the bucket is reduced after it. s: the stage.
    logic integer StepAdded{L}(zp_config *c, integer s, integer p, integer m, integer e, integer k,
        integer b) = 0 <= m < c->micro_batches ? AddsOf(c, s, StageLen(c, s), p, e, k, b) : 0;
    logic integer StepReduced{L}(zp_config *c, integer s, integer k, integer b, integer m) =
      0 <= m < c->micro_batches && ReducesOn(c, m) == 1 ?
        DoneOf(c, s, StageLen(c, s), k, b) : 0;
*/

/* ---- The planner's inputs do not change while it writes ---- */
/*@ predicate KeptSpots{A,B}(zp_layout *lay) =
      \at(lay->spot, A) == \at(lay->spot, B) &&
      (\forall integer i; 0 <= i < \at(lay->n_params, A) ==>
        \at(lay->spot[i].flat, A) == \at(lay->spot[i].flat, B) &&
        \at(lay->spot[i].start, A) == \at(lay->spot[i].start, B));
    predicate StepKept{A,B}(zp_config *c, zp_layout *lay) =
      Kept{A,B}(c) && KeptStage{A,B}(lay) && KeptFlats{A,B}(lay) && KeptSpots{A,B}(lay);

    // Writing m ops from *op on does not change them; StepApart: nor does any run of the len ops
    // from ops[n] on.
    predicate ClearOfSpots(zp_op *op, integer m, zp_spot *sp, integer ns) =
      \forall integer i; 0 <= i < ns ==> \separated(&sp[i].flat, op + (0 .. m - 1)) &&
        \separated(&sp[i].start, op + (0 .. m - 1));
    predicate StepClear(zp_op *op, integer m, zp_config *c, zp_param *ps, integer np,
        zp_layout *lay, zp_flat *fs, integer nf, zp_spot *sp, integer ns) =
      Clear(op, m, c, ps, np, lay, fs, nf) && ClearOfSpots(op, m, sp, ns);
    predicate SpotsApart(zp_op *ops, integer n, integer len, zp_spot *sp, integer ns) =
      \forall integer p, m; n <= p && 0 <= m && p + m <= n + len ==>
        ClearOfSpots(ops + p, m, sp, ns);
    predicate StepApart(zp_op *ops, integer n, integer len, zp_config *c, zp_param *ps, integer np,
        zp_layout *lay, zp_flat *fs, integer nf, zp_spot *sp, integer ns) =
      Apart(ops, n, len, c, ps, np, lay, fs, nf) && SpotsApart(ops, n, len, sp, ns);

    // TIE-1: each bucket of a tied flat group that has storage belongs to one key.
    predicate KeysHeld{L}(zp_config *c, zp_layout *lay) =
      KeysLen(lay->flat, lay->n_flats, c->tied_keys) == HeldTied(lay->flat, lay->n_flats);

    // The planner's requirements on configuration and layout: within the limits.
    predicate StageFits{L}(zp_config *c, zp_layout *lay) =
      1 <= c->pp <= ZP_LIMIT_RANKS && 1 <= c->micro_batches <= ZP_LIMIT_MICRO_BATCHES &&
      0 <= c->stage <= 2 &&
      0 <= c->reduce <= 1 && 0 <= c->precision <= 2 && 0 <= c->tied_keys <= ZP_LIMIT_TIED &&
      0 <= lay->stage < c->pp && 0 <= lay->n_params <= ZP_LIMIT_ENTRIES && 0 <= lay->first_param &&
      lay->first_param + lay->n_params <= c->n_params <= ZP_LIMIT_ENTRIES &&
      0 <= lay->n_flats <= ZP_LIMIT_ENTRIES &&
      (\forall integer i; 0 <= i < lay->n_params ==> EntryFits(c, lay, i));
*/

#endif
