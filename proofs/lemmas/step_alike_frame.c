/* The STEP program's ledgers do not change while other memory is written. LEDG-6 */
#include "../../ref/plan/program.h"

#include "../../spec/acsl/layout_same.h"

#include "../../spec/acsl/layout_frame.h"

#include "../../spec/acsl/layout_good.h"

#include "../../spec/acsl/still_lemmas.h"

#include "../../spec/acsl/kept_lemmas.h"

#include "../../spec/acsl/step_tail.h"

#include "../../spec/acsl/step_alike_frame.h"

/*@ check lemma SentinelStepFrame: \false; */
