/* The lemma that the planner's layouts are within its limits. LEDG-8 */
#include "../../ref/plan/program.h"
#include "../../spec/acsl/planned_lemmas.h"

#include "../../spec/acsl/step_whole.h"

#include "../../spec/acsl/op_unique_fits.h"

/*@ check lemma SentinelOpUniqueFits: \false; */
