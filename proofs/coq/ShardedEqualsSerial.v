(* Sharded equals serial: at the end of a step every rank holds what the serial loop computes.
   spec: RED-2, STAT-2, STEP-6 ... STEP-8, PIPE-3, PIPE-4

   For all valid configurations (Valid.v), so all topologies pp x dp x tp with ep dividing dp, ZeRO
   stages 0, 1 and 2, numbers of micro-batches, bucket sizes and lists of entries, with tied keys;
   for all stage functions (Meaning.v) and all executions under rendezvous (NoDeadlock.v). The
   ranks' programs are Plan.v's step_program. No axioms.

   sharded_step: a rank that has finished holds the parameters, its masters and moments, and the
   statistics of Serial.v's step, so also the same norm, decision and scaler, which are functions of
   those. The only hypothesis about the programs is that their clocks increase (H3). step_ends:
   under H1 ... H4 of NoDeadlock.v every execution ends with all ranks finished; the others are
   proven: H0 and H6 in StepShape.v, H5 as decisions_equal. sharded_run: any number of steps. *)

Require Import Bool List Arith ZArith Lia Sorted.
Require Import ZP.Op ZP.OpOf ZP.Plan ZP.PlanFacts ZP.Sums ZP.MeaningChannels ZP.Meaning ZP.Serial.
Require Import ZP.MeaningLayout ZP.Contract ZP.Gradients ZP.Pipeline ZP.Tail ZP.Updates ZP.Ranks.
Require Import ZP.Kept ZP.Ties ZP.TiedGroups ZP.TiedOps ZP.World ZP.StepShape.
Require ZP.Program ZP.NoDeadlock ZP.Assertions ZP.Valid.
Import ListNotations.
Open Scope Z_scope.

Lemma rank_within : forall c r, proper c -> (r < ranks c)%nat -> within c (coord_of c r).
Proof.
  intros c r C H; unfold ranks in H; rewrite (world_is c C) in H.
  pose proof (pr_pp c C); pose proof (pr_dp c C); pose proof (pr_tp c C).
  unfold within, coord_of; cbn [a_pp a_dp a_tp].
  split; [| split; apply Z.mod_pos_bound; lia].
  assert (B : Z.of_nat r < c_tp c * (c_dp c * c_pp c)) by lia.
  split; [apply Z.div_pos; [apply Z.div_pos |]; lia |].
  apply Z.div_lt_upper_bound; [lia |]; apply Z.div_lt_upper_bound; [lia | exact B].
Qed.

(* ---- The theorems ---------------------------------------------------------------------------- *)

Section Main.

Variables A T P S X V : Type.
Variable no_message : A.
Variable fwd : coord -> V -> list (list P) -> A -> Z -> A * T * (Z -> Z).
Variable bwd : coord -> V -> list (list P) -> T -> A -> Z -> A * (Z -> option (Z -> Z)).
Variable mean : Z -> X.
Variable words : X -> Z -> Z.
Variable go : V -> list Z -> bool.
Variable update : Z -> V -> list Z -> X -> S -> S.
Variable round : Z -> S -> P.
Variable next : V -> list Z -> V.
Variable c : config.

Notation mem := (mem A T P S X V).
Notation serial := (serial P S V).
Notation statistics := (statistics A T P S X V).
Notation serial_statistics := (serial_statistics A T P S X V no_message fwd bwd mean words c).
Notation serial_go := (serial_go A T P S X V no_message fwd bwd mean words go c).
Notation serial_step :=
  (serial_step A T P S X V no_message fwd bwd mean words go update round next c).
Notation decide := (decide A T P S X V go).
Notation compute := (compute A T P S X V no_message fwd bwd mean words update round c).
Notation exchange := (exchange A T P S X V c).
Notation reachable := (NoDeadlock.reachable chan op mem (members c) decide compute exchange
  (rank_program c)).

Hypothesis C : proper c.
Hypothesis Valid_c : Valid.valid c.

