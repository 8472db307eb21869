/* Streams and events: what CUDA's order promises holds under every seed, and what it does not
 * promise is seen to fail under some. */
#include <criterion/criterion.h>
#include <stdlib.h>

#include "case.h"

/* A host with two streams: x is written on the first and read on the second. */
typedef struct two {
  cudaStream_t a, b;
  cudaEvent_t e;
  int32_t *x, *y, *out; /* out is pinned */
} two;

static int open_two(two *t, unsigned flags)
{
  OK(cudaStreamCreateWithFlags(&t->a, flags));
  OK(cudaStreamCreateWithFlags(&t->b, flags));
  OK(make_event(&t->e));
  OK(make_vector(&t->x));
  OK(make_vector(&t->y));
  OK(cudaMallocHost((void **)&t->out, N * sizeof(int32_t)));
  return 0;
}

static int close_two(two *t)
{
  OK(cudaDeviceSynchronize());
  OK(cudaStreamDestroy(t->a));
  OK(cudaStreamDestroy(t->b));
  OK(cudaEventDestroy(t->e));
  OK(cudaFree(t->x));
  OK(cudaFree(t->y));
  OK(cudaFreeHost(t->out));
  return 0;
}

static int take_out(two *t, cudaStream_t stream, int32_t want)
{
  OK(cudaMemcpyAsync(t->out, t->y, N * sizeof(int32_t), cudaMemcpyDeviceToHost, stream));
  OK(cudaStreamSynchronize(stream));
  IS(holds(t->out, want));
  return 0;
}

/* arg: b waits for a's record. */
static int producer_consumer(void *arg, int rank)
{
  const int waits = *(int *)arg;
  two t;
  OK(open_two(&t, cudaStreamNonBlocking));
  OK(fill(t.x, 10 * rank, t.a));
  OK(cudaEventRecord(t.e, t.a));
  if (waits) OK(cudaStreamWaitEvent(t.b, t.e, 0));
  OK(copy_add(t.y, t.x, 5, t.b));
  OK(take_out(&t, t.b, 10 * rank + 5));
  return close_two(&t);
}

Test(stream, a_wait_orders_two_streams_under_every_order)
{
  int waits = 1;
  for (int order = SIMDEV_RANDOM; order <= SIMDEV_LAZY; order++)
    cr_assert_eq(count_seeds(3, producer_consumer, &waits, (simdev_options){.order = order}, SEEDS,
                             SIMDEV_OK),
                 SEEDS);
}

Test(stream, a_missing_wait_is_a_wrong_result_under_some_seed)
{
  int waits = 0;
  const int random =
      count_seeds(1, producer_consumer, &waits, (simdev_options){0}, SEEDS, SIMDEV_E_HOST);
  const int pct = count_seeds(1, producer_consumer, &waits, (simdev_options){.order = SIMDEV_PCT},
                              SEEDS, SIMDEV_E_HOST);
  const int lazy = count_seeds(1, producer_consumer, &waits, (simdev_options){.order = SIMDEV_LAZY},
                               SEEDS, SIMDEV_E_HOST);
  cr_assert_gt(random, 0);
  cr_assert_gt(pct, 0);
  cr_assert_gt(lazy, 0);
}

Test(stream, an_idle_device_and_one_queue_hide_a_missing_wait)
{
  int waits = 0;
  cr_assert_eq(count_seeds(1, producer_consumer, &waits, (simdev_options){.order = SIMDEV_FIFO},
                           SEEDS, SIMDEV_OK),
               SEEDS);
  cr_assert_eq(count_seeds(1, producer_consumer, &waits,
                           (simdev_options){.serialize_streams = SIMDEV_ALWAYS}, SEEDS, SIMDEV_OK),
               SEEDS);
}

