(* STEP: which ranks communicate, and equal ledgers. spec: LEDG-2, LEDG-7, PIPE-3, TIE-2

   Members of a dp, edp or tp group are ranks of one stage, whose programs are equal. The world has
   one entry. For a link, stage s sends in each slot the micro-batch that stage s + 1 receives in
   that slot, and the reverse (Link_Pair in spec/acsl/pipeline_lemmas.h). For a tied key, the flat
   groups that hold it have equal sizes on all stages. *)

Require Import Bool List Arith ZArith Lia.
Require Import ZP.Program ZP.NoDeadlock.
Require Import ZP.Op ZP.OpOf ZP.Plan ZP.Valid ZP.LayoutFacts ZP.Channels ZP.StepClocks.
Import ListNotations.
Open Scope Z_scope.

Lemma other_put : forall g key k o, o_group o <> g -> put g key k o = [].
Proof.
  intros g key k o N; apply Z.eqb_neq in N; unfold put; rewrite N, !andb_false_r; reflexivity.
Qed.

Lemma local_put : forall g key k o, is_comm o = false -> put g key k o = [].
Proof. intros g key k o N; unfold put; rewrite N; reflexivity. Qed.

(* ---- Which ops a block contains -------------------------------------------------------------- *)

(* Local, or a call of the reduction group of a flat group. *)
Definition of_flat (o : op) : Prop :=
  is_comm o = false \/ o_group o = ZP_GROUP_DP \/ o_group o = ZP_GROUP_EDP.

Lemma Forall_if : forall (P : op -> Prop) b l, (b = true -> Forall P l) -> Forall P (if_ops b l).
Proof. intros P [] l H; [exact (H eq_refl) | constructor]. Qed.

Lemma Forall_over : forall (A : Type) (P : op -> Prop) (f : A -> list op) l,
  (forall x, In x l -> Forall P (f x)) -> Forall P (flat_map f l).
Proof. intros A P f l H; apply Forall_flat_map, Forall_forall, H. Qed.

Lemma compute_local : forall S M s backward mb t,
  Forall (fun o => is_comm o = false /\ unmarked o) (compute_ops S M s backward mb t).
Proof.
  intros; unfold compute_ops; apply Forall_if; intros _; destruct (backward =? 0).
  - unfold forward_ops; apply Forall_app; split; [apply Forall_if; intros _ |];
      repeat constructor.
  - repeat constructor.
Qed.

Section Step.

Variable c : config.
Hypothesis V : valid c.
Variable s : Z.
Notation lay := (layout_of c s).

(* An exchange is with the next or the previous stage, which exists. *)
Definition exchanges (o : op) : Prop :=
  o_group o = ZP_GROUP_PP /\
  (o_root o = s + 1 /\ s + 1 < c_pp c \/ o_root o = s - 1 /\ 0 <= s - 1).

Lemma backward_slot : forall t, 0 <= s -> 0 <= t -> BackwardSlot s t = 0 \/ BackwardSlot s t = 1.
Proof.
  intros t Hs Ht; unfold BackwardSlot; rewrite Z.rem_mod_nonneg by lia.
  pose proof (Z.mod_pos_bound (t + s) 2 ltac:(lia)); lia.
Qed.

Lemma exchange_shape : forall t, 0 <= s < c_pp c -> 0 <= t ->
  Forall (fun o => exchanges o /\ unmarked o)
    (exchange_ops (c_dynamic_shapes c) s (BackwardSlot s t) (Sent (c_pp c) (c_micro_batches c) s t)
       (Received (c_pp c) (c_micro_batches c) s t) t).
Proof.
  intros t Hs Ht; unfold exchange_ops; apply Forall_if; intro E.
  assert (G : BackwardSlot s t = 1 /\ s + 1 < c_pp c \/ BackwardSlot s t = 0 /\ 0 <= s - 1).
  { destruct (backward_slot t ltac:(lia) Ht) as [B|B]; rewrite ?B; [right | left]; split; trivial.
    - unfold Sent, Received in E; rewrite B in E; cbn [Z.eqb] in E.
      destruct (Z.ltb_spec 0 s); [lia | discriminate].
    - unfold Sent, Received in E; rewrite B in E; cbn [Z.eqb Pos.eqb] in E.
      destruct (Z.ltb_spec s (c_pp c - 1)); [lia | discriminate]. }
  assert (R : forall kind dtype send recv i,
    exchanges (op_hop kind dtype s (BackwardSlot s t) send recv t i) /\
    unmarked (op_hop kind dtype s (BackwardSlot s t) send recv t i)).
  { intros; unfold exchanges, unmarked; fields.
    destruct G as [[-> ?] | [-> ?]]; cbn; repeat split; lia. }
  apply Forall_app; split; [apply Forall_if; intros _ |]; constructor; auto.
