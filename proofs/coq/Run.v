(* A whole run: INIT, STEP, STEP, ..., SAVE one after the other. Each has its own decision, and no
   barrier separates them, so ranks may be in different programs at one time. If each program,
   started where the previous one ends, satisfies the hypotheses of NoDeadlock.v, then no execution
   of the run deadlocks and every rank terminates. spec: LEDG-7, STEP-2

   The idea: the execution that runs each program to its end on all ranks before the next begins
   finishes; by Schedule.v all other executions end in the same state. No axioms. *)

Require Import Bool List Arith ZArith Lia.
Require Import ZP.Program ZP.NoDeadlock ZP.Schedule.
Import ListNotations.

Section Run.

Variables chan content value : Type.
Variable chan_eq_dec : forall a b : chan, {a = b} + {a <> b}.
Variable members : chan -> list nat.
Variable decide : nat -> value -> bool.
Variable compute : nat -> op chan content -> value -> value.
Variable exchange : chan -> content -> list value -> nat -> value -> value.
Variable ranks : nat.

Notation op := (op chan content).
Notation state := (state chan content value).
Notation enabled := (enabled chan content value members).
Notation after := (after chan content value members decide compute exchange).
Notation same := (same chan content value).
Notation step := (step chan content value members decide compute exchange).
Notation runs := (runs chan content value members decide compute exchange).
Notation stuck := (stuck chan content value members decide compute exchange).
Notation finished := (finished chan content value).
Notation is_at := (is_at chan content value).
Notation resolve := (resolve chan content).
Notation start := (start chan content value).
Notation reachable := (reachable chan content value members decide compute exchange).

Definition boundary : op := Build_op _ _ (End _ _) false (0%Z, 0%Z).

