/* Powers of four, proven once: first those that need no other. */
#include "../../spec/acsl/norm_powers.h"
/* after its steps */
#include "../../spec/acsl/norm_shift_steps.h"
/* after its steps */
#include "../../spec/acsl/norm_shifts.h"
