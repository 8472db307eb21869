/* The counter of accessed bytes, with kernels whose accesses are known. This file is compiled for
 * the sanitizer, as the engine's kernels are. */
#include <criterion/criterion.h>

#include "../../../cuda/simdev/accesses/accesses.h"
#include "../simdev/case.h"

enum { BYTES = 4096, WANTED = 16 };

/* ---- Kernels --------------------------------------------------------------------------------- */

typedef struct params {
  const uint8_t *from;
  uint8_t *to;
  int64_t n, stride;
} params;

static int64_t index_of(simdev_thread t)
{
  return (int64_t)t.blockIdx[0] * t.blockDim[0] + t.threadIdx[0];
}

static void bytes_body(const void *p, simdev_thread t, void *shared, int phase)
{
  const params *a = p;
  const int64_t i = index_of(t);
  (void)shared, (void)phase;
  if (i < a->n) a->to[i] = a->from[i];
}

/* The fault that the counter must find: the thread after the last one reads, too. */
static void copy_and_read_one_more_body(const void *p, simdev_thread t, void *shared, int phase)
{
  const params *a = p;
  const int64_t i = index_of(t);
  (void)shared, (void)phase;
  if (i > a->n) return;
  const uint8_t byte = *(const volatile uint8_t *)&a->from[i];
  if (i < a->n) a->to[i] = byte;
}

static void one_byte_for_all_body(const void *p, simdev_thread t, void *shared, int phase)
{
  const params *a = p;
  (void)shared, (void)phase;
  a->to[index_of(t)] = (uint8_t)(a->from[7] + a->from[7]);
}

static void words_body(const void *p, simdev_thread t, void *shared, int phase)
{
  const params *a = p;
  const int64_t i = index_of(t) * a->stride;
  (void)shared, (void)phase;
  if (i < a->n) *(uint64_t *)(void *)(a->to + i) = *(const uint64_t *)(const void *)(a->from + i);
}

static void unaligned_body(const void *p, simdev_thread t, void *shared, int phase)
{
  const params *a = p;
  (void)shared, (void)phase;
  if (index_of(t) == 0) memcpy(a->to + 1, a->from + 61, (size_t)a->n);
}

static void add_body(const void *p, simdev_thread t, void *shared, int phase)
{
  const params *a = p;
  (void)t, (void)shared, (void)phase;
  __atomic_fetch_add((int64_t *)(void *)a->to, 1, __ATOMIC_RELAXED);
}

/* Shared memory and a variable of the host; one byte of device memory. */
static uint8_t host_bytes[64];
static void elsewhere_body(const void *p, simdev_thread t, void *shared, int phase)
{
  const params *a = p;
  uint8_t *s = shared;
  if (phase == 0) s[t.threadIdx[0]] = host_bytes[t.threadIdx[0] % 64]++;
  else if (t.threadIdx[0] == 0) a->to[0] = s[31];
}

