(* INIT, SAVE and LOAD: the hypotheses of NoDeadlock.v, for every valid configuration.
   spec: LEDG-2, LEDG-4, LEDG-7, CKPT-1, CKPT-2

   No op of these programs is marked, and none decides, so each hypothesis holds for both decisions.
   SAVE depends on the dp and tp index: ranks write different parts, but they call alike. *)

Require Import Bool List Arith ZArith Lia Sorted.
Require Import ZP.Program ZP.NoDeadlock.
Require Import ZP.Op ZP.OpOf ZP.Plan ZP.Valid ZP.LayoutFacts ZP.Channels ZP.StepClocks.
Require Import ZP.StepLedgers.
Import ListNotations.
Open Scope Z_scope.

(* Neither marked nor a decision. *)
Definition plain (o : op) : Prop := unmarked o /\ o_kind o <> ZP_OP_DECIDE.

Section InitSave.

Variable c : config.
Hypothesis V : valid c.
Variable s : Z.
Notation lay := (layout_of c s).

(* ---- INIT ------------------------------------------------------------------------------------ *)

(* The entry whose first values are those of the key is the last one on the stage. *)
Lemma first_entry : forall key, 0 <= key ->
  let found := find (fun j => IsKey c j key =? 1)
    (rev (range (l_first_param lay) (l_first_param lay + l_n_params lay))) in
  (On c key s = 1 <-> found <> None) /\
  (forall j, found = Some j -> 0 <= j < c_n_params c /\ p_tied (entry_at c j) = key).
Proof.
  intros key P found; pose proof (stage_range c V s) as R.
  assert (F : l_first_param lay + l_n_params lay = StageEnd c s).
  { rewrite (n_spots c V s); change (l_first_param lay) with (StageFirst c s).
    unfold StageCount; lia. }
  assert (G : forall j, found = Some j ->
    StageFirst c s <= j < StageEnd c s /\ p_tied (entry_at c j) = key).
  { intros j E; apply find_some in E; destruct E as [I E]; apply in_rev, in_range in I.
    rewrite F in I; split; [exact I |]; unfold IsKey in E.
    destruct (Z.eqb_spec (p_tied (entry_at c j)) key); [assumption | discriminate]. }
  split; [split |].
  - intros O N; apply (on_iff c V) in O; destruct O as [j [I T]].
    assert (X : (IsKey c j key =? 1) = false).
    { apply (find_none _ _ N); apply -> in_rev; apply in_range; rewrite F; exact I. }
    unfold IsKey in X; rewrite T, Z.eqb_refl in X; discriminate.
  - intro N; destruct found as [j|]; [| contradiction]; apply (on_iff c V).
    exists j; apply G; reflexivity.
  - intros j E; destruct (G j E); split; [lia | assumption].
Qed.

Lemma tied_first_shape : Forall (fun o => o_group o = ZP_GROUP_TIED /\ On c (o_key o) s = 1 /\
  plain o) (flat_map (tied_first_ops c lay) (range 0 (c_tied_keys c))).
Proof.
  apply Forall_over; intros key Hk; apply in_range in Hk; unfold tied_first_ops.
  destruct (first_entry key ltac:(lia)) as [O _]; destruct (find _ _); [| constructor].
  constructor; [| constructor]; fields; split; [reflexivity |]; split.
  - apply O; discriminate.
  - split; [reflexivity | discriminate].
Qed.

Lemma tp_first_shape : Forall (fun o => o_group o = ZP_GROUP_TP /\ plain o)
  (flat_map (tp_first_ops c lay) (range 0 (l_n_params lay))).
Proof.
  apply Forall_over; intros i _; unfold tp_first_ops; apply Forall_if; intros _.
  repeat constructor; discriminate.
Qed.

Lemma dp_first_shape : Forall (fun o => (o_group o = ZP_GROUP_DP \/ o_group o = ZP_GROUP_EDP) /\
  plain o) (flat_map (dp_first_ops c lay) (range 0 (l_n_params lay))).
Proof.
  apply Forall_over; intros i _; unfold dp_first_ops; apply Forall_if; intros _.
  constructor; [| constructor]; split; [| split; [reflexivity | discriminate]].
  fields; unfold GroupOf; destruct (negb _); auto.
Qed.

Lemma creation_shape : Forall (fun o => o_group o = ZP_GROUP_WORLD /\ plain o)
  (map op_creation (range 1 (6 + c_tied_keys c))).
Proof.
  apply Forall_forall; intros o H; apply in_map_iff in H; destruct H as [x [<- _]].
  repeat constructor; discriminate.
