(* Between two steps of a run without barriers. spec: STEP-2, STEP-6

   In general: the local states that a rank passes through are the same in all executions that end.
   So when a rank has run the first programs of a run and none of the rest, its memory is the one
   after these programs with barriers, wherever the other ranks are. For STEP: a rank that has
   ended a step, and not begun the next, agrees with the serial loop. No axioms. *)

Require Import Bool List Arith ZArith Lia.
Require Import ZP.Program ZP.NoDeadlock ZP.Schedule ZP.Run.
Require Import ZP.Op ZP.Plan ZP.Valid ZP.MeaningChannels ZP.Meaning ZP.Serial.
Require Import ZP.ShardedEqualsSerial ZP.NoBarrier.
Import ListNotations.
Open Scope nat_scope.

Section Traces.

Variables chan content value : Type.
Variable chan_eq_dec : forall a b : chan, {a = b} + {a <> b}.
Variable members : chan -> list nat.
Variable decide : nat -> value -> bool.
Variable compute : nat -> Program.op chan content -> value -> value.
Variable exchange : chan -> content -> list value -> nat -> value -> value.
Variable ranks : nat.

Notation op := (Program.op chan content).
Notation local := (list op * value)%type.
Notation state := (state chan content value).
Notation enabled := (enabled chan content value members).
Notation after := (after chan content value members decide compute exchange).
Notation same := (same chan content value).
Notation runs := (runs chan content value members decide compute exchange).
Notation stuck := (stuck chan content value members decide compute exchange).
Notation finished := (finished chan content value).
Notation start := (start chan content value).
Notation reachable := (reachable chan content value members decide compute exchange).
Notation touches := (touches chan members).
Notation run_of := (run_of chan content ranks).
Notation leads := (leads chan content value members decide compute exchange ranks).

(* An execution from s to t, with the local states of rank r after each of its steps. *)
Inductive traced (r : nat) : list local -> state -> state -> Prop :=
| traced_none : forall s t, same t s -> traced r [] s t
| traced_other : forall l trace s t u, enabled l s -> same t (after l s) -> ~ touches l r ->
    traced r trace t u -> traced r trace s u
| traced_own : forall l trace s t u, enabled l s -> same t (after l s) -> touches l r ->
    traced r trace t u -> traced r (t r :: trace) s u.

Lemma runs_traced : forall r n s t, runs n s t -> exists trace, traced r trace s t.
Proof.
  intros r; induction 1 as [s t E | n s t u [l [En A]] _ [trace IH]].
  - exists []; constructor; exact E.
  - destruct (touches_dec chan members l r) as [T|N].
    + exists (t r :: trace); eapply traced_own; eassumption.
    + exists trace; eapply traced_other; eassumption.
Qed.

Lemma same_sym : forall s t, same s t -> same t s.
Proof. intros s t E r; symmetry; apply E. Qed.

Lemma enabled_same : forall l s t, same s t -> enabled l s -> enabled l t.
Proof. intros l s t E; apply enabled_local; intros r _; apply E. Qed.

Lemma after_same : forall l s t, same s t -> same (after l s) (after l t).
Proof.
  intros l s t E r; destruct (touches_dec chan members l r) as [T|N].
  - apply after_local; [| exact T]; intros q _; apply E.
  - rewrite !(untouched _ _ _ members decide compute exchange) by exact N; apply E.
Qed.

Lemma traced_same : forall r trace s t u, same s t -> traced r trace t u -> traced r trace s u.
Proof.
  intros r trace s t u E H.
  inversion H as [? ? F | l ? ? v ? En A N R | l tr ? v ? En A T R]; subst.
  - constructor; intro q; rewrite F; symmetry; apply E.
  - apply traced_other with (l := l) (t := v); try assumption.
    + eapply enabled_same; [apply same_sym; exact E | exact En].
    + intro q; rewrite A; apply after_same, same_sym, E.
  - apply traced_own with (l := l); try assumption.
    + eapply enabled_same; [apply same_sym; exact E | exact En].
    + intro q; rewrite A; apply after_same, same_sym, E.
Qed.

Definition noted (r : nat) (l : label chan) (x : local) (trace : list local) : list local :=
  if touches_dec chan members l r then x :: trace else trace.

Lemma traced_step : forall r l trace s t u, enabled l s -> same t (after l s) ->
  traced r trace t u -> traced r (noted r l (t r) trace) s u.
