(* SAVE and LOAD end, over the channels and contents of MeaningChannels.v. spec: LEDG-7, CKPT-1

   PlannerRun.v proves this for channels whose contents are a call's arguments. Here a content has
   all fields of the op, as Storage.v needs: also flat group, bucket and state. For every valid
   configuration, also with tied keys, and for any memories and any meaning of the ops. *)

Require Import Bool List Arith ZArith Lia Sorted.
Require Import ZP.Op ZP.OpOf ZP.Plan ZP.Valid ZP.MeaningChannels ZP.Noted ZP.Joined ZP.Storage.
Require ZP.Program ZP.NoDeadlock ZP.Decision ZP.Channels ZP.InitSave ZP.LayoutFacts ZP.StepLedgers.
Import ListNotations.
Open Scope Z_scope.

Section Ends.

Variable c : config.
Hypothesis V : valid c.

(* The program of the rank at a, with the coordinates as an argument. *)
Variable prog : coord -> list op.

Notation world := (Group ZP_GROUP_WORLD (-1) (Coord 0 0 0)).

Definition addressed_alike (o : op) : Prop := comm o = false \/
  (o_group o = ZP_GROUP_DP \/ o_group o = ZP_GROUP_EDP) \/
  o_group o = ZP_GROUP_WORLD /\ o_key o = -1.

Hypothesis Plain : forall a, Forall InitSave.plain (prog a).
Hypothesis Alike : forall a, Forall addressed_alike (prog a).
Hypothesis Clocks : forall a, Sorted Program.before (map Channels.clock_of (prog a)).
(* Ranks of one stage issue the same communications, and all ranks the same in the world. *)
Hypothesis Stage : forall a b h x d, a_pp a = a_pp b ->
  flat_map (noted c h x d) (prog a) = flat_map (noted c h x d) (prog b).
Hypothesis World : forall a b x d,
  flat_map (noted c world x d) (prog a) = flat_map (noted c world x d) (prog b).

Definition of_rank (r : nat) : list (Program.op chan op) :=
  map (synchronized c (coord_of c r)) (if (r <? ranks c)%nat then prog (coord_of c r) else []).

Lemma plain_in : forall r o, In o (if (r <? ranks c)%nat then prog (coord_of c r) else []) ->
  InitSave.plain o.
Proof.
  intros r o I; destruct (r <? ranks c)%nat; [| contradiction].
  pose proof (Plain (coord_of c r)) as P; rewrite Forall_forall in P; exact (P o I).
Qed.

Lemma ends_H0 : NoDeadlock.H0_shape chan op (ranks c) of_rank.
Proof.
  split.
  - intros r H; unfold of_rank; rewrite (proj2 (Nat.ltb_ge _ _) H); reflexivity.
  - intro r; unfold Program.one_program, of_rank; apply Forall_forall; intros o H.
    apply in_map_iff in H; destruct H as [q [<- _]]; unfold synchronized; cbn [Program.what].
    destruct (o_kind q =? ZP_OP_DECIDE); [discriminate |]; destruct (comm q); discriminate.
Qed.

Lemma ends_H3 : NoDeadlock.H3_clock_increases chan op of_rank.
Proof.
  intro r; unfold of_rank; destruct (r <? ranks c)%nat; [| constructor].
  rewrite map_map; exact (Clocks (coord_of c r)).
Qed.

Lemma ends_H6 : NoDeadlock.H6_decided_in_time chan op of_rank.
Proof.
  intro r; unfold of_rank; pose proof (plain_in r) as P.
  induction (if (r <? ranks c)%nat then prog (coord_of c r) else []) as [|o l IH]; [exact I |].
  cbn [map Program.decided_in_time]; split.
  - destruct (P o (or_introl eq_refl)) as [Q _]; unfold Channels.unmarked in Q.
    unfold synchronized; cbn [Program.if_stepped]; rewrite Q; reflexivity.
  - right; apply IH; intros q Hq; apply P; right; exact Hq.
Qed.

Lemma ends_decides : forall r o, In o (of_rank r) -> Program.what _ _ o <> Program.Decide _ _.
Proof.
  intros r o H; unfold of_rank in H; apply in_map_iff in H; destruct H as [q [<- Q]].
  destruct (plain_in r q Q) as [_ D]; apply Z.eqb_neq in D; unfold synchronized.
  cbn [Program.what]; rewrite D; destruct (comm q); discriminate.
