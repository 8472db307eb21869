/* The lemmas of spec/acsl/config.h and spec/acsl/config_lemmas.h. LIM-1 … LIM-9 */
#include "../../ref/plan/config.h"

#include "../../spec/acsl/config_lemmas.h"

/*@ check lemma sentinel_config: \false; */
