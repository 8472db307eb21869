(* Written by generate.py from the enums of ref/plan and from spec/acsl. *)

Require Import Bool ZArith ZP.Op.
Open Scope Z_scope.
Open Scope bool_scope.

Definition ZP_F32 : Z := 0.
Definition ZP_BF16 : Z := 1.
Definition ZP_F16 : Z := 2.
Definition ZP_I64 : Z := 3.
Definition ZP_I32 : Z := 4.
Definition ZP_DTYPES : Z := 5.
Definition ZP_ORDERED : Z := 0.
Definition ZP_EXACT : Z := 1.
Definition ZP_FIELD_NONE : Z := 0.
Definition ZP_FIELD_PP : Z := 1.
Definition ZP_FIELD_DP : Z := 2.
Definition ZP_FIELD_TP : Z := 3.
Definition ZP_FIELD_EP : Z := 4.
Definition ZP_FIELD_RANKS : Z := 5.
Definition ZP_FIELD_STAGE : Z := 6.
Definition ZP_FIELD_REDUCE : Z := 7.
Definition ZP_FIELD_PRECISION : Z := 8.
Definition ZP_FIELD_DYNAMIC_SHAPES : Z := 9.
Definition ZP_FIELD_OPTGROUPS : Z := 10.
Definition ZP_FIELD_TIED_KEYS : Z := 11.
Definition ZP_FIELD_N_PARAMS : Z := 12.
Definition ZP_FIELD_MICRO_BATCHES : Z := 13.
Definition ZP_FIELD_BUCKET : Z := 14.
Definition ZP_FIELD_ALIGN : Z := 15.
Definition ZP_FIELD_NUMEL : Z := 16.
Definition ZP_FIELD_PARAM_STAGE : Z := 17.
Definition ZP_FIELD_OPTGROUP : Z := 18.
Definition ZP_FIELD_TIED : Z := 19.
Definition ZP_FIELD_SHARDED : Z := 20.
Definition ZP_FIELD_EXPERT : Z := 21.
Definition ZP_FIELD_FROZEN : Z := 22.
Definition ZP_FIELD_FP32 : Z := 23.
Definition ZP_FIELD_TIED_NUMEL : Z := 24.
Definition ZP_FIELD_TIED_SHARDED : Z := 25.
Definition ZP_FIELD_TIED_OPTGROUP : Z := 26.
Definition ZP_FIELD_TIED_FROZEN : Z := 27.
Definition ZP_FIELD_TIED_FP32 : Z := 28.
Definition ZP_FIELD_CONTRIBUTIONS : Z := 29.
Definition ZP_FIELD_TIED_ENTRIES : Z := 30.
Definition ZP_FIELD_ELEMENTS : Z := 31.
Definition ZP_FIELDS : Z := 32.
Definition ZP_GROUP_WORLD : Z := 0.
Definition ZP_GROUP_DP : Z := 1.
Definition ZP_GROUP_TP : Z := 2.
Definition ZP_GROUP_PP : Z := 3.
Definition ZP_GROUP_EDP : Z := 4.
Definition ZP_GROUP_EP : Z := 5.
Definition ZP_GROUP_TIED : Z := 6.
Definition ZP_GROUPS : Z := 7.
Definition ZP_PHASE_INIT : Z := 0.
Definition ZP_PHASE_STEP : Z := 1.
Definition ZP_PHASE_SAVE : Z := 2.
Definition ZP_PHASE_LOAD : Z := 3.
Definition ZP_PHASES : Z := 4.
Definition ZP_OP_LOAD : Z := 0.
Definition ZP_OP_FORWARD : Z := 1.
Definition ZP_OP_BACKWARD : Z := 2.
Definition ZP_OP_ARRIVED : Z := 3.
Definition ZP_OP_ADD : Z := 4.
Definition ZP_OP_MEAN : Z := 5.
Definition ZP_OP_DECIDE : Z := 6.
Definition ZP_OP_UPDATE : Z := 7.
Definition ZP_OP_WRITE : Z := 8.
Definition ZP_OP_SEAL : Z := 9.
Definition ZP_OP_READ : Z := 10.
Definition ZP_OP_COMMIT : Z := 11.
Definition ZP_OP_INSTALL : Z := 12.
Definition ZP_OP_FIRST_COMM : Z := 13.
Definition ZP_OP_META : Z := 13.
Definition ZP_OP_P2P : Z := 14.
Definition ZP_OP_REDUCE_SCATTER : Z := 15.
Definition ZP_OP_ALL_REDUCE : Z := 16.
Definition ZP_OP_ALL_GATHER : Z := 17.
Definition ZP_OP_BROADCAST : Z := 18.
Definition ZP_OP_GATHER : Z := 19.
Definition ZP_OP_CREATE : Z := 20.
Definition ZP_OPS : Z := 21.
Definition ZP_RED_NONE : Z := 0.
Definition ZP_RED_ORDERED : Z := 1.
Definition ZP_RED_EXACT : Z := 2.
Definition ZP_RED_SUM : Z := 3.
Definition ZP_WHAT_NONE : Z := 0.
Definition ZP_WHAT_GRADIENT : Z := 1.
Definition ZP_WHAT_TIED : Z := 2.
Definition ZP_WHAT_STATISTICS : Z := 3.
Definition ZP_WHAT_STATUS : Z := 4.
Definition ZP_WHAT_PARAMETER : Z := 5.
Definition ZP_WHAT_MASTER : Z := 6.
Definition ZP_WHAT_MOMENT1 : Z := 7.
Definition ZP_WHAT_MOMENT2 : Z := 8.
Definition ZP_WHAT_COMMUNICATOR : Z := 9.
Definition ZP_WHAT_ACTIVATION : Z := 10.
Definition ZP_WHAT_ACTIVATION_GRADIENT : Z := 11.
Definition ZP_WHAT_PARTIAL : Z := 12.
Definition ZP_WHATS : Z := 13.
Definition ZP_STAT_SQUARES : Z := 0.
Definition ZP_STAT_LOSS : Z := 20.
Definition ZP_STAT_NONFINITE : Z := 29.
Definition ZP_STAT_BAD_LOSS : Z := 30.
Definition ZP_STAT_AGREE : Z := 31.
Definition ZP_STATS : Z := 47.
Definition ZP_LIMBS : Z := 9.

