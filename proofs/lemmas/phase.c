/* Lemmas: the ledger of a group is the same for all its members. LEDG-2, LEDG-3 */
#include "../../ref/plan/program.h"

#include "../../spec/acsl/layout_same.h"

#include "../../spec/acsl/layout_frame.h"

#include "../../spec/acsl/still_lemmas.h"

#include "../../spec/acsl/init_lemmas.h"

#include "../../spec/acsl/kept_lemmas.h"

#include "../../spec/acsl/layout_lemmas.h"

#include "../../spec/acsl/step_tied.h"

#include "../../spec/acsl/alike_lemmas.h"

#include "../../spec/acsl/planned_lemmas.h"

#include "../../spec/acsl/step_alike.h"

#include "../../spec/acsl/step_alike_frame.h"

#include "../../spec/acsl/phase_steps.h"

#include "../../spec/acsl/phase_ledger.h"

/*@ check lemma SentinelPhase: \false; */
