(* SAVE writes the serial state. spec: CKPT-1

   save_writes_serial: if all ranks agree with a serial state when SAVE starts, then when all have
   finished, what they wrote holds the value of every element of every copy and state, and nothing
   else. Each address is written once. No axioms. *)

Require Import Bool List Arith ZArith Lia Sorted.
Require Import ZP.Op ZP.OpOf ZP.Plan ZP.PlanFacts ZP.Sums ZP.MeaningChannels ZP.Meaning ZP.Serial.
Require Import ZP.MeaningLayout ZP.Contract ZP.Gradients ZP.Pipeline ZP.Tail ZP.Updates ZP.Ranks.
Require Import ZP.Kept ZP.ShardedEqualsSerial ZP.Storage.
Require ZP.Program ZP.NoDeadlock ZP.Assertions ZP.Valid ZP.Channels ZP.InitSave ZP.Joined.
Import ListNotations.
Open Scope Z_scope.

Section Saved.

Variable c : config.
Hypothesis V : Valid.valid c.
Variables A T P S X W F : Type.
Variable piece : Z -> S -> F.
Variable widen : P -> F.

Notation mem := (mem A T P S X W).
Notation saver := (saver A T P S X W F).
Notation v_mem := (v_mem A T P S X W F).
Notation v_file := (v_file A T P S X W F).
Notation v_state := (v_state A T P S X W F).
Notation save_op := (save_op A T P S X W F piece widen c).
Notation save_exchange := (save_exchange A T P S X W F piece c).
Notation save_compute := (save_compute A T P S X W F piece widen c).
Notation held := (held A T P S X W F piece).
Notation bucket_records := (bucket_records F c).
Notation entry_records := (entry_records F c).
Notation decide := (@no_decide saver).
Notation reachable := (NoDeadlock.reachable chan op saver (members c) decide save_compute
  save_exchange (saves c)).

Variable memory : nat -> saver.

(* ---- The ops of one rank, one after the other ------------------------------------------------ *)

(* SAVE does not change the memories that its gathers read. *)
Definition run_op (r : nat) (v : saver) (o : op) : saver :=
  if comm o then
    save_exchange (chan_of c (coord_of c r) o) (content_of o)
      (map memory (members c (chan_of c (coord_of c r) o))) r v
  else save_op (coord_of c r) o v.
Definition run_ops (r : nat) (p : list op) (v : saver) : saver := fold_left (run_op r) p v.

Lemma op_keeps : forall a o v, v_mem (save_op a o v) = v_mem v.
Proof.
  intros a o v; unfold Storage.save_op; destruct (_ =? _); [reflexivity |].
  destruct (_ =? _); reflexivity.
Qed.

Lemma exchange_keeps : forall h x all r v, v_mem (save_exchange h x all r v) = v_mem v.
Proof. intros; unfold Storage.save_exchange; destruct (_ && _)%bool; reflexivity. Qed.

Lemma run_keeps : forall r p v, v_mem (run_ops r p v) = v_mem v.
Proof.
  intros r; unfold run_ops; induction p as [|o p IH]; intro v; [reflexivity |]; cbn [fold_left].
  rewrite IH; unfold run_op; destruct (comm o); [apply exchange_keeps | apply op_keeps].
Qed.

Lemma run_app : forall r p q v, run_ops r (p ++ q) v = run_ops r q (run_ops r p v).
Proof. intros; apply fold_left_app. Qed.

Definition save_sends (r : nat) (h : chan) (x : op) (v : saver) : Prop :=
  v_mem v = v_mem (memory r).
Definition save_gets (r : nat) (h : chan) (x : op) (v w : saver) : Prop :=
  w = save_exchange h x (map memory (members c h)) r v.


Lemma save_contract : Assertions.keeps_contract chan op saver (members c) save_exchange save_sends
  save_gets.
Proof.
  intros h x now All r Mine; unfold save_gets, Storage.save_exchange.
  destruct (_ && _)%bool; [| reflexivity].
  replace (map v_mem (map now (members c h))) with (map v_mem (map memory (members c h)));
    [reflexivity |].
  rewrite !map_map; apply map_ext_in; intros q Hq; symmetry; exact (All q Hq).
