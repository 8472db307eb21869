/* Exact signed sums and their mean: the definitions for contracts. The lemmas are in value_*.h; the
 * code that uses them includes them. ACSL only.
 * spec: SUM-5, SUM-6, SUM-7
 */
#ifndef ZP_SPEC_ACSL_VALUE_H
#define ZP_SPEC_ACSL_VALUE_H
#include "value_sums.h"
#endif
