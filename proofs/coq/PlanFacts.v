(* Facts about Plan.v for proofs about it, and two that relate it to C and the ACSL.
   spec: STEP-7, STEP-8, PIPE-2, PIPE-3

   skipped_slots_are_empty: C's loop over slots visits only those in which the stage may have work;
   Plan.v visits all, and the others have no op. update_bucket_is: the ops of one bucket's update
   are those that spec/acsl/op_tail.h counts from the flat group's first one. *)

Require Import Bool List ZArith Lia.
Require Import ZP.Op ZP.OpOf ZP.Plan.
Import ListNotations.
Open Scope Z_scope.

(* ---- range ----------------------------------------------------------------------------------- *)

Lemma in_range : forall lo hi x, In x (range lo hi) <-> lo <= x < hi.
Proof.
  intros; unfold range; rewrite in_map_iff; split.
  - intros [i [E H]]; apply in_seq in H; lia.
  - intro H; exists (Z.to_nat (x - lo)); split; [lia | apply in_seq; lia].
Qed.

Lemma range_length : forall lo hi, length (range lo hi) = Z.to_nat (hi - lo).
Proof. intros; unfold range; rewrite map_length, seq_length; reflexivity. Qed.

Lemma range_empty : forall lo hi, hi <= lo -> range lo hi = [].
Proof. intros; unfold range; replace (Z.to_nat (hi - lo)) with O by lia; reflexivity. Qed.

Lemma range_cons : forall lo hi, lo < hi -> range lo hi = lo :: range (lo + 1) hi.
Proof.
  intros lo hi H; unfold range.
  replace (Z.to_nat (hi - lo)) with (S (Z.to_nat (hi - (lo + 1)))) by lia.
  simpl; rewrite <- seq_shift, map_map; f_equal; [lia |].
  apply map_ext; intro; lia.
Qed.

Lemma range_app : forall lo mid hi, lo <= mid <= hi ->
  range lo hi = range lo mid ++ range mid hi.
Proof.
  intros lo mid hi H; remember (Z.to_nat (mid - lo)) as n eqn:N.
  revert lo H N; induction n as [|n IH]; intros lo H N.
  - replace mid with lo by lia; rewrite (range_empty lo lo) by lia; reflexivity.
  - rewrite (range_cons lo hi), (range_cons lo mid) by lia; simpl; f_equal; apply IH; lia.
Qed.

Lemma range_snoc : forall lo hi, lo <= hi -> range lo (hi + 1) = range lo hi ++ [hi].
Proof.
  intros lo hi H; rewrite (range_app lo hi (hi + 1)), (range_cons hi) by lia.
  rewrite (range_empty (hi + 1)) by lia; reflexivity.
Qed.

Lemma range_nodup : forall lo hi, NoDup (range lo hi).
Proof.
  intros lo hi; remember (Z.to_nat (hi - lo)) as n eqn:N; revert lo N.
  induction n as [|n IH]; intros lo N; [rewrite range_empty by lia; constructor |].
  rewrite range_cons by lia; constructor; [rewrite in_range; lia | apply IH; lia].
Qed.

(* ---- numbered -------------------------------------------------------------------------------- *)

Lemma in_combine_range : forall (A : Type) (l : list A) lo k x d,
  In (k, x) (combine (range lo (lo + Z.of_nat (length l))) l) <->
  lo <= k < lo + Z.of_nat (length l) /\ nth (Z.to_nat (k - lo)) l d = x.
Proof.
  induction l as [|y l IH]; intros lo k x d.
  - simpl; rewrite range_empty by lia; simpl; split; [tauto | lia].
  - replace (lo + Z.of_nat (length (y :: l))) with (lo + 1 + Z.of_nat (length l))
      by (simpl length; lia).
    rewrite range_cons by lia; simpl combine; simpl In; rewrite (IH (lo + 1) k x d); split.
    + intros [E | [H E]]; [injection E; intros; subst; replace (k - k) with 0 by lia; simpl;
        split; [lia | reflexivity] |].
      split; [lia |].
      replace (Z.to_nat (k - lo)) with (S (Z.to_nat (k - (lo + 1)))) by lia; exact E.
    + intros [H E]; destruct (Z.eq_dec k lo) as [-> | N].
      * left; replace (lo - lo) with 0 in E by lia; simpl in E; subst; reflexivity.
      * right; split; [lia |].
        replace (Z.to_nat (k - lo)) with (S (Z.to_nat (k - (lo + 1)))) in E by lia; exact E.
Qed.

Lemma in_numbered : forall (A : Type) (l : list A) k x d,
  In (k, x) (numbered l) <-> 0 <= k < Z.of_nat (length l) /\ nth (Z.to_nat k) l d = x.
Proof.
  intros; unfold numbered; pose proof (in_combine_range A l 0 k x d) as H.
  replace (k - 0) with k in H by lia; exact H.
Qed.

(* The flat groups of a layout with their numbers. *)
Lemma in_flats : forall lay k f,
  In (k, f) (numbered (l_flat lay)) <-> 0 <= k < l_n_flats lay /\ flat_at (l_flat lay) k = f.
Proof. intros; apply in_numbered. Qed.

Lemma in_spots : forall lay i p,
  In (i, p) (numbered (l_spot lay)) <-> 0 <= i < l_n_params lay /\ spot_at (l_spot lay) i = p.
Proof. intros; apply in_numbered. Qed.

(* ---- Slots ----------------------------------------------------------------------------------- *)

Lemma half_of_none : forall M d, d < 0 \/ 2 * M - 1 <= d -> HalfOf M d = -1.
Proof.
  intros M d H; unfold HalfOf; destruct (Z.ltb_spec d 0); [reflexivity |].
  destruct (Z.eqb_spec (Z.rem d 2) 0); [| reflexivity]; simpl.
  destruct (Z.leb_spec M (Z.quot d 2)); [reflexivity |].
  pose proof (Z.quot_rem d 2); lia.
Qed.

(* HalfOf is a micro-batch m exactly if d = 2 m and m < M. *)
Lemma half_of_some : forall M d m, HalfOf M d = m -> 0 <= m -> d = 2 * m /\ m < M.
Proof.
  intros M d m H P; unfold HalfOf in H; destruct (Z.ltb_spec d 0); [simpl in H; lia |].
  destruct (Z.eqb_spec (Z.rem d 2) 0) as [R | R]; [| simpl in H; lia].
  simpl in H; destruct (Z.leb_spec M (Z.quot d 2)); [lia |].
  pose proof (Z.quot_rem d 2); lia.
Qed.

Lemma half_of_double : forall M m, 0 <= m < M -> HalfOf M (2 * m) = m.
Proof.
  intros M m H; unfold HalfOf; rewrite Z.quot_div_nonneg, Z.rem_mod_nonneg by lia.
  replace (2 * m) with (m * 2) by lia; rewrite Z.div_mul, Z.mod_mul by lia.
  destruct (Z.ltb_spec (m * 2) 0); [lia |]; destruct (Z.leb_spec M m); [lia | reflexivity].
Qed.

(* The slots of a stage's forward and backward of micro-batch m, as in PIPE-2. *)
Lemma forward_at : forall M s t m, 0 <= m ->
  ForwardAt M s t = m <-> t = ForwardTime s m /\ m < M.
Proof.
  intros M s t m P; unfold ForwardAt, ForwardTime; split.
  - intro H; apply half_of_some in H; lia.
  - intros [-> L]; replace (2 * m + s - s) with (2 * m) by lia; apply half_of_double; lia.
Qed.

Lemma backward_at : forall S M s t m, 0 <= m ->
  BackwardAt S M s t = m <-> t = BackwardTime S s m /\ m < M.
Proof.
  intros S M s t m P; unfold BackwardAt, BackwardTime; split.
  - intro H; apply half_of_some in H; lia.
  - intros [-> L]; replace (2 * m + 2 * S - 1 - s + s + 1 - 2 * S) with (2 * m) by lia.
    apply half_of_double; lia.
Qed.

(* A slot without micro-batches has no op. *)
Lemma idle_slot : forall cfg lay t,
  ForwardAt (c_micro_batches cfg) (l_stage lay) t = -1 ->
  BackwardAt (c_pp cfg) (c_micro_batches cfg) (l_stage lay) t = -1 ->
  ForwardAt (c_micro_batches cfg) (l_stage lay) (t - 1) = -1 \/ BackwardSlot (l_stage lay) t <> 1 ->
  BackwardAt (c_pp cfg) (c_micro_batches cfg) (l_stage lay) (t - 1) = -1 \/
    BackwardSlot (l_stage lay) t = 1 ->
  slot_ops cfg lay t = [].
Proof.
  intros cfg lay t F B F' B'; unfold slot_ops, head_ops, exchange_ops, compute_ops, Computed,
    Received, Sent; rewrite F, B.
  destruct (Z.eqb_spec (BackwardSlot (l_stage lay) t) 1) as [E | E].
  - destruct F' as [F' | F']; [rewrite F' | congruence].
    destruct (l_stage lay <? c_pp cfg - 1); reflexivity.
  - destruct B' as [B' | B']; [rewrite B' | congruence].
    destruct (0 <? l_stage lay); reflexivity.
