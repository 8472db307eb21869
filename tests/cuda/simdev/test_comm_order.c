/* When operations begin: non-blocking calls, several communicators, one kernel at a time. */
#define _POSIX_C_SOURCE 200809L /* setenv */
#include <criterion/criterion.h>
#include <stdlib.h>

#include "comm_case.h"

enum { R = 3 };

/* ---- Asynchronous calls ---------------------------------------------------------------------- */

/* An event that is recorded before ncclSuccess does not cover the operation. arg: the host polls
 * first. */
static int records_early(void *arg, int rank)
{
  member m;
  cudaStream_t other;
  cudaEvent_t e;
  int32_t *x, *y, out[N];
  ncclResult_t state;
  OK(open_member(&m, rank, R, 0));
  OK(make_stream(&other));
  OK(make_event(&e));
  OK(make_vector(&x));
  OK(make_vector(&y));
  OK(fill(x, rank, m.stream));
  state = ncclAllReduce(x, x, N, ncclInt32, ncclMax, m.comm, m.stream);
  IS(state == ncclInProgress);
  if (*(int *)arg) OK(settle(state, m.comm));
  OK(cudaEventRecord(e, m.stream));
  OK(cudaStreamWaitEvent(other, e, 0));
  OK(copy_add(y, x, 0, other));
  OK(settle(state, m.comm));
  OK(to_host(out, y, sizeof out, other));
  OK(cudaStreamSynchronize(m.stream));
  OK(cudaFree(x));
  OK(cudaFree(y));
  OK(cudaEventDestroy(e));
  OK(cudaStreamDestroy(other));
  OK(close_member(&m));
  return holds(out, R - 1) ? 0 : 1;
}

Test(non_blocking, an_event_before_success_misses_the_work)
{
  int polls = 1;
  cr_assert_eq(count_seeds(R, records_early, &polls, (simdev_options){0}, SEEDS, SIMDEV_OK), SEEDS);
  polls = 0;
  cr_assert_gt(count_seeds(R, records_early, &polls, (simdev_options){0}, SEEDS, SIMDEV_E_HOST), 0);
}

/* Making, splitting, communicating, finalizing. */
static int calls_in_turn(void *arg, int rank)
{
  ncclConfig_t config = NCCL_CONFIG_INITIALIZER;
  ncclResult_t state;
  ncclComm_t half;
  member m;
  int32_t *x;
  (void)arg;
  config.blocking = 0;
  OK(open_member(&m, rank, R, 0));
  OK(make_vector(&x));
  OK(fill(x, rank, m.stream));
  state = ncclCommSplit(m.comm, rank % 2, rank, &half, &config);
  IS(state == ncclInProgress);
  OK(settle(state, half));
  OK(settle(ncclInProgress, m.comm));
  state = ncclBroadcast(x, x, N, ncclInt32, 0, half, m.stream);
  IS(state == ncclInProgress);
  OK(settle(state, half));
  OK(ncclGroupStart());
  state = ncclSend(x, N / 2, ncclInt32, (rank + 1) % R, m.comm, m.stream);
  IS(state == ncclInProgress || state == ncclSuccess); /* no operation has begun */
  state = ncclRecv(x + N / 2, N / 2, ncclInt32, (rank + R - 1) % R, m.comm, m.stream);
  IS(state == ncclInProgress || state == ncclSuccess);
  state = ncclGroupEnd();
  IS(state == ncclInProgress);
  OK(settle(state, m.comm));
  OK(cudaStreamSynchronize(m.stream));
  state = ncclCommFinalize(half);
  IS(state == ncclInProgress);
  OK(settle(state, half));
  OK(ncclCommDestroy(half));
  OK(cudaFree(x));
  return close_member(&m);
}

Test(non_blocking, every_call_is_in_progress)
{
  cr_assert_eq(count_seeds(R, calls_in_turn, NULL, (simdev_options){0}, SEEDS, SIMDEV_OK), SEEDS);
}

