/* Memory: whose it is, how far it goes, when it is gone; copies and what they promise the host. */
#include <criterion/criterion.h>
#include <stdlib.h>

#include "case.h"

enum { BYTES = N * (int)sizeof(int32_t) };

/* Runs fn once on one rank; the report must name all of `what`. */
static void finds(host_fn *fn, simdev_status status, const char *what, const char *also)
{
  simdev *s = run_case(2, fn, NULL, &(simdev_options){.allow_leaks = 1});
  cr_assert_eq(simdev_result(s)->status, status, "%s", simdev_result(s)->text);
  cr_assert(says(s, what), "%s", simdev_result(s)->text);
  cr_assert(says(s, also), "%s", simdev_result(s)->text);
  simdev_close(s);
}

/* ---- Poison ---------------------------------------------------------------------------------- */

static int reads_unwritten(void *arg, int rank)
{
  int32_t *x, out[2];
  (void)rank;
  OK(make_vector(&x));
  OK(cudaMemcpy(out, x, sizeof out, cudaMemcpyDeviceToHost));
  *(int32_t *)arg = out[1];
  OK(cudaFree(x));
  return out[0] == 0;
}

Test(memory, new_memory_is_never_zero_and_differs_by_seed)
{
  int32_t seen[SEEDS], distinct = 0;
  for (int k = 0; k < SEEDS; k++) {
    simdev *s = run_case(1, reads_unwritten, &seen[k], &(simdev_options){.seed = (uint64_t)k});
    cr_assert_eq(simdev_result(s)->status, SIMDEV_OK);
    simdev_close(s);
    distinct += k > 0 && seen[k] != seen[k - 1];
  }
  cr_assert_gt(distinct, 0);
}

/* ---- Bounds ---------------------------------------------------------------------------------- */

static int copy_beyond(void *arg, int rank)
{
  int32_t *x, out[N + 1];
  (void)arg, (void)rank;
  OK(make_vector(&x));
  return cudaMemcpy(out, x + 1, BYTES, cudaMemcpyDeviceToHost) != cudaErrorInvalidValue;
}

Test(bounds, a_copy_past_the_end_is_an_error)
{
  finds(copy_beyond, SIMDEV_E_ACCESS, "(cudaMemcpy): reads 400 bytes at +4 of device memory of 400",
        "out of bounds by 4");
}

static int set_beyond(void *arg, int rank)
{
  int32_t *x;
  (void)arg, (void)rank;
  OK(make_vector(&x));
  return cudaMemsetAsync(x, 0, BYTES + 1, NULL) != cudaErrorInvalidValue;
}

Test(bounds, a_memset_past_the_end_is_an_error)
{
  finds(set_beyond, SIMDEV_E_ACCESS, "(cudaMemsetAsync): writes 401 bytes", "out of bounds by 1");
}

#ifndef WITH_ASAN
static int kernel_beyond(void *arg, int rank)
{
  int32_t *x;
  (void)arg, (void)rank;
  OK(make_vector(&x));
  OK(launch_vector(&fill_kernel, (vector){x, NULL, N + 1, 0}, NULL));
  return (int)cudaDeviceSynchronize();
}

Test(bounds, guards_detect_writes_past_the_end)
{
  finds(kernel_beyond, SIMDEV_E_ACCESS,
        "bytes after the end of device memory of 400 bytes were overwritten",
        "allocated by call 1");
}
static int kernel_beyond_then_free(void *arg, int rank)
{
  int32_t *x;
  (void)arg, (void)rank;
  OK(make_vector(&x));
  OK(launch_vector(&fill_kernel, (vector){x, NULL, N + 1, 0}, NULL));
  OK(cudaDeviceSynchronize());
  return (int)cudaFree(x);
}

Test(bounds, guards_are_checked_when_memory_is_freed)
{
  finds(kernel_beyond_then_free, SIMDEV_E_ACCESS,
        "bytes after the end of device memory of 400 bytes were overwritten", "when it was freed");
}
#else
/* AddressSanitizer ends the program at the access itself. */
static int kernel_beyond(void *arg, int rank)
{
  int32_t *x;
  (void)arg, (void)rank;
  OK(make_vector(&x));
  OK(launch_vector(&fill_kernel, (vector){x, NULL, N + 1, 0}, NULL));
  return (int)cudaDeviceSynchronize();
}

