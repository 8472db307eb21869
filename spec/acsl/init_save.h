/* The logic of LEDG-4, LEDG-5, LEDG-8, CKPT-1 and CKPT-2: the programs INIT, SAVE and LOAD as
 * functions of the configuration c and the pipeline stage s. Ledgers have no other argument.
 * Lengths of SAVE also depend on the dp and tp index, because only some ranks write.
 * Include after ref/plan/program.h's types and ledger.h;
 * the *_lemmas.h files have the lemmas. */
#ifndef ZP_SPEC_ACSL_INIT_SAVE_H
#define ZP_SPEC_ACSL_INIT_SAVE_H

#include "bounds.h"

/* ---- Entries and keys ---- */

/* The configuration is equal at two points. Each field is listed separately, so that provers find
 * the instance. */
/*@ predicate KeptEntries{A,B}(zp_config *c) =
      \forall integer j; 0 <= j < \at(c->n_params, A) ==>
        \at(c->params[j].numel, A) == \at(c->params[j].numel, B) &&
        \at(c->params[j].stage, A) == \at(c->params[j].stage, B) &&
        \at(c->params[j].optgroup, A) == \at(c->params[j].optgroup, B) &&
        \at(c->params[j].tied, A) == \at(c->params[j].tied, B) &&
        \at(c->params[j].sharded, A) == \at(c->params[j].sharded, B) &&
        \at(c->params[j].expert, A) == \at(c->params[j].expert, B) &&
        \at(c->params[j].frozen, A) == \at(c->params[j].frozen, B) &&
        \at(c->params[j].fp32, A) == \at(c->params[j].fp32, B);
    predicate Kept{A,B}(zp_config *c) = SameScalars{A,B}(c) && KeptEntries{A,B}(c); */

/* TIE-2: the number of entries among j+1 … n-1 on j's stage with j's key. Holds: 1 if entry j has
 * storage of its own. */
/*@ logic integer LaterUse{L}(zp_config *c, integer j, integer i) =
      j < i && c->params[i].stage == c->params[j].stage &&
      c->params[i].tied == c->params[j].tied ? 1 : 0;
    logic integer LaterUses{L}(zp_config *c, integer j, integer n) =
      n <= 0 ? 0 : LaterUses(c, j, n - 1) + LaterUse(c, j, n - 1);
    logic integer Holds{L}(zp_config *c, integer j) =
      c->params[j].tied < 0 || LaterUses(c, j, c->n_params) == 0 ? 1 : 0; */

/* TIE-1: the number of elements of the last of the first n entries with tied key `key`, and whether
 * it is fp32 (all agree); 0 without one. */
/*@ logic integer IsKey{L}(zp_config *c, integer j, integer key) =
      c->params[j].tied == key ? 1 : 0;
    logic integer NumelAt{L}(zp_config *c, integer j) = c->params[j].numel;
    logic integer KeyNumel{L}(zp_config *c, integer n, integer key) =
      n <= 0 ? 0 : IsKey(c, n - 1, key) == 1 ? NumelAt(c, n - 1) : KeyNumel(c, n - 1, key);
    logic integer Fp32At{L}(zp_config *c, integer j) = c->params[j].fp32;
    logic integer KeyFp32{L}(zp_config *c, integer n, integer key) =
      n <= 0 ? 0 : IsKey(c, n - 1, key) == 1 ? Fp32At(c, n - 1) : KeyFp32(c, n - 1, key); */

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

/* LEDG-5: over tied(key), after the keys below x; the same on every stage that holds the key. */
/*@ logic trace TiedValue{L}(trace t, zp_config *c, integer s, integer x, integer key) =
      0 <= key && key < x && On(c, key, s) == 1 ?
        First(t, key, KeyNumel(c, c->n_params, key),
          DtypeOf(KeyFp32(c, c->n_params, key), c->precision), 1, key) : t;
    logic integer TiedValues{L}(zp_config *c, integer s, integer x) =
      x <= 0 ? 0 : TiedValues(c, s, x - 1) + On(c, x - 1, s); */

