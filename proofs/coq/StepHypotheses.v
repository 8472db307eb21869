(* The planner's STEP programs satisfy the hypotheses of NoDeadlock.v, so they cannot deadlock.
   spec: LEDG-2, LEDG-7, PIPE-5, STEP-2

   For every valid configuration and either decision. H5, that all ranks make the same decision,
   remains a hypothesis: it is about values, and programs do not contain values. Before DECIDE the
   ranks exchange the statistics with all others (step_world in StepLedgers.v). *)

Require Import List Arith ZArith Lia.
Require Import ZP.Program ZP.NoDeadlock ZP.Schedule.
Require Import ZP.Op ZP.OpOf ZP.Plan ZP.Valid ZP.LayoutFacts ZP.Channels ZP.StepClocks.
Require Import ZP.StepLedgers.
Import ListNotations.
Open Scope Z_scope.

Section Step.

Variable c : config.
Hypothesis V : valid c.

(* Rank r's STEP program. *)
Definition step_of : nat -> list (Program.op channel call) :=
  rank_program c (program_of c PhaseStep).

Lemma stage_exists : forall r, (r < ranks c)%nat -> 0 <= a_pp (coord_of c r) < c_pp c.
Proof.
  intros r H; pose proof (coord_within c V r H) as W; unfold Within in W; bools; lia.
Qed.

Theorem step_H0 : H0_shape channel call (ranks c) step_of.
Proof. apply shape. Qed.

Theorem step_H2 : forall d,
  H2_members_only channel channel_eq_dec call (members c) step_of d.
Proof.
  intro d; apply members_only; intros r H.
  apply (step_addressed c V); [reflexivity | apply stage_exists; exact H].
Qed.

Theorem step_H3 : H3_clock_increases channel call step_of.
Proof. apply step_clock_increases, V. Qed.

Theorem step_H6 : H6_decided_in_time channel call step_of.
Proof.
  intro r; unfold step_of, rank_program; destruct (Nat.ltb_spec r (ranks c)); [| exact I].
  apply (step_decided c V), stage_exists; assumption.
Qed.

Lemma step_ledgers : forall d,
  H1_equal_ledgers channel channel_eq_dec call (members c) step_of d /\
  H4_equal_clocks channel channel_eq_dec call (members c) step_of d.
Proof.
  intro d; apply equal_notes; [| | exact V].
  - intros g key a b L E Wa Wb T; unfold program_of, program; unfold Within in Wa, Wb; bools.
    assert (Same : a_pp a = a_pp b -> flat_map (put g key d)
        (step_program c (layout_of c (a_pp a))) =
      flat_map (put g key d) (step_program c (layout_of c (a_pp b)))).
    { intros ->; reflexivity. }
    groups L; try (apply Same; unfold group_channel in E; cbn in E; congruence).
    + change 0 with ZP_GROUP_WORLD; rewrite !step_world by (assumption || lia); reflexivity.
    + change 6 with ZP_GROUP_TIED; destruct (T eq_refl) as [Oa Ob].
      apply step_tied; assumption || lia.
  - intros s e t Hs H1; apply step_link; assumption.
Qed.

Theorem step_H1 : forall d,
  H1_equal_ledgers channel channel_eq_dec call (members c) step_of d.
Proof. apply step_ledgers. Qed.

Theorem step_H4 : forall d,
  H4_equal_clocks channel channel_eq_dec call (members c) step_of d.
Proof. apply step_ledgers. Qed.

(* ---- Executions ------------------------------------------------------------------------------ *)

Variable value : Type.
Variable decide : nat -> value -> bool.
Variable compute : nat -> Program.op channel call -> value -> value.
Variable exchange : channel -> call -> list value -> nat -> value -> value.
Variable memory : nat -> value.
Variable stepped : bool.

Hypothesis H5 : H5_equal_decisions channel call value (members c) decide compute exchange
  step_of memory stepped.

Notation reachable := (reachable channel call value (members c) decide compute exchange step_of
  memory).
Notation step := (step channel call value (members c) decide compute exchange).
Notation runs := (runs channel call value (members c) decide compute exchange).
Notation start := (start channel call value step_of memory).
Notation stuck := (stuck channel call value (members c) decide compute exchange).
Notation finished := (finished channel call value).

(* In every reachable state, all ranks have finished or a step is possible. *)
Theorem step_never_deadlocks : forall s, reachable s -> finished s \/ exists t, step s t.
Proof.
  exact (no_deadlock channel channel_eq_dec call value (members c) decide compute exchange (ranks c)
    step_of memory stepped step_H0 (step_H1 stepped) (step_H2 stepped) step_H3 (step_H4 stepped) H5
    step_H6).
Qed.

(* An execution without a further step has run every rank's program to its end. *)
Theorem every_step_terminates : forall s, reachable s -> stuck s -> finished s.
Proof.
  exact (every_rank_terminates channel channel_eq_dec call value (members c) decide compute exchange
    (ranks c) step_of memory stepped step_H0 (step_H1 stepped) (step_H2 stepped) step_H3
    (step_H4 stepped) H5 step_H6).
Qed.

(* All executions that cannot continue have run all programs to their ends, after the same number of
   steps and with the same memories. *)
Theorem step_outcome_is_unique : forall n m s t,
  runs n start s -> stuck s -> runs m start t -> stuck t ->
  finished s /\ n = m /\ same channel call value s t.
Proof.
  intros n m s t Rs Ss Rt St; split.
  - apply every_step_terminates; [exists n; exact Rs | exact Ss].
  - exact (outcome_is_unique channel call value channel_eq_dec (members c) decide compute exchange
      n m start s t Rs Ss Rt St).
Qed.

(* No execution has more steps than there are ops. *)
Theorem steps_are_bounded : forall n s, runs n start s ->
  (n + total channel call value (ranks c) s <= total channel call value (ranks c) start)%nat.
Proof.
  exact (executions_are_bounded channel channel_eq_dec call value (members c) decide compute
    exchange
    (ranks c) step_of memory stepped step_H0 (step_H1 stepped) (step_H2 stepped) step_H3
    (step_H4 stepped) H5 step_H6).
Qed.

End Step.
