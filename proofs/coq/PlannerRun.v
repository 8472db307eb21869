(* Runs of the planner's programs cannot deadlock: INIT, STEP, SAVE and LOAD in any order, for every
   valid configuration. spec: LEDG-2, LEDG-7, PIPE-5, STEP-2

   Every hypothesis of NoDeadlock.v is proven of each program. Two assumptions about values remain.
   An all-reduce of the statistics leaves the same on all ranks (T-1 in ASSUMPTIONS.md), and a
   rank's decision depends only on them (unit decide). That C writes these programs is O-1. *)

Require Import Bool List Arith ZArith Lia.
Require Import ZP.Program ZP.NoDeadlock ZP.Schedule ZP.Run ZP.Decision.
Require Import ZP.Op ZP.OpOf ZP.Plan ZP.Valid ZP.LayoutFacts ZP.Channels ZP.StepClocks.
Require Import ZP.StepLedgers ZP.StepHypotheses ZP.InitSave ZP.StepDecision.
Import ListNotations.
Open Scope Z_scope.

Section Planner.

Variable c : config.
Hypothesis V : valid c.

(* The program of rank r. *)
Definition planned (ph : phase) : nat -> list (Program.op channel call) :=
  rank_program c (program_of c ph).

Theorem planned_H0 : forall ph, H0_shape channel call (ranks c) (planned ph).
Proof. intro ph; apply shape. Qed.

Theorem planned_H2 : forall ph d,
  H2_members_only channel channel_eq_dec call (members c) (planned ph) d.
Proof.
  intros ph d; apply members_only; intros r H; destruct ph.
  - apply (init_addressed c V); reflexivity.
  - apply (step_addressed c V); [reflexivity | apply (stage_exists c V); exact H].
  - apply (save_addressed c V).
  - repeat (apply Forall_cons;
      [(intro X; discriminate X) || (apply world_addressed; reflexivity) |]).
    apply Forall_nil.
Qed.

Theorem planned_H3 : forall ph, H3_clock_increases channel call (planned ph).
Proof.
  intros []; [| apply step_H3; exact V | |]; apply clock_increases; intros r _.
  - apply (init_clocks c V).
  - apply (save_clocks c V).
  - repeat constructor; unfold before; cbn; lia.
Qed.

Theorem planned_H6 : forall ph, H6_decided_in_time channel call (planned ph).
Proof.
  intros []; [| apply step_H6; exact V | |]; intro r; unfold planned, rank_program;
    (destruct (r <? ranks c)%nat; [apply decided_unmarked | exact I]).
  - eapply Forall_impl; [| apply (init_plain c V)]; intros o H; apply H.
  - eapply Forall_impl; [| apply (save_plain c V)]; intros o H; apply H.
  - repeat constructor.
Qed.

(* The first values of a key: its entries have one size and dtype. *)
Lemma init_tied : forall s u key k, On c key s = 1 -> On c key u = 1 ->
  flat_map (put ZP_GROUP_TIED key k) (init_program c (layout_of c s)) =
  flat_map (put ZP_GROUP_TIED key k) (init_program c (layout_of c u)).
Proof.
  intros s u key k Os Ou; rewrite !init_tied_only.
  rewrite !flat_map_flat_map; apply flat_map_ext_in; intros i Hi; apply in_range in Hi.
  destruct (Z.eq_dec i key) as [->|N].
  - unfold tied_first_ops; destruct (first_entry c V s key ltac:(lia)) as [A B].
    destruct (first_entry c V u key ltac:(lia)) as [C D].
    destruct (find _ (rev (range (l_first_param (layout_of c s)) _))) as [i|];
      [| exfalso; apply A; trivial].
    destruct (find _ (rev (range (l_first_param (layout_of c u)) _))) as [j|];
      [| exfalso; apply C; trivial].
    destruct (B i eq_refl) as [Hi' Ti], (D j eq_refl) as [Hj Tj].
    destruct (tied_agree c V i j Hi' Hj ltac:(lia) ltac:(lia)) as [Nn [_ [Nf _]]].
    unfold op_first, NumelAt, Fp32At; rewrite Nn, Nf; reflexivity.
  - assert (G : forall v, flat_map (put ZP_GROUP_TIED key k) (tied_first_ops c (layout_of c v) i) =
      []).
    { intro v; unfold tied_first_ops; destruct (find _ _); [| reflexivity].
      cbn [flat_map app]; unfold put; fields.
      replace (i =? key) with false by (symmetry; apply Z.eqb_neq; exact N).
      cbn [Z.eqb Pos.eqb negb orb ZP_GROUP_TIED]; rewrite !andb_false_r; reflexivity. }
    rewrite !G; reflexivity.
Qed.

Lemma planned_ledgers : forall ph d,
  H1_equal_ledgers channel channel_eq_dec call (members c) (planned ph) d /\
  H4_equal_clocks channel channel_eq_dec call (members c) (planned ph) d.
Proof.
  intros [] d.
  - apply equal_notes; [| | exact V].
    + intros g key a b L E _ _ T; unfold program_of, program.
      assert (Same : a_pp a = a_pp b -> flat_map (put g key d)
          (init_program c (layout_of c (a_pp a))) =
        flat_map (put g key d) (init_program c (layout_of c (a_pp b)))) by (intros ->; reflexivity).
      groups L; try (apply Same; unfold group_channel in E; cbn in E; congruence).
      * change 0 with ZP_GROUP_WORLD; rewrite !(init_world c V); reflexivity.
      * change 6 with ZP_GROUP_TIED; destruct (T eq_refl); apply init_tied; assumption.
    + intros s e t _ _; unfold program_of, program; rewrite !init_hop by exact V; reflexivity.
  - split; [apply step_H1 | apply step_H4]; exact V.
  - apply equal_notes; [| | exact V].
    + intros g key a b L E _ _ T; unfold program_of, program.
      assert (Same : a_pp a = a_pp b -> flat_map (put g key d)
          (save_program c (layout_of c (a_pp a)) a) =
        flat_map (put g key d) (save_program c (layout_of c (a_pp b)) b)).
      { intros ->; apply save_same. }
      groups L; try (apply Same; unfold group_channel in E; cbn in E; congruence).
      * rewrite !save_put by (exact V || discriminate); reflexivity.
      * rewrite !save_put by (exact V || discriminate); reflexivity.
    + intros s e t _ _; unfold program_of, program; rewrite !save_hop by exact V; reflexivity.
  - apply equal_notes; [reflexivity | reflexivity | exact V].
Qed.

Theorem planned_H1 : forall ph d,
  H1_equal_ledgers channel channel_eq_dec call (members c) (planned ph) d.
Proof. apply planned_ledgers. Qed.

Theorem planned_H4 : forall ph d,
  H4_equal_clocks channel channel_eq_dec call (members c) (planned ph) d.
Proof. apply planned_ledgers. Qed.

(* Only STEP decides. *)
Lemma planned_decides : forall ph, ph <> PhaseStep ->
  forall r, Forall (no_decision channel call) (planned ph r).
Proof.
  intros ph N r; unfold planned, rank_program; destruct (r <? ranks c)%nat; [| apply Forall_nil].
  apply Forall_map; assert (U : Forall undecided (program_of c ph (coord_of c r))).
  { destruct ph; [| contradiction | |].
    - eapply Forall_impl; [| apply (init_plain c V)]; intros o H; apply H.
    - eapply Forall_impl; [| apply (save_plain c V)]; intros o H; apply H.
    - repeat (apply Forall_cons; [discriminate |]); apply Forall_nil. }
  eapply Forall_impl; [| exact U]; intro o; apply not_decide.
Qed.

(* ---- Whole runs ------------------------------------------------------------------------------ *)

Variable value : Type.
Variable decide : nat -> value -> bool.
Variable compute : nat -> Program.op channel call -> value -> value.
Variable exchange : channel -> call -> list value -> nat -> value -> value.
Variable statistics : Type.
Variable statistics_of : value -> statistics.
Variable reduced : list value -> statistics.
Variable verdict : statistics -> bool.

(* The all-reduce of the statistics leaves the same on all ranks. *)
Definition A1_same_statistics := forall values r v,
  statistics_of (exchange world statistics_call values r v) = reduced values.
(* A rank's decision is a function of its statistics, the same on all ranks. *)
Definition A2_decides_by_statistics := forall r v, decide r v = verdict (statistics_of v).

Hypothesis A1 : A1_same_statistics.
Hypothesis A2 : A2_decides_by_statistics.

Notation reachable := (reachable channel call value (members c) decide compute exchange).
Notation step := (step channel call value (members c) decide compute exchange).
Notation runs := (runs channel call value (members c) decide compute exchange).
Notation start := (start channel call value).
Notation stuck := (stuck channel call value (members c) decide compute exchange).
Notation finished := (finished channel call value).

Lemma planned_H5 : forall ph memory, exists d, H5_equal_decisions channel call value (members c)
  decide compute exchange (planned ph) memory d.
Proof.
  intros ph memory; assert (N : ph = PhaseStep \/ ph <> PhaseStep) by (destruct ph; auto; right;
    discriminate).
  destruct N as [-> | N].
  - exact (step_H5 c V value decide compute exchange statistics statistics_of reduced verdict A1 A2
      memory).
  - exists true; apply none_decides, planned_decides, N.
Qed.

(* The programs of these phases, one after the other, without a barrier between them. *)
Definition run_of_phases (phases : list phase) : nat -> list (Program.op channel call) :=
  run_of channel call (ranks c) (map planned phases).

Lemma phases_good : forall phases memory, good_run channel call value channel_eq_dec (members c)
  decide compute exchange (ranks c) (map planned phases) memory.
Proof.
  induction phases as [|ph phases IH]; intro memory; [apply good_none |].
  destruct (planned_H5 ph memory) as [d H5]; cbn [map].
  apply good_more with (stepped := d); auto using planned_H0, planned_H1, planned_H2, planned_H3,
    planned_H4, planned_H6.
Qed.

Theorem planned_runs_never_deadlock : forall phases memory s,
  reachable (run_of_phases phases) memory s -> finished s \/ exists t, step s t.
Proof. intros phases memory; apply no_deadlock_in_a_run with channel_eq_dec, phases_good. Qed.

Theorem planned_runs_terminate : forall phases memory s,
  reachable (run_of_phases phases) memory s -> stuck s -> finished s.
Proof.
  intros phases memory; exact (every_rank_terminates_in_a_run _ _ _ channel_eq_dec _ _ _ _ _ _ _
    (phases_good phases memory)).
Qed.

Theorem planned_runs_are_bounded : forall phases memory, exists n, forall k s,
  runs k (start (run_of_phases phases) memory) s -> (k <= n)%nat.
Proof.
  intros phases memory; exact (runs_are_bounded _ _ _ channel_eq_dec _ _ _ _ _ _ _
    (phases_good phases memory)).
Qed.

Theorem planned_outcome_is_unique : forall phases memory n m s t,
  runs n (start (run_of_phases phases) memory) s -> stuck s ->
  runs m (start (run_of_phases phases) memory) t -> stuck t ->
  finished s /\ n = m /\ same channel call value s t.
Proof.
  intros phases memory n m s t Rs Ss Rt St; split.
  - apply (planned_runs_terminate phases memory); [exists n; exact Rs | exact Ss].
  - exact (outcome_is_unique channel call value channel_eq_dec (members c) decide compute exchange
      n m _ s t Rs Ss Rt St).
Qed.

End Planner.

(* ---- The hypotheses are satisfiable ---------------------------------------------------------- *)

(* 2 stages of 2 data-parallel ranks, ZeRO stage 2, two micro-batches, and an embedding whose
   gradients the first and the last stage add up. *)
Definition small : config :=
  Config 2 2 1 1 2 ZP_EXACT ZP_BF16 1 1 1 2 4 1
    [Param 6 0 0 0 0 0 0 0; Param 5 0 0 (-1) 0 0 0 1; Param 6 1 0 0 0 0 0 0].

Theorem small_is_valid : valid small.
Proof.
  apply Build_valid; [reflexivity | reflexivity | reflexivity | | | |].
  - intros j H; change (c_n_params small) with 3 in H.
    assert (j = 0 \/ j = 1 \/ j = 2) as [-> | [-> | ->]] by lia; reflexivity.
  - intros i j H L; change (c_n_params small) with 3 in L.
    assert (i = 0 \/ i = 1 \/ i = 2) as [-> | [-> | ->]] by lia;
      assert (j = 0 \/ j = 1 \/ j = 2) as [-> | [-> | ->]] by lia; try lia;
      intros T P; vm_compute in T, P;
      discriminate T || (exfalso; apply P; reflexivity) || (split; reflexivity).
  - vm_compute; discriminate.
  - vm_compute; discriminate.
Qed.

(* Its ranks use all kinds of channels that STEP uses. *)
Theorem small_communicates : forall d,
  let p := resolve d (planned small PhaseStep 0) in
  ledger world p <> [] /\ ledger (Group ZP_GROUP_DP (-1) 0 0 0) p <> [] /\
  ledger (Group ZP_GROUP_TIED 0 0 0 0) p <> [] /\ ledger (Link 0 0 0) p <> [].
Proof. intros []; vm_compute; repeat split; discriminate. Qed.