(* ---- spec/acsl/partition.h ---- *)
Definition RoundUp (x m : Z) : Z :=
  (Z.quot ((x + m) - 1) m) * m.
Definition Buckets (n c : Z) : Z :=
  Z.quot ((n + c) - 1) c.
Definition BucketNumel (n c b : Z) : Z :=
  if ((n - (b * c)) <? c) then (n - (b * c)) else c.
Definition BucketPadded (n c d a b : Z) : Z :=
  RoundUp (BucketNumel n c b) (d * a).
Definition Part (n c d a b : Z) : Z :=
  Z.quot (BucketPadded n c d a b) d.
Definition Capacity (bucket d a : Z) : Z :=
  RoundUp bucket (d * a).

(* ---- spec/acsl/config.h ---- *)
Definition ValidTopology (pp dp tp ep : Z) : bool :=
  (((((1 <=? pp) && (1 <=? dp)) && (1 <=? tp)) && (((pp * dp) * tp) <=? 1048576)) && ((1 <=? ep) &&
    (ep <=? dp))) && ((Z.rem dp ep) =? 0).
Definition ValidSwitches (c : config) : bool :=
  (((((((0 <=? (c_stage c)) && ((c_stage c) <=? 2)) && ((0 <=? (c_reduce c)) && ((c_reduce c) <=?
    1))) && ((0 <=? (c_precision c)) && ((c_precision c) <=? 2))) && ((0 <=? (c_dynamic_shapes c))
    && ((c_dynamic_shapes c) <=? 1))) && ((1 <=? (c_optgroups c)) && ((c_optgroups c) <=? 256))) &&
    ((0 <=? (c_tied_keys c)) && ((c_tied_keys c) <=? 1024))) && ((0 <=? (c_n_params c)) &&
    ((c_n_params c) <=? 65536)).
Definition ValidAmounts (c : config) : bool :=
  ((((1 <=? (c_micro_batches c)) && ((c_micro_batches c) <=? 1048576)) && (((c_dp c) *
    (c_micro_batches c)) <=? 1073741824)) && ((1 <=? (c_bucket c)) && ((c_bucket c) <=?
    1099511627776))) && ((1 <=? (c_align c)) && ((c_align c) <=? 4096)).
Definition ValidEntry (c : config) (j : Z) : bool :=
  ((((((((0 <=? (p_numel (param_at (c_params c) j))) && ((p_numel (param_at (c_params c) j)) <=?
    1099511627776)) && (((if (j =? 0) then 0 else (p_stage (param_at (c_params c) (j - 1)))) <=?
    (p_stage (param_at (c_params c) j))) && ((p_stage (param_at (c_params c) j)) <? (c_pp c)))) &&
    ((0 <=? (p_optgroup (param_at (c_params c) j))) && ((p_optgroup (param_at (c_params c) j)) <?
    (c_optgroups c)))) && (((-1) <=? (p_tied (param_at (c_params c) j))) && ((p_tied (param_at
    (c_params c) j)) <? (c_tied_keys c)))) && ((0 <=? (p_sharded (param_at (c_params c) j))) &&
    ((p_sharded (param_at (c_params c) j)) <=? 1))) && ((0 <=? (p_expert (param_at (c_params c) j)))
    && ((p_expert (param_at (c_params c) j)) <=? 1))) && ((0 <=? (p_frozen (param_at (c_params c)
    j))) && ((p_frozen (param_at (c_params c) j)) <=? 1))) && ((0 <=? (p_fp32 (param_at (c_params c)
    j))) && ((p_fp32 (param_at (c_params c) j)) <=? 1)).
