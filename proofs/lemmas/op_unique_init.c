/* The lemmas that the predicates of INIT's ops determine them. LEDG-1, LEDG-4, LEDG-5 */
#include "../../ref/plan/program_internal.h"
#include "../../spec/acsl/init_lemmas.h"
#include "../../spec/acsl/kept_lemmas.h"

#include "../../spec/acsl/op_is_lemmas.h"

#include "../../spec/acsl/op_unique.h"

#include "../../spec/acsl/op_unique_init.h"

/*@ check lemma SentinelOpUniqueInit: \false; */
