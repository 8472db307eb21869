/* Two layouts of one stage, and two stages that hold one key, give equal ledgers: LEDG-2,
 * LEDG-3. */
#ifndef ZP_SPEC_ACSL_ALIKE_LEMMAS_H
#define ZP_SPEC_ACSL_ALIKE_LEMMAS_H

/* Two flat groups have the same fields. */
/*@ predicate AlikeFlat{L}(zp_flat *f, zp_flat *h) =
      f->group == h->group && f->members == h->members && f->tied == h->tied && f->use == h->use &&
      f->numel == h->numel && f->capacity == h->capacity && f->align == h->align &&
      f->fp32 == h->fp32;
    predicate AlikeFlats{L}(zp_flat *f, zp_flat *h, integer n) =
      \forall integer k; 0 <= k < n ==> AlikeFlat(f + k, h + k);

    lemma Layout_Alike{L}: \forall zp_config *c, integer s, zp_layout *l, zp_layout *m, integer k;
      LayoutOf(c, s, l) && LayoutOf(c, s, m) && 0 <= k < l->n_flats ==>
      LayoutFlat(c, s, l, k) && LayoutFlat(c, s, m, k) && AlikeFlat(l->flat + k, m->flat + k);
    lemma Layout_AllAlike{L}: \forall zp_config *c, integer s, zp_layout *l, zp_layout *m;
      LayoutOf(c, s, l) && LayoutOf(c, s, m) ==> l->n_flats == m->n_flats &&
      l->first_param == m->first_param && l->n_params == m->n_params && l->stage == m->stage &&
      AlikeFlats(l->flat, m->flat, l->n_flats);
    lemma SaveFlat_Alike{L}: \forall trace t, zp_config *c, integer s, zp_flat *f, zp_flat *h,
      integer k, g; AlikeFlat(f, h) ==> SaveFlat(t, c, s, f, k, g) == SaveFlat(t, c, s, h, k, g);
    lemma SaveFlats_Alike{L}: \forall integer k; 0 <= k ==>
      \forall trace t, zp_config *c, integer s, zp_flat *f, zp_flat *h, integer g;
      AlikeFlats(f, h, k) ==> SaveFlats(t, c, s, f, k, g) == SaveFlats(t, c, s, h, k, g);
    lemma SaveFlats_Frame{A,B}: \forall integer k; 0 <= k ==>
      \forall trace t, zp_config *c, integer s, zp_flat *f, integer g;
      Kept{A,B}(c) && 0 <= \at(c->n_params, A) && 0 <= \at(c->pp, A) &&
      (\forall integer i; 0 <= i < k ==> KeptFlat{A,B}(f + i)) ==>
      SaveFlats{A}(t, c, s, f, k, g) == SaveFlats{B}(t, c, s, f, k, g); */

/* The fields of a stage's layout, entry by entry and flat group by flat group. */
/*@ lemma Mine_Entry{L}: \forall zp_config *c, integer s, zp_layout *lay, integer j;
      Valid(c) && LayoutOf(c, s, lay) && 0 <= j < c->n_params ==> EntryMine(c, lay, j) &&
      (c->params[j].stage == lay->stage <==>
        lay->first_param <= j < lay->first_param + lay->n_params);
    lemma Mine_Flat{L}: \forall zp_config *c, integer s, zp_layout *lay, integer k;
      Valid(c) && LayoutOf(c, s, lay) && 0 <= k < lay->n_flats ==>
      FlatGood(c, s, lay, k) && FlatOk(lay->flat + k) &&
      (lay->flat[k].group == ZP_GROUP_DP || lay->flat[k].group == ZP_GROUP_EDP);
    lemma Mine_Head{L}: \forall zp_config *c, integer s, zp_layout *lay;
      Valid(c) && LayoutOf(c, s, lay) ==> LayoutHead(c, s, lay) && LayoutRange(c, lay);
    lemma SaveLedger_Frame{A,B}: \forall zp_config *c, zp_layout *lay, integer g; Kept{A,B}(c) &&
      KeptStage{A,B}(lay) && KeptFlats{A,B}(lay) && 0 <= \at(c->n_params, A) &&
      0 <= \at(c->pp, A) && 0 <= \at(lay->n_flats, A) ==>
      SaveLedger{A}(c, lay, g) == SaveLedger{B}(c, lay, g);
    lemma InitLedger_Frame{A,B}: \forall zp_config *c, integer s, f, x, g, key; Kept{A,B}(c) &&
      0 <= \at(c->n_params, A) && 0 <= \at(c->tied_keys, A) && 0 <= x && 0 <= f &&
      f + x <= \at(c->n_params, A) ==>
      InitLedger{A}(c, s, f, x, g, key) == InitLedger{B}(c, s, f, x, g, key);
    lemma Save_AlikeFlats{L}: \forall zp_config *c, zp_layout *l, zp_layout *m, integer g;
      l->stage == m->stage && l->n_flats == m->n_flats && 0 <= l->n_flats &&
      AlikeFlats(l->flat, m->flat, l->n_flats) ==> SaveLedger(c, l, g) == SaveLedger(c, m, g);
    lemma SaveLedger_Alike{L}: \forall zp_config *c, integer s, zp_layout *l, zp_layout *m,
      integer g; LayoutOf(c, s, l) && LayoutOf(c, s, m) && 0 <= l->n_flats ==>
      SaveLedger(c, l, g) == SaveLedger(c, m, g); */

/* LEDG-2: in every group the ledgers do not depend on which member it is. s, f, x and z, h, y: two
 * members' stages and their entries. */
/*@ lemma Init_World{L}: \forall zp_config *c, integer s, f, x, z, h, y, key;
      InitLedger(c, s, f, x, ZP_GROUP_WORLD, key) == InitLedger(c, z, h, y, ZP_GROUP_WORLD, key);
    lemma Init_Tied{L}: \forall zp_config *c, integer s, f, x, z, h, y, key;
      On(c, key, s) == 1 && On(c, key, z) == 1 ==>
      InitLedger(c, s, f, x, ZP_GROUP_TIED, key) == InitLedger(c, z, h, y, ZP_GROUP_TIED, key);
    lemma Init_Nothing{L}: \forall zp_config *c, integer s, f, x, key; On(c, key, s) != 1 ==>
      InitLedger(c, s, f, x, ZP_GROUP_TIED, key) == Nothing;
    lemma Save_World{L}: \forall zp_config *c, zp_layout *l, zp_layout *m;
      SaveLedger(c, l, ZP_GROUP_WORLD) == SaveLedger(c, m, ZP_GROUP_WORLD);
    lemma Save_Nothing{L}: \forall zp_config *c, zp_layout *l, integer g;
      StageLayout(c, l) && g != ZP_GROUP_WORLD && g != ZP_GROUP_DP && g != ZP_GROUP_EDP ==>
      SaveLedger(c, l, g) == Nothing; */

#endif
