/* Bounds of an element's limbs by the number of its additions.
 */
#include "../../spec/acsl/value_bound_steps.h"
/* after its steps */
#include "../../spec/acsl/value_bounds.h"
