(* The order in which ranks run does not change the outcome. spec: LEDG-7, STEP-2

   For any programs, deadlocking or not: all executions that continue until no step is possible end
   in the same state, after the same number of steps. So one schedule, the simulator's, shows the
   outcome of all: whether there is a deadlock, the position of each rank, and its memory. The only
   hypothesis is that an op is a function of its inputs. No axioms. *)

Require Import List Arith Lia.
Require Import ZP.Program ZP.NoDeadlock.
Import ListNotations.

Section Schedule.

Variables chan content value : Type.
Variable chan_eq_dec : forall a b : chan, {a = b} + {a <> b}.
Variable members : chan -> list nat.
Variable decide : nat -> value -> bool.
Variable compute : nat -> op chan content -> value -> value.
Variable exchange : chan -> content -> list value -> nat -> value -> value.

Notation state := (state chan content value).
Notation label := (label chan).
Notation enabled := (enabled chan content value members).
Notation after := (after chan content value members decide compute exchange).
Notation same := (same chan content value).
Notation step := (step chan content value members decide compute exchange).
Notation runs := (runs chan content value members decide compute exchange).
Notation stuck := (stuck chan content value members decide compute exchange).
Notation is_at := (is_at chan content value).

(* The ranks that a step advances. *)
Definition touches (l : label) (r : nat) : Prop :=
  match l with Alone _ q => r = q | Together _ c => In r (members c) end.

Lemma label_eq_dec : forall a b : label, {a = b} + {a <> b}.
Proof. decide equality; apply Nat.eq_dec. Qed.

Lemma touches_dec : forall l r, {touches l r} + {~ touches l r}.
Proof. intros [q|c] r; simpl; [apply Nat.eq_dec | apply in_dec, Nat.eq_dec]. Qed.

Lemma untouched : forall l s r, ~ touches l r -> after l s r = s r.
Proof.
  intros [q|c] s r N; simpl in *.
  - destruct (Nat.eq_dec r q); tauto.
  - destruct (in_dec Nat.eq_dec r (members c)); tauto.
Qed.

(* A step depends only on the ranks that it advances. *)
Lemma after_local : forall l s t, (forall r, touches l r -> s r = t r) ->
  forall r, touches l r -> after l s r = after l t r.
Proof.
  intros [q|c] s t E r T; simpl in *.
  - destruct (Nat.eq_dec r q); [rewrite (E r T); reflexivity | tauto].
  - destruct (in_dec Nat.eq_dec r (members c)); [| tauto].
    rewrite (E r T); f_equal; apply map_ext_in; intros p Hp; rewrite (E p Hp); reflexivity.
Qed.

Lemma enabled_local : forall l s t, (forall r, touches l r -> s r = t r) ->
  enabled l s -> enabled l t.
Proof.
  intros [q|c] s t E En; simpl in *; unfold NoDeadlock.is_at in *.
  - rewrite <- (E q eq_refl); exact En.
  - destruct En as [Ne [x En]]; split; [exact Ne | exists x; intros r M].
    rewrite <- (E r M); auto.
Qed.

Lemma at_one_kind : forall s r j k, is_at s r j -> is_at s r k -> j = k.
Proof.
  intros s r j k [o [p [E [_ W]]]] [o' [p' [E' [_ W']]]].
  rewrite E in E'; inversion E'; subst; congruence.
Qed.

(* Two different steps that are both possible concern different ranks. *)
Lemma apart : forall a b s r, enabled a s -> enabled b s -> touches a r -> touches b r -> a = b.
Proof.
  intros [p|c] [q|d] s r Ea Eb Ta Tb; simpl in *.
  - congruence.
  - subst; exfalso; destruct Eb as [_ [x Eb]]; specialize (Eb p Tb).
    destruct Ea as [Ea | [Ea | Ea]]; pose proof (at_one_kind _ _ _ _ Ea Eb); discriminate.
  - subst; exfalso; destruct Ea as [_ [x Ea]]; specialize (Ea q Ta).
    destruct Eb as [Eb | [Eb | Eb]]; pose proof (at_one_kind _ _ _ _ Ea Eb); discriminate.
  - destruct Ea as [_ [x Ea]]; destruct Eb as [_ [y Eb]].
    pose proof (at_one_kind _ _ _ _ (Ea r Ta) (Eb r Tb)) as E; inversion E; reflexivity.
Qed.

(* So they can run in either order, with the same result. *)
Lemma diamond : forall a b s, enabled a s -> enabled b s -> a <> b ->
  enabled b (after a s) /\ same (after b (after a s)) (after a (after b s)).
