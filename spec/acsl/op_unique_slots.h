/* The predicates of op_slot.h and op_gradient.h determine the ops of all slots of a stage. Include
 * after op_unique.h and step_fold_lemmas.h. LEDG-1, STEP-2 */
#ifndef ZP_SPEC_ACSL_OP_UNIQUE_SLOTS_H
#define ZP_SPEC_ACSL_OP_UNIQUE_SLOTS_H

/* ---- All slots of a stage ---- */
/*@ lemma Backs_One: \forall integer S, M, s, t, next; 1 <= M && next == t + 1 ==>
      (0 <= BackwardAt(S, M, s, t) ==> Backwarded(S, M, s, t) == BackwardAt(S, M, s, t) &&
        Backwarded(S, M, s, next) == BackwardAt(S, M, s, t) + 1) &&
      (BackwardAt(S, M, s, t) < 0 ==> Backwarded(S, M, s, next) == Backwarded(S, M, s, t));
    lemma Slots_One{L}: \forall zp_config *c, zp_layout *lay, integer t, next;
      StageFits(c, lay) && 0 <= t && next == t + 1 ==>
      SlotsLen(c, lay, next) == SlotsLen(c, lay, t) + SlotLen(c, lay, t);
    lemma Head_Backward: \forall integer S, M, s, d, t; 0 <= s && 0 <= t &&
      0 <= BackwardAt(S, M, s, t) ==> 2 <= HeadLen(S, M, s, d, t);
    lemma Slot_Empty{L}: \forall zp_config *c, zp_layout *lay, integer t; StageFits(c, lay) &&
      0 <= t && SlotHead(c, lay, t) <= 0 ==> SlotLen(c, lay, t) == 0;
    lemma Slot_Early{L}: \forall zp_config *c, zp_layout *lay, integer t; StageFits(c, lay) &&
      0 <= t < lay->stage ==> SlotLen(c, lay, t) == 0;
    // The slots below x are those of one stage in both.
    predicate TwoRuns{F,A,B}(zp_op *v, zp_op *w, integer n, zp_config *c, zp_layout *lay,
        integer x) =
      StageFits{F}(c, lay) && SlotsOps{F,A}(v, n, c, lay, x) && SlotsOps{F,B}(w, n, c, lay, x);
    lemma TwoRuns_Slot{F,A,B}: \forall zp_op *v, zp_op *w, integer n, zp_config *c, zp_layout *lay,
      integer x, t; TwoRuns{F,A,B}(v, w, n, c, lay, x) && \at(lay->stage, F) <= t < x &&
      0 < SlotHead{F}(c, lay, t) ==> TwoSlots{F,A,B}(v, w, SlotsLen{F}(c, lay, t), c, lay, t);
    lemma TwoRuns_Full{F,A,B}: \forall zp_op *v, zp_op *w, integer n, lo, hi, zp_config *c,
      zp_layout *lay, integer x, t; TwoRuns{F,A,B}(v, w, n, c, lay, x) &&
      0 <= \at(lay->stage, F) <= t < x && 0 < SlotHead{F}(c, lay, t) &&
      lo == SlotsLen{F}(c, lay, t) && hi == lo + SlotLen{F}(c, lay, t) ==>
      EqualRange{A,B}(v, w, lo, hi);
    lemma Slot_FullOrEmpty{L}: \forall zp_config *c, zp_layout *lay, integer t; StageFits(c, lay) &&
      0 <= t ==> SlotLen(c, lay, t) == 0 ||
      (0 <= lay->stage <= t && 0 < SlotHead(c, lay, t));
    lemma TwoRuns_Next{F,A,B}: \forall zp_op *v, zp_op *w, integer n, lo, hi, zp_config *c,
      zp_layout *lay, integer x, t; TwoRuns{F,A,B}(v, w, n, c, lay, x) && 0 <= t < x &&
      lo == SlotsLen{F}(c, lay, t) && hi == lo + SlotLen{F}(c, lay, t) ==>
      EqualRange{A,B}(v, w, lo, hi);
    predicate EqualSlots{F,A,B}(zp_op *v, zp_op *w, zp_config *c, zp_layout *lay, integer t) =
      EqualRange{A,B}(v, w, 0, SlotsLen{F}(c, lay, t));
    lemma EqualSlots_Next{F,A,B}: \forall zp_op *v, zp_op *w, integer n, zp_config *c,
      zp_layout *lay, integer x, t, next; TwoRuns{F,A,B}(v, w, n, c, lay, x) && 0 <= t < x &&
      next == t + 1 && EqualSlots{F,A,B}(v, w, c, lay, t) ==>
      EqualSlots{F,A,B}(v, w, c, lay, next);
    lemma EqualSlots_None{F,A,B}: \forall zp_op *v, zp_op *w, zp_config *c, zp_layout *lay;
      StageFits{F}(c, lay) ==> EqualSlots{F,A,B}(v, w, c, lay, 0);
    lemma Slots_Unique{F,A,B}: \forall integer t; 0 <= t ==> \forall zp_op *v, zp_op *w, integer n,
      zp_config *c, zp_layout *lay, integer x; TwoRuns{F,A,B}(v, w, n, c, lay, x) && t <= x ==>
      EqualSlots{F,A,B}(v, w, c, lay, t);
*/

#endif