Test(bounds, address_sanitizer_reports_a_kernel_out_of_bounds, .exit_code = 1)
{
  finds(kernel_beyond, SIMDEV_OK, "", "");
}

static int kernel_on_freed(void *arg, int rank)
{
  int32_t *x;
  (void)arg, (void)rank;
  OK(make_vector(&x));
  OK(cudaFree(x));
  OK(fill(x, 0, NULL));
  return (int)cudaDeviceSynchronize();
}

Test(lifetime, address_sanitizer_reports_a_kernel_that_uses_freed_memory, .exit_code = 1)
{
  finds(kernel_on_freed, SIMDEV_OK, "", "");
}
#endif

static int wild(void *arg, int rank)
{
  int32_t *x, out[1];
  (void)arg, (void)rank;
  OK(make_vector(&x));
  return cudaMemcpy(out, x + (1 << 24), 4, cudaMemcpyDeviceToHost) != cudaErrorInvalidValue;
}

Test(bounds, an_invalid_pointer_is_an_error)
{
  finds(wild, SIMDEV_E_ACCESS, "(cudaMemcpy): reads 4 bytes", "where nothing is allocated");
}

/* ---- Lifetime -------------------------------------------------------------------------------- */

static int copy_freed(void *arg, int rank)
{
  int32_t *x, out[N];
  (void)arg, (void)rank;
  OK(make_vector(&x));
  OK(cudaFree(x));
  return cudaMemcpy(out, x, BYTES, cudaMemcpyDeviceToHost) != cudaErrorInvalidValue;
}

Test(lifetime, freed_memory_may_not_be_used)
{
  finds(copy_freed, SIMDEV_E_ACCESS, "that is freed", "allocated by call 1, freed by call 2");
}

#ifndef WITH_ASAN
/* A kernel that reads it afterwards does not read the old values. */
static int kernel_reads_freed(void *arg, int rank)
{
  int32_t *x, *y, out[N];
  (void)arg, (void)rank;
  OK(make_vector(&x));
  OK(make_vector(&y));
  OK(fill(x, 1, NULL));
  OK(cudaDeviceSynchronize());
  OK(cudaFree(x));
  OK(copy_add(y, x, 0, NULL));
  OK(cudaMemcpy(out, y, BYTES, cudaMemcpyDeviceToHost));
  OK(cudaFree(y));
  return holds(out, 1);
}

Test(lifetime, freed_memory_is_poisoned)
{
  cr_assert_eq(count_seeds(1, kernel_reads_freed, NULL, (simdev_options){0}, 20, SIMDEV_OK), 20);
}
#endif

static int free_twice(void *arg, int rank)
{
  int32_t *x;
  (void)arg, (void)rank;
  OK(make_vector(&x));
  OK(cudaFree(x));
  return cudaFree(x) != cudaErrorInvalidValue;
}

Test(lifetime, memory_may_be_freed_only_once)
{
  finds(free_twice, SIMDEV_E_ACCESS, "(cudaFree): frees memory a second time", "freed by call 2");
}

static int free_elsewhere(void *arg, int rank)
{
  int32_t *x, *pinned;
  (void)arg, (void)rank;
  OK(make_vector(&x));
  OK(cudaMallocHost((void **)&pinned, BYTES));
  IS(cudaFree(x + 1) == cudaErrorInvalidValue);
  IS(cudaFreeHost(x) == cudaErrorInvalidValue);
  IS(cudaFree(pinned) == cudaErrorInvalidValue);
  IS(cudaFree(NULL) == cudaSuccess);
  return 0;
}

Test(lifetime, memory_is_freed_only_by_the_matching_call)
{
  finds(free_elsewhere, SIMDEV_E_MISUSE, "(cudaFree)", "(cudaFreeHost)");
}

