/* The lemmas about the ledger of the ops of all slots of a stage. LEDG-6 */
#include "../../ref/plan/step_internal.h"

#include "../../spec/acsl/pipeline_lemmas.h"
#include "../../spec/acsl/step_lemmas.h"

#include "../../spec/acsl/op_is_lemmas.h"

#include "../../spec/acsl/op_unique.h"

#include "../../spec/acsl/op_unique_slots.h"

#include "../../spec/acsl/op_ledger.h"

#include "../../spec/acsl/op_ledger_back.h"

#include "../../spec/acsl/op_ledger_slots.h"

/*@ check lemma SentinelOpLedgerSlots: \false; */
