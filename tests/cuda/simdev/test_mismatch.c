/* Calls of members that do not match are reported with both calls, and do not hang. */
#include <criterion/criterion.h>

#include "comm_case.h"

enum { R = 3 };

typedef ncclResult_t issue_fn(const member *m, int32_t *x, int32_t *y);

/* Runs `fn` on each rank after the communicator is made. */
static int with_comm(void *arg, int rank)
{
  issue_fn *const *fn = arg;
  member m;
  int32_t *x, *y;
  ncclResult_t e;
  OK(open_member(&m, rank, R, 0));
  OK(make_vector(&x));
  OK(make_vector(&y));
  e = settle((*fn)(&m, x, y), m.comm);
  if (e) return (int)e;
  return (int)cudaStreamSynchronize(m.stream);
}

/* Every seed ends with this status, and the report has these texts. */
static void finds(issue_fn *fn, simdev_status status, const char *a, const char *b, const char *c)
{
  simdev_options o = {.allow_leaks = 1, .lazy_connections = SIMDEV_NEVER};
  simdev *s;
  cr_assert_eq(count_seeds(R, with_comm, &fn, o, 20, status), 20);
  o.order = SIMDEV_LAZY;
  s = run_case(R, with_comm, &fn, &o);
  cr_assert(says(s, a) && says(s, b) && says(s, c), "%s", simdev_result(s)->text);
  simdev_close(s);
}

/* ---- Mismatches ------------------------------------------------------------------------------ */

static ncclResult_t counts(const member *m, int32_t *x, int32_t *y)
{
  return ncclAllReduce(x, y, m->rank == 2 ? N - 1 : N, ncclInt32, ncclSum, m->comm, m->stream);
}

Test(mismatch, different_counts_are_reported)
{
  finds(counts, SIMDEV_E_MISMATCH, "communicator 'world' issued different operations",
        "ncclAllReduce(100 x int32, sum)", ": ncclAllReduce(99 x int32, sum)");
}

static ncclResult_t kinds(const member *m, int32_t *x, int32_t *y)
{
  if (m->rank == 1) return ncclAllGather(x, y, 10, ncclInt32, m->comm, m->stream);
  return ncclAllReduce(x, y, 10, ncclInt32, ncclSum, m->comm, m->stream);
}

Test(mismatch, different_operations_are_reported)
{
  finds(kinds, SIMDEV_E_MISMATCH, "as its collective 1", "ncclAllReduce(10 x int32, sum)",
        "ncclAllGather(10 x int32)");
}

static ncclResult_t types(const member *m, int32_t *x, int32_t *y)
{
  return ncclAllReduce(x, y, 10, m->rank ? ncclInt32 : ncclFloat32, ncclSum, m->comm, m->stream);
}

Test(mismatch, different_types_are_reported)
{
  finds(types, SIMDEV_E_MISMATCH, "float32", "int32", "the same op, count, dtype, redop and root");
}

static ncclResult_t operators(const member *m, int32_t *x, int32_t *y)
{
  return ncclAllReduce(x, y, 10, ncclInt32, m->rank ? ncclMax : ncclMin, m->comm, m->stream);
}

Test(mismatch, different_operators_are_reported)
{
  finds(operators, SIMDEV_E_MISMATCH, "int32, min)", "int32, max)", "rank 0 (member 0)");
}

static ncclResult_t roots(const member *m, int32_t *x, int32_t *y)
{
  return ncclBroadcast(x, y, 10, ncclInt32, m->rank == 0 ? 1 : 0, m->comm, m->stream);
}

Test(mismatch, different_roots_are_reported)
{
  finds(roots, SIMDEV_E_MISMATCH, "root 1)", "root 0)", "ncclBroadcast");
}

static ncclResult_t order(const member *m, int32_t *x, int32_t *y)
{
  ncclGroupStart();
  if (m->rank == 1) ncclAllReduce(x, y, 20, ncclInt32, ncclSum, m->comm, m->stream);
  ncclAllReduce(x, y, 10, ncclInt32, ncclSum, m->comm, m->stream);
  if (m->rank != 1) ncclAllReduce(x, y, 20, ncclInt32, ncclSum, m->comm, m->stream);
  return ncclGroupEnd();
}

Test(mismatch, different_orders_are_reported)
{
  finds(order, SIMDEV_E_MISMATCH, "10 x int32", "20 x int32", "2 collectives of its group");
}

