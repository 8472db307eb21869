/* The lemmas on shifts that the code uses, proven once, after their steps. */
#include "../../spec/acsl/exact_shift_steps.h"
/* after its steps */
#include "../../spec/acsl/exact_shifts.h"
