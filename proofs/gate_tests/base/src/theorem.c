#include "arrays.h"

/* Two calls with equal arguments agree. */
/*@ requires small: -1000 <= x <= 1000 && -1000 <= y <= 1000;
    terminates \true; exits \false;
    assigns \nothing;
    ensures equal: x == y ==> \result == 0;
    check ensures control: \result == 0; */
int apart(int x, int y)
{
  return twice(x) - twice(y);
}