Definition SameTied (c : config) (i j : Z) : bool :=
  (((((p_numel (param_at (c_params c) i)) =? (p_numel (param_at (c_params c) j))) && ((p_sharded
    (param_at (c_params c) i)) =? (p_sharded (param_at (c_params c) j)))) && ((p_optgroup (param_at
    (c_params c) i)) =? (p_optgroup (param_at (c_params c) j)))) && ((p_frozen (param_at (c_params
    c) i)) =? (p_frozen (param_at (c_params c) j)))) && ((p_fp32 (param_at (c_params c) i)) =?
    (p_fp32 (param_at (c_params c) j))).
Definition Copies (sharded expert tp ep : Z) : Z :=
  if (sharded =? 1) then (if (expert =? 1) then (tp * ep) else tp) else (if (expert =? 1) then ep
    else 1).
Definition Together (numel copies : Z) : Z :=
  if (copies =? 1) then numel else (numel * copies).
Definition HeldElements (c : config) (j : Z) : Z :=
  Together (p_numel (param_at (c_params c) j)) (Copies (p_sharded (param_at (c_params c) j))
    (p_expert (param_at (c_params c) j)) (c_tp c) (c_ep c)).
Definition DtypeOf (fp32 precision : Z) : Z :=
  if negb (fp32 =? 0) then ZP_F32 else precision.
Fixpoint Elements_n (count : nat) (c : config) : Z :=
  match count with
  | O => 0
  | Datatypes.S below => let n := Z.of_nat below + 1 in (Elements_n below c) + (HeldElements c (n -
    1))
  end.
Definition Elements (c : config) (n : Z) : Z :=
  Elements_n (Z.to_nat n) c.
Definition HasKey (c : config) (j : Z) : Z :=
  if (0 <=? (p_tied (param_at (c_params c) j))) then 1 else 0.
Fixpoint TiedEntries_n (count : nat) (c : config) : Z :=
  match count with
  | O => 0
  | Datatypes.S below => let n := Z.of_nat below + 1 in (TiedEntries_n below c) + (HasKey c (n - 1))
  end.
Definition TiedEntries (c : config) (n : Z) : Z :=
  TiedEntries_n (Z.to_nat n) c.

(* ---- spec/acsl/layout.h ---- *)
Definition IsBelow (c : config) (j s : Z) : Z :=
  if ((p_stage (param_at (c_params c) j)) <? s) then 1 else 0.
Fixpoint EntriesBelow_n (count : nat) (c : config) (s : Z) : Z :=
  match count with
  | O => 0
  | Datatypes.S below => let n := Z.of_nat below + 1 in (EntriesBelow_n below c s) + (IsBelow c (n -
    1) s)
  end.
Definition EntriesBelow (c : config) (n s : Z) : Z :=
  EntriesBelow_n (Z.to_nat n) c s.
Definition StageFirst (c : config) (s : Z) : Z :=
  EntriesBelow c (c_n_params c) s.
Definition StageEnd (c : config) (s : Z) : Z :=
  EntriesBelow c (c_n_params c) (s + 1).
Definition StageCount (c : config) (s : Z) : Z :=
  (StageEnd c s) - (StageFirst c s).
Definition ClassOf (c : config) (j : Z) : Z :=
  if negb ((p_frozen (param_at (c_params c) j)) =? 0) then 0 else (if (0 <=? (p_tied (param_at
    (c_params c) j))) then ((3 * (p_tied (param_at (c_params c) j))) + 1) else ((3 * (((512 *
    (p_expert (param_at (c_params c) j))) + (256 * (p_fp32 (param_at (c_params c) j)))) +
    (p_optgroup (param_at (c_params c) j)))) + 2)).
Fixpoint Leader_n (count : nat) (c : config) (k j : Z) : Z :=
  match count with
  | O => j
  | Datatypes.S below => let n := Z.of_nat below + 2 in if ((ClassOf c ((j + n) - 1)) =? k) then ((j
    + n) - 1) else (Leader_n below c k j)
  end.
Definition Leader (c : config) (k j n : Z) : Z :=
  Leader_n (Z.to_nat (n - 1)) c k j.
Fixpoint UsesBefore_n (count : nat) (c : config) (k j : Z) : Z :=
  match count with
  | O => 0
  | Datatypes.S below => let n := Z.of_nat below + 2 in (UsesBefore_n below c k j) + (if ((ClassOf c
    ((j + n) - 1)) =? k) then 1 else 0)
  end.
Definition UsesBefore (c : config) (k j n : Z) : Z :=
  UsesBefore_n (Z.to_nat (n - 1)) c k j.
