(* Steps without a barrier between them. spec: LEDG-7, STEP-2, STEP-6

   In general, for any programs: if they can be run to their end one after the other, with all ranks
   waiting in between, then the run in which no rank waits (Run.v's run_of) has the same outcome.
   Each of its executions can be continued to the end, is at most as long as the one with barriers,
   and leaves every rank with the same memory. The execution with barriers is one schedule of the
   run without; by Schedule.v all schedules have one outcome.

   For STEP: any number of steps, each followed by the local update of the scaler and the counts
   (begin_next), which a rank does on its own before it enters the next step. Every step has its own
   decision, and ranks may be in different steps. No axioms. *)

Require Import Bool List Arith ZArith Lia.
Require Import ZP.Program ZP.NoDeadlock ZP.Schedule ZP.Run.
Require Import ZP.Op ZP.Plan ZP.Valid ZP.MeaningChannels ZP.Meaning ZP.Serial ZP.MeaningLayout.
Require Import ZP.ShardedEqualsSerial ZP.Joined.
Require ZP.Channels ZP.StepClocks ZP.StepShape.
Import ListNotations.
Open Scope nat_scope.

(* ---- Any programs ---------------------------------------------------------------------------- *)

Section Barriers.

Variables chan content value : Type.
Variable chan_eq_dec : forall a b : chan, {a = b} + {a <> b}.
Variable members : chan -> list nat.
Variable decide : nat -> value -> bool.
Variable compute : nat -> Program.op chan content -> value -> value.
Variable exchange : chan -> content -> list value -> nat -> value -> value.
Variable ranks : nat.

Notation op := (Program.op chan content).
Notation state := (state chan content value).
Notation same := (same chan content value).
Notation step := (step chan content value members decide compute exchange).
Notation runs := (runs chan content value members decide compute exchange).
Notation stuck := (stuck chan content value members decide compute exchange).
Notation finished := (finished chan content value).
Notation start := (start chan content value).
Notation reachable := (reachable chan content value members decide compute exchange).
Notation run_of := (run_of chan content ranks).
Notation boundary := (boundary chan content).

(* The programs ps, one after the other with a barrier after each, lead from m to m'. *)
Inductive leads : list (nat -> list op) -> (nat -> value) -> (nat -> value) -> Prop :=
| leads_none : forall m m', (forall r, m' r = m r) -> leads [] m m'
| leads_more : forall p ps m n t m', (forall r, ranks <= r -> p r = []) ->
    runs n (start p m) t -> finished t -> leads ps (fun r => snd (t r)) m' -> leads (p :: ps) m m'.

Lemma runs_join : forall n s t, runs n s t -> forall m u, runs m t u -> runs (n + m) s u.
Proof. exact (runs_trans _ _ _ members decide compute exchange). Qed.

(* The execution with barriers is an execution of the run without. *)
Theorem barriers_are_a_schedule : forall ps m m', leads ps m m' ->
  exists n t, runs n (start (run_of ps) m) t /\ finished t /\ forall r, snd (t r) = m' r.
Proof.
  induction 1 as [m m' E | p ps m n t m' Sh R F _ IH].
  - exists 0, (start (run_of []) m); split; [apply runs_none; intro; reflexivity |].
    split; intro r; [reflexivity | symmetry; apply E].
  - destruct IH as [k [u [Ru [Fu Eu]]]]; exists (n + (ranks + k)), u; split; [| auto].
    assert (Q : quiet _ _ _ ranks (start p m)) by (intros r G; exact (Sh r G)).
    destruct (followed_runs _ _ _ members decide compute exchange ranks (run_of ps) n _ _ R Q)
      as [Rf Qt].
    apply runs_join with (t := followed _ _ _ ranks (run_of ps) t).
    + eapply runs_same; [| exact Rf]; intro r; unfold followed, start, NoDeadlock.start; simpl.
      destruct (Nat.ltb_spec r ranks); [reflexivity | rewrite (Sh r) by lia; reflexivity].
    + apply runs_join with (t := start (run_of ps) (fun r => snd (t r))); [| exact Ru].
      eapply runs_end_same;
        [eapply runs_same; [| apply (pass _ _ _ members decide compute exchange ranks
          (run_of ps) t ranks (le_n ranks))] |].
      * intro r; unfold followed; rewrite F; destruct (r <? ranks) eqn:L; [reflexivity |].
        rewrite (surjective_pairing (t r)), F; reflexivity.
      * intro r; unfold start, NoDeadlock.start; destruct (r <? ranks) eqn:L; [reflexivity |].
        destruct ps; simpl; rewrite ?L; reflexivity.
Qed.

(* A rank that has finished keeps its memory. *)
Lemma finished_rank_stays : forall n s t r, runs n s t -> fst (s r) = [] -> t r = s r.
Proof.
  induction 1 as [s t E | n s t u [l [En A]] _ IH]; intro F; [apply E |].
  assert (G : t r = s r).
  { rewrite A; apply untouched; intro T.
    destruct (enabled_touched _ _ _ members s l r En T) as [k [o [rest [Q _]]]].
    rewrite Q in F; discriminate. }
  rewrite <- G; apply IH; rewrite G; exact F.
Qed.

Theorem barriers_do_not_matter : forall ps m m', leads ps m m' -> forall s,
  reachable (run_of ps) m s ->
  (finished s \/ exists t, step s t) /\
  (stuck s -> finished s /\ forall r, snd (s r) = m' r) /\
  (forall r, fst (s r) = [] -> snd (s r) = m' r).
Proof.
  intros ps m m' L s [k R]; destruct (barriers_are_a_schedule ps m m' L) as [n [t [Rt [F E]]]].
  pose proof (finished_stuck _ _ _ members decide compute exchange t F) as St.
  destruct (same_end _ _ _ chan_eq_dec _ _ _ _ _ _ _ R _ _ Rt St) as [j [_ Rj]].
  split; [| split].
  - inversion Rj as [s' t' Q | j' s' v t' Hs _]; subst; [left | right; exists v; exact Hs].
    intro r; rewrite <- Q; apply F.
  - intro Ss; destruct (outcome_is_unique _ _ _ chan_eq_dec _ _ _ _ _ _ _ _ _ R Ss Rt St) as [_ Q].
    split; intro r; rewrite Q; [apply F | apply E].
  - intros r Q; rewrite <- E, (finished_rank_stays _ _ _ r Rj Q); reflexivity.
Qed.

Theorem runs_without_barriers_end : forall ps m m', leads ps m m' ->
  exists n, forall k s, runs k (start (run_of ps) m) s -> k <= n.
Proof.
  intros ps m m' L; destruct (barriers_are_a_schedule ps m m' L) as [n [t [Rt [F _]]]].
  exists n; intros k s R; destruct (same_end _ _ _ chan_eq_dec _ _ _ _ _ _ _ R _ _ Rt
    (finished_stuck _ _ _ members decide compute exchange t F)) as [j [-> _]]; lia.
