/* The planner's layouts satisfy what step_means_lemmas.h requires of them. Include after
 * planned_lemmas.h, op_unique_fits.h and step_means_lemmas.h. STAT-2, LEDG-8 */
#ifndef ZP_SPEC_ACSL_STEP_MEANS_FITS_H
#define ZP_SPEC_ACSL_STEP_MEANS_FITS_H

/*@ lemma Fits_Slot{L}: \forall zp_config *c, zp_layout *lay; StageFits(c, lay) ==>
      SlotFine(c, lay, 0) && 0 <= lay->n_flats && 0 <= c->tied_keys;
    lemma Keys_Low{L}: \forall zp_flat *f, integer n, x; 0 <= n && 0 <= x && FlatsFine(f, n) ==>
      0 <= KeysLen(f, n, x);
    lemma Held_Low{L}: \forall zp_flat *f, integer n; 0 <= n && FlatsFine(f, n) ==>
      0 <= Held(f, n);
    lemma Planned_Program{L}: \forall zp_config *c, zp_layout *lay; Planned(c, lay) ==>
      ProgramFits(c, lay);
*/

#endif
