(* The tied all-reduces of one rank, checked against the contract. spec: STEP-6, TIE-1, TIE-2

   Before them every flat group holds the sum of one use, afterwards the storage of each parameter
   the serial loop's sum. *)

Require Import Bool List Arith ZArith Lia.
Require Import ZP.Op ZP.OpOf ZP.Plan ZP.PlanFacts ZP.Sums ZP.MeaningChannels ZP.Meaning ZP.Serial.
Require Import ZP.MeaningLayout ZP.Contract ZP.Gradients ZP.Pipeline ZP.Tail ZP.Ranks.
Require Import ZP.Ties ZP.TiedGroups ZP.TiedSums.
Require ZP.Valid ZP.LayoutFacts.
Import ListNotations.
Open Scope Z_scope.

Section TiedOps.

Variables A T P S X W : Type.
Variable no_message : A.
Variable fwd : coord -> W -> list (list P) -> A -> Z -> A * T * (Z -> Z).
Variable bwd : coord -> W -> list (list P) -> T -> A -> Z -> A * (Z -> option (Z -> Z)).
Variable mean : Z -> X.
Variable words : X -> Z -> Z.
Variable go : W -> list Z -> bool.
Variable update : Z -> W -> list Z -> X -> S -> S.
Variable round : Z -> S -> P.
Variable c : config.
Variable z : serial P S W.
Hypothesis V : Valid.valid c.
Hypothesis C : proper c.

Notation mem := (mem A T P S X W).
Notation wp := (wp A T P S X W no_message fwd bwd mean words go update round c z).
Notation use_sum := (use_sum A T P S W no_message fwd bwd c z).
Notation serial_sum := (serial_sum A T P S W no_message fwd bwd c z).
Notation loss_words := (loss_words A T P S W no_message fwd c z).
Notation key_of j := (p_tied (entry c j)).

Variable r : nat.
Let a := coord_of c r.
Let s := a_pp a.
Let d := a_dp a.
Let t := a_tp a.
Let M := c_micro_batches c.
Hypothesis In_world : within c a.

Notation base := (base A T P S X W c z r).
Notation k_of j := (number_of c s j).
Notation here j x b := (place_of c s j x b).
Notation total j x := (serial_sum (first_use c j) x t (copy_of c j d)).
Notation one j x := (use_sum M j x t (copy_of c j d)).

(* The storage of j has its key's sum, of bucket b: the keys before K, and of K the buckets before
   B. *)
Definition joined (K B j b : Z) : bool :=
  (storage c j =? j) && (0 <=? key_of j) &&
  ((key_of j <? K) || ((key_of j =? K) && (b <? B))).

Definition joining (K B : Z) (m : mem) : Prop :=
  base m /\
  (forall w, m_stats _ _ _ _ _ _ m w = sigma (range 0 M) (fun mb => loss_words d t mb s w)) /\
  (forall j x b, lies c s j x b ->
    owns c a (flat_in c s (k_of j)) b (here j x b) = true ->
    m_sum _ _ _ _ _ _ m (k_of j) b (here j x b) = if joined K B j b then total j x else one j x).

Lemma joining_ext : forall K B K' B' m, joining K B m ->
  (forall j x b, lies c s j x b -> joined K B j b = joined K' B' j b) -> joining K' B' m.
Proof.
  intros K B K' B' m [H1 [H2 H3]] E; split; [exact H1 |]; split; [exact H2 |].
  intros j x b L O; rewrite <- (E j x b L); apply H3; assumption.
Qed.

Lemma joining_begins : forall m, piped A T P S X W no_message fwd bwd c z r m -> joining 0 0 m.
Proof.
  intros m [B [St Su]]; split; [exact B |]; split; [exact St |]; intros j x b L O.
  assert (E : joined 0 0 j b = false).
  { unfold joined; destruct (Z.leb_spec 0 (key_of j)) as [K|K]; [| rewrite andb_false_r;
      reflexivity].
    rewrite (proj2 (Z.ltb_ge _ _) K), (proj2 (Z.ltb_ge b 0)) by apply (lies_facts c C r j x b L).
    rewrite !andb_false_r; reflexivity. }
  rewrite E; specialize (Su j x b L); cbv zeta in Su; pose proof (pr_mb c C).
  fold a s d t M in Su; destruct (c_stage c =? 2); apply Su; try assumption; try reflexivity.
  unfold M; lia.
Qed.

(* Bucket b of a key. *)
Lemma tied_op_ok : forall K b k f u m, 0 <= K < c_tied_keys c ->
  holder (layout_of c s) K = Some (k, f) -> 0 <= b < BucketsOf f -> joining K b m ->
  wp r [op_tied (f_numel f) (f_capacity f) (f_members f) (f_align f) (c_stage c) (c_reduce c) K k u
    b] (joining K (b + 1)) m.
Proof.
  intros K b k f u m HK H Hb [B [St Su]].
  destruct (holder_entry c V C s K k f (proj1 HK) H) as [j0 [D0 [K0 [S0 [Ek Ef]]]]].
  assert (Ef' : f = flat_in c s k) by (rewrite Ef, Ek; reflexivity).
  set (o := op_tied (f_numel f) (f_capacity f) (f_members f) (f_align f) (c_stage c) (c_reduce c) K
    k u b).
  cbn [Contract.wp]; change (o_if_stepped o =? 1) with false; cbn [andb].
  change (o_kind o =? ZP_OP_DECIDE) with false; change (comm o) with true; cbv iota zeta.
  change (chan_of c (coord_of c r) o) with
    (Group ZP_GROUP_TIED K (first_member c ZP_GROUP_TIED K a)).
  cbn [Contract.sends Contract.gets]; fold a; split.
  - split; [reflexivity |]; split; [exact In_world |]; right.
    exists k, u, b; fold s; cbv zeta; rewrite <- Ef'.
    split; [reflexivity |]; split; [reflexivity |]; split; [exact HK |]; split; [exact H |].
    split; [exact Hb |]; intros j e L Kj O; rewrite (Su j e b L O).
    unfold joined; rewrite Kj, Z.ltb_irrefl, Z.eqb_refl, Z.ltb_irrefl, !andb_false_r.
    reflexivity.
  - intros n [_ [_ [_ G]]]; specialize (G eq_refl); destruct G as [g [-> G]].
    fold s d t in G; change (o_key (content_of o)) with K in G.
    change (o_bucket (content_of o)) with b in G.
    split; [exact B |]; split; [exact St |]; intros j x b' L O; cbn [m_sum set_sum].
    destruct (G j x b' L) as [G1 G2].
    assert (Cs : (key_of j = K /\ b' = b /\ storage c j = j) \/
      (key_of j <> K \/ b' <> b \/ storage c j <> j)) by lia.
    destruct Cs as [[E1 [E2 E3]] | Cs].
    + subst b'; rewrite G1 by (first [assumption | reflexivity | exact O]); unfold joined.
      rewrite E1, E3, !Z.eqb_refl, (proj2 (Z.leb_le 0 K)), (proj2 (Z.ltb_lt b (b + 1))) by lia.
      rewrite orb_true_r; reflexivity.
    + rewrite G2 by exact Cs; rewrite (Su j x b' L O); unfold joined.
      destruct (Z.eqb_spec (storage c j) j); cbn [andb]; [| reflexivity].
      destruct (Z.eqb_spec (key_of j) K); cbn [andb]; [| reflexivity].
      replace (b' <? b + 1) with (b' <? b); [reflexivity |].
      destruct (Z.ltb_spec b' b); destruct (Z.ltb_spec b' (b + 1)); try reflexivity; lia.
Qed.

Lemma key_ops_ok : forall K u m, 0 <= K < c_tied_keys c -> joining K 0 m ->
  wp r (key_ops c (layout_of c s) u K) (joining (K + 1) 0) m.
Proof.
  intros K u m HK H.
  assert (Key : forall j x b, lies c s j x b -> key_of j <> K ->
    joined K 0 j b = joined (K + 1) 0 j b).
  { intros j x b L N; pose proof (lies_facts c C r j x b L) as [_ [_ [_ Hb]]]; unfold joined.
    destruct (Z.eqb_spec (storage c j) j); cbn [andb]; [| reflexivity].
    destruct (Z.leb_spec 0 (key_of j)); cbn [andb]; [| reflexivity].
    destruct (Z.ltb_spec (key_of j) K), (Z.ltb_spec (key_of j) (K + 1)); reflexivity || lia. }
  unfold key_ops; destruct (holder (layout_of c s) K) as [[k f]|] eqn:Hh.
  - rewrite LayoutFacts.map_flat_map.
    destruct (holder_entry c V C s K k f (proj1 HK) Hh) as [j0 [D0 [K0 [S0 [Ek Ef]]]]].
    assert (Nf : 0 <= BucketsOf f).
    { pose proof (trained_facts c C r j0 D0) as [_ [_ [Q0 [Q1 [Q2 [Q3 _]]]]]].
      fold a s in Q0, Q2, Q3; fold (group_of c s j0) in Q2, Q3; rewrite <- Ef in Q2, Q3.
      unfold BucketsOf, Buckets; rewrite Z.quot_div_nonneg by lia; apply Z.div_pos; lia. }
    apply wp_imp with (Q := joining K (BucketsOf f)).
    + intros n Hn; eapply joining_ext; [exact Hn |]; intros j x b L.
      pose proof (lies_facts c C r j x b L) as [D [Hx [Hl Hb]]]; fold a s in D, Hl.
      destruct (Z.eq_dec (key_of j) K) as [E|N].
      * unfold joined; destruct (Z.eqb_spec (storage c j) j) as [Sj|]; cbn [andb];
          [| reflexivity].
        assert (j = j0).
        { rewrite <- Sj, <- S0; apply (storage_one c V C s); try assumption; lia. }
        subst j0; pose proof (trained_facts c C r j D) as [_ [_ [Q0 [_ [Q2 [Q3 _]]]]]].
        fold a s in Q0, Q2, Q3.
        assert (Ab : b < BucketsOf f).
        { rewrite Ef; unfold BucketsOf, group_of.
          apply buckets_above with (StartOf c (StageEnd c s) j + x); lia. }
        rewrite E, Z.eqb_refl, (proj2 (Z.ltb_lt b (BucketsOf f)) Ab).
        rewrite (proj2 (Z.ltb_lt K (K + 1))) by lia; cbn [orb andb].
        rewrite orb_true_r; reflexivity.
      * rewrite <- (Key j x b L N); unfold joined.
        rewrite (proj2 (Z.eqb_neq _ _) N); reflexivity.
    + apply wp_loop with (I := fun b => joining K b); [exact Nf | | exact H].
      intros b n Hb Hn; apply tied_op_ok; assumption.
  - eapply joining_ext; [exact H |]; intros j x b L; apply (Key j x b L); intro E.
    destruct (holder_exists c V C s j (proj1 L) ltac:(lia)) as [k [f Q]]; rewrite E in Q.
    congruence.
Qed.

Theorem tied_ops_ok : forall u m, piped A T P S X W no_message fwd bwd c z r m ->
  wp r (tied_ops c (layout_of c s) u) (reduced A T P S X W no_message fwd bwd c z r) m.
Proof.
  intros u m H; unfold tied_ops; destruct (Valid.counts c V) as [_ [Hk _]].
  apply wp_imp with (Q := joining (c_tied_keys c) 0).
  - intros n [B [St Su]]; split; [exact B |]; split; [exact St |]; intros j x b L Sj O.
    eapply eq_trans; [exact (Su j x b L O) |]; fold a s d t.
    pose proof (stage_of c C s j (proj1 (proj1 L))) as [Bj _].
    unfold joined; rewrite Sj, Z.eqb_refl; cbn [andb].
    destruct (Z.leb_spec 0 (key_of j)) as [K|K]; cbn [andb].
    + pose proof (Valid.entry_ranges c V j Bj) as [_ [_ [_ [R _]]]]; fold (entry c j) in R.
      rewrite (proj2 (Z.ltb_lt (key_of j) (c_tied_keys c))) by lia; reflexivity.
    + symmetry; apply (sum_of_one A T P S W no_message fwd bwd c z); assumption.
  - apply wp_loop with (I := fun K => joining K 0); [lia | | apply joining_begins; exact H].
    intros K n HK Hn; apply key_ops_ok; assumption.
Qed.

End TiedOps.
