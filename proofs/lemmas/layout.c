/* The lemmas about layouts. */
#include "../../ref/plan/layout.h"
#include "../../spec/acsl/layout_lemmas.h"

#include "../../spec/acsl/layout_good.h"

#include "../../spec/acsl/layout_frame.h"
