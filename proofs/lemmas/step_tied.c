/* The lemmas about sums of tied keys and about the sizes of messages. TIE-1, LEDG-2, RED-3 */
#include "../../ref/plan/step_internal.h"
#include "../../spec/acsl/layout_lemmas.h"

#include "../../spec/acsl/layout_good.h"

#include "../../spec/acsl/topology_lemmas.h"

#include "../../spec/acsl/step_tied.h"

/*@ check lemma SentinelTied: \false; */
