/* The lemmas about the STEP program, for every configuration. LEDG-6, LEDG-8, PIPE-5 */
#include "../../ref/plan/step_internal.h"
#include "../../spec/acsl/pipeline_lemmas.h"
#include "../../spec/acsl/step_lemmas.h"

/*@ check lemma Sentinel: \false; */