/* An operation that the program never polls is done eventually. */
static int never_asks(void *arg, int rank)
{
  const uint64_t later = simdev_clock_ns() + 1000000000u;
  member m;
  int32_t *x;
  ncclResult_t state;
  (void)arg;
  OK(open_member(&m, rank, R, 0));
  OK(make_vector(&x));
  IS(ncclAllReduce(x, x, N, ncclInt32, ncclMax, m.comm, m.stream) == ncclInProgress);
  while (simdev_clock_ns() < later) simdev_pause();
  OK(ncclCommGetAsyncError(m.comm, &state));
  IS(state == ncclSuccess);
  OK(cudaStreamSynchronize(m.stream));
  OK(cudaFree(x));
  return close_member(&m);
}

Test(non_blocking, an_operation_runs_without_being_polled)
{
  simdev_options o = {.late_launches = SIMDEV_ALWAYS};
  cr_assert_eq(count_seeds(R, never_asks, NULL, o, SEEDS, SIMDEV_OK), SEEDS);
}

static int used_in_progress(void *arg, int rank)
{
  member m;
  int32_t *x;
  (void)arg;
  OK(open_member(&m, rank, R, 0));
  OK(make_vector(&x));
  IS(ncclAllReduce(x, x, N, ncclInt32, ncclMax, m.comm, m.stream) == ncclInProgress);
  return ncclAllReduce(x, x, N, ncclInt32, ncclMax, m.comm, m.stream) != ncclInvalidArgument;
}

Test(non_blocking, a_call_while_in_progress_is_an_error)
{
  simdev *s = run_case(R, used_in_progress, NULL,
                       &(simdev_options){.order = SIMDEV_LAZY, .allow_leaks = 1});
  cr_assert_eq(simdev_result(s)->status, SIMDEV_E_MISUSE);
  cr_assert(says(s, "communicator 'world' is still in progress"));
  simdev_close(s);
}

/* One communicator on two streams: its kernels run in the order of their issue. */
static int one_comm_two_streams(void *arg, int rank)
{
  member m;
  cudaStream_t st;
  int32_t *x, *y;
  (void)arg;
  OK(open_member(&m, rank, 2, 1));
  OK(make_stream(&st));
  OK(make_vector(&x));
  OK(make_vector(&y));
  OK(ncclAllReduce(x, x, N, ncclInt32, ncclMax, m.comm, m.stream));
  OK(ncclAllReduce(y, y, N, ncclInt32, ncclMax, m.comm, st));
  OK(cudaDeviceSynchronize());
  OK(cudaFree(x));
  OK(cudaFree(y));
  OK(cudaStreamDestroy(st));
  return close_member(&m);
}

Test(order, one_communicator_runs_its_calls_in_order)
{
  simdev_options o = {.one_comm_kernel = SIMDEV_ALWAYS, .serialize_streams = SIMDEV_NEVER};
  cr_assert_eq(count_seeds(2, one_comm_two_streams, NULL, o, SEEDS, SIMDEV_OK), SEEDS);
}

/* ---- One kernel at a time, and the order of launches ----------------------------------------- */

/* Two communicators on two streams without an order between them. */
static int crossing(void *arg, int rank)
{
  member m;
  cudaStream_t st;
  ncclComm_t other;
  int32_t *x, *y;
  (void)arg;
  OK(open_member(&m, rank, 2, 1));
  OK(make_stream(&st));
  OK(ncclCommSplit(m.comm, 0, rank, &other, NULL));
  OK(make_vector(&x));
  OK(make_vector(&y));
  OK(ncclAllReduce(x, x, N, ncclInt32, ncclMax, m.comm, m.stream));
  OK(ncclAllReduce(y, y, N, ncclInt32, ncclMax, other, st));
  OK(cudaDeviceSynchronize());
  OK(cudaFree(x));
  OK(cudaFree(y));
  OK(cudaStreamDestroy(st));
  OK(ncclCommDestroy(other));
  return close_member(&m);
}

Test(order, unordered_communicators_can_deadlock_a_device_with_one_kernel)
{
  simdev_options o = {.one_comm_kernel = SIMDEV_ALWAYS, .serialize_streams = SIMDEV_NEVER};
  const int stuck = count_seeds(2, crossing, NULL, o, SEEDS, SIMDEV_E_DEADLOCK);
  cr_assert_gt(stuck, 0);
  cr_assert_eq(stuck + count_seeds(2, crossing, NULL, o, SEEDS, SIMDEV_OK), SEEDS);
  o.one_comm_kernel = SIMDEV_NEVER;
  cr_assert_eq(count_seeds(2, crossing, NULL, o, SEEDS, SIMDEV_OK), SEEDS);
}

