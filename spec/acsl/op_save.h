/* The ops of SAVE and LOAD, one by one, in all fields: CKPT-1, CKPT-2. q and r count ops from 0; F
 * is where configuration and layout are read, O the ops. SaveLen, SaveClock, Saves, Writes and
 * FrozenLen are in init_save.h. */
#ifndef ZP_SPEC_ACSL_OP_SAVE_H
#define ZP_SPEC_ACSL_OP_SAVE_H

#include "op_is.h"

/* ---- One bucket b of flat group k, of n elements: its three states, each gathered (gathers not 0)
 * and written (writer not 0) by this rank or not ---- */
/*@ predicate IsSaveGather{L}(zp_op *o, integer g, integer count, integer k, integer b,
        integer state, integer clock) =
      IsOp(o, ZP_OP_GATHER, ZP_WHAT_MASTER + state, g, -1, ZP_F32, ZP_RED_NONE, 0, k, -1, -1, 0, -1,
        -1, b, 0, count, 0, clock + 2 * state);
    predicate IsSaveWrite{L}(zp_op *o, integer k, integer b, integer state, integer clock) =
      IsOp(o, ZP_OP_WRITE, ZP_WHAT_MASTER + state, -1, -1, -1, ZP_RED_NONE, -1, k, -1, -1, 0, -1,
        -1, b, 0, 0, 0, clock + 2 * state + 1);
    predicate BucketSaveOp{L}(zp_op *o, integer g, integer n, integer c, integer d, integer a,
        integer gathers, integer writer, integer k, integer b, integer r) =
      \let both = gathers != 0 && writer != 0 ? 1 : 0;
      \let state = both == 1 ? r / 2 : r;
      (gathers != 0 && (both == 0 || r % 2 == 0) ==>
        IsSaveGather(o, g, Part(n, c, d, a, b), k, b, state, SaveClock(k, b))) &&
      (writer != 0 && (both == 0 || r % 2 == 1) ==>
        IsSaveWrite(o, k, b, state, SaveClock(k, b)));
    predicate BucketSaveOps{L}(zp_op *ops, integer lo, integer hi, integer g, integer n, integer c,
        integer d, integer a, integer gathers, integer writer, integer k, integer b) =
      \forall integer p; lo <= p < hi ==>
        BucketSaveOp(ops + p, g, n, c, d, a, gathers, writer, k, b, p - lo);
    // The bucket that op q of the flat group is about.
    logic integer SavedBucket(integer gathers, integer writer, integer q) =
      gathers != 0 && writer != 0 ? q / 6 : q / 3;
    predicate FlatSaveOp{L}(zp_op *o, integer g, integer n, integer c, integer d, integer a,
        integer gathers, integer writer, integer k, integer q) =
      \let b = SavedBucket(gathers, writer, q);
      BucketSaveOp(o, g, n, c, d, a, gathers, writer, k, b, q - SaveLen(gathers, writer, b));
    predicate FlatSaveOps{L}(zp_op *ops, integer lo, integer hi, integer g, integer n, integer c,
        integer d, integer a, integer gathers, integer writer, integer k) =
      \forall integer p; lo <= p < hi ==>
        FlatSaveOp(ops + p, g, n, c, d, a, gathers, writer, k, p - lo);
*/

