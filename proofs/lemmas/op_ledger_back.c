/* The lemmas about the ledger of one backward's ops. LEDG-6 */
#include "../../ref/plan/step_internal.h"

#include "../../spec/acsl/step_lemmas.h"

#include "../../spec/acsl/op_is_lemmas.h"

#include "../../spec/acsl/op_ledger.h"

#include "../../spec/acsl/op_ledger_back.h"

/*@ check lemma SentinelOpLedgerBack: \false; */
