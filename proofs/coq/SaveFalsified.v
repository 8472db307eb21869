(* Injected faults change what is loaded. spec: CKPT-1, CKPT-3

   A small configuration with two stages, experts, a frozen entry and a tied key is saved, and
   loaded under one stage, four dp indices and another bucket size. With Plan.v's programs the ranks
   then agree with the serial state, as saved_then_loaded says. With a fault in SAVE's programs (a
   write of another bucket or state, gathers or writes left out) they do not. Computed by coqc. *)

Require Import Bool List Arith ZArith Lia.
Require Import ZP.Op ZP.OpOf ZP.Plan ZP.Sums ZP.MeaningChannels ZP.Meaning ZP.Serial ZP.Contract.
Require Import ZP.Execute ZP.Storage ZP.Loaded.
Require ZP.Program ZP.Valid ZP.Examples.
Import ListNotations.
Open Scope Z_scope.

(* ---- Concrete functions ---------------------------------------------------------------------- *)

Definition triple := (Z * Z * Z)%type.
Definition triple_piece (what : Z) (s : triple) : Z :=
  let '(u, v, w) := s in
  if what =? ZP_WHAT_MASTER then u else if what =? ZP_WHAT_MOMENT1 then v else w.
Definition triple_whole (u v w : Z) : triple := (u, v, w).
Definition triple_narrow (fp32 u : Z) : Z := 2 * u + fp32.
Definition triple_widen (p : Z) : Z := p / 2.

Notation t_mem := (mem Z Z Z triple Z Z).
Notation t_saver := (saver Z Z Z triple Z Z Z).
Notation t_loader := (loader Z Z Z triple Z Z).

(* All values differ, except for equal copies of what tp replicates. *)
Definition t_state (c : config) (j e t q : Z) : triple :=
  let u := 1000 * j + 100 * q + 10 * (if p_sharded (entry c j) =? 1 then t else 0) + e in
  (u, u + 100000, u + 200000).
Definition t_serial (c : config) : serial Z triple Z :=
  Serial Z triple Z 7
    (fun j e t q => triple_narrow (p_fp32 (entry c j)) (triple_piece ZP_WHAT_MASTER
      (t_state c j e t q)))
    (t_state c).

(* ---- Ranks ----------------------------------------------------------------------------------- *)

Definition t_memory (param : Z -> Z -> Z) (state : Z -> Z -> Z -> triple) : t_mem :=
  Mem Z Z Z triple Z Z 0 param state (fun _ _ _ => -1) (fun _ _ _ => -1) (fun _ _ _ => -1)
    (fun _ => -1) (fun _ => -1) (fun _ => -1) (-1) (-1) (-1) (fun _ => None) (fun _ => 0)
    (fun _ => -1).

(* A memory that agrees with z; what the rank does not own is -1. *)
Definition t_start (c : config) (z : serial Z triple Z) (r : nat) : t_mem :=
  let a := coord_of c r in
  let lay := layout_of c (a_pp a) in
  set_v Z Z Z triple Z Z (s_v _ _ _ z) (t_memory
    (fun j e => s_param _ _ _ z (first_use c j) e (a_tp a) (copy_of c j (a_dp a)))
    (fun k b y => match element_of c lay k b y with
      | Some (j, e) => if owns c a (flat_at (l_flat lay) k) b y
          then s_state _ _ _ z (first_use c j) e (a_tp a) (copy_of c j (a_dp a)) else (-1, -1, -1)
      | None => (-1, -1, -1)
      end)).

Definition triple_eqb (s u : triple) : bool :=
  forallb (fun what => triple_piece what s =? triple_piece what u)
    (range ZP_WHAT_MASTER (ZP_WHAT_MOMENT2 + 1)).

