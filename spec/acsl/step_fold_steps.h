/* Lemmas about step_fold.h for the planner's loops over slots and entries. Include after
 * step_kept.h. */
#ifndef ZP_SPEC_ACSL_STEP_FOLD_STEPS_H
#define ZP_SPEC_ACSL_STEP_FOLD_STEPS_H

/*@ // The next entry, x-th in backward order, and its length.
    predicate RawBackRoom{L}(zp_config *c, zp_layout *lay, integer r, integer x) =
      0 <= RawBackLen(c, lay, r, x) && 0 <= RawLen(c, lay, lay->n_params - x - 1, r) &&
      RawBackLen(c, lay, r, x + 1) ==
        RawBackLen(c, lay, r, x) + RawLen(c, lay, lay->n_params - x - 1, r) &&
      RawBackLen(c, lay, r, x + 1) <= RawBackLen(c, lay, r, lay->n_params);
    // A slot's head and gradients.
    predicate SlotPart{L}(zp_config *c, zp_layout *lay, integer t) =
      0 <= SlotHead(c, lay, t) && 0 <= MicroLen(c, lay, BackwardOf(c, lay, t)) &&
      SlotLen(c, lay, t) == SlotHead(c, lay, t) + MicroLen(c, lay, BackwardOf(c, lay, t));
    // Before the first slot, in a slot, after the last slot.
    predicate SlotStart{L}(zp_config *c, zp_layout *lay) =
      SlotsLen(c, lay, lay->stage) == 0 && DoneBefore(c, lay, lay->stage) == 0 &&
      (\forall trace tr, integer peer; StageLinkOf(tr, c, lay, peer, lay->stage) == tr);
    logic integer NextOf{L}(zp_config *c, zp_layout *lay, integer t) =
      NextSlot(c->pp, c->micro_batches, lay->stage, t);
    predicate SlotRoom{L}(zp_config *c, zp_layout *lay, integer t) =
      0 <= SlotsLen(c, lay, t) && 0 <= SlotLen(c, lay, t) &&
      SlotsLen(c, lay, NextOf(c, lay, t)) == SlotsLen(c, lay, t) + SlotLen(c, lay, t) &&
      SlotsLen(c, lay, t) + SlotLen(c, lay, t) <= PipeLen(c, lay);
    predicate HeadsNext{L}(zp_config *c, zp_layout *lay, integer t) =
      \let u = NextOf(c, lay, t);
      u <= EndSlot(c->pp, c->micro_batches, lay->stage) &&
      HeadsLen(c->pp, c->micro_batches, lay->stage, c->dynamic_shapes, u) ==
        HeadsLen(c->pp, c->micro_batches, lay->stage, c->dynamic_shapes, t) +
        HeadLen(c->pp, c->micro_batches, lay->stage, c->dynamic_shapes, t);
    predicate HeadsEnd{L}(zp_config *c, zp_layout *lay) =
      HeadsLen(c->pp, c->micro_batches, lay->stage, c->dynamic_shapes,
        EndSlot(c->pp, c->micro_batches, lay->stage)) ==
      HeadsLen(c->pp, c->micro_batches, lay->stage, c->dynamic_shapes, SlotsOf(c)) &&
      HeadsLen(c->pp, c->micro_batches, lay->stage, c->dynamic_shapes, lay->stage) == 0;
    predicate SlotMicro{L}(zp_config *c, zp_layout *lay, integer t) =
      (0 <= BackwardOf(c, lay, t) ==> DoneBefore(c, lay, t) == BackwardOf(c, lay, t) &&
        DoneBefore(c, lay, NextOf(c, lay, t)) == BackwardOf(c, lay, t) + 1) &&
      (BackwardOf(c, lay, t) < 0 ==>
        DoneBefore(c, lay, NextOf(c, lay, t)) == DoneBefore(c, lay, t)) &&
      0 <= DoneBefore(c, lay, t);
    predicate SlotStep{L}(zp_config *c, zp_layout *lay, integer t) =
      SlotRoom(c, lay, t) && SlotMicro(c, lay, t) &&
      (\forall trace tr, integer g;
        MicrosTrace(tr, c, lay, g, DoneBefore(c, lay, NextOf(c, lay, t))) ==
        MicroTrace(MicrosTrace(tr, c, lay, g, DoneBefore(c, lay, t)), c, lay, g,
          BackwardOf(c, lay, t))) &&
      (\forall trace tr, integer peer; StageLinkOf(tr, c, lay, peer, NextOf(c, lay, t)) ==
        SlotLink(StageLinkOf(tr, c, lay, peer, t), c, lay, peer, t));
    predicate SlotEnd{L}(zp_config *c, zp_layout *lay) =
      \let e = EndSlot(c->pp, c->micro_batches, lay->stage);
      e <= SlotsOf(c) && DoneBefore(c, lay, e) == c->micro_batches &&
      SlotsLen(c, lay, e) == PipeLen(c, lay) &&
      (\forall trace tr, integer peer; StageLinkOf(tr, c, lay, peer, e) ==
        StageLinkOf(tr, c, lay, peer, SlotsOf(c)));
*/

