(* SAVE writes the serial state. spec: CKPT-1

   save_is_serial: if all ranks agree with a serial state when SAVE starts, then, once all have
   finished, what they wrote has its value for every state of every element of every copy that a
   rank holds, and nothing else; all ranks have sealed its scaler and counts. saved_once: no address
   is written twice. A tied key is written by its first stage, for its first entry. No axioms. *)

Require Import Bool List Arith ZArith Lia.
Require Import ZP.Op ZP.OpOf ZP.Plan ZP.PlanFacts ZP.Sums ZP.MeaningChannels ZP.Meaning ZP.Serial.
Require Import ZP.MeaningLayout ZP.Contract ZP.Gradients ZP.Pipeline ZP.Tail ZP.Updates ZP.Ranks.
Require Import ZP.Kept ZP.Ties ZP.ShardedEqualsSerial ZP.Storage ZP.Saved ZP.Writers.
Require FinFun ZP.Program ZP.NoDeadlock ZP.Valid ZP.Joined.
Import ListNotations.
Open Scope Z_scope.

Section SavedState.

Variable c : config.
Hypothesis V : Valid.valid c.
Variables A T P S X W F : Type.
Variable piece : Z -> S -> F.
Variable widen : P -> F.
Variable z : serial P S W.

Notation mem := (mem A T P S X W).
Notation saver := (saver A T P S X W F).
Notation v_mem := (v_mem A T P S X W F).
Notation v_file := (v_file A T P S X W F).
Notation v_state := (v_state A T P S X W F).
Notation bucket_records := (bucket_records F c).
Notation entry_records := (entry_records F c).
Notation reachable := (NoDeadlock.reachable chan op saver (members c) no_decide
  (save_compute A T P S X W F piece widen c) (save_exchange A T P S X W F piece c) (saves c)).
Notation agrees := (agrees A T P S X W c).
Notation saved_value := (saved_value P S W F piece widen z).

Variable memory : nat -> saver.
Hypothesis Start : forall r, (r < ranks c)%nat ->
  agrees z r (v_mem (memory r)) /\ v_file (memory r) = [].

Notation owner_value := (owner_value c A T P S X W F piece memory).
Notation file_of := (file_of c A T P S X W F piece widen memory).

Let C := Joined.valid_is_proper c V.

(* ---- Values ---------------------------------------------------------------------------------- *)

Lemma state_at : forall q j e b, (q < ranks c)%nat -> let a := coord_of c q in
  lies c (a_pp a) j e b -> storage c j = j ->
  owns c a (group_of c (a_pp a) j) b (place_of c (a_pp a) j e b) = true ->
  m_state _ _ _ _ _ _ (v_mem (memory q)) (number_of c (a_pp a) j) b (place_of c (a_pp a) j e b) =
    s_state _ _ _ z (first_use c j) e (a_tp a) (copy_of c j (a_dp a)).
Proof.
  intros q j e b Hq a L Sj O; destruct (Start q Hq) as [[[_ [_ B]] _] _]; exact (B j e b L Sj O).
Qed.

Lemma owner_is : forall r j e b what, (r < ranks c)%nat -> let a := coord_of c r in
  lies c (a_pp a) j e b -> storage c j = j ->
  owner_value r (number_of c (a_pp a) j) b what (place_of c (a_pp a) j e b) =
    piece what (s_state _ _ _ z (first_use c j) e (a_tp a) (copy_of c j (a_dp a))).
Proof.
  intros r j e b what Hr a L Sj; unfold Saved.owner_value, owner_mem, held; f_equal; fold a.
  destruct (Z.eqb_spec (c_stage c) 0) as [Z0|Z0].
  { apply state_at; [exact Hr | exact L | exact Sj |]; unfold owns; rewrite Z0; reflexivity. }
  destruct (place_bound c C r j e b L) as [P1 [P2 [P3 P4]]]; fold a in P1, P2, P3, P4.
  fold (flat_in c (a_pp a) (number_of c (a_pp a) j)).
  set (f := flat_in c (a_pp a) (number_of c (a_pp a) j)) in *.
  set (y := place_of c (a_pp a) j e b) in *; assert (Hp : 0 < part f b) by nia.
  set (o := y / part f b); pose proof (Z.div_mod y (part f b) ltac:(lia)) as D1.
  pose proof (Z.mod_pos_bound y (part f b) Hp) as D2; fold o in D1.
  assert (Ho : 0 <= o < MembersOf c j).
  { split; [apply Z.div_pos; lia |]; rewrite <- P2; apply Z.div_lt_upper_bound; lia. }
  pose proof (rank_within c r C Hr) as Wi; fold a in Wi; rewrite (coord_eta a) in Wi.
  pose proof (first_is c j (a_pp a) (a_dp a) (a_tp a)) as Fm; cbv zeta in Fm.
  rewrite <- coord_eta in Fm; rewrite P1, Fm, members_are, !map_map by assumption.
  rewrite nth_map_range by exact Ho.
  destruct (member_in c C j (a_pp a) (a_dp a) (a_tp a) o Wi Ho) as [_ Cq].
  pose proof (proj1 (proj2 Wi)) as Wd; cbn [a_dp] in Wd.
  rewrite <- (peer_copy c C j (a_dp a) o) by lia.
  set (q := rank_at c (a_pp a) (peer c j (a_dp a) o) (a_tp a)) in *.
  assert (Hq : (q < ranks c)%nat).
  { apply (Joined.ranks_at c V); [apply Wi | apply peer_bound; try assumption; lia | apply Wi]. }
  pose proof (state_at q j e b Hq) as Sq; rewrite Cq in Sq; cbn [a_pp a_dp a_tp] in Sq.
  apply Sq; [exact L | exact Sj |]; unfold owns; rewrite (proj2 (Z.eqb_neq _ _) Z0); cbn [orb].
  change (group_of c (a_pp a) j) with f; rewrite (index_of_peer c C) by (try exact P1; lia).
  fold y; unfold in_part; apply andb_true_iff; rewrite Z.leb_le, Z.ltb_lt; lia.
