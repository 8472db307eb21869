/* Powers of four, proven once: first the lemmas that use no others. */
#include "../../spec/acsl/norm_powers.h"
/* after its steps */
#include "../../spec/acsl/norm_shift_steps.h"
/* after its steps */
#include "../../spec/acsl/norm_shifts.h"
