(* Sharded equals serial, from the planner's hypotheses. spec: LEDG-2, LEDG-7, PIPE-3, STEP-6

   ShardedEqualsSerial.v has H1 ... H4 as hypotheses, over the channels of MeaningChannels.v, whose
   contents are ops. Here they are proven for every valid configuration: H3 from step_H3, the others
   from the lemmas about the blocks of STEP in StepLedgers.v. Members of a dp or edp group run one
   program; the world has one entry; the contents at the ends of a link are functions of those in
   Channels.v; the flat groups that hold a key have equal sizes on all its stages. *)

Require Import Bool List Arith ZArith Lia Sorted.
Require Import ZP.Op ZP.OpOf ZP.Plan ZP.PlanFacts ZP.Valid.
Require ZP.Program ZP.NoDeadlock ZP.Schedule ZP.Channels ZP.StepLedgers ZP.StepHypotheses.
Require ZP.StepShape.
Require ZP.LayoutFacts.
Require Import ZP.MeaningChannels ZP.Meaning ZP.Serial ZP.MeaningLayout ZP.Contract.
Require Import ZP.TiedGroups ZP.ShardedEqualsSerial.
Require Export ZP.Noted.
Import ListNotations.
Open Scope Z_scope.

(* ---- Valid configurations -------------------------------------------------------------------- *)

Theorem valid_is_proper : forall c, valid c -> proper c.
Proof.
  intros c V; destruct (sizes c V) as [A [B [D [E [F _]]]]].
  destruct (Valid.counts c V) as [S _]; destruct (amounts c V) as [M [N L]].
  pose proof (valid_switches c V) as W; unfold ValidSwitches in W; bools.
  constructor; try lia.
  - intros j Hj; destruct (entry_ranges c V j Hj) as [R1 [R2 [_ [_ [R5 [_ [R7 _]]]]]]].
    pose proof (valid_entries c V j Hj) as X; unfold ValidEntry in X; bools.
    unfold entry; lia.
  - intros i j Hi Hj; apply (stages_sorted c V); lia.
Qed.

(* ---- H3 -------------------------------------------------------------------------------------- *)

Theorem joined_H3 : forall c, valid c ->
  NoDeadlock.H3_clock_increases chan op (rank_program c).
Proof.
  intros c V r; pose proof (StepHypotheses.step_H3 c V r) as H.
  unfold StepHypotheses.step_of, Channels.rank_program in H; unfold rank_program, step_of.
  change (Channels.ranks c) with (ranks c) in H.
  change (Channels.coord_of c r) with (coord_of c r) in H.
  destruct (r <? ranks c)%nat; [| constructor].
  rewrite map_map in H |- *; exact H.
Qed.

(* ---- Ledgers --------------------------------------------------------------------------------- *)

(* The content of a link in MeaningChannels.v, from that in Channels.v. *)
Definition hop_op (x : Channels.call) : op :=
  match x with
  | Channels.Hop kind dtype count down up =>
      Op kind ZP_WHAT_NONE ZP_GROUP_PP (-1) dtype ZP_RED_NONE (-1) (-1) (-1) (-1) 0 down up (-1) 0
        count 0 0
  | Channels.Call kind what key count dtype redop root =>
      Op kind what ZP_GROUP_PP key dtype redop root (-1) (-1) (-1) 0 (-1) (-1) (-1) 0 count 0 0
  end.

Section Step.

Variable c : config.
Hypothesis V : valid c.
Let C : proper c := valid_is_proper c V.

Notation last := (Slots (c_pp c) (c_micro_batches c)).

(* ---- Which ops STEP contains ----------------------------------------------------------------- *)

(* Of stage s, an exchange with a neighbour that exists. *)
Definition exchange_of (s : Z) (o : op) : Prop :=
  StepLedgers.exchanges c s o /\ o_redop o = ZP_RED_NONE /\ o_if_stepped o = 0 /\
  o_what o =? ZP_WHAT_ACTIVATION = (o_root o =? s + 1).

Definition known (s : Z) (o : op) : Prop :=
  StepLedgers.of_flat o \/ exchange_of s o \/ tied_on c s o.

Lemma exchange_fields : forall dynamic s backward x y t,
  Forall (fun o => o_redop o = ZP_RED_NONE /\ o_if_stepped o = 0 /\
    o_what o =? ZP_WHAT_ACTIVATION = (o_root o =? s + 1))
    (exchange_ops dynamic s backward x y t).
