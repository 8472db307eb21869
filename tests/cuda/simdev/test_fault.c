/* Injected faults have the effect that simdev.h describes, and the other ranks can end cleanly. */
#include <criterion/criterion.h>

#include "comm_case.h"

enum { R = 3 };

/* An all-reduce, waited for with a deadline, as a careful program does; the result says how it
 * ended. */
enum { GOOD = 0, DEADLINE = 11, REMOTE = 12, FAILED = 13 };

static int careful(void *arg, int rank)
{
  const uint64_t deadline = simdev_clock_ns() + 10000000000u;
  int *ended = arg;
  member m;
  cudaEvent_t e;
  int32_t *x;
  ncclResult_t state = ncclSuccess;
  OK(open_member(&m, rank, R, 0));
  OK(make_vector(&x));
  OK(make_event(&e));
  ended[rank] = FAILED;
  if (settle(ncclAllReduce(x, x, N, ncclInt32, ncclMax, m.comm, m.stream), m.comm)) goto abort;
  if (cudaEventRecord(e, m.stream)) goto abort;
  ended[rank] = GOOD;
  while (cudaEventQuery(e) == cudaErrorNotReady && ended[rank] == GOOD) {
    OK(ncclCommGetAsyncError(m.comm, &state));
    if (state != ncclSuccess) ended[rank] = REMOTE;
    else if (simdev_clock_ns() > deadline) ended[rank] = DEADLINE;
  }
abort:
  if (ended[rank] != GOOD || settle(ncclCommFinalize(m.comm), m.comm)) OK(ncclCommAbort(m.comm));
  else OK(ncclCommDestroy(m.comm));
  OK(cudaStreamSynchronize(m.stream)); /* the aborted operation has ended */
  OK(cudaStreamDestroy(m.stream));
  OK(cudaEventDestroy(e));
  return (int)cudaFree(x);
}

static simdev *with_fault(simdev_fault f, simdev_options o, int *ended)
{
  simdev *s;
  o.faults = &f;
  o.fault_count = 1;
  o.lazy_connections = SIMDEV_NEVER;
  s = run_case(R, careful, ended, &o);
  return s;
}

Test(fault, without_a_fault_the_run_succeeds)
{
  int ended[R];
  cr_assert_eq(count_seeds(R, careful, ended, (simdev_options){0}, SEEDS, SIMDEV_OK), SEEDS);
}

Test(fault, an_error_is_returned_by_the_named_call)
{
  int ended[R] = {0};
  simdev *s =
      with_fault((simdev_fault){SIMDEV_FAULT_ERROR, 1, "ncclAllReduce", 1, ncclInternalError},
                 (simdev_options){.remote_errors = SIMDEV_ALWAYS}, ended);
  cr_assert_eq(simdev_result(s)->status, SIMDEV_OK, "%s", simdev_result(s)->text);
  cr_assert(ended[0] == REMOTE && ended[1] == FAILED && ended[2] == REMOTE);
  simdev_close(s);
  s = with_fault((simdev_fault){SIMDEV_FAULT_ERROR, 2, "cudaEventRecord", 1, cudaErrorUnknown},
                 (simdev_options){.remote_errors = SIMDEV_ALWAYS}, ended);
  cr_assert_eq(simdev_result(s)->status, SIMDEV_OK, "%s", simdev_result(s)->text);
  cr_assert_eq(ended[2], FAILED);
  simdev_close(s);
}

Test(fault, a_stopped_rank_is_detected_by_deadlines_or_remote_errors)
{
  for (int remote = SIMDEV_NEVER; remote <= SIMDEV_ALWAYS; remote++)
    for (int kind = SIMDEV_FAULT_STOP; kind <= SIMDEV_FAULT_DIE; kind++) {
      int ended[R] = {0};
      simdev *s = with_fault((simdev_fault){kind, 1, "ncclAllReduce", 1, 0},
                             (simdev_options){.remote_errors = remote}, ended);
      /* no rank gets an error when another one stops */
      const int want = remote == SIMDEV_ALWAYS && kind == SIMDEV_FAULT_DIE ? REMOTE : DEADLINE;
      cr_assert_eq(simdev_result(s)->status, SIMDEV_OK, "%s", simdev_result(s)->text);
      cr_assert(ended[0] == DEADLINE || ended[0] == REMOTE);
      cr_assert(ended[0] == want || ended[2] == want, "%d %d", ended[0], ended[2]);
      simdev_close(s);
    }
}