Qed.

(* Every rank runs one local op. *)
Lemma all_run_one : forall (o : op) m, what _ _ o = Local _ _ -> if_stepped _ _ o = false ->
  let p r := if r <? ranks then [o] else [] in
  exists n t, runs n (start p m) t /\ finished t /\
    forall r, snd (t r) = if r <? ranks then compute r o (m r) else m r.
Proof.
  intros o m W I p.
  set (s i := (fun r => if r <? i then ([], compute r o (m r)) else (p r, m r)) : state).
  assert (G : forall i, i <= ranks -> runs i (start p m) (s i)).
  { induction i as [|i IH]; intro L; [apply runs_none; intro r; reflexivity |].
    eapply runs_snoc; [apply IH; lia |]; exists (Alone chan i); split.
    - left; exists o, []; unfold s, p; rewrite Nat.ltb_irrefl.
      rewrite (proj2 (Nat.ltb_lt i ranks)) by lia; auto.
    - intro r; unfold NoDeadlock.after, s; destruct (Nat.eq_dec r i) as [->|N].
      + rewrite Nat.ltb_irrefl, (proj2 (Nat.ltb_lt i (S i))) by lia; unfold own, p; simpl.
        rewrite (proj2 (Nat.ltb_lt i ranks)) by lia; simpl; rewrite W; reflexivity.
      + destruct (Nat.ltb_spec r (S i)), (Nat.ltb_spec r i); try reflexivity; lia. }
  exists ranks, (s ranks); split; [apply G, le_n |].
  unfold s, p; split; intro r; destruct (r <? ranks); reflexivity.
Qed.

End Barriers.

(* Programs that do not contain an op run alike under two meanings that differ only there. *)
Section Extension.

Variables chan content value : Type.
Variable members : chan -> list nat.
Variable decide : nat -> value -> bool.
Variables compute compute' : nat -> Program.op chan content -> value -> value.
Variable exchange : chan -> content -> list value -> nat -> value -> value.
Variable alike : clock -> Prop.
Hypothesis Alike : forall r o v, alike (at_clock _ _ o) -> compute' r o v = compute r o v.

Notation runs c := (runs chan content value members decide c exchange).

Lemma resolve_alike : forall d (p : list (Program.op chan content)),
  Forall (fun o => alike (at_clock _ _ o)) p ->
  Forall (fun o => alike (at_clock _ _ o)) (resolve _ _ d p).
