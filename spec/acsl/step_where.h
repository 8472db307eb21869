/* The ops that add and reduce gradients, in numbers of the layout: RED-3, PIPE-5. The layout is
 * read at C, ops at L. Included by ref/plan/program.h; step_slots.h states it in numbers of the
 * configuration. */
#ifndef ZP_SPEC_ACSL_STEP_WHERE_H
#define ZP_SPEC_ACSL_STEP_WHERE_H

#include "bounds.h"

/* ---- One op p of an entry that lies from … to-1 of flat group k of n elements, capacity c ---- */
/*@ // The entry completes bucket b.
    predicate Completes(integer n, integer c, integer from, integer to, integer b) =
      FirstBucket(c, from) <= b < DoneBucket(n, c, from, to);
    // The bucket slot of bucket b: only ZeRO stage 2 has slots.
    logic integer CollectPlace(integer stage, integer mb, integer n, integer c, integer b) =
      stage == 2 ? BucketPlace(mb, Buckets(n, c), b) : -1;
    // p is of micro-batch mb and slot t.
    predicate OpOf{L}(zp_op *p, integer mb, integer t) = p->mb == mb && p->clock_t == t;
    // b is within the limits.
    predicate BucketFits(integer b) = 0 <= b < ZP_LIMIT_ELEMENTS;
    // p is of flat group k and has its bucket's slot; the entry's clocks start at `clock`.
    predicate OpIn{L}(zp_op *p, integer stage, integer k, integer clock, integer n, integer c,
        integer offset) =
      p->flat == k && p->clock_i == clock + 2 * p->bucket + offset &&
      p->slot == CollectPlace(stage, p->mb, n, c, p->bucket);
    // p adds the elements of the entry, number `param`, in one of its buckets; p reduces a bucket.
    predicate AddIs{L}(zp_op *p, integer stage, integer k, integer param, integer clock, integer n,
        integer c, integer from, integer to) =
      p->kind == ZP_OP_ADD && p->what == ZP_WHAT_NONE && p->param == param &&
      OpIn(p, stage, k, clock, n, c, 0) && BucketFits(p->bucket) && from < to &&
      Meets(c, from, to, p->bucket);
    predicate ReductionIs{L}(zp_op *p, integer stage, integer k, integer clock, integer n,
        integer c) =
      p->kind != ZP_OP_ADD && p->what == ZP_WHAT_GRADIENT && OpIn(p, stage, k, clock, n, c, 1);
*/

/* ---- Entry i of the stage ---- */
/*@ logic integer SpotTo{C}(zp_config *c, zp_layout *lay, integer i) =
      lay->spot[i].start + c->params[lay->first_param + i].numel;
    logic integer SpotNumel{C}(zp_layout *lay, integer i) = lay->flat[lay->spot[i].flat].numel;
    logic integer SpotCap{C}(zp_layout *lay, integer i) = lay->flat[lay->spot[i].flat].capacity;
    logic integer SpotClock{C}(zp_layout *lay, integer i) = (lay->n_params - i) * ZP_CLOCK_STRIDE;
    predicate SpotTrained{C}(zp_layout *lay, integer i) =
      0 <= i < lay->n_params && 0 <= lay->spot[i].flat;
    predicate EntryAdd{C,L}(zp_config *c, zp_layout *lay, integer i, zp_op *p) =
      AddIs{L}(p, \at(c->stage, C), \at(lay->spot[i].flat, C), \at(lay->first_param, C) + i,
        SpotClock{C}(lay, i), SpotNumel{C}(lay, i), SpotCap{C}(lay, i),
        \at(lay->spot[i].start, C), SpotTo{C}(c, lay, i));
    predicate EntryReduction{C,L}(zp_config *c, zp_layout *lay, integer i, zp_op *p) =
      ReductionIs{L}(p, \at(c->stage, C), \at(lay->spot[i].flat, C), SpotClock{C}(lay, i),
        SpotNumel{C}(lay, i), SpotCap{C}(lay, i)) &&
      BucketFits(\at(p->bucket, L)) &&
      Completes(SpotNumel{C}(lay, i), SpotCap{C}(lay, i), \at(lay->spot[i].start, C),
        SpotTo{C}(c, lay, i), \at(p->bucket, L));
    // p belongs to its gradient.
    predicate EntryOp{C,L}(zp_config *c, zp_layout *lay, integer i, zp_op *p) =
      SpotTrained{C}(lay, i) &&
      (EntryAdd{C,L}(c, lay, i, p) || EntryReduction{C,L}(c, lay, i, p));
    predicate EntryOps{C,L}(zp_config *c, zp_layout *lay, integer i, integer mb, integer t,
        zp_op *ops, integer lo, integer hi) =
      \forall integer p; lo <= p < hi ==> OpOf{L}(ops + p, mb, t) &&
        EntryOp{C,L}(c, lay, i, ops + p);
*/

/* ---- All ops ---- */
/*@ // p belongs to the gradient of the entry that its clock names.
    predicate BackwardOp{C,L}(zp_config *c, zp_layout *lay, zp_op *p) =
      EntryOp{C,L}(c, lay, \at(lay->n_params, C) - \at(p->clock_i, L) / ZP_CLOCK_STRIDE, p);
    predicate BackwardOps{C,L}(zp_config *c, zp_layout *lay, integer mb, integer t, zp_op *ops,
        integer lo, integer hi) =
      \forall integer p; lo <= p < hi ==> OpOf{L}(ops + p, mb, t) &&
        BackwardOp{C,L}(c, lay, ops + p);
    // p neither adds nor reduces gradients.
    predicate NoGradient{L}(zp_op *p) = p->kind != ZP_OP_ADD && p->what != ZP_WHAT_GRADIENT;
    predicate NoGradients{L}(zp_op *ops, integer lo, integer hi) =
      \forall integer p; lo <= p < hi ==>
        ops[p].kind != ZP_OP_ADD && ops[p].what != ZP_WHAT_GRADIENT;
    // If p does, it is in the slot of its micro-batch's backward.
    predicate OpTimed{C,L}(zp_config *c, zp_layout *lay, zp_op *p) =
      0 <= \at(p->mb, L) && \at(p->clock_t, L) ==
        BackwardTime(\at(c->pp, C), \at(lay->stage, C), \at(p->mb, L));
    predicate GradientOp{C,L}(zp_config *c, zp_layout *lay, zp_op *p) =
      NoGradient{L}(p) || (OpTimed{C,L}(c, lay, p) && BackwardOp{C,L}(c, lay, p));
    predicate GradientOps{C,L}(zp_config *c, zp_layout *lay, zp_op *ops, integer lo, integer hi) =
      \forall integer p; lo <= p < hi ==> GradientOp{C,L}(c, lay, ops + p);
*/

#endif
