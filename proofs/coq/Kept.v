(* The transport keeps the contract of Contract.v. spec: RED-2, RED-4, STAT-2, STEP-8, PIPE-3 *)

Require Import Bool List Arith ZArith Lia.
Require Import ZP.Op ZP.OpOf ZP.Plan ZP.PlanFacts ZP.Sums ZP.MeaningChannels ZP.Meaning ZP.Serial.
Require Import ZP.MeaningLayout ZP.Contract ZP.Gradients ZP.Pipeline ZP.Tail ZP.Updates ZP.Ranks.
Require ZP.Assertions.
Import ListNotations.
Open Scope Z_scope.

Section Kept.

Variables A T P S X V : Type.
Variable no_message : A.
Variable fwd : coord -> V -> list (list P) -> A -> Z -> A * T * (Z -> Z).
Variable bwd : coord -> V -> list (list P) -> T -> A -> Z -> A * (Z -> option (Z -> Z)).
Variable mean : Z -> X.
Variable words : X -> Z -> Z.
Variable update : Z -> V -> list Z -> X -> S -> S.
Variable round : Z -> S -> P.
Variable c : config.
Variable z : serial P S V.
Hypothesis C : proper c.
Hypothesis Agree : keys_agree c.
Hypothesis Once : counted_once c.
Hypothesis Held : storage_is_held c.

Notation mem := (mem A T P S X V).
Notation contribution := (contribution A T P S V no_message fwd bwd c z).
Notation own_sum := (own_sum A T P S V no_message fwd bwd c z).
Notation serial_sum := (serial_sum A T P S V no_message fwd bwd c z).
Notation loss_words := (loss_words A T P S V no_message fwd c z).
Notation serial_words := (serial_words A T P S X V no_message fwd bwd mean words c z).
Notation element_words := (element_words A T P S X V no_message fwd bwd mean words c z).
Notation entry_words := (entry_words A T P S X V no_message fwd bwd mean words c z).
Notation rank_words := (rank_words A T P S X V no_message fwd bwd mean words c z).
Notation sends := (sends A T P S X V no_message fwd bwd mean words update round c z).
Notation gets := (gets A T P S X V no_message fwd bwd mean words update round c z).
Notation exchange := (exchange A T P S X V c).
Notation new_param := (new_param A T P S X V no_message fwd bwd mean words update round c z).

Lemma any_group : forall s k, f_group (flat_in c s k) <> ZP_GROUP_PP /\
  f_group (flat_in c s k) <> ZP_GROUP_TIED.
