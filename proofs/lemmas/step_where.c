/* The lemmas about the ops that add and reduce gradients. RED-3, PIPE-5 */
#include "../../ref/plan/step_internal.h"

#include "../../spec/acsl/step_lemmas.h"

#include "../../spec/acsl/step_kept.h"

#include "../../spec/acsl/step_where_entry.h"
#include "../../spec/acsl/step_where_lemmas.h"
#include "../../spec/acsl/step_where_stays.h"

/*@ check lemma SentinelWhere: \false; */