(* Rank r's memory agrees with the serial state z, and its statistics are empty. *)
Definition agrees (z : serial) (r : nat) (m : mem) : Prop :=
  base A T P S X V c z r m /\ forall w, m_stats _ _ _ _ _ _ m w = 0.

(* Between two steps: the scaler and the counts are updated from the agreed statistics, and the
   rank's own statistics are cleared. *)
Definition begin_next (m : mem) : mem :=
  Mem _ _ _ _ _ _ (next (m_v _ _ _ _ _ _ m) (statistics m)) (m_param _ _ _ _ _ _ m)
    (m_state _ _ _ _ _ _ m) (m_sum _ _ _ _ _ _ m) (m_mean _ _ _ _ _ _ m) (m_bucket _ _ _ _ _ _ m)
    (m_rounded _ _ _ _ _ _ m) (m_input _ _ _ _ _ _ m) (m_tape _ _ _ _ _ _ m)
    (m_output _ _ _ _ _ _ m) (m_grad_in _ _ _ _ _ _ m) (m_grad_out _ _ _ _ _ _ m)
    (m_arrived _ _ _ _ _ _ m) (fun _ => 0) (m_agreed _ _ _ _ _ _ m).

(* What a rank has at the end of the step from z. *)
Definition stepped (z : serial) (r : nat) (m : mem) : Prop :=
  statistics m = serial_statistics z /\ agrees (serial_step z) r (begin_next m).

Hypothesis H3 : NoDeadlock.H3_clock_increases chan op (rank_program c).

Section Step.

Variable z : serial.
Variable memory : nat -> mem.
Hypothesis Start : forall r, (r < ranks c)%nat -> agrees z r (memory r).

Notation wp := (wp A T P S X V no_message fwd bwd mean words go update round c z).
Notation checks := (Assertions.checks chan op mem decide compute
  (sends A T P S X V no_message fwd bwd mean words update round c z)
  (gets A T P S X V no_message fwd bwd mean words update round c z) (serial_go z)).

Lemma program_checked : forall r, (r < ranks c)%nat -> wp r (step_of c r) (stepped z r) (memory r).
Proof.
  intros r H; pose proof (rank_within c r C H) as W; destruct (Start r H) as [B St].
  unfold step_of; rewrite (proj2 (Nat.ltb_lt _ _) H); unfold step_program, tail_ops.
  eapply wp_seq; [apply pipeline_ok; try eassumption; apply storage_of_valid_is_shared;
    assumption |].
  intros m' H'; eapply wp_seq; [apply tied_ops_ok; eassumption |].
  intros m Hm; eapply wp_imp; [| apply (tail_ok _ _ _ _ _ _ _ _ _ _ _ _ _ _ c z C
    (storage_of_valid_is_held c Valid_c C) (keys_of_valid_agree c Valid_c) r W next); exact Hm].
  intros n [E1 [E2 [E3 E4]]]; split; [exact E2 |]; split; [| reflexivity].
  split; [| split; [exact E3 | exact E4]].
  cbn [m_v begin_next]; rewrite E1, E2; reflexivity.
Qed.

Lemma all_checked : forall r, checks r
  (Program.resolve chan op (serial_go z) (rank_program c r))
  (fun m => (r < ranks c)%nat -> stepped z r m) (memory r).
Proof.
  intro r; apply wp_checks.
  - apply Sorted_StronglySorted; [exact Program.before_trans | apply H3].
  - destruct (Nat.lt_ge_cases r (ranks c)) as [L|L].
    + eapply wp_imp; [| apply program_checked; exact L]; intros m H _; exact H.
    + unfold step_of; rewrite (proj2 (Nat.ltb_ge _ _) L); cbn [Contract.wp]; lia.
Qed.

(* Every rank that has finished agrees with the serial loop, wherever the others are. *)
Theorem sharded_step : forall s r, reachable memory s -> (r < ranks c)%nat -> fst (s r) = [] ->
  stepped z r (snd (s r)).
Proof.
  intros s r R L F; revert L;
    apply (Assertions.assertions_hold chan op mem (members c) decide compute
    exchange _ _ (serial_go z) (fun r m => (r < ranks c)%nat -> stepped z r m)
    (contract_kept A T P S X V no_message fwd bwd mean words update round c z C
      (keys_of_valid_agree c Valid_c) (keys_are_counted_once c Valid_c C) Valid_c)
    (rank_program c) memory all_checked s r R F).
Qed.

(* H5: every rank decides as the serial loop. *)
Theorem decisions_equal : NoDeadlock.H5_equal_decisions chan op mem (members c) decide compute
  exchange (rank_program c) memory (serial_go z).
Proof.
  intros s r R D; apply (Assertions.decisions_hold chan op mem (members c) decide compute
    exchange _ _ (serial_go z) (fun r m => (r < ranks c)%nat -> stepped z r m)
    (contract_kept A T P S X V no_message fwd bwd mean words update round c z C
      (keys_of_valid_agree c Valid_c) (keys_are_counted_once c Valid_c C) Valid_c)
    (rank_program c) memory all_checked s r R D).
Qed.

Hypothesis H1 :
  NoDeadlock.H1_equal_ledgers chan chan_eq_dec op (members c) (rank_program c) (serial_go z).
Hypothesis H2 :
  NoDeadlock.H2_members_only chan chan_eq_dec op (members c) (rank_program c) (serial_go z).
Hypothesis H4 :
  NoDeadlock.H4_equal_clocks chan chan_eq_dec op (members c) (rank_program c) (serial_go z).

(* An execution without a further step has finished on all ranks, which agree with the serial
   loop. By executions_are_bounded every execution gets there. *)
Theorem step_ends : forall s, reachable memory s ->
  NoDeadlock.stuck chan op mem (members c) decide compute exchange s ->
  NoDeadlock.finished chan op mem s /\
  forall r, (r < ranks c)%nat -> stepped z r (snd (s r)).
Proof.
  intros s R St.
  assert (F : NoDeadlock.finished chan op mem s).
  { exact (NoDeadlock.every_rank_terminates chan chan_eq_dec op mem (members c) decide compute
      exchange (ranks c) (rank_program c) memory (serial_go z) (step_shape c) H1 H2 H3 H4
      decisions_equal (step_decided_in_time c) s R St). }
  split; [exact F |]; intros r L; apply sharded_step; [exact R | exact L | apply F].
Qed.

End Step.

(* n steps lead from the memories m to the memories m'. *)
Inductive trains (m : nat -> mem) : nat -> (nat -> mem) -> Prop :=
| trains_none : trains m 0 m
| trains_more : forall n m' s, trains m n m' -> reachable m' s -> NoDeadlock.finished chan op mem s
  ->
    trains m (Datatypes.S n) (fun r => begin_next (snd (s r))).

(* After any number of steps, skipped or not, all ranks agree with the serial loop. *)
Theorem sharded_run : forall z m n m', (forall r, (r < ranks c)%nat -> agrees z r (m r)) ->
  trains m n m' -> forall r, (r < ranks c)%nat -> agrees (Nat.iter n serial_step z) r (m' r).
Proof.
  intros z m n m' Start R; induction R as [|n m' s R IH Rs F]; [exact Start |].
  intros r L; refine (proj2 (sharded_step (Nat.iter n serial_step z) m' IH s r Rs L (F r))).
Qed.

End Main.
