(* Equal decisions (H5) from the exchange of statistics. spec: STEP-2, LEDG-7

   Programs of a certain form decide alike: all ranks exchange something with all others, and each
   decides immediately afterwards as a function of the result. Two things about values are assumed:
   the exchange leaves the same result on all ranks, and the decision depends only on it. The proof:
   before the exchange no rank has decided, so by Schedule.v all executions reach the exchange with
   the same memories. No axioms. *)

Require Import Bool List Arith ZArith Lia.
Require Import ZP.Program ZP.NoDeadlock ZP.Schedule ZP.Run.
Import ListNotations.

Section Decision.

Variables chan content value : Type.
Variable chan_eq_dec : forall a b : chan, {a = b} + {a <> b}.
Variable members : chan -> list nat.
Variable decide : nat -> value -> bool.
Variable compute : nat -> op chan content -> value -> value.
Variable exchange : chan -> content -> list value -> nat -> value -> value.
Variable ranks : nat.

Notation op := (op chan content).
Notation what := (what chan content).
Notation state := (state chan content value).
Notation after := (after chan content value members decide compute exchange).
Notation enabled := (enabled chan content value members).
Notation step := (step chan content value members decide compute exchange).
Notation runs := (runs chan content value members decide compute exchange).
Notation same := (same chan content value).
Notation finished := (finished chan content value).
Notation is_at := (is_at chan content value).
Notation start := (start chan content value).
Notation Decide := (Decide chan content).
Notation End := (End chan content).
Notation Comm := (Comm chan content).

Definition no_decision (o : op) : Prop := what o <> Decide.

Lemma resolve_no_decision : forall d p, Forall no_decision p ->
  Forall no_decision (resolve chan content d p).
Proof.
  induction p as [|o p IH]; intro H; [constructor |]; inversion H; subst; simpl.
  destruct (what o) eqn:W; try assumption; destruct (negb (if_stepped chan content o) || d);
    auto; constructor; auto; unfold no_decision; simpl; congruence.
Qed.

(* ---- Programs without a decision ------------------------------------------------------------- *)

Lemma none_decides : forall p memory d, (forall r, Forall no_decision (p r)) ->
  H5_equal_decisions chan content value members decide compute exchange p memory d.
Proof.
  intros p memory d N s r [n R] A; exfalso.
  assert (G : forall r, Forall no_decision (fst (s r))).
  { assert (I : forall n s t, runs n s t -> (forall r, Forall no_decision (fst (s r))) ->
      forall r, Forall no_decision (fst (t r))).
    { clear; induction 1 as [s t E | n s t u [l [_ E]] _ IH]; intros H r; [rewrite E; apply H |].
      apply IH; clear r IH; intro r; rewrite E; specialize (H r).
      unfold NoDeadlock.after, own, joint; destruct l as [q|ch].
      - destruct (Nat.eq_dec r q); [| exact H].
        destruct (fst (s r)) as [|o rest] eqn:F; [rewrite F; constructor |].
        inversion H; subst; destruct (what o); simpl; auto using resolve_no_decision.
      - destruct (in_dec Nat.eq_dec r (members ch)); [| exact H].
        destruct (fst (s r)) as [|o rest] eqn:F; [rewrite F; constructor |].
        inversion H; subst; destruct (what o); simpl; rewrite ?F; auto. }
    exact (I n _ s R N). }
  destruct A as [o [rest [E [_ W]]]]; specialize (G r); rewrite E in G; inversion G; subst.
  contradiction.
Qed.

(* ---- Programs that decide after an exchange of all ranks ------------------------------------- *)

Variables program pre post : nat -> list op.
Variables ask dec : nat -> op.              (* the exchange and the decision of each rank *)
Variable world : chan.
Variable question : content.
Variable memory : nat -> value.

(* All ranks exchange, each decides next, and nothing else decides or uses this channel before. *)
Hypothesis form : forall r,
  program r = if r <? ranks then pre r ++ ask r :: dec r :: post r else [].
Hypothesis asks : forall r, what (ask r) = Comm world question.
Hypothesis decs : forall r, what (dec r) = Decide.
Hypothesis all : forall r, r < ranks -> In r (members world).
Hypothesis post_none : forall r, Forall no_decision (post r).
Definition earlier (o : op) : Prop :=
  what o <> Decide /\ what o <> End /\ forall x, what o <> Comm world x.
