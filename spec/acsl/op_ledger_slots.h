/* What the ops of all slots of a stage append to a ledger, from their predicates: the reductions of
 * each micro-batch. Include after op_ledger_back.h and op_unique_slots.h. LEDG-6 */
#ifndef ZP_SPEC_ACSL_OP_LEDGER_SLOTS_H
#define ZP_SPEC_ACSL_OP_LEDGER_SLOTS_H

/* ---- One slot ---- */
/*@ predicate SlotAll{F,O}(zp_op *ops, integer n, zp_config *c, zp_layout *lay, integer t,
        integer g, integer key, integer stepped) =
      0 <= n && HasLedger(g) && StageFits{F}(c, lay) && 0 <= t &&
      SlotOps{F,O}(ops, n, c, lay, t) && SlotGradients{F,O}(ops, n, c, lay, t);
    predicate HeadLedger{F,O}(zp_op *ops, integer n, zp_config *c, zp_layout *lay, integer t,
        integer g, integer key, integer stepped) =
      LedgerOf{O}(ops, n + SlotHead{F}(c, lay, t), g, key, stepped) ==
        LedgerOf{O}(ops, n, g, key, stepped);
    lemma Slot_SilentHead{F,O}: \forall zp_op *ops, integer n, zp_config *c, zp_layout *lay,
      integer t, g, key, stepped; SlotAll{F,O}(ops, n, c, lay, t, g, key, stepped) ==>
      Silent{O}(ops, n, n + SlotHead{F}(c, lay, t), g) && 0 <= n <= n + SlotHead{F}(c, lay, t);
    lemma Slot_HeadLedger{F,O}: \forall zp_op *ops, integer n, zp_config *c, zp_layout *lay,
      integer t, g, key, stepped; SlotAll{F,O}(ops, n, c, lay, t, g, key, stepped) ==>
      HeadLedger{F,O}(ops, n, c, lay, t, g, key, stepped);
    lemma Slot_BacksAll{F,O}: \forall zp_op *ops, integer n, zp_config *c, zp_layout *lay,
      integer t, g, key, stepped; 0 <= BackwardOf{F}(c, lay, t) &&
      SlotAll{F,O}(ops, n, c, lay, t, g, key, stepped) ==>
      BacksAll{F,O}(ops, n + SlotHead{F}(c, lay, t), c, lay, BackwardOf{F}(c, lay, t), t,
        \at(lay->n_params, F), g, key, stepped);
    lemma Slot_BacksLedger{F,O}: \forall zp_op *ops, integer n, zp_config *c, zp_layout *lay,
      integer t, g, key, stepped; 0 <= BackwardOf{F}(c, lay, t) &&
      SlotAll{F,O}(ops, n, c, lay, t, g, key, stepped) ==>
      BacksLedger{F,O}(ops, n + SlotHead{F}(c, lay, t), c, lay, BackwardOf{F}(c, lay, t), t,
        \at(lay->n_params, F), g, key, stepped);
    lemma Slot_Now{F}: \forall zp_config *c, zp_layout *lay, integer t;
      0 <= BackwardOf(c, lay, t) ==> t == BackwardTime(c->pp, lay->stage, BackwardOf(c, lay, t));
    lemma Slot_MicroTrace{F}: \forall trace tr, zp_config *c, zp_layout *lay, integer t, g;
      0 <= BackwardOf(c, lay, t) ==> MicroTrace(tr, c, lay, g, BackwardOf(c, lay, t)) ==
        (ReducesOn(c, BackwardOf(c, lay, t)) == 0 ? tr :
         RawBackTrace(tr, c, lay, g, t, lay->n_params));
    predicate SlotLedger{F,O}(zp_op *ops, integer n, zp_config *c, zp_layout *lay, integer t,
        integer g, integer key, integer stepped) =
      LedgerOf{O}(ops, n + SlotLen{F}(c, lay, t), g, key, stepped) ==
        MicroTrace{F}(LedgerOf{O}(ops, n, g, key, stepped), c, lay, g, BackwardOf{F}(c, lay, t));
    lemma Slot_LedgerNone{F,O}: \forall zp_op *ops, integer n, zp_config *c, zp_layout *lay,
      integer t, g, key, stepped; BackwardOf{F}(c, lay, t) < 0 &&
      HeadLedger{F,O}(ops, n, c, lay, t, g, key, stepped) ==>
      SlotLedger{F,O}(ops, n, c, lay, t, g, key, stepped);
    lemma Slot_LedgerSome{F,O}: \forall zp_op *ops, integer n, zp_config *c, zp_layout *lay,
      integer t, g, key, stepped; 0 <= BackwardOf{F}(c, lay, t) &&
      HeadLedger{F,O}(ops, n, c, lay, t, g, key, stepped) &&
      BacksLedger{F,O}(ops, n + SlotHead{F}(c, lay, t), c, lay, BackwardOf{F}(c, lay, t), t,
        \at(lay->n_params, F), g, key, stepped) ==>
      SlotLedger{F,O}(ops, n, c, lay, t, g, key, stepped);
    lemma Slot_Ledger{F,O}: \forall zp_op *ops, integer n, zp_config *c, zp_layout *lay,
      integer t, g, key, stepped; SlotAll{F,O}(ops, n, c, lay, t, g, key, stepped) ==>
      SlotLedger{F,O}(ops, n, c, lay, t, g, key, stepped);
*/

