/* The lemmas of spec/acsl/entry_home.h. PART-2 */
#include "../../ref/plan/layout.h"
#include "../../spec/acsl/layout_lemmas.h"

#include "../../spec/acsl/layout_good.h"

#include "../../spec/acsl/entry_home.h"

/*@ check lemma sentinel_entry_home: \false; */
