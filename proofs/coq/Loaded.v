(* LOAD reads the serial state, on any split that fits. spec: CKPT-1, CKPT-3, CKPT-5

   load_is_serial: ranks that load a checkpoint of a serial state agree with it. saved_then_loaded:
   ranks save under one configuration, and ranks of another load what they wrote. dp, pp, ZeRO
   stage, bucket size, alignment, micro-batches and precision may differ; so may tp without sharded
   entries and ep without experts (fits). Two conditions are about the serial state: parameters are
   the rounded masters of the second configuration (serial_steps_keep_rounded: steps keep it), and
   the copies of an entry that tp replicates are equal, since only that of tp index 0 is saved. No
   axioms. *)

Require Import Bool List Arith ZArith Lia.
Require Import ZP.Op ZP.OpOf ZP.Plan ZP.PlanFacts ZP.Sums ZP.MeaningChannels ZP.Meaning ZP.Serial.
Require Import ZP.MeaningLayout ZP.Contract ZP.Gradients ZP.Pipeline ZP.Tail ZP.Updates ZP.Ranks.
Require Import ZP.Kept ZP.Ties ZP.ShardedEqualsSerial ZP.Storage ZP.Saved ZP.Writers ZP.SavedState.
Require ZP.Program ZP.NoDeadlock ZP.Assertions ZP.Valid ZP.Joined.
Import ListNotations.
Open Scope Z_scope.

(* ---- Positions ------------------------------------------------------------------------------- *)

Section Positions.

Variable c : config.
Hypothesis C : proper c.
Variable r : nat.
Notation a := (coord_of c r).
Notation s := (a_pp a).

(* The element at a position is the one that lies there. *)
Lemma element_is : forall j e b, lies c s j e b ->
  element_of c (layout_of c s) (number_of c s j) b (place_of c s j e b) = Some (j, e).
