(* What the ops of SAVE and LOAD do. spec: CKPT-1, CKPT-3, STEP-7

   Written after ref/engine (rank_storage.c, rank_comm.c, checkpoint_write.c, checkpoint_read.c) and
   about the memories of Meaning.v. A value in a checkpoint has an address: the state, the entry (of
   a tied key its first one), the tp and ep index of the copy, and the element. SAVE gathers each
   bucket of each state on the first member of the group, which writes the elements of the entries
   that it counts; frozen entries are written as parameters. The published checkpoint is what all
   ranks wrote, and the scaler and counts that rank 0 sealed. LOAD reads, for each element that the
   rank holds, the value at its address; parameters are rounded masters.

   Not modelled: files, their records, checksums, names, locks and publication (COMMIT has no
   effect); replicas, of which the first writes; hyperparameters; failures: the all-reduces of the
   status have no effect, and where C fails because a value is missing, the old one stays here. The
   theorems show that none is missing. C writes runs of elements, here each is one record. *)

Require Import Bool List Arith ZArith Lia.
Require Import ZP.Op ZP.OpOf ZP.Plan ZP.MeaningChannels ZP.Meaning ZP.Serial ZP.Contract.
Require ZP.Program.
Import ListNotations.
Open Scope Z_scope.

Record address := Address {
  d_what : Z;                                (* ZP_WHAT_MASTER, MOMENT1, MOMENT2 or PARAMETER *)
  d_entry : Z;
  d_tp : Z;
  d_ep : Z;
  d_element : Z
}.

Lemma address_eq_dec : forall a b : address, {a = b} + {a <> b}.
Proof. decide equality; apply Z.eq_dec. Defined.

(* The tp index of the copy of entry j that the rank with tp index t holds. *)
Definition copy_tp (c : config) (j t : Z) : Z := if p_sharded (entry c j) =? 1 then t else 0.

(* Where the rank at a finds element e of entry j. *)
Definition address_of (c : config) (a : coord) (what j e : Z) : address :=
  Address what (first_use c j) (copy_tp c j (a_tp a)) (copy_of c j (a_dp a)) e.

Section Storage.

Variables A T P S X V F : Type.              (* F: a value in a checkpoint, fp32 *)
Variable piece : Z -> S -> F.                (* the master or a moment of a state *)
Variable whole : F -> F -> F -> S.           (* the state of master and moments *)
Variable narrow : Z -> F -> P.               (* rounds to fp32 or the precision *)
Variable widen : P -> F.
Variable c : config.

Notation mem := (mem A T P S X V).

Definition records := list (address * F).

(* ---- SAVE ------------------------------------------------------------------------------------ *)

Record saver := Saver {
  v_mem : mem;
  v_recv : Z -> F;                           (* position: the bucket that was gathered last *)
  v_file : records;                          (* what this rank has written *)
  v_state : option V                         (* what it has sealed *)
}.

Definition held (m : mem) (k b what y : Z) : F := piece what (m_state _ _ _ _ _ _ m k b y).

(* The elements of entries in bucket b of flat group k that this rank counts. *)
Definition bucket_records (a : coord) (k b what : Z) (from : Z -> F) : records :=
  let lay := layout_of c (a_pp a) in
  let f := flat_at (l_flat lay) k in
  flat_map (fun ip =>
    let j := l_first_param lay + fst ip in
    let start := s_start (snd ip) in
    if (s_flat (snd ip) =? k) && counts c (a_pp a) (a_tp a) (entry c j) then
      map (fun e => (address_of c a what j e, from (start + e - b * f_capacity f)))
        (filter (fun e => in_bucket f b (start + e)) (range 0 (p_numel (entry c j))))
    else []) (numbered (l_spot lay)).

Definition entry_records (a : coord) (what j : Z) (value : Z -> F) : records :=
  map (fun e => (address_of c a what j e, value e)) (range 0 (p_numel (entry c j))).

