(* The planner's programs as functions.
   spec: STEP-1 ... STEP-8, LEDG-1 ... LEDG-8, PIPE-1 ... PIPE-6, CKPT-1, CKPT-2

   program has the arguments of zp_program_write (ref/plan/program.h) and returns the ops that C
   writes; layout_of those of zp_layout_build. Each program is a concatenation of blocks: slots,
   entries, flat groups, buckets. The ops and all numbers in them are the functions of OpOf.v, which
   generate.py translates from the ACSL that WP proves of C. That the lists agree with C, op by op,
   is assumption O-1; compare.sh samples it. *)

Require Import Bool List ZArith.
Require Import ZP.Op ZP.OpOf.
Import ListNotations.
Open Scope Z_scope.

(* The ops of l if b holds. *)
Definition if_ops (b : bool) (l : list op) : list op := if b then l else [].

(* ---- The layout of a stage: the conditions of LayoutOf in spec/acsl/layout.h ----------------- *)

(* Flat group k of stage s. *)
Definition layout_flat (c : config) (s k : Z) : flat :=
  let e := StageEnd c s in
  let x := StageCount c s in
  let j := Opener c e x k in
  let p := param_at (c_params c) j in
  Flat (GroupOf c j) (MembersOf c j) (p_optgroup p) (p_fp32 p) (p_tied p) (UseOf c e j)
    (FlatAt c e (HeadOf c e j)) (FlatNumel c e x k) (Capacity (c_bucket c) (MembersOf c j)
    (c_align c)) (c_align c).

(* Where entry j of the list, on stage s, is. *)
Definition layout_spot (c : config) (s j : Z) : spot :=
  Spot (FlatOf c (StageEnd c s) j) (StartOf c (StageEnd c s) j).

Definition layout_of (c : config) (s : Z) : layout :=
  Layout s (StageFirst c s)
    (map (layout_flat c s) (range 0 (FlatCount c (StageEnd c s) (StageCount c s))))
    (map (layout_spot c s) (range (StageFirst c s) (StageEnd c s))).

(* ---- STEP: one slot of the pipeline without its gradients ------------------------------------ *)

