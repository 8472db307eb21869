/* The ops of the STEP program after its pipeline, one by one, in all fields: TIE-1, STAT-2, STEP-6,
 * STEP-7, STEP-8. q and r count ops from 0; F is where the flat groups are read, O the ops. */
#ifndef ZP_SPEC_ACSL_OP_TAIL_H
#define ZP_SPEC_ACSL_OP_TAIL_H

#include "op_is.h"

/* ---- Updates and gathers ---- */
/*@ // Op r of the update of a flat group's `buckets` buckets, the last bucket first: the update of
    // its shard and, from ZeRO stage 1 on, the gather of its parameters. clock: of the first.
    logic integer UpdatedBucket(integer stage, integer buckets, integer r) =
      buckets - 1 - (stage > 0 ? r / 2 : r);
    predicate IsUpdate{L}(zp_op *o, integer stage, integer k, integer t, integer clock,
        integer buckets, integer r) =
      IsLocal(o, ZP_OP_UPDATE, k, UpdatedBucket(stage, buckets, r), 1, t,
        clock + (stage > 0 ? r : 2 * r));
    predicate IsGather{L}(zp_op *o, integer group, integer n, integer c, integer d, integer a,
        integer dtype, integer k, integer t, integer clock, integer buckets, integer r) =
      IsOnBucket(o, ZP_OP_ALL_GATHER, ZP_WHAT_PARAMETER, group, -1, dtype, ZP_RED_NONE, k,
        UpdatedBucket(1, buckets, r), 1, Part(n, c, d, a, UpdatedBucket(1, buckets, r)), t,
        clock + r);
    predicate UpdateOp{L}(zp_op *o, integer group, integer n, integer c, integer d, integer a,
        integer stage, integer dtype, integer k, integer t, integer clock, integer buckets,
        integer r) =
      (stage > 0 && r % 2 == 1 ==>
        IsGather(o, group, n, c, d, a, dtype, k, t, clock, buckets, r)) &&
      (stage <= 0 || r % 2 == 0 ==> IsUpdate(o, stage, k, t, clock, buckets, r));

    // The same of flat group f, number k, in pass u: 0 for those that come first, 1 for the others.
    predicate FlatUpdateOp{F,O}(zp_op *o, zp_flat *f, integer u, integer stage, integer precision,
        integer k, integer t, integer r) =
      UpdateOp{O}(o, \at(f->group, F), \at(f->numel, F), \at(f->capacity, F), \at(f->members, F),
        \at(f->align, F), stage, DtypeOf(\at(f->fp32, F), precision), k, t, UpdateClock(u, k),
        PassOf{F}(f, u), r);
    // The flat group that op q of pass u over the first x flat groups is about.
    logic integer PassBlock{L}(zp_flat *f, integer u, integer stage, integer x, integer q) =
      x <= 0 ? -1 : UpdateLen(stage, Pass(f, x - 1, u)) <= q ? x - 1 :
      PassBlock(f, u, stage, x - 1, q);
    predicate PassOp{F,O}(zp_op *o, zp_flat *f, integer u, integer stage, integer precision,
        integer t, integer x, integer q) =
      \let k = PassBlock{F}(f, u, stage, x, q);
      FlatUpdateOp{F,O}(o, f + k, u, stage, precision, k, t,
        q - UpdateLen(stage, Pass{F}(f, k, u)));
    // The same of all ops from ops[lo] to ops[hi - 1].
    predicate UpdateOps{L}(zp_op *ops, integer lo, integer hi, integer group, integer n, integer c,
        integer d, integer a, integer stage, integer dtype, integer k, integer t, integer clock,
        integer buckets) =
      \forall integer p; lo <= p < hi ==>
        UpdateOp(ops + p, group, n, c, d, a, stage, dtype, k, t, clock, buckets, p - lo);
    predicate FlatUpdateOps{F,O}(zp_op *ops, integer lo, integer hi, zp_flat *f, integer u,
        integer stage, integer precision, integer k, integer t) =
      \forall integer p; lo <= p < hi ==>
        FlatUpdateOp{F,O}(ops + p, f, u, stage, precision, k, t, p - lo);
    predicate PassOps{F,O}(zp_op *ops, integer lo, integer hi, zp_flat *f, integer u,
        integer stage, integer precision, integer t, integer x) =
      \forall integer p; lo <= p < hi ==>
        PassOp{F,O}(ops + p, f, u, stage, precision, t, x, p - lo);
    // Op q of all updates and gathers of n flat groups; and all of these ops.
    predicate UpdatesOp{F,O}(zp_op *o, zp_flat *f, integer n, integer stage, integer precision,
        integer t, integer q) =
      \let first = UpdateLen(stage, Pass{F}(f, n, 0));
      (q < first ==> PassOp{F,O}(o, f, 0, stage, precision, t, n, q)) &&
      (first <= q ==> PassOp{F,O}(o, f, 1, stage, precision, t, n, q - first));
    predicate UpdatesOps{F,O}(zp_op *ops, integer lo, integer hi, zp_flat *f, integer n,
        integer stage, integer precision, integer t) =
      \forall integer p; lo <= p < hi ==>
        UpdatesOp{F,O}(ops + p, f, n, stage, precision, t, p - lo);
*/

