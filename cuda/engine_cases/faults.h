/* Faults of random calls on the CUDA engine: those of the caller (ref/engine_cases/cases.h), and
 * each wait and record of the engine, left out. */
#ifndef ZP_CUDA_ENGINE_CASES_FAULTS_H
#define ZP_CUDA_ENGINE_CASES_FAULTS_H

#include "../../ref/verify/fault.h"
#include "../engine/intercept.h"

int32_t zp_api_cuda_fault_count(void);
const zp_fault *zp_api_cuda_fault_at(int32_t i);
const zp_fault *zp_api_cuda_fault_find(const char *name);

/* What leaves out the fault's wait or record; empty for another fault, or NULL. */
zp_cuda_intercept zp_api_cuda_fault_intercept(const zp_fault *fault);

#endif
