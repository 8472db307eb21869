/* The logic of the STEP program: STEP-2, RED-3, PIPE-5, LEDG-6, LEDG-8. The work of a rank of stage
 * s, as functions only of the configuration c and s: no dp, tp or rank index occurs here. x counts
 * the stage's entries in backward order, as in layout.h. */
#ifndef ZP_SPEC_ACSL_STEP_PROGRAM_H
#define ZP_SPEC_ACSL_STEP_PROGRAM_H

#include "bounds.h"

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
    // Element e of entry p belongs to bucket b: p is j, the entry that occupies from … to-1.
    logic integer GoesInto(integer p, integer j, integer c, integer from, integer to, integer e,
        integer b) =
      p == j && 0 <= e && from + e < to && b == FirstBucket(c, from + e) ? 1 : 0;
    logic integer EntryLen(integer n, integer c, integer from, integer to, integer reduces) =
      StopBucket(c, from, to) - FirstBucket(c, from) +
      (reduces != 0 ? DoneBucket(n, c, from, to) - FirstBucket(c, from) : 0);
    // The number of ops for the buckets First … b-1.
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
    // ZeRO stage 2 has two bucket slots per flat group; they alternate: (mb · buckets + b) mod 2.
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

/* ---- A flat group whose gradients arrive ---- */
/*@ predicate FlatFits(zp_flat f) =
      1 <= f.members <= ZP_LIMIT_RANKS && 1 <= f.align <= ZP_LIMIT_ALIGN &&
      0 <= f.numel <= ZP_LIMIT_ELEMENTS &&
      1 <= f.capacity <= 1103806595072 &&
      WholeUnits(f.capacity, f.members, f.align) &&
      (f.group == ZP_GROUP_DP || f.group == ZP_GROUP_EDP);
*/

/* ---- One exchange: stage s, with s+1 in a backward slot, with s-1 in a forward slot ---- */
/*@ logic integer MetaLen(integer dynamic, integer backward, integer send, integer recv) =
      dynamic == 0 ? 0 : (backward != 0 ? send : recv) >= 0 ? 1 : 0;
    logic integer ExchangeLen(integer dynamic, integer backward, integer send, integer recv) =
      send < 0 && recv < 0 ? 0 : 1 + MetaLen(dynamic, backward, send, recv);

    // Its addition to the link with `peer`; down: to the next stage, up: to the previous one.
    logic trace HopTrace(trace tr, integer s, integer backward, integer peer, integer kind,
        integer dtype, integer send, integer recv, integer t, integer clock_i) =
      peer != (backward != 0 ? s + 1 : s - 1) ? tr :
      backward != 0 ? Hop(tr, kind, dtype, 0, send, recv, t, clock_i)
                    : Hop(tr, kind, dtype, 0, recv, send, t, clock_i);
    logic trace MetaTrace(trace tr, integer s, integer peer, integer dynamic, integer backward,
        integer send, integer recv, integer t) =
      MetaLen(dynamic, backward, send, recv) == 0 ? tr :
      HopTrace(tr, s, backward, peer, ZP_OP_META, ZP_I64, backward != 0 ? send : -1,
        backward != 0 ? -1 : recv, t, 0);
    logic trace ExchangeTrace(trace tr, integer s, integer peer, integer dynamic,
        integer backward, integer send, integer recv, integer t) =
      send < 0 && recv < 0 ? tr :
      HopTrace(MetaTrace(tr, s, peer, dynamic, backward, send, recv, t), s, backward, peer,
        ZP_OP_P2P, -1, send, recv, t, 1);

    // The link of stage s with stage s+1 in the slots before t, a function of the schedule alone;
    // stage s+1 writes the same.
    logic trace LinkDown(trace tr, integer S, integer M, integer s, integer dynamic, integer t) =
      t <= 0 ? tr : BackwardSlot(s, t - 1) != 1 ? LinkDown(tr, S, M, s, dynamic, t - 1) :
      ExchangeTrace(LinkDown(tr, S, M, s, dynamic, t - 1), s, s + 1, dynamic, 1,
        Sent(S, M, s, t - 1), Received(S, M, s, t - 1), t - 1);
    logic trace LinkUp(trace tr, integer S, integer M, integer s, integer dynamic, integer t) =
      t <= 0 ? tr : BackwardSlot(s, t - 1) != 0 ? LinkUp(tr, S, M, s, dynamic, t - 1) :
      ExchangeTrace(LinkUp(tr, S, M, s, dynamic, t - 1), s, s - 1, dynamic, 0,
        Sent(S, M, s, t - 1), Received(S, M, s, t - 1), t - 1);
*/

