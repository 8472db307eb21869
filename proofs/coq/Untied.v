(* Lists without tied keys, of which SavedState.v and Loaded.v speak. spec: TIE-1, TIE-2 *)

Require Import Bool List Arith ZArith Lia.
Require Import ZP.Op ZP.OpOf ZP.Plan ZP.PlanFacts ZP.Sums ZP.MeaningChannels ZP.Meaning ZP.Serial.
Require Import ZP.MeaningLayout ZP.Contract ZP.Gradients ZP.Pipeline ZP.Tail.
Import ListNotations.
Open Scope Z_scope.

Definition untied (c : config) : Prop := forall j, 0 <= j < c_n_params c -> p_tied (entry c j) < 0.

Section Untied.

Variable c : config.
Hypothesis C : proper c.
Hypothesis U : untied c.

Lemma no_key : forall j, p_tied (entry c j) < 0.
Proof.
  intro j; unfold entry, param_at.
  destruct (Nat.lt_ge_cases (Z.to_nat j) (length (c_params c))) as [L|L].
  - specialize (U (Z.of_nat (Z.to_nat j))); unfold entry, param_at in U; rewrite Nat2Z.id in U.
    apply U; unfold c_n_params; lia.
  - rewrite nth_overflow by exact L; reflexivity.
Qed.

Lemma untied_storage : forall j, storage c j = j.
Proof. intro j; unfold storage; rewrite (proj2 (Z.ltb_lt _ _) (no_key j)); reflexivity. Qed.

Lemma untied_first : forall j, first_use c j = j.
Proof. intro j; unfold first_use; rewrite (proj2 (Z.ltb_lt _ _) (no_key j)); reflexivity. Qed.

Lemma untied_held : storage_is_held c.
Proof.
  intros s j [D F]; rewrite untied_storage, Z.eqb_refl.
  pose proof (flat_of_entry c C s j D F) as G; cbn zeta in G;
    destruct G as [_ [_ [_ [_ [_ [G _]]]]]].
  unfold group_of, number_of; rewrite G; unfold opener_of.
  rewrite (proj2 (Z.leb_gt _ _) (no_key j)), head_use by apply D; reflexivity.
Qed.

End Untied.