Proof.
  intros s k; unfold flat_in, flat_at.
  destruct (nth_in_or_default (Z.to_nat k) (l_flat (layout_of c s)) no_flat) as [I| ->];
    [| split; discriminate].
  apply in_map_iff in I; destruct I as [k' [<- _]]; unfold layout_flat; cbn [f_group];
    unfold GroupOf.
  destruct (negb _); split; discriminate.
Qed.

Lemma gradient_content : forall s k dtype mb u i b x,
  x = content_of (op_reduction (c_stage c) (c_reduce c) dtype k (flat_in c s k) mb u i b) ->
  o_what x = ZP_WHAT_GRADIENT /\ o_flat x = k /\ o_bucket x = b /\ o_mb x = mb /\
  o_kind x = ReduceKind (c_stage c) /\
  (dtype <> ZP_I64 -> elements x = if c_stage c =? 0
     then BucketPadded (f_numel (flat_in c s k)) (f_capacity (flat_in c s k))
       (f_members (flat_in c s k)) (f_align (flat_in c s k)) b
     else part (flat_in c s k) b).
Proof.
  intros s k dtype mb u i b x E; destruct (any_group s k) as [N1 N2].
  rewrite content_fields in E by assumption; subst x; repeat split; intro Ty; unfold elements.
  unfold op_reduction, op_reduced; cbn [o_dtype o_count]; unfold ReduceDtype, ReduceCount, part.
  destruct (Z.eqb_spec (c_stage c) 2) as [E2|E2]; cbn [negb andb].
  - rewrite (proj2 (Z.eqb_neq _ _) Ty); rewrite Z.mul_1_r; reflexivity.
  - destruct (c_reduce c =? ZP_EXACT); cbn [andb].
    + change (ZP_I64 =? ZP_I64) with true; cbv iota; apply Z.quot_mul; discriminate.
    + change (ZP_F32 =? ZP_I64) with false; cbv iota; rewrite Z.mul_1_r; reflexivity.
Qed.

Lemma parameter_content : forall s k dtype u i b x,
  x = content_of (op_on_bucket ZP_OP_ALL_GATHER ZP_WHAT_PARAMETER (f_group (flat_in c s k)) (-1)
    dtype ZP_RED_NONE k b 1 (part (flat_in c s k) b) u i) ->
  o_what x = ZP_WHAT_PARAMETER /\ o_flat x = k /\ o_bucket x = b /\ o_kind x = ZP_OP_ALL_GATHER /\
  (dtype <> ZP_I64 -> elements x = part (flat_in c s k) b).
Proof.
  intros s k dtype u i b x E; destruct (any_group s k) as [N1 N2].
  rewrite content_fields in E by assumption; subst x; repeat split; intro Ty; unfold elements.
  unfold op_on_bucket; cbn [o_dtype o_count]; rewrite (proj2 (Z.eqb_neq _ _) Ty); reflexivity.
Qed.

Lemma statistics_content : forall u x, x = content_of (op_statistics u) ->
  o_what x = ZP_WHAT_STATISTICS /\ o_count x = ZP_STATS.
Proof. intros u x ->; split; reflexivity. Qed.

(* Of the group of entry j on stage p. *)
Lemma member_in : forall j p d t i, within c (Coord p d t) -> 0 <= i < MembersOf c j ->
  In (rank_at c p (peer c j d i) t) (members c (Group (GroupOf c j) (-1) (Coord p (peer c j d 0)
    t))) /\
  coord_of c (rank_at c p (peer c j d i) t) = Coord p (peer c j d i) t.
Proof.
  intros j p d t i W Hi; split.
  - rewrite members_are by assumption; apply in_map_iff; exists i; split; [reflexivity |].
    apply in_range; exact Hi.
  - apply coord_rank; [exact C |]; destruct W as [W1 [W2 W3]]; split; [exact W1 |]; split;
    [| exact W3].
    apply peer_bound; [exact C | apply W2 | exact Hi].
Qed.

(* A trained entry's position is within its bucket. *)
Lemma place_bound : forall r j e b, lies c (a_pp (coord_of c r)) j e b ->
  let s := a_pp (coord_of c r) in let f := flat_in c s (number_of c s j) in
  f_group f = GroupOf c j /\ f_members f = MembersOf c j /\ 1 <= f_members f /\
  0 <= place_of c s j e b < part f b * f_members f.
Proof.
  intros r j e b L s f; pose proof (lies_facts c C r j e b L) as [D [He [Hb B]]].
  pose proof (trained_facts c C r j D) as [_ [_ [H0 [_ [Hf [Hc _]]]]]].
  fold s in Hb, H0, Hf, Hc, D; fold f in Hb, Hf, Hc.
  pose proof (flat_of_entry c C s j (proj1 D) (proj2 D)) as G; cbn zeta in G.
  destruct G as [G1 [G2 [_ [_ [_ [_ [_ [_ G3]]]]]]]].
  fold (number_of c s j) in G1, G2, G3; fold f in G1, G2, G3.
  pose proof (members_positive c C j (proj1 (stage_of c C s j (proj1 D)))) as M1.
  split; [exact G1 |]; split; [exact G2 |]; split; [lia |].
  destruct (part_facts f b ltac:(lia) ltac:(rewrite G3; exact (pr_align c C))) as [_ P1].
  unfold place_of, group_of; fold f; split; [lia |].
  assert (N : StartOf c (StageEnd c s) j + e - b * f_capacity f < BucketNumel (f_numel f)
    (f_capacity f) b).
  { unfold BucketNumel; destruct (Z.ltb_spec (f_numel f - b * f_capacity f) (f_capacity f)); lia. }
  specialize (P1 ltac:(lia)); lia.
Qed.

Lemma tied_content : forall k key f u b x,
  x = content_of (op_tied (f_numel f) (f_capacity f) (f_members f) (f_align f) (c_stage c)
    (c_reduce c) key k u b) ->
  o_what x = ZP_WHAT_TIED /\ o_key x = key /\ o_bucket x = b /\
  elements x = if c_stage c =? 0
    then BucketPadded (f_numel f) (f_capacity f) (f_members f) (f_align f) b else part f b.
Proof.
  intros k key f u b x ->; repeat split; unfold elements, part.
  change (o_dtype (content_of _)) with
    (if c_reduce c =? ZP_EXACT then ZP_I64 else ZP_F32).
  change (o_count (content_of _)) with
    (TiedCount (c_stage c) (c_reduce c) (f_numel f) (f_capacity f) (f_members f) (f_align f) b).
  unfold TiedCount; destruct (c_reduce c =? ZP_EXACT).
  - change (ZP_I64 =? ZP_I64) with true; cbv iota; apply Z.quot_mul; discriminate.
  - change (ZP_F32 =? ZP_I64) with false; cbv iota; apply Z.mul_1_r.
Qed.

Lemma gradient_only : forall r g key f x m n, o_what x = ZP_WHAT_GRADIENT ->
  gets_gradient A T P S X V no_message fwd bwd c z (coord_of c r) x m n ->
  gets r (Group g key f) x m n.
Proof.
  intros r g key f x m n E G; split; [intros _; exact G |].
  repeat split; rewrite E; discriminate.
Qed.

Lemma statistics_only : forall r g key f x m n, o_what x = ZP_WHAT_STATISTICS ->
  gets_statistics A T P S X V no_message fwd bwd mean words c z m n ->
  gets r (Group g key f) x m n.
Proof.
  intros r g key f x m n E G; split; [rewrite E; discriminate |]; split; [intros _; exact G |].
  split; rewrite E; discriminate.
Qed.

Lemma parameters_only : forall r g key f x m n, o_what x = ZP_WHAT_PARAMETER ->
  gets_parameters A T P S X V no_message fwd bwd mean words update round c z (coord_of c r) x m n ->
  gets r (Group g key f) x m n.
Proof.
  intros r g key f x m n E G; split; [rewrite E; discriminate |]; split; [rewrite E;
    discriminate |].
  split; [intros _; exact G | rewrite E; discriminate].
Qed.

Lemma tied_only : forall r g key f x m n, o_what x = ZP_WHAT_TIED ->
  gets_tied A T P S X V no_message fwd bwd c z (coord_of c r) x m n ->
  gets r (Group g key f) x m n.
Proof.
  intros r g key f x m n E G; repeat split; try (rewrite E; discriminate); intros _; exact G.
Qed.

Section Group.

Variables (g : Z) (first : coord) (x : op) (memory : nat -> mem) (r : nat).
Let h := Group g (-1) first.
Let a := coord_of c r.
Hypothesis All : forall q, In q (members c h) -> sends q h x (memory q).
Hypothesis Mine : In r (members c h).

Lemma first_mine : first = first_member c g (-1) a /\ within c a.
Proof. destruct (All r Mine) as [E [W _]]; split; assumption. Qed.

(* If entry j of the rank's stage has the group's kind, the members are its peers. *)
Lemma peers : forall j, g = GroupOf c j ->
  h = Group (GroupOf c j) (-1) (Coord (a_pp a) (peer c j (a_dp a) 0) (a_tp a)).
Proof.
  intros j E; destruct first_mine as [F _]; unfold h; rewrite F, E; f_equal.
  rewrite (coord_eta a) at 1; apply first_is.
Qed.

Lemma within_mine : within c (Coord (a_pp a) (a_dp a) (a_tp a)).
Proof. rewrite <- coord_eta; apply first_mine. Qed.

Lemma gradient_kept : sends_gradient A T P S X V no_message fwd bwd c z a g x (memory r) ->
  gets r h x (memory r) (exchange h x (map memory (members c h)) r (memory r)).
Proof.
  intros [dtype [k [mb [u [i [b [Ex [Eg [Ty [Hb _]]]]]]]]]].
  destruct (gradient_content _ _ _ _ _ _ _ _ Ex) as [X1 [X2 [X3 [X4 [X5 X6]]]]]; specialize (X6 Ty).
  unfold h; rewrite exchange_is by (rewrite X1; discriminate); fold h; fold a.
  apply gradient_only; [exact X1 |]; unfold collective; rewrite X1.
  change (ZP_WHAT_GRADIENT =? ZP_WHAT_GRADIENT) with true; cbv iota; fold a.
  unfold gets_gradient, Meaning.reduced; cbv zeta; rewrite X2, X3; set (s := a_pp a) in *.
  eexists; split; [reflexivity |]; split.
  { intros k' b' y N; unfold put_row.
    destruct (Z.eqb_spec k' k); destruct (Z.eqb_spec b' b); cbn [andb]; try reflexivity; tauto. }
  intros j e L E O; destruct (place_bound r j e b L) as [P1 [P2 [P3 P4]]].
  fold a in L, P1, P2, P3, P4; fold s in P1, P2, P3, P4; rewrite E in P1, P2, P3, P4.
  unfold put_row; rewrite !Z.eqb_refl; cbn [andb].
  change (flat_at (l_flat (layout_of c s)) k) with (flat_in c s k).
  set (y := place_of c s j e b) in *.
  set (value := fun d' => if c_stage c =? 2 then contribution d' (a_tp a) mb j e
    else own_sum (c_micro_batches c) d' (a_tp a) j e).
  assert (Total : sigma (map memory (members c h)) (fun q => if c_stage c =? 2
      then m_bucket A T P S X V q k (o_slot x) y else m_sum A T P S X V q k b y) =
    sigma (range 0 (c_dp c)) (fun d' =>
      if copy_of c j d' =? copy_of c j (a_dp a) then value d' else 0)).
  { pose proof within_mine as W; pose proof (proj1 (proj2 W)) as Wd; cbn [a_dp] in Wd.
    rewrite <- (sigma_members c C j (a_dp a) value) by apply Wd.
    assert (Eh : g = GroupOf c j) by (rewrite Eg; exact P1).
    rewrite (peers j Eh), members_are by assumption; rewrite map_map, sigma_map.
    apply sigma_ext; intros v Hv; apply in_range in Hv.
    destruct (member_in j (a_pp a) (a_dp a) (a_tp a) v W Hv) as [Iv Cv].
    rewrite <- (peers j Eh) in Iv; destruct (All _ Iv) as [_ [_ Sv]]; rewrite Cv in Sv.
    destruct Sv as [[_ [Sv | [[[u' Sv] _] | Sv]]] | Sv].
    - destruct Sv as [dtype' [k' [mb' [u' [i' [b' [Ex' [_ [_ [_ Sv]]]]]]]]]].
      destruct (gradient_content _ _ _ _ _ _ _ _ Ex') as [_ [Y2 [Y3 [Y4 _]]]].
      cbn [a_pp a_dp a_tp] in *; fold s in Sv.
      rewrite X2 in Y2; rewrite X3 in Y3; rewrite X4 in Y4; subst k' b' mb'.
      specialize (Sv j e L E); unfold value; fold y in Sv.
      destruct (c_stage c =? 2); exact Sv.
    - apply statistics_content in Sv; destruct Sv as [Sv _]; rewrite X1 in Sv; discriminate.
    - destruct Sv as [dtype' [k' [u' [i' [b' [Ex' _]]]]]].
      apply parameter_content in Ex'; destruct Ex' as [Sv _]; rewrite X1 in Sv; discriminate.
    - destruct Sv as [k' [u' [b' [Ex' _]]]].
      apply tied_content in Ex'; destruct Ex' as [Sv _]; rewrite X1 in Sv; discriminate. }
  rewrite Total, X4, X5, X6; unfold value.
  assert (In : (if ReduceKind (c_stage c) =? ZP_OP_ALL_REDUCE
    then (0 <=? y) && (y <? (if c_stage c =? 0 then BucketPadded (f_numel (flat_in c s k))
      (f_capacity (flat_in c s k)) (f_members (flat_in c s k)) (f_align (flat_in c s k)) b
      else part (flat_in c s k) b))
    else (group_index c a (flat_in c s k) * (if c_stage c =? 0 then BucketPadded (f_numel (flat_in
      c s k))
      (f_capacity (flat_in c s k)) (f_members (flat_in c s k)) (f_align (flat_in c s k)) b
      else part (flat_in c s k) b) <=? y) &&
      (y <? (group_index c a (flat_in c s k) + 1) * (if c_stage c =? 0 then
      BucketPadded (f_numel (flat_in c s k)) (f_capacity (flat_in c s k)) (f_members (flat_in c s
        k))
        (f_align (flat_in c s k)) b else part (flat_in c s k) b)))%bool = true).
  { unfold ReduceKind; unfold owns in O.
    destruct (Z.eqb_spec (c_stage c) 0) as [Z0|Z0].
    - change (ZP_OP_ALL_REDUCE =? ZP_OP_ALL_REDUCE) with true; cbv iota.
      destruct (part_facts (flat_in c s k) b P3) as [Q _].
      { pose proof (flat_of_entry c C s j (proj1 (proj1 L)) (proj2 (proj1 L))) as G; cbn zeta in G.
        fold (number_of c s j) in G; rewrite E in G;
          destruct G as [_ [_ [_ [_ [_ [_ [_ [_ ->]]]]]]]].
        exact (pr_align c C). }
      rewrite Q; apply andb_true_iff; rewrite Z.leb_le, Z.ltb_lt; exact P4.
    - change (ZP_OP_REDUCE_SCATTER =? ZP_OP_ALL_REDUCE) with false; cbv iota; exact O. }
  rewrite In; destruct (Z.eqb_spec (c_stage c) 2); cbn [andb]; [| reflexivity].
  destruct (mb =? 0); cbn [negb]; [rewrite Z.add_0_l |]; reflexivity.
Qed.

Lemma parameters_kept :
  sends_parameters A T P S X V no_message fwd bwd mean words update round c z a g x (memory r) ->
  gets r h x (memory r) (exchange h x (map memory (members c h)) r (memory r)).
Proof.
  intros [dtype [k [u [i [b [Ex [Eg [Ty [Hk [Hb _]]]]]]]]]].
  destruct (parameter_content _ _ _ _ _ _ _ Ex) as [X1 [X2 [X3 [X4 X5]]]]; specialize (X5 Ty).
  unfold h; rewrite exchange_is by (rewrite X1; discriminate); fold h; fold a.
  apply parameters_only; [exact X1 |]; unfold collective; rewrite X1, X4.
  change (ZP_WHAT_PARAMETER =? ZP_WHAT_GRADIENT) with false.
  change (ZP_WHAT_PARAMETER =? ZP_WHAT_STATISTICS) with false.
  change ((ZP_WHAT_PARAMETER =? ZP_WHAT_PARAMETER) && (ZP_OP_ALL_GATHER =? ZP_OP_ALL_GATHER))%bool
    with true; cbv iota; fold a.
  unfold gets_parameters, gathered; cbv zeta; rewrite X2, X3, X5; set (s := a_pp a) in *.
  eexists; split; [reflexivity |]; intros j e Hj He.
  pose proof (store_here P c r k b (fun y => m_rounded A T P S X V
    (nth (Z.to_nat (y / part (flat_in c s k) b)) (map memory (members c h)) (memory r)) y)
    (m_param A T P S X V (memory r)) j e Hk Hj He) as [Q1 Q2].
  split; [| exact Q2]; intros E L St; eapply eq_trans; [exact (Q1 E L) |]; clear Q1 Q2; cbv beta.
  destruct (place_bound r j e b L) as [P1 [P2 [P3 P4]]].
  fold a in P1, P2, P3, P4; fold s in P1, P2, P3, P4; rewrite E in P1, P2, P3, P4.
  fold a; fold s; set (y := place_of c s j e b) in *; set (p := part (flat_in c s k) b) in *.
  assert (Hp : 0 < p) by nia.
  set (o := y / p); pose proof (Z.div_mod y p ltac:(lia)) as D1.
  pose proof (Z.mod_pos_bound y p Hp) as D2; fold o in D1.
  assert (Ho : 0 <= o < MembersOf c j).
  { split; [apply Z.div_pos; lia |]; rewrite <- P2; apply Z.div_lt_upper_bound; lia. }
  assert (Eh : g = GroupOf c j) by (rewrite Eg; exact P1).
  pose proof within_mine as W.
  destruct (member_in j (a_pp a) (a_dp a) (a_tp a) o W Ho) as [Io Co].
  rewrite <- (peers j Eh) in Io.
  assert (Nth : nth (Z.to_nat o) (map memory (members c h)) (memory r) =
    memory (rank_at c (a_pp a) (peer c j (a_dp a) o) (a_tp a))).
  { rewrite (peers j Eh), members_are by assumption; rewrite map_map.
    apply nth_map_range; exact Ho. }
  rewrite Nth; destruct (All _ Io) as [_ [_ So]]; rewrite Co in So.
  destruct So as [[_ [So | [[[u' So] _] | So]]] | So].
  - destruct So as [dtype' [k' [mb' [u' [i' [b' [Ex' _]]]]]]].
    apply gradient_content in Ex'; destruct Ex' as [So _]; rewrite X1 in So; discriminate.
  - apply statistics_content in So; destruct So as [So _]; rewrite X1 in So; discriminate.
  - destruct So as [dtype' [k' [u' [i' [b' [Ex' [_ [_ [_ [_ So]]]]]]]]]].
    destruct (parameter_content _ _ _ _ _ _ _ Ex') as [_ [Y2 [Y3 _]]].
    cbn [a_pp a_dp a_tp] in *; fold s in So; rewrite X2 in Y2; rewrite X3 in Y3; subst k' b'.
    pose proof (proj1 (proj2 W)) as Wd; cbn [a_dp] in Wd.
    eapply eq_trans; [apply (So j e L E); [| exact St] |].
    + rewrite (index_of_peer c C j s (a_dp a) (a_tp a) o) by (try exact P1; lia).
      fold y; unfold in_part; fold p; apply andb_true_iff; rewrite Z.leb_le, Z.ltb_lt; lia.
    + unfold Contract.new_param; rewrite (peer_copy c C j (a_dp a) o) by lia; reflexivity.
  - destruct So as [k' [u' [b' [Ex' _]]]].
    apply tied_content in Ex'; destruct Ex' as [So _]; rewrite X1 in So; discriminate.
Qed.

End Group.

End Kept.
