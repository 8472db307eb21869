/* Family 6: the means of one bucket. The function is a harness: its contract is the theorem, its
 * body makes the call. The file includes no lemmas, because they slow the proof that nothing else
 * changes. */
#include "norm_bucket.h"

//@ check lemma sentinel_norm_bucket: \false;

void count_bucket(const zp_config *cfg, const zp_layout *lay, const uint8_t *counts, zp_coord at,
                  int32_t replica, int32_t k, int64_t b, const uint32_t *mean, zp_statistics *s)
{
  zp_count_mean(cfg, lay, counts, at, replica, k, b, mean, s);
  //@ assert micro_batches: cfg->micro_batches == \at(cfg->micro_batches, Pre);
  //@ assert bucket: cfg->bucket == \at(cfg->bucket, Pre);
  //@ assert align: cfg->align == \at(cfg->align, Pre);
  //@ assert scalars: SameScalars{Pre,Here}(cfg);
  /*@ assert numel: \forall integer j; 0 <= j < \at(cfg->n_params, Pre) ==>
        cfg->params[j].numel == \at(cfg->params[j].numel, Pre); */
  //@ assert entries: KeptEntries{Pre,Here}(cfg);
  //@ assert stage: KeptStage{Pre,Here}(lay);
  /*@ assert flat_numel: \forall integer j; 0 <= j < \at(lay->n_flats, Pre) ==>
        lay->flat[j].numel == \at(lay->flat[j].numel, Pre); */
  /*@ assert flat_capacity: \forall integer j; 0 <= j < \at(lay->n_flats, Pre) ==>
        lay->flat[j].capacity == \at(lay->flat[j].capacity, Pre); */
  /*@ assert flat_align: \forall integer j; 0 <= j < \at(lay->n_flats, Pre) ==>
        lay->flat[j].align == \at(lay->flat[j].align, Pre); */
  //@ assert flats: KeptFlats{Pre,Here}(lay);
  /*@ assert start: \forall integer j; 0 <= j < \at(lay->n_params, Pre) ==>
        lay->spot[j].start == \at(lay->spot[j].start, Pre); */
  //@ assert spots: KeptSpots{Pre,Here}(lay);
}
