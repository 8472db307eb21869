/* The lemmas of spec/acsl/norm_rank_group.h. STAT-2 */
#include "../../ref/engine/count.h"

#include "../../spec/acsl/layout_lemmas.h"

#include "../../spec/acsl/layout_good.h"

#include "../../spec/acsl/composition_world.h"

#include "../../spec/acsl/norm_rank.h"

#include "../../spec/acsl/norm_rank_group.h"

/*@ check lemma sentinel_norm_rank_group: \false; */
