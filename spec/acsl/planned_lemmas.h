/* The layout of a stage of a valid configuration satisfies the weaker requirements of the program
 * planner. Include after ref/plan/program.h. */
#ifndef ZP_SPEC_ACSL_PLANNED_LEMMAS_H
#define ZP_SPEC_ACSL_PLANNED_LEMMAS_H

#include "planned.h"

/*@ lemma Planned_Fine{L}: \forall zp_config *c, zp_layout *lay; Planned(c, lay) ==>
      FlatsFine(lay->flat, lay->n_flats);
    lemma Planned_Seen{L}: \forall zp_config *c, zp_layout *lay; Planned(c, lay) ==>
      StageSeen(c, lay);
    lemma Planned_Stage{L}: \forall zp_config *c, zp_layout *lay; Planned(c, lay) ==>
      StageLayout(c, lay);
    lemma Planned_Keys{L}: \forall zp_config *c, zp_layout *lay; Planned(c, lay) ==>
      KeysHeld(c, lay); */

#endif
