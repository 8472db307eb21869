(* Save, load and continue. spec: CKPT-5

   Ranks run n steps under one configuration, save, and ranks of a configuration that fits load and
   run m steps, without barriers between steps: they agree with the serial loop that takes n steps
   of the first and m steps of the second. Under one configuration this is the uninterrupted run of
   n + m steps. No axioms. *)

Require Import List Arith ZArith Lia.
Require Import ZP.Op ZP.OpOf ZP.Plan ZP.Valid ZP.MeaningChannels ZP.Meaning ZP.Serial.
Require Import ZP.ShardedEqualsSerial ZP.NoBarrier ZP.Storage ZP.Saved ZP.SavedState ZP.Loaded.
Require ZP.Program ZP.NoDeadlock.
Import ListNotations.
Open Scope Z_scope.

Section Continued.

Variables A T P S X W F : Type.
Variable no_message : A.
Variable mean : Z -> X.
Variable words : X -> Z -> Z.
Variable go : W -> list Z -> bool.
Variable update : Z -> W -> list Z -> X -> S -> S.
Variable round : Z -> S -> P.
Variable next : W -> list Z -> W.
Variable piece : Z -> S -> F.
Variable whole : F -> F -> F -> S.
Variable narrow : Z -> F -> P.
Variable widen : P -> F.
Hypothesis Pieces : forall s, whole (piece ZP_WHAT_MASTER s) (piece ZP_WHAT_MOMENT1 s)
  (piece ZP_WHAT_MOMENT2 s) = s.

Notation forwards := (coord -> W -> list (list P) -> A -> Z -> A * T * (Z -> Z)).
Notation backwards :=
  (coord -> W -> list (list P) -> T -> A -> Z -> A * (Z -> option (Z -> Z))).
Notation mem := (mem A T P S X W).
Notation saver := (saver A T P S X W F).
Notation loader := (loader A T P S X W).
Notation agrees := (agrees A T P S X W).
Notation serial_step fwd bwd c :=
  (Serial.serial_step A T P S X W no_message fwd bwd mean words go update round next c).

(* Ranks of c with memories m have run n steps, and are in state s. *)
Definition steps_reached (fwd : forwards) (bwd : backwards) (c : config) (n : nat)
  (m : nat -> mem) (s : nat -> list (Program.op chan op) * mem) : Prop :=
  NoDeadlock.reachable chan op mem (members c) (decide A T P S X W go)
    (steps_compute c A T P S X W no_message fwd bwd mean words update round next)
    (exchange A T P S X W c) (steps_run c n) m s.

Definition all_finished {B} (c : config) (s : nat -> list (Program.op chan op) * B) : Prop :=
  forall r, (r < ranks c)%nat -> fst (s r) = [].

(* Ranks of c with memories m have saved, and wrote `file`. *)
Definition saved_from (c : config) (m : nat -> mem) (file : checkpoint W F) : Prop :=
  exists (v : nat -> saver) s,
    (forall r, (r < ranks c)%nat ->
      v_mem _ _ _ _ _ _ _ (v r) = m r /\ v_file _ _ _ _ _ _ _ (v r) = []) /\
    NoDeadlock.reachable chan op saver (members c) no_decide
      (save_compute A T P S X W F piece widen c) (save_exchange A T P S X W F piece c) (saves c) v s
    /\ all_finished c s /\
    k_records _ _ file = published A T P S X W F c (fun r => snd (s r)) /\
    Some (k_state _ _ file) = v_state _ _ _ _ _ _ _ (snd (s 0%nat)).

(* Ranks of c, whose statistics were empty, have loaded `file` into the memories m. *)
Definition loaded_into (c : config) (file : checkpoint W F) (m : nat -> mem) : Prop :=
  exists (d : nat -> loader) s,
    (forall r, (r < ranks c)%nat -> forall w, m_stats _ _ _ _ _ _ (d_mem _ _ _ _ _ _ (d r)) w = 0)
    /\
    NoDeadlock.reachable chan op loader (members c) no_decide
      (load_compute A T P S X W F whole narrow c file) (load_exchange A T P S X W) (loads c) d s /\
    all_finished c s /\
    forall r, (r < ranks c)%nat -> m r = d_mem _ _ _ _ _ _ (snd (s r)).

