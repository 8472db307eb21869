(* Statistics, decision and updates of one rank, checked against the contract.
   spec: STAT-3 ... STAT-5, STEP-6 ... STEP-8 *)

Require Import Bool List Arith ZArith Lia.
Require Import ZP.Op ZP.OpOf ZP.Plan ZP.PlanFacts ZP.Sums ZP.MeaningChannels ZP.Meaning ZP.Serial.
Require Import ZP.MeaningLayout ZP.Contract ZP.Gradients ZP.Pipeline ZP.Tail.
Import ListNotations.
Open Scope Z_scope.

(* Distinguishes the cases of all comparisons in the goal. *)
Ltac compare_all :=
  repeat match goal with
  | |- context [?a =? ?b] => destruct (Z.eqb_spec a b)
  | |- context [?a <? ?b] => destruct (Z.ltb_spec a b)
  | |- context [?a <=? ?b] => destruct (Z.leb_spec a b)
  end; cbn [andb orb negb]; try reflexivity; try (exfalso; lia).

Section Updates.

Variables A T P S X V : Type.
Variable no_message : A.
Variable fwd : coord -> V -> list (list P) -> A -> Z -> A * T * (Z -> Z).
Variable bwd : coord -> V -> list (list P) -> T -> A -> Z -> A * (Z -> option (Z -> Z)).
Variable mean : Z -> X.
Variable words : X -> Z -> Z.
Variable go : V -> list Z -> bool.
Variable update : Z -> V -> list Z -> X -> S -> S.
Variable round : Z -> S -> P.
Variable c : config.
Variable z : serial P S V.
Hypothesis C : proper c.
Hypothesis Held : storage_is_held c.
Hypothesis Agree : keys_agree c.

Notation mem := (mem A T P S X V).
Notation wp := (wp A T P S X V no_message fwd bwd mean words go update round c z).
Notation serial_sum := (serial_sum A T P S V no_message fwd bwd c z).
Notation loss_words := (loss_words A T P S V no_message fwd c z).
Notation element_words := (element_words A T P S X V no_message fwd bwd mean words c z).
Notation entry_words := (entry_words A T P S X V no_message fwd bwd mean words c z).
Notation rank_words := (rank_words A T P S X V no_message fwd bwd mean words c z).
Notation serial_statistics := (serial_statistics A T P S X V no_message fwd bwd mean words c z).
Notation serial_go := (serial_go A T P S X V no_message fwd bwd mean words go c z).
Notation new_state := (new_state A T P S X V no_message fwd bwd mean words update c z).
Notation new_param := (new_param A T P S X V no_message fwd bwd mean words update round c z).

Variable r : nat.
Let a := coord_of c r.
Let s := a_pp a.
Let d := a_dp a.
Let t := a_tp a.
Let M := c_micro_batches c.
Hypothesis W : within c a.

Notation base := (base A T P S X V c z r).
Notation k_of j := (number_of c s j).
Notation here j x b := (place_of c s j x b).
Notation flat_k k := (flat_in c s k).
Notation flats := (FlatCount c (StageEnd c s) (StageCount c s)).
Notation total j x := (serial_sum (first_use c j) x t (copy_of c j d)).
Notation wp_local := (wp_local A T P S X V no_message fwd bwd mean words go update round c z r).

Notation summed := (summed A T P S V no_message fwd bwd c z r).
Notation averaged := (averaged A T P S X V no_message fwd bwd mean words c z r).
Notation statistics := (statistics A T P S X V).

(* ---- Statistics ------------------------------------------------------------------------------ *)