(* Does the memory of rank r agree with z? *)
Definition t_agrees (c : config) (z : serial Z triple Z) (r : nat) (m : t_mem) : bool :=
  let a := coord_of c r in
  let lay := layout_of c (a_pp a) in
  (m_v _ _ _ _ _ _ m =? s_v _ _ _ z) &&
  forallb (fun ip => let j := l_first_param lay + fst ip in let k := s_flat (snd ip) in
    let q := copy_of c j (a_dp a) in
    negb (storage c j =? j) ||
    forallb (fun e =>
      let f := flat_at (l_flat lay) k in
      let x := s_start (snd ip) + e in let b := x / f_capacity f in let y := x mod f_capacity f in
      (m_param _ _ _ _ _ _ m j e =? s_param _ _ _ z (first_use c j) e (a_tp a) q) &&
      ((k <? 0) || negb (owns c a f b y) ||
       triple_eqb (m_state _ _ _ _ _ _ m k b y) (s_state _ _ _ z (first_use c j) e (a_tp a) q)))
      (range 0 (p_numel (entry c j)))) (numbered (l_spot lay)).

Lemma op_eq_dec : forall a b : op, {a = b} + {a <> b}.
Proof. decide equality; apply Z.eq_dec. Defined.

(* ---- Save and load --------------------------------------------------------------------------- *)

Section Outcome.

Variables c c' : config.
Variable fault : list op -> list op.
Let z := t_serial c.

Definition programs (r : nat) : list op := fault (save_of c r).

Definition saved_table : table chan op t_saver :=
  execute chan op t_saver chan_eq_dec op_eq_dec (members c) no_decide
    (save_compute_in Z Z Z triple Z Z Z triple_piece triple_widen c programs)
    (save_exchange Z Z Z triple Z Z Z triple_piece c)
    (Saver _ _ _ _ _ _ _ (t_start c z 0) (fun _ => -1) [] None) 1000
    (map (fun r => (map (synchronized c (coord_of c r)) (programs r),
      Saver _ _ _ _ _ _ _ (t_start c z r) (fun _ => -1) [] None)) (seq 0 (ranks c))).

Definition t_file : checkpoint Z Z :=
  Checkpoint Z Z (flat_map (fun p => v_file _ _ _ _ _ _ _ (snd p)) saved_table)
    (match saved_table with
     | (_, v) :: _ => match v_state _ _ _ _ _ _ _ v with Some x => x | None => -1 end
     | [] => -1
     end).

