/* The lemmas of spec/acsl/aligned.h, and a false one that must stay unproved. */
#include "../../ref/plan/layout.h"

#include "../../spec/acsl/aligned.h"

/*@ check lemma sentinel_aligned{L}: \forall zp_config *c, integer e, j, a;
      0 < a && j < e && c->params[j].frozen == 0 ==> Multiple(StartOf(c, e, j), a); */