/* arg: NULL a kernel, else a copy is pending */
static int free_used(void *arg, int rank)
{
  int32_t *x, *y;
  cudaStream_t st;
  (void)rank;
  OK(make_vector(&x));
  OK(make_vector(&y));
  OK(make_stream(&st));
  if (arg) OK(cudaMemcpyAsync(y, x, BYTES, cudaMemcpyDeviceToDevice, st));
  else OK(fill(x, 0, st));
  return cudaFree(x) != cudaSuccess;
}

Test(lifetime, memory_may_not_be_freed_while_an_item_uses_it)
{
  int copy = 1;
  const simdev_options lazy = {.order = SIMDEV_LAZY, .allow_leaks = 1};
  simdev *s = run_case(1, free_used, NULL, &lazy);
  cr_assert_eq(simdev_result(s)->status, SIMDEV_E_ACCESS);
  cr_assert(says(s, "(cudaFree): frees 400 bytes (allocated by call 1) that rank 0, stream 0, "
                    "kernel fill (call 4) still uses"),
            "%s", simdev_result(s)->text);
  simdev_close(s);
  cr_assert_eq(count_seeds(1, free_used, &copy, lazy, 5, SIMDEV_E_ACCESS), 5);
}

static int free_async(void *arg, int rank)
{
  int32_t *x;
  cudaStream_t st, other;
  (void)rank;
  OK(make_stream(&st));
  OK(make_stream(&other));
  OK(cudaMallocAsync((void **)&x, BYTES, st));
  OK(fill(x, 0, arg ? other : st));
  OK(cudaFreeAsync(x, st));
  OK(cudaStreamSynchronize(st));
  OK(cudaStreamDestroy(other));
  OK(cudaStreamDestroy(st));
  return 0;
}

Test(lifetime, cudaFreeAsync_frees_in_stream_order)
{
  int elsewhere = 1;
  cr_assert_eq(count_seeds(1, free_async, NULL, (simdev_options){0}, SEEDS, SIMDEV_OK), SEEDS);
#ifndef WITH_ASAN
  cr_assert_gt(count_seeds(1, free_async, &elsewhere, (simdev_options){0}, SEEDS, SIMDEV_E_ACCESS),
               0);
#else
  (void)elsewhere;
#endif
}

/* ---- Ranks and devices ----------------------------------------------------------------------- */

static int32_t *theirs;

static int other_rank(void *arg, int rank)
{
  int32_t *x, out[1];
  OK(make_vector(&x));
  if (rank == 0) {
    theirs = x;
    simdev_signal(&theirs);
    return 0;
  }
  OK(simdev_await(&theirs));
  if (arg) return fill(theirs, 0, NULL) != cudaSuccess;
  return cudaMemcpy(out, theirs, 4, cudaMemcpyDeviceToHost) != cudaErrorInvalidValue;
}

Test(ranks, ranks_do_not_share_memory)
{
  int kernel = 1;
  simdev *s;
  finds(other_rank, SIMDEV_E_ACCESS, "rank 1, call 3 (cudaMemcpy)", "device memory of rank 0");
  s = run_case(2, other_rank, &kernel, &(simdev_options){.allow_leaks = 1});
  cr_assert(says(s, "kernel fill gets a pointer to memory of rank 0"), "%s",
            simdev_result(s)->text);
  simdev_close(s);
}

static int too_much(void *arg, int rank)
{
  void *p, *q;
  size_t free_bytes, total;
  (void)arg, (void)rank;
  OK(cudaMalloc(&p, 600));
  IS(cudaMalloc(&q, 600) == cudaErrorMemoryAllocation);
  OK(cudaMemGetInfo(&free_bytes, &total));
  IS(total == 1000 && free_bytes == 400);
  OK(cudaFree(p));
  OK(cudaMalloc(&q, 600));
  OK(cudaFree(q));
  return 0;
}

Test(device, a_device_has_device_bytes_of_memory)
{
  cr_assert_eq(count_seeds(2, too_much, NULL, (simdev_options){.device_bytes = 1000}, 3, SIMDEV_OK),
               3);
}

