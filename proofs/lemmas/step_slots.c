/* The lemmas about the bucket slots that gradients are added to. RED-3, PIPE-5 */
#include "../../ref/plan/step_internal.h"
#include "../../spec/acsl/layout_lemmas.h"

#include "../../spec/acsl/layout_good.h"

#include "../../spec/acsl/ledger_lemmas.h"
#include "../../spec/acsl/pipeline_lemmas.h"
#include "../../spec/acsl/step_slots.h"

/*@ check lemma SentinelSlots: \false; */
