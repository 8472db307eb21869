/* The lemmas of spec/acsl/ledger.h. */
#include "../../ref/plan/program.h"
