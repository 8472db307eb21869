(* H0 and H6 of NoDeadlock.v for STEP's programs. spec: STEP-2, STEP-6

   Each rank runs one program, and ops marked if_stepped come after the decision. *)

Require Import Bool List Arith ZArith Lia.
Require Import ZP.Op ZP.OpOf ZP.Plan ZP.MeaningChannels.
Require ZP.Program ZP.NoDeadlock.
Import ListNotations.
Open Scope Z_scope.

Section Shape.

Variable c : config.

Theorem step_shape : NoDeadlock.H0_shape chan op (ranks c) (rank_program c).
Proof.
  split.
  - intros r H; unfold rank_program, step_of; rewrite (proj2 (Nat.ltb_ge _ _) H); reflexivity.
  - intro r; unfold Program.one_program, rank_program; apply Forall_forall; intros o H.
    apply in_map_iff in H; destruct H as [q [<- _]]; unfold synchronized; cbn [Program.what].
    destruct (o_kind q =? ZP_OP_DECIDE); [discriminate |]; destruct (comm q); discriminate.
Qed.

Lemma in_if_ops : forall b l (o : op), In o (if_ops b l) -> In o l.
Proof. intros [] l o H; [exact H | contradiction]. Qed.

Definition plain (l : list op) : Prop := forall o, In o l -> o_if_stepped o = 0.

Lemma plain_app : forall l m, plain l -> plain m -> plain (l ++ m).
Proof. intros l m L M o H; apply in_app_or in H; destruct H; auto. Qed.

Lemma plain_if : forall b l, plain l -> plain (if_ops b l).
Proof. intros b l L o H; apply L, in_if_ops with b; exact H. Qed.

Lemma plain_flat_map : forall (B : Type) (f : B -> list op) l, (forall x, plain (f x)) ->
  plain (flat_map f l).
Proof. intros B f l H o I; apply in_flat_map in I; destruct I as [x [_ I]]; exact (H x o I). Qed.

Lemma plain_map : forall (B : Type) (f : B -> op) l, (forall x, o_if_stepped (f x) = 0) ->
  plain (map f l).
Proof. intros B f l H o I; apply in_map_iff in I; destruct I as [x [<- _]]; apply H. Qed.

Lemma plain_cons : forall o l, o_if_stepped o = 0 -> plain l -> plain (o :: l).
Proof. intros o l E L q [<- | H]; [exact E | apply L; exact H]. Qed.

Lemma plain_nil : plain [].
Proof. intros o []. Qed.

Ltac listed := repeat first [apply plain_nil | apply plain_cons; [reflexivity |]].

Lemma plain_slots : forall lay, plain (pipeline_ops c lay).
Proof.
  intro lay; unfold pipeline_ops; apply plain_flat_map; intro t; unfold slot_ops, head_ops.
  apply plain_app; [apply plain_app |].
  - unfold exchange_ops; apply plain_if, plain_app; [apply plain_if |]; listed.
  - unfold compute_ops, forward_ops, backward_ops; apply plain_if; destruct (_ =? 0).
    + apply plain_app; [apply plain_if |]; listed.
    + listed.
  - apply plain_if; unfold entries_ops; apply plain_flat_map; intros [i p]; unfold entry_ops.
    apply plain_if; unfold gradient_ops; apply plain_flat_map; intro b.
    apply plain_cons; [reflexivity |]; apply plain_if, plain_cons; [reflexivity | apply plain_nil].
Qed.

Lemma plain_tail : forall lay t u, plain (tied_ops c lay t ++ means_ops lay u ++ [op_statistics u]).
Proof.
  intros lay t u; apply plain_app; [| apply plain_app].
  - unfold tied_ops; apply plain_flat_map; intro key; unfold key_ops.
    destruct (holder lay key) as [[k f]|]; [apply plain_map; reflexivity | apply plain_nil].
  - unfold means_ops; apply plain_flat_map; intros [k f]; apply plain_map; reflexivity.
  - apply plain_cons; [reflexivity | apply plain_nil].
Qed.

Lemma decided : forall a l o m, plain l -> o_kind o = ZP_OP_DECIDE -> o_if_stepped o = 0 ->
  Program.decided_in_time chan op (map (synchronized c a) (l ++ o :: m)).
Proof.
  intros a l o m; induction l as [|q l IH]; intros L K E.
  - cbn [app map Program.decided_in_time]; unfold synchronized at 1 2.
    cbn [Program.if_stepped Program.what]; rewrite E, K; split; [reflexivity | left; reflexivity].
  - cbn [app map Program.decided_in_time]; split.
    + unfold synchronized; cbn [Program.if_stepped]; rewrite (L q) by (left; reflexivity).
      reflexivity.
    + right; apply IH; try assumption; intros x H; apply L; right; exact H.
Qed.

Theorem step_decided_in_time : NoDeadlock.H6_decided_in_time chan op (rank_program c).
Proof.
  intro r; unfold rank_program, step_of; destruct (r <? ranks c)%nat; [| exact I].
  set (lay := layout_of c (a_pp (coord_of c r))).
  unfold step_program, tail_ops; set (t := Slots (c_pp c) (c_micro_batches c)).
  replace (pipeline_ops c lay ++ tied_ops c lay t ++ means_ops lay (t + 1) ++
      [op_statistics (t + 2); op_decision (t + 2)] ++ updates_ops c lay (t + 3)) with
    ((pipeline_ops c lay ++ tied_ops c lay t ++ means_ops lay (t + 1) ++ [op_statistics (t + 2)]) ++
      op_decision (t + 2) :: updates_ops c lay (t + 3))
    by (rewrite <- !app_assoc; reflexivity).
  apply decided; try reflexivity; apply plain_app; [apply plain_slots |].
  intros o H; apply in_app_or in H; destruct H as [H|H].
  - apply (plain_tail lay t 0); apply in_or_app; left; exact H.
  - apply in_app_or in H; destruct H as [H|[<- | []]]; [| reflexivity].
    apply (plain_tail lay t (t + 1)); apply in_or_app; right; apply in_or_app; left; exact H.
Qed.

End Shape.
