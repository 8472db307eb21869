(* H5 for the planner's STEP programs. spec: STEP-2, LEDG-7

   Before the statistics' all-reduce of the world, a STEP program contains neither a decision nor
   another op of the world, and DECIDE is the next op. With Decision.v: if the all-reduce leaves the
   same statistics on all ranks, and each rank's decision depends only on them, then all ranks make
   the same decision. *)

Require Import Bool List Arith ZArith Lia Sorted.
Require Import ZP.Program ZP.NoDeadlock ZP.Decision.
Require Import ZP.Op ZP.OpOf ZP.Plan ZP.Valid ZP.LayoutFacts ZP.Channels ZP.StepClocks.
Require Import ZP.StepLedgers ZP.StepHypotheses.
Import ListNotations.
Open Scope Z_scope.

Definition world : channel := Group ZP_GROUP_WORLD (-1) 0 0 0.
Definition statistics_call : call :=
  Call ZP_OP_ALL_REDUCE ZP_WHAT_STATISTICS (-1) ZP_STATS ZP_I64 ZP_RED_SUM (-1).

Section StepDecision.

Variable c : config.
Hypothesis V : valid c.
Notation slots := (Slots (c_pp c) (c_micro_batches c)).

(* The ops before the statistics. *)
Definition before_statistics (a : coord) : list op :=
  let lay := layout_of c (a_pp a) in
  pipeline_ops c lay ++ tied_ops c lay slots ++ means_ops lay (slots + 1).

Definition after_decision (a : coord) : list op := updates_ops c (layout_of c (a_pp a)) (slots + 3).

Lemma step_parts : forall a, program_of c PhaseStep a =
  before_statistics a ++ op_statistics (slots + 2) :: op_decision (slots + 2) :: after_decision a.
Proof.
  intro a; unfold program_of, program, step_program, tail_ops, before_statistics, after_decision.
  rewrite <- !app_assoc; reflexivity.
Qed.

(* ---- No other decision ----------------------------------------------------------------------- *)

Definition undecided (o : op) : Prop := o_kind o <> ZP_OP_DECIDE.

Ltac undecided := repeat (apply Forall_cons; [discriminate |]); apply Forall_nil.

Lemma slot_undecided : forall lay t, Forall undecided (slot_ops c lay t).
Proof.
  intros lay t; unfold slot_ops, head_ops; repeat (apply Forall_app; split).
  - unfold exchange_ops; apply Forall_if; intros _; apply Forall_app; split;
      [apply Forall_if; intros _ |]; undecided.
  - unfold compute_ops; apply Forall_if; intros _; destruct (_ =? 0); [| undecided].
    unfold forward_ops; apply Forall_app; split; [apply Forall_if; intros _ |]; undecided.
  - apply Forall_if; intros _; unfold entries_ops; apply Forall_over; intros [i p] _.
    unfold entry_ops; apply Forall_if; intros _; unfold gradient_ops; apply Forall_over; intros b _.
    apply Forall_cons; [discriminate |]; apply Forall_if; intros _.
    apply Forall_cons; [| apply Forall_nil]; unfold undecided; fields; unfold ReduceKind.
    destruct (_ =? _); discriminate.
Qed.

Lemma before_undecided : forall a, Forall undecided (before_statistics a).
Proof.
  intro a; unfold before_statistics; repeat (apply Forall_app; split).
  - unfold pipeline_ops; apply Forall_over; intros t _; apply slot_undecided.
  - unfold tied_ops; apply Forall_over; intros key _; unfold key_ops.
    destruct (holder _ _) as [[k f]|]; [| apply Forall_nil]; apply Forall_forall; intros o H.
    apply in_map_iff in H; destruct H as [b [<- _]]; discriminate.
  - unfold means_ops; apply Forall_over; intros [k f] _; unfold mean_ops; apply Forall_forall.
    intros o H; apply in_map_iff in H; destruct H as [b [<- _]]; discriminate.
Qed.

Lemma after_undecided : forall a, Forall undecided (after_decision a).
Proof.
  assert (G : forall lay t u, Forall undecided (pass_ops c lay t u)).
  { intros lay t u; unfold pass_ops; apply Forall_over; intros [k f] _; unfold update_ops.
    apply Forall_over; intros b _; unfold update_bucket_ops; apply Forall_cons; [discriminate |].
    apply Forall_if; intros _; undecided. }
  intro a; unfold after_decision, updates_ops; apply Forall_app; split; apply G.
Qed.