static ncclResult_t grouping(const member *m, int32_t *x, int32_t *y)
{
  ncclResult_t e;
  if (m->rank == 0) ncclGroupStart();
  e = ncclAllReduce(x, x, 10, ncclInt32, ncclSum, m->comm, m->stream);
  if (m->rank && settle(e, m->comm)) return ncclSystemError;
  e = ncclAllReduce(y, y, 10, ncclInt32, ncclSum, m->comm, m->stream);
  return m->rank ? e : ncclGroupEnd();
}

Test(mismatch, different_groupings_are_reported)
{
  finds(grouping, SIMDEV_E_MISMATCH, "one of 2 collectives of its group", "rank 0", "");
}

static ncclResult_t messages(const member *m, int32_t *x, int32_t *y)
{
  if (m->rank == 0) return ncclSend(x, 10, ncclInt32, 1, m->comm, m->stream);
  if (m->rank == 1) return ncclRecv(y, 20, ncclInt32, 0, m->comm, m->stream);
  return ncclSuccess;
}

Test(mismatch, different_messages_are_reported)
{
  finds(messages, SIMDEV_E_MISMATCH, "ncclSend(10 x int32, peer 1)", "ncclRecv(20 x int32, peer 0)",
        "message of this pair 1");
}

/* ---- Deadlocks ------------------------------------------------------------------------------- */

static ncclResult_t absent(const member *m, int32_t *x, int32_t *y)
{
  if (m->rank == 2) return ncclSuccess;
  return ncclAllReduce(x, y, N, ncclInt32, ncclSum, m->comm, m->stream);
}

Test(deadlock, a_deadlock_report_names_the_missing_member)
{
  finds(absent, SIMDEV_E_DEADLOCK,
        "(cudaStreamSynchronize) for: rank 0, stream 0, "
        "ncclAllReduce(100 x int32, sum) of communicator 'world'",
        "waits for rank 2, which has issued 0 collectives of this communicator; this is number 1",
        "2 of 3 hosts have not ended");
}

static ncclResult_t no_send(const member *m, int32_t *x, int32_t *y)
{
  (void)x;
  return m->rank ? ncclSuccess : ncclRecv(y, 10, ncclInt32, 2, m->comm, m->stream);
}

Test(deadlock, a_receive_without_a_send_is_a_deadlock)
{
  finds(no_send, SIMDEV_E_DEADLOCK, "ncclRecv(10 x int32, peer 2)",
        "waits for rank 2, which has not issued the send", "");
}

static int init_alone(void *arg, int rank)
{
  ncclComm_t comm;
  (void)arg;
  OK(cudaSetDevice(rank));
  if (rank == 1) return 0;
  return (int)ncclCommInitRank(&comm, R, world_id, rank);
}

Test(deadlock, a_member_that_never_joins_is_named)
{
  simdev *s = run_case(R, init_alone, NULL, &(simdev_options){.allow_leaks = 1});
  cr_assert_eq(simdev_result(s)->status, SIMDEV_E_DEADLOCK);
  cr_assert(says(s, "waits in call 2 (ncclCommInitRank)"), "%s", simdev_result(s)->text);
  cr_assert(says(s, "member 1 of 3 has not joined"));
  simdev_close(s);
}

static int same_device(void *arg, int rank)
{
  ncclComm_t comm;
  (void)arg;
  return (int)ncclCommInitRank(&comm, R, world_id, rank); /* all on device 0 */
}

Test(misuse, two_members_on_one_device_are_an_error)
{
  simdev *s = run_case(R, same_device, NULL, NULL);
  cr_assert_eq(simdev_result(s)->status, SIMDEV_E_MISUSE);
  cr_assert(says(s, "duplicate GPU: both members of a communicator use device 0"));
  simdev_close(s);
}

/* ---- Buffers --------------------------------------------------------------------------------- */

static ncclResult_t too_far(const member *m, int32_t *x, int32_t *y)
{
  return ncclAllGather(x, y, N / R + 1, ncclInt32, m->comm, m->stream);
}

Test(buffers, a_receive_buffer_must_be_large_enough)
{
  finds(too_far, SIMDEV_E_ACCESS, "(ncclAllGather): writes 408 bytes at +0 of device memory of 400",
        "out of bounds by 8", "");
}

static ncclResult_t pageable(const member *m, int32_t *x, int32_t *y)
{
  int32_t here[N];
  (void)y;
  return ncclAllReduce(x, here, N, ncclInt32, ncclSum, m->comm, m->stream);
}

