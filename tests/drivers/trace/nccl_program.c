/* An NCCL program on simdev for the recorder: nccl_program FAULT. Rank 1 of 3 has the fault at
 * the end. */
#include <nccl.h>
#include <simdev.h>
#include <stdio.h>
#include <string.h>

static const char *fault;

static int host(void *id, int rank)
{
  ncclComm_t comm, part;
  float *x = NULL, *y = NULL;
  const int has_fault = rank == 1;
  if (cudaSetDevice(rank) || ncclCommInitRank(&comm, 3, *(ncclUniqueId *)id, rank)) return 1;
  if (ncclCommSplit(comm, rank == 2, rank, &part, NULL)) return 1;
  if (cudaMalloc((void **)&x, 400) || cudaMalloc((void **)&y, 400)) return 1;
  if (cudaMemset(x, 0, 400) || cudaMemset(y, 0, 400)) return 1;
  for (int i = 0; i < 2; i++) {
    ncclAllReduce(x, x, 100, ncclFloat, ncclMax, comm, NULL);
    ncclBroadcast(x, x, 7, ncclInt8, 0, part, NULL);
    ncclGroupStart();
    ncclSend(x, 5, ncclFloat, (rank + 1) % 3, comm, NULL);
    ncclRecv(y, 5, ncclFloat, (rank + 2) % 3, comm, NULL);
    ncclGroupEnd();
  }
  if (has_fault && strcmp(fault, "op") == 0)
    ncclReduce(x, x, 30, ncclFloat, ncclSum, 0, comm, NULL);
  else if (!(has_fault && strcmp(fault, "skip") == 0))
    ncclAllReduce(x, x, has_fault && strcmp(fault, "count") == 0 ? 29 : 30, ncclFloat,
                  has_fault && strcmp(fault, "redop") == 0 ? ncclMin : ncclSum, comm, NULL);
  return cudaDeviceSynchronize() || cudaFree(x) || cudaFree(y) || ncclCommDestroy(part) ||
         ncclCommDestroy(comm);
}

int main(int argc, char **argv)
{
  ncclUniqueId id;
  fault = argc > 1 ? argv[1] : "none";
  simdev *s = simdev_open(3, 3, NULL, NULL);
  if (s == NULL || ncclGetUniqueId(&id)) return 2;
  for (int r = 0; r < 3; r++) simdev_host(s, r, host, &id);
  simdev_reset(s, &(simdev_options){.seed = 3});
  const int bad = simdev_run(s) != SIMDEV_OK;
  if (bad) printf("%s\n", simdev_result(s)->text);
  simdev_close(s);
  return bad;
}
