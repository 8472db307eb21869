/* The lemmas of PIPE-1 … PIPE-5, for all numbers of stages and micro-batches. */
#include "../../spec/acsl/pipeline_next.h"

#include "../../spec/acsl/pipeline_lemmas.h"

/*@ check lemma Sentinel: \false; */