Definition HeadOf (c : config) (e j : Z) : Z :=
  Leader c (ClassOf c j) j (e - j).
Definition UseOf (c : config) (e j : Z) : Z :=
  UsesBefore c (ClassOf c j) j (e - j).
Definition Opens (c : config) (e j : Z) : Z :=
  if (((p_frozen (param_at (c_params c) j)) =? 0) && ((0 <=? (p_tied (param_at (c_params c) j))) ||
    ((HeadOf c e j) =? j))) then 1 else 0.
Fixpoint FlatCount_n (count : nat) (c : config) (e : Z) : Z :=
  match count with
  | O => 0
  | Datatypes.S below => let x := Z.of_nat below + 1 in (FlatCount_n below c e) + (Opens c e (e -
    x))
  end.
Definition FlatCount (c : config) (e x : Z) : Z :=
  FlatCount_n (Z.to_nat x) c e.
Definition FlatAt (c : config) (e j : Z) : Z :=
  FlatCount c e ((e - 1) - j).
Definition FlatOf (c : config) (e j : Z) : Z :=
  if negb ((p_frozen (param_at (c_params c) j)) =? 0) then (-1) else (if (0 <=? (p_tied (param_at
    (c_params c) j))) then (FlatAt c e j) else (FlatAt c e (HeadOf c e j))).
Definition Brings (c : config) (e j k : Z) : Z :=
  if ((FlatOf c e j) =? k) then (p_numel (param_at (c_params c) j)) else 0.
Fixpoint FlatNumel_n (count : nat) (c : config) (e k : Z) : Z :=
  match count with
  | O => 0
  | Datatypes.S below => let x := Z.of_nat below + 1 in (FlatNumel_n below c e k) + (Brings c e (e -
    x) k)
  end.
Definition FlatNumel (c : config) (e x k : Z) : Z :=
  FlatNumel_n (Z.to_nat x) c e k.
Definition StartOf (c : config) (e j : Z) : Z :=
  if negb ((p_frozen (param_at (c_params c) j)) =? 0) then 0 else (FlatNumel c e ((e - 1) - j)
    (FlatOf c e j)).
Fixpoint Opener_n (count : nat) (c : config) (e k : Z) : Z :=
  match count with
  | O => (-1)
  | Datatypes.S below => let x := Z.of_nat below + 1 in if (((Opens c e (e - x)) =? 1) &&
    ((FlatCount c e (x - 1)) =? k)) then (e - x) else (Opener_n below c e k)
  end.
Definition Opener (c : config) (e x k : Z) : Z :=
  Opener_n (Z.to_nat x) c e k.
Definition GroupOf (c : config) (j : Z) : Z :=
  if negb ((p_expert (param_at (c_params c) j)) =? 0) then ZP_GROUP_EDP else ZP_GROUP_DP.
Definition MembersOf (c : config) (j : Z) : Z :=
  if negb ((p_expert (param_at (c_params c) j)) =? 0) then (Z.quot (c_dp c) (c_ep c)) else (c_dp c).

(* ---- spec/acsl/pipeline.h ---- *)
Definition Slots (S M : Z) : Z :=
  2 * ((M + S) - 1).
Definition Places (S M s : Z) : Z :=
  if ((S - s) <? M) then (S - s) else M.
Definition ForwardTime (s m : Z) : Z :=
  (2 * m) + s.
Definition BackwardTime (S s m : Z) : Z :=
  (((2 * m) + (2 * S)) - 1) - s.
Definition BackwardSlot (s t : Z) : Z :=
  Z.rem (t + s) 2.
Definition HalfOf (M d : Z) : Z :=
  if (((d <? 0) || negb ((Z.rem d 2) =? 0)) || (M <=? (Z.quot d 2))) then (-1) else (Z.quot d 2).
Definition ForwardAt (M s t : Z) : Z :=
  HalfOf M (t - s).
Definition BackwardAt (S M s t : Z) : Z :=
  HalfOf M (((t + s) + 1) - (2 * S)).
Definition Computed (S M s t : Z) : Z :=
  if ((BackwardSlot s t) =? 1) then (BackwardAt S M s t) else (ForwardAt M s t).
Definition Received (S M s t : Z) : Z :=
  if ((BackwardSlot s t) =? 1) then (if (s <? (S - 1)) then (BackwardAt S M s t) else (-1)) else (if
    (0 <? s) then (ForwardAt M s t) else (-1)).
Definition Sent (S M s t : Z) : Z :=
  if ((BackwardSlot s t) =? 1) then (if (s <? (S - 1)) then (ForwardAt M s (t - 1)) else (-1)) else
    (if (0 <? s) then (BackwardAt S M s (t - 1)) else (-1)).
Definition EndSlot (S M s : Z) : Z :=
  if (((((2 * S) - 1) - s) + (2 * M)) <? (Slots S M)) then ((((2 * S) - 1) - s) + (2 * M)) else
    (Slots S M).