Qed.

Notation ledger_at h d r := (Program.ledger chan chan_eq_dec op h
  (Program.resolve chan op d (of_rank r))).

Lemma ends_ledger : forall h d r, (r < ranks c)%nat ->
  ledger_at h d r = flat_map (noted c h (coord_of c r) d) (prog (coord_of c r)).
Proof.
  intros h d r L; unfold of_rank; rewrite (proj2 (Nat.ltb_lt _ _) L); apply ledger_noted.
Qed.

Lemma ends_op : forall h d r, ledger_at h d r <> [] -> (r < ranks c)%nat /\ exists o,
  comm o = true /\ chan_of c (coord_of c r) o = h /\ addressed_alike o.
Proof.
  intros h d r N; destruct (Nat.lt_ge_cases r (ranks c)) as [L|L].
  - split; [exact L |]; rewrite ends_ledger in N by exact L.
    destruct (noted_in _ _ _ _ _ N) as [o [I [K E]]]; exists o; split; [exact K |].
    split; [exact E |]; pose proof (Alike (coord_of c r)) as P; rewrite Forall_forall in P; auto.
  - exfalso; apply N; unfold of_rank; rewrite (proj2 (Nat.ltb_ge _ _) L); reflexivity.
Qed.

Lemma world_is_world : forall a o, o_group o = ZP_GROUP_WORLD /\ o_key o = -1 ->
  chan_of c a o = world.
Proof. intros a o [G K]; unfold chan_of; rewrite G, K; reflexivity. Qed.

Lemma ends_H2 : forall d,
  NoDeadlock.H2_members_only chan chan_eq_dec op (members c) of_rank d.
Proof.
  intros d h r N; destruct (ledger_at h d r) eqn:E; [reflexivity | exfalso; apply N; clear N].
  assert (X : ledger_at h d r <> []) by (rewrite E; discriminate); clear E.
  destruct (ends_op h d r X) as [L [o [K [<- [F | [F | F]]]]]].
  - congruence.
  - destruct (coord_bounds c V r L) as [A [B [D _]]]; rewrite (flat_chan c _ o F).
    apply (flat_group c V); try assumption; auto.
  - rewrite world_is_world by exact F; apply world_group; exact L.
Qed.

Lemma ends_same : forall h d q r, In q (members c h) -> In r (members c h) ->
  ledger_at h d q <> [] -> ledger_at h d r = ledger_at h d q.
Proof.
  intros h d q r Hq Hr X; destruct (ends_op h d q X) as [L [o [K [<- [F | [F | F]]]]]]; clear X.
  - congruence.
  - destruct (coord_bounds c V q L) as [A [B [D _]]]; rewrite (flat_chan c _ o F) in *.
    apply (flat_group c V) in Hr; try assumption; destruct Hr as [M [Pp [Tp G]]].
    rewrite !ends_ledger by assumption.
    rewrite (Stage (coord_of c r) (coord_of c q)) by exact Pp.
    apply Channels.flat_map_ext_in; intros x I.
    pose proof (Alike (coord_of c q)) as P; rewrite Forall_forall in P.
    destruct (P x I) as [Y | [Y | Y]].
    + rewrite !not_noted by (left; exact Y); reflexivity.
    + apply noted_chan; rewrite !(flat_chan c _ x Y).
      destruct (Z.eq_dec (o_group x) (o_group o)) as [Z0|Z0].
      * assert (Wt : first_member c (o_group x) (o_key x) (coord_of c r) =
          first_member c (o_group x) (o_key x) (coord_of c q)).
        { rewrite Z0; destruct F as [F|F]; rewrite F in G |- *; exact G. }
        rewrite Wt; reflexivity.
      * split; intro Q; exfalso; apply Z0; injection Q; auto.
    + rewrite !not_noted; [reflexivity | right | right]; rewrite world_is_world by exact Y;
        intro Q; injection Q; destruct F as [F|F]; rewrite F; discriminate.
  - rewrite world_is_world in * by exact F; apply world_group in Hr.
    rewrite !ends_ledger by assumption; rewrite (World (coord_of c r) (coord_of c q)).
    apply Channels.flat_map_ext_in; intros x I.
    pose proof (Alike (coord_of c q)) as P; rewrite Forall_forall in P.
    destruct (P x I) as [Y | [Y | Y]].
    + rewrite !not_noted by (left; exact Y); reflexivity.
    + rewrite !not_noted; [reflexivity | right | right]; rewrite (flat_chan c _ x Y);
        intro Q; injection Q; destruct Y as [Y|Y]; rewrite Y; discriminate.
    + apply noted_chan; rewrite !(world_is_world _ x Y); reflexivity.
