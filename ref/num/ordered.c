#include "ordered.h"

void zp_ordered_add_f32(float *acc, const float *x, int64_t n)
{
  /*@ loop invariant i_range: 0 <= i <= n;
      loop assigns i, acc[0 .. n - 1];
      loop variant n - i; */
  for (int64_t i = 0; i < n; i++) acc[i] = acc[i] + x[i];
}
