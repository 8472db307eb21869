/* The lemmas about the STEP program as a whole. LEDG-3, LEDG-6, LEDG-8, RED-3 */
#include "../../ref/plan/step_internal.h"

#include "../../spec/acsl/layout_lemmas.h"
#include "../../spec/acsl/pipeline_lemmas.h"
#include "../../spec/acsl/step_lemmas.h"

#include "../../spec/acsl/step_heads.h"

#include "../../spec/acsl/pipeline_next.h"

#include "../../spec/acsl/step_kept.h"

#include "../../spec/acsl/step_fold_lemmas.h"

#include "../../spec/acsl/step_whole.h"

/*@ check lemma SentinelWhole: \false; */
