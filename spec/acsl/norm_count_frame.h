/* Counting means changes neither configuration nor layout. ACSL only. Include after norm_count.h
 * and still_lemmas.h. */
#ifndef ZP_SPEC_ACSL_NORM_COUNT_FRAME_H
#define ZP_SPEC_ACSL_NORM_COUNT_FRAME_H

/*@ lemma LongsKept_Trans{A,B,C}: \forall zp_sumsq *s, int64_t *f;
      LongsKept{A,B}(s, f) && LongsKept{B,C}(s, f) ==> LongsKept{A,C}(s, f);
    lemma Count_Scalars{A,B}: \forall zp_config *c, zp_layout *lay, zp_sumsq *s, int64_t *f;
      LongsKept{A,B}(s, f) && IntsKept{A,B}(c, lay) && ConfigClear{A}(c, s, f) ==>
      SameScalars{A,B}(c);
    lemma Count_Entries{A,B}: \forall zp_config *c, zp_layout *lay, zp_sumsq *s, int64_t *f;
      LongsKept{A,B}(s, f) && IntsKept{A,B}(c, lay) && InputsClear{A}(c, lay, s) &&
      FlagClear{A}(c, lay, f) ==> KeptEntries{A,B}(c);
    predicate FlatNumels{A,B}(zp_layout *lay) = \forall integer k; 0 <= k < \at(lay->n_flats, A) ==>
      \at(lay->flat[k].numel, A) == \at(lay->flat[k].numel, B);
    predicate FlatRooms{A,B}(zp_layout *lay) = \forall integer k; 0 <= k < \at(lay->n_flats, A) ==>
      \at(lay->flat[k].capacity, A) == \at(lay->flat[k].capacity, B);
    predicate FlatAligns{A,B}(zp_layout *lay) = \forall integer k; 0 <= k < \at(lay->n_flats, A) ==>
      \at(lay->flat[k].align, A) == \at(lay->flat[k].align, B);
    lemma Count_Numels{A,B}: \forall zp_config *c, zp_layout *lay, zp_sumsq *s, int64_t *f;
      LongsKept{A,B}(s, f) && IntsKept{A,B}(c, lay) && InputsClear{A}(c, lay, s) &&
      FlagClear{A}(c, lay, f) ==> FlatNumels{A,B}(lay);
    lemma Count_Rooms{A,B}: \forall zp_config *c, zp_layout *lay, zp_sumsq *s, int64_t *f;
      LongsKept{A,B}(s, f) && IntsKept{A,B}(c, lay) && InputsClear{A}(c, lay, s) &&
      FlagClear{A}(c, lay, f) ==> FlatRooms{A,B}(lay);
    lemma Count_Aligns{A,B}: \forall zp_config *c, zp_layout *lay, zp_sumsq *s, int64_t *f;
      LongsKept{A,B}(s, f) && IntsKept{A,B}(c, lay) && InputsClear{A}(c, lay, s) &&
      FlagClear{A}(c, lay, f) ==> FlatAligns{A,B}(lay);
    lemma Count_Flats{A,B}: \forall zp_config *c, zp_layout *lay; IntsKept{A,B}(c, lay) &&
      FlatNumels{A,B}(lay) && FlatRooms{A,B}(lay) && FlatAligns{A,B}(lay) ==> KeptFlats{A,B}(lay);
    lemma Count_Spots{A,B}: \forall zp_config *c, zp_layout *lay, zp_sumsq *s, int64_t *f;
      LongsKept{A,B}(s, f) && IntsKept{A,B}(c, lay) && InputsClear{A}(c, lay, s) &&
      FlagClear{A}(c, lay, f) ==> KeptSpots{A,B}(lay);
    lemma Count_Stage{A,B}: \forall zp_config *c, zp_layout *lay; IntsKept{A,B}(c, lay) ==>
      KeptStage{A,B}(lay) && StillFlats{A,B}(lay);
    predicate StatsClear{L}(zp_config *c, zp_layout *lay, zp_sumsq *s, int64_t *f) =
      ConfigClear{L}(c, s, f) && InputsClear{L}(c, lay, s) && FlagClear{L}(c, lay, f);
    lemma Count_Still{A,B}: \forall zp_config *c, zp_layout *lay, zp_sumsq *s, int64_t *f;
      LongsKept{A,B}(s, f) && IntsKept{A,B}(c, lay) && StatsClear{A}(c, lay, s, f) ==>
      SameScalars{A,B}(c) && KeptEntries{A,B}(c) && KeptStage{A,B}(lay) &&
      FlatNumels{A,B}(lay) && FlatRooms{A,B}(lay) && FlatAligns{A,B}(lay) && KeptFlats{A,B}(lay) &&
      KeptSpots{A,B}(lay) && StillLayout{A,B}(c, lay);
*/

#endif