(* Before the computation: meta and grouped exchange with the slot's one neighbour. *)
Definition exchange_ops (dynamic s backward send recv t : Z) : list op :=
  if_ops (negb ((send <? 0) && (recv <? 0)))
    (if_ops (MetaLen dynamic backward send recv =? 1)
       [op_hop ZP_OP_META ZP_I64 s backward (if backward =? 0 then -1 else send)
          (if backward =? 0 then recv else -1) t 0] ++
     [op_hop ZP_OP_P2P (-1) s backward send recv t 1]).

Definition forward_ops (loads mb place t : Z) : list op :=
  if_ops (loads =? 1) [op_micro ZP_OP_LOAD mb (-1) t 2] ++ [op_micro ZP_OP_FORWARD mb place t 3].

Definition backward_ops (mb place t : Z) : list op :=
  [op_micro ZP_OP_BACKWARD mb place t 3; op_micro ZP_OP_ARRIVED mb (-1) t 4].

(* Stage s of S computes micro-batch mb in slot t; mb is negative if it computes none. *)
Definition compute_ops (S M s backward mb t : Z) : list op :=
  let place := Z.rem mb (Places S M s) in
  if_ops (0 <=? mb)
    (if backward =? 0 then forward_ops (Loads S s) mb place t else backward_ops mb place t).

Definition head_ops (S M s dynamic t : Z) : list op :=
  let backward := BackwardSlot s t in
  exchange_ops dynamic s backward (Sent S M s t) (Received S M s t) t ++
  compute_ops S M s backward (Computed S M s t) t.

(* ---- STEP: the gradient of one entry in one micro-batch -------------------------------------- *)

(* Entry `param` occupies from ... to - 1 of flat group k, which has n elements, capacity c, d
   members and alignment a; its clocks start at `clock`. *)

(* Adds the run in bucket b of flat group f, number k; and reduces b after its last addition. *)
Definition op_add (stage k j : Z) (f : flat) (from to mb t clock b : Z) : op :=
  op_addition stage k j mb (f_numel f) (f_capacity f) from to t clock b.
Definition op_reduction (stage reduce dtype k : Z) (f : flat) (mb t clock b : Z) : op :=
  op_reduced stage reduce (f_group f) dtype k mb (f_numel f) (f_capacity f) (f_members f)
    (f_align f) t clock b.

(* The buckets that the entry lies in; it completes those before DoneBucket. *)
Definition gradient_ops (cfg : config) (k j : Z) (f : flat) (from to mb t clock : Z) : list op :=
  let stage := c_stage cfg in
  let n := f_numel f in
  let c := f_capacity f in
  flat_map (fun b =>
      op_add stage k j f from to mb t clock b ::
      if_ops ((ReducesOn cfg mb =? 1) && (b <? DoneBucket n c from to))
        [op_reduction stage (c_reduce cfg) (DtypeOf (f_fp32 f) (c_precision cfg)) k f mb t clock b])
    (range (FirstBucket c from) (StopBucket c from to)).

(* The i-th entry of the stage, at p; a frozen entry has no gradient. *)
Definition entry_ops (cfg : config) (lay : layout) (mb t : Z) (entry : Z * spot) : list op :=
  let (i, p) := entry in
  let j := l_first_param lay + i in
  let k := s_flat p in
  if_ops (0 <=? k)
    (gradient_ops cfg k j (flat_at (l_flat lay) k) (s_start p)
       (s_start p + p_numel (param_at (c_params cfg) j)) mb t (SpotClock lay i)).

(* All entries of the stage, in backward order. *)
Definition entries_ops (cfg : config) (lay : layout) (mb t : Z) : list op :=
  flat_map (entry_ops cfg lay mb t) (rev (numbered (l_spot lay))).

(* ---- STEP: the pipeline ---------------------------------------------------------------------- *)

(* Slot t. C does not visit all slots; those that it skips have no op. *)
Definition slot_ops (cfg : config) (lay : layout) (t : Z) : list op :=
  let S := c_pp cfg in
  let M := c_micro_batches cfg in
  let s := l_stage lay in
  let mb := BackwardAt S M s t in
  head_ops S M s (c_dynamic_shapes cfg) t ++
  if_ops ((BackwardSlot s t =? 1) && (0 <=? mb)) (entries_ops cfg lay mb t).

Definition pipeline_ops (cfg : config) (lay : layout) : list op :=
  flat_map (slot_ops cfg lay) (range 0 (Slots (c_pp cfg) (c_micro_batches cfg))).

(* ---- STEP: after the pipeline's t slots ------------------------------------------------------ *)

(* The flat group that holds tied key `key` on this stage, with its number. *)
Definition holder (lay : layout) (key : Z) : option (Z * flat) :=
  find (fun kf => HoldsKey (snd kf) key =? 1) (numbered (l_flat lay)).

Definition key_ops (cfg : config) (lay : layout) (t key : Z) : list op :=
  match holder lay key with
  | None => []
  | Some (k, f) =>
      map (op_tied (f_numel f) (f_capacity f) (f_members f) (f_align f) (c_stage cfg)
             (c_reduce cfg) key k t)
        (range 0 (BucketsOf f))
  end.

Definition tied_ops (cfg : config) (lay : layout) (t : Z) : list op :=
  flat_map (key_ops cfg lay t) (range 0 (c_tied_keys cfg)).

(* HeldOf f is 0 for further uses of a tied key, which have no storage. *)
Definition mean_ops (t : Z) (kf : Z * flat) : list op :=
  let (k, f) := kf in map (op_mean k t) (range 0 (HeldOf f)).

Definition means_ops (lay : layout) (t : Z) : list op :=
  flat_map (mean_ops t) (numbered (l_flat lay)).

(* The update of bucket b of flat group f, number k, and from ZeRO stage 1 on the gather of its
   parameters. clock: of the flat group's first update, which is of its last bucket. *)
Definition update_bucket_ops (cfg : config) (k : Z) (f : flat) (t clock b : Z) : list op :=
  let i := clock + 2 * (BucketsOf f - 1 - b) in
  op_local ZP_OP_UPDATE k b 1 t i ::
  if_ops (0 <? c_stage cfg)
    [op_on_bucket ZP_OP_ALL_GATHER ZP_WHAT_PARAMETER (f_group f) (-1)
       (DtypeOf (f_fp32 f) (c_precision cfg)) ZP_RED_NONE k b 1
       (Part (f_numel f) (f_capacity f) (f_members f) (f_align f) b) t (i + 1)].

(* In pass u, 0 for the flat groups that come first, 1 for the others. *)
Definition update_ops (cfg : config) (t u : Z) (kf : Z * flat) : list op :=
  let (k, f) := kf in
  flat_map (update_bucket_ops cfg k f t (UpdateClock u k)) (rev (range 0 (PassOf f u))).

Definition pass_ops (cfg : config) (lay : layout) (t u : Z) : list op :=
  flat_map (update_ops cfg t u) (numbered (l_flat lay)).

Definition updates_ops (cfg : config) (lay : layout) (t : Z) : list op :=
  pass_ops cfg lay t 0 ++ pass_ops cfg lay t 1.

Definition tail_ops (cfg : config) (lay : layout) (t : Z) : list op :=
  tied_ops cfg lay t ++ means_ops lay (t + 1) ++ [op_statistics (t + 2); op_decision (t + 2)] ++
  updates_ops cfg lay (t + 3).

(* The same for every dp and tp index. *)
Definition step_program (cfg : config) (lay : layout) : list op :=
  pipeline_ops cfg lay ++ tail_ops cfg lay (Slots (c_pp cfg) (c_micro_batches cfg)).

(* ---- INIT ------------------------------------------------------------------------------------ *)

(* The first values of key `key`, if this stage holds it: of its last entry here. *)
Definition tied_first_ops (cfg : config) (lay : layout) (key : Z) : list op :=
  match find (fun j => IsKey cfg j key =? 1)
          (rev (range (l_first_param lay) (l_first_param lay + l_n_params lay))) with
  | None => []
  | Some j => [op_first ZP_GROUP_TIED key cfg j 1 key]
  end.

Definition tp_first_ops (cfg : config) (lay : layout) (i : Z) : list op :=
  let j := l_first_param lay + i in if_ops (Replica cfg j =? 1) [op_tp_first cfg j i].

Definition dp_first_ops (cfg : config) (lay : layout) (i : Z) : list op :=
  let j := l_first_param lay + i in if_ops (Holds cfg j =? 1) [op_dp_first cfg j i].

Definition init_program (cfg : config) (lay : layout) : list op :=
  map op_creation (range 1 (6 + c_tied_keys cfg)) ++
  flat_map (tied_first_ops cfg lay) (range 0 (c_tied_keys cfg)) ++
  flat_map (tp_first_ops cfg lay) (range 0 (l_n_params lay)) ++
  flat_map (dp_first_ops cfg lay) (range 0 (l_n_params lay)) ++
  [op_install].

(* ---- SAVE and LOAD --------------------------------------------------------------------------- *)

(* One state (master, moment 1, moment 2) of a bucket. *)
Definition save_state_ops (cfg : config) (k : Z) (f : flat) (dp b state : Z) : list op :=
  if_ops (0 <? c_stage cfg)
    [op_save_gather (f_group f) (Part (f_numel f) (f_capacity f) (f_members f) (f_align f) b) k b
       state (SaveClock k b)] ++
  if_ops (Writes cfg (f_group f) dp =? 1) [op_save_write k b state (SaveClock k b)].

Definition save_bucket_ops (cfg : config) (k : Z) (f : flat) (dp b : Z) : list op :=
  flat_map (save_state_ops cfg k f dp b) (range 0 3).

Definition save_flat_ops (cfg : config) (lay : layout) (dp : Z) (kf : Z * flat) : list op :=
  let (k, f) := kf in
  if_ops (Saves cfg (l_stage lay) f =? 1)
    (flat_map (save_bucket_ops cfg k f dp) (range 0 (BucketsOf f))).

Definition frozen_ops (cfg : config) (lay : layout) (a : coord) (i : Z) : list op :=
  let j := l_first_param lay + i in
  if_ops (WritesFrozen cfg j (l_stage lay) (a_dp a) (a_tp a) =? 1) [op_frozen_write j i].

Definition save_program (cfg : config) (lay : layout) (a : coord) : list op :=
  flat_map (save_flat_ops cfg lay (a_dp a)) (numbered (l_flat lay)) ++
  flat_map (frozen_ops cfg lay a) (range 0 (l_n_params lay)) ++
  [op_plain ZP_OP_SEAL 2 0; op_agreement ZP_WHAT_STATUS 1 2 1;
   op_plain ZP_OP_COMMIT 2 2; op_agreement ZP_WHAT_STATUS 1 2 3].

Definition load_program : list op :=
  [op_plain ZP_OP_READ 0 0; op_agreement ZP_WHAT_STATUS 1 0 1; op_plain ZP_OP_INSTALL 0 2].

(* ---- All of them ----------------------------------------------------------------------------- *)

Inductive phase := PhaseInit | PhaseStep | PhaseSave | PhaseLoad.

(* The program of the rank at a, whose stage's layout is lay. *)
Definition program (cfg : config) (lay : layout) (p : phase) (a : coord) : list op :=
  match p with
  | PhaseInit => init_program cfg lay
  | PhaseStep => step_program cfg lay
  | PhaseSave => save_program cfg lay a
  | PhaseLoad => load_program
  end.

(* The same from the configuration alone. *)
Definition program_of (cfg : config) (p : phase) (a : coord) : list op :=
  program cfg (layout_of cfg (a_pp a)) p a.

(* Only SAVE depends on the dp and tp index. *)
Lemma same_for_all_ranks : forall cfg lay p a b,
  p <> PhaseSave -> program cfg lay p a = program cfg lay p b.
Proof. intros cfg lay [] a b H; simpl; congruence. Qed.
