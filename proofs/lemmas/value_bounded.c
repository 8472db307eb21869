/* Bounds of an element after one more addition.
 */
#include "../../spec/acsl/value_bounded_steps.h"
/* after its steps */
#include "../../spec/acsl/value_bounded.h"