/* ---- One stage's entries: their numbers in the layout, from the configuration alone ---- */
/*@ logic integer StageLen{L}(zp_config *c, integer s) = StageEnd(c, s) - StageFirst(c, s);
    logic integer EntryCap{L}(zp_config *c, integer j) =
      Capacity(c->bucket, MembersOf(c, j), c->align);
    logic integer FlatLen{L}(zp_config *c, integer s, integer j) =
      FlatNumel(c, StageEnd(c, s), StageLen(c, s), FlatOf(c, StageEnd(c, s), j));
    logic integer EntryFrom{L}(zp_config *c, integer s, integer j) = StartOf(c, StageEnd(c, s), j);
    logic integer EntryTo{L}(zp_config *c, integer s, integer j) =
      EntryFrom(c, s, j) + c->params[j].numel;

    // Entry i of the stage is trained and lies within its flat group: in numbers of the layout.
    predicate EntryFits{L}(zp_config *c, zp_layout *lay, integer i) =
      -1 <= lay->spot[i].flat < lay->n_flats && (0 <= lay->spot[i].flat ==>
        FlatOk(lay->flat + lay->spot[i].flat) &&
        (lay->flat[lay->spot[i].flat].group == ZP_GROUP_DP ||
         lay->flat[lay->spot[i].flat].group == ZP_GROUP_EDP) &&
        0 <= lay->spot[i].start && 0 <= c->params[lay->first_param + i].numel &&
        lay->spot[i].start + c->params[lay->first_param + i].numel <=
          lay->flat[lay->spot[i].flat].numel);
    // Each of these numbers is the one that the configuration gives.
    predicate EntrySeen{L}(zp_config *c, zp_layout *lay, integer i) =
      \let j = lay->first_param + i;
      \let k = lay->spot[i].flat;
      (c->params[j].frozen != 0 <==> k < 0) && (0 <= k ==>
        k == FlatOf(c, StageEnd(c, lay->stage), j) &&
        lay->flat[k].numel == FlatLen(c, lay->stage, j) &&
        lay->flat[k].capacity == EntryCap(c, j) &&
        lay->flat[k].members == MembersOf(c, j) && lay->flat[k].align == c->align &&
        lay->flat[k].group == GroupOf(c, j) && lay->flat[k].fp32 == c->params[j].fp32 &&
        lay->spot[i].start == EntryFrom(c, lay->stage, j));
    predicate StageSeen{L}(zp_config *c, zp_layout *lay) =
      0 <= lay->stage < c->pp && lay->n_params == StageLen(c, lay->stage) &&
      lay->first_param == StageFirst(c, lay->stage) && 0 <= lay->first_param &&
      0 <= lay->n_params <= ZP_LIMIT_ENTRIES &&
      lay->first_param + lay->n_params <= c->n_params <= ZP_LIMIT_ENTRIES &&
      0 <= lay->n_flats <= ZP_LIMIT_ENTRIES &&
      (\forall integer i; 0 <= i < lay->n_params ==>
        EntryFits(c, lay, i) && EntrySeen(c, lay, i));
*/

/* ---- Entry j of stage s, from the configuration alone ---- */
/*@ // 1 if the buckets of micro-batch mb are reduced after it: ZeRO stage 2, or the window's last.
    logic integer ReducesOn{L}(zp_config *c, integer mb) =
      c->stage == 2 || mb == c->micro_batches - 1 ? 1 : 0;

    logic integer StepLen{L}(zp_config *c, integer s, integer j, integer reduces) =
      c->params[j].frozen != 0 ? 0 :
      EntryLen(FlatLen(c, s, j), EntryCap(c, j), EntryFrom(c, s, j), EntryTo(c, s, j), reduces);

    // LEDG-6: the reductions over group g that it completes, as the x-th entry, appended to tr.
    logic trace StepTrace{L}(trace tr, zp_config *c, integer s, integer j, integer x, integer g,
        integer t) =
      c->params[j].frozen != 0 || GroupOf(c, j) != g ? tr :
      EntryTrace(tr, c->stage, c->reduce, DtypeOf(c->params[j].fp32, c->precision),
        FlatLen(c, s, j), EntryCap(c, j), MembersOf(c, j), c->align, t, x * ZP_CLOCK_STRIDE,
        FirstBucket(EntryCap(c, j), EntryFrom(c, s, j)),
        DoneBucket(FlatLen(c, s, j), EntryCap(c, j), EntryFrom(c, s, j), EntryTo(c, s, j)));

    // RED-3: 1 if it adds element e of entry p into bucket b of flat group k.
    logic integer StepAdds{L}(zp_config *c, integer s, integer j, integer p, integer e, integer k,
        integer b) =
      c->params[j].frozen != 0 || k != FlatOf(c, StageEnd(c, s), j) ? 0 :
      GoesInto(p, j, EntryCap(c, j), EntryFrom(c, s, j), EntryTo(c, s, j), e, b);

    // 1 if it completes bucket b of flat group k.
    logic integer StepDone{L}(zp_config *c, integer s, integer j, integer k, integer b) =
      c->params[j].frozen == 0 && k == FlatOf(c, StageEnd(c, s), j) &&
      FirstBucket(EntryCap(c, j), EntryFrom(c, s, j)) <= b &&
      b < DoneBucket(FlatLen(c, s, j), EntryCap(c, j), EntryFrom(c, s, j), EntryTo(c, s, j))
        ? 1 : 0;
*/

