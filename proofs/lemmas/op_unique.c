/* The lemmas that the predicates of the pipeline's ops determine them. LEDG-1 */
#include "../../ref/plan/step_internal.h"

#include "../../spec/acsl/op_is_lemmas.h"

#include "../../spec/acsl/op_unique.h"

/*@ check lemma SentinelOpUnique: \false; */