/* If the seed chooses, some of the runs have one kernel at a time. */
Test(order, one_kernel_at_a_time_depends_on_the_seed)
{
  simdev_options o = {.one_comm_kernel = SIMDEV_ALWAYS, .serialize_streams = SIMDEV_NEVER};
  const int always = count_seeds(2, crossing, NULL, o, 4 * SEEDS, SIMDEV_E_DEADLOCK);
  int by_seed;
  o.one_comm_kernel = SIMDEV_BY_SEED;
  by_seed = count_seeds(2, crossing, NULL, o, 4 * SEEDS, SIMDEV_E_DEADLOCK);
  cr_assert(by_seed > 0 && by_seed < always, "%d of %d", by_seed, always);
}

Test(order, implicit_launch_order_prevents_the_deadlock)
{
  simdev_options o = {.one_comm_kernel = SIMDEV_ALWAYS, .serialize_streams = SIMDEV_NEVER};
  setenv("NCCL_LAUNCH_ORDER_IMPLICIT", "1", 1);
  cr_assert_eq(count_seeds(2, crossing, NULL, o, SEEDS, SIMDEV_OK), SEEDS);
}

Test(order, serialized_streams_prevent_the_deadlock)
{
  simdev_options o = {.serialize_streams = SIMDEV_ALWAYS};
  cr_assert_eq(count_seeds(2, crossing, NULL, o, SEEDS, SIMDEV_OK), SEEDS);
}

/* NCCL reads its variables once, at the first call of a process; setting one later has no
 * effect. */
static int crossing_set_late(void *arg, int rank)
{
  static int used[2];
  ncclUniqueId unused;
  unsetenv("NCCL_LAUNCH_ORDER_IMPLICIT");
  OK(ncclGetUniqueId(&unused));
  simdev_signal(&used[rank]);
  OK(simdev_await(&used[1 - rank]));
  setenv("NCCL_LAUNCH_ORDER_IMPLICIT", "1", 1);
  return crossing(arg, rank);
}

Test(order, implicit_launch_order_set_too_late_or_with_an_old_nccl_has_no_effect)
{
  simdev_options o = {.one_comm_kernel = SIMDEV_ALWAYS, .serialize_streams = SIMDEV_NEVER};
  cr_assert_gt(count_seeds(2, crossing_set_late, NULL, o, SEEDS, SIMDEV_E_DEADLOCK), 0);
  setenv("NCCL_LAUNCH_ORDER_IMPLICIT", "1", 1);
  o.nccl_version = NCCL_VERSION(2, 25, 1);
  cr_assert_gt(count_seeds(2, crossing, NULL, o, SEEDS, SIMDEV_E_DEADLOCK), 0);
}

/* ---- Loading --------------------------------------------------------------------------------- */

/* Rank 1 sends when rank 0 has launched a kernel, behind a receive on another stream. arg: is the
 * kernel loaded before? */
static int loads_late(void *arg, int rank)
{
  static int launched;
  struct cudaFuncAttributes a;
  const int *loads = arg;
  cudaStream_t st;
  member m;
  int32_t *x, *y;
  if (*loads) OK(cudaFuncGetAttributes(&a, &fill_kernel));
  OK(open_member(&m, rank, 2, 1));
  OK(make_stream(&st));
  OK(make_vector(&x));
  OK(make_vector(&y));
  if (rank == 0) {
    OK(ncclRecv(x, N, ncclInt32, 1, m.comm, m.stream));
    OK(fill(y, 1, st));
    simdev_signal(&launched);
  } else {
    OK(simdev_await(&launched));
    OK(ncclSend(x, N, ncclInt32, 0, m.comm, m.stream));
  }
  OK(cudaStreamSynchronize(st));
  OK(cudaStreamDestroy(st));
  OK(close_member(&m));
  OK(cudaFree(x));
  return (int)cudaFree(y);
}