Proof.
  intros r l trace s t u En A R; unfold noted; destruct (touches_dec chan members l r) as [T|N].
  - eapply traced_own; eassumption.
  - eapply traced_other; eassumption.
Qed.

(* Schedule.v's any_first_step, with the trace of one rank. *)
Lemma traced_first : forall r trace s t, traced r trace s t -> stuck t ->
  forall a, enabled a s -> exists rest,
    trace = noted r a (after a s r) rest /\ traced r rest (after a s) t.
Proof.
  intro r.
  assert (G : forall b trace s v t, enabled b s -> same v (after b s) -> stuck t ->
    traced r trace v t ->
    (forall a, enabled a v -> exists rest,
      trace = noted r a (after a v r) rest /\ traced r rest (after a v) t) ->
    forall a, enabled a s -> exists rest,
      noted r b (v r) trace = noted r a (after a s r) rest /\ traced r rest (after a s) t).
  { intros b trace s v t Eb Ab St R IH a Ea.
    destruct (label_eq_dec chan chan_eq_dec a b) as [<-|N].
    - exists trace; rewrite Ab; split; [reflexivity |].
      eapply traced_same; [apply same_sym; exact Ab | exact R].
    - destruct (diamond _ _ _ members decide compute exchange b a s Eb Ea) as [En D];
        [congruence |].
      destruct (diamond _ _ _ members decide compute exchange a b s Ea Eb N) as [En' _].
      destruct (IH a) as [rest [E Rr]];
        [eapply enabled_same; [apply same_sym; exact Ab | exact En] |].
      exists (noted r b (v r) rest); split.
      + subst trace; unfold noted.
        destruct (touches_dec chan members a r) as [Ta|Na],
          (touches_dec chan members b r) as [Tb|Nb]; try reflexivity.
        * exfalso; exact (N (apart _ _ _ members a b s r Ea Eb Ta Tb)).
        * f_equal; apply after_local; [| exact Ta]; intros q Tq; rewrite Ab.
          apply untouched; intro Tb; exact (N (apart _ _ _ members a b s q Ea Eb Tq Tb)).
      + assert (Q : same (after a v) (after b (after a s))).
        { intro q; rewrite <- D; apply after_same; exact Ab. }
        assert (Vr : noted r b (v r) rest = noted r b (after a v r) rest).
        { unfold noted; destruct (touches_dec chan members b r) as [Tb|]; [| reflexivity].
          f_equal; symmetry; apply untouched; intro Ta.
          exact (N (apart _ _ _ members a b s r Ea Eb Ta Tb)). }
        rewrite Vr; apply traced_step; assumption. }
  induction 1 as [s t E | l trace s v t En A N R IH | l trace s v t En A T R IH]; intros St a Ea.
  - exfalso; apply (St (after a t)); exists a; split; [| intro; reflexivity].
    eapply enabled_same; [apply same_sym; exact E | exact Ea].
  - replace trace with (noted r l (v r) trace)
      by (unfold noted; destruct (touches_dec chan members l r); [contradiction | reflexivity]).
    eapply G; eauto.
  - replace (v r :: trace) with (noted r l (v r) trace)
      by (unfold noted; destruct (touches_dec chan members l r); [reflexivity | contradiction]).
    eapply G; eauto.
Qed.

(* Every execution is the beginning of one that ends, with the same trace. *)
Lemma traced_begins : forall r trace s u, traced r trace s u -> forall all t, traced r all s t ->
  stuck t -> exists rest, all = trace ++ rest /\ traced r rest u t.
Proof.
  intros r trace s u H; induction H as [s u E | l trace s v u En A N R IH |
    l trace s v u En A T R IH]; intros all t Ra St.
  - exists all; split; [reflexivity | eapply traced_same; [exact E | exact Ra]].
  - destruct (traced_first r all s t Ra St l En) as [rest [-> Rr]]; unfold noted.
    destruct (touches_dec chan members l r); [contradiction |].
    apply IH; [eapply traced_same; [exact A | exact Rr] | exact St].
  - destruct (traced_first r all s t Ra St l En) as [rest [-> Rr]]; unfold noted.
    destruct (touches_dec chan members l r); [| contradiction].
    destruct (IH rest t) as [rest' [-> R']];
      [eapply traced_same; [exact A | exact Rr] | exact St |].
    exists rest'; rewrite <- A; split; [reflexivity | exact R'].
Qed.