Proof.
  intros a b s Ea Eb N.
  assert (A : forall r, touches a r -> ~ touches b r).
  { intros r Ta Tb; exact (N (apart a b s r Ea Eb Ta Tb)). }
  assert (Sa : forall r, touches b r -> after a s r = s r).
  { intros r Tb; apply untouched; intro Ta; exact (A r Ta Tb). }
  assert (Sb : forall r, touches a r -> after b s r = s r).
  { intros r Ta; apply untouched; exact (A r Ta). }
  split.
  - apply enabled_local with (s := s); [| exact Eb]; intros r Tb; symmetry; exact (Sa r Tb).
  - intro r; destruct (touches_dec a r) as [Ta|Na].
    + rewrite (untouched b) by exact (A r Ta); apply after_local; [| exact Ta].
      intros q Tq; symmetry; exact (Sb q Tq).
    + rewrite (untouched a (after b s)) by exact Na.
      destruct (touches_dec b r) as [Tb|Nb].
      * apply after_local; assumption.
      * rewrite !untouched by assumption; reflexivity.
Qed.

Lemma step_same : forall s t u, same s t -> step t u -> step s u.
Proof.
  intros s t u E [l [En A]]; exists l; split.
  - apply enabled_local with (s := t); [| exact En]; intros r _; symmetry; apply E.
  - intro r; rewrite A; destruct (touches_dec l r) as [T|N].
    + apply after_local; [| exact T]; intros q _; symmetry; apply E.
    + rewrite !untouched by assumption; symmetry; apply E.
Qed.

Lemma runs_same : forall n s t u, same s t -> runs n t u -> runs n s u.
Proof.
  intros n s t u E R; destruct R as [t u F | n t v u St R].
  - apply runs_none; intro r; rewrite F; symmetry; apply E.
  - eapply runs_more; [eapply step_same; eassumption | exact R].
Qed.

(* A complete execution can be reordered to begin with any step that is possible at its start. *)
Lemma any_first_step : forall n s t, runs n s t -> stuck t ->
  forall s', step s s' -> exists m, n = S m /\ runs m s' t.
Proof.
  induction 1 as [s t E | n s t u Hs Hr IH]; intros St s' Hs'.
  - exfalso; apply (St s'); eapply step_same; eassumption.
  - exists n; split; [reflexivity |].
    destruct Hs as [b [Eb Ab]]; destruct Hs' as [a [Ea Aa]].
    destruct (label_eq_dec a b) as [<-|N].
    + eapply runs_same; [| exact Hr]; intro r; rewrite Aa, Ab; reflexivity.
    + destruct (diamond b a s Eb Ea) as [En D]; [congruence |].
      destruct (diamond a b s Ea Eb N) as [En' _].
      destruct (IH St (after a (after b s))) as [m [-> R]].
      { apply step_same with (t := after b s); [exact Ab |].
        exists a; split; [exact En | intro; reflexivity]. }
      apply runs_more with (t := after a (after b s)); [| exact R].
      apply step_same with (t := after a s); [exact Aa |].
      exists b; split; [exact En' | exact D].
Qed.

(* From any state on an execution, the remaining steps are the total minus the steps so far. *)
Lemma same_end : forall k s u, runs k s u -> forall n t, runs n s t -> stuck t ->
  exists m, n = k + m /\ runs m u t.
Proof.
  induction 1 as [s u E | k s v u Hs Hr IH]; intros n t R St.
  - exists n; split; [reflexivity | eapply runs_same; eassumption].
  - destruct (any_first_step n s t R St v Hs) as [j [-> Rj]].
    destruct (IH j t Rj St) as [m [-> Rm]]; exists m; split; [reflexivity | exact Rm].
Qed.

Theorem outcome_is_unique : forall n m s t u,
  runs n s t -> stuck t -> runs m s u -> stuck u -> n = m /\ same t u.
Proof.
  intros n m s t u R St; revert m; induction R as [s t E | n s v t Hs Hr IH]; intros m R' Su.
  - destruct R' as [s u F | m s v u Hs _].
    + split; [reflexivity | intro r; rewrite E, F; reflexivity].
    + exfalso; apply (St v); eapply step_same; eassumption.
  - destruct (any_first_step m s u R' Su v Hs) as [k [-> Rk]].
    destruct (IH St k Rk Su) as [-> T]; split; [reflexivity | exact T].
Qed.

End Schedule.
