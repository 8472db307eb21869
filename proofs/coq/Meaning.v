(* What the ops of STEP do to a rank's memory. spec: STEP-3, STEP-6 ... STEP-8, RED-2 ... RED-5,
   STAT-2, PIPE-3, PIPE-4, PART-3 ... PART-5, TIE-1, TIE-2

   Written after ref/engine (rank_compute.c, rank_comm.c, rank_arithmetic.c). Stage functions, mean,
   optimizer, rounding, decision and the next state of the scaler are variables: the theorems hold
   for all of them. Sums are of integers. An op reads and writes what its fields name: bucket,
   slot, micro-batch, flat group, entry, offset, count. Ranks share no memory: the value of a
   communication is a function of the members' memories and the op's content.

   Flat arrays are indexed by flat group, bucket and position in the bucket, also where the engine
   stores only a shard of them. *)

Require Import Bool List Arith ZArith Lia.
Require Import ZP.Op ZP.OpOf ZP.Plan ZP.Sums ZP.MeaningChannels.
Import ListNotations.
Open Scope Z_scope.

(* ---- Positions ------------------------------------------------------------------------------- *)

Definition part (f : flat) (b : Z) : Z :=
  Part (f_numel f) (f_capacity f) (f_members f) (f_align f) b.

(* Is position x of flat group f in bucket b? *)
Definition in_bucket (f : flat) (b x : Z) : bool :=
  (b * f_capacity f <=? x) && (x <? (b + 1) * f_capacity f).

(* Is position y of bucket b in part i? *)
Definition in_part (f : flat) (b i y : Z) : bool := (i * part f b <=? y) && (y <? (i + 1) * part f
  b).

Definition group_index (c : config) (a : coord) (f : flat) : Z :=
  GroupIndex c (f_group f) (-1) (a_pp a) (a_dp a) (a_tp a).

(* Does the rank on stage s with tp index t count the squares of entry p? STAT-2, TIE-2 *)
Definition counts (c : config) (s t : Z) (p : param) : bool :=
  ((t =? 0) || (p_sharded p =? 1)) && ((p_tied p <? 0) || (StageOf c (p_tied p) 0 =? s)).

Definition entry (c : config) (j : Z) : param := param_at (c_params c) j.

(* The entry of the same stage that has the storage of entry j: of a tied key the last one. TIE-2 *)
Definition storage (c : config) (j : Z) : Z :=
  if (p_tied (entry c j) <? 0) || negb (p_frozen (entry c j) =? 0) then j
  else HeadOf c (StageEnd c (p_stage (entry c j))) j.

(* ---- Memory ---------------------------------------------------------------------------------- *)

Section Meaning.

