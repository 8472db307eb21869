#include "launch_cost.h"

#include <cuda_runtime_api.h>
#include <nccl.h>
#include <stdio.h>

#include "../../ref/base/clock.h"
#include "host.h"

enum { COUNT = 1024, WARM = 20, CALLS = 200, DRAIN = 20 };

typedef struct cost {
  ncclComm_t comm;
  cudaStream_t stream;
  float *memory; /* [2 * COUNT] */
} cost;

/* Until NCCL has done what a call began. 0, or NCCL's error. */
static ncclResult_t complete(const cost *c, ncclResult_t status)
{
  while (status == ncclInProgress) {
    ncclResult_t state = ncclInternalError;
    const ncclResult_t asked = ncclCommGetAsyncError(c->comm, &state);
    if (asked != ncclSuccess) return asked;
    status = state;
    if (status == ncclInProgress) zp_gpu_pause();
  }
  return status;
}

static ncclResult_t open_comm(cost *c, zp_job *job, int blocking)
{
  ncclConfig_t config = NCCL_CONFIG_INITIALIZER;
  ncclUniqueId id = {{0}};
  ncclResult_t status = job->rank == 0 ? ncclGetUniqueId(&id) : ncclSuccess;
  config.blocking = blocking;
  if (status != ncclSuccess) return status;
  if (job->world > 1 && zp_job_exchange(job, job->rank, &id, sizeof id)) return ncclSystemError;
  status = ncclCommInitRankConfig(&c->comm, job->world, id, job->rank, &config);
  return complete(c, status);
}

/* Seconds of `calls` calls. The stream is drained now and then: full queues block the host. */
static ncclResult_t call(const cost *c, int calls, double *seconds)
{
  ncclResult_t status = ncclSuccess;
  *seconds = 0;
  for (int i = 0; i < calls && status == ncclSuccess; i++) {
    const double begin = zp_clock_s();
    status = complete(c, ncclAllReduce(c->memory, c->memory + COUNT, COUNT, ncclFloat32, ncclSum,
                                       c->comm, c->stream));
    *seconds += zp_clock_s() - begin;
    if (i % DRAIN == DRAIN - 1 && cudaStreamSynchronize(c->stream)) return ncclUnhandledCudaError;
  }
  return status;
}

static ncclResult_t end(cost *c)
{
  ncclResult_t status = complete(c, ncclCommFinalize(c->comm));
  return status == ncclSuccess ? ncclCommDestroy(c->comm) : status;
}

static int measure(cost *c, zp_job *job, int blocking)
{
  double seconds;
  ncclResult_t status = open_comm(c, job, blocking);
  if (status == ncclSuccess) status = call(c, WARM, &seconds);
  if (status == ncclSuccess) status = call(c, CALLS, &seconds);
  if (status == ncclSuccess) status = end(c);
  if (status != ncclSuccess) {
    fprintf(stderr, "step_bench: launch: %s\n", ncclGetErrorString(status));
    return -1;
  }
  printf("{\"launch\": \"%s\", \"ranks\": %d, \"host_us\": %.2f, \"clock\": \"%s\"}\n",
         blocking ? "blocking" : "non-blocking", (int)job->world, 1e6 * seconds / CALLS,
         zp_gpu_is_simulated() ? "simulated" : "host");
  return fflush(stdout);
}

int zp_launch_cost(zp_job *job)
{
  cost c = {0};
  int bad = cudaStreamCreateWithFlags(&c.stream, cudaStreamNonBlocking) ||
            cudaMalloc((void **)&c.memory, 2 * COUNT * sizeof *c.memory) ||
            cudaMemsetAsync(c.memory, 0, 2 * COUNT * sizeof *c.memory, c.stream);
  for (int blocking = 0; blocking < 2 && !bad; blocking++) bad = measure(&c, job, blocking);
  cudaFree(c.memory);
  if (c.stream) cudaStreamDestroy(c.stream);
  return bad ? -1 : 0;
}