Proof.
  intros dynamic s backward x y t.
  assert (H : forall kind dtype x y i, let o := op_hop kind dtype s backward x y t i in
    o_redop o = ZP_RED_NONE /\ o_if_stepped o = 0 /\
    o_what o =? ZP_WHAT_ACTIVATION = (o_root o =? s + 1)).
  { intros; subst o; unfold op_hop; cbn [o_redop o_if_stepped o_what o_root].
    destruct (backward =? 0); cbn [negb]; repeat split.
    - symmetry; apply Z.eqb_neq; lia.
    - symmetry; apply Z.eqb_eq; reflexivity. }
  unfold exchange_ops; apply StepLedgers.Forall_if; intros _; apply Forall_app; split.
  - apply StepLedgers.Forall_if; intros _; constructor; [apply H | constructor].
  - constructor; [apply H | constructor].
Qed.

(* The only other op is the all-reduce of the statistics. *)
Lemma step_known : forall s, 0 <= s < c_pp c -> exists l m : list op,
  step_program c (layout_of c s) = l ++ op_statistics (last + 2) :: m /\
  Forall (known s) l /\ Forall (known s) m.
Proof.
  intros s Hs; exists (pipeline_ops c (layout_of c s) ++ tied_ops c (layout_of c s) last ++
    means_ops (layout_of c s) (last + 1)).
  exists (op_decision (last + 2) :: updates_ops c (layout_of c s) (last + 3)).
  unfold step_program, tail_ops; rewrite <- !app_assoc; split; [reflexivity |].
  split; [apply Forall_app; split; [| apply Forall_app; split] | constructor].
  - unfold pipeline_ops; apply StepLedgers.Forall_over; intros t Ht; apply in_range in Ht.
    unfold slot_ops, head_ops; cbn [l_stage layout_of]; repeat (apply Forall_app; split).
    + pose proof (StepLedgers.exchange_shape c s t Hs (proj1 Ht)) as E.
      rewrite Forall_forall in E |- *; intros o O; right; left; split; [apply E, O |].
      revert o O; apply Forall_forall, exchange_fields.
    + eapply Forall_impl; [| apply StepLedgers.compute_local]; intros o [L _]; left; left; exact L.
    + apply StepLedgers.Forall_if; intros _.
      eapply Forall_impl; [| apply (StepLedgers.entries_shape c V)]; intros o [L _]; left; exact L.
  - eapply Forall_impl; [| apply (StepLedgers.tied_shape c V)]; intros o [L _]; right; right.
    exact L.
  - eapply Forall_impl; [| apply StepLedgers.means_shape]; intros o [L _]; left; left; exact L.
  - left; left; reflexivity.
  - eapply Forall_impl; [| apply (StepLedgers.updates_shape c V)]; intros o L; left; exact L.
Qed.

Lemma step_in : forall s o, 0 <= s < c_pp c -> In o (step_program c (layout_of c s)) ->
  known s o \/ o = op_statistics (last + 2).
Proof.
  intros s o Hs I; destruct (step_known s Hs) as [l [m [E [L M]]]]; rewrite E in I.
  rewrite Forall_forall in L, M; apply in_app_or in I; destruct I as [I | [I | I]]; auto.
Qed.

(* ---- Members --------------------------------------------------------------------------------- *)

Lemma ranks_at : forall p d t, 0 <= p < c_pp c -> 0 <= d < c_dp c -> 0 <= t < c_tp c ->
  coord_of c (rank_at c p d t) = Coord p d t /\ (rank_at c p d t < ranks c)%nat.
Proof.
  intros p d t Hp Hd Ht; apply (Channels.coord_of_rank c V); unfold Within; cases;
    lia || reflexivity.
Qed.

Lemma coord_bounds : forall r, (r < ranks c)%nat -> let a := coord_of c r in
  0 <= a_pp a < c_pp c /\ 0 <= a_dp a < c_dp c /\ 0 <= a_tp a < c_tp c /\
  rank_at c (a_pp a) (a_dp a) (a_tp a) = r.
Proof.
  intros r H a; pose proof (Channels.coord_within c V r H) as W.
  change (Channels.coord_of c r) with a in W; unfold Within in W; bools.
  repeat split; try lia; unfold rank_at.
  pose proof (Channels.rank_of_coord c V r H) as E; change (Channels.coord_of c r) with a in E.
  rewrite E; apply Nat2Z.id.
