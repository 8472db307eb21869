/* Powers of two and the range of a pattern's value, proven once: first the steps that the code does
 * not include.
 */
#include "../../spec/acsl/value_shifts.h"
/* after its steps */
#include "../../spec/acsl/value_powers.h"
#include "../../spec/acsl/value_range_steps.h"
/* after its steps */
#include "../../spec/acsl/value_range.h"
