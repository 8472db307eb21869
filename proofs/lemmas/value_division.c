/* Long division, bit by bit.
 */
#include "../../spec/acsl/value_word_steps.h"
/* after its steps */
#include "../../spec/acsl/value_division.h"