/* LEDG-5: over tp, of the entries f … f+x-1 of a stage; then over dp or edp. p: the precision. */
/*@ logic integer Replica{L}(zp_config *c, integer j) =
      c->params[j].sharded == 0 && Holds(c, j) == 1 ? 1 : 0;
    logic integer HeldIn{L}(zp_config *c, integer j, integer g) =
      Holds(c, j) == 1 && GroupOf(c, j) == g ? 1 : 0;
    logic trace TpTrace{L}(trace t, zp_config *c, integer p, integer f, integer x) =
      x <= 0 ? t : Replica(c, f + x - 1) == 1 ?
        First(TpTrace(t, c, p, f, x - 1), -1, NumelAt(c, f + x - 1),
          DtypeOf(Fp32At(c, f + x - 1), p), 2, x - 1) :
        TpTrace(t, c, p, f, x - 1);
    logic integer TpValues{L}(zp_config *c, integer f, integer x) =
      x <= 0 ? 0 : TpValues(c, f, x - 1) + Replica(c, f + x - 1);
    logic trace DpTrace{L}(trace t, zp_config *c, integer p, integer f, integer x, integer g) =
      x <= 0 ? t : HeldIn(c, f + x - 1, g) == 1 ?
        First(DpTrace(t, c, p, f, x - 1, g), -1, NumelAt(c, f + x - 1),
          DtypeOf(Fp32At(c, f + x - 1), p), 3, x - 1) :
        DpTrace(t, c, p, f, x - 1, g);
    logic integer DpValues{L}(zp_config *c, integer f, integer x) =
      x <= 0 ? 0 : DpValues(c, f, x - 1) + Holds(c, f + x - 1); */

/* LEDG-3, LEDG-5: INIT's ledger of group g (of key `key`) on stage s, whose entries are f … f+x-1,
 * and its length; Values: without the creations. Creations are in the world's ledger only, first
 * values in the other groups only. */
/*@ logic trace ValuesTrace{L}(trace t, zp_config *c, integer s, integer f, integer x, integer g,
        integer key) =
      g == ZP_GROUP_TIED ? TiedValue(t, c, s, c->tied_keys, key) :
      g == ZP_GROUP_TP ? TpTrace(t, c, c->precision, f, x) :
      g == ZP_GROUP_DP || g == ZP_GROUP_EDP ? DpTrace(t, c, c->precision, f, x, g) : t;
    logic integer ValuesLen{L}(zp_config *c, integer s, integer f, integer x) =
      TiedValues(c, s, c->tied_keys) + TpValues(c, f, x) + DpValues(c, f, x) + 1;
    logic trace InitLedger{L}(zp_config *c, integer s, integer f, integer x, integer g,
        integer key) =
      ValuesTrace(g == ZP_GROUP_WORLD ? Creations(Nothing, 5 + c->tied_keys) : Nothing, c, s, f, x,
        g, key);
    logic integer InitNeed{L}(zp_config *c, integer s, integer f, integer x) =
      5 + c->tied_keys + ValuesLen(c, s, f, x); */

/* ---- SAVE, LOAD ---- */

/* The facts about a layout that INIT, SAVE and LOAD use; they follow from LayoutOf. */
/*@ predicate StageLayout{L}(zp_config *c, zp_layout *lay) =
      0 <= lay->stage < c->pp && 0 <= lay->first_param && 0 <= lay->n_params &&
      lay->first_param + lay->n_params <= c->n_params && 0 <= lay->n_flats <= ZP_LIMIT_ENTRIES &&
      (\forall integer j; 0 <= j < c->n_params ==> (c->params[j].stage == lay->stage <==>
          lay->first_param <= j < lay->first_param + lay->n_params)) &&
      (\forall integer k; 0 <= k < lay->n_flats ==> FlatOk(lay->flat + k)) &&
      (\forall integer k; 0 <= k < lay->n_flats ==>
        (lay->flat[k].group == ZP_GROUP_DP || lay->flat[k].group == ZP_GROUP_EDP)); */

