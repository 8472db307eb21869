/* The lemmas of spec/acsl/layout_good.h. */
#include "../../ref/plan/layout.h"
#include "../../spec/acsl/layout_lemmas.h"

#include "../../spec/acsl/layout_good.h"

/*@ check lemma sentinel_layout_good: \false; */
