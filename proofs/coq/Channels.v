(* The planner's ops as ops of Program.v: which ranks communicate, and the fields they agree on.
   spec: TOPO-1 ... TOPO-5, LEDG-1, PIPE-3, PIPE-5

   A channel is a group or the link of stages s and s + 1 of one dp and tp index. Members of a group
   agree on the fields of Snoc in spec/acsl/ledger.h, the ends of a link on those of Hop. The clock
   is not part of the content; NoDeadlock.v treats it separately. *)

Require Import Bool List Arith ZArith Lia.
Require Import ZP.Program ZP.NoDeadlock.
Require Import ZP.Op ZP.OpOf ZP.Plan ZP.Valid.
Import ListNotations.
Open Scope Z_scope.

(* ---- Ranks ----------------------------------------------------------------------------------- *)

Definition coord_of (c : config) (r : nat) : coord :=
  let r := Z.of_nat r in
  Coord (r / c_tp c / c_dp c) (r / c_tp c mod c_dp c) (r mod c_tp c).

Definition ranks (c : config) : nat := Z.to_nat (World c).

(* ---- Channels -------------------------------------------------------------------------------- *)

Inductive channel :=
| Group (g key p d t : Z)      (* of kind g; the fields that its members do not share are 0 *)
| Link (s d t : Z).            (* of stages s and s + 1 *)

Definition channel_eq_dec : forall a b : channel, {a = b} + {a <> b}.
Proof. decide equality; apply Z.eq_dec. Defined.

(* The channel that a call of group g on the rank at a uses. *)
Definition group_channel (c : config) (g key : Z) (a : coord) : channel :=
  if g =? ZP_GROUP_WORLD then Group g (-1) 0 0 0
  else if g =? ZP_GROUP_DP then Group g (-1) (a_pp a) 0 (a_tp a)
  else if g =? ZP_GROUP_TP then Group g (-1) (a_pp a) (a_dp a) 0
  else if g =? ZP_GROUP_EDP then Group g (-1) (a_pp a) (Z.rem (a_dp a) (c_ep c)) (a_tp a)
  else if g =? ZP_GROUP_EP then Group g (-1) (a_pp a) (Z.quot (a_dp a) (c_ep c)) (a_tp a)
  else if g =? ZP_GROUP_TIED then Group g key 0 (a_dp a) (a_tp a)
  else Group g key (a_pp a) (a_dp a) (a_tp a).

(* The groups with a ledger: HasLedger of spec/acsl/ledger.h. *)
Definition has_ledger (g : Z) : bool := (0 <=? g) && (g <? ZP_GROUPS) && negb (g =? ZP_GROUP_PP).

(* The rank at a is a member of the channel. A group without a ledger has no member, and neither
   has a link with only one end. *)
Definition member (c : config) (ch : channel) (a : coord) : bool :=
  match ch with
  | Group g key _ _ _ =>
      has_ledger g && (if channel_eq_dec (group_channel c g key a) ch then true else false) &&
      (negb (g =? ZP_GROUP_TIED) || (On c key (a_pp a) =? 1))
  | Link s d t =>
      (0 <=? s) && (s + 1 <? c_pp c) && ((a_pp a =? s) || (a_pp a =? s + 1)) &&
      (a_dp a =? d) && (a_tp a =? t)
  end.

Definition members (c : config) (ch : channel) : list nat :=
  filter (fun r => member c ch (coord_of c r)) (seq 0 (ranks c)).

(* ---- Contents -------------------------------------------------------------------------------- *)

Inductive call :=
| Call (kind what key count dtype redop root : Z)
| Hop (kind dtype count down up : Z).  (* down: the micro-batch sent to stage s + 1 *)

(* An op of these kinds is a communication: zp_op_communicates in ref/engine/cursor.c. *)
Definition is_comm (o : op) : bool := ZP_OP_FIRST_COMM <=? o_kind o.

