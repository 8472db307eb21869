/* The lemmas of exact sums, proven once: first the steps that the code does not include. The units
 * that use the lemmas run with -wp-prop=-@lemma.
 */
#include "../../spec/acsl/exact_steps.h"
/* after its steps */
#include "../../spec/acsl/exact.acsl.h"
#include "../../spec/acsl/exact_pairs.h"
