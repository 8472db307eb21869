/* The lemmas of the rounded square root, proven once. The units that use them run with -wp-prop=-@lemma. */
#include "../../spec/acsl/norm.h"