Definition channel_of (c : config) (a : coord) (o : op) : channel :=
  if o_group o =? ZP_GROUP_PP then
    if o_root o =? a_pp a + 1 then Link (a_pp a) (a_dp a) (a_tp a)
    else if o_root o =? a_pp a - 1 then Link (o_root o) (a_dp a) (a_tp a)
    else Group ZP_GROUP_PP (-1) 0 0 0
  else group_channel c (o_group o) (o_key o) a.

Definition content_of (a : coord) (o : op) : call :=
  if o_group o =? ZP_GROUP_PP then
    if o_root o =? a_pp a + 1
    then Hop (o_kind o) (o_dtype o) (o_count o) (o_mb o) (o_recv_mb o)
    else Hop (o_kind o) (o_dtype o) (o_count o) (o_recv_mb o) (o_mb o)
  else Call (o_kind o) (o_what o) (o_key o) (o_count o) (o_dtype o) (o_redop o) (o_root o).

Definition clock_of (o : op) : clock := (o_clock_t o, o_clock_i o).
Definition marked (o : op) : bool := negb (o_if_stepped o =? 0).

Definition kind_of (c : config) (a : coord) (o : op) : kind channel call :=
  if is_comm o then Comm _ _ (channel_of c a o) (content_of a o)
  else if o_kind o =? ZP_OP_DECIDE then Decide _ _ else Local _ _.

Definition op_of (c : config) (a : coord) (o : op) : Program.op channel call :=
  Build_op _ _ (kind_of c a o) (marked o) (clock_of o).

(* The ops that rank r runs, if p returns the program of each rank. *)
Definition rank_program (c : config) (p : coord -> list op) (r : nat)
  : list (Program.op channel call) :=
  if (r <? ranks c)%nat then map (op_of c (coord_of c r)) (p (coord_of c r)) else [].

(* ---- Ranks and members of a valid configuration ---------------------------------------------- *)

(* Distinguishes the groups that have a ledger. *)
Ltac groups H :=
  unfold has_ledger, ZP_GROUPS, ZP_GROUP_PP in H; apply andb_true_iff in H; destruct H as [H ?];
  apply andb_true_iff in H; destruct H;
  match goal with
  | A : (0 <=? ?g) = true, B : (?g <? 7) = true, C : negb (?g =? 3) = true |- _ =>
      apply negb_true_iff, Z.eqb_neq in C; apply Z.leb_le in A; apply Z.ltb_lt in B;
      assert (g = 0 \/ g = 1 \/ g = 2 \/ g = 4 \/ g = 5 \/ g = 6) as
        [?|[?|[?|[?|[?|?]]]]] by lia; subst g
  end.

Lemma group_channel_kind : forall c g key a, exists k p d t,
  group_channel c g key a = Group g k p d t.
Proof. intros; unfold group_channel; cases; repeat eexists. Qed.