Test(stream, serialized_streams_depend_on_the_seed)
{
  int waits = 0;
  simdev_options o = {.order = SIMDEV_LAZY, .serialize_streams = SIMDEV_NEVER};
  const int never = count_seeds(1, producer_consumer, &waits, o, 4 * SEEDS, SIMDEV_E_HOST);
  int by_seed;
  o.serialize_streams = SIMDEV_BY_SEED;
  by_seed = count_seeds(1, producer_consumer, &waits, o, 4 * SEEDS, SIMDEV_E_HOST);
  cr_assert(by_seed > 0 && by_seed < never, "%d of %d", by_seed, never);
}

/* A wait uses the record that is current at the call, not a later one. */
static int recorded_again(void *arg, int rank)
{
  two t;
  (void)arg, (void)rank;
  OK(open_two(&t, cudaStreamNonBlocking));
  OK(fill(t.x, 1, t.a));
  OK(cudaEventRecord(t.e, t.a));
  OK(cudaStreamWaitEvent(t.b, t.e, 0));
  OK(copy_add(t.y, t.x, 0, t.b));
  /* a waits for b, and records again: if b waited for this record, it would be a deadlock */
  cudaEvent_t f;
  OK(make_event(&f));
  OK(cudaEventRecord(f, t.b));
  OK(cudaStreamWaitEvent(t.a, f, 0));
  OK(fill(t.x, 7, t.a));
  OK(cudaEventRecord(t.e, t.a));
  OK(take_out(&t, t.b, 1));
  OK(cudaEventDestroy(f));
  return close_two(&t);
}

/* Recorded again before the wait: that one counts. */
static int recorded_before(void *arg, int rank)
{
  two t;
  (void)arg, (void)rank;
  OK(open_two(&t, cudaStreamNonBlocking));
  OK(fill(t.x, 1, t.a));
  OK(cudaEventRecord(t.e, t.a));
  OK(fill(t.x, 2, t.a));
  OK(cudaEventRecord(t.e, t.a));
  OK(cudaStreamWaitEvent(t.b, t.e, 0));
  OK(copy_add(t.y, t.x, 0, t.b));
  OK(take_out(&t, t.b, 2));
  return close_two(&t);
}

Test(event, a_wait_uses_the_record_that_is_current_at_the_call)
{
  cr_assert_eq(count_seeds(1, recorded_before, NULL, (simdev_options){0}, SEEDS, SIMDEV_OK), SEEDS);
  cr_assert_eq(count_seeds(1, recorded_again, NULL, (simdev_options){0}, SEEDS, SIMDEV_OK), SEEDS);
}

static int never_recorded(void *arg, int rank)
{
  two t;
  (void)arg, (void)rank;
  OK(open_two(&t, cudaStreamNonBlocking));
  OK(cudaStreamWaitEvent(t.a, t.e, 0));
  IS(cudaEventQuery(t.e) == cudaSuccess);
  OK(cudaEventSynchronize(t.e));
  OK(fill(t.y, 3, t.a));
  OK(take_out(&t, t.a, 3));
  return close_two(&t);
}

Test(event, a_wait_for_an_event_without_a_record_does_not_wait)
{
  cr_assert_eq(count_seeds(1, never_recorded, NULL, (simdev_options){0}, SEEDS, SIMDEV_OK), SEEDS);
}

/* The memory of a record that has ended is not used for other items while the event has it. */
static int recorded_long_ago(void *arg, int rank)
{
  two t;
  (void)arg, (void)rank;
  OK(open_two(&t, cudaStreamNonBlocking));
  OK(cudaEventRecord(t.e, t.a));
  OK(fill(t.x, 1, t.a));
  OK(cudaStreamSynchronize(t.a));
  for (int i = 0; i < 4; i++) OK(fill(t.x, i, t.b));
  IS(cudaEventQuery(t.e) == cudaSuccess);
  return close_two(&t);
}

Test(event, a_record_stays_the_events)
{
  cr_assert_eq(count_seeds(1, recorded_long_ago, NULL, (simdev_options){0}, SEEDS, SIMDEV_OK),
               SEEDS);
}

