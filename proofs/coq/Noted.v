(* The ledgers of MeaningChannels.v's channels, and those of tied groups. spec: LEDG-2, TIE-2

   `noted` gives a rank's ledger of a channel: the list of its ops there. Members of a tied group
   have equal ledgers, since the flat groups that hold a key have equal sizes on all its stages and
   contents do not name the flat group. No axioms. *)

Require Import Bool List Arith ZArith Lia.
Require Import ZP.Op ZP.OpOf ZP.Plan ZP.PlanFacts.
Require ZP.Program ZP.Valid ZP.LayoutFacts ZP.Channels ZP.StepLedgers.
Require Import ZP.MeaningChannels.
Import ListNotations.
Open Scope Z_scope.

(* After decision d, the op is issued. *)
Definition issues (d : bool) (o : op) : bool := negb (o_if_stepped o =? 1) || d.

(* The entry of an op of the rank at a in the ledger of channel h. *)
Definition noted (c : config) (h : chan) (a : coord) (d : bool) (o : op)
  : list (op * Program.clock) :=
  if comm o && issues d o && (if chan_eq_dec h (chan_of c a o) then true else false)
  then [(content_of o, (o_clock_t o, o_clock_i o))] else [].

Lemma ledger_noted : forall c h a d l,
  Program.ledger chan chan_eq_dec op h (Program.resolve chan op d (map (synchronized c a) l)) =
  flat_map (noted c h a d) l.
Proof.
  intros c h a d; induction l as [|o l IH]; [reflexivity |].
  assert (K : comm o = true -> o_kind o =? ZP_OP_DECIDE = false).
  { unfold comm, ZP_OP_FIRST_COMM, ZP_OP_DECIDE; intro H; apply Z.leb_le in H.
    apply Z.eqb_neq; lia. }
  assert (R : Program.resolve chan op d (map (synchronized c a) (o :: l)) =
    if issues d o
    then Program.unmark chan op (synchronized c a o) ::
      Program.resolve chan op d (map (synchronized c a) l)
    else Program.resolve chan op d (map (synchronized c a) l)).
  { simpl; unfold issues; destruct (_ =? ZP_OP_DECIDE); [reflexivity |].
    destruct (comm o); reflexivity. }
  rewrite R; cbn [flat_map]; rewrite <- IH; unfold noted; destruct (issues d o).
  - rewrite andb_true_r; unfold Program.ledger; cbn [flat_map]; f_equal.
    unfold Program.entry, Program.unmark, synchronized; cbn [Program.what Program.at_clock].
    destruct (comm o); [rewrite K by reflexivity | destruct (_ =? ZP_OP_DECIDE); reflexivity].
    cbn [andb]; destruct (chan_eq_dec h (chan_of c a o)); reflexivity.
  - rewrite andb_false_r; reflexivity.
Qed.

Lemma noted_in : forall c h a d l, flat_map (noted c h a d) l <> [] ->
  exists o, In o l /\ comm o = true /\ chan_of c a o = h.
Proof.
  intros c h a d l; induction l as [|o l IH]; intro N; [contradiction |].
  cbn [flat_map] in N; destruct (noted c h a d o) eqn:E.
  - destruct (IH N) as [q [I Q]]; exists q; split; [right; exact I | exact Q].
  - exists o; split; [left; reflexivity |]; unfold noted in E.
    destruct (comm o); [| discriminate]; destruct (issues d o); [| discriminate].
    destruct (chan_eq_dec h (chan_of c a o)); [auto | discriminate].
Qed.

Section Noted.

Variable c : config.
Hypothesis V : Valid.valid c.

Notation last := (Slots (c_pp c) (c_micro_batches c)).

Lemma not_noted : forall h a d o, comm o = false \/ chan_of c a o <> h -> noted c h a d o = [].
Proof.
  intros h a d o H; unfold noted; destruct (comm o); [| reflexivity].
  destruct H as [H|H]; [discriminate |]; destruct (issues d o); [| reflexivity].
  cbn [andb]; destruct (chan_eq_dec h (chan_of c a o)); [congruence | reflexivity].
Qed.

Lemma flat_chan : forall a o, o_group o = ZP_GROUP_DP \/ o_group o = ZP_GROUP_EDP ->
  chan_of c a o = Group (o_group o) (o_key o) (first_member c (o_group o) (o_key o) a).
Proof. intros a o H; unfold chan_of; destruct H as [-> | ->]; reflexivity. Qed.

(* A tied all-reduce of a key that the stage lists. *)
Definition tied_on (s : Z) (o : op) : Prop := o_group o = ZP_GROUP_TIED /\ On c (o_key o) s = 1.

Lemma tied_chan : forall s a o, tied_on s o -> chan_of c a o =
  Group ZP_GROUP_TIED (o_key o) (Coord (StageOf c (o_key o) 0) (a_dp a) (a_tp a)).
