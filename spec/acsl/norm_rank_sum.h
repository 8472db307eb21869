/* STAT-2: all means of a STEP program together are the rank's count for its stage. ACSL only.
 * Include after norm_rank_group.h, planned_lemmas.h and bucket_lemmas.h. */
#ifndef ZP_SPEC_ACSL_NORM_RANK_SUM_H
#define ZP_SPEC_ACSL_NORM_RANK_SUM_H

/* Which bucket mean q is of. */
/*@ predicate HeldFits{L}(zp_flat *f, integer n) =
      \forall integer k; 0 <= k < n ==> 0 <= HeldOf(f + k) <= 1099511627776;
    lemma HeldFits_One{L}: \forall zp_flat *f; FlatOk(f) ==> 0 <= BucketsOf(f) <= 1099511627776;
    lemma HeldFits_Of{L}: \forall zp_flat *f, integer n; FlatsFine(f, n) ==> HeldFits(f, n);
    lemma Held_Next{L}: \forall zp_flat *f, integer k, g; g == k + 1 && 0 <= k ==>
      Held(f, g) == Held(f, k) + HeldOf(f + k);
    lemma Held_Up{L}: \forall integer n; 0 <= n ==> \forall zp_flat *f, integer k; HeldFits(f, n) &&
      0 <= k <= n ==> 0 <= Held(f, k) <= Held(f, n);
    lemma HeldFits_Less{L}: \forall zp_flat *f, integer x, y; y <= x && HeldFits(f, x) ==>
      HeldFits(f, y);
    lemma HeldBlock_Top{L}: \forall zp_flat *f, integer x, y, q; y == x - 1 && 1 <= x &&
      Held(f, y) <= q ==> HeldBlock(f, x, q) == y;
    lemma HeldBlock_Over{L}: \forall zp_flat *f, integer x, y, g, q; y == x - 1 && HeldFits(f, x) &&
      0 <= g <= y && q < Held(f, g) ==> HeldFits(f, y) && Held(f, g) <= Held(f, y) &&
      HeldBlock(f, x, q) == HeldBlock(f, y, q);
    predicate BlockIs{L}(zp_flat *f, integer x, integer k, integer g, integer q) =
      HeldFits(f, x) && g == k + 1 && 0 <= k < x && Held(f, k) <= q < Held(f, g) ==>
      HeldBlock(f, x, q) == k;
    lemma BlockIs_Next{L}: \forall zp_flat *f, integer x, y, k, g, q; y == x - 1 && 1 <= x &&
      BlockIs(f, y, k, g, q) ==> BlockIs(f, x, k, g, q);
    lemma HeldBlock_Is{L}: \forall integer x; 0 <= x ==> \forall zp_flat *f, integer k, g, q;
      BlockIs(f, x, k, g, q);
    predicate BlockIn{L}(zp_flat *f, integer x, integer q, integer k, integer g) =
      0 <= k < x && g == k + 1 && Held(f, k) <= q < Held(f, g);
    lemma HeldBlock_In{L}: \forall integer x; 0 <= x ==> \forall zp_flat *f, integer q;
      0 <= q < Held(f, x) ==>
      BlockIn(f, x, q, HeldBlock(f, x, q), HeldBlock(f, x, q) + 1);
    predicate MeanAt{L}(zp_layout *lay, integer q, integer k, integer b) =
      MeanFlat(lay, q) == k && MeanBucket(lay, q) == b && MeanHeld(lay, k, b);
    lemma Bucket_Has{L}: \forall zp_flat *f, integer b; FlatOk(f) && 0 <= b < BucketsOf(f) ==>
      BucketOf(f->numel, f->capacity, b) && HasBucket(f, b);
    predicate LayoutFine{L}(zp_layout *lay) =
      0 <= lay->n_flats <= 65536 && FlatsFine(lay->flat, lay->n_flats) &&
      HeldFits(lay->flat, lay->n_flats);
    lemma Mean_At{L}: \forall zp_layout *lay, integer k, g, b, q; LayoutFine(lay) &&
      0 <= k < lay->n_flats && g == k + 1 && lay->flat[k].use == 0 &&
      0 <= b < BucketsOf(lay->flat + k) && q == Held(lay->flat, k) + b ==>
      Held(lay->flat, g) == Held(lay->flat, k) + BucketsOf(lay->flat + k) &&
      BlockIs(lay->flat, lay->n_flats, k, g, q) && HasBucket(lay->flat + k, b) &&
      MeanAt(lay, q, k, b);
    lemma Mean_Use{L}: \forall zp_layout *lay, integer k, g, q; 0 <= k && g == k + 1 &&
      Held(lay->flat, k) <= q < Held(lay->flat, g) ==>
      lay->flat[k].use == 0 && HeldOf(lay->flat + k) == BucketsOf(lay->flat + k) &&
      Held(lay->flat, g) == Held(lay->flat, k) + BucketsOf(lay->flat + k);
    lemma Mean_Held{L}: \forall zp_layout *lay, integer q, k, g; LayoutFine(lay) &&
      0 <= q < Held(lay->flat, lay->n_flats) && k == MeanFlat(lay, q) && g == k + 1 ==>
      BlockIn(lay->flat, lay->n_flats, q, k, g) && lay->flat[k].use == 0 &&
      0 <= q - Held(lay->flat, k) < BucketsOf(lay->flat + k) &&
      HasBucket(lay->flat + k, q - Held(lay->flat, k)) && MeanHeld(lay, k, MeanBucket(lay, q));
    lemma Rank_Fine{L}: \forall zp_config *c, zp_layout *lay, zp_coord at; RankIn(c, lay, at) ==>
      Planned(c, lay) && LayoutFine(lay);
*/