/* ---- Sums of tied keys ---- */
/*@ // The sum of bucket b of tied key `key`, whose flat group has number k on this stage.
    predicate TiedOp{L}(zp_op *o, integer n, integer c, integer d, integer a, integer stage,
        integer exact, integer key, integer k, integer t, integer b) =
      IsOnBucket(o, ZP_OP_ALL_REDUCE, ZP_WHAT_TIED, ZP_GROUP_TIED, key,
        exact == ZP_EXACT ? ZP_I64 : ZP_F32, exact == ZP_EXACT ? ZP_RED_SUM : ZP_RED_ORDERED, k, b,
        0, TiedCount(stage, exact, n, c, d, a, b), t, SumClock(key, b));
    predicate TiedOps{L}(zp_op *ops, integer lo, integer hi, integer n, integer c, integer d,
        integer a, integer stage, integer exact, integer key, integer k, integer t) =
      \forall integer p; lo <= p < hi ==>
        TiedOp(ops + p, n, c, d, a, stage, exact, key, k, t, p - lo);
    predicate KeyOp{F,O}(zp_op *o, zp_flat *f, integer flats, integer stage, integer exact,
        integer key, integer t, integer b) =
      \let k = TiedFlat{F}(f, flats, key);
      TiedOp{O}(o, \at(f[k].numel, F), \at(f[k].capacity, F), \at(f[k].members, F),
        \at(f[k].align, F), stage, exact, key, k, t, b);
    predicate KeyOps{F,O}(zp_op *ops, integer lo, integer hi, zp_flat *f, integer flats,
        integer stage, integer exact, integer key, integer t) =
      \forall integer p; lo <= p < hi ==>
        KeyOp{F,O}(ops + p, f, flats, stage, exact, key, t, p - lo);
    // The key that op q of the first x keys' sums is about.
    logic integer KeyBlock{L}(zp_flat *f, integer flats, integer x, integer q) =
      x <= 0 ? -1 : KeysLen(f, flats, x - 1) <= q ? x - 1 : KeyBlock(f, flats, x - 1, q);
    predicate KeysOp{F,O}(zp_op *o, zp_flat *f, integer flats, integer stage, integer exact,
        integer t, integer x, integer q) =
      \let key = KeyBlock{F}(f, flats, x, q);
      KeyOp{F,O}(o, f, flats, stage, exact, key, t, q - KeysLen{F}(f, flats, key));
    predicate KeysOps{F,O}(zp_op *ops, integer lo, integer hi, zp_flat *f, integer flats,
        integer stage, integer exact, integer t, integer x) =
      \forall integer p; lo <= p < hi ==>
        KeysOp{F,O}(ops + p, f, flats, stage, exact, t, x, p - lo);
*/

/* ---- Means ---- */
/*@ // The division and count of bucket b of flat group k.
    predicate MeanOp{L}(zp_op *o, integer k, integer t, integer b) =
      IsLocal(o, ZP_OP_MEAN, k, b, 0, t, SumClock(k, b));
    predicate MeanOps{L}(zp_op *ops, integer lo, integer hi, integer k, integer t) =
      \forall integer p; lo <= p < hi ==> MeanOp(ops + p, k, t, p - lo);
    // The flat group that op q of the first x flat groups' means is about.
    logic integer HeldBlock{L}(zp_flat *f, integer x, integer q) =
      x <= 0 ? -1 : Held(f, x - 1) <= q ? x - 1 : HeldBlock(f, x - 1, q);
    predicate MeansOp{F,O}(zp_op *o, zp_flat *f, integer t, integer x, integer q) =
      \let k = HeldBlock{F}(f, x, q);
      MeanOp{O}(o, k, t, q - Held{F}(f, k));
    predicate MeansOps{F,O}(zp_op *ops, integer lo, integer hi, zp_flat *f, integer t, integer x) =
      \forall integer p; lo <= p < hi ==> MeansOp{F,O}(ops + p, f, t, x, p - lo);
*/

/* ---- All of it ---- */
/*@ predicate IsStatistics{L}(zp_op *o, integer t) =
      IsAgreement(o, ZP_WHAT_STATISTICS, ZP_STATS, t, 0);
    predicate IsDecision{L}(zp_op *o, integer t) =
      IsOp(o, ZP_OP_DECIDE, ZP_WHAT_NONE, -1, -1, -1, ZP_RED_NONE, -1, -1, -1, -1, 0, -1, -1, -1, 0,
        0, t, 1);
    // Op q after the pipeline's t slots, of a stage with n flat groups, of `keys` tied keys.
    predicate TailOp{F,O}(zp_op *o, zp_flat *f, integer n, integer keys, integer stage,
        integer exact, integer precision, integer t, integer q) =
      \let sums = KeysLen{F}(f, n, keys);
      \let means = sums + Held{F}(f, n);
      (q < sums ==> KeysOp{F,O}(o, f, n, stage, exact, t, keys, q)) &&
      (sums <= q < means ==> MeansOp{F,O}(o, f, t + 1, n, q - sums)) &&
      (q == means ==> IsStatistics{O}(o, t + 2)) &&
      (q == means + 1 ==> IsDecision{O}(o, t + 2)) &&
      (means + 1 < q ==> UpdatesOp{F,O}(o, f, n, stage, precision, t + 3, q - means - 2));
    predicate TailOps{F,O}(zp_op *ops, integer lo, integer hi, zp_flat *f, integer n, integer keys,
        integer stage, integer exact, integer precision, integer t) =
      \forall integer p; lo <= p < hi ==>
        TailOp{F,O}(ops + p, f, n, keys, stage, exact, precision, t, p - lo);
*/

#endif
