/* The ops of one backward's gradients, one by one, in all fields: RED-3, RED-4, RED-5. F is where
 * configuration and layout are read, O the ops. RunFrom, RunTo and ReduceCount are in
 * step_program.h, the lengths in step_fold.h. */
#ifndef ZP_SPEC_ACSL_OP_GRADIENT_H
#define ZP_SPEC_ACSL_OP_GRADIENT_H

#include "op_is.h"

/* ---- One entry: elements from … to-1 of flat group k, which has n elements, capacity c, d members
 * and alignment a. Micro-batch mb, bucket b, slot t; the entry's clocks start at `clock` ---- */
/*@ predicate IsAddition{L}(zp_op *o, integer stage, integer k, integer param, integer mb,
        integer n, integer c, integer from, integer to, integer t, integer clock, integer b) =
      IsOp(o, ZP_OP_ADD, ZP_WHAT_NONE, -1, -1, -1, ZP_RED_NONE, -1, k, param,
        CollectPlace(stage, mb, n, c, b), 0, mb, -1, b, RunFrom(c, from, b) - from,
        RunTo(c, to, b) - RunFrom(c, from, b), t, clock + 2 * b);
    predicate IsReduced{L}(zp_op *o, integer stage, integer exact, integer group, integer dtype,
        integer k, integer mb, integer n, integer c, integer d, integer a, integer t,
        integer clock, integer b) =
      IsOp(o, ReduceKind(stage), ZP_WHAT_GRADIENT, group, -1, ReduceDtype(stage, exact, dtype),
        ReduceRedop(stage, exact), -1, k, -1, CollectPlace(stage, mb, n, c, b), 0, mb, -1, b, 0,
        ReduceCount(stage, exact, n, c, d, a, b), t, clock + 2 * b + 1);
    // Op q of the buckets from b0 on that the entry completes: an addition, then the reduction.
    predicate IsPaired{L}(zp_op *o, integer b0, integer stage, integer exact, integer group,
        integer dtype, integer k, integer param, integer mb, integer n, integer c, integer d,
        integer a, integer from, integer to, integer t, integer clock, integer q) =
      (q % 2 == 0 ==>
        IsAddition(o, stage, k, param, mb, n, c, from, to, t, clock, b0 + q / 2)) &&
      (q % 2 == 1 ==> IsReduced(o, stage, exact, group, dtype, k, mb, n, c, d, a, t, clock,
        b0 + q / 2));
    predicate PairOps{L}(zp_op *ops, integer lo, integer hi, integer b0, integer stage,
        integer exact, integer group, integer dtype, integer k, integer param, integer mb,
        integer n, integer c, integer d, integer a, integer from, integer to, integer t,
        integer clock) =
      \forall integer p; lo <= p < hi ==> IsPaired(ops + p, b0, stage, exact, group, dtype, k,
        param, mb, n, c, d, a, from, to, t, clock, p - lo);
    // Buckets from b0 on, of which none is reduced after the entry: additions only.
    predicate AdditionOps{L}(zp_op *ops, integer lo, integer hi, integer b0, integer stage,
        integer k, integer param, integer mb, integer n, integer c, integer from, integer to,
        integer t, integer clock) =
      \forall integer p; lo <= p < hi ==> IsAddition(ops + p, stage, k, param, mb, n, c, from, to,
        t, clock, b0 + (p - lo));
    // One past the last bucket that is reduced after the entry.
    logic integer ReducedTo(integer reduces, integer n, integer c, integer from, integer to) =
      reduces == 0 ? FirstBucket(c, from) : DoneBucket(n, c, from, to);
    predicate EntryRuns{L}(zp_op *ops, integer lo, integer reduces, integer stage, integer exact,
        integer group, integer dtype, integer k, integer param, integer mb, integer n, integer c,
        integer d, integer a, integer from, integer to, integer t, integer clock) =
      \let first = FirstBucket(c, from);
      \let done = ReducedTo(reduces, n, c, from, to);
      \let open = lo + 2 * (done - first);
      PairOps(ops, lo, open, first, stage, exact, group, dtype, k, param, mb, n, c, d, a, from, to,
        t, clock) &&
      AdditionOps(ops, open, lo + EntryLen(n, c, from, to, reduces), done, stage, k, param, mb, n,
        c, from, to, t, clock);
*/

/* ---- The stage's entries ---- */
/*@ // Entry i of the stage, if it is trained: its ops begin at ops[lo].
    predicate GradientAt{F,O}(zp_op *ops, integer lo, zp_config *c, zp_layout *lay, integer i,
        integer mb, integer t) =
      \let k = \at(lay->spot[i].flat, F);
      \let f = \at(lay->flat, F) + k;
      \let from = \at(lay->spot[i].start, F);
      0 <= k ==> EntryRuns{O}(ops, lo, ReducesOn{F}(c, mb), \at(c->stage, F), \at(c->reduce, F),
        \at(f->group, F), DtypeOf(\at(f->fp32, F), \at(c->precision, F)), k,
        \at(lay->first_param, F) + i, mb, \at(f->numel, F), \at(f->capacity, F),
        \at(f->members, F), \at(f->align, F), from,
        from + \at(c->params[\at(lay->first_param, F) + i].numel, F), t, SpotClock{F}(lay, i));
    // Entry y of the stage, counted from its last one; the ops of all that precede it come first.
    predicate BackAt{F,O}(zp_op *ops, integer lo, zp_config *c, zp_layout *lay, integer mb,
        integer t, integer y) =
      GradientAt{F,O}(ops, lo + RawBackLen{F}(c, lay, ReducesOn{F}(c, mb), y), c, lay,
        \at(lay->n_params, F) - y - 1, mb, t);
    // The stage's last x entries, in backward order.
    predicate GradientsAt{F,O}(zp_op *ops, integer lo, zp_config *c, zp_layout *lay, integer mb,
        integer t, integer x) =
      \forall integer y; 0 <= y < x ==> BackAt{F,O}(ops, lo, c, lay, mb, t, y);
    // All of slot t, whose ops begin at ops[n], if it is a backward.
    predicate SlotGradients{F,O}(zp_op *ops, integer n, zp_config *c, zp_layout *lay, integer t) =
      0 <= BackwardOf{F}(c, lay, t) ==>
        GradientsAt{F,O}(ops, n + SlotHead{F}(c, lay, t), c, lay, BackwardOf{F}(c, lay, t), t,
          \at(lay->n_params, F));
*/

#endif