Qed.

Lemma init_forall : forall P : op -> Prop, Forall P (map op_creation (range 1 (6 + c_tied_keys c)))
  -> Forall P (flat_map (tied_first_ops c lay) (range 0 (c_tied_keys c))) ->
  Forall P (flat_map (tp_first_ops c lay) (range 0 (l_n_params lay))) ->
  Forall P (flat_map (dp_first_ops c lay) (range 0 (l_n_params lay))) -> P op_install ->
  Forall P (init_program c lay).
Proof.
  intros P A B D E F; unfold init_program; repeat (apply Forall_app; split; [assumption |]).
  constructor; [exact F | constructor].
Qed.

Lemma init_plain : Forall plain (init_program c lay).
Proof.
  apply init_forall; [| | | | split; [reflexivity | discriminate]].
  - eapply Forall_impl; [| apply creation_shape]; intros o H; apply H.
  - eapply Forall_impl; [| apply tied_first_shape]; intros o H; apply H.
  - eapply Forall_impl; [| apply tp_first_shape]; intros o H; apply H.
  - eapply Forall_impl; [| apply dp_first_shape]; intros o H; apply H.
Qed.

(* A call of a group whose members are ranks of one stage, or of the world. *)
Lemma group_addressed : forall a o, has_ledger (o_group o) = true ->
  (o_group o = ZP_GROUP_TIED -> On c (o_key o) (a_pp a) = 1) -> addressed c a o.
Proof.
  intros a o H T _; unfold channel_of.
  replace (o_group o =? ZP_GROUP_PP) with false; [apply own_channel; assumption |].
  symmetry; apply Z.eqb_neq; intro E; rewrite E in H; discriminate.
Qed.

Lemma init_addressed : forall a, a_pp a = s -> Forall (addressed c a) (init_program c lay).
Proof.
  intros a E; apply init_forall; [| | | | intro X; discriminate X].
  - eapply Forall_impl; [| apply creation_shape]; intros o [G _].
    apply group_addressed; rewrite G; [reflexivity | discriminate].
  - eapply Forall_impl; [| apply tied_first_shape]; intros o [G [K _]].
    apply group_addressed; rewrite G; [reflexivity | rewrite E; intros _; exact K].
  - eapply Forall_impl; [| apply tp_first_shape]; intros o [G _].
    apply group_addressed; rewrite G; [reflexivity | discriminate].
  - eapply Forall_impl; [| apply dp_first_shape]; intros o [[G|G] _];
      apply group_addressed; rewrite G; (reflexivity || discriminate).
Qed.

Lemma init_clocks : Sorted before (map clock_of (init_program c lay)).
Proof.
  pose proof (counts c V); pose proof (stage_range c V s); pose proof (n_spots c V s) as N.
  apply StronglySorted_Sorted; unfold init_program, StageCount in *.
  apply (clocked_app (0, 0) (1, 0) (5, 0)); try clocks.
  { rewrite map_flat_map; eapply clocked_widen;
      [apply (clocked_range (fun x => (0, x))); [| lia] | clocks | clocks].
    intros x _; split; [one | clocks]. }
  apply clocked_app with (m := (2, 0)); try clocks.
  { eapply clocked_widen;
      [apply (clocked_range (fun x => (1, x))); [| lia] | clocks | clocks].
    intros x _; split; [| clocks]; unfold tied_first_ops.
    destruct (find _ _); [one | apply clocked_nil]. }
  apply clocked_app with (m := (3, 0)); try clocks.
  { eapply clocked_widen;
      [apply (clocked_range (fun x => (2, x))); [| lia] | clocks | clocks].
    intros x _; split; [| clocks]; apply clocked_if; intros _; one. }
  apply clocked_app with (m := (4, 0)); try clocks; [| one].
  eapply clocked_widen;
    [apply (clocked_range (fun x => (3, x))); [| lia] | clocks | clocks].
  intros x _; split; [| clocks]; apply clocked_if; intros _; one.
Qed.

Lemma init_world : forall key k, flat_map (put ZP_GROUP_WORLD key k) (init_program c lay) =
  flat_map (put ZP_GROUP_WORLD key k) (map op_creation (range 1 (6 + c_tied_keys c))).
Proof.
  intros key k; unfold init_program; rewrite flat_map_app; rewrite <- app_nil_r; f_equal.
  apply flat_map_nil; repeat (apply Forall_app; split); [| | | repeat constructor];
    (eapply Forall_impl;
      [| apply tied_first_shape || apply tp_first_shape || apply dp_first_shape]);
    intros o H; apply other_put; cbn in H; intro X; rewrite X in H; intuition discriminate.
