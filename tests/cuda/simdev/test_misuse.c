/* Handles and devices that do not match are errors that name both. */
#include <criterion/criterion.h>

#include "comm_case.h"

enum { R = 2 };

static void finds(host_fn *fn, const char *what)
{
  simdev *s = run_case(R, fn, NULL, &(simdev_options){.allow_leaks = 1});
  cr_assert_eq(simdev_result(s)->status, SIMDEV_E_MISUSE, "%s", simdev_result(s)->text);
  cr_assert(says(s, what), "%s", simdev_result(s)->text);
  simdev_close(s);
}

static int event_elsewhere(void *arg, int rank)
{
  cudaStream_t st;
  cudaEvent_t e;
  (void)arg, (void)rank;
  OK(make_event(&e));
  OK(cudaSetDevice(1));
  OK(make_stream(&st));
  IS(cudaEventRecord(e, st) == cudaErrorInvalidResourceHandle);
  return 0;
}

Test(misuse, an_event_is_recorded_on_its_own_device)
{
  finds(event_elsewhere, "(cudaEventRecord): the event is device 0's, the stream device 1's");
}

static void *handed_over;

static int stream_of_another_rank(void *arg, int rank)
{
  cudaStream_t st;
  (void)arg;
  OK(make_stream(&st));
  if (rank == 0) {
    handed_over = st;
    simdev_signal(&handed_over);
    return 0;
  }
  OK(simdev_await(&handed_over));
  IS(cudaStreamSynchronize((cudaStream_t)handed_over) == cudaErrorInvalidResourceHandle);
  IS(cudaStreamQuery((cudaStream_t)&st) == cudaErrorInvalidResourceHandle);
  return 0;
}

Test(misuse, a_stream_belongs_to_one_rank)
{
  finds(stream_of_another_rank, "(cudaStreamSynchronize): the stream belongs to rank 0");
  finds(stream_of_another_rank, "is not a stream");
}

/* The items of the copies are beside the event, and AddressSanitizer reports an access to items
 * that have ended. */
static int event_as_a_stream(void *arg, int rank)
{
  cudaStream_t st;
  cudaEvent_t e;
  void *p;
  (void)arg;
  if (rank != 0) return 0;
  OK(make_stream(&st));
  OK(cudaMalloc(&p, 64));
  OK(make_event(&e));
  for (int i = 0; i < 100; i++) OK(cudaMemsetAsync(p, 0, 64, st));
  OK(cudaStreamSynchronize(st));
  IS(cudaStreamSynchronize((cudaStream_t)e) == cudaErrorInvalidResourceHandle);
  return 0;
}

static int handles_of_other_types(void *arg, int rank)
{
  cudaStream_t st;
  cudaEvent_t e;
  member m;
  int n;
  (void)arg;
  OK(make_event(&e));
  OK(make_stream(&st));
  OK(open_member(&m, rank, R, 1));
  IS(cudaEventSynchronize((cudaEvent_t)st) == cudaErrorInvalidResourceHandle);
  IS(cudaEventSynchronize((cudaEvent_t)m.comm) == cudaErrorInvalidResourceHandle);
  IS(cudaStreamQuery((cudaStream_t)m.comm) == cudaErrorInvalidResourceHandle);
  IS(ncclCommCount((ncclComm_t)e, &n) == ncclInvalidArgument);
  IS(ncclCommCount((ncclComm_t)st, &n) == ncclInvalidArgument);
  return 0;
}

Test(misuse, a_handle_of_another_type_is_named)
{
  finds(event_as_a_stream, "(cudaStreamSynchronize): the handle is not a stream");
  finds(handles_of_other_types, "(cudaEventSynchronize): the handle is not an event");
}

static int comm_of_another_rank(void *arg, int rank)
{
  member m;
  int n;
  (void)arg;
  OK(open_member(&m, rank, R, 1));
  if (rank == 0) {
    handed_over = m.comm;
    simdev_signal(&handed_over);
    return 0;
  }
  OK(simdev_await(&handed_over));
  IS(ncclCommCount((ncclComm_t)handed_over, &n) == ncclInvalidArgument);
  return 0;
}

Test(misuse, a_communicator_handle_belongs_to_one_rank)
{
  finds(comm_of_another_rank, "(ncclCommCount): communicator 'world' is rank 0's handle");
}