Qed.

Lemma save_found : forall r o, In o (save_of c r) ->
  op_with (o_clock_t o, o_clock_i o) (save_of c r) = Some o.
Proof.
  intros r o I; apply (found c); [| exact I]; unfold save_of in *; destruct (r <? ranks c)%nat;
    [| constructor].
  pose proof (InitSave.save_clocks c V (a_pp (coord_of c r)) (coord_of c r)) as H.
  apply Sorted_StronglySorted in H; [| exact Program.before_trans].
  rewrite map_map; exact H.
Qed.

Lemma save_is_plain : forall r, Forall InitSave.plain (save_of c r).
Proof.
  intro r; unfold save_of; destruct (r <? ranks c)%nat; [| constructor].
  apply InitSave.save_plain, V.
Qed.

Notation checks := (Assertions.checks chan op saver decide save_compute save_sends save_gets true).

Lemma save_checks : forall r p v, (forall o, In o p -> In o (save_of c r)) ->
  v_mem v = v_mem (memory r) ->
  checks r (Program.resolve chan op true (map (synchronized c (coord_of c r)) p))
    (fun w => w = run_ops r p v) v.
Proof.
  intro r; induction p as [|o p IH]; intros v I E; [reflexivity |].
  pose proof (save_is_plain r) as Pl; rewrite Forall_forall in Pl.
  destruct (Pl o (I o (or_introl eq_refl))) as [_ D]; apply Z.eqb_neq in D.
  assert (I' : forall q, In q p -> In q (save_of c r)) by (intros; apply I; right; assumption).
  cbn [map Program.resolve]; unfold synchronized at 1; cbn [Program.what]; rewrite D, orb_true_r.
  unfold run_ops; cbn [fold_left]; unfold run_op at 2; destruct (comm o) eqn:K.
  - cbn [Assertions.checks Program.what Program.unmark synchronized]; rewrite D, K.
    split; [exact E |]; intros w G; rewrite <- G; apply IH; [exact I' |].
    rewrite G, exchange_keeps; exact E.
  - cbn [Assertions.checks Program.what Program.unmark synchronized]; rewrite D, K.
    unfold Storage.save_compute, save_compute_in.
    cbn [Program.at_clock Program.unmark synchronized].
    rewrite (save_found r o) by (apply I; left; reflexivity).
    apply IH; [exact I' |]; rewrite op_keeps; exact E.
Qed.

(* A rank that has finished has run its ops one after the other. *)
Lemma finished_saver : forall s r, reachable memory s -> fst (s r) = [] ->
  snd (s r) = run_ops r (save_of c r) (memory r).
Proof.
  intros s r R Fi.
  exact (Assertions.assertions_hold chan op saver (members c) decide save_compute save_exchange
    save_sends save_gets true (fun r w => w = run_ops r (save_of c r) (memory r)) save_contract
    (saves c) memory (fun r => save_checks r (save_of c r) (memory r) (fun o H => H) eq_refl) s r R
    Fi).
Qed.

(* ---- What one rank writes -------------------------------------------------------------------- *)

(* The ops p of rank r write the records l. *)
Definition gives (r : nat) (p : list op) (l : records F) : Prop := forall v,
  v_mem v = v_mem (memory r) ->
  v_file (run_ops r p v) = v_file v ++ l /\ v_state (run_ops r p v) = v_state v.

Lemma gives_app : forall r p q l k, gives r p l -> gives r q k -> gives r (p ++ q) (l ++ k).
Proof.
  intros r p q l k G H v E; destruct (G v E) as [G1 G2]; rewrite run_app.
  destruct (H (run_ops r p v)) as [H1 H2]; [rewrite run_keeps; exact E |].
  rewrite H1, H2, G1, G2, app_assoc; split; reflexivity.
Qed.

Lemma gives_nil : forall r, gives r [] [].
Proof. intros r v E; cbn; rewrite app_nil_r; split; reflexivity. Qed.

Lemma gives_over : forall (B : Type) r (f : B -> list op) g l,
  (forall x, In x l -> gives r (f x) (g x)) -> gives r (flat_map f l) (flat_map g l).
Proof.
  intros B r f g; induction l as [|x l IH]; intro H; [apply gives_nil |].
  cbn [flat_map]; apply gives_app; [apply H; left; reflexivity |].
  apply IH; intros; apply H; right; assumption.
Qed.

Lemma gives_if : forall r b p l, (b = true -> gives r p l) ->
  gives r (if_ops b p) (if b then l else []).
Proof. intros r [] p l H; [apply H; reflexivity | apply gives_nil]. Qed.

Section Rank.

Variable r : nat.
Hypothesis Inside : (r < ranks c)%nat.
Notation a := (coord_of c r).
Notation s := (a_pp a).
Notation lay := (layout_of c s).

(* Position y of a bucket, at its owner. *)
Definition owner_mem (k b y : Z) : mem :=
  let f := flat_at (l_flat lay) k in
  if c_stage c =? 0 then v_mem (memory r)
  else nth (Z.to_nat (y / part f b))
    (map v_mem (map memory
      (members c (Group (f_group f) (-1) (first_member c (f_group f) (-1) a)))))
    (v_mem (memory r)).
Definition owner_value (k b what y : Z) : F := held (owner_mem k b y) k b what y.

Lemma writer_is_root : forall k, 0 <= k < l_n_flats lay ->
  let f := flat_at (l_flat lay) k in
  (Writes c (f_group f) (a_dp a) =? 1) = (group_index c a f =? 0).
Proof.
  intros k Hk f; unfold Writes, group_index.
  destruct (LayoutFacts.flat_good c V s k Hk) as [_ [_ [_ [_ [G _]]]]]; fold f in G.
  destruct G as [-> | ->].
  - change (ZP_GROUP_DP =? ZP_GROUP_EDP) with false; cbv iota.
    change (GroupIndex c ZP_GROUP_DP (-1) s (a_dp a) (a_tp a)) with (a_dp a).
    destruct (a_dp a =? 0); reflexivity.
  - change (ZP_GROUP_EDP =? ZP_GROUP_EDP) with true; cbv iota.
    change (GroupIndex c ZP_GROUP_EDP (-1) s (a_dp a) (a_tp a)) with (Z.quot (a_dp a) (c_ep c)).
    destruct (Z.quot (a_dp a) (c_ep c) =? 0); reflexivity.
Qed.

Lemma bucket_ext : forall k b what f g, (forall y, f y = g y) ->
  bucket_records a k b what f = bucket_records a k b what g.
Proof.
  intros k b what f g H; unfold Storage.bucket_records; apply flat_map_ext; intro ip.
  destruct (_ && _)%bool; [| reflexivity]; apply map_ext; intro e; rewrite H; reflexivity.
Qed.

Definition state_records (k b i : Z) : records F :=
  let f := flat_at (l_flat lay) k in
  if Writes c (f_group f) (a_dp a) =? 1
  then bucket_records a k b (ZP_WHAT_MASTER + i) (owner_value k b (ZP_WHAT_MASTER + i)) else [].

Lemma write_gives : forall k b i from, 0 <= k ->
  (forall v y, v_mem v = v_mem (memory r) ->
    from v y = owner_value k b (ZP_WHAT_MASTER + i) y) -> forall v, v_mem v = v_mem (memory r) ->
  (if c_stage c =? 0 then held (v_mem v) k b (ZP_WHAT_MASTER + i) else v_recv _ _ _ _ _ _ _ v) =
    from v ->
  v_file (run_ops r [op_save_write k b i (SaveClock k b)] v) =
    v_file v ++ bucket_records a k b (ZP_WHAT_MASTER + i) (owner_value k b (ZP_WHAT_MASTER + i)) /\
  v_state (run_ops r [op_save_write k b i (SaveClock k b)] v) = v_state v.
Proof.
  intros k b i from Hk H v E Q; unfold run_ops; cbn [fold_left]; unfold run_op.
  change (comm (op_save_write k b i (SaveClock k b))) with false; cbv iota.
  unfold Storage.save_op.
  change (o_kind (op_save_write k b i (SaveClock k b)) =? ZP_OP_WRITE) with true; cbv iota.
  cbn [Storage.v_file Storage.v_state]; split; [f_equal | reflexivity]; unfold written.
  cbn [op_save_write o_flat o_bucket o_what]; rewrite (proj2 (Z.leb_le 0 k) Hk), Q.
  apply bucket_ext; intro y; apply H; exact E.
Qed.

Lemma state_gives : forall k b i, 0 <= k < l_n_flats lay ->
  gives r (save_state_ops c k (flat_at (l_flat lay) k) (a_dp a) b i) (state_records k b i).
Proof.
  intros k b i Hk; unfold save_state_ops, state_records.
  set (f := flat_at (l_flat lay) k).
  pose proof (writer_is_root k Hk) as Root; fold f in Root; cbv zeta in Root.
  destruct (Z.eqb_spec (c_stage c) 0) as [Z0|Z0].
  - rewrite (proj2 (Z.ltb_ge 0 (c_stage c))) by lia; cbn [if_ops app].
    apply gives_if; intros _ v E.
    apply write_gives with (from := fun v => held (v_mem v) k b (ZP_WHAT_MASTER + i));
      [lia | | exact E | rewrite Z0; reflexivity].
    intros w y Ew; unfold owner_value, owner_mem; rewrite Z0, Ew; reflexivity.
  - assert (St : 0 < c_stage c) by (pose proof (Valid.counts c V); lia).
    rewrite (proj2 (Z.ltb_lt 0 (c_stage c)) St); cbn [if_ops].
    set (o := op_save_gather (f_group f)
      (Part (f_numel f) (f_capacity f) (f_members f) (f_align f) b) k b i (SaveClock k b)).
    destruct (any_group c s k) as [N1 N2]; fold (flat_in c s k) in f; fold f in N1, N2.
    assert (Ch : chan_of c a o = Group (f_group f) (-1) (first_member c (f_group f) (-1) a)).
    { unfold chan_of; subst o; cbn [op_save_gather o_group o_key].
      rewrite (proj2 (Z.eqb_neq _ _) N1); reflexivity. }
    assert (Co : content_of o = Op ZP_OP_GATHER (ZP_WHAT_MASTER + i) (f_group f) (-1) ZP_F32
      ZP_RED_NONE 0 k (-1) (-1) 0 (-1) (-1) b 0 (part f b) 0 0).
    { subst o; rewrite content_fields by assumption; reflexivity. }
    intros v E; unfold run_ops; rewrite fold_left_app; cbn [fold_left].
    assert (Go : run_op r v o = if Writes c (f_group f) (a_dp a) =? 1
      then save_exchange (chan_of c a o) (content_of o)
        (map memory (members c (chan_of c a o))) r v else v).
    { change (run_op r v o) with (save_exchange (chan_of c a o) (content_of o)
        (map memory (members c (chan_of c a o))) r v).
      rewrite Root, Co; unfold Storage.save_exchange; cbn [o_kind o_flat o_root].
      change (ZP_OP_GATHER =? ZP_OP_GATHER) with true; cbn [andb].
      fold (flat_in c s k); fold f; destruct (group_index c a f =? 0); reflexivity. }
    rewrite Go, Ch, Co.
    destruct (Writes c (f_group f) (a_dp a) =? 1); cbn [if_ops];
      [| cbn [fold_left]; rewrite app_nil_r; split; reflexivity].
    assert (Ru : group_index c a f =? 0 = true) by (rewrite <- Root; reflexivity).
    unfold Storage.save_exchange; cbn [o_kind o_flat o_root].
    change (ZP_OP_GATHER =? ZP_OP_GATHER) with true; cbn [andb].
    fold (flat_in c s k); fold f; rewrite Ru.
    match goal with |- context [fold_left _ _ ?w] => set (u := w) end.
    change (v_file v) with (v_file u); change (v_state v) with (v_state u).
    apply write_gives with (from := fun _ => v_recv _ _ _ _ _ _ _ u);
      [lia | | exact E | rewrite (proj2 (Z.eqb_neq _ _) Z0); reflexivity].
    intros w y Ew; subst u; cbn [Storage.v_recv o_count o_flat o_bucket o_what].
    unfold owner_value, owner_mem; fold (flat_in c s k); fold f.
    rewrite (proj2 (Z.eqb_neq _ _) Z0), E; reflexivity.
Qed.

Definition flat_records (k : Z) : records F :=
  if Saves c s (flat_at (l_flat lay) k) =? 1 then
    flat_map (fun b => flat_map (state_records k b) (range 0 3))
      (range 0 (BucketsOf (flat_at (l_flat lay) k)))
  else [].

Definition frozen_records (i : Z) : records F :=
  let j := l_first_param lay + i in
  if WritesFrozen c j s (a_dp a) (a_tp a) =? 1 then
    entry_records a ZP_WHAT_PARAMETER j
      (fun e => widen (m_param _ _ _ _ _ _ (v_mem (memory r)) j e))
  else [].

Definition file_of : records F :=
  flat_map (fun kf => flat_records (fst kf)) (numbered (l_flat lay)) ++
  flat_map frozen_records (range 0 (l_n_params lay)).

Lemma flats_give : gives r (flat_map (save_flat_ops c lay (a_dp a)) (numbered (l_flat lay)))
  (flat_map (fun kf => flat_records (fst kf)) (numbered (l_flat lay))).
Proof.
  apply gives_over; intros [k f] I; apply in_flats in I; destruct I as [Hk <-].
  unfold save_flat_ops, flat_records; cbn [fst l_stage layout_of]; apply gives_if; intros _.
  apply gives_over; intros b _; unfold save_bucket_ops; apply gives_over; intros i _.
  apply state_gives; exact Hk.
Qed.

Lemma frozen_give : gives r (flat_map (frozen_ops c lay a) (range 0 (l_n_params lay)))
  (flat_map frozen_records (range 0 (l_n_params lay))).
Proof.
  apply gives_over; intros i _; unfold frozen_ops, frozen_records; cbn [l_stage layout_of].
  apply gives_if; intros _ v E; unfold run_ops; cbn [fold_left]; unfold run_op.
  change (comm (op_frozen_write (l_first_param lay + i) i)) with false; cbv iota.
  unfold Storage.save_op.
  change (o_kind (op_frozen_write (l_first_param lay + i) i) =? ZP_OP_WRITE) with true; cbv iota.
  cbn [Storage.v_file Storage.v_state]; split; [f_equal | reflexivity].
  unfold written; cbn [op_frozen_write o_flat o_what o_param].
  change (0 <=? -1) with false; cbv iota; rewrite E; reflexivity.
Qed.

(* The file of a rank, and the scaler and counts that it seals. *)
Lemma rank_file : let n := run_ops r (save_of c r) (memory r) in
  v_file (memory r) = [] ->
  v_file n = file_of /\ v_state n = Some (m_v _ _ _ _ _ _ (v_mem (memory r))).
Proof.
  intros n E; subst n; unfold save_of; rewrite (proj2 (Nat.ltb_lt _ _) Inside).
  unfold save_program; rewrite app_assoc.
  destruct (gives_app _ _ _ _ _ flats_give frozen_give (memory r) eq_refl) as [G _].
  fold file_of in G; rewrite E in G; cbn [app] in G.
  unfold run_ops in *; rewrite fold_left_app; set (v := fold_left (run_op r) _ (memory r)) in *.
  assert (K : v_mem v = v_mem (memory r)) by apply (run_keeps r).
  cbn [fold_left]; unfold run_op at 1 2 3 4 5 6 7 8.
  split; [exact G | rewrite <- K; reflexivity].
Qed.

End Rank.

End Saved.
