/* Roundings of roots and of quotients are unique. */
#include "../../spec/acsl/norm_unique_quotient.h"
#include "../../spec/acsl/norm_unique_steps.h"
/* after its steps */
#include "../../spec/acsl/norm_unique.h"
