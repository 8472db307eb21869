/* The number of buckets. PART-3 */
#include "../../spec/acsl/partition.h"

#include "../../spec/acsl/bucket_lemmas.h"

/*@ check lemma SentinelBucket: \false; */