static int attributes(void *arg, int rank)
{
  struct cudaPointerAttributes a;
  int32_t *x, *pinned, pageable;
  (void)arg, (void)rank;
  OK(make_vector(&x));
  OK(cudaHostAlloc((void **)&pinned, BYTES, cudaHostAllocDefault));
  OK(cudaPointerGetAttributes(&a, x + 3));
  IS(a.type == cudaMemoryTypeDevice && a.devicePointer == x + 3);
  OK(cudaPointerGetAttributes(&a, pinned));
  IS(a.type == cudaMemoryTypeHost);
  OK(cudaPointerGetAttributes(&a, &pageable));
  IS(a.type == cudaMemoryTypeUnregistered);
  OK(cudaFree(x));
  OK(cudaFreeHost(pinned));
  return 0;
}

Test(memory, pointer_attributes_are_reported)
{
  cr_assert_eq(count_seeds(1, attributes, NULL, (simdev_options){0}, 3, SIMDEV_OK), 3);
}

/* arg: the host dereferences the pointer. */
static int follows(void *arg, int rank)
{
  int32_t *x, out[N];
  (void)rank;
  OK(make_vector(&x));
  OK(fill(x, 7, NULL));
  OK(cudaDeviceSynchronize());
  if (*(int *)arg) x[3] = 1;
  OK(cudaMemcpy(out, x, BYTES, cudaMemcpyDeviceToHost));
  IS(holds(out, 7));
  return (int)cudaFree(x);
}

Test(device, protect_device_reports_a_host_that_dereferences_device_memory)
{
  int touches = 0;
  simdev_options o = {.protect_device = 1};
  simdev *s;
  cr_assert_eq(count_seeds(2, follows, &touches, o, 10, SIMDEV_OK), 10);
  touches = 1;
  cr_assert_eq(count_seeds(2, follows, &touches, o, 10, SIMDEV_E_ACCESS), 10);
  s = run_case(1, follows, &touches, &o);
  cr_assert(says(s,
                 "rank 0, after call 3 (cudaDeviceSynchronize): the host accesses device memory, "
                 "+12 of 400 bytes (rank 0, call 1)"),
            "%s", simdev_result(s)->text);
  simdev_close(s);
}

/* ---- Copies and their host ------------------------------------------------------------------- */

/* Overwrites the source after the call, in one of four ways, and checks the data that arrive. */
enum { SYNC_PAGEABLE, SYNC_PINNED, ASYNC_PAGEABLE, ASYNC_PINNED, DEVICE_TO_DEVICE };

static int overwrites(void *arg, int rank)
{
  const int how = *(int *)arg;
  int32_t *x, *pinned, pageable[N], out[N];
  int32_t *from;
  cudaStream_t st;
  (void)rank;
  OK(make_stream(&st));
  OK(make_vector(&x));
  OK(cudaMallocHost((void **)&pinned, BYTES));
  from = how == SYNC_PINNED || how == ASYNC_PINNED ? pinned : pageable;
  for (int i = 0; i < N; i++) from[i] = i;
  if (how == SYNC_PAGEABLE || how == SYNC_PINNED)
    OK(cudaMemcpy(x, from, BYTES, cudaMemcpyHostToDevice));
  else OK(cudaMemcpyAsync(x, from, BYTES, cudaMemcpyHostToDevice, st));
  for (int i = 0; i < N; i++) from[i] = -1;
  OK(cudaDeviceSynchronize());
  OK(cudaMemcpy(out, x, BYTES, cudaMemcpyDeviceToHost));
  OK(cudaFree(x));
  OK(cudaFreeHost(pinned));
  OK(cudaStreamDestroy(st));
  return holds(out, 0) ? 0 : 1;
}

Test(copy, a_synchronous_copy_has_read_its_source)
{
  for (int how = SYNC_PAGEABLE; how <= SYNC_PINNED; how++)
    cr_assert_eq(count_seeds(1, overwrites, &how, (simdev_options){0}, SEEDS, SIMDEV_OK), SEEDS);
}

