(* One micro-batch's gradients enter the sums. spec: RED-2 ... RED-5, PART-3, STEP-2

   The ops of entries_ops, checked against the contract: each element of each trained entry is added
   once, and each bucket is reduced after its last element. F k is the number of elements of flat
   group k that have been added, R k the number of its buckets that have been reduced. *)

Require Import Bool List Arith ZArith Lia.
Require Import ZP.Op ZP.OpOf ZP.Plan ZP.PlanFacts ZP.Sums ZP.MeaningChannels ZP.Meaning ZP.Serial.
Require Import ZP.MeaningLayout ZP.Contract.
Import ListNotations.
Open Scope Z_scope.

(* Distinguishes the cases of comparisons in the goal. *)
Ltac cases :=
  repeat match goal with
  | |- context [?a =? ?b] => destruct (Z.eqb_spec a b)
  | |- context [?a <? ?b] => destruct (Z.ltb_spec a b)
  | |- context [?a <=? ?b] => destruct (Z.leb_spec a b)
  end; cbn [andb orb negb].

Lemma in_bucket_is : forall f b x,
  in_bucket f b x = true <-> b * f_capacity f <= x < (b + 1) * f_capacity f.
Proof. intros; unfold in_bucket; rewrite andb_true_iff, Z.leb_le, Z.ltb_lt; tauto. Qed.

Lemma buckets_above : forall n k x b, 1 <= k -> 0 <= x < n -> 0 <= b -> b * k <= x ->
  b < Buckets n k.
Proof.
  intros n k x b Hk Hx Hb H; unfold Buckets; rewrite Z.quot_div_nonneg by lia.
  apply Z.lt_le_trans with (b + 1); [lia |]; apply Z.div_le_lower_bound; lia.
Qed.

Lemma rev_map_range : forall (A : Type) (h : Z -> A) n, 0 <= n ->
  rev (map h (range 0 n)) = map (fun x => h (n - 1 - x)) (range 0 n).
Proof.
  intros B h n H; revert n H; apply natlike_ind; [reflexivity |].
  intros n Hn IH; rewrite <- Z.add_1_r; rewrite range_snoc at 1 by lia.
  rewrite map_app, rev_app_distr, IH; simpl.
  rewrite (range_cons 0 (n + 1)) by lia; simpl; f_equal; [f_equal; lia |].
  replace (range 1 (n + 1)) with (range (0 + 1) (n + 1)) by reflexivity.
  rewrite range_map_shift, map_map; apply map_ext; intro; f_equal; lia.
Qed.

Lemma numbered_is : forall (A : Type) (l : list A) x0,
  numbered l = map (fun k => (k, nth (Z.to_nat k) l x0)) (range 0 (Z.of_nat (length l))).
Proof.
  intros B l x0; unfold numbered.
  assert (G : forall lo, combine (range lo (lo + Z.of_nat (length l))) l =
    map (fun k => (k, nth (Z.to_nat (k - lo)) l x0)) (range lo (lo + Z.of_nat (length l)))).
  { induction l as [|y l IH]; intro lo; [rewrite range_empty by (simpl; lia); reflexivity |].
    rewrite range_cons by (cbn [length]; lia); cbn [combine map].
    f_equal; [rewrite Z.sub_diag; reflexivity |].
    replace (lo + Z.of_nat (length (y :: l))) with (lo + 1 + Z.of_nat (length l))
      by (cbn [length]; lia); rewrite IH; apply map_ext_in; intros k Hk; apply in_range in Hk.
    replace (Z.to_nat (k - lo)) with (S (Z.to_nat (k - (lo + 1)))) by lia; reflexivity. }
  specialize (G 0); rewrite Z.add_0_l in G; rewrite G.
  apply map_ext; intro; rewrite Z.sub_0_r; reflexivity.
Qed.

Lemma flat_map_map : forall (A B D : Type) (h : B -> list D) (g : A -> B) l,
  flat_map h (map g l) = flat_map (fun x => h (g x)) l.
Proof. induction l as [|x l IH]; [reflexivity |]; simpl; rewrite IH; reflexivity. Qed.

Section Gradients.

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

Notation mem := (mem A T P S X V).
Notation contribution := (contribution A T P S V no_message fwd bwd c z).
Notation use_sum := (use_sum A T P S V no_message fwd bwd c z).
Notation own_sum := (own_sum A T P S V no_message fwd bwd c z).
Notation wp := (wp A T P S X V no_message fwd bwd mean words go update round c z).
Notation arrived := (m_arrived A T P S X V).

Variable r : nat.
Let a := coord_of c r.
Let s := a_pp a.
Let d := a_dp a.
Let t := a_tp a.
Let e := StageEnd c s.
Let M := c_micro_batches c.
Hypothesis W : within c a.

Notation start j := (StartOf c e j).
Notation numel j := (p_numel (entry c j)).
Notation k_of j := (number_of c s j).
Notation cap k := (f_capacity (flat_in c s k)).
Notation here j x b := (place_of c s j x b).
Notation slot mb k b := (CollectPlace (c_stage c) mb (f_numel (flat_in c s k)) (cap k) b).

