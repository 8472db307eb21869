#include "arrays.h"

void clear(int *a, int n)
{
  /*@ loop invariant range: 0 <= i <= n;
      loop invariant zero: \forall integer j; 0 <= j < i ==> a[j] == 0;
      loop assigns i, a[0 .. n - 1];
      loop variant n - i; */
  for (int i = 0; i < n; i++) a[i] = 0;
}

int twice(int x)
{
  return x + x;
}
