/* Partition of numbers (family 1): the lemmas of spec/acsl/home_lemmas.h and home_code.h.
 * spec: PART-3, PART-4, PART-5, PART-6, PART-7 */
#include "../../ref/plan/layout.h"
#include "../../spec/acsl/topology_lemmas.h"

#include "../../spec/acsl/home_lemmas.h"

#include "../../spec/acsl/home_code.h"

/*@ check lemma sentinel_home: \false; */