Hypothesis pre_earlier : forall r, Forall earlier (pre r).
Hypothesis pre_quiet : forall r, ranks <= r -> pre r = [].

(* Without the exchange, the earlier ops run to their end. *)
Variable last : state.
Variable steps : nat.
Hypothesis pre_runs : runs steps (start pre memory) last.
Hypothesis pre_ends : finished last.

(* Assumptions about values. *)
Variable answer : Type.
Variable answer_of : value -> answer.
Variable joined : list value -> answer.
Variable verdict : answer -> bool.
Hypothesis joined_alike : forall values r v,
  answer_of (exchange world question values r v) = joined values.
Hypothesis decide_by_answer : forall r v, decide r v = verdict (answer_of v).

Definition result : answer := joined (map (fun r => snd (last r)) (members world)).

(* Before the exchange: an execution of the earlier ops, with the other ops after it. *)
Definition with_rest (u : state) : state := fun r =>
  if r <? ranks then (fst (u r) ++ ask r :: dec r :: post r, snd (u r)) else u r.

Definition before_it (s : state) : Prop := exists n u, runs n (start pre memory) u /\
  same s (with_rest u) /\ (forall r, Forall earlier (fst (u r))) /\
  (forall r, ranks <= r -> fst (u r) = []).

(* After it: a rank that has not decided has the result. *)
Definition after_it (s : state) : Prop := forall r,
  (exists o rest, fst (s r) = o :: rest /\ what o = Decide /\ answer_of (snd (s r)) = result /\
    Forall no_decision rest) \/
  Forall no_decision (fst (s r)).

Lemma with_rest_snd : forall u r, snd (with_rest u r) = snd (u r).
Proof. intros; unfold with_rest; destruct (r <? ranks); reflexivity. Qed.

(* A rank before the exchange is at its next earlier op, or at the exchange. *)
Lemma at_cases : forall s u r k, same s (with_rest u) -> (forall r, ranks <= r -> fst (u r) = []) ->
  is_at s r k -> r < ranks /\
  ((exists o rest, fst (u r) = o :: rest /\ is_at u r k /\ what o = k) \/
   fst (u r) = [] /\ k = Comm world question).
Proof.
  intros s u r k E Q [o [rest [F [I W]]]]; rewrite E in F; unfold with_rest in F.
  destruct (Nat.ltb_spec r ranks) as [L|L]; [split; [exact L |] | rewrite Q in F by lia;
    discriminate].
  destruct (fst (u r)) as [|o' rest'] eqn:G; simpl in F; inversion F; subst.
  - right; split; [reflexivity | apply asks].
  - left; exists o, rest'; split; [reflexivity | split; [exists o, rest'; auto | reflexivity]].
Qed.

Lemma earlier_step : forall s u n l, runs n (start pre memory) u -> same s (with_rest u) ->
  (forall r, Forall earlier (fst (u r))) -> (forall r, ranks <= r -> fst (u r) = []) ->
  enabled l u -> before_it (after l s).
