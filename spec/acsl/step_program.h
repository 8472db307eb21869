/* The logic of the STEP program: STEP-2, RED-3, PIPE-5, LEDG-6, LEDG-8. What a rank of stage s does,
 * as functions of the configuration c and s alone: no dp, tp or rank index occurs here.
 * x counts the stage's entries in backward order, as in layout.h. */
#ifndef ZP_SPEC_ACSL_STEP_PROGRAM_H
#define ZP_SPEC_ACSL_STEP_PROGRAM_H

/* ---- One entry: elements from … to-1 of a flat group of n elements, capacity c ---- */
/*@ // The buckets that it lies in are First … Stop-1; those that it completes are First … Done-1.
    logic integer FirstBucket(integer c, integer from) = from / c;
    logic integer StopBucket(integer c, integer from, integer to) =
      from < to ? (to - 1) / c + 1 : from / c;
    logic integer DoneBucket(integer n, integer c, integer from, integer to) =
      to <= from ? from / c : to == n ? (to - 1) / c + 1 : to / c;
    // Its run in bucket b.
    logic integer RunFrom(integer c, integer from, integer b) = b * c < from ? from : b * c;
    logic integer RunTo(integer c, integer to, integer b) = (b + 1) * c < to ? (b + 1) * c : to;
    // b is one of the buckets that it lies in; element e of the flat group is in its run there.
    predicate Meets(integer c, integer from, integer to, integer b) =
      FirstBucket(c, from) <= b < StopBucket(c, from, to);
    logic integer InRun(integer c, integer from, integer to, integer b, integer e) =
      RunFrom(c, from, b) <= e && e < RunTo(c, to, b) ? 1 : 0;
    logic integer EntryLen(integer n, integer c, integer from, integer to, integer reduces) =
      StopBucket(c, from, to) - FirstBucket(c, from) +
      (reduces != 0 ? DoneBucket(n, c, from, to) - FirstBucket(c, from) : 0);
    // Ops for the buckets First … b-1.
    logic integer RunLen(integer n, integer c, integer from, integer to, integer reduces,
        integer b) =
      b - FirstBucket(c, from) + (reduces == 0 ? 0 :
        b < DoneBucket(n, c, from, to) ? b - FirstBucket(c, from)
                                       : DoneBucket(n, c, from, to) - FirstBucket(c, from));
    logic integer Least(integer a, integer b) = a < b ? a : b;
*/

/* ---- One reduction: RED-3 … RED-5 ---- */
/*@ logic integer ReduceKind(integer stage) =
      stage == 0 ? ZP_OP_ALL_REDUCE : ZP_OP_REDUCE_SCATTER;
    logic integer ReduceDtype(integer stage, integer exact, integer precision) =
      stage == 2 ? precision : exact == ZP_EXACT ? ZP_I64 : ZP_F32;
    logic integer ReduceRedop(integer stage, integer exact) =
      exact != ZP_EXACT ? ZP_RED_ORDERED : stage == 2 ? ZP_RED_EXACT : ZP_RED_SUM;
    // Elements of the message of bucket b; never more than the (padded) bucket, times the limbs.
    logic integer ReduceCount(integer stage, integer exact, integer n, integer c, integer d,
        integer a, integer b) =
      (stage == 0 ? BucketPadded(n, c, d, a, b) : Part(n, c, d, a, b)) *
      (stage != 2 && exact == ZP_EXACT ? ZP_LIMBS : 1);
    // Stage 2 has two places for buckets of a flat group; they alternate. (mb · buckets + b) mod 2.
    logic integer BucketPlace(integer mb, integer buckets, integer b) =
      (mb % 2 == 1 && buckets % 2 == 1) ? (b + 1) % 2 : b % 2;

    // The reduction of bucket b, and those of the buckets b0 … b-1, appended to tr.
    logic trace OneReduction(trace tr, integer stage, integer exact, integer precision, integer n,
        integer c, integer d, integer a, integer t, integer clock, integer b) =
      Snoc(tr, ReduceKind(stage), ZP_WHAT_GRADIENT, -1, ReduceCount(stage, exact, n, c, d, a, b),
        ReduceDtype(stage, exact, precision), ReduceRedop(stage, exact), -1, t,
        clock + 2 * b + 1);
    logic trace EntryTrace(trace tr, integer stage, integer exact, integer precision, integer n,
        integer c, integer d, integer a, integer t, integer clock, integer b0, integer b) =
      b <= b0 ? tr :
      OneReduction(EntryTrace(tr, stage, exact, precision, n, c, d, a, t, clock, b0, b - 1), stage,
        exact, precision, n, c, d, a, t, clock, b - 1);
*/

/* ---- One entry's gradient: ref/plan/step_internal.h's zp_arrival ---- */
/*@ predicate FlatFits(zp_flat f) =
      1 <= f.members <= 1048576 && 1 <= f.align <= 4096 && 0 <= f.numel <= 1099511627776 &&
      1 <= f.capacity <= 1103806595072 &&
      f.capacity == f.capacity / (f.members * f.align) * (f.members * f.align) &&
      (f.group == ZP_GROUP_DP || f.group == ZP_GROUP_EDP);
    predicate ArrivalOk(zp_arrival a) =
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
    logic integer ArrivalLast(zp_arrival a) = a.reduces == 0 ? FirstBucket(a.flat.capacity, a.from) :
      DoneBucket(a.flat.numel, a.flat.capacity, a.from, a.to);
    logic integer ArrivalPlace(zp_arrival a, integer b) =
      a.stage == 2 ? BucketPlace(a.mb, Buckets(a.flat.numel, a.flat.capacity), b) : -1;
*/