/* Stream, buffer and communicator must be of one device. */
static int stream_of_another_device(void *arg, int rank)
{
  member m;
  cudaStream_t st;
  int32_t *x;
  (void)arg;
  OK(open_member(&m, rank, R, 1));
  OK(make_vector(&x));
  OK(cudaSetDevice(1 - rank));
  OK(make_stream(&st));
  IS(ncclAllReduce(x, x, N, ncclInt32, ncclMax, m.comm, st) == ncclInvalidUsage);
  return 0;
}

Test(misuse, a_communicator_uses_streams_of_its_device)
{
  finds(stream_of_another_device, "(ncclAllReduce): the stream is device");
}

static int buffer_of_another_device(void *arg, int rank)
{
  member m;
  int32_t *x;
  (void)arg;
  OK(open_member(&m, rank, R, 1));
  OK(cudaSetDevice(1 - rank));
  OK(make_vector(&x));
  IS(ncclAllReduce(x, x, N, ncclInt32, ncclMax, m.comm, m.stream) == ncclInvalidArgument);
  return 0;
}

Test(misuse, a_communicator_uses_memory_of_its_device)
{
  finds(buffer_of_another_device, "(ncclAllReduce): the buffer is device");
}

static int destroyed_comm(void *arg, int rank)
{
  member m;
  int n;
  (void)arg;
  OK(open_member(&m, rank, R, 1));
  OK(ncclCommFinalize(m.comm));
  IS(ncclAllReduce(&n, &n, 1, ncclInt32, ncclMax, m.comm, m.stream) == ncclInvalidUsage);
  OK(ncclCommDestroy(m.comm));
  IS(ncclCommDestroy(m.comm) == ncclInvalidArgument);
  return 0;
}

Test(misuse, using_a_finalized_or_destroyed_communicator_is_an_error)
{
  finds(destroyed_comm, "(ncclAllReduce): communicator 'world' is finalized");
  finds(destroyed_comm, "(ncclCommDestroy): the communicator is destroyed or aborted");
}

static int blocking_and_not(void *arg, int rank)
{
  member m;
  ncclConfig_t config = NCCL_CONFIG_INITIALIZER;
  ncclComm_t other;
  ncclResult_t e;
  int32_t *x;
  (void)arg;
  OK(open_member(&m, rank, R, 1));
  config.blocking = 0;
  OK(ncclCommSplit(m.comm, 0, rank, &other, &config));
  OK(make_vector(&x));
  OK(ncclGroupStart());
  ncclAllReduce(x, x, N, ncclInt32, ncclMax, m.comm, m.stream);
  ncclAllReduce(x, x, N, ncclInt32, ncclMax, other, m.stream);
  e = ncclGroupEnd();
  return e == ncclInvalidUsage ? 0 : (int)e + 1;
}

Test(misuse, a_group_is_blocking_or_not)
{
  finds(blocking_and_not, "a group must not mix blocking and non-blocking communicators");
}

static int no_initializer(void *arg, int rank)
{
  ncclConfig_t config = {0};
  ncclComm_t comm;
  (void)arg;
  IS(ncclCommInitRankConfig(&comm, R, world_id, rank, &config) == ncclInvalidArgument);
  IS(ncclCommInitRankConfig(&comm, R, world_id, R, NULL) == ncclInvalidArgument);
  return 0;
}

Test(misuse, a_configuration_begins_with_its_initializer)
{
  cr_assert_eq(count_seeds(R, no_initializer, NULL, (simdev_options){0}, 3, SIMDEV_OK), 3);
}

static int joins_twice(void *arg, int rank)
{
  ncclComm_t comm;
  (void)arg, (void)rank;
  OK(cudaSetDevice(rank));
  return (int)ncclCommInitRank(&comm, R, world_id, 0);
}

static int different_sizes(void *arg, int rank)
{
  ncclComm_t comm;
  (void)arg;
  OK(cudaSetDevice(rank));
  return (int)ncclCommInitRank(&comm, R + rank, world_id, rank);
}

Test(mismatch, different_member_counts_are_reported)
{
  const simdev_options o = {.allow_leaks = 1};
  simdev *s = run_case(R, joins_twice, NULL, &o);
  cr_assert_eq(simdev_result(s)->status, SIMDEV_E_MISMATCH);
  cr_assert(says(s, "as member 0 (of 2), as which another rank has already joined"), "%s",
            simdev_result(s)->text);
  simdev_close(s);
  s = run_case(R, different_sizes, NULL, &o);
  cr_assert_eq(simdev_result(s)->status, SIMDEV_E_MISMATCH);
  cr_assert(says(s, "other members called it for"), "%s", simdev_result(s)->text);
  simdev_close(s);
}
