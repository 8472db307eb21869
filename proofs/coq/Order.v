(* Every order, split and tree of merges gives the same limbs. spec: SUM-3, SUM-4, SUM-6

   WP proves the effect of single calls: they add an array of contributions, merge two sums, or
   carry a sum. It also proves that carried limbs of one value are equal. This file proves by
   induction over all histories of such calls that the limbs do not depend on the order of the
   contributions, on their split over ranks and calls, or on the order and shape of merges, for any
   number of contributions.

   The hypotheses are S1 ... S5 below. README.md lists the proven property of the C code that
   establishes each. Some limbs satisfy all of them (hypotheses_hold_of_limbs). No axioms. *)

Require Import List ZArith Lia Permutation.
Import ListNotations.
Local Open Scope Z_scope.

Definition sum (l : list Z) : Z := fold_right Z.add 0 l.

Lemma sum_app : forall l m, sum (l ++ m) = sum l + sum m.
Proof. induction l; intros m; simpl; [reflexivity | rewrite IHl; lia]. Qed.

(* Integers may be added in any order. *)
Theorem sum_any_order : forall l m, Permutation l m -> sum l = sum m.
Proof. intros l m P; induction P; simpl; lia. Qed.

Lemma sum_concat : forall parts, sum (map sum parts) = sum (concat parts).
Proof. induction parts; simpl; [reflexivity | rewrite sum_app; lia]. Qed.

(* Any number of parts of any size, possibly empty, in any order, each summed separately. *)
Theorem sum_of_parts : forall parts l, Permutation (concat parts) l -> sum (map sum parts) = sum l.
Proof. intros; rewrite sum_concat; apply sum_any_order; assumption. Qed.

Section Order.

Variable contribution : Type.                  (* an element of a gradient *)
Variable worth : contribution -> Z.            (* its square or value, 0 if it is not finite *)
Variable state : Type.                         (* a sum in memory: bins and limbs *)
Variable value : state -> Z.                   (* the integer that it represents *)
Variable settled : state -> Prop.              (* carried limbs *)
Variable equal : state -> state -> Prop.       (* limb by limb *)

(* The results of calls whose preconditions held. *)
Variable cleared : state -> Prop.
Variable added : state -> list contribution -> state -> Prop.
Variable merged : state -> state -> state -> Prop.
Variable carried : state -> state -> Prop.

Definition worths (l : list contribution) : Z := sum (map worth l).

Definition S1_clear := forall s, cleared s -> value s = 0.
Definition S2_add := forall s l t, added s l t -> value t = value s + worths l.
Definition S3_merge := forall s t u, merged s t u -> value u = value s + value t.
Definition S4_carry := forall s t, carried s t -> value t = value s.
Definition S5_unique := forall s t, settled s -> settled t -> value s = value t -> equal s t.

(* The history of a sum: a tree of merges whose leaves are sums to which calls added contributions,
   on any ranks, with carries at any point. *)
Inductive history :=
| Clear
| Add (h : history) (l : list contribution)
| Merge (g h : history)
| Carry (h : history).

Fixpoint contributions (h : history) : list contribution :=
  match h with
  | Clear => []
  | Add g l => contributions g ++ l
  | Merge f g => contributions f ++ contributions g
  | Carry g => contributions g
  end.

(* The calls of the history end in s. *)
Inductive ends : history -> state -> Prop :=
| ends_clear : forall s, cleared s -> ends Clear s
| ends_add : forall h l s t, ends h s -> added s l t -> ends (Add h l) t
| ends_merge : forall g h s t u, ends g s -> ends h t -> merged s t u -> ends (Merge g h) u
| ends_carry : forall h s t, ends h s -> carried s t -> ends (Carry h) t.

Lemma worths_app : forall l m, worths (l ++ m) = worths l + worths m.
Proof. intros; unfold worths; rewrite map_app; apply sum_app. Qed.

Lemma worths_any_order : forall l m, Permutation l m -> worths l = worths m.
Proof. intros; apply sum_any_order, Permutation_map; assumption. Qed.

Hypothesis clear_zero : S1_clear.
Hypothesis add_adds : S2_add.
Hypothesis merge_adds : S3_merge.
Hypothesis carry_keeps : S4_carry.

