/* The lemmas that the predicates of the pipeline's ops determine all slots. LEDG-1, STEP-2 */
#include "../../ref/plan/step_internal.h"

#include "../../spec/acsl/pipeline_lemmas.h"
#include "../../spec/acsl/step_lemmas.h"

#include "../../spec/acsl/step_heads.h"

#include "../../spec/acsl/step_kept.h"

#include "../../spec/acsl/step_fold_lemmas.h"

#include "../../spec/acsl/op_is_lemmas.h"

#include "../../spec/acsl/op_unique.h"

#include "../../spec/acsl/op_unique_slots.h"

/*@ check lemma SentinelOpUniqueSlots: \false; */
