/* The lemmas of spec/acsl/statistics_lemmas.h. STAT-1, STAT-5 */
#include "../../ref/engine/statistics.h"

#include "../../spec/acsl/exact_bounds.h"
#include "../../spec/acsl/value_bound_steps.h"
#include "../../spec/acsl/value_from.h"

#include "../../spec/acsl/statistics_lemmas.h"

/*@ check lemma sentinel_statistics: \false; */
