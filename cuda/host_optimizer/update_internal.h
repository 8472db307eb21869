/* The update with vectors, called by update.c. spec: OPT-3, OPT-4 */
#ifndef ZP_CUDA_OFFLOAD_UPDATE_INTERNAL_H
#define ZP_CUDA_OFFLOAD_UPDATE_INTERNAL_H

#include "update.h"

/* Update, or only round, the whole vectors of elements from … to - 1. Return the first element that
 * is left. */
int64_t zp_host_step_avx2(const zp_host_update *u, int64_t from, int64_t to);
int64_t zp_host_step_avx512(const zp_host_update *u, int64_t from, int64_t to);
int64_t zp_host_round_avx2(const zp_host_update *u, int64_t from, int64_t to);
int64_t zp_host_round_avx512(const zp_host_update *u, int64_t from, int64_t to);

#endif
