/* A reduction that waits for one of two producers, found: by a wrong sum under some seed and, when
 * this file is built with -fsanitize=thread, by a report under the first.
 *   two_producers [fixed]
 * Exit code: 0 nothing was found, 1 something was. */
#include <nccl.h>
#include <simdev.h>
#include <stdio.h>
#include <string.h>

enum { RANKS = 3, HALF = 64, N = 2 * HALF, SEEDS = 1000 };

typedef struct gradient {
  float *to;
  float value;
} gradient;

/* One thread's work: the kernel as a C function. */
static void produce(const void *params, simdev_thread t, void *shared, int phase)
{
  const gradient *g = params;
  const unsigned i = t.blockIdx[0] * t.blockDim[0] + t.threadIdx[0];
  (void)shared, (void)phase;
  if (i < HALF) g->to[i] = g->value;
}

static const simdev_kernel produce_kernel = {"produce", sizeof(gradient), 1, produce};

typedef struct job {
  ncclUniqueId id;
  int waits_for_both;
} job;

#define TRY(call)                                                                                  \
  do {                                                                                             \
    if ((call) != 0) return __LINE__;                                                              \
  } while (0)

/* What would be main() of each process. Result: 0, or the line where something is wrong. */
static int train(void *arg, int rank)
{
  const job *j = arg;
  cudaStream_t producer[2], reduction;
  cudaEvent_t ready[2];
  ncclComm_t comm;
  float *bucket, sum[N];
  TRY(cudaSetDevice(rank));
  TRY(ncclCommInitRank(&comm, RANKS, j->id, rank));
  TRY(cudaMalloc((void **)&bucket, sizeof sum));
  TRY(cudaStreamCreateWithFlags(&reduction, cudaStreamNonBlocking));
  for (int k = 0; k < 2; k++) {
    gradient g = {bucket + k * HALF, (float)(k + 1)};
    void *args[] = {&g};
    TRY(cudaStreamCreateWithFlags(&producer[k], cudaStreamNonBlocking));
    TRY(cudaEventCreateWithFlags(&ready[k], cudaEventDisableTiming));
    TRY(cudaLaunchKernel(&produce_kernel, (dim3){2, 1, 1}, (dim3){32, 1, 1}, args, 0, producer[k]));
    TRY(cudaEventRecord(ready[k], producer[k]));
  }
  TRY(cudaStreamWaitEvent(reduction, ready[0], 0));
  if (j->waits_for_both) TRY(cudaStreamWaitEvent(reduction, ready[1], 0));
  TRY(ncclAllReduce(bucket, bucket, N, ncclFloat, ncclSum, comm, reduction));
  TRY(cudaMemcpyAsync(sum, bucket, sizeof sum, cudaMemcpyDeviceToHost, reduction));
  TRY(cudaDeviceSynchronize());
  for (int k = 0; k < 2; k++) {
    TRY(cudaStreamDestroy(producer[k]));
    TRY(cudaEventDestroy(ready[k]));
  }
  TRY(cudaStreamDestroy(reduction));
  TRY(cudaFree(bucket));
  TRY(ncclCommDestroy(comm));
  for (int i = 0; i < N; i++) TRY(sum[i] != RANKS * (1 + i / HALF));
  return 0;
}

int main(int argc, char **argv)
{
  job j = {.waits_for_both = argc > 1 && strcmp(argv[1], "fixed") == 0};
  const char *why;
  simdev *s = simdev_open(RANKS, RANKS, NULL, &why);
  if (!s) {
    fprintf(stderr, "%s\n", why);
    return 2;
  }
  ncclGetUniqueId(&j.id);
  for (int r = 0; r < RANKS; r++) simdev_host(s, r, train, &j);
  for (uint64_t seed = 1; seed <= SEEDS; seed++) {
    simdev_reset(s, &(simdev_options){.seed = seed});
    if (simdev_run(s) == SIMDEV_OK) continue;
    printf("seed %llu: %s\n", (unsigned long long)seed, simdev_result(s)->text);
    simdev_close(s);
    return 1;
  }
  printf("%d seeds, nothing found\n", SEEDS);
  simdev_close(s);
  return 0;
}