#define KERNEL(name, phases)                                                                       \
  static const simdev_kernel name = {#name, sizeof(params), phases, name##_body};
KERNEL(bytes, 1)
KERNEL(copy_and_read_one_more, 1)
KERNEL(one_byte_for_all, 1)
KERNEL(words, 1)
KERNEL(unaligned, 1)
KERNEL(add, 1)
KERNEL(elsewhere, 2)

/* ---- Runs ------------------------------------------------------------------------------------ */

typedef struct launch {
  const simdev_kernel *kernel;
  int64_t n, stride;
  int32_t pinned; /* 1: `to` is pinned memory */
  int64_t read, written;
} launch;

static int launches(void *arg, int rank)
{
  const launch *l = arg;
  params p = {.n = l->n, .stride = l->stride};
  void *args[] = {&p};
  uint8_t *from;
  OK(cudaSetDevice(rank));
  OK(cudaMalloc((void **)&from, BYTES));
  OK(l->pinned ? cudaMallocHost((void **)&p.to, BYTES) : cudaMalloc((void **)&p.to, BYTES));
  OK(cudaMemset(from, 1, BYTES));
  OK(cudaMemset(p.to, 1, BYTES));
  p.from = from;
  OK(cudaLaunchKernel(l->kernel, (dim3){4, 1, 1}, (dim3){32, 1, 1}, args, 64, NULL));
  OK(cudaDeviceSynchronize());
  OK(l->pinned ? cudaFreeHost(p.to) : cudaFree(p.to));
  return (int)cudaFree(from);
}

/* The counts of the first item of that kind. */
static simdev_access_bytes counts_of(const simdev *s, simdev_item_kind kind, int32_t rank)
{
  int64_t n;
  const simdev_record *item = simdev_records(s, &n);
  for (int64_t i = 0; i < n; i++)
    if (item[i].kind == kind && item[i].rank == rank) return simdev_accesses_of(item[i].issue);
  cr_assert_fail("no such item");
  return (simdev_access_bytes){0};
}

static void check(const launch *l)
{
  for (uint64_t seed = 0; seed < 4; seed++) { /* threads and blocks in several orders */
    const simdev_options o = {.seed = seed, .record = 1};
    simdev *s = run_case(1, launches, (void *)(uintptr_t)l, &o);
    cr_assert_eq(simdev_result(s)->status, SIMDEV_OK, "%s", simdev_result(s)->text);
    const simdev_access_bytes b = counts_of(s, SIMDEV_KERNEL, 0);
    const int64_t *to = b.bytes[l->pinned ? SIMDEV_IN_PINNED : SIMDEV_IN_DEVICE];
    cr_expect_eq(b.bytes[SIMDEV_IN_DEVICE][SIMDEV_READ], l->read, "%s read %lld", l->kernel->name,
                 (long long)b.bytes[SIMDEV_IN_DEVICE][SIMDEV_READ]);
    cr_expect_eq(to[SIMDEV_WRITTEN], l->written, "%s wrote %lld", l->kernel->name,
                 (long long)to[SIMDEV_WRITTEN]);
    simdev_close(s);
  }
}

Test(accesses, each_byte_of_a_run_counts_once)
{
  check(&(launch){&bytes, 100, 1, 0, 100, 100});
  check(&(launch){&bytes, 1, 1, 0, 1, 1});
  check(&(launch){&bytes, 0, 1, 0, 0, 0});
}

Test(accesses, one_byte_outside_the_run_counts)
{
  check(&(launch){&copy_and_read_one_more, 100, 1, 0, 101, 100});
}

Test(accesses, a_byte_that_all_threads_read_counts_once)
{
  check(&(launch){&one_byte_for_all, 0, 1, 0, 1, 128});
}

Test(accesses, gaps_between_accesses_do_not_count)
{
  check(&(launch){&words, 20 * 24, 24, 0, 20 * 8, 20 * 8});
}

Test(accesses, a_range_across_words_of_the_bitmap_counts)
{
  check(&(launch){&unaligned, 131, 1, 0, 131, 131});
  check(&(launch){&unaligned, 3, 1, 0, 3, 3});
}

Test(accesses, an_atomic_addition_reads_and_writes)
{
  check(&(launch){&add, 0, 1, 0, 8, 8});
}

Test(accesses, shared_and_pageable_memory_do_not_count)
{
  check(&(launch){&elsewhere, 0, 1, 0, 0, 1});
}

Test(accesses, pinned_memory_counts_apart)
{
  check(&(launch){&bytes, 100, 1, 1, 100, 100});
}

/* ---- Copies, memsets, communications --------------------------------------------------------- */

static int copies(void *arg, int rank)
{
  char *a, *b;
  cudaStream_t st;
  (void)arg;
  OK(cudaSetDevice(rank));
  OK(cudaStreamCreateWithFlags(&st, cudaStreamNonBlocking));
  OK(cudaMalloc((void **)&a, BYTES));
  OK(cudaMallocHost((void **)&b, BYTES));
  OK(cudaMemsetAsync(a, 0, 77, st));
  OK(cudaMemcpyAsync(b + 3, a + 1, 60, cudaMemcpyDeviceToHost, st));
  OK(cudaStreamSynchronize(st));
  OK(cudaStreamDestroy(st));
  OK(cudaFree(a));
  return (int)cudaFreeHost(b);
}

Test(accesses, copies_and_memsets_count_their_ranges)
{
  const simdev_options o = {.record = 1};
  simdev *s = run_case(1, copies, NULL, &o);
  cr_assert_eq(simdev_result(s)->status, SIMDEV_OK, "%s", simdev_result(s)->text);
  const simdev_access_bytes set = counts_of(s, SIMDEV_SET, 0), copy = counts_of(s, SIMDEV_COPY, 0);
  cr_expect_eq(set.bytes[SIMDEV_IN_DEVICE][SIMDEV_WRITTEN], 77);
  cr_expect_eq(set.bytes[SIMDEV_IN_DEVICE][SIMDEV_READ], 0);
  cr_expect_eq(copy.bytes[SIMDEV_IN_DEVICE][SIMDEV_READ], 60);
  cr_expect_eq(copy.bytes[SIMDEV_IN_DEVICE][SIMDEV_WRITTEN], 0);
  cr_expect_eq(copy.bytes[SIMDEV_IN_PINNED][SIMDEV_WRITTEN], 60);
  simdev_close(s);
}

static int reduces(void *arg, int rank)
{
  ncclComm_t comm;
  float *x;
  OK(cudaSetDevice(rank));
  OK(cudaMalloc((void **)&x, BYTES));
  OK(cudaMemset(x, 0, BYTES));
  OK(ncclCommInitRank(&comm, 3, *(ncclUniqueId *)arg, rank));
  OK(ncclReduceScatter(x, x + 400, 100, ncclFloat, ncclSum, comm, NULL));
  OK(cudaDeviceSynchronize());
  OK(ncclCommDestroy(comm));
  return (int)cudaFree(x);
}

Test(accesses, a_communication_counts_its_buffers)
{
  const simdev_options o = {.record = 1};
  ncclUniqueId id;
  ncclGetUniqueId(&id);
  simdev *s = run_case(3, reduces, &id, &o);
  cr_assert_eq(simdev_result(s)->status, SIMDEV_OK, "%s", simdev_result(s)->text);
  for (int32_t r = 0; r < 3; r++) {
    const simdev_access_bytes b = counts_of(s, SIMDEV_COMM, r);
    cr_expect_eq(b.bytes[SIMDEV_IN_DEVICE][SIMDEV_READ], 1200);
    cr_expect_eq(b.bytes[SIMDEV_IN_DEVICE][SIMDEV_WRITTEN], 400);
  }
  simdev_close(s);
}

/* ---- Several items --------------------------------------------------------------------------- */

static int twice(void *arg, int rank)
{
  params p = {.n = 100};
  void *args[] = {&p};
  uint8_t *from;
  (void)arg;
  OK(cudaSetDevice(rank));
  OK(cudaMalloc((void **)&from, BYTES));
  OK(cudaMalloc((void **)&p.to, BYTES));
  OK(cudaMemset(from, 0, BYTES));
  p.from = from;
  for (int i = 0; i < 2; i++, p.n = 30)
    OK(cudaLaunchKernel(&bytes, (dim3){4, 1, 1}, (dim3){32, 1, 1}, args, 0, NULL));
  OK(cudaDeviceSynchronize());
  OK(cudaFree(p.to));
  return (int)cudaFree(from);
}

Test(accesses, each_launch_and_each_run_counts_by_itself)
{
  const simdev_options o = {.record = 1};
  simdev *s = run_case(1, twice, NULL, &o);
  for (int run = 0; run < 2; run++) {
    int64_t n, seen = 0, sum = 0;
    const simdev_record *item = simdev_records(s, &n);
    cr_assert_eq(simdev_result(s)->status, SIMDEV_OK, "%s", simdev_result(s)->text);
    for (int64_t i = 0; i < n; i++) {
      if (item[i].kind != SIMDEV_KERNEL) continue;
      sum += simdev_accesses_of(item[i].issue).bytes[SIMDEV_IN_DEVICE][SIMDEV_READ];
      seen++;
    }
    cr_expect_eq(seen, 2);
    cr_expect_eq(sum, 130);
    if (run == 1) break;
    simdev_reset(s, &o);
    simdev_run(s);
  }
  simdev_close(s);
  simdev_accesses_close();
}
