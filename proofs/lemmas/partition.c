/* The lemmas of spec/acsl/partition.h. PART-3 … PART-6 */
#include "../../spec/acsl/partition.h"

/*@ check lemma sentinel_partition: \false; */
