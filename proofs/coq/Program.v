(* Programs: ops with clocks, the decision about ops marked if_stepped, and ledgers.
   spec: LEDG-2, LEDG-7

   A channel is a set of ranks that communicate: a communicator, or one link of a pipeline, which
   is the set of its two ends. At its Decide op a rank learns whether the step is skipped. Its
   remaining ops marked if_stepped are then dropped or kept. End separates two programs of a run
   (Run.v); a single program contains no End. NoDeadlock.v says how programs are executed. No
   axioms. *)

Require Import Bool List Arith ZArith Lia Sorted RelationClasses.
Import ListNotations.

(* The clock of an op: clock_t and clock_i, compared lexicographically. *)
Definition clock := (Z * Z)%type.

Definition before (a b : clock) : Prop :=
  (fst a < fst b \/ fst a = fst b /\ snd a < snd b)%Z.

Lemma before_irrefl : forall a, ~ before a a.
Proof. unfold before; intros; lia. Qed.

Lemma before_trans : forall a b c, before a b -> before b c -> before a c.
Proof. unfold before; intros; lia. Qed.

Lemma before_dec : forall a b, {before a b} + {~ before a b}.
Proof.
  intros [a1 a2] [b1 b2]; unfold before; simpl.
  destruct (Z_lt_dec a1 b1); [left; lia |].
  destruct (Z.eq_dec a1 b1); [| right; lia].
  destruct (Z_lt_dec a2 b2); [left | right]; lia.
Qed.

Lemma before_total : forall a b, ~ before a b -> ~ before b a -> a = b.
Proof.
  intros [a1 a2] [b1 b2]; unfold before; simpl; intros.
  assert (a1 = b1) by lia. assert (a2 = b2) by lia. congruence.
Qed.

#[export] Instance before_transitive : Transitive before := before_trans.

Section Program.

Variable chan : Type.                        (* communicators and links *)
Variable chan_eq_dec : forall a b : chan, {a = b} + {a <> b}.
Variable content : Type.                     (* the fields on which members agree: op, count, ... *)

Inductive kind :=
| Local                                      (* compute *)
| Decide                                     (* learn whether the step is skipped *)
| End                                        (* this program is done; the next begins *)
| Comm (c : chan) (x : content).

Record op := { what : kind; if_stepped : bool; at_clock : clock }.

Definition unmark (o : op) : op :=
  {| what := what o; if_stepped := false; at_clock := at_clock o |}.

(* A program after the decision d: ops marked if_stepped stay iff d. *)
Fixpoint resolve (d : bool) (p : list op) : list op :=
  match p with
  | [] => []
  | o :: rest =>
      match what o with
      | End => p
      | _ => if negb (if_stepped o) || d then unmark o :: resolve d rest else resolve d rest
      end
  end.

(* The ledger of channel c: contents and clocks, in program order. *)
Definition entry (c : chan) (o : op) : list (content * clock) :=
  match what o with
  | Comm c' x => if chan_eq_dec c c' then [(x, at_clock o)] else []
  | _ => []
  end.

Definition ledger (c : chan) (p : list op) : list (content * clock) := flat_map (entry c) p.

(* Ops marked if_stepped come only after the decision. *)
Fixpoint decided_in_time (p : list op) : Prop :=
  match p with
  | [] => True
  | o :: rest => if_stepped o = false /\ (what o = Decide \/ decided_in_time rest)
  end.

(* A single program of a run. *)
Definition one_program (p : list op) := Forall (fun o => what o <> End) p.

(* ---- About resolve and ledgers --------------------------------------------------------------- *)

Lemma resolve_cons : forall d o p, if_stepped o = false -> what o <> End ->
  resolve d (o :: p) = unmark o :: resolve d p.
Proof. intros d o p H N; simpl; rewrite H; destruct (what o); simpl; congruence. Qed.

Lemma resolve_twice : forall d p, resolve d (resolve d p) = resolve d p.
Proof.
  induction p as [|o p IH]; [reflexivity |]; simpl.
  destruct (what o) eqn:W; try (simpl; rewrite W; reflexivity);
    destruct (negb (if_stepped o) || d); try exact IH;
    simpl; rewrite W, IH; reflexivity.
