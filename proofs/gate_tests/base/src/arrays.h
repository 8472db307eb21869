#ifndef ARRAYS_H
#define ARRAYS_H
#include "leaf.h"

/*@ requires small: 0 <= n <= 1000;
    requires array: \valid(a + (0 .. n - 1));
    terminates \true; exits \false;
    assigns a[0 .. n - 1];
    ensures zero: \forall integer i; 0 <= i < n ==> a[i] == 0;
    ensures sum: Sum(a, n) == 0; */
void clear(int *a, int n);

/*@ requires small: -1000 <= x <= 1000;
    terminates \true; exits \false;
    assigns \nothing;
    ensures twice: \result == 2 * x; */
int twice(int x);

#endif
