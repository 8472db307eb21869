/* The update with vectors, called by update.c. spec: OPT-3, OPT-4 */
#ifndef ZP_CUDA_OFFLOAD_UPDATE_INTERNAL_H
#define ZP_CUDA_OFFLOAD_UPDATE_INTERNAL_H

#include "update.h"

/* The factor of fp32 sums for the means of RED-4, which are sums divided in fp64, then rounded to
 * fp32: 2^-k if the divisor is 2^k. The quotient is then exact in fp64, so that both have one
 * rounding, that to fp32, also where the result is subnormal. 1 if gradients are means (divisor
 * 0), 0 if the division is required. spec: RED-4 */
static inline float zp_host_inverse(int64_t divisor)
{
  if (divisor == 0) return 1;
  return divisor > 0 && (divisor & (divisor - 1)) == 0 ? 1 / (float)divisor : 0;
}

/* Update, or only round, the whole vectors of elements from … to - 1. Return the first element that
 * is left. */
int64_t zp_host_step_avx2(const zp_host_update *u, int64_t from, int64_t to);
int64_t zp_host_step_avx512(const zp_host_update *u, int64_t from, int64_t to);
int64_t zp_host_round_avx2(const zp_host_update *u, int64_t from, int64_t to);
int64_t zp_host_round_avx512(const zp_host_update *u, int64_t from, int64_t to);

#endif