/* ---- The first x flat groups of stage s, at f, for a rank with index dp ---- */
/*@ predicate SaveFlatOps{F,O}(zp_op *ops, integer lo, integer hi, zp_config *c, zp_flat *f,
        integer k, integer dp) =
      FlatSaveOps{O}(ops, lo, hi, \at(f->group, F), \at(f->numel, F), \at(f->capacity, F),
        \at(f->members, F), \at(f->align, F), \at(c->stage, F),
        Writes{F}(c, \at(f->group, F), dp), k);
    logic integer SaveBlock{L}(zp_config *c, integer s, zp_flat *f, integer x, integer dp,
        integer q) =
      x <= 0 ? -1 : SaveFlatsLen(c, s, f, x - 1, dp) <= q ? x - 1 :
      SaveBlock(c, s, f, x - 1, dp, q);
    predicate SavesOp{F,O}(zp_op *o, zp_config *c, integer s, zp_flat *f, integer dp, integer x,
        integer q) =
      \let k = SaveBlock{F}(c, s, f, x, dp, q);
      FlatSaveOp{O}(o, \at(f[k].group, F), \at(f[k].numel, F), \at(f[k].capacity, F),
        \at(f[k].members, F), \at(f[k].align, F), \at(c->stage, F),
        Writes{F}(c, \at(f[k].group, F), dp), k, q - SaveFlatsLen{F}(c, s, f, k, dp));
    predicate SavesOps{F,O}(zp_op *ops, integer lo, integer hi, zp_config *c, integer s, zp_flat *f,
        integer dp, integer x) =
      \forall integer p; lo <= p < hi ==> SavesOp{F,O}(ops + p, c, s, f, dp, x, p - lo);
*/

/* ---- The frozen entries among f … f+x-1 that this rank writes ---- */
/*@ predicate IsFrozenWrite{L}(zp_op *o, integer j, integer i) =
      IsOp(o, ZP_OP_WRITE, ZP_WHAT_PARAMETER, -1, -1, -1, ZP_RED_NONE, -1, -1, j, -1, 0, -1, -1, -1,
        0, 0, 1, i);
    logic integer FrozenBlock{L}(zp_config *c, integer f, integer x, integer s, integer dp,
        integer tp, integer q) =
      x <= 0 ? -1 : FrozenLen(c, f, x - 1, s, dp, tp) <= q ? x - 1 :
      FrozenBlock(c, f, x - 1, s, dp, tp, q);
    predicate FrozensOps{F,O}(zp_op *ops, integer lo, integer hi, zp_config *c, integer f,
        integer x,
        integer s, integer dp, integer tp) =
      \forall integer p; lo <= p < hi ==> IsFrozenWrite{O}(ops + p,
        f + FrozenBlock{F}(c, f, x, s, dp, tp, p - lo), FrozenBlock{F}(c, f, x, s, dp, tp, p - lo));
*/

/* ---- All of it ---- */
/*@ predicate IsPlain{L}(zp_op *o, integer kind, integer t, integer i) =
      IsOp(o, kind, ZP_WHAT_NONE, -1, -1, -1, ZP_RED_NONE, -1, -1, -1, -1, 0, -1, -1, -1, 0, 0, t,
      i);
    // The files are sealed, all ranks agree that they are whole, the checkpoint is committed, and
    // all agree that it is.
    predicate SaveEnds{L}(zp_op *ops, integer n) =
      IsPlain(ops + n, ZP_OP_SEAL, 2, 0) && IsAgreement(ops + (n + 1), ZP_WHAT_STATUS, 1, 2, 1) &&
      IsPlain(ops + (n + 2), ZP_OP_COMMIT, 2, 2) &&
      IsAgreement(ops + (n + 3), ZP_WHAT_STATUS, 1, 2, 3);
    predicate SaveOps{F,O}(zp_op *ops, integer n, zp_config *c, zp_layout *lay, integer dp,
        integer tp) =
      \let flats = SaveFlatsLen{F}(c, \at(lay->stage, F), \at(lay->flat, F), \at(lay->n_flats, F),
      dp);
      n == SaveNeed{F}(c, lay, dp, tp) &&
      SavesOps{F,O}(ops, 0, flats, c, \at(lay->stage, F), \at(lay->flat, F), dp,
        \at(lay->n_flats, F)) &&
      FrozensOps{F,O}(ops, flats, n - 4, c, \at(lay->first_param, F), \at(lay->n_params, F),
        \at(lay->stage, F), dp, tp) &&
      SaveEnds{O}(ops, n - 4);
    predicate LoadOps{L}(zp_op *ops) =
      IsPlain(ops + 0, ZP_OP_READ, 0, 0) && IsAgreement(ops + 1, ZP_WHAT_STATUS, 1, 0, 1) &&
      IsPlain(ops + 2, ZP_OP_INSTALL, 0, 2);
*/

#endif
