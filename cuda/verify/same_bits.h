/* Compares results of two machines: bit for bit, except that all NaN results are equal. spec:
 * NUM-4 */
#ifndef ZP_CUDA_VERIFY_SAME_H
#define ZP_CUDA_VERIFY_SAME_H
#include <stdint.h>

#include "../../ref/plan/dtype.h"

/* An element for comparison: all quiet NaNs are equal; signalling ones differ, as operations do not
 * return them. dtype: ZP_F32, ZP_BF16, ZP_F16. spec: NUM-4 */
static inline uint32_t zp_as_compared(int32_t dtype, uint32_t bits)
{
  const uint32_t magnitudes = dtype == ZP_F32 ? 0x7fffffffu : 0x7fffu;
  const uint32_t least = dtype == ZP_F32 ? 0x7fc00000u : dtype == ZP_BF16 ? 0x7fc0u : 0x7e00u;
  return (bits & magnitudes) >= least ? magnitudes : bits;
}

static inline uint32_t zp_bits_at(int32_t dtype, const void *x, int64_t i)
{
  return dtype == ZP_F32 ? ((const uint32_t *)x)[i] : ((const uint16_t *)x)[i];
}

/* The first of n results that differs; -1: all are equal. */
static inline int64_t zp_first_difference(int32_t dtype, const void *a, const void *b, int64_t n)
{
  for (int64_t i = 0; i < n; i++)
    if (zp_as_compared(dtype, zp_bits_at(dtype, a, i)) !=
        zp_as_compared(dtype, zp_bits_at(dtype, b, i)))
      return i;
  return -1;
}

#endif