static int polls(void *arg, int rank)
{
  int *not_ready = arg;
  cudaError_t e;
  two t;
  (void)rank;
  OK(open_two(&t, cudaStreamNonBlocking));
  OK(fill(t.y, 3, t.a));
  OK(cudaMemcpyAsync(t.out, t.y, N * sizeof(int32_t), cudaMemcpyDeviceToHost, t.a));
  OK(cudaEventRecord(t.e, t.a));
  e = cudaEventQuery(t.e);
  IS(cudaGetLastError() == e); /* not ready is stored as the last error, too */
  while (e == cudaErrorNotReady) {
    ++*not_ready;
    e = cudaEventQuery(t.e);
  }
  OK(e);
  IS(holds(t.out, 3));
  OK(fill(t.y, 4, t.b));
  while ((e = cudaStreamQuery(t.b)) == cudaErrorNotReady) ++*not_ready;
  OK(e);
  return close_two(&t);
}

Test(event, a_query_returns_not_ready_until_the_work_is_done)
{
  int not_ready = 0;
  cr_assert_eq(count_seeds(1, polls, &not_ready, (simdev_options){0}, SEEDS, SIMDEV_OK), SEEDS);
  cr_assert_gt(not_ready, 0);
}

/* arg: cudaStreamDefault or cudaStreamNonBlocking. Only the legacy stream orders a and b. */
static int through_legacy(void *arg, int rank)
{
  two t;
  (void)rank;
  OK(open_two(&t, *(unsigned *)arg));
  OK(fill(t.x, 1, t.a));
  OK(copy_add(t.y, t.x, 1, cudaStreamLegacy));
  OK(copy_add(t.x, t.y, 1, t.b));
  OK(copy_add(t.y, t.x, 1, NULL));
  OK(take_out(&t, t.b, 4));
  return close_two(&t);
}

Test(legacy, the_legacy_stream_orders_blocking_streams_both_ways)
{
  unsigned flags = cudaStreamDefault;
  cr_assert_eq(count_seeds(2, through_legacy, &flags, (simdev_options){0}, SEEDS, SIMDEV_OK),
               SEEDS);
}

/* arg: the legacy stream is the one that waits. */
static int beside_legacy(void *arg, int rank)
{
  const int legacy_second = *(int *)arg;
  two t;
  (void)rank;
  OK(open_two(&t, cudaStreamNonBlocking));
  OK(fill(t.x, 1, legacy_second ? t.a : cudaStreamLegacy));
  OK(copy_add(t.y, t.x, 1, legacy_second ? cudaStreamLegacy : t.a));
  OK(take_out(&t, legacy_second ? cudaStreamLegacy : t.a, 2));
  return close_two(&t);
}

Test(legacy, the_legacy_stream_does_not_order_non_blocking_streams)
{
  for (int second = 0; second < 2; second++)
    cr_assert_gt(count_seeds(1, beside_legacy, &second, (simdev_options){0}, SEEDS, SIMDEV_E_HOST),
                 0);
}

/* The per-thread default stream is a blocking stream of its own. */
static int per_thread(void *arg, int rank)
{
  two t;
  (void)arg, (void)rank;
  OK(open_two(&t, cudaStreamNonBlocking));
  OK(fill(t.x, 1, cudaStreamPerThread));
  OK(copy_add(t.y, t.x, 1, cudaStreamLegacy));
  OK(take_out(&t, cudaStreamLegacy, 2));
  return close_two(&t);
}

Test(legacy, the_legacy_stream_orders_the_per_thread_stream)
{
  cr_assert_eq(count_seeds(1, per_thread, NULL, (simdev_options){0}, SEEDS, SIMDEV_OK), SEEDS);
}

static void CUDART_CB note(void *arg)
{
  ++*(int *)arg;
}

static int with_host_function(void *arg, int rank)
{
  int called = 0;
  two t;
  (void)arg, (void)rank;
  OK(open_two(&t, cudaStreamNonBlocking));
  OK(cudaLaunchHostFunc(t.a, note, &called));
  OK(cudaLaunchHostFunc(t.a, note, &called));
  OK(cudaStreamSynchronize(t.a));
  IS(called == 2);
  return close_two(&t);
}

