/* The functions of count.h and norm_rank.h read only configuration, layout, counts and means. ACSL
 * only. Include after norm_rank.h, layout_frame.h, init_lemmas.h and still_lemmas.h. */
#ifndef ZP_SPEC_ACSL_NORM_RANK_FRAME_H
#define ZP_SPEC_ACSL_NORM_RANK_FRAME_H

/*@ lemma CountOn_Frame{A,B}: \forall integer s; 0 <= s ==> \forall zp_config *c, integer key;
      Kept{A,B}(c) && 0 <= \at(c->n_params, A) ==> CountOn{A}(c, key, s) == CountOn{B}(c, key, s);
    lemma StageBelow_Frame{A,B}: \forall integer s; 0 <= s ==> \forall zp_config *c, integer key, i;
      Kept{A,B}(c) && 0 <= \at(c->n_params, A) ==>
      StageBelow{A}(c, key, i, s) == StageBelow{B}(c, key, i, s);
    lemma StageOf_Frame{A,B}: \forall zp_config *c, integer key, i; Kept{A,B}(c) &&
      0 <= \at(c->n_params, A) && 0 <= \at(c->pp, A) ==>
      StageOf{A}(c, key, i) == StageOf{B}(c, key, i);
    predicate EntryKept{A,B}(zp_config *c, integer j) =
      \at(c->params[j].numel, A) == \at(c->params[j].numel, B) &&
      \at(c->params[j].stage, A) == \at(c->params[j].stage, B) &&
      \at(c->params[j].tied, A) == \at(c->params[j].tied, B) &&
      \at(c->params[j].sharded, A) == \at(c->params[j].sharded, B);
    lemma Entry_Kept{A,B}: \forall zp_config *c, integer j; Kept{A,B}(c) &&
      0 <= j < \at(c->n_params, A) ==> EntryKept{A,B}(c, j);
    lemma CountedOn_Frame{A,B}: \forall zp_config *c, integer e, j, t; Kept{A,B}(c) &&
      0 <= \at(c->pp, A) && 0 <= j < e <= \at(c->n_params, A) ==> EntryKept{A,B}(c, j) &&
      UseOf{A}(c, e, j) == UseOf{B}(c, e, j) &&
      StageOf{A}(c, \at(c->params[j].tied, A), 0) == StageOf{B}(c, \at(c->params[j].tied, A), 0) &&
      CountedOn{A}(c, e, j, t) == CountedOn{B}(c, e, j, t);
    predicate BelowKept{A,B}(zp_config *c, integer e, integer j, integer t) =
      EntryKept{A,B}(c, j) && CountedOn{A}(c, e, j, t) == CountedOn{B}(c, e, j, t) &&
      FlatOf{A}(c, e, j) == FlatOf{B}(c, e, j) && StartOf{A}(c, e, j) == StartOf{B}(c, e, j);
    lemma Below_Kept{A,B}: \forall zp_config *c, integer e, j, t; Kept{A,B}(c) &&
      0 <= \at(c->pp, A) && 0 <= j < e <= \at(c->n_params, A) ==> SameInput{A,B}(c) &&
      BelowKept{A,B}(c, e, j, t);
    predicate BelowSame{A,B}(zp_config *c, integer e, integer j, integer k, integer t, integer z,
        integer pos) = BelowOf{A}(c, e, j, k, t, z, pos) == BelowOf{B}(c, e, j, k, t, z, pos);
    lemma Below_Same{A,B}: \forall zp_config *c, integer e, j, k, t, z, pos;
      BelowKept{A,B}(c, e, j, t) ==> BelowSame{A,B}(c, e, j, k, t, z, pos);
    lemma BelowOf_Frame{A,B}: \forall zp_config *c, integer e, j, k, t, z, pos; Kept{A,B}(c) &&
      0 <= \at(c->pp, A) && 0 <= j < e <= \at(c->n_params, A) ==> BelowKept{A,B}(c, e, j, t) &&
      BelowSame{A,B}(c, e, j, k, t, z, pos);
    predicate SquaresSame{A,B}(zp_config *c, integer e, integer x, integer k, integer t, integer z,
        integer pos) =
      SquaresBelow{A}(c, e, x, k, t, z, pos) == SquaresBelow{B}(c, e, x, k, t, z, pos);
    lemma Squares_None{A,B}: \forall zp_config *c, integer e, x, k, t, z, pos; x <= 0 ==>
      SquaresSame{A,B}(c, e, x, k, t, z, pos);
    lemma Squares_Step{A,B}: \forall zp_config *c, integer e, x, y, j, k, t, z, pos; 1 <= x &&
      y == x - 1 && j == e - x && BelowSame{A,B}(c, e, j, k, t, z, pos) &&
      SquaresSame{A,B}(c, e, y, k, t, z, pos) ==> SquaresSame{A,B}(c, e, x, k, t, z, pos);
    lemma Squares_Next{A,B}: \forall zp_config *c, integer e, x, y, k, t, z, pos; Kept{A,B}(c) &&
      0 <= \at(c->pp, A) && 1 <= x <= e <= \at(c->n_params, A) && y == x - 1 &&
      SquaresSame{A,B}(c, e, y, k, t, z, pos) ==> BelowSame{A,B}(c, e, e - x, k, t, z, pos) &&
      SquaresSame{A,B}(c, e, x, k, t, z, pos);
    lemma SquaresBelow_Frame{A,B}: \forall integer x; 0 <= x ==>
      \forall zp_config *c, integer e, k, t, z, pos; Kept{A,B}(c) && 0 <= \at(c->pp, A) &&
      x <= e <= \at(c->n_params, A) ==> SquaresSame{A,B}(c, e, x, k, t, z, pos);
    // configuration and layout of a rank
    predicate RankStill{A,B}(zp_config *c, zp_layout *lay) = StillLayout{A,B}(c, lay);
    lemma RankIn_Frame{A,B}: \forall zp_config *c, zp_layout *lay, zp_coord at;
      RankStill{A,B}(c, lay) && RankIn{A}(c, lay, at) ==> Kept{A,B}(c) && Valid{B}(c) &&
      LayoutOf{B}(c, at.pp, lay) && RankIn{B}(c, lay, at);
    lemma StageSquares_Frame{A,B}: \forall zp_config *c, zp_layout *lay, zp_coord at,
      integer k, t, z, pos; RankStill{A,B}(c, lay) && RankIn{A}(c, lay, at) ==>
      LayoutRange{A}(c, lay) && LayoutHead{A}(c, at.pp, lay) &&
      StageEnd{A}(c, at.pp) == StageEnd{B}(c, at.pp) &&
      SquaresSame{A,B}(c, StageEnd{A}(c, at.pp), \at(lay->n_params, A), k, t, z, pos) &&
      StageSquaresBelow{A}(c, lay, k, t, z, pos) == StageSquaresBelow{B}(c, lay, k, t, z, pos);
    predicate FlatAsBefore{A,B}(zp_layout *lay, integer k) =
      StillFlat{A,B}(\at(lay->flat, A) + k) && \at(lay->flat, A) == \at(lay->flat, B);
    lemma Flat_AsBefore{A,B}: \forall zp_config *c, zp_layout *lay, integer k;
      RankStill{A,B}(c, lay) && 0 <= k < \at(lay->n_flats, A) ==> FlatAsBefore{A,B}(lay, k);
    lemma Own_Frame{A,B}: \forall zp_config *c, zp_layout *lay, zp_coord at, integer k, b;
      FlatAsBefore{A,B}(lay, k) && Kept{A,B}(c) &&
      (\at(lay->flat[k].group, A) == ZP_GROUP_DP || \at(lay->flat[k].group, A) == ZP_GROUP_EDP) ==>
      MemberOf{A}(c, lay, at, k) == MemberOf{B}(c, lay, at, k) &&
      OwnFrom{A}(c, lay, at, k, b) == OwnFrom{B}(c, lay, at, k, b) &&
      OwnTo{A}(c, lay, at, k, b) == OwnTo{B}(c, lay, at, k, b) &&
      OwnAt{A}(c, lay, at, k, b) == OwnAt{B}(c, lay, at, k, b) &&
      CopyOn{A}(c, lay, at, k) == CopyOn{B}(c, lay, at, k);
    predicate OwnAsBefore{A,B}(zp_config *c, zp_layout *lay, zp_coord at, integer k, integer b) =
      OwnFrom{A}(c, lay, at, k, b) == OwnFrom{B}(c, lay, at, k, b) &&
      OwnTo{A}(c, lay, at, k, b) == OwnTo{B}(c, lay, at, k, b) &&
      OwnAt{A}(c, lay, at, k, b) == OwnAt{B}(c, lay, at, k, b) &&
      CopyOn{A}(c, lay, at, k) == CopyOn{B}(c, lay, at, k);
    lemma Own_AsBefore{A,B}: \forall zp_config *c, zp_layout *lay, zp_coord at, integer k, b;
      RankStill{A,B}(c, lay) && RankIn{A}(c, lay, at) && 0 <= k < \at(lay->n_flats, A) ==>
      FlatGood{A}(c, at.pp, lay, k) && FlatAsBefore{A,B}(lay, k) && Kept{A,B}(c) &&
      OwnAsBefore{A,B}(c, lay, at, k, b);
    // the count for one bucket
    lemma MeanAdds_Frame{A,B}: \forall zp_config *c, zp_layout *lay, zp_coord at, integer k, b;
      RankStill{A,B}(c, lay) && RankIn{A}(c, lay, at) && 0 <= k < \at(lay->n_flats, A) ==>
      OwnAsBefore{A,B}(c, lay, at, k, b) &&
      MeanAdds{A}(c, lay, at, k, b) == MeanAdds{B}(c, lay, at, k, b);
    // what counts and means are
    predicate BytesKept{A,B}(uint8_t *x, integer n) =
      \forall integer i; 0 <= i < n ==> \at(x[i], A) == \at(x[i], B);
    lemma CountsFor_Frame{A,B}: \forall zp_config *c, zp_layout *lay, zp_coord at, uint8_t *counts,
      integer k, t; RankStill{A,B}(c, lay) && RankIn{A}(c, lay, at) &&
      BytesKept{A,B}(counts, \at(lay->n_params, A)) && CountsFor{A}(c, lay, counts, k, t) ==>
      CountsFor{B}(c, lay, counts, k, t);
    predicate WordsKept{A,B}(uint32_t *x) =
      \forall integer i; \at(x[i], A) == \at(x[i], B);
    lemma GradientOf_Frame{A,B}: \forall uint32_t *mean, integer lo, hi, start, numel, j, t, z;
      WordsKept{A,B}(mean) && GradientOf{A}(mean, lo, hi, start, numel, j, t, z) ==>
      GradientOf{B}(mean, lo, hi, start, numel, j, t, z);
    lemma GradientIs_Frame{A,B}: \forall zp_config *c, zp_layout *lay, zp_coord at,
      integer k, lo, hi, uint32_t *mean, integer t, z; RankStill{A,B}(c, lay) &&
      RankIn{A}(c, lay, at) && WordsKept{A,B}(mean) &&
      GradientIs{A}(c, lay, k, lo, hi, mean, t, z) ==> GradientIs{B}(c, lay, k, lo, hi, mean, t, z);
    lemma MeanGiven_Frame{A,B}: \forall zp_config *c, zp_layout *lay, zp_coord at, integer k, b,
      uint32_t *mean; RankStill{A,B}(c, lay) && RankIn{A}(c, lay, at) &&
      0 <= k < \at(lay->n_flats, A) && WordsKept{A,B}(mean + OwnAt{A}(c, lay, at, k, b)) &&
      MeanGiven{A}(c, lay, at, k, b, mean) ==> OwnAsBefore{A,B}(c, lay, at, k, b) &&
      GradientIs{B}(c, lay, k, OwnFrom{A}(c, lay, at, k, b), OwnTo{A}(c, lay, at, k, b),
        mean + OwnAt{A}(c, lay, at, k, b), at.tp, CopyOn{A}(c, lay, at, k)) &&
      MeanGiven{B}(c, lay, at, k, b, mean);
    lemma MeanHeld_Frame{A,B}: \forall zp_config *c, zp_layout *lay, integer k, b;
      RankStill{A,B}(c, lay) && MeanHeld{A}(lay, k, b) ==> FlatAsBefore{A,B}(lay, k) &&
      MeanHeld{B}(lay, k, b) && MeanLen{A}(c, lay, k, b) == MeanLen{B}(c, lay, k, b) &&
      PartIn{A}(\at(lay->flat, A) + k, b) == PartIn{B}(\at(lay->flat, B) + k, b);
*/

#endif