Definition sums_after (n : Z) (f : Z -> Z -> Z -> Z) : Prop := forall j x b, lies c s j x b ->
  let k := k_of j in let mine := owns c a (flat_in c s k) b (here j x b) = true in
  if c_stage c =? 2
  then 0 < n -> mine -> f k b (here j x b) = use_sum n j x t (copy_of c j d)
  else (0 < n < M -> f k b (here j x b) = own_sum n d t j x) /\
       (n = M -> mine -> f k b (here j x b) = use_sum M j x t (copy_of c j d)).

(* In the middle of micro-batch mb; g are the bucket slots. *)
Definition midway (mb : Z) (F R : Z -> Z) (f g : Z -> Z -> Z -> Z) : Prop :=
  forall j x b, lies c s j x b ->
  let k := k_of j in let mine := owns c a (flat_in c s k) b (here j x b) = true in
  if c_stage c =? 2
  then (b < R k -> mine -> f k b (here j x b) = use_sum (mb + 1) j x t (copy_of c j d)) /\
       (R k <= b -> mine -> 0 < mb -> f k b (here j x b) = use_sum mb j x t (copy_of c j d)) /\
       (R k <= b -> start j + x < F k -> g k (slot mb k b) (here j x b) = contribution d t mb j x)
  else (b < R k -> mine -> f k b (here j x b) = use_sum M j x t (copy_of c j d)) /\
       (R k <= b -> start j + x < F k -> f k b (here j x b) = own_sum (mb + 1) d t j x) /\
       (R k <= b -> F k <= start j + x -> 0 < mb -> f k b (here j x b) = own_sum mb d t j x).

Lemma own_sum_step : forall n j x, 0 <= n ->
  own_sum (n + 1) d t j x = own_sum n d t j x + contribution d t n j x.
Proof. intros n j x H; unfold Contract.own_sum; rewrite range_snoc, sigma_app by exact H; simpl;
  lia. Qed.

Lemma own_sum_first : forall j x, own_sum 1 d t j x = contribution d t 0 j x.
Proof. intros; unfold Contract.own_sum, sigma; simpl; lia. Qed.

Lemma use_sum_step : forall n j x q, 0 <= n -> use_sum (n + 1) j x t q = use_sum n j x t q +
  sigma (range 0 (c_dp c)) (fun i => if copy_of c j i =? q then contribution i t n j x else 0).
Proof.
  intros n j x q H; unfold Serial.use_sum; rewrite <- sigma_plus; apply sigma_ext; intros i _.
  destruct (_ =? q); [| lia]; rewrite range_snoc, sigma_app by exact H; simpl; lia.
Qed.

Lemma use_sum_none : forall j x q, use_sum 0 j x t q = 0.
Proof. intros; unfold Serial.use_sum; apply sigma_zero; intros; destruct (_ =? q); reflexivity. Qed.

Lemma midway_ext : forall mb F R F' R' f g, midway mb F R f g ->
  (forall j, trained c s j -> F (k_of j) = F' (k_of j) /\ R (k_of j) = R' (k_of j)) ->
  midway mb F' R' f g.
Proof.
  intros mb F R F' R' f g H E j x b L; specialize (H j x b L); cbn zeta in *.
  destruct (E j (proj1 L)) as [<- <-]; exact H.
Qed.

Lemma end_bound : 0 <= e <= c_n_params c.
Proof. exact (below_bound c (s + 1) (c_n_params c) (n_params_nonneg c)). Qed.

(* Of a trained entry. *)
Lemma trained_facts : forall j, trained c s j ->
  0 <= j < e /\ p_stage (entry c j) = s /\ 0 <= start j /\ 0 <= numel j /\
  start j + numel j <= f_numel (flat_in c s (k_of j)) /\ 1 <= cap (k_of j) /\
  start j = FlatNumel c e (e - 1 - j) (k_of j) /\
  f_numel (flat_in c s (k_of j)) = FlatNumel c e (StageCount c s) (k_of j).
Proof.
  intros j [D F]; pose proof (stage_of c C s j D) as [B Q]; pose proof end_bound as E.
  pose proof (pr_entry c C j B) as [N _]; pose proof (stage_first c s) as Z0.
  pose proof (flat_of_entry c C s j D F) as G; cbn zeta in G.
  destruct G as [_ [_ [_ [_ [_ [_ [G1 [G2 _]]]]]]]].
  destruct (entry_end c C e j (StageCount c s)) as [Z1 Z2]; try assumption; try (unfold e in *;
    lia).
  { unfold StageCount, e in *; lia. }
  pose proof (capacity_positive c C (MembersOf c j) (members_positive c C j B)).
  unfold number_of; rewrite G1, G2; fold e; rewrite <- (start_of c e j F).
  repeat split; try assumption; try lia; unfold e; lia.
Qed.

Lemma lies_facts : forall j x b, lies c s j x b ->
  trained c s j /\ 0 <= x < numel j /\ b * cap (k_of j) <= start j + x < (b + 1) * cap (k_of j) /\
  0 <= b.
Proof using C a e s.
  intros j x b [D [Hx I]]; apply in_bucket_is in I; unfold group_of in I; fold e in I.
  destruct (trained_facts j D) as [_ [_ [H0 [_ [_ [Hc _]]]]]].
  split; [exact D |]; split; [exact Hx |]; split; [exact I |]; clear - I H0 Hx Hc; nia.
Qed.

Lemma midway_begins : forall mb f g, 0 <= mb < M -> sums_after mb f ->
  midway mb (fun _ => 0) (fun _ => 0) f g.