(* Each of a rank's steps shortens its program. *)
Lemma touched_shrinks : forall l s r, enabled l s -> touches l r ->
  length (fst (after l s r)) < length (fst (s r)).
Proof.
  intros l s r En T.
  destruct (enabled_touched _ _ _ members s l r En T) as [k [o [rest [E [_ W]]]]].
  destruct l as [q|c]; simpl in T; unfold NoDeadlock.after.
  - subst q; destruct (Nat.eq_dec r r); [| congruence]; unfold own; rewrite E.
    destruct (what _ _ o); cbn [fst length]; try lia.
    pose proof (resolve_shrinks chan content (decide r (snd (s r))) rest); lia.
  - destruct (in_dec Nat.eq_dec r (members c)); [| contradiction]; unfold joint; rewrite E.
    destruct En as [_ [x En]]; destruct (En r T) as [o' [rest' [E' [_ W']]]].
    rewrite E in E'; inversion E'; subst o' rest'; rewrite W'; cbn [fst length]; lia.
Qed.

Lemma trace_shrinks : forall r trace s t, traced r trace s t ->
  (forall x, In x trace -> length (fst x) < length (fst (s r))) /\ In (t r) (s r :: trace) /\
  forall x y, In x (s r :: trace) -> In y (s r :: trace) -> fst x = fst y -> x = y.
Proof.
  intros r trace s t H; induction H as [s t E | l trace s v u En A N R [I1 [I2 I3]] |
    l trace s v u En A T R [I1 [I2 I3]]].
  - split; [intros x [] |]; split; [left; symmetry; apply E |].
    intros x y [<- | []] [<- | []] _; reflexivity.
  - assert (Q : v r = s r) by (rewrite A; apply untouched; exact N); rewrite Q in *; auto.
  - assert (L : length (fst (v r)) < length (fst (s r)))
      by (rewrite A; apply touched_shrinks; assumption).
    assert (B : forall x, In x (v r :: trace) -> length (fst x) < length (fst (s r))).
    { intros x [<- | I]; [exact L | specialize (I1 x I); lia]. }
    split; [exact B |]; split; [right; exact I2 |].
    intros x y [<- | Ix] [<- | Iy] F; [reflexivity | exfalso | exfalso | apply I3; assumption].
    + specialize (B y Iy); rewrite <- F in B; lia.
    + specialize (B x Ix); rewrite F in B; lia.
Qed.

(* Two reachable states of a run that ends: a rank with one rest of its program has one memory. *)
Theorem local_state_is_unique : forall p m n t, runs n (start p m) t -> stuck t ->
  forall r s u, reachable p m s -> reachable p m u -> fst (s r) = fst (u r) -> s r = u r.
Proof.
  intros p m n t R St r s u [j Rs] [k Ru] E.
  destruct (runs_traced r n _ _ R) as [all Ra].
  destruct (runs_traced r j _ _ Rs) as [ts Ts]; destruct (runs_traced r k _ _ Ru) as [tu Tu].
  destruct (traced_begins r ts _ s Ts all t Ra St) as [a [Ea _]].
  destruct (traced_begins r tu _ u Tu all t Ra St) as [b [Eb _]].
  destruct (trace_shrinks r all _ t Ra) as [_ [_ One]].
  destruct (trace_shrinks r ts _ s Ts) as [_ [Is _]]; destruct (trace_shrinks r tu _ u Tu)
    as [_ [Iu _]].
  apply One; [| | exact E].
  - destruct Is as [<- | I]; [left; reflexivity | right].
    rewrite Ea; apply in_or_app; left; exact I.
  - destruct Iu as [<- | I]; [left; reflexivity | right].
    rewrite Eb; apply in_or_app; left; exact I.
Qed.

(* ---- Between two programs -------------------------------------------------------------------- *)