Proof.
  intros s u n l R E G Q En; exists (S n), (after l u); split; [| split; [| split]].
  - eapply runs_snoc; [exact R |]; exists l; split; [exact En | intro; reflexivity].
  - assert (H : forall r k, is_at u r k -> r < ranks).
    { intros r k [o [rest [F _]]]; destruct (le_lt_dec ranks r) as [L|]; [| assumption].
      rewrite (Q r L) in F; discriminate. }
    intro r; unfold with_rest, NoDeadlock.after; destruct l as [q|ch].
    + destruct (Nat.eq_dec r q) as [->|N]; [| apply E].
      assert (D : exists o rest, fst (u q) = o :: rest /\ q < ranks).
      { destruct En as [A|[A|A]]; pose proof (H _ _ A); destruct A as [o [rest [F _]]]; eauto. }
      destruct D as [o [rest [F L]]]; pose proof (G q) as Gq; rewrite F in Gq.
      inversion Gq as [| ? ? [X [Y _]] _]; subst.
      unfold own; rewrite E; unfold with_rest; apply Nat.ltb_lt in L; rewrite L, F; simpl.
      destruct (what o); try congruence; reflexivity.
    + destruct (in_dec Nat.eq_dec r (members ch)) as [M|]; [| apply E].
      destruct En as [_ [x En]]; pose proof (En r M) as A; pose proof (H _ _ A) as L.
      destruct A as [o [rest [F [_ W]]]]; apply Nat.ltb_lt in L.
      assert (Er : s r = (o :: rest ++ ask r :: dec r :: post r, snd (u r))).
      { rewrite E; unfold with_rest; rewrite L, F; reflexivity. }
      rewrite L; unfold joint; rewrite Er, F; simpl; rewrite W; simpl; f_equal; f_equal.
      apply map_ext; intro z; rewrite E, with_rest_snd; reflexivity.
  - intro r; specialize (G r); unfold NoDeadlock.after, own, joint; destruct l as [q|ch].
    + destruct (Nat.eq_dec r q); [| exact G]; destruct (fst (u r)) as [|o rest] eqn:F;
        [rewrite F; constructor |].
      inversion G as [| ? ? [X [Y _]] G']; subst; destruct (what o); try congruence; exact G'.
    + destruct (in_dec Nat.eq_dec r (members ch)); [| exact G].
      destruct (fst (u r)) as [|o rest] eqn:F; [rewrite F; constructor |].
      inversion G; subst; destruct (what o); simpl; rewrite ?F; auto.
  - intros r L; specialize (Q r L); unfold NoDeadlock.after, own, joint; destruct l as [q|ch].
    + destruct (Nat.eq_dec r q); rewrite Q; auto.
    + destruct (in_dec Nat.eq_dec r (members ch)); rewrite Q; auto.
Qed.

(* The exchange happens once all earlier ops have run, so with the memories of `last`. *)
Lemma the_exchange : forall s u n ch x, runs n (start pre memory) u -> same s (with_rest u) ->
  (forall r, Forall earlier (fst (u r))) -> (forall r, ranks <= r -> fst (u r) = []) ->
  (forall r, In r (members ch) -> is_at s r (Comm ch x)) ->
  (exists q, In q (members ch) /\ fst (u q) = []) -> after_it (after (Together _ ch) s).
Proof.
  intros s u n ch x R E G Q A [q [M Z]].
  destruct (at_cases s u q _ E Q (A q M)) as [_ [[o [rest [F _]]] | [_ K]]]; [congruence |].
  inversion K; subst ch x; clear K.
  assert (F : finished u).
  { intro r; destruct (le_lt_dec ranks r) as [L|L]; [apply Q; exact L |].
    destruct (at_cases s u r _ E Q (A r (all r L))) as [_ [[o [rest [F [_ W]]]] | [F _]]];
      [exfalso | exact F].
    pose proof (G r) as Gr; rewrite F in Gr; inversion Gr as [| ? ? [_ [_ X]] _]; subst.
    exact (X _ W). }
  assert (S : same u last).
  { exact (proj2 (outcome_is_unique _ _ _ chan_eq_dec _ _ _ _ _ _ _ _ _ R
      (finished_stuck _ _ _ _ _ _ _ _ F) pre_runs (finished_stuck _ _ _ _ _ _ _ _ pre_ends))). }
  intro r; destruct (le_lt_dec ranks r) as [L|L].
  - right; unfold NoDeadlock.after, joint; destruct (in_dec Nat.eq_dec r (members world)).
    + rewrite E; unfold with_rest; replace (r <? ranks) with false
        by (symmetry; apply Nat.ltb_ge; exact L).
      rewrite F; simpl; rewrite F; constructor.
    + rewrite E; unfold with_rest; replace (r <? ranks) with false
        by (symmetry; apply Nat.ltb_ge; exact L).
      rewrite F; constructor.
  - left; exists (dec r), (post r); unfold NoDeadlock.after.
    destruct (in_dec Nat.eq_dec r (members world)) as [_|N]; [| contradiction N; auto].
    apply Nat.ltb_lt in L.
    assert (Er : s r = (ask r :: dec r :: post r, snd (u r))).
    { rewrite E; unfold with_rest; rewrite L, F; reflexivity. }
    unfold joint; rewrite Er; simpl; rewrite asks; simpl.
    repeat split; auto; rewrite joined_alike; unfold result; f_equal.
    apply map_ext; intro z; rewrite E, with_rest_snd, S; reflexivity.
Qed.

Lemma after_it_step : forall s l, enabled l s -> after_it s -> after_it (after l s).
Proof.
  intros s l En B r; unfold NoDeadlock.after; destruct l as [q|ch].
  - destruct (Nat.eq_dec r q) as [->|]; [right | apply B].
    destruct (B q) as [[o [rest [F [W [_ N]]]]] | N]; unfold own.
    + rewrite F, W; simpl; apply resolve_no_decision; exact N.
    + destruct (fst (s q)) as [|o rest] eqn:F; [rewrite F; constructor |].
      inversion N; subst; destruct (what o); simpl; auto using resolve_no_decision.
  - destruct (in_dec Nat.eq_dec r (members ch)) as [M|]; [right | apply B].
    destruct En as [_ [x En]]; destruct (En r M) as [o [rest [F [_ W]]]].
    destruct (B r) as [[o' [rest' [F' [W' _]]]] | N]; [congruence |].
    unfold joint; rewrite F in N |- *; inversion N; subst; rewrite W; simpl; assumption.
