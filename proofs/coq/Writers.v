(* Which entry of a tied key SAVE writes: the one with storage on the first stage of the key.
   spec: CKPT-1, TIE-2 *)

Require Import Bool List Arith ZArith Lia.
Require Import ZP.Op ZP.OpOf ZP.Plan ZP.PlanFacts ZP.Sums ZP.MeaningChannels ZP.Meaning ZP.Serial.
Require Import ZP.MeaningLayout ZP.Contract ZP.Gradients ZP.Pipeline ZP.Tail ZP.Ranks ZP.Ties.
Require Import ZP.TiedGroups.
Require ZP.Valid.
Import ListNotations.
Open Scope Z_scope.

Section Writers.

Variable c : config.
Hypothesis V : Valid.valid c.
Hypothesis C : proper c.

Notation key_of j := (p_tied (entry c j)).
Notation frozen j := (p_frozen (entry c j)).

(* Of tied keys, only the first stage writes. *)
Definition first_stage_of (s j : Z) : Prop := key_of j < 0 \/ StageOf c (key_of j) 0 = s.

(* Stage s writes entry j. *)
Definition keeps (s j : Z) : Prop :=
  StageFirst c s <= j < StageEnd c s /\ first_stage_of s j /\
  (if frozen j =? 0 then storage c j = j else Holds c j = 1).

(* ---- The last entry of a key on a stage ------------------------------------------------------ *)

Lemma later_bit : forall j i, LaterUse c j i = 0 \/ LaterUse c j i = 1.
Proof. intros; unfold LaterUse; destruct (_ && _); auto. Qed.

Lemma later_is : forall j i, LaterUse c j i = 1 <->
  j < i /\ p_stage (entry c i) = p_stage (entry c j) /\ key_of i = key_of j.
Proof.
  intros j i; unfold LaterUse; fold (entry c i); fold (entry c j).
  destruct (Z.ltb_spec j i); destruct (Z.eqb_spec (p_stage (entry c i)) (p_stage (entry c j)));
    destruct (Z.eqb_spec (key_of i) (key_of j)); cbn [andb];
    (split; [intro Q; first [discriminate Q | auto] | intros [Q1 [Q2 Q3]]; first [reflexivity |
      exfalso; lia]]).
Qed.

Lemma later_none : forall j n, 0 <= n -> 0 <= LaterUses c j n /\
  (LaterUses c j n = 0 <-> forall i, 0 <= i < n -> LaterUse c j i = 0).
Proof.
  intro j; apply (natlike_ind (fun n => 0 <= LaterUses c j n /\
    (LaterUses c j n = 0 <-> forall i, 0 <= i < n -> LaterUse c j i = 0))).
  - split; [cbn; lia |]; split; [intros _ i Hi; lia | reflexivity].
  - intros n Hn [P IH]; assert (E : LaterUses c j (Z.succ n) = LaterUses c j n + LaterUse c j n).
    { unfold LaterUses; rewrite Z2Nat.inj_succ by exact Hn; cbn [LaterUses_n]; cbv zeta.
      rewrite Z2Nat.id by exact Hn; do 2 f_equal; lia. }
    rewrite E; pose proof (later_bit j n) as B; split; [lia |]; split.
    + intros Q i Hi; destruct (Z.eq_dec i n) as [->|]; [lia |].
      apply IH; lia.
    + intro H; rewrite (H n ltac:(lia)), (proj2 IH); [reflexivity |].
      intros i Hi; apply H; lia.
Qed.

Lemma holds_last : forall j, 0 <= key_of j -> (Holds c j = 1 <->
  forall i, 0 <= i < c_n_params c -> LaterUse c j i = 0).
Proof.
  intros j K; unfold Holds; fold (entry c j); rewrite (proj2 (Z.ltb_ge _ _) K); cbn [orb].
  destruct (later_none j (c_n_params c) (n_params_nonneg c)) as [_ H].
  destruct (Z.eqb_spec (LaterUses c j (c_n_params c)) 0) as [E|E].
  - split; [intros _; apply H; exact E | reflexivity].
  - split; [discriminate | intro Q; exfalso; apply E, H, Q].