Qed.

Lemma init_tied_only : forall key k, flat_map (put ZP_GROUP_TIED key k) (init_program c lay) =
  flat_map (put ZP_GROUP_TIED key k) (flat_map (tied_first_ops c lay) (range 0 (c_tied_keys c))).
Proof.
  intros key k; unfold init_program; rewrite !flat_map_app, (flat_map_nil _ _ _ (map _ _)).
  - cbn [app]; rewrite <- app_nil_r; f_equal; rewrite <- !flat_map_app; apply flat_map_nil.
    repeat (apply Forall_app; split); [| | repeat constructor];
      (eapply Forall_impl; [| apply tp_first_shape || apply dp_first_shape]);
      intros o H; apply other_put; cbn in H; intro X; rewrite X in H; intuition discriminate.
  - eapply Forall_impl; [| apply creation_shape]; intros o [G _]; apply other_put; rewrite G.
    discriminate.
Qed.

Lemma init_hop : forall down peer k, flat_map (hop down peer k) (init_program c lay) = [].
Proof.
  intros down peer k; apply flat_map_nil, init_forall; [| | | | reflexivity];
    (eapply Forall_impl; [| apply creation_shape || apply tied_first_shape ||
       apply tp_first_shape ||
       apply dp_first_shape]);
    intros o H; apply not_pp_hop; right; cbn in H; intro X; rewrite X in H; intuition discriminate.
Qed.

(* ---- SAVE and LOAD --------------------------------------------------------------------------- *)

Lemma save_flats_shape : forall dp, Forall (fun o => of_flat o /\ plain o)
  (flat_map (save_flat_ops c lay dp) (numbered (l_flat lay))).
Proof.
  intro dp; rewrite over_flats; apply Forall_over; intros k Hk; apply in_range in Hk.
  destruct (flat_good c V s k Hk) as [_ [_ [_ [_ [G _]]]]].
  unfold save_flat_ops; apply Forall_if; intros _; apply Forall_over; intros b _.
  unfold save_bucket_ops; apply Forall_over; intros i _; unfold save_state_ops.
  apply Forall_app; split; apply Forall_if; intros _; (constructor; [| constructor]).
  - split; [right; exact G | split; [reflexivity | discriminate]].
  - split; [left; reflexivity | split; [reflexivity | discriminate]].
Qed.

Lemma frozen_shape : forall a, Forall (fun o => is_comm o = false /\ plain o)
  (flat_map (frozen_ops c lay a) (range 0 (l_n_params lay))).
Proof.
  intro a; apply Forall_over; intros i _; unfold frozen_ops; apply Forall_if; intros _.
  repeat constructor; discriminate.
Qed.

Definition seals : list op :=
  [op_plain ZP_OP_SEAL 2 0; op_agreement ZP_WHAT_STATUS 1 2 1;
   op_plain ZP_OP_COMMIT 2 2; op_agreement ZP_WHAT_STATUS 1 2 3].

Lemma save_plain : forall a, Forall plain (save_program c lay a).
Proof.
  intro a; unfold save_program; apply Forall_app; split; [| apply Forall_app; split].
  - eapply Forall_impl; [| apply save_flats_shape]; intros o H; apply H.
  - eapply Forall_impl; [| apply frozen_shape]; intros o H; apply H.
  - repeat constructor; discriminate.
Qed.

Lemma world_addressed : forall a o, o_group o = ZP_GROUP_WORLD -> addressed c a o.
Proof. intros a o G; apply group_addressed; rewrite G; [reflexivity | discriminate]. Qed.

Lemma save_addressed : forall a, Forall (addressed c a) (save_program c lay a).
Proof.
  intro a; unfold save_program; apply Forall_app; split; [| apply Forall_app; split].
  - eapply Forall_impl; [| apply save_flats_shape]; intros o [H _]; apply of_flat_addressed, H.
  - eapply Forall_impl; [| apply frozen_shape]; intros o [H _]; apply of_flat_addressed; left;
      exact H.
  - repeat (apply Forall_cons;
      [(intro X; discriminate X) || (apply world_addressed; reflexivity) |]).
    constructor.
Qed.

