/* STAT-2 for the world: the sum of the ranks' counts in a step is the sum of the squares of the
 * logical elements of the reduced gradient. ACSL only. Include after composition.h and the lemmas
 * of layouts. */
#ifndef ZP_SPEC_ACSL_COMPOSITION_WORLD_H
#define ZP_SPEC_ACSL_COMPOSITION_WORLD_H

/* Flat group k of a stage: its elements, members, copies and capacity, those of its opener. */
/*@ logic integer DepthAt{L}(zp_config *c, integer e, integer x, integer k) =
      MembersOf(c, Opener(c, e, x, k));
    logic integer RoomAt{L}(zp_config *c, integer e, integer x, integer k) =
      Capacity(c->bucket, DepthAt(c, e, x, k), c->align);
    // the count of rank m of the dp ranks for it, and for the first g groups; the same for the
    // first m ranks
    logic integer RankGroup{L}(zp_config *c, integer e, integer x, integer k, integer t,
        integer m) =
      RankFlat(c, e, x, k, t, FlatNumel(c, e, x, k), RoomAt(c, e, x, k), DepthAt(c, e, x, k),
        c->align, Buckets(FlatNumel(c, e, x, k), RoomAt(c, e, x, k)), CopiesAt(c, e, x, k), m);
    logic integer RanksGroup{L}(zp_config *c, integer e, integer x, integer k, integer t,
        integer m) =
      RanksFlat(c, e, x, k, t, FlatNumel(c, e, x, k), RoomAt(c, e, x, k), DepthAt(c, e, x, k),
        c->align, Buckets(FlatNumel(c, e, x, k), RoomAt(c, e, x, k)), CopiesAt(c, e, x, k), m);
    logic integer RankStage{L}(zp_config *c, integer e, integer x, integer t, integer g,
        integer m) =
      g <= 0 ? 0 : RankStage(c, e, x, t, g - 1, m) + RankGroup(c, e, x, g - 1, t, m);
    logic integer RanksStage{L}(zp_config *c, integer e, integer x, integer t, integer g,
        integer m) =
      m <= 0 ? 0 : RanksStage(c, e, x, t, g, m - 1) + RankStage(c, e, x, t, g, m - 1);
    predicate GroupFine{L}(zp_config *c, integer e, integer x, integer k) =
      FlatShape(FlatNumel(c, e, x, k), RoomAt(c, e, x, k), DepthAt(c, e, x, k), c->align) &&
      FlatHolds(c, e, x, k, FlatNumel(c, e, x, k)) && 1 <= CopiesAt(c, e, x, k) &&
      Mix(DepthAt(c, e, x, k), CopiesAt(c, e, x, k), 0) == c->dp &&
      GroupLike(c, e, x, k, CopiesAt(c, e, x, k));
    predicate GroupsFine{L}(zp_config *c, integer e, integer x, integer g) =
      \forall integer k; 0 <= k < g ==> GroupFine(c, e, x, k);

    lemma Rank_Groups{L}: \forall zp_config *c, integer e, x, k, t, m; 1 <= m ==>
      RanksGroup(c, e, x, k, t, m) ==
        RanksGroup(c, e, x, k, t, m - 1) + RankGroup(c, e, x, k, t, m - 1);
    lemma Rank_GroupsNone{L}: \forall zp_config *c, integer e, x, k, t;
      RanksGroup(c, e, x, k, t, 0) == 0;
    lemma Rank_Exchange{L}: \forall integer m; 0 <= m ==> \forall zp_config *c, integer e, x, t, g;
      1 <= g ==> RanksStage(c, e, x, t, g, m) ==
        RanksStage(c, e, x, t, g - 1, m) + RanksGroup(c, e, x, g - 1, t, m);
    lemma Rank_None{L}: \forall integer m; 0 <= m ==> \forall zp_config *c, integer e, x, t;
      RanksStage(c, e, x, t, 0, m) == 0;
    lemma Group_Whole{L}: \forall zp_config *c, integer e, x, k, t; 0 <= x &&
      GroupFine(c, e, x, k) ==> RanksGroup(c, e, x, k, t, c->dp) ==
        FlatCopies(c, e, x, k, t, CopiesAt(c, e, x, k));
    lemma Fine_One{L}: \forall zp_config *c, integer e, x, g; 1 <= g && GroupsFine(c, e, x, g) ==>
      GroupsFine(c, e, x, g - 1) && GroupFine(c, e, x, g - 1);
    lemma Groups_Whole{L}: \forall integer g; 0 <= g ==> \forall zp_config *c, integer e, x, t;
      0 <= x && 0 <= c->dp && GroupsFine(c, e, x, g) ==>
      RanksStage(c, e, x, t, g, c->dp) == GroupsSquares(c, e, x, t, g);
    lemma Fine_Like{L}: \forall integer g; 0 <= g ==> \forall zp_config *c, integer e, x;
      GroupsFine(c, e, x, g) ==> GroupsLike(c, e, x, x, g);
    lemma Stage_Whole{L}: \forall zp_config *c, integer e, x, t, g; 0 <= x && 0 <= g &&
      0 <= c->dp && 1 <= c->ep && GroupsFine(c, e, x, g) && AllInGroups(c, e, x, g) ==>
      RanksStage(c, e, x, t, g, c->dp) == StageSquares(c, e, x, t);
*/

