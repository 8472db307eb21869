/* The means of a STEP program: each bucket with storage has exactly one, and no other op is a mean.
 * F is where configuration and layout are read, O the ops. Include after ref/plan/program.h.
 * STAT-2 */
#ifndef ZP_SPEC_ACSL_STEP_MEANS_H
#define ZP_SPEC_ACSL_STEP_MEANS_H

/*@ predicate NoMeans{L}(zp_op *ops, integer lo, integer hi) =
      \forall integer p; lo <= p < hi ==> (ops + p)->kind != ZP_OP_MEAN;
    logic integer MeansFrom{L}(zp_config *c, zp_layout *lay) =
      PipeLen(c, lay) + KeysLen(lay->flat, lay->n_flats, c->tied_keys);
    logic integer MeansTo{L}(zp_config *c, zp_layout *lay) =
      MeansFrom(c, lay) + Held(lay->flat, lay->n_flats);
    // Mean q of the layout is of this flat group and bucket.
    logic integer MeanFlat{L}(zp_layout *lay, integer q) = HeldBlock(lay->flat, lay->n_flats, q);
    logic integer MeanBucket{L}(zp_layout *lay, integer q) = q - Held(lay->flat, MeanFlat(lay, q));
    predicate MeanIsOp{F,O}(zp_op *o, zp_layout *lay, integer q) =
      \at(o->kind, O) == ZP_OP_MEAN && \at(o->flat, O) == MeanFlat{F}(lay, q) &&
      \at(o->bucket, O) == MeanBucket{F}(lay, q);
    predicate MeansAre{F,O}(zp_op *ops, integer lo, integer hi, zp_layout *lay) =
      \forall integer p; lo <= p < hi ==> MeanIsOp{F,O}(ops + p, lay, p - lo);
    predicate OnlyMeans{F,O}(zp_op *ops, integer n, zp_config *c, zp_layout *lay) =
      NoMeans{O}(ops, 0, MeansFrom{F}(c, lay)) &&
      MeansAre{F,O}(ops, MeansFrom{F}(c, lay), MeansTo{F}(c, lay), lay) &&
      NoMeans{O}(ops, MeansTo{F}(c, lay), n);
*/

#endif
