/* The logic of LEDG-4, LEDG-5, LEDG-8, CKPT-1 and CKPT-2: what INIT, SAVE and LOAD write, as
 * functions of the configuration c and the pipeline stage s. Ledgers have no other argument; lengths
 * of SAVE also have the dp and tp index, since only some ranks write.
 * Include after ref/plan/program.h's types and ledger.h. */
#ifndef ZP_SPEC_ACSL_INIT_SAVE_H
#define ZP_SPEC_ACSL_INIT_SAVE_H

/* ---- Entries and keys ---- */

/* Nothing of the configuration changed between two points; every field by itself, so that provers
 * find the instance that they need. */
/*@ predicate Kept{A,B}(zp_config *c) =
      SameScalars{A,B}(c) && \forall integer j; 0 <= j < \at(c->n_params, A) ==>
        \at(c->params[j].numel, A) == \at(c->params[j].numel, B) &&
        \at(c->params[j].stage, A) == \at(c->params[j].stage, B) &&
        \at(c->params[j].optgroup, A) == \at(c->params[j].optgroup, B) &&
        \at(c->params[j].tied, A) == \at(c->params[j].tied, B) &&
        \at(c->params[j].sharded, A) == \at(c->params[j].sharded, B) &&
        \at(c->params[j].expert, A) == \at(c->params[j].expert, B) &&
        \at(c->params[j].frozen, A) == \at(c->params[j].frozen, B);
    lemma Kept_Same{A,B}: \forall zp_config *c; Kept{A,B}(c) ==> SameConfig{A,B}(c);
    lemma Kept_Valid{A,B}: \forall zp_config *c; Kept{A,B}(c) && Valid{A}(c) ==> Valid{B}(c); */

/* PART-1: entries are listed by stage. */
/*@ predicate ByStage{L}(zp_config *c) =
      \forall integer j; 0 < j < c->n_params ==> c->params[j - 1].stage <= c->params[j].stage;
    lemma ByStage_Valid{L}: \forall zp_config *c; Valid(c) ==> ByStage(c);
    lemma ByStage_Sorted{L}: \forall integer j; 0 <= j ==> \forall zp_config *c, integer i;
      ByStage(c) && j < c->n_params && 0 <= i && i < j ==>
      c->params[i].stage <= c->params[j].stage; */

/* TIE-2: of the entries j+1 … n-1, how many are on j's stage with j's key. Holds: 1 when entry j has
 * storage of its own. */
/*@ logic integer LaterUse{L}(zp_config *c, integer j, integer i) =
      j < i && c->params[i].stage == c->params[j].stage &&
      c->params[i].tied == c->params[j].tied ? 1 : 0;
    logic integer LaterUses{L}(zp_config *c, integer j, integer n) =
      n <= 0 ? 0 : LaterUses(c, j, n - 1) + LaterUse(c, j, n - 1);
    logic integer Holds{L}(zp_config *c, integer j) =
      c->params[j].tied < 0 || LaterUses(c, j, c->n_params) == 0 ? 1 : 0;

    lemma LaterUses_Range{L}: \forall integer n; 0 <= n ==> \forall zp_config *c, integer j;
      0 <= LaterUses(c, j, n);
    lemma LaterUses_None{L}: \forall integer n; 0 <= n ==> \forall zp_config *c, integer j;
      (\forall integer i; 0 <= i < n ==> LaterUse(c, j, i) == 0) ==> LaterUses(c, j, n) == 0;
    lemma LaterUses_Some{L}: \forall integer n; 0 <= n ==> \forall zp_config *c, integer j, i;
      0 <= i && i < n && LaterUse(c, j, i) == 1 ==> 0 < LaterUses(c, j, n);
    lemma LaterUse_Frame{A,B}: \forall zp_config *c, integer j, i; Kept{A,B}(c) &&
      0 <= i < \at(c->n_params, A) && 0 <= j < \at(c->n_params, A) ==>
      LaterUse{A}(c, j, i) == LaterUse{B}(c, j, i);
    lemma LaterUses_Frame{A,B}: \forall integer n; 0 <= n ==> \forall zp_config *c, integer j;
      Kept{A,B}(c) && n <= \at(c->n_params, A) && 0 <= j < \at(c->n_params, A) ==>
      LaterUses{A}(c, j, n) == LaterUses{B}(c, j, n);
    lemma Holds_Frame{A,B}: \forall zp_config *c, integer j;
      Kept{A,B}(c) && 0 <= j < \at(c->n_params, A) ==> Holds{A}(c, j) == Holds{B}(c, j); */

