/* One entry's gradient as ref/plan/step_internal.h passes it: RED-3. Included there, behind
 * zp_arrival; what it amounts to is in step_program.h. */
#ifndef ZP_SPEC_ACSL_STEP_ARRIVAL_H
#define ZP_SPEC_ACSL_STEP_ARRIVAL_H

/*@ predicate ArrivalOk(zp_arrival a) =
      FlatFits(a.flat) && 0 <= a.stage <= 2 && 0 <= a.reduce <= 1 && 0 <= a.precision <= 2 &&
      0 <= a.reduces <= 1 && 0 <= a.from <= a.to <= a.flat.numel && 0 <= a.mb < 1048576 &&
      0 <= a.clock <= 288230376151711744;
    logic integer ArrivalLen(zp_arrival a) =
      EntryLen(a.flat.numel, a.flat.capacity, a.from, a.to, a.reduces);
    logic trace ArrivalOne(trace tr, zp_arrival a, integer b) =
      OneReduction(tr, a.stage, a.reduce, a.precision, a.flat.numel, a.flat.capacity,
        a.flat.members, a.flat.align, a.t, a.clock, b);
    logic trace ArrivalTrace(trace tr, zp_arrival a, integer b0, integer b) =
      EntryTrace(tr, a.stage, a.reduce, a.precision, a.flat.numel, a.flat.capacity,
        a.flat.members, a.flat.align, a.t, a.clock, b0, b);
    logic integer ArrivalLast(zp_arrival a) =
      a.reduces == 0 ? FirstBucket(a.flat.capacity, a.from) :
      DoneBucket(a.flat.numel, a.flat.capacity, a.from, a.to);
    logic integer ArrivalPlace(zp_arrival a, integer b) =
      a.stage == 2 ? BucketPlace(a.mb, Buckets(a.flat.numel, a.flat.capacity), b) : -1;
*/

#endif