Test(loading, a_first_launch_may_wait_for_the_device)
{
  simdev_options o = {.lazy_loading = SIMDEV_ALWAYS, .lazy_connections = SIMDEV_NEVER};
  int loads = 1;
  simdev *s;
  cr_assert_eq(count_seeds(2, loads_late, &loads, o, SEEDS, SIMDEV_OK), SEEDS);
  loads = 0;
  cr_assert_eq(count_seeds(2, loads_late, &loads, o, SEEDS, SIMDEV_E_DEADLOCK), SEEDS);
  s = run_case(2, loads_late, &loads, &o);
  cr_assert(says(s, "cudaLaunchKernel"));
  cr_assert_eq(simdev_result(s)->late_loads, 1);
  cr_assert_str_eq(simdev_result(s)->late_kernel, fill_kernel.name);
  simdev_close(s);
  o.lazy_loading = SIMDEV_NEVER;
  cr_assert_eq(count_seeds(2, loads_late, &loads, o, SEEDS, SIMDEV_OK), SEEDS);
  o.lazy_loading = SIMDEV_BY_SEED; /* some of the seeds */
  cr_assert_gt(count_seeds(2, loads_late, &loads, o, SEEDS, SIMDEV_E_DEADLOCK), 0);
  cr_assert_gt(count_seeds(2, loads_late, &loads, o, SEEDS, SIMDEV_OK), 0);
}

/* ---- Connections ----------------------------------------------------------------------------- */

typedef struct crossed {
  int blocking, again; /* again: both ranks have used the communicators in the same order before */
} crossed;

static int sum_both(ncclComm_t first, ncclComm_t second, int32_t *x, int32_t *y, cudaStream_t st,
                    cudaStream_t other)
{
  OK(settle(ncclAllReduce(x, x, N, ncclInt32, ncclMax, first, st), first));
  OK(settle(ncclAllReduce(y, y, N, ncclInt32, ncclMax, second, other), second));
  return 0;
}

/* Two communicators on a stream each; the ranks call them in opposite orders. */
static int calls_crossed(void *arg, int rank)
{
  const crossed *a = arg;
  member m;
  cudaStream_t st;
  ncclComm_t half;
  ncclResult_t state;
  int32_t *x, *y;
  ncclConfig_t config = NCCL_CONFIG_INITIALIZER;
  config.blocking = a->blocking;
  config.commName = "second";
  OK(open_member(&m, rank, 2, a->blocking));
  OK(make_stream(&st));
  state = ncclCommSplit(m.comm, 0, rank, &half, &config);
  OK(settle(state, half));
  OK(settle(ncclInProgress, m.comm));
  OK(make_vector(&x));
  OK(make_vector(&y));
  if (a->again) OK(sum_both(m.comm, half, x, y, m.stream, st));
  if (rank == 0) OK(sum_both(m.comm, half, x, y, m.stream, st));
  else OK(sum_both(half, m.comm, y, x, st, m.stream));
  OK(cudaDeviceSynchronize());
  OK(cudaFree(x));
  OK(cudaFree(y));
  OK(cudaStreamDestroy(st));
  OK(end_comm(half));
  return close_member(&m);
}

/* No order of communicators is needed on a device that runs several kernels; hosts that connect
 * need one all the same, blocking or not. */
Test(connections, first_calls_in_opposite_orders_deadlock_the_hosts)
{
  for (int blocking = 0; blocking < 2; blocking++) {
    simdev_options o = {.one_comm_kernel = SIMDEV_NEVER,
                        .serialize_streams = SIMDEV_NEVER,
                        .lazy_connections = SIMDEV_ALWAYS};
    crossed a = {blocking, 0};
    simdev *s;
    cr_assert_eq(count_seeds(2, calls_crossed, &a, o, SEEDS, SIMDEV_E_DEADLOCK), SEEDS);
    s = run_case(2, calls_crossed, &a, &o);
    cr_assert(says(s, "(ncclAllReduce(100 x int32, max)) of communicator 'world' connects first\n"
                      "    waits for rank 1, which has issued 0 collectives of this communicator"),
              "%s", simdev_result(s)->text);
    cr_assert(says(s, "of communicator 'second' connects first"));
    simdev_close(s);
    a.again = 1;
    cr_assert_eq(count_seeds(2, calls_crossed, &a, o, SEEDS, SIMDEV_OK), SEEDS);
    a.again = 0;
    o.lazy_connections = SIMDEV_NEVER;
    cr_assert_eq(count_seeds(2, calls_crossed, &a, o, SEEDS, SIMDEV_OK), SEEDS);
    o.lazy_connections = SIMDEV_BY_SEED; /* some of the seeds */
    cr_assert_gt(count_seeds(2, calls_crossed, &a, o, SEEDS, SIMDEV_E_DEADLOCK), 0);
    cr_assert_gt(count_seeds(2, calls_crossed, &a, o, SEEDS, SIMDEV_OK), 0);
  }
}

