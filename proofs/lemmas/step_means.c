/* The lemmas of spec/acsl/step_means_lemmas.h. STAT-2 */
#include "../../ref/plan/program.h"

#include "../../spec/acsl/step_means_lemmas.h"

/*@ check lemma sentinel_step_means: \false; */
