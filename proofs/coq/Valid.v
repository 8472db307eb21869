(* Valid configurations: the predicate Valid of spec/acsl/config.h, for which WP proves that
   zp_config_check returns 0. spec: LIM-0 ... LIM-9

   Functions to bool and Z are translated from the ACSL (OpOf.v). By hand are the two quantifiers of
   ValidList. Below are the bounds that other files use. *)

Require Import Bool List ZArith Lia.
Require Import ZP.Op ZP.OpOf.
Open Scope Z_scope.

Record valid (c : config) : Prop := {
  valid_topology : ValidTopology (c_pp c) (c_dp c) (c_tp c) (c_ep c) = true;
  valid_switches : ValidSwitches c = true;
  valid_amounts : ValidAmounts c = true;
  valid_entries : forall j, 0 <= j < c_n_params c -> ValidEntry c j = true;
  valid_agree : forall i j, 0 <= i <= j -> j < c_n_params c ->
    p_tied (param_at (c_params c) i) = p_tied (param_at (c_params c) j) ->
    0 <= p_tied (param_at (c_params c) j) ->
    SameTied c i j = true /\ p_expert (param_at (c_params c) j) = 0;
  valid_tied : TiedEntries c (c_n_params c) <= 1024;
  valid_elements : Elements c (c_n_params c) <= 1099511627776
}.

(* Splits the comparisons in hypotheses that are equal to true. *)
Ltac bools :=
  repeat match goal with
  | H : (_ && _)%bool = true |- _ => apply andb_true_iff in H; destruct H
  | H : (_ <=? _) = true |- _ => apply Z.leb_le in H
  | H : (_ <? _) = true |- _ => apply Z.ltb_lt in H
  | H : (_ =? _) = true |- _ => apply Z.eqb_eq in H
  | H : (_ <=? _) = false |- _ => apply Z.leb_gt in H
  | H : (_ <? _) = false |- _ => apply Z.ltb_ge in H
  | H : (_ =? _) = false |- _ => apply Z.eqb_neq in H
  end.

(* Distinguishes the cases of comparisons in the goal. *)
Ltac cases :=
  repeat match goal with
  | |- context [?a =? ?b] => destruct (Z.eqb_spec a b)
  | |- context [?a <? ?b] => destruct (Z.ltb_spec a b)
  | |- context [?a <=? ?b] => destruct (Z.leb_spec a b)
  end; cbn [andb orb negb].

(* Induction over the integers from 0 on. `upward x` applies it to x in the goal. *)
Lemma upward_ind : forall P : Z -> Prop, P 0 -> (forall x, 0 <= x -> P x -> P (x + 1)) ->
  forall x, 0 <= x -> P x.
Proof.
  intros P P0 PS x Hx; apply natlike_ind; [exact P0 | | exact Hx].
  intros y Hy IH; rewrite <- Z.add_1_r; auto.
Qed.
Ltac upward x :=
  match goal with
  | H : 0 <= x |- _ =>
      pattern x; apply upward_ind; [clear x H | clear x H; intros x H | exact H]
  end.

(* Entry j of a configuration. *)
Notation entry_at c j := (param_at (c_params c) j).

Section Valid.

Variable c : config.
Hypothesis V : valid c.

Lemma sizes : 1 <= c_pp c /\ 1 <= c_dp c /\ 1 <= c_tp c /\ 1 <= c_ep c <= c_dp c /\
  Z.rem (c_dp c) (c_ep c) = 0 /\ c_pp c * c_dp c * c_tp c <= 1048576.
Proof. pose proof (valid_topology c V) as H; unfold ValidTopology in H; bools; lia. Qed.

Lemma counts : 0 <= c_stage c <= 2 /\ 0 <= c_tied_keys c <= 1024 /\ 0 <= c_n_params c <= 65536.
Proof. pose proof (valid_switches c V) as H; unfold ValidSwitches in H; bools; lia. Qed.

Lemma amounts : 1 <= c_micro_batches c <= 1048576 /\ 1 <= c_bucket c <= 1099511627776 /\
  1 <= c_align c <= 4096.
Proof. pose proof (valid_amounts c V) as H; unfold ValidAmounts in H; bools; lia. Qed.

Lemma entry_ranges : forall j, 0 <= j < c_n_params c ->
  0 <= p_numel (entry_at c j) <= 1099511627776 /\ 0 <= p_stage (entry_at c j) < c_pp c /\
  0 <= p_optgroup (entry_at c j) /\ -1 <= p_tied (entry_at c j) < c_tied_keys c /\
  0 <= p_expert (entry_at c j) <= 1 /\ 0 <= p_frozen (entry_at c j) <= 1 /\
  0 <= p_fp32 (entry_at c j) <= 1 /\ 0 <= p_sharded (entry_at c j) <= 1.
Proof.
  assert (S : forall j, 0 <= j -> j < c_n_params c -> 0 <= p_stage (entry_at c j)).
  { intros j Hj; upward j; [intros L | intros IH L].
    - pose proof (valid_entries c V 0 ltac:(lia)) as E; unfold ValidEntry in E; bools.
      simpl in *; lia.
    - pose proof (valid_entries c V (j + 1) ltac:(lia)) as E; unfold ValidEntry in E; bools.
      replace (j + 1 =? 0) with false in * by (symmetry; apply Z.eqb_neq; lia).
      replace (j + 1 - 1) with j in * by lia; specialize (IH ltac:(lia)); lia. }
  intros j Hj; specialize (S j ltac:(lia) ltac:(lia)).
  pose proof (valid_entries c V j Hj) as E; unfold ValidEntry in E; bools; lia.
