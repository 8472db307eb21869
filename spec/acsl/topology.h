/* The logic of TOPO-1 … TOPO-5: ranks and the members of groups. The indices (p, d, t) name a rank.
 * Include after ref/plan/topology.h's types. */
#ifndef ZP_SPEC_ACSL_TOPOLOGY_H
#define ZP_SPEC_ACSL_TOPOLOGY_H

#include "config.h"

/*@ // TOPO-1. (The case is redundant; it keeps provers from expanding the product.)
    logic integer Mix(integer x, integer m, integer y) = m <= 0 ? 0 : x * m + y;
    logic integer World{L}(zp_config *c) = Mix(Mix(c->pp, c->dp, 0), c->tp, 0);
    logic integer Rank{L}(zp_config *c, integer p, integer d, integer t) =
      Mix(Mix(p, c->dp, d), c->tp, t);
    predicate Within{L}(zp_config *c, integer p, integer d, integer t) =
      0 <= p < c->pp && 0 <= d < c->dp && 0 <= t < c->tp;

    // TOPO-4: 1 if one of the first n entries has this key and stage
    logic integer Seen{L}(zp_config *c, integer key, integer s, integer n) =
      n <= 0 ? 0 : (c->params[n - 1].tied == key && c->params[n - 1].stage == s ? 1
                                                                    : Seen(c, key, s, n - 1));
    logic integer On{L}(zp_config *c, integer key, integer s) = Seen(c, key, s, c->n_params);
    // number of stages below s that hold the key
    logic integer CountOn{L}(zp_config *c, integer key, integer s) =
      s <= 0 ? 0 : CountOn(c, key, s - 1) + On(c, key, s - 1);
    // the i-th of them, or -1
    logic integer StageBelow{L}(zp_config *c, integer key, integer i, integer s) =
      s <= 0 ? -1 : (On(c, key, s - 1) == 1 && CountOn(c, key, s - 1) == i
                       ? s - 1 : StageBelow(c, key, i, s - 1));
    logic integer StageOf{L}(zp_config *c, integer key, integer i) =
      StageBelow(c, key, i, c->pp);

    // TOPO-2 … TOPO-4: (p, d, t) and (q, e, u) are in the same group of this kind
    predicate InGroup{L}(zp_config *c, integer group, integer key, integer p, integer d, integer t,
                         integer q, integer e, integer u) =
      group == ZP_GROUP_WORLD ||
      (group == ZP_GROUP_DP && p == q && t == u) ||
      (group == ZP_GROUP_TP && p == q && d == e) ||
      (group == ZP_GROUP_PP && d == e && t == u) ||
      (group == ZP_GROUP_EDP && p == q && t == u && d % c->ep == e % c->ep) ||
      (group == ZP_GROUP_EP && p == q && t == u && d / c->ep == e / c->ep) ||
      (group == ZP_GROUP_TIED && d == e && t == u && On(c, key, p) == 1 && On(c, key, q) == 1);

    logic integer GroupSize{L}(zp_config *c, integer group, integer key, integer p) =
      group == ZP_GROUP_WORLD ? World(c) :
      group == ZP_GROUP_DP ? c->dp :
      group == ZP_GROUP_TP ? c->tp :
      group == ZP_GROUP_PP ? c->pp :
      group == ZP_GROUP_EDP ? c->dp / c->ep :
      group == ZP_GROUP_EP ? c->ep :
      group == ZP_GROUP_TIED && On(c, key, p) == 1 ? CountOn(c, key, c->pp) : 0;

    logic integer GroupIndex{L}(zp_config *c, integer group, integer key, integer p, integer d,
                                integer t) =
      group == ZP_GROUP_WORLD ? Rank(c, p, d, t) :
      group == ZP_GROUP_DP ? d :
      group == ZP_GROUP_TP ? t :
      group == ZP_GROUP_PP ? p :
      group == ZP_GROUP_EDP ? d / c->ep :
      group == ZP_GROUP_EP ? d % c->ep :
      group == ZP_GROUP_TIED && On(c, key, p) == 1 ? CountOn(c, key, p) : -1;

    logic integer GroupMember{L}(zp_config *c, integer group, integer key, integer p, integer d,
                                 integer t, integer i) =
      i < 0 || GroupSize(c, group, key, p) <= i ? -1 :
      group == ZP_GROUP_WORLD ? i :
      group == ZP_GROUP_DP ? Rank(c, p, i, t) :
      group == ZP_GROUP_TP ? Rank(c, p, d, i) :
      group == ZP_GROUP_PP ? Rank(c, i, d, t) :
      group == ZP_GROUP_EDP ? Rank(c, p, Mix(i, c->ep, d % c->ep), t) :
      group == ZP_GROUP_EP ? Rank(c, p, Mix(d / c->ep, c->ep, i), t) :
      Rank(c, StageOf(c, key, i), d, t);
*/

#endif
