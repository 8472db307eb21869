(* Tied keys of a valid configuration: storage, first uses, flat groups. spec: TIE-1, TIE-2, STAT-2

   The hypotheses of Pipeline.v, Tail.v and Ranks.v about tied keys (shares_storage,
   storage_is_held, keys_agree, counted_once) hold for every valid configuration. The flat group of
   a trained entry with a key holds this entry only, so an element of the parameter has the same
   bucket and position in all of them, on all stages. No axioms. *)

Require Import Bool List Arith ZArith Lia.
Require Import ZP.Op ZP.OpOf ZP.Plan ZP.PlanFacts ZP.Sums ZP.MeaningChannels ZP.Meaning ZP.Serial.
Require Import ZP.MeaningLayout ZP.Contract ZP.Gradients ZP.Pipeline ZP.Tail ZP.Ranks.
Require ZP.Valid ZP.LayoutFacts ZP.StepClocks ZP.StepLedgers.
Import ListNotations.
Open Scope Z_scope.

Section Ties.

Variable c : config.
Hypothesis V : Valid.valid c.
Hypothesis C : proper c.

Notation key_of j := (p_tied (entry c j)).
Notation frozen j := (p_frozen (entry c j)).

(* ---- Entries of one key ---------------------------------------------------------------------- *)

Lemma same_key : forall i j, 0 <= i < c_n_params c -> 0 <= j < c_n_params c ->
  key_of i = key_of j -> 0 <= key_of j ->
  p_numel (entry c i) = p_numel (entry c j) /\ p_sharded (entry c i) = p_sharded (entry c j) /\
  p_optgroup (entry c i) = p_optgroup (entry c j) /\ frozen i = frozen j /\
  p_fp32 (entry c i) = p_fp32 (entry c j) /\ p_expert (entry c i) = 0.
Proof.
  assert (G : forall i j, 0 <= i <= j -> j < c_n_params c -> key_of i = key_of j ->
    0 <= key_of j ->
    p_numel (entry c i) = p_numel (entry c j) /\ p_sharded (entry c i) = p_sharded (entry c j) /\
    p_optgroup (entry c i) = p_optgroup (entry c j) /\ frozen i = frozen j /\
    p_fp32 (entry c i) = p_fp32 (entry c j) /\ p_expert (entry c i) = 0 /\
    p_expert (entry c j) = 0).
  { intros i j Hi Hj E K; destruct (Valid.valid_agree c V i j Hi Hj E K) as [S X].
    destruct (Valid.valid_agree c V i i ltac:(lia) ltac:(lia) eq_refl
      ltac:(unfold entry in *; lia)) as [_ Y].
    unfold SameTied in S; Valid.bools; unfold entry; repeat split; assumption. }
  intros i j Hi Hj E K; destruct (Z_le_gt_dec i j) as [L|L].
  - destruct (G i j ltac:(lia) ltac:(lia) E K) as [? [? [? [? [? [? ?]]]]]]; repeat split;
      assumption.
  - destruct (G j i ltac:(lia) ltac:(lia) (eq_sym E) ltac:(lia)) as [? [? [? [? [? [? ?]]]]]];
      repeat split; congruence.
Qed.

Lemma first_self : forall j, key_of j < 0 -> first_use c j = j.
Proof. intros j H; unfold first_use; rewrite (proj2 (Z.ltb_lt _ _) H); reflexivity. Qed.

Definition first_of (key : Z) : Z :=
  match find (fun i => key_of i =? key) (range 0 (c_n_params c)) with Some i => i | None => -1 end.

Lemma first_of_key : forall j, 0 <= j < c_n_params c -> 0 <= key_of j ->
  first_use c j = first_of (key_of j) /\ 0 <= first_use c j < c_n_params c /\
  key_of (first_use c j) = key_of j.
Proof.
  intros j Hj K; unfold first_use, first_of; rewrite (proj2 (Z.ltb_ge _ _) K).
  destruct (find _ _) as [i|] eqn:E.
  - apply find_some in E; destruct E as [I E]; apply in_range in I; apply Z.eqb_eq in E; auto.
  - exfalso; pose proof (find_none _ _ E j (proj2 (in_range _ _ _) Hj)) as N.
    cbv beta in N; rewrite Z.eqb_refl in N; discriminate.
Qed.

Lemma first_range : forall j, 0 <= j < c_n_params c -> 0 <= first_use c j < c_n_params c /\
  key_of (first_use c j) = key_of j.
Proof.
  intros j Hj; destruct (Z_lt_le_dec (key_of j) 0) as [K|K].
  - rewrite first_self by exact K; auto.
  - apply first_of_key; assumption.
Qed.

