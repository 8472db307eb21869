(* Programs with equal ledgers and one clock cannot deadlock. spec: LEDG-2, LEDG-7, PIPE-5

   WP proves that the C planner writes such programs. This file proves that no execution of such
   programs gets stuck, for all numbers of ranks, channels and ops.

   Program.v defines programs. A rank runs its program from the first op to the last. A local op
   runs independently of other ranks. A communication happens when ALL members of its channel have
   reached it: a rendezvous without buffering, which no member passes alone. Members that reach it
   with different contents (op, count, type, root, micro-batch) are stuck as well, so the theorems
   also exclude mismatches. At its Decide op a rank learns whether the step is skipped. Its
   remaining ops marked if_stepped are then dropped or kept; before that they cannot run.

   The hypotheses are H0 ... H6 below. README.md lists the proven property of the C code that
   establishes each. Needed.v shows that each of H1 ... H6 is needed, and that some programs satisfy
   all. Schedule.v shows that the outcome does not depend on the order in which ranks run.
   No axioms. *)

Require Import Bool List Arith ZArith Lia Sorted RelationClasses.
Require Import ZP.Program.
Import ListNotations.

Section Model.

Variable chan : Type.
Variable chan_eq_dec : forall a b : chan, {a = b} + {a <> b}.
Variable content : Type.
Variable value : Type.                       (* a rank's memory *)
Variable members : chan -> list nat.         (* the ranks of a channel *)

Notation kind := (kind chan content).
Notation Local := (Local _ _).
Notation Decide := (Decide _ _).
Notation End := (End _ _).
Notation Comm := (Comm _ _).
Notation op := (op chan content).
Notation what := (what chan content).
Notation if_stepped := (if_stepped chan content).
Notation at_clock := (at_clock chan content).
Notation unmark := (unmark chan content).
Notation resolve := (resolve chan content).
Notation ledger := (ledger chan chan_eq_dec content).
Notation decided_in_time := (decided_in_time chan content).
Notation one_program := (one_program chan content).

(* The effect of an op on a rank's memory: an arbitrary function of the op and of the memories it
   reads. *)
Variable decide : nat -> value -> bool.
Variable compute : nat -> op -> value -> value.
Variable exchange : chan -> content -> list value -> nat -> value -> value.

(* ---- Semantics ------------------------------------------------------------------------------- *)

(* For every rank, the rest of its program and its memory. *)
Definition state := nat -> list op * value.

Inductive label := Alone (r : nat) | Together (c : chan).

Definition is_at (s : state) (r : nat) (k : kind) : Prop :=
  exists o rest, fst (s r) = o :: rest /\ if_stepped o = false /\ what o = k.

Definition enabled (l : label) (s : state) : Prop :=
  match l with
  | Alone r => is_at s r Local \/ is_at s r Decide \/ is_at s r End
  | Together c =>
      members c <> [] /\ exists x, forall r, In r (members c) -> is_at s r (Comm c x)
  end.

Definition own (r : nat) (p : list op * value) : list op * value :=
  match fst p with
  | [] => p
  | o :: rest =>
      match what o with
      | Decide => (resolve (decide r (snd p)) rest, snd p)
      | End => (rest, snd p)
      | _ => (rest, compute r o (snd p))
      end
  end.

Definition joint (c : chan) (all : list value) (r : nat) (p : list op * value)
  : list op * value :=
  match fst p with
  | [] => p
  | o :: rest =>
      match what o with
      | Comm _ x => (rest, exchange c x all r (snd p))
      | _ => p
      end
  end.

Definition after (l : label) (s : state) : state :=
  fun r =>
    match l with
    | Alone q => if Nat.eq_dec r q then own r (s r) else s r
    | Together c =>
        if in_dec Nat.eq_dec r (members c)
        then joint c (map (fun q => snd (s q)) (members c)) r (s r)
        else s r
    end.

Definition same (s t : state) : Prop := forall r, s r = t r.

Definition step (s t : state) : Prop := exists l, enabled l s /\ same t (after l s).

(* n steps lead from s to t. *)
Inductive runs : nat -> state -> state -> Prop :=
| runs_none : forall s t, same t s -> runs 0 s t
| runs_more : forall n s t u, step s t -> runs n t u -> runs (S n) s u.

Definition finished (s : state) : Prop := forall r, fst (s r) = [].
Definition stuck (s : state) : Prop := forall t, ~ step s t.

(* ---- Hypotheses ------------------------------------------------------------------------------ *)

Variable ranks : nat.                        (* how many ranks there are *)
Variable program : nat -> list op.
Variable memory : nat -> value.
Variable stepped : bool.                     (* the decision *)

Definition start : state := fun r => (program r, memory r).
Definition reachable (s : state) : Prop := exists n, runs n start s.

(* The ranks are 0 ... ranks-1, and each runs one program. *)
Definition H0_shape :=
  (forall r, ranks <= r -> program r = []) /\ (forall r, one_program (program r)).
(* Members of a channel have the same contents in the same order. *)
Definition H1_equal_ledgers := forall c q r, In q (members c) -> In r (members c) ->
  map fst (ledger c (resolve stepped (program q))) =
  map fst (ledger c (resolve stepped (program r))).
(* Only members of a channel have ops on it. *)
Definition H2_members_only := forall c r, ~ In r (members c) ->
  ledger c (resolve stepped (program r)) = [].
(* Along each program the clock strictly increases. *)
Definition H3_clock_increases := forall r, Sorted before (map at_clock (program r)).
(* The n-th communications of a channel's members have the same clock. *)
Definition H4_equal_clocks := forall c q r, In q (members c) -> In r (members c) ->
  map snd (ledger c (resolve stepped (program q))) =
  map snd (ledger c (resolve stepped (program r))).
(* All ranks that decide make the same decision. *)
Definition H5_equal_decisions := forall s r, reachable s -> is_at s r Decide ->
  decide r (snd (s r)) = stepped.
(* No op depends on the decision before the decision is made. *)
Definition H6_decided_in_time := forall r, decided_in_time (program r).

(* ---- The invariant --------------------------------------------------------------------------- *)

Definition rest_of (s : state) (r : nat) := resolve stepped (fst (s r)).

Record Inv (s : state) : Prop := {
  inv_ranks : forall r, ranks <= r -> fst (s r) = [];
  inv_one : forall r, one_program (fst (s r));
  inv_equal : forall c q r, In q (members c) -> In r (members c) ->
    ledger c (rest_of s q) = ledger c (rest_of s r);
  inv_members : forall c r, ~ In r (members c) -> ledger c (rest_of s r) = [];
  inv_clock : forall r, StronglySorted before (map at_clock (rest_of s r));
  inv_time : forall r, decided_in_time (fst (s r)) }.

Hypothesis h0 : H0_shape.
Hypothesis h1 : H1_equal_ledgers.
Hypothesis h2 : H2_members_only.
Hypothesis h3 : H3_clock_increases.
Hypothesis h4 : H4_equal_clocks.
Hypothesis h5 : H5_equal_decisions.
Hypothesis h6 : H6_decided_in_time.

Lemma inv_start : Inv start.
Proof.
  split; unfold rest_of, start; simpl.
  - exact (proj1 h0).
  - exact (proj2 h0).
  - intros c q r Hq Hr; apply pairs_equal; [apply h1 | apply h4]; assumption.
  - exact h2.
  - intro r; apply resolve_clocks, Sorted_StronglySorted; [exact before_trans | apply h3].
  - exact h6.
Qed.

Lemma inv_same : forall s t, same t s -> Inv s -> Inv t.
Proof.
  intros s t E [A B C D F G]; split; unfold rest_of in *; intros; rewrite ?E; auto.
Qed.

(* One step either leaves a rank unchanged or removes the first op of the rest of its program. *)
Definition takes (s t : state) (r : nat) (k : kind) : Prop :=
  exists o rest, fst (s r) = o :: rest /\ if_stepped o = false /\ what o = k /\
    rest_of t r = resolve stepped rest /\ rest_of s r = unmark o :: resolve stepped rest /\
    (decided_in_time (fst (t r)) /\ one_program (fst (t r))) /\
    length (fst (t r)) <= length rest.

Lemma alone_takes : forall s q, Inv s -> reachable s -> enabled (Alone q) s ->
  takes s (after (Alone q) s) q Local \/ takes s (after (Alone q) s) q Decide.
Proof.
  intros s q I R En.
  pose proof (inv_time s I q) as T; pose proof (inv_one s I q) as O.
  assert (G : forall k, is_at s q k -> k <> End -> k = Local \/ k = Decide ->
    takes s (after (Alone q) s) q k).
  { intros k [o [rest [E [F W]]]] N K; exists o, rest; unfold rest_of, after.
    destruct (Nat.eq_dec q q); try congruence.
    rewrite E in T, O; destruct T as [_ T]; inversion O as [| ? ? _ O']; subst.
    destruct K as [K | K]; unfold own; rewrite E, K; simpl; rewrite K in T.
    - destruct T as [T | T]; [discriminate |].
      repeat split; auto; apply resolve_cons; congruence.
    - assert (D : decide q (snd (s q)) = stepped).
      { apply h5; [assumption | exists o, rest; auto]. }
      rewrite D, resolve_twice.
      repeat split; auto using resolve_in_time, resolve_one, resolve_shrinks.
      apply resolve_cons; congruence. }
  destruct En as [En | [En | En]].
  - left; apply G; [exact En | discriminate | auto].
  - right; apply G; [exact En | discriminate | auto].
  - exfalso; destruct En as [o [rest [E [_ W]]]]; rewrite E in O; inversion O; congruence.
Qed.

Lemma together_takes : forall s c x r, Inv s -> In r (members c) -> is_at s r (Comm c x) ->
  takes s (after (Together c) s) r (Comm c x).
Proof.
  intros s c x r I M [o [rest [E [F W]]]].
  pose proof (inv_time s I r) as T; pose proof (inv_one s I r) as O.
  rewrite E in T, O; destruct T as [_ T]; inversion O as [| ? ? _ O']; subst.
  destruct T as [T | T]; [rewrite W in T; discriminate |].
  exists o, rest; unfold rest_of, after.
  destruct (in_dec Nat.eq_dec r (members c)); [| contradiction].
  unfold joint; rewrite E, W; simpl.
  repeat split; auto; apply resolve_cons; congruence.
Qed.

Lemma alone_others : forall s q r, r <> q -> after (Alone q) s r = s r.
Proof. intros; unfold after; destruct (Nat.eq_dec r q); congruence. Qed.

Lemma together_others : forall s c r, ~ In r (members c) -> after (Together c) s r = s r.
Proof. intros; unfold after; destruct (in_dec Nat.eq_dec r (members c)); tauto. Qed.

(* In the next state every rank is unchanged, or it ran an op that the label allows. *)
Lemma step_cases : forall s l, Inv s -> reachable s -> enabled l s ->
  forall r, after l s r = s r /\ (forall c, l = Together c -> ~ In r (members c)) \/
    (takes s (after l s) r Local \/ takes s (after l s) r Decide) /\ l = Alone r \/
    (exists c x, l = Together c /\ In r (members c) /\ takes s (after l s) r (Comm c x)).
Proof.
  intros s [q|c] I R En r.
  - destruct (Nat.eq_dec r q) as [->|N].
    + right; left; split; [apply alone_takes; assumption | reflexivity].
    + left; split; [apply alone_others; assumption | intros; discriminate].
  - destruct (in_dec Nat.eq_dec r (members c)) as [M|N].
    + right; right; destruct En as [_ [x En]]; exists c, x.
      split; [reflexivity | split; [assumption | apply together_takes; auto]].
    + left; split; [apply together_others; assumption |].
      intros c' E; inversion E; subst; assumption.
Qed.

Lemma takes_ledger_other : forall s t r k c, takes s t r k -> (forall x, k <> Comm c x) ->
  ledger c (rest_of t r) = ledger c (rest_of s r).
Proof.
  intros s t r k c [o [rest [_ [_ [W [Et [Es _]]]]]]] N.
  rewrite Et, Es, ledger_other; [reflexivity |]; simpl; rewrite W; exact N.
Qed.

Lemma takes_ledger_mine : forall s t r c x, takes s t r (Comm c x) ->
  exists k, ledger c (rest_of s r) = (x, k) :: ledger c (rest_of t r).
Proof.
  intros s t r c x [o [rest [_ [_ [W [Et [Es _]]]]]]].
  exists (at_clock o); rewrite Et, Es, (ledger_mine _ _ _ c x); [reflexivity |]; exact W.
Qed.

(* A communication leaves the ledgers of all other channels unchanged. *)
Lemma step_ledger : forall s l c r, Inv s -> reachable s -> enabled l s ->
  l <> Together c \/ ~ In r (members c) ->
  ledger c (rest_of (after l s) r) = ledger c (rest_of s r).
Proof.
  intros s l c r I R En O.
  destruct (step_cases s l I R En r) as [[E _] | [[[T | T] _] | [c' [x [L [M T]]]]]].
  - unfold rest_of; rewrite E; reflexivity.
  - eapply takes_ledger_other; [exact T | discriminate].
  - eapply takes_ledger_other; [exact T | discriminate].
  - eapply takes_ledger_other; [exact T |].
    intros y E; inversion E; subst; destruct O; auto.
Qed.

Lemma inv_step : forall s l, Inv s -> reachable s -> enabled l s -> Inv (after l s).
Proof.
  intros s l I R En; split.
  - intros r Hr; destruct (step_cases s l I R En r) as [[E _] | H].
    + rewrite E; apply (inv_ranks s I); assumption.
    + pose proof (inv_ranks s I r Hr) as Z.
      destruct H as [[[T | T] _] | [c [x [_ [_ T]]]]];
        destruct T as [o [rest [E _]]]; rewrite Z in E; discriminate.
  - intro r; pose proof (inv_one s I r) as O.
    destruct (step_cases s l I R En r) as [[E _] | H].
    + rewrite E; exact O.
    + destruct H as [[[T | T] _] | [c [x [_ [_ T]]]]];
        destruct T as [o [rest [_ [_ [_ [_ [_ [[_ Ot] _]]]]]]]]; exact Ot.
  - intros c q r Hq Hr.
    destruct l as [p|c'].
    + rewrite !step_ledger; try assumption; try (left; discriminate).
      apply (inv_equal s I); assumption.
    + destruct (chan_eq_dec c c') as [<-|N].
      * destruct En as [Ne [x En]].
        destruct (takes_ledger_mine s _ q c x (together_takes s c x q I Hq (En q Hq))) as [k Kq].
        destruct (takes_ledger_mine s _ r c x (together_takes s c x r I Hr (En r Hr))) as [j Kr].
        pose proof (inv_equal s I c q r Hq Hr) as Eq.
        rewrite Kq, Kr in Eq; inversion Eq; reflexivity.
      * rewrite !step_ledger; try assumption; try (left; congruence).
        apply (inv_equal s I); assumption.
  - intros c r Hr; rewrite step_ledger; try assumption; [| right; assumption].
    apply (inv_members s I); assumption.
  - intro r; pose proof (inv_clock s I r) as K.
    destruct (step_cases s l I R En r) as [[E _] | H].
    + unfold rest_of; rewrite E; exact K.
    + destruct H as [[[T | T] _] | [c [x [_ [_ T]]]]];
        destruct T as [o [rest [_ [_ [_ [Et [Es _]]]]]]]; rewrite Et; rewrite Es in K;
        simpl in K; inversion K; assumption.
  - intro r; pose proof (inv_time s I r) as D.
    destruct (step_cases s l I R En r) as [[E _] | H].
    + rewrite E; exact D.
    + destruct H as [[[T | T] _] | [c [x [_ [_ T]]]]];
        destruct T as [o [rest [_ [_ [_ [_ [_ [[Dt _] _]]]]]]]]; exact Dt.
Qed.

Lemma runs_snoc : forall n s t u, runs n s t -> step t u -> runs (S n) s u.
Proof.
  induction 1 as [s t E | n s t v Hs Hr IH]; intros St.
  - apply runs_more with (t := u); [| apply runs_none; intro; reflexivity].
    destruct St as [l [En A]]; exists l; split.
    + destruct l as [r|c]; simpl in *; unfold is_at in *.
      * rewrite <- E; exact En.
      * destruct En as [Ne [x En]]; split; [exact Ne | exists x; intros r Hr].
        rewrite <- E; auto.
    + intro r; rewrite A; unfold after; destruct l as [q|c].
      * rewrite E; reflexivity.
      * rewrite E; erewrite map_ext; [reflexivity | intro; simpl; rewrite E; reflexivity].
  - apply runs_more with (t := t); [exact Hs | apply IH; exact St].
Qed.

Lemma reachable_step : forall s t, reachable s -> step s t -> reachable t.
Proof. intros s t [n R] St; exists (S n); eapply runs_snoc; eassumption. Qed.

Lemma inv_runs : forall n s t, runs n s t -> reachable s -> Inv s -> Inv t.
Proof.
  induction 1 as [s t E | n s t u Hs Hr IH]; intros R I.
  - eapply inv_same; eassumption.
  - apply IH; [eapply reachable_step; eassumption |].
    destruct Hs as [l [En A]].
    eapply inv_same; [exact A |]; apply inv_step; assumption.
Qed.

Lemma reachable_inv : forall s, reachable s -> Inv s.
Proof.
  intros s [n R]; eapply inv_runs; [exact R | | exact inv_start].
  exists 0; apply runs_none; intro; reflexivity.
Qed.

(* ---- Progress -------------------------------------------------------------------------------- *)

(* The clock of rank r's next op. *)
Definition head_clock (s : state) (r : nat) : option clock :=
  match fst (s r) with [] => None | o :: _ => Some (at_clock o) end.

(* If one of the first n ranks has not finished, one of them has the least clock. *)
Lemma least : forall s n,
  (forall r, r < n -> fst (s r) = []) \/
  exists q k, q < n /\ head_clock s q = Some k /\
    forall r j, r < n -> head_clock s r = Some j -> ~ before j k.
Proof.
  intros s n; induction n as [|n IH]; [left; intros; lia |].
  unfold head_clock in *.
  destruct (fst (s n)) as [|o rest] eqn:E.
  - destruct IH as [IH | [q [k [Hq [Hk Hm]]]]].
    + left; intros r Hr; destruct (Nat.eq_dec r n) as [->|]; [exact E | apply IH; lia].
    + right; exists q, k; repeat split; [lia | exact Hk |].
      intros r j Hr Hj; destruct (Nat.eq_dec r n) as [->|].
      * rewrite E in Hj; discriminate.
      * apply Hm with (r := r); [lia | exact Hj].
  - right; destruct IH as [IH | [q [k [Hq [Hk Hm]]]]].
    + exists n, (at_clock o); rewrite E; repeat split; [lia |].
      intros r j Hr Hj; destruct (Nat.eq_dec r n) as [->|].
      * rewrite E in Hj; inversion Hj; apply before_irrefl.
      * rewrite IH in Hj by lia; discriminate.
    + destruct (before_dec (at_clock o) k) as [B|B].
      * exists n, (at_clock o); rewrite E; repeat split; [lia |].
        intros r j Hr Hj; destruct (Nat.eq_dec r n) as [->|].
        -- rewrite E in Hj; inversion Hj; apply before_irrefl.
        -- intro C; apply (Hm r j); [lia | exact Hj | eapply before_trans; eassumption].
      * exists q, k; repeat split; [lia | exact Hk |].
        intros r j Hr Hj; destruct (Nat.eq_dec r n) as [->|].
        -- rewrite E in Hj; inversion Hj; subst; exact B.
        -- apply Hm with (r := r); [lia | exact Hj].
Qed.

Lemma progress : forall s, Inv s -> finished s \/ exists l, enabled l s.
Proof.
  intros s I; destruct (least s ranks) as [F | [q [k [Hq [Hk Hm]]]]].
  { left; intro r; destruct (le_lt_dec ranks r); [apply (inv_ranks s I) | apply F]; assumption. }
  right; unfold head_clock in Hk.
  destruct (fst (s q)) as [|o rest] eqn:E; [discriminate | inversion Hk; subst k; clear Hk].
  pose proof (inv_time s I q) as T; rewrite E in T; destruct T as [Fo _].
  pose proof (inv_one s I q) as O; rewrite E in O; inversion O as [| ? ? No _]; subst.
  assert (Eq : rest_of s q = unmark o :: resolve stepped rest).
  { unfold rest_of; rewrite E; apply resolve_cons; assumption. }
  destruct (what o) as [| | |c x] eqn:W.
  - exists (Alone q); left; exists o, rest; auto.
  - exists (Alone q); right; left; exists o, rest; auto.
  - congruence.
  - assert (Lq : ledger c (rest_of s q) = (x, at_clock o) :: ledger c (resolve stepped rest)).
    { rewrite Eq, (ledger_mine _ _ _ c x); [reflexivity | exact W]. }
    assert (Mq : In q (members c)).
    { destruct (in_dec Nat.eq_dec q (members c)) as [|N]; [assumption |].
      rewrite (inv_members s I c q N) in Lq; discriminate. }
    exists (Together c); split; [intro Z; rewrite Z in Mq; contradiction | exists x].
    intros r Mr.
    (* r has the same communication in the rest of its program ... *)
    assert (Lr : In (x, at_clock o) (ledger c (rest_of s r))).
    { rewrite (inv_equal s I c r q Mr Mq), Lq; left; reflexivity. }
    apply ledger_In in Lr; destruct Lr as [o' [Hin [W' K']]].
    (* ... and it is the first op there: an earlier one would have a lesser clock. *)
    destruct (fst (s r)) as [|h tail] eqn:Er.
    { unfold rest_of in Hin; rewrite Er in Hin; contradiction. }
    pose proof (inv_time s I r) as T; rewrite Er in T; destruct T as [Fh _].
    pose proof (inv_one s I r) as Or; rewrite Er in Or; inversion Or as [| ? ? Nh _]; subst.
    assert (Es : rest_of s r = unmark h :: resolve stepped tail).
    { unfold rest_of; rewrite Er; apply resolve_cons; assumption. }
    rewrite Es in Hin; destruct Hin as [<- | Hin].
    + exists h, tail; simpl in W'; auto.
    + exfalso; pose proof (inv_clock s I r) as K; rewrite Es in K; simpl in K.
      inversion K as [| ? ? _ Ha]; subst; rewrite Forall_forall in Ha.
      assert (B : before (at_clock h) (at_clock o)).
      { rewrite <- K'; apply Ha, in_map; exact Hin. }
      assert (Hr : r < ranks).
      { destruct (le_lt_dec ranks r) as [G|]; [| assumption].
        rewrite (inv_ranks s I r G) in Er; discriminate. }
      refine (Hm r (at_clock h) Hr _ B); unfold head_clock; rewrite Er; reflexivity.
Qed.

(* ---- Every execution ends -------------------------------------------------------------------- *)

Fixpoint total (n : nat) (s : state) : nat :=
  match n with 0 => 0 | S m => length (fst (s m)) + total m s end.

Lemma total_le : forall n s t, (forall r, length (fst (t r)) <= length (fst (s r))) ->
  total n t <= total n s.
Proof. intros n s t H; induction n as [|n IH]; simpl; [lia | specialize (H n); lia]. Qed.

Lemma total_lt : forall n s t q, (forall r, length (fst (t r)) <= length (fst (s r))) ->
  q < n -> length (fst (t q)) < length (fst (s q)) -> total n t < total n s.
Proof.
  intros n s t q H Hq L; induction n as [|n IH]; simpl; [lia |].
  destruct (Nat.eq_dec q n) as [->|].
  - pose proof (total_le n s t H); lia.
  - specialize (H n); specialize (IH ltac:(lia)); lia.
Qed.

Lemma step_shrinks : forall s t, Inv s -> reachable s -> step s t -> total ranks t < total ranks s.
Proof.
  intros s t I R [l [En A]].
  assert (Le : forall r, length (fst (t r)) <= length (fst (s r))).
  { intro r; rewrite A.
    destruct (step_cases s l I R En r) as [[E _] | H]; [rewrite E; lia |].
    destruct H as [[[T | T] _] | [c [x [_ [_ T]]]]];
      destruct T as [o [rest [E [_ [_ [_ [_ [_ L]]]]]]]]; rewrite E; cbn [length]; lia. }
  assert (Q : exists q, length (fst (t q)) < length (fst (s q))).
  { destruct l as [q|c].
    - exists q; rewrite A; destruct (alone_takes s q I R En) as [T | T];
        destruct T as [o [rest [E [_ [_ [_ [_ [_ L]]]]]]]]; rewrite E; cbn [length]; lia.
    - destruct En as [Ne [x En]]; destruct (members c) as [|q m] eqn:Em; [congruence |].
      assert (M : In q (members c)) by (rewrite Em; left; reflexivity).
      exists q; rewrite A.
      destruct (together_takes s c x q I M (En q (or_introl eq_refl)))
        as [o [rest [E [_ [_ [_ [_ [_ L]]]]]]]]; rewrite E; cbn [length]; lia. }
  destruct Q as [q Q]; apply total_lt with (q := q); auto.
  destruct (le_lt_dec ranks q) as [G|]; [| assumption].
  rewrite (inv_ranks s I q G) in Q; simpl in Q; lia.
Qed.

(* ---- The theorems ---------------------------------------------------------------------------- *)

(* In every reachable state, all ranks have finished or a step is possible. *)
Theorem no_deadlock : forall s, reachable s -> finished s \/ exists t, step s t.
Proof.
  intros s R; destruct (progress s (reachable_inv s R)) as [F | [l En]]; [left; exact F | right].
  exists (after l s), l; split; [exact En | intro; reflexivity].
Qed.

(* No execution has more steps than there are ops. *)
Theorem executions_are_bounded : forall n s, runs n start s ->
  n + total ranks s <= total ranks start.
Proof.
  assert (G : forall n s t, runs n s t -> reachable s -> n + total ranks t <= total ranks s).
  { induction 1 as [s t E | n s t u Hs Hr IH]; intro R.
    - apply total_le; intro r; rewrite E; lia.
    - pose proof (step_shrinks s t (reachable_inv s R) R Hs).
      pose proof (IH (reachable_step s t R Hs)); lia. }
  intros n s H; apply G; [exact H |].
  exists 0; apply runs_none; intro; reflexivity.
Qed.

(* An execution without a further step has run every program to its end. With the bound, every rank
   terminates, in whatever order ranks run, fair or not. *)
Theorem every_rank_terminates : forall s, reachable s -> stuck s -> finished s.
Proof.
  intros s R St; destruct (no_deadlock s R) as [F | [t Ht]]; [exact F |].
  exfalso; exact (St t Ht).
Qed.

(* Every reachable state has an execution that reaches the end. *)
Theorem the_end_is_reached : forall s, reachable s -> exists n t, runs n s t /\ finished t.
Proof.
  intros s R; remember (total ranks s) as m eqn:Em; revert s R Em.
  induction m as [m IH] using lt_wf_ind; intros s R Em.
  destruct (no_deadlock s R) as [F | [t Ht]].
  - exists 0, s; split; [apply runs_none; intro; reflexivity | exact F].
  - pose proof (step_shrinks s t (reachable_inv s R) R Ht) as L; rewrite <- Em in L.
    destruct (IH _ L t (reachable_step s t R Ht) eq_refl) as [n [u [Hr F]]].
    exists (S n), u; split; [eapply runs_more; eassumption | exact F].
Qed.

End Model.
