/* The lemmas about the STEP program's slots. PIPE-2, PIPE-3, RED-3, LEDG-6, LEDG-8 */
#include "../../ref/plan/step_internal.h"

#include "../../spec/acsl/pipeline_lemmas.h"
#include "../../spec/acsl/step_lemmas.h"

#include "../../spec/acsl/step_heads.h"

#include "../../spec/acsl/pipeline_next.h"

#include "../../spec/acsl/step_kept.h"

#include "../../spec/acsl/step_fold_lemmas.h"

#include "../../spec/acsl/step_fold_steps.h"

/*@ check lemma SentinelFold: \false; */