Qed.

(* C's loop: t = s, zp_next_slot, ... while t < zp_end_slot. *)
Theorem skipped_slots_are_empty : forall cfg lay t,
  let S := c_pp cfg in let M := c_micro_batches cfg in let s := l_stage lay in
  0 <= s < S -> 1 <= M -> 0 <= t < Slots S M ->
  t < s \/ s + 2 * M <= t < 2 * S - 1 - s \/ EndSlot S M s <= t ->
  slot_ops cfg lay t = [].
Proof.
  intros cfg lay t S M s Hs HM Ht H; unfold EndSlot, Slots in *.
  assert (G : t < s \/ s + 2 * M <= t < 2 * S - 1 - s \/ 2 * S - 1 - s + 2 * M <= t)
    by (destruct (Z.ltb_spec (2 * S - 1 - s + 2 * M) (2 * (M + S - 1))); lia).
  clear H; subst S M s.
  apply idle_slot; [| | left | left]; unfold ForwardAt, BackwardAt; apply half_of_none;
    lia.
Qed.

(* ---- Updates --------------------------------------------------------------------------------- *)

(* From ZeRO stage 1 on: ops 2 i and 2 i + 1 of the flat group's update. *)
Theorem update_bucket_is : forall cfg k f t clock i,
  0 < c_stage cfg -> 0 <= i < BucketsOf f ->
  update_bucket_ops cfg k f t clock (BucketsOf f - 1 - i) =
    [op_update (c_stage cfg) k t clock (BucketsOf f) (2 * i);
     op_gather (f_group f) (f_numel f) (f_capacity f) (f_members f) (f_align f)
       (DtypeOf (f_fp32 f) (c_precision cfg)) k t clock (BucketsOf f) (2 * i + 1)].
Proof.
  intros cfg k f t clock i P H; unfold update_bucket_ops, op_update, op_gather, UpdatedBucket.
  rewrite (proj2 (Z.ltb_lt 0 (c_stage cfg)) P); unfold if_ops.
  replace (Z.quot (2 * i) 2) with i by (rewrite Z.quot_div_nonneg by lia;
    replace (2 * i) with (i * 2) by lia; rewrite Z.div_mul; lia).
  replace (Z.quot (2 * i + 1) 2) with i by (rewrite Z.quot_div_nonneg by lia;
    apply Z.div_unique with 1; lia).
  replace (clock + 2 * (BucketsOf f - 1 - (BucketsOf f - 1 - i))) with (clock + 2 * i) by lia.
  replace (clock + 2 * i + 1) with (clock + (2 * i + 1)) by lia; reflexivity.
Qed.

(* At ZeRO stage 0: op i. *)
Theorem unsharded_update_is : forall cfg k f t clock i, c_stage cfg = 0 ->
  update_bucket_ops cfg k f t clock (BucketsOf f - 1 - i) =
    [op_update 0 k t clock (BucketsOf f) i].
Proof.
  intros cfg k f t clock i E; unfold update_bucket_ops, op_update, UpdatedBucket; rewrite E.
  replace (BucketsOf f - 1 - (BucketsOf f - 1 - i)) with i by lia; reflexivity.
Qed.