Qed.

Lemma world_group : forall key a r,
  In r (members c (Group ZP_GROUP_WORLD key a)) <-> (r < ranks c)%nat.
Proof.
  intros key a r; unfold members, ranks; rewrite in_map_iff.
  change (GroupSize c ZP_GROUP_WORLD key (a_pp a)) with (World c).
  assert (M : forall i, 0 <= i < World c ->
    GroupMember c ZP_GROUP_WORLD key (a_pp a) (a_dp a) (a_tp a) i = i).
  { intros i Hi; unfold GroupMember.
    change (GroupSize c ZP_GROUP_WORLD key (a_pp a)) with (World c).
    rewrite (proj2 (Z.ltb_ge i 0)), (proj2 (Z.leb_gt (World c) i)) by lia; reflexivity. }
  split.
  - intros [i [<- I]]; apply in_range in I; rewrite M by exact I; lia.
  - intro L; exists (Z.of_nat r); rewrite in_range; split; [rewrite M |]; lia.
Qed.

(* Of a dp or edp group: the ranks of one stage and tp index with the same first member. *)
Lemma flat_group : forall g key a r, g = ZP_GROUP_DP \/ g = ZP_GROUP_EDP ->
  0 <= a_pp a < c_pp c -> 0 <= a_dp a < c_dp c -> 0 <= a_tp a < c_tp c ->
  In r (members c (Group g key (first_member c g key a))) <->
  (r < ranks c)%nat /\ a_pp (coord_of c r) = a_pp a /\ a_tp (coord_of c r) = a_tp a /\
  first_member c g key (coord_of c r) = first_member c g key a.