Definition loaded_table (file : checkpoint Z Z) : table chan op t_loader :=
  let d := Loader _ _ _ _ _ _ (t_memory (fun _ _ => -1) (fun _ _ _ => (-1, -1, -1))) None in
  execute chan op t_loader chan_eq_dec op_eq_dec (members c') no_decide
    (load_compute Z Z Z triple Z Z Z triple_whole triple_narrow c' file)
    (load_exchange Z Z Z triple Z Z) d 1000
    (map (fun r => (loads c' r, d)) (seq 0 (ranks c'))).

Inductive round_trip := Agree | Differ | Unfinished.
Definition round_trip_of : round_trip :=
  let file := t_file in
  let last := loaded_table file in
  if ended chan op t_saver saved_table && ended chan op t_loader last then
    if forallb (fun rp => t_agrees c' z (fst rp) (d_mem _ _ _ _ _ _ (snd (snd rp))))
      (combine (seq 0 (ranks c')) last) then Agree else Differ
  else Unfinished.

End Outcome.

(* ---- Configurations and faults --------------------------------------------------------------- *)

(* Entries: elements, stage, optimizer group, tied key, sharded, expert, frozen, fp32. *)
Definition t_params (stage : Z) : list param :=
  [Param 3 0 0 0 0 0 0 0; Param 2 0 1 (-1) 0 1 0 1; Param 5 stage 0 (-1) 0 0 0 0;
   Param 2 stage 0 (-1) 0 0 1 0; Param 3 stage 0 0 0 0 0 0].
Definition small_split (zero : Z) : config :=
  Config 2 2 1 2 zero ZP_EXACT ZP_BF16 0 2 1 2 2 1 (t_params 1).
Definition wide_split (zero : Z) : config :=
  Config 1 4 1 2 zero ZP_EXACT ZP_BF16 0 2 1 1 4 1 (t_params 0).

(* They satisfy the hypotheses of saved_then_loaded. *)
Theorem splits_fit : forall from to, 0 <= from <= 2 -> 0 <= to <= 2 ->
  Valid.valid (small_split from) /\ Valid.valid (wide_split to) /\
  fits (small_split from) (wide_split to).
Proof.
  intros from to F T.
  assert (from = 0 \/ from = 1 \/ from = 2) as [-> | [-> | ->]] by lia;
    assert (to = 0 \/ to = 1 \/ to = 2) as [-> | [-> | ->]] by lia;
    (split; [apply Examples.valid_is_decided; vm_compute; reflexivity |]);
    (split; [apply Examples.valid_is_decided; vm_compute; reflexivity |]);
    (constructor; [reflexivity | |]); intros j H;
    match type of H with _ <= _ < c_n_params ?c => change (c_n_params c) with 5 in H end;
    assert (j = 0 \/ j = 1 \/ j = 2 \/ j = 3 \/ j = 4) as [-> | [-> | [-> | [-> | ->]]]] by lia;
    vm_compute; repeat split; try discriminate; intro Q; exfalso; apply Q; reflexivity.
Qed.

Definition with_fields (what bucket : Z) (o : op) : op := Op (o_kind o) what (o_group o) (o_key o)
  (o_dtype o) (o_redop o) (o_root o) (o_flat o) (o_param o) (o_slot o) (o_if_stepped o) (o_mb o)
  (o_recv_mb o) bucket (o_offset o) (o_count o) (o_clock_t o) (o_clock_i o).

Definition writes_op (o : op) : bool := o_kind o =? ZP_OP_WRITE.
(* Bucket 1 is written as bucket 0. *)
Definition wrong_bucket : list op -> list op := map (fun o =>
  if writes_op o && (o_bucket o =? 1) then with_fields (o_what o) 0 o else o).
(* The first moment is written as the master. *)
Definition wrong_state : list op -> list op := map (fun o =>
  if writes_op o && (o_what o =? ZP_WHAT_MOMENT1) then with_fields ZP_WHAT_MASTER (o_bucket o) o
  else o).
(* Frozen entries are not written. *)
Definition no_frozen : list op -> list op := filter (fun o =>
  negb (writes_op o && (o_what o =? ZP_WHAT_PARAMETER))).
(* The second moment is not gathered, so the first one is written. *)
Definition no_gather : list op -> list op := filter (fun o =>
  negb ((o_kind o =? ZP_OP_GATHER) && (o_what o =? ZP_WHAT_MOMENT2))).
Definition no_seal : list op -> list op := filter (fun o => negb (o_kind o =? ZP_OP_SEAL)).

(* Saved at one ZeRO stage and loaded at another. *)
Definition trip (fault : list op -> list op) (from to : Z) : round_trip :=
  round_trip_of (small_split from) (wide_split to) fault.

Definition no_fault (p : list op) : list op := p.

Theorem round_trip_0_1 : trip no_fault 0 1 = Agree. Proof. vm_compute; reflexivity. Qed.
Theorem round_trip_1_2 : trip no_fault 1 2 = Agree. Proof. vm_compute; reflexivity. Qed.
Theorem round_trip_2_0 : trip no_fault 2 0 = Agree. Proof. vm_compute; reflexivity. Qed.

Theorem a_wrong_bucket_is_loaded : trip wrong_bucket 1 2 = Differ.
Proof. vm_compute; reflexivity. Qed.
Theorem a_wrong_state_is_loaded : trip wrong_state 1 2 = Differ.
Proof. vm_compute; reflexivity. Qed.
Theorem a_frozen_entry_left_out_is_missing : trip no_frozen 1 2 = Differ.
Proof. vm_compute; reflexivity. Qed.
Theorem a_gather_left_out_differs : trip no_gather 1 2 = Differ.
Proof. vm_compute; reflexivity. Qed.
Theorem a_seal_left_out_differs : trip no_seal 1 2 = Differ.
Proof. vm_compute; reflexivity. Qed.
