/* Carried limbs are unique.
 */
#include "../../spec/acsl/value_unique_steps.h"
/* after its steps */
#include "../../spec/acsl/value_unique.h"
