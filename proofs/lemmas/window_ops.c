/* The lemmas of spec/acsl/window_ops.h. RED-3 */
#include "../../ref/engine/window.h"
#include "../../ref/plan/step_internal.h"
#include "../../spec/acsl/layout_lemmas.h"

#include "../../spec/acsl/layout_good.h"

#include "../../spec/acsl/planned_steps.h"

#include "../../spec/acsl/planned_lemmas.h"

#include "../../spec/acsl/window_ops.h"

/*@ check lemma sentinel_ops: \false; */