/* ---- All slots ---- */
/*@ lemma Slot_NoBack{F}: \forall zp_config *c, zp_layout *lay, integer t; StageFits(c, lay) &&
      0 <= t && (t < lay->stage || SlotHead(c, lay, t) <= 0) ==> BackwardOf(c, lay, t) < 0 &&
      SlotLen(c, lay, t) == 0;
    predicate SlotsAll{F,O}(zp_op *ops, integer n, zp_config *c, zp_layout *lay, integer x,
        integer g, integer key, integer stepped) =
      HasLedger(g) && StageFits{F}(c, lay) && SlotsOps{F,O}(ops, n, c, lay, x);
    // The ledger after the slots before t.
    predicate SlotsLedger{F,O}(zp_op *ops, zp_config *c, zp_layout *lay, integer t, integer g,
        integer key, integer stepped) =
      LedgerOf{O}(ops, SlotsLen{F}(c, lay, t), g, key, stepped) ==
        MicrosTrace{F}(Nothing, c, lay, g, DoneBefore{F}(c, lay, t));
    lemma Slots_SlotAll{F,O}: \forall zp_op *ops, integer n, zp_config *c, zp_layout *lay,
      integer x, t, g, key, stepped; SlotsAll{F,O}(ops, n, c, lay, x, g, key, stepped) &&
      0 <= \at(lay->stage, F) <= t < x && 0 < SlotHead{F}(c, lay, t) ==>
      SlotAll{F,O}(ops, SlotsLen{F}(c, lay, t), c, lay, t, g, key, stepped);
    lemma Slots_SlotLedger{F,O}: \forall zp_op *ops, integer n, zp_config *c, zp_layout *lay,
      integer x, t, g, key, stepped; SlotsAll{F,O}(ops, n, c, lay, x, g, key, stepped) &&
      0 <= t < x ==> SlotLedger{F,O}(ops, SlotsLen{F}(c, lay, t), c, lay, t, g, key, stepped);
    lemma Slots_Micros{F}: \forall trace tr, zp_config *c, zp_layout *lay, integer t, next, g;
      StageFits(c, lay) && 0 <= t && next == t + 1 ==>
      MicrosTrace(tr, c, lay, g, DoneBefore(c, lay, next)) ==
        MicroTrace(MicrosTrace(tr, c, lay, g, DoneBefore(c, lay, t)), c, lay, g,
          BackwardOf(c, lay, t));
    lemma Slots_Join{F,O}: \forall zp_op *ops, zp_config *c, zp_layout *lay, integer t, next, g,
      key, stepped; StageFits{F}(c, lay) && 0 <= t && next == t + 1 &&
      SlotsLedger{F,O}(ops, c, lay, t, g, key, stepped) &&
      SlotLedger{F,O}(ops, SlotsLen{F}(c, lay, t), c, lay, t, g, key, stepped) ==>
      SlotsLedger{F,O}(ops, c, lay, next, g, key, stepped);
    lemma Slots_LedgerNext{F,O}: \forall zp_op *ops, integer n, zp_config *c, zp_layout *lay,
      integer x, t, next, g, key, stepped; SlotsAll{F,O}(ops, n, c, lay, x, g, key, stepped) &&
      0 <= t < x && next == t + 1 && SlotsLedger{F,O}(ops, c, lay, t, g, key, stepped) ==>
      SlotsLedger{F,O}(ops, c, lay, next, g, key, stepped);
    lemma Slots_LedgerStart{F,O}: \forall zp_op *ops, zp_config *c, zp_layout *lay, integer g, key,
      stepped; StageFits{F}(c, lay) ==> SlotsLedger{F,O}(ops, c, lay, 0, g, key, stepped);
    lemma Slots_Ledger{F,O}: \forall integer t; 0 <= t ==> \forall zp_op *ops, integer n,
      zp_config *c, zp_layout *lay, integer x, g, key, stepped; t <= x &&
      SlotsAll{F,O}(ops, n, c, lay, x, g, key, stepped) ==>
      SlotsLedger{F,O}(ops, c, lay, t, g, key, stepped);
*/

#endif
