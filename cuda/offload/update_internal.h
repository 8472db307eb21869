/* What update.c calls. spec: OPT-3, OPT-4 */
#ifndef ZP_CUDA_OFFLOAD_UPDATE_INTERNAL_H
#define ZP_CUDA_OFFLOAD_UPDATE_INTERNAL_H

#include "update.h"

/* Update, or only round, whole vectors of the elements from … to - 1; return where they stopped. */
int64_t zp_host_step_avx2(const zp_host_update *u, int64_t from, int64_t to);
int64_t zp_host_step_avx512(const zp_host_update *u, int64_t from, int64_t to);
int64_t zp_host_round_avx2(const zp_host_update *u, int64_t from, int64_t to);
int64_t zp_host_round_avx512(const zp_host_update *u, int64_t from, int64_t to);

#endif
