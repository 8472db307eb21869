/* The lemmas about single ops of a slot. PIPE-2, PIPE-3 */
#include "../../ref/plan/step_internal.h"

#include "../../spec/acsl/op_is_lemmas.h"

#include "../../spec/acsl/op_slot_lemmas.h"

/*@ check lemma SentinelOpSlot: \false; */