Proof.
  induction 1 as [|o p H Hp IH]; [constructor |]; simpl.
  destruct (what _ _ o); try (constructor; assumption);
    (destruct (_ || d)%bool; [constructor; assumption | exact IH]).
Qed.

Lemma runs_alike : forall n s t, runs compute n s t ->
  (forall r, Forall (fun o => alike (at_clock _ _ o)) (fst (s r))) -> runs compute' n s t.
Proof.
  induction 1 as [s t E | n s t u [l [En A]] _ IH]; intro H; [apply runs_none; exact E |].
  assert (G : forall r, after _ _ _ members decide compute' exchange l s r =
      after _ _ _ members decide compute exchange l s r /\
      Forall (fun o => alike (at_clock _ _ o))
        (fst (after _ _ _ members decide compute exchange l s r))).
  { intro r; specialize (H r); destruct l as [q|c]; unfold after.
    - destruct (Nat.eq_dec r q) as [->|]; [| auto]; unfold own.
      destruct (fst (s q)) as [|o rest] eqn:F; [rewrite F; auto |].
      inversion H as [| ? ? Ho Hr]; subst.
      destruct (what _ _ o); cbn [fst]; rewrite ?Alike by exact Ho; auto using resolve_alike.
    - destruct (in_dec Nat.eq_dec r (members c)); [| auto]; split; [reflexivity |]; unfold joint.
      destruct (fst (s r)) as [|o rest] eqn:F; [rewrite F; auto |].
      inversion H as [| ? ? Ho Hr]; subst; destruct (what _ _ o); cbn [fst]; rewrite ?F; auto. }
  apply runs_more with (t := t); [exists l; split; [exact En |]; intro r; rewrite A;
    symmetry; apply G |].
  apply IH; intro r; rewrite A; apply G.
Qed.

End Extension.

(* ---- STEP ------------------------------------------------------------------------------------ *)

Section Steps.

Variable c : config.
Hypothesis V : valid c.

Variables A T P S X W : Type.
Variable no_message : A.
Variable fwd : coord -> W -> list (list P) -> A -> Z -> A * T * (Z -> Z).
Variable bwd : coord -> W -> list (list P) -> T -> A -> Z -> A * (Z -> option (Z -> Z)).
Variable mean : Z -> X.
Variable words : X -> Z -> Z.
Variable go : W -> list Z -> bool.
Variable update : Z -> W -> list Z -> X -> S -> S.
Variable round : Z -> S -> P.
Variable next : W -> list Z -> W.

Notation mem := (mem A T P S X W).
Notation decide := (decide A T P S X W go).
Notation compute := (compute A T P S X W no_message fwd bwd mean words update round c).
Notation exchange := (exchange A T P S X W c).
Notation agrees := (agrees A T P S X W c).
Notation begin_next := (begin_next A T P S X W next).
Notation serial_step :=
  (serial_step A T P S X W no_message fwd bwd mean words go update round next c).

(* The op between two steps; no op of STEP has its clock. *)
Definition begin_op : Program.op chan op := Build_op _ _ (Local _ _) false (-1, 0)%Z.
Definition begin_program (r : nat) : list (Program.op chan op) :=
  if r <? ranks c then [begin_op] else [].

(* All steps have one program, so the clock still identifies the op. *)
Definition steps_compute (r : nat) (o : Program.op chan op) (m : mem) : mem :=
  if (fst (at_clock _ _ o) =? -1)%Z then begin_next m else compute r o m.