Test(fault, a_fault_at_any_call_ends_without_a_hang)
{
  for (int64_t n = 1; n <= 16; n++)
    for (int kind = SIMDEV_FAULT_ERROR; kind <= SIMDEV_FAULT_DIE; kind++) {
      int ended[R] = {0};
      simdev *s = with_fault((simdev_fault){kind, 1, NULL, n, cudaErrorUnknown},
                             (simdev_options){.seed = (uint64_t)n, .allow_leaks = 1}, ended);
      const simdev_status status = simdev_result(s)->status;
      cr_assert(status == SIMDEV_OK || status == SIMDEV_E_HOST || status == SIMDEV_E_DEADLOCK);
      simdev_close(s);
    }
}

/* Without a deadline the run is a deadlock, and the report names the stopped rank. */
static int careless(void *arg, int rank)
{
  member m;
  int32_t *x;
  (void)arg;
  OK(open_member(&m, rank, R, 1));
  OK(make_vector(&x));
  OK(ncclAllReduce(x, x, N, ncclInt32, ncclMax, m.comm, m.stream));
  OK(cudaStreamSynchronize(m.stream));
  OK(cudaFree(x));
  return close_member(&m);
}

Test(fault, a_stopped_rank_is_named_by_a_deadlock)
{
  simdev_fault f = {SIMDEV_FAULT_STOP, 2, "ncclAllReduce", 1, 0};
  simdev *s =
      run_case(R, careless, NULL,
               &(simdev_options){.faults = &f, .fault_count = 1, .lazy_connections = SIMDEV_NEVER});
  cr_assert_eq(simdev_result(s)->status, SIMDEV_E_DEADLOCK);
  cr_assert(says(s, "rank 2's host was stopped by a fault in call 5 (ncclAllReduce)"), "%s",
            simdev_result(s)->text);
  simdev_close(s);
}

/* After a deadlock calls fail, and hosts end as after any error: no memory of theirs is lost. */
static int cleans_up(void *arg, int rank)
{
  member m;
  int32_t *x;
  OK(open_member(&m, rank, R, 1));
  OK(make_vector(&x));
  if (rank == 2) return 0;
  OK(ncclAllReduce(x, x, N, ncclInt32, ncclMax, m.comm, m.stream));
  if (cudaStreamSynchronize(m.stream) == cudaErrorUnknown) ++*(int *)arg;
  return (int)cudaMemsetAsync(x, 0, 4, m.stream);
}

Test(deadlock, hosts_clean_up_after_a_deadlock)
{
  const simdev_options o = {.allow_leaks = 1, .lazy_connections = SIMDEV_NEVER};
  int cleaned = 0;
  cr_assert_eq(count_seeds(R, cleans_up, &cleaned, o, 10, SIMDEV_E_DEADLOCK), 10);
  cr_assert_eq(cleaned, 2 * 10);
}

/* An item that fails makes every later call of the rank fail, as a lost context does. */
static int sticky(void *arg, int rank)
{
  int32_t *x;
  cudaError_t e;
  (void)arg, (void)rank;
  OK(make_vector(&x));
  OK(fill(x, 0, NULL));
  OK(fill(x, 0, NULL));
  e = cudaDeviceSynchronize();
  IS(e == cudaErrorIllegalAddress);
  IS(cudaFree(x) == cudaErrorIllegalAddress);
  IS(cudaGetLastError() == cudaErrorIllegalAddress);
  IS(cudaGetLastError() == cudaErrorIllegalAddress);
  return 0;
}

Test(fault, a_failed_item_makes_later_calls_fail)
{
  simdev_fault f = {SIMDEV_FAULT_ITEM, 0, NULL, 2, cudaErrorIllegalAddress};
  simdev_options o = {.faults = &f, .fault_count = 1, .allow_leaks = 1, .order = SIMDEV_LAZY};
  cr_assert_eq(count_seeds(1, sticky, NULL, o, 10, SIMDEV_OK), 10);
}

