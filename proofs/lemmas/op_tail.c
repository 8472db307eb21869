/* The lemmas about single ops of the STEP program after its pipeline. LEDG-6, STEP-8 */
#include "../../ref/plan/step_internal.h"
#include "../../spec/acsl/kept_lemmas.h"
#include "../../spec/acsl/save_lemmas.h"
#include "../../spec/acsl/step_tail.h"

#include "../../spec/acsl/op_is_lemmas.h"

#include "../../spec/acsl/op_tail_lemmas.h"

/*@ check lemma SentinelOpTail: \false; */