Qed.

Lemma resolve_one : forall d p, one_program p -> one_program (resolve d p).
Proof.
  induction p as [|o p IH]; intro H; [exact H |]; inversion H; subst; simpl.
  destruct (what o) eqn:W; try congruence;
    (destruct (negb (if_stepped o) || d); [| exact (IH ltac:(assumption))]);
    (constructor; [simpl; congruence | exact (IH ltac:(assumption))]).
Qed.

Lemma resolve_in_time : forall d p, one_program p -> decided_in_time (resolve d p).
Proof.
  induction p as [|o p IH]; intro H; [exact I |]; inversion H; subst; simpl.
  destruct (what o) eqn:W; try congruence;
    (destruct (negb (if_stepped o) || d); [| exact (IH ltac:(assumption))]);
    (split; [reflexivity | right; exact (IH ltac:(assumption))]).
Qed.

Lemma resolve_shrinks : forall d p, length (resolve d p) <= length p.
Proof.
  induction p as [|o p IH]; simpl; [lia |].
  destruct (what o); try (simpl; lia); destruct (negb (if_stepped o) || d); simpl; lia.
Qed.

Lemma resolve_clocks_in : forall d p k,
  In k (map at_clock (resolve d p)) -> In k (map at_clock p).
Proof.
  induction p as [|o p IH]; intros k H; [exact H |]; simpl in *.
  destruct (what o); try exact H; destruct (negb (if_stepped o) || d); simpl in *;
    try (right; apply IH; exact H); destruct H as [H | H]; auto.
Qed.

Lemma resolve_clocks : forall d p,
  StronglySorted before (map at_clock p) ->
  StronglySorted before (map at_clock (resolve d p)).
Proof.
  induction p as [|o p IH]; intro H; [exact H |].
  pose proof H as H'; simpl in H; inversion H as [| ? ? Hs Ha]; subst; simpl.
  destruct (what o); try exact H'; destruct (negb (if_stepped o) || d); simpl;
    try exact (IH Hs); (constructor; [exact (IH Hs) |]);
    rewrite Forall_forall in *; intros k Hk; apply Ha; eapply resolve_clocks_in; exact Hk.
Qed.

Lemma ledger_other : forall c o p, (forall x, what o <> Comm c x) ->
  ledger c (o :: p) = ledger c p.
Proof.
  intros c o p H; unfold ledger; simpl; unfold entry.
  destruct (what o) as [| | |c' x]; try reflexivity.
  destruct (chan_eq_dec c c'); [subst; exfalso; exact (H x eq_refl) | reflexivity].
Qed.

Lemma ledger_mine : forall c x o p, what o = Comm c x ->
  ledger c (o :: p) = (x, at_clock o) :: ledger c p.
Proof.
  intros c x o p H; unfold ledger; simpl; unfold entry; rewrite H.
  destruct (chan_eq_dec c c); [reflexivity | congruence].
Qed.

(* An entry of the ledger comes from an op of the program. *)
Lemma ledger_In : forall c x k p, In (x, k) (ledger c p) ->
  exists o, In o p /\ what o = Comm c x /\ at_clock o = k.
Proof.
  intros c x k p H; unfold ledger in H; apply in_flat_map in H.
  destruct H as [o [Hin He]]; exists o; unfold entry in He.
  destruct (what o) as [| | |c' y]; try contradiction.
  destruct (chan_eq_dec c c'); [| contradiction].
  destruct He as [He | []]; inversion He; subst; auto.
Qed.

Lemma pairs_equal : forall (A B : Type) (p q : list (A * B)),
  map fst p = map fst q -> map snd p = map snd q -> p = q.
Proof.
  induction p as [|[a b] p IH]; intros [|[c d] q] H1 H2; simpl in *; try discriminate; auto.
  inversion H1; inversion H2; subst; f_equal; auto.
Qed.

End Program.
