/* Whether what one machine computed is what another one did: bit for bit, but for which NaN it is.
 * spec: NUM-4 */
#ifndef ZP_TRIAL_SAME_H
#define ZP_TRIAL_SAME_H
#include <stdint.h>

#include "../../ref/plan/dtype.h"

/* An element as it is compared: all quiet NaNs are one, signalling ones are none of them, as no
 * operation gives one. dtype: ZP_F32, ZP_BF16, ZP_F16. spec: NUM-4 */
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

/* The first of n elements, results of operations, that is not the same in both; -1: none. */
static inline int64_t zp_first_difference(int32_t dtype, const void *a, const void *b, int64_t n)
{
  for (int64_t i = 0; i < n; i++)
    if (zp_as_compared(dtype, zp_bits_at(dtype, a, i)) !=
        zp_as_compared(dtype, zp_bits_at(dtype, b, i)))
      return i;
  return -1;
}

#endif