Test(buffers, a_buffer_may_not_be_pageable)
{
  finds(pageable, SIMDEV_E_MISUSE, "(ncclAllReduce)", "is neither device nor pinned memory", "");
}

static ncclResult_t overlapping(const member *m, int32_t *x, int32_t *y)
{
  (void)y;
  return ncclAllReduce(x, x + 1, N - 1, ncclInt32, ncclSum, m->comm, m->stream);
}

Test(buffers, buffers_may_overlap_only_in_place)
{
  finds(overlapping, SIMDEV_E_MISUSE, "(ncclAllReduce)", "overlap", "in-place");
}

static ncclResult_t freed_in_flight(const member *m, int32_t *x, int32_t *y)
{
  const ncclResult_t e = ncclRecv(x, N, ncclInt32, (m->rank + 1) % R, m->comm, m->stream);
  (void)y;
  if (settle(e, m->comm)) return ncclSystemError;
  return cudaFree(x) ? ncclUnhandledCudaError : ncclSuccess;
}

Test(buffers, a_buffer_may_not_be_freed_while_used)
{
  finds(freed_in_flight, SIMDEV_E_ACCESS, "(cudaFree): frees 400 bytes",
        "ncclRecv(100 x int32, peer", "still uses");
}

/* An all-reduce of no elements is ignored, as in NCCL. */
static ncclResult_t nothing(const member *m, int32_t *x, int32_t *y)
{
  if (m->rank == 1) return ncclSuccess; /* so that no member is missing */
  return ncclAllReduce(x, y, 0, ncclInt32, ncclSum, m->comm, m->stream);
}

Test(collective, a_collective_of_no_elements_does_nothing)
{
  issue_fn *fn = nothing;
  cr_assert_eq(count_seeds(R, with_comm, &fn, (simdev_options){.allow_leaks = 1}, 20, SIMDEV_OK),
               20);
}

static ncclResult_t no_such_root(const member *m, int32_t *x, int32_t *y)
{
  return ncclBroadcast(x, y, 1, ncclInt32, R, m->comm, m->stream);
}

Test(misuse, an_invalid_root_is_an_error)
{
  finds(no_such_root, SIMDEV_E_MISUSE, "(ncclBroadcast): root or peer 3", "has 3 members", "");
}

static ncclResult_t no_group(const member *m, int32_t *x, int32_t *y)
{
  (void)m, (void)x, (void)y;
  return ncclGroupEnd();
}

Test(misuse, ending_a_group_that_was_not_started_is_an_error)
{
  finds(no_group, SIMDEV_E_MISUSE, "(ncclGroupEnd): no group was started", "", "");
}

static int leaves_a_group_open(void *arg, int rank)
{
  (void)arg, (void)rank;
  return (int)ncclGroupStart();
}

Test(misuse, returning_within_a_group_is_an_error)
{
  simdev *s = run_case(R, leaves_a_group_open, NULL, NULL);
  cr_assert_eq(simdev_result(s)->status, SIMDEV_E_MISUSE);
  cr_assert(says(s, "ncclGroupEnd is missing"));
  simdev_close(s);
}

static int leaks_comm(void *arg, int rank)
{
  member m;
  (void)arg;
  OK(open_member(&m, rank, R, 1));
  return (int)cudaStreamDestroy(m.stream);
}

Test(leaks, a_communicator_that_is_not_destroyed_is_reported)
{
  simdev *s = run_case(R, leaks_comm, NULL, NULL);
  cr_assert_eq(simdev_result(s)->status, SIMDEV_E_LEAK);
  cr_assert_eq(simdev_result(s)->leaked_comms, R);
  cr_assert(says(s, "rank 2: a communicator made by call 3"), "%s", simdev_result(s)->text);
  simdev_close(s);
}

/* A blocking ncclCommDestroy waits for the others' work; a member that never calls it is named. */
static int destroys_alone(void *arg, int rank)
{
  member m;
  (void)arg;
  OK(open_member(&m, rank, R, 1));
  if (rank == 1) return 0;
  return (int)ncclCommDestroy(m.comm);
}

Test(deadlock, a_member_that_never_finalizes_is_named)
{
  simdev *s = run_case(R, destroys_alone, NULL, &(simdev_options){.allow_leaks = 1});
  cr_assert_eq(simdev_result(s)->status, SIMDEV_E_DEADLOCK);
  cr_assert(says(s, "rank 1 (member 1) has not finalized"), "%s", simdev_result(s)->text);
  simdev_close(s);
}