Proof.
  intros mb f g H S0 j x b L; specialize (S0 j x b L); cbn zeta in *.
  pose proof (lies_facts j x b L) as [D [Hx [I B]]]; pose proof (trained_facts j D).
  destruct (c_stage c =? 2).
  - repeat split; intros; try lia; apply S0; assumption.
  - destruct S0 as [S1 S2]; repeat split; intros; try lia; apply S1; lia.
Qed.

(* Two elements of one stage with the same position are equal. *)
Lemma apart : forall i j x y, trained c s i -> trained c s j -> k_of i = k_of j ->
  0 <= x < numel i -> 0 <= y < numel j -> start i + x = start j + y -> i = j /\ x = y.
Proof.
  intros i j x y Di Dj E Hx Hy P0; pose proof (trained_facts i Di); pose proof (trained_facts j Dj).
  pose proof end_bound; unfold number_of in E; fold e in E.
  destruct (Z.lt_trichotomy i j) as [L | [-> | L]]; [| split; lia |]; exfalso.
  - pose proof (entries_apart c C e i j ltac:(lia) ltac:(lia) ltac:(lia) (proj2 Di) (proj2 Dj) E);
    lia.
  - pose proof (entries_apart c C e j i ltac:(lia) ltac:(lia) ltac:(lia) (proj2 Dj) (proj2 Di)
      (eq_sym E)); lia.
Qed.

(* ---- One addition ---------------------------------------------------------------------------- *)

Notation set_sum := (set_sum A T P S X V).
Notation set_bucket := (set_bucket A T P S X V).
Notation add := (add A T P S X V c).

Definition arrives (mb : Z) (m : mem) := forall j x, trained c s j ->
  element (arrived m j) x = contribution d t mb j x.

Lemma in_flat : forall j, k_of j = FlatOf c e j.
Proof. reflexivity. Qed.

Lemma add_ok : forall mb F R f g m j b clock to u, trained c s j -> 0 <= mb -> arrives mb m ->
  to = start j + numel j ->
  let k := k_of j in let fl := flat_in c s k in
  let lo := RunFrom (cap k) (start j) b in let hi := RunTo (cap k) to b in
  F k = lo -> start j <= lo -> lo < hi -> hi <= to -> b * cap k <= lo -> hi <= (b + 1) * cap k ->
  R k <= b -> (c_stage c = 2 -> R k = b) -> midway mb F R f g ->
  exists f' g', add a (op_add (c_stage c) k j fl (start j) to mb u clock b)
      (set_sum f (set_bucket g m)) = set_sum f' (set_bucket g' m) /\
    midway mb (put F k hi) R f' g'.
