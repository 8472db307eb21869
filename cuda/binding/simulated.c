#include "simulated.h"

#include <cuda_runtime_api.h>
#include <stdio.h>

#include "../engine_cases/ranks.h"

/* The program that is simulated, as the only rank. */
typedef struct simulated {
  int (*program)(void *);
  void *ctx;
  int engines;
} simulated;

static simulated *now;

static int run_program(void *ctx, int32_t rank)
{
  const simulated *p = ctx;
  (void)rank;
  (void)p->program(p->ctx);
  return 0;
}

const char *zp_simulated_run(int (*program)(void *), void *ctx, uint64_t seed, int64_t device_bytes,
                             uint32_t stack_bytes)
{
  static char text[1000], found[1000 + sizeof "simdev: "];
  simulated p = {program, ctx, 0};
  const zp_simdev_ranks ranks = {.ranks = 1,
                                 .options = {.seed = seed,
                                             .order = (simdev_order)(seed % 4),
                                             .device_bytes = (uint64_t)device_bytes,
                                             .stack_bytes = stack_bytes},
                                 .program = run_program,
                                 .ctx = &p};
  if (now) return "a simulation within a simulation";
  now = &p;
  const simdev_status status = zp_simdev_ranks_run(&ranks, text, sizeof text);
  now = NULL;
  if (status == SIMDEV_OK) return NULL;
  snprintf(found, sizeof found, "simdev: %s", text);
  return found;
}

int zp_simulated_create(zp_engine **out, const zp_engine_options *options, zp_error *err)
{
  *out = NULL;
  if (!now || now->engines++)
    return zp_fail(err, ZP_E_REFUSED, -1, "%s",
                   now ? "a simulation has one engine: run another one"
                       : "no simulation runs: call within zeroproof.torch.simulated");
  return zp_simdev_ranks_create(out, options, err);
}

/* ---- Memory ---------------------------------------------------------------------------------- */

void *zp_simulated_alloc(size_t bytes)
{
  void *p = NULL;
  return cudaMalloc(&p, bytes ? bytes : 1) == cudaSuccess ? p : NULL;
}

int zp_simulated_free(void *p)
{
  return (int)cudaFree(p);
}

int zp_simulated_copy(void *to, const void *from, size_t bytes, int from_device)
{
  if (bytes == 0) return 0;
  return (int)cudaMemcpy(to, from, bytes,
                         from_device ? cudaMemcpyDeviceToHost : cudaMemcpyHostToDevice);
}

int zp_simulated_wait(void)
{
  return (int)cudaStreamSynchronize(NULL);
}