/* TIE-1: entries of tied key `key` on stage s among the first n; 1 when stage s holds the key; the
 * elements of an entry of that key (all have as many); the lowest stage that holds it, or -1. */
/*@ logic integer IsKey{L}(zp_config *c, integer j, integer key) =
      c->params[j].tied == key ? 1 : 0;
    logic integer KeyUse{L}(zp_config *c, integer j, integer key, integer s) =
      c->params[j].tied == key && c->params[j].stage == s ? 1 : 0;
    logic integer NumelAt{L}(zp_config *c, integer j) = c->params[j].numel;
    logic integer StageAt{L}(zp_config *c, integer j) = c->params[j].stage;
    logic integer KeyUses{L}(zp_config *c, integer n, integer key, integer s) =
      n <= 0 ? 0 : KeyUses(c, n - 1, key, s) + KeyUse(c, n - 1, key, s);
    logic integer OnStage{L}(zp_config *c, integer key, integer s) =
      KeyUses(c, c->n_params, key, s) > 0 ? 1 : 0;
    logic integer KeyNumel{L}(zp_config *c, integer n, integer key) =
      n <= 0 ? 0 : IsKey(c, n - 1, key) == 1 ? NumelAt(c, n - 1) : KeyNumel(c, n - 1, key);
    logic integer KeyStage{L}(zp_config *c, integer n, integer key) =
      n <= 0 ? -1 : KeyStage(c, n - 1, key) >= 0 ? KeyStage(c, n - 1, key) :
      IsKey(c, n - 1, key) == 1 ? StageAt(c, n - 1) : -1;

    lemma IsKey_Frame{A,B}: \forall zp_config *c, integer j, key; Kept{A,B}(c) &&
      0 <= j < \at(c->n_params, A) ==> IsKey{A}(c, j, key) == IsKey{B}(c, j, key);
    lemma KeyUse_Frame{A,B}: \forall zp_config *c, integer j, key, s; Kept{A,B}(c) &&
      0 <= j < \at(c->n_params, A) ==> KeyUse{A}(c, j, key, s) == KeyUse{B}(c, j, key, s);
    lemma NumelAt_Frame{A,B}: \forall zp_config *c, integer j; Kept{A,B}(c) &&
      0 <= j < \at(c->n_params, A) ==> NumelAt{A}(c, j) == NumelAt{B}(c, j);
    lemma StageAt_Frame{A,B}: \forall zp_config *c, integer j; Kept{A,B}(c) &&
      0 <= j < \at(c->n_params, A) ==> StageAt{A}(c, j) == StageAt{B}(c, j);

    lemma KeyUses_Range{L}: \forall integer n; 0 <= n ==> \forall zp_config *c, integer key, s;
      0 <= KeyUses(c, n, key, s);
    lemma KeyUses_None{L}: \forall integer n; 0 <= n ==> \forall zp_config *c, integer key, s;
      (\forall integer j; 0 <= j < n ==> KeyUse(c, j, key, s) == 0) ==>
      KeyUses(c, n, key, s) == 0;
    lemma KeyUses_Some{L}: \forall integer n; 0 <= n ==> \forall zp_config *c, integer key, s, j;
      0 <= j && j < n && KeyUse(c, j, key, s) == 1 ==> 0 < KeyUses(c, n, key, s);
    lemma KeyNumel_Any{L}: \forall integer n; 0 <= n ==> \forall zp_config *c, integer key, m;
      (\forall integer j; 0 <= j < n && IsKey(c, j, key) == 1 ==> NumelAt(c, j) == m) &&
      (\exists integer j; 0 <= j < n && IsKey(c, j, key) == 1) ==> KeyNumel(c, n, key) == m;
    lemma KeyStage_None{L}: \forall integer n; 0 <= n ==> \forall zp_config *c, integer key;
      (\forall integer j; 0 <= j < n ==> IsKey(c, j, key) == 0) ==> KeyStage(c, n, key) == -1;
    lemma KeyStage_First{L}: \forall integer n; 0 <= n ==> \forall zp_config *c, integer key, j;
      0 <= j && j < n && IsKey(c, j, key) == 1 && 0 <= StageAt(c, j) &&
      (\forall integer i; 0 <= i < j ==> IsKey(c, i, key) == 0) ==>
      KeyStage(c, n, key) == StageAt(c, j);
    lemma KeyUses_Frame{A,B}: \forall integer n; 0 <= n ==> \forall zp_config *c, integer key, s;
      Kept{A,B}(c) && n <= \at(c->n_params, A) ==>
      KeyUses{A}(c, n, key, s) == KeyUses{B}(c, n, key, s);
    lemma OnStage_Frame{A,B}: \forall zp_config *c, integer key, s;
      Kept{A,B}(c) && 0 <= \at(c->n_params, A) ==>
      OnStage{A}(c, key, s) == OnStage{B}(c, key, s);
    lemma KeyNumel_Frame{A,B}: \forall integer n; 0 <= n ==> \forall zp_config *c, integer key;
      Kept{A,B}(c) && n <= \at(c->n_params, A) ==>
      KeyNumel{A}(c, n, key) == KeyNumel{B}(c, n, key);
    lemma KeyStage_Frame{A,B}: \forall integer n; 0 <= n ==> \forall zp_config *c, integer key;
      Kept{A,B}(c) && n <= \at(c->n_params, A) ==>
      KeyStage{A}(c, n, key) == KeyStage{B}(c, n, key); */

