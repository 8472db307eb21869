(* Members of a tied group, and sums over the uses of a key. spec: TOPO-4, TIE-1, TIE-2, STAT-2

   A group has one member on each stage that lists the key. The sum over the members of the sums of
   their flat groups with this key is the sum over all entries with this key. Statistics count a
   key's elements on its first stage only. No axioms. *)

Require Import Bool List Arith ZArith Lia.
Require Import ZP.Op ZP.OpOf ZP.Plan ZP.PlanFacts ZP.Sums ZP.MeaningChannels ZP.Meaning ZP.Serial.
Require Import ZP.MeaningLayout ZP.Contract ZP.Gradients ZP.Pipeline ZP.Tail ZP.Ranks ZP.Ties.
Require ZP.Valid ZP.LayoutFacts ZP.StepClocks ZP.StepLedgers.
Import ListNotations.
Open Scope Z_scope.

(* ---- Stages of a key ------------------------------------------------------------------------- *)

Section Stages.

Variable c : config.
Variable key : Z.

Lemma on_bit : forall s, On c key s = 0 \/ On c key s = 1.
Proof.
  intro s; destruct (LayoutFacts.seen c key s (c_n_params c)) as [H|H]; auto.
  apply n_params_nonneg.
Qed.

Lemma CountOn_step : forall s, 0 <= s -> CountOn c key (s + 1) = CountOn c key s + On c key s.
Proof.
  intros s H; unfold CountOn; replace (Z.to_nat (s + 1)) with (Datatypes.S (Z.to_nat s)) by lia.
  cbn [CountOn_n]; cbv zeta; rewrite Z2Nat.id by exact H; do 2 f_equal; lia.
Qed.

Lemma StageBelow_step : forall i s, 0 <= s -> StageBelow c key i (s + 1) =
  if (On c key s =? 1) && (CountOn c key s =? i) then s else StageBelow c key i s.
Proof.
  intros i s H; unfold StageBelow; replace (Z.to_nat (s + 1)) with (Datatypes.S (Z.to_nat s))
    by lia.
  cbn [StageBelow_n]; cbv zeta; rewrite Z2Nat.id by exact H; replace (s + 1 - 1) with s by lia.
  reflexivity.
Qed.

Lemma CountOn_nonneg : forall s, 0 <= s -> 0 <= CountOn c key s.
Proof.
  apply natlike_ind; [discriminate |]; intros s Hs IH; rewrite <- Z.add_1_r, CountOn_step by lia.
  destruct (on_bit s); lia.
Qed.

(* The i-th stage of the key below s. *)
Lemma stage_below : forall s, 0 <= s -> forall i, 0 <= i < CountOn c key s ->
  0 <= StageBelow c key i s < s /\ On c key (StageBelow c key i s) = 1.
Proof.
  apply (natlike_ind (fun s => forall i, 0 <= i < CountOn c key s ->
    0 <= StageBelow c key i s < s /\ On c key (StageBelow c key i s) = 1)).
  - intros i H; change (CountOn c key 0) with 0 in H; lia.
  - intros s Hs IH i Hi; rewrite <- Z.add_1_r in *; rewrite CountOn_step in Hi by lia.
    rewrite StageBelow_step by lia; destruct (Z.eqb_spec (On c key s) 1) as [O|O]; cbn [andb].
    + destruct (Z.eqb_spec (CountOn c key s) i) as [E|E]; [split; [lia | exact O] |].
      destruct (IH i ltac:(lia)); split; [lia | assumption].
    + destruct (on_bit s); [| contradiction].
      destruct (IH i ltac:(lia)); split; [lia | assumption].
Qed.

Lemma stage_listed : forall s, 0 <= s -> forall p, 0 <= p < s -> On c key p = 1 ->
  exists i, 0 <= i < CountOn c key s /\ StageBelow c key i s = p.
Proof.
  apply (natlike_ind (fun s => forall p, 0 <= p < s -> On c key p = 1 ->
    exists i, 0 <= i < CountOn c key s /\ StageBelow c key i s = p)); [intros; lia |].
  intros s Hs IH p Hp O; rewrite <- Z.add_1_r in *; rewrite CountOn_step by lia.
  destruct (Z.eq_dec p s) as [->|N]; [pose proof (CountOn_nonneg s Hs) |].
  - exists (CountOn c key s); rewrite StageBelow_step, O, !Z.eqb_refl by lia; split; [lia |].
    reflexivity.
  - destruct (IH p ltac:(lia) O) as [i [Hi E]]; exists i; destruct (on_bit s) as [B|B].
    all: rewrite StageBelow_step, B by lia; cbn [Z.eqb Pos.eqb andb].
    + split; [lia | exact E].
    + rewrite (proj2 (Z.eqb_neq (CountOn c key s) i)) by lia; split; [lia | exact E].
Qed.

Lemma sigma_on : forall F s, 0 <= s ->
  sigma (range 0 (CountOn c key s)) (fun i => F (StageBelow c key i s)) =
  sigma (range 0 s) (fun p => if On c key p =? 1 then F p else 0).
Proof.
  intros F; apply natlike_ind; [reflexivity |]; intros s Hs IH; rewrite <- Z.add_1_r.
  rewrite (sigma_snoc s) by exact Hs; rewrite <- IH, CountOn_step by exact Hs.
  pose proof (CountOn_nonneg s Hs); destruct (on_bit s) as [B|B]; rewrite B; cbn [Z.eqb Pos.eqb].
  - rewrite !Z.add_0_r; apply sigma_ext; intros i Hi; rewrite StageBelow_step, B by exact Hs.
    reflexivity.
  - rewrite sigma_snoc by lia; f_equal.
    + apply sigma_ext; intros i Hi; apply in_range in Hi; rewrite StageBelow_step, B by exact Hs.
      rewrite (proj2 (Z.eqb_neq (CountOn c key s) i)) by lia; cbn [andb Z.eqb Pos.eqb].
      reflexivity.
    + rewrite StageBelow_step, B, !Z.eqb_refl by exact Hs; reflexivity.
Qed.

End Stages.

Section Groups.

Variable c : config.
Hypothesis V : Valid.valid c.
Hypothesis C : proper c.

Notation key_of j := (p_tied (entry c j)).
Notation frozen j := (p_frozen (entry c j)).

(* ---- Members --------------------------------------------------------------------------------- *)

Lemma tied_members : forall key a, 0 <= a_pp a < c_pp c -> On c key (a_pp a) = 1 ->
  members c (Group ZP_GROUP_TIED key (first_member c ZP_GROUP_TIED key a)) =
  map (fun i => rank_at c (StageOf c key i) (a_dp a) (a_tp a)) (range 0 (CountOn c key (c_pp c))).
Proof.
  intros key a Ha O; change (first_member c ZP_GROUP_TIED key a) with
    (Coord (StageOf c key 0) (a_dp a) (a_tp a)); unfold members; cbn [a_pp a_dp a_tp].
  pose proof (pr_pp c C) as Hp.
  destruct (stage_listed c key (c_pp c) ltac:(lia) (a_pp a) Ha O) as [i [Hi _]].
  destruct (stage_below c key (c_pp c) ltac:(lia) 0 ltac:(lia)) as [_ O0].
  fold (StageOf c key 0) in O0.
  assert (G : GroupSize c ZP_GROUP_TIED key (StageOf c key 0) = CountOn c key (c_pp c)).
  { unfold GroupSize; rewrite O0; reflexivity. }
  rewrite G; apply map_ext_in; intros x Hx; apply in_range in Hx; unfold GroupMember; rewrite G.
  rewrite (proj2 (Z.ltb_ge x 0)), (proj2 (Z.leb_gt _ x)) by lia; reflexivity.
Qed.

Lemma stage_of_key : forall key i, 0 <= i < CountOn c key (c_pp c) ->
  0 <= StageOf c key i < c_pp c /\ On c key (StageOf c key i) = 1.
Proof. intros key i H; apply stage_below; [pose proof (pr_pp c C); lia | exact H]. Qed.

(* A sum over the members is one over the stages that list the key. *)
Lemma sigma_tied : forall key a (F : coord -> Z), within c a -> On c key (a_pp a) = 1 ->
  sigma (members c (Group ZP_GROUP_TIED key (first_member c ZP_GROUP_TIED key a)))
    (fun q => F (coord_of c q)) =
  sigma (range 0 (c_pp c)) (fun p =>
    if On c key p =? 1 then F (Coord p (a_dp a) (a_tp a)) else 0).
Proof.
  intros key a F [Wp [Wd Wt]] O; rewrite tied_members, sigma_map by assumption.
  rewrite <- (sigma_on c key (fun p => F (Coord p (a_dp a) (a_tp a))))
    by lia.
  apply sigma_ext; intros i Hi; apply in_range in Hi; fold (StageOf c key i).
  destruct (stage_of_key key i Hi) as [B _].
  rewrite coord_rank by (first [exact C | split; [exact B | split; assumption]]).
  reflexivity.
Qed.

(* The members are the ranks of the key's stages with the same dp and tp index. *)
Lemma in_tied : forall key a r, within c a -> On c key (a_pp a) = 1 ->
  In r (members c (Group ZP_GROUP_TIED key (first_member c ZP_GROUP_TIED key a))) ->
  exists p, 0 <= p < c_pp c /\ On c key p = 1 /\ r = rank_at c p (a_dp a) (a_tp a) /\
    coord_of c r = Coord p (a_dp a) (a_tp a).
Proof.
  intros key a r [Wp [Wd Wt]] O I; rewrite tied_members in I by assumption.
  apply in_map_iff in I; destruct I as [i [<- I]]; apply in_range in I.
  destruct (stage_of_key key i I) as [B O']; exists (StageOf c key i).
  split; [exact B |]; split; [exact O' |]; split; [reflexivity |].
  apply coord_rank; [exact C |]; split; [exact B | split; assumption].
Qed.

Lemma tied_in : forall key a p, within c a -> On c key (a_pp a) = 1 -> 0 <= p < c_pp c ->
  On c key p = 1 ->
  In (rank_at c p (a_dp a) (a_tp a))
    (members c (Group ZP_GROUP_TIED key (first_member c ZP_GROUP_TIED key a))).
Proof.
  intros key a p [Wp [Wd Wt]] O Hp Op; rewrite tied_members by assumption.
  destruct (stage_listed c key (c_pp c) ltac:(lia) p Hp Op) as [i [Hi E]].
  apply in_map_iff; exists i; fold (StageOf c key i) in E; rewrite E; split; [reflexivity |].
  apply in_range; exact Hi.
Qed.

(* ---- Flat groups of a key on one stage ------------------------------------------------------- *)

Lemma sigma_flats : forall s key (g : Z -> Z), 0 <= key ->
  sigma (numbered (l_flat (layout_of c s)))
    (fun kf => if f_tied (snd kf) =? key then g (fst kf) else 0) =
  sigma (range (StageFirst c s) (StageEnd c s))
    (fun j => if (frozen j =? 0) && (key_of j =? key) then g (number_of c s j) else 0).
Proof.
  intros s key g P; rewrite (numbered_is _ _ no_flat), sigma_map; cbn [fst snd].
  fold (l_n_flats (layout_of c s)); rewrite n_flats by exact C.
  set (n := FlatCount c (StageEnd c s) (StageCount c s)).
  transitivity (sigma (range 0 n) (fun k => sigma (range (StageFirst c s) (StageEnd c s))
    (fun j => if (frozen j =? 0) && (key_of j =? key) && (number_of c s j =? k)
              then g k else 0))).
  - apply sigma_ext; intros k Hk; apply in_range in Hk.
    change (nth (Z.to_nat k) (l_flat (layout_of c s)) no_flat) with (flat_in c s k).
    destruct (Z.eqb_spec (f_tied (flat_in c s k)) key) as [T|T].
    + assert (Hk' : 0 <= k < l_n_flats (layout_of c s))
        by (rewrite n_flats by exact C; exact Hk).
      destruct (LayoutFacts.flat_good c V s k Hk') as [E [J [O [Q _]]]].
      set (j := Opener c (StageEnd c s) (StageCount c s) k) in *.
      unfold flat_in in T; rewrite E in T; change (f_tied (layout_flat c s k)) with (key_of j) in T.
      assert (D : trained c s j).
      { split; [exact J |]; unfold Opens in O; fold (entry c j) in O.
        destruct (Z.eqb_spec (frozen j) 0); [assumption | discriminate]. }
      assert (N : number_of c s j = k)
        by (rewrite (tied_number c s j) by (assumption || lia); exact Q).
      rewrite (sigma_one _ j); [| apply range_nodup | apply in_range; exact J |].
      * rewrite (proj2 D), T, N, !Z.eqb_refl; reflexivity.
      * intros i Hi Ni; apply in_range in Hi.
        destruct (Z.eqb_spec (frozen i) 0) as [F|]; cbn [andb]; [| reflexivity].
        destruct (Z.eqb_spec (key_of i) key); cbn [andb]; [| reflexivity].
        destruct (Z.eqb_spec (number_of c s i) k) as [M|]; [| reflexivity].
        exfalso; apply Ni; apply (tied_apart c V s i j); try assumption; try lia.
        split; assumption.
    + symmetry; apply sigma_zero; intros j Hj; apply in_range in Hj.
      destruct (Z.eqb_spec (frozen j) 0) as [F|]; cbn [andb]; [| reflexivity].
      destruct (Z.eqb_spec (key_of j) key) as [K|]; cbn [andb]; [| reflexivity].
      destruct (Z.eqb_spec (number_of c s j) k) as [M|]; [exfalso | reflexivity].
      destruct (tied_group c V C s j (conj Hj F) ltac:(lia)) as [_ [_ [_ [_ [_ [Q _]]]]]].
      unfold group_of in Q; rewrite M in Q; congruence.
  - rewrite sigma_swap; apply sigma_ext; intros j Hj; apply in_range in Hj.
    destruct (Z.eqb_spec (frozen j) 0) as [F|]; cbn [andb];
      [| apply sigma_zero; reflexivity].
    destruct (key_of j =? key); cbn [andb]; [| apply sigma_zero; reflexivity].
    rewrite (sigma_range_one n (number_of c s j)).
    + rewrite Z.eqb_refl; reflexivity.
    + apply flat_range; assumption.
    + intros k _ N; rewrite (proj2 (Z.eqb_neq _ _)) by congruence; reflexivity.
Qed.

(* ---- Statistics ------------------------------------------------------------------------------ *)

(* The stage that counts a key is its first. *)
Lemma first_stage : forall j, 0 <= j < c_n_params c -> 0 <= key_of j ->
  let s := StageOf c (key_of j) 0 in
  exists i, StageFirst c s <= i < StageEnd c s /\ key_of i = key_of j.
Proof.
  intros j Hj K s; pose proof (pr_entry c C j Hj) as [_ [B _]].
  pose proof (on_stage c V (p_stage (entry c j)) j (in_stage c C j Hj)) as O.
  destruct (stage_listed c (key_of j) (c_pp c) ltac:(lia) _ B O) as [i [Hi _]].
  destruct (stage_of_key (key_of j) 0 ltac:(lia)) as [_ O0].
  apply (LayoutFacts.on_iff c V) in O0; exact O0.
Qed.

Theorem keys_are_counted_once : counted_once c.
Proof.
  intros t G; set (n := c_n_params c).
  set (own := fun j => (frozen j =? 0) && (storage c j =? j) &&
    counts c (p_stage (entry c j)) t (entry c j)).
  transitivity (sigma (range 0 n) (fun j => sigma (range 0 n) (fun i =>
    if own j && (first_use c j =? i) then G i else 0))).
  { apply sigma_ext; intros j Hj; apply in_range in Hj; fold (own j); destruct (own j); cbn [andb].
    - destruct (first_range c j Hj) as [B _].
      rewrite (sigma_range_one n (first_use c j)); [rewrite Z.eqb_refl; reflexivity | exact B |].
      intros i _ N; rewrite (proj2 (Z.eqb_neq _ _)) by congruence; reflexivity.
    - symmetry; apply sigma_zero; reflexivity. }
  rewrite sigma_swap; apply sigma_ext; intros i Hi; apply in_range in Hi.
  (* Entries j of i's key that are counted. *)
  destruct (Z.eqb_spec (frozen i) 0) as [F|F]; cbn [andb].
  2: { apply sigma_zero; intros j Hj; apply in_range in Hj.
       destruct (Z.eqb_spec (first_use c j) i) as [E|]; [| rewrite andb_false_r; reflexivity].
       destruct (keys_of_valid_agree c V j Hj) as [_ [_ [A _]]]; rewrite E in A.
       unfold own; rewrite <- A, (proj2 (Z.eqb_neq _ _) F); reflexivity. }
  destruct (Z.eqb_spec (first_use c i) i) as [E|E].
  2: { apply sigma_zero; intros j Hj; apply in_range in Hj.
       destruct (Z.eqb_spec (first_use c j) i) as [Q|]; [| rewrite andb_false_r; reflexivity].
       exfalso; apply E; rewrite <- Q; apply first_first; assumption. }
  destruct (Z_lt_le_dec (key_of i) 0) as [K|K].
  - rewrite (sigma_range_one n i); [| exact Hi |].
    + rewrite E, Z.eqb_refl, andb_true_r; unfold own, counts; rewrite F.
      rewrite (storage_self c i) by auto; rewrite (proj2 (Z.ltb_lt _ _) K), !Z.eqb_refl.
      cbn [orb andb]; rewrite andb_true_r; reflexivity.
    + intros j Hj N; rewrite <- E at 1.
      destruct (Z.eqb_spec (first_use c j) (first_use c i)) as [Q|]; [exfalso |
        rewrite andb_false_r; reflexivity].
      apply (first_equal c j i Hj Hi) in Q; destruct Q as [Q | [Q _]]; [contradiction | lia].
  - destruct (first_stage i Hi K) as [x [Dx Kx]]; set (s := StageOf c (key_of i) 0) in *.
    destruct (stage_of c C s x Dx) as [Bx Sx].
    destruct (same_key c V x i Bx Hi Kx K) as [_ [_ [_ [Fx _]]]].
    assert (Tx : trained c s x) by (split; congruence || exact Dx).
    destruct (storage_last c V C s x Tx ltac:(lia)) as [_ [H1 [H2 [H3 _]]]].
    destruct (storage_of_valid_is_shared c V C s x Dx) as [D' [Hs _]].
    set (h := storage c x) in *; destruct (stage_of c C s h D') as [Bh Sh].
    rewrite (sigma_range_one n h); [| exact Bh |].
    + replace (first_use c h) with i.
      2: { rewrite <- E; apply first_equal; try assumption; right; split; congruence || lia. }
      rewrite Z.eqb_refl, andb_true_r; unfold own, counts; rewrite H3, Hs, Sh, H2, Kx, !Z.eqb_refl.
      destruct (same_key c V h i Bh Hi ltac:(congruence) K) as [_ [Hp _]]; rewrite Hp.
      rewrite orb_true_r, !andb_true_r; reflexivity.
    + intros j Hj N; destruct (Z.eqb_spec (first_use c j) i) as [Q|];
        [| rewrite andb_false_r; reflexivity].
      rewrite <- E in Q; apply (first_equal c j i Hj Hi) in Q.
      assert (Kj : key_of j = key_of i) by (destruct Q as [-> | [_ Q]]; [reflexivity | exact Q]).
      unfold own, counts; rewrite Kj, (proj2 (Z.ltb_ge _ _) K); cbn [orb]; fold s.
      destruct (Z.eqb_spec (frozen j) 0) as [Fj|]; [| reflexivity]; cbn [andb].
      destruct (Z.eqb_spec (storage c j) j) as [Sj|]; [| reflexivity]; cbn [andb].
      destruct (Z.eqb_spec s (p_stage (entry c j))) as [Ps|]; [exfalso |
        rewrite !andb_false_r; reflexivity].
      apply N; rewrite <- Sj; apply (storage_one c V C s); try congruence; try lia.
      split; [rewrite Ps; apply in_stage; assumption | exact Fj].
Qed.

End Groups.
