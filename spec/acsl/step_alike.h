/* Two layouts of one stage give equal ledgers of the STEP program, and other stages contribute
 * nothing to a group: LEDG-2, LEDG-3, LEDG-6. Include after ref/plan/program.h and
 * alike_lemmas.h. */
#ifndef ZP_SPEC_ACSL_STEP_ALIKE_H
#define ZP_SPEC_ACSL_STEP_ALIKE_H

/* Flat groups with the same fields. */
/*@ lemma Alike_Less{L}: \forall zp_flat *f, zp_flat *h, integer n, m; AlikeFlats(f, h, n) &&
      m <= n ==> AlikeFlats(f, h, m);
    lemma Alike_At{L}: \forall zp_flat *f, zp_flat *h, integer n, k; AlikeFlats(f, h, n) &&
      0 <= k < n ==> AlikeFlat(f + k, h + k);
    lemma HoldsKey_Alike{L}: \forall zp_flat *f, zp_flat *h, integer key; AlikeFlat(f, h) ==>
      HoldsKey(f, key) == HoldsKey(h, key);
    lemma TiedFlat_Alike{L}: \forall integer n; 0 <= n ==>
      \forall zp_flat *f, zp_flat *h, integer key;
      AlikeFlats(f, h, n) ==> TiedFlat(f, n, key) == TiedFlat(h, n, key);
    lemma TiedFlat_Below{L}: \forall integer n; 0 <= n ==> \forall zp_flat *f, integer key;
      TiedFlat(f, n, key) < n;
    lemma TiedSumsOf_Alike{L}: \forall trace tr, integer stage, exact, zp_flat *f, zp_flat *h,
      integer key, t; AlikeFlat(f, h) ==>
      TiedSumsOf(tr, stage, exact, f, key, t) == TiedSumsOf(tr, stage, exact, h, key, t);
    lemma KeyTrace_Alike{L}: \forall trace tr, integer stage, exact, zp_flat *f, zp_flat *h,
      integer n, key, t; 0 <= n && AlikeFlats(f, h, n) ==>
      KeyTrace(tr, stage, exact, f, n, key, t) == KeyTrace(tr, stage, exact, h, n, key, t);
    lemma GathersOf_Alike{L}: \forall trace tr, integer stage, precision, zp_flat *f, zp_flat *h,
      integer u, k, g, t; AlikeFlat(f, h) ==>
      GathersOf(tr, stage, precision, f, u, k, g, t) ==
      GathersOf(tr, stage, precision, h, u, k, g, t);
    lemma GatherPass_Alike{L}: \forall integer n; 0 <= n ==> \forall trace tr,
      integer stage, precision, zp_flat *f, zp_flat *h, integer u, g, t; AlikeFlats(f, h, n) ==>
      GatherPass(tr, stage, precision, f, n, u, g, t) ==
      GatherPass(tr, stage, precision, h, n, u, g, t);
    lemma GatherTrace_Alike{L}: \forall integer n; 0 <= n ==> \forall trace tr,
      integer stage, precision, zp_flat *f, zp_flat *h, integer g, t; AlikeFlats(f, h, n) ==>
      GatherTrace(tr, stage, precision, f, n, g, t) ==
      GatherTrace(tr, stage, precision, h, n, g, t);
    lemma TailTrace_Alike{L}: \forall trace tr, integer stage, exact, precision, zp_flat *f,
      zp_flat *h, integer n, keys, g, key, d, t; 0 <= n && AlikeFlats(f, h, n) ==>
      TailTrace(tr, stage, exact, precision, f, n, keys, g, key, d, t) ==
      TailTrace(tr, stage, exact, precision, h, n, keys, g, key, d, t);
    lemma StepLedger_Alike{L}: \forall zp_config *c, zp_layout *l, zp_layout *m, integer g, key, d;
      l->stage == m->stage && l->n_flats == m->n_flats && 0 <= l->n_flats &&
      AlikeFlats(l->flat, m->flat, l->n_flats) ==>
      StepLedger(c, l, g, key, d) == StepLedger(c, m, g, key, d);
    lemma Step_Stage{L}: \forall zp_config *c, integer s, zp_layout *l, zp_layout *m,
      integer g, key, d; LayoutOf(c, s, l) && LayoutOf(c, s, m) && 0 <= l->n_flats ==>
      StepLedger(c, l, g, key, d) == StepLedger(c, m, g, key, d); */