Lemma save_clocks : forall a, Sorted before (map clock_of (save_program c lay a)).
Proof.
  intro a; pose proof (n_flats_most c V s); pose proof (stage_range c V s).
  pose proof (n_spots c V s) as N; unfold StageCount in N.
  apply StronglySorted_Sorted; unfold save_program.
  apply (clocked_app (0, 0) (1, 0) (3, 0)); try clocks.
  { rewrite over_flats; eapply clocked_widen;
      [apply (clocked_range (fun k => (0, k * 8796093022208))); [| lia] | clocks | clocks].
    intros k Hk; split; [| clocks]; unfold save_flat_ops; apply clocked_if; intros _.
    destruct (flat_good c V s k Hk) as [_ [_ [_ [_ [_ [_ [_ [_ B]]]]]]]].
    eapply clocked_widen;
      [apply (clocked_range (fun b => (0, SaveClock k b))); [| exact (proj1 B)] | |];
      unfold SaveClock; try clocks.
    intros b Hb; split; [| clocks]; unfold save_bucket_ops; eapply clocked_widen;
      [apply (clocked_range (fun i => (0, SaveClock k b + 2 * i))); [| lia] | |];
      unfold SaveClock; try clocks.
    intros i Hi; split; [| clocks]; unfold save_state_ops.
    apply clocked_app with (m := (0, k * 8796093022208 + 6 * b + 2 * i + 1)); try clocks;
      apply clocked_if; intros _; apply clocked_one; unfold clock_of; fields; unfold SaveClock;
      clocks. }
  apply clocked_app with (m := (2, 0)); try clocks.
  { eapply clocked_widen;
      [apply (clocked_range (fun x => (1, x))); [| lia] | clocks | clocks].
    intros x _; split; [| clocks]; apply clocked_if; intros _; one. }
  apply (clocked_app (2, 0) (2, 1) (3, 0) [_]); try clocks; [one |].
  apply (clocked_app (2, 1) (2, 2) (3, 0) [_]); try clocks; [one |].
  apply clocked_two; unfold clock_of; fields; clocks.
Qed.

(* Only local ops of SAVE depend on the dp and tp index. *)
Lemma save_same : forall g key k a b, flat_map (put g key k) (save_program c lay a) =
  flat_map (put g key k) (save_program c lay b).
Proof.
  intros g key k a b; unfold save_program; rewrite !flat_map_app; f_equal; [| f_equal].
  - rewrite !flat_map_flat_map; apply flat_map_ext_in; intros [i f] _; unfold save_flat_ops.
    destruct (Saves c (l_stage lay) f =? 1); [| reflexivity]; cbn [if_ops].
    rewrite !flat_map_flat_map; apply flat_map_ext_in; intros j _; unfold save_bucket_ops.
    rewrite !flat_map_flat_map; apply flat_map_ext_in; intros x _; unfold save_state_ops.
    rewrite !flat_map_app; f_equal.
    assert (W : forall q, flat_map (put g key k)
      (if_ops q [op_save_write i j x (SaveClock i j)]) = []) by (intros []; reflexivity).
    rewrite !W; reflexivity.
  - assert (W : forall e, flat_map (put g key k)
      (flat_map (frozen_ops c lay e) (range 0 (l_n_params lay))) = []).
    { intro e; apply flat_map_nil; eapply Forall_impl; [| apply frozen_shape]; intros o [H _].
      apply local_put, H. }
    rewrite !W; reflexivity.
Qed.

Lemma save_put : forall g key k a, g <> ZP_GROUP_DP -> g <> ZP_GROUP_EDP ->
  flat_map (put g key k) (save_program c lay a) = flat_map (put g key k) seals.
Proof.
  intros g key k a D E; unfold save_program; rewrite !flat_map_app.
  rewrite (flat_map_nil _ _ _ (flat_map (save_flat_ops _ _ _) _)),
    (flat_map_nil _ _ _ (flat_map (frozen_ops _ _ _) _)); [reflexivity | |].
  - eapply Forall_impl; [| apply frozen_shape]; intros o [H _]; apply local_put, H.
  - eapply Forall_impl; [| apply save_flats_shape]; intros o [H _]; apply of_flat_put; assumption.
Qed.

Lemma save_hop : forall down peer k a, flat_map (hop down peer k) (save_program c lay a) = [].
Proof.
  intros down peer k a; apply flat_map_nil; unfold save_program; apply Forall_app; split;
    [| apply Forall_app; split].
  - eapply Forall_impl; [| apply save_flats_shape]; intros o [H _]; apply of_flat_hop, H.
  - eapply Forall_impl; [| apply frozen_shape]; intros o [H _]; apply not_pp_hop; auto.
  - repeat constructor.
Qed.

End InitSave.
