/* Groups, for every topology: the maps between ranks and coordinates are mutual inverses; a group's
 * members agree on its members, their order and its identity; ep and edp groups each partition dp.
 * TOPO-1 … TOPO-5 */
#include "../../ref/plan/topology.h"

#include "../../spec/acsl/topology_lemmas.h"

/*@ lemma Rank_Range{L}: \forall zp_config *c, integer p, d, t; Valid(c) && Within(c, p, d, t) ==>
      0 <= Rank(c, p, d, t) < World(c);
    lemma Rank_Unique{L}: \forall zp_config *c, integer p, d, t, q, e, u; Valid(c) &&
      Within(c, p, d, t) && Within(c, q, e, u) && Rank(c, p, d, t) == Rank(c, q, e, u) ==>
      p == q && d == e && t == u;
    lemma Rank_OrderPp{L}: \forall zp_config *c, integer p, d, t, q, e, u; Valid(c) &&
      Within(c, p, d, t) && Within(c, q, e, u) && p < q ==> Rank(c, p, d, t) < Rank(c, q, e, u);
    lemma Rank_OrderDp{L}: \forall zp_config *c, integer p, d, t, e, u; Valid(c) &&
      Within(c, p, d, t) && Within(c, p, e, u) && d < e ==> Rank(c, p, d, t) < Rank(c, p, e, u);
    lemma Rank_OrderTp{L}: \forall zp_config *c, integer p, d, t, u; Valid(c) &&
      Within(c, p, d, t) && Within(c, p, d, u) && t < u ==> Rank(c, p, d, t) < Rank(c, p, d, u);
    lemma Ep_Range{L}: \forall zp_config *c, integer d, i; Valid(c) && 0 <= d < c->dp ==>
      0 <= d / c->ep < c->dp / c->ep && 0 <= d % c->ep < c->ep &&
      Mix(d / c->ep, c->ep, d % c->ep) == d && Mix(c->dp / c->ep, c->ep, 0) == c->dp;
    lemma Ep_Member{L}: \forall zp_config *c, integer b, r; Valid(c) && 0 <= b < c->dp / c->ep &&
      0 <= r < c->ep ==> 0 <= Mix(b, c->ep, r) < c->dp && Mix(b, c->ep, r) / c->ep == b &&
      Mix(b, c->ep, r) % c->ep == r;
    lemma Stage_Of_Count{L}: \forall zp_config *c, integer key, p; Valid(c) && 0 <= p < c->pp &&
      On(c, key, p) == 1 ==> StageOf(c, key, CountOn(c, key, p)) == p &&
      0 <= CountOn(c, key, p) < CountOn(c, key, c->pp);
    lemma Stage_Holds{L}: \forall zp_config *c, integer key, i; Valid(c) &&
      0 <= i < CountOn(c, key, c->pp) ==> 0 <= StageOf(c, key, i) < c->pp &&
      On(c, key, StageOf(c, key, i)) == 1 && CountOn(c, key, StageOf(c, key, i)) == i;
    lemma Stages_Rise{L}: \forall zp_config *c, integer key, i, k; Valid(c) &&
      0 <= i < k < CountOn(c, key, c->pp) ==> StageOf(c, key, i) < StageOf(c, key, k);
    lemma Ep_Rise{L}: \forall zp_config *c, integer b, r, i, j; Valid(c) && 0 <= i < j &&
      0 <= r < c->ep ==> Mix(i, c->ep, r) < Mix(j, c->ep, r) && Mix(b, c->ep, i) < Mix(b, c->ep, j);
    lemma Exact_Division: \forall integer n, m; 0 < m && n % m == 0 ==> n / m * m == n;
    lemma World_Split{L}: \forall zp_config *c, integer r; Valid(c) && 0 <= r < World(c) ==>
      Within(c, r / c->tp / c->dp, r / c->tp % c->dp, r % c->tp) &&
      Rank(c, r / c->tp / c->dp, r / c->tp % c->dp, r % c->tp) == r;

    // the indices of the i-th member of the group that contains (p, d, t)
    logic integer MemberPp{L}(zp_config *c, integer g, integer k, integer p, integer i) =
      g == ZP_GROUP_WORLD ? i / c->tp / c->dp :
      g == ZP_GROUP_PP ? i : g == ZP_GROUP_TIED ? StageOf(c, k, i) : p;
    logic integer MemberDp{L}(zp_config *c, integer g, integer d, integer i) =
      g == ZP_GROUP_WORLD ? i / c->tp % c->dp :
      g == ZP_GROUP_DP ? i :
      g == ZP_GROUP_EDP ? Mix(i, c->ep, d % c->ep) :
      g == ZP_GROUP_EP ? Mix(d / c->ep, c->ep, i) : d;
    logic integer MemberTp{L}(zp_config *c, integer g, integer t, integer i) =
      g == ZP_GROUP_WORLD ? i % c->tp : g == ZP_GROUP_TP ? i : t;
*/

