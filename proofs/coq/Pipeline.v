(* The pipeline of one rank, checked against the contract. spec: PIPE-1 ... PIPE-6, STEP-2

   Before slot u the rank holds what the serial loop computed: in its activation slots the tapes of
   the micro-batches between forward and backward, the output of the last slot's computation, and in
   its sums the gradients of the micro-batches whose backward has run. *)

Require Import Bool List Arith ZArith Lia.
Require Import ZP.Op ZP.OpOf ZP.Plan ZP.PlanFacts ZP.Sums ZP.MeaningChannels ZP.Meaning ZP.Serial.
Require Import ZP.MeaningLayout ZP.Contract ZP.Gradients.
Import ListNotations.
Open Scope Z_scope.

(* Entries that share storage with others of their stage. *)
Definition shares_storage (c : config) : Prop := forall s j, StageFirst c s <= j < StageEnd c s ->
  StageFirst c s <= storage c j < StageEnd c s /\ storage c (storage c j) = storage c j /\
  first_use c (storage c j) = first_use c j /\
  p_numel (entry c (storage c j)) = p_numel (entry c j) /\
  forall d, copy_of c (storage c j) d = copy_of c j d.

Lemma half_even : forall M q, HalfOf M (2 * q) = if (0 <=? q) && (q <? M) then q else -1.
Proof.
  intros M q; destruct (Z.leb_spec 0 q); cbn [andb].
  - destruct (Z.ltb_spec q M); [apply half_of_double; lia | apply half_of_none; lia].
  - apply half_of_none; lia.
Qed.

Lemma rem_apart : forall m n p, 0 <= m < n -> n - m < p -> Z.rem m p <> Z.rem n p.
Proof.
  intros m n p H L; assert (B : 0 <= m /\ 0 <= n /\ 0 < p) by lia; destruct B as [Bm [Bn Bp]].
  rewrite (Z.rem_mod_nonneg m p Bm Bp), (Z.rem_mod_nonneg n p Bn Bp); intro E.
  pose proof (Z.div_mod m p ltac:(lia)) as D1; pose proof (Z.div_mod n p ltac:(lia)) as D2.
  rewrite E in D1; revert D1 D2; generalize (n mod p), (n / p), (m / p).
  intros y q1 q2 D1 D2; assert (D : n - m = p * (q1 - q2)) by (rewrite D1, D2; ring).
  destruct (Z_le_gt_dec (q1 - q2) 0) as [G|G].
  - assert (p * (q1 - q2) <= 0) by (apply Z.mul_nonneg_nonpos; lia); lia.
  - assert (p * 1 <= p * (q1 - q2)) by (apply Z.mul_le_mono_nonneg_l; lia); lia.
Qed.

(* How many forwards and backwards of a stage come before slot u. *)
Definition forwards_before (M s u : Z) : Z := Z.max 0 (Z.min M ((u - s + 1) / 2)).
Definition backwards_before (N M s u : Z) : Z := Z.max 0 (Z.min M ((u + s + 2 - 2 * N) / 2)).

Lemma half : forall q, 2 * q / 2 = q /\ (2 * q + 1) / 2 = q.
Proof. intro q; split; symmetry; [apply Z.div_unique with 0 | apply Z.div_unique with 1]; lia. Qed.

(* In the forward slot u = 2 q + s. *)
Lemma forward_counts : forall N M s q, let u := 2 * q + s in
  forwards_before M s u = Z.max 0 (Z.min M q) /\
  forwards_before M s (u + 1) = Z.max 0 (Z.min M (q + 1)) /\
  backwards_before N M s (u + 1) = backwards_before N M s u.
Proof.
  intros N M s q u; unfold forwards_before, backwards_before, u.
  replace (2 * q + s - s + 1) with (2 * q + 1) by lia; rewrite (proj2 (half q)).
  replace (2 * q + s + 1 - s + 1) with (2 * (q + 1)) by lia; rewrite (proj1 (half (q + 1))).
  replace (2 * q + s + 1 + s + 2 - 2 * N) with (2 * (q + s + 1 - N) + 1) by lia.
  replace (2 * q + s + s + 2 - 2 * N) with (2 * (q + s + 1 - N)) by lia.
  rewrite (proj1 (half _)), (proj2 (half _)); repeat split.
Qed.

(* In the backward slot u = 2 q + 2 N - 1 - s. *)
Lemma backward_counts : forall N M s q, let u := 2 * q + 2 * N - 1 - s in
  backwards_before N M s u = Z.max 0 (Z.min M q) /\
  backwards_before N M s (u + 1) = Z.max 0 (Z.min M (q + 1)) /\
  forwards_before M s (u + 1) = forwards_before M s u.
