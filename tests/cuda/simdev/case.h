/* Running hosts under many seeds, and kernels, for the tests of simdev. */
#ifndef ZP_TESTS_SIMDEV_CASE_H
#define ZP_TESTS_SIMDEV_CASE_H
#include <nccl.h>
#include <string.h>

#include "../../../cuda/simdev/simdev.h"

#if defined(__SANITIZE_ADDRESS__)
#define WITH_ASAN
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define WITH_ASAN
#endif
#endif

enum { N = 100, SEEDS = 60 };

/* In a host function: a call that must succeed; else the host returns the line. */
#define OK(call)                                                                                   \
  do {                                                                                             \
    if ((call) != 0) return __LINE__;                                                              \
  } while (0)
#define IS(condition)                                                                              \
  do {                                                                                             \
    if (!(condition)) return __LINE__;                                                             \
  } while (0)

typedef int host_fn(void *arg, int rank);

/* Runs one host per rank once; the caller closes the simulation. */
static inline simdev *run_case(int ranks, host_fn *fn, void *arg, const simdev_options *o)
{
  simdev *s = simdev_open(ranks, ranks, o, NULL);
  if (!s) return NULL;
  for (int r = 0; r < ranks; r++) simdev_host(s, r, fn, arg);
  simdev_run(s);
  return s;
}

static inline int says(const simdev *s, const char *what)
{
  return strstr(simdev_result(s)->text, what) != NULL;
}

/* How many of the seeds end with this status, under this order. */
static inline int count_seeds(int ranks, host_fn *fn, void *arg, simdev_options o, int seeds,
                              simdev_status status)
{
  simdev *s = simdev_open(ranks, ranks, &o, NULL);
  int n = 0;
  if (!s) return -1;
  for (int r = 0; r < ranks; r++) simdev_host(s, r, fn, arg);
  for (int k = 0; k < seeds; k++) {
    o.seed = (uint64_t)k;
    simdev_reset(s, &o);
    n += simdev_run(s) == status;
  }
  simdev_close(s);
  return n;
}

typedef struct vector {
  int32_t *x;
  const int32_t *y;
  int32_t n, v;
} vector;

static inline int32_t at(simdev_thread t)
{
  return (int32_t)(t.blockIdx[0] * t.blockDim[0] + t.threadIdx[0]);
}

/* x[i] = v + i */
static inline void fill_body(const void *params, simdev_thread t, void *shared, int phase)
{
  const vector *p = params;
  (void)shared, (void)phase;
  if (at(t) < p->n) p->x[at(t)] = p->v + at(t);
}
static const simdev_kernel fill_kernel = {"fill", sizeof(vector), 1, fill_body};

/* x[i] = y[i] + v */
static inline void copy_body(const void *params, simdev_thread t, void *shared, int phase)
{
  const vector *p = params;
  (void)shared, (void)phase;
  if (at(t) < p->n) p->x[at(t)] = p->y[at(t)] + p->v;
}
static const simdev_kernel copy_kernel = {"copy", sizeof(vector), 1, copy_body};

static inline cudaError_t launch_vector(const simdev_kernel *k, vector p, cudaStream_t stream)
{
  void *args[] = {&p};
  const dim3 grid = {(unsigned)(p.n + 31) / 32, 1, 1}, block = {32, 1, 1};
  return cudaLaunchKernel(k, grid, block, args, 0, stream);
}

static inline cudaError_t fill(int32_t *x, int32_t v, cudaStream_t stream)
{
  return launch_vector(&fill_kernel, (vector){x, NULL, N, v}, stream);
}

static inline cudaError_t copy_add(int32_t *x, const int32_t *y, int32_t v, cudaStream_t stream)
{
  return launch_vector(&copy_kernel, (vector){x, y, N, v}, stream);
}

/* 1: x holds v, v + 1, … */
static inline int holds(const int32_t *x, int32_t v)
{
  for (int32_t i = 0; i < N; i++)
    if (x[i] != v + i) return 0;
  return 1;
}

static inline int make_stream(cudaStream_t *stream)
{
  return (int)cudaStreamCreateWithFlags(stream, cudaStreamNonBlocking);
}

static inline int make_event(cudaEvent_t *event)
{
  return (int)cudaEventCreateWithFlags(event, cudaEventDisableTiming);
}

static inline int make_vector(int32_t **x)
{
  return (int)cudaMalloc((void **)x, N * sizeof(int32_t));
}

#endif