(* After the statistics' all-reduce. *)
Definition agreed (m : mem) : Prop :=
  base m /\ statistics m = serial_statistics /\
  forall j x b, lies c s j x b -> storage c j = j ->
    owns c a (flat_k (k_of j)) b (here j x b) = true ->
    m_mean _ _ _ _ _ _ m (k_of j) b (here j x b) = mean (total j x).

Lemma statistics_ok : forall u rest Q m, averaged flats 0 m ->
  (forall n, agreed n -> wp r rest Q n) -> wp r (op_statistics u :: rest) Q m.
Proof.
  intros u rest Q m H Next; cbn [Contract.wp].
  change (o_if_stepped (op_statistics u) =? 1) with false; cbn [andb].
  change (o_kind (op_statistics u) =? ZP_OP_DECIDE) with false.
  change (comm (op_statistics u)) with true; cbv iota zeta.
  change (chan_of c (coord_of c r) (op_statistics u)) with (Group ZP_GROUP_WORLD (-1) (Coord 0 0
    0)).
  cbn [Contract.sends Contract.gets]; split.
  - split; [reflexivity |]; split; [exact W |]; left; split; [reflexivity |]; right; left.
    split; [exists u; reflexivity |]; split; [reflexivity |].
    intro w; fold a; apply words_complete; assumption.
  - intros n [_ [G _]]; specialize (G eq_refl); destruct G as [f [-> G]].
    destruct H as [B [Su [Me St]]]; apply Next; split; [exact B |]; split.
    + unfold Meaning.statistics, Serial.serial_statistics; cbn [m_agreed set_agreed].
      apply map_ext_in; intros w Hw; apply in_range in Hw; apply G; exact Hw.
    + intros j x b L E O; apply Me; try assumption; left; apply k_range;
      [exact C | exact (proj1 L)].
Qed.

Lemma decision_ok : forall u rest Q m, agreed m -> wp r rest Q m ->
  wp r (op_decision u :: rest) Q m.
Proof.
  intros u rest Q m [B [St _]] Next; cbn [Contract.wp].
  change (o_if_stepped (op_decision u) =? 1) with false; cbn [andb].
  change (o_kind (op_decision u) =? ZP_OP_DECIDE) with true; cbv iota.
  split; [| exact Next]; unfold Serial.serial_go; rewrite (proj1 B), St; reflexivity.
Qed.

(* ---- Updates --------------------------------------------------------------------------------- *)

(* The buckets in D are updated, the others not. *)
Definition updated (D : Z -> Z -> bool) (m : mem) : Prop :=
  m_v _ _ _ _ _ _ m = s_v _ _ _ z /\ statistics m = serial_statistics /\
  (forall j x b, lies c s j x b -> storage c j = j ->
    owns c a (flat_k (k_of j)) b (here j x b) = true ->
    m_mean _ _ _ _ _ _ m (k_of j) b (here j x b) = mean (total j x) /\
    m_state _ _ _ _ _ _ m (k_of j) b (here j x b) =
      if D (k_of j) b then new_state (first_use c j) x t (copy_of c j d)
      else s_state _ _ _ z (first_use c j) x t (copy_of c j d)) /\
  (forall j x, StageFirst c s <= j < StageEnd c s -> storage c j = j ->
    0 <= x < p_numel (entry c j) ->
    (p_frozen (entry c j) <> 0 ->
      m_param _ _ _ _ _ _ m j x = s_param _ _ _ z (first_use c j) x t (copy_of c j d)) /\
    (forall b, lies c s j x b -> m_param _ _ _ _ _ _ m j x =
      if D (k_of j) b then new_param d t j x
      else s_param _ _ _ z (first_use c j) x t (copy_of c j d))).

Lemma updated_ext : forall D D' m, updated D m ->
  (forall k b, 0 <= k < flats -> 0 <= b < HeldOf (flat_k k) -> D k b = D' k b) -> updated D' m.
Proof.
  intros D D' m [H1 [H2 [H3 H4]]] E.
  assert (G : forall j x b, lies c s j x b -> storage c j = j -> D (k_of j) b = D' (k_of j) b).
  { intros j x b L St; apply E; [exact (k_range c C r j (proj1 L)) |].
    exact (held_buckets c C Held r j x b L St). }
  split; [exact H1 |]; split; [exact H2 |]; split.
  - intros j x b L St O; rewrite <- (G j x b L St); apply H3; assumption.
  - intros j x Hj St Hx; destruct (H4 j x Hj St Hx) as [F1 F2]; split; [exact F1 |].
    intros b L; rewrite <- (G j x b L St); apply F2; exact L.
Qed.

Lemma updated_starts : forall m, agreed m -> updated (fun _ _ => false) m.
Proof.
  intros m [[B1 [B2 B3]] [St Me]]; split; [exact B1 |]; split; [exact St |]; split.
  - intros j x b L E O; split; [apply Me; assumption | apply B3; assumption].
  - intros j x Hj E Hx; split; intros; apply B2; assumption.
Qed.

Definition with_bucket (D : Z -> Z -> bool) (k b : Z) : Z -> Z -> bool :=
  fun k' b' => D k' b' || ((k' =? k) && (b' =? b)).

Lemma group_any : forall k, 0 <= k < flats ->
  f_group (flat_k k) = ZP_GROUP_DP \/ f_group (flat_k k) = ZP_GROUP_EDP.
Proof.
  intros k H; rewrite flat_is by exact H; unfold layout_flat; cbn [f_group]; unfold GroupOf.
  destruct (negb _); auto.
Qed.

(* Where an entry's element is stored from. *)
Lemma store_here : forall k b (new : Z -> P) old j x, 0 <= k ->
  StageFirst c s <= j < StageEnd c s -> 0 <= x < p_numel (entry c j) ->
  (k_of j = k -> lies c s j x b ->
    store P (layout_of c s) k b new old j x = new (here j x b)) /\
  (k_of j <> k \/ ~ lies c s j x b -> store P (layout_of c s) k b new old j x = old j x).
Proof.
  intros k b new old j x Hk Hj Hx; unfold store.
  change (l_first_param (layout_of c s)) with (StageFirst c s); rewrite (spot_of c s j Hj).
  change (flat_at (l_flat (layout_of c s)) k) with (flat_k k).
  unfold layout_spot; cbn [s_flat s_start]; fold (number_of c s j).
  replace (0 <=? j - StageFirst c s) with true by (symmetry; apply Z.leb_le; lia); cbn [andb];
    split.
  - intros E [D [_ I]]; rewrite <- E, Z.eqb_refl; fold (group_of c s j); rewrite I; reflexivity.
  - intro N; destruct (Z.eqb_spec (k_of j) k) as [E|E]; cbn [andb]; [| reflexivity].
    destruct N as [N|N]; [contradiction |]; rewrite <- E; fold (group_of c s j).
    destruct (in_bucket (group_of c s j) b (StartOf c (StageEnd c s) j + x)) eqn:I; [| reflexivity].
    exfalso; apply N; split; [split; [exact Hj |] | split; assumption].
    destruct (Z.eq_dec (p_frozen (entry c j)) 0) as [|Fz]; [assumption | exfalso].
    unfold number_of, FlatOf in E; fold (entry c j) in E; rewrite (proj2 (Z.eqb_neq _ _) Fz) in E.
    cbn [negb] in E; lia.
Qed.

Lemma lies_one : forall j x b b', lies c s j x b -> lies c s j x b' -> b = b'.
Proof.
  intros j x b b' [D [Hx I]] [_ [_ I']]; apply (bucket_is c C r j x b D Hx) in I.
  apply (bucket_is c C r j x b' D Hx) in I'; congruence.
Qed.

Lemma entry_group : forall j, trained c s j ->
  f_optgroup (flat_k (k_of j)) = p_optgroup (entry c (first_use c j)) /\
  f_fp32 (flat_k (k_of j)) = p_fp32 (entry c j).
Proof.
  intros j [D F]; pose proof (flat_of_entry c C s j D F) as G; cbn zeta in G.
  destruct G as [_ [_ [G1 [G2 _]]]]; unfold number_of; rewrite G1, G2.
  destruct (Agree j (proj1 (stage_of c C s j D))) as [-> _]; split; reflexivity.
Qed.

Lemma update_bucket_ok : forall D k b u clock m, 0 <= k < flats -> 0 <= b ->
  serial_go = true -> D k b = false -> updated D m ->
  wp r (update_bucket_ops c k (flat_k k) u clock b) (updated (with_bucket D k b)) m.
Proof.
  intros D k b u clock m Hk Hb Go HD [H1 [H2 [H3 H4]]]; unfold update_bucket_ops.
  set (i := clock + 2 * (BucketsOf (flat_k k) - 1 - b)).
  cbn [Contract.wp]; change (o_if_stepped (op_local ZP_OP_UPDATE k b 1 u i) =? 1) with true.
  rewrite Go; cbn [andb negb].
  change (o_kind (op_local ZP_OP_UPDATE k b 1 u i) =? ZP_OP_DECIDE) with false.
  change (comm (op_local ZP_OP_UPDATE k b 1 u i)) with false; cbv iota.
  change (local_op A T P S X V no_message fwd bwd mean words update round c (coord_of c r)
    (op_local ZP_OP_UPDATE k b 1 u i) m) with
    (updates A T P S X V update round c a (op_local ZP_OP_UPDATE k b 1 u i) m).
  unfold updates; fold s.
  change (o_flat (op_local ZP_OP_UPDATE k b 1 u i)) with k.
  change (o_bucket (op_local ZP_OP_UPDATE k b 1 u i)) with b.
  change (flat_at (l_flat (layout_of c s)) k) with (flat_k k); rewrite H1, H2.
  set (new := fun y => update (f_optgroup (flat_k k)) (s_v P S V z) serial_statistics
    (m_mean A T P S X V m k b y) (m_state A T P S X V m k b y)).
  assert (New : forall j x, lies c s j x b -> k_of j = k -> storage c j = j ->
    owns c a (flat_k k) b (here j x b) = true ->
    new (here j x b) = new_state (first_use c j) x t (copy_of c j d)).
  { intros j x L E St O; unfold new, Serial.new_state.
    destruct (H3 j x b L St) as [F1 F2]; [rewrite E; exact O |].
    destruct (entry_group j (proj1 L)) as [G1 _]; rewrite E in *; rewrite F1, F2, HD, G1;
      reflexivity. }
  assert (States : forall n, m_state A T P S X V n = put_row (m_state A T P S X V m) k b new ->
    m_mean A T P S X V n = m_mean A T P S X V m ->
    forall j x b', lies c s j x b' -> storage c j = j ->
    owns c a (flat_k (k_of j)) b' (here j x b') = true ->
    m_mean A T P S X V n (k_of j) b' (here j x b') = mean (total j x) /\
    m_state A T P S X V n (k_of j) b' (here j x b') =
      if with_bucket D k b (k_of j) b' then new_state (first_use c j) x t (copy_of c j d)
      else s_state _ _ _ z (first_use c j) x t (copy_of c j d)).
  { intros n Es Em j x b' L St O; rewrite Es, Em; destruct (H3 j x b' L St O) as [F1 F2].
    split; [exact F1 |]; unfold put_row, with_bucket.
    destruct (Z.eqb_spec (k_of j) k) as [E|E]; cbn [andb]; [| rewrite orb_false_r; exact F2].
    destruct (Z.eqb_spec b' b) as [->|]; [| rewrite orb_false_r; exact F2].
    rewrite orb_true_r; apply New; try assumption; rewrite <- E; exact O. }
  assert (Params : forall n f, m_param A T P S X V n = f ->
    (forall j x, StageFirst c s <= j < StageEnd c s -> 0 <= x < p_numel (entry c j) ->
      (k_of j = k -> lies c s j x b -> storage c j = j -> f j x = new_param d t j x) /\
      (k_of j <> k \/ ~ lies c s j x b -> f j x = m_param A T P S X V m j x)) ->
    forall j x, StageFirst c s <= j < StageEnd c s -> storage c j = j ->
    0 <= x < p_numel (entry c j) ->
    (p_frozen (entry c j) <> 0 ->
      m_param A T P S X V n j x = s_param _ _ _ z (first_use c j) x t (copy_of c j d)) /\
    (forall b', lies c s j x b' -> m_param A T P S X V n j x =
      if with_bucket D k b (k_of j) b' then new_param d t j x
      else s_param _ _ _ z (first_use c j) x t (copy_of c j d))).
  { intros n f -> Hf j x Hj St Hx; destruct (Hf j x Hj Hx) as [F1 F2].
    destruct (H4 j x Hj St Hx) as [G1 G2]; split.
    - intro Fz; rewrite F2; [apply G1; exact Fz | right; intros [[_ Q] _]; contradiction].
    - intros b' L; unfold with_bucket; destruct (Z.eqb_spec (k_of j) k) as [E|E]; cbn [andb].
      + destruct (Z.eqb_spec b' b) as [->|Nb]; [rewrite orb_true_r; apply F1; assumption |].
        rewrite orb_false_r, F2; [apply G2; exact L |].
        right; intro L'; apply Nb; exact (lies_one j x b' b L L').
      + rewrite orb_false_r, F2 by (left; exact E); apply G2; exact L. }
  assert (Rounded : forall j x, lies c s j x b -> k_of j = k -> storage c j = j ->
    owns c a (flat_k k) b (here j x b) = true ->
    round (f_fp32 (flat_k k)) (new (here j x b)) = new_param d t j x).
  { intros j x L E St O; unfold Contract.new_param; rewrite (New j x L E St O).
    destruct (entry_group j (proj1 L)) as [_ G]; rewrite E in G; rewrite G; reflexivity. }
  destruct (Z.eqb_spec (c_stage c) 0) as [Z0|Z0].
  - replace (0 <? c_stage c) with false by (symmetry; apply Z.ltb_ge; lia);
    cbn [if_ops Contract.wp].
    set (n := set_param A T P S X V _ _); split; [exact H1 |]; split; [exact H2 |]; split.
    + apply States; reflexivity.
    + apply Params with (f := store P (layout_of c s) k b
        (fun y => round (f_fp32 (flat_k k)) (new y)) (m_param A T P S X V m)); [reflexivity |].
      intros j x Hj Hx.
      destruct (store_here k b (fun y => round (f_fp32 (flat_k k)) (new y))
        (m_param A T P S X V m) j x (proj1 Hk) Hj Hx) as [Q1 Q2]; split; [| exact Q2].
      intros E L St; rewrite Q1 by assumption; apply Rounded; try assumption.
      unfold owns; rewrite Z0; reflexivity.
  - replace (0 <? c_stage c) with true
      by (symmetry; apply Z.ltb_lt; pose proof (pr_stage c C); lia); cbn [if_ops].
    pose proof (group_any k Hk) as Gk.
    set (o := op_on_bucket ZP_OP_ALL_GATHER ZP_WHAT_PARAMETER (f_group (flat_k k)) (-1)
      (DtypeOf (f_fp32 (flat_k k)) (c_precision c)) ZP_RED_NONE k b 1
      (Part (f_numel (flat_k k)) (f_capacity (flat_k k)) (f_members (flat_k k)) (f_align (flat_k
        k)) b)
      u (i + 1)).
    assert (N1 : o_group o <> ZP_GROUP_PP) by (change (o_group o) with (f_group (flat_k k));
      destruct Gk as [-> | ->]; discriminate).
    assert (N2 : o_group o <> ZP_GROUP_TIED) by (change (o_group o) with (f_group (flat_k k));
      destruct Gk as [-> | ->]; discriminate).
    assert (Co := content_fields o N1 N2).
    cbn [Contract.wp]; change (o_if_stepped o =? 1) with true; rewrite Go; cbn [andb negb].
    change (o_kind o =? ZP_OP_DECIDE) with false; change (comm o) with true; cbv iota zeta.
    unfold chan_of; rewrite (proj2 (Z.eqb_neq _ _) N1); cbn [Contract.sends Contract.gets]; fold a.
    set (m' := set_rounded A T P S X V _ _); split.
    + split; [reflexivity |]; split; [exact W |]; left; split; [reflexivity |]; right; right.
      exists (DtypeOf (f_fp32 (flat_k k)) (c_precision c)), k, u, (i + 1), b; fold s; cbv zeta.
      split; [reflexivity |]; split; [reflexivity |]; split.
      { pose proof (pr_precision c C); unfold DtypeOf, ZP_F32, ZP_I64; destruct (negb _); lia. }
      split; [exact (proj1 Hk) |]; split; [exact Hb |]; intros j x L E Ip.
      intro St; cbn [m_rounded set_rounded m']; fold d t; apply Rounded; try assumption.
      unfold owns; rewrite Ip; apply orb_true_r.
    + intros n [_ [_ [G _]]]; rewrite Co in G; specialize (G eq_refl).
      destruct G as [f [-> G]]; fold s d t in G.
      change (o_flat _) with k in G; change (o_bucket _) with b in G.
      split; [exact H1 |]; split; [exact H2 |]; split; [apply States; reflexivity |].
      eapply Params; [reflexivity |]; intros j x Hj Hx; destruct (G j x Hj Hx) as [Q1 Q2].
      split; [intros; apply Q1; assumption | exact Q2].
Qed.

(* In pass u, the flat groups before K are updated, and the last x buckets of K. *)
Definition so_far (u K x : Z) : Z -> Z -> bool := fun k b =>
  let l := Later (flat_k k) in
  (l <? u) || ((l =? u) && ((k <? K) || ((k =? K) && (HeldOf (flat_k k) - x <=? b)))).

Lemma later_bit : forall f, 0 <= Later f <= 1.
Proof. intro f; unfold Later; destruct (_ || _)%bool; lia. Qed.

Lemma flat_updates_ok : forall u v k m, 0 <= k < flats -> serial_go = true ->
  updated (so_far u k 0) m ->
  wp r (update_ops c v u (k, flat_k k)) (updated (so_far u (k + 1) 0)) m.
Proof.
  intros u v k m Hk Go H; unfold update_ops, PassOf.
  set (n := HeldOf (flat_k k)).
  destruct (Z.eqb_spec (Later (flat_k k)) u) as [E|E].
  - assert (Cs : n <= 0 \/ 0 < n) by lia; destruct Cs as [Cs|Cs].
    + rewrite range_empty by lia; eapply updated_ext; [exact H |].
      intros k' b' Hk' Hb'; unfold so_far; cbv zeta.
      destruct (Z.eq_dec k' k) as [->|]; [fold n in Hb'; lia |].
      generalize dependent (Later (flat_k k')); intros; compare_all.
    + replace (range 0 n) with (map (fun x => x) (range 0 n)) by apply map_id.
      rewrite rev_map_range, flat_map_map by lia.
      apply wp_imp with (Q := updated (so_far u k n)).
      { intros m' H'; eapply updated_ext; [exact H' |]; intros k' b' Hk' Hb'; unfold so_far;
        cbv zeta.
        destruct (Z.eq_dec k' k) as [->|].
        - fold n in Hb' |- *; rewrite E; compare_all.
        - generalize dependent (Later (flat_k k')); intros; compare_all. }
      apply wp_loop with (I := fun x => updated (so_far u k x)); [lia | | exact H].
      intros x m' Hx H'.
      eapply wp_imp; [| apply update_bucket_ok with (D := so_far u k x); try assumption; try lia].
      * intros m2 H2; eapply updated_ext; [exact H2 |]; intros k' b' Hk' Hb'.
        unfold with_bucket, so_far; cbv zeta; destruct (Z.eq_dec k' k) as [->|].
        -- fold n in Hb' |- *; rewrite E; compare_all.
        -- generalize dependent (Later (flat_k k')); intros; compare_all.
      * unfold so_far; cbv zeta; fold n; rewrite E; compare_all.
  - cbn [rev flat_map range]; change (range 0 0) with (@nil Z); cbn [rev flat_map Contract.wp].
    eapply updated_ext; [exact H |]; intros k' b' Hk' Hb'; unfold so_far; cbv zeta.
    destruct (Z.eq_dec k' k) as [->|].
    + generalize dependent (Later (flat_k k)); intros; fold n in Hb' |- *; compare_all.
    + generalize dependent (Later (flat_k k')); intros; compare_all.
Qed.

Lemma pass_ok : forall u v m, serial_go = true -> updated (so_far u 0 0) m ->
  wp r (pass_ops c (layout_of c s) v u) (updated (so_far u flats 0)) m.
Proof.
  intros u v m Go H; unfold pass_ops.
  rewrite (numbered_is _ _ no_flat); fold (l_n_flats (layout_of c s)); rewrite n_flats by exact C.
  rewrite flat_map_map; apply wp_loop with (I := fun k => updated (so_far u k 0)).
  - pose proof (FlatCount_mono c (StageEnd c s) 0 (StageCount c s)) as F.
    pose proof (stage_count c s); lia.
  - intros k n Hk Hn.
    change (nth (Z.to_nat k) (l_flat (layout_of c s)) no_flat) with (flat_k k).
    apply flat_updates_ok; assumption.
  - exact H.
Qed.

Lemma updates_ok : forall v m, serial_go = true -> agreed m ->
  wp r (updates_ops c (layout_of c s) v) (updated (fun _ _ => true)) m.
Proof.
  intros v m Go H; unfold updates_ops.
  apply wp_seq with (R := updated (so_far 0 flats 0)).
  - apply pass_ok; [exact Go |]; eapply updated_ext; [apply updated_starts; exact H |].
    intros k b Hk Hb; unfold so_far; cbv zeta; pose proof (later_bit (flat_k k)).
    generalize dependent (Later (flat_k k)); intros; compare_all.
  - intros n Hn; apply wp_imp with (Q := updated (so_far 1 flats 0)).
    + intros n' Hn'; eapply updated_ext; [exact Hn' |].
      intros k b Hk Hb; unfold so_far; cbv zeta; pose proof (later_bit (flat_k k)).
      generalize dependent (Later (flat_k k)); intros; compare_all.
    + apply pass_ok; [exact Go |]; eapply updated_ext; [exact Hn |].
      intros k b Hk Hb; unfold so_far; cbv zeta; pose proof (later_bit (flat_k k)).
      generalize dependent (Later (flat_k k)); intros; compare_all.
Qed.

(* ---- The end of the step --------------------------------------------------------------------- *)

Variable next : V -> list Z -> V.
Notation serial_step :=
  (serial_step A T P S X V no_message fwd bwd mean words go update round next c z).

(* The rank's memory at the end of its program. Scaler and counts follow from m_v and the agreed
   statistics. *)
Definition ended (m : mem) : Prop :=
  m_v _ _ _ _ _ _ m = s_v _ _ _ z /\ statistics m = serial_statistics /\
  (forall j x, StageFirst c s <= j < StageEnd c s -> storage c j = j ->
    0 <= x < p_numel (entry c j) -> m_param _ _ _ _ _ _ m j x =
      s_param _ _ _ serial_step (first_use c j) x t (copy_of c j d)) /\
  (forall j x b, lies c s j x b -> storage c j = j ->
    owns c a (group_of c s j) b (here j x b) = true -> m_state _ _ _ _ _ _ m (k_of j) b (here j x
      b) =
      s_state _ _ _ serial_step (first_use c j) x t (copy_of c j d)).

Lemma ended_if : forall m, serial_go = true -> updated (fun _ _ => true) m -> ended m.
Proof.
  intros m Go [H1 [H2 [H3 H4]]]; split; [exact H1 |]; split; [exact H2 |]; split.
  - intros j x Hj St Hx; destruct (H4 j x Hj St Hx) as [F1 F2].
    cbn [s_param Serial.serial_step]; rewrite Go.
    destruct (Agree j (proj1 (stage_of c C s j Hj))) as [_ [A1 [A2 _]]]; rewrite A2; cbn [andb].
    destruct (Z.eqb_spec (p_frozen (entry c j)) 0) as [Fz|Fz]; [| apply F1; exact Fz].
    assert (D : trained c s j) by (split; assumption).
    rewrite (F2 ((StartOf c (StageEnd c s) j + x) / f_capacity (group_of c s j))).
    + rewrite A1; reflexivity.
    + split; [exact D |]; split; [exact Hx |]; apply (bucket_is c C r j x _ D Hx); reflexivity.
  - intros j x b L St O; destruct (H3 j x b L St O) as [_ ->].
    cbn [s_state Serial.serial_step]; rewrite Go.
    destruct (Agree j (proj1 (stage_of c C s j (proj1 (proj1 L))))) as [_ [_ [A2 _]]].
    rewrite A2, (proj2 (proj1 L)); reflexivity.
Qed.

Lemma ended_not : forall m, serial_go = false -> agreed m -> ended m.
Proof.
  intros m Go [[H1 [H2 H3]] [St _]]; split; [exact H1 |]; split; [exact St |]; split.
  - intros j x Hj E Hx; cbn [s_param Serial.serial_step]; rewrite Go; apply H2; assumption.
  - intros j x b L E O; cbn [s_state Serial.serial_step]; rewrite Go; apply H3; assumption.
Qed.

Lemma all_marked : forall v, Forall (fun o => o_if_stepped o = 1) (updates_ops c (layout_of c s) v).
Proof.
  intro v; unfold updates_ops, pass_ops; apply Forall_forall; intros o H.
  apply in_app_or in H; destruct H as [H|H]; apply in_flat_map in H; destruct H as [[k f] [_ H]];
    unfold update_ops in H; apply in_flat_map in H; destruct H as [b [_ H]];
    unfold update_bucket_ops in H; destruct H as [<- | H]; try reflexivity;
    destruct (0 <? c_stage c); cbn in H; try contradiction; destruct H as [<- | []]; reflexivity.
Qed.

Theorem tail_ok : forall u m, reduced A T P S X V no_message fwd bwd c z r m ->
  wp r (means_ops (layout_of c s) (u + 1) ++ [op_statistics (u + 2); op_decision (u + 2)] ++
    updates_ops c (layout_of c s) (u + 3)) ended m.
Proof.
  intros u m H; eapply wp_seq; [apply means_ok; eassumption |]; intros n Hn; cbn [app].
  apply statistics_ok; [exact Hn |]; intros n' Hn'; apply decision_ok; [exact Hn' |].
  destruct serial_go eqn:Go.
  - eapply wp_imp; [intros m'; apply ended_if; exact Go | apply updates_ok; assumption].
  - apply wp_skipped; [exact Go | apply all_marked | apply ended_not; assumption].
Qed.

End Updates.
