/* Carried limbs are unique. */
#include "../../spec/acsl/exact_unique.h"
