/* The lemmas of spec/acsl/window_lemmas.h and window_tied.h.
 * spec: PART-3, PART-4, PART-5, PART-6, RED-3, TIE-1 */
#include "../../ref/engine/window.h"
#include "../../ref/plan/step_internal.h"

#include "../../spec/acsl/layout_lemmas.h"

#include "../../spec/acsl/layout_good.h"

#include "../../spec/acsl/topology_lemmas.h"

#include "../../spec/acsl/home_lemmas.h"

#include "../../spec/acsl/home_code.h"

#include "../../spec/acsl/step_tied.h"

#include "../../spec/acsl/window_tied.h"

#include "../../spec/acsl/window_lemmas.h"

/*@ check lemma sentinel_window: \false; */