(* The execution with barriers reaches the state in which qs is left. *)
Lemma barriers_reach : forall qs ps m m', leads ps m m' ->
  exists n t, runs n (start (run_of (ps ++ qs)) m) t /\ forall r, t r = (run_of qs r, m' r).
Proof.
  intro qs; induction 1 as [m m' E | p ps m n t m' Sh R F _ IH].
  - exists 0, (start (run_of qs) m); split; [apply runs_none; intro; reflexivity |].
    intro r; unfold start, NoDeadlock.start; rewrite E; reflexivity.
  - destruct IH as [k [u [Ru Eu]]]; exists (n + (ranks + k)), u; split; [| exact Eu].
    assert (Q : quiet _ _ _ ranks (start p m)) by (intros r G; exact (Sh r G)).
    destruct (followed_runs _ _ _ members decide compute exchange ranks (run_of (ps ++ qs)) n _ _ R
      Q) as [Rf Qt].
    apply runs_join with (t := followed _ _ _ ranks (run_of (ps ++ qs)) t).
    + eapply runs_same; [| exact Rf]; intro r; unfold followed, start, NoDeadlock.start; simpl.
      destruct (Nat.ltb_spec r ranks); [reflexivity | rewrite (Sh r) by lia; reflexivity].
    + apply runs_join with (t := start (run_of (ps ++ qs)) (fun r => snd (t r))); [| exact Ru].
      eapply runs_end_same;
        [eapply runs_same; [| apply (pass _ _ _ members decide compute exchange ranks
          (run_of (ps ++ qs)) t ranks (le_n ranks))] |].
      * intro r; unfold followed; rewrite F; destruct (r <? ranks) eqn:L; [reflexivity |].
        rewrite (surjective_pairing (t r)), F; reflexivity.
      * intro r; unfold start, NoDeadlock.start; destruct (r <? ranks) eqn:L; [reflexivity |].
        destruct (ps ++ qs); simpl; rewrite ?L; reflexivity.
Qed.

Lemma leads_app : forall ps m m', leads ps m m' -> forall qs m'', leads qs m' m'' ->
  exists n t, runs n (start (run_of (ps ++ qs)) m) t /\ finished t.
Proof.
  intros ps m m' L qs m'' K; destruct (barriers_reach qs ps m m' L) as [n [t [R E]]].
  destruct (barriers_are_a_schedule _ _ _ members decide compute exchange ranks qs m' m'' K)
    as [k [u [Ru [Fu _]]]].
  exists (n + k), u; split; [| exact Fu]; apply runs_join with (t := t); [exact R |].
  eapply runs_same; [| exact Ru]; intro r; rewrite E; reflexivity.
Qed.

Theorem between_programs : forall ps qs m m' m'', leads ps m m' -> leads qs m' m'' ->
  forall s r, reachable (run_of (ps ++ qs)) m s -> fst (s r) = run_of qs r -> snd (s r) = m' r.
Proof.
  intros ps qs m m' m'' L K s r Rs E; destruct (leads_app ps m m' L qs m'' K) as [n [t [R F]]].
  destruct (barriers_reach qs ps m m' L) as [k [u [Ru Eu]]].
  pose proof (finished_stuck _ _ _ members decide compute exchange t F) as St.
  rewrite (local_state_is_unique _ m n t R St r s u Rs (ex_intro _ k Ru)); rewrite Eu;
    [reflexivity | exact E].
Qed.

End Traces.

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

Lemma steps_split : forall n k, steps_programs c (n + k) = steps_programs c n ++ steps_programs c k.
Proof. induction n as [|n IH]; intro k; [reflexivity |]; simpl; rewrite IH; reflexivity. Qed.

(* Of n + k steps: a rank that has ended n of them, and not begun the next, agrees with n steps of
   the serial loop, wherever the other ranks are. *)
Theorem between_steps_is_serial : forall z memory,
  (forall r, r < ranks c -> agrees A T P S X W c z r (memory r)) -> forall n k s r,
  NoDeadlock.reachable chan op (mem A T P S X W) (members c) (Meaning.decide A T P S X W go)
    (steps_compute c A T P S X W no_message fwd bwd mean words update round next)
    (Meaning.exchange A T P S X W c) (steps_run c (n + k)) memory s ->
  r < ranks c -> fst (s r) = steps_run c k r ->
  agrees A T P S X W c (Nat.iter n
    (serial_step A T P S X W no_message fwd bwd mean words go update round next c) z) r (snd (s r)).
Proof.
  intros z memory Start n k s r R Hr E.
  destruct (steps_lead c V A T P S X W no_message fwd bwd mean words go update round next n z memory
    Start) as [m' [L G]].
  destruct (steps_lead c V A T P S X W no_message fwd bwd mean words go update round next k _ m' G)
    as [m'' [K _]].
  unfold steps_run in R, E; rewrite steps_split in R.
  rewrite (between_programs _ _ _ chan_eq_dec _ _ _ _ _ _ _ _ _ _ L K s r R E); apply G; exact Hr.
Qed.

End Steps.