Test(copy, an_asynchronous_copy_may_not_have_read_its_source)
{
  for (int how = ASYNC_PAGEABLE; how <= ASYNC_PINNED; how++) {
    const int bad = count_seeds(1, overwrites, &how, (simdev_options){0}, SEEDS, SIMDEV_E_HOST);
    cr_assert_gt(bad, 0);
    if (how == ASYNC_PAGEABLE) cr_assert_lt(bad, SEEDS); /* it was staged, or had ended */
  }
}

/* The DMA of a synchronous copy from pageable memory may still be under way: a non-blocking stream
 * sees the old contents. From pinned memory it may not. */
static int dma_under_way(void *arg, int rank)
{
  const int how = *(int *)arg;
  int32_t *x, *y, *pinned, pageable[N], out[N];
  cudaStream_t st;
  (void)rank;
  OK(make_stream(&st));
  OK(make_vector(&x));
  OK(make_vector(&y));
  OK(cudaMallocHost((void **)&pinned, BYTES));
  for (int i = 0; i < N; i++) pinned[i] = pageable[i] = i;
  if (how == DEVICE_TO_DEVICE) {
    OK(cudaMemcpy(y, pinned, BYTES, cudaMemcpyHostToDevice));
    OK(cudaMemcpy(x, y, BYTES, cudaMemcpyDeviceToDevice));
  } else OK(cudaMemcpy(x, how == SYNC_PINNED ? pinned : pageable, BYTES, cudaMemcpyHostToDevice));
  OK(copy_add(y, x, 0, st));
  OK(cudaStreamSynchronize(st));
  OK(cudaMemcpy(out, y, BYTES, cudaMemcpyDeviceToHost));
  OK(cudaDeviceSynchronize());
  OK(cudaFree(x));
  OK(cudaFree(y));
  OK(cudaFreeHost(pinned));
  OK(cudaStreamDestroy(st));
  return holds(out, 0) ? 0 : 1;
}

Test(copy, a_synchronous_copy_orders_what_the_manual_says)
{
  int how = SYNC_PINNED;
  cr_assert_eq(count_seeds(1, dma_under_way, &how, (simdev_options){0}, SEEDS, SIMDEV_OK), SEEDS);
  how = SYNC_PAGEABLE;
  cr_assert_gt(count_seeds(1, dma_under_way, &how, (simdev_options){0}, SEEDS, SIMDEV_E_HOST), 0);
}

/* From device to device no host-side synchronization is performed: y is not overwritten in vain. */
static int device_to_device(void *arg, int rank)
{
  int32_t *x, *y, out[N];
  cudaStream_t st;
  (void)arg, (void)rank;
  OK(make_stream(&st));
  OK(make_vector(&x));
  OK(make_vector(&y));
  OK(fill(x, 1, NULL));
  OK(cudaMemcpy(y, x, BYTES, cudaMemcpyDeviceToDevice));
  OK(cudaMemcpyAsync(out, y, BYTES, cudaMemcpyDeviceToHost, st));
  OK(cudaStreamSynchronize(st));
  OK(cudaDeviceSynchronize());
  OK(cudaFree(x));
  OK(cudaFree(y));
  OK(cudaStreamDestroy(st));
  return holds(out, 1) ? 0 : 1;
}

Test(copy, a_copy_from_device_to_device_does_not_wait)
{
  const int bad = count_seeds(1, device_to_device, NULL, (simdev_options){0}, SEEDS, SIMDEV_E_HOST);
  cr_assert_gt(bad, 0);
}

static int wrong_direction(void *arg, int rank)
{
  int32_t *x, out[N];
  (void)arg, (void)rank;
  OK(make_vector(&x));
  IS(cudaMemcpy(out, x, BYTES, cudaMemcpyHostToDevice) == cudaErrorInvalidValue);
  IS(cudaMemcpy(out, x, 4, (enum cudaMemcpyKind)9) == cudaErrorInvalidMemcpyDirection);
  OK(cudaMemcpy(out, x, BYTES, cudaMemcpyDefault));
  IS(cudaMemset(out, 0, BYTES) == cudaErrorInvalidValue);
  return 0;
}

