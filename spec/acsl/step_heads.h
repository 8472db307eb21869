/* Lemmas about the slots of the STEP program without their gradients, for all S, M, s and t.
 * Include after ref/plan/step_internal.h, pipeline_lemmas.h and step_lemmas.h. PIPE-2, PIPE-3 */
#ifndef ZP_SPEC_ACSL_STEP_HEADS_H
#define ZP_SPEC_ACSL_STEP_HEADS_H

/* ---- Heads and links, slot by slot ---- */
/*@ lemma SlotHead_Range: \forall integer S, M, s, d, t; 0 <= HeadLen(S, M, s, d, t) <= 4;
    lemma SlotHead_Idle: \forall integer S, M, s, d, t; Idle(S, M, s, t) ==>
      HeadLen(S, M, s, d, t) == 0;
    lemma SlotHead_IdleLink: \forall trace tr, integer S, M, s, p, d, t; Idle(S, M, s, t) ==>
      HeadTrace(tr, S, M, s, p, d, t) == tr;
    lemma Heads_Range: \forall integer t; 0 <= t ==> \forall integer S, M, s, d;
      0 <= HeadsLen(S, M, s, d, t) <= 4 * t;
    lemma Heads_Monotone: \forall integer u; 0 <= u ==> \forall integer S, M, s, d, t;
      0 <= t <= u ==> HeadsLen(S, M, s, d, t) <= HeadsLen(S, M, s, d, u);
    predicate IdleFrom(integer S, integer M, integer s, integer t, integer n) =
      \forall integer u; t <= u < t + n ==> Idle(S, M, s, u);
    lemma Heads_Still: \forall integer n; 0 <= n ==> \forall integer S, M, s, d, t;
      0 <= t && IdleFrom(S, M, s, t, n) ==>
      HeadsLen(S, M, s, d, t + n) == HeadsLen(S, M, s, d, t);
    lemma Heads_Before: \forall integer t; 0 <= t ==> \forall integer S, M, s, d;
      IdleFrom(S, M, s, 0, t) ==> HeadsLen(S, M, s, d, t) == 0;
    lemma Slot_Bit: \forall integer s, t; 0 <= s && 0 <= t ==> 0 <= BackwardSlot(s, t) <= 1;
    lemma Link_Step: \forall trace tr, integer S, M, s, p, d, t; 0 <= s && 0 <= t ==>
      StageLink(tr, S, M, s, p, d, t + 1) ==
      HeadTrace(StageLink(tr, S, M, s, p, d, t), S, M, s, p, d, t);
    lemma Link_Still: \forall integer n; 0 <= n ==> \forall trace tr, integer S, M, s, p, d, t;
      0 <= s && 0 <= t && IdleFrom(S, M, s, t, n) ==>
      StageLink(tr, S, M, s, p, d, t + n) == StageLink(tr, S, M, s, p, d, t);
    lemma Link_None: \forall trace tr, integer S, M, s, p, d;
      StageLink(tr, S, M, s, p, d, 0) == tr;
    lemma Link_Before: \forall integer t; 0 <= t ==> \forall trace tr, integer S, M, s, p, d;
      0 <= s && IdleFrom(S, M, s, 0, t) ==> StageLink(tr, S, M, s, p, d, t) == tr;
    lemma Next_Idle: \forall integer S, M, s, t; PipeSizes(S, M, s) && 0 <= t ==>
      t < NextSlot(S, M, s, t) &&
      IdleFrom(S, M, s, t + 1, NextSlot(S, M, s, t) - (t + 1));
    lemma Start_Idle: \forall integer S, M, s; PipeSizes(S, M, s) ==> IdleFrom(S, M, s, 0, s);
    lemma End_Idle: \forall integer S, M, s; PipeSizes(S, M, s) ==>
      s < EndSlot(S, M, s) <= Slots(S, M) &&
      IdleFrom(S, M, s, EndSlot(S, M, s), Slots(S, M) - EndSlot(S, M, s));
    lemma Heads_Next: \forall integer S, M, s, d, t; PipeSizes(S, M, s) && 0 <= t ==>
      HeadsLen(S, M, s, d, NextSlot(S, M, s, t)) ==
      HeadsLen(S, M, s, d, t) + HeadLen(S, M, s, d, t);
    lemma Heads_Start: \forall integer S, M, s, d; PipeSizes(S, M, s) ==>
      HeadsLen(S, M, s, d, s) == 0;
    lemma Heads_End: \forall integer S, M, s, d; PipeSizes(S, M, s) ==>
      HeadsLen(S, M, s, d, EndSlot(S, M, s)) == HeadsLen(S, M, s, d, Slots(S, M));
    lemma Link_Next: \forall trace tr, integer S, M, s, p, d, t; PipeSizes(S, M, s) && 0 <= t ==>
      StageLink(tr, S, M, s, p, d, NextSlot(S, M, s, t)) ==
      HeadTrace(StageLink(tr, S, M, s, p, d, t), S, M, s, p, d, t);
    lemma Link_Start: \forall trace tr, integer S, M, s, p, d; PipeSizes(S, M, s) ==>
      StageLink(tr, S, M, s, p, d, s) == tr;
    lemma Link_End: \forall trace tr, integer S, M, s, p, d; PipeSizes(S, M, s) ==>
      StageLink(tr, S, M, s, p, d, EndSlot(S, M, s)) ==
      StageLink(tr, S, M, s, p, d, Slots(S, M));
    lemma Backs_Next: \forall integer S, M, s, t; PipeSizes(S, M, s) && 0 <= t ==>
      (0 <= BackwardAt(S, M, s, t) ==> Backwarded(S, M, s, t) == BackwardAt(S, M, s, t) &&
        Backwarded(S, M, s, NextSlot(S, M, s, t)) == BackwardAt(S, M, s, t) + 1) &&
      (BackwardAt(S, M, s, t) < 0 ==>
        Backwarded(S, M, s, NextSlot(S, M, s, t)) == Backwarded(S, M, s, t));
    lemma Backs_Range: \forall integer S, M, s, t; 1 <= M ==> 0 <= Backwarded(S, M, s, t) <= M;
    lemma Backs_Start: \forall integer S, M, s; PipeSizes(S, M, s) ==>
      Backwarded(S, M, s, s) == 0;
    lemma Backs_End: \forall integer S, M, s; PipeSizes(S, M, s) ==>
      Backwarded(S, M, s, EndSlot(S, M, s)) == M && Backwarded(S, M, s, Slots(S, M)) == M;
*/

#endif