/* Reductions and gathers are of dp and edp only. */
/*@ lemma StepTrace_Other{L}: \forall trace tr, zp_config *c, integer s, j, x, g, t;
      g != ZP_GROUP_DP && g != ZP_GROUP_EDP ==> StepTrace(tr, c, s, j, x, g, t) == tr;
    lemma BackTrace_Other{L}: \forall integer x; 0 <= x ==>
      \forall trace tr, zp_config *c, integer s, g, t;
      g != ZP_GROUP_DP && g != ZP_GROUP_EDP ==> BackTrace(tr, c, s, g, t, x) == tr;
    lemma BackTrace_None{L}: \forall trace tr, zp_config *c, integer s, g, t, x;
      g != ZP_GROUP_DP && g != ZP_GROUP_EDP ==> BackTrace(tr, c, s, g, t, x) == tr;
    lemma WindowTrace_Other{L}: \forall integer m; 0 <= m ==>
      \forall trace tr, zp_config *c, integer s, g;
      g != ZP_GROUP_DP && g != ZP_GROUP_EDP ==> WindowTrace(tr, c, s, g, m) == tr;
    lemma WindowTrace_None{L}: \forall trace tr, zp_config *c, integer s, g, m;
      g != ZP_GROUP_DP && g != ZP_GROUP_EDP ==> WindowTrace(tr, c, s, g, m) == tr;
    lemma GatherPass_Other{L}: \forall integer n; 0 <= n ==> \forall trace tr,
      integer stage, precision, zp_flat *f, integer u, g, t; FlatsFine(f, n) &&
      g != ZP_GROUP_DP && g != ZP_GROUP_EDP ==>
      GatherPass(tr, stage, precision, f, n, u, g, t) == tr;
    lemma GatherTrace_Other{L}: \forall integer n; 0 <= n ==> \forall trace tr,
      integer stage, precision, zp_flat *f, integer g, t; FlatsFine(f, n) &&
      g != ZP_GROUP_DP && g != ZP_GROUP_EDP ==>
      GatherTrace(tr, stage, precision, f, n, g, t) == tr;
    lemma Step_Other{L}: \forall zp_config *c, zp_layout *l, integer g, key, d;
      FlatsFine(l->flat, l->n_flats) && 0 <= l->n_flats && g != ZP_GROUP_DP &&
      g != ZP_GROUP_EDP ==> StepLedger(c, l, g, key, d) ==
        Agreement(KeysTrace(Nothing, c->stage, c->reduce, l->flat, l->n_flats, c->tied_keys, g, key,
          SlotsOf(c)), g, SlotsOf(c) + 2);
    lemma Step_World{L}: \forall zp_config *c, zp_layout *l, zp_layout *m, integer key, d;
      FlatsFine(l->flat, l->n_flats) && 0 <= l->n_flats && FlatsFine(m->flat, m->n_flats) &&
      0 <= m->n_flats ==>
      StepLedger(c, l, ZP_GROUP_WORLD, key, d) == StepLedger(c, m, ZP_GROUP_WORLD, key, d);
    lemma Step_Tied{L}: \forall zp_config *c, zp_layout *l, integer key, d;
      FlatsFine(l->flat, l->n_flats) && 0 <= l->n_flats ==>
      StepLedger(c, l, ZP_GROUP_TIED, key, d) == (0 <= key && key < c->tied_keys ?
        LayKeyTrace(Nothing, c, l, key, SlotsOf(c)) : Nothing);
    lemma Step_TiedPair{L}: \forall zp_config *c, zp_layout *l, zp_layout *m, integer key, d;
      Planned(c, l) && Planned(c, m) && On(c, key, l->stage) == 1 && On(c, key, m->stage) == 1 ==>
      StepLedger(c, l, ZP_GROUP_TIED, key, d) == StepLedger(c, m, ZP_GROUP_TIED, key, d);
    lemma Step_TiedNothing{L}: \forall zp_config *c, zp_layout *l, integer key, d;
      Planned(c, l) && On(c, key, l->stage) != 1 ==>
      StepLedger(c, l, ZP_GROUP_TIED, key, d) == Nothing; */

#endif
