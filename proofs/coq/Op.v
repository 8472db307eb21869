(* What the planner reads and writes, as records over Z. spec: STEP-1, PART-1, PART-2

   Fields are those of the C structs zp_op (ref/plan/program.h), zp_param and zp_config
   (ref/plan/config.h), zp_flat, zp_spot and zp_layout (ref/plan/layout.h) and zp_coord
   (ref/plan/topology.h), each with the first letter of its struct as a prefix. C's arrays are
   lists, so their lengths (n_params, n_flats) are functions. The enums' constants are in OpOf.v,
   which generate.py writes. *)

Require Import List ZArith.
Import ListNotations.
Open Scope Z_scope.

Record op := Op {
  o_kind : Z;       (* ZP_OP_* *)
  o_what : Z;       (* ZP_WHAT_* *)
  o_group : Z;      (* ZP_GROUP_* of a communication, else -1 *)
  o_key : Z;        (* tied key of ZP_GROUP_TIED, else -1 *)
  o_dtype : Z;      (* of the data sent, else -1 *)
  o_redop : Z;      (* ZP_RED_* *)
  o_root : Z;
  o_flat : Z;       (* flat group of the stage, or -1 *)
  o_param : Z;      (* entry, or -1 *)
  o_slot : Z;       (* activation slot, bucket slot (stage 2), or -1 *)
  o_if_stepped : Z; (* 1: omitted when the step is skipped *)
  o_mb : Z;
  o_recv_mb : Z;
  o_bucket : Z;     (* of the flat group, or -1 *)
  o_offset : Z;     (* ADD: first element in the entry *)
  o_count : Z;
  o_clock_t : Z;
  o_clock_i : Z
}.

(* ---- The configuration ----------------------------------------------------------------------- *)

Record param := Param {
  p_numel : Z;
  p_stage : Z;      (* pipeline stage *)
  p_optgroup : Z;
  p_tied : Z;       (* tied key, or -1 *)
  p_sharded : Z;    (* 1: each tp rank holds different elements *)
  p_expert : Z;     (* 1: reduced over edp *)
  p_frozen : Z;
  p_fp32 : Z
}.

(* Not the field sequence_parallel, which the planner does not read. *)
Record config := Config {
  c_pp : Z;
  c_dp : Z;
  c_tp : Z;
  c_ep : Z;
  c_stage : Z;      (* ZeRO stage 0, 1 or 2 *)
  c_reduce : Z;     (* ZP_ORDERED or ZP_EXACT *)
  c_precision : Z;
  c_dynamic_shapes : Z;
  c_optgroups : Z;
  c_tied_keys : Z;
  c_micro_batches : Z;
  c_bucket : Z;
  c_align : Z;
  c_params : list param
}.

Definition c_n_params (c : config) : Z := Z.of_nat (length (c_params c)).

(* ---- The layout of a stage ------------------------------------------------------------------- *)

Record flat := Flat {
  f_group : Z;      (* ZP_GROUP_DP or ZP_GROUP_EDP *)
  f_members : Z;
  f_optgroup : Z;
  f_fp32 : Z;
  f_tied : Z;       (* tied key, or -1 *)
  f_use : Z;        (* tied: 0 for the storage, 1, 2 ... for further uses on this stage *)
  f_holder : Z;     (* the flat group with use 0 of the same key *)
  f_numel : Z;
  f_capacity : Z;
  f_align : Z
}.

Record spot := Spot {
  s_flat : Z;       (* flat group, or -1 for a frozen entry *)
  s_start : Z       (* of its first element in the flat group *)
}.

Record layout := Layout {
  l_stage : Z;
  l_first_param : Z;
  l_flat : list flat;
  l_spot : list spot  (* the i-th belongs to entry l_first_param + i *)
}.

Definition l_n_flats (l : layout) : Z := Z.of_nat (length (l_flat l)).
Definition l_n_params (l : layout) : Z := Z.of_nat (length (l_spot l)).

(* Indices of a rank. *)
Record coord := Coord { a_pp : Z; a_dp : Z; a_tp : Z }.

(* ---- Lists by integer index ------------------------------------------------------------------ *)

Definition no_param := Param 0 0 0 (-1) 0 0 0 0.
Definition no_flat := Flat 0 0 0 0 (-1) 0 0 0 0 0.
Definition no_spot := Spot (-1) 0.

Definition param_at (l : list param) (j : Z) : param := nth (Z.to_nat j) l no_param.
Definition flat_at (l : list flat) (k : Z) : flat := nth (Z.to_nat k) l no_flat.
Definition spot_at (l : list spot) (i : Z) : spot := nth (Z.to_nat i) l no_spot.

(* The integers lo, lo + 1, ..., hi - 1. *)
Definition range (lo hi : Z) : list Z :=
  map (fun i => lo + Z.of_nat i) (seq 0 (Z.to_nat (hi - lo))).

(* A list with the index of each element. *)
Definition numbered {A : Type} (l : list A) : list (Z * A) :=
  combine (range 0 (Z.of_nat (length l))) l.
