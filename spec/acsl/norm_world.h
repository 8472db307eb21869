/* STAT-1, STAT-2, STAT-4: all ranks' vectors of statistics, added up. ACSL only. Include after
 * composition_world.h and ref/engine/statistics.h. */
#ifndef ZP_SPEC_ACSL_NORM_WORLD_H
#define ZP_SPEC_ACSL_NORM_WORLD_H

#include "norm_vectors.h"

/*@ // Vectors stand in this order: replica r, stage s, tp index t, dp index m.
    logic integer VectorAt{L}(zp_config *c, integer r, integer s, integer t, integer m) =
      Mix(Mix(Mix(r, c->pp, s), c->tp, t), c->dp, m);
    // each says what its rank counts: of replica 0 its part, of others nothing
    predicate RanksCount{L}(zp_config *c, integer replicas) =
      \forall integer r, s, t, m; 0 <= r < replicas && 0 <= s < c->pp && 0 <= t < c->tp &&
        0 <= m < c->dp ==> ValueOf(VectorAt(c, r, s, t, m)) == (r != 0 ? 0 :
          RankStage(c, StageEnd(c, s), StageCount(c, s), t, StageGroups(c, s), m));

    predicate WorldCounts{L}(zp_config *c, integer n) =
      1 <= c->dp && 1 <= c->tp && 1 <= c->pp && RanksCount(c, n) && 1 <= n;

    lemma Vector_At{L}: \forall zp_config *c, integer r, s, t, m; 1 <= c->dp ==>
      VectorAt(c, r, s, t, m + 1) == VectorAt(c, r, s, t, m) + 1;
    lemma Vector_Tp{L}: \forall zp_config *c, integer r, s, t; 1 <= c->dp && 1 <= c->tp ==>
      VectorAt(c, r, s, t, c->dp) == VectorAt(c, r, s, t + 1, 0);
    lemma Vector_Pp{L}: \forall zp_config *c, integer r, s; 1 <= c->dp && 1 <= c->tp &&
      1 <= c->pp ==> VectorAt(c, r, s, c->tp, 0) == VectorAt(c, r, s + 1, 0, 0);
    lemma Vector_Replica{L}: \forall zp_config *c, integer r; 1 <= c->dp && 1 <= c->tp &&
      1 <= c->pp ==> VectorAt(c, r, c->pp, 0, 0) == VectorAt(c, r + 1, 0, 0, 0);
    lemma Vector_Low{L}: \forall zp_config *c, integer r, s, t, m; 1 <= c->dp && 1 <= c->tp &&
      1 <= c->pp && 0 <= r && 0 <= s && 0 <= t && 0 <= m ==> 0 <= VectorAt(c, r, s, t, m);
    lemma Vector_First{L}: \forall zp_config *c; 1 <= c->dp && 1 <= c->tp && 1 <= c->pp ==>
      VectorAt(c, 0, 0, 0, 0) == 0;

    // the vectors of replica 0, rank by rank, tp index by tp index, stage by stage
    lemma Values_Dp{L}: \forall integer m; 0 <= m ==> \forall zp_config *c, integer n, s, t;
      WorldCounts(c, n) && 0 <= s < c->pp &&
      0 <= t < c->tp && m <= c->dp ==>
      ValuesOf(VectorAt(c, 0, s, t, m)) == ValuesOf(VectorAt(c, 0, s, t, 0)) +
        RanksStage(c, StageEnd(c, s), StageCount(c, s), t, StageGroups(c, s), m);
    lemma Values_TpNext{L}: \forall zp_config *c, integer n, s, t; WorldCounts(c, n) &&
      0 <= s < c->pp && 0 <= t < c->tp ==> ValuesOf(VectorAt(c, 0, s, t + 1, 0)) ==
        ValuesOf(VectorAt(c, 0, s, t, 0)) +
        RanksStage(c, StageEnd(c, s), StageCount(c, s), t, StageGroups(c, s), c->dp);
    lemma Values_TpCounted{L}: \forall zp_config *c, integer n, s, t; WorldCounts(c, n) &&
      0 <= s < c->pp && 0 <= t < c->tp ==> ValuesOf(VectorAt(c, 0, s, t + 1, 0)) ==
        ValuesOf(VectorAt(c, 0, s, t, 0)) + CountedStage(c, s, t + 1) - CountedStage(c, s, t);
    predicate TpCounted{L}(zp_config *c, integer s, integer t) =
      ValuesOf(VectorAt(c, 0, s, t, 0)) ==
        ValuesOf(VectorAt(c, 0, s, 0, 0)) + CountedStage(c, s, t);
    lemma Values_TpNone{L}: \forall zp_config *c, integer s, t; t <= 0 ==>
      CountedStage(c, s, t) == 0;
    lemma Values_TpFirst{L}: \forall zp_config *c, integer s; TpCounted(c, s, 0);
    lemma Values_TpStep{L}: \forall zp_config *c, integer n, s, t; WorldCounts(c, n) &&
      0 <= s < c->pp && 1 <= t <= c->tp && TpCounted(c, s, t - 1) ==> TpCounted(c, s, t);
    predicate TpAll{L}(zp_config *c, integer n, integer s, integer t) =
      WorldCounts(c, n) && 0 <= s < c->pp && t <= c->tp ==> TpCounted(c, s, t);
    lemma Values_TpUp{L}: \forall zp_config *c, integer n, s, t; 1 <= t &&
      TpAll(c, n, s, t - 1) ==> TpAll(c, n, s, t);
    lemma Values_TpAll{L}: \forall integer t; 0 <= t ==> \forall zp_config *c, integer n, s;
      TpAll(c, n, s, t);
    lemma Values_Tp{L}: \forall integer t; 0 <= t ==> \forall zp_config *c, integer n, s;
      WorldCounts(c, n) && 0 <= s < c->pp &&
      t <= c->tp ==> ValuesOf(VectorAt(c, 0, s, t, 0)) ==
        ValuesOf(VectorAt(c, 0, s, 0, 0)) + CountedStage(c, s, t);
    lemma Values_PpNext{L}: \forall zp_config *c, integer n, s; WorldCounts(c, n) &&
      0 <= s < c->pp ==> ValuesOf(VectorAt(c, 0, s + 1, 0, 0)) ==
        ValuesOf(VectorAt(c, 0, s, 0, 0)) + CountedStage(c, s, c->tp);
    lemma Values_Pp{L}: \forall integer s; 0 <= s ==> \forall zp_config *c, integer n;
      WorldCounts(c, n) && s <= c->pp ==>
      ValuesOf(VectorAt(c, 0, s, 0, 0)) == CountedWorld(c, s);
    // the other replicas add nothing
    lemma Others_Dp{L}: \forall integer m; 0 <= m ==> \forall zp_config *c, integer n, r, s, t;
      WorldCounts(c, n) && 1 <= r < n &&
      0 <= s < c->pp && 0 <= t < c->tp && m <= c->dp ==>
      ValuesOf(VectorAt(c, r, s, t, m)) == ValuesOf(VectorAt(c, r, s, t, 0));
    lemma Others_TpAll{L}: \forall zp_config *c, integer n, r, s, t; WorldCounts(c, n) &&
      1 <= r < n && 0 <= s < c->pp && 0 <= t < c->tp ==>
      ValuesOf(VectorAt(c, r, s, t, c->dp)) == ValuesOf(VectorAt(c, r, s, t, 0));
    lemma Others_TpNext{L}: \forall zp_config *c, integer n, r, s, t; WorldCounts(c, n) &&
      1 <= r < n && 0 <= s < c->pp && 0 <= t < c->tp ==>
      ValuesOf(VectorAt(c, r, s, t + 1, 0)) == ValuesOf(VectorAt(c, r, s, t, 0));
    lemma Others_Tp{L}: \forall integer t; 0 <= t ==> \forall zp_config *c, integer n, r, s;
      WorldCounts(c, n) && 1 <= r < n &&
      0 <= s < c->pp && t <= c->tp ==>
      ValuesOf(VectorAt(c, r, s, t, 0)) == ValuesOf(VectorAt(c, r, s, 0, 0));
    lemma Others_PpNext{L}: \forall zp_config *c, integer n, r, s; WorldCounts(c, n) &&
      1 <= r < n && 0 <= s < c->pp ==>
      ValuesOf(VectorAt(c, r, s + 1, 0, 0)) == ValuesOf(VectorAt(c, r, s, 0, 0));
    lemma Others_Pp{L}: \forall integer s; 0 <= s ==> \forall zp_config *c, integer n, r;
      WorldCounts(c, n) && 1 <= r < n && s <= c->pp ==>
      ValuesOf(VectorAt(c, r, s, 0, 0)) == ValuesOf(VectorAt(c, r, 0, 0, 0));
    lemma Values_First{L}: \forall zp_config *c, integer n; WorldCounts(c, n) ==>
      ValuesOf(VectorAt(c, 1, 0, 0, 0)) == CountedWorld(c, c->pp);
    lemma Others_Next{L}: \forall zp_config *c, integer n, r; WorldCounts(c, n) && 1 <= r < n ==>
      ValuesOf(VectorAt(c, r + 1, 0, 0, 0)) == ValuesOf(VectorAt(c, r, 0, 0, 0));
    lemma Values_Replicas{L}: \forall integer r; 1 <= r ==> \forall zp_config *c, integer n;
      WorldCounts(c, n) && r <= n ==>
      ValuesOf(VectorAt(c, r, 0, 0, 0)) == CountedWorld(c, c->pp);
    lemma Values_World{L}: \forall zp_config *c, integer n; Valid(c) && RanksCount(c, n) &&
      1 <= n ==> ValuesOf(VectorAt(c, n, 0, 0, 0)) == LogicalWorld(c, c->pp);
*/

#endif
