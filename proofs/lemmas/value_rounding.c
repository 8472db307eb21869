/* Rounding of a quotient to nearest, ties to even, and its pattern.
 */
#include "../../spec/acsl/value_round_steps.h"
/* after its steps */
#include "../../spec/acsl/value_half_steps.h"
/* after its steps */
#include "../../spec/acsl/value_rounding.h"