Test(host_function, a_host_function_runs_in_its_stream)
{
  cr_assert_eq(count_seeds(1, with_host_function, NULL, (simdev_options){0}, SEEDS, SIMDEV_OK),
               SEEDS);
}

static void CUDART_CB calls_cuda(void *arg)
{
  cudaStreamQuery((cudaStream_t)arg);
}

static int bad_host_function(void *arg, int rank)
{
  two t;
  (void)arg, (void)rank;
  OK(open_two(&t, cudaStreamNonBlocking));
  OK(cudaLaunchHostFunc(t.a, calls_cuda, t.a));
  return close_two(&t);
}

Test(host_function, a_host_function_may_not_call_cuda)
{
  simdev *s = run_case(1, bad_host_function, NULL, NULL);
  cr_assert_eq(simdev_result(s)->status, SIMDEV_E_MISUSE);
  cr_assert(says(s, "cudaStreamQuery is called from a host function"));
  simdev_close(s);
}

/* A destroyed stream finishes its work. */
static int destroyed_early(void *arg, int rank)
{
  two t;
  cudaStream_t c;
  (void)arg, (void)rank;
  OK(open_two(&t, cudaStreamNonBlocking));
  OK(make_stream(&c));
  OK(fill(t.y, 2, c));
  OK(cudaEventRecord(t.e, c));
  OK(cudaStreamDestroy(c));
  OK(cudaStreamWaitEvent(t.a, t.e, 0));
  OK(take_out(&t, t.a, 2));
  return close_two(&t);
}

Test(stream, a_destroyed_stream_finishes_its_work)
{
  cr_assert_eq(count_seeds(1, destroyed_early, NULL, (simdev_options){0}, SEEDS, SIMDEV_OK), SEEDS);
}

static int uses_destroyed(void *arg, int rank)
{
  two t;
  (void)arg, (void)rank;
  OK(open_two(&t, cudaStreamNonBlocking));
  OK(cudaStreamDestroy(t.a));
  IS(fill(t.x, 0, t.a) == cudaErrorInvalidResourceHandle);
  IS(cudaPeekAtLastError() == cudaErrorInvalidResourceHandle);
  IS(cudaGetLastError() == cudaErrorInvalidResourceHandle);
  IS(cudaGetLastError() == cudaSuccess);
  OK(cudaEventDestroy(t.e));
  IS(cudaEventRecord(t.e, t.b) == cudaErrorInvalidResourceHandle);
  return 0;
}

Test(stream, a_destroyed_handle_is_an_error)
{
  simdev *s = run_case(1, uses_destroyed, NULL, &(simdev_options){.allow_leaks = 1});
  cr_assert_eq(simdev_result(s)->status, SIMDEV_E_MISUSE);
  cr_assert(says(s, "rank 0, call 8 (cudaLaunchKernel): the stream is destroyed"), "%s",
            simdev_result(s)->text);
  cr_assert(says(s, "(cudaEventRecord): the event is destroyed"));
  simdev_close(s);
}

/* Priorities, flags, the range of priorities. */
static int properties(void *arg, int rank)
{
  cudaStream_t st;
  unsigned flags;
  int least, greatest, priority, device, count;
  (void)arg;
  OK(cudaGetDeviceCount(&count));
  IS(count == 2);
  OK(cudaSetDevice(rank));
  OK(cudaGetDevice(&device));
  IS(device == rank);
  IS(cudaSetDevice(count) == cudaErrorInvalidDevice);
  OK(cudaDeviceGetStreamPriorityRange(&least, &greatest));
  IS(greatest < least);
  OK(cudaStreamCreateWithPriority(&st, cudaStreamNonBlocking, greatest));
  OK(cudaStreamGetFlags(st, &flags));
  OK(cudaStreamGetPriority(st, &priority));
  IS(flags == cudaStreamNonBlocking && priority == greatest);
  OK(cudaStreamDestroy(st));
  IS(strcmp(cudaGetErrorName(cudaErrorNotReady), "cudaErrorNotReady") == 0);
  IS(cudaGetErrorString(cudaErrorInvalidValue)[0] != 0);
  return 0;
}

