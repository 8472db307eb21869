/* The lemmas that a program's predicate determines the program. LEDG-1, STEP-2 */
#include "../../ref/plan/program_internal.h"

#include "../../spec/acsl/op_is_lemmas.h"

#include "../../spec/acsl/op_unique.h"

#include "../../spec/acsl/op_unique_slots.h"

#include "../../spec/acsl/op_unique_tail.h"

#include "../../spec/acsl/op_unique_init.h"

#include "../../spec/acsl/op_unique_save.h"

#include "../../spec/acsl/op_unique_of.h"

/*@ check lemma SentinelOpUniqueOf: \false; */
