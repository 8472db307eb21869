/* From \separated ranges to facts about each field. */
#include "../../ref/plan/program.h"

#include "../../spec/acsl/apart_lemmas.h"

/*@ check lemma SentinelApart: \false; */
