(* Memories that agree with the serial loop exist. spec: STEP-7, TIE-1

   The theorems about steps start from memories that agree with the serial loop's state. For every
   configuration with the properties of `proper` and every state, start_of is such a memory, so
   their hypothesis can be satisfied. No axioms. *)

Require Import Bool List Arith ZArith Lia.
Require Import ZP.Op ZP.OpOf ZP.Plan ZP.PlanFacts ZP.Sums ZP.MeaningChannels ZP.Meaning ZP.Serial.
Require Import ZP.MeaningLayout ZP.Contract ZP.Gradients ZP.Pipeline ZP.ShardedEqualsSerial.
Import ListNotations.
Open Scope Z_scope.

Section Start.

Variables A T P S X V : Type.
Variable no_message : A.
Variable fwd : coord -> V -> list (list P) -> A -> Z -> A * T * (Z -> Z).
Variable mean : Z -> X.
Variable c : config.
Hypothesis C : proper c.
Variable z : serial P S V.
Variable r : nat.
Let a := coord_of c r.
Let s := a_pp a.
Let e := StageEnd c s.

Notation start j := (StartOf c e j).
Notation numel j := (p_numel (entry c j)).

(* Entry j has element x of flat group k. *)
Definition has (k x j : Z) : bool :=
  (p_frozen (entry c j) =? 0) && (number_of c s j =? k) && (start j <=? x) &&
  (x <? start j + numel j).

Definition held_state (k b y : Z) : S :=
  let x := b * f_capacity (flat_in c s k) + y in
  let j := match find (has k x) (range (StageFirst c s) e) with Some j => j | None => 0 end in
  s_state _ _ _ z (first_use c j) (x - start j) (a_tp a) (copy_of c j (a_dp a)).

Definition start_of : mem A T P S X V :=
  Mem _ _ _ _ _ _ (s_v _ _ _ z)
    (fun j x => s_param _ _ _ z (first_use c j) x (a_tp a) (copy_of c j (a_dp a))) held_state
    (fun _ _ _ => 0) (fun _ _ _ => mean 0) (fun _ _ _ => 0) (fun _ => s_param _ _ _ z 0 0 0 0)
    (fun _ => no_message)
    (fun _ => snd (fst (fwd a (s_v _ _ _ z) [] no_message 0))) no_message no_message no_message
    (fun _ => None) (fun _ => 0) (fun _ => 0).

Lemma found_entry : forall j x, trained c s j -> 0 <= x < numel j ->
  find (has (number_of c s j) (start j + x)) (range (StageFirst c s) e) = Some j.
Proof.
  intros j x D Hx.
  assert (H : has (number_of c s j) (start j + x) j = true).
  { unfold has; rewrite (proj2 D), !Z.eqb_refl; cbn [andb].
    apply andb_true_iff; rewrite Z.leb_le, Z.ltb_lt; lia. }
  destruct (find _ _) as [i|] eqn:F.
  - apply find_some in F; destruct F as [I F]; apply in_range in I; unfold has in F.
    rewrite !andb_true_iff, !Z.eqb_eq, Z.leb_le, Z.ltb_lt in F.
    destruct F as [[[F1 F2] F3] F4]; f_equal.
    apply (apart c C r i j (start j + x - start i) x); fold a s e; try assumption; try lia.
    split; assumption.
  - pose proof (find_none _ _ F j (proj2 (in_range _ _ _) (proj1 D))) as N; congruence.
Qed.

Theorem start_agrees : agrees A T P S X V c z r start_of.
Proof.
  split; [| reflexivity]; split; [reflexivity |]; split; [intros; reflexivity |].
  intros j x b L _ _; destruct L as [D [Hx _]]; fold a s in D; cbn [m_state start_of].
  unfold held_state, place_of, group_of; fold a s e.
  replace (b * f_capacity (flat_in c s (number_of c s j)) + (start j + x - b * f_capacity
    (flat_in c s (number_of c s j)))) with (start j + x) by lia.
  rewrite found_entry by assumption; f_equal; lia.
Qed.

End Start.
