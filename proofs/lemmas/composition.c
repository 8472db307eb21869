/* The lemmas of spec/acsl/composition.h. STAT-2 */
#include "../../ref/plan/program.h"

#include "../../spec/acsl/composition.h"

/*@ check lemma sentinel_composition: \false; */
