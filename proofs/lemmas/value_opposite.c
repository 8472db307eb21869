/* Opposite sums.
 */
#include "../../spec/acsl/value_opposite.h"
