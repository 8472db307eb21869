/* One entry's gradient as ref/plan/step_internal.h passes it: RED-3. Included there after
 * zp_arrival; step_program.h has its meaning. */
#ifndef ZP_SPEC_ACSL_STEP_ARRIVAL_H
#define ZP_SPEC_ACSL_STEP_ARRIVAL_H

#include "bounds.h"

/*@ predicate ArrivalOk(zp_arrival a) =
      FlatFits(a.flat) && 0 <= a.stage <= 2 && 0 <= a.reduce <= 1 && 0 <= a.dtype <= 2 &&
      0 <= a.reduces <= 1 && 0 <= a.from <= a.to <= a.flat.numel &&
      0 <= a.mb < ZP_LIMIT_MICRO_BATCHES &&
      0 <= a.clock <= 288230376151711744;
    logic integer ArrivalLen(zp_arrival a) =
      EntryLen(a.flat.numel, a.flat.capacity, a.from, a.to, a.reduces);
    logic trace ArrivalOne(trace tr, zp_arrival a, integer b) =
      OneReduction(tr, a.stage, a.reduce, a.dtype, a.flat.numel, a.flat.capacity,
        a.flat.members, a.flat.align, a.t, a.clock, b);
    logic trace ArrivalTrace(trace tr, zp_arrival a, integer b0, integer b) =
      EntryTrace(tr, a.stage, a.reduce, a.dtype, a.flat.numel, a.flat.capacity,
        a.flat.members, a.flat.align, a.t, a.clock, b0, b);
    logic integer ArrivalLast(zp_arrival a) =
      a.reduces == 0 ? FirstBucket(a.flat.capacity, a.from) :
      DoneBucket(a.flat.numel, a.flat.capacity, a.from, a.to);
    logic integer ArrivalPlace(zp_arrival a, integer b) =
      CollectPlace(a.stage, a.mb, a.flat.numel, a.flat.capacity, b);

    // p adds some of it; p reduces a bucket after it, one of First … done-1.
    predicate ArrivalAdd{L}(zp_arrival a, zp_op *p) =
      OpOf(p, a.mb, a.t) && AddIs(p, a.stage, a.k, a.param, a.clock, a.flat.numel,
        a.flat.capacity, a.from, a.to);
    predicate ArrivalReduction{L}(zp_arrival a, zp_op *p) =
      OpOf(p, a.mb, a.t) &&
      ReductionIs(p, a.stage, a.k, a.clock, a.flat.numel, a.flat.capacity);
    predicate ArrivalOp{L}(zp_arrival a, integer done, zp_op *p) =
      ArrivalAdd(a, p) ||
      (ArrivalReduction(a, p) && BucketFits(p->bucket) &&
        FirstBucket(a.flat.capacity, a.from) <= p->bucket < done);
    predicate ArrivalOps{L}(zp_arrival a, integer done, zp_op *ops, integer lo, integer hi) =
      \forall integer p; lo <= p < hi ==> ArrivalOp(a, done, ops + p);
    // a is the value that the program passes for entry i of the stage.
    predicate ArrivalOfEntry{C}(zp_config *c, zp_layout *lay, integer i, zp_arrival a) =
      SpotTrained(lay, i) && a.k == lay->spot[i].flat && a.param == lay->first_param + i &&
      a.flat.numel == SpotNumel(lay, i) && a.flat.capacity == SpotCap(lay, i) &&
      a.flat.members == (lay->flat + a.k)->members && a.flat.align == (lay->flat + a.k)->align &&
      a.flat.group == (lay->flat + a.k)->group &&
      a.dtype == DtypeOf((lay->flat + a.k)->fp32, c->precision) &&
      a.stage == c->stage && a.reduce == c->reduce && a.reduces == ReducesOn(c, a.mb) &&
      a.from == lay->spot[i].start && a.to == SpotTo(c, lay, i) && a.clock == SpotClock(lay, i);
*/

/* ---- The same in all fields, by place ---- */
/*@ predicate ArrivalAddition{L}(zp_op *o, zp_arrival a, integer b) =
      IsAddition(o, a.stage, a.k, a.param, a.mb, a.flat.numel, a.flat.capacity, a.from, a.to, a.t,
        a.clock, b);
    predicate ArrivalReduced{L}(zp_op *o, zp_arrival a, integer b) =
      IsReduced(o, a.stage, a.reduce, a.flat.group, a.dtype, a.k, a.mb, a.flat.numel,
        a.flat.capacity, a.flat.members, a.flat.align, a.t, a.clock, b);
    predicate ArrivalPairs{L}(zp_op *ops, integer lo, integer hi, zp_arrival a, integer b0) =
      PairOps(ops, lo, hi, b0, a.stage, a.reduce, a.flat.group, a.dtype, a.k, a.param, a.mb,
        a.flat.numel, a.flat.capacity, a.flat.members, a.flat.align, a.from, a.to, a.t, a.clock);
    predicate ArrivalAdditions{L}(zp_op *ops, integer lo, integer hi, zp_arrival a, integer b0) =
      AdditionOps(ops, lo, hi, b0, a.stage, a.k, a.param, a.mb, a.flat.numel, a.flat.capacity,
        a.from, a.to, a.t, a.clock);
    predicate ArrivalRuns{L}(zp_op *ops, integer lo, zp_arrival a) =
      EntryRuns(ops, lo, a.reduces, a.stage, a.reduce, a.flat.group, a.dtype, a.k, a.param, a.mb,
        a.flat.numel, a.flat.capacity, a.flat.members, a.flat.align, a.from, a.to, a.t, a.clock);
*/

#endif
