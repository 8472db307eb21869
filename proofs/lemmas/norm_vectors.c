/* The lemmas of spec/acsl/norm_vectors.h. STAT-1 */
#include "../../ref/num/exact.h"
#include "../../ref/num/value.h"

#include "../../spec/acsl/norm_vectors.h"

/*@ check lemma sentinel_norm_vectors: \false; */
