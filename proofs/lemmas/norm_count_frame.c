/* The lemmas of spec/acsl/norm_count_frame.h. STAT-2 */
#include "../../ref/engine/count.h"

#include "../../spec/acsl/layout_lemmas.h"

#include "../../spec/acsl/layout_same.h"

#include "../../spec/acsl/layout_frame.h"

#include "../../spec/acsl/layout_good.h"

#include "../../spec/acsl/kept_lemmas.h"

#include "../../spec/acsl/still_lemmas.h"

#include "../../spec/acsl/init_lemmas.h"

#include "../../spec/acsl/norm_rank.h"

#include "../../spec/acsl/norm_count.h"

#include "../../spec/acsl/norm_count_frame.h"

/*@ check lemma sentinel_norm_count_frame: \false; */
