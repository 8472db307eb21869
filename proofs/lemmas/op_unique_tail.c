/* The lemmas that the predicates of the ops after the pipeline determine them. LEDG-1, STEP-8 */
#include "../../ref/plan/step_internal.h"

#include "../../spec/acsl/op_is_lemmas.h"

#include "../../spec/acsl/op_unique.h"

#include "../../spec/acsl/op_unique_tail.h"

/*@ check lemma SentinelOpUniqueTail: \false; */
