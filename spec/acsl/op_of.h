/* A whole program, of each phase, as one predicate of the configuration, the stage's layout and the
 * rank's place: STEP-2, LEDG-1. F is where configuration and layout are read, O the ops. */
#ifndef ZP_SPEC_ACSL_OP_OF_H
#define ZP_SPEC_ACSL_OP_OF_H

#include "op_init.h"
#include "op_save.h"
#include "op_slot.h"
#include "op_tail.h"

/*@ predicate InitOf{F,O}(zp_op *ops, integer n, zp_config *c, zp_layout *lay) =
      \let s = \at(lay->stage, F);
      \let f = \at(lay->first_param, F);
      \let m = \at(lay->n_params, F);
      n == InitNeed{F}(c, s, f, m) && CreationOps{O}(ops, 5 + \at(c->tied_keys, F)) &&
      FirstOps{F,O}(ops, 5 + \at(c->tied_keys, F), c, s, f, m);
    predicate StepOf{F,O}(zp_op *ops, integer n, zp_config *c, zp_layout *lay) =
      n == StepNeed{F}(c, lay) &&
      SlotsOps{F,O}(ops, PipeLen{F}(c, lay), c, lay, SlotsOf{F}(c)) &&
      TailOps{F,O}(ops, PipeLen{F}(c, lay), n, \at(lay->flat, F), \at(lay->n_flats, F),
        \at(c->tied_keys, F), \at(c->stage, F), \at(c->reduce, F), \at(c->precision, F),
        SlotsOf{F}(c));
    predicate SaveOf{F,O}(zp_op *ops, integer n, zp_config *c, zp_layout *lay, integer dp,
        integer tp) =
      n == SaveNeed{F}(c, lay, dp, tp) && SaveOps{F,O}(ops, n, c, lay, dp, tp);
    // ops[0 … n-1] is the program of `phase` of the rank with these indices on lay's stage.
    predicate OpsOf{F,O}(zp_op *ops, integer n, zp_config *c, zp_layout *lay, integer phase,
        integer dp, integer tp) =
      (phase == ZP_PHASE_INIT ==> InitOf{F,O}(ops, n, c, lay)) &&
      (phase == ZP_PHASE_STEP ==> StepOf{F,O}(ops, n, c, lay)) &&
      (phase == ZP_PHASE_SAVE ==> SaveOf{F,O}(ops, n, c, lay, dp, tp)) &&
      (phase == ZP_PHASE_LOAD ==> n == 3 && LoadOps{O}(ops));
*/

#endif
