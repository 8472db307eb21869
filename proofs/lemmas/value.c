/* The lemmas of exact signed sums and their mean, proven once. The units that use them run with -wp-prop=-@lemma. */
#include "../../spec/acsl/value.h"
