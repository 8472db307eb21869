/* The lemmas of spec/acsl/layout_lemmas.h. PART-1, PART-2, TIE-2 */
#include "../../ref/plan/layout.h"

#include "../../spec/acsl/layout_lemmas.h"

/*@ check lemma sentinel_layout: \false; */
