/* The lemmas of spec/acsl/count_mean_lemmas.h. STAT-2 */
#include "../../ref/engine/count.h"

#include "../../spec/acsl/layout_lemmas.h"

#include "../../spec/acsl/layout_good.h"

#include "../../spec/acsl/count_mean_lemmas.h"

/*@ check lemma sentinel_count_mean: \false; */