/*@ predicate Rising{L}(zp_config *c, integer g, integer k, integer p, integer d, integer t) =
      \forall integer i, j; 0 <= i < j < GroupSize(c, g, k, p) ==>
        GroupMember(c, g, k, p, d, t, i) < GroupMember(c, g, k, p, d, t, j);
*/

/*@ lemma GroupMember_Within{L}: \forall zp_config *c, integer g, k, p, d, t, i; Valid(c) &&
      Within(c, p, d, t) && 0 <= i < GroupSize(c, g, k, p) ==>
      Within(c, MemberPp(c, g, k, p, i), MemberDp(c, g, d, i), MemberTp(c, g, t, i));
    lemma Member_Rank{L}: \forall zp_config *c, integer g, k, p, d, t, i; Valid(c) &&
      Within(c, p, d, t) && 0 <= i < GroupSize(c, g, k, p) ==>
      GroupMember(c, g, k, p, d, t, i) ==
      Rank(c, MemberPp(c, g, k, p, i), MemberDp(c, g, d, i), MemberTp(c, g, t, i));
    lemma Member_In{L}: \forall zp_config *c, integer g, k, p, d, t, i; Valid(c) &&
      Within(c, p, d, t) && 0 <= i < GroupSize(c, g, k, p) ==>
      InGroup(c, g, k, p, d, t, MemberPp(c, g, k, p, i), MemberDp(c, g, d, i),
              MemberTp(c, g, t, i));
    lemma Member_Index{L}: \forall zp_config *c, integer g, k, p, d, t, i; Valid(c) &&
      Within(c, p, d, t) && 0 <= i < GroupSize(c, g, k, p) ==>
      GroupIndex(c, g, k, MemberPp(c, g, k, p, i), MemberDp(c, g, d, i), MemberTp(c, g, t, i)) == i;
    lemma Member_RankRange{L}: \forall zp_config *c, integer g, k, p, d, t, i; Valid(c) &&
      Within(c, p, d, t) && 0 <= i < GroupSize(c, g, k, p) ==>
      0 <= Rank(c, MemberPp(c, g, k, p, i), MemberDp(c, g, d, i), MemberTp(c, g, t, i)) < World(c);
    lemma Member_None{L}: \forall zp_config *c, integer g, k, p, d, t, i;
      GroupSize(c, g, k, p) <= i ==> GroupMember(c, g, k, p, d, t, i) == -1;
    lemma Member_Same{L}: \forall zp_config *c, integer g, k, p, d, t, i, q, e, u, j; Valid(c) &&
      Within(c, p, d, t) && 0 <= i < GroupSize(c, g, k, p) &&
      Within(c, q, e, u) && 0 <= j < GroupSize(c, g, k, q) &&
      GroupMember(c, g, k, p, d, t, i) == GroupMember(c, g, k, q, e, u, j) ==>
      MemberPp(c, g, k, p, i) == MemberPp(c, g, k, q, j) &&
      MemberDp(c, g, d, i) == MemberDp(c, g, e, j) && MemberTp(c, g, t, i) == MemberTp(c, g, u, j);
    lemma Group_Through{L}: \forall zp_config *c, integer g, k, p, d, t, q, e, u, x, y, z;
      InGroup(c, g, k, p, d, t, x, y, z) && InGroup(c, g, k, q, e, u, x, y, z) ==>
      InGroup(c, g, k, p, d, t, q, e, u);
*/

