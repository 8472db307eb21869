/* The means of one bucket, counted as the executor counts them: norm_bucket.c. STAT-2, STAT-3 */
#ifndef ZP_PROOFS_THEOREMS_NORM_BUCKET_H
#define ZP_PROOFS_THEOREMS_NORM_BUCKET_H

#include "../../ref/engine/count.h"

#include "../../spec/acsl/norm_rank.h"

#include "../../spec/acsl/norm_count.h"

/* Counts the means of bucket b of flat group k. lay: the layout of stage at.pp of the valid
 * configuration cfg. counts: (n_params). mean: (the bucket with padding at ZeRO stage 0, else the
 * rank's part), the reduced gradient. Nothing overlaps s. */
/*@ requires cfg: Readable(cfg) && RankIn(cfg, lay, at);
    requires lay: ReadableLayout(lay);
    requires counts: \valid_read(counts + (0 .. lay->n_params - 1)) &&
      CountsFor(cfg, lay, counts, k, at.tp);
    requires held: MeanHeld(lay, k, b);
    requires mean: \valid_read(mean + (0 .. MeanLen(cfg, lay, k, b) - 1)) &&
      MeanGiven(cfg, lay, at, k, b, mean);
    requires sum: \valid(s) && SumsqOk(&s->squares) &&
      SumsqRoom(&s->squares, PartIn(lay->flat + k, b)) && 0 <= s->nonfinite <= 1;
    requires apart: \separated(s, cfg, cfg->params + (0 .. cfg->n_params - 1), lay,
      lay->flat + (0 .. lay->n_flats - 1), lay->spot + (0 .. lay->n_params - 1),
      counts + (0 .. lay->n_params - 1), mean + (0 .. MeanLen(cfg, lay, k, b) - 1));
    terminates \true; exits \false;
    assigns s->squares, s->nonfinite;
    ensures ok: SumsqOk(&s->squares) && 0 <= s->nonfinite <= 1;
    ensures load: SumsqLoad(&s->squares) <=
      \old(SumsqLoad(&s->squares)) + \old(PartIn(lay->flat + k, b));
    ensures most: SumsqValue(&s->squares) <=
      \old(SumsqValue(&s->squares)) + MostSquares(\old(PartIn(lay->flat + k, b)));
    ensures squares: SumsqValue(&s->squares) == \old(SumsqValue(&s->squares)) +
      (replica == 0 ? MeanAdds{Pre}(cfg, lay, at, k, b) : 0);
    ensures flag: s->nonfinite == 0 <==> \old(s->nonfinite) == 0 &&
      CountNonFinite32{Pre}(mean, \old(MeanLen(cfg, lay, k, b))) == 0;
    ensures longs: LongsKept{Pre,Post}(&s->squares, &s->nonfinite);
    ensures ints: IntsKept{Pre,Post}(cfg, lay);
*/
void count_bucket(const zp_config *cfg, const zp_layout *lay, const uint8_t *counts, zp_coord at,
                  int32_t replica, int32_t k, int64_t b, const uint32_t *mean, zp_statistics *s);

#endif
