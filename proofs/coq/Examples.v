(* Valid configurations exist: the theorems about them are not vacuous. spec: LIM-0 ... LIM-9

   valid is decided by valid_b, so a configuration can be checked by computing. The examples have
   several pipeline stages, data-parallel, tensor-parallel and expert-parallel ranks, ZeRO stages 0,
   1 and 2, frozen, fp32 and sharded entries, experts, and flat groups of several buckets; one has
   tied keys on two stages. No axioms. *)

Require Import Bool List ZArith Lia.
Require Import ZP.Op ZP.OpOf ZP.Plan ZP.Valid ZP.LayoutFacts ZP.Meaning.
Import ListNotations.
Open Scope Z_scope.

(* No entry has a tied key. *)
Definition untied (c : config) : Prop := forall j, 0 <= j < c_n_params c -> p_tied (entry c j) < 0.

(* ---- Deciding -------------------------------------------------------------------------------- *)

Definition pair_agrees (c : config) (i j : Z) : bool :=
  (j <? i) || negb (p_tied (entry c i) =? p_tied (entry c j)) || (p_tied (entry c j) <? 0) ||
  SameTied c i j && (p_expert (entry c j) =? 0).

Definition valid_b (c : config) : bool :=
  let entries := range 0 (c_n_params c) in
  ValidTopology (c_pp c) (c_dp c) (c_tp c) (c_ep c) && ValidSwitches c && ValidAmounts c &&
  forallb (ValidEntry c) entries && forallb (fun i => forallb (pair_agrees c i) entries) entries &&
  (TiedEntries c (c_n_params c) <=? 1024) && (Elements c (c_n_params c) <=? 1099511627776).

Definition untied_b (c : config) : bool :=
  forallb (fun j => p_tied (entry c j) <? 0) (range 0 (c_n_params c)).

Theorem valid_is_decided : forall c, valid_b c = true <-> valid c.
Proof.
  intro c; unfold valid_b; rewrite !andb_true_iff, !forallb_forall, !Z.leb_le; split.
  - intros [[[[[[A B] D] E] F] G] H]; constructor; try assumption.
    + intros j Hj; apply E, in_range, Hj.
    + intros i j Hi Hj T K.
      specialize (F i (proj2 (in_range 0 (c_n_params c) i) ltac:(lia))).
      rewrite forallb_forall in F.
      specialize (F j (proj2 (in_range 0 (c_n_params c) j) ltac:(lia))).
      unfold pair_agrees, entry in F.
      rewrite T, Z.eqb_refl, (proj2 (Z.ltb_ge j i)), (proj2 (Z.ltb_ge _ 0)) in F by lia.
      cbn [negb orb] in F; apply andb_true_iff in F; destruct F as [F F'].
      split; [exact F | apply Z.eqb_eq; exact F'].
  - intros [A B D E F G H]; repeat split; try assumption.
    + intros j Hj; apply E, in_range, Hj.
    + intros i Hi; apply in_range in Hi; apply forallb_forall; intros j Hj; apply in_range in Hj.
      unfold pair_agrees, entry; destruct (Z.ltb_spec j i) as [L|L]; [reflexivity |].
      destruct (Z.eqb_spec (p_tied (entry_at c i)) (p_tied (entry_at c j))) as [T|T];
        [| reflexivity].
      destruct (Z.ltb_spec (p_tied (entry_at c j)) 0) as [K|K]; [reflexivity |].
      destruct (F i j ltac:(lia) ltac:(lia) T ltac:(lia)) as [S X]; rewrite S, X; reflexivity.
Qed.

Theorem untied_is_decided : forall c, untied_b c = true <-> untied c.
Proof.
  intro c; unfold untied_b, untied; rewrite forallb_forall; split.
  - intros H j Hj; apply Z.ltb_lt, H, in_range, Hj.
  - intros H j Hj; apply Z.ltb_lt, H, in_range, Hj.
Qed.

(* ---- Without tied keys ----------------------------------------------------------------------- *)

(* 2 stages, 4 dp, 2 tp and 2 ep indices, 16 ranks; ZeRO stage z; 3 micro-batches; buckets of 4
   elements. Entries: elements, stage, optimizer group, tied key, sharded, expert, frozen, fp32. *)
Definition mixed (z : Z) : config :=
  Config 2 4 2 2 z ZP_EXACT ZP_BF16 1 2 0 3 4 2
    [Param 27 0 0 (-1) 0 0 0 0; Param 7 0 1 (-1) 1 0 0 1; Param 5 0 0 (-1) 0 1 0 0;
     Param 9 0 0 (-1) 0 0 1 0; Param 13 1 0 (-1) 1 1 0 0; Param 6 1 1 (-1) 0 0 0 0;
     Param 0 1 0 (-1) 0 0 0 0; Param 21 1 0 (-1) 1 0 0 0].

Theorem mixed_is_valid : forall z, 0 <= z <= 2 -> valid (mixed z) /\ untied (mixed z).
Proof.
  intros z H; assert (z = 0 \/ z = 1 \/ z = 2) as [-> | [-> | ->]] by lia;
    (split; [apply valid_is_decided | apply untied_is_decided]; vm_compute; reflexivity).
Qed.

(* Each stage has flat groups of the dp and of the edp group, and one of three or more buckets. *)
Theorem mixed_has_groups_and_buckets : forall z s, 0 <= z <= 2 -> 0 <= s < 2 ->
  let flats := l_flat (layout_of (mixed z) s) in
  existsb (fun f => f_group f =? ZP_GROUP_DP) flats &&
  existsb (fun f => (f_group f =? ZP_GROUP_EDP) && (f_members f =? 2)) flats &&
  existsb (fun f => 2 <? BucketsOf f) flats = true.
Proof.
  intros z s H L; assert (z = 0 \/ z = 1 \/ z = 2) as [-> | [-> | ->]] by lia;
    assert (s = 0 \/ s = 1) as [-> | ->] by lia; vm_compute; reflexivity.
Qed.

(* ---- With tied keys -------------------------------------------------------------------------- *)

(* Key 0 is used on both stages, twice on the second; key 1 is frozen and on both stages. *)
Definition tied_keys (z : Z) : config :=
  Config 2 4 2 2 z ZP_EXACT ZP_BF16 1 2 2 3 4 2
    [Param 12 0 0 0 1 0 0 0; Param 7 0 1 (-1) 0 0 0 1; Param 5 0 0 (-1) 0 1 0 0;
     Param 3 0 0 1 0 0 1 0; Param 12 1 0 0 1 0 0 0; Param 6 1 1 (-1) 0 0 0 0;
     Param 3 1 0 1 0 0 1 0; Param 12 1 0 0 1 0 0 0].

Theorem tied_keys_are_valid : forall z, 0 <= z <= 2 ->
  valid (tied_keys z) /\
  forall key s, 0 <= key < 2 -> 0 <= s < 2 -> On (tied_keys z) key s = 1.
Proof.
  intros z H; assert (z = 0 \/ z = 1 \/ z = 2) as [-> | [-> | ->]] by lia;
    (split; [apply valid_is_decided; vm_compute; reflexivity |]);
    intros key s K L; assert (key = 0 \/ key = 1) as [-> | ->] by lia;
    assert (s = 0 \/ s = 1) as [-> | ->] by lia; reflexivity.
Qed.
