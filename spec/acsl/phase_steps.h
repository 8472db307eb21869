/* Proof steps for phase_ledger.h. Include after alike_lemmas.h, step_alike.h and
 * step_alike_frame.h. */
#ifndef ZP_SPEC_ACSL_PHASE_STEPS_H
#define ZP_SPEC_ACSL_PHASE_STEPS_H

#include "phase.h"

/*@ lemma Phase_Stage{L}: \forall zp_config *c, zp_layout *l, zp_layout *m,
      integer phase, g, key, d;
      Planned(c, l) && Planned(c, m) && l->stage == m->stage && 0 <= l->n_flats ==>
      PhaseLedger(c, l, phase, g, key, d) == PhaseLedger(c, m, phase, g, key, d);
    lemma Phase_World{L}: \forall zp_config *c, zp_layout *l, zp_layout *m, integer phase, key, d;
      Planned(c, l) && Planned(c, m) && 0 <= l->n_flats && 0 <= m->n_flats ==>
      PhaseLedger(c, l, phase, ZP_GROUP_WORLD, key, d) ==
      PhaseLedger(c, m, phase, ZP_GROUP_WORLD, key, d);
    lemma Phase_Tied{L}: \forall zp_config *c, zp_layout *l, zp_layout *m, integer phase, key, d;
      Planned(c, l) && Planned(c, m) && On(c, key, l->stage) == 1 && On(c, key, m->stage) == 1 ==>
      PhaseLedger(c, l, phase, ZP_GROUP_TIED, key, d) ==
      PhaseLedger(c, m, phase, ZP_GROUP_TIED, key, d); */

#endif