/* ---- INIT ---- */

/* LEDG-4: the first x splits of the world: dp, tp, pp, edp, ep, then one for each tied key. */
/*@ logic trace Creations(trace t, integer x) =
      x <= 0 ? t :
      Snoc(Creations(t, x - 1), ZP_OP_CREATE, ZP_WHAT_COMMUNICATOR, x < 6 ? -1 : x - 6, 0, -1,
        ZP_RED_NONE, x < 6 ? x : 6, 0, x); */

/* LEDG-5: a first value. */
/*@ logic trace First(trace t, integer key, integer count, integer dtype, integer clock_t,
        integer clock_i) =
      Snoc(t, ZP_OP_BROADCAST, ZP_WHAT_PARAMETER, key, count, dtype, ZP_RED_NONE, 0, clock_t,
        clock_i); */

/* LEDG-5: over tied(key), behind the keys below x; the same on every stage that holds the key. */
/*@ logic trace TiedValue{L}(trace t, zp_config *c, integer s, integer x, integer key) =
      0 <= key && key < x && OnStage(c, key, s) == 1 ?
        First(t, key, KeyNumel(c, c->n_params, key), c->precision, 1, key) : t;
    logic integer TiedValues{L}(zp_config *c, integer s, integer x) =
      x <= 0 ? 0 : TiedValues(c, s, x - 1) + OnStage(c, x - 1, s);

    lemma TiedValues_Range{L}: \forall integer x; 0 <= x ==> \forall zp_config *c, integer s;
      0 <= TiedValues(c, s, x) <= x;
    lemma TiedValues_Monotone{L}: \forall integer y; 0 <= y ==> \forall zp_config *c, integer s, x;
      0 <= x <= y ==> TiedValues(c, s, x) <= TiedValues(c, s, y);
    lemma TiedValues_Frame{A,B}: \forall integer x; 0 <= x ==> \forall zp_config *c, integer s;
      Kept{A,B}(c) && 0 <= \at(c->n_params, A) ==>
      TiedValues{A}(c, s, x) == TiedValues{B}(c, s, x); */