Qed.

Lemma ends_ledgers : forall d,
  NoDeadlock.H1_equal_ledgers chan chan_eq_dec op (members c) of_rank d /\
  NoDeadlock.H4_equal_clocks chan chan_eq_dec op (members c) of_rank d.
Proof.
  intro d.
  assert (G : forall h q r, In q (members c h) -> In r (members c h) ->
    ledger_at h d q = ledger_at h d r).
  { intros h q r Hq Hr; destruct (ledger_at h d q) eqn:E.
    - destruct (ledger_at h d r) eqn:F; [reflexivity |].
      pose proof (ends_same h d r q Hr Hq ltac:(rewrite F; discriminate)); congruence.
    - rewrite <- E; symmetry; apply ends_same; try assumption; rewrite E; discriminate. }
  split; intros h q r Hq Hr; f_equal; apply G; assumption.
Qed.

Variable value : Type.
Variable decide : nat -> value -> bool.
Variable compute : nat -> Program.op chan op -> value -> value.
Variable exchange : chan -> op -> list value -> nat -> value -> value.
Variable memory : nat -> value.

(* No op decides, in any reachable state. *)
Lemma ends_H5 : NoDeadlock.H5_equal_decisions chan op value (members c) decide compute exchange
  of_rank memory true.
Proof.
  apply Decision.none_decides; intro r; apply Forall_forall; intros o I; apply (ends_decides r o I).
Qed.

(* No execution has more than n steps; each can be continued to the end. *)
Definition ends (p : nat -> list (Program.op chan op)) : Prop :=
  (exists n, forall k s,
    NoDeadlock.runs chan op value (members c) decide compute exchange k
      (NoDeadlock.start chan op value p memory) s -> (k <= n)%nat) /\
  forall s, NoDeadlock.reachable chan op value (members c) decide compute exchange p memory s ->
    (NoDeadlock.finished chan op value s \/
     exists t, NoDeadlock.step chan op value (members c) decide compute exchange s t) /\
    exists n t, NoDeadlock.runs chan op value (members c) decide compute exchange n s t /\
      NoDeadlock.finished chan op value t.

Theorem plain_programs_end : ends of_rank.
Proof.
  split.
  - eexists; intros k s R; pose proof (NoDeadlock.executions_are_bounded chan chan_eq_dec op value
      (members c) decide compute exchange (ranks c) of_rank memory true ends_H0
      (proj1 (ends_ledgers true)) (ends_H2 true) ends_H3 (proj2 (ends_ledgers true)) ends_H5 ends_H6
      k s R) as B.
    eapply Nat.le_trans; [apply Nat.le_add_r | exact B].
  - intros s R; split.
    + exact (NoDeadlock.no_deadlock chan chan_eq_dec op value (members c) decide compute exchange
        (ranks c) of_rank memory true ends_H0 (proj1 (ends_ledgers true)) (ends_H2 true) ends_H3
        (proj2 (ends_ledgers true)) ends_H5 ends_H6 s R).
    + exact (NoDeadlock.the_end_is_reached chan chan_eq_dec op value (members c) decide compute
        exchange (ranks c) of_rank memory true ends_H0 (proj1 (ends_ledgers true)) (ends_H2 true)
        ends_H3 (proj2 (ends_ledgers true)) ends_H5 ends_H6 s R).
Qed.

End Ends.

(* ---- SAVE and LOAD --------------------------------------------------------------------------- *)

Section SaveLoad.

Variable c : config.
Hypothesis V : valid c.

Notation world := (Group ZP_GROUP_WORLD (-1) (Coord 0 0 0)).

Definition save_prog (a : coord) : list op := save_program c (layout_of c (a_pp a)) a.

