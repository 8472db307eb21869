/* The limits of zp_cuda_options. spec: LIM-0, LIM-10 */
#ifndef ZP_CUDA_OPTIONS_H
#define ZP_CUDA_OPTIONS_H

#include "engine.h"

/* R, at least 1. spec: TOPO-6 */
int32_t zp_cuda_replicas(const zp_cuda_options *o);

/* 0, or a negative status in *err, whose text names the field. */
int zp_cuda_check_options(const zp_cuda_options *o, zp_error *err);

/* Copies o->optims optimizers field by field into zeroed memory: padding travels to kernels, where
 * simdev reads what the caller left in it as an address of another rank. */
void zp_cuda_copy_optims(zp_cuda_options *o, const zp_optim *from);

/* A copy in which unused activations are empty and padding is zero. */
void zp_cuda_copy_options(zp_cuda_options *to, const zp_cuda_options *from, zp_coord at);

#endif