/*@ lemma Slot_Entry{L}: \forall zp_config *c, zp_layout *lay, integer r, x;
      StageFits(c, lay) && 0 <= x < lay->n_params ==> RawBackRoom(c, lay, r, x);
    lemma Slot_Part{L}: \forall zp_config *c, zp_layout *lay, integer t; StageFits(c, lay) ==>
      SlotPart(c, lay, t);
    lemma Slot_Start{L}: \forall zp_config *c, zp_layout *lay; StageFits(c, lay) ==>
      SlotStart(c, lay);
    lemma Slot_Room{L}: \forall zp_config *c, zp_layout *lay, integer t; StageFits(c, lay) &&
      lay->stage <= t < EndSlot(c->pp, c->micro_batches, lay->stage) ==>
      SlotRoom(c, lay, t);
    lemma Slot_Micro{L}: \forall zp_config *c, zp_layout *lay, integer t; StageFits(c, lay) &&
      lay->stage <= t < EndSlot(c->pp, c->micro_batches, lay->stage) ==>
      SlotMicro(c, lay, t);
    lemma Slot_Trace{L}: \forall zp_config *c, zp_layout *lay, integer t, trace tr, integer g;
      StageFits(c, lay) &&
      lay->stage <= t < EndSlot(c->pp, c->micro_batches, lay->stage) ==> SlotMicro(c, lay, t) &&
      MicrosTrace(tr, c, lay, g, DoneBefore(c, lay, NextOf(c, lay, t))) ==
      MicroTrace(MicrosTrace(tr, c, lay, g, DoneBefore(c, lay, t)), c, lay, g,
        BackwardOf(c, lay, t));
    lemma Slot_Link{L}: \forall zp_config *c, zp_layout *lay, integer t, trace tr, integer peer;
      StageFits(c, lay) &&
      lay->stage <= t < EndSlot(c->pp, c->micro_batches, lay->stage) ==>
      StageLinkOf(tr, c, lay, peer, NextOf(c, lay, t)) ==
      SlotLink(StageLinkOf(tr, c, lay, peer, t), c, lay, peer, t);
    lemma Slot_Step{L}: \forall zp_config *c, zp_layout *lay, integer t; StageFits(c, lay) &&
      lay->stage <= t < EndSlot(c->pp, c->micro_batches, lay->stage) ==> SlotStep(c, lay, t);
    lemma Slot_End{L}: \forall zp_config *c, zp_layout *lay; StageFits(c, lay) ==>
      SlotEnd(c, lay);
    lemma Slot_Heads{L}: \forall zp_config *c, zp_layout *lay, integer t; StageFits(c, lay) &&
      lay->stage <= t < EndSlot(c->pp, c->micro_batches, lay->stage) ==> HeadsNext(c, lay, t);
    lemma Slot_HeadsEnd{L}: \forall zp_config *c, zp_layout *lay; StageFits(c, lay) ==>
      HeadsEnd(c, lay);
    lemma Slot_Time: \forall integer S, M, s, t; PipeSizes(S, M, s) && 0 <= t ==>
      (BackwardSlot(s, t) == 1 && 0 <= Computed(S, M, s, t) ==>
        t == BackwardTime(S, s, Computed(S, M, s, t)) &&
        BackwardAt(S, M, s, t) == Computed(S, M, s, t)) &&
      (BackwardSlot(s, t) == 0 || Computed(S, M, s, t) < 0 ==> BackwardAt(S, M, s, t) < 0);
    lemma Kept_Reduces{A,B}: \forall zp_config *c, zp_layout *lay, integer m;
      StepKept{A,B}(c, lay) ==> ReducesOn{A}(c, m) == ReducesOn{B}(c, m);
    lemma Kept_MicroLen{A,B}: \forall zp_config *c, zp_layout *lay, integer m;
      StepKept{A,B}(c, lay) && StageFits{A}(c, lay) ==>
      MicroLen{A}(c, lay, m) == MicroLen{B}(c, lay, m);
    lemma Kept_MicroTrace{A,B}: \forall trace tr, zp_config *c, zp_layout *lay, integer g, m;
      StepKept{A,B}(c, lay) && StageFits{A}(c, lay) ==>
      MicroTrace{A}(tr, c, lay, g, m) == MicroTrace{B}(tr, c, lay, g, m);
    lemma Kept_MicroAdds{A,B}: \forall zp_config *c, zp_layout *lay, integer p, e, k, b;
      StepKept{A,B}(c, lay) && StageFits{A}(c, lay) ==>
      MicroAdds{A}(c, lay, p, e, k, b) == MicroAdds{B}(c, lay, p, e, k, b);
    lemma Kept_MicroDone{A,B}: \forall zp_config *c, zp_layout *lay, integer m, k, b;
      StepKept{A,B}(c, lay) && StageFits{A}(c, lay) ==>
      MicroDone{A}(c, lay, m, k, b) == MicroDone{B}(c, lay, m, k, b);
    lemma Kept_SlotHead{A,B}: \forall zp_config *c, zp_layout *lay, integer t;
      StepKept{A,B}(c, lay) ==> SlotHead{A}(c, lay, t) == SlotHead{B}(c, lay, t) &&
      BackwardOf{A}(c, lay, t) == BackwardOf{B}(c, lay, t);
    lemma Kept_SlotLink{A,B}: \forall trace tr, zp_config *c, zp_layout *lay, integer p, t;
      StepKept{A,B}(c, lay) ==> SlotLink{A}(tr, c, lay, p, t) == SlotLink{B}(tr, c, lay, p, t);
    lemma Kept_SlotMicro{A,B}: \forall zp_config *c, zp_layout *lay, integer t;
      StepKept{A,B}(c, lay) && StageFits{A}(c, lay) ==>
      MicroLen{A}(c, lay, BackwardOf{A}(c, lay, t)) ==
      MicroLen{B}(c, lay, BackwardOf{B}(c, lay, t));
    lemma Kept_SlotLen{A,B}: \forall zp_config *c, zp_layout *lay, integer t;
      StepKept{A,B}(c, lay) && StageFits{A}(c, lay) ==>
      SlotLen{A}(c, lay, t) == SlotLen{B}(c, lay, t);
*/

#endif