Proof.
  intros N M s q u; unfold forwards_before, backwards_before, u.
  replace (2 * q + 2 * N - 1 - s + s + 2 - 2 * N) with (2 * q + 1) by lia.
  replace (2 * q + 2 * N - 1 - s + 1 + s + 2 - 2 * N) with (2 * (q + 1)) by lia.
  replace (2 * q + 2 * N - 1 - s + 1 - s + 1) with (2 * (q + N - s) + 1) by lia.
  replace (2 * q + 2 * N - 1 - s - s + 1) with (2 * (q + N - s)) by lia.
  rewrite !(proj1 (half _)), !(proj2 (half _)); repeat split.
Qed.

Lemma coord_eta : forall q, q = Coord (a_pp q) (a_dp q) (a_tp q).
Proof. intros []; reflexivity. Qed.

Section Pipeline.

Variables A T P S X V : Type.
Variable no_message : A.
Variable fwd : coord -> V -> list (list P) -> A -> Z -> A * T * (Z -> Z).
Variable bwd : coord -> V -> list (list P) -> T -> A -> Z -> A * (Z -> option (Z -> Z)).
Variable mean : Z -> X.
Variable words : X -> Z -> Z.
Variable go : V -> list Z -> bool.
Variable update : Z -> V -> list Z -> X -> S -> S.
Variable round : Z -> S -> P.
Variable c : config.
Variable z : serial P S V.
Hypothesis C : proper c.
Hypothesis Share : shares_storage c.

Notation mem := (mem A T P S X V).
Notation wp := (wp A T P S X V no_message fwd bwd mean words go update round c z).
Notation serial_input := (input A T P S V no_message fwd c z).
Notation serial_grad_in := (grad_in A T P S V no_message fwd bwd c z).
Notation serial_tape := (tape A T P S V no_message fwd c z).
Notation stage_forward := (stage_forward A T P S V fwd c z).
Notation stage_backward := (stage_backward A T P S V no_message fwd bwd c z).
Notation contribution := (contribution A T P S V no_message fwd bwd c z).
Notation loss_words := (loss_words A T P S V no_message fwd c z).

Variable r : nat.
Let a := coord_of c r.
Let s := a_pp a.
Let d := a_dp a.
Let t := a_tp a.
Let M := c_micro_batches c.
Let N := c_pp c.
Hypothesis W : within c a.

Notation sums_after := (sums_after A T P S V no_message fwd bwd c z r).
Notation place u := (Z.rem u (Places N M s)).

(* What the rank has at the start of a step, and keeps until its updates. *)
Definition base (m : mem) : Prop :=
  m_v _ _ _ _ _ _ m = s_v _ _ _ z /\
  (forall j x, StageFirst c s <= j < StageEnd c s -> storage c j = j ->
    0 <= x < p_numel (entry c j) ->
    m_param _ _ _ _ _ _ m j x = s_param _ _ _ z (first_use c j) x t (copy_of c j d)) /\
  (forall j x b, lies c s j x b -> storage c j = j ->
    owns c a (group_of c s j) b (place_of c s j x b) = true ->
    m_state _ _ _ _ _ _ m (number_of c s j) b (place_of c s j x b) =
      s_state _ _ _ z (first_use c j) x t (copy_of c j d)).

Notation forwards u := (forwards_before M s u).
Notation backwards u := (backwards_before N M s u).

Definition flow (u : Z) (m : mem) : Prop :=
  (forall mb, 0 <= mb < M -> ForwardTime s mb < u -> u <= BackwardTime N s mb ->
    m_tape _ _ _ _ _ _ m (place mb) = serial_tape d t mb s) /\
  (forall mb, 0 <= mb < M -> ForwardTime s mb = u - 1 ->
    m_output _ _ _ _ _ _ m = serial_input d t mb (s + 1)) /\
  (forall mb, 0 <= mb < M -> BackwardTime N s mb = u - 1 -> 0 < s ->
    m_grad_out _ _ _ _ _ _ m = serial_grad_in d t mb (s - 1)).

Definition before_slot (u : Z) (m : mem) : Prop :=
  base m /\ flow u m /\
  (forall w, m_stats _ _ _ _ _ _ m w =
    sigma (range 0 (forwards u)) (fun mb => loss_words d t mb s w)) /\
  sums_after (backwards u) (m_sum _ _ _ _ _ _ m).

Lemma stage_bounds : 0 <= s < N.
Proof. exact (proj1 W). Qed.

Lemma values_are : forall m, base m ->
  values A T P S X V c (layout_of c s) m = stage_values P S V c z s d t.
Proof.
  intros m [_ [B _]]; unfold values, stage_values; rewrite n_spots.
  change (l_first_param (layout_of c s)) with (StageFirst c s).
  replace (StageFirst c s + StageCount c s) with (StageEnd c s) by (unfold StageCount; lia).
  apply map_ext_in; intros j Hj; apply in_range in Hj.
  destruct (Share s j Hj) as [S1 [S2 [S3 [S4 S5]]]].
  apply map_ext_in; intros x Hx; apply in_range in Hx.
  rewrite B by (rewrite ?S4; assumption); rewrite S3, S5; reflexivity.