/* LEDG-5: over tp, of the entries f … f+x-1 of a stage; then over dp or edp. p: the precision. */
/*@ logic integer Replica{L}(zp_config *c, integer j) =
      c->params[j].sharded == 0 && Holds(c, j) == 1 ? 1 : 0;
    logic integer HeldIn{L}(zp_config *c, integer j, integer g) =
      Holds(c, j) == 1 && GroupOf(c, j) == g ? 1 : 0;
    logic trace TpTrace{L}(trace t, zp_config *c, integer p, integer f, integer x) =
      x <= 0 ? t : Replica(c, f + x - 1) == 1 ?
        First(TpTrace(t, c, p, f, x - 1), -1, NumelAt(c, f + x - 1), p, 2, x - 1) :
        TpTrace(t, c, p, f, x - 1);
    logic integer TpValues{L}(zp_config *c, integer f, integer x) =
      x <= 0 ? 0 : TpValues(c, f, x - 1) + Replica(c, f + x - 1);
    logic trace DpTrace{L}(trace t, zp_config *c, integer p, integer f, integer x, integer g) =
      x <= 0 ? t : HeldIn(c, f + x - 1, g) == 1 ?
        First(DpTrace(t, c, p, f, x - 1, g), -1, NumelAt(c, f + x - 1), p, 3, x - 1) :
        DpTrace(t, c, p, f, x - 1, g);
    logic integer DpValues{L}(zp_config *c, integer f, integer x) =
      x <= 0 ? 0 : DpValues(c, f, x - 1) + Holds(c, f + x - 1);

    lemma Holds_Range{L}: \forall zp_config *c, integer j; 0 <= Holds(c, j) <= 1;
    lemma TpValues_Range{L}: \forall integer x; 0 <= x ==> \forall zp_config *c, integer f;
      0 <= TpValues(c, f, x) <= x;
    lemma TpValues_Monotone{L}: \forall integer y; 0 <= y ==> \forall zp_config *c, integer f, x;
      0 <= x <= y ==> TpValues(c, f, x) <= TpValues(c, f, y);
    lemma DpValues_Range{L}: \forall integer x; 0 <= x ==> \forall zp_config *c, integer f;
      0 <= DpValues(c, f, x) <= x;
    lemma DpValues_Monotone{L}: \forall integer y; 0 <= y ==> \forall zp_config *c, integer f, x;
      0 <= x <= y ==> DpValues(c, f, x) <= DpValues(c, f, y);
    lemma Replica_Frame{A,B}: \forall zp_config *c, integer j; Kept{A,B}(c) &&
      0 <= j < \at(c->n_params, A) ==> Replica{A}(c, j) == Replica{B}(c, j);
    lemma HeldIn_Frame{A,B}: \forall zp_config *c, integer j, g; Kept{A,B}(c) &&
      0 <= j < \at(c->n_params, A) ==> HeldIn{A}(c, j, g) == HeldIn{B}(c, j, g);
    lemma TpTrace_Frame{A,B}: \forall integer x; 0 <= x ==>
      \forall trace t, zp_config *c, integer p, f;
      Kept{A,B}(c) && 0 <= f && f + x <= \at(c->n_params, A) ==>
      TpTrace{A}(t, c, p, f, x) == TpTrace{B}(t, c, p, f, x);
    lemma TpValues_Frame{A,B}: \forall integer x; 0 <= x ==> \forall zp_config *c, integer f;
      Kept{A,B}(c) && 0 <= f && f + x <= \at(c->n_params, A) ==>
      TpValues{A}(c, f, x) == TpValues{B}(c, f, x);
    lemma DpTrace_Frame{A,B}: \forall integer x; 0 <= x ==>
      \forall trace t, zp_config *c, integer p, f, g;
      Kept{A,B}(c) && 0 <= f && f + x <= \at(c->n_params, A) ==>
      DpTrace{A}(t, c, p, f, x, g) == DpTrace{B}(t, c, p, f, x, g);
    lemma DpValues_Frame{A,B}: \forall integer x; 0 <= x ==> \forall zp_config *c, integer f;
      Kept{A,B}(c) && 0 <= f && f + x <= \at(c->n_params, A) ==>
      DpValues{A}(c, f, x) == DpValues{B}(c, f, x); */

