/* The lemmas that programs that are equal op by op have equal ledgers. LEDG-1 */
#include "../../ref/plan/op.h"

#include "../../spec/acsl/op_is_lemmas.h"

#include "../../spec/acsl/op_unique.h"

#include "../../spec/acsl/op_unique_ledger.h"

/*@ check lemma SentinelOpUniqueLedger: \false; */
