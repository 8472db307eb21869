/* Family 6: the means of one bucket. The function is a harness: its contract is the theorem, its
 * body makes the call. The file includes no lemmas, because they slow the proof that nothing else
 * changes. */
#include "norm_bucket.h"

//@ check lemma sentinel_norm_bucket: \false;

void count_bucket(const zp_config *cfg, const zp_layout *lay, const uint8_t *counts, zp_coord at,
                  int32_t replica, int32_t k, int64_t b, const uint32_t *mean, zp_statistics *s)
{
  zp_count_mean(cfg, lay, counts, at, replica, k, b, mean, s);
  //@ assert longs: LongsKept{Pre,Here}(&s->squares, &s->nonfinite);
  //@ assert ints: IntsKept{Pre,Here}(cfg, lay);
}
