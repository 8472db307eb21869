/* The lemmas that the predicates of SAVE's and LOAD's ops determine them. LEDG-1, CKPT-1 */
#include "../../ref/plan/program_internal.h"

#include "../../spec/acsl/op_is_lemmas.h"

#include "../../spec/acsl/op_unique.h"

#include "../../spec/acsl/op_unique_save.h"

/*@ check lemma SentinelOpUniqueSave: \false; */
