/* LEDG-3: the ledger of a group, in each of the four programs. Include after ref/plan/program.h. */
#ifndef ZP_SPEC_ACSL_PHASE_H
#define ZP_SPEC_ACSL_PHASE_H

/*@ // The ledger that a rank of lay's stage writes for its group g (of key `key`); stepped 0: in a
    // skipped step.
    // No rank, dp or tp index occurs here.
    logic trace PhaseLedger{L}(zp_config *c, zp_layout *lay, integer phase, integer g, integer key,
        integer stepped) =
      phase == ZP_PHASE_INIT ?
        InitLedger(c, lay->stage, lay->first_param, lay->n_params, g, key) :
      phase == ZP_PHASE_STEP ? StepLedger(c, lay, g, key, stepped) :
      phase == ZP_PHASE_SAVE ? SaveLedger(c, lay, g) : LoadLedger(g); */

#endif