/*@ lemma Group_Self{L}: \forall zp_config *c, integer g, k, p, d, t; Valid(c) &&
      Within(c, p, d, t) ==>
      (0 < GroupSize(c, g, k, p) <==> InGroup(c, g, k, p, d, t, p, d, t));
    lemma Group_Same{L}: \forall zp_config *c, integer g, k, p, d, t, q, e, u;
      InGroup(c, g, k, p, d, t, q, e, u) ==> InGroup(c, g, k, q, e, u, p, d, t) &&
      GroupSize(c, g, k, p) == GroupSize(c, g, k, q);
    lemma Group_Members{L}: \forall zp_config *c, integer g, k, p, d, t, q, e, u, i;
      InGroup(c, g, k, p, d, t, q, e, u) ==>
      GroupMember(c, g, k, p, d, t, i) == GroupMember(c, g, k, q, e, u, i);
    lemma Member_Of_Index{L}: \forall zp_config *c, integer g, k, p, d, t; Valid(c) &&
      Within(c, p, d, t) && 0 < GroupSize(c, g, k, p) ==>
      0 <= GroupIndex(c, g, k, p, d, t) < GroupSize(c, g, k, p) &&
      GroupMember(c, g, k, p, d, t, GroupIndex(c, g, k, p, d, t)) == Rank(c, p, d, t);
    lemma Member_Complete{L}: \forall zp_config *c, integer g, k, p, d, t, q, e, u; Valid(c) &&
      Within(c, p, d, t) && Within(c, q, e, u) && InGroup(c, g, k, p, d, t, q, e, u) ==>
      0 <= GroupIndex(c, g, k, q, e, u) < GroupSize(c, g, k, p) &&
      GroupMember(c, g, k, p, d, t, GroupIndex(c, g, k, q, e, u)) == Rank(c, q, e, u);
    lemma GroupMember_Range{L}: \forall zp_config *c, integer g, k, p, d, t, i; Valid(c) &&
      Within(c, p, d, t) && 0 <= i < GroupSize(c, g, k, p) ==>
      0 <= GroupMember(c, g, k, p, d, t, i) < World(c);
    lemma Index_Of_Member{L}: \forall zp_config *c, integer g, k, p, d, t, q, e, u, i; Valid(c) &&
      Within(c, p, d, t) && Within(c, q, e, u) && 0 <= i < GroupSize(c, g, k, p) &&
      GroupMember(c, g, k, p, d, t, i) == Rank(c, q, e, u) ==>
      InGroup(c, g, k, p, d, t, q, e, u) && GroupIndex(c, g, k, q, e, u) == i;
    lemma Ascend_World{L}: \forall zp_config *c, integer k, p, d, t, i, j; Valid(c) &&
      Within(c, p, d, t) && 0 <= i < j < GroupSize(c, ZP_GROUP_WORLD, k, p) ==>
      GroupMember(c, ZP_GROUP_WORLD, k, p, d, t, i) < GroupMember(c, ZP_GROUP_WORLD, k, p, d, t, j);
    lemma Ascend_Dp{L}: \forall zp_config *c, integer k, p, d, t, i, j; Valid(c) &&
      Within(c, p, d, t) && 0 <= i < j < GroupSize(c, ZP_GROUP_DP, k, p) ==>
      GroupMember(c, ZP_GROUP_DP, k, p, d, t, i) < GroupMember(c, ZP_GROUP_DP, k, p, d, t, j);
    lemma Ascend_Tp{L}: \forall zp_config *c, integer k, p, d, t, i, j; Valid(c) &&
      Within(c, p, d, t) && 0 <= i < j < GroupSize(c, ZP_GROUP_TP, k, p) ==>
      GroupMember(c, ZP_GROUP_TP, k, p, d, t, i) < GroupMember(c, ZP_GROUP_TP, k, p, d, t, j);
    lemma Ascend_Pp{L}: \forall zp_config *c, integer k, p, d, t, i, j; Valid(c) &&
      Within(c, p, d, t) && 0 <= i < j < GroupSize(c, ZP_GROUP_PP, k, p) ==>
      GroupMember(c, ZP_GROUP_PP, k, p, d, t, i) < GroupMember(c, ZP_GROUP_PP, k, p, d, t, j);
    lemma Ascend_Edp{L}: \forall zp_config *c, integer k, p, d, t, i, j; Valid(c) &&
      Within(c, p, d, t) && 0 <= i < j < GroupSize(c, ZP_GROUP_EDP, k, p) ==>
      GroupMember(c, ZP_GROUP_EDP, k, p, d, t, i) < GroupMember(c, ZP_GROUP_EDP, k, p, d, t, j);
    lemma Ascend_Ep{L}: \forall zp_config *c, integer k, p, d, t, i, j; Valid(c) &&
      Within(c, p, d, t) && 0 <= i < j < GroupSize(c, ZP_GROUP_EP, k, p) ==>
      GroupMember(c, ZP_GROUP_EP, k, p, d, t, i) < GroupMember(c, ZP_GROUP_EP, k, p, d, t, j);
    lemma Ascend_Tied{L}: \forall zp_config *c, integer k, p, d, t, i, j; Valid(c) &&
      Within(c, p, d, t) && 0 <= i < j < GroupSize(c, ZP_GROUP_TIED, k, p) ==>
      GroupMember(c, ZP_GROUP_TIED, k, p, d, t, i) < GroupMember(c, ZP_GROUP_TIED, k, p, d, t, j);
    lemma Group_Kinds{L}: \forall zp_config *c, integer g, k, p; 0 < GroupSize(c, g, k, p) ==>
      g == ZP_GROUP_WORLD || g == ZP_GROUP_DP || g == ZP_GROUP_TP || g == ZP_GROUP_PP ||
      g == ZP_GROUP_EDP || g == ZP_GROUP_EP || g == ZP_GROUP_TIED;
    lemma Rising_World{L}: \forall zp_config *c, integer k, p, d, t; Valid(c) &&
      Within(c, p, d, t) ==> Rising(c, ZP_GROUP_WORLD, k, p, d, t);
    lemma Rising_Dp{L}: \forall zp_config *c, integer k, p, d, t; Valid(c) &&
      Within(c, p, d, t) ==> Rising(c, ZP_GROUP_DP, k, p, d, t);
    lemma Rising_Tp{L}: \forall zp_config *c, integer k, p, d, t; Valid(c) &&
      Within(c, p, d, t) ==> Rising(c, ZP_GROUP_TP, k, p, d, t);
    lemma Rising_Pp{L}: \forall zp_config *c, integer k, p, d, t; Valid(c) &&
      Within(c, p, d, t) ==> Rising(c, ZP_GROUP_PP, k, p, d, t);
    lemma Rising_Edp{L}: \forall zp_config *c, integer k, p, d, t; Valid(c) &&
      Within(c, p, d, t) ==> Rising(c, ZP_GROUP_EDP, k, p, d, t);
    lemma Rising_Ep{L}: \forall zp_config *c, integer k, p, d, t; Valid(c) &&
      Within(c, p, d, t) ==> Rising(c, ZP_GROUP_EP, k, p, d, t);
    lemma Rising_Tied{L}: \forall zp_config *c, integer k, p, d, t; Valid(c) &&
      Within(c, p, d, t) ==> Rising(c, ZP_GROUP_TIED, k, p, d, t);
    lemma Rising_Kinds{L}: \forall zp_config *c, integer g, k, p, d, t; Valid(c) &&
      Within(c, p, d, t) && (g == ZP_GROUP_WORLD || g == ZP_GROUP_DP || g == ZP_GROUP_TP ||
      g == ZP_GROUP_PP || g == ZP_GROUP_EDP || g == ZP_GROUP_EP || g == ZP_GROUP_TIED) ==>
      Rising(c, g, k, p, d, t);
    lemma Rising_Group{L}: \forall zp_config *c, integer g, k, p, d, t; Valid(c) &&
      Within(c, p, d, t) && 0 < GroupSize(c, g, k, p) ==> Rising(c, g, k, p, d, t);
    lemma Members_Ascend{L}: \forall zp_config *c, integer g, k, p, d, t, i, j; Valid(c) &&
      Within(c, p, d, t) && 0 <= i < j < GroupSize(c, g, k, p) ==>
      GroupMember(c, g, k, p, d, t, i) < GroupMember(c, g, k, p, d, t, j);
    lemma Group_Id{L}: \forall zp_config *c, integer g, k, p, d, t, q, e, u; Valid(c) &&
      Within(c, p, d, t) && Within(c, q, e, u) && 0 < GroupSize(c, g, k, p) &&
      GroupMember(c, g, k, p, d, t, 0) == GroupMember(c, g, k, q, e, u, 0) ==>
      InGroup(c, g, k, p, d, t, q, e, u);
    lemma Expert_Cut{L}: \forall zp_config *c, integer k, p, d, t, q, e, u; Valid(c) &&
      Within(c, p, d, t) && Within(c, q, e, u) ==>
      (InGroup(c, ZP_GROUP_EP, k, p, d, t, q, e, u) ==>
         InGroup(c, ZP_GROUP_DP, k, p, d, t, q, e, u)) &&
      (InGroup(c, ZP_GROUP_EDP, k, p, d, t, q, e, u) ==>
         InGroup(c, ZP_GROUP_DP, k, p, d, t, q, e, u)) &&
      (InGroup(c, ZP_GROUP_EP, k, p, d, t, q, e, u) &&
       InGroup(c, ZP_GROUP_EDP, k, p, d, t, q, e, u) ==> p == q && d == e && t == u);
    lemma Expert_Sizes{L}: \forall zp_config *c, integer k, p; Valid(c) ==>
      GroupSize(c, ZP_GROUP_EDP, k, p) == c->dp / c->ep &&
      GroupSize(c, ZP_GROUP_EP, k, p) == c->ep &&
      GroupSize(c, ZP_GROUP_DP, k, p) == c->dp && c->dp / c->ep * c->ep == c->dp;
*/

