/* Programs with and without races, built with -fsanitize=thread and started by test_race.c:
 *   race_cases CASE good|bad SEED [WEAKEN]
 * ThreadSanitizer and simdev report on stderr. Exit code: 0; 1 a race in each of two runs; 3
 * anything else. */
#include <cuda.h>
#include <stdio.h>
#include <stdlib.h>

#include "../../cuda/simdev/comm_case.h"

static int bad; /* the case with its mistake */

enum { BYTES = N * (int)sizeof(int32_t) };

typedef struct bench {
  member m;
  cudaStream_t a, b, c;
  cudaEvent_t e, f;
  int32_t *x, *y, *pinned;
} bench;

static int open_bench(bench *t)
{
  OK(make_stream(&t->a));
  OK(make_stream(&t->b));
  OK(make_stream(&t->c));
  OK(make_event(&t->e));
  OK(make_event(&t->f));
  OK(make_vector(&t->x));
  OK(make_vector(&t->y));
  OK(cudaMallocHost((void **)&t->pinned, BYTES));
  return 0;
}

static int close_bench(bench *t)
{
  OK(cudaDeviceSynchronize());
  OK(cudaStreamDestroy(t->a));
  OK(cudaStreamDestroy(t->b));
  OK(cudaStreamDestroy(t->c));
  OK(cudaEventDestroy(t->e));
  OK(cudaEventDestroy(t->f));
  OK(cudaFree(t->x));
  OK(cudaFree(t->y));
  return (int)cudaFreeHost(t->pinned);
}

/* ---- Words ----------------------------------------------------------------------------------- */

/* A host may read a word that a stream writes, atomically; a plain access has to be ordered. */
static int word(void *arg, int rank)
{
  bench t;
  uint32_t *w;
  (void)arg;
  OK(cudaSetDevice(rank));
  OK(open_bench(&t));
  OK(cudaMallocHost((void **)&w, sizeof *w));
  *w = 0;
  OK(cuStreamWriteValue32((CUstream)t.a, (CUdeviceptr)(uintptr_t)w, 1, 0));
  if (bad) OK(launch_vector(&fill_kernel, (vector){(int32_t *)w, NULL, 1, 1}, t.b));
  else IS(__atomic_load_n(w, __ATOMIC_ACQUIRE) <= 1);
  OK(close_bench(&t));
  IS(*w == 1);
  return (int)cudaFreeHost(w);
}

/* ---- Streams --------------------------------------------------------------------------------- */

/* Report 2: two producers fill a bucket; the reader must wait for both. */
static int producers(void *arg, int rank)
{
  bench t;
  (void)arg, (void)rank;
  OK(open_bench(&t));
  OK(launch_vector(&fill_kernel, (vector){t.x, NULL, N / 2, 1}, t.a));
  OK(launch_vector(&fill_kernel, (vector){t.x + N / 2, NULL, N / 2, 1}, t.b));
  OK(cudaEventRecord(t.e, t.a));
  OK(cudaEventRecord(t.f, t.b));
  OK(cudaStreamWaitEvent(t.c, t.e, 0));
  if (!bad) OK(cudaStreamWaitEvent(t.c, t.f, 0));
  OK(copy_add(t.y, t.x, 0, t.c));
  return close_bench(&t);
}

/* Refilled while it is read. */
static int refill(void *arg, int rank)
{
  bench t;
  (void)arg, (void)rank;
  OK(open_bench(&t));
  OK(fill(t.x, 1, t.a));
  OK(cudaEventRecord(t.e, t.a));
  OK(cudaStreamWaitEvent(t.b, t.e, 0));
  OK(copy_add(t.y, t.x, 0, t.b));
  OK(cudaEventRecord(t.f, t.b));
  if (!bad) OK(cudaStreamWaitEvent(t.a, t.f, 0));
  OK(fill(t.x, 2, t.a));
  return close_bench(&t);
}

