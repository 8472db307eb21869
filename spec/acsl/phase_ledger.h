/* LEDG-2, LEDG-3: the ledger of a group is the same for all its members. Include after
 * ref/plan/program.h, planned.h and still_lemmas.h; phase_steps.h has the proof steps. */
#ifndef ZP_SPEC_ACSL_PHASE_LEDGER_H
#define ZP_SPEC_ACSL_PHASE_LEDGER_H

#include "phase.h"

/*@ lemma Phase_Flats{L}: \forall zp_config *c, zp_layout *l; Planned(c, l) ==> 0 <= l->n_flats;
    lemma Phase_Members{L}: \forall zp_config *c, zp_layout *l, zp_layout *m,
      integer phase, g, key, d, dp, tp, e, u; Planned(c, l) && Planned(c, m) && HasLedger(g) &&
      InGroup(c, g, key, l->stage, dp, tp, m->stage, e, u) ==>
      PhaseLedger(c, l, phase, g, key, d) == PhaseLedger(c, m, phase, g, key, d);
    // A rank whose stage does not hold a key is in none of its groups.
    lemma Phase_Outside{L}: \forall zp_config *c, zp_layout *l, integer phase, key, d;
      Planned(c, l) && On(c, key, l->stage) != 1 ==>
      PhaseLedger(c, l, phase, ZP_GROUP_TIED, key, d) == Nothing;
    lemma Phase_Frame{A,B}: \forall zp_config *c, zp_layout *lay, integer phase, g, key, d;
      StillLayout{A,B}(c, lay) && Planned{A}(c, lay) && StageLayout{A}(c, lay) ==>
      PhaseLedger{A}(c, lay, phase, g, key, d) == PhaseLedger{B}(c, lay, phase, g, key, d); */

#endif
