/* Rounding a root, proven once, after its steps. */
#include "../../spec/acsl/norm_round_steps.h"
/* after its steps */
#include "../../spec/acsl/norm_round.h"
