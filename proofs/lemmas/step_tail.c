/* The lemmas about the STEP program after its pipeline. LEDG-6, LEDG-8 */
#include "../../ref/plan/step_internal.h"
#include "../../spec/acsl/kept_lemmas.h"
#include "../../spec/acsl/save_lemmas.h"

#include "../../spec/acsl/step_tail.h"

/*@ check lemma SentinelTail: \false; */