Proof.
  intros mb F R f g m j b clock to u D Hmb Ar Eto k fl lo hi HF H1 H2 H3 H4 H5 H6 H7 Mid.
  pose proof (trained_facts j D) as Fj.
  assert (Sp : s_start (spot_at (l_spot (layout_of c s)) (j - l_first_param (layout_of c s))) =
    start j).
  { change (l_first_param (layout_of c s)) with (StageFirst c s).
    rewrite (spot_of c s j (proj1 D)); reflexivity. }
  assert (Cl : forall i x y, lies c s i x y -> k_of i = k ->
    (i = j /\ lo <= start i + x < hi) \/ ~ lo <= start i + x < hi).
  { intros i x y L E; pose proof (lies_facts i x y L) as [Di [Hx _]].
    destruct (Z_lt_le_dec (start i + x) lo); [right; lia |].
    destruct (Z_lt_le_dec (start i + x) hi); [left | right; lia].
    destruct (apart i j x (start i + x - start j) Di D E Hx ltac:(lia) ltac:(lia)) as [-> _].
    split; [reflexivity | lia]. }
  unfold Meaning.add; fold s.
  change (o_flat (op_add _ _ _ _ _ _ _ _ _ _)) with k.
  change (o_param (op_add _ _ _ _ _ _ _ _ _ _)) with j.
  change (o_bucket (op_add _ _ _ _ _ _ _ _ _ _)) with b.
  change (o_mb (op_add _ _ _ _ _ _ _ _ _ _)) with mb.
  change (o_slot (op_add _ _ _ _ _ _ _ _ _ _)) with (slot mb k b).
  change (o_offset (op_add _ _ _ _ _ _ _ _ _ _)) with (lo - start j).
  change (o_count (op_add _ _ _ _ _ _ _ _ _ _)) with (hi - lo).
  change (flat_at (l_flat (layout_of c s)) k) with fl; rewrite Sp.
  change (m_arrived A T P S X V (set_sum f (set_bucket g m))) with (arrived m).
  change (m_sum A T P S X V (set_sum f (set_bucket g m))) with f.
  change (m_bucket A T P S X V (set_sum f (set_bucket g m))) with g.
  replace (start j + (lo - start j) - b * f_capacity fl) with (lo - b * cap k) by (unfold fl; lia).
  destruct (Z.eqb_spec (c_stage c) 2) as [E2|E2].
  - eexists f, _; split; [reflexivity |]; intros i x y L; specialize (Mid i x y L).
    pose proof (lies_facts i x y L) as [Di [Hx [I B]]]; specialize (Cl i x y L).
    cbn zeta in *; rewrite E2 in Mid |- *; cbn [Z.eqb Pos.eqb] in Mid |- *.
    destruct Mid as [M1 [M2 M3]]; repeat split; try assumption; intros HR HX; unfold put in HX.
    unfold put_row; destruct (Z.eqb_spec (k_of i) k) as [Ek|Ek]; cbn [andb]; [| apply M3;
      assumption].
    rewrite Ek in *; specialize (Cl eq_refl).
    assert (y = b).
    { specialize (H7 E2); fold k in H7; assert (y < b + 1); [| lia]; nia. }
    subst y; rewrite Z.eqb_refl.
    unfold place_of, group_of; rewrite Ek; fold e.
    destruct Cl as [[-> Cl] | Cl].
    + replace (lo - b * cap k <=? start j + x - b * cap k) with true by (symmetry; apply Z.leb_le;
      lia).
      replace (start j + x - b * cap k <? lo - b * cap k + (hi - lo)) with true
        by (symmetry; apply Z.ltb_lt; lia); cbn [andb].
      replace (start j + x - b * cap k - (lo - b * cap k) + (lo - start j)) with x by lia.
      apply Ar; exact D.
    + replace ((lo - b * cap k <=? start i + x - b * cap k) &&
        (start i + x - b * cap k <? lo - b * cap k + (hi - lo)))%bool with false
        by (symmetry; apply andb_false_iff; rewrite Z.leb_gt, Z.ltb_ge; lia).
      unfold place_of, group_of in M3; rewrite Ek in M3; fold e in M3; apply M3; lia.
  - eexists _, g; split; [reflexivity |]; intros i x y L; specialize (Mid i x y L).
    pose proof (lies_facts i x y L) as [Di [Hx [I B]]]; specialize (Cl i x y L).
    cbn zeta in *; apply Z.eqb_neq in E2; rewrite E2 in Mid |- *.
    destruct Mid as [M1 [M2 M3]]; unfold put, put_row.
    destruct (Z.eqb_spec (k_of i) k) as [Ek|Ek]; cbn [andb]; [| repeat split; assumption].
    rewrite Ek in *; specialize (Cl eq_refl).
    destruct (Z.eqb_spec y b) as [Ey|Ey].
    + subst y; unfold place_of, group_of in *; rewrite Ek in *; fold e in M1, M2, M3 |- *.
      destruct Cl as [[-> Cl] | Cl].
      * replace (lo - b * cap k <=? start j + x - b * cap k) with true
          by (symmetry; apply Z.leb_le; lia).
        replace (start j + x - b * cap k <? lo - b * cap k + (hi - lo)) with true
          by (symmetry; apply Z.ltb_lt; lia); cbn [andb].
        replace (start j + x - b * cap k - (lo - b * cap k) + (lo - start j)) with x by lia.
        rewrite (Ar j x D); repeat split; intros; try lia.
        destruct (Z.eqb_spec mb 0) as [->|].
        -- symmetry; exact (own_sum_first j x).
        -- rewrite own_sum_step by exact Hmb; rewrite M3 by lia; reflexivity.
      * replace ((lo - b * cap k <=? start i + x - b * cap k) &&
          (start i + x - b * cap k <? lo - b * cap k + (hi - lo)))%bool with false
          by (symmetry; apply andb_false_iff; rewrite Z.leb_gt, Z.ltb_ge; lia).
        repeat split; intros; [apply M1 | apply M2 | apply M3]; try assumption; lia.
    + assert (~ lo <= start i + x < hi) by nia.
      repeat split; intros; [apply M1 | apply M2 | apply M3]; try assumption; lia.
Qed.

(* ---- One reduction --------------------------------------------------------------------------- *)

Lemma content_fields : forall o, o_group o <> ZP_GROUP_PP -> o_group o <> ZP_GROUP_TIED ->
  content_of o = Op (o_kind o) (o_what o) (o_group o) (o_key o) (o_dtype o) (o_redop o) (o_root o)
    (o_flat o) (o_param o) (o_slot o) (o_if_stepped o) (o_mb o) (o_recv_mb o) (o_bucket o)
    (o_offset o) (o_count o) 0 0.
Proof.
  intros o H1 H2; unfold content_of; apply Z.eqb_neq in H1, H2; rewrite H1, H2; reflexivity.
Qed.

(* Trained entries are reduced over dp or edp. *)
Lemma group_kind : forall j, trained c s j ->
  f_group (flat_in c s (k_of j)) = ZP_GROUP_DP \/ f_group (flat_in c s (k_of j)) = ZP_GROUP_EDP.
Proof.
  intros j [D F]; pose proof (flat_of_entry c C s j D F) as G; cbn zeta in G.
  destruct G as [G _]; unfold number_of; rewrite G; unfold GroupOf; destruct (negb _); auto.
Qed.