Lemma save_alike : forall a, Forall addressed_alike (save_prog a).
Proof.
  intro a; unfold save_prog, save_program; apply Forall_app; split; [| apply Forall_app; split].
  - eapply Forall_impl; [| apply (InitSave.save_flats_shape c V)]; intros o [[F | F] _];
      [left | right; left]; exact F.
  - eapply Forall_impl; [| apply InitSave.frozen_shape]; intros o [F _]; left; exact F.
  - repeat (apply Forall_cons; [(left; reflexivity) || (right; right; split; reflexivity) |]).
    constructor.
Qed.

Lemma save_stage : forall a b h x d, a_pp a = a_pp b ->
  flat_map (noted c h x d) (save_prog a) = flat_map (noted c h x d) (save_prog b).
Proof.
  intros a b h x d E; unfold save_prog, save_program; rewrite E, !flat_map_app.
  f_equal; [| f_equal].
  - rewrite !Channels.flat_map_flat_map; apply Channels.flat_map_ext_in; intros [i f] _.
    unfold save_flat_ops; destruct (Saves c _ f =? 1); [| reflexivity]; cbn [if_ops].
    rewrite !Channels.flat_map_flat_map; apply Channels.flat_map_ext_in; intros j _.
    unfold save_bucket_ops; rewrite !Channels.flat_map_flat_map.
    apply Channels.flat_map_ext_in; intros y _; unfold save_state_ops; rewrite !flat_map_app.
    f_equal; assert (W : forall q, flat_map (noted c h x d)
      (if_ops q [op_save_write i j y (SaveClock i j)]) = []) by (intros []; reflexivity).
    rewrite !W; reflexivity.
  - assert (W : forall e, flat_map (noted c h x d) (flat_map (frozen_ops c (layout_of c (a_pp b)) e)
      (range 0 (l_n_params (layout_of c (a_pp b))))) = []).
    { intro e; apply Channels.flat_map_nil; eapply Forall_impl; [| apply InitSave.frozen_shape].
      intros o [F _]; apply not_noted; left; exact F. }
    rewrite !W; reflexivity.
Qed.

Lemma save_world : forall a b x d,
  flat_map (noted c world x d) (save_prog a) = flat_map (noted c world x d) (save_prog b).
Proof.
  assert (G : forall a x d, flat_map (noted c world x d) (save_prog a) =
    flat_map (noted c world x d) InitSave.seals).
  { intros a x d; unfold save_prog, save_program; rewrite !flat_map_app.
    rewrite (Channels.flat_map_nil _ _ _ (flat_map (save_flat_ops _ _ _) _)),
      (Channels.flat_map_nil _ _ _ (flat_map (frozen_ops _ _ _) _)); [reflexivity | |].
    - eapply Forall_impl; [| apply InitSave.frozen_shape]; intros o [F _]; apply not_noted; left.
      exact F.
    - eapply Forall_impl; [| apply (InitSave.save_flats_shape c V)]; intros o [[F | F] _];
        apply not_noted; [left; exact F | right]; rewrite (flat_chan c x o F).
      intro Q; injection Q; destruct F as [F|F]; rewrite F; discriminate. }
  intros a b x d; rewrite !G; reflexivity.
Qed.

Variable value : Type.
Variable compute : nat -> Program.op chan op -> value -> value.
Variable exchange : chan -> op -> list value -> nat -> value -> value.
Variable memory : nat -> value.

Notation ends := (ends c value no_decide compute exchange memory).

Theorem save_ends : ends (saves c).
Proof.
  exact (plain_programs_end c V save_prog (fun a => InitSave.save_plain c V (a_pp a) a) save_alike
    (fun a => InitSave.save_clocks c V (a_pp a) a) save_stage save_world value no_decide compute
    exchange memory).
Qed.

Theorem load_ends : ends (loads c).
Proof.
  assert (Pl : coord -> Forall InitSave.plain load_program)
    by (intros _; repeat constructor; discriminate).
  assert (Al : coord -> Forall addressed_alike load_program).
  { intros _; repeat (apply Forall_cons;
      [(left; reflexivity) || (right; right; split; reflexivity) |]).
    constructor. }
  assert (Cl : coord -> Sorted Program.before (map Channels.clock_of load_program))
    by (intros _; repeat constructor; unfold Program.before; cbn; lia).
  exact (plain_programs_end c V (fun _ => load_program) Pl Al Cl (fun _ _ _ _ _ _ => eq_refl)
    (fun _ _ _ _ => eq_refl) value no_decide compute exchange memory).
Qed.

End SaveLoad.