Qed.

Lemma next_input : forall mb, serial_input d t mb (s + 1) =
  fst (fst (stage_forward d t mb s (serial_input d t mb s))).
Proof.
  intro mb; pose proof stage_bounds; unfold Serial.input.
  replace (Z.to_nat (s + 1)) with (Datatypes.S (Z.to_nat s)) by lia; simpl.
  rewrite Z2Nat.id by lia; reflexivity.
Qed.

Lemma next_grad : forall mb, 0 < s -> serial_grad_in d t mb (s - 1) =
  fst (stage_backward d t mb s (serial_grad_in d t mb s)).
Proof.
  intros mb Hs; pose proof stage_bounds; unfold Serial.grad_in; fold N.
  replace (Z.to_nat (N - 1 - (s - 1))) with (Datatypes.S (Z.to_nat (N - 1 - s))) by lia; simpl.
  fold N; rewrite Z2Nat.id by lia; replace (N - 1 - (N - 1 - s)) with s by lia; reflexivity.
Qed.

(* ---- Exchanges ------------------------------------------------------------------------------- *)

Notation set_input := (set_input A T P S X V).
Notation set_grad_in := (set_grad_in A T P S X V).

(* With the previous stage, in a forward slot. *)
Lemma hop_up : forall kind dtype send recv u i rest Q m,
  kind = ZP_OP_META \/ kind = ZP_OP_P2P -> 0 < s ->
  (kind = ZP_OP_P2P -> 0 <= send ->
    m_grad_out _ _ _ _ _ _ m = serial_grad_in d t send (s - 1)) ->
  wp r rest Q (if negb (kind =? ZP_OP_P2P) then m else if 0 <=? recv then
    set_input (put (m_input _ _ _ _ _ _ m) (place recv) (serial_input d t recv s)) m else m) ->
  wp r (op_hop kind dtype s 0 send recv u i :: rest) Q m.
Proof.
  intros kind dtype send recv u i rest Q m K Hs Hg Hw; pose proof stage_bounds as B.
  assert (K1 : (kind =? ZP_OP_DECIDE) = false /\ (ZP_OP_FIRST_COMM <=? kind) = true)
    by (destruct K as [-> | ->]; split; reflexivity).
  cbn [Contract.wp]; unfold comm.
  change (o_if_stepped (op_hop _ _ _ _ _ _ _ _) =? 1) with false; cbn [andb].
  change (o_kind (op_hop kind dtype s 0 send recv u i)) with kind; destruct K1 as [-> ->].
  change (chan_of c (coord_of c r) (op_hop kind dtype s 0 send recv u i))
    with (Link (Z.min s (s - 1)) d t).
  replace (Z.min s (s - 1)) with (s - 1) by lia.
  change (content_of (op_hop kind dtype s 0 send recv u i)) with
    (Op kind ZP_WHAT_NONE ZP_GROUP_PP (-1) dtype ZP_RED_NONE (-1) (-1) (-1) (-1) 0 recv send (-1)
      0 0 0 0).
  cbn [Contract.sends Contract.gets o_kind o_mb o_recv_mb]; fold a; fold s; split.
  - split; [lia |]; split; [apply W |]; split; [apply W |]; intro E; split; [lia |].
    intros _; apply Hg; exact E.
  - intros n ->; replace (s =? s - 1) with false by (symmetry; apply Z.eqb_neq; lia).
    replace (s - 1 + 1) with s by lia; exact Hw.
Qed.

(* With the next stage, in a backward slot. *)
Lemma hop_down : forall kind dtype send recv u i rest Q m,
  kind = ZP_OP_META \/ kind = ZP_OP_P2P -> s < N - 1 ->
  (kind = ZP_OP_P2P -> 0 <= send -> m_output _ _ _ _ _ _ m = serial_input d t send (s + 1)) ->
  wp r rest Q (if negb (kind =? ZP_OP_P2P) then m else if 0 <=? recv then
    set_grad_in (serial_grad_in d t recv s) m else m) ->
  wp r (op_hop kind dtype s 1 send recv u i :: rest) Q m.