/* The fields that they read of a flat group, and of a layout, are equal at two points. */
/*@ predicate KeptFlat{A,B}(zp_flat *f) =
      \at(f->group, A) == \at(f->group, B) && \at(f->members, A) == \at(f->members, B) &&
      \at(f->tied, A) == \at(f->tied, B) && \at(f->use, A) == \at(f->use, B) &&
      \at(f->fp32, A) == \at(f->fp32, B) &&
      \at(f->numel, A) == \at(f->numel, B) && \at(f->capacity, A) == \at(f->capacity, B) &&
      \at(f->align, A) == \at(f->align, B);
    predicate KeptStage{A,B}(zp_layout *lay) =
      \at(lay->stage, A) == \at(lay->stage, B) &&
      \at(lay->first_param, A) == \at(lay->first_param, B) &&
      \at(lay->n_params, A) == \at(lay->n_params, B) &&
      \at(lay->n_flats, A) == \at(lay->n_flats, B) && \at(lay->flat, A) == \at(lay->flat, B);
    predicate KeptFlats{A,B}(zp_layout *lay) =
      \forall integer k; 0 <= k < \at(lay->n_flats, A) ==>
        \at(lay->flat[k].group, A) == \at(lay->flat[k].group, B) &&
        \at(lay->flat[k].members, A) == \at(lay->flat[k].members, B) &&
        \at(lay->flat[k].tied, A) == \at(lay->flat[k].tied, B) &&
        \at(lay->flat[k].use, A) == \at(lay->flat[k].use, B) &&
        \at(lay->flat[k].numel, A) == \at(lay->flat[k].numel, B) &&
        \at(lay->flat[k].capacity, A) == \at(lay->flat[k].capacity, B) &&
        \at(lay->flat[k].align, A) == \at(lay->flat[k].align, B) &&
        \at(lay->flat[k].fp32, A) == \at(lay->flat[k].fp32, B); */

/* Writing m ops from *op on does not change a configuration c with np entries at ps, or the fields
 * read of a layout lay with nf flat groups at fs. Each field is listed separately, so that provers
 * find the instance. Apart: the same for every run of the len ops from ops[n] on. */
