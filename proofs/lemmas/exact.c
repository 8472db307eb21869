/* The lemmas of exact sums, proven once. The units that use them run with -wp-prop=-@lemma. */
#include "../../spec/acsl/exact.acsl.h"

//@ check lemma Exact_Sentinel: \false;