(* For every history, the sum is that of its contributions, each once. *)
Theorem every_history_sums : forall h s, ends h s -> value s = worths (contributions h).
Proof.
  intros h s E; induction E; simpl; rewrite ?worths_app.
  - apply clear_zero; assumption.
  - rewrite (add_adds _ _ _ H); lia.
  - rewrite (merge_adds _ _ _ H); lia.
  - rewrite (carry_keeps _ _ H); assumption.
Qed.

(* The same for any permutation of the contributions. *)
Theorem every_order_sums : forall h s l, ends h s -> Permutation (contributions h) l ->
  value s = worths l.
Proof. intros h s l E P; rewrite (every_history_sums h s E); apply worths_any_order, P. Qed.

(* Each rank or call has a part, and the sums of the parts are added: any parts, in any order. *)
Theorem every_split_sums : forall l parts h s, Permutation (concat parts) l -> ends h s ->
  Permutation (contributions h) l -> value s = sum (map worths parts).
Proof.
  intros l parts h s P E C; rewrite (every_order_sums h s l E C).
  rewrite <- (worths_any_order _ _ P); clear; unfold worths.
  induction parts; simpl; [reflexivity | rewrite map_app, sum_app; lia].
Qed.

(* The same contributions, in any two histories, leave the same carried limbs. *)
Theorem limbs_tell_no_history : S5_unique -> forall g h s t, ends g s -> ends h t ->
  Permutation (contributions g) (contributions h) -> settled s -> settled t -> equal s t.
Proof.
  intros U g h s t Eg Eh P Ss St; apply U; try assumption.
  rewrite (every_order_sums g s _ Eg P), (every_history_sums h t Eh); reflexivity.
Qed.

End Order.

(* Limbs of 32 bits, the lowest first; all but the top one carried. They satisfy S1 ... S5 for any
   contributions, so the hypotheses do not contradict each other. *)
Fixpoint limb_sum (a : list Z) : Z :=
  match a with [] => 0 | x :: rest => x + 2 ^ 32 * limb_sum rest end.

Definition carried_limbs (n : nat) (a : list Z) : Prop :=
  length a = n /\ Forall (fun x => 0 <= x < 2 ^ 32) (removelast a).

Theorem carried_limbs_are_unique : forall n a b, carried_limbs n a -> carried_limbs n b ->
  limb_sum a = limb_sum b -> a = b.
Proof.
  induction n as [|n IH]; intros a b [La Fa] [Lb Fb] E.
  - destruct a; destruct b; try discriminate; reflexivity.
  - destruct a as [|x a]; destruct b as [|y b]; try discriminate.
    injection La as La; injection Lb as Lb; destruct n as [|n].
    + destruct a; destruct b; try discriminate; simpl in E; f_equal; lia.
    + destruct a as [|x' a]; destruct b as [|y' b]; try discriminate.
      change (removelast (x :: x' :: a)) with (x :: removelast (x' :: a)) in Fa.
      change (removelast (y :: y' :: b)) with (y :: removelast (y' :: b)) in Fb.
      inversion Fa; inversion Fb; subst.
      change (limb_sum (x :: x' :: a)) with (x + 2 ^ 32 * limb_sum (x' :: a)) in E.
      change (limb_sum (y :: y' :: b)) with (y + 2 ^ 32 * limb_sum (y' :: b)) in E.
      assert (x = y) by lia; subst; f_equal.
      apply IH; [split | split | lia]; assumption.
Qed.

Theorem hypotheses_hold_of_limbs :
  forall (contribution : Type) (worth : contribution -> Z) (n : nat),
  S1_clear (list Z) limb_sum (fun a => a = repeat 0 n) /\
  S2_add contribution worth (list Z) limb_sum
    (fun a l b => limb_sum b = limb_sum a + worths contribution worth l) /\
  S3_merge (list Z) limb_sum
    (fun a b c => length a = length b /\ c = map (fun p => fst p + snd p) (combine a b)) /\
  S4_carry (list Z) limb_sum (fun a b => limb_sum b = limb_sum a) /\
  S5_unique (list Z) limb_sum (carried_limbs n) eq.
Proof.
  intros; repeat split.
  - intros a ->; induction n; cbn [repeat limb_sum]; lia.
  - intros a l b H; exact H.
  - intros a b c [L ->]; revert b L; induction a as [|x a IH]; intros [|y b] L; try discriminate.
    + reflexivity.
    + injection L as L; cbn [combine map limb_sum fst snd]; rewrite (IH b L); lia.
  - intros a b H; exact H.
  - intros a b A B E; exact (carried_limbs_are_unique n a b A B E).
Qed.