(* Entries with one first use are equal or have one key. *)
Lemma first_equal : forall i j, 0 <= i < c_n_params c -> 0 <= j < c_n_params c ->
  (first_use c i = first_use c j <-> i = j \/ 0 <= key_of j /\ key_of i = key_of j).
Proof.
  intros i j Hi Hj; destruct (first_range i Hi) as [_ Ki]; destruct (first_range j Hj) as [_ Kj].
  split.
  - intro E; assert (K : key_of i = key_of j) by congruence.
    destruct (Z_lt_le_dec (key_of j) 0) as [L|L]; [left | right; auto].
    rewrite !first_self in E by lia; exact E.
  - intros [-> | [L E]]; [reflexivity |].
    destruct (first_of_key i Hi ltac:(lia)) as [-> _].
    destruct (first_of_key j Hj L) as [-> _]; rewrite E; reflexivity.
Qed.

Lemma first_first : forall j, 0 <= j < c_n_params c ->
  first_use c (first_use c j) = first_use c j.
Proof.
  intros j Hj; destruct (first_range j Hj) as [B K]; apply first_equal; [exact B | exact Hj |].
  destruct (Z_lt_le_dec (key_of j) 0) as [L|L]; [left; apply first_self; exact L | right; auto].
Qed.

Theorem keys_of_valid_agree : keys_agree c.
Proof.
  intros j Hj; destruct (first_range j Hj) as [B K].
  destruct (Z_lt_le_dec (key_of j) 0) as [L|L].
  - rewrite !first_self by exact L; repeat split; reflexivity.
  - destruct (same_key (first_use c j) j B Hj K L) as [N [_ [O [F [P X]]]]].
    destruct (same_key j j Hj Hj eq_refl L) as [_ [_ [_ [_ [_ Y]]]]].
    repeat split; try congruence; apply first_first; exact Hj.
Qed.

(* ---- Storage --------------------------------------------------------------------------------- *)

Lemma storage_self : forall j, key_of j < 0 \/ frozen j <> 0 -> storage c j = j.
Proof.
  intros j [H|H]; unfold storage.
  - rewrite (proj2 (Z.ltb_lt _ _) H); reflexivity.
  - rewrite (proj2 (Z.eqb_neq _ _) H), orb_true_r; reflexivity.
Qed.

Lemma end_most : forall s, StageEnd c s <= c_n_params c.
Proof. intro s; apply (below_bound c (s + 1) _ (n_params_nonneg c)). Qed.

(* Of a key, the last entry on the stage. *)
Lemma storage_last : forall s j, trained c s j -> 0 <= key_of j ->
  let h := storage c j in
  h = HeadOf c (StageEnd c s) j /\ j <= h < StageEnd c s /\ key_of h = key_of j /\ frozen h = 0 /\
  (forall i, h < i < StageEnd c s -> key_of i <> key_of j).
Proof.
  intros s j [D F] K h; destruct (stage_of c C s j D) as [B S]; pose proof (end_most s).
  assert (E : h = HeadOf c (StageEnd c s) j).
  { unfold h, storage; rewrite F, (proj2 (Z.ltb_ge _ _) K), S; reflexivity. }
  destruct (head c (StageEnd c s) j (proj2 D)) as [H1 [H2 H3]]; rewrite <- E in H1, H2, H3.
  destruct (LayoutFacts.class_tied c V h j ltac:(lia) B F H2) as [Fh Kh].
  split; [exact E |]; split; [exact H1 |]; split; [exact Kh |]; split; [exact Fh |].
  intros i Hi Q; apply (H3 i Hi).
  apply (LayoutFacts.tied_class c V); try assumption; lia.
Qed.