Test(stream, a_stream_has_the_properties_that_it_was_created_with)
{
  cr_assert_eq(count_seeds(2, properties, NULL, (simdev_options){0}, 5, SIMDEV_OK), 5);
}

/* ---- The schedule ---------------------------------------------------------------------------- */

static int compare(const void *a, const void *b)
{
  const uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
  return x < y ? -1 : x > y;
}

Test(schedule, a_seed_replays_and_seeds_differ)
{
  uint64_t hash[2][SEEDS];
  int waits = 1, distinct = 1;
  for (int again = 0; again < 2; again++)
    for (int k = 0; k < SEEDS; k++) {
      simdev *s = run_case(3, producer_consumer, &waits, &(simdev_options){.seed = (uint64_t)k});
      hash[again][k] = simdev_result(s)->order_hash;
      simdev_close(s);
    }
  cr_assert_arr_eq(hash[0], hash[1], sizeof hash[0]);
  qsort(hash[0], SEEDS, sizeof **hash, compare);
  for (int k = 1; k < SEEDS; k++) distinct += hash[0][k] != hash[0][k - 1];
  cr_assert_gt(distinct, SEEDS / 2);
}

static void forgets(simdev_order order)
{
  int waits = 1;
  simdev_options o = {.seed = 5, .order = order};
  simdev *fresh = run_case(3, producer_consumer, &waits, &o), *s;
  o.seed = 4;
  s = run_case(3, producer_consumer, &waits, &o);
  o.seed = 5;
  cr_assert_eq(simdev_run(s), SIMDEV_E_INPUT); /* not twice without a reset */
  simdev_reset(s, &o);
  simdev_run(s);
  cr_assert_eq(simdev_result(s)->order_hash, simdev_result(fresh)->order_hash);
  cr_assert_eq(simdev_result(s)->decisions, simdev_result(fresh)->decisions);
  simdev_close(s);
  simdev_close(fresh);
}

/* Twenty items on each of two streams. */
static int two_rows(void *arg, int rank)
{
  two t;
  (void)arg, (void)rank;
  OK(open_two(&t, cudaStreamNonBlocking));
  for (int i = 0; i < 20; i++) OK(fill(t.x, i, t.a));
  for (int i = 0; i < 20; i++) OK(fill(t.y, i, t.b));
  OK(cudaStreamSynchronize(t.a));
  OK(cudaStreamSynchronize(t.b));
  return close_two(&t);
}

/* How often a run switches from one stream to the other. */
static int changes(simdev_order order, int depth, uint64_t seed)
{
  simdev_options o = {.seed = seed,
                      .order = order,
                      .pct_depth = depth,
                      .pct_steps = 60,
                      .serialize_streams = SIMDEV_NEVER,
                      .record = 1};
  simdev *s = run_case(1, two_rows, NULL, &o);
  const simdev_record *r;
  int n = 0, stream = -1;
  int64_t items;
  cr_assert_eq(simdev_result(s)->status, SIMDEV_OK);
  r = simdev_records(s, &items);
  for (int64_t i = 0; i < items; i++) {
    if (r[i].kind != SIMDEV_KERNEL) continue;
    n += stream >= 0 && r[i].stream != stream;
    stream = r[i].stream;
  }
  simdev_close(s);
  return n;
}

/* Priorities alone: one stream, then the other. Each of the d - 1 moments lowers one, which
 * interrupts a stream and lets it come back. */
Test(schedule, pct_changes_priorities_pct_depth_minus_1_times)
{
  int random = 0, changed = 0;
  for (uint64_t seed = 0; seed < SEEDS; seed++) {
    int deep = changes(SIMDEV_PCT, 3, seed);
    cr_assert_eq(changes(SIMDEV_PCT, 1, seed), 1);
    cr_assert_leq(deep, 5);
    changed += deep > 1;
    random += changes(SIMDEV_RANDOM, 1, seed) > 5;
  }
  cr_assert_gt(changed, 0);
  cr_assert_gt(random, SEEDS / 4);
}