Proof.
  intros j e b L; destruct L as [[D Fz] [He B]]; unfold element_of.
  set (k := number_of c s j); fold (flat_in c s k).
  replace (b * f_capacity (flat_in c s k) + place_of c s j e b)
    with (StartOf c (StageEnd c s) j + e) by (unfold place_of, group_of; fold k; lia).
  assert (Tr : trained c s j) by (split; assumption).
  pose proof (flat_range c C s j D Fz) as K; fold (number_of c s j) in K; fold k in K.
  change (l_first_param (layout_of c s)) with (StageFirst c s).
  match goal with |- context [find ?f ?l] => destruct (find f l) as [[i p]|] eqn:Q end;
    cbn [option_map fst snd].
  - apply find_some in Q; destruct Q as [I Q]; apply in_spots in I; destruct I as [Hi Ip].
    rewrite n_spots in Hi; unfold StageCount in Hi; cbn [fst snd] in Q.
    assert (Hj : exists j', i = j' - StageFirst c s /\ StageFirst c s <= j' < StageEnd c s)
      by (exists (StageFirst c s + i); lia).
    destruct Hj as [j' [-> Hj']]; rewrite (spot_of c s j' Hj') in Ip; subst p.
    replace (StageFirst c s + (j' - StageFirst c s)) with j' in * by lia.
    cbn [layout_spot s_flat s_start] in Q; apply andb_true_iff in Q; destruct Q as [Q Q3].
    apply andb_true_iff in Q; destruct Q as [Q1 Q2]; apply Z.eqb_eq in Q1.
    apply Z.leb_le in Q2; apply Z.ltb_lt in Q3.
    assert (Tr' : trained c s j').
    { split; [exact Hj' |]; unfold FlatOf in Q1; fold (entry c j') in Q1.
      destruct (Z.eqb_spec (p_frozen (entry c j')) 0); [assumption | cbn [negb] in Q1; lia]. }
    destruct (apart c C r j' j (StartOf c (StageEnd c s) j + e - StartOf c (StageEnd c s) j') e Tr'
      Tr Q1 ltac:(lia) He ltac:(lia)) as [-> E].
    cbn [layout_spot s_start]; rewrite E; reflexivity.
  - exfalso; apply find_none with (x := (j - StageFirst c s, layout_spot c s j)) in Q.
    + cbn [fst snd layout_spot s_flat s_start] in Q.
      replace (StageFirst c s + (j - StageFirst c s)) with j in Q by lia.
      change (FlatOf c (StageEnd c s) j) with k in Q; rewrite Z.eqb_refl in Q; cbn [andb] in Q.
      apply andb_false_iff in Q; rewrite Z.leb_gt, Z.ltb_ge in Q; lia.
    + apply in_spots; rewrite n_spots, spot_of by exact D; unfold StageCount; split;
        [lia | reflexivity].
Qed.

End Positions.

(* ---- Conditions ------------------------------------------------------------------------------ *)

(* What the loader compares (ref/engine/checkpoint_read.c, match): entries, here by their place in
   the list and not by their names, and tied keys by their first entries. *)
Record fits (c c' : config) : Prop := {
  fit_count : c_n_params c = c_n_params c';
  fit_home : forall j, 0 <= j < c_n_params c -> first_use c j = first_use c' j;
  fit_entry : forall j, 0 <= j < c_n_params c ->
    p_numel (entry c j) = p_numel (entry c' j) /\
    p_sharded (entry c j) = p_sharded (entry c' j) /\
    p_expert (entry c j) = p_expert (entry c' j) /\
    p_frozen (entry c j) = p_frozen (entry c' j) /\
    (p_sharded (entry c j) = 1 -> c_tp c = c_tp c') /\
    (p_expert (entry c j) <> 0 -> c_ep c = c_ep c')
}.

Section Conditions.

Variables P S W F : Type.
Variable piece : Z -> S -> F.
Variable narrow : Z -> F -> P.
Variable widen : P -> F.

(* The parameters of z are its masters, rounded for c; frozen entries survive a checkpoint. *)
Definition rounded (c : config) (z : serial P S W) : Prop := forall j e t q,
  s_param _ _ _ z j e t q =
    narrow (p_fp32 (entry c j))
      (if p_frozen (entry c j) =? 0 then piece ZP_WHAT_MASTER (s_state _ _ _ z j e t q)
       else widen (s_param _ _ _ z j e t q)).

(* All tp indices have equal copies of an entry that is not sharded. *)
Definition replicated (c : config) (z : serial P S W) : Prop := forall j e t q,
  p_sharded (entry c j) <> 1 ->
  s_param _ _ _ z (first_use c j) e t q = s_param _ _ _ z (first_use c j) e 0 q /\
  s_state _ _ _ z (first_use c j) e t q = s_state _ _ _ z (first_use c j) e 0 q.

Variables A T X : Type.
Variable no_message : A.
Variable fwd : coord -> W -> list (list P) -> A -> Z -> A * T * (Z -> Z).
Variable bwd : coord -> W -> list (list P) -> T -> A -> Z -> A * (Z -> option (Z -> Z)).
Variable mean : Z -> X.
Variable words : X -> Z -> Z.
Variable go : W -> list Z -> bool.
Variable update : Z -> W -> list Z -> X -> S -> S.
Variable round : Z -> S -> P.
Variable next : W -> list Z -> W.

(* A step rounds what it updates. *)
Theorem serial_steps_keep_rounded : forall c z,
  (forall fp32 s, round fp32 s = narrow fp32 (piece ZP_WHAT_MASTER s)) -> rounded c z ->
  rounded c (serial_step A T P S X W no_message fwd bwd mean words go update round next c z).
Proof.
  intros c z R H j e t q; specialize (H j e t q); unfold serial_step; cbn [s_param s_state].
  destruct (Z.eqb_spec (p_frozen (entry c j)) 0) as [Fz|Fz]; rewrite ?andb_false_r; [| exact H].
  rewrite andb_true_r; destruct (serial_go _ _ _ _ _ _ _ _ _ _ _ _ _ _); [apply R | exact H].
Qed.

End Conditions.

(* ---- LOAD ------------------------------------------------------------------------------------ *)

Section Loaded.

Variable c : config.
Hypothesis V : Valid.valid c.
Variables A T P S X W F : Type.
Variable piece : Z -> S -> F.
Variable whole : F -> F -> F -> S.
Variable narrow : Z -> F -> P.
Variable widen : P -> F.
Variable z : serial P S W.
Variable file : checkpoint W F.

Notation mem := (mem A T P S X W).
Notation loader := (loader A T P S X W).
Notation d_mem := (d_mem A T P S X W).
Notation load_op := (load_op A T P S X W F whole narrow c file).
Notation load_compute := (load_compute A T P S X W F whole narrow c file).
Notation load_exchange := (load_exchange A T P S X W).
Notation decide := (@no_decide loader).
Notation reachable := (NoDeadlock.reachable chan op loader (members c) decide load_compute
  load_exchange (loads c)).
Notation agrees := (agrees A T P S X W c).
Notation saved_value := (saved_value P S W F piece widen z).

Let C := Joined.valid_is_proper c V.

(* READ and then INSTALL. *)
Definition loaded (r : nat) (d : loader) : loader :=
  let a := coord_of c r in
  load_op a (op_plain ZP_OP_INSTALL 0 2) (load_op a (op_plain ZP_OP_READ 0 0) d).

Lemma finished_loader : forall memory s r, reachable memory s -> (r < ranks c)%nat ->
  fst (s r) = [] -> snd (s r) = loaded r (memory r).
Proof.
  intros memory s r R Hr Fi.
  refine (Assertions.assertions_hold chan op loader (members c) decide load_compute load_exchange
    (fun _ _ _ _ => True) (fun _ _ _ v w => w = v) true
    (fun r w => (r < ranks c)%nat -> w = loaded r (memory r)) _ (loads c) memory _ s r R Fi Hr).
  - intros h x m _ q _; reflexivity.
  - intro q; unfold loads, load_of; destruct (Nat.ltb_spec q (ranks c)) as [L|L]; [| simpl; lia].
    cbn -[Storage.load_op Storage.load_compute]; split; [exact I |].
    intros w ->; unfold Storage.load_compute, load_of; rewrite (proj2 (Nat.ltb_lt _ _) L).
    cbn -[Storage.load_op]; intros _; reflexivity.
Qed.

Hypothesis Pieces : forall s, whole (piece ZP_WHAT_MASTER s) (piece ZP_WHAT_MOMENT1 s)
  (piece ZP_WHAT_MOMENT2 s) = s.
Hypothesis Holds : forall d, addressed c d -> lookup F (k_records _ _ file) d = Some (saved_value
  d).
Hypothesis Sealed : k_state _ _ file = s_v _ _ _ z.
Hypothesis Rounded : rounded P S W F piece narrow widen c z.
Hypothesis Replicated : replicated P S W c z.

Lemma read_value : forall r what j e, (r < ranks c)%nat -> let a := coord_of c r in
  StageFirst c (a_pp a) <= j < StageEnd c (a_pp a) -> 0 <= e < p_numel (entry c j) ->
  (if p_frozen (entry c j) =? 0 then ZP_WHAT_MASTER <= what <= ZP_WHAT_MOMENT2
   else what = ZP_WHAT_PARAMETER) ->
  at_address W F c file a what j e = Some (if what =? ZP_WHAT_PARAMETER
    then widen (s_param _ _ _ z (first_use c j) e (a_tp a) (copy_of c j (a_dp a)))
    else piece what (s_state _ _ _ z (first_use c j) e (a_tp a) (copy_of c j (a_dp a)))).
Proof.
  intros r what j e Hr a D He Wh; unfold at_address; rewrite Holds.
  - unfold Storage.saved_value, address_of; cbn [d_what d_entry d_tp d_ep d_element].
    unfold copy_tp; destruct (Z.eqb_spec (p_sharded (entry c j)) 1)
      as [Sh|Sh]; [reflexivity |].
    destruct (Replicated j e (a_tp a) (copy_of c j (a_dp a)) Sh) as [-> ->]; reflexivity.
  - exists a, what, j, e; split; [apply (rank_within c r C Hr) |].
    split; [exact (proj1 (stage_of c C _ _ D)) |]; split; [exact He |]; split; [exact Wh |].
    reflexivity.
Qed.

Lemma loaded_agrees : forall r d, (r < ranks c)%nat ->
  (forall w, m_stats _ _ _ _ _ _ (d_mem d) w = 0) -> agrees z r (d_mem (loaded r d)).
Proof.
  intros r d Hr St; set (a := coord_of c r).
  split; [split; [exact Sealed | split] | exact St]; fold a.
  - intros j x D Sj Hx.
    change (read_param P W F narrow c file a (m_param _ _ _ _ _ _ (d_mem d)) j x =
      s_param _ _ _ z (first_use c j) x (a_tp a) (copy_of c j (a_dp a))); unfold read_param.
    change (l_first_param (layout_of c (a_pp a))) with (StageFirst c (a_pp a)).
    rewrite n_spots; unfold StageCount; rewrite Sj, Z.eqb_refl.
    rewrite (proj2 (Z.leb_le _ _) (proj1 D)), (proj2 (Z.ltb_lt j _)) by lia; cbn [andb].
    rewrite (read_value r _ j x Hr D Hx) by (destruct (p_frozen (entry c j) =? 0);
      [split; discriminate | reflexivity]).
    fold a; destruct (first_alike c V j (proj1 (stage_of c C _ _ D)))
      as [_ [_ [_ [Ef [Ep _]]]]].
    rewrite (Rounded (first_use c j) x (a_tp a) (copy_of c j (a_dp a))) at 2; rewrite Ef, Ep.
    destruct (p_frozen (entry c j) =? 0); reflexivity.
  - intros j x b L Sj O.
    change (read_state S W F whole c file a (m_state _ _ _ _ _ _ (d_mem d))
      (number_of c (a_pp a) j) b (place_of c (a_pp a) j x b) =
      s_state _ _ _ z (first_use c j) x (a_tp a) (copy_of c j (a_dp a))); unfold read_state.
    pose proof (proj1 L) as Tr; pose proof (proj1 (proj2 L)) as Hx.
    pose proof (flat_range c C (a_pp a) j (proj1 Tr) (proj2 Tr)) as [K _].
    fold (number_of c (a_pp a) j) in K; rewrite (proj2 (Z.leb_le _ _) K).
    change (flat_at (l_flat (layout_of c (a_pp a))) (number_of c (a_pp a) j))
      with (group_of c (a_pp a) j).
    rewrite (storage_of_valid_is_held c V C (a_pp a) j Tr), Sj, Z.eqb_refl, O; cbn [andb].
    pose proof (element_is c C r j x b L) as E; fold a in E; rewrite E.
    assert (R : forall what, ZP_WHAT_MASTER <= what <= ZP_WHAT_MOMENT2 ->
      at_address W F c file a what j x = Some (piece what (s_state _ _ _ z (first_use c j) x
        (a_tp a) (copy_of c j (a_dp a))))).
    { intros what Wh; unfold a; rewrite (read_value r what j x Hr (proj1 Tr) Hx)
        by (rewrite (proj2 Tr); exact Wh).
      rewrite (proj2 (Z.eqb_neq what ZP_WHAT_PARAMETER)); [reflexivity |].
      unfold ZP_WHAT_MASTER, ZP_WHAT_MOMENT2, ZP_WHAT_PARAMETER in *; lia. }
    rewrite !R by (split; discriminate).
    exact (Pieces _).
Qed.

(* A rank that has finished agrees with z, wherever the others are. *)
Theorem load_is_serial : forall memory s r,
  (forall w, m_stats _ _ _ _ _ _ (d_mem (memory r)) w = 0) ->
  reachable memory s -> (r < ranks c)%nat -> fst (s r) = [] -> agrees z r (d_mem (snd (s r))).
Proof.
  intros memory s r St R Hr Fi; rewrite (finished_loader memory s r R Hr Fi).
  apply loaded_agrees; assumption.
Qed.

End Loaded.

(* ---- From one split to another --------------------------------------------------------------- *)

(* The loader finds the value of every address. *)
Lemma lookup_is : forall P S W F (piece : Z -> S -> F) (widen : P -> F) c (z : serial P S W) l,
  is_of P S W F piece widen c z l -> forall d, addressed c d ->
  lookup F l d = Some (saved_value P S W F piece widen z d).
Proof.
  intros P S W F piece widen c z l [Has Is] d Ad; unfold lookup.
  destruct (find _ l) as [[d' x]|] eqn:Q; cbn [option_map snd].
  - apply find_some in Q; destruct Q as [I Q]; cbn [fst] in Q.
    destruct (address_eq_dec d' d) as [->|]; [| discriminate].
    f_equal; apply Is; exact I.
  - destruct (Has d Ad) as [x I]; apply (find_none _ _ Q) in I; cbn [fst] in I.
    destruct (address_eq_dec d d); [discriminate | contradiction].
Qed.

(* What c' reads, c has written. *)
Lemma addressed_by_both : forall c c', Valid.valid c -> Valid.valid c' -> fits c c' ->
  forall d, addressed c' d -> addressed c d.
Proof.
  intros c c' V V' Fit d [[p dp t] [what [j [e [Wi [Hj [He [Wh ->]]]]]]]].
  destruct Wi as [Hp [Hd Ht]]; cbn [a_pp a_dp a_tp] in *.
  pose proof (Joined.valid_is_proper c V) as C; pose proof (Joined.valid_is_proper c' V') as C'.
  rewrite <- (fit_count c c' Fit) in Hj.
  destruct (fit_entry c c' Fit j Hj) as [E1 [E2 [E3 [E4 [E5 E6]]]]].
  exists (Coord 0 (copy_of c' j dp) (copy_tp c' j t)), what, j, e.
  assert (Tp : 0 <= copy_tp c' j t < c_tp c /\ copy_tp c j (copy_tp c' j t) = copy_tp c' j t).
  { unfold copy_tp; rewrite E2; pose proof (pr_tp c C).
    destruct (Z.eqb_spec (p_sharded (entry c' j)) 1) as [Sh|Sh]; [| split; [lia | reflexivity]].
    rewrite E5 by congruence; split; [exact Ht | reflexivity]. }
  assert (Ep : 0 <= copy_of c' j dp < c_dp c /\ copy_of c j (copy_of c' j dp) = copy_of c' j dp).
  { unfold copy_of; rewrite E3; pose proof (pr_dp c C).
    destruct (Z.eqb_spec (p_expert (entry c' j)) 0) as [Ex|Ex]; [split; [lia | reflexivity] |].
    rewrite <- E6 by congruence; destruct (Valid.sizes c V) as [_ [_ [_ [[_ B] _]]]].
    destruct (rem_bound c C dp (proj1 Hd)) as [R1 R2].
    split; [split; [exact R1 | eapply Z.lt_le_trans; eassumption] |].
    apply Z.rem_small; split; assumption. }
  pose proof (pr_pp c C) as Pp; split; [split; [cbn [a_pp]; lia |]; cbn [a_dp a_tp]; split;
    [apply Ep | apply Tp] |].
  rewrite E1, E4; split; [exact Hj |]; split; [exact He |]; split; [exact Wh |].
  unfold address_of; cbn [a_dp a_tp]; rewrite (fit_home c c' Fit j Hj).
  f_equal; symmetry; [apply Tp | apply Ep].
Qed.

Section Reshard.

Variables c c' : config.
Hypothesis Vc : Valid.valid c.
Hypothesis Vc' : Valid.valid c'.
Hypothesis Fit : fits c c'.

Variables A T P S X W F : Type.
Variable piece : Z -> S -> F.
Variable whole : F -> F -> F -> S.
Variable narrow : Z -> F -> P.
Variable widen : P -> F.
Hypothesis Pieces : forall s, whole (piece ZP_WHAT_MASTER s) (piece ZP_WHAT_MOMENT1 s)
  (piece ZP_WHAT_MOMENT2 s) = s.
Variable z : serial P S W.
Hypothesis Rounded : rounded P S W F piece narrow widen c' z.
Hypothesis Replicated : replicated P S W c' z.

(* All ranks of c agree with z, and save. *)
Variable memory : nat -> saver A T P S X W F.
Hypothesis Start : forall r, (r < ranks c)%nat ->
  agrees A T P S X W c z r (v_mem _ _ _ _ _ _ _ (memory r)) /\ v_file _ _ _ _ _ _ _ (memory r) = [].
Variable s : nat -> list (Program.op chan op) * saver A T P S X W F.
Hypothesis Reached : NoDeadlock.reachable chan op _ (members c) no_decide
  (save_compute A T P S X W F piece widen c) (save_exchange A T P S X W F piece c) (saves c)
  memory s.
Hypothesis Finished : forall r, (r < ranks c)%nat -> fst (s r) = [].

(* The checkpoint has what they wrote, and what rank 0 sealed. *)
Variable file : checkpoint W F.
Hypothesis Records : k_records _ _ file = published A T P S X W F c (fun r => snd (s r)).
Hypothesis State : Some (k_state _ _ file) = v_state _ _ _ _ _ _ _ (snd (s 0%nat)).

(* Ranks of c' load it. *)
Variable memory' : nat -> loader A T P S X W.
Hypothesis Start' : forall r, (r < ranks c')%nat ->
  forall w, m_stats _ _ _ _ _ _ (d_mem _ _ _ _ _ _ (memory' r)) w = 0.

Theorem saved_then_loaded : forall s' r,
  NoDeadlock.reachable chan op _ (members c') no_decide
    (load_compute A T P S X W F whole narrow c' file) (load_exchange A T P S X W) (loads c') memory'
    s' ->
  (r < ranks c')%nat -> fst (s' r) = [] ->
  agrees A T P S X W c' z r (d_mem _ _ _ _ _ _ (snd (s' r))).
Proof.
  intros s' r R Hr Fi.
  destruct (save_is_serial c Vc A T P S X W F piece widen z memory Start s Reached Finished)
    as [Is Sealed].
  apply (load_is_serial c' Vc' A T P S X W F piece whole narrow widen z file Pieces)
    with memory'; try assumption; [| | apply Start'; exact Hr].
  - intros d Ad; rewrite Records; apply lookup_is with c; [exact Is |].
    apply (addressed_by_both c c'); assumption.
  - assert (N : (0 < ranks c)%nat).
    { pose proof (Joined.valid_is_proper c Vc) as C; pose proof (pr_pp c C); pose proof (pr_dp c C).
      pose proof (pr_tp c C); unfold ranks; rewrite (world_is c C).
      assert (1 <= c_pp c * c_dp c) by nia; assert (1 <= c_pp c * c_dp c * c_tp c) by nia; lia. }
    rewrite (Sealed 0%nat N) in State; injection State as E; exact E.
Qed.

End Reshard.