Qed.

Lemma holds_one : forall i j, 0 <= i < c_n_params c -> 0 <= j < c_n_params c ->
  p_stage (entry c i) = p_stage (entry c j) -> key_of i = key_of j -> 0 <= key_of j ->
  Holds c i = 1 -> Holds c j = 1 -> i = j.
Proof.
  assert (G : forall i j, i < j -> 0 <= j < c_n_params c ->
    p_stage (entry c i) = p_stage (entry c j) -> key_of i = key_of j -> 0 <= key_of j ->
    Holds c i = 1 -> False).
  { intros i j L Hj S E K H; pose proof (proj1 (holds_last i ltac:(lia)) H j Hj) as Q.
    rewrite (proj2 (later_is i j)) in Q by auto; discriminate. }
  intros i j Hi Hj S E K H H'; destruct (Z.lt_trichotomy i j) as [L | [L | L]]; [| exact L |].
  - exfalso; eapply (G i j); eassumption.
  - exfalso; apply (G j i); auto; congruence || lia.
Qed.

Lemma holder_last : forall n j, 0 <= n -> c_n_params c - j <= n -> 0 <= j < c_n_params c ->
  0 <= key_of j -> exists i, j <= i < c_n_params c /\
  p_stage (entry c i) = p_stage (entry c j) /\ key_of i = key_of j /\ Holds c i = 1.
Proof.
  intros n j Hn; revert j; pattern n; apply natlike_ind; [lia | | exact Hn]; clear n Hn.
  intros n Hn IH j L Hj K.
  destruct (forallb (fun i => LaterUse c j i =? 0) (range 0 (c_n_params c))) eqn:Q.
  - exists j; split; [lia |]; split; [reflexivity |]; split; [reflexivity |].
    apply holds_last; [exact K |]; intros i Hi; rewrite forallb_forall in Q.
    apply Z.eqb_eq, Q, in_range, Hi.
  - assert (E : exists i, 0 <= i < c_n_params c /\ LaterUse c j i = 1).
    { clear - Q; assert (R : forall l, forallb (fun i => LaterUse c j i =? 0) l = false ->
        exists i, In i l /\ LaterUse c j i = 1).
      { induction l as [|i l IH]; [discriminate |]; cbn [forallb]; intro H.
        destruct (later_bit j i) as [B|B].
        - rewrite B in H; cbn in H; destruct (IH H) as [x [I X]]; exists x; split; [right |]; auto.
        - exists i; split; [left; reflexivity | exact B]. }
      destruct (R _ Q) as [i [I X]]; exists i; split; [apply in_range; exact I | exact X]. }
    destruct E as [i [Hi X]]; apply later_is in X; destruct X as [X1 [X2 X3]].
    destruct (IH i ltac:(lia) Hi ltac:(lia)) as [x [Y1 [Y2 [Y3 Y4]]]].
    exists x; repeat split; try lia; congruence.
Qed.

(* ---- Entries of one key ---------------------------------------------------------------------- *)

(* What a checkpoint knows of an entry. *)
Definition alike (i j : Z) : Prop := first_use c i = first_use c j /\
  p_numel (entry c i) = p_numel (entry c j) /\ p_sharded (entry c i) = p_sharded (entry c j) /\
  frozen i = frozen j /\ p_fp32 (entry c i) = p_fp32 (entry c j) /\
  p_expert (entry c i) = p_expert (entry c j).

Lemma key_alike : forall i j, 0 <= i < c_n_params c -> 0 <= j < c_n_params c ->
  key_of i = key_of j -> 0 <= key_of j -> alike i j.
Proof.
  intros i j Hi Hj E K; destruct (same_key c V i j Hi Hj E K) as [N [S [_ [F [P X]]]]].
  destruct (same_key c V j j Hj Hj eq_refl K) as [_ [_ [_ [_ [_ Y]]]]].
  split; [apply (first_equal c); auto |]; repeat split; congruence.