Test(schedule, a_reset_leaves_nothing_of_the_last_run)
{
  for (int order = SIMDEV_RANDOM; order <= SIMDEV_LAZY; order++) forgets((simdev_order)order);
}

/* Two hosts of one rank, and a signal between two ranks' hosts. */
static int signals(void *arg, int rank)
{
  int *value = arg;
  if (rank == 0) {
    *value = 42;
    simdev_signal(value);
    return 0;
  }
  OK(simdev_await(value));
  IS(*value == 42 && simdev_rank() == rank);
  return 0;
}

Test(schedule, a_signal_wakes_hosts_that_await_it_before_or_after)
{
  int value = 0;
  cr_assert_eq(count_seeds(3, signals, &value, (simdev_options){0}, SEEDS, SIMDEV_OK), SEEDS);
}

/* Two hosts of a rank share a counter under a lock that is held across calls. */
static int counts(void *arg, int rank)
{
  int *counter = arg;
  (void)rank;
  for (int i = 0; i < 5; i++) {
    int before;
    OK(simdev_lock(counter));
    before = *counter;
    OK(cudaStreamSynchronize(cudaStreamLegacy));
    *counter = before + 1;
    simdev_unlock(counter);
  }
  return 0;
}

Test(schedule, a_lock_is_held_by_one_host)
{
  int counter;
  simdev_options o = {0};
  simdev *s = simdev_open(1, 1, NULL, NULL);
  for (int i = 0; i < 3; i++) simdev_host(s, 0, counts, &counter);
  for (o.seed = 0; o.seed < SEEDS; o.seed++) {
    counter = 0;
    simdev_reset(s, &o);
    cr_assert_eq(simdev_run(s), SIMDEV_OK, "%s", simdev_result(s)->text);
    cr_assert_eq(counter, 15);
  }
  simdev_close(s);
}

static int awaits_in_vain(void *arg, int rank)
{
  return rank == 0 ? simdev_await(arg) != -1 : 0;
}

Test(schedule, awaiting_a_signal_that_never_comes_is_a_deadlock)
{
  int key;
  simdev *s = run_case(2, awaits_in_vain, &key, NULL);
  cr_assert_eq(simdev_result(s)->status, SIMDEV_E_DEADLOCK);
  cr_assert(says(s, "rank 0's host waits in call 1 (simdev_await) for another host"), "%s",
            simdev_result(s)->text);
  simdev_close(s);
}

static int spins(void *arg, int rank)
{
  const uint64_t deadline = simdev_clock_ns() + 30000000000u;
  (void)arg, (void)rank;
  while (simdev_clock_ns() < deadline) simdev_pause();
  return 0;
}

Test(schedule, the_clock_advances_while_all_hosts_poll)
{
  cr_assert_eq(count_seeds(2, spins, NULL, (simdev_options){0}, 5, SIMDEV_OK), 5);
}

static int spins_for_ever(void *arg, int rank)
{
  (void)arg, (void)rank;
  for (;;) {
    cudaStream_t st = cudaStreamLegacy;
    if (cudaStreamQuery(st) != cudaSuccess && cudaStreamQuery(st) != cudaErrorNotReady) return 1;
  }
}

Test(schedule, a_host_that_never_stops_is_found)
{
  simdev *s = run_case(1, spins_for_ever, NULL,
                       &(simdev_options){.decisions_max = 1000, .order = SIMDEV_FIFO});
  cr_assert_eq(simdev_result(s)->status, SIMDEV_E_LIMIT);
  simdev_close(s);
}

Test(schedule, invalid_arguments_are_refused)
{
  const char *why = NULL;
  cr_assert_null(simdev_open(0, 1, NULL, &why));
  cr_assert(strstr(why, "ranks"));
  cr_assert_eq(cudaSetDevice(0), cudaErrorInitializationError); /* no simulation runs */
}
