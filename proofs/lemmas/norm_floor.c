/* Taking digits, proven once, after their steps. */
#include "../../spec/acsl/norm_floor_steps.h"
/* after its steps */
#include "../../spec/acsl/norm_floor.h"
