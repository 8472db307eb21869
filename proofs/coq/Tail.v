(* Means, statistics, decision and updates of one rank, checked against the contract.
   spec: RED-2, STAT-2 ... STAT-5, STEP-6 ... STEP-8 *)

Require Import Bool List Arith ZArith Lia.
Require Import ZP.Op ZP.OpOf ZP.Plan ZP.PlanFacts ZP.Sums ZP.MeaningChannels ZP.Meaning ZP.Serial.
Require Import ZP.MeaningLayout ZP.Contract ZP.Gradients ZP.Pipeline.
Import ListNotations.
Open Scope Z_scope.

(* Entries with storage have a flat group with buckets to update. *)
Definition storage_is_held (c : config) : Prop := forall s j, trained c s j ->
  (f_use (group_of c s j) =? 0) = (storage c j =? j).

(* Entries of one key agree. *)
Definition keys_agree (c : config) : Prop := forall j, 0 <= j < c_n_params c ->
  p_optgroup (entry c (first_use c j)) = p_optgroup (entry c j) /\
  p_fp32 (entry c (first_use c j)) = p_fp32 (entry c j) /\
  p_frozen (entry c (first_use c j)) = p_frozen (entry c j) /\
  p_numel (entry c (first_use c j)) = p_numel (entry c j) /\
  p_expert (entry c (first_use c j)) = p_expert (entry c j) /\
  first_use c (first_use c j) = first_use c j.

Section Tail.

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

Lemma k_range : forall j, trained c s j -> 0 <= k_of j < flats.
Proof. intros j [D F]; apply flat_range; assumption. Qed.

(* The bucket of an element. *)
Lemma bucket_is : forall j x b, trained c s j -> 0 <= x < p_numel (entry c j) ->
  (in_bucket (group_of c s j) b (StartOf c (StageEnd c s) j + x) = true <->
   b = (StartOf c (StageEnd c s) j + x) / f_capacity (group_of c s j)).
Proof.
  intros j x b D Hx; pose proof (trained_facts c C r j D) as [_ [_ [H0 [_ [_ [Hc _]]]]]].
  fold a s in H0, Hc; rewrite in_bucket_is; unfold group_of.
  set (p := StartOf c (StageEnd c s) j + x) in *; set (k := f_capacity (flat_in c s (k_of j))) in *.
  clear - Hc; pose proof (Z.div_mod p k ltac:(lia)) as Q;
    pose proof (Z.mod_pos_bound p k ltac:(lia)) as Q'.
  split.
  - intro B; apply Z.div_unique with (p - b * k); [left; lia | lia].
  - intros ->; revert Q Q'; generalize (p / k), (p mod k); intros; lia.
Qed.

Lemma held_buckets : forall j x b, lies c s j x b -> storage c j = j ->
  0 <= b < HeldOf (flat_k (k_of j)).
Proof.
  intros j x b L E; pose proof (lies_facts c C r j x b L) as [D [Hx [Hb B]]].
  pose proof (trained_facts c C r j D) as [_ [_ [H0 [_ [Hf [Hc _]]]]]].
  fold a in Hb, H0, Hf, Hc; fold s in Hb, H0, Hf, Hc.
  split; [exact B |]; unfold HeldOf; fold (group_of c s j).
  rewrite (Held s j D), E, Z.eqb_refl.
  unfold BucketsOf, group_of; apply buckets_above with (StartOf c (StageEnd c s) j + x); lia.
Qed.

(* ---- After the sums -------------------------------------------------------------------------- *)

Definition summed (f : Z -> Z -> Z -> Z) : Prop := forall j x b, lies c s j x b ->
  storage c j = j -> owns c a (flat_k (k_of j)) b (here j x b) = true ->
  f (k_of j) b (here j x b) = total j x.

Definition reduced (m : mem) : Prop :=
  base m /\
  (forall w, m_stats _ _ _ _ _ _ m w = sigma (range 0 M) (fun mb => loss_words d t mb s w)) /\
  summed (m_sum _ _ _ _ _ _ m).