/* Later work does not run on any stream of the rank, and other ranks receive nothing from it. */
static int loses_its_context(void *arg, int rank)
{
  int *ended = arg;
  member m;
  int32_t *x;
  cudaEvent_t e;
  const uint64_t deadline = simdev_clock_ns() + 10000000000u;
  cudaError_t state;
  ncclResult_t settled;
  OK(open_member(&m, rank, 2, 0));
  OK(make_vector(&x));
  OK(make_event(&e));
  if (rank == 0) fill(x, 7, m.stream); /* item 1 of rank 0 */
  settled = settle(ncclBroadcast(x, x, N, ncclInt32, 0, m.comm, m.stream), m.comm);
  if (rank == 0) {
    IS(cudaStreamSynchronize(m.stream) == cudaErrorIllegalAddress);
    IS(cudaEventRecord(e, m.stream) == cudaErrorIllegalAddress);
    simdev_signal(ended);
    return 0; /* without ncclCommAbort the other rank gets no error */
  }
  IS(settled == ncclSuccess);
  OK(cudaEventRecord(e, m.stream));
  OK(simdev_await(ended)); /* simdev's own calls still work */
  do state = cudaEventQuery(e);
  while (state == cudaErrorNotReady && simdev_clock_ns() < deadline);
  ended[0] += state == cudaErrorNotReady;
  OK(ncclCommAbort(m.comm));
  return 0;
}

Test(fault, a_failed_item_stops_the_ranks_streams)
{
  int ended[1] = {0};
  simdev_fault f = {SIMDEV_FAULT_ITEM, 0, NULL, 1, cudaErrorIllegalAddress};
  simdev_options o = {
      .faults = &f, .fault_count = 1, .allow_leaks = 1, .lazy_connections = SIMDEV_NEVER};
  cr_assert_eq(count_seeds(2, loses_its_context, ended, o, SEEDS, SIMDEV_OK), SEEDS);
  cr_assert_eq(ended[0], SEEDS);
}

/* ---- Dropped synchronization ----------------------------------------------------------------- */

/* Two sync calls: a record and a wait; without either the result can be wrong. */
static int two_syncs(void *arg, int rank)
{
  cudaStream_t a, b;
  cudaEvent_t e;
  int32_t *x, *y, out[N];
  (void)arg, (void)rank;
  OK(make_stream(&a));
  OK(make_stream(&b));
  OK(make_event(&e));
  OK(make_vector(&x));
  OK(make_vector(&y));
  OK(fill(x, 3, a));
  OK(cudaEventRecord(e, a));
  OK(cudaStreamWaitEvent(b, e, 0));
  OK(copy_add(y, x, 0, b));
  OK(cudaMemcpyAsync(out, y, sizeof out, cudaMemcpyDeviceToHost, b));
  OK(cudaDeviceSynchronize());
  OK(cudaFree(x));
  OK(cudaFree(y));
  OK(cudaEventDestroy(e));
  OK(cudaStreamDestroy(a));
  OK(cudaStreamDestroy(b));
  return holds(out, 3) ? 0 : 1;
}

Test(fault, a_dropped_record_or_wait_is_a_wrong_result)
{
  for (int64_t n = 1; n <= 3; n++) {
    simdev_fault f = {SIMDEV_FAULT_DROP_SYNC, -1, NULL, n, 0};
    const simdev_options o = {.faults = &f, .fault_count = 1};
    const int bad = count_seeds(1, two_syncs, NULL, o, SEEDS, SIMDEV_E_HOST);
    cr_assert(n <= 2 ? bad > 0 : bad == 0);
  }
}

/* A slow stream does its work when nothing else can go on: the missing wait shows at once. */
static int races(void *arg, int rank)
{
  cudaStream_t a, b;
  int32_t *x, *y, out[N];
  (void)arg, (void)rank;
  OK(make_stream(&a));
  OK(make_stream(&b));
  OK(make_vector(&x));
  OK(make_vector(&y));
  OK(fill(x, 3, a));
  OK(copy_add(y, x, 0, b));
  OK(cudaMemcpyAsync(out, y, sizeof out, cudaMemcpyDeviceToHost, b));
  OK(cudaDeviceSynchronize());
  OK(cudaFree(x));
  OK(cudaFree(y));
  OK(cudaStreamDestroy(a));
  OK(cudaStreamDestroy(b));
  return holds(out, 3) ? 0 : 1;
}

Test(fault, a_slow_stream_is_overtaken)
{
  simdev_fault f = {SIMDEV_FAULT_SLOW_STREAM, 0, NULL, 0, 0};
  simdev_options o = {.serialize_streams = SIMDEV_NEVER, .lazy_loading = SIMDEV_NEVER};
  const int before = count_seeds(1, races, NULL, o, SEEDS, SIMDEV_E_HOST);
  int after;
  o.faults = &f;
  o.fault_count = 1;
  after = count_seeds(1, races, NULL, o, SEEDS, SIMDEV_E_HOST);
  cr_assert_gt(after, before);
  cr_assert_gt(after, SEEDS * 9 / 10);
}