Proof. intros s a o [G _]; unfold chan_of; rewrite G; reflexivity. Qed.

(* Of a key, the ledgers on two of its stages: the flat groups that hold it have equal sizes. *)
Lemma tied_ledger : forall key a b d, 0 <= a_pp a < c_pp c -> 0 <= a_pp b < c_pp c ->
  On c key (a_pp a) = 1 -> On c key (a_pp b) = 1 -> a_dp a = a_dp b -> a_tp a = a_tp b ->
  let h := Group ZP_GROUP_TIED key (Coord (StageOf c key 0) (a_dp a) (a_tp a)) in
  flat_map (noted c h a d) (step_program c (layout_of c (a_pp a))) =
  flat_map (noted c h b d) (step_program c (layout_of c (a_pp b))).
Proof.
  intros key a b d Ha Hb Oa Ob Ed Et h.
  assert (Tied : forall e, 0 <= a_pp e < c_pp c ->
    flat_map (noted c h e d) (step_program c (layout_of c (a_pp e))) =
    flat_map (fun k => flat_map (noted c h e d) (key_ops c (layout_of c (a_pp e)) last k))
      (range 0 (c_tied_keys c))).
  { intros e He; rewrite <- Channels.flat_map_flat_map.
    fold (tied_ops c (layout_of c (a_pp e)) last).
    assert (N : forall o, StepLedgers.of_flat o -> noted c h e d o = []).
    { intros o [F | F]; apply not_noted; [left; exact F | right; rewrite (flat_chan e o F)].
      intro X; injection X as X _ _; destruct F as [F|F]; rewrite F in X; discriminate. }
    unfold step_program, tail_ops; rewrite !flat_map_app.
    rewrite (Channels.flat_map_nil _ _ _ (pipeline_ops _ _)).
    2: { eapply Forall_impl; [| apply (StepLedgers.pipeline_shape c V (a_pp e) He)].
         intros o [[[G _] | F] _]; [apply not_noted; right | apply N; exact F].
         unfold chan_of; rewrite G; discriminate. }
    rewrite (Channels.flat_map_nil _ _ _ (means_ops _ _)).
    2: { eapply Forall_impl; [| apply StepLedgers.means_shape]; intros o [L _]; apply N; left.
         exact L. }
    rewrite (Channels.flat_map_nil _ _ _ (updates_ops _ _ _)).
    2: { eapply Forall_impl; [| apply (StepLedgers.updates_shape c V)]; exact N. }
    cbn [app flat_map]; rewrite !not_noted; [rewrite !app_nil_r; reflexivity | |];
      [left; reflexivity | right; discriminate]. }
  rewrite (Tied a Ha), (Tied b Hb); apply Channels.flat_map_ext_in; intros k Hk.
  apply in_range in Hk; destruct (Z.eq_dec k key) as [->|N].
  - pose proof Oa as W; apply (LayoutFacts.on_iff c V) in W; destruct W as [j [J K]].
    pose proof (LayoutFacts.stage_range c V (a_pp a)).
    destruct (StepLedgers.holder_sizes c V (a_pp a) key j ltac:(lia) Oa ltac:(lia) K)
      as [[F A] | [F [x [f [A [An [Am [Aa Ac]]]]]]]];
      destruct (StepLedgers.holder_sizes c V (a_pp b) key j ltac:(lia) Ob ltac:(lia) K)
      as [[G B] | [G [y [g [B [Bn [Bm [Ba Bc]]]]]]]]; try contradiction; unfold key_ops;
      rewrite A, B; [reflexivity |].
    unfold BucketsOf; rewrite An, Am, Aa, Ac, Bn, Bm, Ba, Bc, !LayoutFacts.flat_map_map.
    apply Channels.flat_map_ext_in; intros i _; unfold noted.
    match goal with |- context [chan_of c a ?o] => match goal with |- context [chan_of c b ?q] =>
      assert (Q : chan_of c a o = chan_of c b q) end end.
    { change (Group ZP_GROUP_TIED key (Coord (StageOf c key 0) (a_dp a) (a_tp a)) =
        Group ZP_GROUP_TIED key (Coord (StageOf c key 0) (a_dp b) (a_tp b))).
      rewrite Ed, Et; reflexivity. }
    rewrite Q; reflexivity.
  - assert (G : forall e, flat_map (noted c h e d) (key_ops c (layout_of c (a_pp e)) last k) = []).
    { intro e; unfold key_ops; destruct (holder _ k) as [[x f]|]; [| reflexivity].
      rewrite LayoutFacts.flat_map_map; apply Channels.flat_map_nil, Forall_forall; intros i _.
      apply not_noted; right; intro X; injection X as X _; congruence. }
    rewrite !G; reflexivity.
Qed.

End Noted.