/* ---- One backward: the stage's last x entries ---- */
/*@ logic integer BackLen{L}(zp_config *c, integer s, integer reduces, integer x) =
      x <= 0 ? 0 : BackLen(c, s, reduces, x - 1) + StepLen(c, s, StageEnd(c, s) - x, reduces);
    logic trace BackTrace{L}(trace tr, zp_config *c, integer s, integer g, integer t, integer x) =
      x <= 0 ? tr : StepTrace(BackTrace(tr, c, s, g, t, x - 1), c, s, StageEnd(c, s) - x, x, g, t);
    logic integer AddsOf{L}(zp_config *c, integer s, integer x, integer p, integer e, integer k,
        integer b) =
      x <= 0 ? 0 : AddsOf(c, s, x - 1, p, e, k, b) +
        StepAdds(c, s, StageEnd(c, s) - x, p, e, k, b);
    logic integer DoneOf{L}(zp_config *c, integer s, integer x, integer k, integer b) =
      x <= 0 ? 0 : DoneOf(c, s, x - 1, k, b) + StepDone(c, s, StageEnd(c, s) - x, k, b);
*/

/* ---- The same in numbers of the layout, for the stage's entry i ---- */
/*@ logic integer RawLen{L}(zp_config *c, zp_layout *lay, integer i, integer reduces) =
      \let f = lay->flat + lay->spot[i].flat;
      lay->spot[i].flat < 0 ? 0 :
      EntryLen(f->numel, f->capacity, lay->spot[i].start,
        lay->spot[i].start + c->params[lay->first_param + i].numel, reduces);
    logic trace RawTrace{L}(trace tr, zp_config *c, zp_layout *lay, integer i, integer g,
        integer t) =
      \let f = lay->flat + lay->spot[i].flat;
      lay->spot[i].flat < 0 || f->group != g ? tr :
      EntryTrace(tr, c->stage, c->reduce, DtypeOf(f->fp32, c->precision), f->numel, f->capacity,
        f->members, f->align, t, (lay->n_params - i) * ZP_CLOCK_STRIDE,
        FirstBucket(f->capacity, lay->spot[i].start),
        DoneBucket(f->numel, f->capacity, lay->spot[i].start,
          lay->spot[i].start + c->params[lay->first_param + i].numel));
    logic integer RawAdds{L}(zp_config *c, zp_layout *lay, integer i, integer p, integer e,
        integer k, integer b) =
      \let f = lay->flat + lay->spot[i].flat;
      lay->spot[i].flat < 0 || k != lay->spot[i].flat ? 0 :
      GoesInto(p, lay->first_param + i, f->capacity, lay->spot[i].start,
        lay->spot[i].start + c->params[lay->first_param + i].numel, e, b);
    logic integer RawDone{L}(zp_config *c, zp_layout *lay, integer i, integer k, integer b) =
      \let f = lay->flat + lay->spot[i].flat;
      0 <= lay->spot[i].flat && k == lay->spot[i].flat &&
      FirstBucket(f->capacity, lay->spot[i].start) <= b &&
      b < DoneBucket(f->numel, f->capacity, lay->spot[i].start,
          lay->spot[i].start + c->params[lay->first_param + i].numel) ? 1 : 0;

    // The program's inputs are equal at two points.
    predicate SameFlat{A,B}(zp_flat *f) =
      \at(f->group, A) == \at(f->group, B) && \at(f->members, A) == \at(f->members, B) &&
      \at(f->numel, A) == \at(f->numel, B) && \at(f->capacity, A) == \at(f->capacity, B) &&
      \at(f->align, A) == \at(f->align, B) && \at(f->tied, A) == \at(f->tied, B) &&
      \at(f->use, A) == \at(f->use, B) && \at(f->fp32, A) == \at(f->fp32, B);
    predicate SameNumel{A,B}(zp_config *c, integer j) =
      \at(c->params[j].numel, A) == \at(c->params[j].numel, B);
    predicate SameSpot{A,B}(zp_layout *lay, integer i) =
      \at(lay->spot[i].flat, A) == \at(lay->spot[i].flat, B) &&
      \at(lay->spot[i].start, A) == \at(lay->spot[i].start, B);
    predicate SameHead{A,B}(zp_layout *lay) =
      \at(lay->stage, A) == \at(lay->stage, B) &&
      \at(lay->first_param, A) == \at(lay->first_param, B) &&
      \at(lay->n_params, A) == \at(lay->n_params, B) &&
      \at(lay->n_flats, A) == \at(lay->n_flats, B) && \at(lay->flat, A) == \at(lay->flat, B) &&
      \at(lay->spot, A) == \at(lay->spot, B);
    // … the same for its entry i.
    predicate SameRaw{A,B}(zp_config *c, zp_layout *lay, integer i) =
      SameHead{A,B}(lay) && \at(c->params, A) == \at(c->params, B) &&
      \at(c->stage, A) == \at(c->stage, B) && \at(c->reduce, A) == \at(c->reduce, B) &&
      \at(c->precision, A) == \at(c->precision, B) &&
      SameNumel{A,B}(c, \at(lay->first_param, A) + i) && SameSpot{A,B}(lay, i) &&
      (0 <= \at(lay->spot[i].flat, A) ==>
        SameFlat{A,B}(\at(lay->flat, A) + \at(lay->spot[i].flat, A)));
*/

#endif
