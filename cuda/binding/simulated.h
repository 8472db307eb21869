/* The CUDA engine for one rank on simdev, for languages that call C: ref/binding/binding.h and the
 * functions of engine.h, called from within zp_simulated_run. */
#ifndef ZP_CUDA_BINDING_SIMULATED_H
#define ZP_CUDA_BINDING_SIMULATED_H

#include <stddef.h>
#include <stdint.h>

#include "../../ref/engine/engine.h"

/* Runs program(ctx) as the one host of a simulation with one device, whose memory, of device_bytes,
 * the host may read where no queued work writes it. seed: of the order in which queued work runs.
 * The program makes at most one engine. stack_bytes: of the program. Returns NULL, or what simdev
 * has found, such as an access out of bounds, a race or a leak: valid until the next call. */
const char *zp_simulated_run(int (*program)(void *), void *ctx, uint64_t seed, int64_t device_bytes,
                             uint32_t stack_bytes);

/* zp_engine_create within zp_simulated_run. */
int zp_simulated_create(zp_engine **out, const zp_engine_options *options, zp_error *err);

/* Device memory, copies by cudaMemcpy (from the device: 1; to it: 0), and a wait for the legacy
 * default stream. 0, or a CUDA error; of zp_simulated_alloc NULL. */
void *zp_simulated_alloc(size_t bytes);
int zp_simulated_free(void *p);
int zp_simulated_copy(void *to, const void *from, size_t bytes, int from_device);
int zp_simulated_wait(void);

#endif