/* The wait uses the first record, so that later work is not ordered. The stream that waits is slow
 * (see main), so that the second record has run when it looks. */
static int recorded_again(void *arg, int rank)
{
  bench t;
  (void)arg, (void)rank;
  OK(open_bench(&t));
  OK(cudaEventRecord(t.e, t.b));
  if (bad) OK(cudaStreamWaitEvent(t.a, t.e, 0));
  OK(fill(t.x, 1, t.b));
  OK(cudaEventRecord(t.e, t.b));
  if (!bad) OK(cudaStreamWaitEvent(t.a, t.e, 0));
  OK(copy_add(t.y, t.x, 0, t.a));
  return close_bench(&t);
}

static int legacy(void *arg, int rank)
{
  bench t;
  cudaStream_t blocking;
  (void)arg, (void)rank;
  OK(open_bench(&t));
  OK(cudaStreamCreate(&blocking));
  OK(fill(t.x, 1, bad ? t.a : blocking));
  OK(copy_add(t.y, t.x, 0, cudaStreamLegacy));
  OK(fill(t.y, 1, blocking));
  OK(cudaStreamDestroy(blocking));
  return close_bench(&t);
}

/* ---- Hosts ----------------------------------------------------------------------------------- */

static int host_reads(void *arg, int rank)
{
  bench t;
  int32_t sum = 0;
  cudaError_t e = cudaSuccess;
  (void)arg;
  OK(open_bench(&t));
  OK(fill(t.x, 1, t.a));
  OK(cudaMemcpyAsync(t.pinned, t.x, BYTES, cudaMemcpyDeviceToHost, t.a));
  OK(cudaEventRecord(t.e, t.a));
  if (bad) OK(cudaEventSynchronize(t.f)); /* an event without a record */
  else if (rank == 0) OK(cudaEventSynchronize(t.e));
  else if (rank == 1) OK(cudaStreamSynchronize(t.a));
  else
    while ((e = cudaEventQuery(t.e)) == cudaErrorNotReady) {
    }
  OK(e);
  for (int i = 0; i < N; i++) sum += t.pinned[i];
  if (sum == 42) puts("");
  return close_bench(&t);
}

static int host_writes(void *arg, int rank)
{
  bench t;
  (void)arg, (void)rank;
  OK(open_bench(&t));
  for (int i = 0; i < N; i++) t.pinned[i] = i;
  OK(cudaMemcpyAsync(t.x, t.pinned, BYTES, cudaMemcpyHostToDevice, t.a));
  if (!bad) OK(cudaStreamSynchronize(t.a));
  for (int i = 0; i < N; i++) t.pinned[i] = -i;
  return close_bench(&t);
}

/* An asynchronous copy from pageable memory may or may not be staged. */
static int pageable(void *arg, int rank)
{
  int32_t here[N];
  bench t;
  (void)arg, (void)rank;
  OK(open_bench(&t));
  for (int i = 0; i < N; i++) here[i] = i;
  if (bad) OK(cudaMemcpyAsync(t.x, here, BYTES, cudaMemcpyHostToDevice, t.a));
  else OK(cudaMemcpy(t.x, here, BYTES, cudaMemcpyHostToDevice));
  for (int i = 0; i < N; i++) here[i] = -i;
  return close_bench(&t);
}

/* cudaMemcpy from pageable memory returns when the source is staged: other streams must wait. */
static int dma(void *arg, int rank)
{
  int32_t here[N] = {0};
  bench t;
  (void)arg, (void)rank;
  OK(open_bench(&t));
  OK(cudaMemcpy(t.x, here, BYTES, cudaMemcpyHostToDevice));
  if (!bad) OK(cudaStreamSynchronize(cudaStreamLegacy));
  OK(copy_add(t.y, t.x, 0, t.a));
  return close_bench(&t);
}

static void CUDART_CB add_one(void *arg)
{
  ++*(int32_t *)arg;
}

