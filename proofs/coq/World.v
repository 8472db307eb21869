(* The statistics of all ranks, and the contract as a whole. spec: STAT-2, PIPE-3, TIE-2 *)

Require Import Bool List Arith ZArith Lia.
Require Import ZP.Op ZP.OpOf ZP.Plan ZP.PlanFacts ZP.Sums ZP.MeaningChannels ZP.Meaning ZP.Serial.
Require Import ZP.MeaningLayout ZP.Contract ZP.Gradients ZP.Pipeline ZP.Tail ZP.Ranks ZP.Kept.
Require Import ZP.TiedSums.
Require ZP.Assertions ZP.Valid.
Import ListNotations.
Open Scope Z_scope.

Section World.

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
Hypothesis Valid_c : Valid.valid c.

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

Lemma world_members : members c (Group ZP_GROUP_WORLD (-1) (Coord 0 0 0)) =
  map (fun i => Z.to_nat i) (range 0 (World c)).
Proof.
  unfold members; change (GroupSize c ZP_GROUP_WORLD (-1) (a_pp (Coord 0 0 0))) with (World c).
  apply map_ext_in; intros i Hi; apply in_range in Hi; f_equal; unfold GroupMember.
  change (GroupSize c ZP_GROUP_WORLD (-1) _) with (World c).
  rewrite (proj2 (Z.ltb_ge i 0)), (proj2 (Z.leb_gt (World c) i)) by lia; reflexivity.
Qed.

Lemma sigma_world : forall F : coord -> Z,
  sigma (members c (Group ZP_GROUP_WORLD (-1) (Coord 0 0 0))) (fun q => F (coord_of c q)) =
  sigma (range 0 (c_pp c)) (fun p => sigma (range 0 (c_dp c)) (fun d =>
    sigma (range 0 (c_tp c)) (fun t => F (Coord p d t)))).
Proof.
  intro F; pose proof (pr_pp c C) as Hp; pose proof (pr_dp c C) as Hd; pose proof (pr_tp c C) as Ht.
  rewrite world_members, sigma_map, world_is by exact C.
  assert (B : 0 <= c_pp c * c_dp c) by (apply Z.mul_nonneg_nonneg; lia).
  rewrite (sigma_blocks (c_pp c * c_dp c) (c_tp c)) by lia.
  rewrite (sigma_blocks (c_pp c) (c_dp c)) by lia.
  apply sigma_ext; intros p Ip; apply in_range in Ip; apply sigma_ext; intros d Id;
    apply in_range in Id.
  apply sigma_ext; intros t It; apply in_range in It; f_equal.
  replace (Z.to_nat ((p * c_dp c + d) * c_tp c + t)) with (rank_at c p d t)
    by (unfold rank_at; rewrite rank_is by exact C; reflexivity).
  apply coord_rank; [exact C |]; split; [exact Ip | split; assumption].
Qed.