Proof.
  intros kind dtype send recv u i rest Q m K Hs Hg Hw; pose proof stage_bounds as B.
  assert (K1 : (kind =? ZP_OP_DECIDE) = false /\ (ZP_OP_FIRST_COMM <=? kind) = true)
    by (destruct K as [-> | ->]; split; reflexivity).
  cbn [Contract.wp]; unfold comm.
  change (o_if_stepped (op_hop _ _ _ _ _ _ _ _) =? 1) with false; cbn [andb].
  change (o_kind (op_hop kind dtype s 1 send recv u i)) with kind; destruct K1 as [-> ->].
  change (chan_of c (coord_of c r) (op_hop kind dtype s 1 send recv u i))
    with (Link (Z.min s (s + 1)) d t).
  replace (Z.min s (s + 1)) with s by lia.
  change (content_of (op_hop kind dtype s 1 send recv u i)) with
    (Op kind ZP_WHAT_NONE ZP_GROUP_PP (-1) dtype ZP_RED_NONE (-1) (-1) (-1) (-1) 0 send recv (-1)
      0 0 0 0).
  cbn [Contract.sends Contract.gets o_kind o_mb o_recv_mb]; fold a; fold s; split.
  - split; [fold N; lia |]; split; [apply W |]; split; [apply W |]; intro E; split; [| lia].
    intros _; apply Hg; exact E.
  - intros n ->; rewrite Z.eqb_refl; exact Hw.
Qed.

(* ---- Slots ----------------------------------------------------------------------------------- *)

Lemma same_slot : forall u m n, before_slot u m ->
  m_v _ _ _ _ _ _ n = m_v _ _ _ _ _ _ m -> m_param _ _ _ _ _ _ n = m_param _ _ _ _ _ _ m ->
  m_state _ _ _ _ _ _ n = m_state _ _ _ _ _ _ m -> m_sum _ _ _ _ _ _ n = m_sum _ _ _ _ _ _ m ->
  m_tape _ _ _ _ _ _ n = m_tape _ _ _ _ _ _ m -> m_output _ _ _ _ _ _ n = m_output _ _ _ _ _ _ m ->
  m_grad_out _ _ _ _ _ _ n = m_grad_out _ _ _ _ _ _ m ->
  m_stats _ _ _ _ _ _ n = m_stats _ _ _ _ _ _ m -> before_slot u n.
Proof.
  intros u m n H E1 E2 E3 E4 E5 E6 E7 E8; unfold before_slot, base, flow in *.
  rewrite E1, E2, E3, E4, E5, E6, E7, E8; exact H.
Qed.

(* A slot without micro-batch. *)
Lemma idle : forall u m, before_slot u m ->
  (forall mb, 0 <= mb < M -> ForwardTime s mb <> u) ->
  (forall mb, 0 <= mb < M -> BackwardTime N s mb <> u) ->
  forwards (u + 1) = forwards u -> backwards (u + 1) = backwards u -> before_slot (u + 1) m.
Proof.
  intros u m [B [[F1 [F2 F3]] [St Su]]] Nf Nb Ef Eb; unfold before_slot, flow; rewrite Ef, Eb.
  split; [exact B |]; split; [| split; assumption].
  repeat split; intros mb Hm H; [intro H' | | intro H'].
  - apply F1; [exact Hm | | lia]; specialize (Nf mb Hm); lia.
  - specialize (Nf mb Hm); lia.
  - specialize (Nb mb Hm); lia.
Qed.

Lemma forward_ok : forall u m mb, 0 <= mb < M -> u = ForwardTime s mb -> before_slot u m ->
  (0 < s -> m_input _ _ _ _ _ _ m (place mb) = serial_input d t mb s) ->
  before_slot (u + 1) (forward A T P S X V no_message fwd c a
    (op_micro ZP_OP_FORWARD mb (place mb) u 3) m).
