/* Sums of limbs and of elements: what one limb adds, frames.
 */
#include "../../spec/acsl/value_from_steps.h"
/* after its steps */
#include "../../spec/acsl/value_from.h"
