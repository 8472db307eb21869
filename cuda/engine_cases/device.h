/* Memory and streams of a random rank, from CUDA's runtime. */
#ifndef ZP_CUDA_ENGINE_CASES_DEVICE_H
#define ZP_CUDA_ENGINE_CASES_DEVICE_H

#include "../../ref/engine_cases/rank_device.h"

extern const zp_rank_device zp_cuda_rank_device;

/* Loads its kernel before it is used. 0, or an error. spec: STRM-7 */
int zp_cuda_rank_device_load(void);

#endif
