/* Communicators for the tests of simdev's NCCL. */
#ifndef ZP_TESTS_SIMDEV_COMM_CASE_H
#define ZP_TESTS_SIMDEV_COMM_CASE_H
#include "case.h"

/* Polls until the communicator's operation is enqueued. */
static inline int settle(ncclResult_t e, ncclComm_t comm)
{
  while (e == ncclInProgress)
    if (ncclCommGetAsyncError(comm, &e) != ncclSuccess) return -1;
  return (int)e;
}

/* Made before all runs, as a launcher's process would. */
static ncclUniqueId world_id;

__attribute__((constructor)) static void make_world_id(void)
{
  ncclGetUniqueId(&world_id);
}

/* A member's communicator over all ranks, and a stream. */
typedef struct member {
  ncclComm_t comm;
  cudaStream_t stream;
  int rank, n;
} member;

static inline int open_member(member *m, int rank, int n, int blocking)
{
  ncclConfig_t config = NCCL_CONFIG_INITIALIZER;
  ncclResult_t e;
  config.blocking = blocking;
  config.commName = "world";
  m->rank = rank;
  m->n = n;
  OK(cudaSetDevice(rank));
  OK(make_stream(&m->stream));
  e = ncclCommInitRankConfig(&m->comm, n, world_id, rank, &config);
  IS(blocking ? e == ncclSuccess : e == ncclInProgress);
  return settle(e, m->comm);
}

static inline int end_comm(ncclComm_t comm)
{
  OK(settle(ncclCommFinalize(comm), comm));
  return (int)ncclCommDestroy(comm);
}

static inline int close_member(member *m)
{
  OK(cudaStreamSynchronize(m->stream));
  OK(cudaStreamDestroy(m->stream));
  return end_comm(m->comm);
}

/* Device memory with these bytes, through the member's stream; and back. */
static inline int to_device(void **d, const void *h, size_t bytes, cudaStream_t stream)
{
  OK(cudaMalloc(d, bytes));
  OK(cudaMemcpyAsync(*d, h, bytes, cudaMemcpyHostToDevice, stream));
  return (int)cudaStreamSynchronize(stream);
}

static inline int to_host(void *h, const void *d, size_t bytes, cudaStream_t stream)
{
  OK(cudaMemcpyAsync(h, d, bytes, cudaMemcpyDeviceToHost, stream));
  return (int)cudaStreamSynchronize(stream);
}

#endif
