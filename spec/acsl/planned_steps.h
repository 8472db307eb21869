/* Proof steps for planned_lemmas.h. Include after layout_lemmas.h and layout_good.h. */
#ifndef ZP_SPEC_ACSL_PLANNED_STEPS_H
#define ZP_SPEC_ACSL_PLANNED_STEPS_H

#include "planned.h"

/* Entries. */
/*@ predicate SeenEntry{L}(zp_config *c, zp_layout *lay, integer i) =
      EntryFits(c, lay, i) && EntrySeen(c, lay, i);
    lemma Planned_Flat{L}: \forall zp_config *c, zp_layout *lay, integer k;
      Planned(c, lay) && 0 <= k < lay->n_flats ==>
      LayoutFlat(c, lay->stage, lay, k) && FlatGood(c, lay->stage, lay, k) &&
      FlatFine(lay->flat + k);
    lemma Planned_Spot{L}: \forall zp_config *c, zp_layout *lay, integer i;
      Planned(c, lay) && 0 <= i < lay->n_params ==>
      LayoutSpot(c, lay->stage, lay, i) && SpotGood(c, lay->stage, lay, i) &&
      ValidEntry(c, lay->first_param + i);
    lemma Seen_Limits{L}: \forall zp_config *c, zp_layout *lay, integer i;
      0 <= lay->n_flats && SpotGood(c, lay->stage, lay, i) && ValidEntry(c, lay->first_param + i) &&
      (0 <= lay->spot[i].flat ==> FlatFine(lay->flat + lay->spot[i].flat)) ==>
      EntryFits(c, lay, i);
    predicate FlatOfFine{L}(zp_layout *lay, integer k) =
      0 <= k ==> k < lay->n_flats && FlatFine(lay->flat + k);
    lemma Any_Flat{L}: \forall zp_config *c, zp_layout *lay, integer k;
      Planned(c, lay) && k < lay->n_flats ==> FlatOfFine(lay, k);
    predicate SpotInside{L}(zp_layout *lay, integer i) = -1 <= lay->spot[i].flat < lay->n_flats;
    lemma Spot_Good{L}: \forall zp_config *c, integer s, zp_layout *lay, integer i;
      0 <= lay->n_flats && SpotGood(c, s, lay, i) ==> SpotInside(lay, i);
    lemma Spot_Inside{L}: \forall zp_config *c, zp_layout *lay, integer i;
      Planned(c, lay) && 0 <= i < lay->n_params ==>
      SpotGood(c, lay->stage, lay, i) && LayoutRange(c, lay) && SpotInside(lay, i);
    lemma Seen_Flat{L}: \forall zp_config *c, zp_layout *lay, integer i;
      Planned(c, lay) && 0 <= i < lay->n_params ==> FlatOfFine(lay, lay->spot[i].flat);
    lemma Seen_Fits{L}: \forall zp_config *c, zp_layout *lay, integer i;
      Planned(c, lay) && 0 <= i < lay->n_params ==> EntryFits(c, lay, i);
    lemma Seen_Fields{L}: \forall zp_config *c, integer s, zp_layout *lay, integer i;
      SpotGood(c, s, lay, i) && LayoutSpot(c, s, lay, i) && s == lay->stage &&
      (0 <= lay->spot[i].flat ==> LayoutFlat(c, s, lay, lay->spot[i].flat)) ==>
      EntrySeen(c, lay, i);
    lemma Planned_Entry{L}: \forall zp_config *c, zp_layout *lay, integer i;
      Planned(c, lay) && 0 <= i < lay->n_params ==> SeenEntry(c, lay, i);
    lemma Planned_Head{L}: \forall zp_config *c, zp_layout *lay; Planned(c, lay) ==>
      LayoutHead(c, lay->stage, lay) && LayoutRange(c, lay);
    lemma Planned_Mine{L}: \forall zp_config *c, zp_layout *lay, integer j;
      Planned(c, lay) && 0 <= j < c->n_params ==> EntryMine(c, lay, j); */

#endif
