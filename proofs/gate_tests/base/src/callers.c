#include "arrays.h"

/*@ requires small: -500 <= x <= 500;
    terminates \true; exits \false;
    assigns \nothing;
    ensures four: \result == 4 * x; */
static int four(int x)
{
  return twice(twice(x));
}

/*@ requires small: -500 <= x <= 500;
    terminates \true; exits \false;
    assigns \nothing;
    ensures leaf: \result == LeafOf(4 * x); */
int leaf_of_four(int x)
{
  return leaf(four(x));
}
