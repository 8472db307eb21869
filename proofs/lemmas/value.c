/* The lemmas of exact signed sums and their mean, proven once: first the steps that the code does
 * not see. The units that use the lemmas run with -wp-prop=-@lemma.
 */
#include "../../spec/acsl/value_steps.h"
/* after its steps */
#include "../../spec/acsl/value.h"