(* ---- spec/acsl/topology.h ---- *)
Definition Mix (x m y : Z) : Z :=
  if (m <=? 0) then 0 else ((x * m) + y).
Definition World (c : config) : Z :=
  Mix (Mix (c_pp c) (c_dp c) 0) (c_tp c) 0.
Definition Rank (c : config) (p d t : Z) : Z :=
  Mix (Mix p (c_dp c) d) (c_tp c) t.
Definition Within (c : config) (p d t : Z) : bool :=
  (((0 <=? p) && (p <? (c_pp c))) && ((0 <=? d) && (d <? (c_dp c)))) && ((0 <=? t) && (t <? (c_tp
    c))).
Fixpoint Seen_n (count : nat) (c : config) (key s : Z) : Z :=
  match count with
  | O => 0
  | Datatypes.S below => let n := Z.of_nat below + 1 in if (((p_tied (param_at (c_params c) (n -
    1))) =? key) && ((p_stage (param_at (c_params c) (n - 1))) =? s)) then 1 else (Seen_n below c
    key s)
  end.
Definition Seen (c : config) (key s n : Z) : Z :=
  Seen_n (Z.to_nat n) c key s.
Definition On (c : config) (key s : Z) : Z :=
  Seen c key s (c_n_params c).
Fixpoint CountOn_n (count : nat) (c : config) (key : Z) : Z :=
  match count with
  | O => 0
  | Datatypes.S below => let s := Z.of_nat below + 1 in (CountOn_n below c key) + (On c key (s - 1))
  end.
Definition CountOn (c : config) (key s : Z) : Z :=
  CountOn_n (Z.to_nat s) c key.
Fixpoint StageBelow_n (count : nat) (c : config) (key i : Z) : Z :=
  match count with
  | O => (-1)
  | Datatypes.S below => let s := Z.of_nat below + 1 in if (((On c key (s - 1)) =? 1) && ((CountOn c
    key (s - 1)) =? i)) then (s - 1) else (StageBelow_n below c key i)
  end.
Definition StageBelow (c : config) (key i s : Z) : Z :=
  StageBelow_n (Z.to_nat s) c key i.
Definition StageOf (c : config) (key i : Z) : Z :=
  StageBelow c key i (c_pp c).
Definition InGroup (c : config) (group key p d t q e u : Z) : bool :=
  ((((((group =? ZP_GROUP_WORLD) || (((group =? ZP_GROUP_DP) && (p =? q)) && (t =? u))) || (((group
    =? ZP_GROUP_TP) && (p =? q)) && (d =? e))) || (((group =? ZP_GROUP_PP) && (d =? e)) && (t =?
    u))) || ((((group =? ZP_GROUP_EDP) && (p =? q)) && (t =? u)) && ((Z.rem d (c_ep c)) =? (Z.rem e
    (c_ep c))))) || ((((group =? ZP_GROUP_EP) && (p =? q)) && (t =? u)) && ((Z.quot d (c_ep c)) =?
    (Z.quot e (c_ep c))))) || (((((group =? ZP_GROUP_TIED) && (d =? e)) && (t =? u)) && ((On c key
    p) =? 1)) && ((On c key q) =? 1)).
Definition GroupSize (c : config) (group key p : Z) : Z :=
  if (group =? ZP_GROUP_WORLD) then (World c) else (if (group =? ZP_GROUP_DP) then (c_dp c) else (if
    (group =? ZP_GROUP_TP) then (c_tp c) else (if (group =? ZP_GROUP_PP) then (c_pp c) else (if
    (group =? ZP_GROUP_EDP) then (Z.quot (c_dp c) (c_ep c)) else (if (group =? ZP_GROUP_EP) then
    (c_ep c) else (if ((group =? ZP_GROUP_TIED) && ((On c key p) =? 1)) then (CountOn c key (c_pp
    c)) else 0)))))).
Definition GroupIndex (c : config) (group key p d t : Z) : Z :=
  if (group =? ZP_GROUP_WORLD) then (Rank c p d t) else (if (group =? ZP_GROUP_DP) then d else (if
    (group =? ZP_GROUP_TP) then t else (if (group =? ZP_GROUP_PP) then p else (if (group =?
    ZP_GROUP_EDP) then (Z.quot d (c_ep c)) else (if (group =? ZP_GROUP_EP) then (Z.rem d (c_ep c))
    else (if ((group =? ZP_GROUP_TIED) && ((On c key p) =? 1)) then (CountOn c key p) else
    (-1))))))).
