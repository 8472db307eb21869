(* Injected faults change the result. spec: RED-3, PIPE-3, PIPE-4

   Small configurations with concrete stage functions are executed. With Plan.v's programs the ranks
   end with the memories of the serial loop, as sharded_step says. With one fault injected in the
   programs of all ranks (a wrong bucket, a wrong slot, a swapped micro-batch, an exchange left out
   on both sides, tied all-reduces left out on all stages, or with another bucket or flat group)
   every execution ends too, but with other memories. With an exchange left out on one side, or
   tied all-reduces on one stage, the execution is stuck. So the meaning of the ops distinguishes
   the fields that the theorem is about. No axioms. *)

Require Import Bool List Arith ZArith Lia.
Require Import ZP.Op ZP.OpOf ZP.Plan ZP.Sums ZP.MeaningChannels ZP.Meaning ZP.Serial ZP.Execute.
Require ZP.Program ZP.NoDeadlock ZP.Schedule ZP.Valid.
Import ListNotations.
Open Scope Z_scope.

(* ---- Concrete functions ---------------------------------------------------------------------- *)

Definition total_of (ps : list (list Z)) : Z :=
  fold_right (fun p s => fold_right (fun x u => x + 3 * u) 1 p + 5 * s) 2 ps.

(* Outputs, gradients and loss depend on rank, parameters, input and micro-batch. *)
Definition toy_fwd (a : coord) (v : Z) (ps : list (list Z)) (x mb : Z) : Z * Z * (Z -> Z) :=
  let y := 2 * x + total_of ps + 7 * mb + 11 * a_dp a + 13 * a_tp a + v in
  (y, y + 5 * x, fun w => if (a_pp a =? 1) && (w =? 1) then y else 0).
Definition toy_bwd (a : coord) (v : Z) (ps : list (list Z)) (tape g mb : Z)
  : Z * (Z -> option (Z -> Z)) :=
  (3 * g + tape + total_of ps,
   fun j => if (j =? 1) && (mb =? 0) then None
            else Some (fun e => tape + (j + 2) * g + e * (mb + 1) + mb)).
Definition toy_mean (x : Z) : Z := x + 1.
Definition toy_words (x w : Z) : Z := if w =? 0 then x * x else if w =? 2 then 1 else 0.
Definition toy_go (v : Z) (stats : list Z) : bool := 0 <? v.
Definition toy_update (g v : Z) (stats : list Z) (x st : Z) : Z := 2 * st - x + g + nth 1 stats 0.
Definition toy_round (fp32 st : Z) : Z := st + fp32.
Definition toy_next (v : Z) (stats : list Z) : Z := v + nth 2 stats 0.

Notation toy_mem := (mem Z Z Z Z Z Z).
Definition toy_serial (v : Z) : serial Z Z Z :=
  Serial Z Z Z v (fun j e t q => 10 * j + e + 2 * t + 3 * q) (fun j e t q => 20 * j - e + t + q).
Definition toy_step (c : config) : serial Z Z Z -> serial Z Z Z :=
  serial_step Z Z Z Z Z Z 0 toy_fwd toy_bwd toy_mean toy_words toy_go toy_update toy_round toy_next
    c.
Definition toy_statistics (c : config) : serial Z Z Z -> list Z :=
  serial_statistics Z Z Z Z Z Z 0 toy_fwd toy_bwd toy_mean toy_words c.

(* ---- Ranks ----------------------------------------------------------------------------------- *)

(* The entry and element at position y of bucket b of flat group k. *)
Definition element_at (lay : layout) (c : config) (k b y : Z) : Z * Z :=
  let x := b * f_capacity (flat_at (l_flat lay) k) + y in
  match find (fun ip => (s_flat (snd ip) =? k) && (s_start (snd ip) <=? x) &&
      (x <? s_start (snd ip) + p_numel (entry c (l_first_param lay + fst ip))))
    (numbered (l_spot lay)) with
  | Some (i, p) => (l_first_param lay + i, x - s_start p)
  | None => (-1, 0)
  end.

