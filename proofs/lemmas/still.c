/* A layout stays the layout of its stage while other memory is written. PART-1 */
#include "../../ref/plan/program.h"

#include "../../spec/acsl/layout_same.h"

#include "../../spec/acsl/layout_frame.h"

#include "../../spec/acsl/layout_good.h"

#include "../../spec/acsl/still_lemmas.h"

/*@ check lemma SentinelStill: \false; */
