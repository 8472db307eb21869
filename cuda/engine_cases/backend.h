/* Random cases through the public functions of the CUDA engine, on a simulated device: a backend of
 * `fuzz` (--engine api-cuda). */
#ifndef ZP_CUDA_ENGINE_CASES_BACKEND_H
#define ZP_CUDA_ENGINE_CASES_BACKEND_H

#include "../../ref/verify/backend.h"

extern const zp_backend zp_backend_api_cuda;

#endif
