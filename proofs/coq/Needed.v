(* The hypotheses of NoDeadlock.v are consistent and necessary: some programs satisfy all of them,
   and if one of H1 ... H6 is dropped, the theorem is false. The counterexamples have two ranks, one
   or two channels and a few ops.
   spec: LEDG-7 *)

Require Import Bool List Arith ZArith Lia Sorted.
Require Import ZP.Program ZP.NoDeadlock ZP.Run.
Import ListNotations.

(* Two channels; contents are numbers; memories play no role. *)
Inductive two := A | B.
Definition two_eq_dec : forall a b : two, {a = b} + {a <> b}.
Proof. decide equality. Defined.

Notation program := (list (op two nat)).
Definition comm c x (i : Z) : op two nat := Build_op _ _ (Comm _ _ c x) false (i, 0%Z).
Definition when_stepped c x (i : Z) : op two nat := Build_op _ _ (Comm _ _ c x) true (i, 0%Z).
Definition local (i : Z) : op two nat := Build_op _ _ (Local _ _) false (i, 0%Z).
Definition decision (i : Z) : op two nat := Build_op _ _ (Decide _ _) false (i, 0%Z).

Record job := {
  at_channel : two -> list nat;
  runs_program : nat -> program;
  decides : nat -> bool;
  n_ranks : nat;
  is_stepped : bool }.

Section Job.
Variable j : job.
Definition D (r : nat) (_ : unit) := decides j r.
Definition C (_ : nat) (_ : op two nat) (v : unit) := v.
Definition X (_ : two) (_ : nat) (_ : list unit) (_ : nat) (v : unit) := v.
Definition begin := start two nat unit (runs_program j) (fun _ => tt).
Definition go (l : label two) := after two nat unit (at_channel j) D C X l.
Definition may l s := enabled two nat unit (at_channel j) l s.
Definition arrives s :=
  reachable two nat unit (at_channel j) D C X (runs_program j) (fun _ => tt) s.
Definition ended s := finished two nat unit s.
Definition halts s := stuck two nat unit (at_channel j) D C X s.
Definition H0 := H0_shape two nat (n_ranks j) (runs_program j).
Definition H1 := H1_equal_ledgers two two_eq_dec nat (at_channel j) (runs_program j)
                   (is_stepped j).
Definition H2 := H2_members_only two two_eq_dec nat (at_channel j) (runs_program j) (is_stepped j).
Definition H3 := H3_clock_increases two nat (runs_program j).
Definition H4 := H4_equal_clocks two two_eq_dec nat (at_channel j) (runs_program j) (is_stepped j).
Definition H5 := H5_equal_decisions two nat unit (at_channel j) D C X (runs_program j)
                   (fun _ => tt) (is_stepped j).
Definition H6 := H6_decided_in_time two nat (runs_program j).

(* Some execution reaches a state without a further step in which some rank has not finished. *)
Definition deadlocks := exists s, arrives s /\ halts s /\ ~ ended s.

Lemma arrives_begin : arrives begin.
Proof. exists 0; apply runs_none; intro; reflexivity. Qed.

Lemma arrives_go : forall s l, arrives s -> may l s -> arrives (go l s).
Proof.
  intros s l [n R] E; exists (S n); eapply runs_snoc; [exact R |].
  exists l; split; [exact E | intro; reflexivity].
Qed.
End Job.

(* Ranks 0 and 1 run p and q; no other rank runs a program. *)
Definition pair (p q : program) (r : nat) : program :=
  match r with 0 => p | 1 => q | _ => [] end.
Definition both (_ : two) : list nat := [0; 1].

(* Decides everything that follows from the text of two short programs. *)
Ltac look :=
  repeat match goal with
  | H : exists _, _ |- _ => destruct H
  | H : _ /\ _ |- _ => destruct H
  | H : _ \/ _ |- _ => destruct H
  | H : _ :: _ = _ :: _ |- _ => inversion H; clear H; subst
  | H : In _ _ |- _ => simpl in H
  | H : False |- _ => contradiction
  end; subst; simpl in *; try discriminate; try congruence; try tauto; auto.
Ltac each := repeat match goal with |- _ /\ _ => split end.
Ltac ledgers := intros c q r Hq Hr; destruct c; look; reflexivity.
Ltac outsiders := intros c [|[|[|r]]] N; destruct c; simpl in *; try reflexivity; exfalso; tauto.
Ltac clocks :=
  intros [|[|[|r]]]; simpl;
  repeat (apply Sorted_cons || apply Sorted_nil || apply HdRel_cons || apply HdRel_nil);
  unfold before; simpl; lia.
Ltac shape :=
  split;
  [ intros [|[|[|r]]] L; simpl in L; try lia; reflexivity
  | intros [|[|[|r]]]; unfold one_program; simpl; repeat apply Forall_cons; try apply Forall_nil;
    discriminate ].
