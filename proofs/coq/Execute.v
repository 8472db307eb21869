(* Executions of NoDeadlock.v that can be computed. spec: LEDG-7

   execute runs the ranks of a list with any label that is enabled, at most `fuel` times. If it
   returns a list, an execution leads there (execute_runs); if all ranks have finished, every other
   execution that ends does so in the same memories (Schedule.v). No axioms. *)

Require Import Bool List Arith Lia.
Require Import ZP.Program ZP.NoDeadlock.
Import ListNotations.

Section Execute.

Variables chan content value : Type.
Variable chan_eq_dec : forall a b : chan, {a = b} + {a <> b}.
Variable content_eq_dec : forall a b : content, {a = b} + {a <> b}.
Variable members : chan -> list nat.
Variable decide : nat -> value -> bool.
Variable compute : nat -> op chan content -> value -> value.
Variable exchange : chan -> content -> list value -> nat -> value -> value.
Variable nothing : value.                    (* of ranks that are not in the list *)

Notation state := (state chan content value).
Notation after := (after chan content value members decide compute exchange).
Notation enabled := (enabled chan content value members).
Notation runs := (runs chan content value members decide compute exchange).

Definition table := list (list (op chan content) * value).
Definition state_of (l : table) : state := fun r => nth r l ([], nothing).

(* The ranks after a step, as a table again. *)
Definition next (b : label chan) (l : table) : table :=
  map (after b (state_of l)) (seq 0 (length l)).

Definition head (l : table) (r : nat) : option (op chan content) :=
  match fst (state_of l r) with
  | o :: _ => if if_stepped _ _ o then None else Some o
  | [] => None
  end.

Definition at_comm (l : table) (c : chan) (x : content) (r : nat) : bool :=
  match head l r with
  | Some o =>
      match what _ _ o with
      | Comm _ _ c' x' =>
          (if chan_eq_dec c c' then true else false) && (if content_eq_dec x x' then true else
            false)
      | _ => false
      end
  | None => false
  end.