Lemma not_decide : forall a o, undecided o -> what channel call (op_of c a o) <> Decide _ _.
Proof.
  intros a o U; cbn; unfold kind_of; destruct (is_comm o); [discriminate |].
  destruct (Z.eqb_spec (o_kind o) ZP_OP_DECIDE); [contradiction | discriminate].
Qed.

Lemma not_end : forall a o, what channel call (op_of c a o) <> End _ _.
Proof.
  intros a o; cbn; unfold kind_of; destruct (is_comm o); [discriminate |].
  destruct (_ =? _); discriminate.
Qed.

(* ---- The ops before the statistics satisfy the hypotheses ------------------------------------ *)

Definition before_of : nat -> list (Program.op channel call) := rank_program c before_statistics.

Lemma sorted_app : forall l m, StronglySorted before (l ++ m) -> StronglySorted before l.
Proof.
  intros l m; induction l as [|x l IH]; intro S; [apply SSorted_nil |]; inversion S as [| ? ? T F].
  subst; apply SSorted_cons; [auto | apply Forall_app in F; apply F].
Qed.

Lemma before_forall : forall (P : op -> Prop) a, Forall P (program_of c PhaseStep a) ->
  Forall P (before_statistics a).
Proof. intros P a H; rewrite step_parts in H; apply Forall_app in H; apply H. Qed.

Lemma before_H2 : forall d,
  H2_members_only channel channel_eq_dec call (members c) before_of d.
Proof.
  intro d; apply members_only; intros r H; apply before_forall.
  apply (step_addressed c V); [reflexivity | apply (stage_exists c V); exact H].
Qed.

Lemma before_H3 : H3_clock_increases channel call before_of.
Proof.
  apply clock_increases; intros r _; apply StronglySorted_Sorted.
  pose proof (proj1 (step_clocks c V (a_pp (coord_of c r)))) as S.
  change (step_program c (layout_of c (a_pp (coord_of c r))))
    with (program_of c PhaseStep (coord_of c r)) in S.
  rewrite step_parts, map_app in S; apply sorted_app in S; exact S.
Qed.

Lemma before_H6 : H6_decided_in_time channel call before_of.
Proof.
  intro r; unfold before_of, rank_program; destruct (Nat.ltb_spec r (ranks c)); [| exact I].
  apply decided_unmarked, before_unmarked; [exact V | apply (stage_exists c V); assumption].
Qed.

(* They contain all entries of tied keys, and all exchanges. *)
Lemma before_tied : forall key d a,
  flat_map (put ZP_GROUP_TIED key d) (before_statistics a) =
  flat_map (put ZP_GROUP_TIED key d) (program_of c PhaseStep a).
Proof.
  intros key d a; rewrite step_parts, !flat_map_app; rewrite <- app_nil_r at 1; f_equal; symmetry.
  apply flat_map_nil; repeat (apply Forall_cons; [apply other_put; discriminate |]).
  eapply Forall_impl; [| apply (updates_shape c V)]; intro o; apply of_flat_put; discriminate.
Qed.

Lemma before_hop : forall down peer d a,
  flat_map (hop down peer d) (before_statistics a) =
  flat_map (hop down peer d) (program_of c PhaseStep a).
Proof.
  intros down peer d a; rewrite step_parts, !flat_map_app; rewrite <- app_nil_r at 1; f_equal.
  symmetry; apply flat_map_nil; repeat (apply Forall_cons; [reflexivity |]).
  eapply Forall_impl; [| apply (updates_shape c V)]; intro o; apply of_flat_hop.
Qed.

Lemma before_world : forall key d a, 0 <= a_pp a < c_pp c ->
  flat_map (put ZP_GROUP_WORLD key d) (before_statistics a) = [].
Proof.
  intros key d a H; unfold before_statistics; rewrite !flat_map_app.
  rewrite pipeline_put, means_put by (assumption || discriminate).
  rewrite (flat_map_nil _ _ _ (tied_ops _ _ _)); [reflexivity |].
  eapply Forall_impl; [| apply (tied_shape c V)]; intros o [[G _] _]; apply other_put; rewrite G.
  discriminate.
Qed.

Lemma before_ledgers : forall d,
  H1_equal_ledgers channel channel_eq_dec call (members c) before_of d /\
  H4_equal_clocks channel channel_eq_dec call (members c) before_of d.
