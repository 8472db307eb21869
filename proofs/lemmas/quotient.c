/* The lemmas of spec/acsl/quotient.h. */
#include "../../spec/acsl/quotient.h"

/*@ check lemma sentinel_quotient: \false; */
