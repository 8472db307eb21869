(* The clock strictly increases along every STEP program. spec: PIPE-5

   Each block of a program lies in a window of clocks, from one clock on and below another. Windows
   are adjacent, so the clocks of a concatenation increase. WP proves this of the C planner for all
   ops of its programs (zp_program_write/clock); here it is proven of Plan.v's lists. *)

Require Import Bool List ZArith Lia Sorted.
Require Import ZP.Program.
Require Import ZP.Op ZP.OpOf ZP.Plan ZP.Valid ZP.LayoutFacts ZP.Channels.
Import ListNotations.
Open Scope Z_scope.

(* ---- Windows --------------------------------------------------------------------------------- *)

Definition not_after (a b : clock) : Prop := ~ before b a.

(* The clocks of l increase, none is before a, and all are before b. *)
Definition clocked (a b : clock) (l : list op) : Prop :=
  StronglySorted before (map clock_of l) /\
  Forall (fun o => not_after a (clock_of o) /\ before (clock_of o) b) l.

Ltac clocks := unfold not_after, before in *; cbn [fst snd] in *; lia.

Lemma clocked_nil : forall a b, clocked a b [].
Proof. intros; split; constructor. Qed.

Lemma clocked_one : forall a b o, not_after a (clock_of o) -> before (clock_of o) b ->
  clocked a b [o].
Proof.
  intros; split; cbn [map].
  - apply SSorted_cons; [apply SSorted_nil | apply Forall_nil].
  - apply Forall_cons; [auto | apply Forall_nil].
Qed.

Lemma clocked_widen : forall a b l a' b', clocked a b l -> not_after a' a -> not_after b b' ->
  clocked a' b' l.
Proof.
  intros a b l a' b' [S F] A B; split; [exact S |].
  eapply Forall_impl; [| exact F]; intros o H; clocks.
Qed.

Lemma clocked_app : forall a m b l k, clocked a m l -> clocked m b k ->
  not_after a m -> not_after m b -> clocked a b (l ++ k).
Proof.
  intros a m b l k [S F] [T G] A B; split.
  - rewrite map_app; induction F as [|o l H F IH]; [exact T |].
    simpl in S |- *; inversion S; subst; constructor; [auto |].
    apply Forall_app; split; [assumption |]; apply Forall_forall; intros x Hx.
    apply in_map_iff in Hx; destruct Hx as [y [<- Hy]]; rewrite Forall_forall in G.
    specialize (G y Hy); clocks.
  - apply Forall_app; split.
    + eapply Forall_impl; [| exact F]; intros o H; clocks.
    + eapply Forall_impl; [| exact G]; intros o H; clocks.
Qed.

Lemma clocked_if : forall a b t l, (t = true -> clocked a b l) -> clocked a b (if_ops t l).
Proof. intros a b [] l H; [exact (H eq_refl) | apply clocked_nil]. Qed.

Lemma clocked_two : forall a b o p, not_after a (clock_of o) -> before (clock_of o) (clock_of p) ->
  before (clock_of p) b -> clocked a b [o; p].
Proof.
  intros a b o p A M B; apply (clocked_app a (clock_of p) b [o] [p]); try apply clocked_one;
    clocks.
Qed.

(* A list of blocks, of which the i-th lies between w i and w (i + 1). *)
Lemma clocked_range : forall (w : Z -> clock) f lo hi,
  (forall i, lo <= i < hi -> clocked (w i) (w (i + 1)) (f i) /\ not_after (w i) (w (i + 1))) ->
  lo <= hi -> clocked (w lo) (w hi) (flat_map f (range lo hi)) /\ not_after (w lo) (w hi).
Proof.
  intros w f lo hi H L; assert (N : 0 <= hi - lo) by lia; revert H.
  replace hi with (lo + (hi - lo)) by lia; generalize (hi - lo), N; clear L N; intros n N; upward n.
  - intros _; rewrite Z.add_0_r, range_empty by lia; split; [apply clocked_nil | clocks].
  - intros IH H; destruct IH as [C L]; [intros i Hi; apply H; lia |].
    destruct (H (lo + n) ltac:(lia)) as [D M]; rewrite range_snoc by assumption.
    replace (lo + (n + 1)) with (lo + n + 1) by lia.
    rewrite flat_map_app; cbn [flat_map]; rewrite app_nil_r; split; [| clocks].
    apply clocked_app with (m := w (lo + n)); assumption.
Qed.

(* The same backward: the i-th lies between w (i + 1) and w i. *)
Lemma clocked_rev_range : forall (w : Z -> clock) f lo hi,
  (forall i, lo <= i < hi -> clocked (w (i + 1)) (w i) (f i) /\ not_after (w (i + 1)) (w i)) ->
  lo <= hi -> clocked (w hi) (w lo) (flat_map f (rev (range lo hi))) /\ not_after (w hi) (w lo).
Proof.
  intros w f lo hi H L; assert (N : 0 <= hi - lo) by lia; revert H.
  replace hi with (lo + (hi - lo)) by lia; generalize (hi - lo), N; clear L N; intros n N; upward n.
  - intros _; rewrite Z.add_0_r, range_empty by lia; split; [apply clocked_nil | clocks].
  - intros IH H; destruct IH as [C L]; [intros i Hi; apply H; lia |].
    destruct (H (lo + n) ltac:(lia)) as [D M]; rewrite range_snoc, rev_app_distr by assumption.
    replace (lo + (n + 1)) with (lo + n + 1) by lia.
    cbn [rev app flat_map]; split; [| clocks].
    apply clocked_app with (m := w (lo + n)); assumption.
Qed.

(* ---- One slot -------------------------------------------------------------------------------- *)

(* Shows clocked of one op whose clock is a pair of sums. *)
Ltac one := apply clocked_one; unfold clock_of; fields; clocks.

Lemma exchange_clocks : forall dynamic s backward send recv t,
  clocked (t, 0) (t, 2) (exchange_ops dynamic s backward send recv t).
Proof.
  intros; unfold exchange_ops; apply clocked_if; intros _.
  apply clocked_app with (m := (t, 1)); [apply clocked_if; intros _ | | |]; try one; clocks.
Qed.

Lemma compute_clocks : forall S M s backward mb t,
  clocked (t, 2) (t, 5) (compute_ops S M s backward mb t).
Proof.
  intros; unfold compute_ops; apply clocked_if; intros _; destruct (backward =? 0).
  - unfold forward_ops; apply clocked_app with (m := (t, 3));
      [apply clocked_if; intros _ | | |]; try one; clocks.
  - apply clocked_two; unfold clock_of; fields; clocks.
Qed.

Lemma head_clocks : forall S M s dynamic t, clocked (t, 0) (t, 5) (head_ops S M s dynamic t).
Proof.
  intros; unfold head_ops; apply clocked_app with (m := (t, 2)); try clocks.
  - apply exchange_clocks.
  - apply compute_clocks.
Qed.

(* Entries are 2^42 apart, the largest number of clocks that one entry's buckets use. *)
Lemma bucket_bounds : forall cap from to, 1 <= cap -> 0 <= from <= to -> to <= 1099511627776 ->
  0 <= FirstBucket cap from <= StopBucket cap from to /\
  StopBucket cap from to <= 1099511627776.
Proof.
  intros cap from to C F T; unfold FirstBucket, StopBucket; rewrite Z.quot_div_nonneg by lia.
  pose proof (Z.div_pos from cap ltac:(lia) ltac:(lia)).
  pose proof (Z.div_le_upper_bound from cap from ltac:(lia) ltac:(nia)).
  destruct (Z.ltb_spec from to); [| lia]; rewrite Z.quot_div_nonneg by lia.
  pose proof (Z.div_le_mono from (to - 1) cap ltac:(lia) ltac:(lia)).
  pose proof (Z.div_le_upper_bound (to - 1) cap (to - 1) ltac:(lia) ltac:(nia)); lia.
Qed.

Lemma gradient_clocks : forall cfg k j f from to mb t i, 1 <= f_capacity f -> 0 <= from <= to ->
  to <= 1099511627776 ->
  clocked (t, i) (t, i + 4398046511104) (gradient_ops cfg k j f from to mb t i).
Proof.
  intros cfg k j f from to mb t i C F T; pose proof (bucket_bounds _ _ _ C F T) as B.
  unfold gradient_ops.
  refine (clocked_widen _ _ _ _ _
    (proj1 (clocked_range (fun b => (t, i + 2 * b)) _ _ _ _ (proj2 (proj1 B)))) _ _); try clocks.
  intros b Hb; split; [| clocks].
  match goal with |- clocked ?x ?y (?o :: ?l) =>
    apply (clocked_app x (t, i + 2 * b + 1) y [o] l) end; try clocks.
  - one.
  - apply clocked_if; intros _; one.
Qed.

Section Step.

Variable c : config.
Hypothesis V : valid c.
Variable s : Z.
Notation lay := (layout_of c s).

Lemma entries_clocks : forall mb t, clocked (t, 4398046511104) (t + 1, 0) (entries_ops c lay mb t).
Proof.
  intros mb t; unfold entries_ops; rewrite (over_rev_numbered _ _ _ _ no_spot).
  change (Z.of_nat (length (l_spot lay))) with (l_n_params lay).
  pose proof (n_spots c V s) as N; pose proof (stage_range c V s) as R.
  refine (clocked_widen _ _ _ _ _ (proj1 (clocked_rev_range
    (fun i => (t, (l_n_params lay - i + 1) * 4398046511104)) _ _ _ _ _)) _ _);
    try (unfold StageCount in N; clocks).
  intros i Hi; split; [| clocks]; cbn [fst snd]; fold (spot_at (l_spot lay) i).
  destruct (spot_good c V s i ltac:(lia)) as [S0 S1]; unfold entry_ops.
  apply clocked_if; intros K; bools; destruct S1 as [|[K1 [S1 S2]]]; [lia |].
  destruct (flat_good c V s _ K1) as [_ [_ [_ [_ [_ [_ [_ [C _]]]]]]]]; unfold SpotClock.
  eapply clocked_widen; [apply gradient_clocks; [exact C | lia | lia] | clocks | clocks].
Qed.

Lemma slot_clocks : forall t, clocked (t, 0) (t + 1, 0) (slot_ops c lay t).
Proof.
  intro t; unfold slot_ops; apply clocked_app with (m := (t, 5)); try clocks.
  - apply head_clocks.
  - apply clocked_if; intros _; eapply clocked_widen; [apply entries_clocks | clocks | clocks].
Qed.

Notation last := (Slots (c_pp c) (c_micro_batches c)).

Lemma slots_positive : 0 <= last.
Proof. pose proof (sizes c V); pose proof (amounts c V); unfold Slots; lia. Qed.

Lemma pipeline_clocks : clocked (0, 0) (last, 0) (pipeline_ops c lay).
Proof.
  unfold pipeline_ops; apply (clocked_range (fun t => (t, 0))); [| apply slots_positive].
  intros t _; split; [apply slot_clocks | clocks].
Qed.

(* ---- After the pipeline ---------------------------------------------------------------------- *)

Lemma holder_good : forall key k f, holder lay key = Some (k, f) ->
  0 <= k < l_n_flats lay /\ f = flat_at (l_flat lay) k /\ HoldsKey f key = 1.
Proof.
  intros key k f H; unfold holder in H; apply find_some in H; destruct H as [I H].
  rewrite (numbered_nth _ (l_flat lay) no_flat) in I; apply in_map_iff in I.
  destruct I as [x [E I]]; apply in_range in I; inversion E; subst; cbn [snd] in H.
  apply Z.eqb_eq in H; auto.
Qed.

Lemma tied_clocks : forall t, clocked (t, 0) (t + 1, 0) (tied_ops c lay t).
Proof.
  intro t; unfold tied_ops; pose proof (counts c V).
  refine (clocked_widen _ _ _ _ _ (proj1 (clocked_range (fun key => (t, key * 2199023255552))
    _ _ _ _ _)) _ _); try clocks.
  intros key Hk; split; [| clocks]; unfold key_ops.
  destruct (holder lay key) as [[k f]|] eqn:H'; [| apply clocked_nil].
  apply holder_good in H'; destruct H' as [K [-> _]].
  destruct (flat_good c V s k K) as [_ [_ [_ [_ [_ [_ [_ [_ B]]]]]]]].
  rewrite map_flat_map; refine (clocked_widen _ _ _ _ _ (proj1 (clocked_range
    (fun b => (t, key * 2199023255552 + b)) _ _ _ _ (proj1 B))) _ _); try clocks.
  intros b Hb; split; [| clocks]; apply clocked_one; unfold clock_of; fields; unfold SumClock;
    clocks.
Qed.

Lemma over_flats : forall (f : Z * flat -> list op), flat_map f (numbered (l_flat lay)) =
  flat_map (fun k => f (k, flat_at (l_flat lay) k)) (range 0 (l_n_flats lay)).
Proof. intro f; apply over_numbered. Qed.

Lemma held_most_buckets : forall f, 0 <= BucketsOf f -> 0 <= HeldOf f <= BucketsOf f.
Proof. intros f H; unfold HeldOf; destruct (_ =? _); lia. Qed.

Lemma means_clocks : forall t, clocked (t, 0) (t + 1, 0) (means_ops lay t).
Proof.
  intro t; unfold means_ops; rewrite over_flats; pose proof (n_flats_most c V s).
  refine (clocked_widen _ _ _ _ _ (proj1 (clocked_range (fun k => (t, k * 2199023255552))
    _ _ _ _ _)) _ _); try clocks.
  intros k Hk; split; [| clocks]; unfold mean_ops.
  destruct (flat_good c V s k Hk) as [_ [_ [_ [_ [_ [_ [_ [_ B]]]]]]]].
  pose proof (held_most_buckets _ (proj1 B)) as G.
  rewrite map_flat_map; refine (clocked_widen _ _ _ _ _ (proj1 (clocked_range
    (fun b => (t, k * 2199023255552 + b)) _ _ _ _ (proj1 G))) _ _); try clocks.
  intros b Hb; split; [| clocks]; apply clocked_one; unfold clock_of; fields; unfold SumClock;
    clocks.
Qed.

Lemma pass_clocks : forall t u, 0 <= u ->
  clocked (t, UpdateClock u 0) (t, UpdateClock (u + 1) 0) (pass_ops c lay t u).
Proof.
  intros t u Hu; unfold pass_ops; rewrite over_flats; pose proof (n_flats_most c V s).
  refine (clocked_widen _ _ _ _ _ (proj1 (clocked_range (fun k => (t, UpdateClock u k))
    _ _ _ _ _)) _ _); unfold UpdateClock; try clocks.
  intros k Hk; split; [| clocks]; unfold update_ops.
  destruct (flat_good c V s k Hk) as [_ [_ [_ [_ [_ [_ [_ [_ B]]]]]]]].
  set (f := flat_at (l_flat lay) k) in *; pose proof (held_most_buckets _ (proj1 B)) as G.
  assert (P : 0 <= PassOf f u <= BucketsOf f) by (unfold PassOf; destruct (_ =? _); lia).
  refine (clocked_widen _ _ _ _ _ (proj1 (clocked_rev_range
    (fun b => (t, UpdateClock u k + 2 * (BucketsOf f - b))) _ _ _ _ (proj1 P))) _ _);
    unfold UpdateClock in *; try clocks.
  intros b Hb; split; [| clocks]; unfold update_bucket_ops.
  match goal with |- clocked ?x ?y (?o :: ?l) =>
    apply (clocked_app x (t, (u * 65536 + k) * 4398046511104 + 2 * (BucketsOf f - 1 - b) + 1) y
      [o] l) end; try clocks.
  - one.
  - apply clocked_if; intros _; one.
Qed.

Lemma tail_clocks : forall t, clocked (t, 0) (t + 4, 0) (tail_ops c lay t).
Proof.
  intro t; unfold tail_ops, updates_ops.
  apply clocked_app with (m := (t + 1, 0)); [apply tied_clocks | | clocks | clocks].
  apply clocked_app with (m := (t + 2, 0)); try clocks.
  { eapply clocked_widen; [apply means_clocks | clocks | clocks]. }
  apply clocked_app with (m := (t + 3, 0)); try clocks.
  { apply clocked_two; unfold clock_of; fields; clocks. }
  apply clocked_app with (m := (t + 3, UpdateClock 1 0)); unfold UpdateClock; try clocks.
  - eapply clocked_widen; [apply (pass_clocks (t + 3) 0) | |]; unfold UpdateClock; clocks.
  - eapply clocked_widen; [apply (pass_clocks (t + 3) 1) | |]; unfold UpdateClock; clocks.
Qed.

Theorem step_clocks : clocked (0, 0) (last + 4, 0) (step_program c lay).
Proof.
  pose proof slots_positive; unfold step_program; apply clocked_app with (m := (last, 0));
    [apply pipeline_clocks | apply tail_clocks | clocks | clocks].
Qed.

End Step.

(* H3 for STEP. *)
Theorem step_clock_increases : forall c, valid c ->
  NoDeadlock.H3_clock_increases channel call (rank_program c (program_of c PhaseStep)).
Proof.
  intros c V; apply clock_increases; intros r _; apply StronglySorted_Sorted.
  exact (proj1 (step_clocks c V _)).
Qed.