Test(fault, a_slow_stream_is_overtaken_on_an_idle_device_too)
{
  simdev_fault f = {SIMDEV_FAULT_SLOW_STREAM, 0, NULL, 0, 0};
  simdev_options o = {
      .serialize_streams = SIMDEV_NEVER, .lazy_loading = SIMDEV_NEVER, .order = SIMDEV_FIFO};
  cr_assert_eq(count_seeds(1, races, NULL, o, 10, SIMDEV_OK), 10);
  o.faults = &f;
  o.fault_count = 1;
  cr_assert_eq(count_seeds(1, races, NULL, o, 10, SIMDEV_E_HOST), 10);
}

/* Two hosts of a rank: when it dies, both do. */
static int dies(void *arg, int rank)
{
  int device;
  (void)rank;
  simdev_signal(arg);
  return (int)cudaGetDevice(&device);
}

static int dies_with_it(void *arg, int rank)
{
  int device;
  (void)rank;
  OK(simdev_await(arg));
  OK(cudaGetDevice(&device));
  *(int *)arg = 1;
  return 0;
}

Test(fault, a_rank_that_exits_stops_all_its_hosts)
{
  int survived = 0;
  simdev_fault f = {SIMDEV_FAULT_DIE, 0, "cudaGetDevice", 1, 0};
  simdev *s = simdev_open(
      1, 1, &(simdev_options){.order = SIMDEV_LAZY, .faults = &f, .fault_count = 1}, NULL);
  simdev_host(s, 0, dies_with_it, &survived);
  simdev_host(s, 0, dies, &survived);
  simdev_run(s);
  cr_assert_eq(survived, 0);
  simdev_close(s);
}

/* Calls that do not wait; arg: how many hosts have ended. Rank 0 must be the last. */
static int in_no_hurry(void *arg, int rank)
{
  int device, *ended = arg;
  for (int i = 0; i < 5; i++) OK(cudaGetDevice(&device));
  IS(++*ended % R == 0 || rank != 0);
  return 0;
}

Test(fault, a_slow_host_ends_last_under_every_order)
{
  simdev_fault f = {SIMDEV_FAULT_SLOW_HOST, 0, NULL, 0, 0};
  for (int order = SIMDEV_RANDOM; order <= SIMDEV_LAZY; order++) {
    simdev_options o = {.order = (simdev_order)order, .faults = &f};
    int ended = 0, last;
    last = count_seeds(R, in_no_hurry, &ended, o, SEEDS, SIMDEV_OK);
    cr_assert_lt(last, SEEDS, "order %d", order);
    o.fault_count = 1;
    ended = 0;
    last = count_seeds(R, in_no_hurry, &ended, o, SEEDS, SIMDEV_OK);
    cr_assert_eq(last, SEEDS, "order %d: %d", order, last);
  }
}

Test(fault, a_slow_host_changes_no_result)
{
  int ended[R];
  simdev_fault f = {SIMDEV_FAULT_SLOW_HOST, 1, NULL, 0, 0};
  cr_assert_eq(count_seeds(R, careful, ended, (simdev_options){.faults = &f, .fault_count = 1},
                           SEEDS, SIMDEV_OK),
               SEEDS);
}

/* ---- Aborting -------------------------------------------------------------------------------- */

static int aborts(void *arg, int rank)
{
  member m;
  int32_t *x;
  (void)arg;
  OK(open_member(&m, rank, R, 1));
  OK(make_vector(&x));
  if (rank != 2) OK(ncclAllReduce(x, x, N, ncclInt32, ncclMax, m.comm, m.stream));
  OK(ncclCommAbort(m.comm)); /* local: without it the stream would never be empty */
  OK(cudaStreamSynchronize(m.stream));
  OK(cudaStreamDestroy(m.stream));
  return (int)cudaFree(x);
}

Test(abort, an_abort_ends_waiting_operations)
{
  const simdev_options o = {.lazy_connections = SIMDEV_NEVER};
  cr_assert_eq(count_seeds(R, aborts, NULL, o, SEEDS, SIMDEV_OK), SEEDS);
}
