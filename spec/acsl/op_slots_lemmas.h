/* Lemmas about the slots of a stage in op_slot.h. Include after step_fold_steps.h. */
#ifndef ZP_SPEC_ACSL_OP_SLOTS_LEMMAS_H
#define ZP_SPEC_ACSL_OP_SLOTS_LEMMAS_H

/*@ lemma Slot_Still{L}: \forall zp_config *c, zp_layout *lay, integer t, u; StageFits(c, lay) &&
      lay->stage <= t < EndSlot(c->pp, c->micro_batches, lay->stage) && t < u < NextOf(c, lay,
      t) ==>
      SlotHead(c, lay, u) <= 0;
    lemma Slot_Ended{L}: \forall zp_config *c, zp_layout *lay, integer u; StageFits(c, lay) &&
      EndSlot(c->pp, c->micro_batches, lay->stage) <= u < SlotsOf(c) ==>
      SlotHead(c, lay, u) <= 0;
    lemma SlotsOps_Next{F,O}: \forall zp_op *ops, integer n, next, zp_config *c, zp_layout *lay,
      integer t; StageFits{F}(c, lay) && n <= next && n == SlotsLen{F}(c, lay, t) && 0 <= n &&
      \at(lay->stage, F) <= t <
        EndSlot(\at(c->pp, F), \at(c->micro_batches, F), \at(lay->stage, F)) &&
      n + SlotLen{F}(c, lay, t) <= next && SlotsOps{F,O}(ops, n, c, lay, t) &&
      SlotOps{F,O}(ops, n, c, lay, t) && SlotGradients{F,O}(ops, n, c, lay, t) ==>
      SlotsOps{F,O}(ops, next, c, lay, NextOf{F}(c, lay, t));
    lemma SlotsOps_End{F,O}: \forall zp_op *ops, integer n, zp_config *c, zp_layout *lay;
      StageFits{F}(c, lay) && SlotsOps{F,O}(ops, n, c, lay,
        EndSlot(\at(c->pp, F), \at(c->micro_batches, F), \at(lay->stage, F))) ==>
      SlotsOps{F,O}(ops, n, c, lay, SlotsOf{F}(c));
*/

#endif
