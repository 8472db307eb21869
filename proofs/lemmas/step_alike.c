/* Lemmas: two members of a group have equal ledgers of the STEP program. LEDG-2, LEDG-6 */
#include "../../ref/plan/program.h"

#include "../../spec/acsl/layout_lemmas.h"

#include "../../spec/acsl/layout_good.h"

#include "../../spec/acsl/topology_lemmas.h"

#include "../../spec/acsl/step_tied.h"

#include "../../spec/acsl/init_lemmas.h"

#include "../../spec/acsl/kept_lemmas.h"

#include "../../spec/acsl/save_lemmas.h"

#include "../../spec/acsl/alike_lemmas.h"

#include "../../spec/acsl/planned_lemmas.h"

#include "../../spec/acsl/step_alike.h"

/*@ check lemma SentinelStepAlike: \false; */
