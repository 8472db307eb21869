#include "ordered.h"

#include "ieee.h"

void zp_ordered_add_f32(float *acc, const float *x, int64_t n)
{
  /*@ loop invariant i_range: 0 <= i <= n;
      loop invariant sum: \forall integer j; 0 <= j < i ==>
        Bits32(acc[j]) == Add32(\at(Bits32(acc[j]),Pre), Bits32(x[j]));
      loop invariant rest: \forall integer j; i <= j < n ==>
        Bits32(acc[j]) == \at(Bits32(acc[j]),Pre);
      loop assigns i, acc[0 .. n - 1];
      loop variant n - i; */
  for (int64_t i = 0; i < n; i++) acc[i] = zp_add32(acc[i], x[i]);
}

void zp_ordered_mean_f32(float *mean, const float *sum, int64_t divisor, int64_t n)
{
  double by = zp_from_i64(divisor);
  /*@ loop invariant i_range: 0 <= i <= n;
      loop invariant mean: \forall integer j; 0 <= j < i ==>
        Bits32(mean[j]) == OrderedMean(Bits32(sum[j]), divisor);
      loop assigns i, mean[0 .. n - 1];
      loop variant n - i; */
  for (int64_t i = 0; i < n; i++) mean[i] = zp_narrow(zp_div64(zp_widen(sum[i]), by));
}