/* The rank at a rank's coordinates is that rank. cfg is valid and readable, the rank is in the job.
 * TOPO-1 */
/*@ requires cfg: Readable(cfg) && Valid(cfg);
    requires rank: 0 <= rank < World(cfg);
    terminates \true;
    exits \false;
    assigns \nothing;
    ensures same: \result == rank; */
int32_t rank_of_coordinates(const zp_config *cfg, int32_t rank)
{
  return zp_rank_of(cfg, zp_coord_of(cfg, rank));
}

/* The coordinates of the rank at given coordinates are those coordinates. cfg is valid and
 * readable, `at` within the topology. TOPO-1 */
/*@ requires cfg: Readable(cfg) && Valid(cfg);
    requires at: Within(cfg, at.pp, at.dp, at.tp);
    terminates \true;
    exits \false;
    assigns \nothing;
    ensures same: \result.pp == at.pp && \result.dp == at.dp && \result.tp == at.tp; */
zp_coord coordinates_of_rank(const zp_config *cfg, zp_coord at)
{
  return zp_coord_of(cfg, zp_rank_of(cfg, at));
}

/* The member at a rank's own index is that rank. cfg is valid and readable, `at` within the
 * topology and in a group of this kind. TOPO-2 … TOPO-4 */
/*@ requires cfg: Readable(cfg) && Valid(cfg);
    requires at: Within(cfg, at.pp, at.dp, at.tp) && 0 < GroupSize(cfg, group, key, at.pp);
    terminates \true;
    exits \false;
    assigns \nothing;
    ensures self: \result == Rank(cfg, at.pp, at.dp, at.tp); */