Qed.

(* Entries are listed by stage. *)
Lemma stages_sorted : forall j, 0 <= j -> forall i, 0 <= i <= j -> j < c_n_params c ->
  p_stage (entry_at c i) <= p_stage (entry_at c j).
Proof.
  intros j Hj; upward j.
  - intros; replace i with 0 by lia; lia.
  - intros IH i Hi L; destruct (Z.eq_dec i (j + 1)) as [->|]; [lia |].
    specialize (IH i ltac:(lia) ltac:(lia)).
    pose proof (valid_entries c V (j + 1) ltac:(lia)) as E; unfold ValidEntry in E; bools.
    replace (j + 1 =? 0) with false in * by (symmetry; apply Z.eqb_neq; lia).
    replace (j + 1 - 1) with j in * by lia; lia.
Qed.

(* Entries with one key agree, in whatever order they are listed. *)
Lemma tied_agree : forall i j, 0 <= i < c_n_params c -> 0 <= j < c_n_params c ->
  p_tied (entry_at c i) = p_tied (entry_at c j) -> 0 <= p_tied (entry_at c j) ->
  p_numel (entry_at c i) = p_numel (entry_at c j) /\
  p_frozen (entry_at c i) = p_frozen (entry_at c j) /\
  p_fp32 (entry_at c i) = p_fp32 (entry_at c j) /\
  p_expert (entry_at c i) = 0 /\ p_expert (entry_at c j) = 0.
Proof.
  assert (G : forall i j, 0 <= i <= j -> j < c_n_params c ->
    p_tied (entry_at c i) = p_tied (entry_at c j) -> 0 <= p_tied (entry_at c j) ->
    p_numel (entry_at c i) = p_numel (entry_at c j) /\
    p_frozen (entry_at c i) = p_frozen (entry_at c j) /\
    p_fp32 (entry_at c i) = p_fp32 (entry_at c j) /\
    p_expert (entry_at c i) = 0 /\ p_expert (entry_at c j) = 0).
  { intros i j Hi Hj E T; destruct (valid_agree c V i j Hi Hj E T) as [S X].
    destruct (valid_agree c V i i ltac:(lia) ltac:(lia) eq_refl ltac:(lia)) as [_ Y].
    unfold SameTied in S; bools; lia. }
  intros i j Hi Hj E T; destruct (Z_le_gt_dec i j).
  - apply G; lia.
  - destruct (G j i) as [? [? [? [? ?]]]]; lia.
Qed.

Lemma Elements_step : forall n, 1 <= n ->
  Elements c n = Elements c (n - 1) + HeldElements c (n - 1).
Proof.
  intros n H; unfold Elements; replace (Z.to_nat n) with (Datatypes.S (Z.to_nat (n - 1))) by lia.
  cbn; replace (Z.of_nat (Z.to_nat (n - 1)) + 1) with n by lia; reflexivity.
Qed.

Lemma held_most : forall j, 0 <= j < c_n_params c -> p_numel (entry_at c j) <= HeldElements c j.
Proof.
  intros j Hj; pose proof (entry_ranges j Hj); pose proof sizes.
  unfold HeldElements, Together, Copies; cases; try lia; nia.
Qed.

Lemma Elements_mono : forall n, 0 <= n -> forall m, 0 <= m <= n -> n <= c_n_params c ->
  Elements c m <= Elements c n.
Proof.
  intros n Hn; upward n.
  - intros; replace m with 0 by lia; lia.
  - intros IH m Hm L; destruct (Z.eq_dec m (n + 1)) as [->|]; [lia |].
    specialize (IH m ltac:(lia) ltac:(lia)); rewrite (Elements_step (n + 1)) by lia.
    replace (n + 1 - 1) with n by lia.
    pose proof (held_most n ltac:(lia)); pose proof (entry_ranges n ltac:(lia)); lia.
Qed.

Lemma members_of : forall j, 0 <= j < c_n_params c -> 1 <= MembersOf c j.
Proof.
  intros j Hj; pose proof sizes; unfold MembersOf; cases; [lia |].
  rewrite Z.quot_div_nonneg by lia; apply Z.div_le_lower_bound; lia.
Qed.

End Valid.

(* ---- Partitions ------------------------------------------------------------------------------ *)

Lemma capacity_positive : forall b d a, 1 <= b -> 1 <= d -> 1 <= a -> 1 <= Capacity b d a.
Proof.
  intros b d a Hb Hd Ha; unfold Capacity, RoundUp.
  assert (M : 1 <= d * a) by nia; rewrite Z.quot_div_nonneg by lia.
  assert (1 <= (b + d * a - 1) / (d * a)) by (apply Z.div_le_lower_bound; lia); nia.
Qed.

Lemma buckets_most : forall n c, 0 <= n -> 1 <= c -> 0 <= Buckets n c <= n.
Proof.
  intros n c Hn Hc; unfold Buckets; rewrite Z.quot_div_nonneg by lia; split.
  - apply Z.div_pos; lia.
  - apply Z.lt_succ_r, Z.div_lt_upper_bound; nia.
Qed.
