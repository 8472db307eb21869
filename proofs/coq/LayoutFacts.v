(* The layout of a stage of a valid configuration: its ranges, flat groups and tied keys.
   spec: PART-1, PART-2, PART-3, TIE-2

   e is the end of a stage's entries in the list, and x counts entries in backward order: the first
   x of them are the entries e - 1 ... e - x. WP proves the same of the C layout (LayoutRange,
   FlatGood and SpotGood in spec/acsl/layout.h). *)

Require Import Bool List ZArith Lia.
Require Import ZP.Op ZP.OpOf ZP.Plan ZP.Valid.
Open Scope Z_scope.

(* Replaces f x by its step; 1 <= x. *)
Ltac unroll f n x :=
  unfold f; replace (Z.to_nat x) with (Datatypes.S (Z.to_nat (x - 1))) by lia;
  cbn [n]; cbv zeta; replace (Z.of_nat (Z.to_nat (x - 1)) + 1) with x by lia; reflexivity.

(* ---- Integers and numbered lists ------------------------------------------------------------- *)

Lemma in_range : forall lo hi i, In i (range lo hi) <-> lo <= i < hi.
Proof.
  intros; unfold range; rewrite in_map_iff; split.
  - intros [n [<- H]]; apply in_seq in H; lia.
  - intro H; exists (Z.to_nat (i - lo)); rewrite in_seq; lia.
Qed.

Lemma range_empty : forall lo hi, hi <= lo -> range lo hi = nil.
Proof. intros; unfold range; replace (Z.to_nat (hi - lo)) with O by lia; reflexivity. Qed.

Lemma range_snoc : forall lo n, 0 <= n ->
  range lo (lo + (n + 1)) = range lo (lo + n) ++ lo + n :: nil.
Proof.
  intros lo n H; unfold range.
  replace (Z.to_nat (lo + (n + 1) - lo)) with (Datatypes.S (Z.to_nat n)) by lia.
  replace (Z.to_nat (lo + n - lo)) with (Z.to_nat n) by lia.
  rewrite seq_S, map_app; cbn [map]; do 3 f_equal; lia.
Qed.

Lemma range_length : forall lo hi, length (range lo hi) = Z.to_nat (hi - lo).
Proof. intros; unfold range; rewrite map_length, seq_length; reflexivity. Qed.

Lemma range_nth : forall lo hi n d, (n < Z.to_nat (hi - lo))%nat ->
  nth n (range lo hi) d = lo + Z.of_nat n.