(* A label that rank r's first op allows. *)
Definition label_of (l : table) (r : nat) : option (label chan) :=
  match head l r with
  | Some o =>
      match what _ _ o with
      | Comm _ _ c x =>
          if negb (length (members c) =? 0) && forallb (at_comm l c x) (members c) &&
             forallb (fun q => q <? length l) (members c)
          then Some (Together _ c) else None
      | _ => Some (Alone _ r)
      end
  | None => None
  end.

Fixpoint first_label (l : table) (ranks : list nat) : option (label chan) :=
  match ranks with
  | [] => None
  | r :: rest => match label_of l r with Some b => Some b | None => first_label l rest end
  end.

Fixpoint execute (fuel : nat) (l : table) : table :=
  match fuel with
  | 0 => l
  | S n =>
      match first_label l (seq 0 (length l)) with
      | Some b => execute n (next b l)
      | None => l
      end
  end.

Definition ended (l : table) : bool := forallb (fun p => match fst p with [] => true | _ => false
  end) l.

Lemma head_at : forall l r o, head l r = Some o ->
  exists rest, fst (state_of l r) = o :: rest /\ if_stepped _ _ o = false.
Proof.
  intros l r o; unfold head; destruct (fst (state_of l r)) as [|q rest]; [discriminate |].
  destruct (if_stepped _ _ q) eqn:E; [discriminate |]; intro H; inversion H; subst; eauto.
Qed.

Lemma head_inside : forall l r o, head l r = Some o -> r < length l.
Proof.
  intros l r o H; apply head_at in H; destruct H as [rest [H _]]; unfold state_of in H.
  destruct (Nat.lt_ge_cases r (length l)) as [|L]; [assumption |].
  rewrite nth_overflow in H by exact L; discriminate.
Qed.

Definition inside (l : table) (b : label chan) : Prop :=
  match b with Alone _ q => q < length l | Together _ c => forall r, In r (members c) -> r < length
    l end.

Lemma label_enabled : forall l r b, label_of l r = Some b ->
  enabled b (state_of l) /\ inside l b.
Proof.
  intros l r b; unfold label_of; destruct (head l r) as [o|] eqn:H; [| discriminate].
  pose proof (head_inside l r o H) as L; apply head_at in H; destruct H as [rest [F I]].
  destruct (what _ _ o) as [| | |c x] eqn:W; intro E.
  1-3: inversion E; subst; split; [simpl; unfold is_at | exact L].
  - left; exists o, rest; auto.
  - right; left; exists o, rest; auto.
  - right; right; exists o, rest; auto.
  - destruct (_ && _)%bool eqn:G; [| discriminate]; inversion E; subst.
    apply andb_true_iff in G; destruct G as [G G3]; apply andb_true_iff in G; destruct G as [G1 G2].
    split.
    + split; [intro Z; rewrite Z in G1; discriminate |]; exists x; intros q Hq.
      rewrite forallb_forall in G2; specialize (G2 q Hq); unfold at_comm in G2.
      destruct (head l q) as [o'|] eqn:H; [| discriminate]; apply head_at in H.
      destruct H as [rest' [F' I']]; exists o', rest'; split; [exact F' |]; split; [exact I' |].
      destruct (what _ _ o') as [| | |c' x'] eqn:W'; try discriminate.
      destruct (chan_eq_dec c c') as [<-|]; [| discriminate].
      destruct (content_eq_dec x x') as [<-|]; [reflexivity | discriminate].
    + intros q Hq; rewrite forallb_forall in G3; apply Nat.ltb_lt, G3; exact Hq.
Qed.

Lemma first_enabled : forall l ranks b, first_label l ranks = Some b ->
  enabled b (state_of l) /\ inside l b.
Proof.
  induction ranks as [|r rest IH]; intros b H; [discriminate |]; simpl in H.
  destruct (label_of l r) as [b'|] eqn:E; [inversion H; subst; eapply label_enabled; exact E |].
  apply IH; exact H.
Qed.

Lemma next_is : forall l b, inside l b ->
  same chan content value (state_of (next b l)) (after b (state_of l)).
Proof.
  intros l b I r; unfold state_of at 1, next.
  destruct (Nat.lt_ge_cases r (length l)) as [L|L].
  - rewrite nth_indep with (d' := after b (state_of l) 0) by (rewrite map_length, seq_length;
    exact L).
    rewrite map_nth, seq_nth by exact L; reflexivity.
  - rewrite nth_overflow by (rewrite map_length, seq_length; exact L).
    assert (E : state_of l r = ([], nothing)) by (unfold state_of; apply nth_overflow; exact L).
    destruct b as [q|c]; simpl in I |- *.
    + destruct (Nat.eq_dec r q) as [->|]; [lia | symmetry; exact E].
    + destruct (in_dec Nat.eq_dec r (members c)) as [H|]; [specialize (I r H); lia |].
      symmetry; exact E.
Qed.

Theorem execute_runs : forall fuel l, exists n, runs n (state_of l) (state_of (execute fuel l)).
Proof.
  induction fuel as [|fuel IH]; intro l; simpl; [exists 0; apply runs_none; intro; reflexivity |].
  destruct (first_label l (seq 0 (length l))) as [b|] eqn:E.
  - destruct (first_enabled l _ b E) as [En I]; destruct (IH (next b l)) as [n R]; exists (S n).
    apply runs_more with (t := state_of (next b l)); [| exact R].
    exists b; split; [exact En | apply next_is; exact I].
  - exists 0; apply runs_none; intro; reflexivity.
Qed.

Lemma ended_finished : forall l, ended l = true -> finished chan content value (state_of l).
Proof.
  intros l H r; unfold state_of; destruct (Nat.lt_ge_cases r (length l)) as [L|L].
  - unfold ended in H; rewrite forallb_forall in H; specialize (H _ (nth_In l ([], nothing) L)).
    destruct (fst (nth r l ([], nothing))); [reflexivity | discriminate].
  - rewrite nth_overflow by exact L; reflexivity.
Qed.

End Execute.
