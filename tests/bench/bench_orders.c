/* Measures orders per second of a program like a training step: 3 ranks, 3 buckets, 2 slots, 2
 * producer streams, 2 steps, run under one seed after the other. bench_orders RUNS prints runs,
 * distinct orders and rates of processor time */
#define _POSIX_C_SOURCE 200809L
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "../cuda/simdev/comm_case.h"

enum {
  R = 3,
  BUCKETS = 3,
  SLOTS = 2,
  PRODUCERS = 2,
  STEPS = 2,
  MICRO = 2,
  PART = 10,
  LEN = PART * R
};

typedef struct step {
  member m;
  cudaStream_t producer[PRODUCERS], copy;
  cudaEvent_t filled[SLOTS][PRODUCERS], reduced[SLOTS], gathered[BUCKETS], end;
  int32_t *slot[SLOTS], *shard[BUCKETS], *param[BUCKETS], *host;
  int used;
} step;

static int open_step(step *t, int rank)
{
  OK(open_member(&t->m, rank, R, 0));
  OK(make_stream(&t->copy));
  OK(make_event(&t->end));
  OK(cudaMallocHost((void **)&t->host, BUCKETS * LEN * sizeof(int32_t)));
  for (int k = 0; k < PRODUCERS; k++) OK(make_stream(&t->producer[k]));
  for (int i = 0; i < SLOTS; i++) {
    for (int k = 0; k < PRODUCERS; k++) OK(make_event(&t->filled[i][k]));
    OK(make_event(&t->reduced[i]));
    OK(cudaMalloc((void **)&t->slot[i], LEN * sizeof(int32_t)));
  }
  for (int b = 0; b < BUCKETS; b++) {
    OK(make_event(&t->gathered[b]));
    OK(cudaMalloc((void **)&t->shard[b], PART * sizeof(int32_t)));
    OK(cudaMalloc((void **)&t->param[b], LEN * sizeof(int32_t)));
    OK(cudaMemsetAsync(t->param[b], 0, LEN * sizeof(int32_t), t->copy));
    OK(cudaEventRecord(t->gathered[b], t->copy));
  }
  t->used = 0;
  return 0;
}

static int close_step(step *t)
{
  OK(cudaStreamDestroy(t->copy));
  OK(cudaEventDestroy(t->end));
  OK(cudaFreeHost(t->host));
  for (int k = 0; k < PRODUCERS; k++) OK(cudaStreamDestroy(t->producer[k]));
  for (int i = 0; i < SLOTS; i++) {
    for (int k = 0; k < PRODUCERS; k++) OK(cudaEventDestroy(t->filled[i][k]));
    OK(cudaEventDestroy(t->reduced[i]));
    OK(cudaFree(t->slot[i]));
  }
  for (int b = 0; b < BUCKETS; b++) {
    OK(cudaEventDestroy(t->gathered[b]));
    OK(cudaFree(t->shard[b]));
    OK(cudaFree(t->param[b]));
  }
  return close_member(&t->m);
}

static int reduce_bucket(step *t, int b, int add)
{
  const int i = t->used++ % SLOTS, mine = t->m.rank * PART;
  for (int k = 0; k < PRODUCERS; k++) {
    const int from = k * LEN / PRODUCERS;
    if (t->used > SLOTS) OK(cudaStreamWaitEvent(t->producer[k], t->reduced[i], 0));
    OK(cudaStreamWaitEvent(t->producer[k], t->gathered[b], 0));
    OK(launch_vector(&copy_kernel,
                     (vector){t->slot[i] + from, t->param[b] + from, LEN / PRODUCERS, add},
                     t->producer[k]));
    OK(cudaEventRecord(t->filled[i][k], t->producer[k]));
    OK(cudaStreamWaitEvent(t->m.stream, t->filled[i][k], 0));
  }
  OK(settle(ncclReduceScatter(t->slot[i], t->slot[i] + mine, PART, ncclInt32, ncclSum, t->m.comm,
                              t->m.stream),
            t->m.comm));
  OK(launch_vector(&copy_kernel, (vector){t->shard[b], t->slot[i] + mine, PART, 1}, t->m.stream));
  return (int)cudaEventRecord(t->reduced[i], t->m.stream);
}

static int gather_bucket(step *t, int b)
{
  OK(settle(ncclAllGather(t->shard[b], t->param[b], PART, ncclInt32, t->m.comm, t->m.stream),
            t->m.comm));
  OK(cudaEventRecord(t->gathered[b], t->m.stream));
  OK(cudaStreamWaitEvent(t->copy, t->gathered[b], 0));
  return (int)cudaMemcpyAsync(t->host + b * LEN, t->param[b], LEN * sizeof(int32_t),
                              cudaMemcpyDeviceToHost, t->copy);
}

static int train(void *arg, int rank)
{
  cudaError_t e = cudaSuccess;
  step t;
  (void)arg;
  OK(open_step(&t, rank));
  for (int s = 0; s < STEPS; s++) {
    for (int mb = 0; mb < MICRO; mb++)
      for (int b = 0; b < BUCKETS; b++) OK(reduce_bucket(&t, b, rank + mb));
    for (int b = 0; b < BUCKETS; b++) OK(gather_bucket(&t, b));
    OK(cudaEventRecord(t.end, t.copy));
    /* The copies have ended when the next step's all-gathers write what they read. */
    while ((e = cudaEventQuery(t.end)) == cudaErrorNotReady) {
    }
    OK(e);
  }
  return close_step(&t);
}

static int compare(const void *a, const void *b)
{
  const uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
  return x < y ? -1 : x > y;
}

int main(int argc, char **argv)
{
  const int runs = argc > 1 ? atoi(argv[1]) : 1000;
  uint64_t *hash = malloc((size_t)runs * sizeof *hash);
  simdev *s = simdev_open(R, R, NULL, NULL);
  int distinct = runs > 0;
  struct timespec t;
  double seconds;
  if (!hash || !s || runs < 1) return 2;
  for (int r = 0; r < R; r++) simdev_host(s, r, train, NULL);
  for (int k = 0; k < runs; k++) {
    simdev_reset(s, &(simdev_options){.seed = (uint64_t)k + 1});
    if (simdev_run(s) != SIMDEV_OK) {
      printf("seed %d: %s\n", k + 1, simdev_result(s)->text);
      return 1;
    }
    hash[k] = simdev_result(s)->order_hash;
  }
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
  seconds = (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
  qsort(hash, (size_t)runs, sizeof *hash, compare);
  for (int k = 1; k < runs; k++) distinct += hash[k] != hash[k - 1];
  printf("%d runs of %lld items, %d distinct orders; per core %.0f runs a second, %.1f million "
         "distinct orders an hour\n",
         runs, (long long)simdev_result(s)->items, distinct, runs / seconds,
         distinct / seconds * 3600e-6);
  simdev_close(s);
  free(hash);
  return 0;
}