Definition GroupMember (c : config) (group key p d t i : Z) : Z :=
  if ((i <? 0) || ((GroupSize c group key p) <=? i)) then (-1) else (if (group =? ZP_GROUP_WORLD)
    then i else (if (group =? ZP_GROUP_DP) then (Rank c p i t) else (if (group =? ZP_GROUP_TP) then
    (Rank c p d i) else (if (group =? ZP_GROUP_PP) then (Rank c i d t) else (if (group =?
    ZP_GROUP_EDP) then (Rank c p (Mix i (c_ep c) (Z.rem d (c_ep c))) t) else (if (group =?
    ZP_GROUP_EP) then (Rank c p (Mix (Z.quot d (c_ep c)) (c_ep c) i) t) else (Rank c (StageOf c key
    i) d t))))))).

(* ---- spec/acsl/step_program.h ---- *)
Definition FirstBucket (c from : Z) : Z :=
  Z.quot from c.
Definition StopBucket (c from to : Z) : Z :=
  if (from <? to) then ((Z.quot (to - 1) c) + 1) else (Z.quot from c).
Definition DoneBucket (n c from to : Z) : Z :=
  if (to <=? from) then (Z.quot from c) else (if (to =? n) then ((Z.quot (to - 1) c) + 1) else
    (Z.quot to c)).
Definition RunFrom (c from b : Z) : Z :=
  if ((b * c) <? from) then from else (b * c).
Definition RunTo (c to b : Z) : Z :=
  if (((b + 1) * c) <? to) then ((b + 1) * c) else to.
Definition ReduceKind (stage : Z) : Z :=
  if (stage =? 0) then ZP_OP_ALL_REDUCE else ZP_OP_REDUCE_SCATTER.
Definition ReduceDtype (stage exact precision : Z) : Z :=
  if (stage =? 2) then precision else (if (exact =? ZP_EXACT) then ZP_I64 else ZP_F32).
Definition ReduceRedop (stage exact : Z) : Z :=
  if negb (exact =? ZP_EXACT) then ZP_RED_ORDERED else (if (stage =? 2) then ZP_RED_EXACT else
    ZP_RED_SUM).
Definition ReduceCount (stage exact n c d a b : Z) : Z :=
  (if (stage =? 0) then (BucketPadded n c d a b) else (Part n c d a b)) * (if (negb (stage =? 2) &&
    (exact =? ZP_EXACT)) then ZP_LIMBS else 1).
Definition BucketPlace (mb buckets b : Z) : Z :=
  if (((Z.rem mb 2) =? 1) && ((Z.rem buckets 2) =? 1)) then (Z.rem (b + 1) 2) else (Z.rem b 2).
Definition MetaLen (dynamic backward send recv : Z) : Z :=
  if (dynamic =? 0) then 0 else (if (0 <=? (if negb (backward =? 0) then send else recv)) then 1
    else 0).
Definition ReducesOn (c : config) (mb : Z) : Z :=
  if (((c_stage c) =? 2) || (mb =? ((c_micro_batches c) - 1))) then 1 else 0.

(* ---- spec/acsl/step_fold.h ---- *)
Definition Loads (S s : Z) : Z :=
  if ((s =? 0) || (s =? (S - 1))) then 1 else 0.

(* ---- spec/acsl/step_where.h ---- *)
Definition CollectPlace (stage mb n c b : Z) : Z :=
  if (stage =? 2) then (BucketPlace mb (Buckets n c) b) else (-1).
Definition SpotTo (c : config) (lay : layout) (i : Z) : Z :=
  (s_start (spot_at (l_spot lay) i)) + (p_numel (param_at (c_params c) ((l_first_param lay) + i))).
Definition SpotNumel (lay : layout) (i : Z) : Z :=
  f_numel (flat_at (l_flat lay) (s_flat (spot_at (l_spot lay) i))).
Definition SpotCap (lay : layout) (i : Z) : Z :=
  f_capacity (flat_at (l_flat lay) (s_flat (spot_at (l_spot lay) i))).
Definition SpotClock (lay : layout) (i : Z) : Z :=
  ((l_n_params lay) - i) * 4398046511104.

(* ---- spec/acsl/step_tail_fold.h ---- *)
Definition SumClock (x b : Z) : Z :=
  (x * 2199023255552) + b.
Definition UpdateClock (later k : Z) : Z :=
  ((later * 65536) + k) * 4398046511104.
Definition TiedCount (stage exact n c d a b : Z) : Z :=
  (if (stage =? 0) then (BucketPadded n c d a b) else (Part n c d a b)) * (if (exact =? ZP_EXACT)
    then ZP_LIMBS else 1).
Definition BucketsOf (f : flat) : Z :=
  Buckets (f_numel f) (f_capacity f).
Definition HeldOf (f : flat) : Z :=
  if ((f_use f) =? 0) then (BucketsOf f) else 0.
Definition Later (f : flat) : Z :=
  if ((0 <=? (f_tied f)) || ((BucketsOf f) <=? 1)) then 0 else 1.