Qed.

(* ---- The records of one rank ----------------------------------------------------------------- *)

(* The rank at a writes element e of state `what` of entry j. *)
Definition writes (a : coord) (what j e : Z) : Prop :=
  keeps c (a_pp a) j /\ 0 <= e < p_numel (entry c j) /\
  (if p_frozen (entry c j) =? 0 then ZP_WHAT_MASTER <= what <= ZP_WHAT_MOMENT2
   else what = ZP_WHAT_PARAMETER) /\
  a_tp a = copy_tp c j (a_tp a) /\ a_dp a = copy_of c j (a_dp a).

Lemma writer_copy : forall j d, 0 <= d -> Writes c (GroupOf c j) d =? 1 = true ->
  d = copy_of c j d.
Proof.
  intros j d Hd; unfold Writes, GroupOf, copy_of; fold (entry c j).
  pose proof (pr_ep c C) as He; destruct (p_expert (entry c j) =? 0); cbn [negb].
  - change (ZP_GROUP_DP =? ZP_GROUP_EDP) with false; cbv iota.
    destruct (Z.eqb_spec d 0); [intros _; assumption | discriminate].
  - change (ZP_GROUP_EDP =? ZP_GROUP_EDP) with true; cbv iota.
    destruct (Z.eqb_spec (Z.quot d (c_ep c)) 0) as [Q|Q]; [intros _ | discriminate].
    pose proof (Z.quot_rem' d (c_ep c)); lia.
Qed.

Lemma copy_writes : forall j d, 0 <= d -> Writes c (GroupOf c j) (copy_of c j d) = 1.
Proof.
  intros j d Hd; unfold Writes, GroupOf, copy_of; fold (entry c j).
  destruct (p_expert (entry c j) =? 0); cbn [negb]; [reflexivity |].
  change (ZP_GROUP_EDP =? ZP_GROUP_EDP) with true; cbv iota.
  rewrite Z.quot_small by (apply rem_bound; assumption); reflexivity.
Qed.

Lemma sharded_copy : forall t j,
  (t =? 0) || (p_sharded (entry c j) =? 1) = true <-> t = copy_tp c j t.
Proof.
  intros t j; unfold copy_tp; rewrite orb_true_iff, Z.eqb_eq.
  destruct (Z.eqb_spec (p_sharded (entry c j)) 1); split; intro H; auto; destruct H; congruence.
Qed.

Lemma counts_copy : forall s t j, counts c s t (entry c j) = true <->
  t = copy_tp c j t /\ first_stage_of c s j.
Proof.
  intros s t j; unfold counts, first_stage_of; rewrite <- sharded_copy.
  rewrite andb_true_iff, (orb_true_iff (p_tied (entry c j) <? 0)), Z.ltb_lt, Z.eqb_eq.
  reflexivity.
Qed.

Lemma in_bucket_records : forall a k b what from d x, 0 <= k ->
  In (d, x) (bucket_records a k b what from) <-> exists j e,
    lies c (a_pp a) j e b /\ number_of c (a_pp a) j = k /\
    (a_tp a = copy_tp c j (a_tp a) /\ first_stage_of c (a_pp a) j) /\
    d = address_of c a what j e /\ x = from (place_of c (a_pp a) j e b).
Proof.
  intros a k b what from d x Hk; unfold Storage.bucket_records; rewrite in_flat_map; split.
  - intros [[i p] [I H]]; apply in_spots in I; destruct I as [Hi <-]; cbn [fst snd] in H.
    change (l_first_param (layout_of c (a_pp a))) with (StageFirst c (a_pp a)) in H.
    rewrite n_spots in Hi; unfold StageCount in Hi.
    assert (Hj : exists j, i = j - StageFirst c (a_pp a) /\
      StageFirst c (a_pp a) <= j < StageEnd c (a_pp a)).
    { exists (StageFirst c (a_pp a) + i); lia. }
    destruct Hj as [j [-> Hj]]; replace (StageFirst c (a_pp a) + (j - StageFirst c (a_pp a))) with j
      in H by lia.
    rewrite (spot_of c (a_pp a) j Hj) in H; cbn [layout_spot s_flat s_start] in H.
    destruct (Z.eqb_spec (FlatOf c (StageEnd c (a_pp a)) j) k) as [K|K]; [| contradiction].
    destruct (counts c (a_pp a) (a_tp a) (entry c j)) eqn:Ct; [| contradiction].
    cbn [andb] in H; apply in_map_iff in H; destruct H as [e [E H]]; apply filter_In in H.
    destruct H as [He B]; apply in_range in He; inversion E; subst d x; exists j, e.
    assert (Fz : p_frozen (entry c j) = 0).
    { unfold FlatOf in K; fold (entry c j) in K; destruct (Z.eqb_spec (p_frozen (entry c j)) 0);
        [assumption | cbn [negb] in K; lia]. }
    fold (flat_in c (a_pp a) k) in B; rewrite <- K in B.
    split; [split; [split; [exact Hj | exact Fz] | split; [exact He | exact B]] |].
    split; [exact K |]; split; [apply counts_copy in Ct; exact Ct |].
    split; [reflexivity |]; f_equal; unfold place_of, group_of, number_of; rewrite K; reflexivity.
  - intros [j [e [[[Hj Fz] [He B]] [K [Ct [-> ->]]]]]].
    exists (j - StageFirst c (a_pp a), layout_spot c (a_pp a) j); split.
    { apply in_spots; rewrite n_spots, spot_of by exact Hj; unfold StageCount; split;
        [lia | reflexivity]. }
    cbn [fst snd layout_spot s_flat s_start].
    change (l_first_param (layout_of c (a_pp a))) with (StageFirst c (a_pp a)).
    replace (StageFirst c (a_pp a) + (j - StageFirst c (a_pp a))) with j by lia.
    unfold number_of in K; rewrite K, Z.eqb_refl, (proj2 (counts_copy _ _ _) Ct); cbn [andb].
    apply in_map_iff; exists e; split.
    + unfold place_of, group_of, number_of; rewrite K; reflexivity.
    + apply filter_In; split; [apply in_range; exact He |].
      unfold group_of, number_of in B; rewrite K in B; exact B.
Qed.

(* Saved are the flat groups with storage, on the first stage of a key. *)
Lemma saved_flat : forall s j, trained c s j -> first_stage_of c s j ->
  (Saves c s (group_of c s j) = 1 <-> storage c j = j).
Proof.
  intros s j D Fs; pose proof (stage_of c C s j (proj1 D)) as [B _].
  pose proof (flat_of_entry c C s j (proj1 D) (proj2 D)) as G; cbn zeta in G.
  fold (number_of c s j) in G; fold (group_of c s j) in G; destruct G as [_ [_ [_ [_ [G _]]]]].
  pose proof (storage_of_valid_is_held c V C s j D) as H; unfold Saves; rewrite G.
  unfold opener_of; destruct (Z.leb_spec 0 (p_tied (entry c j))) as [K|K].
  - rewrite (proj2 (Z.ltb_ge _ _) K), H; cbn [orb].
    destruct Fs as [Fs | Fs]; [lia |]; rewrite Fs, Z.eqb_refl, andb_true_r.
    destruct (Z.eqb_spec (storage c j) j); split; intro Q; congruence || discriminate Q.
  - rewrite storage_self by (left; exact K).
    destruct (flat_opener c C (StageEnd c s) j (proj2 (proj1 D)) (proj2 D) (proj1 B)
      (end_most c s)) as [_ [O [_ Cl]]].
    unfold opener_of in O, Cl; rewrite (proj2 (Z.leb_gt _ _) K) in O, Cl.
    destruct (class_equal c C (HeadOf c (StageEnd c s) j) j) as [_ [_ Q]]; try assumption;
      [pose proof (end_most c s); lia | apply D |].
    rewrite (proj2 (Z.ltb_lt _ _) (proj1 (Q K))); cbn [orb]; split; reflexivity.
Qed.

Section Rank.

Variable r : nat.
Hypothesis Hr : (r < ranks c)%nat.
Notation a := (coord_of c r).
Notation s := (a_pp a).
Notation lay := (layout_of c s).

Lemma inside : 0 <= s < c_pp c /\ 0 <= a_dp a < c_dp c /\ 0 <= a_tp a < c_tp c.
Proof. apply (rank_within c r C Hr). Qed.

Lemma flat_bound : forall j, trained c s j ->
  0 <= number_of c s j < l_n_flats lay /\ f_group (flat_in c s (number_of c s j)) = GroupOf c j.
Proof.
  intros j [D Fz]; split; [rewrite n_flats; apply flat_range; assumption |].
  apply (flat_of_entry c C s j D Fz).
Qed.

(* The records of state i of bucket b of flat group k. *)
Lemma in_state_records : forall k b i d x, 0 <= k < l_n_flats lay ->
  Saves c s (flat_in c s k) = 1 ->
  In (d, x) (state_records c A T P S X W F piece memory r k b i) <-> exists j e,
    lies c s j e b /\ number_of c s j = k /\ keeps c s j /\ a_tp a = copy_tp c j (a_tp a) /\
    a_dp a = copy_of c j (a_dp a) /\ d = address_of c a (ZP_WHAT_MASTER + i) j e /\
    x = piece (ZP_WHAT_MASTER + i)
      (s_state _ _ _ z (first_use c j) e (a_tp a) (copy_of c j (a_dp a))).
Proof.
  intros k b i d x Hk Sv; unfold state_records; pose proof inside as I; split.
  - destruct (Writes c (f_group (flat_at (l_flat lay) k)) (a_dp a) =? 1) eqn:Wr; [| contradiction].
    intro H; apply in_bucket_records in H; [| lia].
    destruct H as [j [e [L [K [[Ct Fs] [E Q]]]]]]; exists j, e.
    split; [exact L |]; split; [exact K |].
    assert (Sj : storage c j = j).
    { apply (saved_flat s j (proj1 L) Fs); unfold group_of; rewrite K; exact Sv. }
    split; [split; [apply L |]; split; [exact Fs |]; rewrite (proj2 (proj1 L)); exact Sj |].
    split; [exact Ct |].
    destruct (flat_bound j (proj1 L)) as [_ G]; rewrite K in G; unfold flat_in in G.
    rewrite G in Wr; split; [apply writer_copy; [lia | exact Wr] |]; split; [exact E |].
    rewrite Q, <- K; apply owner_is; assumption.
  - intros [j [e [L [K [Kp [Ct [Cd [E Q]]]]]]]].
    destruct (flat_bound j (proj1 L)) as [_ G]; rewrite K in G; unfold flat_in in G.
    destruct Kp as [_ [Fs Sj]]; rewrite (proj2 (proj1 L)) in Sj.
    rewrite G, Cd, copy_writes, Z.eqb_refl by lia.
    apply in_bucket_records; [lia |]; exists j, e; split; [exact L |]; split; [exact K |].
    split; [split; assumption |]; split; [exact E |]; rewrite Q, <- K; symmetry; apply owner_is;
      assumption.
Qed.

Lemma frozen_bit : forall j, StageFirst c s <= j < StageEnd c s ->
  p_frozen (entry c j) = 0 \/ p_frozen (entry c j) = 1.
Proof.
  intros j Hj; destruct (stage_of c C s j Hj) as [B _].
  pose proof (Valid.entry_ranges c V j B) as R; unfold entry; lia.
Qed.

Lemma writes_frozen : forall j, StageFirst c s <= j < StageEnd c s ->
  WritesFrozen c j s (a_dp a) (a_tp a) = 1 <->
  p_frozen (entry c j) = 1 /\ keeps c s j /\ a_tp a = copy_tp c j (a_tp a) /\
  a_dp a = copy_of c j (a_dp a).
Proof.
  intros j Hj; pose proof inside as I; unfold WritesFrozen, keeps, first_stage_of.
  fold (entry c j); rewrite <- sharded_copy.
  assert (Cw : Writes c (GroupOf c j) (a_dp a) =? 1 = true <-> a_dp a = copy_of c j (a_dp a)).
  { split; [apply writer_copy; lia |]; intros ->; rewrite copy_writes by lia; reflexivity. }
  rewrite <- Cw, <- (Z.ltb_lt (p_tied (entry c j)) 0).
  rewrite <- (Z.eqb_eq (StageOf c (p_tied (entry c j)) 0) s), <- (orb_true_iff (_ <? _)).
  rewrite (orb_comm (p_sharded (entry c j) =? 1)).
  destruct (Z.eqb_spec (p_frozen (entry c j)) 1) as [Fz|Fz]; cbn [andb];
    [| split; [discriminate | intros [Q _]; contradiction]].
  rewrite Fz; cbn [Z.eqb].
  destruct (Z.eqb_spec (Holds c j) 1) as [H|H]; cbn [andb];
    [| split; [discriminate | intros [_ [[_ [_ Q]] _]]; contradiction]].
  assert (All : forall b1 b2 b3 : bool, (if b1 && b2 && b3 then 1 else 0) = 1 <->
    b1 = true /\ b2 = true /\ b3 = true).
  { intros [] [] []; cbn [andb];
      (split; [intro Q; try discriminate Q; auto | intros [H1 [H2 H3]]; congruence]). }
  rewrite All; tauto.
Qed.

Lemma in_frozen_records : forall i d x, 0 <= i < l_n_params lay -> let j := StageFirst c s + i in
  In (d, x) (frozen_records c A T P S X W F widen memory r i) <-> exists e,
    p_frozen (entry c j) = 1 /\ keeps c s j /\ a_tp a = copy_tp c j (a_tp a) /\
    a_dp a = copy_of c j (a_dp a) /\
    0 <= e < p_numel (entry c j) /\ d = address_of c a ZP_WHAT_PARAMETER j e /\
    x = widen (s_param _ _ _ z (first_use c j) e (a_tp a) (copy_of c j (a_dp a))).
Proof.
  intros i d x Hi j; rewrite n_spots in Hi; unfold StageCount in Hi.
  assert (Hj : StageFirst c s <= j < StageEnd c s) by (unfold j; lia).
  destruct (Start r Hr) as [[[_ [Pa _]] _] _].
  assert (Q : p_frozen (entry c j) = 1 -> forall e, 0 <= e < p_numel (entry c j) ->
    m_param _ _ _ _ _ _ (v_mem (memory r)) j e =
    s_param _ _ _ z (first_use c j) e (a_tp a) (copy_of c j (a_dp a))).
  { intros Fz e He; apply (Pa j e Hj); [| exact He]; apply storage_self; right; congruence. }
  unfold frozen_records; change (l_first_param lay) with (StageFirst c s); fold j.
  pose proof (writes_frozen j Hj) as Wf; rewrite <- Z.eqb_eq in Wf.
  destruct (WritesFrozen c j s (a_dp a) (a_tp a) =? 1).
  - destruct (proj1 Wf eq_refl) as [F1 [F2 [F3 F4]]]; unfold Storage.entry_records.
    rewrite in_map_iff; split.
    + intros [e [E I]]; apply in_range in I; inversion E; subst d x; exists e.
      rewrite Q by assumption; auto 7.
    + intros [e [_ [_ [_ [_ [He [-> ->]]]]]]]; exists e; rewrite Q by assumption.
      split; [reflexivity | apply in_range; exact He].
  - split; [contradiction |]; intros [e [F1 [F2 [F3 [F4 _]]]]].
    assert (N : false = true) by (apply Wf; auto); discriminate N.
Qed.

Lemma value_of : forall what j e, a_tp a = copy_tp c j (a_tp a) ->
  saved_value (address_of c a what j e) = if what =? ZP_WHAT_PARAMETER
  then widen (s_param _ _ _ z (first_use c j) e (a_tp a) (copy_of c j (a_dp a)))
  else piece what (s_state _ _ _ z (first_use c j) e (a_tp a) (copy_of c j (a_dp a))).
Proof.
  intros what j e Ct; unfold Storage.saved_value, address_of.
  cbn [d_what d_entry d_tp d_ep d_element]; rewrite <- Ct; reflexivity.
Qed.

(* A rank's file. *)
Theorem in_file : forall d x, In (d, x) (file_of r) <-> exists what j e,
  writes a what j e /\ d = address_of c a what j e /\ x = saved_value d.
Proof.
  intros d x; unfold Saved.file_of; rewrite in_app_iff, !in_flat_map; split.
  - intros [[[k f] [I H]] | [i [I H]]].
    + apply in_flats in I; destruct I as [Hk _]; cbn [fst] in H; unfold flat_records in H.
      destruct (Z.eqb_spec (Saves c s (flat_at (l_flat lay) k)) 1) as [Sv|]; [| contradiction].
      apply in_flat_map in H.
      destruct H as [b [_ H]]; apply in_flat_map in H; destruct H as [i [Hi H]].
      apply in_range in Hi; apply in_state_records in H; [| exact Hk | exact Sv].
      destruct H as [j [e [L [_ [Kp [Ct [Cd [-> ->]]]]]]]]; exists (ZP_WHAT_MASTER + i), j, e.
      destruct L as [[D Fz] [He _]].
      split; [| split; [reflexivity |]].
      * split; [exact Kp |]; split; [exact He |]; rewrite Fz; cbn [Z.eqb].
        unfold ZP_WHAT_MASTER, ZP_WHAT_MOMENT2; split; [lia | auto].
      * rewrite value_of by exact Ct; replace (ZP_WHAT_MASTER + i =? ZP_WHAT_PARAMETER) with false;
          [reflexivity |]; symmetry; apply Z.eqb_neq; unfold ZP_WHAT_MASTER, ZP_WHAT_PARAMETER; lia.
    + apply in_range in I; apply in_frozen_records in H; [| exact I].
      destruct H as [e [F1 [Kp [Ct [Cd [He [-> ->]]]]]]].
      exists ZP_WHAT_PARAMETER, (StageFirst c s + i), e; split; [| split; [reflexivity |]].
      * split; [exact Kp |]; split; [exact He |]; rewrite F1; cbn [Z.eqb]; auto.
      * rewrite value_of by exact Ct; reflexivity.
  - intros [what [j [e [[Kp [He [Wh [Ct Cd]]]] [-> ->]]]]]; rewrite value_of by exact Ct.
    pose proof (proj1 Kp) as D.
    destruct (Z.eqb_spec (p_frozen (entry c j)) 0) as [Fz|Fz].
    + left; assert (Tr : trained c s j) by (split; assumption).
      destruct (flat_bound j Tr) as [Hk _]; set (k := number_of c s j) in *.
      exists (k, flat_at (l_flat lay) k); split.
      { apply in_flats; split; [exact Hk | reflexivity]. }
      assert (Sv : Saves c s (flat_in c s k) = 1).
      { apply (saved_flat s j Tr (proj1 (proj2 Kp))); pose proof (proj2 (proj2 Kp)) as Sj.
        rewrite Fz in Sj; exact Sj. }
      cbn [fst]; unfold flat_records; unfold flat_in in Sv; rewrite Sv, Z.eqb_refl.
      destruct (trained_facts c C r j Tr) as [_ [_ [H0 [_ [Hf [Hc _]]]]]]; fold k in Hf, Hc.
      set (y := StartOf c (StageEnd c s) j + e) in *.
      set (b := y / f_capacity (flat_in c s k)).
      assert (L : lies c s j e b).
      { split; [exact Tr |]; split; [exact He |].
        apply (bucket_is c C r j e b Tr He); reflexivity. }
      apply in_flat_map; exists b; split.
      { apply in_range; split; [apply Z.div_pos; lia |]; fold (flat_in c s k).
        apply buckets_above with y; try lia; [apply Z.div_pos; lia |].
        rewrite Z.mul_comm; apply Z.mul_div_le; lia. }
      apply in_flat_map; exists (what - ZP_WHAT_MASTER); split.
      { apply in_range; unfold ZP_WHAT_MASTER, ZP_WHAT_MOMENT2 in *; lia. }
      apply in_state_records; [exact Hk | exact Sv |]; exists j, e.
      replace (ZP_WHAT_MASTER + (what - ZP_WHAT_MASTER)) with what by lia.
      replace (what =? ZP_WHAT_PARAMETER) with false by (symmetry; apply Z.eqb_neq;
        unfold ZP_WHAT_MASTER, ZP_WHAT_MOMENT2, ZP_WHAT_PARAMETER in *; lia).
      split; [exact L |]; repeat split; try assumption; apply Kp.
    + right; exists (j - StageFirst c s); split.
      { apply in_range; rewrite n_spots; unfold StageCount; lia. }
      apply in_frozen_records; [rewrite n_spots; unfold StageCount; lia |].
      replace (StageFirst c s + (j - StageFirst c s)) with j by lia; exists e; rewrite Wh.
      destruct (frozen_bit j D) as [|F1]; [contradiction |].
      split; [exact F1 |]; split; [exact Kp |]; repeat split; try assumption; apply He.
Qed.

(* ---- Each address once ----------------------------------------------------------------------- *)

Notation keys := (map (@fst address F)).

Lemma in_keys : forall d (l : records F), In d (keys l) -> exists x, In (d, x) l.
Proof.
  intros d l H; apply in_map_iff in H; destruct H as [[d' x] [E I]]; cbn in E; subst.
  exists x; exact I.
Qed.

Lemma bucket_once : forall k b what from, 0 <= k ->
  NoDup (keys (bucket_records a k b what from)).
Proof.
  intros k b what from Hk; unfold Storage.bucket_records; rewrite Joined.map_over.
  apply nodup_flat_map; [apply numbered_nodup | |].
  - intros ip _; destruct (_ && _)%bool; [| constructor]; rewrite map_map; cbn [fst].
    apply FinFun.Injective_map_NoDup; [| apply NoDup_filter, range_nodup].
    intros e e' E; inversion E; reflexivity.
  - intros [i p] [i' p'] d I I' H H'; apply in_spots in I, I'.
    assert (G : forall i p, In d (keys (
        let j := l_first_param lay + fst (i, p) in
        let start := s_start (snd (i, p)) in
        if (s_flat (snd (i, p)) =? k) && counts c s (a_tp a) (entry c j) then
          map (fun e =>
              (address_of c a what j e, from (start + e - b * f_capacity (flat_at (l_flat lay) k))))
            (filter (fun e => in_bucket (flat_at (l_flat lay) k) b (start + e))
              (range 0 (p_numel (entry c j))))
        else [])) -> s_flat p = k /\ d_entry d = first_use c (l_first_param lay + i)).
    { clear; intros i p H; cbv zeta in H; cbn [fst snd] in H.
      destruct (Z.eqb_spec (s_flat p) k) as [K|]; [| contradiction]; cbn [andb] in H.
      destruct (counts _ _ _ _); [| contradiction]; rewrite map_map in H.
      apply in_map_iff in H; destruct H as [e [<- _]]; auto. }
    apply G in H; apply G in H'; destruct H as [K E], H' as [K' E'].
    change (l_first_param lay) with (StageFirst c s) in E, E'.
    destruct I as [Hi Ip], I' as [Hi' Ip'].
    rewrite n_spots in Hi, Hi'; unfold StageCount in Hi, Hi'.
    assert (At : forall i p, 0 <= i < StageEnd c s - StageFirst c s -> spot_at (l_spot lay) i = p ->
      s_flat p = k -> trained c s (StageFirst c s + i) /\ number_of c s (StageFirst c s + i) = k).
    { clear - Hk; intros i p Hi <- K.
      assert (D : StageFirst c s <= StageFirst c s + i < StageEnd c s) by lia.
      replace i with (StageFirst c s + i - StageFirst c s) in K by lia.
      rewrite (spot_of c s _ D) in K; cbn [layout_spot s_flat] in K; split; [| exact K].
      split; [exact D |]; unfold FlatOf in K; fold (entry c (StageFirst c s + i)) in K.
      destruct (Z.eqb_spec (p_frozen (entry c (StageFirst c s + i))) 0); [assumption |].
      cbn [negb] in K; lia. }
    destruct (At i p Hi Ip K) as [Tr N]; destruct (At i' p' Hi' Ip' K') as [Tr' N'].
    assert (i = i').
    { destruct (stage_of c C s _ (proj1 Tr)) as [B _]; destruct (stage_of c C s _ (proj1 Tr'))
        as [B' _].
      rewrite E in E'; apply (first_equal c _ _ B B') in E'; destruct E' as [E' | [Q _]]; [lia |].
      pose proof (tied_apart c V s _ _ Tr Tr' Q ltac:(congruence)); lia. }
    subst i'; congruence.
Qed.

Lemma flats_once : NoDup (keys (flat_map (fun kf => flat_records c A T P S X W F piece memory r
  (fst kf)) (numbered (l_flat lay)))).
Proof.
  rewrite Joined.map_over; apply nodup_flat_map; [apply numbered_nodup | |].
  - intros [k f] I; apply in_flats in I; destruct I as [Hk _]; cbn [fst]; unfold flat_records.
    destruct (Z.eqb_spec (Saves c s (flat_at (l_flat lay) k)) 1) as [Sv|]; [| constructor].
    rewrite Joined.map_over; apply nodup_flat_map; [apply range_nodup | |].
    + intros b _; rewrite Joined.map_over; apply nodup_flat_map; [apply range_nodup | |].
      * intros i _; unfold state_records; destruct (_ =? 1); [apply bucket_once; lia | constructor].
      * intros i i' d _ _ H H'; apply in_keys in H, H'; destruct H as [x H], H' as [x' H'].
        apply (in_state_records k b i d x Hk Sv) in H.
        apply (in_state_records k b i' d x' Hk Sv) in H'.
        destruct H as [j [e [_ [_ [_ [_ [_ [E _]]]]]]]], H' as [j' [e' [_ [_ [_ [_ [_ [E' _]]]]]]]].
        pose proof (f_equal d_what (eq_trans (eq_sym E) E')) as Q; cbn [address_of d_what] in Q.
        lia.
    + intros b b' d _ _ H H'; rewrite Joined.map_over in H, H'.
      apply in_flat_map in H, H'; destruct H as [i [_ H]], H' as [i' [_ H']].
      apply in_keys in H, H'; destruct H as [x H], H' as [x' H'].
      apply (in_state_records k b i d x Hk Sv) in H.
      apply (in_state_records k b' i' d x' Hk Sv) in H'.
      destruct H as [j [e [L [_ [Kp [_ [_ [E _]]]]]]]].
      destruct H' as [j' [e' [L' [_ [Kp' [_ [_ [E' _]]]]]]]].
      pose proof (f_equal d_entry (eq_trans (eq_sym E) E')) as Q.
      pose proof (f_equal d_element (eq_trans (eq_sym E) E')) as Q'.
      cbn [address_of d_entry d_element] in Q, Q'; subst e'.
      destruct (writer_unique c V C s s j j' Kp Kp' Q) as [<- _].
      exact (lies_one c C r j e b b' L L').
  - intros [k f] [k' f'] d I I' H H'; apply in_flats in I, I'; cbn [fst] in H, H'.
    assert (G : forall k, 0 <= k < l_n_flats lay ->
      In d (keys (flat_records c A T P S X W F piece memory r k)) -> exists j,
      keeps c s j /\ number_of c s j = k /\ d_entry d = first_use c j).
    { clear - V Start Hr C; intros k Hk H; apply in_keys in H; destruct H as [x H].
      unfold flat_records in H.
      destruct (Z.eqb_spec (Saves c s (flat_at (l_flat lay) k)) 1) as [Sv|]; [| contradiction].
      apply in_flat_map in H; destruct H as [b [_ H]]; apply in_flat_map in H.
      destruct H as [i [_ H]]; apply (in_state_records k b i d x Hk Sv) in H.
      destruct H as [j [e [_ [K [Kp [_ [_ [-> _]]]]]]]]; exists j; auto. }
    destruct I as [Hk <-], I' as [Hk' <-].
    destruct (G k Hk H) as [j [Kp [K E]]]; destruct (G k' Hk' H') as [j' [Kp' [K' E']]].
    destruct (writer_unique c V C s s j j' Kp Kp' ltac:(congruence)) as [<- _]; congruence.
Qed.

Lemma frozen_once : NoDup (keys (flat_map (frozen_records c A T P S X W F widen memory r)
  (range 0 (l_n_params lay)))).
Proof.
  rewrite Joined.map_over; apply nodup_flat_map; [apply range_nodup | |].
  - intros i _; unfold frozen_records; destruct (_ =? 1); [| constructor].
    unfold Storage.entry_records; rewrite map_map; cbn [fst].
    apply FinFun.Injective_map_NoDup; [| apply range_nodup]; intros e e' E; inversion E.
    reflexivity.
  - intros i i' d I I' H H'; apply in_range in I, I'; apply in_keys in H, H'.
    destruct H as [x H], H' as [x' H']; apply in_frozen_records in H; [| exact I].
    apply in_frozen_records in H'; [| exact I'].
    destruct H as [e [_ [Kp [_ [_ [_ [E _]]]]]]], H' as [e' [_ [Kp' [_ [_ [_ [E' _]]]]]]].
    pose proof (f_equal d_entry (eq_trans (eq_sym E) E')) as Q; cbn [address_of d_entry] in Q.
    destruct (writer_unique c V C s s _ _ Kp Kp' Q) as [Q' _]; lia.
Qed.

Lemma file_once : NoDup (keys (file_of r)).
Proof.
  unfold Saved.file_of; rewrite map_app; apply nodup_app; [apply flats_once | apply frozen_once |].
  intros d H H'; apply in_keys in H, H'; destruct H as [x H], H' as [x' H'].
  apply in_flat_map in H; destruct H as [[k f] [I H]]; apply in_flats in I; destruct I as [Hk _].
  cbn [fst] in H; unfold flat_records in H.
  destruct (Z.eqb_spec (Saves c s (flat_at (l_flat lay) k)) 1) as [Sv|]; [| contradiction].
  apply in_flat_map in H; destruct H as [b [_ H]]; apply in_flat_map in H.
  destruct H as [i [Hi H]]; apply in_range in Hi.
  apply (in_state_records k b i d x Hk Sv) in H; destruct H as [j [e [_ [_ [_ [_ [_ [E _]]]]]]]].
  apply in_flat_map in H'; destruct H' as [i' [I' H']]; apply in_range in I'.
  apply in_frozen_records in H'; [| exact I']; destruct H' as [e' [_ [_ [_ [_ [_ [E' _]]]]]]].
  pose proof (f_equal d_what (eq_trans (eq_sym E) E')) as Q; cbn [address_of d_what] in Q.
  unfold ZP_WHAT_MASTER, ZP_WHAT_PARAMETER in *; lia.
Qed.

End Rank.

(* ---- All ranks ------------------------------------------------------------------------------- *)

(* An address is written by one rank. *)
Lemma one_writer : forall q r what j e what' j' e', (q < ranks c)%nat -> (r < ranks c)%nat ->
  writes (coord_of c q) what j e -> writes (coord_of c r) what' j' e' ->
  address_of c (coord_of c q) what j e = address_of c (coord_of c r) what' j' e' -> q = r.
Proof.
  intros q r what j e what' j' e' Hq Hr [K [_ [_ [Ct Cd]]]] [K' [_ [_ [Ct' Cd']]]] E.
  unfold address_of in E; rewrite <- Ct, <- Ct', <- Cd, <- Cd' in E.
  inversion E as [[E1 E2 E3 E4 E5]].
  destruct (writer_unique c V C _ _ _ _ K K' E2) as [_ S1].
  destruct (Joined.coord_bounds c V q Hq) as [_ [_ [_ Q]]].
  destruct (Joined.coord_bounds c V r Hr) as [_ [_ [_ R]]].
  rewrite <- Q, <- R; f_equal; congruence.
Qed.

Section Finished.

Variable s : nat -> list (Program.op chan op) * saver.
Hypothesis Reached : reachable memory s.
Hypothesis Finished : forall r, (r < ranks c)%nat -> fst (s r) = [].

Notation last := (fun r => snd (s r)).
Notation everything := (published A T P S X W F c last).

Lemma file_is : forall r, (r < ranks c)%nat ->
  v_file (snd (s r)) = file_of r /\ v_state (snd (s r)) = Some (s_v _ _ _ z).
Proof.
  intros r Hr; destruct (Start r Hr) as [[[E _] _] N].
  rewrite (finished_saver c V A T P S X W F piece widen memory s r Reached (Finished r Hr)).
  destruct (rank_file c V A T P S X W F piece widen memory r Hr N) as [G H].
  rewrite H, E; split; [exact G | reflexivity].
Qed.

Theorem save_is_serial :
  is_of P S W F piece widen c z everything /\
  forall r, (r < ranks c)%nat -> v_state (snd (s r)) = Some (s_v _ _ _ z).
Proof.
  split; [| intros r Hr; apply file_is; exact Hr].
  assert (I : forall d x, In (d, x) everything <->
    exists r, (r < ranks c)%nat /\ In (d, x) (file_of r)).
  { intros d x; unfold published; rewrite in_flat_map; split; intros [r [Hr H]]; exists r.
    - apply in_seq in Hr; rewrite (proj1 (file_is r ltac:(lia))) in H; split; [lia | exact H].
    - rewrite (proj1 (file_is r Hr)); split; [apply in_seq; lia | exact H]. }
  split.
  - intros d [[p dp t] [what [j [e [Wi [Hj [He [Wh ->]]]]]]]]; destruct Wi as [Hp [Hd Ht]].
    cbn [a_pp a_dp a_tp] in *.
    (* The entry jw that is written for j, and the rank that writes it. *)
    destruct (writer_exists c V C j Hj) as [jw [Bw [Kw [Ew [Nw [Sw [Fw [_ Xw]]]]]]]].
    pose proof (pr_entry c C jw Bw) as [_ [Hs _]].
    assert (Cp : forall d, copy_of c jw d = copy_of c j d)
      by (intro; unfold copy_of; rewrite Xw; reflexivity).
    assert (Ctp : forall t, copy_tp c jw t = copy_tp c j t)
      by (intro; unfold copy_tp; rewrite Sw; reflexivity).
    set (t' := copy_tp c j t); set (d' := copy_of c j dp).
    assert (Ht' : 0 <= t' < c_tp c) by (unfold t', copy_tp; destruct (_ =? 1); lia).
    assert (Hd' : 0 <= d' < c_dp c).
    { destruct (Valid.sizes c V) as [_ [_ [_ [[_ B] _]]]].
      unfold d', copy_of; destruct (p_expert (entry c j) =? 0); [lia |].
      destruct (rem_bound c C dp (proj1 Hd)) as [R1 R2]; split; [exact R1 |].
      eapply Z.lt_le_trans; eassumption. }
    destruct (Joined.ranks_at c V _ d' t' Hs Hd' Ht') as [Cr Hr].
    assert (Tt : copy_tp c j t' = t') by (unfold t', copy_tp; destruct (_ =? 1); reflexivity).
    assert (Dd : copy_of c j d' = d').
    { unfold d', copy_of; destruct (p_expert (entry c j) =? 0); [reflexivity |].
      apply Z.rem_small, rem_bound; [exact C | lia]. }
    exists (saved_value (address_of c (Coord p dp t) what j e)); apply I.
    exists (rank_at c (p_stage (entry c jw)) d' t'); split; [exact Hr |].
    apply (proj2 (in_file _ Hr _ _)); exists what, jw, e; rewrite Cr; unfold writes, address_of.
    cbn [a_pp a_dp a_tp]; rewrite Cp, Ctp, Ew, Nw, Fw, Tt, Dd; fold t' d'.
    split; [| split; reflexivity]; split; [exact Kw |]; split; [exact He |].
    split; [exact Wh | split; reflexivity].
  - intros d x H; apply I in H; destruct H as [r [Hr H]].
    destruct (proj1 (in_file r Hr d x) H) as [what [j [e [[[D _] [He [Wh _]]] [-> ->]]]]].
    split; [| reflexivity].
    exists (coord_of c r), what, j, e; split; [apply (rank_within c r C Hr) |].
    split; [exact (proj1 (stage_of c C _ _ D)) |]; split; [exact He |]; split; [exact Wh |].
    reflexivity.
Qed.

Theorem saved_once : NoDup (map fst everything).
Proof.
  unfold published; rewrite Joined.map_over; apply nodup_flat_map; [apply seq_NoDup | |].
  - intros r Hr; apply in_seq in Hr; rewrite (proj1 (file_is r ltac:(lia))).
    apply file_once; lia.
  - intros q r d Hq Hr H H'; apply in_seq in Hq, Hr.
    rewrite (proj1 (file_is q ltac:(lia))) in H; rewrite (proj1 (file_is r ltac:(lia))) in H'.
    apply in_keys in H, H'; destruct H as [x H], H' as [x' H'].
    destruct (proj1 (in_file q ltac:(lia) d x) H) as [what [j [e [Wq [E _]]]]].
    destruct (proj1 (in_file r ltac:(lia) d x') H') as [what' [j' [e' [Wr [E' _]]]]].
    rewrite E in E'; eapply one_writer; [lia | lia | exact Wq | exact Wr | exact E'].
Qed.

End Finished.

End SavedState.
