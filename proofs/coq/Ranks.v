(* Ranks, members of groups and parts of buckets, as numbers.
   spec: PART-4, STAT-2 *)

Require Import Bool List Arith ZArith Lia.
Require Import ZP.Op ZP.OpOf ZP.Plan ZP.PlanFacts ZP.Sums ZP.MeaningChannels ZP.Meaning ZP.Serial.
Require Import ZP.MeaningLayout ZP.Contract ZP.Gradients ZP.Pipeline ZP.Tail.
Require ZP.Assertions.
Import ListNotations.
Open Scope Z_scope.

(* Of each key one storage is counted, as its first entry would be. *)
Definition counted_once (c : config) : Prop := forall t (G : Z -> Z),
  sigma (range 0 (c_n_params c)) (fun j =>
    if (p_frozen (entry c j) =? 0) && (storage c j =? j) &&
       counts c (p_stage (entry c j)) t (entry c j) then G (first_use c j) else 0) =
  sigma (range 0 (c_n_params c)) (fun j =>
    if (p_frozen (entry c j) =? 0) && (first_use c j =? j) then
      if (t =? 0) || (p_sharded (entry c j) =? 1) then G j else 0
    else 0).

Section Ranks.

Variable c : config.
Hypothesis C : proper c.

Lemma rank_is : forall p d t, Rank c p d t = (p * c_dp c + d) * c_tp c + t.
Proof.
  intros; pose proof (pr_dp c C); pose proof (pr_tp c C); unfold Rank, Mix.
  rewrite (proj2 (Z.leb_gt (c_tp c) 0)), (proj2 (Z.leb_gt (c_dp c) 0)) by lia; reflexivity.
Qed.

Lemma world_is : World c = c_pp c * c_dp c * c_tp c.
Proof.
  pose proof (pr_dp c C); pose proof (pr_tp c C); unfold World, Mix.
  rewrite (proj2 (Z.leb_gt (c_tp c) 0)), (proj2 (Z.leb_gt (c_dp c) 0)) by lia; ring.
Qed.

Lemma coord_rank : forall p d t, within c (Coord p d t) ->
  coord_of c (rank_at c p d t) = Coord p d t.
Proof.
  intros p d t [Hp [Hd Ht]]; cbn [a_pp a_dp a_tp] in *; unfold coord_of, rank_at.
  assert (B : 0 <= (p * c_dp c + d) * c_tp c + t).
  { assert (0 <= p * c_dp c) by (apply Z.mul_nonneg_nonneg; lia).
    assert (0 <= (p * c_dp c + d) * c_tp c) by (apply Z.mul_nonneg_nonneg; lia); lia. }
  rewrite rank_is, Z2Nat.id by exact B.
  rewrite Z.div_add_l by lia; rewrite (Z.div_small t) by lia; rewrite Z.add_0_r.
  rewrite Z.div_add_l by lia; rewrite (Z.div_small d) by lia; rewrite Z.add_0_r.
  rewrite (Z.add_comm (p * c_dp c)), Z.mod_add by lia; rewrite (Z.mod_small d) by lia.
  rewrite (Z.add_comm _ t), Z.mod_add by lia; rewrite (Z.mod_small t) by lia; reflexivity.
Qed.

(* The dp index of member i of the reduction group of entry j that contains dp index d. *)
Definition peer (j d i : Z) : Z :=
  if p_expert (entry c j) =? 0 then i else i * c_ep c + Z.rem d (c_ep c).