(* Only a tied group's channel depends on the key. *)
Lemma group_channel_key : forall c g key k a, has_ledger g = true -> g <> ZP_GROUP_TIED ->
  group_channel c g key a = group_channel c g k a.
Proof. intros c g key k a H N; groups H; try reflexivity; exfalso; apply N; reflexivity. Qed.

Lemma member_group : forall c g key p d t a, member c (Group g key p d t) a = true ->
  has_ledger g = true /\ group_channel c g key a = Group g key p d t /\
  (g = ZP_GROUP_TIED -> On c key (a_pp a) = 1).
Proof.
  intros c g key p d t a H; unfold member in H.
  apply andb_true_iff in H; destruct H as [H T]; apply andb_true_iff in H; destruct H as [L E].
  destruct (channel_eq_dec _ _) as [E'|]; [| discriminate]; repeat split; try assumption.
  intros ->; apply Z.eqb_eq; exact T.
Qed.

(* The member at a of its own channel. *)
Lemma own_channel : forall c g key a, has_ledger g = true ->
  (g = ZP_GROUP_TIED -> On c key (a_pp a) = 1) -> member c (group_channel c g key a) a = true.
Proof.
  intros c g key a H T; destruct (group_channel_kind c g key a) as [k [p [d [t E]]]].
  rewrite E; unfold member; rewrite H; cbn [andb].
  assert (E' : group_channel c g k a = Group g k p d t /\ (g = ZP_GROUP_TIED -> k = key)).
  { destruct (Z.eq_dec g ZP_GROUP_TIED) as [->|N].
    - unfold group_channel in E; cbn in E; inversion E; subst; split; reflexivity.
    - rewrite <- E; split; [apply group_channel_key; assumption | contradiction]. }
  destruct E' as [E' K]; destruct (channel_eq_dec _ _); [cbn [andb] | contradiction].
  destruct (Z.eqb_spec g ZP_GROUP_TIED); [rewrite K by assumption | reflexivity].
  apply Z.eqb_eq; auto.
Qed.

Section Ranks.

Variable c : config.
Hypothesis V : valid c.

Lemma world : World c = c_pp c * c_dp c * c_tp c.
Proof.
  destruct (sizes c V) as [A [B [C _]]]; unfold World, Mix; cases; nia.
Qed.

Lemma coord_within : forall r, (r < ranks c)%nat ->
  Within c (a_pp (coord_of c r)) (a_dp (coord_of c r)) (a_tp (coord_of c r)) = true.
Proof.
  intros r H; destruct (sizes c V) as [A [B [C _]]]; unfold ranks in H; rewrite world in H.
  unfold Within, coord_of; cbn [a_pp a_dp a_tp].
  pose proof (Z.mod_pos_bound (Z.of_nat r / c_tp c) (c_dp c) ltac:(lia)).
  pose proof (Z.mod_pos_bound (Z.of_nat r) (c_tp c) ltac:(lia)).
  assert (0 <= Z.of_nat r / c_tp c / c_dp c < c_pp c).
  { split; [apply Z.div_pos; [apply Z.div_pos |]; lia |].
    apply Z.div_lt_upper_bound; [lia |]; apply Z.div_lt_upper_bound; [lia | nia]. }
  cases; try lia; reflexivity.
Qed.

(* coord_of inverts Rank of spec/acsl/topology.h, so ranks have the numbers of zp_rank_of. *)
Theorem coord_of_rank : forall p d t, Within c p d t = true ->
  coord_of c (Z.to_nat (Rank c p d t)) = Coord p d t /\ (Z.to_nat (Rank c p d t) < ranks c)%nat.
Proof.
  intros p d t W; destruct (sizes c V) as [A [B [C _]]]; unfold Within in W; bools.
  assert (R : Rank c p d t = (p * c_dp c + d) * c_tp c + t) by (unfold Rank, Mix; cases; lia).
  assert (0 <= p * c_dp c + d < c_pp c * c_dp c) by nia.
  assert (0 <= (p * c_dp c + d) * c_tp c + t < c_pp c * c_dp c * c_tp c) by nia.
  unfold coord_of, ranks; rewrite world, R, Z2Nat.id by lia; split; [| lia].
  assert (Q : ((p * c_dp c + d) * c_tp c + t) / c_tp c = p * c_dp c + d).
  { rewrite Z.div_add_l, Z.div_small by lia; lia. }
  rewrite Q, Z.div_add_l, Z.div_small, Z.add_0_r by lia.
  rewrite Z.add_comm, Z.mod_add, Z.mod_small by lia.
  rewrite (Z.add_comm _ t), Z.mod_add, Z.mod_small by lia; reflexivity.
Qed.

Theorem rank_of_coord : forall r, (r < ranks c)%nat ->
  Rank c (a_pp (coord_of c r)) (a_dp (coord_of c r)) (a_tp (coord_of c r)) = Z.of_nat r.
Proof.
  intros r H; destruct (sizes c V) as [A [B [C _]]].
  unfold Rank, Mix, coord_of; cbn [a_pp a_dp a_tp]; cases; try lia.
  rewrite (Z.mul_comm _ (c_dp c)), <- Z.div_mod by lia.
  rewrite (Z.mul_comm _ (c_tp c)), <- Z.div_mod by lia; reflexivity.
Qed.

Lemma in_members : forall ch r, In r (members c ch) <->
  (r < ranks c)%nat /\ member c ch (coord_of c r) = true.
Proof. intros; unfold members; rewrite filter_In, in_seq; intuition lia. Qed.

(* The members of a group's channel are the ranks that InGroup of spec/acsl/topology.h puts into the
   group; WP proves that zp_group_member lists them. *)
Theorem members_are_the_group : forall g key q r, has_ledger g = true ->
  (q < ranks c)%nat -> (r < ranks c)%nat ->
  let a := coord_of c q in
  let b := coord_of c r in
  (In q (members c (group_channel c g key a)) /\ In r (members c (group_channel c g key a)) <->
   InGroup c g key (a_pp a) (a_dp a) (a_tp a) (a_pp b) (a_dp b) (a_tp b) = true).
Proof.
  intros g key q r H Hq Hr a b; rewrite !in_members; fold a b.
  assert (G : member c (group_channel c g key a) a = true /\
    member c (group_channel c g key a) b = true <->
    group_channel c g key a = group_channel c g key b /\
    (g = ZP_GROUP_TIED -> On c key (a_pp a) = 1 /\ On c key (a_pp b) = 1)).
  { destruct (group_channel_kind c g key a) as [k [p [d [t E]]]].
    assert (K : g = ZP_GROUP_TIED -> k = key).
    { intros ->; unfold group_channel in E; cbn in E; inversion E; reflexivity. }
    assert (P : forall e, group_channel c g k e = group_channel c g key e).
    { intro e; destruct (Z.eq_dec g ZP_GROUP_TIED); [rewrite K by assumption; reflexivity |].
      apply group_channel_key; assumption. }
    split.
    - rewrite E; intros [M N]; apply member_group in M; apply member_group in N.
      destruct M as [_ [M M']], N as [_ [N N']]; split; [rewrite <- N; apply P |].
      intro T; rewrite <- K by assumption; auto.
    - intros [Q T]; split; [| rewrite Q]; apply own_channel; auto; intro X; apply T; exact X. }
  transitivity (member c (group_channel c g key a) a = true /\
    member c (group_channel c g key a) b = true); [intuition | rewrite G; clear G].
  destruct a as [p d t], b as [p' d' t']; cbn [a_pp a_dp a_tp].
  groups H; unfold group_channel, InGroup, ZP_GROUP_WORLD, ZP_GROUP_DP, ZP_GROUP_TP, ZP_GROUP_PP,
    ZP_GROUP_EDP, ZP_GROUP_EP, ZP_GROUP_TIED;
    cbn [a_pp a_dp a_tp Z.eqb Pos.eqb andb orb]; rewrite ?orb_false_r;
    (split; [intros [E T]; inversion E; subst; rewrite ?Z.eqb_refl; try reflexivity |
             intro E; bools; subst; split; [try reflexivity | intro X; try discriminate X]]).
  all: try congruence.
  all: try (destruct (T eq_refl) as [-> ->]; reflexivity).
  all: try (rewrite ?H1, ?H2; split; reflexivity).
  split; assumption.
Qed.

End Ranks.

(* Computes the fields of the planner's ops. *)
Ltac fields :=
  unfold op_add, op_reduction, op_addition, op_reduced, op_hop, op_micro, op_tied, op_mean,
    op_statistics, op_decision,
    op_creation, op_tp_first, op_dp_first, op_first, op_install, op_save_gather, op_save_write,
    op_frozen_write, op_plain, op_local, op_on_bucket, op_agreement in *;
  cbn [o_kind o_what o_group o_key o_dtype o_redop o_root o_if_stepped o_mb o_recv_mb o_count
    o_clock_t o_clock_i] in *.

(* ---- Ledgers --------------------------------------------------------------------------------- *)

Notation ledger := (Program.ledger channel channel_eq_dec call).
Notation resolve := (Program.resolve channel call).

Definition only {A : Type} (b : bool) (l : list A) : list A := if b then l else [].

(* After decision d, the op is issued. *)
Definition issued (d : bool) (o : op) : bool := negb (marked o) || d.

(* The entry of an op of the rank at a in the ledger of a channel ... *)
Definition note (c : config) (ch : channel) (a : coord) (d : bool) (o : op) : list (call * clock) :=
  only (is_comm o && issued d o && (if channel_eq_dec ch (channel_of c a o) then true else false))
    [(content_of a o, clock_of o)].

(* ... if the rank is a member of group g, with this key if g is tied: Put of ledger.h ... *)
Definition put (g key : Z) (d : bool) (o : op) : list (call * clock) :=
  only (is_comm o && issued d o && (o_group o =? g) &&
    (negb (g =? ZP_GROUP_TIED) || (o_key o =? key)))
    [(Call (o_kind o) (o_what o) (o_key o) (o_count o) (o_dtype o) (o_redop o) (o_root o),
      clock_of o)].

(* ... and if it is one end of a link, whose other end is stage `peer`: Link of the same file. *)
Definition hop (down : bool) (peer : Z) (d : bool) (o : op) : list (call * clock) :=
  only (is_comm o && issued d o && (o_group o =? ZP_GROUP_PP) && (o_root o =? peer))
    [(if down then Hop (o_kind o) (o_dtype o) (o_count o) (o_mb o) (o_recv_mb o)
      else Hop (o_kind o) (o_dtype o) (o_count o) (o_recv_mb o) (o_mb o), clock_of o)].

Lemma ledger_notes : forall c ch a d l,
  ledger ch (resolve d (map (op_of c a) l)) = flat_map (note c ch a d) l.
Proof.
  intros c ch a d; induction l as [|o l IH]; [reflexivity |].
  assert (R : resolve d (map (op_of c a) (o :: l)) =
    if issued d o then unmark _ _ (op_of c a o) :: resolve d (map (op_of c a) l)
    else resolve d (map (op_of c a) l)).
  { simpl; unfold kind_of, issued; destruct (is_comm o); [reflexivity |].
    destruct (_ =? _); reflexivity. }
  rewrite R; cbn [flat_map]; unfold note at 1; destruct (issued d o).
  - rewrite andb_true_r; unfold Program.ledger; cbn [flat_map]; fold (ledger ch).
    change (flat_map (entry channel channel_eq_dec call ch) (resolve d (map (op_of c a) l)))
      with (ledger ch (resolve d (map (op_of c a) l))); rewrite IH; f_equal.
    unfold entry, unmark, op_of, kind_of; cbn [what at_clock]; destruct (is_comm o); cbn [andb].
    + destruct (channel_eq_dec ch (channel_of c a o)); reflexivity.
    + destruct (_ =? _); reflexivity.
  - rewrite andb_false_r; exact IH.
Qed.

Lemma tied_channel : forall c key a,
  group_channel c ZP_GROUP_TIED key a = Group ZP_GROUP_TIED key 0 (a_dp a) (a_tp a).
Proof. reflexivity. Qed.

(* A member's ledger of a group depends on the ops only. *)
Lemma group_note : forall c g key p d t a k o, member c (Group g key p d t) a = true ->
  note c (Group g key p d t) a k o = put g key k o.
Proof.
  intros c g key p d t a k o M; destruct (member_group _ _ _ _ _ _ _ M) as [L [E T]].
  unfold note, put; destruct (is_comm o && issued k o); [cbn [andb] | reflexivity].
  unfold channel_of, content_of; destruct (Z.eqb_spec (o_group o) ZP_GROUP_PP) as [P|P].
  - replace (o_group o =? g) with false.
    + destruct (channel_eq_dec _ _) as [X|]; [| reflexivity]; exfalso.
      revert X; cases; intro X; inversion X; subst; discriminate L.
    + symmetry; apply Z.eqb_neq; intro X; rewrite <- X, P in L; discriminate L.
  - destruct (Z.eqb_spec (o_group o) g) as [G|G].
    + rewrite G; destruct (Z.eqb_spec g ZP_GROUP_TIED) as [Y|Y]; cbn [negb orb andb].
      * subst g; rewrite Y in E |- *; rewrite <- E, !tied_channel.
        destruct (channel_eq_dec _ _) as [X|X], (Z.eqb_spec (o_key o) key) as [Q|Q];
          try reflexivity; [inversion X; congruence | rewrite Q in X; exfalso; apply X;
            reflexivity].
      * rewrite (group_channel_key c g (o_key o) key a L Y), E.
        destruct (channel_eq_dec _ _); [reflexivity | contradiction].
    + destruct (group_channel_kind c (o_group o) (o_key o) a) as [k' [p' [d' [t' Q]]]]; rewrite Q.
      destruct (channel_eq_dec _ _) as [X|]; [inversion X; congruence | reflexivity].
Qed.

(* The ledger of a link at its two ends depends on the ops only, too. *)
Lemma upper_note : forall c s d t a k o, a_pp a = s -> a_dp a = d -> a_tp a = t ->
  note c (Link s d t) a k o = hop true (s + 1) k o.
Proof.
  intros c s d t a k o P D T; unfold note, hop, channel_of, content_of; rewrite P, D, T.
  destruct (is_comm o && issued k o); [cbn [andb] | reflexivity].
  destruct (Z.eqb_spec (o_group o) ZP_GROUP_PP) as [G|G]; cbn [andb].
  - destruct (Z.eqb_spec (o_root o) (s + 1)).
    + destruct (channel_eq_dec _ _); [reflexivity | contradiction].
    + destruct (Z.eqb_spec (o_root o) (s - 1)) as [R|R].
      * destruct (channel_eq_dec _ _) as [X|]; [inversion X; lia | reflexivity].
      * destruct (channel_eq_dec _ _) as [X|]; [inversion X | reflexivity].
  - destruct (group_channel_kind c (o_group o) (o_key o) a) as [k' [p' [d' [t' Q]]]]; rewrite Q.
    destruct (channel_eq_dec _ _) as [X|]; [inversion X | reflexivity].
Qed.

Lemma lower_note : forall c s d t a k o, a_pp a = s + 1 -> a_dp a = d -> a_tp a = t ->
  note c (Link s d t) a k o = hop false s k o.
Proof.
  intros c s d t a k o P D T; unfold note, hop, channel_of, content_of; rewrite P, D, T.
  destruct (is_comm o && issued k o); [cbn [andb] | reflexivity].
  destruct (Z.eqb_spec (o_group o) ZP_GROUP_PP) as [G|G]; cbn [andb].
  - destruct (Z.eqb_spec (o_root o) (s + 1 + 1)).
    + replace (o_root o =? s) with false by (symmetry; apply Z.eqb_neq; lia).
      destruct (channel_eq_dec _ _) as [X|]; [inversion X; lia | reflexivity].
    + replace (s + 1 - 1) with s by lia; destruct (Z.eqb_spec (o_root o) s) as [R|R].
      * rewrite R; destruct (channel_eq_dec _ _); [reflexivity | contradiction].
      * destruct (channel_eq_dec _ _) as [X|]; [inversion X | reflexivity].
  - destruct (group_channel_kind c (o_group o) (o_key o) a) as [k' [p' [d' [t' Q]]]]; rewrite Q.
    destruct (channel_eq_dec _ _) as [X|]; [inversion X | reflexivity].