/* LEDG-3, LEDG-5: INIT's ledger of group g (of key `key`) on stage s, whose entries are f … f+x-1,
 * and its length. */
/*@ logic trace InitLedger{L}(zp_config *c, integer s, integer f, integer x, integer g,
        integer key) =
      g == ZP_GROUP_WORLD ? Creations(Nothing, 5 + c->tied_keys) :
      g == ZP_GROUP_TIED ? TiedValue(Nothing, c, s, c->tied_keys, key) :
      g == ZP_GROUP_TP ? TpTrace(Nothing, c, c->precision, f, x) :
      DpTrace(Nothing, c, c->precision, f, x, g);
    logic integer InitNeed{L}(zp_config *c, integer s, integer f, integer x) =
      6 + c->tied_keys + TiedValues(c, s, c->tied_keys) + TpValues(c, f, x) + DpValues(c, f, x); */

/* ---- SAVE, LOAD ---- */

/* What INIT, SAVE and LOAD need to know of a layout; it follows from its being the stage's. */
/*@ predicate StageLayout{L}(zp_config *c, zp_layout *lay) =
      0 <= lay->stage < c->pp && 0 <= lay->first_param && 0 <= lay->n_params &&
      lay->first_param + lay->n_params <= c->n_params && 0 <= lay->n_flats <= 65536 &&
      (\forall integer j; 0 <= j < c->n_params ==> (c->params[j].stage == lay->stage <==>
          lay->first_param <= j < lay->first_param + lay->n_params)) &&
      (\forall integer k; 0 <= k < lay->n_flats ==> FlatOk(lay->flat + k)) &&
      (\forall integer k; 0 <= k < lay->n_flats ==>
        (lay->flat[k].group == ZP_GROUP_DP || lay->flat[k].group == ZP_GROUP_EDP)); */

/* Nothing of a layout that they read changed between two points. */
/*@ predicate KeptLayout{A,B}(zp_layout *lay) =
      \at(lay->stage, A) == \at(lay->stage, B) &&
      \at(lay->first_param, A) == \at(lay->first_param, B) &&
      \at(lay->n_params, A) == \at(lay->n_params, B) &&
      \at(lay->n_flats, A) == \at(lay->n_flats, B) && \at(lay->flat, A) == \at(lay->flat, B) &&
      \forall integer k; 0 <= k < \at(lay->n_flats, A) ==>
        \at(lay->flat[k].group, A) == \at(lay->flat[k].group, B) &&
        \at(lay->flat[k].members, A) == \at(lay->flat[k].members, B) &&
        \at(lay->flat[k].tied, A) == \at(lay->flat[k].tied, B) &&
        \at(lay->flat[k].use, A) == \at(lay->flat[k].use, B) &&
        \at(lay->flat[k].numel, A) == \at(lay->flat[k].numel, B) &&
        \at(lay->flat[k].capacity, A) == \at(lay->flat[k].capacity, B) &&
        \at(lay->flat[k].align, A) == \at(lay->flat[k].align, B); */

/* CKPT-1: the gathers of the first b buckets of flat group k: master, moment 1, moment 2 of each.
 * n, cap, d, a: the flat group's elements, capacity, members and alignment. */
