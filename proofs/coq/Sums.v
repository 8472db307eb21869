(* Sums of integers over lists, and lists with an index. spec: RED-2

   Exact reductions are such sums, so their order and nesting do not matter. No axioms. *)

Require Import Bool List ZArith Lia.
Require Import ZP.Op ZP.PlanFacts.
Import ListNotations.
Open Scope Z_scope.

Definition sigma {A : Type} (l : list A) (f : A -> Z) : Z := fold_right (fun x s => f x + s) 0 l.

Lemma sigma_ext {A : Type} : forall (l : list A) f g, (forall x, In x l -> f x = g x) -> sigma l f
  = sigma l g.
Proof.
  induction l as [|y l IH]; intros f g H; [reflexivity |]; simpl.
  rewrite (H y) by (left; reflexivity); f_equal; apply IH; intros; apply H; right; assumption.
Qed.

Lemma sigma_app {A : Type} : forall (l m : list A) f, sigma (l ++ m) f = sigma l f + sigma m f.
Proof. induction l as [|y l IH]; intros; simpl; [reflexivity | rewrite IH; lia]. Qed.

Lemma sigma_plus {A : Type} : forall (l : list A) f g, sigma l (fun x => f x + g x) = sigma l f +
  sigma l g.
Proof. induction l as [|y l IH]; intros; simpl; [reflexivity | rewrite IH; lia]. Qed.

Lemma sigma_zero {A : Type} : forall (l : list A) f, (forall x, In x l -> f x = 0) -> sigma l f = 0.
Proof.
  induction l as [|y l IH]; intros f H; [reflexivity |]; simpl.
  rewrite (H y) by (left; reflexivity); rewrite IH; [reflexivity |].
  intros; apply H; right; assumption.
Qed.

Lemma sigma_swap {A B : Type} : forall (l : list A) (m : list B) (f : A -> B -> Z),
  sigma l (fun x => sigma m (f x)) = sigma m (fun y => sigma l (fun x => f x y)).
Proof.
  induction l as [|x l IH]; intros m f; simpl.
  - symmetry; apply sigma_zero; reflexivity.
  - rewrite IH, <- sigma_plus; reflexivity.
Qed.

Lemma sigma_map {A B : Type} : forall (h : A -> B) (l : list A) f,
  sigma (map h l) f = sigma l (fun x => f (h x)).
Proof. induction l as [|y l IH]; intros; simpl; [reflexivity | rewrite IH; reflexivity]. Qed.

Lemma sigma_flat_map {A B : Type} : forall (h : A -> list B) (l : list A) f,
  sigma (flat_map h l) f = sigma l (fun x => sigma (h x) f).
Proof. induction l as [|y l IH]; intros; simpl; [reflexivity | rewrite sigma_app, IH; lia]. Qed.

(* If only one element contributes. *)
Lemma sigma_one {A : Type} : forall (l : list A) a f, NoDup l -> In a l ->
  (forall x, In x l -> x <> a -> f x = 0) -> sigma l f = f a.
Proof.
  induction l as [|y l IH]; intros a f N I H; [contradiction |]; inversion N; subst; simpl.
  destruct I as [-> | I].
  - rewrite sigma_zero; [lia |]; intros x Hx; apply H; [right; exact Hx |].
    intros ->; contradiction.
  - rewrite (H y); [| left; reflexivity | intros ->; contradiction].
    rewrite (IH a f); [reflexivity | assumption | assumption |].
    intros x Hx; apply H; right; exact Hx.
Qed.

Lemma sigma_if {A : Type} : forall (l : list A) (b : bool) f,
  sigma l (fun x => if b then f x else 0) = if b then sigma l f else 0.
Proof. intros l [] f; [reflexivity | apply sigma_zero; reflexivity]. Qed.

Lemma nodup_app {A : Type} : forall l m : list A, NoDup l -> NoDup m ->
  (forall z, In z l -> ~ In z m) -> NoDup (l ++ m).