Lemma reduce_ok : forall mb F R f g m j b dtype clock u rest Q, trained c s j ->
  let k := k_of j in let fl := flat_in c s k in
  (c_stage c = 2 \/ mb = M - 1) -> dtype <> ZP_I64 -> 0 <= mb -> 0 <= b -> R k = b ->
  (forall i x, lies c s i x b -> k_of i = k -> start i + x < F k) ->
  midway mb F R f g ->
  (forall f', midway mb F (put R k (b + 1)) f' g -> wp r rest Q (set_sum f' (set_bucket g m))) ->
  wp r (op_reduction (c_stage c) (c_reduce c) dtype k fl mb u clock b :: rest) Q
    (set_sum f (set_bucket g m)).
Proof.
  intros mb F R f g m j b dtype clock u rest Q D k fl Red Ty Hmb Hb HR Full Mid Next.
  pose proof (group_kind j D) as Gk; fold k fl in Gk.
  set (o := op_reduction (c_stage c) (c_reduce c) dtype k fl mb u clock b).
  assert (Og : o_group o = f_group fl) by reflexivity.
  assert (Ok : o_kind o = ReduceKind (c_stage c)) by reflexivity.
  assert (N1 : o_group o <> ZP_GROUP_PP) by (rewrite Og; unfold ZP_GROUP_PP;
    destruct Gk as [-> | ->]; discriminate).
  assert (N2 : o_group o <> ZP_GROUP_TIED) by (rewrite Og; unfold ZP_GROUP_TIED;
    destruct Gk as [-> | ->]; discriminate).
  assert (K1 : (o_kind o =? ZP_OP_DECIDE) = false /\ comm o = true).
  { unfold comm; rewrite Ok; unfold ReduceKind; destruct (_ =? 0); split; reflexivity. }
  cbn [Contract.wp]; destruct K1 as [-> ->].
  change (o_if_stepped o =? 1) with false; cbn [andb].
  unfold chan_of; apply Z.eqb_neq in N1; rewrite N1; apply Z.eqb_neq in N1.
  assert (Co := content_fields o N1 N2); split.
  - cbn [Contract.sends]; fold a; split; [reflexivity |]; split; [exact W |].
    left; split; [reflexivity |]; left; unfold sends_gradient; fold s d t M.
    exists dtype, k, mb, u, clock, b; repeat split; try assumption.
    intros i x L E; rewrite Co.
    change (o_slot _) with (slot mb k b).
    change (m_sum A T P S X V (set_sum f (set_bucket g m))) with f.
    change (m_bucket A T P S X V (set_sum f (set_bucket g m))) with g.
    specialize (Full i x L E); specialize (Mid i x b L); cbn zeta in Mid; rewrite E in Mid.
    destruct (Z.eqb_spec (c_stage c) 2); destruct Mid as [M1 [M2 M3]].
    + apply M3; lia.
    + replace M with (mb + 1) by lia; apply M2; lia.
  - intros n [G _]; rewrite Co in G; specialize (G eq_refl).
    destruct G as [f' [-> [G1 G2]]]; fold a in G2; fold s d t M in G2.
    change (o_flat _) with k in G1, G2; change (o_bucket _) with b in G1, G2.
    change (o_mb _) with mb in G2.
    change (m_sum A T P S X V (set_sum f (set_bucket g m))) with f in G1, G2.
    change (Meaning.set_sum A T P S X V f' (set_sum f (set_bucket g m)))
      with (set_sum f' (set_bucket g m)).
    apply Next; intros i x y L; specialize (Mid i x y L); specialize (G2 i x).
    cbn zeta in *; unfold put; destruct (Z.eqb_spec (k_of i) k) as [E|E].
    + destruct (Z.eq_dec y b) as [->|Ey].
      * specialize (G2 L E); rewrite E in *.
        destruct (Z.eqb_spec (c_stage c) 2); destruct Mid as [M1 [M2 M3]];
          (repeat split; intros; try lia).
        -- rewrite use_sum_step by lia; rewrite G2 by assumption; f_equal.
           destruct (Z.eqb_spec mb 0) as [->|]; [symmetry; apply use_sum_none | apply M2;
             try assumption; lia].
        -- apply G2; assumption.
      * rewrite (G1 _ y) by (right; exact Ey); rewrite E in *.
        destruct (c_stage c =? 2); destruct Mid as [M1 [M2 M3]];
          (repeat split; intros; [apply M1 | apply M2 | apply M3]; try assumption; lia).
    + rewrite (G1 _ y) by (left; exact E); exact Mid.
Qed.

(* ---- One entry ------------------------------------------------------------------------------- *)

(* How many buckets of flat group k are reduced once F elements have been added. *)
Definition done (mb k F : Z) : Z :=
  if ReducesOn c mb =? 1
  then if F =? f_numel (flat_in c s k) then Buckets (f_numel (flat_in c s k)) (cap k)
       else F / cap k
  else 0.

Lemma reduces_on : forall mb, (ReducesOn c mb =? 1) = true <-> c_stage c = 2 \/ mb = M - 1.
Proof.
  intro mb; unfold ReducesOn; fold M.
  destruct (Z.eqb_spec (c_stage c) 2); destruct (Z.eqb_spec mb (M - 1)); simpl; split; intros;
    try discriminate; try reflexivity; auto; lia.
Qed.

Lemma gradient_ok : forall mb F R f g m j dtype clock u, trained c s j -> 0 <= mb ->
  dtype = DtypeOf (f_fp32 (flat_in c s (k_of j))) (c_precision c) -> arrives mb m ->
  let k := k_of j in let to := start j + numel j in
  F k = start j -> R k = done mb k (start j) -> midway mb F R f g ->
  wp r (gradient_ops c k j (flat_in c s k) (start j) to mb u clock)
    (fun m' => exists f' g', m' = set_sum f' (set_bucket g' m) /\
      midway mb (put F k to) (put R k (done mb k to)) f' g')
    (set_sum f (set_bucket g m)).
Proof.
  intros mb F R f g m j dtype clock u D Hmb Hty Ar k to HF HR Mid.
  pose proof (trained_facts j D) as [Hj [Hs [H0 [Hn [Hfit [Hc _]]]]]]; fold k in Hfit, Hc;
    fold to in Hfit.
  assert (Ty : dtype <> ZP_I64).
  { subst dtype; pose proof (pr_precision c C); unfold DtypeOf, ZP_F32, ZP_I64.
    destruct (negb _); lia. }
  unfold gradient_ops; fold k.
  destruct (Z.eq_dec (numel j) 0) as [Z0|Z0].
  - replace to with (start j) by lia; unfold FirstBucket, StopBucket; rewrite Z.ltb_irrefl.
    rewrite range_empty by lia; exists f, g; split; [reflexivity |].
    eapply midway_ext; [exact Mid |]; intros i _; unfold put.
    destruct (Z.eqb_spec (k_of i) k) as [->|]; split; auto.
  - assert (Lt : start j < to) by lia.
    unfold FirstBucket, StopBucket; rewrite (proj2 (Z.ltb_lt _ _) Lt).
    rewrite !Z.quot_div_nonneg by lia.
    pose proof (Z.div_mod (start j) (cap k) ltac:(lia)) as E1.
    pose proof (Z.mod_pos_bound (start j) (cap k) ltac:(lia)) as B1.
    pose proof (Z.div_mod (to - 1) (cap k) ltac:(lia)) as E2.
    pose proof (Z.mod_pos_bound (to - 1) (cap k) ltac:(lia)) as B2.
    set (q1 := start j / cap k) in *; set (q2 := (to - 1) / cap k) in *.
    assert (Q : 0 <= q1 <= q2).
    { split; [apply Z.div_pos; lia | apply Z.div_le_mono; lia]. }
    assert (Dn : DoneBucket (f_numel (flat_in c s k)) (cap k) (start j) to =
      if to =? f_numel (flat_in c s k) then q2 + 1 else to / cap k).
    { unfold DoneBucket; rewrite (proj2 (Z.leb_gt _ _) Lt), !Z.quot_div_nonneg by lia;
      reflexivity. }
    set (dn := DoneBucket (f_numel (flat_in c s k)) (cap k) (start j) to) in *.
    assert (Hdn : q2 <= dn <= q2 + 1).
    { rewrite Dn; destruct (to =? f_numel (flat_in c s k)); [lia |].
      pose proof (Z.div_le_mono (to - 1) to (cap k) ltac:(lia) ltac:(lia)); fold q2 in H.
      split; [lia |]; apply Z.lt_succ_r, Z.div_lt_upper_bound; lia. }
    assert (Bk : to = f_numel (flat_in c s k) -> Buckets (f_numel (flat_in c s k)) (cap k) = q2 +
      1).
    { intros <-; unfold Buckets; rewrite Z.quot_div_nonneg by lia.
      replace (to + cap k - 1) with (to - 1 + 1 * cap k) by lia; apply Z.div_add; lia. }
    assert (R1 : R k = if ReducesOn c mb =? 1 then q1 else 0).
    { rewrite HR; unfold done.
      replace (start j =? f_numel (flat_in c s k)) with false by (symmetry; apply Z.eqb_neq; lia);
        reflexivity. }
    assert (R2 : done mb k to = if ReducesOn c mb =? 1 then dn else 0).
    { unfold done; rewrite Dn; destruct (_ =? 1); [| reflexivity].
      destruct (Z.eqb_spec to (f_numel (flat_in c s k))) as [E|]; [apply Bk;
        exact E | reflexivity]. }
    set (G := fun b => Z.max (start j) (Z.min to (b * cap k))).
    set (I := fun b m' => exists f' g', m' = set_sum f' (set_bucket g' m) /\
      midway mb (put F k (G b)) (put R k (if ReducesOn c mb =? 1 then Z.min b dn else 0)) f' g').
    apply wp_imp with (Q := I (q2 + 1)).
    { intros m' [f' [g' [E Mi]]]; exists f', g'; split; [exact E |].
      eapply midway_ext; [exact Mi |]; intros i _; unfold put.
      destruct (_ =? k); [| split; reflexivity]; split.
      - unfold G; nia.
      - rewrite R2; destruct (_ =? 1); lia. }
    apply wp_loop; [lia | |].
    + intros b m' Hb [f' [g' [-> Mi]]].
      assert (Bl : b * cap k <= q2 * cap k) by (apply Z.mul_le_mono_nonneg_r; lia).
      assert (Bh : q1 * cap k <= b * cap k) by (apply Z.mul_le_mono_nonneg_r; lia).
      assert (Lo : RunFrom (cap k) (start j) b = G b).
      { unfold RunFrom, G; destruct (Z.ltb_spec (b * cap k) (start j)); lia. }
      assert (Hi : RunTo (cap k) to b = G (b + 1)).
      { unfold RunTo, G; destruct (Z.ltb_spec ((b + 1) * cap k) to); lia. }
      assert (Gb : start j <= G b < G (b + 1) /\ G (b + 1) <= to /\ b * cap k <= G b /\
        G (b + 1) <= (b + 1) * cap k) by (unfold G; lia).
      set (F1 := put F k (G b)) in *.
      set (R1' := put R k (if ReducesOn c mb =? 1 then Z.min b dn else 0)) in *.
      assert (A1 : F1 k = G b) by (unfold F1, put; rewrite Z.eqb_refl; reflexivity).
      assert (A2 : R1' k = if ReducesOn c mb =? 1 then Z.min b dn else 0)
        by (unfold R1', put; rewrite Z.eqb_refl; reflexivity).
      destruct (add_ok mb F1 R1' f' g' m j b clock to u D Hmb Ar eq_refl) as [f2 [g2 [E2' M2]]];
        fold k; rewrite ?Lo, ?Hi, ?A1, ?A2; try lia; try exact Mi.
      { destruct (_ =? 1); lia. }
      { intro E; rewrite (proj2 (reduces_on mb)) by auto; lia. }
      fold k in E2', M2; rewrite Hi in M2.
      cbn [Contract.wp app]; change (o_if_stepped (op_add _ _ _ _ _ _ _ _ _ _) =? 1) with false.
      cbn [andb]; change (o_kind (op_add _ _ _ _ _ _ _ _ _ _) =? ZP_OP_DECIDE) with false.
      change (comm (op_add _ _ _ _ _ _ _ _ _ _)) with false; cbv iota.
      change (Meaning.local_op A T P S X V no_message fwd bwd mean words update round c (coord_of c
        r)
        (op_add (c_stage c) k j (flat_in c s k) (start j) to mb u clock b) (set_sum f' (set_bucket
          g' m)))
        with (add a (op_add (c_stage c) k j (flat_in c s k) (start j) to mb u clock b)
          (set_sum f' (set_bucket g' m))); rewrite E2'.
      assert (M3 : midway mb (put F k (G (b + 1)))
        (put R k (if ReducesOn c mb =? 1 then Z.min b dn else 0)) f2 g2).
      { eapply midway_ext; [exact M2 |]; intros i _; unfold F1, R1', put.
        destruct (_ =? k); split; reflexivity. }
      destruct (ReducesOn c mb =? 1) eqn:Er; cbn [andb].
      * destruct (Z.ltb_spec b dn) as [Ld|Ld]; cbn [if_ops].
        -- apply reduce_ok with (j := j) (F := put F k (G (b + 1)))
             (R := put R k (Z.min b dn)); fold k ; try assumption.
           ++ apply reduces_on; exact Er.
           ++ subst dtype; exact Ty.
           ++ lia.
           ++ unfold put; rewrite Z.eqb_refl; lia.
           ++ intros i x L E; unfold put; rewrite Z.eqb_refl.
              pose proof (lies_facts i x b L) as [Di [Hx [Hl _]]]; rewrite E in Hl.
              pose proof (trained_facts i Di) as Fi; rewrite E in Fi.
              destruct (Z.eq_dec to (f_numel (flat_in c s k))) as [En|En]; [unfold G; lia |].
              rewrite Dn in Ld; replace (to =? f_numel (flat_in c s k)) with false in Ld
                by (symmetry; apply Z.eqb_neq; exact En).
              assert ((b + 1) * cap k <= to); [| unfold G; lia].
              pose proof (Z.mul_div_le to (cap k) ltac:(lia)).
              assert ((b + 1) * cap k <= to / cap k * cap k)
                by (apply Z.mul_le_mono_nonneg_r; lia); lia.
           ++ intros f3 M4; exists f3, g2; split; [reflexivity |].
              eapply midway_ext; [exact M4 |]; intros i _; unfold put.
              destruct (_ =? k); split; try reflexivity; lia.
        -- exists f2, g2; split; [reflexivity |]; eapply midway_ext; [exact M3 |].
           intros i _; unfold put; destruct (_ =? k); split; try reflexivity; lia.
      * exists f2, g2; split; [reflexivity | exact M3].
    + exists f, g; split; [reflexivity |]; eapply midway_ext; [exact Mid |]; intros i _; unfold put.
      destruct (Z.eqb_spec (k_of i) k) as [->|]; [| split; reflexivity]; split.
      * rewrite HF; unfold G; nia.
      * rewrite R1; destruct (_ =? 1); lia.
Qed.

(* ---- All entries ----------------------------------------------------------------------------- *)

Lemma midway_ends : forall mb f g, 0 <= mb < M ->
  midway mb (fun k => FlatNumel c e (StageCount c s) k)
    (fun k => done mb k (FlatNumel c e (StageCount c s) k)) f g ->
  sums_after (mb + 1) f.
Proof.
  intros mb f g H Mid j x b L; specialize (Mid j x b L); cbv beta zeta in Mid |- *.
  pose proof (lies_facts j x b L) as [D [Hx [Hb B]]].
  pose proof (trained_facts j D) as [_ [_ [H0 [_ [Hf [Hc [_ Hn]]]]]]]; rewrite <- Hn in Mid.
  assert (Ab : b < Buckets (f_numel (flat_in c s (k_of j))) (cap (k_of j)))
    by (apply buckets_above with (start j + x); lia).
  unfold done in Mid; rewrite Z.eqb_refl in Mid; pose proof (reduces_on mb) as Rd.
  destruct (ReducesOn c mb =? 1); destruct (Z.eqb_spec (c_stage c) 2) as [E|E];
    destruct Mid as [M1 [M2 M3]].
  - intros; apply M1; assumption.
  - assert (mb = M - 1) by (destruct (proj1 Rd eq_refl); [contradiction | assumption]).
    split; intros; [lia |]; apply M1; assumption.
  - exfalso; assert (false = true) by (apply Rd; auto); discriminate.
  - split; intros; [apply M2; lia |]; exfalso.
    assert (false = true) by (apply Rd; right; lia); discriminate.
Qed.

Theorem entries_ok : forall mb f g m u, 0 <= mb < M -> arrives mb m -> sums_after mb f ->
  wp r (entries_ops c (layout_of c s) mb u)
    (fun m' => exists f' g', m' = set_sum f' (set_bucket g' m) /\ sums_after (mb + 1) f')
    (set_sum f (set_bucket g m)).
Proof.
  intros mb f g m u H Ar S0; unfold entries_ops.
  rewrite (numbered_is _ _ no_spot); fold (l_n_params (layout_of c s)); rewrite n_spots.
  pose proof (stage_count c s) as Ns; rewrite rev_map_range by exact Ns.
  rewrite flat_map_map.
  set (I := fun x m' => exists f' g', m' = set_sum f' (set_bucket g' m) /\
    midway mb (fun k => FlatNumel c e x k) (fun k => done mb k (FlatNumel c e x k)) f' g').
  apply wp_imp with (Q := I (StageCount c s)).
  { intros m' [f' [g' [E Mid]]]; exists f', g'; split; [exact E |]; eapply midway_ends;
    eassumption. }
  apply wp_loop; [exact Ns | |].
  - intros x m' Hx [f' [g' [-> Mid]]]; unfold entry_ops.
    set (j := StageFirst c s + (StageCount c s - 1 - x)).
    change (l_first_param (layout_of c s)) with (StageFirst c s); fold j.
    assert (Hj : StageFirst c s <= j < StageEnd c s) by (unfold j, StageCount in *; lia).
    assert (Ej : e - (x + 1) = j) by (unfold j, e, StageCount; lia).
    assert (Sp : nth (Z.to_nat (StageCount c s - 1 - x)) (l_spot (layout_of c s)) no_spot =
      layout_spot c s j).
    { rewrite <- (spot_of c s j Hj); unfold spot_at; do 2 f_equal; unfold j; lia. }
    rewrite Sp; unfold layout_spot; cbn [s_flat s_start]; fold e.
    destruct (Z.eq_dec (p_frozen (entry c j)) 0) as [Fz|Fz].
    + assert (D : trained c s j) by (split; assumption).
      pose proof (flat_range c C s j Hj Fz) as B; fold e in B.
      rewrite (proj2 (Z.leb_le _ _) (proj1 B)); cbn [if_ops].
      pose proof (trained_facts j D) as [Hj' [_ [_ [_ [_ [_ [Sj _]]]]]]].
      fold (number_of c s j) in *; unfold number_of in Sj; fold e in Sj.
      eapply wp_imp; [| apply gradient_ok with (dtype := DtypeOf (f_fp32 (flat_in c s (k_of j)))
        (c_precision c)) (F := fun k => FlatNumel c e x k)
        (R := fun k => done mb k (FlatNumel c e x k)) (j := j); try assumption; try lia;
        try reflexivity].
      * intros m' [f2 [g2 [-> M2]]]; exists f2, g2; split; [reflexivity |].
        eapply midway_ext; [exact M2 |]; intros i Di; unfold put.
        rewrite !FlatNumel_step by lia; rewrite Ej; unfold Brings; fold (entry c j).
        change (FlatOf c e j) with (k_of j).
        destruct (Z.eqb_spec (k_of i) (k_of j)) as [E|E].
        -- rewrite E, Z.eqb_refl; unfold number_of; fold e; rewrite Sj.
           replace (e - 1 - j) with x by lia; split; reflexivity.
        -- replace (k_of j =? k_of i) with false by (symmetry; apply Z.eqb_neq; congruence).
           rewrite Z.add_0_r; split; reflexivity.
      * unfold number_of; fold e; rewrite Sj; f_equal; lia.
      * unfold number_of; fold e; rewrite Sj; do 2 f_equal; lia.
    + assert (Fl : FlatOf c e j = -1).
      { unfold FlatOf; fold (entry c j); apply Z.eqb_neq in Fz; rewrite Fz; reflexivity. }
      rewrite Fl; cbn [if_ops Z.leb Z.compare]; exists f', g'; split; [reflexivity |].
      eapply midway_ext; [exact Mid |]; intros i [Di Fi]; rewrite FlatNumel_step by lia; rewrite Ej.
      unfold Brings; rewrite Fl; pose proof (flat_range c C s i Di Fi) as B; fold e in B.
      unfold number_of; fold e.
      replace (-1 =? FlatOf c e i) with false by (symmetry; apply Z.eqb_neq; lia).
      rewrite Z.add_0_r; split; reflexivity.
  - exists f, g; split; [reflexivity |]; eapply midway_ext; [apply midway_begins; assumption |].
    intros j D; change (FlatNumel c e 0 (k_of j)) with 0; split; [reflexivity |].
    pose proof (trained_facts j D) as [_ [_ [_ [_ [_ [Hc _]]]]]].
    unfold done; destruct (_ =? 1); [| reflexivity].
    destruct (Z.eqb_spec 0 (f_numel (flat_in c s (k_of j)))) as [E|E].
    + rewrite <- E; unfold Buckets; rewrite Z.quot_small by lia; reflexivity.
    + reflexivity.
Qed.

End Gradients.
