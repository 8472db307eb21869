(* What members of a communication guarantee each other in STEP, and the ops of one rank checked
   against it. spec: RED-2, RED-4, STAT-2, STEP-8, PIPE-3, TIE-1

   sends and gets are the contract of Assertions.v: they relate a rank's memory before and after a
   communication to the serial loop. wp is `checks` for lists of the planner's ops. *)

Require Import Bool List Arith ZArith Lia Sorted.
Require Import ZP.Op ZP.OpOf ZP.Plan ZP.PlanFacts ZP.Sums ZP.MeaningChannels ZP.Meaning ZP.Serial.
Require Import ZP.MeaningLayout.
Require ZP.Program ZP.Assertions.
Import ListNotations.
Open Scope Z_scope.

(* ---- Elements of a stage --------------------------------------------------------------------- *)

(* Entry j is on stage s and trained. *)
Definition trained (c : config) (s j : Z) : Prop :=
  StageFirst c s <= j < StageEnd c s /\ p_frozen (entry c j) = 0.

(* Its flat group, and the position of its element e in bucket b. *)
Definition number_of (c : config) (s j : Z) : Z := FlatOf c (StageEnd c s) j.
Definition group_of (c : config) (s j : Z) : flat := flat_in c s (number_of c s j).
Definition place_of (c : config) (s j e b : Z) : Z :=
  StartOf c (StageEnd c s) j + e - b * f_capacity (group_of c s j).

(* Element e of the trained entry j is in bucket b of its flat group. *)
Definition lies (c : config) (s j e b : Z) : Prop :=
  trained c s j /\ 0 <= e < p_numel (entry c j) /\
  in_bucket (group_of c s j) b (StartOf c (StageEnd c s) j + e) = true.

(* Does the rank at a own position y of bucket b: at ZeRO stage 0 all, else its part? *)
Definition owns (c : config) (a : coord) (f : flat) (b y : Z) : bool :=
  (c_stage c =? 0) || in_part f b (group_index c a f) y.

Definition within (c : config) (a : coord) : Prop :=
  0 <= a_pp a < c_pp c /\ 0 <= a_dp a < c_dp c /\ 0 <= a_tp a < c_tp c.

Section Contract.

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

Notation mem := (mem A T P S X V).
Notation serial_input := (input A T P S V no_message fwd c z).
Notation serial_grad_in := (grad_in A T P S V no_message fwd bwd c z).
Notation contribution := (contribution A T P S V no_message fwd bwd c z).
Notation serial_sum := (serial_sum A T P S V no_message fwd bwd c z).
Notation use_sum := (use_sum A T P S V no_message fwd bwd c z).
Notation loss_words := (loss_words A T P S V no_message fwd c z).
Notation serial_words := (serial_words A T P S X V no_message fwd bwd mean words c z).
Notation serial_go := (serial_go A T P S X V no_message fwd bwd mean words go c z).
Notation new_state := (new_state A T P S X V no_message fwd bwd mean words update c z).

(* The sum of a rank's own contributions in the first n micro-batches. *)
Definition own_sum (n d t j e : Z) : Z := sigma (range 0 n) (fun mb => contribution d t mb j e).

(* The parameter after an update, as the rank at (d, t) stores it. *)
Definition new_param (d t j e : Z) : P :=
  round (p_fp32 (entry c j)) (new_state (first_use c j) e t (copy_of c j d)).

(* The statistics of one rank. *)
Definition element_words (a : coord) (j e w : Z) : Z :=
  words (mean (serial_sum (first_use c j) e (a_tp a) (copy_of c j (a_dp a)))) w.
Definition entry_words (a : coord) (j w : Z) : Z :=
  let s := a_pp a in
  let f := group_of c s j in
  sigma (range 0 (p_numel (entry c j))) (fun e =>
    let x := StartOf c (StageEnd c s) j + e in
    let b := x / f_capacity f in
    if in_part f b (group_index c a f) (x - b * f_capacity f) then element_words a j e w else 0).
Definition rank_words (a : coord) (w : Z) : Z :=
  let s := a_pp a in
  sigma (range 0 (c_micro_batches c)) (fun mb => loss_words (a_dp a) (a_tp a) mb s w) +
  sigma (range (StageFirst c s) (StageEnd c s)) (fun j =>
    if (p_frozen (entry c j) =? 0) && (storage c j =? j) && counts c s (a_tp a) (entry c j)
    then entry_words a j w else 0).

(* ---- The contract ---------------------------------------------------------------------------- *)

(* Before a reduction a bucket holds the rank's own contributions: at ZeRO stage 2 of the
   micro-batch, else of all. *)
Definition sends_gradient (a : coord) (g : Z) (x : op) (m : mem) : Prop :=
  let s := a_pp a in
  exists dtype k mb t i b,
    x = content_of (op_reduction (c_stage c) (c_reduce c) dtype k (flat_in c s k) mb t i b) /\
    g = f_group (flat_in c s k) /\ dtype <> ZP_I64 /\ 0 <= b /\
    forall j e, lies c s j e b -> number_of c s j = k ->
      if c_stage c =? 2
      then m_bucket _ _ _ _ _ _ m k (o_slot x) (place_of c s j e b) =
        contribution (a_dp a) (a_tp a) mb j e
      else m_sum _ _ _ _ _ _ m k b (place_of c s j e b) =
        own_sum (c_micro_batches c) (a_dp a) (a_tp a) j e.

Definition sends_statistics (a : coord) (g : Z) (x : op) (m : mem) : Prop :=
  (exists t, x = content_of (op_statistics t)) /\ g = ZP_GROUP_WORLD /\
  forall w, m_stats _ _ _ _ _ _ m w = rank_words a w.

(* Before a gather the rank's part of the bucket is updated and rounded. *)
Definition sends_parameters (a : coord) (g : Z) (x : op) (m : mem) : Prop :=
  let s := a_pp a in
  exists dtype k t i b, let f := flat_in c s k in
    x = content_of (op_on_bucket ZP_OP_ALL_GATHER ZP_WHAT_PARAMETER (f_group f) (-1) dtype
      ZP_RED_NONE k b 1 (part f b) t i) /\
    g = f_group f /\ dtype <> ZP_I64 /\ 0 <= k /\ 0 <= b /\
    forall j e, lies c s j e b -> number_of c s j = k ->
      in_part f b (group_index c a f) (place_of c s j e b) = true -> storage c j = j ->
      m_rounded _ _ _ _ _ _ m (place_of c s j e b) = new_param (a_dp a) (a_tp a) j e.

(* Before a tied all-reduce the bucket of each use of the key on this stage holds the use's sum. *)
Definition sends_tied (a : coord) (g key : Z) (x : op) (m : mem) : Prop :=
  let s := a_pp a in
  exists k t b, let f := flat_in c s k in
    x = content_of (op_tied (f_numel f) (f_capacity f) (f_members f) (f_align f) (c_stage c)
      (c_reduce c) key k t b) /\
    g = ZP_GROUP_TIED /\ 0 <= key < c_tied_keys c /\
    holder (layout_of c s) key = Some (k, f) /\ 0 <= b < BucketsOf f /\
    forall j e, lies c s j e b -> p_tied (entry c j) = key ->
      owns c a (group_of c s j) b (place_of c s j e b) = true ->
      m_sum _ _ _ _ _ _ m (number_of c s j) b (place_of c s j e b) =
        use_sum (c_micro_batches c) j e (a_tp a) (copy_of c j (a_dp a)).

Definition sends (r : nat) (h : chan) (x : op) (m : mem) : Prop :=
  let a := coord_of c r in
  match h with
  | Link l d t =>
      0 <= l < c_pp c - 1 /\ 0 <= d < c_dp c /\ 0 <= t < c_tp c /\
      (o_kind x = ZP_OP_P2P ->
        (a_pp a = l -> 0 <= o_mb x ->
          m_output _ _ _ _ _ _ m = serial_input d t (o_mb x) (l + 1)) /\
        (a_pp a = l + 1 -> 0 <= o_recv_mb x ->
          m_grad_out _ _ _ _ _ _ m = serial_grad_in d t (o_recv_mb x) l))
  | Group g key first =>
      first = first_member c g key a /\ within c a /\
      (key = -1 /\
       (sends_gradient a g x m \/ sends_statistics a g x m \/ sends_parameters a g x m) \/
       sends_tied a g key x m)
  end.

Definition gets_gradient (a : coord) (x : op) (m n : mem) : Prop :=
  let s := a_pp a in
  let k := o_flat x in
  let b := o_bucket x in
  exists f, n = set_sum _ _ _ _ _ _ f m /\
    (forall k' b' y, k' <> k \/ b' <> b -> f k' b' y = m_sum _ _ _ _ _ _ m k' b' y) /\
    forall j e, lies c s j e b -> number_of c s j = k ->
      owns c a (flat_in c s k) b (place_of c s j e b) = true ->
      f k b (place_of c s j e b) =
      if c_stage c =? 2 then
        (if o_mb x =? 0 then 0 else m_sum _ _ _ _ _ _ m k b (place_of c s j e b)) +
        sigma (range 0 (c_dp c)) (fun d =>
          if copy_of c j d =? copy_of c j (a_dp a) then contribution d (a_tp a) (o_mb x) j e else 0)
      else use_sum (c_micro_batches c) j e (a_tp a) (copy_of c j (a_dp a)).

Definition gets_statistics (m n : mem) : Prop :=
  exists f, n = set_agreed _ _ _ _ _ _ f m /\ forall w, 0 <= w < ZP_STATS -> f w = serial_words w.

Definition gets_parameters (a : coord) (x : op) (m n : mem) : Prop :=
  let s := a_pp a in
  exists f, n = set_param _ _ _ _ _ _ f m /\
    forall j e, StageFirst c s <= j < StageEnd c s -> 0 <= e < p_numel (entry c j) ->
      (number_of c s j = o_flat x -> lies c s j e (o_bucket x) -> storage c j = j ->
        f j e = new_param (a_dp a) (a_tp a) j e) /\
      (number_of c s j <> o_flat x \/ ~ lies c s j e (o_bucket x) ->
        f j e = m_param _ _ _ _ _ _ m j e).

(* Afterwards the storage of the key holds the sum over all its uses. *)
Definition gets_tied (a : coord) (x : op) (m n : mem) : Prop :=
  let s := a_pp a in
  let b := o_bucket x in
  exists f, n = set_sum _ _ _ _ _ _ f m /\
    forall j e b', lies c s j e b' ->
      (p_tied (entry c j) = o_key x -> b' = b -> storage c j = j ->
       owns c a (group_of c s j) b (place_of c s j e b) = true ->
       f (number_of c s j) b (place_of c s j e b) =
         serial_sum (first_use c j) e (a_tp a) (copy_of c j (a_dp a))) /\
      (p_tied (entry c j) <> o_key x \/ b' <> b \/ storage c j <> j ->
       f (number_of c s j) b' (place_of c s j e b') =
         m_sum _ _ _ _ _ _ m (number_of c s j) b' (place_of c s j e b')).

Definition gets (r : nat) (h : chan) (x : op) (m n : mem) : Prop :=
  let a := coord_of c r in
  match h with
  | Link l d t =>
      n = if negb (o_kind x =? ZP_OP_P2P) then m
          else if a_pp a =? l then
            if 0 <=? o_recv_mb x
            then set_grad_in _ _ _ _ _ _ (serial_grad_in d t (o_recv_mb x) l) m else m
          else if 0 <=? o_mb x then
            set_input _ _ _ _ _ _ (put (m_input _ _ _ _ _ _ m)
              (Z.rem (o_mb x) (Places (c_pp c) (c_micro_batches c) (a_pp a)))
              (serial_input d t (o_mb x) (l + 1))) m
          else m
  | Group _ _ _ =>
      (o_what x = ZP_WHAT_GRADIENT -> gets_gradient a x m n) /\
      (o_what x = ZP_WHAT_STATISTICS -> gets_statistics m n) /\
      (o_what x = ZP_WHAT_PARAMETER -> gets_parameters a x m n) /\
      (o_what x = ZP_WHAT_TIED -> gets_tied a x m n)
  end.

(* ---- One rank's ops -------------------------------------------------------------------------- *)

Notation local_op := (local_op A T P S X V no_message fwd bwd mean words update round c).
Notation statistics := (statistics A T P S X V).

Fixpoint wp (r : nat) (p : list op) (Q : mem -> Prop) (m : mem) : Prop :=
  match p with
  | [] => Q m
  | o :: rest =>
      if (o_if_stepped o =? 1) && negb serial_go then wp r rest Q m
      else if o_kind o =? ZP_OP_DECIDE then
        go (m_v _ _ _ _ _ _ m) (statistics m) = serial_go /\ wp r rest Q m
      else if comm o then
        let h := chan_of c (coord_of c r) o in
        sends r h (content_of o) m /\ forall n, gets r h (content_of o) m n -> wp r rest Q n
      else wp r rest Q (local_op (coord_of c r) o m)
  end.

Lemma wp_imp : forall r p (Q R : mem -> Prop), (forall m, Q m -> R m) ->
  forall m, wp r p Q m -> wp r p R m.
Proof.
  induction p as [|o p IH]; intros Q R H m W; [apply H; exact W |]; simpl in *.
  destruct (_ && _)%bool; [eapply IH; eassumption |].
  destruct (_ =? _); [destruct W; split; [assumption | eapply IH; eassumption] |].
  destruct (comm o); [destruct W as [W W']; split; [exact W |]; intros n G;
    eapply IH; [exact H | apply W'; exact G] | eapply IH; eassumption].
Qed.

Lemma wp_app : forall r p q Q m, wp r p (wp r q Q) m -> wp r (p ++ q) Q m.
Proof.
  induction p as [|o p IH]; intros q Q m W; [exact W |]; simpl in *.
  destruct (_ && _)%bool; [apply IH; exact W |].
  destruct (_ =? _); [destruct W; split; [assumption | apply IH; assumption] |].
  destruct (comm o); [destruct W as [W W']; split; [exact W |]; intros n G; apply IH, W', G |].
  apply IH; exact W.
Qed.

Lemma wp_seq : forall r p q R Q m, wp r p R m -> (forall n, R n -> wp r q Q n) ->
  wp r (p ++ q) Q m.
Proof. intros; apply wp_app; eapply wp_imp; eassumption. Qed.

(* A loop over lo ... hi - 1 with an invariant. *)
Lemma wp_loop : forall r (f : Z -> list op) (I : Z -> mem -> Prop) lo hi, lo <= hi ->
  (forall x m, lo <= x < hi -> I x m -> wp r (f x) (I (x + 1)) m) ->
  forall m, I lo m -> wp r (flat_map f (range lo hi)) (I hi) m.
Proof.
  intros r f I lo hi H; replace hi with (lo + (hi - lo)) by lia.
  assert (B : 0 <= hi - lo) by lia; revert B; generalize (hi - lo); clear hi H.
  apply (natlike_ind (fun n => (forall x m, lo <= x < lo + n -> I x m -> wp r (f x) (I (x + 1)) m)
    ->
    forall m, I lo m -> wp r (flat_map f (range lo (lo + n))) (I (lo + n)) m)).
  - intros _ m Hm; rewrite range_empty by lia; rewrite Z.add_0_r; exact Hm.
  - intros n Hn IH Step m Hm; rewrite <- Z.add_1_r, Z.add_assoc, range_snoc, flat_map_app by lia.
    apply wp_seq with (R := I (lo + n)).
    + apply IH; [intros; apply Step; [lia | assumption] | exact Hm].
    + intros m' Hm'; simpl; rewrite app_nil_r; apply Step; [lia | exact Hm'].
Qed.

(* Ops marked if_stepped have no effect in a skipped step. *)
Lemma wp_skipped : forall r p (Q : mem -> Prop) m, serial_go = false ->
  Forall (fun o => o_if_stepped o = 1) p -> Q m -> wp r p Q m.
Proof.
  induction p as [|o p IH]; intros Q m G F H; [exact H |]; inversion F as [| ? ? E]; subst; simpl.
  rewrite E, G; simpl; apply IH; assumption.
Qed.

(* ---- As Assertions.v needs it ---------------------------------------------------------------- *)

Notation compute := (compute A T P S X V no_message fwd bwd mean words update round c).
Notation checks :=
  (Assertions.checks chan op mem (Meaning.decide A T P S X V go) compute sends gets serial_go).

Lemma found : forall (p : list op) o, StronglySorted Program.before
    (map (Program.at_clock chan op) (map (synchronized c (coord_of c 0)) p)) ->
  In o p -> op_with (o_clock_t o, o_clock_i o) p = Some o.
Proof.
  induction p as [|q p IH]; intros o S1 I; [contradiction |]; simpl in *.
  inversion S1 as [| ? ? S2 F]; subst; unfold op_with; simpl.
  destruct I as [-> | I]; [rewrite !Z.eqb_refl; reflexivity |].
  rewrite Forall_forall in F.
  specialize (F (o_clock_t o, o_clock_i o)); unfold Program.before in F; simpl in F.
  assert (B : o_clock_t q < o_clock_t o \/ o_clock_t q = o_clock_t o /\ o_clock_i q < o_clock_i o).
  { apply F; rewrite map_map; apply in_map_iff; exists o; split; [reflexivity | exact I]. }
  replace ((o_clock_t q =? o_clock_t o) && (o_clock_i q =? o_clock_i o))%bool with false;
    [apply IH; assumption |].
  symmetry; apply andb_false_iff; rewrite !Z.eqb_neq; lia.
Qed.

Lemma wp_checks : forall r Q m,
  StronglySorted Program.before (map (Program.at_clock chan op) (rank_program c r)) ->
  wp r (step_of c r) Q m -> checks r (Program.resolve chan op serial_go (rank_program c r)) Q m.
Proof.
  intros r Q m S1.
  assert (L : forall o, In o (step_of c r) ->
    op_with (o_clock_t o, o_clock_i o) (step_of c r) = Some o).
  { intros o; apply found; unfold rank_program in S1; rewrite map_map in *; exact S1. }
  unfold rank_program; revert L; generalize (step_of c r) at 1 3 4; intros p L; revert m L.
  induction p as [|o p IH]; intros m L W; [exact W |]; simpl in W |- *.
  assert (L' : forall q, In q p -> op_with (o_clock_t q, o_clock_i q) (step_of c r) = Some q)
    by (intros; apply L; right; assumption).
  assert (K : Program.what chan op (synchronized c (coord_of c r) o) <> Program.End _ _).
  { unfold synchronized; cbn [Program.what]; destruct (o_kind o =? ZP_OP_DECIDE); [discriminate |].
    destruct (comm o); discriminate. }
  assert (E : forall d q, match (if o_kind o =? ZP_OP_DECIDE then Program.Decide chan op
      else if comm o then Program.Comm _ _ (chan_of c (coord_of c r) o) (content_of o)
      else Program.Local _ _) with
    | Program.End _ _ => d | _ => q end = q :> list (Program.op chan op)).
  { intros; destruct (o_kind o =? ZP_OP_DECIDE); [reflexivity |]; destruct (comm o); reflexivity. }
  rewrite E; clear E.
  replace (negb (o_if_stepped o =? 1) || serial_go)%bool with
    (negb ((o_if_stepped o =? 1) && negb serial_go)) by (destruct (_ =? 1), serial_go; reflexivity).
  destruct ((o_if_stepped o =? 1) && negb serial_go)%bool; simpl; [apply IH; assumption |].
  destruct (o_kind o =? ZP_OP_DECIDE).
  - destruct W as [D W]; split; [exact D | apply IH; assumption].
  - destruct (comm o).
    + destruct W as [D W]; split; [exact D |]; intros n G; apply IH; [exact L' | apply W; exact G].
    + replace (compute r (Program.unmark chan op (synchronized c (coord_of c r) o)) m)
        with (local_op (coord_of c r) o m); [apply IH; assumption |].
      unfold Meaning.compute, compute_in; cbn [Program.at_clock synchronized Program.unmark].
      rewrite (L o) by (left; reflexivity); reflexivity.
Qed.

End Contract.