Proof.
  induction l as [|y l IH]; intros m N M D; [exact M |]; inversion N; subst; simpl; constructor.
  - rewrite in_app_iff; intros [?|?]; [contradiction | apply (D y); simpl; auto].
  - apply IH; try assumption; intros; apply D; right; assumption.
Qed.

Lemma nodup_flat_map {A B : Type} : forall (h : A -> list B) (l : list A), NoDup l ->
  (forall x, In x l -> NoDup (h x)) ->
  (forall x y z, In x l -> In y l -> In z (h x) -> In z (h y) -> x = y) ->
  NoDup (flat_map h l).
Proof.
  induction l as [|x l IH]; intros N E D; [constructor |]; inversion N; subst; simpl.
  assert (G : NoDup (flat_map h l)).
  { apply IH; [assumption | |]; intros; [apply E | eapply D]; simpl; eauto. }
  assert (F : forall z, In z (h x) -> ~ In z (flat_map h l)).
  { intros z Hz Hf; apply in_flat_map in Hf; destruct Hf as [y [Hy Hz']].
    assert (x = y) by (eapply D; simpl; eauto); subst; contradiction. }
  apply nodup_app; [apply E; left; reflexivity | exact G | exact F].
Qed.

Lemma range_map_shift : forall lo hi d, range (lo + d) (hi + d) = map (fun x => x + d) (range lo
  hi).
Proof.
  intros; unfold range; rewrite map_map.
  replace (hi + d - (lo + d)) with (hi - lo) by lia; apply map_ext; intro; lia.
Qed.

(* The integers below a b as b-tuples. *)
Lemma sigma_blocks : forall a b f, 0 <= a -> 0 <= b ->
  sigma (range 0 (a * b)) f = sigma (range 0 a) (fun i => sigma (range 0 b) (fun j => f (i * b +
    j))).
Proof.
  intros a b f Ha Hb; revert Ha; apply (natlike_ind (fun a => sigma (range 0 (a * b)) f =
    sigma (range 0 a) (fun i => sigma (range 0 b) (fun j => f (i * b + j))))).
  - reflexivity.
  - intros x Hx IH; rewrite <- Z.add_1_r.
    rewrite (range_snoc 0 x), sigma_app, <- IH by lia.
    rewrite (range_app 0 (x * b) ((x + 1) * b)), sigma_app by nia; f_equal.
    replace ((x + 1) * b) with (b + x * b) by lia.
    replace (range (x * b) (b + x * b)) with (range (0 + x * b) (b + x * b)) by reflexivity.
    rewrite range_map_shift, sigma_map; simpl; rewrite Z.add_0_r.
    apply sigma_ext; intros; f_equal; lia.
Qed.

Lemma sigma_snoc : forall n f, 0 <= n -> sigma (range 0 (n + 1)) f = sigma (range 0 n) f + f n.
Proof. intros n f H; rewrite range_snoc, sigma_app by exact H; simpl; lia. Qed.

Lemma sigma_range_one : forall n a f, 0 <= a < n ->
  (forall x, 0 <= x < n -> x <> a -> f x = 0) -> sigma (range 0 n) f = f a.
Proof.
  intros n a f Ha H; apply sigma_one; [apply range_nodup | apply in_range; exact Ha |].
  intros x Hx; apply in_range in Hx; apply H; exact Hx.
Qed.

Lemma numbered_nodup : forall (A : Type) (l : list A), NoDup (numbered l).
Proof.
  intros A l; unfold numbered.
  assert (G : forall lo, NoDup (combine (range lo (lo + Z.of_nat (length l))) l)).
  { induction l as [|y l IH]; intro lo; [rewrite range_empty by (simpl; lia); constructor |].
    rewrite range_cons by (simpl; lia); cbn [combine]; constructor.
    - intro H; apply in_combine_l in H; apply in_range in H; lia.
    - specialize (IH (lo + 1)); cbn [length].
      replace (lo + Z.of_nat (S (length l))) with (lo + 1 + Z.of_nat (length l)) by lia.
      exact IH. }
  exact (G 0).
Qed.
