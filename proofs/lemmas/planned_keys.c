/* Each tied key has one flat group with storage. TIE-1, TIE-2 */
#include "../../ref/plan/program.h"

#include "../../spec/acsl/layout_lemmas.h"

#include "../../spec/acsl/layout_good.h"

#include "../../spec/acsl/topology_lemmas.h"

#include "../../spec/acsl/step_tied.h"

#include "../../spec/acsl/planned_lemmas.h"

/*@ check lemma SentinelPlannedKeys: \false; */
