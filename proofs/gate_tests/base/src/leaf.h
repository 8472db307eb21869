/* The contract that the project assumes. */
#ifndef LEAF_H
#define LEAF_H
#include "logic.h"

/*@ terminates \true; exits \false;
    assigns \nothing;
    ensures leaf: \result == LeafOf(x); */
int leaf(int x);

#endif
