(* The serial loop: one step without any sharding. spec: RED-2, STAT-2, STEP-6, STEP-7

   After ref/engine/serial.c. Each pair (d, t) of dp and tp index runs its M micro-batches through
   all stages, forward and backward. The gradient of each element is summed over the micro-batches
   of all d with the same copy of the entry (experts have ep copies, one for each residue of d;
   other entries one), and over all entries with the same tied key. Values are those of the key's
   first entry. A copy belongs to one tp index: entries that are replicated over tp have one for
   each tp index, of which that of index 0 is counted. *)

Require Import Bool List ZArith Lia.
Require Import ZP.Op ZP.OpOf ZP.Plan ZP.Sums ZP.MeaningChannels ZP.Meaning.
Import ListNotations.
Open Scope Z_scope.

Definition copy_of (c : config) (j d : Z) : Z :=
  if p_expert (entry c j) =? 0 then 0 else Z.rem d (c_ep c).
Definition copies (c : config) (j : Z) : Z := if p_expert (entry c j) =? 0 then 1 else c_ep c.

(* The first entry with j's tied key. *)
Definition first_use (c : config) (j : Z) : Z :=
  if p_tied (entry c j) <? 0 then j
  else match find (fun i => p_tied (entry c i) =? p_tied (entry c j)) (range 0 (c_n_params c)) with
       | Some i => i
       | None => j
       end.

Section Serial.

Variables A T P S X V : Type.
Variable no_message : A.
Variable fwd : coord -> V -> list (list P) -> A -> Z -> A * T * (Z -> Z).
Variable bwd : coord -> V -> list (list P) -> T -> A -> Z -> A * (Z -> option (Z -> Z)).
Variable mean : Z -> X.
Variable words : X -> Z -> Z.
Variable go : V -> list Z -> bool.
Variable update : Z -> V -> list Z -> X -> S -> S.
Variable round : Z -> S -> P.
Variable next : V -> list Z -> V.            (* the scaler and the counts after the step *)

(* Entry, element, tp index, copy. *)
Record serial := Serial {
  s_v : V;
  s_param : Z -> Z -> Z -> Z -> P;
  s_state : Z -> Z -> Z -> Z -> S
}.

Variable c : config.
Variable z : serial.

(* The parameters of stage s, as (d, t) sees them. *)
Definition stage_values (s d t : Z) : list (list P) :=
  map (fun j => map (fun e => s_param z (first_use c j) e t (copy_of c j d))
      (range 0 (p_numel (entry c j))))
    (range (StageFirst c s) (StageEnd c s)).

Section Run.

Variables d t mb : Z.                        (* whose run: dp index, tp index, micro-batch *)

Definition stage_forward (s : Z) (input : A) : A * T * (Z -> Z) :=
  fwd (Coord s d t) (s_v z) (stage_values s d t) input mb.

(* The input of the n-th stage, from 0. *)
Fixpoint input_n (n : nat) : A :=
  match n with
  | O => no_message
  | Datatypes.S n => fst (fst (stage_forward (Z.of_nat n) (input_n n)))
  end.
Definition input (s : Z) : A := input_n (Z.to_nat s).
Definition tape (s : Z) : T := snd (fst (stage_forward s (input s))).
Definition loss_words (s : Z) : Z -> Z := snd (stage_forward s (input s)).

Definition stage_backward (s : Z) (grad : A) : A * (Z -> option (Z -> Z)) :=
  bwd (Coord s d t) (s_v z) (stage_values s d t) (tape s) grad mb.

(* What the n-th stage from the end, from 0, receives in backward. *)
Fixpoint grad_in_n (n : nat) : A :=
  match n with
  | O => no_message
  | Datatypes.S n => fst (stage_backward (c_pp c - 1 - Z.of_nat n) (grad_in_n n))
  end.
Definition grad_in (s : Z) : A := grad_in_n (Z.to_nat (c_pp c - 1 - s)).

(* The gradient of element e of entry j. *)
Definition contribution (j e : Z) : Z :=
  let s := p_stage (entry c j) in element (snd (stage_backward s (grad_in s)) j) e.

End Run.

(* Of element e of copy x of entry j, in the first n micro-batches. *)
Definition use_sum (n j e t x : Z) : Z :=
  sigma (range 0 (c_dp c)) (fun d =>
    if copy_of c j d =? x then sigma (range 0 n) (fun mb => contribution d t mb j e) else 0).

(* The sum over all uses of j's key. *)
Definition serial_sum (j e t x : Z) : Z :=
  sigma (range 0 (c_n_params c)) (fun q =>
    if first_use c q =? first_use c j then use_sum (c_micro_batches c) q e t x else 0).

(* Statistics: the words of all forwards, and of the mean of each element that is trained, once. *)
Definition serial_words (w : Z) : Z :=
  sigma (range 0 (c_pp c)) (fun s => sigma (range 0 (c_dp c)) (fun d =>
    sigma (range 0 (c_tp c)) (fun t => sigma (range 0 (c_micro_batches c)) (fun mb =>
      loss_words d t mb s w)))) +
  sigma (range 0 (c_n_params c)) (fun j =>
    if (p_frozen (entry c j) =? 0) && (first_use c j =? j) then
      sigma (range 0 (c_tp c)) (fun t =>
        if (t =? 0) || (p_sharded (entry c j) =? 1) then
          sigma (range 0 (copies c j)) (fun x =>
            sigma (range 0 (p_numel (entry c j))) (fun e =>
              words (mean (serial_sum j e t x)) w))
        else 0)
    else 0).

Definition serial_statistics : list Z := map serial_words (range 0 ZP_STATS).
Definition serial_go : bool := go (s_v z) serial_statistics.

Definition new_state (j e t x : Z) : S :=
  update (p_optgroup (entry c j)) (s_v z) serial_statistics (mean (serial_sum j e t x))
    (s_state z j e t x).

Definition serial_step : serial :=
  Serial (next (s_v z) serial_statistics)
    (fun j e t x => if serial_go && (p_frozen (entry c j) =? 0)
                    then round (p_fp32 (entry c j)) (new_state j e t x) else s_param z j e t x)
    (fun j e t x => if serial_go && (p_frozen (entry c j) =? 0)
                    then new_state j e t x else s_state z j e t x).

End Serial.