/* A message that its receiver asks for only when something else has happened. */
static int sends_first(void *arg, int rank)
{
  static int sent;
  const int *messages = arg;
  member m;
  int32_t *x;
  OK(open_member(&m, rank, 2, 1));
  OK(make_vector(&x));
  for (int i = 0; i < *messages; i++) {
    const int last = i == *messages - 1;
    if (rank == 0) {
      OK(ncclSend(x, N, ncclInt32, 1, m.comm, m.stream));
      if (last) simdev_signal(&sent);
    } else {
      if (last) OK(simdev_await(&sent));
      OK(ncclRecv(x, N, ncclInt32, 0, m.comm, m.stream));
    }
  }
  OK(cudaStreamSynchronize(m.stream));
  OK(cudaFree(x));
  return close_member(&m);
}

Test(connections, the_first_message_of_a_pair_waits_for_the_peers_host)
{
  simdev_options o = {.lazy_connections = SIMDEV_ALWAYS};
  int messages = 1;
  simdev *s = run_case(2, sends_first, &messages, &o);
  cr_assert_eq(simdev_result(s)->status, SIMDEV_E_DEADLOCK);
  cr_assert(says(s, "waits for rank 1, which has not issued the receive"), "%s",
            simdev_result(s)->text);
  simdev_close(s);
  messages = 2;
  cr_assert_eq(count_seeds(2, sends_first, &messages, o, SEEDS, SIMDEV_OK), SEEDS);
}

/* Rank 1 ends without its call; rank 0 learns of it, or aborts. */
static int waits_in_vain(void *arg, int rank)
{
  const crossed *a = arg;
  member m;
  int32_t *x;
  ncclResult_t e;
  OK(open_member(&m, rank, 2, a->blocking));
  OK(make_vector(&x));
  if (rank == 1) return (int)ncclCommAbort(m.comm) || cudaFree(x) || cudaStreamDestroy(m.stream);
  e = ncclAllReduce(x, x, N, ncclInt32, ncclMax, m.comm, m.stream);
  while (e == ncclInProgress)
    if (ncclCommGetAsyncError(m.comm, &e)) return 1;
  IS(e == ncclRemoteError);
  OK(ncclCommAbort(m.comm));
  OK(cudaStreamSynchronize(m.stream));
  OK(cudaFree(x));
  return (int)cudaStreamDestroy(m.stream);
}

Test(connections, a_member_that_is_gone_ends_the_wait)
{
  for (int blocking = 0; blocking < 2; blocking++) {
    simdev_options o = {.lazy_connections = SIMDEV_ALWAYS, .remote_errors = SIMDEV_ALWAYS};
    crossed a = {blocking, 0};
    cr_assert_eq(count_seeds(2, waits_in_vain, &a, o, SEEDS, SIMDEV_OK), SEEDS, "%d of %d",
                 count_seeds(2, waits_in_vain, &a, o, SEEDS, SIMDEV_OK), SEEDS);
  }
}

/* ---- Hardware queues and priorities ---------------------------------------------------------- */

/* Rank 1 sends when rank 0's kernel has ended; arg: 1: an operation in place of the kernel. On rank
 * 0 a stream waits for the message: it blocks the kernel if both streams share a hardware queue. */
static int waits_beside_a_kernel(void *arg, int rank)
{
  static int ended;
  const int communicates = *(const int *)arg;
  ncclComm_t own;
  cudaStream_t waits, runs;
  cudaEvent_t received;
  int32_t *x, *y, *z;
  member m;
  OK(open_member(&m, rank, 2, 1));
  OK(ncclCommSplit(m.comm, rank, 0, &own, NULL));
  OK(make_stream(&waits));
  OK(make_stream(&runs));
  OK(make_event(&received));
  OK(make_vector(&x));
  OK(make_vector(&y));
  OK(make_vector(&z));
  if (rank == 0) {
    OK(ncclRecv(x, N, ncclInt32, 1, m.comm, m.stream));
    OK(cudaEventRecord(received, m.stream));
    OK(cudaStreamWaitEvent(waits, received, 0));
    OK(copy_add(y, x, 0, waits));
    if (communicates) OK(ncclAllReduce(z, z, N, ncclInt32, ncclMax, own, runs));
    else OK(fill(z, 1, runs));
    OK(cudaStreamSynchronize(runs));
    simdev_signal(&ended);
  } else {
    OK(simdev_await(&ended));
    OK(ncclSend(x, N, ncclInt32, 0, m.comm, m.stream));
  }
  OK(cudaDeviceSynchronize());
  OK(cudaStreamDestroy(waits));
  OK(cudaStreamDestroy(runs));
  OK(cudaEventDestroy(received));
  OK(cudaFree(x));
  OK(cudaFree(y));
  OK(cudaFree(z));
  OK(end_comm(own));
  return close_member(&m);
}