Qed.

Lemma entries_shape : forall mb t,
  Forall (fun o => of_flat o /\ unmarked o) (entries_ops c lay mb t).
Proof.
  intros mb t; unfold entries_ops; rewrite (over_rev_numbered _ _ _ _ no_spot).
  apply Forall_over; intros i Hi; apply in_rev, in_range in Hi.
  change (Z.of_nat (length (l_spot lay))) with (l_n_params lay) in Hi;
    rewrite (n_spots c V s) in Hi.
  fold (spot_at (l_spot lay) i); destruct (spot_good c V s i Hi) as [_ S].
  unfold entry_ops; apply Forall_if; intro K; bools; destruct S as [|[K' _]]; [lia |].
  destruct (flat_good c V s _ K') as [_ [_ [_ [_ [G _]]]]].
  unfold gradient_ops; apply Forall_over; intros b _; apply Forall_cons.
  - split; [left |]; reflexivity.
  - apply Forall_if; intros _; apply Forall_cons; [| constructor].
    split; [right; exact G | reflexivity].
Qed.

Lemma tied_shape : forall t,
  Forall (fun o => (o_group o = ZP_GROUP_TIED /\ On c (o_key o) s = 1) /\ unmarked o)
    (tied_ops c lay t).
Proof.
  intro t; unfold tied_ops; apply Forall_over; intros key Hk; apply in_range in Hk.
  unfold key_ops; destruct (holder lay key) as [[k f]|] eqn:E; [| constructor].
  apply (holder_good c s) in E; destruct E as [K [-> H]].
  apply Forall_forall; intros o O; apply in_map_iff in O; destruct O as [b [<- _]].
  split; [| reflexivity]; fields; split; [reflexivity |].
  destruct (flat_good c V s k K) as [E [J _]]; rewrite E in H.
  apply (on_iff c V); exists (Opener c (StageEnd c s) (StageCount c s) k); split; [exact J |].
  unfold HoldsKey in H; destruct (_ && _) eqn:B in H; [| discriminate]; bools; assumption.
Qed.

Lemma means_shape : forall t,
  Forall (fun o => is_comm o = false /\ unmarked o) (means_ops lay t).
Proof.
  intro t; unfold means_ops; apply Forall_over; intros [k f] _; unfold mean_ops.
  apply Forall_forall; intros o O; apply in_map_iff in O; destruct O as [b [<- _]].
  split; reflexivity.
Qed.

Lemma updates_shape : forall t, Forall of_flat (updates_ops c lay t).
Proof.
  intro t; unfold updates_ops; apply Forall_app.
  assert (G : forall u, Forall of_flat (pass_ops c lay t u)); [| split; apply G].
  intro u; unfold pass_ops; rewrite over_flats; apply Forall_over; intros k Hk.
  apply in_range in Hk; destruct (flat_good c V s k Hk) as [_ [_ [_ [_ [G _]]]]].
  unfold update_ops; apply Forall_over; intros b _; unfold update_bucket_ops; apply Forall_cons.
  - left; reflexivity.
  - apply Forall_if; intros _; apply Forall_cons; [right; exact G | constructor].
Qed.

(* All ops of the pipeline. Stage s exists. *)
Lemma pipeline_shape : 0 <= s < c_pp c ->
  Forall (fun o => (exchanges o \/ of_flat o) /\ unmarked o) (pipeline_ops c lay).
Proof.
  intro Hs; unfold pipeline_ops; apply Forall_over; intros t Ht; apply in_range in Ht.
  unfold slot_ops; apply Forall_app; split; [unfold head_ops; apply Forall_app; split |].
  - eapply Forall_impl; [| exact (exchange_shape t Hs (proj1 Ht))]; intros o [H U]; auto.
  - eapply Forall_impl; [| apply compute_local]; intros o [H U]; unfold of_flat; auto.
  - apply Forall_if; intros _; eapply Forall_impl; [| apply entries_shape]; intros o [H U]; auto.
Qed.

Lemma tail_forall : forall (P : op -> Prop) t, Forall P (tied_ops c lay t) ->
  Forall P (means_ops lay (t + 1)) -> P (op_statistics (t + 2)) -> P (op_decision (t + 2)) ->
  Forall P (updates_ops c lay (t + 3)) -> Forall P (tail_ops c lay t).
Proof.
  intros P t A B C D E; unfold tail_ops; apply Forall_app; split; [exact A |].
  apply Forall_app; split; [exact B |]; apply Forall_app; split; [| exact E].
  constructor; [exact C | constructor; [exact D | constructor]].
Qed.

(* ---- H2 and H6 ------------------------------------------------------------------------------- *)

Lemma of_flat_addressed : forall a o, of_flat o -> addressed c a o.
Proof.
  intros a o [H | H] C; [congruence |]; unfold channel_of.
  replace (o_group o =? ZP_GROUP_PP) with false by (destruct H as [-> | ->]; reflexivity).
  apply own_channel; destruct H as [-> | ->]; trivial; discriminate.
Qed.

Lemma exchanges_addressed : forall a o, a_pp a = s -> 0 <= s < c_pp c -> exchanges o ->
  addressed c a o.
Proof.
  intros [p d t] o E Hs [G R] _; cbn [a_pp] in E; subst p; unfold channel_of; rewrite G.
  cbn [a_pp a_dp a_tp Z.eqb Pos.eqb ZP_GROUP_PP].
  destruct R as [[R L] | [R L]]; rewrite R.
  - rewrite Z.eqb_refl; unfold member; cbn [a_pp a_dp a_tp]; rewrite !Z.eqb_refl.
    cases; try lia; reflexivity.
  - replace (s - 1 =? s + 1) with false by (symmetry; apply Z.eqb_neq; lia).
    rewrite Z.eqb_refl; unfold member; cbn [a_pp a_dp a_tp]; rewrite !Z.eqb_refl.
    cases; try lia; reflexivity.
Qed.

Lemma step_addressed : forall a, a_pp a = s -> 0 <= s < c_pp c ->
  Forall (addressed c a) (step_program c lay).
Proof.
  intros a E Hs; unfold step_program; apply Forall_app; split; [| apply tail_forall].
  - eapply Forall_impl; [| apply (pipeline_shape Hs)]; intros o [[H|H] _].
    + apply exchanges_addressed; assumption.
    + apply of_flat_addressed, H.
  - eapply Forall_impl; [| apply tied_shape]; intros o [[G K] _] _; unfold channel_of; rewrite G.
    apply own_channel; [reflexivity | intros _; rewrite E; exact K].
  - eapply Forall_impl; [| apply means_shape]; intros o [H _]; apply of_flat_addressed; left;
      exact H.
  - intros _; apply own_channel; [reflexivity | discriminate].
  - intro X; discriminate X.
  - eapply Forall_impl; [| apply updates_shape]; intros o; apply of_flat_addressed.
Qed.

Lemma before_unmarked : 0 <= s < c_pp c -> forall t, Forall unmarked
  (pipeline_ops c lay ++ tied_ops c lay t ++ means_ops lay (t + 1)).
Proof.
  intros Hs t; repeat (apply Forall_app; split).
  - eapply Forall_impl; [| apply (pipeline_shape Hs)]; intros o H; apply H.
  - eapply Forall_impl; [| apply tied_shape]; intros o H; apply H.
  - eapply Forall_impl; [| apply means_shape]; intros o H; apply H.
Qed.

Lemma step_decided : forall a, 0 <= s < c_pp c ->
  decided_in_time channel call (map (op_of c a) (step_program c lay)).
Proof.
  intros a Hs; unfold step_program, tail_ops.
  set (t := Slots (c_pp c) (c_micro_batches c)).
  replace (pipeline_ops c lay ++ tied_ops c lay t ++ means_ops lay (t + 1) ++
      [op_statistics (t + 2); op_decision (t + 2)] ++ updates_ops c lay (t + 3))
    with (((pipeline_ops c lay ++ tied_ops c lay t ++ means_ops lay (t + 1)) ++
      [op_statistics (t + 2)]) ++ op_decision (t + 2) :: updates_ops c lay (t + 3))
    by (rewrite <- !app_assoc; reflexivity).
  rewrite map_app; cbn [map]; apply decided; try reflexivity.
  apply Forall_map, Forall_app; split; [| apply Forall_cons; [reflexivity | constructor]].
  eapply Forall_impl; [| apply (before_unmarked Hs)]; intros o U; cbn; unfold marked; rewrite U.
  reflexivity.
Qed.

(* ---- Ledgers: ops without an entry ----------------------------------------------------------- *)

(* Groups that a flat group does not reduce over. *)
Lemma of_flat_put : forall g key k o, g <> ZP_GROUP_DP -> g <> ZP_GROUP_EDP -> of_flat o ->
  put g key k o = [].
Proof.
  intros g key k o N M [H | H]; [apply local_put; exact H |].
  apply other_put; destruct H; congruence.
Qed.

Lemma pipeline_put : forall g key k, 0 <= s < c_pp c -> g <> ZP_GROUP_DP -> g <> ZP_GROUP_EDP ->
  g <> ZP_GROUP_PP -> flat_map (put g key k) (pipeline_ops c lay) = [].
Proof.
  intros g key k Hs D E P; apply flat_map_nil; eapply Forall_impl; [| apply (pipeline_shape Hs)].
  intros o [[[G _]|H] _]; [apply other_put; congruence | apply of_flat_put; assumption].
Qed.

Lemma means_put : forall g key k t, flat_map (put g key k) (means_ops lay t) = [].
Proof.
  intros g key k t; apply flat_map_nil; eapply Forall_impl; [| apply means_shape].
  intros o [H _]; apply local_put, H.
Qed.

Lemma updates_put : forall g key k t, g <> ZP_GROUP_DP -> g <> ZP_GROUP_EDP ->
  flat_map (put g key k) (updates_ops c lay t) = [].
Proof.
  intros g key k t D E; apply flat_map_nil; eapply Forall_impl; [| apply updates_shape].
  intros o; apply of_flat_put; assumption.
Qed.

Lemma not_pp_hop : forall down peer k o, is_comm o = false \/ o_group o <> ZP_GROUP_PP ->
  hop down peer k o = [].
Proof.
  intros down peer k o H; unfold hop; destruct (is_comm o); [| reflexivity].
  destruct H as [H|H]; [discriminate |]; apply Z.eqb_neq in H; rewrite H, andb_false_r; reflexivity.
Qed.

Lemma of_flat_hop : forall down peer k o, of_flat o -> hop down peer k o = [].
Proof.
  intros down peer k o H; apply not_pp_hop; unfold of_flat in H.
  destruct H as [H | [H | H]]; [left; exact H | right | right]; rewrite H; discriminate.
Qed.

Lemma tail_hop : forall down peer k t, flat_map (hop down peer k) (tail_ops c lay t) = [].
Proof.
  intros down peer k t; apply flat_map_nil, tail_forall.
  - eapply Forall_impl; [| apply tied_shape]; intros o [[G _] _]; apply not_pp_hop; right.
    rewrite G; discriminate.
  - eapply Forall_impl; [| apply means_shape]; intros o [H _]; apply not_pp_hop; auto.
  - reflexivity.
  - reflexivity.
  - eapply Forall_impl; [| apply updates_shape]; intros o; apply of_flat_hop.
Qed.

Lemma slot_hop : forall down peer k t, flat_map (hop down peer k) (slot_ops c lay t) =
  flat_map (hop down peer k) (exchange_ops (c_dynamic_shapes c) s (BackwardSlot s t)
    (Sent (c_pp c) (c_micro_batches c) s t) (Received (c_pp c) (c_micro_batches c) s t) t).
Proof.
  intros down peer k t; unfold slot_ops, head_ops; cbn [l_stage layout_of].
  rewrite !flat_map_app, (flat_map_nil _ _ _ (compute_ops _ _ _ _ _ _)), (flat_map_nil _ _ _
    (if_ops _ _)), !app_nil_r; [reflexivity | |].
  - apply Forall_if; intros _; eapply Forall_impl; [| apply entries_shape].
    intros o [H _]; apply of_flat_hop, H.
  - eapply Forall_impl; [| apply compute_local]; intros o [H _]; apply not_pp_hop; auto.
Qed.

(* The world: one entry. *)
Lemma step_world : forall key k, 0 <= s < c_pp c ->
  flat_map (put ZP_GROUP_WORLD key k) (step_program c lay) =
  [(Call ZP_OP_ALL_REDUCE ZP_WHAT_STATISTICS (-1) ZP_STATS ZP_I64 ZP_RED_SUM (-1),
    (Slots (c_pp c) (c_micro_batches c) + 2, 0))].
Proof.
  intros key k Hs; unfold step_program, tail_ops; rewrite !flat_map_app.
  rewrite pipeline_put, means_put, updates_put by (try exact Hs; discriminate).
  rewrite (flat_map_nil _ _ _ (tied_ops _ _ _)); [reflexivity |].
  eapply Forall_impl; [| apply tied_shape]; intros o [[G _] _]; apply other_put; rewrite G.
  discriminate.
Qed.

(* Groups of one stage have entries of equal programs; a tied key only those of tied_ops. *)
Lemma step_tied_only : forall key k, 0 <= s < c_pp c ->
  flat_map (put ZP_GROUP_TIED key k) (step_program c lay) =
  flat_map (put ZP_GROUP_TIED key k) (tied_ops c lay (Slots (c_pp c) (c_micro_batches c))).
Proof.
  intros key k Hs; unfold step_program, tail_ops; rewrite !flat_map_app.
  rewrite pipeline_put, means_put, updates_put by (try exact Hs; discriminate).
  cbn [app flat_map]; unfold put at 2 3; fields; cbn [is_comm]; rewrite !andb_false_r; cbn.
  rewrite !app_nil_r; reflexivity.
Qed.

(* The flat group of a key has the sizes of any entry with this key, on any stage. *)
Lemma holder_sizes : forall key j, 0 <= key -> On c key s = 1 -> 0 <= j < c_n_params c ->
  p_tied (entry_at c j) = key ->
  (p_frozen (entry_at c j) <> 0 /\ holder lay key = None) \/
  (p_frozen (entry_at c j) = 0 /\ exists k f, holder lay key = Some (k, f) /\
   f_numel f = p_numel (entry_at c j) /\ f_members f = c_dp c /\ f_align f = c_align c /\
   f_capacity f = Capacity (c_bucket c) (c_dp c) (c_align c)).
Proof.
  intros key j P O Hj T; pose proof (stage_range c V s) as R.
  (* A flat group that holds the key. *)
  assert (A : forall k f, holder lay key = Some (k, f) -> exists i,
    StageFirst c s <= i < StageEnd c s
    /\ p_frozen (entry_at c i) = 0 /\ p_tied (entry_at c i) = key /\ f_align f = c_align c /\
    f_numel f = p_numel (entry_at c i) /\ f_members f = MembersOf c i /\
    f_capacity f = Capacity (c_bucket c) (MembersOf c i) (c_align c)).
  { intros k f E; apply (holder_good c s) in E; destruct E as [K [-> H]].
    destruct (flat_good c V s k K) as [E [I [Q [F _]]]]; rewrite E in *.
    exists (Opener c (StageEnd c s) (StageCount c s) k).
    unfold HoldsKey in H; destruct (_ && _) eqn:B in H; [| discriminate]; bools.
    unfold Opens in Q; destruct (_ && _) eqn:B in Q; [| discriminate]; bools.
    repeat split; try assumption; try lia.
    unfold layout_flat; cbn [f_numel]; rewrite <- F at 1; apply (tied_numel c V); try lia.
    unfold layout_flat in *; cbn [f_tied] in *; lia. }
  destruct (Z.eq_dec (p_frozen (entry_at c j)) 0) as [F|F]; [right | left]; split; trivial.
  - destruct (holder lay key) as [[k f]|] eqn:E.
    + exists k, f; split; [reflexivity |];
        destruct (A k f eq_refl) as [i [I [G [K [L [N [M C]]]]]]].
      destruct (tied_agree c V i j ltac:(lia) Hj ltac:(lia) ltac:(lia)) as [Q [_ [_ [X _]]]].
      unfold MembersOf in M, C; rewrite X in M, C; cbn in M, C; repeat split; congruence.
    + exfalso; apply (on_iff c V) in O; destruct O as [i [I K]].
      destruct (tied_agree c V i j ltac:(lia) Hj ltac:(lia) ltac:(lia)) as [_ [G _]].
      destruct (head c (StageEnd c s) i ltac:(lia)) as [H [CH LH]].
      set (h := HeadOf c (StageEnd c s) i) in *.
      destruct (class_tied c V h i ltac:(lia) ltac:(lia) ltac:(lia) CH) as [Fh Th].
      assert (Oh : Opens c (StageEnd c s) h = 1).
      { unfold Opens; rewrite Fh; replace (0 <=? p_tied (entry_at c h)) with true; [reflexivity |].
        symmetry; apply Z.leb_le; lia. }
      pose proof (flat_at_range c (StageEnd c s) (StageCount c s) h
        ltac:(unfold StageCount; lia) Oh)
        as K'.
      set (k := FlatAt c (StageEnd c s) h) in *; rewrite <- (n_flats c V s) in K'.
      destruct (flat_good c V s k K') as [Ef [J [Oj [Fj _]]]].
      apply (opener_unique c) in Fj; try lia; try assumption.
      assert (N : In (k, flat_at (l_flat lay) k) (numbered (l_flat lay))).
      { rewrite (numbered_nth _ (l_flat lay) no_flat); apply in_map_iff; exists k; split; trivial.
        apply in_range; exact K'. }
      unfold holder in E; apply (find_none _ _ E) in N; cbn [snd] in N; rewrite Ef in N.
      unfold HoldsKey, layout_flat in N; cbn [f_tied f_use] in N; rewrite Fj in N.
      replace (p_tied (entry_at c h) =? key) with true in N by (symmetry; apply Z.eqb_eq; lia).
      replace (UseOf c (StageEnd c s) h =? 0) with true in N; [discriminate |].
      symmetry; apply Z.eqb_eq, (use_0 c); [lia |]; rewrite CH; exact LH.
  - destruct (holder lay key) as [[k f]|] eqn:E; [| reflexivity]; exfalso.
    destruct (A k f eq_refl) as [i [I [G [K _]]]].
    destruct (tied_agree c V i j ltac:(lia) Hj ltac:(lia) ltac:(lia)) as [_ [Q _]]; congruence.
Qed.

End Step.

(* ---- Tied keys ------------------------------------------------------------------------------- *)

Lemma step_tied : forall c, valid c -> forall s u key k, 0 <= s < c_pp c -> 0 <= u < c_pp c ->
  On c key s = 1 -> On c key u = 1 ->
  flat_map (put ZP_GROUP_TIED key k) (step_program c (layout_of c s)) =
  flat_map (put ZP_GROUP_TIED key k) (step_program c (layout_of c u)).
Proof.
  intros c V s u key k Hs Hu Os Ou; rewrite !step_tied_only by assumption.
  generalize (Slots (c_pp c) (c_micro_batches c)); intro t; unfold tied_ops.
  rewrite !flat_map_flat_map; apply flat_map_ext_in; intros i Hi; apply in_range in Hi.
  destruct (Z.eq_dec i key) as [->|N].
  - pose proof Os as W; apply (on_iff c V) in W; destruct W as [j [J T]].
    pose proof (stage_range c V s).
    destruct (holder_sizes c V s key j ltac:(lia) Os ltac:(lia) T) as [[F A]|[F A]];
      destruct (holder_sizes c V u key j ltac:(lia) Ou ltac:(lia) T) as [[G B]|[G B]];
      try contradiction; unfold key_ops.
    + rewrite A, B; reflexivity.
    + destruct A as [x [f [-> [An [Am [Aa Ac]]]]]], B as [y [g [-> [Bn [Bm [Ba Bc]]]]]].
      unfold BucketsOf; rewrite An, Am, Aa, Ac, Bn, Bm, Ba, Bc, !flat_map_map.
      apply flat_map_ext_in; intros b _; reflexivity.
  - assert (G : forall v, flat_map (put ZP_GROUP_TIED key k) (key_ops c (layout_of c v) t i) = []).
    { intro v; unfold key_ops; destruct (holder _ i) as [[x f]|]; [| reflexivity].
      rewrite flat_map_map; apply flat_map_nil, Forall_forall; intros b _; unfold put; fields.
      replace (i =? key) with false by (symmetry; apply Z.eqb_neq; exact N).
      cbn [Z.eqb Pos.eqb negb orb ZP_GROUP_TIED]; rewrite !andb_false_r; reflexivity. }
    rewrite !G; reflexivity.
Qed.

(* ---- Links ----------------------------------------------------------------------------------- *)

(* Stage s sends x and receives y; stage s + 1 sends y and receives x. *)
Lemma exchange_pair : forall dynamic s x y t k,
  flat_map (hop true (s + 1) k) (exchange_ops dynamic s 1 x y t) =
  flat_map (hop false s k) (exchange_ops dynamic (s + 1) 0 y x t).
Proof.
  intros; unfold exchange_ops; rewrite (andb_comm (y <? 0)).
  destruct (negb _); cbn [if_ops]; [| reflexivity].
  assert (E : forall kind dtype a b i, hop true (s + 1) k (op_hop kind dtype s 1 a b t i) =
    hop false s k (op_hop kind dtype (s + 1) 0 b a t i)).
  { intros; unfold hop, is_comm, issued, marked, clock_of; fields; cbn [Z.eqb negb].
    replace (s + 1 - 1) with s by lia; rewrite !Z.eqb_refl; reflexivity. }
  replace (MetaLen dynamic 0 y x) with (MetaLen dynamic 1 x y) by reflexivity.
  rewrite !flat_map_app; f_equal; [| cbn [flat_map]; rewrite E; reflexivity].
  destruct (MetaLen dynamic 1 x y =? 1); cbn [if_ops flat_map Z.eqb]; [rewrite E |]; reflexivity.
Qed.

Lemma no_pair : forall dynamic s backward down peer x y t k,
  (if negb (backward =? 0) then s + 1 else s - 1) <> peer ->
  flat_map (hop down peer k) (exchange_ops dynamic s backward x y t) = [].
Proof.
  intros dynamic s backward down peer x y t k N; apply Z.eqb_neq in N.
  assert (E : forall kind dtype a b i, hop down peer k (op_hop kind dtype s backward a b t i) = []).
  { intros; unfold hop; fields; rewrite N, !andb_false_r; reflexivity. }
  apply flat_map_nil; unfold exchange_ops; apply Forall_if; intros _; apply Forall_app.
  split; [apply Forall_if; intros _ |]; constructor; auto.
Qed.

(* In each slot, stage s sends the micro-batch that stage s + 1 receives, and the reverse. *)
Lemma slot_pair : forall c, valid c -> forall s t k, 0 <= s -> s + 1 < c_pp c -> 0 <= t ->
  flat_map (hop true (s + 1) k) (slot_ops c (layout_of c s) t) =
  flat_map (hop false s k) (slot_ops c (layout_of c (s + 1)) t).
Proof.
  intros c V s t k Hs H1 Ht; rewrite !slot_hop by assumption.
  set (S := c_pp c) in *; set (M := c_micro_batches c) in *.
  assert (B : BackwardSlot s t = 0 /\ BackwardSlot (s + 1) t = 1 \/
    BackwardSlot s t = 1 /\ BackwardSlot (s + 1) t = 0).
  { unfold BackwardSlot; rewrite !Z.rem_mod_nonneg by lia.
    pose proof (Z.div_mod (t + s) 2 ltac:(lia)); pose proof (Z.div_mod (t + (s + 1)) 2 ltac:(lia)).
    pose proof (Z.mod_pos_bound (t + s) 2 ltac:(lia)).
    pose proof (Z.mod_pos_bound (t + (s + 1)) 2 ltac:(lia)); lia. }
  destruct B as [[B C] | [B C]].
  - rewrite !no_pair; [reflexivity | rewrite C; cbn; lia | rewrite B; cbn; lia].
  - assert (D : Sent S M s t = Received S M (s + 1) t).
    { unfold Sent, Received; rewrite B, C; cbn [Z.eqb Pos.eqb].
      destruct (Z.ltb_spec s (S - 1)), (Z.ltb_spec 0 (s + 1)); try lia.
      unfold ForwardAt; f_equal; lia. }
    assert (U : Received S M s t = Sent S M (s + 1) t).
    { unfold Sent, Received; rewrite B, C; cbn [Z.eqb Pos.eqb].
      destruct (Z.ltb_spec s (S - 1)), (Z.ltb_spec 0 (s + 1)); try lia.
      unfold BackwardAt; f_equal; lia. }
    rewrite B, C, D, U; apply exchange_pair.
Qed.

Lemma step_link : forall c, valid c -> forall s k, 0 <= s -> s + 1 < c_pp c ->
  flat_map (hop true (s + 1) k) (step_program c (layout_of c s)) =
  flat_map (hop false s k) (step_program c (layout_of c (s + 1))).
Proof.
  intros c V s k Hs H1; unfold step_program; rewrite !flat_map_app, !tail_hop by assumption.
  unfold pipeline_ops; rewrite !app_nil_r, !flat_map_flat_map; apply flat_map_ext_in.
  intros t Ht; apply in_range in Ht; apply slot_pair; lia || assumption.
Qed.
