/* The lemmas of spec/acsl/composition_world.h. STAT-2 */
#include "../../ref/plan/program.h"

#include "../../spec/acsl/layout_lemmas.h"

#include "../../spec/acsl/layout_good.h"

#include "../../spec/acsl/composition.h"

#include "../../spec/acsl/composition_world.h"

/*@ check lemma sentinel_world: \false; */