Ltac agreed := intros s r _ _; reflexivity.
Ltac in_time := intros [|[|[|r]]]; simpl; tauto.
Ltac open_up E := unfold is_at in E; simpl in E; unfold resolve in E; simpl in E.
Ltac no_way :=
  intros t [l [E _]]; destruct l as [r|c];
  [ destruct r as [|[|[|r]]]; simpl in E; open_up E; look
  | destruct c; simpl in E; destruct E as [Ne [x E]];
    try congruence;
    try (pose proof (E 0 (or_introl eq_refl)) as E0; open_up E0);
    try (pose proof (E 1 (or_intror (or_introl eq_refl))) as E1; open_up E1);
    look ].
Ltac unfinished r := let F := fresh "F" in intro F; specialize (F r); simpl in F; discriminate.

(* ---- Programs that satisfy all hypotheses ---------------------------------------------------- *)

(* A stage's update after a decision, on two overlapping groups of three ranks. *)
Definition good : job := {|
  at_channel := fun c => match c with A => [0; 1; 2] | B => [1; 2] end;
  runs_program := fun r =>
    match r with
    | 0 => [comm A 7 1; decision 2; when_stepped A 8 4]
    | 1 => [local 0; comm A 7 1; decision 2; when_stepped B 9 3; when_stepped A 8 4; local 5]
    | 2 => [comm A 7 1; decision 2; when_stepped B 9 3; when_stepped A 8 4]
    | _ => []
    end;
  decides := fun _ => true; n_ranks := 3; is_stepped := true |}.

Theorem hypotheses_hold_of_good :
  H0 good /\ H1 good /\ H2 good /\ H3 good /\ H4 good /\ H5 good /\ H6 good.
Proof.
  each; [shape | ledgers | | clocks | ledgers | agreed |].
  - intros c [|[|[|r]]] N; destruct c; simpl in *; try reflexivity; exfalso; tauto.
  - intros [|[|[|r]]]; simpl; tauto.
Qed.

Corollary good_never_deadlocks : ~ deadlocks good.
Proof.
  destruct hypotheses_hold_of_good as [h0 [h1 [h2 [h3 [h4 [h5 h6]]]]]].
  intros [s [R [St N]]]; apply N.
  eapply every_rank_terminates; eassumption.
Qed.

(* Two such steps in a row, with no barrier between them. *)
Theorem hypotheses_hold_of_a_run : forall memory,
  good_run two nat unit two_eq_dec (at_channel good) (D good) C X (n_ranks good)
    [runs_program good; runs_program good] memory.
Proof.
  destruct hypotheses_hold_of_good as [h0 [h1 [h2 [h3 [h4 [_ h6]]]]]].
  intro m; apply good_more with (stepped := true); try assumption; [agreed |].
  intros n t _ _; apply good_more with (stepped := true); try assumption; [agreed |].
  intros; apply good_none.
Qed.

(* ---- Each hypothesis is needed --------------------------------------------------------------- *)

(* H1: two members of one communication have different contents. *)
Definition mismatch : job := {|
  at_channel := both; runs_program := pair [comm A 1 1] [comm A 2 1];
  decides := fun _ => true; n_ranks := 2; is_stepped := true |}.
Theorem without_H1 : H0 mismatch /\ H2 mismatch /\ H3 mismatch /\ H4 mismatch /\ H5 mismatch /\
  H6 mismatch /\ deadlocks mismatch.
Proof.
  each; [shape | outsiders | clocks | ledgers | agreed | in_time |].
  exists (begin mismatch); each; [apply arrives_begin | no_way | unfinished 0].
Qed.

(* H2: rank 1 issues on a channel whose only member is rank 0. *)
Definition stranger : job := {|
  at_channel := fun _ => [0]; runs_program := pair [] [comm A 1 1];
  decides := fun _ => true; n_ranks := 2; is_stepped := true |}.
Theorem without_H2 : H0 stranger /\ H1 stranger /\ H3 stranger /\ H4 stranger /\ H5 stranger /\
  H6 stranger /\ deadlocks stranger.
Proof.
  each; [shape | ledgers | clocks | ledgers | agreed | in_time |].
  exists (begin stranger); each; [apply arrives_begin | no_way | unfinished 1].
Qed.

(* H3: equal ledgers, equal clocks, but one rank runs its ops on two groups in reverse order. *)
Definition crossed : job := {|
  at_channel := both; runs_program := pair [comm A 1 1; comm B 1 2] [comm B 1 2; comm A 1 1];
  decides := fun _ => true; n_ranks := 2; is_stepped := true |}.
Theorem without_H3 : H0 crossed /\ H1 crossed /\ H2 crossed /\ H4 crossed /\ H5 crossed /\
  H6 crossed /\ deadlocks crossed.
Proof.
  each; [shape | ledgers | outsiders | ledgers | agreed | in_time |].
  exists (begin crossed); each; [apply arrives_begin | no_way | unfinished 0].
Qed.

(* H4: the same reversal, where each rank has its own clock. *)
Definition own_clocks : job := {|
  at_channel := both; runs_program := pair [comm A 1 1; comm B 1 2] [comm B 1 1; comm A 1 2];
  decides := fun _ => true; n_ranks := 2; is_stepped := true |}.
Theorem without_H4 : H0 own_clocks /\ H1 own_clocks /\ H2 own_clocks /\ H3 own_clocks /\
  H5 own_clocks /\ H6 own_clocks /\ deadlocks own_clocks.
Proof.
  each; [shape | ledgers | outsiders | clocks | agreed | in_time |].
  exists (begin own_clocks); each; [apply arrives_begin | no_way | unfinished 0].
Qed.

(* H5: rank 0 skips the step, rank 1 does not. *)
Definition disagreement : job := {|
  at_channel := both;
  runs_program := fun r => match r with
    | 0 | 1 => [decision 1; when_stepped A 1 2] | _ => [] end;
  decides := fun r => negb (r =? 0); n_ranks := 2; is_stepped := true |}.
Theorem without_H5 : H0 disagreement /\ H1 disagreement /\ H2 disagreement /\ H3 disagreement /\
  H4 disagreement /\ H6 disagreement /\ deadlocks disagreement.
Proof.
  each; [shape | ledgers | outsiders | clocks | ledgers | in_time |].
  exists (go disagreement (Alone _ 1) (go disagreement (Alone _ 0) (begin disagreement))).
  each; [| no_way | unfinished 1].
  apply arrives_go; [apply arrives_go; [apply arrives_begin |] |];
    right; left; eexists _, _; simpl; each; reflexivity.
Qed.

(* H6: an op that depends on the decision comes before it. *)
Definition too_early : job := {|
  at_channel := both;
  runs_program := fun r => match r with
    | 0 | 1 => [when_stepped A 1 1; decision 2] | _ => [] end;
  decides := fun _ => true; n_ranks := 2; is_stepped := true |}.
Theorem without_H6 : H0 too_early /\ H1 too_early /\ H2 too_early /\ H3 too_early /\
  H4 too_early /\ H5 too_early /\ deadlocks too_early.
Proof.
  each; [shape | ledgers | outsiders | clocks | ledgers | agreed |].
  exists (begin too_early); each; [apply arrives_begin | no_way | unfinished 0].
Qed.

(* ---- Known faults ---------------------------------------------------------------------------- *)

(* A norm of one collective per optimizer group: one rank has one group, the other has two. *)
Definition norm_by_groups : job := {|
  at_channel := both; runs_program := pair [comm A 1 1] [comm A 1 1; comm A 1 2];
  decides := fun _ => true; n_ranks := 2; is_stepped := true |}.
Theorem norm_by_groups_deadlocks : deadlocks norm_by_groups.
Proof.
  exists (go norm_by_groups (Together _ A) (begin norm_by_groups)).
  each; [| no_way | unfinished 1].
  apply arrives_go; [apply arrives_begin |]; split; [discriminate |].
  exists 1; simpl; intros r [<- | [<- | []]]; eexists _, _; simpl; each; reflexivity.
Qed.

(* Two neighbours that both send, then receive: A is only the link 0 -> 1, B only the link 1 -> 0.
   Each link's ledgers are equal at its two ends. *)
Definition ungrouped : job := {|
  at_channel := both; runs_program := pair [comm A 1 1; comm B 2 2] [comm B 2 1; comm A 1 2];
  decides := fun _ => true; n_ranks := 2; is_stepped := true |}.
Theorem ungrouped_exchange_deadlocks : H1 ungrouped /\ H2 ungrouped /\ deadlocks ungrouped.
Proof.
  each; [ledgers | outsiders |].
  exists (begin ungrouped); each; [apply arrives_begin | no_way | unfinished 0].
Qed.

(* The same exchange as one op of the link. *)
Definition grouped : job := {|
  at_channel := both; runs_program := pair [comm A 12 1] [comm A 12 1];
  decides := fun _ => true; n_ranks := 2; is_stepped := true |}.
Theorem grouped_exchange_never_deadlocks : ~ deadlocks grouped.
Proof.
  assert (h0 : H0 grouped) by shape.
  assert (h1 : H1 grouped) by ledgers.
  assert (h2 : H2 grouped) by outsiders.
  assert (h3 : H3 grouped) by clocks.
  assert (h4 : H4 grouped) by ledgers.
  assert (h5 : H5 grouped) by agreed.
  assert (h6 : H6 grouped) by in_time.
  intros [s [R [St N]]]; apply N.
  eapply every_rank_terminates; eassumption.
Qed.
