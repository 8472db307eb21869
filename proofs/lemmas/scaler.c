/* The lemma of spec/acsl/scaler.h. */
#include "../../ref/num/scaler.h"
