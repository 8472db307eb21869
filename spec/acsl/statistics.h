/* The logic of a rank's statistics: STAT-1 … STAT-5. Included by ref/engine/statistics.h. */
#ifndef ZP_SPEC_ACSL_STATISTICS_H
#define ZP_SPEC_ACSL_STATISTICS_H

#include "exact_most.h"

/*@ logic integer LossSum{L}(zp_statistics *s) = LimbSum(&s->loss[0], 9);
    predicate StatisticsOk{L}(zp_statistics *s) =
      SumsqOk(&s->squares) && LimbsSmall(&s->loss[0], 0, 9, 9223372028264841216) &&
      0 <= s->nonfinite <= 1 && 0 <= s->bad_loss;
*/

#endif