Proof.
  intros u m mb Hm Hu [B [[F1 [F2 F3]] [St Su]]] In; pose proof stage_bounds as Bs.
  destruct (forward_counts N M s mb) as [K1 [K2 K3]]; unfold ForwardTime in Hu;
    rewrite <- Hu in K1, K2, K3.
  unfold forward; fold s; rewrite (values_are m B).
  change (o_slot (op_micro _ _ _ _ _)) with (place mb).
  change (o_mb (op_micro _ _ _ _ _)) with mb.
  replace (if s =? 0 then no_message else m_input A T P S X V m (place mb))
    with (serial_input d t mb s).
  2: { destruct (Z.eqb_spec s 0) as [E|E]; [unfold Serial.input; rewrite E; reflexivity |].
       symmetry; apply In; lia. }
  replace (fwd a (m_v A T P S X V m) (stage_values P S V c z s d t) (serial_input d t mb s) mb)
    with (stage_forward d t mb s (serial_input d t mb s)).
  2: { unfold Serial.stage_forward; rewrite (proj1 B).
       replace (Coord s d t) with a by (apply coord_eta); reflexivity. }
  split; [exact B |]; split; [| split].
  - unfold flow; repeat split; unfold ForwardTime, BackwardTime in *;
    cbn [m_tape m_output m_grad_out set_forward].
    + intros mb' Hm' H1 H2; unfold put.
      destruct (Z.eq_dec mb' mb) as [->|D]; [rewrite Z.eqb_refl; reflexivity |].
      replace (place mb' =? place mb) with false; [apply F1; lia |].
      symmetry; apply Z.eqb_neq, rem_apart; unfold Places; fold N M; [lia |].
      destruct (Z.ltb_spec (N - s) M); lia.
    + intros mb' Hm' H1; assert (mb' = mb) as -> by lia; symmetry; apply next_input.
    + intros mb' Hm' H1; lia.
  - intro w; cbn [m_stats set_forward]; rewrite St.
    rewrite K2, K1.
    replace (Z.max 0 (Z.min M (mb + 1))) with (mb + 1) by lia.
    replace (Z.max 0 (Z.min M mb)) with mb by lia.
    rewrite range_snoc, sigma_app by lia; simpl; rewrite Z.add_0_r; reflexivity.
  - cbn [m_sum set_forward]; rewrite K3; exact Su.
Qed.

Lemma backward_ok : forall u m mb, 0 <= mb < M -> u = BackwardTime N s mb -> before_slot u m ->
  (s < N - 1 -> m_grad_in _ _ _ _ _ _ m = serial_grad_in d t mb s) ->
  let n := backward A T P S X V no_message bwd c a
    (op_micro ZP_OP_BACKWARD mb (place mb) u 3) m in
  base n /\ flow (u + 1) n /\
  (forall w, m_stats _ _ _ _ _ _ n w =
    sigma (range 0 (forwards (u + 1))) (fun mb => loss_words d t mb s w)) /\
  sums_after mb (m_sum _ _ _ _ _ _ n) /\ backwards (u + 1) = mb + 1 /\
  arrives A T P S X V no_message fwd bwd c z r mb n.
Proof.
  intros u m mb Hm Hu [B [[F1 [F2 F3]] [St Su]]] In n; pose proof stage_bounds as Bs.
  destruct (backward_counts N M s mb) as [K1 [K2 K3]]; unfold BackwardTime in Hu;
    rewrite <- Hu in K1, K2, K3.
  subst n; unfold backward; fold s; rewrite (values_are m B).
  change (o_slot (op_micro _ _ _ _ _)) with (place mb).
  change (o_mb (op_micro _ _ _ _ _)) with mb; fold N.
  replace (if s =? N - 1 then no_message else m_grad_in A T P S X V m)
    with (serial_grad_in d t mb s).
  2: { destruct (Z.eqb_spec s (N - 1)) as [E|E]; [| symmetry; apply In; lia].
       unfold Serial.grad_in; fold N; replace (N - 1 - s) with 0 by lia; reflexivity. }
  rewrite (F1 mb Hm) by (unfold ForwardTime, BackwardTime; lia).
  replace (bwd a (m_v A T P S X V m) (stage_values P S V c z s d t) (serial_tape d t mb s)
      (serial_grad_in d t mb s) mb)
    with (stage_backward d t mb s (serial_grad_in d t mb s)).
  2: { unfold Serial.stage_backward; rewrite (proj1 B).
       replace (Coord s d t) with a by (apply coord_eta); reflexivity. }
  split; [exact B |]; split; [| split; [| split; [| split]]].
  - unfold flow; repeat split; unfold ForwardTime, BackwardTime in *;
    cbn [m_tape m_output m_grad_out set_backward].
    + intros mb' Hm' H1 H2; apply F1; lia.
    + intros mb' Hm' H1; lia.
    + intros mb' Hm' H1 Hs; assert (mb' = mb) as -> by lia; symmetry; apply next_grad; exact Hs.
  - intro w; cbn [m_stats set_backward]; rewrite St, K3; reflexivity.
  - cbn [m_sum set_backward]; replace mb with (backwards u) at 1; [exact Su | rewrite K1; lia].
  - rewrite K2; lia.
  - intros j x D; cbn [m_arrived set_backward]; unfold Serial.contribution.
    rewrite (proj2 (stage_of c C s j (proj1 D))); reflexivity.
Qed.

Notation set_sum := (set_sum A T P S X V).
Notation set_bucket := (set_bucket A T P S X V).

(* The exchange of the forward slot u = 2 q + s. *)
Lemma exchange_up : forall u q m, u = 2 * q + s -> before_slot u m ->
  wp r (exchange_ops (c_dynamic_shapes c) s 0
      (if 0 <? s then HalfOf M (2 * (q + s - N)) else -1) (if 0 <? s then HalfOf M (2 * q) else -1)
        u)
    (fun n => before_slot u n /\
      (0 <= q < M -> 0 < s -> m_input _ _ _ _ _ _ n (place q) = serial_input d t q s)) m.
Proof.
  intros u q m Hu H; destruct (Z.ltb_spec 0 s) as [L|L].
  2: { split; [exact H | lia]. }
  rewrite !half_even; set (send := if (0 <=? q + s - N) && (q + s - N <? M) then q + s - N else -1).
  set (recv := if (0 <=? q) && (q <? M) then q else -1).
  assert (Rv : 0 <= q < M -> recv = q).
  { intro B; unfold recv; replace (0 <=? q) with true by (symmetry; apply Z.leb_le; lia).
    replace (q <? M) with true by (symmetry; apply Z.ltb_lt; lia); reflexivity. }
  assert (Sd : 0 <= send -> send = q + s - N /\ 0 <= send < M).
  { unfold send; destruct (Z.leb_spec 0 (q + s - N)); destruct (Z.ltb_spec (q + s - N) M);
      cbn [andb]; lia. }
  unfold exchange_ops; destruct ((send <? 0) && (recv <? 0))%bool eqn:Ng; cbn [negb if_ops].
  { split; [exact H |]; intros B _; apply andb_true_iff in Ng; rewrite !Z.ltb_lt in Ng.
    specialize (Rv B); lia. }
  assert (G : wp r [op_hop ZP_OP_P2P (-1) s 0 send recv u 1] (fun n => before_slot u n /\
    (0 <= q < M -> 0 < s -> m_input _ _ _ _ _ _ n (place q) = serial_input d t q s)) m).
  { apply hop_up; [right; reflexivity | exact L | |].
    - intros _ B; destruct (Sd B) as [-> B']; destruct H as [_ [[_ [_ F]] _]].
      apply F; [lia | unfold BackwardTime; lia | exact L].
    - cbn [Contract.wp negb]; change (ZP_OP_P2P =? ZP_OP_P2P) with true; cbn [negb]; split.
      + destruct (0 <=? recv); [| exact H]; apply same_slot with m; try exact H; reflexivity.
      + intros B _; rewrite (Rv B); replace (0 <=? q) with true by (symmetry; apply Z.leb_le; lia).
        cbn [m_input Meaning.set_input]; unfold put; rewrite Z.eqb_refl; reflexivity. }
  destruct (MetaLen _ _ _ _ =? 1); cbn [if_ops app]; [| exact G].
  change (if 0 =? 0 then -1 else send) with (-1); change (if 0 =? 0 then recv else -1) with recv.
  apply hop_up; [left; reflexivity | exact L | discriminate | exact G].
Qed.

(* The exchange of the backward slot u = 2 q + 2 N - 1 - s. *)
Lemma exchange_down : forall u q m, u = 2 * q + 2 * N - 1 - s -> before_slot u m ->
  wp r (exchange_ops (c_dynamic_shapes c) s 1
      (if s <? N - 1 then HalfOf M (2 * (q + N - 1 - s)) else -1)
      (if s <? N - 1 then HalfOf M (2 * q) else -1) u)
    (fun n => before_slot u n /\
      (0 <= q < M -> s < N - 1 -> m_grad_in _ _ _ _ _ _ n = serial_grad_in d t q s)) m.
Proof.
  intros u q m Hu H; destruct (Z.ltb_spec s (N - 1)) as [L|L].
  2: { split; [exact H | lia]. }
  rewrite !half_even; set (h := q + N - 1 - s).
  set (send := if (0 <=? h) && (h <? M) then h else -1).
  set (recv := if (0 <=? q) && (q <? M) then q else -1).
  assert (Rv : 0 <= q < M -> recv = q).
  { intro B; unfold recv; replace (0 <=? q) with true by (symmetry; apply Z.leb_le; lia).
    replace (q <? M) with true by (symmetry; apply Z.ltb_lt; lia); reflexivity. }
  assert (Sd : 0 <= send -> send = h /\ 0 <= send < M).
  { unfold send; destruct (Z.leb_spec 0 h); destruct (Z.ltb_spec h M); cbn [andb]; lia. }
  unfold exchange_ops; destruct ((send <? 0) && (recv <? 0))%bool eqn:Ng; cbn [negb if_ops].
  { split; [exact H |]; intros B _; apply andb_true_iff in Ng; rewrite !Z.ltb_lt in Ng.
    specialize (Rv B); lia. }
  assert (G : wp r [op_hop ZP_OP_P2P (-1) s 1 send recv u 1] (fun n => before_slot u n /\
    (0 <= q < M -> s < N - 1 -> m_grad_in _ _ _ _ _ _ n = serial_grad_in d t q s)) m).
  { apply hop_down; [right; reflexivity | exact L | |].
    - intros _ B; destruct (Sd B) as [E B']; rewrite E; destruct H as [_ [[_ [F _]] _]].
      apply F; [lia | unfold ForwardTime, h; lia].
    - cbn [Contract.wp]; change (ZP_OP_P2P =? ZP_OP_P2P) with true; cbn [negb]; split.
      + destruct (0 <=? recv); [| exact H]; apply same_slot with m; try exact H; reflexivity.
      + intros B _; rewrite (Rv B); replace (0 <=? q) with true by (symmetry; apply Z.leb_le; lia).
        reflexivity. }
  destruct (MetaLen _ _ _ _ =? 1); cbn [if_ops app]; [| exact G].
  change (if 1 =? 0 then -1 else send) with send; change (if 1 =? 0 then recv else -1) with (-1).
  apply hop_down; [left; reflexivity | exact L | discriminate | exact G].
Qed.

Lemma wp_local : forall o rest Q m, o_if_stepped o = 0 -> (o_kind o =? ZP_OP_DECIDE) = false ->
  comm o = false ->
  wp r rest Q (local_op A T P S X V no_message fwd bwd mean words update round c a o m) ->
  wp r (o :: rest) Q m.
Proof.
  intros o rest Q m I K L H; cbn [Contract.wp]; rewrite I, K, L; exact H.
Qed.

Lemma forward_slot : forall u q m, u = 2 * q + s -> before_slot u m ->
  wp r (slot_ops c (layout_of c s) u) (before_slot (u + 1)) m.
Proof.
  intros u q m Hu H; pose proof stage_bounds as Bs; unfold slot_ops.
  change (l_stage (layout_of c s)) with s; fold N M.
  assert (Bw : BackwardSlot s u = 0).
  { unfold BackwardSlot; replace (u + s) with ((q + s) * 2) by lia; apply Z.rem_mul; lia. }
  rewrite Bw; cbn [Z.eqb andb if_ops]; rewrite app_nil_r; unfold head_ops; rewrite Bw.
  unfold Sent, Received, Computed; rewrite Bw; cbn [Z.eqb Pos.eqb].
  unfold ForwardAt, BackwardAt.
  replace (u - 1 + s + 1 - 2 * N) with (2 * (q + s - N)) by lia.
  replace (u - s) with (2 * q) by lia; fold N M.
  eapply wp_seq; [apply exchange_up; eassumption |]; intros n [Hn In].
  unfold compute_ops; rewrite half_even.
  destruct (forward_counts N M s q) as [K1 [K2 K3]]; rewrite <- Hu in K1, K2, K3.
  destruct (Z.leb_spec 0 q) as [Q0|Q0]; [destruct (Z.ltb_spec q M) as [QM|QM] |]; cbn [andb].
  2, 3: cbn [Z.leb Z.compare if_ops Contract.wp]; apply idle; try exact Hn; try exact K3;
    unfold ForwardTime, BackwardTime; intros; lia.
  rewrite (proj2 (Z.leb_le _ _) Q0); cbn [if_ops Z.eqb].
  assert (G : wp r [op_micro ZP_OP_FORWARD q (place q) u 3] (before_slot (u + 1)) n).
  { apply wp_local; try reflexivity; cbn [Contract.wp].
    change (local_op A T P S X V no_message fwd bwd mean words update round c a
      (op_micro ZP_OP_FORWARD q (place q) u 3) n) with
      (forward A T P S X V no_message fwd c a (op_micro ZP_OP_FORWARD q (place q) u 3) n).
    apply forward_ok; [lia | exact Hu | exact Hn | apply In; lia]. }
  unfold forward_ops; destruct (_ =? 1); cbn [if_ops app]; [| exact G].
  apply wp_local; try reflexivity; exact G.
Qed.

Lemma set_same : forall m : mem,
  m = set_sum (m_sum _ _ _ _ _ _ m) (set_bucket (m_bucket _ _ _ _ _ _ m) m).
Proof. intros []; reflexivity. Qed.

Lemma backward_slot : forall u q m, 0 <= u -> u = 2 * q + 2 * N - 1 - s -> before_slot u m ->
  wp r (slot_ops c (layout_of c s) u) (before_slot (u + 1)) m.
Proof.
  intros u q m P0 Hu H; pose proof stage_bounds as Bs; unfold slot_ops.
  change (l_stage (layout_of c s)) with s; fold N M.
  assert (Bw : BackwardSlot s u = 1).
  { unfold BackwardSlot; replace (u + s) with (1 + (q + N - 1) * 2) by lia.
    rewrite Z.rem_mod_nonneg by lia; rewrite Z.mod_add by lia; reflexivity. }
  rewrite Bw; cbn [Z.eqb Pos.eqb andb]; unfold head_ops; rewrite Bw.
  unfold Sent, Received, Computed; rewrite Bw; cbn [Z.eqb Pos.eqb].
  unfold ForwardAt, BackwardAt.
  replace (u - 1 - s) with (2 * (q + N - 1 - s)) by lia.
  replace (u + s + 1 - 2 * N) with (2 * q) by lia; fold N M.
  rewrite <- app_assoc.
  eapply wp_seq; [apply exchange_down; eassumption |]; intros n [Hn In].
  unfold compute_ops; rewrite half_even.
  destruct (backward_counts N M s q) as [K1 [K2 K3]]; rewrite <- Hu in K1, K2, K3.
  destruct (Z.leb_spec 0 q) as [Q0|Q0]; [destruct (Z.ltb_spec q M) as [QM|QM] |]; cbn [andb].
  2, 3: cbn [Z.leb Z.compare if_ops app Contract.wp]; apply idle; try exact Hn; try exact K3;
    unfold ForwardTime, BackwardTime; intros; lia.
  rewrite (proj2 (Z.leb_le _ _) Q0); cbn [if_ops Z.eqb Pos.eqb]; unfold backward_ops; cbn [app].
  apply wp_local; try reflexivity.
  change (local_op A T P S X V no_message fwd bwd mean words update round c a
    (op_micro ZP_OP_BACKWARD q (place q) u 3) n) with
    (backward A T P S X V no_message bwd c a (op_micro ZP_OP_BACKWARD q (place q) u 3) n).
  destruct (backward_ok u n q ltac:(lia) Hu Hn ltac:(intro; apply In; lia))
    as [N1 [N2 [N3 [N4 [N5 N6]]]]].
  set (n' := backward A T P S X V no_message bwd c a (op_micro ZP_OP_BACKWARD q (place q) u 3) n)
    in *.
  apply wp_local; try reflexivity.
  change (local_op A T P S X V no_message fwd bwd mean words update round c a
    (op_micro ZP_OP_ARRIVED q (-1) u 4) n') with n'.
  rewrite (set_same n').
  eapply wp_imp; [| apply entries_ok; try eassumption; lia].
  intros m' [f' [g' [-> Su]]]; unfold before_slot; rewrite N5; repeat split; try apply N1;
    try apply N2; [exact N3 | exact Su].
Qed.

Lemma first_slot : forall m, base m -> (forall w, m_stats _ _ _ _ _ _ m w = 0) -> before_slot 0 m.
Proof.
  intros m B St; pose proof stage_bounds as Bs; pose proof (pr_mb c C) as M1; fold M in M1.
  assert (F0 : forwards 0 = 0).
  { unfold forwards_before; assert ((0 - s + 1) / 2 < 1) by (apply Z.div_lt_upper_bound; lia);
    lia. }
  assert (B0 : backwards 0 = 0).
  { unfold backwards_before.
    assert ((0 + s + 2 - 2 * N) / 2 < 1) by (apply Z.div_lt_upper_bound; lia); lia. }
  split; [exact B |]; split; [| split].
  - unfold flow, ForwardTime, BackwardTime; repeat split; intros; lia.
  - intro w; rewrite St, F0; reflexivity.
  - rewrite B0; intros j x b L; cbv zeta; destruct (_ =? 2); [lia |]; fold M; split; lia.
Qed.

(* After the pipeline. *)
Definition piped (m : mem) : Prop :=
  base m /\
  (forall w, m_stats _ _ _ _ _ _ m w = sigma (range 0 M) (fun mb => loss_words d t mb s w)) /\
  sums_after M (m_sum _ _ _ _ _ _ m).

Theorem pipeline_ok : forall m, base m -> (forall w, m_stats _ _ _ _ _ _ m w = 0) ->
  wp r (pipeline_ops c (layout_of c s)) piped m.
Proof.
  intros m B St; pose proof stage_bounds as Bs; pose proof (pr_mb c C) as M1; fold M in M1.
  unfold pipeline_ops; fold N M; apply wp_imp with (Q := before_slot (Slots N M)).
  - intros n [Bn [_ [Sn Un]]]; split; [exact Bn |].
    assert (F0 : forwards (Slots N M) = M).
    { unfold forwards_before, Slots.
      assert (M <= (2 * (M + N - 1) - s + 1) / 2) by (apply Z.div_le_lower_bound; lia); lia. }
    assert (B0 : backwards (Slots N M) = M).
    { unfold backwards_before, Slots.
      assert (M <= (2 * (M + N - 1) + s + 2 - 2 * N) / 2) by (apply Z.div_le_lower_bound; lia);
        lia. }
    rewrite F0 in Sn; rewrite B0 in Un; split; assumption.
  - apply wp_loop; [unfold Slots; lia | | apply first_slot; assumption].
    intros u n Hu Hn; pose proof (Z.div_mod (u + s) 2 ltac:(lia)) as D.
    pose proof (Z.mod_pos_bound (u + s) 2 ltac:(lia)).
    set (h := (u + s) / 2) in *; destruct (Z.eq_dec ((u + s) mod 2) 0) as [E|E].
    + apply forward_slot with (h - s); [lia | exact Hn].
    + apply backward_slot with (h - N + 1); [lia | lia | exact Hn].
Qed.

End Pipeline.