/*@ logic integer SaveClock(integer k, integer b) = k * 8796093022208 + 6 * b;
    logic trace SaveState(trace t, integer clock, integer state, integer part) =
      Snoc(t, ZP_OP_GATHER, ZP_WHAT_MASTER + state, -1, part, ZP_F32, ZP_RED_NONE, 0, 0,
        clock + 2 * state);
    logic trace SaveBucket(trace t, integer clock, integer part) =
      SaveState(SaveState(SaveState(t, clock, 0, part), clock, 1, part), clock, 2, part);
    logic trace SaveBuckets(trace t, integer n, integer cap, integer d, integer a, integer k,
        integer b) =
      b <= 0 ? t :
      SaveBucket(SaveBuckets(t, n, cap, d, a, k, b - 1), SaveClock(k, b - 1),
        Part(n, cap, d, a, b - 1));
    logic integer SaveLen(integer gathers, integer writer, integer b) =
      (gathers != 0 ? 3 * b : 0) + (writer != 0 ? 3 * b : 0); */

/* CKPT-1: 1 when flat group f is saved from stage s: no copy of a tied key, or on the lowest stage
 * that holds the key the entry that has the storage. Writes: 1 for the members of group g that
 * write. */
/*@ logic integer Saves{L}(zp_config *c, integer s, zp_flat *f) =
      f->tied < 0 || (f->use == 0 && KeyStage(c, c->n_params, f->tied) == s) ? 1 : 0;
    logic integer Writes{L}(zp_config *c, integer g, integer dp) =
      (g == ZP_GROUP_EDP ? dp / c->ep : dp) == 0 ? 1 : 0;
    logic trace SaveFlat{L}(trace t, zp_config *c, integer s, zp_flat *f, integer k, integer g) =
      c->stage > 0 && f->group == g && Saves(c, s, f) == 1 ?
        SaveBuckets(t, f->numel, f->capacity, f->members, f->align, k,
          Buckets(f->numel, f->capacity)) : t;
    logic integer SaveFlatLen{L}(zp_config *c, integer s, zp_flat *f, integer dp) =
      Saves(c, s, f) == 1 ?
        SaveLen(c->stage, Writes(c, f->group, dp), Buckets(f->numel, f->capacity)) : 0;
    logic trace SaveFlats{L}(trace t, zp_config *c, integer s, zp_flat *f, integer k, integer g) =
      k <= 0 ? t : SaveFlat(SaveFlats(t, c, s, f, k - 1, g), c, s, f + (k - 1), k - 1, g);
    logic integer SaveFlatsLen{L}(zp_config *c, integer s, zp_flat *f, integer k, integer dp) =
      k <= 0 ? 0 : SaveFlatsLen(c, s, f, k - 1, dp) + SaveFlatLen(c, s, f + (k - 1), dp);

    lemma Buckets_Range: \forall integer n, c; 0 <= n <= 1099511627776 && 1 <= c ==>
      0 <= Buckets(n, c) <= 1099511627776;
    lemma Quotient_Times: \forall integer x, c; 0 <= x && 1 <= c ==> x / c * c <= x;
    lemma Times_Monotone: \forall integer a, b, c; a <= b && 0 <= c ==> a * c <= b * c;
    lemma Bucket_Inside: \forall integer n, c, b; 0 <= n && 1 <= c && 0 <= b < Buckets(n, c) ==>
      b * c < n && (b + 1) * c <= Buckets(n, c) * c;
    lemma SaveFlatLen_Range{L}: \forall zp_config *c, integer s, zp_flat *f, integer dp;
      FlatOk(f) ==> 0 <= SaveFlatLen(c, s, f, dp) <= 6597069766656;
    lemma SaveFlatsLen_Range{L}: \forall integer k; 0 <= k ==>
      \forall zp_config *c, integer s, zp_flat *f, integer dp;
      (\forall integer i; 0 <= i < k ==> FlatOk(f + i)) ==>
      0 <= SaveFlatsLen(c, s, f, k, dp) <= k * 6597069766656;
    lemma SaveFlatsLen_Monotone{L}: \forall integer k; 0 <= k ==>
      \forall integer h, zp_config *c, integer s, zp_flat *f, integer dp;
      (\forall integer i; 0 <= i < k ==> FlatOk(f + i)) && 0 <= h <= k ==>
      SaveFlatsLen(c, s, f, h, dp) <= SaveFlatsLen(c, s, f, k, dp); */