Test(copy, a_wrong_direction_is_an_error)
{
  finds(wrong_direction, SIMDEV_E_MISUSE, "the pointers do not match the direction",
        "is pageable host memory");
}

static int sets(void *arg, int rank)
{
  uint8_t *x, *pinned, out[3];
  (void)arg, (void)rank;
  OK(cudaMalloc((void **)&x, 3));
  OK(cudaMallocHost((void **)&pinned, 3));
  OK(cudaMemset(x, 7, 3));
  OK(cudaMemcpy(out, x, 3, cudaMemcpyDeviceToHost));
  IS(out[0] == 7 && out[2] == 7);
  OK(cudaMemset(pinned, 9, 3));
  IS(pinned[0] == 9 && pinned[2] == 9); /* of pinned memory it is synchronous */
  OK(cudaMemcpy(out, pinned, 2, cudaMemcpyHostToHost));
  IS(out[1] == 9 && out[2] == 7);
  OK(cudaFree(x));
  OK(cudaFreeHost(pinned));
  return 0;
}

Test(memset, memset_sets_device_and_pinned_memory)
{
  cr_assert_eq(count_seeds(1, sets, NULL, (simdev_options){0}, SEEDS, SIMDEV_OK), SEEDS);
}

/* ---- Leaks ----------------------------------------------------------------------------------- */

static int leaks(void *arg, int rank)
{
  int32_t *x, *pinned;
  cudaStream_t st;
  cudaEvent_t e;
  (void)arg;
  if (rank == 0) return 0;
  OK(make_vector(&x));
  OK(cudaMallocHost((void **)&pinned, 8));
  OK(make_stream(&st));
  OK(make_event(&e));
  return 0;
}

Test(leaks, leaks_are_listed_with_rank_and_call)
{
  simdev *s = run_case(2, leaks, NULL, NULL);
  const simdev_report *r = simdev_result(s);
  cr_assert_eq(r->status, SIMDEV_E_LEAK);
  cr_assert_eq(r->leaked_allocations, 2);
  cr_assert_eq(r->leaked_streams, 1);
  cr_assert_eq(r->leaked_events, 1);
  cr_assert(says(s, "rank 1: device memory made by call 1"));
  cr_assert(says(s, "rank 1: pinned memory made by call 2"));
  cr_assert(says(s, "rank 1: a stream made by call 3"));
  cr_assert(says(s, "rank 1: an event made by call 4"));
  simdev_close(s);
}

/* ---- Amounts --------------------------------------------------------------------------------- */

static int allocates(void *arg, int rank)
{
  simdev *const *s = arg;
  void *a, *b, *pinned;
  if (rank == 1) return 0;
  OK(cudaMalloc(&a, 100));
  OK(cudaMalloc(&b, 1000));
  OK(cudaMallocHost(&pinned, 10));
  OK(cudaFree(a));
  OK(cudaMalloc(&a, 50));
  const simdev_memory m = simdev_memory_of(*s, rank);
  IS(m.device == 1050 && m.device_peak == 1100 && m.pinned == 10 && m.pinned_peak == 10);
  OK(cudaFree(a));
  OK(cudaFree(b));
  return (int)cudaFreeHost(pinned);
}

Test(memory, live_bytes_and_their_peak_are_those_of_the_rank)
{
  simdev *s = simdev_open(2, 2, NULL, NULL);
  for (int r = 0; r < 2; r++) simdev_host(s, r, allocates, &s);
  for (int run = 0; run < 2; run++) { /* a new run begins with nothing */
    cr_assert_eq(simdev_run(s), SIMDEV_OK, "%s", simdev_result(s)->text);
    const simdev_memory one = simdev_memory_of(s, 0), other = simdev_memory_of(s, 1);
    cr_assert(one.device == 0 && one.device_peak == 1100 && one.pinned == 0);
    cr_assert(other.device_peak == 0 && other.pinned_peak == 0);
    simdev_reset(s, NULL);
  }
  simdev_close(s);
}
