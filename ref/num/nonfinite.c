#include "nonfinite.h"

int64_t zp_nonfinite_f32(const uint32_t *x, int64_t n)
{
  int64_t count = 0;
  /*@ loop invariant i_range: 0 <= i <= n;
      loop invariant count: count == CountNonFinite32(x, i) && 0 <= count <= i;
      loop assigns i, count;
      loop variant n - i; */
  for (int64_t i = 0; i < n; i++) count += x[i] / 8388608u % 256u == 255u ? 1 : 0;
  return count;
}

int64_t zp_nonfinite_bf16(const uint16_t *x, int64_t n)
{
  int64_t count = 0;
  /*@ loop invariant i_range: 0 <= i <= n;
      loop invariant count: count == CountNonFiniteB16(x, i) && 0 <= count <= i;
      loop assigns i, count;
      loop variant n - i; */
  for (int64_t i = 0; i < n; i++) count += x[i] / 128u % 256u == 255u ? 1 : 0;
  return count;
}

int64_t zp_nonfinite_f16(const uint16_t *x, int64_t n)
{
  int64_t count = 0;
  /*@ loop invariant i_range: 0 <= i <= n;
      loop invariant count: count == CountNonFiniteF16(x, i) && 0 <= count <= i;
      loop assigns i, count;
      loop variant n - i; */
  for (int64_t i = 0; i < n; i++) count += x[i] / 1024u % 32u == 31u ? 1 : 0;
  return count;
}