Proof.
  intro d; apply equal_notes; [| | exact V].
  - intros g key a b L E Wa Wb T; unfold Within in Wa, Wb; bools.
    assert (Same : a_pp a = a_pp b ->
      flat_map (put g key d) (before_statistics a) = flat_map (put g key d) (before_statistics b)).
    { unfold before_statistics; intros ->; reflexivity. }
    groups L; try (apply Same; unfold group_channel in E; cbn in E; congruence).
    + change 0 with ZP_GROUP_WORLD; rewrite !before_world by lia; reflexivity.
    + change 6 with ZP_GROUP_TIED; destruct (T eq_refl) as [Oa Ob]; rewrite !before_tied.
      apply step_tied; assumption || lia.
  - intros s e t Hs H1; rewrite !before_hop; apply step_link; assumption.
Qed.

(* ---- H5 -------------------------------------------------------------------------------------- *)

Variable value : Type.
Variable decide : nat -> value -> bool.
Variable compute : nat -> Program.op channel call -> value -> value.
Variable exchange : channel -> call -> list value -> nat -> value -> value.
Variable statistics : Type.
Variable statistics_of : value -> statistics.
Variable reduced : list value -> statistics.
Variable verdict : statistics -> bool.
Hypothesis reduced_alike : forall values r v,
  statistics_of (exchange world statistics_call values r v) = reduced values.
Hypothesis decide_by_statistics : forall r v, decide r v = verdict (statistics_of v).

Theorem step_H5 : forall memory, exists d,
  H5_equal_decisions channel call value (members c) decide compute exchange (step_of c) memory d.
Proof.
  intro memory.
  assert (N : forall r, Forall (no_decision channel call) (before_of r)).
  { intro r; unfold before_of, rank_program; destruct (r <? ranks c)%nat; [| apply Forall_nil].
    apply Forall_map; eapply Forall_impl; [| apply before_undecided]; intro o; apply not_decide. }
  destruct (the_end_is_reached channel channel_eq_dec call value (members c) decide compute exchange
    (ranks c) before_of memory true (shape c before_statistics) (proj1 (before_ledgers true))
    (before_H2 true) before_H3 (proj2 (before_ledgers true))
    (none_decides _ _ _ _ _ _ _ _ _ _ N) before_H6
    (start channel call value before_of memory)) as [n [last [R F]]].
  { exists 0%nat; apply runs_none; intro; reflexivity. }
  eexists; eapply (equal_decisions channel call value channel_eq_dec (members c) decide compute
    exchange (ranks c) (step_of c) before_of
    (fun r => map (op_of c (coord_of c r)) (after_decision (coord_of c r)))
    (fun r => op_of c (coord_of c r) (op_statistics (slots + 2)))
    (fun r => op_of c (coord_of c r) (op_decision (slots + 2)))
    world statistics_call memory); try eassumption; try reflexivity.
  - intro r; unfold step_of, before_of, rank_program; destruct (r <? ranks c)%nat; [| reflexivity].
    rewrite step_parts, map_app; reflexivity.
  - intros r H; apply in_members; split; [exact H |].
    exact (own_channel c ZP_GROUP_WORLD (-1) (coord_of c r) eq_refl ltac:(discriminate)).
  - intro r; apply Forall_map; eapply Forall_impl; [| apply after_undecided].
    intro o; apply not_decide.
  - intro r; unfold before_of, rank_program; destruct (Nat.ltb_spec r (ranks c)) as [L|];
      [| apply Forall_nil].
    set (a := coord_of c r); apply Forall_forall; intros o H; apply in_map_iff in H.
    destruct H as [x [<- H]]; split; [| split; [apply not_end |]].
    + apply not_decide; revert x H; apply Forall_forall, before_undecided.
    + intros y W; assert (B : flat_map (put ZP_GROUP_WORLD (-1) true) (before_statistics a) = []).
      { apply before_world, (stage_exists c V); exact L. }
      assert (E : In (y, clock_of x) (flat_map (put ZP_GROUP_WORLD (-1) true)
        (before_statistics a))); [| rewrite B in E; exact E].
      apply in_flat_map; exists x; split; [exact H |].
      rewrite <- (group_note c ZP_GROUP_WORLD (-1) 0 0 0 a)
        by exact (own_channel c ZP_GROUP_WORLD (-1) a eq_refl ltac:(discriminate)).
      cbn in W; unfold kind_of in W; unfold note, issued.
      destruct (is_comm x); [| destruct (_ =? _) in W; discriminate W].
      inversion W as [[C Y]]; rewrite orb_true_r; unfold world in *.
      destruct (channel_eq_dec _ _); [left; reflexivity | congruence].
  - intros r H; unfold before_of, rank_program; destruct (Nat.ltb_spec r (ranks c));
      [lia | reflexivity].
Qed.

End StepDecision.
