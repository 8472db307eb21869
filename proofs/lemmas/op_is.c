/* The lemmas about single ops. LEDG-1 */
#include "../../ref/plan/op.h"

#include "../../spec/acsl/op_is.h"

#include "../../spec/acsl/op_is_lemmas.h"

/*@ check lemma SentinelOpIs: \false; */
