/* The lemmas about the ledger of one entry's ops. LEDG-6 */
#include "../../ref/plan/step_internal.h"

#include "../../spec/acsl/op_is_lemmas.h"

#include "../../spec/acsl/op_ledger.h"

/*@ check lemma SentinelOpLedger: \false; */
