/* STAT-2: a rank's count for the buckets of one flat group, in the functions of
 * composition_world.h. ACSL only. Include after norm_rank.h, composition_world.h and the lemmas of
 * layouts. */
#ifndef ZP_SPEC_ACSL_NORM_RANK_GROUP_H
#define ZP_SPEC_ACSL_NORM_RANK_GROUP_H

/*@ // Of flat group k, the part of rank m in bucket b; in the first b buckets
    logic integer PartGroup{L}(zp_config *c, integer e, integer x, integer k, integer t, integer m,
        integer b) =
      PartSquares(c, e, x, k, t, m % CopiesAt(c, e, x, k), FlatNumel(c, e, x, k),
        RoomAt(c, e, x, k), DepthAt(c, e, x, k), c->align, b, m / CopiesAt(c, e, x, k));
    logic integer PartsGroup{L}(zp_config *c, integer e, integer x, integer k, integer t, integer m,
        integer b) =
      b <= 0 ? 0 : PartsGroup(c, e, x, k, t, m, b - 1) + PartGroup(c, e, x, k, t, m, b - 1);
    lemma Parts_Member{L}: \forall integer b; 0 <= b ==>
      \forall zp_config *c, integer e, x, k, t, m; PartsGroup(c, e, x, k, t, m, b) ==
        MemberSquares(c, e, x, k, t, m % CopiesAt(c, e, x, k), FlatNumel(c, e, x, k),
          RoomAt(c, e, x, k), DepthAt(c, e, x, k), c->align, b, m / CopiesAt(c, e, x, k));
    lemma Parts_Group{L}: \forall zp_config *c, integer e, x, k, t, m, b; 0 <= b &&
      b == Buckets(FlatNumel(c, e, x, k), RoomAt(c, e, x, k)) ==>
      PartsGroup(c, e, x, k, t, m, b) == RankGroup(c, e, x, k, t, m);
*/