Theorem continued_is_serial : forall c c' fwd bwd fwd' bwd' z n n' m s file m' s',
  valid c -> valid c' -> fits c c' ->
  let z' := Nat.iter n (serial_step fwd bwd c) z in
  rounded P S W F piece narrow widen c' z' -> replicated P S W c' z' ->
  (forall r, (r < ranks c)%nat -> agrees c z r (m r)) ->
  steps_reached fwd bwd c n m s -> all_finished c s ->
  saved_from c (fun r => snd (s r)) file -> loaded_into c' file m' ->
  steps_reached fwd' bwd' c' n' m' s' ->
  forall r, (r < ranks c')%nat -> fst (s' r) = [] ->
  agrees c' (Nat.iter n' (serial_step fwd' bwd' c') z') r (snd (s' r)).
Proof.
  intros c c' fwd bwd fwd' bwd' z n n' m s file m' s' V V' Fit z' Ro Re Start R Fi Sv Ld R' r Hr Fr.
  destruct Sv as [v [sv [Vm [Rv [Fv [Rec St]]]]]]; destruct Ld as [d [sd [Ds [Rd [Fd Dm]]]]].
  apply (unbarriered_steps_are_serial c' V' A T P S X W no_message fwd' bwd' mean words go update
    round next z' m'); try assumption.
  intros q Hq; rewrite (Dm q Hq).
  apply (saved_then_loaded c c' V V' Fit A T P S X W F piece whole narrow widen Pieces z' Ro Re v)
    with (s := sv) (file := file) (memory' := d); try assumption; [| apply Fd; exact Hq].
  intros p Hp; destruct (Vm p Hp) as [-> Nv]; split; [| exact Nv].
  exact (unbarriered_steps_are_serial c V A T P S X W no_message fwd bwd mean words go update round
    next z m Start n s p R Hp (Fi p Hp)).
Qed.

Lemma fits_itself : forall c, fits c c.
Proof. intro c; constructor; [reflexivity | reflexivity |]; intros; repeat split. Qed.

(* Under one configuration: the serial loop of the uninterrupted run. *)
Theorem continued_is_uninterrupted : forall c fwd bwd z n n' m s file m' s',
  valid c -> (forall fp32 st, round fp32 st = narrow fp32 (piece ZP_WHAT_MASTER st)) ->
  rounded P S W F piece narrow widen c z ->
  replicated P S W c (Nat.iter n (serial_step fwd bwd c) z) ->
  (forall r, (r < ranks c)%nat -> agrees c z r (m r)) ->
  steps_reached fwd bwd c n m s -> all_finished c s ->
  saved_from c (fun r => snd (s r)) file -> loaded_into c file m' ->
  steps_reached fwd bwd c n' m' s' ->
  forall r, (r < ranks c)%nat -> fst (s' r) = [] ->
  agrees c (Nat.iter (n' + n) (serial_step fwd bwd c) z) r (snd (s' r)).
Proof.
  intros c fwd bwd z n n' m s file m' s' V Rd Ro Re Start R Fi Sv Ld R' r Hr Fr.
  assert (E : Nat.iter (n' + n) (serial_step fwd bwd c) z =
    Nat.iter n' (serial_step fwd bwd c) (Nat.iter n (serial_step fwd bwd c) z)).
  { clear; induction n' as [|n' IH]; [reflexivity |]; simpl in *; rewrite IH; reflexivity. }
  rewrite E; apply (continued_is_serial c c fwd bwd fwd bwd z n n' m s file m' s'); try assumption;
    [apply fits_itself |].
  clear - Rd Ro; induction n as [|n IH]; [exact Ro |]; cbn [Nat.iter nat_rect].
  apply serial_steps_keep_rounded; assumption.
Qed.

End Continued.
