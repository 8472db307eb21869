/* The lemmas of spec/acsl/segment_lemmas.h. PART-2, PART-9 */
#include "../../ref/plan/segment.h"
#include "../../spec/acsl/layout_lemmas.h"

#include "../../spec/acsl/layout_good.h"

#include "../../spec/acsl/segment_lemmas.h"

/*@ check lemma sentinel_segment: \false; */
