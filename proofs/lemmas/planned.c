/* A layout satisfies the requirements of the program planner. PART-1, PART-2 */
#include "../../ref/plan/program.h"

#include "../../spec/acsl/layout_lemmas.h"

#include "../../spec/acsl/layout_good.h"

#include "../../spec/acsl/planned_steps.h"

#include "../../spec/acsl/planned_lemmas.h"

/*@ check lemma SentinelPlanned: \false; */
