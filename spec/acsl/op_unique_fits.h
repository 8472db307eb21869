/* The planner's layouts are within its limits. Include after planned_lemmas.h and step_whole.h.
 * LEDG-8 */
#ifndef ZP_SPEC_ACSL_OP_UNIQUE_FITS_H
#define ZP_SPEC_ACSL_OP_UNIQUE_FITS_H

/*@ lemma Planned_Fits{L}: \forall zp_config *c, zp_layout *lay; Planned(c, lay) ==>
      StageFits(c, lay);
*/

#endif
