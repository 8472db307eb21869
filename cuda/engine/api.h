/* zp_engine_create for a simulation: what the public options (ref/engine/engine.h) leave to the
 * system. */
#ifndef ZP_CUDA_ENGINE_API_H
#define ZP_CUDA_ENGINE_API_H

#include "../../ref/engine/engine.h"
#include "engine.h"

/* As in zp_cuda_options. */
typedef struct zp_cuda_host {
  uint64_t (*now_ns)(void);
  void (*pause)(void);
  const zp_cuda_threads *threads;
  zp_cuda_host_channel host_channel;
  zp_cuda_intercept intercept;
} zp_cuda_host;

/* host: NULL: the system's. */
int zp_engine_create_on(zp_engine **out, const zp_engine_options *options, const zp_cuda_host *host,
                        zp_error *err);

#endif
