/* From \separated ranges to what is said of each field. */
#include "../../ref/plan/program.h"

#include "../../spec/acsl/apart_lemmas.h"

/*@ check lemma SentinelApart: \false; */