/* The first stream has a record after the receive, the second one waits, and the third one has the
 * kernel: with three queues nothing blocks that. */
static void blocks(int communicates)
{
  simdev_options o = {.lazy_connections = SIMDEV_NEVER,
                      .lazy_loading = SIMDEV_NEVER,
                      .serialize_streams = SIMDEV_NEVER,
                      .one_comm_kernel = SIMDEV_NEVER,
                      .early_sends = SIMDEV_NEVER};
  for (int32_t queues = -1; queues <= 3; queues++) {
    int n[2];
    o.hardware_queues = queues;
    n[0] = count_seeds(2, waits_beside_a_kernel, &communicates, o, SEEDS, SIMDEV_E_DEADLOCK);
    n[1] = count_seeds(2, waits_beside_a_kernel, &communicates, o, SEEDS, SIMDEV_OK);
    cr_assert_eq(n[0] + n[1], SEEDS, "%d queues", queues);
    if (queues == 0) cr_assert(n[0] > 0 && n[1] > 0, "%d of %d", n[0], SEEDS); /* by the seed */
    else cr_assert_eq(n[0], queues == 1 || queues == 2 ? SEEDS : 0, "%d queues: %d", queues, n[0]);
  }
  o.hardware_queues = 1;
  simdev *s = run_case(2, waits_beside_a_kernel, &communicates, &o);
  cr_assert(says(s, "waits for an older item of its hardware queue") &&
                says(s, "each device has 1 hardware queue"),
            "%s", simdev_result(s)->text);
  simdev_close(s);
}

Test(queues, a_wait_blocks_the_streams_that_share_its_hardware_queue)
{
  blocks(0);
}

Test(queues, a_wait_blocks_operations_that_share_its_hardware_queue)
{
  blocks(1);
}

/* Half of the work is on a stream of a greater priority, and queued last. arg: how often it ended
 * first. */
static int has_priority(void *arg, int rank)
{
  enum { KERNELS = 8 };
  cudaStream_t low, high;
  int32_t *x, out[N];
  int *first = arg;
  OK(cudaSetDevice(rank));
  OK(cudaStreamCreateWithPriority(&low, cudaStreamNonBlocking, 0));
  OK(cudaStreamCreateWithPriority(&high, cudaStreamNonBlocking, -5));
  OK(make_vector(&x));
  for (int i = 0; i < KERNELS; i++) OK(fill(x, i, low));
  for (int i = 0; i < KERNELS; i++) OK(fill(x, 100 + i, high));
  OK(cudaDeviceSynchronize());
  OK(to_host(out, x, sizeof out, low));
  *first += holds(out, KERNELS - 1);
  OK(cudaStreamDestroy(low));
  OK(cudaStreamDestroy(high));
  return (int)cudaFree(x);
}

Test(priorities, a_stream_of_the_greatest_priority_may_run_first)
{
  static const simdev_choice choices[] = {SIMDEV_ALWAYS, SIMDEV_NEVER, SIMDEV_BY_SEED};
  for (int i = 0; i < 3; i++) {
    simdev_options o = {.order = SIMDEV_LAZY,
                        .stream_priorities = choices[i],
                        .hardware_queues = -1,
                        .serialize_streams = SIMDEV_NEVER};
    int first = 0;
    cr_assert_eq(count_seeds(1, has_priority, &first, o, SEEDS, SIMDEV_OK), SEEDS);
    if (i == 0) cr_assert_eq(first, SEEDS, "%d", first);
    else cr_assert(first > 0 && first < SEEDS, "%d: %d", i, first);
  }
}
