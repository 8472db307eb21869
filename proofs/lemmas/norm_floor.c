/* Processing digits, proven once, after the steps. */
#include "../../spec/acsl/norm_floor_steps.h"
/* after its steps */
#include "../../spec/acsl/norm_floor.h"