Proof.
  intros g key [p d t] r G Hp Hd Ht; cbn [a_pp a_dp a_tp] in *; unfold members; rewrite in_map_iff.
  destruct (sizes c V) as [_ [_ [_ [E [R _]]]]].
  destruct G as [-> | ->].
  - change (first_member c ZP_GROUP_DP key (Coord p d t)) with (Coord p 0 t).
    cbn [a_pp a_dp a_tp]; change (GroupSize c ZP_GROUP_DP key p) with (c_dp c).
    assert (M : forall i, 0 <= i < c_dp c ->
      Z.to_nat (GroupMember c ZP_GROUP_DP key p 0 t i) = rank_at c p i t).
    { intros i Hi; unfold GroupMember; change (GroupSize c ZP_GROUP_DP key p) with (c_dp c).
      rewrite (proj2 (Z.ltb_ge i 0)), (proj2 (Z.leb_gt (c_dp c) i)) by lia; reflexivity. }
    split.
    + intros [i [<- I]]; apply in_range in I; rewrite M by exact I.
      destruct (ranks_at p i t Hp I Ht) as [-> L]; auto.
    + intros [L [P [T _]]]; destruct (coord_bounds r L) as [_ [D [_ Q]]].
      exists (a_dp (coord_of c r)); rewrite in_range; split; [rewrite M by exact D | exact D].
      rewrite <- P, <- T; exact Q.
  - change (first_member c ZP_GROUP_EDP key (Coord p d t)) with (Coord p (Z.rem d (c_ep c)) t).
    cbn [a_pp a_dp a_tp]; change (GroupSize c ZP_GROUP_EDP key p) with (Z.quot (c_dp c) (c_ep c)).
    pose proof (Z.quot_rem' (c_dp c) (c_ep c)) as Q; rewrite R in Q.
    set (n := Z.quot (c_dp c) (c_ep c)) in *; set (e := c_ep c) in *.
    pose proof (Z.rem_bound_pos d e ltac:(lia) ltac:(lia)) as B.
    assert (X : forall i x, 0 <= i -> 0 <= x < e -> Z.rem (i * e + x) e = x).
    { intros i x Hi Hx; rewrite Z.rem_mod_nonneg by nia.
      rewrite Z.add_comm, Z.mod_add by lia; apply Z.mod_small; exact Hx. }
    assert (M : forall i, 0 <= i < n ->
      Z.to_nat (GroupMember c ZP_GROUP_EDP key p (Z.rem d e) t i) =
      rank_at c p (i * e + Z.rem d e) t).
    { intros i Hi; unfold GroupMember; change (GroupSize c ZP_GROUP_EDP key p) with n.
      rewrite (proj2 (Z.ltb_ge i 0)), (proj2 (Z.leb_gt n i)) by lia.
      unfold ZP_GROUP_EDP, ZP_GROUP_WORLD, ZP_GROUP_DP, ZP_GROUP_TP, ZP_GROUP_PP.
      cbn [orb Z.eqb Pos.eqb]; fold e; unfold rank_at; do 2 f_equal; unfold Mix.
      rewrite (proj2 (Z.leb_gt _ _)) by lia; rewrite (Z.rem_small (Z.rem d e)) by exact B.
      reflexivity. }
    split.
    + intros [i [<- I]]; apply in_range in I; rewrite M by exact I.
      destruct (ranks_at p (i * e + Z.rem d e) t Hp ltac:(nia) Ht) as [-> L].
      repeat split; [exact L |].
      change (Coord p (Z.rem (i * e + Z.rem d e) e) t = Coord p (Z.rem d e) t).
      rewrite X by lia; reflexivity.
    + intros [L [P [T F]]]; destruct (coord_bounds r L) as [_ [D [_ K]]].
      change (Coord (a_pp (coord_of c r)) (Z.rem (a_dp (coord_of c r)) e) (a_tp (coord_of c r)) =
        Coord p (Z.rem d e) t) in F.
      assert (F2 : Z.rem (a_dp (coord_of c r)) e = Z.rem d e) by exact (f_equal a_dp F).
      pose proof (Z.quot_rem' (a_dp (coord_of c r)) e) as Y.
      exists (Z.quot (a_dp (coord_of c r)) e); rewrite in_range.
      assert (I : 0 <= Z.quot (a_dp (coord_of c r)) e < n).
      { pose proof (Z.rem_bound_pos (a_dp (coord_of c r)) e ltac:(lia) ltac:(lia)); nia. }
      split; [| exact I].
      rewrite M by exact I; rewrite <- F2, <- P, <- T.
      rewrite (Z.mul_comm _ e), <- Y; exact K.
Qed.

(* ---- Equal ledgers --------------------------------------------------------------------------- *)

Lemma noted_chan : forall h a b d o, (chan_of c a o = h <-> chan_of c b o = h) ->
  noted c h a d o = noted c h b d o.
Proof.
  intros h a b d o [F G]; unfold noted.
  destruct (chan_eq_dec h (chan_of c a o)) as [X|X], (chan_eq_dec h (chan_of c b o)) as [Y|Y];
    try reflexivity; exfalso; [apply Y | apply X]; symmetry; auto.
Qed.

Lemma exchange_chan : forall s a o, exchange_of s o -> a_pp a = s ->
  chan_of c a o = Link (Z.min s (o_root o)) (a_dp a) (a_tp a).
Proof. intros s a o [[G _] _] <-; unfold chan_of; rewrite G; reflexivity. Qed.

Notation world_chan := (Group ZP_GROUP_WORLD (-1) (Coord 0 0 0)).

Lemma world_ledger : forall a d, 0 <= a_pp a < c_pp c ->
  flat_map (noted c world_chan a d) (step_program c (layout_of c (a_pp a))) =
  [(content_of (op_statistics (last + 2)), (last + 2, 0))].
Proof.
  intros a d Hs; destruct (step_known (a_pp a) Hs) as [l [m [E [L M]]]]; rewrite E.
  assert (N : forall k, Forall (known (a_pp a)) k -> flat_map (noted c world_chan a d) k = []).
  { intros k K; apply Channels.flat_map_nil; eapply Forall_impl; [| exact K].
    intros o [[F | F] | [F | F]]; apply not_noted; [left; exact F | right | right | right].
    - rewrite (flat_chan c a o F); intro X; injection X as X _ _.
      destruct F as [F|F]; rewrite F in X; discriminate.
    - rewrite (exchange_chan _ a o F eq_refl); discriminate.
    - rewrite (tied_chan c _ a o F); discriminate. }
  rewrite flat_map_app; cbn [flat_map]; rewrite !N by assumption; rewrite app_nil_r; cbn [app].
  unfold noted; destruct (chan_eq_dec world_chan (chan_of c a (op_statistics (last + 2)))) as [|X].
  - reflexivity.
  - exfalso; apply X; reflexivity.
Qed.

Lemma map_over : forall (A B D : Type) (f : B -> D) (g : A -> list B) l,
  map f (flat_map g l) = flat_map (fun x => map f (g x)) l.
Proof.
  intros A B D f g l; induction l as [|x l IH]; [reflexivity |].
  cbn [flat_map]; rewrite map_app, IH; reflexivity.
Qed.

(* The ledger of a link is at both ends that of Channels.v. *)
Lemma link_noted : forall (down : bool) s e t a d o, a_dp a = e -> a_tp a = t ->
  a_pp a = (if down then s else s + 1) -> known (a_pp a) o \/ o = op_statistics (last + 2) ->
  noted c (Link s e t) a d o =
  map (fun xk => (hop_op (fst xk), snd xk)) (Channels.hop down (if down then s + 1 else s) d o).
Proof.
  intros down s e t a d o E T P K.
  assert (None : comm o = false \/ o_group o <> ZP_GROUP_PP ->
    noted c (Link s e t) a d o = map (fun xk => (hop_op (fst xk), snd xk))
      (Channels.hop down (if down then s + 1 else s) d o)).
  { intro N; rewrite StepLedgers.not_pp_hop by exact N; apply not_noted.
    destruct N as [N|N]; [left; exact N | right]; unfold chan_of.
    apply Z.eqb_neq in N; rewrite N; discriminate. }
  destruct K as [[[F | F] | [F | F]] | F].
  - apply None; left; exact F.
  - apply None; right; destruct F as [F|F]; rewrite F; discriminate.
  - unfold noted, Channels.hop; rewrite (exchange_chan _ a o F eq_refl), E, T.
    destruct F as [[G R] [Q [S W]]].
    unfold issues, Channels.issued, Channels.marked; rewrite S, G.
    change (Channels.is_comm o) with (comm o); destruct (comm o); [| reflexivity].
    cbn [Z.eqb negb orb andb Pos.eqb ZP_GROUP_PP].
    assert (D : (if chan_eq_dec (Link s e t) (Link (Z.min (a_pp a) (o_root o)) e t) then true
      else false) = (o_root o =? (if down then s + 1 else s))).
    { destruct (chan_eq_dec _ _) as [X|X].
      - injection X as X; symmetry; apply Z.eqb_eq; destruct down; lia.
      - symmetry; apply Z.eqb_neq; intro Y; apply X; f_equal; destruct down; lia. }
    rewrite D; destruct (Z.eqb_spec (o_root o) (if down then s + 1 else s)) as [Y|];
      [| reflexivity].
    unfold Channels.only; cbn [map fst snd]; unfold Channels.clock_of, content_of.
    rewrite G, W, Q, S, P, Y; destruct down.
    + rewrite !Z.eqb_refl; reflexivity.
    + rewrite (proj2 (Z.eqb_neq s (s + 1 + 1))) by lia; reflexivity.
  - apply None; right; rewrite (proj1 F); discriminate.
  - apply None; right; rewrite F; discriminate.
Qed.

Lemma link_ledger : forall s e t a d, 0 <= s -> s + 1 < c_pp c ->
  a = Coord s e t \/ a = Coord (s + 1) e t ->
  flat_map (noted c (Link s e t) a d) (step_program c (layout_of c (a_pp a))) =
  map (fun xk => (hop_op (fst xk), snd xk))
    (flat_map (Channels.hop true (s + 1) d) (step_program c (layout_of c s))).
Proof.
  intros s e t a d Hs H1 [-> | ->]; [| rewrite (StepLedgers.step_link c V s d Hs H1)];
    rewrite map_over; apply Channels.flat_map_ext_in; intros o I;
    [apply (link_noted true) | apply (link_noted false)]; try reflexivity;
    apply step_in; try exact I; cbn; lia.
Qed.

Notation ledger_at h d r := (Program.ledger chan chan_eq_dec op h
  (Program.resolve chan op d (rank_program c r))).

Lemma ledger_is : forall h d r, (r < ranks c)%nat -> ledger_at h d r =
  flat_map (noted c h (coord_of c r) d) (step_program c (layout_of c (a_pp (coord_of c r)))).
Proof.
  intros h d r L; unfold rank_program, step_of; rewrite (proj2 (Nat.ltb_lt _ _) L).
  apply ledger_noted.
Qed.

(* A rank with an entry in the ledger of h has an op on h. *)
Lemma ledger_op : forall h d r, ledger_at h d r <> [] -> (r < ranks c)%nat /\ exists o,
  comm o = true /\ chan_of c (coord_of c r) o = h /\
  (known (a_pp (coord_of c r)) o \/ o = op_statistics (last + 2)).
Proof.
  intros h d r N; destruct (Nat.lt_ge_cases r (ranks c)) as [L|L].
  - split; [exact L |]; rewrite ledger_is in N by exact L.
    destruct (noted_in _ _ _ _ _ N) as [o [I [K E]]]; exists o; split; [exact K |].
    split; [exact E |]; apply step_in; [apply (coord_bounds r L) | exact I].
  - exfalso; apply N; unfold rank_program, step_of; rewrite (proj2 (Nat.ltb_ge _ _) L).
    reflexivity.
Qed.

Lemma link_ends : forall s a o, exchange_of s o -> a_pp a = s ->
  let m := Z.min s (o_root o) in 0 <= s < c_pp c -> 0 <= m /\ m + 1 < c_pp c /\
  (a = Coord m (a_dp a) (a_tp a) \/ a = Coord (m + 1) (a_dp a) (a_tp a)).
Proof.
  intros s [p e t] o [[_ R] _] P m Hs; cbn [a_pp a_dp a_tp] in *; subst p.
  destruct R as [[R B] | [R B]]; subst m; rewrite R.
  - replace (Z.min s (s + 1)) with s by lia; auto with zarith.
  - replace (Z.min s (s - 1)) with (s - 1) by lia; replace (s - 1 + 1) with s by lia.
    repeat split; try lia; right; reflexivity.
Qed.

Lemma joined_members_only : forall d,
  NoDeadlock.H2_members_only chan chan_eq_dec op (members c) (rank_program c) d.
Proof.
  intros d h r N; destruct (ledger_at h d r) eqn:E; [reflexivity | exfalso; apply N; clear N].
  assert (X : ledger_at h d r <> []) by (rewrite E; discriminate); clear E.
  destruct (ledger_op h d r X) as [L [o [K [<- [[[F|F]|[F|F]] | F]]]]].
  - unfold Channels.is_comm in F; unfold comm in K; congruence.
  - destruct (coord_bounds r L) as [A [B [D _]]]; rewrite (flat_chan c _ o F).
    apply flat_group; try assumption; auto.
  - destruct (coord_bounds r L) as [A [B [D Q]]]; rewrite (exchange_chan _ _ o F eq_refl).
    destruct (link_ends _ _ o F eq_refl A) as [_ [_ G]]; cbn [members In].
    destruct G as [G|G]; [left | right; left];
      (transitivity (rank_at c (a_pp (coord_of c r)) (a_dp (coord_of c r)) (a_tp (coord_of c r)));
       [f_equal; symmetry; exact (f_equal a_pp G) | exact Q]).
  - destruct (coord_bounds r L) as [A [B [D Q]]]; rewrite (tied_chan c _ (coord_of c r) o F).
    pose proof (tied_in c C (o_key o) (coord_of c r) (a_pp (coord_of c r))) as I; rewrite Q in I.
    apply I; try assumption; [split; auto | |]; apply F.
  - rewrite F; apply world_group; exact L.
Qed.

Lemma same_ledger : forall h d q r, In q (members c h) -> In r (members c h) ->
  ledger_at h d q <> [] -> ledger_at h d r = ledger_at h d q.
Proof.
  intros h d q r Hq Hr X.
  destruct (ledger_op h d q X) as [L [o [K [<- [[[F|F]|[F|F]] | F]]]]]; clear X.
  - unfold Channels.is_comm in F; unfold comm in K; congruence.
  - destruct (coord_bounds q L) as [A [B [D _]]]; rewrite (flat_chan c _ o F) in *.
    apply flat_group in Hr; try assumption; destruct Hr as [M [P [T G]]].
    rewrite !ledger_is, P by assumption; apply Channels.flat_map_ext_in; intros x I.
    destruct (step_in _ x A I) as [[[Y|Y]|[Y|Y]] | Y].
    + rewrite !not_noted by (left; exact Y); reflexivity.
    + apply noted_chan; rewrite !(flat_chan c _ x Y).
      destruct (Z.eq_dec (o_group x) (o_group o)) as [Z0|Z0].
      * assert (W : first_member c (o_group x) (o_key x) (coord_of c r) =
          first_member c (o_group x) (o_key x) (coord_of c q)).
        { rewrite Z0; destruct F as [F|F]; rewrite F in G |- *; exact G. }
        rewrite W; reflexivity.
      * split; intro Q; exfalso; apply Z0; injection Q; auto.
    + rewrite !not_noted; [reflexivity | right | right].
      * rewrite (exchange_chan _ _ x Y eq_refl); discriminate.
      * rewrite (exchange_chan _ _ x Y P); discriminate.
    + rewrite !not_noted; [reflexivity | right | right];
        rewrite (tied_chan c _ _ x Y); intro Q; injection Q; destruct F as [F|F]; rewrite F;
        discriminate.
    + rewrite !not_noted; [reflexivity | right | right]; rewrite Y; intro Q; injection Q;
        destruct F as [F|F]; rewrite F; discriminate.
  - destruct (coord_bounds q L) as [A [B [D _]]]; rewrite (exchange_chan _ _ o F eq_refl) in *.
    destruct (link_ends _ _ o F eq_refl A) as [M0 [M1 G]].
    set (m := Z.min (a_pp (coord_of c q)) (o_root o)) in *.
    set (e := a_dp (coord_of c q)) in *; set (t := a_tp (coord_of c q)) in *.
    assert (R : (r < ranks c)%nat /\
      (coord_of c r = Coord m e t \/ coord_of c r = Coord (m + 1) e t)).
    { cbn [members In] in Hr; destruct Hr as [<- | [<- | []]].
      - destruct (ranks_at m e t ltac:(lia) B D); auto.
      - destruct (ranks_at (m + 1) e t ltac:(lia) B D); auto. }
    destruct R as [R Q]; rewrite !ledger_is, !link_ledger by assumption; reflexivity.
  - destruct (coord_bounds q L) as [A [B [D _]]]; rewrite (tied_chan c _ (coord_of c q) o F) in *.
    set (a := coord_of c q) in *; set (key := o_key o) in *.
    assert (Wa : within c a) by (split; auto).
    destruct (in_tied c C key a r Wa (proj2 F) Hr) as [p [Hp [Op [Er Cr]]]].
    assert (R : (r < ranks c)%nat) by (rewrite Er; apply ranks_at; assumption).
    rewrite !ledger_is by assumption; fold a; rewrite Cr; cbn [a_pp].
    symmetry; apply (tied_ledger c V key a (Coord p (a_dp a) (a_tp a)) d); try assumption;
      try reflexivity; apply F.
  - rewrite F in *.
    change (chan_of c (coord_of c q) (op_statistics (last + 2))) with world_chan in *.
    apply world_group in Hr; rewrite !ledger_is by assumption.
    rewrite !world_ledger by (apply coord_bounds; assumption); reflexivity.
Qed.

Lemma joined_ledgers : forall d,
  NoDeadlock.H1_equal_ledgers chan chan_eq_dec op (members c) (rank_program c) d /\
  NoDeadlock.H4_equal_clocks chan chan_eq_dec op (members c) (rank_program c) d.
Proof.
  intro d.
  assert (G : forall h q r, In q (members c h) -> In r (members c h) ->
    ledger_at h d q = ledger_at h d r).
  { intros h q r Hq Hr; destruct (ledger_at h d q) eqn:E.
    - destruct (ledger_at h d r) eqn:F; [reflexivity |].
      pose proof (same_ledger h d r q Hr Hq ltac:(rewrite F; discriminate)); congruence.
    - rewrite <- E; symmetry; apply same_ledger; try assumption; rewrite E; discriminate. }
  split; intros h q r Hq Hr; f_equal; apply G; assumption.
Qed.

End Step.

(* ---- Sharded equals serial ------------------------------------------------------------------- *)

Section Main.

Variable c : config.
Hypothesis V : valid c.

Theorem joined_H1 : forall d,
  NoDeadlock.H1_equal_ledgers chan chan_eq_dec op (members c) (rank_program c) d.
Proof. apply (joined_ledgers c V). Qed.

Theorem joined_H2 : forall d,
  NoDeadlock.H2_members_only chan chan_eq_dec op (members c) (rank_program c) d.
Proof. apply (joined_members_only c V). Qed.

Theorem joined_H4 : forall d,
  NoDeadlock.H4_equal_clocks chan chan_eq_dec op (members c) (rank_program c) d.
Proof. apply (joined_ledgers c V). Qed.

Variables A T P S X W : Type.
Variable no_message : A.
Variable fwd : coord -> W -> list (list P) -> A -> Z -> A * T * (Z -> Z).
Variable bwd : coord -> W -> list (list P) -> T -> A -> Z -> A * (Z -> option (Z -> Z)).
Variable mean : Z -> X.
Variable words : X -> Z -> Z.
Variable go : W -> list Z -> bool.
Variable update : Z -> W -> list Z -> X -> S -> S.
Variable round : Z -> S -> P.
Variable next : W -> list Z -> W.

Notation mem := (mem A T P S X W).
Notation decide := (decide A T P S X W go).
Notation compute := (compute A T P S X W no_message fwd bwd mean words update round c).
Notation exchange := (exchange A T P S X W c).
Notation reachable := (NoDeadlock.reachable chan op mem (members c) decide compute exchange
  (rank_program c)).
Notation runs := (NoDeadlock.runs chan op mem (members c) decide compute exchange).
Notation stuck := (NoDeadlock.stuck chan op mem (members c) decide compute exchange).
Notation finished := (NoDeadlock.finished chan op mem).
Notation agrees := (agrees A T P S X W c).
Notation stepped := (stepped A T P S X W no_message fwd bwd mean words go update round next c).
Notation serial_step :=
  (serial_step A T P S X W no_message fwd bwd mean words go update round next c).
Notation serial_go := (serial_go A T P S X W no_message fwd bwd mean words go c).
Notation trains := (trains A T P S X W no_message fwd bwd mean words go update round next c).

(* sharded_step, sharded_run and step_ends without a hypothesis about the programs. *)

Theorem planned_step_is_serial : forall z memory,
  (forall r, (r < ranks c)%nat -> agrees z r (memory r)) ->
  forall s r, reachable memory s -> (r < ranks c)%nat -> fst (s r) = [] -> stepped z r (snd (s r)).
Proof.
  exact (sharded_step A T P S X W no_message fwd bwd mean words go update round next c
    (valid_is_proper c V) V (joined_H3 c V)).
Qed.

Theorem planned_steps_are_serial : forall z m n m',
  (forall r, (r < ranks c)%nat -> agrees z r (m r)) -> trains m n m' ->
  forall r, (r < ranks c)%nat -> agrees (Nat.iter n serial_step z) r (m' r).
Proof.
  exact (sharded_run A T P S X W no_message fwd bwd mean words go update round next c
    (valid_is_proper c V) V (joined_H3 c V)).
Qed.

Theorem planned_step_ends : forall z memory,
  (forall r, (r < ranks c)%nat -> agrees z r (memory r)) ->
  forall s, reachable memory s -> stuck s ->
  finished s /\ forall r, (r < ranks c)%nat -> stepped z r (snd (s r)).
Proof.
  intros z memory Start.
  exact (step_ends A T P S X W no_message fwd bwd mean words go update round next c
    (valid_is_proper c V) V (joined_H3 c V) z memory Start (joined_H1 _) (joined_H2 _)
    (joined_H4 _)).
Qed.

Lemma runs_append : forall n m s t u, runs n s t -> runs m t u -> runs (n + m) s u.
Proof.
  intros n m s t u R; induction R as [s t E | n s v t St R IH]; intro Q.
  - apply Schedule.runs_same with t; [intro r; symmetry; apply E | exact Q].
  - eapply NoDeadlock.runs_more; [exact St | apply IH; exact Q].
Qed.

(* From every reachable state an execution leads to the end. *)
Theorem planned_step_is_completed : forall z memory,
  (forall r, (r < ranks c)%nat -> agrees z r (memory r)) ->
  forall s, reachable memory s ->
  exists n t, runs n s t /\ finished t /\ forall r, (r < ranks c)%nat -> stepped z r (snd (t r)).
Proof.
  intros z memory Start s R.
  destruct (NoDeadlock.the_end_is_reached chan chan_eq_dec op mem (members c) decide compute
    exchange (ranks c) (rank_program c) memory (serial_go z) (StepShape.step_shape c) (joined_H1 _)
    (joined_H2 _) (joined_H3 c V) (joined_H4 _)
    (decisions_equal A T P S X W no_message fwd bwd mean words go update round next c
      (valid_is_proper c V) V (joined_H3 c V) z memory Start)
    (StepShape.step_decided_in_time c) s R) as [n [t [Rt F]]].
  exists n, t; split; [exact Rt |]; split; [exact F |]; intros r L.
  apply planned_step_is_serial with memory; [exact Start | | exact L | apply F].
  destruct R as [k R]; exists (k + n)%nat; eapply runs_append; eassumption.
Qed.

End Main.
