/* A replacement for NCCL that neither transfers data nor blocks, for calls that simdev lacks.
 * All ranks are in one process, which makes the calls of one rank after the other. */
#include <nccl.h>
#include <stdlib.h>
#include <string.h>

struct ncclComm {
  const struct ncclComm *from; /* members of one communicator agree in from, how and size */
  int how, size, comm_rank, splits, device;
  struct ncclComm *next;
};

static ncclComm_t all;
/* Handles that are written when the group ends, or by ncclCommGetAsyncError. */
static struct {
  ncclComm_t *to, comm;
} later[16];
static int n_later, depth;
int nccl_fake_device = -1; /* set by cudaSetDevice; -1: ncclCommCuDevice fails */

static ncclResult_t make(ncclComm_t *comm, int size, int comm_rank, ncclComm_t from, int how)
{
  ncclComm_t c = calloc(1, sizeof *c);
  if (c == NULL) return ncclSystemError;
  *c = (struct ncclComm){from, how, size, comm_rank, 0, nccl_fake_device, all};
  *comm = all = c;
  return ncclSuccess;
}

static ncclResult_t make_later(ncclComm_t *to, int size, int comm_rank, int how,
                               ncclResult_t result)
{
  if (n_later == 16) return ncclSystemError;
  later[n_later].to = to;
  *to = NULL;
  return make(&later[n_later++].comm, size, comm_rank, NULL, how) == ncclSuccess ? result
                                                                                 : ncclSystemError;
}

static void write_handles(void)
{
  while (n_later > 0) {
    n_later--;
    *later[n_later].to = later[n_later].comm;
  }
}

ncclResult_t ncclCommInitRankScalable(ncclComm_t *comm, int n, int rank, int ids, ncclUniqueId *id,
                                      ncclConfig_t *config)
{
  (void)ids, (void)id, (void)config;
  return depth == 0 ? make(comm, n, rank, NULL, 0) : make_later(comm, n, rank, 0, ncclSuccess);
}

ncclResult_t ncclCommInitAll(ncclComm_t *comm, int n, const int *devices)
{
  (void)devices;
  for (int i = 0; i < n; i++) (void)make(&comm[i], n, i, NULL, 0);
  return ncclSuccess;
}

/* Size 0: members are counted by ncclCommCount, when all of them have been created. */
ncclResult_t ncclCommSplit(ncclComm_t comm, int color, int key, ncclComm_t *child,
                           ncclConfig_t *config)
{
  (void)key;
  const int how = 1000 * ++comm->splits + color;
  *child = NULL;
  if (config != NULL && !config->blocking)
    return make_later(child, 0, comm->comm_rank, how, ncclInProgress);
  return color == NCCL_SPLIT_NOCOLOR ? ncclSuccess : make(child, 0, comm->comm_rank, NULL, how);
}

ncclResult_t ncclCommShrink(ncclComm_t comm, int *without, int n, ncclComm_t *child,
                            ncclConfig_t *config, int flags)
{
  (void)config, (void)flags;
  int before = 0;
  for (int i = 0; i < n; i++) before += without[i] < comm->comm_rank;
  return make(child, comm->size - n, comm->comm_rank - before, NULL, 0);
}

ncclResult_t ncclCommGrow(ncclComm_t comm, int n, const ncclUniqueId *id, int rank,
                          ncclComm_t *child, ncclConfig_t *config)
{
  (void)id, (void)config;
  return make(child, n, comm ? comm->comm_rank : rank, NULL, 0);
}

ncclResult_t ncclCommCount(const ncclComm_t comm, int *count)
{
  *count = comm->size;
  if (comm->size > 0) return ncclSuccess;
  for (ncclComm_t c = all; c != NULL; c = c->next) *count += c->how == comm->how;
  return ncclSuccess;
}

ncclResult_t ncclCommCuDevice(const ncclComm_t comm, int *device)
{
  *device = comm->device;
  return comm->device < 0 ? ncclInvalidUsage : ncclSuccess;
}

ncclResult_t ncclCommUserRank(const ncclComm_t comm, int *rank)
{
  *rank = comm->comm_rank;
  if (comm->size > 0) return ncclSuccess;
  *rank = 0;
  for (ncclComm_t c = all; c != NULL; c = c->next)
    *rank += c->how == comm->how && c->comm_rank < comm->comm_rank;
  return ncclSuccess;
}

ncclResult_t ncclGroupStart(void)
{
  depth++;
  return ncclSuccess;
}

ncclResult_t ncclGroupEnd(void)
{
  if (--depth == 0) write_handles();
  return ncclSuccess;
}

ncclResult_t ncclGroupSimulateEnd(ncclSimInfo_t *info)
{
  (void)info;
  return ncclGroupEnd();
}

ncclResult_t ncclCommGetAsyncError(ncclComm_t comm, ncclResult_t *state)
{
  (void)comm;
  *state = n_later > 0 ? ncclInProgress : ncclSuccess;
  write_handles();
  return ncclSuccess;
}

#define NOTHING(name, ...)                                                                         \
  ncclResult_t name(__VA_ARGS__)                                                                   \
  {                                                                                                \
    return ncclSuccess;                                                                            \
  }
#if defined __GNUC__
#pragma GCC diagnostic ignored "-Wunused-parameter"
#endif
NOTHING(ncclCommDestroy, ncclComm_t c)
NOTHING(ncclCommAbort, ncclComm_t c)
NOTHING(ncclAllReduce, const void *s, void *r, size_t n, ncclDataType_t t, ncclRedOp_t o,
        ncclComm_t c, cudaStream_t st)
NOTHING(ncclAlltoAll, const void *s, void *r, size_t n, ncclDataType_t t, ncclComm_t c,
        cudaStream_t st)
NOTHING(ncclGather, const void *s, void *r, size_t n, ncclDataType_t t, int root, ncclComm_t c,
        cudaStream_t st)
NOTHING(ncclScatter, const void *s, void *r, size_t n, ncclDataType_t t, int root, ncclComm_t c,
        cudaStream_t st)
