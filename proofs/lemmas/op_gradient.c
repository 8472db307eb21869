/* The lemmas about the ops of gradients, by place. RED-3 */
#include "../../ref/plan/step_internal.h"

#include "../../spec/acsl/step_lemmas.h"

#include "../../spec/acsl/step_heads.h"

#include "../../spec/acsl/step_kept.h"

#include "../../spec/acsl/step_fold_lemmas.h"

#include "../../spec/acsl/step_fold_steps.h"

#include "../../spec/acsl/op_is_lemmas.h"

#include "../../spec/acsl/op_slot_lemmas.h"

#include "../../spec/acsl/op_gradient_lemmas.h"

/*@ check lemma SentinelOpGradient: \false; */
