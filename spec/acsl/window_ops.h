/* Properties of each addition and reduction of a program that follows RED-3. Include after window.h
 * and planned_lemmas.h. */
#ifndef ZP_SPEC_ACSL_WINDOW_OPS_H
#define ZP_SPEC_ACSL_WINDOW_OPS_H

/*@ lemma Added_Low{L}: \forall integer n; 0 <= n ==> \forall zp_op *ops, integer p, m, e, k, b;
      0 <= Added(ops, n, p, m, e, k, b);
    lemma Added_One{L}: \forall integer n; 0 <= n ==>
      \forall zp_op *ops, integer i, p, m, e, k, b; 0 <= i < n ==>
      AddsAt(ops + i, p, m, e, k, b) <= Added(ops, n, p, m, e, k, b);

    // Element e of entry p belongs to bucket b of flat group k.
    predicate AddHome{L}(zp_config *c, integer s, integer p, integer e, integer k, integer b) =
      c->params[p].frozen == 0 && k == FlatOf(c, StageEnd(c, s), p) && 0 <= e &&
      e < c->params[p].numel && b == FirstBucket(EntryCap(c, p), EntryFrom(c, s, p) + e);
    lemma Op_Home{L}: \forall zp_config *c, integer s, j, p, e, k, b;
      0 < StepAdds(c, s, j, p, e, k, b) ==> p == j && AddHome(c, s, p, e, k, b);
    lemma Adds_From{L}: \forall integer x; 0 <= x ==> \forall zp_config *c, integer s, p, e, k, b;
      0 < AddsOf(c, s, x, p, e, k, b) ==>
      StageEnd(c, s) - x <= p < StageEnd(c, s) && AddHome(c, s, p, e, k, b);

    predicate AddsPlanned{L}(zp_config *c, integer s, zp_op *ops, integer n) =
      \forall integer p, m, e, k, b;
        Added(ops, n, p, m, e, k, b) == StepAdded(c, s, p, m, e, k, b);
    predicate AddsElement{L}(zp_op *op, integer e) = op->kind == ZP_OP_ADD &&
      op->offset <= e < op->offset + op->count;
    predicate AddsHere{L}(zp_config *c, integer s, integer p, integer e, integer k, integer b) =
      StageFirst(c, s) <= p < StageEnd(c, s) && AddHome(c, s, p, e, k, b);
    predicate AddsOne{L}(zp_config *c, integer s, zp_op *op, integer e) =
      AddsHere(c, s, op->param, e, op->flat, op->bucket);
    lemma Adds_Planned{L}: \forall zp_config *c, integer s, zp_op *ops, integer n, p, m, e, k, b;
      AddsPlanned(c, s, ops, n) && 0 < Added(ops, n, p, m, e, k, b) && 0 <= StageLen(c, s) ==>
      AddsHere(c, s, p, e, k, b);
    lemma Op_Added{L}: \forall zp_op *ops, integer n, i, e;
      0 <= i < n && AddsElement(ops + i, e) ==>
      0 < Added(ops, n, (ops + i)->param, (ops + i)->mb, e, (ops + i)->flat, (ops + i)->bucket);

    // If both ends of a run belong to bucket b, so does the run.
    predicate OpSpot{L}(zp_config *c, zp_layout *lay, zp_op *op, integer e) =
      0 <= op->param - lay->first_param < lay->n_params && 0 <= op->flat < lay->n_flats &&
      lay->spot[op->param - lay->first_param].flat == op->flat &&
      1 <= (lay->flat + op->flat)->capacity &&
      0 <= lay->spot[op->param - lay->first_param].start && 0 <= e < c->params[op->param].numel &&
      op->bucket == FirstBucket((lay->flat + op->flat)->capacity,
        lay->spot[op->param - lay->first_param].start + e);
    lemma Op_Spot{L}: \forall zp_config *c, zp_layout *lay, zp_op *op, integer e;
      StageSeen(c, lay) && AddsOne(c, lay->stage, op, e) ==>
      EntrySeen(c, lay, op->param - lay->first_param) &&
      EntryFits(c, lay, op->param - lay->first_param) && OpSpot(c, lay, op, e);
    lemma Op_Fits{L}: \forall zp_config *c, zp_layout *lay, zp_op *op, integer e, d;
      OpSpot(c, lay, op, e) && OpSpot(c, lay, op, d) && e == op->offset &&
      d == op->offset + op->count - 1 && 0 < op->count ==> AddFits(c, lay, op); */

/* The same for its reductions of gradients. */
/*@ predicate ReducesPlanned{L}(zp_config *c, integer s, zp_op *ops, integer n) =
      \forall integer k, b, m; Reduced(ops, n, k, b, m) == StepReduced(c, s, k, b, m);
    lemma Reduced_Low{L}: \forall integer n; 0 <= n ==> \forall zp_op *ops, integer k, b, m;
      0 <= Reduced(ops, n, k, b, m);
    lemma Reduced_One{L}: \forall integer n; 0 <= n ==> \forall zp_op *ops, integer i, k, b, m;
      0 <= i < n ==> ReducesAt(ops + i, k, b, m) <= Reduced(ops, n, k, b, m);
    lemma Done_Zero{L}: \forall integer x; 0 <= x ==> \forall zp_config *c, integer s, k, b;
      (\forall integer j; StageEnd(c, s) - x <= j < StageEnd(c, s) ==>
        StepDone(c, s, j, k, b) == 0) ==> DoneOf(c, s, x, k, b) == 0;
    lemma Done_In: \forall integer n, c, from, to, b; 1 <= c && 0 <= from <= to <= n &&
      FirstBucket(c, from) <= b && b < DoneBucket(n, c, from, to) ==> BucketIn(n, c, b);
    predicate BucketHere{L}(zp_layout *lay, integer k, integer b) =
      0 <= k < lay->n_flats && HasBucket(lay->flat + k, b);
    lemma Done_Here{L}: \forall zp_config *c, zp_layout *lay, integer i, j, k, b;
      StageSeen(c, lay) && 0 <= i < lay->n_params && j == lay->first_param + i &&
      StepDone(c, lay->stage, j, k, b) != 0 ==>
      EntrySeen(c, lay, i) && EntryFits(c, lay, i) && lay->spot[i].flat == k &&
      BucketHere(lay, k, b);
    predicate DoneNowhere{L}(zp_config *c, integer s, integer k, integer b) =
      \forall integer j; StageFirst(c, s) <= j < StageEnd(c, s) ==> StepDone(c, s, j, k, b) == 0;
    lemma Done_Nowhere{L}: \forall zp_config *c, zp_layout *lay, integer k, b;
      StageSeen(c, lay) && !BucketHere(lay, k, b) ==> DoneNowhere(c, lay->stage, k, b);
    lemma Nowhere_Zero{L}: \forall zp_config *c, integer s, k, b;
      0 <= StageLen(c, s) && DoneNowhere(c, s, k, b) ==> DoneOf(c, s, StageLen(c, s), k, b) == 0;
    lemma Reduced_Here{L}: \forall zp_config *c, zp_layout *lay, zp_op *ops, integer n, k, b, m;
      StageSeen(c, lay) && ReducesPlanned(c, lay->stage, ops, n) && 0 < Reduced(ops, n, k, b, m) ==>
      0 <= StageLen(c, lay->stage) && BucketHere(lay, k, b); */

#endif