Qed.

Lemma first_alike : forall j, 0 <= j < c_n_params c -> alike (first_use c j) j.
Proof.
  intros j Hj; destruct (first_range c j Hj) as [B K].
  destruct (Z_lt_le_dec (key_of j) 0) as [L|L].
  - rewrite (first_self c j L); repeat split.
  - apply key_alike; assumption.
Qed.

(* Every entry has one that is written, on one stage. *)
Lemma writer_exists : forall j, 0 <= j < c_n_params c -> exists i,
  0 <= i < c_n_params c /\ keeps (p_stage (entry c i)) i /\ alike i j.
Proof.
  intros j Hj; destruct (Z_lt_le_dec (key_of j) 0) as [K|K].
  - exists j; split; [exact Hj |]; split; [| repeat split].
    split; [apply in_stage; assumption |]; split; [left; exact K |].
    destruct (frozen j =? 0); [apply storage_self; left; exact K |].
    unfold Holds; fold (entry c j); rewrite (proj2 (Z.ltb_lt _ _) K); reflexivity.
  - destruct (first_stage c V C j Hj K) as [x [Dx Kx]]; set (s := StageOf c (key_of j) 0) in *.
    destruct (stage_of c C s x Dx) as [Bx Sx].
    destruct (key_alike x j Bx Hj Kx K) as [_ [_ [_ [Fx _]]]].
    destruct (Z.eq_dec (frozen j) 0) as [F|F].
    + assert (Tx : trained c s x) by (split; congruence || exact Dx).
      destruct (storage_last c V C s x Tx ltac:(lia)) as [_ [H1 [H2 [H3 _]]]].
      destruct (storage_of_valid_is_shared c V C s x Dx) as [D' [Hs _]].
      set (h := storage c x) in *; destruct (stage_of c C s h D') as [Bh Sh].
      exists h; rewrite Sh; split; [exact Bh |].
      split; [| apply key_alike; congruence || assumption].
      split; [exact D' |]; split; [right; rewrite H2, Kx; reflexivity |].
      rewrite H3; exact Hs.
    + destruct (holder_last (c_n_params c) x (n_params_nonneg c) ltac:(lia) Bx ltac:(lia))
        as [i [Hi [Si [Ki Oi]]]].
      assert (Bi : 0 <= i < c_n_params c) by lia.
      exists i; split; [exact Bi |]; split; [| apply key_alike; congruence || assumption].
      split; [apply in_stage; assumption |].
      split; [right; rewrite Ki, Kx, Si, Sx; reflexivity |].
      destruct (key_alike i j Bi Hj ltac:(congruence) K) as [_ [_ [_ [Fi _]]]].
      rewrite (proj2 (Z.eqb_neq (frozen i) 0)) by congruence; exact Oi.
Qed.

Lemma writer_unique : forall s s' i j, keeps s i -> keeps s' j -> first_use c i = first_use c j ->
  i = j /\ s = s'.
Proof.
  intros s s' i j [Di [Fi Hi]] [Dj [Fj Hj]] E.
  destruct (stage_of c C s i Di) as [Bi Si]; destruct (stage_of c C s' j Dj) as [Bj Sj].
  apply (first_equal c i j Bi Bj) in E; destruct E as [-> | [K E]]; [split; congruence |].
  assert (Ss : s = s') by (destruct Fi as [Fi|Fi], Fj as [Fj|Fj]; lia || congruence).
  split; [| exact Ss]; rewrite <- Ss in Dj, Sj.
  destruct (key_alike i j Bi Bj E K) as [_ [_ [_ [Fr _]]]].
  rewrite Fr in Hi; destruct (Z.eqb_spec (frozen j) 0) as [F|F].
  - rewrite <- Hi, <- Hj; apply (storage_one c V C s); try assumption.
    + split; [exact Di | congruence].
    + split; [exact Dj | exact F].
  - apply holds_one; assumption || congruence.
Qed.

End Writers.