Proof.
  intros lo hi n d H; unfold range.
  rewrite nth_indep with (d' := lo + Z.of_nat 0) by (rewrite map_length, seq_length; exact H).
  rewrite (map_nth (fun i => lo + Z.of_nat i)), seq_nth by exact H; reflexivity.
Qed.

Lemma numbered_nth : forall (A : Type) (l : list A) d,
  numbered l = map (fun i => (i, nth (Z.to_nat i) l d)) (range 0 (Z.of_nat (length l))).
Proof.
  intros A l d; unfold numbered.
  assert (E : l = map (fun i => nth (Z.to_nat i) l d) (range 0 (Z.of_nat (length l)))).
  { apply nth_ext with (d := d) (d' := nth (Z.to_nat 0) l d).
    - rewrite map_length, range_length; lia.
    - intros n H; rewrite (map_nth (fun i => nth (Z.to_nat i) l d)), range_nth by lia.
      f_equal; lia. }
  rewrite E at 2; generalize (range 0 (Z.of_nat (length l))) as m.
  induction m as [|i m IH]; simpl; [reflexivity | rewrite IH; reflexivity].
Qed.

Lemma flat_map_map : forall (A B C : Type) (f : A -> B) (g : B -> list C) l,
  flat_map g (map f l) = flat_map (fun x => g (f x)) l.
Proof. intros; induction l as [|x l IH]; simpl; [reflexivity | rewrite IH; reflexivity]. Qed.

Lemma map_flat_map : forall (A B : Type) (f : A -> B) l, map f l = flat_map (fun x => f x :: nil) l.
Proof. intros; induction l as [|x l IH]; simpl; [reflexivity | rewrite IH; reflexivity]. Qed.

Lemma over_numbered : forall (A B : Type) (f : Z * A -> list B) l d,
  flat_map f (numbered l) =
  flat_map (fun i => f (i, nth (Z.to_nat i) l d)) (range 0 (Z.of_nat (length l))).
Proof. intros; rewrite (numbered_nth A l d), flat_map_map; reflexivity. Qed.

Lemma over_rev_numbered : forall (A B : Type) (f : Z * A -> list B) l d,
  flat_map f (rev (numbered l)) =
  flat_map (fun i => f (i, nth (Z.to_nat i) l d)) (rev (range 0 (Z.of_nat (length l)))).
Proof. intros; rewrite (numbered_nth A l d), <- map_rev, flat_map_map; reflexivity. Qed.

Section Layout.

Variable c : config.
Hypothesis V : valid c.

Lemma EntriesBelow_step : forall n s, 1 <= n ->
  EntriesBelow c n s = EntriesBelow c (n - 1) s + IsBelow c (n - 1) s.
Proof. intros n s H; unroll EntriesBelow EntriesBelow_n n. Qed.

Lemma FlatCount_step : forall e x, 1 <= x ->
  FlatCount c e x = FlatCount c e (x - 1) + Opens c e (e - x).
Proof. intros e x H; unroll FlatCount FlatCount_n x. Qed.

Lemma FlatNumel_step : forall e x k, 1 <= x ->
  FlatNumel c e x k = FlatNumel c e (x - 1) k + Brings c e (e - x) k.
Proof. intros e x k H; unroll FlatNumel FlatNumel_n x. Qed.

Lemma Opener_step : forall e x k, 1 <= x ->
  Opener c e x k = if (Opens c e (e - x) =? 1) && (FlatCount c e (x - 1) =? k) then e - x
                   else Opener c e (x - 1) k.
Proof. intros e x k H; unroll Opener Opener_n x. Qed.

Lemma Leader_step : forall k j n, 2 <= n ->
  Leader c k j n = if ClassOf c (j + n - 1) =? k then j + n - 1 else Leader c k j (n - 1).
Proof.
  intros k j n H; unfold Leader.
  replace (Z.to_nat (n - 1)) with (Datatypes.S (Z.to_nat (n - 1 - 1))) by lia.
  cbn [Leader_n]; cbv zeta; replace (Z.of_nat (Z.to_nat (n - 1 - 1)) + 2) with n by lia;
    reflexivity.
Qed.

Lemma UsesBefore_step : forall k j n, 2 <= n ->
  UsesBefore c k j n = UsesBefore c k j (n - 1) + (if ClassOf c (j + n - 1) =? k then 1 else 0).
Proof.
  intros k j n H; unfold UsesBefore.
  replace (Z.to_nat (n - 1)) with (Datatypes.S (Z.to_nat (n - 1 - 1))) by lia.
  cbn [UsesBefore_n]; cbv zeta.
  replace (Z.of_nat (Z.to_nat (n - 1 - 1)) + 2) with n by lia; reflexivity.
Qed.

Lemma Seen_step : forall key s n, 1 <= n ->
  Seen c key s n = if (p_tied (entry_at c (n - 1)) =? key) && (p_stage (entry_at c (n - 1)) =? s)
                   then 1 else Seen c key s (n - 1).
Proof. intros key s n H; unroll Seen Seen_n n. Qed.

(* ---- The entries of a stage ------------------------------------------------------------------ *)

Lemma entries_below_range : forall s n, 0 <= n -> 0 <= EntriesBelow c n s <= n.
Proof.
  intros s n Hn; upward n; [cbn; lia |]; intros IH; rewrite EntriesBelow_step by lia.
  replace (n + 1 - 1) with n by lia; unfold IsBelow; cases; lia.
Qed.

(* The entries of stages below s are those before EntriesBelow. *)
Lemma entries_below : forall s n, 0 <= n -> n <= c_n_params c -> forall j, 0 <= j < n ->
  (p_stage (entry_at c j) < s <-> j < EntriesBelow c n s).
Proof.
  intros s n Hn; upward n; [lia |]; intros IH L j Hj; rewrite EntriesBelow_step by lia.
  replace (n + 1 - 1) with n by lia.
  pose proof (entries_below_range s n ltac:(lia)) as R.
  pose proof (stages_sorted c V n ltac:(lia) j ltac:(lia) ltac:(lia)) as S.
  unfold IsBelow; destruct (Z.ltb_spec (p_stage (entry_at c n)) s).
  - assert (EntriesBelow c n s = n); [| lia].
    destruct (Z.eq_dec n 0) as [->|]; [lia |].
    pose proof (stages_sorted c V n ltac:(lia) (n - 1) ltac:(lia) ltac:(lia)).
    pose proof (proj1 (IH ltac:(lia) (n - 1) ltac:(lia)) ltac:(lia)); lia.
  - destruct (Z.eq_dec j n) as [->|]; [lia |].
    rewrite (IH ltac:(lia) j ltac:(lia)); lia.
Qed.

Lemma n_params_positive : 0 <= c_n_params c.
Proof. unfold c_n_params; lia. Qed.

Lemma stage_range : forall s, 0 <= StageFirst c s <= StageEnd c s /\ StageEnd c s <= c_n_params c.
Proof.
  intro s; pose proof n_params_positive as N; unfold StageFirst, StageEnd.
  pose proof (entries_below_range s _ N); pose proof (entries_below_range (s + 1) _ N).
  split; [split; [lia |] | lia].
  destruct (Z_le_gt_dec (EntriesBelow c (c_n_params c) s) (EntriesBelow c (c_n_params c) (s + 1)));
    [assumption |].
  pose proof (entries_below s _ N ltac:(lia) (EntriesBelow c (c_n_params c) (s + 1)) ltac:(lia)).
  pose proof (entries_below (s + 1) _ N ltac:(lia) (EntriesBelow c (c_n_params c) (s + 1))
    ltac:(lia)); lia.
Qed.

Lemma on_stage : forall s j, 0 <= j < c_n_params c ->
  (p_stage (entry_at c j) = s <-> StageFirst c s <= j < StageEnd c s).
Proof.
  intros s j Hj; unfold StageFirst, StageEnd.
  pose proof (entries_below s _ n_params_positive ltac:(lia) j Hj).
  pose proof (entries_below (s + 1) _ n_params_positive ltac:(lia) j Hj); lia.
Qed.

(* Stage s holds the key iff one of its entries has it. *)
Lemma seen : forall key s n, 0 <= n -> Seen c key s n = 1 \/ Seen c key s n = 0.
Proof.
  intros key s n Hn; upward n; [right; reflexivity |]; intro IH; rewrite Seen_step by lia.
  replace (n + 1 - 1) with n by lia; destruct (_ && _); auto.
Qed.

Lemma seen_iff : forall key s n, 0 <= n -> (Seen c key s n = 1 <->
  exists j, 0 <= j < n /\ p_tied (entry_at c j) = key /\ p_stage (entry_at c j) = s).
Proof.
  intros key s n Hn; upward n.
  - split; [discriminate |]; intros [j [? _]]; lia.
  - intro IH; rewrite Seen_step by lia; replace (n + 1 - 1) with n by lia.
    destruct ((p_tied (entry_at c n) =? key) && (p_stage (entry_at c n) =? s)) eqn:E.
    + bools; split; [intros _; exists n; repeat split; lia | reflexivity].
    + rewrite IH; split; intros [j [Hj [T S]]]; exists j; repeat split; try lia.
      destruct (Z.eq_dec j n) as [->|]; [| lia].
      rewrite T, S, !Z.eqb_refl in E; discriminate.
Qed.

Lemma on_iff : forall key s, On c key s = 1 <->
  exists j, StageFirst c s <= j < StageEnd c s /\ p_tied (entry_at c j) = key.
Proof.
  intros key s; unfold On; rewrite seen_iff by apply n_params_positive.
  pose proof (stage_range s); split; intros [j K]; exists j.
  - destruct K as [Hj [T S]]; apply on_stage in S; [| assumption]; auto.
  - destruct K as [Hj T]; pose proof (proj2 (on_stage s j ltac:(lia)) Hj); repeat split; lia.
Qed.

(* ---- Flat groups ----------------------------------------------------------------------------- *)

Lemma opens_bit : forall e j, Opens c e j = 0 \/ Opens c e j = 1.
Proof. intros; unfold Opens; destruct (_ && _); auto. Qed.

Lemma flat_count_mono : forall e y, 0 <= y -> forall x, 0 <= x <= y ->
  0 <= FlatCount c e x <= FlatCount c e y /\ FlatCount c e y <= FlatCount c e x + (y - x).
Proof.
  intros e y Hy; upward y.
  - intros x Hx; replace x with 0 by lia; cbn; lia.
  - intros IH x Hx; destruct (Z.eq_dec x (y + 1)) as [->|].
    + specialize (IH 0 ltac:(lia)); change (FlatCount c e 0) with 0 in IH.
      rewrite FlatCount_step by lia; replace (y + 1 - 1) with y by lia.
      destruct (opens_bit e (e - (y + 1))); lia.
    + specialize (IH x ltac:(lia)).
      rewrite (FlatCount_step e (y + 1)) by lia; replace (y + 1 - 1) with y by lia.
      destruct (opens_bit e (e - (y + 1))); lia.
Qed.

Lemma flat_at_next : forall e j, j < e -> Opens c e j = 1 ->
  FlatCount c e (e - j) = FlatAt c e j + 1.
Proof.
  intros e j H O; rewrite FlatCount_step by lia; unfold FlatAt.
  replace (e - (e - j)) with j by lia; replace (e - j - 1) with (e - 1 - j) by lia; lia.
Qed.

Lemma flat_at_range : forall e x j, e - x <= j < e -> Opens c e j = 1 ->
  0 <= FlatAt c e j < FlatCount c e x.
Proof.
  intros e x j H O; pose proof (flat_at_next e j ltac:(lia) O).
  pose proof (flat_count_mono e x ltac:(lia) (e - j) ltac:(lia)).
  pose proof (flat_count_mono e (e - 1 - j) ltac:(lia) 0 ltac:(lia)) as Z.
  change (FlatCount c e 0) with 0 in Z; unfold FlatAt in *; lia.
Qed.

(* Two entries open two flat groups. *)
Lemma opener_unique : forall e i j, i < e -> j < e -> Opens c e i = 1 -> Opens c e j = 1 ->
  FlatAt c e i = FlatAt c e j -> i = j.
Proof.
  assert (G : forall e i j, i < j -> j < e -> Opens c e j = 1 -> FlatAt c e j < FlatAt c e i).
  { intros e i j H Hj O; pose proof (flat_at_next e j Hj O); unfold FlatAt in *.
    pose proof (flat_count_mono e (e - 1 - i) ltac:(lia) (e - j) ltac:(lia)); lia. }
  intros e i j Hi Hj Oi Oj E; destruct (Z.lt_trichotomy i j) as [L | [L | L]]; [| exact L |].
  - pose proof (G e i j L Hj Oj); lia.
  - pose proof (G e j i L Hi Oi); lia.
Qed.

Lemma opener : forall e x k, 0 <= x -> 0 <= k < FlatCount c e x ->
  let j := Opener c e x k in e - x <= j < e /\ Opens c e j = 1 /\ FlatAt c e j = k.
Proof.
  intros e x k Hx; upward x; [cbn; lia |].
  cbv zeta; intros IH Hk; rewrite Opener_step by lia; replace (x + 1 - 1) with x by lia.
  destruct ((Opens c e (e - (x + 1)) =? 1) && (FlatCount c e x =? k)) eqn:E.
  - bools; unfold FlatAt; replace (e - 1 - (e - (x + 1))) with x by lia; repeat split; lia.
  - rewrite FlatCount_step in Hk by lia; replace (x + 1 - 1) with x in Hk by lia.
    destruct (opens_bit e (e - (x + 1))) as [O | O]; rewrite O in *.
    + destruct (IH ltac:(lia)) as [? [? ?]]; repeat split; lia.
    + cbn [Z.eqb Pos.eqb andb] in E; bools; destruct (IH ltac:(lia)) as [? [? ?]]; repeat split;
        lia.
Qed.

(* ---- Classes and heads ----------------------------------------------------------------------- *)

Lemma leader : forall k j m, 0 <= m -> j <= Leader c k j (m + 1) < j + (m + 1) /\
  (Leader c k j (m + 1) = j \/ ClassOf c (Leader c k j (m + 1)) = k) /\
  (forall i, Leader c k j (m + 1) < i < j + (m + 1) -> ClassOf c i <> k).
Proof.
  intros k j m Hm; upward m.
  - change (Leader c k j (0 + 1)) with j; repeat split; [lia | lia | auto | intros; lia].
  - intros [A [B C]]; rewrite Leader_step by lia.
    replace (m + 1 + 1 - 1) with (m + 1) by lia.
    replace (j + (m + 1 + 1) - 1) with (j + (m + 1)) by lia.
    destruct (Z.eqb_spec (ClassOf c (j + (m + 1))) k) as [E|N].
    + repeat split; [lia | lia | auto | intros; lia].
    + repeat split; [lia | lia | exact B |].
      intros i Hi; destruct (Z.eq_dec i (j + (m + 1))) as [->|]; [exact N | apply C; lia].
Qed.

Lemma head : forall e j, j < e -> j <= HeadOf c e j < e /\
  ClassOf c (HeadOf c e j) = ClassOf c j /\
  (forall i, HeadOf c e j < i < e -> ClassOf c i <> ClassOf c j).
Proof.
  intros e j H; unfold HeadOf;
    destruct (leader (ClassOf c j) j (e - j - 1) ltac:(lia)) as [A [B C]].
  replace (e - j - 1 + 1) with (e - j) in * by lia; replace (j + (e - j)) with e in * by lia.
  repeat split; try lia; [destruct B as [B|B]; [rewrite B; reflexivity | exact B] | exact C].
Qed.

Lemma head_of_head : forall e j, j < e -> HeadOf c e (HeadOf c e j) = HeadOf c e j.
Proof.
  intros e j H; destruct (head e j H) as [A [B C]].
  destruct (head e (HeadOf c e j) ltac:(lia)) as [D [F G]].
  destruct (Z.eq_dec (HeadOf c e (HeadOf c e j)) (HeadOf c e j)) as [|N]; [assumption |].
  exfalso; apply (C (HeadOf c e (HeadOf c e j)) ltac:(lia)); congruence.
Qed.

(* Trained entries of a class both have the same key, or no key. *)
Lemma class_tied : forall i j, 0 <= i < c_n_params c -> 0 <= j < c_n_params c ->
  p_frozen (entry_at c j) = 0 -> ClassOf c i = ClassOf c j ->
  p_frozen (entry_at c i) = 0 /\ p_tied (entry_at c i) = p_tied (entry_at c j).
Proof.
  intros i j Hi Hj F; pose proof (entry_ranges c V i Hi); pose proof (entry_ranges c V j Hj).
  unfold ClassOf; rewrite F; cases; intros; lia.
Qed.

Lemma tied_class : forall i j, 0 <= i < c_n_params c -> 0 <= j < c_n_params c ->
  p_frozen (entry_at c j) = 0 -> 0 <= p_tied (entry_at c j) ->
  p_tied (entry_at c i) = p_tied (entry_at c j) -> ClassOf c i = ClassOf c j.
Proof.
  intros i j Hi Hj F T E; destruct (tied_agree c V i j Hi Hj E T) as [_ [G _]].
  apply Z.leb_le in T; unfold ClassOf; rewrite G, E, T; reflexivity.
Qed.

(* The entry that opens the flat group of entry j. *)
Definition HomeOf (e j : Z) : Z := if 0 <=? p_tied (entry_at c j) then j else HeadOf c e j.

Lemma flat_of : forall e j, p_frozen (entry_at c j) = 0 -> FlatOf c e j = FlatAt c e (HomeOf e j).
Proof. intros e j F; unfold FlatOf, HomeOf; rewrite F; simpl; destruct (0 <=? _); reflexivity. Qed.

Lemma home_opens : forall s j, StageFirst c s <= j < StageEnd c s -> p_frozen (entry_at c j) = 0 ->
  let e := StageEnd c s in
  j <= HomeOf e j < e /\ Opens c e (HomeOf e j) = 1 /\
  p_tied (entry_at c (HomeOf e j)) = p_tied (entry_at c j).
Proof.
  intros s j Hj F e; subst e; pose proof (stage_range s) as R; unfold HomeOf.
  destruct (Z.leb_spec 0 (p_tied (entry_at c j))) as [T|T].
  - repeat split; try lia; unfold Opens; rewrite F; replace (0 <=? _) with true; [reflexivity |].
    symmetry; apply Z.leb_le; assumption.
  - destruct (head (StageEnd c s) j ltac:(lia)) as [A [B C]].
    destruct (class_tied (HeadOf c (StageEnd c s) j) j ltac:(lia) ltac:(lia) F B) as [G E].
    repeat split; try lia; unfold Opens; rewrite G, head_of_head, !Z.eqb_refl by lia.
    destruct (0 <=? _); reflexivity.
Qed.

Lemma flat_of_range : forall s j, StageFirst c s <= j < StageEnd c s ->
  p_frozen (entry_at c j) = 0 ->
  0 <= FlatOf c (StageEnd c s) j < FlatCount c (StageEnd c s) (StageCount c s).
Proof.
  intros s j Hj F; rewrite flat_of by assumption; destruct (home_opens s j Hj F) as [A [B _]].
  apply flat_at_range; [unfold StageCount; lia | assumption].
Qed.

(* ---- Sizes ----------------------------------------------------------------------------------- *)

Lemma flat_numel_most : forall e k x, e <= c_n_params c -> 0 <= x -> x <= e ->
  0 <= FlatNumel c e x k <= Elements c e - Elements c (e - x).
Proof.
  intros e k x He Hx; upward x; [intros _; rewrite Z.sub_0_r; cbn; lia |].
  intros IH L; rewrite FlatNumel_step by lia; replace (x + 1 - 1) with x by lia.
  specialize (IH ltac:(lia)); rewrite (Elements_step c (e - x)) in IH by lia.
  replace (e - x - 1) with (e - (x + 1)) in IH by lia.
  pose proof (held_most c V (e - (x + 1)) ltac:(lia)).
  pose proof (entry_ranges c V (e - (x + 1)) ltac:(lia)).
  unfold Brings; destruct (_ =? _); lia.
Qed.

Lemma elements_range : forall n, 0 <= n <= c_n_params c -> 0 <= Elements c n <= 1099511627776.
Proof.
  intros n H; pose proof (valid_elements c V).
  pose proof (Elements_mono c V n ltac:(lia) 0 ltac:(lia) ltac:(lia)) as A.
  pose proof (Elements_mono c V (c_n_params c) ltac:(lia) n ltac:(lia) ltac:(lia)).
  change (Elements c 0) with 0 in A; lia.
Qed.

Lemma flat_numel_range : forall s k, let e := StageEnd c s in let x := StageCount c s in
  0 <= FlatNumel c e x k <= 1099511627776.
Proof.
  intros s k e x; subst e x; pose proof (stage_range s).
  pose proof (flat_numel_most (StageEnd c s) k (StageCount c s) ltac:(lia)
    ltac:(unfold StageCount; lia) ltac:(unfold StageCount; lia)).
  pose proof (elements_range (StageEnd c s) ltac:(lia)).
  pose proof (elements_range (StageEnd c s - StageCount c s) ltac:(unfold StageCount; lia)); lia.
Qed.

Lemma spot_range : forall s j, StageFirst c s <= j < StageEnd c s ->
  0 <= StartOf c (StageEnd c s) j /\
  StartOf c (StageEnd c s) j + p_numel (entry_at c j) <= 1099511627776.
Proof.
  intros s j Hj; pose proof (stage_range s).
  pose proof (entry_ranges c V j ltac:(lia)); unfold StartOf; destruct (negb _); [lia |].
  pose proof (flat_numel_most (StageEnd c s) (FlatOf c (StageEnd c s) j) (StageEnd c s - 1 - j)
    ltac:(lia) ltac:(lia) ltac:(lia)) as N.
  replace (StageEnd c s - (StageEnd c s - 1 - j)) with (j + 1) in N by lia.
  rewrite (Elements_step c (j + 1)) in N by lia; replace (j + 1 - 1) with j in N by lia.
  pose proof (held_most c V j ltac:(lia)); pose proof (elements_range j ltac:(lia)).
  pose proof (elements_range (StageEnd c s) ltac:(lia)); lia.
Qed.

(* ---- Tied keys ------------------------------------------------------------------------------- *)

(* The flat group of a tied entry has no other entry. *)
Lemma tied_alone : forall s i j, StageFirst c s <= i < StageEnd c s ->
  StageFirst c s <= j < StageEnd c s -> p_frozen (entry_at c j) = 0 -> 0 <= p_tied (entry_at c j) ->
  FlatOf c (StageEnd c s) i = FlatAt c (StageEnd c s) j -> i = j.
Proof.
  intros s i j Hi Hj F T E; pose proof (stage_range s).
  destruct (home_opens s j Hj F) as [_ [O _]]; unfold HomeOf in O.
  replace (0 <=? p_tied (entry_at c j)) with true in O by (symmetry; apply Z.leb_le; assumption).
  destruct (Z.eq_dec (p_frozen (entry_at c i)) 0) as [G|G].
  - rewrite flat_of in E by assumption; destruct (home_opens s i Hi G) as [A [P K]].
    apply opener_unique in E; try lia; rewrite E in K.
    unfold HomeOf in E; rewrite <- K in E.
    replace (0 <=? p_tied (entry_at c j)) with true in E by (symmetry; apply Z.leb_le; assumption).
    exact E.
  - unfold FlatOf in E; replace (p_frozen (entry_at c i) =? 0) with false in E
      by (symmetry; apply Z.eqb_neq; assumption).
    cbn [negb] in E.
    pose proof (flat_at_range (StageEnd c s) (StageEnd c s - j) j ltac:(lia) O); lia.
Qed.

Lemma tied_numel : forall s j, StageFirst c s <= j < StageEnd c s -> p_frozen (entry_at c j) = 0 ->
  0 <= p_tied (entry_at c j) ->
  FlatNumel c (StageEnd c s) (StageCount c s) (FlatAt c (StageEnd c s) j) = p_numel (entry_at c j).
Proof.
  intros s j Hj F T; pose proof (stage_range s); set (e := StageEnd c s) in *.
  assert (G : forall x, 0 <= x -> x <= StageCount c s ->
    FlatNumel c e x (FlatAt c e j) = if e - x <=? j then p_numel (entry_at c j) else 0).
  { intros x Hx; upward x; [intros _; replace (e - 0 <=? j) with false |].
    - reflexivity.
    - symmetry; apply Z.leb_gt; lia.
    - intros IH L; rewrite FlatNumel_step by lia; replace (x + 1 - 1) with x by lia.
      rewrite IH by lia; unfold Brings.
      destruct (Z.eqb_spec (FlatOf c e (e - (x + 1))) (FlatAt c e j)) as [E|N].
      + apply (tied_alone s) in E; try assumption; [| unfold e, StageCount in *; lia].
        rewrite E; cases; lia.
      + assert (e - (x + 1) <> j); [| cases; lia].
        intro E; apply N; rewrite E, flat_of by assumption; unfold HomeOf.
        replace (0 <=? p_tied (entry_at c j)) with true; [reflexivity |].
        symmetry; apply Z.leb_le; assumption. }
  rewrite G by (unfold StageCount; lia); unfold e, StageCount in *; cases; lia.
Qed.

(* The last entry of its class on a stage is use 0. *)
Lemma uses : forall k j m, 0 <= m -> 0 <= UsesBefore c k j (m + 1) /\
  (UsesBefore c k j (m + 1) = 0 <-> forall i, j < i < j + (m + 1) -> ClassOf c i <> k).
Proof.
  intros k j m Hm; upward m.
  - change (UsesBefore c k j (0 + 1)) with 0; repeat split; intros; lia.
  - intros [A B]; rewrite UsesBefore_step by lia; replace (m + 1 + 1 - 1) with (m + 1) by lia.
    replace (j + (m + 1 + 1) - 1) with (j + (m + 1)) by lia.
    destruct (Z.eqb_spec (ClassOf c (j + (m + 1))) k) as [E|N].
    + split; [lia |]; split; [lia |]; intro H; exfalso; apply (H (j + (m + 1))); [lia | exact E].
    + rewrite Z.add_0_r, B; split; [lia |]; split; intros G i Hi; [| apply G; lia].
      destruct (Z.eq_dec i (j + (m + 1))) as [->|]; [exact N | apply G; lia].
Qed.

Lemma use_0 : forall e j, j < e ->
  (UseOf c e j = 0 <-> forall i, j < i < e -> ClassOf c i <> ClassOf c j).
Proof.
  intros e j H; unfold UseOf; destruct (uses (ClassOf c j) j (e - j - 1) ltac:(lia)) as [_ B].
  replace (e - j - 1 + 1) with (e - j) in B by lia; replace (j + (e - j)) with e in B by lia.
  exact B.
Qed.

(* ---- The records of layout_of ---------------------------------------------------------------- *)

Lemma n_flats : forall s,
  l_n_flats (layout_of c s) = FlatCount c (StageEnd c s) (StageCount c s).
Proof.
  intro s; unfold l_n_flats, layout_of; cbn [l_flat]; rewrite map_length, range_length.
  pose proof (stage_range s); unfold StageCount.
  pose proof (flat_count_mono (StageEnd c s) (StageEnd c s - StageFirst c s) ltac:(lia) 0
    ltac:(lia)).
  change (FlatCount c (StageEnd c s) 0) with 0 in *; lia.
Qed.

Lemma n_flats_most : forall s, 0 <= l_n_flats (layout_of c s) <= 65536.
Proof.
  intro s; rewrite n_flats; pose proof (stage_range s); pose proof (counts c V); unfold StageCount.
  pose proof (flat_count_mono (StageEnd c s) (StageEnd c s - StageFirst c s) ltac:(lia) 0
    ltac:(lia)).
  change (FlatCount c (StageEnd c s) 0) with 0 in *; lia.
Qed.

Lemma n_spots : forall s, l_n_params (layout_of c s) = StageCount c s.
Proof.
  intro s; unfold l_n_params, layout_of; cbn [l_spot]; rewrite map_length, range_length.
  pose proof (stage_range s); unfold StageCount; lia.
Qed.

Lemma flat_is : forall s k, 0 <= k < l_n_flats (layout_of c s) ->
  flat_at (l_flat (layout_of c s)) k = layout_flat c s k.
Proof.
  intros s k H; rewrite n_flats in H; unfold flat_at, layout_of; cbn [l_flat].
  set (n := FlatCount c (StageEnd c s) (StageCount c s)) in *.
  rewrite nth_indep with (d' := layout_flat c s 0) by (rewrite map_length, range_length; lia).
  rewrite map_nth, range_nth by lia; f_equal; lia.
Qed.

Lemma spot_is : forall s i, 0 <= i < StageCount c s ->
  spot_at (l_spot (layout_of c s)) i = layout_spot c s (StageFirst c s + i).
Proof.
  intros s i H; unfold spot_at, layout_of; cbn [l_spot]; unfold StageCount in H.
  rewrite nth_indep with (d' := layout_spot c s 0) by (rewrite map_length, range_length; lia).
  rewrite map_nth, range_nth by lia; f_equal; lia.
Qed.

(* Flat group k, and the entry that opens it. *)
Lemma flat_good : forall s k, 0 <= k < l_n_flats (layout_of c s) ->
  let f := flat_at (l_flat (layout_of c s)) k in
  let j := Opener c (StageEnd c s) (StageCount c s) k in
  f = layout_flat c s k /\ StageFirst c s <= j < StageEnd c s /\ Opens c (StageEnd c s) j = 1 /\
  FlatAt c (StageEnd c s) j = k /\
  (f_group f = ZP_GROUP_DP \/ f_group f = ZP_GROUP_EDP) /\ 0 <= f_numel f <= 1099511627776 /\
  1 <= f_members f /\ 1 <= f_capacity f /\ 0 <= BucketsOf f <= 1099511627776.
Proof.
  intros s k H f j; subst f; rewrite flat_is by assumption; rewrite n_flats in H.
  pose proof (stage_range s).
  destruct (opener (StageEnd c s) (StageCount c s) k ltac:(unfold StageCount; lia) H) as [A [O F]].
  fold j in A, O, F; unfold StageCount in A.
  assert (N : 0 <= f_numel (layout_flat c s k) <= 1099511627776) by apply flat_numel_range.
  assert (M : 1 <= f_members (layout_flat c s k)) by (apply members_of; [exact V | lia]).
  assert (P : 1 <= f_capacity (layout_flat c s k)).
  { pose proof (amounts c V); apply capacity_positive; try lia; exact M. }
  repeat split; try lia.
  - unfold layout_flat, GroupOf; cbn [f_group]; destruct (negb _); auto.
  - apply buckets_most; lia.
  - pose proof (buckets_most (f_numel (layout_flat c s k)) (f_capacity (layout_flat c s k))).
    unfold BucketsOf; lia.
Qed.

(* The i-th entry of the stage: frozen, or in a flat group. *)
Lemma spot_good : forall s i, 0 <= i < StageCount c s ->
  let p := spot_at (l_spot (layout_of c s)) i in
  let n := p_numel (entry_at c (l_first_param (layout_of c s) + i)) in
  0 <= n /\ (s_flat p < 0 \/ 0 <= s_flat p < l_n_flats (layout_of c s) /\
  0 <= s_start p /\ s_start p + n <= 1099511627776).
Proof.
  intros s i H p n; subst p n; rewrite spot_is by assumption; unfold StageCount in H.
  change (l_first_param (layout_of c s)) with (StageFirst c s).
  pose proof (stage_range s); set (j := StageFirst c s + i).
  pose proof (entry_ranges c V j ltac:(lia)); split; [lia |].
  unfold layout_spot; cbn [s_flat s_start]; rewrite n_flats.
  destruct (Z.eq_dec (p_frozen (entry_at c j)) 0) as [F|F].
  - right; split; [apply flat_of_range; [lia | exact F] | apply spot_range; lia].
  - left; unfold FlatOf; replace (p_frozen (entry_at c j) =? 0) with false
      by (symmetry; apply Z.eqb_neq; assumption); cbn; lia.
Qed.

End Layout.
