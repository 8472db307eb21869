/* The lemmas of spec/acsl/norm_rank_load.h. STAT-2 */
#include "../../ref/engine/count.h"

#include "../../spec/acsl/layout_lemmas.h"

#include "../../spec/acsl/layout_good.h"

#include "../../spec/acsl/composition_world.h"

#include "../../spec/acsl/norm_rank.h"

#include "../../spec/acsl/norm_rank_group.h"

#include "../../spec/acsl/planned_lemmas.h"

#include "../../spec/acsl/bucket_lemmas.h"

#include "../../spec/acsl/norm_rank_sum.h"

#include "../../spec/acsl/count_mean_lemmas.h"

#include "../../spec/acsl/norm_rank_load.h"

/*@ check lemma sentinel_norm_rank_load: \false; */