Qed.

(* ---- The hypotheses of NoDeadlock.v, in terms of the planner's ops --------------------------- *)

(* A communication's rank is a member of its channel. *)
Definition addressed (c : config) (a : coord) (o : op) : Prop :=
  is_comm o = true -> member c (channel_of c a o) a = true.

Definition unmarked (o : op) : Prop := o_if_stepped o = 0.

Lemma flat_map_nil : forall (A B : Type) (f : A -> list B) l, Forall (fun x => f x = []) l ->
  flat_map f l = [].
Proof. intros A B f l H; induction H as [|x l E _ IH]; simpl; [reflexivity | rewrite E;
  exact IH]. Qed.

Lemma flat_map_ext_in : forall (A B : Type) (f g : A -> list B) l,
  (forall x, In x l -> f x = g x) ->
  flat_map f l = flat_map g l.
Proof.
  intros A B f g l; induction l as [|x l IH]; intro H; simpl; [reflexivity |].
  rewrite (H x), IH; auto using in_eq, in_cons.
Qed.

Lemma flat_map_flat_map : forall (A B C : Type) (f : A -> list B) (g : B -> list C) l,
  flat_map g (flat_map f l) = flat_map (fun x => flat_map g (f x)) l.
Proof.
  intros A B C f g l; induction l as [|x l IH]; simpl; [reflexivity |].
  rewrite flat_map_app, IH; reflexivity.
Qed.

Section Planned.

Variable c : config.
Variable p : coord -> list op.

Theorem shape : H0_shape channel call (ranks c) (rank_program c p).
Proof.
  split; intro r; unfold rank_program.
  - intro H; destruct (Nat.ltb_spec r (ranks c)); [lia | reflexivity].
  - destruct (r <? ranks c)%nat; [| constructor]; apply Forall_forall.
    intros o H; apply in_map_iff in H; destruct H as [x [<- _]]; unfold op_of, kind_of; simpl.
    destruct (is_comm x); [discriminate |]; destruct (_ =? _); discriminate.
Qed.

Lemma members_only : forall k,
  (forall r, (r < ranks c)%nat ->
    Forall (addressed c (coord_of c r)) (p (coord_of c r))) ->
  H2_members_only channel channel_eq_dec call (members c) (rank_program c p) k.
Proof.
  intros k A ch r N; unfold rank_program.
  destruct (Nat.ltb_spec r (ranks c)) as [L|]; [| reflexivity].
  rewrite ledger_notes; apply flat_map_nil; eapply Forall_impl; [| exact (A r L)].
  intros o O; unfold note; destruct (is_comm o) eqn:E; [| reflexivity].
  destruct (issued k o); [| reflexivity]; cbn [andb].
  destruct (channel_eq_dec ch _) as [->|]; [| reflexivity].
  exfalso; apply N, in_members; auto.
Qed.

Lemma clock_increases :
  (forall r, (r < ranks c)%nat -> Sorted.Sorted before (map clock_of (p (coord_of c r)))) ->
  H3_clock_increases channel call (rank_program c p).
Proof.
  intros A r; unfold rank_program.
  destruct (Nat.ltb_spec r (ranks c)) as [L|]; [| constructor]; rewrite map_map; exact (A r L).
Qed.

(* Equal contents and equal clocks: each ledger is one list of pairs. *)
Lemma equal_ledgers : forall k,
  (forall ch q r, (q < ranks c)%nat -> (r < ranks c)%nat ->
    let a := coord_of c q in let b := coord_of c r in
    member c ch a = true -> member c ch b = true ->
    flat_map (note c ch a k) (p a) = flat_map (note c ch b k) (p b)) ->
  H1_equal_ledgers channel channel_eq_dec call (members c) (rank_program c p) k /\
  H4_equal_clocks channel channel_eq_dec call (members c) (rank_program c p) k.
Proof.
  intros k A.
  assert (G : forall ch q r, In q (members c ch) -> In r (members c ch) ->
    ledger ch (resolve k (rank_program c p q)) = ledger ch (resolve k (rank_program c p r))).
  { intros ch q r Hq Hr; apply in_members in Hq; apply in_members in Hr.
    destruct Hq as [Lq Mq], Hr as [Lr Mr]; unfold rank_program.
    apply Nat.ltb_lt in Lq as Lq'; apply Nat.ltb_lt in Lr as Lr'; rewrite Lq', Lr', !ledger_notes.
    apply A; assumption. }
  split; intros ch q r Hq Hr; f_equal; apply G; assumption.
Qed.

(* For a group, and for a link, whose ends are stage s and stage s + 1. *)
Lemma equal_notes : forall k,
  (forall g key a b, has_ledger g = true -> group_channel c g key a = group_channel c g key b ->
    Within c (a_pp a) (a_dp a) (a_tp a) = true -> Within c (a_pp b) (a_dp b) (a_tp b) = true ->
    (g = ZP_GROUP_TIED -> On c key (a_pp a) = 1 /\ On c key (a_pp b) = 1) ->
    flat_map (put g key k) (p a) = flat_map (put g key k) (p b)) ->
  (forall s d t, 0 <= s -> s + 1 < c_pp c ->
    flat_map (hop true (s + 1) k) (p (Coord s d t)) =
    flat_map (hop false s k) (p (Coord (s + 1) d t))) ->
  valid c ->
  H1_equal_ledgers channel channel_eq_dec call (members c) (rank_program c p) k /\
  H4_equal_clocks channel channel_eq_dec call (members c) (rank_program c p) k.
Proof.
  intros k A B V; apply equal_ledgers; intros ch q r Hq Hr a b Ma Mb.
  pose proof (coord_within c V q Hq) as Wa; pose proof (coord_within c V r Hr) as Wb.
  fold a in Wa; fold b in Wb; destruct ch as [g key x d t | s d t].
  - rewrite (flat_map_ext_in _ _ _ (put g key k) (p a)) by (intros; apply group_note; exact Ma).
    rewrite (flat_map_ext_in _ _ _ (put g key k) (p b)) by (intros; apply group_note; exact Mb).
    apply member_group in Ma; apply member_group in Mb.
    destruct Ma as [L [Ea Ta]], Mb as [_ [Eb Tb]]; apply A; try assumption; [congruence |]; auto.
  - assert (D : forall e, member c (Link s d t) e = true ->
      0 <= s /\ s + 1 < c_pp c /\ (e = Coord s d t \/ e = Coord (s + 1) d t)).
    { intros [e1 e2 e3] M; unfold member in M; cbn [a_pp a_dp a_tp] in M; bools.
      subst; match goal with H : _ || _ = true |- _ => apply orb_true_iff in H; destruct H end;
        bools; subst; auto. }
    destruct (D a Ma) as [S0 [S1 Pa]], (D b Mb) as [_ [_ Pb]].
    assert (F : forall e, e = Coord s d t \/ e = Coord (s + 1) d t ->
      flat_map (note c (Link s d t) e k) (p e) = flat_map (hop true (s + 1) k) (p (Coord s d t))).
    { intros e [-> | ->]; [| rewrite B by assumption]; apply flat_map_ext_in; intros o _.
      - apply upper_note; reflexivity.
      - apply lower_note; reflexivity. }
    rewrite (F a Pa), (F b Pb); reflexivity.
Qed.

Lemma decided : forall k (l m : list (Program.op channel call)),
  Forall (fun o => if_stepped _ _ o = false) l -> if_stepped _ _ k = false ->
  what _ _ k = Decide _ _ -> decided_in_time _ _ (l ++ k :: m).
Proof.
  intros k l m H K W; induction H as [|o l E _ IH]; simpl; [auto | split; [exact E | right;
    exact IH]].
Qed.

Lemma decided_unmarked : forall c a l, Forall unmarked l ->
  decided_in_time channel call (map (op_of c a) l).
Proof.
  intros c' a l H; induction H as [|o l U _ IH]; simpl; [exact I | split; [| right; exact IH]].
  unfold marked; rewrite U; reflexivity.
Qed.

End Planned.