(* Each element of a trained entry is in one rank's part, for each copy. *)
Lemma entry_once : forall s j t w, trained c s j ->
  sigma (range 0 (c_dp c)) (fun d => entry_words (Coord s d t) j w) =
  sigma (range 0 (copies c j)) (fun q => sigma (range 0 (p_numel (entry c j))) (fun e =>
    words (mean (serial_sum (first_use c j) e t q)) w)).
Proof.
  intros s j t w D; unfold Contract.entry_words; cbn [a_pp a_dp a_tp]; cbv zeta.
  pose proof (stage_of c C s j (proj1 D)) as [Jn Js]; pose proof (pr_entry c C j Jn) as [_ [Hs _]].
  pose proof (pr_dp c C) as Hd; pose proof (pr_tp c C) as Ht; rewrite Js in Hs.
  assert (Cr : coord_of c (rank_at c s 0 0) = Coord s 0 0)
    by (apply coord_rank; [exact C |]; split; [exact Hs |]; split; cbn; lia).
  rewrite sigma_swap, (sigma_swap (range 0 (copies c j))).
  apply sigma_ext; intros e He; apply in_range in He.
  set (f := group_of c s j); set (x0 := StartOf c (StageEnd c s) j + e).
  set (b := x0 / f_capacity f); set (y := x0 - b * f_capacity f).
  assert (L : lies c s j e b).
  { split; [exact D |]; split; [exact He |].
    pose proof (bucket_is c C (rank_at c s 0 0) j e b) as Q; rewrite Cr in Q; cbn [a_pp] in Q.
    apply Q; [exact D | exact He | reflexivity]. }
  pose proof (place_bound c C (rank_at c s 0 0) j e b) as Pb; rewrite Cr in Pb; cbn [a_pp] in Pb.
  destruct (Pb L) as [P1 [P2 [P3 P4]]]; clear Pb.
  change (place_of c s j e b) with y in P4; fold (group_of c s j) in P1, P2, P3, P4.
  fold f in P1, P2, P3, P4.
  assert (Hp : 0 < part f b) by nia.
  assert (One : forall i, in_part f b i y = true <-> i = y / part f b).
  { intro i; unfold in_part; rewrite andb_true_iff, Z.leb_le, Z.ltb_lt.
    pose proof (Z.div_mod y (part f b) ltac:(lia)); pose proof (Z.mod_pos_bound y (part f b) Hp).
    split; [intro; apply Z.div_unique with (y - i * part f b); [left; lia | lia] |].
    intros ->; set (q := y / part f b) in *; lia. }
  set (o := y / part f b) in *.
  assert (Ho : 0 <= o < MembersOf c j).
  { split; [apply Z.div_pos; lia |]; rewrite <- P2; apply Z.div_lt_upper_bound; lia. }
  rewrite members_count in Ho; unfold copies; unfold Contract.element_words; cbn [a_tp a_dp].
  unfold group_index; cbn [a_pp a_dp a_tp]; rewrite P1; unfold GroupOf, copy_of; fold (entry c j).
  destruct (p_expert (entry c j) =? 0); cbn [negb].
  - change (range 0 1) with [0]; cbn [sigma fold_right]; rewrite Z.add_0_r.
    rewrite (sigma_range_one (c_dp c) o); [| exact Ho |].
    + change (GroupIndex c ZP_GROUP_DP (-1) s o t) with o.
      rewrite (proj2 (One o) eq_refl); reflexivity.
    + intros d _ N; change (GroupIndex c ZP_GROUP_DP (-1) s d t) with d.
      destruct (in_part f b d y) eqn:Q; [| reflexivity]; apply One in Q; contradiction.
  - destruct (quotient c C) as [Q1 Q2]; rewrite Q1 at 1; pose proof (pr_ep c C) as He'.
    rewrite sigma_blocks by lia.
    rewrite (sigma_range_one (Z.quot (c_dp c) (c_ep c)) o); [| exact Ho |].
    + apply sigma_ext; intros q Hq; apply in_range in Hq.
      change (GroupIndex c ZP_GROUP_EDP (-1) s (o * c_ep c + q) t)
        with (Z.quot (o * c_ep c + q) (c_ep c)).
      rewrite rem_peer by (try exact C; lia).
      rewrite Z.quot_div_nonneg, Z.div_add_l, (Z.div_small q), Z.add_0_r by nia.
      rewrite (proj2 (One o) eq_refl); reflexivity.
    + intros i Hi N; apply sigma_zero; intros q Hq; apply in_range in Hq.
      change (GroupIndex c ZP_GROUP_EDP (-1) s (i * c_ep c + q) t)
        with (Z.quot (i * c_ep c + q) (c_ep c)).
      rewrite Z.quot_div_nonneg, Z.div_add_l, (Z.div_small q), Z.add_0_r by nia.
      destruct (in_part f b i y) eqn:Q; [| reflexivity]; apply One in Q; contradiction.
Qed.

Lemma world_words : forall w,
  sigma (range 0 (c_pp c)) (fun p => sigma (range 0 (c_dp c)) (fun d =>
    sigma (range 0 (c_tp c)) (fun t => rank_words (Coord p d t) w))) = serial_words w.
Proof.
  intro w; unfold Contract.rank_words; cbn [a_pp a_dp a_tp]; unfold Serial.serial_words.
  set (G := fun t j => sigma (range 0 (copies c j)) (fun q =>
    sigma (range 0 (p_numel (entry c j))) (fun e => words (mean (serial_sum j e t q)) w))).
  set (own := fun p t j => (p_frozen (entry c j) =? 0) && (storage c j =? j) &&
    counts c p t (entry c j)).
  transitivity (sigma (range 0 (c_pp c)) (fun p => sigma (range 0 (c_dp c)) (fun d =>
      sigma (range 0 (c_tp c)) (fun t => sigma (range 0 (c_micro_batches c)) (fun mb =>
        loss_words d t mb p w)))) +
    sigma (range 0 (c_pp c)) (fun p => sigma (range (StageFirst c p) (StageEnd c p)) (fun j =>
      sigma (range 0 (c_tp c)) (fun t =>
        if own (p_stage (entry c j)) t j then G t (first_use c j) else 0)))).
  { rewrite <- sigma_plus; apply sigma_ext; intros p _.
    rewrite (sigma_swap (range (StageFirst c p) (StageEnd c p))).
    rewrite (sigma_swap (range 0 (c_dp c)) (range 0 (c_tp c))).
    rewrite (sigma_swap (range 0 (c_dp c)) (range 0 (c_tp c))).
    rewrite <- sigma_plus; apply sigma_ext; intros t _.
    rewrite sigma_plus; f_equal; rewrite sigma_swap; apply sigma_ext; intros j Hj.
    apply in_range in Hj; destruct (stage_of c C p j Hj) as [Jn Js]; rewrite Js.
    unfold own; rewrite sigma_if.
    destruct (Z.eqb_spec (p_frozen (entry c j)) 0) as [Fz|Fz]; cbn [andb]; [| reflexivity].
    destruct (storage c j =? j); cbn [andb]; [| reflexivity].
    destruct (counts c p t (entry c j)); [| reflexivity].
    rewrite entry_once by (split; assumption); unfold G.
    destruct (Agree j Jn) as [_ [_ [_ [A1 [A2 _]]]]].
    unfold copies; rewrite A1, A2; reflexivity. }
  f_equal; rewrite (sigma_stages c C (fun j => sigma (range 0 (c_tp c)) (fun t =>
    if own (p_stage (entry c j)) t j then G t (first_use c j) else 0))).
  rewrite sigma_swap.
  transitivity (sigma (range 0 (c_tp c)) (fun t => sigma (range 0 (c_n_params c)) (fun j =>
    if (p_frozen (entry c j) =? 0) && (first_use c j =? j) then
      if (t =? 0) || (p_sharded (entry c j) =? 1) then G t j else 0
    else 0))).
  { apply sigma_ext; intros t _; apply (Once t (G t)). }
  rewrite sigma_swap; apply sigma_ext; intros j _.
  destruct ((p_frozen (entry c j) =? 0) && (first_use c j =? j))%bool; [reflexivity |].
  apply sigma_zero; reflexivity.
Qed.

Lemma statistics_kept : forall first x (memory : nat -> mem) r,
  let h := Group ZP_GROUP_WORLD (-1) first in
  (forall q, In q (members c h) -> sends q h x (memory q)) -> In r (members c h) ->
  (exists u, x = content_of (op_statistics u)) ->
  gets r h x (memory r) (exchange h x (map memory (members c h)) r (memory r)).
Proof.
  intros first x memory r h All Mine [u Ex]; destruct (statistics_content u x Ex) as [X1 X2].
  assert (Ef : first = Coord 0 0 0) by (destruct (All r Mine) as [E _]; exact E).
  unfold h; rewrite exchange_is by (rewrite X1; discriminate); fold h.
  apply statistics_only; [exact X1 |]; unfold collective; rewrite X1.
  change (ZP_WHAT_STATISTICS =? ZP_WHAT_GRADIENT) with false.
  change (ZP_WHAT_STATISTICS =? ZP_WHAT_STATISTICS) with true; cbv iota.
  eexists; split; [reflexivity |]; intros w Hw; cbv beta; rewrite X2.
  rewrite (proj2 (Z.leb_le 0 w)), (proj2 (Z.ltb_lt w ZP_STATS)) by lia; cbn [andb].
  rewrite sigma_map, <- world_words, <- (sigma_world (fun q => rank_words q w)), <- Ef.
  apply sigma_ext; intros q Hq; destruct (All q Hq) as [_ [_ Sq]].
  destruct Sq as [[_ [Sq | [Sq | Sq]]] | Sq].
  - destruct Sq as [dtype [k [mb [u' [i [b [Ex' _]]]]]]].
    apply gradient_content in Ex'; destruct Ex' as [Y _]; rewrite X1 in Y; discriminate.
  - apply Sq.
  - destruct Sq as [dtype [k [u' [i [b [Ex' _]]]]]].
    apply parameter_content in Ex'; destruct Ex' as [Y _]; rewrite X1 in Y; discriminate.
  - destruct Sq as [k [u' [b [Ex' _]]]].
    apply tied_content in Ex'; destruct Ex' as [Y _]; rewrite X1 in Y; discriminate.
