(* Channels and contents of the planner's communications. spec: LEDG-1, LEDG-2, PIPE-3

   A channel is a group, identified by its kind, key and first member, or a link between the stages
   s and s + 1 of one dp and tp index. Members, in the order of their index, are those of
   spec/acsl/topology.h. The content holds the fields on which members agree: of a group's
   communication all fields but the clock (of a tied key's also not the flat group, whose number
   differs between stages); of an exchange what Hop in spec/acsl/ledger.h keeps. *)

Require Import List Arith ZArith Lia.
Require Import ZP.Op ZP.OpOf ZP.Plan ZP.PlanFacts.
Require ZP.Program.
Import ListNotations.
Open Scope Z_scope.

Inductive chan :=
| Group (g key : Z) (first : coord)
| Link (s d t : Z).

Lemma chan_eq_dec : forall a b : chan, {a = b} + {a <> b}.
Proof. decide equality; try apply Z.eq_dec; decide equality; apply Z.eq_dec. Defined.

(* ---- Ranks ----------------------------------------------------------------------------------- *)

Definition rank_at (c : config) (p d t : Z) : nat := Z.to_nat (Rank c p d t).
Definition ranks (c : config) : nat := Z.to_nat (World c).
Definition coord_of (c : config) (r : nat) : coord :=
  let r := Z.of_nat r in
  Coord (r / c_tp c / c_dp c) (r / c_tp c mod c_dp c) (r mod c_tp c).

Definition members (c : config) (h : chan) : list nat :=
  match h with
  | Group g key a =>
      map (fun i => Z.to_nat (GroupMember c g key (a_pp a) (a_dp a) (a_tp a) i))
        (range 0 (GroupSize c g key (a_pp a)))
  | Link s d t => [rank_at c s d t; rank_at c (s + 1) d t]
  end.

(* The first member of the group of kind g and key `key` to which the rank at a belongs. *)
Definition first_member (c : config) (g key : Z) (a : coord) : coord :=
  let p := a_pp a in let d := a_dp a in let t := a_tp a in
  if g =? ZP_GROUP_WORLD then Coord 0 0 0
  else if g =? ZP_GROUP_DP then Coord p 0 t
  else if g =? ZP_GROUP_TP then Coord p d 0
  else if g =? ZP_GROUP_PP then Coord 0 d t
  else if g =? ZP_GROUP_EDP then Coord p (Z.rem d (c_ep c)) t
  else if g =? ZP_GROUP_EP then Coord p (Z.quot d (c_ep c) * c_ep c) t
  else Coord (StageOf c key 0) d t.

(* ---- Ops ------------------------------------------------------------------------------------- *)

Definition chan_of (c : config) (a : coord) (o : op) : chan :=
  if o_group o =? ZP_GROUP_PP then Link (Z.min (a_pp a) (o_root o)) (a_dp a) (a_tp a)
  else Group (o_group o) (o_key o) (first_member c (o_group o) (o_key o) a).

(* Of an exchange, o_mb and o_recv_mb are the micro-batches sent to the next and to the previous
   stage. *)
Definition content_of (o : op) : op :=
  if o_group o =? ZP_GROUP_PP then
    let next := o_what o =? ZP_WHAT_ACTIVATION in
    Op (o_kind o) ZP_WHAT_NONE ZP_GROUP_PP (-1) (o_dtype o) (o_redop o) (-1) (-1) (-1) (-1)
      (o_if_stepped o) (if next then o_mb o else o_recv_mb o)
      (if next then o_recv_mb o else o_mb o) (-1) 0 (o_count o) 0 0
  else
    Op (o_kind o) (o_what o) (o_group o) (o_key o) (o_dtype o) (o_redop o) (o_root o)
      (if o_group o =? ZP_GROUP_TIED then -1 else o_flat o) (o_param o) (o_slot o)
      (o_if_stepped o) (o_mb o) (o_recv_mb o) (o_bucket o) (o_offset o) (o_count o) 0 0.

Definition comm (o : op) : bool := ZP_OP_FIRST_COMM <=? o_kind o.

(* The op of the rank at a, as in Program.v. *)
Definition synchronized (c : config) (a : coord) (o : op) : Program.op chan op :=
  {| Program.what :=
       if o_kind o =? ZP_OP_DECIDE then Program.Decide _ _
       else if comm o then Program.Comm _ _ (chan_of c a o) (content_of o)
       else Program.Local _ _;
     Program.if_stepped := o_if_stepped o =? 1;
     Program.at_clock := (o_clock_t o, o_clock_i o) |}.

(* The STEP program of rank r. *)
Definition step_of (c : config) (r : nat) : list op :=
  let a := coord_of c r in
  if (r <? ranks c)%nat then step_program c (layout_of c (a_pp a)) else [].

Definition rank_program (c : config) (r : nat) : list (Program.op chan op) :=
  map (synchronized c (coord_of c r)) (step_of c r).