Lemma quotient : c_dp c = Z.quot (c_dp c) (c_ep c) * c_ep c /\ 1 <= Z.quot (c_dp c) (c_ep c).
Proof.
  pose proof (pr_dp c C); pose proof (pr_ep c C); pose proof (pr_rem c C) as R.
  pose proof (Z.quot_rem' (c_dp c) (c_ep c)) as Q; rewrite R in Q; split; nia.
Qed.

Lemma members_count : forall j, MembersOf c j =
  if p_expert (entry c j) =? 0 then c_dp c else Z.quot (c_dp c) (c_ep c).
Proof. intro j; unfold MembersOf; fold (entry c j); destruct (_ =? 0); reflexivity. Qed.

Lemma rem_bound : forall d, 0 <= d -> 0 <= Z.rem d (c_ep c) < c_ep c.
Proof. intros d H; pose proof (pr_ep c C); apply Z.rem_bound_pos; lia. Qed.

Lemma peer_bound : forall j d i, 0 <= d -> 0 <= i < MembersOf c j -> 0 <= peer j d i < c_dp c.
Proof.
  intros j d i Hd Hi; rewrite members_count in Hi; unfold peer.
  pose proof quotient as [Q1 Q2]; pose proof (rem_bound d Hd).
  destruct (_ =? 0); [exact Hi |]; nia.
Qed.

Lemma rem_peer : forall i x, 0 <= i -> 0 <= x < c_ep c -> Z.rem (i * c_ep c + x) (c_ep c) = x.
Proof.
  intros i x Hi Hx; rewrite Z.rem_mod_nonneg by nia.
  rewrite Z.add_comm, Z.mod_add by lia; apply Z.mod_small; exact Hx.
Qed.

Lemma peer_copy : forall j d i, 0 <= d -> 0 <= i -> copy_of c j (peer j d i) = copy_of c j d.
Proof.
  intros j d i Hd Hi; unfold copy_of, peer; destruct (_ =? 0); [reflexivity |].
  apply rem_peer; [exact Hi | apply rem_bound; exact Hd].
Qed.

Lemma first_is : forall j p d t, let g := GroupOf c j in
  first_member c g (-1) (Coord p d t) = Coord p (peer j d 0) t.
Proof.
  intros j p d t g; subst g; unfold GroupOf, peer; fold (entry c j).
  destruct (p_expert (entry c j) =? 0); reflexivity.
Qed.

Lemma members_are : forall j p d t, within c (Coord p d t) ->
  members c (Group (GroupOf c j) (-1) (Coord p (peer j d 0) t)) =
  map (fun i => rank_at c p (peer j d i) t) (range 0 (MembersOf c j)).
Proof.
  intros j p d t [Hp [Hd Ht]]; cbn [a_pp a_dp a_tp] in *; unfold members; cbn [a_pp a_dp a_tp].
  assert (G : GroupSize c (GroupOf c j) (-1) p = MembersOf c j).
  { unfold GroupOf, MembersOf; fold (entry c j); destruct (p_expert (entry c j) =? 0);
    reflexivity. }
  rewrite G; apply map_ext_in; intros i Hi; apply in_range in Hi.
  unfold GroupMember; rewrite G.
  rewrite (proj2 (Z.ltb_ge i 0)), (proj2 (Z.leb_gt (MembersOf c j) i)) by lia; cbn [orb].
  unfold rank_at, GroupOf, peer; fold (entry c j).
  destruct (p_expert (entry c j) =? 0); [reflexivity |].
  cbn [Z.mul Z.add negb]; pose proof (rem_bound d ltac:(lia)); pose proof (pr_ep c C).
  unfold ZP_GROUP_EDP, ZP_GROUP_WORLD, ZP_GROUP_DP, ZP_GROUP_TP, ZP_GROUP_PP; cbn [Z.eqb Pos.eqb].
  do 2 f_equal; unfold Mix; rewrite (proj2 (Z.leb_gt _ _)) by lia.
  rewrite (Z.rem_small (Z.rem d (c_ep c))) by assumption; reflexivity.
Qed.

(* A sum over the members is one over the dp indices with the same copy. *)
Lemma sigma_members : forall j d (F : Z -> Z), 0 <= d ->
  sigma (range 0 (MembersOf c j)) (fun i => F (peer j d i)) =
  sigma (range 0 (c_dp c)) (fun d' => if copy_of c j d' =? copy_of c j d then F d' else 0).
Proof.
  intros j d F Hd; rewrite members_count; unfold peer, copy_of.
  destruct (p_expert (entry c j) =? 0); [rewrite Z.eqb_refl; reflexivity |].
  destruct quotient as [Q1 Q2]; rewrite Q1 at 2; pose proof (pr_ep c C).
  rewrite sigma_blocks by lia; apply sigma_ext; intros i Hi; apply in_range in Hi.
  pose proof (rem_bound d Hd) as Rb; symmetry.
  rewrite (sigma_range_one (c_ep c) (Z.rem d (c_ep c))) by (try exact Rb; intros x Hx Nx;
    rewrite rem_peer by lia; rewrite (proj2 (Z.eqb_neq _ _)) by exact Nx; reflexivity).
  rewrite rem_peer by lia; rewrite Z.eqb_refl; reflexivity.
Qed.

Lemma index_of_peer : forall j p d t i f, f_group f = GroupOf c j -> 0 <= d -> 0 <= i ->
  group_index c (Coord p (peer j d i) t) f = i.
Proof.
  intros j p d t i f E Hd Hi; unfold group_index; cbn [a_pp a_dp a_tp]; rewrite E.
  unfold GroupOf, peer; fold (entry c j); destruct (p_expert (entry c j) =? 0); [reflexivity |].
  unfold GroupIndex, ZP_GROUP_EDP, ZP_GROUP_WORLD, ZP_GROUP_DP, ZP_GROUP_TP, ZP_GROUP_PP.
  cbn [negb Z.eqb Pos.eqb]; pose proof (rem_bound d Hd); pose proof (pr_ep c C).
  rewrite Z.quot_div_nonneg by nia; rewrite Z.div_add_l by lia.
  rewrite Z.div_small by assumption; lia.
Qed.

(* Parts of a bucket. *)
Lemma part_facts : forall f b, 1 <= f_members f -> 1 <= f_align f ->
  BucketPadded (f_numel f) (f_capacity f) (f_members f) (f_align f) b = part f b * f_members f /\
  (0 <= BucketNumel (f_numel f) (f_capacity f) b ->
   BucketNumel (f_numel f) (f_capacity f) b <= part f b * f_members f).
Proof.
  intros f b Hm Ha; unfold part, Part, BucketPadded.
  set (v := BucketNumel (f_numel f) (f_capacity f) b); unfold RoundUp.
  set (u := f_members f * f_align f); assert (Hu : 1 <= u) by (unfold u; nia).
  set (q := Z.quot (v + u - 1) u).
  assert (E : Z.quot (q * u) (f_members f) = q * f_align f).
  { unfold u; replace (q * (f_members f * f_align f)) with (q * f_align f * f_members f) by lia.
    apply Z.quot_mul; lia. }
  rewrite E; split; [unfold u; lia |]; intro Hv.
  assert (v <= q * u); [| unfold u in *; lia].
  unfold q; rewrite Z.quot_div_nonneg by lia.
  pose proof (Z.div_mod (v + u - 1) u ltac:(lia));
    pose proof (Z.mod_pos_bound (v + u - 1) u ltac:(lia)).
  lia.
Qed.

End Ranks.