/* Squares. */
/*@ lemma Sum_Next{L}: \forall zp_config *c, zp_layout *lay, zp_coord at, integer q, r, k, b;
      r == q + 1 && 0 <= q && MeanAt(lay, q, k, b) ==>
      MeansSum(c, lay, at, r) == MeansSum(c, lay, at, q) + MeanAdds(c, lay, at, k, b);
    predicate GroupSum{L}(zp_config *c, zp_layout *lay, zp_coord at, integer e, integer x,
        integer k, integer b) =
      MeansSum(c, lay, at, Held(lay->flat, k) + b) == MeansSum(c, lay, at, Held(lay->flat, k)) +
        PartsGroup(c, e, x, k, at.tp, at.dp, b);
    predicate GroupHeld{L}(zp_layout *lay, integer k) =
      LayoutFine(lay) && 0 <= k < lay->n_flats && lay->flat[k].use == 0 &&
      0 <= Held(lay->flat, k);
    lemma GroupSum_None{L}: \forall zp_config *c, zp_layout *lay, zp_coord at, integer e, x, k;
      GroupSum(c, lay, at, e, x, k, 0);
    // r follows mean q, which is of bucket b of flat group k
    predicate GroupAdds{L}(zp_config *c, zp_layout *lay, zp_coord at, integer k, integer b,
        integer q, integer r) =
      MeansSum(c, lay, at, r) == MeansSum(c, lay, at, q) + MeanAdds(c, lay, at, k, b);
    lemma GroupSum_At{L}: \forall zp_config *c, zp_layout *lay, zp_coord at,
      integer k, g, b, q, r; GroupHeld(lay, k) && g == k + 1 && 0 <= b < BucketsOf(lay->flat + k) &&
      q == Held(lay->flat, k) + b && r == q + 1 ==>
      Held(lay->flat, g) == Held(lay->flat, k) + BucketsOf(lay->flat + k) &&
      BlockIs(lay->flat, lay->n_flats, k, g, q) && MeanAt(lay, q, k, b) &&
      GroupAdds(c, lay, at, k, b, q, r);
    predicate GroupAt{L}(zp_layout *lay, integer k, integer g, integer b, integer d, integer q,
        integer r) =
      GroupHeld(lay, k) && g == k + 1 && d == b + 1 && 0 <= b < BucketsOf(lay->flat + k) &&
      q == Held(lay->flat, k) + b && r == Held(lay->flat, k) + d;
    lemma GroupAt_Adds{L}: \forall zp_config *c, zp_layout *lay, zp_coord at,
      integer k, g, b, d, q, r; GroupAt(lay, k, g, b, d, q, r) ==>
      Held(lay->flat, g) == Held(lay->flat, k) + BucketsOf(lay->flat + k) &&
      BlockIs(lay->flat, lay->n_flats, k, g, q) && MeanAt(lay, q, k, b) &&
      GroupAdds(c, lay, at, k, b, q, r);
    lemma GroupAt_Part{L}: \forall zp_config *c, zp_layout *lay, zp_coord at,
      integer e, x, k, g, b, d, q, r; StageOfRank(c, lay, at, e, x) &&
      GroupAt(lay, k, g, b, d, q, r) ==>
      StageAs(c, lay, at, e, x) && GroupAs(c, lay, e, x, k) &&
      PartPlaced(c, lay, at, e, x, k, b) &&
      MeanAdds(c, lay, at, k, b) == PartGroup(c, e, x, k, at.tp, at.dp, b);
    lemma Parts_Next{L}: \forall zp_config *c, integer e, x, k, t, m, b, d; d == b + 1 && 0 <= b ==>
      PartsGroup(c, e, x, k, t, m, d) ==
        PartsGroup(c, e, x, k, t, m, b) + PartGroup(c, e, x, k, t, m, b);
    predicate GroupStep{L}(zp_config *c, zp_layout *lay, zp_coord at, integer e, integer x,
        integer k, integer b, integer d, integer q, integer r) =
      q == Held(lay->flat, k) + b && r == Held(lay->flat, k) + d &&
      MeansSum(c, lay, at, r) == MeansSum(c, lay, at, q) +
        PartGroup(c, e, x, k, at.tp, at.dp, b) &&
      PartsGroup(c, e, x, k, at.tp, at.dp, d) == PartsGroup(c, e, x, k, at.tp, at.dp, b) +
        PartGroup(c, e, x, k, at.tp, at.dp, b);
    lemma GroupSum_Step{L}: \forall zp_config *c, zp_layout *lay, zp_coord at,
      integer e, x, k, b, d, q, r; GroupStep(c, lay, at, e, x, k, b, d, q, r) &&
      GroupSum(c, lay, at, e, x, k, b) ==> GroupSum(c, lay, at, e, x, k, d);
    lemma GroupSum_Adds{L}: \forall zp_config *c, zp_layout *lay, zp_coord at,
      integer e, x, k, g, b, d, q, r; StageOfRank(c, lay, at, e, x) &&
      GroupAt(lay, k, g, b, d, q, r) ==> GroupAdds(c, lay, at, k, b, q, r) &&
      MeanAdds(c, lay, at, k, b) == PartGroup(c, e, x, k, at.tp, at.dp, b) &&
      GroupStep(c, lay, at, e, x, k, b, d, q, r);
    lemma GroupSum_Next{L}: \forall zp_config *c, zp_layout *lay, zp_coord at,
      integer e, x, k, b, d; StageOfRank(c, lay, at, e, x) && GroupHeld(lay, k) &&
      d == b + 1 && 0 <= b < BucketsOf(lay->flat + k) && GroupSum(c, lay, at, e, x, k, b) ==>
      GroupAt(lay, k, k + 1, b, d, Held(lay->flat, k) + b, Held(lay->flat, k) + d) &&
      GroupStep(c, lay, at, e, x, k, b, d, Held(lay->flat, k) + b, Held(lay->flat, k) + d) &&
      GroupSum(c, lay, at, e, x, k, d);
    lemma GroupSum_All{L}: \forall integer b; 0 <= b ==> \forall zp_config *c, zp_layout *lay,
      zp_coord at, integer e, x, k; StageOfRank(c, lay, at, e, x) && GroupHeld(lay, k) &&
      b <= BucketsOf(lay->flat + k) ==> GroupSum(c, lay, at, e, x, k, b);
    predicate StageSum{L}(zp_config *c, zp_layout *lay, zp_coord at, integer e, integer x,
        integer g) =
      MeansSum(c, lay, at, Held(lay->flat, g)) == RankStage(c, e, x, at.tp, g, at.dp);
    lemma StageSum_None{L}: \forall zp_config *c, zp_layout *lay, zp_coord at, integer e, x;
      StageSum(c, lay, at, e, x, 0);
    lemma StageSum_Use{L}: \forall zp_config *c, zp_layout *lay, zp_coord at, integer e, x, k, g;
      StageOfRank(c, lay, at, e, x) && 0 <= k < lay->n_flats && g == k + 1 &&
      lay->flat[k].use != 0 ==> NoneCounted(c, e, x, k, at.tp) && StageAs(c, lay, at, e, x) &&
      Held(lay->flat, g) == Held(lay->flat, k) && RankGroup(c, e, x, k, at.tp, at.dp) == 0;
    lemma StageSum_Group{L}: \forall zp_layout *lay, integer k, g; 0 <= k < lay->n_flats &&
      g == k + 1 && lay->flat[k].use == 0 && LayoutFine(lay) ==> GroupHeld(lay, k) &&
      0 <= BucketsOf(lay->flat + k) &&
      Held(lay->flat, g) == Held(lay->flat, k) + BucketsOf(lay->flat + k);
    lemma StageSum_Held{L}: \forall zp_config *c, zp_layout *lay, zp_coord at, integer e, x, k, b;
      StageOfRank(c, lay, at, e, x) && 0 <= k < lay->n_flats && GroupHeld(lay, k) && 0 <= b &&
      b == BucketsOf(lay->flat + k) ==> GroupSum(c, lay, at, e, x, k, b) &&
      PartsGroup(c, e, x, k, at.tp, at.dp, b) == RankGroup(c, e, x, k, at.tp, at.dp);
    lemma StageSum_Next{L}: \forall zp_config *c, zp_layout *lay, zp_coord at, integer e, x, k, g;
      StageOfRank(c, lay, at, e, x) && 0 <= k < lay->n_flats && g == k + 1 && LayoutFine(lay) &&
      StageSum(c, lay, at, e, x, k) ==> (lay->flat[k].use == 0 ==> GroupHeld(lay, k) &&
        GroupSum(c, lay, at, e, x, k, BucketsOf(lay->flat + k)) &&
        Held(lay->flat, g) == Held(lay->flat, k) + BucketsOf(lay->flat + k)) &&
      StageSum(c, lay, at, e, x, g);
    lemma StageSum_All{L}: \forall integer g; 0 <= g ==> \forall zp_config *c, zp_layout *lay,
      zp_coord at, integer e, x; StageOfRank(c, lay, at, e, x) && LayoutFine(lay) &&
      g <= lay->n_flats ==> StageSum(c, lay, at, e, x, g);
    // the count of the rank for its whole stage
    lemma Rank_Sum{L}: \forall zp_config *c, zp_layout *lay, zp_coord at, integer e, x;
      StageOfRank(c, lay, at, e, x) ==> LayoutFine(lay) && StageAs(c, lay, at, e, x) &&
      StageSum(c, lay, at, e, x, lay->n_flats) &&
      MeansSum(c, lay, at, Held(lay->flat, lay->n_flats)) ==
        RankStage(c, e, x, at.tp, StageGroups(c, at.pp), at.dp);
*/

#endif