(* n steps: rank r's STEP program, begin_op, and again. The boundaries (Run.v) end the scope of a
   step's decision; they are local, so no rank waits at them. *)
Fixpoint steps_programs (n : nat) : list (nat -> list (Program.op chan op)) :=
  match n with
  | 0 => []
  | Datatypes.S n => rank_program c :: begin_program :: steps_programs n
  end.
Definition steps_run (n : nat) : nat -> list (Program.op chan op) :=
  run_of chan op (ranks c) (steps_programs n).

Notation reachable := (reachable chan op mem (members c) decide steps_compute exchange).
Notation runs := (runs chan op mem (members c) decide steps_compute exchange).
Notation step := (NoDeadlock.step chan op mem (members c) decide steps_compute exchange).
Notation stuck := (stuck chan op mem (members c) decide steps_compute exchange).
Notation finished := (finished chan op mem).
Notation leads := (leads chan op mem (members c) decide steps_compute exchange (ranks c)).

Lemma clock_not_begin : forall r, Forall (fun o => fst (at_clock chan op o) <> (-1)%Z)
  (rank_program c r).
Proof.
  intro r; unfold rank_program, step_of; destruct (r <? ranks c); [| constructor].
  apply Forall_map; pose proof (StepClocks.step_clocks c V (a_pp (coord_of c r))) as [_ H].
  eapply Forall_impl; [| exact H]; intros o [G _]; unfold StepClocks.not_after, before in G.
  cbn [at_clock synchronized fst snd Channels.clock_of] in *; unfold Channels.clock_of in G.
  cbn [fst snd] in G; lia.
Qed.

Lemma steps_lead : forall n z m, (forall r, r < ranks c -> agrees z r (m r)) ->
  exists m', leads (steps_programs n) m m' /\
    forall r, r < ranks c -> agrees (Nat.iter n serial_step z) r (m' r).
Proof.
  induction n as [|n IH]; intros z m Start.
  - exists m; split; [constructor; reflexivity | exact Start].
  - destruct (planned_step_is_completed c V A T P S X W no_message fwd bwd mean words go update
      round next z m Start (start _ _ _ (rank_program c) m)) as [k [t [R [F St]]]].
    { exists 0; apply runs_none; intro; reflexivity. }
    apply runs_alike with (compute' := steps_compute) (alike := fun k => fst k <> (-1)%Z) in R;
      [| | intro r; apply clock_not_begin].
    2: { intros r o v H; unfold steps_compute; rewrite (proj2 (Z.eqb_neq _ _) H); reflexivity. }
    destruct (all_run_one chan op mem (members c) decide steps_compute exchange (ranks c) begin_op
      (fun r => snd (t r)) eq_refl eq_refl) as [j [u [Ru [Fu Eu]]]].
    destruct (IH (serial_step z) (fun r => snd (u r))) as [m' [L G]].
    { intros r Hr; rewrite Eu, (proj2 (Nat.ltb_lt _ _) Hr); apply (St r Hr). }
    exists m'; split.
    + apply leads_more with (n := k) (t := t); [| exact R | exact F |].
      * intros r Hr; apply (StepShape.step_shape c); exact Hr.
      * apply leads_more with (n := j) (t := u); [| exact Ru | exact Fu | exact L].
        intros r Hr; unfold begin_program; rewrite (proj2 (Nat.ltb_ge _ _) Hr); reflexivity.
    + intros r Hr; replace (Nat.iter (Datatypes.S n) serial_step z)
        with (Nat.iter n serial_step (serial_step z)); [apply G; exact Hr |].
      clear; induction n as [|n IH]; [reflexivity |]; simpl in *; rewrite IH; reflexivity.
Qed.

Section Theorems.

Variable z : serial P S W.
Variable memory : nat -> mem.
Hypothesis Start : forall r, r < ranks c -> agrees z r (memory r).

(* A rank that has finished its n steps agrees with the serial loop, wherever the others are. *)
Theorem unbarriered_steps_are_serial : forall n s r,
  reachable (steps_run n) memory s -> r < ranks c -> fst (s r) = [] ->
  agrees (Nat.iter n serial_step z) r (snd (s r)).
Proof.
  intros n s r R Hr F; destruct (steps_lead n z memory Start) as [m' [L G]].
  destruct (barriers_do_not_matter _ _ _ chan_eq_dec _ _ _ _ _ _ _ _ L s R) as [_ [_ E]].
  rewrite (E r F); apply G; exact Hr.
Qed.

Theorem unbarriered_steps_never_deadlock : forall n s, reachable (steps_run n) memory s ->
  finished s \/ exists t, step s t.
Proof.
  intros n s R; destruct (steps_lead n z memory Start) as [m' [L _]].
  apply (barriers_do_not_matter _ _ _ chan_eq_dec _ _ _ _ _ _ _ _ L s R).
Qed.

(* Every execution ends, and all ranks have then finished. *)
Theorem unbarriered_steps_end : forall n,
  (exists k, forall j s, runs j (start _ _ _ (steps_run n) memory) s -> j <= k) /\
  forall s, reachable (steps_run n) memory s -> stuck s ->
    finished s /\ forall r, r < ranks c -> agrees (Nat.iter n serial_step z) r (snd (s r)).
Proof.
  intro n; destruct (steps_lead n z memory Start) as [m' [L G]]; split.
  - exact (runs_without_barriers_end _ _ _ chan_eq_dec _ _ _ _ _ _ _ _ L).
  - intros s R St; destruct (barriers_do_not_matter _ _ _ chan_eq_dec _ _ _ _ _ _ _ _ L s R)
      as [_ [E _]].
    destruct (E St) as [F Q]; split; [exact F |]; intros r Hr; rewrite Q; apply G; exact Hr.
Qed.

End Theorems.

End Steps.