/* ---- One stage's entries: what the layout says of them, from the configuration alone ---- */
/*@ logic integer StageLen{L}(zp_config *c, integer s) = StageEnd(c, s) - StageFirst(c, s);
    logic integer EntryCap{L}(zp_config *c, integer j) =
      RoundUp(c->bucket, MembersOf(c, j) * c->align);
    logic integer FlatLen{L}(zp_config *c, integer s, integer j) =
      FlatNumel(c, StageEnd(c, s), StageLen(c, s), FlatOf(c, StageEnd(c, s), j));
    logic integer EntryFrom{L}(zp_config *c, integer s, integer j) = StartOf(c, StageEnd(c, s), j);
    logic integer EntryTo{L}(zp_config *c, integer s, integer j) =
      EntryFrom(c, s, j) + c->params[j].numel;

    predicate EntrySeen{L}(zp_config *c, zp_layout *lay, integer i) =
      \let j = lay->first_param + i;
      \let k = lay->spot[i].flat;
      c->params[j].frozen != 0 ? k == -1 :
        0 <= k < lay->n_flats && FlatOk(lay->flat + k) &&
        k == FlatOf(c, StageEnd(c, lay->stage), j) &&
        lay->flat[k].numel == FlatLen(c, lay->stage, j) &&
        lay->flat[k].capacity == EntryCap(c, j) &&
        lay->flat[k].members == MembersOf(c, j) && lay->flat[k].align == c->align &&
        lay->flat[k].group == GroupOf(c, j) &&
        lay->spot[i].start == EntryFrom(c, lay->stage, j) && 0 <= lay->spot[i].start &&
        0 <= c->params[j].numel && EntryTo(c, lay->stage, j) <= lay->flat[k].numel;
    predicate StageSeen{L}(zp_config *c, zp_layout *lay) =
      0 <= lay->stage < c->pp && lay->first_param == StageFirst(c, lay->stage) &&
      lay->n_params == StageLen(c, lay->stage) && 0 <= lay->first_param &&
      0 <= lay->n_params <= 65536 && lay->first_param + lay->n_params <= c->n_params <= 65536 &&
      0 <= lay->n_flats <= 65536 &&
      (\forall integer i; 0 <= i < lay->n_params ==> EntrySeen(c, lay, i));
*/

/* ---- One backward: the stage's last x entries ---- */
/*@ // 1 when the buckets of micro-batch mb are reduced behind it: stage 2, or the window's last.
    logic integer ReducesOn{L}(zp_config *c, integer mb) =
      c->stage == 2 || mb == c->micro_batches - 1 ? 1 : 0;

    logic integer BackLen{L}(zp_config *c, integer s, integer reduces, integer x) =
      x <= 0 ? 0 : BackLen(c, s, reduces, x - 1) +
        (c->params[StageEnd(c, s) - x].frozen != 0 ? 0 :
          EntryLen(FlatLen(c, s, StageEnd(c, s) - x), EntryCap(c, StageEnd(c, s) - x),
            EntryFrom(c, s, StageEnd(c, s) - x), EntryTo(c, s, StageEnd(c, s) - x), reduces));

    // LEDG-6: the reductions over group g that they set off, appended to tr.
    logic trace BackTrace{L}(trace tr, zp_config *c, integer s, integer g, integer t, integer x) =
      x <= 0 ? tr :
      c->params[StageEnd(c, s) - x].frozen != 0 || GroupOf(c, StageEnd(c, s) - x) != g ?
        BackTrace(tr, c, s, g, t, x - 1) :
        EntryTrace(BackTrace(tr, c, s, g, t, x - 1), c->stage, c->reduce, c->precision,
          FlatLen(c, s, StageEnd(c, s) - x), EntryCap(c, StageEnd(c, s) - x),
          MembersOf(c, StageEnd(c, s) - x), c->align, t, x * 4398046511104,
          FirstBucket(EntryCap(c, StageEnd(c, s) - x), EntryFrom(c, s, StageEnd(c, s) - x)),
          DoneBucket(FlatLen(c, s, StageEnd(c, s) - x), EntryCap(c, StageEnd(c, s) - x),
            EntryFrom(c, s, StageEnd(c, s) - x), EntryTo(c, s, StageEnd(c, s) - x)));

    // RED-3: element e of entry p goes into bucket b of flat group k, once.
    logic integer AddsOf{L}(zp_config *c, integer s, integer x, integer p, integer e, integer k,
        integer b) =
      StageEnd(c, s) - x <= p < StageEnd(c, s) && c->params[p].frozen == 0 &&
      0 <= e < c->params[p].numel && k == FlatOf(c, StageEnd(c, s), p) &&
      b == (EntryFrom(c, s, p) + e) / EntryCap(c, p) ? 1 : 0;

    // How many of them complete bucket b of flat group k.
    logic integer DoneOf{L}(zp_config *c, integer s, integer x, integer k, integer b) =
      x <= 0 ? 0 : DoneOf(c, s, x - 1, k, b) +
        (c->params[StageEnd(c, s) - x].frozen == 0 &&
         k == FlatOf(c, StageEnd(c, s), StageEnd(c, s) - x) &&
         FirstBucket(EntryCap(c, StageEnd(c, s) - x), EntryFrom(c, s, StageEnd(c, s) - x)) <= b &&
         b < DoneBucket(FlatLen(c, s, StageEnd(c, s) - x), EntryCap(c, StageEnd(c, s) - x),
            EntryFrom(c, s, StageEnd(c, s) - x), EntryTo(c, s, StageEnd(c, s) - x)) ? 1 : 0);
*/

#endif
