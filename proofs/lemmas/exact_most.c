/* The lemmas of spec/acsl/exact_most_lemmas.h. SUM-2 */
#include "../../ref/num/exact.h"

#include "../../spec/acsl/exact_bounds.h"
#include "../../spec/acsl/exact_shifts.h"
#include "../../spec/acsl/exact_steps.h"
#include "../../spec/acsl/exact_sums.h"

#include "../../spec/acsl/exact_most_lemmas.h"

/*@ check lemma sentinel_most: \false; */