(* At ZeRO stage 0 a rank holds the whole bucket; else it was gathered just before. *)
Definition written (a : coord) (o : op) (v : saver) : records :=
  if 0 <=? o_flat o then
    bucket_records a (o_flat o) (o_bucket o) (o_what o)
      (if c_stage c =? 0 then held (v_mem v) (o_flat o) (o_bucket o) (o_what o) else v_recv v)
  else entry_records a (o_what o) (o_param o)
    (fun e => widen (m_param _ _ _ _ _ _ (v_mem v) (o_param o) e)).

Definition save_op (a : coord) (o : op) (v : saver) : saver :=
  if o_kind o =? ZP_OP_WRITE then
    Saver (v_mem v) (v_recv v) (v_file v ++ written a o v) (v_state v)
  else if o_kind o =? ZP_OP_SEAL then
    Saver (v_mem v) (v_recv v) (v_file v) (Some (m_v _ _ _ _ _ _ (v_mem v)))
  else v.

(* The root receives the members' parts, in the order of their index. *)
Definition save_exchange (h : chan) (x : op) (all : list saver) (r : nat) (v : saver) : saver :=
  let a := coord_of c r in
  if (o_kind x =? ZP_OP_GATHER) &&
     (group_index c a (flat_at (l_flat (layout_of c (a_pp a))) (o_flat x)) =? o_root x)
  then Saver (v_mem v)
    (fun y => held (nth (Z.to_nat (y / o_count x)) (map v_mem all) (v_mem v)) (o_flat x)
      (o_bucket x) (o_what x) y)
    (v_file v) (v_state v)
  else v.

(* ---- LOAD ------------------------------------------------------------------------------------ *)

Record checkpoint := Checkpoint { k_records : records; k_state : V }.

Definition lookup (l : records) (d : address) : option F :=
  option_map snd (find (fun r => if address_eq_dec (fst r) d then true else false) l).

Record loader := Loader { d_mem : mem; d_state : option V }.

(* The entry and element at position y of bucket b of flat group k. *)
Definition element_of (lay : layout) (k b y : Z) : option (Z * Z) :=
  let x := b * f_capacity (flat_at (l_flat lay) k) + y in
  option_map (fun ip => (l_first_param lay + fst ip, x - s_start (snd ip)))
    (find (fun ip => (s_flat (snd ip) =? k) && (s_start (snd ip) <=? x) &&
        (x <? s_start (snd ip) + p_numel (entry c (l_first_param lay + fst ip))))
      (numbered (l_spot lay))).

Variable file : checkpoint.

Definition at_address (a : coord) (what j e : Z) : option F :=
  lookup (k_records file) (address_of c a what j e).

(* Of flat groups with storage; at ZeRO stages 1 and 2 only the rank's part. *)
Definition read_state (a : coord) (old : Z -> Z -> Z -> S) (k b y : Z) : S :=
  let lay := layout_of c (a_pp a) in
  let f := flat_at (l_flat lay) k in
  if (0 <=? k) && (f_use f =? 0) && owns c a f b y then
    match element_of lay k b y with
    | Some (j, e) =>
        match at_address a ZP_WHAT_MASTER j e, at_address a ZP_WHAT_MOMENT1 j e,
              at_address a ZP_WHAT_MOMENT2 j e with
        | Some u, Some v, Some w => whole u v w
        | _, _, _ => old k b y
        end
    | None => old k b y
    end
  else old k b y.

(* Of entries with storage: rounded masters, or a frozen entry. C reads a frozen entry of a tied key
   once on each stage; in Meaning.v each such entry has storage. *)
Definition read_param (a : coord) (old : Z -> Z -> P) (j e : Z) : P :=
  let lay := layout_of c (a_pp a) in
  if (l_first_param lay <=? j) && (j <? l_first_param lay + l_n_params lay) && (storage c j =? j)
  then
    match at_address a (if p_frozen (entry c j) =? 0 then ZP_WHAT_MASTER else ZP_WHAT_PARAMETER) j e
    with
    | Some u => narrow (p_fp32 (entry c j)) u
    | None => old j e
    end
  else old j e.

Definition set_v (v : V) (m : mem) : mem :=
  Mem _ _ _ _ _ _ v (m_param _ _ _ _ _ _ m)
    (m_state _ _ _ _ _ _ m) (m_sum _ _ _ _ _ _ m) (m_mean _ _ _ _ _ _ m) (m_bucket _ _ _ _ _ _ m)
    (m_rounded _ _ _ _ _ _ m) (m_input _ _ _ _ _ _ m) (m_tape _ _ _ _ _ _ m)
    (m_output _ _ _ _ _ _ m) (m_grad_in _ _ _ _ _ _ m) (m_grad_out _ _ _ _ _ _ m)
    (m_arrived _ _ _ _ _ _ m) (m_stats _ _ _ _ _ _ m) (m_agreed _ _ _ _ _ _ m).

Definition load_op (a : coord) (o : op) (d : loader) : loader :=
  if o_kind o =? ZP_OP_READ then
    Loader (set_param _ _ _ _ _ _ (read_param a (m_param _ _ _ _ _ _ (d_mem d)))
        (set_state _ _ _ _ _ _ (read_state a (m_state _ _ _ _ _ _ (d_mem d))) (d_mem d)))
      (Some (k_state file))
  else if o_kind o =? ZP_OP_INSTALL then
    match d_state d with Some v => Loader (set_v v (d_mem d)) (d_state d) | None => d end
  else d.

Definition load_exchange (h : chan) (x : op) (all : list loader) (r : nat) (d : loader) : loader :=
  d.

(* ---- As NoDeadlock.v needs it ---------------------------------------------------------------- *)

Definition save_of (r : nat) : list op :=
  let a := coord_of c r in
  if (r <? ranks c)%nat then save_program c (layout_of c (a_pp a)) a else [].
Definition load_of (r : nat) : list op := if (r <? ranks c)%nat then load_program else [].

Definition saves (r : nat) : list (Program.op chan op) :=
  map (synchronized c (coord_of c r)) (save_of r).
Definition loads (r : nat) : list (Program.op chan op) :=
  map (synchronized c (coord_of c r)) (load_of r).

(* In any programs, and in SAVE. *)
Definition save_compute_in (programs : nat -> list op) (r : nat) (o : Program.op chan op)
  (v : saver) : saver :=
  match op_with (Program.at_clock _ _ o) (programs r) with
  | Some q => save_op (coord_of c r) q v
  | None => v
  end.
Definition save_compute : nat -> Program.op chan op -> saver -> saver := save_compute_in save_of.
Definition load_compute (r : nat) (o : Program.op chan op) (d : loader) : loader :=
  match op_with (Program.at_clock _ _ o) (load_of r) with
  | Some q => load_op (coord_of c r) q d
  | None => d
  end.

(* SAVE and LOAD have no DECIDE. *)
Definition no_decide {B} (r : nat) (v : B) : bool := true.

(* ---- Checkpoints of a serial state ----------------------------------------------------------- *)

(* What all ranks wrote. *)
Definition published (memory : nat -> saver) : records :=
  flat_map (fun r => v_file (memory r)) (seq 0 (ranks c)).

Variable z : serial P S V.

Definition saved_value (d : address) : F :=
  if d_what d =? ZP_WHAT_PARAMETER
  then widen (s_param _ _ _ z (d_entry d) (d_element d) (d_tp d) (d_ep d))
  else piece (d_what d) (s_state _ _ _ z (d_entry d) (d_element d) (d_tp d) (d_ep d)).

(* Is d an address of the model: of a copy of an element that some rank holds? *)
Definition addressed (d : address) : Prop := exists a what j e, within c a /\
  0 <= j < c_n_params c /\ 0 <= e < p_numel (entry c j) /\
  (if p_frozen (entry c j) =? 0 then ZP_WHAT_MASTER <= what <= ZP_WHAT_MOMENT2
   else what = ZP_WHAT_PARAMETER) /\
  d = address_of c a what j e.

(* The checkpoint has the values of z at exactly these addresses. *)
Definition is_of (l : records) : Prop :=
  (forall d, addressed d -> exists x, In (d, x) l) /\
  (forall d x, In (d, x) l -> addressed d /\ x = saved_value d).

End Storage.