Theorem storage_of_valid_is_shared : shares_storage c.
Proof.
  intros s j D; destruct (stage_of c C s j D) as [B S].
  destruct (Z_lt_le_dec (key_of j) 0) as [K|K];
    [rewrite !storage_self by auto; repeat split; try reflexivity; lia |].
  destruct (Z.eq_dec (frozen j) 0) as [F|F];
    [| rewrite !storage_self by auto; repeat split; try reflexivity; lia].
  destruct (storage_last s j (conj D F) K) as [E [H1 [H2 [H3 H4]]]].
  set (h := storage c j) in *; pose proof (end_most s).
  assert (Dh : trained c s h) by (split; [lia | exact H3]).
  destruct (storage_last s h Dh ltac:(lia)) as [E' [G1 [G2 [G3 G4]]]].
  assert (Hh : storage c h = h).
  { destruct (Z.eq_dec (storage c h) h) as [|N]; [assumption | exfalso].
    apply (H4 (storage c h)); [lia | congruence]. }
  destruct (same_key h j ltac:(lia) B H2 K) as [N [_ [_ [_ [_ X]]]]].
  destruct (same_key j j B B eq_refl K) as [_ [_ [_ [_ [_ Y]]]]].
  split; [lia |]; split; [exact Hh |]; split; [apply first_equal; [lia | exact B | auto] |].
  split; [exact N |]; intro d; unfold copy_of; rewrite X, Y; reflexivity.
Qed.

Theorem storage_of_valid_is_held : storage_is_held c.
Proof.
  intros s j [D F]; destruct (stage_of c C s j D) as [B S].
  pose proof (flat_of_entry c C s j D F) as G; cbn zeta in G.
  destruct G as [_ [_ [_ [_ [_ [G _]]]]]].
  unfold group_of, number_of; rewrite G; unfold opener_of.
  destruct (Z.leb_spec 0 (key_of j)) as [K|K].
  - destruct (storage_last s j (conj D F) K) as [E [H1 [H2 [H3 H4]]]].
    pose proof (LayoutFacts.use_0 c (StageEnd c s) j (proj2 D)) as Q.
    destruct (Z.eqb_spec (storage c j) j) as [L|L].
    + apply Z.eqb_eq, Q; intros i Hi X; rewrite L in H4; apply (H4 i Hi).
      apply (LayoutFacts.class_tied c V i j); try assumption; pose proof (end_most s); lia.
    + apply Z.eqb_neq; intro X; apply (proj1 Q X (storage c j)); [lia |].
      apply (LayoutFacts.tied_class c V); try assumption; pose proof (end_most s); lia.
  - rewrite storage_self by auto; rewrite head_use, !Z.eqb_refl by apply D; reflexivity.
Qed.

(* ---- Flat groups of keys --------------------------------------------------------------------- *)

Lemma tied_number : forall s j, trained c s j -> 0 <= key_of j ->
  number_of c s j = FlatAt c (StageEnd c s) j.
Proof.
  intros s j [D F] K; unfold number_of, FlatOf; fold (entry c j); rewrite F; cbn [negb Z.eqb].
  rewrite (proj2 (Z.leb_le _ _) K); reflexivity.
Qed.

Lemma tied_apart : forall s i j, trained c s i -> trained c s j -> 0 <= key_of j ->
  number_of c s i = number_of c s j -> i = j.
Proof.
  intros s i j [Di Fi] Dj K E; rewrite (tied_number s j Dj K) in E.
  apply (LayoutFacts.tied_alone c V s); try assumption; apply Dj.
Qed.

(* The flat group of a trained entry with a key. *)
Lemma tied_group : forall s j, trained c s j -> 0 <= key_of j ->
  let f := group_of c s j in
  StartOf c (StageEnd c s) j = 0 /\ f_numel f = p_numel (entry c j) /\ f_members f = c_dp c /\
  f_capacity f = Capacity (c_bucket c) (c_dp c) (c_align c) /\ f_align f = c_align c /\
  f_tied f = key_of j /\ f_group f = ZP_GROUP_DP.
Proof.
  intros s j [D F] K f; destruct (stage_of c C s j D) as [B S].
  pose proof (flat_of_entry c C s j D F) as G; cbn zeta in G.
  fold (number_of c s j) in G; fold (group_of c s j) in G; fold f in G.
  destruct G as [G1 [G2 [_ [_ [G3 [_ [G4 [G5 G6]]]]]]]].
  destruct (same_key j j B B eq_refl K) as [_ [_ [_ [_ [_ X]]]]].
  assert (M : MembersOf c j = c_dp c)
    by (unfold MembersOf; fold (entry c j); rewrite X; reflexivity).
  pose proof (LayoutFacts.tied_numel c V s j D F K) as N.
  rewrite (tied_number s j (conj D F) K) in G4; rewrite N in G4; fold (entry c j) in G4.
  assert (Z0 : StartOf c (StageEnd c s) j = 0).
  { pose proof (end_most s).
    destruct (entry_end c C (StageEnd c s) j (StageCount c s)) as [Z1 Z2]; try assumption;
      try lia.
    - unfold StageCount; pose proof (stage_first c s); lia.
    - change (FlatOf c (StageEnd c s) j) with (number_of c s j) in Z2.
      rewrite (tied_number s j (conj D F) K), N in Z2; fold (entry c j) in Z2; lia. }
  rewrite M in G2, G5; repeat split; try assumption.
  - rewrite G3; unfold opener_of; rewrite (proj2 (Z.leb_le _ _) K); reflexivity.
  - rewrite G1; unfold GroupOf; fold (entry c j); rewrite X; reflexivity.
Qed.

(* Two entries of one key, on any stages: an element has one bucket and one position. *)
Lemma tied_place : forall s i p j, trained c s i -> trained c p j -> 0 <= key_of j ->
  key_of i = key_of j -> forall e b,
  place_of c s i e b = place_of c p j e b /\ (lies c s i e b -> lies c p j e b) /\
  part (group_of c s i) b = part (group_of c p j) b /\
  forall d t u y, owns c (Coord s d t) (group_of c s i) b y =
    owns c (Coord p d u) (group_of c p j) b y.
Proof.
  intros s i p j Di Dj K E e b; pose proof (stage_of c C s i (proj1 Di)) as [Bi _].
  pose proof (stage_of c C p j (proj1 Dj)) as [Bj _].
  destruct (same_key i j Bi Bj E K) as [N _].
  destruct (tied_group s i Di ltac:(lia)) as [A1 [A2 [A3 [A4 [A5 [_ A7]]]]]].
  destruct (tied_group p j Dj K) as [B1 [B2 [B3 [B4 [B5 [_ B7]]]]]].
  assert (Q : part (group_of c s i) b = part (group_of c p j) b)
    by (unfold part; rewrite A2, A3, A4, A5, B2, B3, B4, B5, N; reflexivity).
  split; [unfold place_of; rewrite A1, A4, B1, B4; reflexivity |]; split; [| split].
  - intros [_ [He I]]; split; [exact Dj |]; split; [rewrite <- N; exact He |].
    unfold in_bucket in *; rewrite A1, A4 in I; rewrite B1, B4; exact I.
  - exact Q.
  - intros d t u y; unfold owns, in_part, group_index; rewrite Q, A7, B7; reflexivity.
Qed.

(* ---- The holder of a key --------------------------------------------------------------------- *)

Lemma holder_entry : forall s key k f, 0 <= key -> holder (layout_of c s) key = Some (k, f) ->
  exists j, trained c s j /\ key_of j = key /\ storage c j = j /\ k = number_of c s j /\
    f = group_of c s j.
Proof.
  intros s key k f P E; apply (StepClocks.holder_good c s) in E; destruct E as [K [-> H]].
  destruct (LayoutFacts.flat_good c V s k K) as [E [J [O [Q _]]]]; rewrite E in H.
  set (j := Opener c (StageEnd c s) (StageCount c s) k) in *.
  unfold HoldsKey in H; destruct (_ && _) eqn:B in H; [| discriminate].
  apply andb_true_iff in B; rewrite !Z.eqb_eq in B; destruct B as [B1 B2].
  change (f_tied (layout_flat c s k)) with (key_of j) in B1.
  assert (D : trained c s j).
  { split; [exact J |]; unfold Opens in O; fold (entry c j) in O.
    destruct (Z.eqb_spec (frozen j) 0); [assumption | discriminate]. }
  assert (N : number_of c s j = k) by (rewrite tied_number by (assumption || lia); exact Q).
  exists j; split; [exact D |]; split; [exact B1 |]; split.
  - pose proof (storage_of_valid_is_held s j D) as S; unfold group_of in S; rewrite N in S.
    apply Z.eqb_eq; rewrite <- S; unfold flat_in; rewrite E; apply Z.eqb_eq; exact B2.
  - split; [auto |]; unfold group_of; rewrite N; reflexivity.
Qed.

Lemma on_stage : forall s j, StageFirst c s <= j < StageEnd c s -> On c (key_of j) s = 1.
Proof. intros s j D; apply (LayoutFacts.on_iff c V); exists j; auto. Qed.

(* A key with a trained entry on the stage has a holder there. *)
Lemma holder_exists : forall s j, trained c s j -> 0 <= key_of j ->
  exists k f, holder (layout_of c s) (key_of j) = Some (k, f).
Proof.
  intros s j [D F] K; pose proof (stage_of c C s j D) as [B _].
  destruct (StepLedgers.holder_sizes c V s (key_of j) j K (on_stage s j D) B eq_refl)
    as [[N _] | [_ [k [f [E _]]]]]; [contradiction | eauto].
Qed.

(* It is the only entry of the key on the stage with storage. *)
Lemma storage_one : forall s i j, trained c s i -> trained c s j -> 0 <= key_of j ->
  key_of i = key_of j -> storage c i = storage c j.
Proof.
  intros s i j Di Dj K E; destruct (storage_last s i Di ltac:(lia)) as [_ [I1 [I2 [I3 I4]]]].
  destruct (storage_last s j Dj K) as [_ [J1 [J2 [J3 J4]]]].
  destruct (Z.lt_trichotomy (storage c i) (storage c j)) as [L | [L | L]]; [exfalso | exact L |
    exfalso].
  - apply (I4 (storage c j)); [lia | congruence].
  - apply (J4 (storage c i)); [lia | congruence].
Qed.

End Ties.