(* A rank's memory that agrees with z; what the step does not read is -1. *)
Definition start_memory (c : config) (z : serial Z Z Z) (r : nat) : toy_mem :=
  let a := coord_of c r in
  let lay := layout_of c (a_pp a) in
  Mem Z Z Z Z Z Z (s_v Z Z Z z)
    (fun j e => s_param Z Z Z z (first_use c j) e (a_tp a) (copy_of c j (a_dp a)))
    (fun k b y => let (j, e) := element_at lay c k b y in
                  s_state Z Z Z z (first_use c j) e (a_tp a) (copy_of c j (a_dp a)))
    (fun _ _ _ => -1) (fun _ _ _ => -1) (fun _ _ _ => -1) (fun _ => -1) (fun _ => -1) (fun _ => -1)
    (-1) (-1) (-1) (fun _ => None) (fun _ => 0) (fun _ => -1).

(* The elements of a stage that have storage, with flat group, bucket and position. *)
Definition positions (c : config) (s : Z) : list (Z * Z * (Z * Z * Z)) :=
  let lay := layout_of c s in
  flat_map (fun ip => let j := l_first_param lay + fst ip in
    map (fun e => let x := s_start (snd ip) + e in
                  let f := flat_at (l_flat lay) (s_flat (snd ip)) in
                  (j, e, (s_flat (snd ip), x / f_capacity f, x mod f_capacity f)))
      (range 0 (p_numel (entry c j))))
    (filter (fun ip => storage c (l_first_param lay + fst ip) =? l_first_param lay + fst ip)
      (numbered (l_spot lay))).

(* The serial step, with its statistics st given: computed once. *)
Definition toy_expected (c : config) (z : serial Z Z Z) (st : list Z) : serial Z Z Z :=
  let trains j := toy_go (s_v Z Z Z z) st && (p_frozen (entry c j) =? 0) in
  let new j e t q := toy_update (p_optgroup (entry c j)) (s_v Z Z Z z) st
    (toy_mean (serial_sum Z Z Z Z Z 0 toy_fwd toy_bwd c z j e t q)) (s_state Z Z Z z j e t q) in
  Serial Z Z Z (toy_next (s_v Z Z Z z) st)
    (fun j e t q => if trains j then toy_round (p_fp32 (entry c j)) (new j e t q)
                    else s_param Z Z Z z j e t q)
    (fun j e t q => if trains j then new j e t q else s_state Z Z Z z j e t q).

Lemma expected_is : forall c z, toy_expected c z (toy_statistics c z) = toy_step c z.
Proof. reflexivity. Qed.

(* Does rank r's memory equal n, the serial loop's next state, and its statistics st? *)
Definition equal_memory (c : config) (n : serial Z Z Z) (st : list Z) (r : nat) (m : toy_mem)
  : bool :=
  let a := coord_of c r in
  let lay := layout_of c (a_pp a) in
  let t := a_tp a in
  forallb (fun p => let '(j, e, (k, b, y)) := p in
    let f := flat_at (l_flat lay) k in
    let q := copy_of c j (a_dp a) in
    (m_param Z Z Z Z Z Z m j e =? s_param Z Z Z n (first_use c j) e t q) &&
    ((k <? 0) || negb ((c_stage c =? 0) || in_part f b (group_index c a f) y) ||
     (m_state Z Z Z Z Z Z m k b y =? s_state Z Z Z n (first_use c j) e t q)))
    (positions c (a_pp a)) &&
  forallb (fun p => fst p =? snd p)
    (combine (statistics Z Z Z Z Z Z m) st).

Definition op_eq_dec : forall a b : op, {a = b} + {a <> b}.
Proof. decide equality; apply Z.eq_dec. Defined.

Section Outcome.

Variable c : config.
Variable programs : nat -> list op.
Variable v : Z.

Notation decide := (decide Z Z Z Z Z Z toy_go).
Notation compute :=
  (compute_in Z Z Z Z Z Z 0 toy_fwd toy_bwd toy_mean toy_words toy_update toy_round c programs).
Notation exchange := (exchange_in Z Z Z Z Z Z c programs).

Definition start_table : table chan op toy_mem :=
  map (fun r => (map (synchronized c (coord_of c r)) (programs r), start_memory c (toy_serial v) r))
    (seq 0 (ranks c)).
Definition end_table : table chan op toy_mem :=
  execute chan op toy_mem chan_eq_dec op_eq_dec (members c) decide compute exchange
    (start_memory c (toy_serial v) 0) 1000 start_table.

Inductive outcome := Equal | Different | Stuck.
Definition outcome_of : outcome :=
  let last := end_table in
  let st := toy_statistics c (toy_serial v) in
  if ended chan op toy_mem last then
    if forallb (fun r => equal_memory c (toy_expected c (toy_serial v) st) st r
        (snd (state_of chan op toy_mem (start_memory c (toy_serial v) 0) last r)))
      (seq 0 (ranks c))
    then Equal else Different
  else Stuck.

(* The table is the state of an execution, and no other execution ends elsewhere. *)
Theorem outcome_is_of_all : ended chan op toy_mem end_table = true -> forall n s,
  let state := state_of chan op toy_mem (start_memory c (toy_serial v) 0) in
  NoDeadlock.runs chan op toy_mem (members c) decide compute exchange n (state start_table) s ->
  NoDeadlock.stuck chan op toy_mem (members c) decide compute exchange s ->
  NoDeadlock.same chan op toy_mem s (state end_table).
Proof.
  intros E n s state R St.
  destruct (execute_runs chan op toy_mem chan_eq_dec op_eq_dec (members c) decide compute exchange
    (start_memory c (toy_serial v) 0) 1000 start_table) as [m R'].
  refine (proj2 (Schedule.outcome_is_unique chan op toy_mem chan_eq_dec (members c) decide compute
    exchange n m (state start_table) s (state end_table) R St R' _)).
  pose proof (ended_finished chan op toy_mem (start_memory c (toy_serial v) 0) end_table E) as F.
  intros t [[q|h] [En _]]; simpl in En.
  - destruct En as [En | [En | En]]; destruct En as [o [rest [Q _]]]; unfold state in Q;
      rewrite F in Q; discriminate.
  - destruct En as [Ne [x En]]; destruct (members c h) as [|q l]; [congruence |].
    destruct (En q (or_introl eq_refl)) as [o [rest [Q _]]]; unfold state in Q; rewrite F in Q;
      discriminate.
Qed.

End Outcome.

(* ---- Configurations and faults --------------------------------------------------------------- *)

(* Two stages, two dp indices, one tp index, two micro-batches; buckets of two elements. Entries:
   elements, stage, optimizer group, tied key, sharded, expert, frozen, fp32. *)
Definition toy (stage ep : Z) : config :=
  Config 2 2 1 ep stage ZP_EXACT ZP_BF16 0 2 0 2 2 1
    [Param 3 0 0 (-1) 0 0 0 0; Param 1 0 1 (-1) 0 1 0 1; Param 1 1 0 (-1) 0 0 1 0;
     Param 1 1 0 (-1) 0 0 0 0].

(* The same with a key: one use on stage 0, two on stage 1. *)
Definition tied_toy (stage : Z) : config :=
  Config 2 2 1 1 stage ZP_EXACT ZP_BF16 0 2 1 2 2 1
    [Param 3 0 0 0 0 0 0 0; Param 1 0 1 (-1) 0 0 0 1; Param 3 1 0 0 0 0 0 0;
     Param 1 1 0 (-1) 0 0 0 0; Param 3 1 0 0 0 0 0 0].

Definition right (c : config) : nat -> list op := step_of c.
Definition everywhere (fault : list op -> list op) (c : config) : nat -> list op :=
  fun r => fault (step_of c r).

Definition is_kind (k mb : Z) (o : op) : bool := (o_kind o =? k) && (o_mb o =? mb).
Definition with_bucket b o := Op (o_kind o) (o_what o) (o_group o) (o_key o) (o_dtype o) (o_redop o)
  (o_root o) (o_flat o) (o_param o) (o_slot o) (o_if_stepped o) (o_mb o) (o_recv_mb o) b
  (o_offset o) (o_count o) (o_clock_t o) (o_clock_i o).
Definition with_slot k o := Op (o_kind o) (o_what o) (o_group o) (o_key o) (o_dtype o) (o_redop o)
  (o_root o) (o_flat o) (o_param o) k (o_if_stepped o) (o_mb o) (o_recv_mb o) (o_bucket o)
  (o_offset o) (o_count o) (o_clock_t o) (o_clock_i o).
Definition with_mb m o := Op (o_kind o) (o_what o) (o_group o) (o_key o) (o_dtype o) (o_redop o)
  (o_root o) (o_flat o) (o_param o) (o_slot o) (o_if_stepped o) m (o_recv_mb o) (o_bucket o)
  (o_offset o) (o_count o) (o_clock_t o) (o_clock_i o).
Definition with_flat k o := Op (o_kind o) (o_what o) (o_group o) (o_key o) (o_dtype o) (o_redop o)
  (o_root o) k (o_param o) (o_slot o) (o_if_stepped o) (o_mb o) (o_recv_mb o) (o_bucket o)
  (o_offset o) (o_count o) (o_clock_t o) (o_clock_i o).

(* The additions to bucket 1 in micro-batch 1 go to bucket 0. *)
Definition wrong_bucket : list op -> list op := map (fun o =>
  if is_kind ZP_OP_ADD 1 o && (o_bucket o =? 1) then with_bucket 0 o else o).
(* The backward of micro-batch 1 reads activation slot 0. *)
Definition wrong_activation_slot : list op -> list op := map (fun o =>
  if is_kind ZP_OP_BACKWARD 1 o then with_slot 0 o else o).
(* The reductions of bucket 1 in micro-batch 0 read the other bucket slot. *)
Definition wrong_bucket_slot : list op -> list op := map (fun o =>
  if is_kind ZP_OP_REDUCE_SCATTER 0 o && (o_bucket o =? 1) then with_slot (1 - o_slot o) o else o).
(* The forwards of micro-batches 0 and 1 are swapped. *)
Definition swapped : list op -> list op := map (fun o =>
  if is_kind ZP_OP_FORWARD 0 o then with_mb 1 o
  else if is_kind ZP_OP_FORWARD 1 o then with_mb 0 o else o).
(* The exchange in slot 3, in which micro-batch 1 reaches stage 1, is left out. *)
Definition no_exchange : list op -> list op := filter (fun o =>
  negb ((o_kind o =? ZP_OP_P2P) && (o_clock_t o =? 3))).
Definition no_send (c : config) : nat -> list op := fun r =>
  if a_pp (coord_of c r) =? 0 then no_exchange (step_of c r) else step_of c r.

Definition is_tied (o : op) : bool := o_what o =? ZP_WHAT_TIED.
(* The tied all-reduces are left out. *)
Definition no_tied : list op -> list op := filter (fun o => negb (is_tied o)).
Definition no_tied_above (c : config) : nat -> list op := fun r =>
  if a_pp (coord_of c r) =? 1 then no_tied (step_of c r) else step_of c r.
(* That of bucket 1 sums bucket 0 again. *)
Definition wrong_tied_bucket : list op -> list op := map (fun o =>
  if is_tied o && (o_bucket o =? 1) then with_bucket 0 o else o).
(* Stage 1 names the flat group of the use that has no storage. *)
Definition wrong_tied_flat : list op -> list op := map (fun o =>
  if is_tied o && (o_flat o =? 0) then with_flat 2 o else o).
Definition wrong_flat_above (c : config) : nat -> list op := fun r =>
  if a_pp (coord_of c r) =? 1 then wrong_tied_flat (step_of c r) else step_of c r.

(* ---- Results --------------------------------------------------------------------------------- *)

Definition result (programs : config -> nat -> list op) (stage ep v : Z) : outcome :=
  outcome_of (toy stage ep) (programs (toy stage ep)) v.

(* v = 1: a step; v = 0: a skipped step. *)
Theorem right_at_stage_0 : result right 0 2 1 = Equal. Proof. vm_compute; reflexivity. Qed.
Theorem right_at_stage_1 : result right 1 2 1 = Equal. Proof. vm_compute; reflexivity. Qed.
Theorem right_at_stage_2 : result right 2 2 1 = Equal. Proof. vm_compute; reflexivity. Qed.
Theorem right_when_skipped : result right 2 2 0 = Equal. Proof. vm_compute; reflexivity. Qed.

Theorem a_wrong_bucket_differs : result (everywhere wrong_bucket) 0 2 1 = Different.
Proof. vm_compute; reflexivity. Qed.
Theorem a_wrong_activation_slot_differs :
  result (everywhere wrong_activation_slot) 0 2 1 = Different.
Proof. vm_compute; reflexivity. Qed.
Theorem a_wrong_bucket_slot_differs : result (everywhere wrong_bucket_slot) 2 2 1 = Different.
Proof. vm_compute; reflexivity. Qed.
Theorem a_swapped_micro_batch_differs : result (everywhere swapped) 0 2 1 = Different.
Proof. vm_compute; reflexivity. Qed.
Theorem an_exchange_left_out_differs : result (everywhere no_exchange) 0 2 1 = Different.
Proof. vm_compute; reflexivity. Qed.
Theorem a_send_left_out_is_stuck : result no_send 1 2 1 = Stuck.
Proof. vm_compute; reflexivity. Qed.

(* ---- A tied key ------------------------------------------------------------------------------ *)

Definition tied_result (programs : config -> nat -> list op) (stage : Z) : outcome :=
  outcome_of (tied_toy stage) (programs (tied_toy stage)) 1.

(* The configuration is one of those of Joined.v's theorems. *)
Theorem tied_toy_is_valid : forall stage, 0 <= stage <= 2 -> Valid.valid (tied_toy stage).
Proof.
  intros stage H; assert (Cs : stage = 0 \/ stage = 1 \/ stage = 2) by lia.
  assert (Five : forall j, 0 <= j < 5 -> j = 0 \/ j = 1 \/ j = 2 \/ j = 3 \/ j = 4) by lia.
  destruct Cs as [-> | [-> | ->]]; split; try reflexivity; try discriminate.
  all: try (intros j Hj; destruct (Five j Hj) as [-> | [-> | [-> | [-> | ->]]]]; reflexivity).
  all: intros i j Hi Hj E K; change (j < 5) in Hj.
  all: destruct (Five i ltac:(lia)) as [-> | [-> | [-> | [-> | ->]]]];
    destruct (Five j ltac:(lia)) as [-> | [-> | [-> | [-> | ->]]]];
    try (split; reflexivity); try discriminate E; exfalso; apply K; reflexivity.
Qed.

Theorem right_with_ties_at_stage_0 : tied_result right 0 = Equal.
Proof. vm_compute; reflexivity. Qed.
Theorem right_with_ties_at_stage_1 : tied_result right 1 = Equal.
Proof. vm_compute; reflexivity. Qed.
Theorem right_with_ties_at_stage_2 : tied_result right 2 = Equal.
Proof. vm_compute; reflexivity. Qed.

Theorem ties_left_out_differ : tied_result (everywhere no_tied) 1 = Different.
Proof. vm_compute; reflexivity. Qed.
Theorem ties_left_out_on_one_stage_are_stuck : tied_result no_tied_above 1 = Stuck.
Proof. vm_compute; reflexivity. Qed.
Theorem a_wrong_tied_bucket_differs : tied_result (everywhere wrong_tied_bucket) 1 = Different.
Proof. vm_compute; reflexivity. Qed.
Theorem a_wrong_tied_flat_group_differs : tied_result wrong_flat_above 1 = Different.
Proof. vm_compute; reflexivity. Qed.
