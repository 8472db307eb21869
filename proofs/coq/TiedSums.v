(* The sums over all uses of a key. spec: TIE-1, TIE-2, RED-4, RED-5

   After the pipeline each flat group of a key holds the sum of one use. A tied all-reduce adds,
   for one bucket, the uses on each stage and then the stages. Afterwards the storage of the key
   holds the serial loop's sum. *)

Require Import Bool List Arith ZArith Lia.
Require Import ZP.Op ZP.OpOf ZP.Plan ZP.PlanFacts ZP.Sums ZP.MeaningChannels ZP.Meaning ZP.Serial.
Require Import ZP.MeaningLayout ZP.Contract ZP.Gradients ZP.Pipeline ZP.Tail ZP.Ranks ZP.Kept.
Require Import ZP.Ties ZP.TiedGroups.
Require ZP.Valid ZP.LayoutFacts ZP.StepClocks ZP.StepLedgers ZP.Channels.
Import ListNotations.
Open Scope Z_scope.

Lemma sigma_combine : forall (A B : Type) (f : A -> B) (g : A * B -> Z) l,
  sigma (combine l (map f l)) g = sigma l (fun x => g (x, f x)).
Proof.
  intros A B f g l; induction l as [|x l IH]; [reflexivity |]; cbn [map combine].
  unfold sigma in *; cbn [fold_right]; rewrite IH; reflexivity.
Qed.

Lemma sigma_cons : forall (A : Type) (f : A -> Z) x l, sigma (x :: l) f = f x + sigma l f.
Proof. reflexivity. Qed.

Lemma sigma_filter : forall (A : Type) (p : A -> bool) f l,
  sigma (filter p l) f = sigma l (fun x => if p x then f x else 0).
Proof.
  intros A p f l; induction l as [|x l IH]; [reflexivity |]; unfold sigma in *; cbn [filter].
  cbn [fold_right]; rewrite <- IH; destruct (p x); reflexivity.
Qed.

Section TiedSums.

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
Notation sends := (sends A T P S X W no_message fwd bwd mean words update round c z).
Notation gets := (gets A T P S X W no_message fwd bwd mean words update round c z).
Notation exchange := (exchange A T P S X W c).
Notation key_of j := (p_tied (entry c j)).
Notation frozen j := (p_frozen (entry c j)).
Notation M := (c_micro_batches c).

(* ---- The serial loop's sum ------------------------------------------------------------------- *)

(* Over the stages, and the entries of a key on each. *)
Lemma sum_of_key : forall j e t x, 0 <= j < c_n_params c -> 0 <= key_of j ->
  serial_sum (first_use c j) e t x = sigma (range 0 (c_pp c)) (fun p =>
    sigma (range (StageFirst c p) (StageEnd c p)) (fun q =>
      if key_of q =? key_of j then use_sum M q e t x else 0)).
Proof.
  intros j e t x Hj K; rewrite (sigma_stages c C); unfold Serial.serial_sum.
  apply sigma_ext; intros q Hq; apply in_range in Hq; rewrite (first_first c j Hj).
  pose proof (first_equal c q j Hq Hj) as E.
  destruct (Z.eqb_spec (first_use c q) (first_use c j)) as [F|F];
    destruct (Z.eqb_spec (key_of q) (key_of j)) as [G|G]; try reflexivity; exfalso.
  - apply G; apply E in F; destruct F as [-> | [_ F]]; [reflexivity | exact F].
  - apply F, E; auto.
Qed.

Lemma sum_of_one : forall j e t x, 0 <= j < c_n_params c -> key_of j < 0 ->
  serial_sum (first_use c j) e t x = use_sum M j e t x.
Proof.
  intros j e t x Hj K; rewrite (first_self c j K); unfold Serial.serial_sum.
  rewrite (sigma_range_one (c_n_params c) j); [rewrite Z.eqb_refl; reflexivity | exact Hj |].
  intros q Hq N; destruct (Z.eqb_spec (first_use c q) (first_use c j)) as [F|F]; [exfalso |
    reflexivity].
  apply (first_equal c q j Hq Hj) in F; destruct F as [F | [F _]]; [contradiction | lia].
Qed.

(* ---- The flat group that a rank's program names ---------------------------------------------- *)

Lemma named_is : forall s key k f b x, 0 <= s < c_pp c -> 0 <= key < c_tied_keys c ->
  holder (layout_of c s) key = Some (k, f) -> 0 <= b < BucketsOf f ->
  o_key x = key -> o_bucket x = b ->
  named_flat (step_program c (layout_of c s)) x = k.
Proof.
  intros s key k f b x Hs Hk H Hb Ek Eb; unfold named_flat.
  set (p := fun o => comm o && (o_group o =? ZP_GROUP_TIED) && (o_key o =? o_key x) &&
    (o_bucket o =? o_bucket x)).
  assert (Not : forall o, p o = true -> StepLedgers.of_flat o -> False).
  { intros o Q [N|N]; unfold p in Q.
    - change (Channels.is_comm o) with (comm o) in N; rewrite N in Q; discriminate.
    - destruct N as [N|N]; rewrite N in Q; rewrite !andb_false_r in Q; discriminate. }
  destruct (find p (step_program c (layout_of c s))) as [o|] eqn:F.
  - apply find_some in F; destruct F as [I Q]; unfold step_program, tail_ops in I.
    apply in_app_or in I; destruct I as [I|I].
    { pose proof (StepLedgers.pipeline_shape c V s Hs) as Sh; rewrite Forall_forall in Sh.
      destruct (Sh o I) as [[[G _] | O] _]; [exfalso | destruct (Not o Q O)].
      unfold p in Q; rewrite G, !andb_false_r in Q; discriminate. }
    apply in_app_or in I; destruct I as [I|I].
    { unfold tied_ops in I; apply in_flat_map in I; destruct I as [key' [_ I]].
      unfold key_ops in I; destruct (holder (layout_of c s) key') as [[k' f']|] eqn:H';
        [| contradiction].
      apply in_map_iff in I; destruct I as [b' [<- _]]; unfold p in Q.
      apply andb_true_iff in Q; destruct Q as [Q _]; apply andb_true_iff in Q.
      destruct Q as [_ Q]; apply Z.eqb_eq in Q; rewrite Ek in Q; change (key' = key) in Q.
      rewrite Q, H in H'; injection H' as -> _; reflexivity. }
    exfalso; apply in_app_or in I; destruct I as [I|I].
    { pose proof (StepLedgers.means_shape c s (Slots (c_pp c) M + 1)) as Sh.
      rewrite Forall_forall in Sh; apply (Not o Q); left; apply (Sh o I). }
    apply in_app_or in I; destruct I as [[<- | [<- | []]] | I]; try discriminate Q.
    pose proof (StepLedgers.updates_shape c V s (Slots (c_pp c) M + 3)) as Sh.
    rewrite Forall_forall in Sh; exact (Not o Q (Sh o I)).
  - exfalso; set (o := op_tied (f_numel f) (f_capacity f) (f_members f) (f_align f) (c_stage c)
      (c_reduce c) key k (Slots (c_pp c) M) b).
    assert (I : In o (step_program c (layout_of c s))).
    { unfold step_program, tail_ops; apply in_or_app; right; apply in_or_app; left.
      unfold tied_ops; apply in_flat_map; exists key; split; [apply in_range; exact Hk |].
      unfold key_ops; rewrite H; apply in_map_iff; exists b; split; [reflexivity |].
      apply in_range; exact Hb. }
    pose proof (find_none _ _ F o I) as N; unfold p in N.
    change (o_key o) with key in N; change (o_bucket o) with b in N.
    rewrite Ek, Eb, !Z.eqb_refl in N; discriminate.
Qed.

Lemma named_of_rank : forall p d t key k f b x, within c (Coord p d t) ->
  0 <= key < c_tied_keys c -> holder (layout_of c p) key = Some (k, f) -> 0 <= b < BucketsOf f ->
  o_key x = key -> o_bucket x = b -> named_flat (step_of c (rank_at c p d t)) x = k.
Proof.
  intros p d t key k f b x Wp Hk H Hb Ek Eb; pose proof (coord_rank c C p d t Wp) as E.
  assert (L : (rank_at c p d t < ranks c)%nat).
  { destruct Wp as [Wp [Wd Wt]]; cbn [a_pp a_dp a_tp] in *.
    apply (Channels.coord_of_rank c V p d t); unfold Within.
    repeat (apply andb_true_iff; split); first [apply Z.leb_le | apply Z.ltb_lt]; lia. }
  unfold step_of; rewrite (proj2 (Nat.ltb_lt _ _) L), E; cbn [a_pp].
  apply (named_is p key k f b); try assumption; apply Wp.
Qed.

(* ---- One tied all-reduce --------------------------------------------------------------------- *)

(* The uses on one stage. *)
Lemma key_sum_is : forall s key k f b (m : mem) y, 0 <= key ->
  holder (layout_of c s) key = Some (k, f) ->
  sigma (key_flats (layout_of c s) key k) (fun i => m_sum A T P S X W m i b y) =
  sigma (range (StageFirst c s) (StageEnd c s)) (fun j =>
    if (frozen j =? 0) && (key_of j =? key)
    then m_sum A T P S X W m (number_of c s j) b y else 0).
Proof.
  intros s key k f b m y Hk H; destruct (holder_entry c V C s key k f Hk H)
    as [j [D [K [_ [-> ->]]]]].
  rewrite <- (sigma_flats c V C s key (fun k => m_sum A T P S X W m k b y) Hk); unfold key_flats.
  set (k := number_of c s j).
  destruct (tied_group c V C s j D ltac:(lia)) as [_ [_ [_ [_ [_ [G _]]]]]].
  pose proof (flat_range c C s j (proj1 D) (proj2 D)) as R; fold (number_of c s j) in R.
  rewrite sigma_cons, sigma_map, sigma_filter.
  rewrite !(numbered_is _ _ no_flat), !sigma_map; cbn [fst snd].
  fold (l_n_flats (layout_of c s)); rewrite n_flats by exact C; fold k in R.
  set (n := FlatCount c (StageEnd c s) (StageCount c s)) in *.
  set (g := fun i => m_sum A T P S X W m i b y).
  set (ft := fun i => f_tied (nth (Z.to_nat i) (l_flat (layout_of c s)) no_flat)).
  assert (Gk : ft k =? key = true) by (apply Z.eqb_eq; rewrite <- K; exact G).
  change (g k + sigma (range 0 n) (fun i => if negb (i =? k) && (ft i =? key) then g i else 0) =
    sigma (range 0 n) (fun i => if ft i =? key then g i else 0)).
  replace (g k) with (sigma (range 0 n) (fun i => if i =? k then g i else 0)).
  - rewrite <- sigma_plus; apply sigma_ext; intros i _.
    destruct (Z.eqb_spec i k) as [->|N]; cbn [negb andb]; [rewrite Gk; lia | lia].
  - rewrite (sigma_range_one n k); [rewrite Z.eqb_refl; reflexivity | exact R |].
    intros i _ N; rewrite (proj2 (Z.eqb_neq _ _) N); reflexivity.
Qed.

Lemma tied_kept : forall key first x (memory : nat -> mem) r,
  let h := Group ZP_GROUP_TIED key first in
  (forall q, In q (members c h) -> sends q h x (memory q)) -> In r (members c h) ->
  sends_tied A T P S X W no_message fwd bwd c z (coord_of c r) ZP_GROUP_TIED key x (memory r) ->
  gets r h x (memory r) (exchange h x (map memory (members c h)) r (memory r)).
Proof.
  intros key first x memory r h All Mine [k [u [b [Ex [_ [Hk [Hh [Hb _]]]]]]]].
  destruct (All r Mine) as [Ef [Wr _]]; set (a := coord_of c r) in *; set (s := a_pp a) in *.
  destruct (tied_content _ _ _ _ _ _ _ Ex) as [X1 [X2 [X3 X4]]].
  destruct (holder_entry c V C s key k _ (proj1 Hk) Hh) as [j0 [D0 [K0 [S0 [Ek0 Ef0]]]]].
  assert (On0 : On c key s = 1) by (rewrite <- K0; apply on_stage; [exact V | apply D0]).
  assert (Hm : h = Group ZP_GROUP_TIED key (first_member c ZP_GROUP_TIED key a))
    by (unfold h; rewrite Ef; reflexivity).
  assert (Wa : within c (Coord s (a_dp a) (a_tp a))) by exact Wr.
  (* What each member holds, and names. *)
  assert (Each : forall p, 0 <= p < c_pp c -> On c key p = 1 ->
    let q := rank_at c p (a_dp a) (a_tp a) in
    exists kq fq, In q (members c h) /\ coord_of c q = Coord p (a_dp a) (a_tp a) /\
      holder (layout_of c p) key = Some (kq, fq) /\ named_flat (step_of c q) x = kq /\
      forall j e, lies c p j e b -> key_of j = key ->
        owns c (Coord p (a_dp a) (a_tp a)) (group_of c p j) b (place_of c p j e b) = true ->
        m_sum A T P S X W (memory q) (number_of c p j) b (place_of c p j e b) =
          use_sum M j e (a_tp a) (copy_of c j (a_dp a))).
  { intros p Hp Op q; assert (I : In q (members c h))
      by (rewrite Hm; apply (tied_in c C); assumption).
    assert (Wq : within c (Coord p (a_dp a) (a_tp a))) by (split; [exact Hp | apply Wa]).
    assert (Cq : coord_of c q = Coord p (a_dp a) (a_tp a)) by (apply coord_rank; assumption).
    destruct (All q I) as [_ [_ Sq]]; rewrite Cq in Sq.
    destruct Sq as [[_ [Sq | [[[u' Sq] _] | Sq]]] | Sq].
    - destruct Sq as [dt [k' [mb [u' [i' [b' [Ex' _]]]]]]].
      apply gradient_content in Ex'; destruct Ex' as [Y _]; rewrite X1 in Y; discriminate.
    - apply statistics_content in Sq; destruct Sq as [Y _]; rewrite X1 in Y; discriminate.
    - destruct Sq as [dt [k' [u' [i' [b' [Ex' _]]]]]].
      apply parameter_content in Ex'; destruct Ex' as [Y _]; rewrite X1 in Y; discriminate.
    - destruct Sq as [kq [u' [b' [Ex' [_ [_ [Hq [Hbq Sq]]]]]]]]; cbn [a_pp a_dp a_tp] in *.
      destruct (tied_content _ _ _ _ _ _ _ Ex') as [_ [_ [Y3 _]]].
      rewrite X3 in Y3; subst b'; eexists kq, _; split; [exact I |]; split; [exact Cq |].
      split; [exact Hq |]; split; [| exact Sq].
      eapply named_of_rank; eassumption. }
  assert (Er : r = rank_at c s (a_dp a) (a_tp a)).
  { rewrite Hm in Mine; destruct (in_tied c C key a r Wr On0 Mine) as [p [_ [_ [E Q]]]].
    fold a in Q; rewrite E at 1; f_equal; unfold s; rewrite Q; reflexivity. }
  assert (Named : named_flat (step_of c r) x = k).
  { rewrite Er; eapply named_of_rank; eassumption. }
  assert (From : forall p, 0 <= p < c_pp c -> On c key p = 1 ->
    let q := rank_at c p (a_dp a) (a_tp a) in
    kept_from c (coord_of c q) (named_flat (step_of c q) x) x =
    if c_stage c =? 0 then 0 else a_dp a * elements x).
  { intros p Hp Op q; destruct (Each p Hp Op) as [kq [fq [_ [Cq [Hq [Nq _]]]]]].
    fold q in Cq, Nq; rewrite Cq, Nq; unfold kept_from; cbn [a_pp a_dp a_tp].
    destruct (c_stage c =? 0); [reflexivity |].
    destruct (holder_entry c V C p key kq fq (proj1 Hk) Hq) as [j [D [Kj [_ [-> _]]]]].
    change (flat_at (l_flat (layout_of c p)) (number_of c p j)) with (group_of c p j).
    destruct (tied_group c V C p j D ltac:(lia)) as [_ [_ [_ [_ [_ [_ G]]]]]].
    unfold group_index; rewrite G; reflexivity. }
  apply tied_only; [exact X1 |]; unfold Meaning.exchange, exchange_in, h.
  rewrite X1; change (ZP_WHAT_TIED =? ZP_WHAT_TIED) with true; cbv iota; fold h.
  unfold gets_tied, Meaning.tied; cbv zeta; fold a s; rewrite X2, X3, Named.
  eexists; split; [reflexivity |]; intros j e b' L; split.
  - intros Kj -> Sj O; destruct L as [D [He Ib]].
    assert (Ej : j = j0).
    { rewrite <- Sj, <- S0; apply (storage_one c V C s); try assumption; lia. }
    subst j0; unfold put_row; rewrite <- Ek0, !Z.eqb_refl; cbn [andb].
    pose proof (place_bound c C r j e b (conj D (conj He Ib))) as Pb; cbv zeta in Pb.
    fold a in Pb; fold s in Pb; fold (group_of c s j) in Pb; destruct Pb as [_ [_ [P3 P4]]].
    set (y := place_of c s j e b) in *.
    destruct (tied_group c V C s j D ltac:(lia)) as [T1 [T2 [T3 [T4 [T5 [T6 T7]]]]]].
    assert (Fr : kept_from c a k x = if c_stage c =? 0 then 0 else a_dp a * elements x).
    { pose proof (From s (proj1 Wr) On0) as Q; cbv zeta in Q; rewrite <- Er, Named in Q.
      exact Q. }
    assert (In : ((kept_from c a k x <=? y) && (y <? kept_from c a k x + elements x))%bool = true).
    { rewrite Fr, X4; unfold owns in O; rewrite <- Ef0 in *.
      destruct (part_facts (flat_in c s k) b P3) as [Q _];
        [rewrite T5; exact (pr_align c C) |].
      apply andb_true_iff; rewrite Z.leb_le, Z.ltb_lt.
      destruct (Z.eqb_spec (c_stage c) 0) as [Z0|Z0]; [rewrite Q; lia |]; cbn [orb] in O.
      unfold in_part, group_index in O; rewrite T7 in O.
      apply andb_true_iff in O; rewrite Z.leb_le, Z.ltb_lt in O.
      change (GroupIndex c ZP_GROUP_DP (-1) (a_pp a) (a_dp a) (a_tp a)) with (a_dp a) in O; lia. }
    rewrite In, sigma_map, sigma_combine; cbn [fst snd]; fold a.
    pose proof (stage_of c C s j (proj1 D)) as [Bj _].
    rewrite (sum_of_key j) by (assumption || lia).
    set (F := fun q : coord => sigma (range (StageFirst c (a_pp q)) (StageEnd c (a_pp q)))
      (fun i => if key_of i =? key then use_sum M i e (a_tp a) (copy_of c j (a_dp a)) else 0)).
    transitivity (sigma (members c h) (fun q => F (coord_of c q))).
    + apply sigma_ext; intros q Iq; rewrite Hm in Iq.
      destruct (in_tied c C key a q Wr On0 Iq) as [p [Hp [Op [Eq Cq]]]].
      destruct (Each p Hp Op) as [kq [fq [_ [_ [Hq [Nq Sq]]]]]]; rewrite <- Eq in Nq, Sq.
      pose proof (From p Hp Op) as Fq; cbv zeta in Fq; rewrite <- Eq in Fq; rewrite Fq, Fr.
      replace ((if c_stage c =? 0 then 0 else a_dp a * elements x) +
        (y - (if c_stage c =? 0 then 0 else a_dp a * elements x))) with y by lia.
      rewrite Nq, Cq; unfold F; cbn [a_pp]; rewrite (key_sum_is p key kq fq) by (assumption || lia).
      apply sigma_ext; intros i Hi; apply in_range in Hi.
      destruct (stage_of c C p i Hi) as [Bi _].
      destruct (Z.eqb_spec (key_of i) key) as [Ki|]; [| rewrite andb_false_r; reflexivity].
      destruct (same_key c V i j Bi Bj ltac:(congruence) ltac:(lia)) as [_ [_ [_ [Fi [_ Xi]]]]].
      destruct (same_key c V j j Bj Bj eq_refl ltac:(lia)) as [_ [_ [_ [_ [_ Xj]]]]].
      assert (Di : trained c p i) by (split; [exact Hi | rewrite Fi; apply D]).
      rewrite (proj2 Di); cbn [Z.eqb andb].
      destruct (tied_place c V C s j p i D Di ltac:(lia) ltac:(congruence) e b)
        as [Pl [Li [_ Ow]]].
      replace (copy_of c j (a_dp a)) with (copy_of c i (a_dp a))
        by (unfold copy_of; rewrite Xi, Xj; reflexivity).
      unfold y; rewrite Pl; apply Sq; [apply Li; split; [exact D | split; assumption] | exact Ki |].
      rewrite <- Pl; unfold y in O; rewrite <- O; symmetry.
      exact (Ow (a_dp a) (a_tp a) (a_tp a) (place_of c s j e b)).
    + rewrite Hm, (sigma_tied c C key a F Wr On0); apply sigma_ext; intros p Hp; rewrite Kj.
      apply in_range in Hp; unfold F; cbn [a_pp].
      destruct (Z.eqb_spec (On c key p) 1) as [|N]; [reflexivity |].
      symmetry; apply sigma_zero; intros i Hi; apply in_range in Hi.
      destruct (Z.eqb_spec (key_of i) key) as [Ki|]; [exfalso | reflexivity].
      apply N; rewrite <- Ki; apply on_stage; assumption.
  - intro N; unfold put_row.
    destruct (Z.eqb_spec (number_of c s j) k) as [Ek|]; cbn [andb]; [| reflexivity].
    destruct (Z.eqb_spec b' b) as [Eb|]; [exfalso | reflexivity].
    assert (j = j0); [| subst j0].
    { apply (tied_apart c V s j j0); try assumption; [apply L | lia | congruence]. }
    destruct N as [N | [N | N]]; contradiction.
Qed.

End TiedSums.