/* A flat group with storage. */
/*@ predicate StageOfRank{L}(zp_config *c, zp_layout *lay, zp_coord at, integer e, integer x) =
      RankIn(c, lay, at) && e == StageEnd(c, at.pp) && x == StageCount(c, at.pp);
    predicate StageAs{L}(zp_config *c, zp_layout *lay, zp_coord at, integer e, integer x) =
      lay->stage == at.pp && lay->n_params == x && lay->n_flats == FlatCount(c, e, x) &&
      lay->n_flats == StageGroups(c, at.pp) && 0 <= x <= e && e <= c->n_params &&
      0 <= lay->n_flats <= 65536 && lay->first_param == e - x;
    lemma Stage_As{L}: \forall zp_config *c, zp_layout *lay, zp_coord at, integer e, x;
      StageOfRank(c, lay, at, e, x) ==> LayoutHead(c, at.pp, lay) && LayoutRange(c, lay) &&
      StageAs(c, lay, at, e, x);
    predicate GroupAs{L}(zp_config *c, zp_layout *lay, integer e, integer x, integer k) =
      lay->flat[k].numel == FlatNumel(c, e, x, k) && lay->flat[k].capacity == RoomAt(c, e, x, k) &&
      lay->flat[k].members == DepthAt(c, e, x, k) && lay->flat[k].align == c->align &&
      CopiesIn(c, lay, k) == CopiesAt(c, e, x, k) &&
      (lay->flat[k].group == ZP_GROUP_DP || lay->flat[k].group == ZP_GROUP_EDP);
    lemma Group_As{L}: \forall zp_config *c, zp_layout *lay, zp_coord at, integer e, x, k;
      StageOfRank(c, lay, at, e, x) && 0 <= k < lay->n_flats ==> LayoutFlat(c, at.pp, lay, k) &&
      GroupAs(c, lay, e, x, k);
    lemma Member_As{L}: \forall zp_config *c, zp_layout *lay, zp_coord at, integer e, x, k;
      GroupAs(c, lay, e, x, k) && 0 <= at.dp && 1 <= c->ep ==>
      MemberOf(c, lay, at, k) == at.dp / CopiesAt(c, e, x, k) && 0 <= MemberOf(c, lay, at, k);
    lemma Place_As: \forall integer n, cap, d, a, b, r, part; 0 <= b && 0 <= r &&
      part == Part(n, cap, d, a, b) ==> OwnPlace(b, cap, r, part) == PartAt(n, cap, d, a, b, r);
    lemma Place_End: \forall integer n, cap, d, a, b, r, part; 0 <= b && 0 <= r &&
      part == Part(n, cap, d, a, b) ==>
      OwnPlace(b, cap, r, part) + part == PartAt(n, cap, d, a, b, r + 1);
    predicate PartPlaced{L}(zp_config *c, zp_layout *lay, zp_coord at, integer e, integer x,
        integer k, integer b) =
      OwnFrom(c, lay, at, k, b) == PartAt(FlatNumel(c, e, x, k), RoomAt(c, e, x, k),
        DepthAt(c, e, x, k), c->align, b, at.dp / CopiesAt(c, e, x, k)) &&
      OwnTo(c, lay, at, k, b) == PartAt(FlatNumel(c, e, x, k), RoomAt(c, e, x, k),
        DepthAt(c, e, x, k), c->align, b, at.dp / CopiesAt(c, e, x, k) + 1);
    lemma Part_Placed{L}: \forall zp_config *c, zp_layout *lay, zp_coord at, integer e, x, k, b;
      GroupAs(c, lay, e, x, k) && 0 <= at.dp && 1 <= c->ep && 0 <= b ==>
      PartPlaced(c, lay, at, e, x, k, b);
    lemma Part_Squares{L}: \forall zp_config *c, zp_layout *lay, zp_coord at, integer e, x, k, b;
      PartPlaced(c, lay, at, e, x, k, b) && GroupAs(c, lay, e, x, k) &&
      StageAs(c, lay, at, e, x) && e == StageEnd(c, at.pp) ==>
      MeanAdds(c, lay, at, k, b) == PartGroup(c, e, x, k, at.tp, at.dp, b);
    lemma Part_Adds{L}: \forall zp_config *c, zp_layout *lay, zp_coord at, integer e, x, k, b;
      StageOfRank(c, lay, at, e, x) && 0 <= k < lay->n_flats && 0 <= b ==>
      StageAs(c, lay, at, e, x) && GroupAs(c, lay, e, x, k) && 1 <= c->ep && 0 <= at.dp &&
      PartPlaced(c, lay, at, e, x, k, b) &&
      MeanAdds(c, lay, at, k, b) == PartGroup(c, e, x, k, at.tp, at.dp, b);
    lemma Buckets_As{L}: \forall zp_config *c, zp_layout *lay, integer e, x, k, b, t, m;
      GroupAs(c, lay, e, x, k) && 0 <= b && b == BucketsOf(lay->flat + k) ==>
      b == Buckets(FlatNumel(c, e, x, k), RoomAt(c, e, x, k)) &&
      PartsGroup(c, e, x, k, t, m, b) == RankGroup(c, e, x, k, t, m);
    lemma StageSum_Parts{L}: \forall zp_config *c, zp_layout *lay, zp_coord at, integer e, x, k, b;
      StageOfRank(c, lay, at, e, x) && 0 <= k < lay->n_flats && 0 <= b &&
      b == BucketsOf(lay->flat + k) ==> LayoutFlat(c, at.pp, lay, k) && GroupAs(c, lay, e, x, k) &&
      b == Buckets(FlatNumel(c, e, x, k), RoomAt(c, e, x, k)) &&
      PartsGroup(c, e, x, k, at.tp, at.dp, b) == RankGroup(c, e, x, k, at.tp, at.dp);
*/

