/* What a rank finds out about a step's gradients and losses, and the vector of integers that it
 * adds to the other ranks'. spec: STAT-1 … STAT-6 */
#ifndef ZP_ENGINE_STATISTICS_H
#define ZP_ENGINE_STATISTICS_H

#include "../num/agree.h"
#include "../num/value.h"
#include "count.h"
#include "window.h"

/* squares: exact sum of squares of the means that this rank counts. loss: exact sum of the losses
 * (ZP_LIMBS). nonfinite: 1 if a gradient or mean was infinite or NaN, else 0. bad_loss: the number
 * of losses that were. Only the functions below write it. */
typedef struct zp_statistics {
  zp_sumsq squares;
  int64_t loss[ZP_LIMBS];
  int64_t nonfinite, bad_loss;
} zp_statistics;

#include "../../spec/acsl/statistics.h"

/* A window starts from nothing.
 * s: owned by the caller, may have no value. Errors: none.
 * spec: STEP-4
 */
/*@ requires valid: \valid(s);
    terminates \true; exits \false;
    assigns *s;
    ensures ok: StatisticsOk(s) && ElementBounded(&s->loss[0], 0, 0, 0);
    ensures none: SumsqValue(&s->squares) == 0 && SumsqLoad(&s->squares) == 0 &&
      LossSum(s) == 0 && s->nonfinite == 0 && s->bad_loss == 0;
*/
void zp_statistics_clear(zp_statistics *s);

/* Adds the loss of one micro-batch; one that is infinite or NaN is only counted.
 * s: with at most 2^20 losses so far. bits: its fp32 pattern. Errors: none.
 * spec: STAT-3, STAT-5
 */
/*@ requires valid: \valid(s);
    requires ok: StatisticsOk(s) && s->bad_loss < 1099511627776;
    terminates \true; exits \false;
    assigns s->loss[0 .. 8], s->bad_loss;
    ensures bounded: \forall integer n; 0 <= n && \old(ElementBounded(&s->loss[0], 0, n, n)) ==>
      ElementBounded(&s->loss[0], 0, n + 1, n + 1);
    ensures finite: BiasedExp32(bits) < 255 ==>
      LossSum(s) == \old(LossSum(s)) + Value32(bits) && s->bad_loss == \old(s->bad_loss);
    ensures bad: BiasedExp32(bits) == 255 ==>
      LossSum(s) == \old(LossSum(s)) && s->bad_loss == \old(s->bad_loss) + 1;
*/
void zp_statistics_loss(zp_statistics *s, uint32_t bits);

/* Notes that `count` values of a gradient or mean were infinite or NaN.
 * Errors: none.
 * spec: STAT-3
 */
/*@ requires valid: \valid(s);
    requires flag: 0 <= s->nonfinite <= 1;
    terminates \true; exits \false;
    assigns s->nonfinite;
    ensures flag: s->nonfinite == (count != 0 ? 1 : \old(s->nonfinite));
*/
void zp_statistics_nonfinite(zp_statistics *s, int64_t count);

/* Takes the means of bucket b of flat group k: notes those that are infinite or NaN, and adds the
 * squares of those that this rank owns and counts. Of several replicas, number 0 counts.
 * lay: the layout of stage at.pp of the valid configuration cfg. at: within it. counts: (n_params),
 * made by zp_counted_entries for at.tp. k: a flat group with storage of its own. b: one of its
 * buckets. mean: (all of the bucket with padding at ZeRO stage 0, else the rank's part) fp32
 * patterns. s: with room for a part more, apart from everything else. Errors: none.
 * spec: STAT-2, STAT-3, RED-9
 */
/*@ requires cfg: Readable(cfg) && Valid(cfg);
    requires lay: ReadableLayout(lay) && LayoutOf(cfg, at.pp, lay);
    requires at: Within(cfg, at.pp, at.dp, at.tp);
    requires counts: \valid_read(counts + (0 .. lay->n_params - 1));
    requires bucket: 0 <= k < lay->n_flats && HasBucket(lay->flat + k, b) &&
      lay->flat[k].use == 0;
    requires mean: \valid_read(mean + (0 .. LocalIn(lay->flat + k, cfg->stage, b) - 1));
    requires sum: \valid(s) && SumsqOk(&s->squares) &&
      SumsqRoom(&s->squares, PartIn(lay->flat + k, b)) && 0 <= s->nonfinite <= 1;
    requires apart: \separated(s, cfg, cfg->params + (0 .. cfg->n_params - 1), lay,
        lay->flat + (0 .. lay->n_flats - 1), lay->spot + (0 .. lay->n_params - 1),
        counts + (0 .. lay->n_params - 1),
        mean + (0 .. LocalIn(lay->flat + k, cfg->stage, b) - 1));
    terminates \true; exits \false;
    assigns s->squares, s->nonfinite;
    ensures ok: SumsqOk(&s->squares);
    ensures load: SumsqLoad(&s->squares) <=
      \old(SumsqLoad(&s->squares)) + \old(PartIn(lay->flat + k, b));
    ensures most: SumsqValue(&s->squares) <=
      \old(SumsqValue(&s->squares)) + MostSquares(\old(PartIn(lay->flat + k, b)));
    ensures flag: s->nonfinite ==
      (CountNonFinite32{Pre}(mean, LocalIn{Pre}(\at(lay->flat, Pre) + k, \at(cfg->stage, Pre), b))
        != 0 ? 1 : \old(s->nonfinite));
    ensures counted: \forall integer z; replica == 0 && CountsFor{Pre}(cfg, lay, counts, k, at.tp) &&
      MeanIs{Pre}(cfg, lay, at, k, b, mean, z) ==>
      SumsqValue(&s->squares) == \old(SumsqValue(&s->squares)) +
        MeanSquares{Pre}(cfg, lay, at, k, b, z);
    ensures other: replica != 0 ==>
      SumsqValue(&s->squares) == \old(SumsqValue(&s->squares));
*/
void zp_statistics_mean(const zp_config *cfg, const zp_layout *lay, const uint8_t *counts,
                        zp_coord at, int32_t replica, int32_t k, int64_t b, const uint32_t *mean,
                        zp_statistics *s);

/* Writes the vector that this rank adds to the other ranks'.
 * digest: of the hyperparameters, on which all ranks must agree. rank: 0 to 2^20 - 1. s: with at
 * most 2^20 losses and fewer than 2^59 squares; its sums are carried and keep their values.
 * out: (ZP_STATS), apart from s. Errors: none.
 * spec: STAT-1, STAT-6
 */
/*@ requires valid: \valid(s) && \valid(out + (0 .. 46));
    requires apart: \separated(s, out + (0 .. 46));
    requires ok: StatisticsOk(s);
    requires room: SumsqRoom(&s->squares, 0);
    requires rank: 0 <= rank < 1048576;
    terminates \true; exits \false;
    assigns *s, out[0 .. 46];
    ensures squares: LimbSum(out, 20) == \old(SumsqValue(&s->squares)) && Canonical(out, 20);
    ensures loss: LimbSum(out + 20, 9) == \old(LossSum(s));
    ensures small: \forall integer n; 0 <= n <= 1048576 &&
      \old(ElementBounded(&s->loss[0], 0, n, n)) ==> LimbsSmall(out + 20, 0, 9, 4398046511104);
    ensures nonfinite: out[29] == \old(s->nonfinite);
    ensures bad_loss: out[30] == \old(s->bad_loss);
*/
void zp_statistics_vector(zp_statistics *s, uint64_t digest, int32_t rank, int64_t *out);

#endif
