/* STAT-2: what a count of means changes, and what is apart from it. ACSL only. Include after
 * norm_rank.h. */
#ifndef ZP_SPEC_ACSL_NORM_COUNT_H
#define ZP_SPEC_ACSL_NORM_COUNT_H

/*@ // A rank's squares s and its flag f are apart from each field of the inputs that has 64 bits;
    // listed separately, so that provers find the instance.
    predicate ConfigClear{L}(zp_config *c, zp_sumsq *s, int64_t *f) =
      \separated(&c->micro_batches, s) && \separated(&c->bucket, s) && \separated(&c->align, s) &&
      \separated(&c->micro_batches, f) && \separated(&c->bucket, f) && \separated(&c->align, f);
    predicate InputsClear{L}(zp_config *c, zp_layout *lay, zp_sumsq *s) =
      (\forall integer j; 0 <= j < c->n_params ==> \separated(&c->params[j].numel, s)) &&
      (\forall integer k; 0 <= k < lay->n_flats ==> \separated(&lay->flat[k].numel, s)) &&
      (\forall integer k; 0 <= k < lay->n_flats ==> \separated(&lay->flat[k].capacity, s)) &&
      (\forall integer k; 0 <= k < lay->n_flats ==> \separated(&lay->flat[k].align, s)) &&
      (\forall integer i; 0 <= i < lay->n_params ==> \separated(&lay->spot[i].start, s));
    predicate FlagClear{L}(zp_config *c, zp_layout *lay, int64_t *f) =
      (\forall integer j; 0 <= j < c->n_params ==> \separated(&c->params[j].numel, f)) &&
      (\forall integer k; 0 <= k < lay->n_flats ==> \separated(&lay->flat[k].numel, f)) &&
      (\forall integer k; 0 <= k < lay->n_flats ==> \separated(&lay->flat[k].capacity, f)) &&
      (\forall integer k; 0 <= k < lay->n_flats ==> \separated(&lay->flat[k].align, f)) &&
      (\forall integer i; 0 <= i < lay->n_params ==> \separated(&lay->spot[i].start, f));
    // From A to B no int64_t apart from s and f changes; no int32_t changes.
    predicate LongsKept{A,B}(zp_sumsq *s, int64_t *f) =
      \forall int64_t *q; \separated(q, s) && \separated(q, f) ==> \at(*q, A) == \at(*q, B);
    predicate IntsKept{A,B}(zp_config *c, zp_layout *lay) =
      (\forall int32_t *q; \at(*q, A) == \at(*q, B)) &&
      \at(c->params, A) == \at(c->params, B) && \at(lay->flat, A) == \at(lay->flat, B) &&
      \at(lay->spot, A) == \at(lay->spot, B);
*/

#endif