static int host_function(void *arg, int rank)
{
  int32_t here = 0;
  bench t;
  (void)arg, (void)rank;
  OK(open_bench(&t));
  OK(cudaLaunchHostFunc(t.a, add_one, &here));
  OK(cudaEventRecord(t.e, t.a));
  if (!bad) OK(cudaStreamWaitEvent(t.b, t.e, 0));
  OK(cudaLaunchHostFunc(t.b, add_one, &here));
  OK(cudaDeviceSynchronize());
  IS(bad || here == 2);
  return close_bench(&t);
}

static int shared_value, shared_flag;

static int hosts(void *arg, int rank)
{
  (void)arg;
  if (rank == 0) {
    shared_value = 1;
    simdev_signal(&shared_flag);
    return 0;
  }
  if (!bad) OK(simdev_await(&shared_flag));
  return shared_value == 42;
}

/* Blocks of kernels on two streams do not share their shared memory. */
static void sum_body(const void *params, simdev_thread t, void *shared, int phase)
{
  const vector *p = params;
  int32_t *s = shared;
  (void)params;
  if (phase == 0) s[t.threadIdx[0]] = 1;
  else if (t.threadIdx[0] == 0) p->x[t.blockIdx[0]] = s[0] + s[1];
}

static const simdev_kernel sum_kernel = {"sum", sizeof(vector), 2, sum_body};

static int shared_memory(void *arg, int rank)
{
  bench t;
  void *args[1];
  vector p = {.n = N};
  (void)arg, (void)rank;
  OK(open_bench(&t));
  args[0] = &p;
  for (int k = 0; k < 4; k++) {
    p.x = k % 2 && !bad ? t.y : t.x;
    OK(cudaLaunchKernel(&sum_kernel, (dim3){3, 1, 1}, (dim3){2, 1, 1}, args, 64,
                        k % 2 ? t.a : t.b));
  }
  return close_bench(&t);
}

/* What a kernel and a host function keep on the stack is theirs, on however many streams; but who
 * has got the address may race with them. Addresses go round without order. */
enum { STACKS = 12 };

typedef struct kept {
  int32_t **where;  /* [STACKS] */
  int32_t k, other; /* other: whose memory it writes; -1: its own alone */
} kept;

__attribute__((noinline)) static void keep(const kept *p)
{
  volatile int32_t here[64], *there = here;
  for (int i = 0; i < 64; i++) here[i] = p->k;
  __atomic_store_n(&p->where[p->k], (int32_t *)(uintptr_t)here, __ATOMIC_RELAXED);
  if (p->other >= 0) there = __atomic_load_n(&p->where[p->other], __ATOMIC_RELAXED);
  there[32] = 1;
}

static void keep_body(const void *params, simdev_thread t, void *shared, int phase)
{
  (void)t, (void)shared, (void)phase;
  keep(params);
}
static const simdev_kernel keep_kernel = {"keep", sizeof(kept), 1, keep_body};

static void CUDART_CB keep_host(void *arg)
{
  keep(arg);
}

static int stacks(void *arg, int rank)
{
  int32_t *where[STACKS] = {NULL};
  cudaStream_t st[STACKS];
  kept p[STACKS];
  (void)arg, (void)rank;
  for (int k = 0; k < STACKS; k++) {
    void *args[] = {&p[k]};
    OK(make_stream(&st[k]));
    p[k] = (kept){where, k, bad && k == STACKS - 1 ? 0 : -1};
    while (p[k].other == 0 && !__atomic_load_n(&where[0], __ATOMIC_RELAXED)) simdev_pause();
    if (k % 2) OK(cudaLaunchHostFunc(st[k], keep_host, &p[k]));
    else OK(cudaLaunchKernel(&keep_kernel, (dim3){1, 1, 1}, (dim3){1, 1, 1}, args, 0, st[k]));
  }
  OK(cudaDeviceSynchronize());
  for (int k = 0; k < STACKS; k++) OK(cudaStreamDestroy(st[k]));
  return 0;
}