/* CKPT-1: frozen entries among f … f+i-1 that the rank with these indices writes. */
/*@ logic integer WritesFrozen{L}(zp_config *c, integer j, integer s, integer dp, integer tp) =
      c->params[j].frozen == 1 && Holds(c, j) == 1 &&
      (c->params[j].tied < 0 || KeyStage(c, c->n_params, c->params[j].tied) == s) &&
      (c->params[j].sharded == 1 || tp == 0) && Writes(c, GroupOf(c, j), dp) == 1 ? 1 : 0;
    logic integer FrozenLen{L}(zp_config *c, integer f, integer i, integer s, integer dp,
        integer tp) =
      i <= 0 ? 0 : FrozenLen(c, f, i - 1, s, dp, tp) + WritesFrozen(c, f + i - 1, s, dp, tp);

    lemma WritesFrozen_Range{L}: \forall zp_config *c, integer j, s, dp, tp;
      0 <= WritesFrozen(c, j, s, dp, tp) <= 1;
    lemma WritesFrozen_Frame{A,B}: \forall zp_config *c, integer j, s, dp, tp;
      Kept{A,B}(c) && 0 <= j < \at(c->n_params, A) ==>
      WritesFrozen{A}(c, j, s, dp, tp) == WritesFrozen{B}(c, j, s, dp, tp);
    lemma FrozenLen_Range{L}: \forall integer i; 0 <= i ==>
      \forall zp_config *c, integer f, s, dp, tp; 0 <= FrozenLen(c, f, i, s, dp, tp) <= i;
    lemma FrozenLen_Monotone{L}: \forall integer i; 0 <= i ==>
      \forall zp_config *c, integer h, f, s, dp, tp; 0 <= h <= i ==>
      FrozenLen(c, f, h, s, dp, tp) <= FrozenLen(c, f, i, s, dp, tp);
    lemma FrozenLen_Frame{A,B}: \forall integer i; 0 <= i ==>
      \forall zp_config *c, integer f, s, dp, tp;
      Kept{A,B}(c) && 0 <= f && f + i <= \at(c->n_params, A) ==>
      FrozenLen{A}(c, f, i, s, dp, tp) == FrozenLen{B}(c, f, i, s, dp, tp); */

/* CKPT-1, CKPT-2: SAVE's ledger of group g and its length, and LOAD's; the agreements on the status
 * are over the world. */
/*@ logic trace Status(trace t, integer clock_t, integer clock_i) =
      Snoc(t, ZP_OP_ALL_REDUCE, ZP_WHAT_STATUS, -1, 1, ZP_I64, ZP_RED_SUM, -1, clock_t, clock_i);
    logic trace SaveLedger{L}(zp_config *c, zp_layout *lay, integer g) =
      g == ZP_GROUP_WORLD ? Status(Status(Nothing, 2, 1), 2, 3) :
      SaveFlats(Nothing, c, lay->stage, lay->flat, lay->n_flats, g);
    logic integer SaveNeed{L}(zp_config *c, zp_layout *lay, integer dp, integer tp) =
      SaveFlatsLen(c, lay->stage, lay->flat, lay->n_flats, dp) +
      FrozenLen(c, lay->first_param, lay->n_params, lay->stage, dp, tp) + 4;
    logic trace LoadLedger(integer g) = g == ZP_GROUP_WORLD ? Status(Nothing, 0, 1) : Nothing; */

#endif