Qed.

Lemma link_kept : forall l d t x (memory : nat -> mem) r, let h := Link l d t in
  (forall q, In q (members c h) -> sends q h x (memory q)) -> In r (members c h) ->
  gets r h x (memory r) (exchange h x (map memory (members c h)) r (memory r)).
Proof.
  intros l d t x memory r h All Mine.
  assert (Lo := All (rank_at c l d t) (or_introl eq_refl)).
  assert (Up := All (rank_at c (l + 1) d t) (or_intror (or_introl eq_refl))).
  cbn [Contract.sends h] in Lo, Up; destruct Lo as [Hl [Hd [Ht Lo]]]; destruct Up as [_ [_ [_ Up]]].
  rewrite (coord_rank c C) in Lo by (split; [cbn; lia | split; assumption]).
  rewrite (coord_rank c C) in Up by (split; [cbn; lia | split; assumption]).
  cbn [a_pp] in Lo, Up; unfold Meaning.exchange.
  cbn [Contract.gets h exchange_in members map nth].
  unfold hop; destruct (Z.eqb_spec (o_kind x) ZP_OP_P2P) as [K|K]; cbn [negb]; [| reflexivity].
  specialize (Lo K); specialize (Up K); destruct Lo as [Lo _]; destruct Up as [_ Up].
  destruct (Z.eqb_spec (a_pp (coord_of c r)) l) as [E|E].
  - destruct (Z.leb_spec 0 (o_recv_mb x)) as [B|B]; [| reflexivity].
    rewrite (Up eq_refl B); reflexivity.
  - destruct (Z.leb_spec 0 (o_mb x)) as [B|B]; [| reflexivity].
    rewrite (Lo eq_refl B); reflexivity.
Qed.

Theorem contract_kept : Assertions.keeps_contract chan op mem (members c) exchange sends gets.
Proof.
  intros [g key first | l d t] x memory All r Mine.
  - assert (K := All r Mine); cbn [Contract.sends] in K; destruct K as [_ [_ [[-> K] | K]]].
    + destruct K as [K | [[K [-> _]] | K]].
      * eapply gradient_kept; eassumption.
      * apply statistics_kept; assumption.
      * eapply parameters_kept; eassumption.
    + assert (G : g = ZP_GROUP_TIED) by (destruct K as [k [u [b [_ [G _]]]]]; exact G).
      subst g; apply tied_kept; assumption.
  - apply link_kept; assumption.
Qed.

End World.
