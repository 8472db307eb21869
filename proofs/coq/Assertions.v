(* What each rank's memory holds, proven rank by rank. spec: LEDG-7, STEP-2

   Executions are those of NoDeadlock.v. A communication has a contract: `sends` is what each member
   guarantees of its memory before it, `gets` what each member may rely on after it. If the contract
   is kept by `exchange` (keeps_contract), then each rank's program can be checked alone, op by op,
   with the
   contract in place of the other ranks (`checks`). Programs that are checked in this way hold their
   postconditions in every reachable state in which they have finished, in whatever order ranks ran
   (assertions_hold), and every rank decides as assumed (decisions_hold). The theorems need none of
   NoDeadlock's hypotheses: a rendezvous requires that all members reach the same channel with the
   same content. No axioms. *)

Require Import Bool List Arith.
Require Import ZP.Program ZP.NoDeadlock.
Import ListNotations.

Section Assertions.

Variables chan content value : Type.
Variable members : chan -> list nat.
Variable decide : nat -> value -> bool.
Variable compute : nat -> op chan content -> value -> value.
Variable exchange : chan -> content -> list value -> nat -> value -> value.

Notation Local := (Local _ _).
Notation Decide := (Decide _ _).
Notation End := (End _ _).
Notation Comm := (Comm _ _).
Notation op := (op chan content).
Notation what := (what chan content).
Notation if_stepped := (if_stepped chan content).
Notation resolve := (resolve chan content).
Notation state := (state chan content value).
Notation enabled := (enabled chan content value members).
Notation after := (after chan content value members decide compute exchange).
Notation same := (same chan content value).
Notation step := (step chan content value members decide compute exchange).
Notation runs := (runs chan content value members decide compute exchange).
Notation is_at := (is_at chan content value).

Variable sends : nat -> chan -> content -> value -> Prop.
Variable gets : nat -> chan -> content -> value -> value -> Prop.

(* The contract is kept: if every member sends what it has to, every member gets what it relies
   on. *)
Definition keeps_contract := forall c x (memory : nat -> value),
  (forall r, In r (members c) -> sends r c x (memory r)) ->
  forall r, In r (members c) ->
    gets r c x (memory r) (exchange c x (map memory (members c)) r (memory r)).

Variable stepped : bool.

(* The program of rank r, run from memory v, ends with a memory that satisfies Q, if communications
   keep their contract. *)
Fixpoint checks (r : nat) (p : list op) (Q : value -> Prop) (v : value) : Prop :=
  match p with
  | [] => Q v
  | o :: rest =>
      match what o with
      | Local => checks r rest Q (compute r o v)
      | Decide => decide r v = stepped /\ checks r rest Q v
      | End => False
      | Comm c x => sends r c x v /\ forall w, gets r c x v w -> checks r rest Q w
      end
  end.

Variable Q : nat -> value -> Prop.

Definition checked (s : state) := forall r, checks r (resolve stepped (fst (s r))) (Q r) (snd (s
  r)).

Hypothesis contract : keeps_contract.

Lemma unmarked : forall o : op, if_stepped o = false -> unmark chan content o = o.
Proof. intros [w i k] E; simpl in *; subst; reflexivity. Qed.

Lemma checked_step : forall s l, checked s -> enabled l s -> checked (after l s).
Proof.
  intros s l C E r; destruct l as [q|c]; simpl.
  - destruct (Nat.eq_dec r q) as [->|]; [| exact (C r)].
    assert (G : forall k, is_at s q k -> k = Local \/ k = Decide \/ k = End ->
      checks q (resolve stepped (fst (own chan content value decide compute q (s q)))) (Q q)
        (snd (own chan content value decide compute q (s q)))).
    { intros k [o [rest [F [I W]]]] K; specialize (C q); unfold own; rewrite F in *.
      destruct K as [K | [K | K]]; rewrite W, K.
      - rewrite resolve_cons in C; [| exact I | congruence].
        rewrite unmarked in C by exact I; simpl in C; rewrite W, K in C; exact C.
      - rewrite resolve_cons in C; [| exact I | congruence].
        rewrite unmarked in C by exact I; simpl in C; rewrite W, K in C; destruct C as [D C].
        simpl; rewrite D, resolve_twice; exact C.
      - exfalso; simpl in C; rewrite W, K in C; simpl in C; rewrite W, K in C; exact C. }
    destruct E as [E | [E | E]]; eapply G; eauto.
  - destruct (in_dec Nat.eq_dec r (members c)) as [M|]; [| exact (C r)].
    destruct E as [_ [x E]].
    assert (P : forall q, In q (members c) -> exists o rest, fst (s q) = o :: rest /\
      what o = Comm c x /\ sends q c x (snd (s q)) /\
      forall w, gets q c x (snd (s q)) w -> checks q (resolve stepped rest) (Q q) w).
    { intros q Hq; destruct (E q Hq) as [o [rest [F [I W]]]]; exists o, rest.
      specialize (C q); rewrite F, resolve_cons, unmarked in C; try assumption;
        [| congruence]; simpl in C; rewrite W in C; tauto. }
    destruct (P r M) as [o [rest [F [W [_ G]]]]]; unfold joint; rewrite F, W.
    apply G; apply (contract c x (fun q => snd (s q))); [| exact M].
    intros q Hq; destruct (P q Hq) as [? [? [_ [_ [S _]]]]]; exact S.
Qed.

Lemma checked_same : forall s t, same t s -> checked s -> checked t.
Proof. intros s t E C r; rewrite E; apply C. Qed.

Lemma checked_runs : forall n s t, runs n s t -> checked s -> checked t.
Proof.
  induction 1 as [s t E | n s t u [l [En A]] _ IH]; intro C.
  - eapply checked_same; eassumption.
  - apply IH; eapply checked_same; [exact A |]; apply checked_step; assumption.
Qed.

Variable program : nat -> list op.
Variable memory : nat -> value.

Notation start := (start chan content value program memory).
Notation reachable := (reachable chan content value members decide compute exchange program memory).

Hypothesis each : forall r, checks r (resolve stepped (program r)) (Q r) (memory r).

(* A rank that has finished has a memory that satisfies its postcondition, wherever the others
   are. *)
Theorem assertions_hold : forall s r, reachable s -> fst (s r) = [] -> Q r (snd (s r)).
Proof.
  intros s r [n H] F; pose proof (checked_runs n _ _ H each r) as C; rewrite F in C; exact C.
Qed.

(* H5_equal_decisions of NoDeadlock.v. *)
Theorem decisions_hold : forall s r, reachable s -> is_at s r Decide ->
  decide r (snd (s r)) = stepped.
Proof.
  intros s r [n H] [o [rest [F [I W]]]]; pose proof (checked_runs n _ _ H each r) as C.
  rewrite F, resolve_cons, unmarked in C; try assumption; [| congruence].
  simpl in C; rewrite W in C; tauto.
Qed.

End Assertions.
