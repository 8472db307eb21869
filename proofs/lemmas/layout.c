/* The lemmas of spec/acsl/layout_lemmas.h. */
#include "../../ref/plan/layout.h"
#include "../../spec/acsl/layout_lemmas.h"
