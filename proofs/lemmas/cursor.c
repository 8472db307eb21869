/* The lemmas of spec/acsl/cursor.h, each proven once. */
#include "../../ref/engine/cursor.h"
