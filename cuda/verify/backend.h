/* The CUDA engine as a backend (ref/verify/backend.h). */
#ifndef ZP_CUDA_VERIFY_BACKEND_H
#define ZP_CUDA_VERIFY_BACKEND_H

#include "../../ref/verify/backend.h"

extern const zp_backend zp_backend_cuda;

/* Its options. */
enum {
  ZP_CUDA_OPTION_ORDER,
  ZP_CUDA_OPTION_PRODUCERS,
  ZP_CUDA_OPTION_ARRIVAL,
  ZP_CUDA_OPTION_SUMS,
  ZP_CUDA_OPTION_OFFLOAD,
  ZP_CUDA_OPTION_GRADIENTS,
  ZP_CUDA_OPTION_SLOTS,
  ZP_CUDA_OPTION_GATHERS,
  ZP_CUDA_OPTION_EARLY,
  ZP_CUDA_OPTION_PLACE
};

/* Runs a case in c->schedules orders (at least one) from c->schedule on, to the first failure. */
void zp_cuda_run_case(const zp_case *c, const struct zp_fault *fault, zp_verdict *v);

/* Trains with ref and with the engine. 0, or a negative status in *err. */
int zp_cuda_train(const zp_backend_training *job, zp_error *err);

/* Runs all ranks for an observer (observe.c). 0, or a negative status in *err. */
int zp_cuda_observe(const zp_observed_run *run, zp_error *err);

#endif
