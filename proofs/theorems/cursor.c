/* Family 8: what an executor takes from its cursor, whatever it calls, in whatever order. */
#include "../../ref/engine/cursor.h"

//@ check lemma sentinel: \false;
