/* What a rank finds out about a step's gradients and losses, and the vector of integers that it
 * adds to the other ranks'. spec: STAT-1 … STAT-6 */
#ifndef ZP_ENGINE_STATISTICS_H
#define ZP_ENGINE_STATISTICS_H

#include "../../spec/acsl/bounds.h"
#include "../num/agree.h"
#include "../num/exact.h"
#include "../num/value.h"
#include "../plan/program.h"

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
    requires ok: StatisticsOk(s) && s->bad_loss < ZP_LIMIT_CONTRIBUTIONS;
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
    requires rank: 0 <= rank < ZP_LIMIT_RANKS;
    terminates \true; exits \false;
    assigns *s, out[0 .. 46];
    ensures squares: LimbSum(out, 20) == \old(SumsqValue(&s->squares)) && Canonical(out, 20);
    ensures loss: LossSum(s) == \old(LossSum(s));
    ensures limbs: \forall integer i; 0 <= i < 9 ==> (out + 20)[i] == s->loss[i];
    ensures small: \forall integer n; 0 <= n <= ZP_LIMIT_MICRO_BATCHES &&
      \old(ElementBounded(&s->loss[0], 0, n, n)) ==>
      LimbsSmall(&s->loss[0], 0, 9, ZP_LIMIT_LOSS_LIMB);
    ensures nonfinite: out[29] == \old(s->nonfinite);
    ensures bad_loss: out[30] == \old(s->bad_loss);
*/
void zp_statistics_vector(zp_statistics *s, uint64_t digest, int32_t rank, int64_t *out);

#endif
