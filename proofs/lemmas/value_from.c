/* Sums of limbs and of elements: the contribution of one limb, frames.
 */
#include "../../spec/acsl/value_from_steps.h"
/* after its steps */
#include "../../spec/acsl/value_from.h"