/* ---- Communication --------------------------------------------------------------------------- */

static int open_comm(bench *t, int rank, int blocking)
{
  OK(open_member(&t->m, rank, 2, blocking));
  return open_bench(t);
}

static int close_comm(bench *t)
{
  OK(close_bench(t));
  return close_member(&t->m);
}

/* The bucket is refilled only after the reduction that reads it. */
static int reduction(void *arg, int rank)
{
  bench t;
  (void)arg;
  OK(open_comm(&t, rank, 1));
  OK(fill(t.x, 1, t.a));
  OK(cudaEventRecord(t.e, t.a));
  OK(cudaStreamWaitEvent(t.m.stream, t.e, 0));
  OK(ncclReduceScatter(t.x, t.y, N / 2, ncclInt32, ncclSum, t.m.comm, t.m.stream));
  OK(cudaEventRecord(t.f, t.m.stream));
  if (!bad) OK(cudaStreamWaitEvent(t.a, t.f, 0));
  OK(fill(t.x, 2, t.a));
  OK(copy_add(t.x, t.x, 0, t.a));
  return close_comm(&t);
}

/* Received data may be read only after the receive. */
static int gather(void *arg, int rank)
{
  bench t;
  (void)arg;
  OK(open_comm(&t, rank, 1));
  OK(fill(t.x, rank, t.m.stream));
  OK(ncclAllGather(t.x, t.y, N / 2, ncclInt32, t.m.comm, t.m.stream));
  OK(cudaEventRecord(t.e, t.m.stream));
  if (!bad) OK(cudaStreamWaitEvent(t.a, t.e, 0));
  OK(copy_add(t.x, t.y, 0, t.a));
  return close_comm(&t);
}

/* Rank 1 writes x, takes part in an operation, and hears from rank 0 on another stream: that x is
 * written follows from an all-reduce, but not from a broadcast that rank 0 sends. */
static int along_data(void *arg, int rank)
{
  bench t;
  ncclComm_t other;
  (void)arg;
  OK(open_comm(&t, rank, 1));
  OK(ncclCommSplit(t.m.comm, 0, rank, &other, NULL));
  OK(fill(t.x, 1, t.m.stream));
  if (bad) OK(ncclBroadcast(t.y, t.y, N, ncclInt32, 0, t.m.comm, t.m.stream));
  else OK(ncclAllReduce(t.y, t.y, N, ncclInt32, ncclSum, t.m.comm, t.m.stream));
  if (rank == 0) {
    OK(ncclSend(t.y, 1, ncclInt32, 1, other, t.m.stream));
  } else {
    OK(ncclRecv(t.pinned, 1, ncclInt32, 0, other, t.b));
    OK(copy_add(t.x, t.x, 0, t.b));
  }
  OK(cudaDeviceSynchronize());
  OK(ncclCommDestroy(other));
  return close_comm(&t);
}

/* An event that is recorded before ncclSuccess does not cover the operation. */
static int before_success(void *arg, int rank)
{
  bench t;
  ncclResult_t state;
  (void)arg;
  OK(open_comm(&t, rank, 0));
  state = ncclAllReduce(t.x, t.x, N, ncclInt32, ncclSum, t.m.comm, t.m.stream);
  if (!bad) OK(settle(state, t.m.comm));
  OK(cudaEventRecord(t.e, t.m.stream));
  OK(cudaStreamWaitEvent(t.a, t.e, 0));
  OK(copy_add(t.y, t.x, 0, t.a));
  OK(settle(state, t.m.comm));
  return close_comm(&t);
}