/* A further use of a tied key has no storage, and its entry is not counted. */
/*@ predicate NotCounted{L}(zp_config *c, integer e, integer j, integer k, integer t) =
      FlatOf(c, e, j) == k ==> CountedOn(c, e, j, t) != 1;
    predicate NoneCounted{L}(zp_config *c, integer e, integer x, integer k, integer t) =
      \forall integer j; e - x <= j < e ==> NotCounted(c, e, j, k, t);
    lemma NoneCounted_One{L}: \forall zp_config *c, integer e, x, y, k, t; x == y + 1 && 0 <= y &&
      NoneCounted(c, e, x, k, t) ==> NoneCounted(c, e, y, k, t) && NotCounted(c, e, e - x, k, t);
    lemma NoneCounted_Below{L}: \forall integer x; 0 <= x ==>
      \forall zp_config *c, integer e, k, t, z, pos; NoneCounted(c, e, x, k, t) ==>
      SquaresBelow(c, e, x, k, t, z, pos) == 0;
    lemma NoneCounted_Part{L}: \forall zp_config *c, integer e, x, k, t, m, b; 0 <= x &&
      NoneCounted(c, e, x, k, t) ==> PartGroup(c, e, x, k, t, m, b) == 0;
    lemma NoneCounted_Parts{L}: \forall integer b; 0 <= b ==>
      \forall zp_config *c, integer e, x, k, t, m; 0 <= x && NoneCounted(c, e, x, k, t) ==>
      PartsGroup(c, e, x, k, t, m, b) == 0;
    lemma Use_Tied{L}: \forall zp_config *c, integer s, zp_layout *lay, integer i, k; Valid(c) &&
      LayoutOf(c, s, lay) && 0 <= i < lay->n_params && lay->spot[i].flat == k && 0 <= k &&
      lay->flat[k].use != 0 ==> SpotGood(c, s, lay, i) && k < lay->n_flats &&
      FlatGood(c, s, lay, k) && LayoutFlat(c, s, lay, k) && 0 <= lay->flat[k].tied &&
      c->params[lay->first_param + i].tied == lay->flat[k].tied &&
      c->params[lay->first_param + i].frozen == 0;
    lemma Use_Spot{L}: \forall zp_config *c, integer s, zp_layout *lay, integer i, j, k, e;
      LayoutOf(c, s, lay) && 0 <= i < lay->n_params && j == lay->first_param + i &&
      e == StageEnd(c, s) && FlatOf(c, e, j) == k ==> LayoutSpot(c, s, lay, i) &&
      lay->spot[i].flat == k && LayoutHead(c, s, lay);
    lemma Use_Opens{L}: \forall zp_config *c, integer e, x, j, k; e - x <= j < e &&
      0 <= c->params[j].tied && c->params[j].frozen == 0 && FlatOf(c, e, j) == k ==>
      IsTied(c, j) && Opener(c, e, x, k) == j;
    lemma Use_Opener{L}: \forall zp_config *c, integer s, zp_layout *lay, integer i, j, k, e, x;
      Valid(c) && LayoutOf(c, s, lay) && 0 <= i < lay->n_params && j == lay->first_param + i &&
      e == StageEnd(c, s) && x == StageCount(c, s) && FlatOf(c, e, j) == k && 0 <= k &&
      lay->flat[k].use != 0 ==> lay->spot[i].flat == k && LayoutHead(c, s, lay) &&
      0 <= c->params[j].tied && c->params[j].frozen == 0 && e - x <= j < e &&
      Opener(c, e, x, k) == j && LayoutFlat(c, s, lay, k);
    lemma Use_Is{L}: \forall zp_config *c, integer s, zp_layout *lay, integer j, k, e, x;
      e == StageEnd(c, s) && x == StageCount(c, s) && LayoutFlat(c, s, lay, k) &&
      Opener(c, e, x, k) == j ==> lay->flat[k].use == UseOf(c, e, j);
    lemma Use_Later{L}: \forall zp_config *c, integer s, zp_layout *lay, integer i, j, k, e, x;
      Valid(c) && LayoutOf(c, s, lay) && 0 <= i < lay->n_params && j == lay->first_param + i &&
      e == StageEnd(c, s) && x == StageCount(c, s) && FlatOf(c, e, j) == k && 0 <= k &&
      lay->flat[k].use != 0 ==> LayoutFlat(c, s, lay, k) && Opener(c, e, x, k) == j &&
      0 <= c->params[j].tied && UseOf(c, e, j) != 0;
    lemma Use_None{L}: \forall zp_config *c, integer e, j, t; 0 <= c->params[j].tied &&
      UseOf(c, e, j) != 0 ==> CountedOn(c, e, j, t) != 1;
    lemma Use_NotCounted{L}: \forall zp_config *c, integer s, zp_layout *lay, integer i, j, k, t, e,
      x; Valid(c) && LayoutOf(c, s, lay) && 0 <= i < lay->n_params && j == lay->first_param + i &&
      e == StageEnd(c, s) && x == StageCount(c, s) && 0 <= k && lay->flat[k].use != 0 ==>
      NotCounted(c, e, j, k, t);
    lemma Use_NoneCounted{L}: \forall zp_config *c, zp_layout *lay, zp_coord at, integer e, x, k, t;
      StageOfRank(c, lay, at, e, x) && 0 <= k && lay->flat[k].use != 0 ==>
      StageAs(c, lay, at, e, x) && NoneCounted(c, e, x, k, t);
*/

#endif