Variables A T P S X V : Type.
(* An activation or its gradient; what forward keeps for backward; a parameter; a master with its
   moments; a mean gradient; scaler, step count and the optimizers' counts. *)

Variable no_message : A.
(* Output, what backward needs, and words for the statistics (the loss). *)
Variable fwd : coord -> V -> list (list P) -> A -> Z -> A * T * (Z -> Z).
(* Gradient of the input, and of each entry that is used. *)
Variable bwd : coord -> V -> list (list P) -> T -> A -> Z -> A * (Z -> option (Z -> Z)).
Variable mean : Z -> X.
Variable words : X -> Z -> Z.                (* of one mean: its square, whether it is finite *)
Variable go : V -> list Z -> bool.           (* decides from the statistics: no skip *)
Variable update : Z -> V -> list Z -> X -> S -> S.  (* of an optimizer group *)
Variable round : Z -> S -> P.                (* to fp32 or the precision *)

Record mem := Mem {
  m_v : V;
  m_param : Z -> Z -> P;                     (* entry, element *)
  m_state : Z -> Z -> Z -> S;                (* flat group, bucket, position *)
  m_sum : Z -> Z -> Z -> Z;
  m_mean : Z -> Z -> Z -> X;
  m_bucket : Z -> Z -> Z -> Z;               (* flat group, slot, position: ZeRO stage 2 *)
  m_rounded : Z -> P;                        (* position: what the next gather sends *)
  m_input : Z -> A;                          (* activation slot *)
  m_tape : Z -> T;                           (* activation slot *)
  m_output : A;                              (* of the last forward *)
  m_grad_in : A;                             (* received from the next stage *)
  m_grad_out : A;                            (* of the last backward *)
  m_arrived : Z -> option (Z -> Z);          (* entry: its gradient in the last backward *)
  m_stats : Z -> Z;                          (* this rank's statistics *)
  m_agreed : Z -> Z                          (* those of all ranks *)
}.

Definition set_param f m := Mem (m_v m) f (m_state m) (m_sum m) (m_mean m) (m_bucket m) (m_rounded
  m)
  (m_input m) (m_tape m) (m_output m) (m_grad_in m) (m_grad_out m) (m_arrived m) (m_stats m)
  (m_agreed m).
Definition set_state f m := Mem (m_v m) (m_param m) f (m_sum m) (m_mean m) (m_bucket m) (m_rounded
  m)
  (m_input m) (m_tape m) (m_output m) (m_grad_in m) (m_grad_out m) (m_arrived m) (m_stats m)
  (m_agreed m).
Definition set_sum f m := Mem (m_v m) (m_param m) (m_state m) f (m_mean m) (m_bucket m) (m_rounded
  m)
  (m_input m) (m_tape m) (m_output m) (m_grad_in m) (m_grad_out m) (m_arrived m) (m_stats m)
  (m_agreed m).
Definition set_mean f g m := Mem (m_v m) (m_param m) (m_state m) (m_sum m) f (m_bucket m)
  (m_rounded m) (m_input m) (m_tape m) (m_output m) (m_grad_in m) (m_grad_out m) (m_arrived m) g
  (m_agreed m).
Definition set_bucket f m := Mem (m_v m) (m_param m) (m_state m) (m_sum m) (m_mean m) f
  (m_rounded m) (m_input m) (m_tape m) (m_output m) (m_grad_in m) (m_grad_out m) (m_arrived m)
  (m_stats m) (m_agreed m).
Definition set_rounded f m := Mem (m_v m) (m_param m) (m_state m) (m_sum m) (m_mean m) (m_bucket m)
  f (m_input m) (m_tape m) (m_output m) (m_grad_in m) (m_grad_out m) (m_arrived m) (m_stats m)
  (m_agreed m).
Definition set_input f m := Mem (m_v m) (m_param m) (m_state m) (m_sum m) (m_mean m) (m_bucket m)
  (m_rounded m) f (m_tape m) (m_output m) (m_grad_in m) (m_grad_out m) (m_arrived m) (m_stats m)
  (m_agreed m).
Definition set_forward tape out stats m := Mem (m_v m) (m_param m) (m_state m) (m_sum m) (m_mean m)
  (m_bucket m) (m_rounded m) (m_input m) tape out (m_grad_in m) (m_grad_out m) (m_arrived m) stats
  (m_agreed m).
Definition set_grad_in x m := Mem (m_v m) (m_param m) (m_state m) (m_sum m) (m_mean m) (m_bucket m)
  (m_rounded m) (m_input m) (m_tape m) (m_output m) x (m_grad_out m) (m_arrived m) (m_stats m)
  (m_agreed m).
Definition set_backward out arrived m := Mem (m_v m) (m_param m) (m_state m) (m_sum m) (m_mean m)
  (m_bucket m) (m_rounded m) (m_input m) (m_tape m) (m_output m) (m_grad_in m) out arrived
  (m_stats m) (m_agreed m).
Definition set_agreed f m := Mem (m_v m) (m_param m) (m_state m) (m_sum m) (m_mean m) (m_bucket m)
  (m_rounded m) (m_input m) (m_tape m) (m_output m) (m_grad_in m) (m_grad_out m) (m_arrived m)
  (m_stats m) f.

(* f with a new value at one index, and a new row at two. *)
Definition put {B} (f : Z -> B) (i : Z) (x : B) : Z -> B := fun j => if j =? i then x else f j.
Definition put_row {B} (f : Z -> Z -> Z -> B) (k b : Z) (g : Z -> B) : Z -> Z -> Z -> B :=
  fun k' b' y => if (k' =? k) && (b' =? b) then g y else f k' b' y.

Variable c : config.

(* Parameters of the entries that lie in bucket b of flat group k become those of `new`. *)
Definition store (lay : layout) (k b : Z) (new : Z -> P) (old : Z -> Z -> P) : Z -> Z -> P :=
  fun j e =>
    let i := j - l_first_param lay in
    let p := spot_at (l_spot lay) i in
    let f := flat_at (l_flat lay) k in
    if (0 <=? i) && (s_flat p =? k) && in_bucket f b (s_start p + e)
    then new (s_start p + e - b * f_capacity f) else old j e.

Definition values (lay : layout) (m : mem) : list (list P) :=
  map (fun j => map (m_param m (storage c j)) (range 0 (p_numel (entry c j))))
    (range (l_first_param lay) (l_first_param lay + l_n_params lay)).

Definition statistics (m : mem) : list Z := map (m_agreed m) (range 0 ZP_STATS).

(* ---- Local ops ------------------------------------------------------------------------------- *)

Definition forward (a : coord) (o : op) (m : mem) : mem :=
  let input := if a_pp a =? 0 then no_message else m_input m (o_slot o) in
  let r := fwd a (m_v m) (values (layout_of c (a_pp a)) m) input (o_mb o) in
  set_forward (put (m_tape m) (o_slot o) (snd (fst r))) (fst (fst r))
    (fun w => m_stats m w + snd r w) m.

Definition backward (a : coord) (o : op) (m : mem) : mem :=
  let grad := if a_pp a =? c_pp c - 1 then no_message else m_grad_in m in
  let r := bwd a (m_v m) (values (layout_of c (a_pp a)) m) (m_tape m (o_slot o)) grad (o_mb o) in
  set_backward (fst r) (snd r) m.

(* An entry that is not used contributes zeros. RED-6 *)
Definition element (g : option (Z -> Z)) (e : Z) : Z := match g with Some h => h e | None => 0 end.

Definition add (a : coord) (o : op) (m : mem) : mem :=
  let lay := layout_of c (a_pp a) in
  let k := o_flat o in
  let f := flat_at (l_flat lay) k in
  let lo := s_start (spot_at (l_spot lay) (o_param o - l_first_param lay)) + o_offset o -
    o_bucket o * f_capacity f in
  let value y := element (m_arrived m (o_param o)) (y - lo + o_offset o) in
  let mine y := (lo <=? y) && (y <? lo + o_count o) in
  if c_stage c =? 2 then
    set_bucket (put_row (m_bucket m) k (o_slot o)
      (fun y => if mine y then value y else m_bucket m k (o_slot o) y)) m
  else
    set_sum (put_row (m_sum m) k (o_bucket o)
      (fun y => if mine y
                then if o_mb o =? 0 then value y else m_sum m k (o_bucket o) y + value y
                else m_sum m k (o_bucket o) y)) m.

(* Statistics of the elements that this rank counts: of each entry's part of the bucket's part. *)
Definition counted (a : coord) (k b : Z) (value : Z -> X) (w : Z) : Z :=
  let lay := layout_of c (a_pp a) in
  let f := flat_at (l_flat lay) k in
  sigma (numbered (l_spot lay)) (fun ip =>
    let q := entry c (l_first_param lay + fst ip) in
    let start := s_start (snd ip) in
    if (s_flat (snd ip) =? k) && (f_use f =? 0) && counts c (a_pp a) (a_tp a) q then
      sigma (range 0 (p_numel q)) (fun e =>
        if in_bucket f b (start + e) &&
           in_part f b (group_index c a f) (start + e - b * f_capacity f)
        then words (value (start + e - b * f_capacity f)) w else 0)
    else 0).

Definition means (a : coord) (o : op) (m : mem) : mem :=
  let value y := mean (m_sum m (o_flat o) (o_bucket o) y) in
  set_mean (put_row (m_mean m) (o_flat o) (o_bucket o) value)
    (fun w => m_stats m w + counted a (o_flat o) (o_bucket o) value w) m.

Definition updates (a : coord) (o : op) (m : mem) : mem :=
  let lay := layout_of c (a_pp a) in
  let k := o_flat o in
  let b := o_bucket o in
  let f := flat_at (l_flat lay) k in
  let new y := update (f_optgroup f) (m_v m) (statistics m) (m_mean m k b y) (m_state m k b y) in
  let rounded y := round (f_fp32 f) (new y) in
  let n := set_state (put_row (m_state m) k b new) m in
  if c_stage c =? 0 then set_param (store lay k b rounded (m_param m)) n else set_rounded rounded n.

Definition local_op (a : coord) (o : op) (m : mem) : mem :=
  if o_kind o =? ZP_OP_FORWARD then forward a o m
  else if o_kind o =? ZP_OP_BACKWARD then backward a o m
  else if o_kind o =? ZP_OP_ADD then add a o m
  else if o_kind o =? ZP_OP_MEAN then means a o m
  else if o_kind o =? ZP_OP_UPDATE then updates a o m
  else m.

(* ---- Communications -------------------------------------------------------------------------- *)

(* How many elements a member of a collective receives; exact sums travel as limbs. *)
Definition elements (x : op) : Z :=
  if o_dtype x =? ZP_I64 then Z.quot (o_count x) ZP_LIMBS else o_count x.

Definition reduced (a : coord) (x : op) (all : list mem) (m : mem) : mem :=
  let k := o_flat x in
  let b := o_bucket x in
  let f := flat_at (l_flat (layout_of c (a_pp a))) k in
  let i := group_index c a f in
  let mine y := if o_kind x =? ZP_OP_ALL_REDUCE then (0 <=? y) && (y <? elements x)
    else (i * elements x <=? y) && (y <? (i + 1) * elements x) in
  let total y := sigma all (fun q => if c_stage c =? 2 then m_bucket q k (o_slot x) y
                                     else m_sum q k b y) in
  set_sum (put_row (m_sum m) k b
    (fun y => if mine y
              then if (c_stage c =? 2) && negb (o_mb x =? 0) then m_sum m k b y + total y
                   else total y
              else m_sum m k b y)) m.

(* Of an empty list any value; groups are not empty. *)
Definition gathered (a : coord) (x : op) (all : list mem) (m : mem) : mem :=
  let from y := m_rounded (nth (Z.to_nat (y / elements x)) all m) y in
  set_param (store (layout_of c (a_pp a)) (o_flat x) (o_bucket x) from (m_param m)) m.

Definition collective (a : coord) (x : op) (all : list mem) (m : mem) : mem :=
  if o_what x =? ZP_WHAT_GRADIENT then reduced a x all m
  else if o_what x =? ZP_WHAT_STATISTICS then
    set_agreed (fun w => if (0 <=? w) && (w <? o_count x) then sigma all (fun q => m_stats q w)
                         else m_agreed m w) m
  else if (o_what x =? ZP_WHAT_PARAMETER) && (o_kind x =? ZP_OP_ALL_GATHER) then gathered a x all m
  else m.

(* The flat group that the tied all-reduce of key and bucket of x names in a rank's program. The
   content does not hold it, since its number differs between stages. *)
Definition named_flat (p : list op) (x : op) : Z :=
  match find (fun o => comm o && (o_group o =? ZP_GROUP_TIED) && (o_key o =? o_key x) &&
                       (o_bucket o =? o_bucket x)) p with
  | Some o => o_flat o
  | None => -1
  end.

(* Flat group k and all others of the key on the same stage: its further uses. *)
Definition key_flats (lay : layout) (key k : Z) : list Z :=
  k :: map fst (filter (fun kf => negb (fst kf =? k) && (f_tied (snd kf) =? key))
    (numbered (l_flat lay))).

(* The position in its bucket of the first element that a rank keeps of flat group k. *)
Definition kept_from (a : coord) (k : Z) (x : op) : Z :=
  if c_stage c =? 0 then 0
  else group_index c a (flat_at (l_flat (layout_of c (a_pp a))) k) * elements x.

(* Of what each rank keeps of the bucket, the sum over the uses on each stage and over the stages.
   TIE-1, TIE-2 *)
Definition tied (programs : nat -> list op) (h : chan) (x : op) (all : list mem) (r : nat) (m : mem)
  : mem :=
  let b := o_bucket x in
  let k := named_flat (programs r) x in
  let from := kept_from (coord_of c r) k x in
  let sent := map (fun qm =>
    let a := coord_of c (fst qm) in
    let k := named_flat (programs (fst qm)) x in
    (key_flats (layout_of c (a_pp a)) (o_key x) k, kept_from a k x, snd qm))
    (combine (members c h) all) in
  let total i := sigma sent (fun p =>
    sigma (fst (fst p)) (fun k => m_sum (snd p) k b (snd (fst p) + i))) in
  set_sum (put_row (m_sum m) k b
    (fun y => if (from <=? y) && (y <? from + elements x) then total (y - from)
              else m_sum m k b y)) m.

(* An exchange between lower, on stage s, and upper. A message arrives in the slot of its
   micro-batch. *)
Definition hop (a : coord) (s : Z) (x : op) (lower upper : mem) (m : mem) : mem :=
  if negb (o_kind x =? ZP_OP_P2P) then m
  else if a_pp a =? s then if 0 <=? o_recv_mb x then set_grad_in (m_grad_out upper) m else m
  else if 0 <=? o_mb x then
    set_input (put (m_input m)
      (Z.rem (o_mb x) (Places (c_pp c) (c_micro_batches c) (a_pp a))) (m_output lower)) m
  else m.

(* In any programs, and in STEP. *)
Definition exchange_in (programs : nat -> list op) (h : chan) (x : op) (all : list mem) (r : nat)
  (m : mem) : mem :=
  let a := coord_of c r in
  match h with
  | Group _ _ _ =>
      if o_what x =? ZP_WHAT_TIED then tied programs h x all r m else collective a x all m
  | Link s _ _ => hop a s x (nth 0 all m) (nth 1 all m) m
  end.

Definition exchange : chan -> op -> list mem -> nat -> mem -> mem := exchange_in (step_of c).

Lemma exchange_is : forall g key first x all r m, o_what x <> ZP_WHAT_TIED ->
  exchange (Group g key first) x all r m = collective (coord_of c r) x all m.
Proof.
  intros g key first x all r m N; unfold exchange, exchange_in.
  rewrite (proj2 (Z.eqb_neq _ _) N); reflexivity.
Qed.

(* ---- As NoDeadlock.v needs it ---------------------------------------------------------------- *)

(* An op of Program.v carries no fields; its clock identifies it within the rank's program. *)
Definition op_with (k : Program.clock) (p : list op) : option op :=
  find (fun o => (o_clock_t o =? fst k) && (o_clock_i o =? snd k)) p.

(* In any programs, and in STEP. *)
Definition compute_in (programs : nat -> list op) (r : nat) (o : Program.op chan op) (m : mem) :
  mem :=
  match op_with (Program.at_clock _ _ o) (programs r) with
  | Some q => local_op (coord_of c r) q m
  | None => m
  end.

Definition compute : nat -> Program.op chan op -> mem -> mem := compute_in (step_of c).

Definition decide (r : nat) (m : mem) : bool := go (m_v m) (statistics m).

End Meaning.