Qed.

Lemma all_or_some : forall (u : state) l, (forall q, In q l -> fst (u q) <> []) \/
  exists q, In q l /\ fst (u q) = [].
Proof.
  intros u l; induction l as [|q l IH]; [left; intros q []|].
  destruct (fst (u q)) eqn:F; [right; exists q; split; [left; reflexivity | exact F] |].
  destruct IH as [IH | [p [Hp Fp]]]; [left | right; exists p; split; [right|]; assumption].
  intros p [<- | Hp]; [rewrite F; discriminate | apply IH; exact Hp].
Qed.

Lemma always : forall n s t, runs n s t -> before_it s \/ after_it s -> before_it t \/ after_it t.
Proof.
  induction 1 as [s t E | n s t u [l [En E]] _ IH]; intro I.
  - destruct I as [[n [u [R [S H]]]] | B]; [left; exists n, u | right].
    + split; [exact R | split; [| exact H]]; intro r; rewrite E; apply S.
    + intro r; rewrite E; apply B.
  - apply IH; clear IH.
    assert (G : before_it (after l s) \/ after_it (after l s)).
    { destruct I as [[k [v [R [S [G Q]]]]] | B]; [| right; apply after_it_step; assumption].
      destruct l as [q|ch].
      - left; apply (earlier_step s v k); try assumption.
        assert (D : forall x, is_at s q x -> x <> Comm world question -> is_at v q x).
        { intros x A N; destruct (at_cases s v q x S Q A) as [_ [[o [rest [_ [B _]]]] | [_ K]]];
            [exact B | contradiction]. }
        destruct En as [A|[A|A]]; [left | right; left | right; right]; apply D; trivial;
          discriminate.
      - destruct En as [Ne [x A]]; destruct (all_or_some v (members ch)) as [N|N].
        + left; apply (earlier_step s v k); try assumption; split; [exact Ne | exists x].
          intros r M; destruct (at_cases s v r _ S Q (A r M)) as [_ [[o [rest [_ [B _]]]] | [Z _]]];
            [exact B | exfalso; exact (N r M Z)].
        + right; eapply the_exchange; eassumption. }
    destruct G as [[k [v [R [S H]]]] | B]; [left; exists k, v | right].
    + split; [exact R | split; [| exact H]]; intro r; rewrite E; apply S.
    + intro r; rewrite E; apply B.
Qed.

(* H5. *)
Theorem equal_decisions :
  H5_equal_decisions chan content value members decide compute exchange program memory
    (verdict result).
Proof.
  intros s r [n R] A; assert (I : before_it s \/ after_it s).
  { apply (always n (start program memory)); [exact R | left].
    exists 0, (start pre memory); split; [apply runs_none; intro; reflexivity |].
    split; [| split; [exact pre_earlier | exact pre_quiet]].
    intro q; unfold with_rest, NoDeadlock.start; rewrite form; simpl.
    destruct (Nat.ltb_spec q ranks); [reflexivity | rewrite pre_quiet by lia; reflexivity]. }
  destruct I as [[k [u [_ [S [G Q]]]]] | B].
  - exfalso; destruct (at_cases s u r _ S Q A) as [_ [[o [rest [F [_ W]]]] | [_ K]]];
      [| discriminate].
    specialize (G r); rewrite F in G; inversion G as [| ? ? [X _] _]; subst; contradiction.
  - destruct A as [o [rest [F [_ W]]]]; destruct (B r) as [[o' [rest' [F' [_ [V _]]]]] | N].
    + rewrite decide_by_answer, V; reflexivity.
    + rewrite F in N; inversion N; subst; contradiction.
Qed.

End Decision.