int32_t member_at_own_index(const zp_config *cfg, int32_t group, int32_t key, zp_coord at)
{
  return zp_group_member(cfg, group, key, at, zp_group_index(cfg, group, key, at));
}

/* The index of the i-th member is i, and its own i-th member is itself. cfg is valid and readable,
 * `at` within the topology, i below the size of its group. TOPO-2 … TOPO-5 */
/*@ requires cfg: Readable(cfg) && Valid(cfg);
    requires at: Within(cfg, at.pp, at.dp, at.tp) && 0 <= i < GroupSize(cfg, group, key, at.pp);
    terminates \true;
    exits \false;
    assigns \nothing;
    ensures same: \result == i; */
int32_t index_of_member(const zp_config *cfg, int32_t group, int32_t key, zp_coord at, int32_t i)
{
  const int32_t rank = zp_group_member(cfg, group, key, at, i);
  //@ assert rank: 0 <= rank < World(cfg);
  return zp_group_index(cfg, group, key, zp_coord_of(cfg, rank));
}

/* Two ranks give their groups the same identity iff they are in the same group. cfg is valid and
 * readable, both within the topology, the first in a group of this kind. TOPO-5 */
/*@ requires cfg: Readable(cfg) && Valid(cfg);
    requires a: Within(cfg, a.pp, a.dp, a.tp) && 0 < GroupSize(cfg, group, key, a.pp);
    requires b: Within(cfg, b.pp, b.dp, b.tp);
    terminates \true;
    exits \false;
    assigns \nothing;
    ensures iff: \result == 1 <==> InGroup(cfg, group, key, a.pp, a.dp, a.tp, b.pp, b.dp, b.tp); */
int same_name(const zp_config *cfg, int32_t group, int32_t key, zp_coord a, zp_coord b)
{
  return zp_group_id(cfg, group, key, a) == zp_group_id(cfg, group, key, b) ? 1 : 0;
}

/*@ check lemma sentinel_groups: \false; */