Definition PassOf (f : flat) (later : Z) : Z :=
  if ((Later f) =? later) then (HeldOf f) else 0.
Definition HoldsKey (f : flat) (key : Z) : Z :=
  if (((f_tied f) =? key) && ((f_use f) =? 0)) then 1 else 0.

(* ---- spec/acsl/init_save.h ---- *)
Definition LaterUse (c : config) (j i : Z) : Z :=
  if (((j <? i) && ((p_stage (param_at (c_params c) i)) =? (p_stage (param_at (c_params c) j)))) &&
    ((p_tied (param_at (c_params c) i)) =? (p_tied (param_at (c_params c) j)))) then 1 else 0.
Fixpoint LaterUses_n (count : nat) (c : config) (j : Z) : Z :=
  match count with
  | O => 0
  | Datatypes.S below => let n := Z.of_nat below + 1 in (LaterUses_n below c j) + (LaterUse c j (n -
    1))
  end.
Definition LaterUses (c : config) (j n : Z) : Z :=
  LaterUses_n (Z.to_nat n) c j.
Definition Holds (c : config) (j : Z) : Z :=
  if (((p_tied (param_at (c_params c) j)) <? 0) || ((LaterUses c j (c_n_params c)) =? 0)) then 1
    else 0.
Definition IsKey (c : config) (j key : Z) : Z :=
  if ((p_tied (param_at (c_params c) j)) =? key) then 1 else 0.
Definition Fp32At (c : config) (j : Z) : Z :=
  p_fp32 (param_at (c_params c) j).
Definition NumelAt (c : config) (j : Z) : Z :=
  p_numel (param_at (c_params c) j).
Definition Replica (c : config) (j : Z) : Z :=
  if (((p_sharded (param_at (c_params c) j)) =? 0) && ((Holds c j) =? 1)) then 1 else 0.
Definition SaveClock (k b : Z) : Z :=
  (k * 8796093022208) + (6 * b).
Definition Saves (c : config) (s : Z) (f : flat) : Z :=
  if (((f_tied f) <? 0) || (((f_use f) =? 0) && ((StageOf c (f_tied f) 0) =? s))) then 1 else 0.
Definition Writes (c : config) (g dp : Z) : Z :=
  if ((if (g =? ZP_GROUP_EDP) then (Z.quot dp (c_ep c)) else dp) =? 0) then 1 else 0.
Definition WritesFrozen (c : config) (j s dp tp : Z) : Z :=
  if ((((((p_frozen (param_at (c_params c) j)) =? 1) && ((Holds c j) =? 1)) && (((p_tied (param_at
    (c_params c) j)) <? 0) || ((StageOf c (p_tied (param_at (c_params c) j)) 0) =? s))) &&
    (((p_sharded (param_at (c_params c) j)) =? 1) || (tp =? 0))) && ((Writes c (GroupOf c j) dp) =?
    1)) then 1 else 0.

(* ---- spec/acsl/op_is.h ---- *)
Definition op_local (kind k b if_stepped t i : Z) : op :=
  Op kind ZP_WHAT_NONE (-1) (-1) (-1) ZP_RED_NONE (-1) k (-1) (-1) if_stepped (-1) (-1) b 0 0 t i.
Definition op_on_bucket (kind what g key dtype redop k b if_stepped count t i : Z) : op :=
  Op kind what g key dtype redop (-1) k (-1) (-1) if_stepped (-1) (-1) b 0 count t i.
Definition op_agreement (what count t i : Z) : op :=
  Op ZP_OP_ALL_REDUCE what ZP_GROUP_WORLD (-1) ZP_I64 ZP_RED_SUM (-1) (-1) (-1) (-1) 0 (-1) (-1)
    (-1) 0 count t i.

(* ---- spec/acsl/op_slot.h ---- *)
Definition op_hop (kind dtype s backward send recv t i : Z) : op :=
  Op kind (if negb (backward =? 0) then ZP_WHAT_ACTIVATION else ZP_WHAT_ACTIVATION_GRADIENT)
    ZP_GROUP_PP (-1) dtype ZP_RED_NONE (if negb (backward =? 0) then (s + 1) else (s - 1)) (-1) (-1)
    (-1) 0 send recv (-1) 0 0 t i.
Definition op_micro (kind mb place t i : Z) : op :=
  Op kind ZP_WHAT_NONE (-1) (-1) (-1) ZP_RED_NONE (-1) (-1) (-1) place 0 mb (-1) (-1) 0 0 t i.

(* ---- spec/acsl/op_tail.h ---- *)
Definition UpdatedBucket (stage buckets r : Z) : Z :=
  (buckets - 1) - (if (0 <? stage) then (Z.quot r 2) else r).
Definition op_update (stage k t clock buckets r : Z) : op :=
  op_local ZP_OP_UPDATE k (UpdatedBucket stage buckets r) 1 t (clock + (if (0 <? stage) then r else
    (2 * r))).
