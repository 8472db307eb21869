/* The lemmas of spec/acsl/segment_lemmas.h and copy.h. PART-2, PART-7, PART-9 */
#include "../../ref/plan/segment.h"
#include "../../spec/acsl/layout_lemmas.h"

#include "../../spec/acsl/layout_good.h"

#include "../../spec/acsl/segment_lemmas.h"

#include "../../spec/acsl/copy.h"

/*@ check lemma sentinel_segment: \false; */
