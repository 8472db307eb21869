/* The lemmas of spec/acsl/composition_once.h. STAT-2, TIE-2 */
#include "../../ref/plan/program.h"

#include "../../spec/acsl/topology_lemmas.h"

#include "../../spec/acsl/layout_lemmas.h"

#include "../../spec/acsl/layout_good.h"

#include "../../spec/acsl/composition.h"

#include "../../spec/acsl/composition_once.h"

/*@ check lemma sentinel_once: \false;
    check lemma Control_Twice{L}: \forall zp_config *c, integer i, j, key; Valid(c) && 0 <= key &&
      WithKey(c, i, key) && WithKey(c, j, key) && StageOf(c, key, 0) == c->params[i].stage &&
      StageOf(c, key, 0) == c->params[j].stage ==> i == j; */