(* ---- Means ----------------------------------------------------------------------------------- *)

(* What the mean of bucket b of flat group k adds to the statistics. *)
Definition bucket_words (k b w : Z) : Z :=
  sigma (range (StageFirst c s) (StageEnd c s)) (fun j =>
    if (p_frozen (entry c j) =? 0) && (storage c j =? j) && counts c s t (entry c j) &&
       (k_of j =? k)
    then sigma (range 0 (p_numel (entry c j))) (fun x =>
      if in_bucket (flat_k k) b (StartOf c (StageEnd c s) j + x) &&
         in_part (flat_k k) b (group_index c a (flat_k k)) (here j x b)
      then element_words a j x w else 0)
    else 0).

Definition averaged (K B : Z) (m : mem) : Prop :=
  base m /\ summed (m_sum _ _ _ _ _ _ m) /\
  (forall j x b, lies c s j x b -> storage c j = j ->
    owns c a (flat_k (k_of j)) b (here j x b) = true ->
    k_of j < K \/ k_of j = K /\ b < B ->
    m_mean _ _ _ _ _ _ m (k_of j) b (here j x b) = mean (total j x)) /\
  (forall w, m_stats _ _ _ _ _ _ m w = sigma (range 0 M) (fun mb => loss_words d t mb s w) +
    sigma (range 0 K) (fun k => sigma (range 0 (HeldOf (flat_k k))) (fun b => bucket_words k b w)) +
    sigma (range 0 B) (fun b => bucket_words K b w)).

Lemma counted_is : forall (m : mem) k b w, 0 <= k < flats -> summed (m_sum _ _ _ _ _ _ m) ->
  counted X words c a k b (fun y => mean (m_sum _ _ _ _ _ _ m k b y)) w = bucket_words k b w.
Proof.
  intros m k b w Hk Su; unfold counted, bucket_words; fold s.
  change (flat_at (l_flat (layout_of c s)) k) with (flat_k k).
  rewrite (numbered_is _ _ no_spot), sigma_map; fold (l_n_params (layout_of c s)); rewrite n_spots.
  replace (range (StageFirst c s) (StageEnd c s)) with
    (map (fun i => i + StageFirst c s) (range 0 (StageCount c s))).
  2: { rewrite <- range_map_shift; f_equal; unfold StageCount; lia. }
  rewrite sigma_map; apply sigma_ext; intros i Hi; apply in_range in Hi; cbn [fst snd].
  change (l_first_param (layout_of c s)) with (StageFirst c s); rewrite (Z.add_comm i).
  set (j := StageFirst c s + i).
  assert (Hj : StageFirst c s <= j < StageEnd c s) by (unfold j, StageCount in *; lia).
  assert (Sp : nth (Z.to_nat i) (l_spot (layout_of c s)) no_spot = layout_spot c s j).
  { rewrite <- (spot_of c s j Hj); unfold spot_at; do 2 f_equal; unfold j; lia. }
  rewrite Sp; unfold layout_spot; cbn [s_flat s_start]; fold (number_of c s j).
  destruct (Z.eqb_spec (p_frozen (entry c j)) 0) as [Fz|Fz]; cbn [andb].
  - assert (D : trained c s j) by (split; assumption).
    destruct (Z.eqb_spec (k_of j) k) as [E|E]; cbn [andb]; [| rewrite !andb_false_r; reflexivity].
    rewrite <- E; fold (group_of c s j); rewrite (Held s j D), andb_true_r.
    destruct (Z.eqb_spec (storage c j) j) as [St|St]; cbn [andb]; [| reflexivity].
    fold t; destruct (counts c s t (entry c j)); [| reflexivity].
    apply sigma_ext; intros x Hx; apply in_range in Hx.
    destruct (in_bucket (group_of c s j) b (StartOf c (StageEnd c s) j + x)) eqn:Ib;
      [| reflexivity].
    cbn [andb]; fold (place_of c s j x b).
    destruct (in_part (group_of c s j) b _ (here j x b)) eqn:Ip; [| reflexivity].
    unfold Contract.element_words; fold t d; rewrite Su; [reflexivity | | exact St |].
    + split; [exact D | split; [exact Hx | exact Ib]].
    + unfold owns; fold (group_of c s j); rewrite Ip; apply orb_true_r.
  - unfold number_of, FlatOf; fold (entry c j); rewrite (proj2 (Z.eqb_neq _ _) Fz); cbn [negb].
    replace (-1 =? k) with false by (symmetry; apply Z.eqb_neq; lia); reflexivity.
