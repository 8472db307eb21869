(* Facts about layouts: entries tile their flat group, and agree with it. spec: PART-1 ... PART-4

   e is the end of a stage's entries, x a number of entries counted from there. No axioms. *)

Require Import Bool List ZArith Lia.
Require Import ZP.Op ZP.OpOf ZP.Plan ZP.PlanFacts ZP.Sums ZP.MeaningChannels ZP.Meaning.
Import ListNotations.
Open Scope Z_scope.

(* What the proofs need of a valid configuration (spec/acsl/config.h). *)
Record proper (c : config) : Prop := {
  pr_pp : 1 <= c_pp c;
  pr_dp : 1 <= c_dp c;
  pr_tp : 1 <= c_tp c;
  pr_ep : 1 <= c_ep c;
  pr_rem : Z.rem (c_dp c) (c_ep c) = 0;
  pr_stage : 0 <= c_stage c <= 2;
  pr_precision : 0 <= c_precision c <= 2;
  pr_mb : 1 <= c_micro_batches c;
  pr_bucket : 1 <= c_bucket c;
  pr_align : 1 <= c_align c;
  pr_entry : forall j, 0 <= j < c_n_params c ->
    0 <= p_numel (entry c j) /\ 0 <= p_stage (entry c j) < c_pp c /\
    0 <= p_optgroup (entry c j) < 256 /\ 0 <= p_expert (entry c j) <= 1 /\
    0 <= p_fp32 (entry c j) <= 1;
  pr_sorted : forall i j, 0 <= i <= j -> j < c_n_params c ->
    p_stage (entry c i) <= p_stage (entry c j)
}.

Section Layout.

Variable c : config.
Hypothesis C : proper c.

(* ---- Stages ---------------------------------------------------------------------------------- *)

Lemma EntriesBelow_step : forall n s, 0 <= n ->
  EntriesBelow c (n + 1) s = EntriesBelow c n s + IsBelow c n s.
Proof.
  intros n s H; unfold EntriesBelow.
  replace (Z.to_nat (n + 1)) with (S (Z.to_nat n)) by lia; simpl.
  rewrite Z2Nat.id by exact H; do 2 f_equal; lia.
Qed.

Lemma below_bound : forall s n, 0 <= n -> 0 <= EntriesBelow c n s <= n.
Proof.
  intros s n H; revert n H; apply (natlike_ind (fun n => 0 <= EntriesBelow c n s <= n)).
  - cbv; split; discriminate.
  - intros n Hn IH; rewrite <- Z.add_1_r, EntriesBelow_step by exact Hn; unfold IsBelow.
    destruct (_ <? s); lia.
Qed.

(* Below position n, the entries of stages below s are the first ones. *)
Lemma below_first : forall s n, 0 <= n -> n <= c_n_params c ->
  forall j, 0 <= j < n -> (p_stage (entry c j) < s <-> j < EntriesBelow c n s).
Proof.
  intros s n H; revert n H.
  apply (natlike_ind (fun n => n <= c_n_params c -> forall j, 0 <= j < n ->
    (p_stage (entry c j) < s <-> j < EntriesBelow c n s))).
  - intros; lia.
  - intros n Hn IH L j Hj; rewrite <- Z.add_1_r, EntriesBelow_step by exact Hn.
    unfold IsBelow; fold (entry c n); pose proof (below_bound s n Hn).
    destruct (Z.ltb_spec (p_stage (entry c n)) s) as [B|B].
    + assert (E : EntriesBelow c n s = n).
      { destruct (Z.eq_dec n 0) as [->|]; [reflexivity |].
        assert (G : n - 1 < EntriesBelow c n s); [| lia].
        apply IH; [lia | lia |].
        pose proof (pr_sorted c C (n - 1) n ltac:(lia) ltac:(lia)); lia. }
      pose proof (pr_sorted c C j n ltac:(lia) ltac:(lia)); lia.
    + destruct (Z.eq_dec j n) as [->|]; [lia |].
      rewrite Z.add_0_r; apply IH; lia.
Qed.

Lemma n_params_nonneg : 0 <= c_n_params c.
Proof. unfold c_n_params; lia. Qed.

Lemma stage_of : forall s j, StageFirst c s <= j < StageEnd c s ->
  0 <= j < c_n_params c /\ p_stage (entry c j) = s.
Proof.
  unfold StageFirst, StageEnd; intros s j H; pose proof n_params_nonneg as N.
  pose proof (below_bound s _ N); pose proof (below_bound (s + 1) _ N).
  assert (B : 0 <= j < c_n_params c) by lia; split; [exact B |].
  pose proof (below_first s _ N ltac:(lia) j B);
    pose proof (below_first (s + 1) _ N ltac:(lia) j B).
  lia.
Qed.

Lemma in_stage : forall j, 0 <= j < c_n_params c ->
  StageFirst c (p_stage (entry c j)) <= j < StageEnd c (p_stage (entry c j)).
Proof.
  unfold StageFirst, StageEnd; intros j B; pose proof n_params_nonneg as N.
  pose proof (below_first (p_stage (entry c j)) _ N ltac:(lia) j B).
  pose proof (below_first (p_stage (entry c j) + 1) _ N ltac:(lia) j B); lia.
Qed.

Lemma stage_first : forall s, 0 <= StageFirst c s.
Proof. intro s; apply below_bound, n_params_nonneg. Qed.

Lemma stage_count : forall s, 0 <= StageCount c s.
Proof.
  intro s; unfold StageCount, StageFirst, StageEnd; pose proof n_params_nonneg as N.
  generalize (c_n_params c) N; apply (natlike_ind (fun n =>
    0 <= EntriesBelow c n (s + 1) - EntriesBelow c n s)).
  - cbv; discriminate.
  - intros n Hn IH; rewrite <- Z.add_1_r, !EntriesBelow_step by exact Hn; unfold IsBelow.
    destruct (Z.ltb_spec (p_stage (param_at (c_params c) n)) s);
      destruct (Z.ltb_spec (p_stage (param_at (c_params c) n)) (s + 1)); lia.
Qed.

Lemma stage_next : forall s, StageFirst c s <= StageFirst c (s + 1).
Proof.
  intro s; pose proof (stage_count s) as K; unfold StageCount in K.
  change (StageEnd c s) with (StageFirst c (s + 1)) in K; lia.
Qed.

(* A sum over the entries of all stages. *)
Lemma sigma_stages : forall f, sigma (range 0 (c_pp c)) (fun s =>
  sigma (range (StageFirst c s) (StageEnd c s)) f) = sigma (range 0 (c_n_params c)) f.
Proof.
  intro f; pose proof n_params_nonneg as N.
  assert (M : forall t, 0 <= t -> StageFirst c 0 <= StageFirst c t).
  { apply natlike_ind; [lia |]; intros t Ht It; rewrite <- Z.add_1_r.
    pose proof (stage_next t); lia. }
  assert (G : forall s, 0 <= s -> sigma (range 0 s) (fun s =>
    sigma (range (StageFirst c s) (StageEnd c s)) f) =
    sigma (range (StageFirst c 0) (StageFirst c s)) f).
  { apply natlike_ind.
    - rewrite (range_empty (StageFirst c 0)) by lia; reflexivity.
    - intros s Hs IH; rewrite <- Z.add_1_r, range_snoc, sigma_app, IH by lia; simpl.
      change (StageEnd c s) with (StageFirst c (s + 1)).
      pose proof (stage_next s); pose proof (M s Hs).
      rewrite (range_app (StageFirst c 0) (StageFirst c s) (StageFirst c (s + 1))), sigma_app
        by lia; lia. }
  rewrite G by (pose proof (pr_pp c C); lia); do 2 f_equal.
  - unfold StageFirst; pose proof (below_bound 0 (c_n_params c) N) as B.
    destruct (Z_lt_le_dec 0 (EntriesBelow c (c_n_params c) 0)) as [L|L]; [exfalso | lia].
    pose proof (pr_entry c C 0 ltac:(lia)) as [_ [E _]].
    pose proof (below_first 0 (c_n_params c) N (Z.le_refl _) 0 ltac:(lia)); lia.
  - unfold StageFirst; pose proof (below_bound (c_pp c) (c_n_params c) N) as B.
    destruct (Z.eq_dec (c_n_params c) 0) as [E|E]; [lia |].
    pose proof (pr_entry c C (c_n_params c - 1) ltac:(lia)) as [_ [L _]].
    pose proof (below_first (c_pp c) (c_n_params c) N (Z.le_refl _) (c_n_params c - 1)
      ltac:(lia)); lia.
Qed.

(* ---- Classes --------------------------------------------------------------------------------- *)

Notation frozen j := (p_frozen (entry c j)).
Notation tied j := (p_tied (entry c j)).

Lemma class_frozen : forall j, 0 <= j < c_n_params c -> (ClassOf c j = 0 <-> frozen j <> 0).
Proof.
  intros j Hj; pose proof (pr_entry c C j Hj) as [_ [_ [O [X F]]]]; unfold ClassOf.
  fold (entry c j); destruct (Z.eqb_spec (frozen j) 0) as [E|E]; cbn [negb]; [| lia].
  destruct (Z.leb_spec 0 (tied j)); lia.
Qed.

Lemma class_equal : forall i j, 0 <= i < c_n_params c -> 0 <= j < c_n_params c ->
  ClassOf c i = ClassOf c j -> frozen j = 0 ->
  frozen i = 0 /\ (0 <= tied j -> tied i = tied j) /\
  (tied j < 0 -> tied i < 0 /\ p_expert (entry c i) = p_expert (entry c j) /\
    p_fp32 (entry c i) = p_fp32 (entry c j) /\ p_optgroup (entry c i) = p_optgroup (entry c j)).
Proof.
  intros i j Hi Hj E F.
  pose proof (pr_entry c C i Hi) as [_ [_ [Oi [Xi Fi]]]].
  pose proof (pr_entry c C j Hj) as [_ [_ [Oj [Xj Fj]]]].
  assert (G : frozen i = 0).
  { destruct (Z.eq_dec (frozen i) 0) as [|N]; [assumption | exfalso].
    apply (class_frozen i Hi) in N; apply (class_frozen j Hj); lia. }
  split; [exact G |]; revert E; unfold ClassOf; fold (entry c i); fold (entry c j).
  rewrite F, G; cbn [negb Z.eqb].
  destruct (Z.leb_spec 0 (tied j)); destruct (Z.leb_spec 0 (tied i)); lia.
Qed.

(* HeadOf is the last entry of j's class before e. *)
Lemma leader : forall k j n, 0 <= n ->
  let l := Leader_n (Z.to_nat n) c k j in
  j <= l <= j + n /\ (l = j \/ ClassOf c l = k) /\
  (forall i, l < i <= j + n -> ClassOf c i <> k).
Proof.
  intros k j; apply (natlike_ind (fun n => let l := Leader_n (Z.to_nat n) c k j in
    j <= l <= j + n /\ (l = j \/ ClassOf c l = k) /\ (forall i, l < i <= j + n -> ClassOf c i <>
      k))).
  - simpl; repeat split; try lia; auto.
  - intros n Hn; rewrite Z2Nat.inj_succ by exact Hn; simpl; rewrite Z2Nat.id by exact Hn.
    replace (j + (n + 2) - 1) with (j + n + 1) by lia.
    destruct (Z.eqb_spec (ClassOf c (j + n + 1)) k) as [E|E]; intros [B [K M]].
    + repeat split; try lia; auto.
    + repeat split; try lia; auto; intros i Hi.
      destruct (Z.eq_dec i (j + n + 1)) as [->|]; [exact E | apply M; lia].
Qed.

Lemma head : forall e j, j < e ->
  j <= HeadOf c e j < e /\ ClassOf c (HeadOf c e j) = ClassOf c j /\
  (forall i, HeadOf c e j < i < e -> ClassOf c i <> ClassOf c j).
Proof.
  intros e j H; unfold HeadOf, Leader.
  destruct (leader (ClassOf c j) j (e - j - 1) ltac:(lia)) as [B [K M]].
  repeat split; try lia.
  - destruct K as [K|K]; [rewrite K; reflexivity | exact K].
  - intros i Hi; apply M; lia.
Qed.

Lemma head_head : forall e j, j < e -> HeadOf c e (HeadOf c e j) = HeadOf c e j.
Proof.
  intros e j H; pose proof (head e j H) as [B [K M]].
  pose proof (head e (HeadOf c e j) ltac:(lia)) as [B' [K' M']].
  destruct (Z.eq_dec (HeadOf c e (HeadOf c e j)) (HeadOf c e j)) as [|N]; [assumption | exfalso].
  apply (M (HeadOf c e (HeadOf c e j))); [lia | congruence].
Qed.

(* ---- Flat groups ----------------------------------------------------------------------------- *)

Lemma FlatCount_step : forall e x, 0 <= x ->
  FlatCount c e (x + 1) = FlatCount c e x + Opens c e (e - (x + 1)).
Proof.
  intros e x H; unfold FlatCount; replace (Z.to_nat (x + 1)) with (S (Z.to_nat x)) by lia.
  simpl; rewrite Z2Nat.id by exact H; reflexivity.
Qed.

Lemma opens_bit : forall e j, 0 <= Opens c e j <= 1.
Proof. intros; unfold Opens; destruct (_ && _)%bool; lia. Qed.

Lemma FlatCount_mono : forall e x y, 0 <= x <= y -> 0 <= FlatCount c e x <= FlatCount c e y.
Proof.
  intros e x y [Hx H]; replace y with (x + (y - x)) by lia.
  generalize (y - x) (Zle_minus_le_0 _ _ H); clear y H.
  assert (P : 0 <= FlatCount c e x).
  { revert x Hx; apply natlike_ind; [reflexivity |]; intros x Hx IH.
    rewrite <- Z.add_1_r, FlatCount_step by exact Hx; pose proof (opens_bit e (e - (x + 1))); lia. }
  apply (natlike_ind (fun n => 0 <= FlatCount c e x <= FlatCount c e (x + n))).
  - rewrite Z.add_0_r; lia.
  - intros n Hn IH; rewrite <- Z.add_1_r, Z.add_assoc, FlatCount_step by lia.
    pose proof (opens_bit e (e - (x + n + 1))); lia.
Qed.

Lemma Opener_step : forall e k x, 0 <= x -> Opener c e (x + 1) k =
  if (Opens c e (e - (x + 1)) =? 1) && (FlatCount c e x =? k) then e - (x + 1)
  else Opener c e x k.
Proof.
  intros e k x H; unfold Opener; replace (Z.to_nat (x + 1)) with (S (Z.to_nat x)) by lia.
  simpl; rewrite Z2Nat.id by exact H; replace (x + 1 - 1) with x by lia; reflexivity.
Qed.

Lemma opener : forall e j n, j < e -> Opens c e j = 1 -> e - j <= n ->
  Opener c e n (FlatAt c e j) = j.
Proof.
  intros e j n L O H; replace n with (e - j + (n - (e - j))) by lia.
  generalize (n - (e - j)) (Zle_minus_le_0 _ _ H); clear n H.
  assert (S1 : FlatCount c e (e - j) = FlatAt c e j + 1).
  { unfold FlatAt; replace (e - j) with (e - 1 - j + 1) by lia.
    rewrite FlatCount_step by lia; replace (e - (e - 1 - j + 1)) with j by lia; lia. }
  apply natlike_ind.
  - rewrite Z.add_0_r; replace (e - j) with (e - 1 - j + 1) by lia.
    rewrite Opener_step by lia; replace (e - (e - 1 - j + 1)) with j by lia.
    rewrite O; unfold FlatAt; rewrite !Z.eqb_refl; reflexivity.
  - intros n Hn IH; rewrite <- Z.add_1_r, Z.add_assoc, Opener_step by lia; rewrite IH.
    pose proof (FlatCount_mono e (e - j) (e - j + n) ltac:(lia)).
    replace (FlatCount c e (e - j + n) =? FlatAt c e j) with false
      by (symmetry; apply Z.eqb_neq; lia).
    rewrite andb_false_r; reflexivity.
Qed.

(* The entry whose class, dtype and group the flat group of j has. *)
Definition opener_of (e j : Z) : Z := if 0 <=? tied j then j else HeadOf c e j.

Lemma flat_opener : forall e j, j < e -> frozen j = 0 ->
  0 <= j -> e <= c_n_params c ->
  FlatOf c e j = FlatAt c e (opener_of e j) /\ j <= opener_of e j < e /\
  Opens c e (opener_of e j) = 1 /\ ClassOf c (opener_of e j) = ClassOf c j.
Proof.
  intros e j H F P L; unfold FlatOf, opener_of; fold (entry c j); rewrite F; simpl.
  destruct (Z.leb_spec 0 (tied j)) as [T|T].
  - repeat split; try lia; unfold Opens; fold (entry c j); rewrite F.
    replace (0 <=? tied j) with true by (symmetry; apply Z.leb_le; exact T); reflexivity.
  - pose proof (head e j H) as [B [K M]]; repeat split; try lia; try exact K.
    destruct (class_equal (HeadOf c e j) j ltac:(lia) ltac:(lia) K F) as [G _].
    unfold Opens; fold (entry c (HeadOf c e j)); rewrite G, head_head by exact H.
    rewrite !Z.eqb_refl, orb_true_r; reflexivity.
Qed.

Lemma flat_range : forall s j, StageFirst c s <= j < StageEnd c s -> frozen j = 0 ->
  0 <= FlatOf c (StageEnd c s) j < FlatCount c (StageEnd c s) (StageCount c s).
Proof.
  intros s j H F; pose proof (stage_of s j H) as [B _].
  pose proof (below_bound (s + 1) (c_n_params c) n_params_nonneg) as E.
  fold (StageEnd c s) in E;
    destruct (flat_opener (StageEnd c s) j ltac:(lia) F ltac:(lia) ltac:(lia))
    as [-> [O [P _]]].
  set (o := opener_of (StageEnd c s) j) in *; unfold FlatAt.
  pose proof (FlatCount_mono (StageEnd c s) 0 (StageEnd c s - 1 - o) ltac:(lia)).
  pose proof (FlatCount_mono (StageEnd c s) (StageEnd c s - 1 - o + 1) (StageCount c s)) as M.
  unfold StageCount in M at 1; specialize (M ltac:(lia)).
  rewrite FlatCount_step in M by lia.
  replace (StageEnd c s - (StageEnd c s - 1 - o + 1)) with o in M by lia; lia.
Qed.

(* ---- Positions ------------------------------------------------------------------------------- *)

Lemma FlatNumel_step : forall e x k, 0 <= x ->
  FlatNumel c e (x + 1) k = FlatNumel c e x k + Brings c e (e - (x + 1)) k.
Proof.
  intros e x k H; unfold FlatNumel; replace (Z.to_nat (x + 1)) with (S (Z.to_nat x)) by lia.
  simpl; rewrite Z2Nat.id by exact H; reflexivity.
Qed.

Lemma FlatNumel_mono : forall e k x y, 0 <= x <= y -> y <= e -> e <= c_n_params c ->
  0 <= FlatNumel c e x k <= FlatNumel c e y k.
Proof.
  assert (B : forall e k x, 0 <= x -> x + 1 <= e -> e <= c_n_params c ->
    0 <= Brings c e (e - (x + 1)) k).
  { intros e k x Hx Hy L; unfold Brings; fold (entry c (e - (x + 1))).
    pose proof (pr_entry c C (e - (x + 1)) ltac:(lia)); destruct (_ =? k); lia. }
  intros e k x y [Hx H] Hy L; replace y with (x + (y - x)) in * by lia.
  assert (P : 0 <= FlatNumel c e x k).
  { assert (Hx' : x <= e) by lia; clear H Hy; revert x Hx Hx'.
    apply (natlike_ind (fun x => x <= e -> 0 <= FlatNumel c e x k)); [intros _; reflexivity |].
    intros x Hx IH Hx'; rewrite <- Z.add_1_r in *; rewrite FlatNumel_step by exact Hx.
    specialize (B e k x Hx ltac:(lia) L); lia. }
  assert (Hn : 0 <= y - x) by lia; revert Hy; generalize (y - x) Hn; clear y H Hn.
  apply (natlike_ind (fun n => x + n <= e -> 0 <= FlatNumel c e x k <= FlatNumel c e (x + n) k)).
  - rewrite Z.add_0_r; lia.
  - intros n Hn IH Hy; rewrite <- Z.add_1_r, Z.add_assoc in *; rewrite FlatNumel_step by lia.
    specialize (B e k (x + n) ltac:(lia) ltac:(lia) L); lia.
Qed.

Lemma start_of : forall e j, frozen j = 0 ->
  StartOf c e j = FlatNumel c e (e - 1 - j) (FlatOf c e j).
Proof. intros e j F; unfold StartOf; fold (entry c j); rewrite F; reflexivity. Qed.

(* The next entry of j's flat group starts at its end or later. *)
Lemma entry_end : forall e j y, 0 <= j < e -> e <= c_n_params c -> frozen j = 0 -> e - j <= y <= e
  ->
  0 <= StartOf c e j /\
  StartOf c e j + p_numel (entry c j) <= FlatNumel c e y (FlatOf c e j).
Proof.
  intros e j y H L F Hy; rewrite start_of by exact F.
  pose proof (FlatNumel_mono e (FlatOf c e j) (e - j) y ltac:(lia) ltac:(lia) L) as M.
  pose proof (FlatNumel_mono e (FlatOf c e j) 0 (e - 1 - j) ltac:(lia) ltac:(lia) L) as M'.
  replace (e - j) with (e - 1 - j + 1) in M by lia; rewrite FlatNumel_step in M by lia.
  replace (e - (e - 1 - j + 1)) with j in M by lia; unfold Brings in M.
  rewrite Z.eqb_refl in M; fold (entry c j) in M; lia.
Qed.

Lemma entries_apart : forall e i j, 0 <= i < j -> j < e -> e <= c_n_params c ->
  frozen i = 0 -> frozen j = 0 -> FlatOf c e i = FlatOf c e j ->
  StartOf c e j + p_numel (entry c j) <= StartOf c e i.
Proof.
  intros e i j H Hj L Fi Fj E.
  destruct (entry_end e j (e - 1 - i) ltac:(lia) L Fj ltac:(lia)) as [_ A].
  rewrite (start_of e i Fi), E; exact A.
Qed.

(* ---- The layout of a stage ------------------------------------------------------------------- *)

Lemma nth_map_range : forall (A : Type) (g : Z -> A) n k d, 0 <= k < n ->
  nth (Z.to_nat k) (map g (range 0 n)) d = g k.
Proof.
  intros A g n k d H; unfold range; rewrite map_map.
  rewrite nth_indep with (d' := g (0 + Z.of_nat 0)) by (rewrite map_length, seq_length; lia).
  rewrite (map_nth (fun i => g (0 + Z.of_nat i))), seq_nth by lia; f_equal; lia.
Qed.

Lemma n_spots : forall s, l_n_params (layout_of c s) = StageCount c s.
Proof.
  intro s; unfold l_n_params; simpl; rewrite map_length, range_length.
  pose proof (stage_count s); unfold StageCount in *; lia.
Qed.

Lemma n_flats : forall s,
  l_n_flats (layout_of c s) = FlatCount c (StageEnd c s) (StageCount c s).
Proof.
  intro s; unfold l_n_flats; simpl; rewrite map_length, range_length.
  pose proof (FlatCount_mono (StageEnd c s) 0 (StageCount c s)); pose proof (stage_count s); lia.
Qed.

Lemma spot_of : forall s j, StageFirst c s <= j < StageEnd c s ->
  spot_at (l_spot (layout_of c s)) (j - StageFirst c s) = layout_spot c s j.
Proof.
  intros s j H; unfold spot_at; simpl.
  replace (range (StageFirst c s) (StageEnd c s)) with
    (map (fun x => x + StageFirst c s) (range 0 (StageEnd c s - StageFirst c s))).
  - rewrite map_map, nth_map_range by lia; f_equal; lia.
  - rewrite <- range_map_shift; f_equal; lia.
Qed.

(* Flat group k of the layout of stage s. *)
Definition flat_in (s k : Z) : flat := flat_at (l_flat (layout_of c s)) k.

Lemma flat_is : forall s k, 0 <= k < FlatCount c (StageEnd c s) (StageCount c s) ->
  flat_in s k = layout_flat c s k.
Proof. intros s k H; unfold flat_in, flat_at; simpl; apply nth_map_range; exact H. Qed.

Lemma flat_of_entry : forall s j, StageFirst c s <= j < StageEnd c s -> frozen j = 0 ->
  let f := flat_in s (FlatOf c (StageEnd c s) j) in
  f_group f = GroupOf c j /\ f_members f = MembersOf c j /\
  f_optgroup f = p_optgroup (entry c j) /\ f_fp32 f = p_fp32 (entry c j) /\
  f_tied f = tied (opener_of (StageEnd c s) j) /\
  f_use f = UseOf c (StageEnd c s) (opener_of (StageEnd c s) j) /\
  f_numel f = FlatNumel c (StageEnd c s) (StageCount c s) (FlatOf c (StageEnd c s) j) /\
  f_capacity f = Capacity (c_bucket c) (MembersOf c j) (c_align c) /\ f_align f = c_align c.
Proof.
  intros s j H F f; subst f; rewrite flat_is by (apply flat_range; assumption).
  pose proof (stage_of s j H) as [B _].
  pose proof (below_bound (s + 1) (c_n_params c) n_params_nonneg) as E; fold (StageEnd c s) in E.
  destruct (flat_opener (StageEnd c s) j ltac:(lia) F ltac:(lia) ltac:(lia)) as [G [O [P K]]].
  set (e := StageEnd c s) in *; set (o := opener_of e j) in *; unfold layout_flat; fold e.
  assert (Q : Opener c e (StageCount c s) (FlatOf c e j) = o).
  { rewrite G; apply opener; [lia | exact P |].
    unfold StageCount; fold e; lia. }
  rewrite Q; simpl; fold (entry c o).
  assert (S : p_expert (entry c o) = p_expert (entry c j) /\
    p_optgroup (entry c o) = p_optgroup (entry c j) /\ p_fp32 (entry c o) = p_fp32 (entry c j)).
  { destruct (class_equal o j ltac:(lia) ltac:(lia) K F) as [_ [_ M]].
    subst o; unfold opener_of in *; destruct (Z.leb_spec 0 (tied j)); tauto. }
  destruct S as [S1 [S2 S3]].
  assert (S4 : MembersOf c o = MembersOf c j)
    by (unfold MembersOf; fold (entry c o); fold (entry c j); rewrite S1; reflexivity).
  assert (S5 : GroupOf c o = GroupOf c j)
    by (unfold GroupOf; fold (entry c o); fold (entry c j); rewrite S1; reflexivity).
  rewrite S2, S3, S4, S5; repeat split.
Qed.

Lemma no_later_use : forall k j n, 0 <= n -> (forall i, j < i <= j + n -> ClassOf c i <> k) ->
  UsesBefore_n (Z.to_nat n) c k j = 0.
Proof.
  intros k j; apply (natlike_ind (fun n => (forall i, j < i <= j + n -> ClassOf c i <> k) ->
    UsesBefore_n (Z.to_nat n) c k j = 0)); [reflexivity |].
  intros n Hn IH H; rewrite Z2Nat.inj_succ by exact Hn; simpl; rewrite Z2Nat.id by exact Hn.
  rewrite IH by (intros; apply H; lia).
  replace (j + (n + 2) - 1) with (j + n + 1) by lia.
  destruct (Z.eqb_spec (ClassOf c (j + n + 1)) k) as [E|E]; [| reflexivity].
  exfalso; apply (H (j + n + 1)); [lia | exact E].
Qed.

(* The last entry of a class opens its flat group, or holds the storage of its key. *)
Lemma head_use : forall e j, j < e -> UseOf c e (HeadOf c e j) = 0.
Proof.
  intros e j H; pose proof (head e j H) as [B [K M]]; unfold UseOf, UsesBefore.
  replace (e - HeadOf c e j - 1) with (e - 1 - HeadOf c e j) by lia.
  apply no_later_use; [lia |]; intros i Hi; rewrite K; apply M; lia.
Qed.

Lemma members_positive : forall j, 0 <= j < c_n_params c -> 1 <= MembersOf c j.
Proof.
  intros j Hj; unfold MembersOf; pose proof (pr_dp c C); pose proof (pr_ep c C).
  pose proof (pr_rem c C) as R; rewrite Z.rem_mod_nonneg in R by lia.
  destruct (negb _); [| lia]; rewrite Z.quot_div_nonneg by lia.
  apply Z.mod_divide in R; [| lia]; destruct R as [q Q]; rewrite Q, Z.div_mul by lia; nia.
Qed.

Lemma capacity_positive : forall d, 1 <= d -> 1 <= Capacity (c_bucket c) d (c_align c).
Proof.
  intros d Hd; unfold Capacity, RoundUp; pose proof (pr_bucket c C); pose proof (pr_align c C).
  assert (1 <= d * c_align c) by nia; rewrite Z.quot_div_nonneg by lia.
  assert (1 <= (c_bucket c + d * c_align c - 1) / (d * c_align c)); [| nia].
  apply Z.div_le_lower_bound; lia.
Qed.

End Layout.