/*@ predicate ClearOfConfig(zp_op *op, integer m, zp_config *c) =
      \separated(&c->pp, op + (0 .. m - 1)) && \separated(&c->dp, op + (0 .. m - 1)) &&
      \separated(&c->tp, op + (0 .. m - 1)) && \separated(&c->ep, op + (0 .. m - 1)) &&
      \separated(&c->stage, op + (0 .. m - 1)) && \separated(&c->reduce, op + (0 .. m - 1)) &&
      \separated(&c->precision, op + (0 .. m - 1)) &&
      \separated(&c->dynamic_shapes, op + (0 .. m - 1)) &&
      \separated(&c->optgroups, op + (0 .. m - 1)) &&
      \separated(&c->tied_keys, op + (0 .. m - 1)) &&
      \separated(&c->n_params, op + (0 .. m - 1)) &&
      \separated(&c->micro_batches, op + (0 .. m - 1)) &&
      \separated(&c->bucket, op + (0 .. m - 1)) && \separated(&c->align, op + (0 .. m - 1));
    predicate ClearOfEntries(zp_op *op, integer m, zp_param *ps, integer np) =
      \forall integer j; 0 <= j < np ==>
        \separated(&ps[j].numel, op + (0 .. m - 1)) &&
        \separated(&ps[j].stage, op + (0 .. m - 1)) &&
        \separated(&ps[j].optgroup, op + (0 .. m - 1)) &&
        \separated(&ps[j].tied, op + (0 .. m - 1)) &&
        \separated(&ps[j].sharded, op + (0 .. m - 1)) &&
        \separated(&ps[j].expert, op + (0 .. m - 1)) &&
        \separated(&ps[j].frozen, op + (0 .. m - 1)) &&
        \separated(&ps[j].fp32, op + (0 .. m - 1));
    predicate ClearOfLayout(zp_op *op, integer m, zp_layout *lay) =
      \separated(&lay->stage, op + (0 .. m - 1)) &&
      \separated(&lay->first_param, op + (0 .. m - 1)) &&
      \separated(&lay->n_params, op + (0 .. m - 1)) &&
      \separated(&lay->n_flats, op + (0 .. m - 1));
    predicate ClearOfFlats(zp_op *op, integer m, zp_flat *fs, integer nf) =
      \forall integer k; 0 <= k < nf ==> \separated(fs + k, op + (0 .. m - 1)) &&
        \separated(&fs[k].group, op + (0 .. m - 1)) &&
        \separated(&fs[k].members, op + (0 .. m - 1)) &&
        \separated(&fs[k].tied, op + (0 .. m - 1)) && \separated(&fs[k].use, op + (0 .. m - 1)) &&
        \separated(&fs[k].numel, op + (0 .. m - 1)) &&
        \separated(&fs[k].capacity, op + (0 .. m - 1)) &&
        \separated(&fs[k].align, op + (0 .. m - 1)) &&
        \separated(&fs[k].fp32, op + (0 .. m - 1));
    predicate Clear(zp_op *op, integer m, zp_config *c, zp_param *ps, integer np, zp_layout *lay,
        zp_flat *fs, integer nf) =
      ClearOfConfig(op, m, c) && ClearOfEntries(op, m, ps, np) && ClearOfLayout(op, m, lay) &&
      ClearOfFlats(op, m, fs, nf);
    predicate Apart(zp_op *ops, integer n, integer len, zp_config *c, zp_param *ps, integer np,
        zp_layout *lay, zp_flat *fs, integer nf) =
      \forall integer p, m; n <= p && 0 <= m && p + m <= n + len ==>
        Clear(ops + p, m, c, ps, np, lay, fs, nf); */

/* CKPT-1: the gathers of the first b buckets of flat group k: master, moment 1, moment 2 of each.
 * n, cap, d, a: the flat group's elements, capacity, members and alignment. */
/*@ logic integer SaveClock(integer k, integer b) = k * ZP_SAVE_STRIDE + 6 * b;
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

/* CKPT-1: 1 if stage s saves flat group f: it has no tied key, or s is the lowest stage of the key
 * and f has the storage. Writes: 1 for the members of group g that write. */
/*@ logic integer Saves{L}(zp_config *c, integer s, zp_flat *f) =
      f->tied < 0 || (f->use == 0 && StageOf(c, f->tied, 0) == s) ? 1 : 0;
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
      k <= 0 ? 0 : SaveFlatsLen(c, s, f, k - 1, dp) + SaveFlatLen(c, s, f + (k - 1), dp); */

/* CKPT-1: frozen entries among f … f+i-1 that the rank with these indices writes. */
/*@ logic integer WritesFrozen{L}(zp_config *c, integer j, integer s, integer dp, integer tp) =
      c->params[j].frozen == 1 && Holds(c, j) == 1 &&
      (c->params[j].tied < 0 || StageOf(c, c->params[j].tied, 0) == s) &&
      (c->params[j].sharded == 1 || tp == 0) && Writes(c, GroupOf(c, j), dp) == 1 ? 1 : 0;
    logic integer FrozenLen{L}(zp_config *c, integer f, integer i, integer s, integer dp,
        integer tp) =
      i <= 0 ? 0 : FrozenLen(c, f, i - 1, s, dp, tp) + WritesFrozen(c, f + i - 1, s, dp, tp); */

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
