/* Proof steps: flat groups of one tied key are cut in the same way. Include after step_tied.h. */
#ifndef ZP_SPEC_ACSL_WINDOW_TIED_H
#define ZP_SPEC_ACSL_WINDOW_TIED_H

/*@ lemma Window_Key{L}: \forall zp_config *c, integer s, zp_layout *lay, integer k;
      Valid(c) && LayoutOf(c, s, lay) && 0 <= k < lay->n_flats && 0 <= (lay->flat + k)->tied ==>
      0 <= KeyOpener(c, s, k) < c->n_params &&
      c->params[KeyOpener(c, s, k)].tied == (lay->flat + k)->tied &&
      KeyFlat(c, KeyOpener(c, s, k), lay->flat + k);
    lemma Window_Pair{L}: \forall zp_config *c, integer i, j, zp_flat *f, zp_flat *g; Valid(c) &&
      0 <= i < c->n_params && 0 <= j < c->n_params && 0 <= c->params[i].tied &&
      c->params[i].tied == c->params[j].tied && KeyFlat(c, i, f) && KeyFlat(c, j, g) ==>
      SameElements(c, i, j) && CutAlike(f, g);
    lemma Window_Both{L}: \forall zp_config *c, integer s, zp_layout *lay, integer k, h;
      Valid(c) && LayoutOf(c, s, lay) && 0 <= k < lay->n_flats && 0 <= h < lay->n_flats &&
      0 <= (lay->flat + k)->tied && (lay->flat + h)->tied == (lay->flat + k)->tied ==>
      KeyFlat(c, KeyOpener(c, s, k), lay->flat + k) &&
      KeyFlat(c, KeyOpener(c, s, h), lay->flat + h) &&
      0 <= KeyOpener(c, s, k) < c->n_params && 0 <= KeyOpener(c, s, h) < c->n_params &&
      0 <= c->params[KeyOpener(c, s, k)].tied &&
      c->params[KeyOpener(c, s, k)].tied == c->params[KeyOpener(c, s, h)].tied; */

#endif