static int two_streams(void *arg, int rank)
{
  bench t;
  (void)arg;
  OK(open_comm(&t, rank, 1));
  OK(fill(t.x, 1, t.m.stream));
  OK(fill(t.y, 1, t.a));
  OK(ncclGroupStart());
  OK(ncclAllReduce(t.x, t.x, N, ncclInt32, ncclSum, t.m.comm, t.m.stream));
  OK(ncclAllReduce(t.y, t.y, N, ncclInt32, ncclSum, t.m.comm, bad ? t.b : t.a));
  OK(ncclGroupEnd());
  OK(copy_add(t.y, t.x, 0, bad ? t.b : t.a));
  return close_comm(&t);
}

/* The host returns first while its stream still runs; the next run does not wait for it either. */
static int ends_early(void *arg, int rank)
{
  cudaStream_t st;
  int32_t *x;
  (void)arg, (void)rank;
  OK(make_vector(&x));
  OK(make_stream(&st));
  return (int)fill(x, 1, rank == 0 ? st : cudaStreamLegacy);
}

static int frees(void *arg, int rank)
{
  cudaStream_t st;
  int32_t *x;
  (void)arg, (void)rank;
  OK(make_vector(&x));
  OK(make_stream(&st));
  OK(fill(x, 1, st));
  OK(cudaStreamQuery(cudaStreamLegacy)); /* time passes */
  if (!bad) OK(cudaStreamSynchronize(st));
  OK(cudaFree(x));
  return (int)cudaStreamDestroy(st);
}

/* ---- main ------------------------------------------------------------------------------------ */

static const struct {
  const char *name;
  int ranks;
  host_fn *fn;
} cases[] = {
    {"producers", 2, producers},
    {"refill", 1, refill},
    {"recorded_again", 1, recorded_again},
    {"legacy", 1, legacy},
    {"host_reads", 3, host_reads},
    {"host_writes", 1, host_writes},
    {"pageable", 1, pageable},
    {"dma", 1, dma},
    {"host_function", 1, host_function},
    {"hosts", 2, hosts},
    {"shared_memory", 2, shared_memory},
    {"stacks", 2, stacks},
    {"reduction", 2, reduction},
    {"gather", 2, gather},
    {"along_data", 2, along_data},
    {"before_success", 2, before_success},
    {"two_streams", 2, two_streams},
    {"ends_early", 2, ends_early},
    {"word", 1, word},
    {"frees", 1, frees},
};

/* Twice, on the same addresses: runs do not race with each other, and each has its own report. */
static int run(size_t k, const simdev_options *o)
{
  simdev *s = run_case(cases[k].ranks, cases[k].fn, NULL, o);
  simdev_status status = simdev_result(s)->status;
  fprintf(stderr, "simdev: %s\n", simdev_result(s)->text);
  simdev_reset(s, o);
  if (simdev_run(s) != status) status = SIMDEV_E_INPUT;
  fprintf(stderr, "simdev: %s\n", simdev_result(s)->text);
  simdev_close(s);
  return status == SIMDEV_OK ? 0 : status == SIMDEV_E_RACE ? 1 : 3;
}

int main(int argc, char **argv)
{
  static const simdev_fault slow = {SIMDEV_FAULT_SLOW_STREAM, 0, NULL, 0, 0};
  simdev_options o = {.lazy_loading =
                          SIMDEV_NEVER, /* kernels are not loaded: some seeds would wait */
                      .serialize_streams = SIMDEV_NEVER,
                      .one_comm_kernel = SIMDEV_NEVER,
                      .allow_leaks = 1};
  if (argc < 4) return 2;
  bad = strcmp(argv[2], "bad") == 0;
  o.seed = strtoull(argv[3], NULL, 10);
  o.order = (simdev_order)(o.seed % 4);
  if (argc > 4) o.weaken = (uint32_t)atoi(argv[4]);
  for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
    if (strcmp(cases[k].name, argv[1]) != 0) continue;
    if (cases[k].fn == recorded_again) {
      o.faults = &slow;
      o.fault_count = 1;
      o.order = SIMDEV_RANDOM;
    }
    return run(k, &o);
  }
  return 2;
}