(* Every rank's programs, each closed by a boundary. *)
Fixpoint run_of (ps : list (nat -> list op)) (r : nat) : list op :=
  match ps with
  | [] => []
  | p :: rest => if r <? ranks then p r ++ boundary :: run_of rest r else []
  end.

(* Each program satisfies H0 ... H6 with the memory that the previous programs leave. *)
Inductive good_run : list (nat -> list op) -> (nat -> value) -> Prop :=
| good_none : forall memory, good_run [] memory
| good_more : forall p rest memory stepped,
    H0_shape chan content ranks p ->
    H1_equal_ledgers chan chan_eq_dec content members p stepped ->
    H2_members_only chan chan_eq_dec content members p stepped ->
    H3_clock_increases chan content p ->
    H4_equal_clocks chan chan_eq_dec content members p stepped ->
    H5_equal_decisions chan content value members decide compute exchange p memory stepped ->
    H6_decided_in_time chan content p ->
    (forall n t, runs n (start p memory) t -> finished t ->
      good_run rest (fun r => snd (t r))) ->
    good_run (p :: rest) memory.

(* ---- A following program does not change how a program runs ---------------------------------- *)

Definition quiet (s : state) := forall r, ranks <= r -> fst (s r) = [].

Definition followed (q : nat -> list op) (s : state) : state :=
  fun r => if r <? ranks then (fst (s r) ++ boundary :: q r, snd (s r)) else s r.

Lemma followed_snd : forall q s r, snd (followed q s r) = snd (s r).
Proof. intros; unfold followed; destruct (r <? ranks); reflexivity. Qed.

Lemma resolve_app : forall d p q, resolve d (p ++ boundary :: q) = resolve d p ++ boundary :: q.
Proof.
  induction p as [|o p IH]; intro q; [reflexivity |]; simpl.
  destruct (what chan content o); try reflexivity;
    destruct (negb (if_stepped chan content o) || d); simpl; rewrite IH; reflexivity.
Qed.

Lemma at_busy : forall s r k, quiet s -> is_at s r k -> r < ranks.
Proof.
  intros s r k Q [o [rest [E _]]]; destruct (le_lt_dec ranks r) as [G|]; [| assumption].
  rewrite (Q r G) in E; discriminate.
Qed.

Lemma followed_at : forall q s r k, quiet s -> is_at s r k -> is_at (followed q s) r k.
Proof.
  intros q s r k Q A; pose proof (at_busy s r k Q A) as L.
  destruct A as [o [rest [E H]]]; exists o, (rest ++ boundary :: q r).
  unfold followed; apply Nat.ltb_lt in L; rewrite L, E; simpl; auto.
Qed.

Lemma followed_enabled : forall q s l, quiet s -> enabled l s -> enabled l (followed q s).
Proof.
  intros q s [r|c] Q En; simpl in *.
  - destruct En as [En | [En | En]]; auto using followed_at.
  - destruct En as [Ne [x En]]; split; [exact Ne | exists x; auto using followed_at].
Qed.

Lemma enabled_touched : forall s l r, enabled l s -> touches chan members l r ->
  exists k, is_at s r k.
Proof.
  intros s [q|c] r En T; simpl in *; [subst r |].
  - destruct En as [En | [En | En]]; eauto.
  - destruct En as [_ [x En]]; eauto.
Qed.

Lemma followed_after : forall q s l, quiet s -> enabled l s ->
  same (after l (followed q s)) (followed q (after l s)) /\ quiet (after l s).
Proof.
  intros q s l Q En.
  assert (T : forall r, touches chan members l r ->
    exists o rest, fst (s r) = o :: rest /\ r < ranks).
  { intros r Tr; destruct (enabled_touched s l r En Tr) as [k A].
    pose proof (at_busy s r k Q A) as L; destruct A as [o [rest [E _]]]; eauto. }
  split.
  - intro r; destruct (touches_dec chan members l r) as [Tr|N].
    + destruct (T r Tr) as [o [rest [E L]]]; apply Nat.ltb_lt in L.
      unfold followed at 2; rewrite L.
      destruct l as [p|c]; simpl in Tr; unfold NoDeadlock.after.
      * subst r; destruct (Nat.eq_dec p p); [| congruence].
        unfold own, followed; rewrite L, E; simpl.
        destruct (what chan content o); simpl; try reflexivity; rewrite resolve_app; reflexivity.
      * destruct (in_dec Nat.eq_dec r (members c)); [| contradiction].
        rewrite (map_ext _ (fun p => snd (s p))) by (intro; apply followed_snd).
        unfold joint, followed; rewrite L, E; simpl.
        destruct (what chan content o); simpl; rewrite ?E; reflexivity.
    + unfold followed at 2; rewrite !(untouched _ _ _ members decide compute exchange) by exact N.
      reflexivity.
  - intros r G; destruct (touches_dec chan members l r) as [Tr|N].
    + destruct (T r Tr) as [o [rest [_ L]]]; lia.
    + rewrite (untouched _ _ _ members decide compute exchange) by exact N; exact (Q r G).
Qed.

Lemma same_sym : forall s t, same s t -> same t s.
Proof. intros s t E r; symmetry; apply E. Qed.

Lemma followed_runs : forall q n s t, runs n s t -> quiet s ->
  runs n (followed q s) (followed q t) /\ quiet t.
Proof.
  induction 1 as [s t E | n s t u [l [En A]] Hr IH]; intro Q.
  - split.
    + apply runs_none; intro r; unfold followed; rewrite E; reflexivity.
    + intros r G; rewrite E; exact (Q r G).
  - destruct (followed_after q s l Q En) as [F Q'].
    assert (Qt : quiet t) by (intros r G; rewrite A; exact (Q' r G)).
    destruct (IH Qt) as [R Qu]; split; [| exact Qu].
    apply runs_more with (t := followed q t); [| exact R].
    exists l; split; [apply followed_enabled; assumption |].
    intro r; rewrite F; unfold followed; rewrite A; reflexivity.
Qed.

(* All ranks pass the boundary, one after the other. *)
Definition passed (i : nat) (q : nat -> list op) (t : state) : state :=
  fun r => if r <? i then (q r, snd (t r)) else (boundary :: q r, snd (t r)).

Lemma pass : forall q (t : state) i, i <= ranks ->
  runs i (fun r => if r <? ranks then (boundary :: q r, snd (t r)) else ([], snd (t r)))
         (fun r => if r <? i then (q r, snd (t r))
                   else if r <? ranks then (boundary :: q r, snd (t r)) else ([], snd (t r))).
Proof.
  intros q t; induction i as [|i IH]; intro L.
  - apply runs_none; intro r; reflexivity.
  - eapply runs_snoc; [apply IH; lia |].
    exists (Alone chan i); split.
    + right; right; exists boundary, (q i); simpl.
      rewrite Nat.ltb_irrefl; replace (i <? ranks) with true by (symmetry; apply Nat.ltb_lt; lia).
      auto.
    + intro r; unfold NoDeadlock.after; destruct (Nat.eq_dec r i) as [->|N].
      * rewrite Nat.ltb_irrefl; replace (i <? S i) with true by (symmetry; apply Nat.ltb_lt; lia).
        replace (i <? ranks) with true by (symmetry; apply Nat.ltb_lt; lia); reflexivity.
      * replace (r <? S i) with (r <? i); [reflexivity |].
        destruct (Nat.ltb_spec r i), (Nat.ltb_spec r (S i)); try reflexivity; lia.
Qed.

Lemma runs_trans : forall n s t, runs n s t -> forall m u, runs m t u -> runs (n + m) s u.
Proof.
  induction 1 as [s t E | n s t v Hs Hr IH]; intros m u R.
  - eapply runs_same; [apply same_sym; exact E | exact R].
  - simpl; eapply runs_more; [exact Hs | apply IH; exact R].
Qed.

Lemma runs_end_same : forall n s t u, runs n s t -> same u t -> runs n s u.
Proof.
  induction 1 as [s t E | n s t v Hs Hr IH]; intro F.
  - apply runs_none; intro r; rewrite F; apply E.
  - eapply runs_more; [exact Hs | exact (IH F)].
Qed.

Lemma finished_stuck : forall s, finished s -> stuck s.
Proof.
  intros s F t [l [En _]].
  assert (N : forall r k, ~ is_at s r k).
  { intros r k [o [rest [E _]]]; rewrite F in E; discriminate. }
  destruct l as [r|c]; simpl in En.
  - destruct En as [En | [En | En]]; exact (N _ _ En).
  - destruct En as [Ne [x En]]; destruct (members c) as [|r m]; [congruence |].
    exact (N _ _ (En r (or_introl eq_refl))).
Qed.

(* ---- The theorems ---------------------------------------------------------------------------- *)

Lemma one_good_execution : forall ps memory, good_run ps memory ->
  exists n t, runs n (start (run_of ps) memory) t /\ finished t.
Proof.
  induction 1 as [memory | p rest memory d h0 h1 h2 h3 h4 h5 h6 _ IH].
  - exists 0, (start (run_of []) memory); split; [apply runs_none | ]; intro r; reflexivity.
  - assert (R0 : reachable p memory (start p memory)).
    { exists 0; apply runs_none; intro r; reflexivity. }
    destruct (the_end_is_reached _ chan_eq_dec _ _ _ _ _ _ _ _ _ _ h0 h1 h2 h3 h4 h5 h6 _ R0)
      as [n [t [R F]]].
    destruct (IH n t R F) as [m [u [Ru Fu]]].
    exists (n + (ranks + m)), u; split; [| exact Fu].
    assert (Q : quiet (start p memory)) by (intros r G; exact (proj1 h0 r G)).
    destruct (followed_runs (run_of rest) n _ _ R Q) as [Rf Qt].
    apply runs_trans with (t := followed (run_of rest) t).
    + eapply runs_same; [| exact Rf]; intro r; unfold followed, start, NoDeadlock.start; simpl.
      destruct (Nat.ltb_spec r ranks); [reflexivity | rewrite (proj1 h0 r) by lia; reflexivity].
    + apply runs_trans with (t := start (run_of rest) (fun r => snd (t r))); [| exact Ru].
      eapply runs_end_same;
        [eapply runs_same; [| apply (pass (run_of rest) t ranks (le_n ranks))] |].
      * intro r; unfold followed; rewrite F; destruct (r <? ranks) eqn:L; [reflexivity |].
        rewrite (surjective_pairing (t r)), F; reflexivity.
      * intro r; unfold start, NoDeadlock.start; destruct (r <? ranks) eqn:L; [reflexivity |].
        destruct rest; simpl; rewrite ?L; reflexivity.
Qed.

Theorem every_rank_terminates_in_a_run : forall ps memory, good_run ps memory ->
  forall s, reachable (run_of ps) memory s -> stuck s -> finished s.
Proof.
  intros ps memory G s [k R] St.
  destruct (one_good_execution ps memory G) as [n [t [Rt F]]].
  destruct (outcome_is_unique _ _ _ chan_eq_dec _ _ _ _ _ _ _ _ _ R St Rt (finished_stuck t F))
    as [_ E].
  intro r; rewrite E; apply F.
Qed.

Theorem runs_are_bounded : forall ps memory, good_run ps memory ->
  exists n, forall k s, runs k (start (run_of ps) memory) s -> k <= n.
Proof.
  intros ps memory G; destruct (one_good_execution ps memory G) as [n [t [Rt F]]].
  exists n; intros k s R.
  destruct (same_end _ _ _ chan_eq_dec _ _ _ _ _ _ _ R _ _ Rt (finished_stuck t F)) as [m [-> _]].
  lia.
Qed.

(* In every reachable state of a run, all ranks have finished or a step is possible. *)
Theorem no_deadlock_in_a_run : forall ps memory, good_run ps memory ->
  forall s, reachable (run_of ps) memory s -> finished s \/ exists t, step s t.
Proof.
  intros ps memory G s [k R].
  destruct (one_good_execution ps memory G) as [n [t [Rt F]]].
  destruct (same_end _ _ _ chan_eq_dec _ _ _ _ _ _ _ R _ _ Rt (finished_stuck t F)) as [m [_ Rm]].
  destruct Rm as [s t E | m s v t Hs _]; [left | right; exists v; exact Hs].
  intro r; rewrite <- E; apply F.
Qed.

End Run.