Definition op_gather (group n c d a dtype k t clock buckets r : Z) : op :=
  op_on_bucket ZP_OP_ALL_GATHER ZP_WHAT_PARAMETER group (-1) dtype ZP_RED_NONE k (UpdatedBucket 1
    buckets r) 1 (Part n c d a (UpdatedBucket 1 buckets r)) t (clock + r).
Definition op_tied (n c d a stage exact key k t b : Z) : op :=
  op_on_bucket ZP_OP_ALL_REDUCE ZP_WHAT_TIED ZP_GROUP_TIED key (if (exact =? ZP_EXACT) then ZP_I64
    else ZP_F32) (if (exact =? ZP_EXACT) then ZP_RED_SUM else ZP_RED_ORDERED) k b 0 (TiedCount stage
    exact n c d a b) t (SumClock key b).
Definition op_mean (k t b : Z) : op :=
  op_local ZP_OP_MEAN k b 0 t (SumClock k b).
Definition op_statistics (t : Z) : op :=
  op_agreement ZP_WHAT_STATISTICS ZP_STATS t 0.
Definition op_decision (t : Z) : op :=
  Op ZP_OP_DECIDE ZP_WHAT_NONE (-1) (-1) (-1) ZP_RED_NONE (-1) (-1) (-1) (-1) 0 (-1) (-1) (-1) 0 0 t
    1.

(* ---- spec/acsl/op_init.h ---- *)
Definition op_creation (x : Z) : op :=
  Op ZP_OP_CREATE ZP_WHAT_COMMUNICATOR ZP_GROUP_WORLD (if (x <? 6) then (-1) else (x - 6)) (-1)
    ZP_RED_NONE (if (x <? 6) then x else 6) (-1) (-1) (-1) 0 (-1) (-1) (-1) 0 0 0 x.
Definition op_first (g key : Z) (c : config) (j t i : Z) : op :=
  Op ZP_OP_BROADCAST ZP_WHAT_PARAMETER g key (DtypeOf (Fp32At c j) (c_precision c)) ZP_RED_NONE 0
    (-1) j (-1) 0 (-1) (-1) (-1) 0 (NumelAt c j) t i.
Definition op_tp_first (c : config) (j y : Z) : op :=
  op_first ZP_GROUP_TP (-1) c j 2 y.
Definition op_dp_first (c : config) (j y : Z) : op :=
  op_first (GroupOf c j) (-1) c j 3 y.
Definition op_install : op :=
  Op ZP_OP_INSTALL ZP_WHAT_MASTER (-1) (-1) (-1) ZP_RED_NONE (-1) (-1) (-1) (-1) 0 (-1) (-1) (-1) 0
    0 4 0.

(* ---- spec/acsl/op_gradient.h ---- *)
Definition op_addition (stage k param mb n c from to t clock b : Z) : op :=
  Op ZP_OP_ADD ZP_WHAT_NONE (-1) (-1) (-1) ZP_RED_NONE (-1) k param (CollectPlace stage mb n c b) 0
    mb (-1) b ((RunFrom c from b) - from) ((RunTo c to b) - (RunFrom c from b)) t (clock + (2 * b)).
Definition op_reduced (stage exact group dtype k mb n c d a t clock b : Z) : op :=
  Op (ReduceKind stage) ZP_WHAT_GRADIENT group (-1) (ReduceDtype stage exact dtype) (ReduceRedop
    stage exact) (-1) k (-1) (CollectPlace stage mb n c b) 0 mb (-1) b 0 (ReduceCount stage exact n
    c d a b) t ((clock + (2 * b)) + 1).

(* ---- spec/acsl/op_save.h ---- *)
Definition op_save_gather (g count k b state clock : Z) : op :=
  Op ZP_OP_GATHER (ZP_WHAT_MASTER + state) g (-1) ZP_F32 ZP_RED_NONE 0 k (-1) (-1) 0 (-1) (-1) b 0
    count 0 (clock + (2 * state)).
Definition op_save_write (k b state clock : Z) : op :=
  Op ZP_OP_WRITE (ZP_WHAT_MASTER + state) (-1) (-1) (-1) ZP_RED_NONE (-1) k (-1) (-1) 0 (-1) (-1) b
    0 0 0 ((clock + (2 * state)) + 1).
Definition op_frozen_write (j i : Z) : op :=
  Op ZP_OP_WRITE ZP_WHAT_PARAMETER (-1) (-1) (-1) ZP_RED_NONE (-1) (-1) j (-1) 0 (-1) (-1) (-1) 0 0
    1 i.
Definition op_plain (kind t i : Z) : op :=
  Op kind ZP_WHAT_NONE (-1) (-1) (-1) ZP_RED_NONE (-1) (-1) (-1) (-1) 0 (-1) (-1) (-1) 0 0 t i.