/* The world: t < tp, then s < pp. The sum of its ranks' counts, and the sum over its logical
 * elements. */
/*@ logic integer StageGroups{L}(zp_config *c, integer s) =
      FlatCount(c, StageEnd(c, s), StageCount(c, s));
    logic integer CountedStage{L}(zp_config *c, integer s, integer t) =
      t <= 0 ? 0 : CountedStage(c, s, t - 1) +
        RanksStage(c, StageEnd(c, s), StageCount(c, s), t - 1, StageGroups(c, s), c->dp);
    logic integer CountedWorld{L}(zp_config *c, integer s) =
      s <= 0 ? 0 : CountedWorld(c, s - 1) + CountedStage(c, s - 1, c->tp);
    logic integer LogicalStage{L}(zp_config *c, integer s, integer t) =
      t <= 0 ? 0 : LogicalStage(c, s, t - 1) +
        StageSquares(c, StageEnd(c, s), StageCount(c, s), t - 1);
    logic integer LogicalWorld{L}(zp_config *c, integer s) =
      s <= 0 ? 0 : LogicalWorld(c, s - 1) + LogicalStage(c, s - 1, c->tp);
    predicate StageFine{L}(zp_config *c, integer s) =
      0 <= StageCount(c, s) && 0 <= StageGroups(c, s) && 0 <= c->dp && 1 <= c->ep &&
      GroupsFine(c, StageEnd(c, s), StageCount(c, s), StageGroups(c, s)) &&
      AllInGroups(c, StageEnd(c, s), StageCount(c, s), StageGroups(c, s));

    lemma Counted_Stage{L}: \forall integer t; 0 <= t ==> \forall zp_config *c, integer s;
      StageFine(c, s) ==> CountedStage(c, s, t) == LogicalStage(c, s, t);
    lemma Counted_World{L}: \forall integer s; 0 <= s ==> \forall zp_config *c; 0 <= c->tp &&
      (\forall integer i; 0 <= i < s ==> StageFine(c, i)) ==>
      CountedWorld(c, s) == LogicalWorld(c, s);
*/

/* The stages of a valid configuration satisfy this. */
/*@ lemma Fine_Copies{L}: \forall zp_config *c, integer j; Valid(c) && 0 <= j < c->n_params ==>
      1 <= CopiesOf(c, j) && Mix(MembersOf(c, j), CopiesOf(c, j), 0) == c->dp;
    lemma Fine_Shape{L}: \forall zp_config *c, integer e, x, k; Valid(c) &&
      0 <= x <= e <= c->n_params && 0 <= k < FlatCount(c, e, x) ==>
      1 <= CopiesAt(c, e, x, k) && Mix(DepthAt(c, e, x, k), CopiesAt(c, e, x, k), 0) == c->dp &&
      0 <= FlatNumel(c, e, x, k) &&
      FlatShape(FlatNumel(c, e, x, k), RoomAt(c, e, x, k), DepthAt(c, e, x, k), c->align);
    lemma Fine_Within{L}: \forall zp_config *c, integer e, x, j, k; Valid(c) &&
      0 <= x <= e <= c->n_params && e - x <= j < e && 0 <= k ==>
      EntryWithin(c, e, j, k, FlatNumel(c, e, x, k));
    lemma Fine_Holds{L}: \forall zp_config *c, integer e, x, k; Valid(c) &&
      0 <= x <= e <= c->n_params && 0 <= k ==> FlatHolds(c, e, x, k, FlatNumel(c, e, x, k));
    lemma Fine_InGroups{L}: \forall zp_config *c, integer e, x, j; Valid(c) &&
      0 <= x <= e <= c->n_params && e - x <= j < e ==> InGroups(c, e, j, FlatCount(c, e, x));
    lemma Fine_AllIn{L}: \forall zp_config *c, integer e, x; Valid(c) &&
      0 <= x <= e <= c->n_params ==> AllInGroups(c, e, x, FlatCount(c, e, x));
    lemma Fine_CopiesLike{L}: \forall zp_config *c, integer e, x, j, k; Valid(c) &&
      0 <= x <= e <= c->n_params && e - x <= j < e && 0 <= k < FlatCount(c, e, x) ==>
      CopiesLike(c, e, j, k, CopiesAt(c, e, x, k));
    lemma Fine_GroupLike{L}: \forall zp_config *c, integer e, x, k; Valid(c) &&
      0 <= x <= e <= c->n_params && 0 <= k < FlatCount(c, e, x) ==>
      GroupLike(c, e, x, k, CopiesAt(c, e, x, k));
    lemma Fine_Group{L}: \forall zp_config *c, integer e, x, k; Valid(c) &&
      0 <= x <= e <= c->n_params && 0 <= k < FlatCount(c, e, x) ==> GroupFine(c, e, x, k);
    lemma Fine_Groups{L}: \forall zp_config *c, integer e, x; Valid(c) &&
      0 <= x <= e <= c->n_params ==> GroupsFine(c, e, x, FlatCount(c, e, x));
    lemma Fine_Stage{L}: \forall zp_config *c, integer s; Valid(c) && 0 <= s < c->pp ==>
      StageFine(c, s);
    // for every valid configuration, the sum of the ranks' counts is the sum over the logical
    // elements
    lemma Composition{L}: \forall zp_config *c; Valid(c) ==>
      CountedWorld(c, c->pp) == LogicalWorld(c, c->pp);
*/

#endif