Qed.

Lemma mean_ok : forall k b u m, 0 <= k < flats -> 0 <= b -> averaged k b m ->
  averaged k (b + 1) (means A T P S X V mean words c a (op_mean k u b) m).
Proof.
  intros k b u m Hk Hb [B [Su [Me St]]]; unfold means.
  change (o_flat (op_mean k u b)) with k; change (o_bucket (op_mean k u b)) with b.
  split; [exact B |]; split; [exact Su |]; split.
  - intros j x y L E O R; cbn [m_mean set_mean]; unfold put_row.
    destruct ((k_of j =? k) && (y =? b))%bool eqn:Q.
    + apply andb_true_iff in Q; rewrite !Z.eqb_eq in Q; destruct Q as [Q ->].
      rewrite <- Q; f_equal; apply Su; assumption.
    + apply Me; try assumption; apply andb_false_iff in Q; rewrite !Z.eqb_neq in Q; lia.
  - intro w; cbn [m_stats set_mean]; rewrite counted_is by assumption.
    rewrite St, sigma_snoc, Z.add_assoc by exact Hb; reflexivity.
Qed.

Lemma means_ok : forall u m, reduced m ->
  wp r (means_ops (layout_of c s) u) (averaged flats 0) m.
Proof.
  intros u m [B [St Su]]; unfold means_ops.
  rewrite (numbered_is _ _ no_flat); fold (l_n_flats (layout_of c s)); rewrite n_flats by exact C.
  rewrite flat_map_map; apply wp_loop with (I := fun k => averaged k 0).
  - pose proof (FlatCount_mono c (StageEnd c s) 0 (StageCount c s)) as F.
    pose proof (stage_count c s); lia.
  - intros k n Hk Hn; unfold mean_ops.
    change (nth (Z.to_nat k) (l_flat (layout_of c s)) no_flat) with (flat_k k).
    replace (map (op_mean k u) (range 0 (HeldOf (flat_k k)))) with
      (flat_map (fun b => [op_mean k u b]) (range 0 (HeldOf (flat_k k)))).
    2: { induction (range 0 (HeldOf (flat_k k))) as [|y l IH]; [reflexivity |]; simpl; rewrite IH.
         reflexivity. }
    apply wp_imp with (Q := averaged k (Z.max 0 (HeldOf (flat_k k)))).
    + intros n' [B' [Su' [Me St']]]; split; [exact B' |]; split; [exact Su' |]; split.
      * intros j x b L E O R; apply Me; try assumption.
        pose proof (held_buckets j x b L E) as H; destruct R as [R | [_ R]]; [| lia].
        destruct (Z.eq_dec (k_of j) k) as [Q|Q]; [right; split; [exact Q |] | left; lia].
        rewrite Q in H; lia.
      * intro w; rewrite St', sigma_snoc by apply Hk; cbv beta; rewrite <- !Z.add_assoc.
        do 2 f_equal; change (sigma (range 0 0) _) with 0; rewrite Z.add_0_r.
        destruct (Z.max_spec 0 (HeldOf (flat_k k))) as [[Q ->]|[Q ->]]; [reflexivity |].
        rewrite (range_empty 0 (HeldOf (flat_k k))) by exact Q; reflexivity.
    + destruct (Z.max_spec 0 (HeldOf (flat_k k))) as [[Q ->]|[Q ->]].
      * apply wp_loop; [lia | | exact Hn]; intros b n' Hb Hn'.
        apply wp_local; try reflexivity; apply mean_ok; try assumption; lia.
      * rewrite range_empty by lia; exact Hn.
  - split; [exact B |]; split; [exact Su |]; split.
    + intros j x b L E O R; pose proof (k_range j (proj1 L)).
      pose proof (held_buckets j x b L E); lia.
    + intro w; rewrite St; change (sigma (range 0 0) _) with 0 at 1.
      change (sigma (range 0 0) _) with 0; rewrite !Z.add_0_r; reflexivity.
