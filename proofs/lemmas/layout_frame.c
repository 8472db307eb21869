/* The lemmas of spec/acsl/layout_frame.h. */
#include "../../ref/plan/layout.h"
#include "../../spec/acsl/config_lemmas.h"
#include "../../spec/acsl/layout_lemmas.h"

#include "../../spec/acsl/layout_same.h"

#include "../../spec/acsl/layout_frame.h"

/*@ check lemma sentinel_layout_frame: \false; */
