/* Exact signed sums and their mean: what contracts say. The lemmas are in value_*.h, included by the
 * code that needs them. ACSL only.
 * spec: SUM-5, SUM-6, SUM-7
 */
#ifndef ZP_SPEC_ACSL_VALUE_H
#define ZP_SPEC_ACSL_VALUE_H
#include "value_sums.h"
#endif