Qed.

(* The rank's statistics are complete. *)
Lemma words_complete : forall m, averaged flats 0 m -> forall w,
  m_stats _ _ _ _ _ _ m w = rank_words a w.
Proof.
  intros m [_ [_ [_ St]]] w; rewrite St; unfold Contract.rank_words; fold s d t M.
  change (sigma (range 0 0) _) with 0; rewrite Z.add_0_r; f_equal.
  transitivity (sigma (range (StageFirst c s) (StageEnd c s)) (fun j =>
    sigma (range 0 flats) (fun k => sigma (range 0 (HeldOf (flat_k k))) (fun b =>
      if (p_frozen (entry c j) =? 0) && (storage c j =? j) && counts c s t (entry c j) &&
         (k_of j =? k)
      then sigma (range 0 (p_numel (entry c j))) (fun x =>
        if in_bucket (flat_k k) b (StartOf c (StageEnd c s) j + x) &&
           in_part (flat_k k) b (group_index c a (flat_k k)) (here j x b)
        then element_words a j x w else 0)
      else 0)))).
  { rewrite (sigma_swap (range (StageFirst c s) (StageEnd c s)) (range 0 flats)).
    apply sigma_ext; intros k _; unfold bucket_words; apply sigma_swap. }
  apply sigma_ext; intros j Hj; apply in_range in Hj.
  destruct (Z.eqb_spec (p_frozen (entry c j)) 0) as [Fz|Fz]; cbn [andb].
  2: { apply sigma_zero; intros; apply sigma_zero; reflexivity. }
  destruct (Z.eqb_spec (storage c j) j) as [E|E]; cbn [andb].
  2: { apply sigma_zero; intros; apply sigma_zero; reflexivity. }
  destruct (counts c s t (entry c j)); cbn [andb].
  2: { apply sigma_zero; intros; apply sigma_zero; reflexivity. }
  assert (D : trained c s j) by (split; assumption).
  rewrite (sigma_range_one flats (k_of j)).
  - rewrite Z.eqb_refl; unfold Contract.entry_words; fold s; fold (group_of c s j).
    rewrite sigma_swap; apply sigma_ext; intros x Hx; apply in_range in Hx; cbv zeta.
    pose proof (bucket_is j x ((StartOf c (StageEnd c s) j + x) / f_capacity (group_of c s j)) D Hx)
      as Bk.
    set (b := (StartOf c (StageEnd c s) j + x) / f_capacity (group_of c s j)) in *.
    rewrite (sigma_range_one _ b).
    + rewrite (proj2 Bk eq_refl); cbn [andb]; reflexivity.
    + apply held_buckets with x; [| exact E].
      split; [exact D | split; [exact Hx | apply Bk; reflexivity]].
    + intros b' _ N; destruct (in_bucket _ b' _) eqn:Q; [| reflexivity].
      apply (bucket_is j x b' D Hx) in Q; contradiction.
  - apply k_range; exact D.
  - intros k _ N; apply sigma_zero; intros; rewrite (proj2 (Z.eqb_neq _ _)) by congruence;
    reflexivity.
Qed.

End Tail.
