/* The lemmas of spec/acsl/norm_world.h. STAT-2, STAT-4 */
#include "../../ref/engine/count.h"

#include "../../spec/acsl/layout_lemmas.h"

#include "../../spec/acsl/layout_good.h"

#include "../../spec/acsl/composition_world.h"

#include "../../spec/acsl/norm_world.h"

/*@ check lemma sentinel_norm_world: \false; */
