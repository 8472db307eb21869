/* nccl_threads between hosts of one process, on simdev's streams. */
#include <criterion/criterion.h>
#include <nccl.h>
#include <stdio.h>
#include <string.h>

#include "../../../cuda/nccl_threads/nccl_threads.h"
#include "../../../cuda/simdev/simdev.h"

enum { MEMBERS = 3, N = 5, TRIES = 300, SEEDS = 60, ROUNDS = 2 };

/* Shared by all members of a case; a member's number is its index in `member`. */
typedef struct job {
  int (*body)(struct job *j, int rank, ncclComm_t comm, cudaStream_t stream);
  int32_t member[MEMBERS]; /* its rank */
  struct job *self[MEMBERS];
  ncclUniqueId id;
  ncclResult_t received[MEMBERS];
  char why[MEMBERS][512];
  int variant, one_way; /* one_way: messages go to higher ranks only, so that
                           none implies the order of another */
} job;

static const zp_nccl_threads_locking locking = {simdev_lock, simdev_unlock, simdev_pause};

static ncclResult_t wait_until_complete(ncclComm_t comm)
{
  ncclResult_t r = ncclInProgress;
  for (;; simdev_pause()) {
    if (ncclCommGetAsyncError(comm, &r) != ncclSuccess || r != ncclInProgress) return r;
  }
}

typedef struct host_arg {
  job *j;
  int rank;
} host_arg;

static int process(void *arg, int unused)
{
  const host_arg *h = arg;
  ncclConfig_t config = NCCL_CONFIG_INITIALIZER;
  ncclComm_t comm = NULL;
  cudaStream_t stream;
  int failed;
  (void)unused;
  config.blocking = h->j->variant % 2;
  if (cudaSetDevice(0)) return 1;
  if (h->rank == 0) {
    if (ncclGetUniqueId(&h->j->id)) return 1;
    simdev_signal(&h->j->id);
  } else if (simdev_await(&h->j->id)) return 1;
  if (cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking)) return 1;
  ncclCommInitRankConfig(&comm, MEMBERS, h->j->id, h->rank, &config);
  h->j->received[h->rank] = wait_until_complete(comm);
  snprintf(h->j->why[h->rank], sizeof h->j->why[h->rank], "%s", ncclGetLastError(comm));
  failed = h->j->received[h->rank] ? 0 : h->j->body(h->j, h->rank, comm, stream);
  cudaStreamSynchronize(stream);
  if (h->j->received[h->rank] != ncclSuccess || failed) ncclCommAbort(comm);
  else {
    ncclCommFinalize(comm);
    wait_until_complete(comm);
    ncclCommDestroy(comm);
  }
  cudaStreamDestroy(stream);
  return failed;
}

/* The status of one run. */
static simdev_status run(job *j, const simdev_options *o, char *text, size_t cap)
{
  host_arg arg[MEMBERS];
  simdev *s = simdev_open(1, 1, o, NULL);
  simdev_status status;
  zp_nccl_threads_use(&locking);
  memset(j->received, 0, sizeof j->received);
  memset(j->why, 0, sizeof j->why);
  for (int r = 0; r < MEMBERS; r++) {
    arg[r] = (host_arg){j, r};
    cr_assert_eq(simdev_host(s, 0, process, &arg[r]), SIMDEV_OK);
  }
  status = simdev_run(s);
  if (text) snprintf(text, cap, "%s", simdev_result(s)->text);
  simdev_close(s);
  return status;
}

/* ---- Data ------------------------------------------------------------------------------------ */

/* A member's buffers. The host waits only at the end: each round's first values are in memory of
 * their own, and the stream overwrites the send buffer as soon as it may. */
enum { ALL = MEMBERS * N, KINDS = 5, CALLS = KINDS * ROUNDS };
typedef struct buffers {
  int64_t *send, *recv;
  int64_t first[CALLS][ALL], got[CALLS][ALL];
} buffers;

static int64_t value(int rank, int64_t i, int call)
{
  return (rank + 1) * 1000 + i * 7 + call * 100000;
}

static int begin(buffers *b, int rank, int call, cudaStream_t stream)
{
  for (int64_t i = 0; i < ALL; i++) b->first[call][i] = value(rank, i, call);
  return (int)cudaMemsetAsync(b->recv, 0xdd, ALL * 8, stream) ||
         (int)cudaMemcpyAsync(b->send, b->first[call], ALL * 8, cudaMemcpyHostToDevice, stream);
}

static int finish(buffers *b, int call, cudaStream_t stream)
{
  return (int)cudaMemsetAsync(b->send, 0xee, ALL * 8, stream) ||
         (int)cudaMemcpyAsync(b->got[call], b->recv, ALL * 8, cudaMemcpyDeviceToHost, stream);
}

static int line(const buffers *b, int rank, ncclComm_t comm, cudaStream_t stream)
{
  ncclGroupStart();
  if (rank + 1 < MEMBERS) ncclSend(b->send, N, ncclInt64, rank + 1, comm, stream);
  if (rank > 0) ncclRecv(b->recv, N, ncclInt64, rank - 1, comm, stream);
  ncclGroupEnd();
  return wait_until_complete(comm);
}

static int ring(const buffers *b, int rank, ncclComm_t comm, cudaStream_t stream)
{
  const int next = (rank + 1) % MEMBERS, previous = (rank + MEMBERS - 1) % MEMBERS;
  ncclGroupStart();
  ncclSend(b->send, N, ncclInt64, next, comm, stream);
  ncclRecv(b->recv, N, ncclInt64, previous, comm, stream);
  ncclRecv(b->recv + N, N, ncclInt64, next, comm, stream);
  ncclSend(b->send + N, N, ncclInt64, previous, comm, stream);
  ncclGroupEnd();
  return wait_until_complete(comm);
}

static int64_t expected(int kind, int rank, int64_t i, int round)
{
  int64_t sum = 0;
  const int next = (rank + 1) % MEMBERS, previous = (rank + MEMBERS - 1) % MEMBERS;
  if (kind == 0)
    for (int m = 0; m < MEMBERS; m++) sum += value(m, i, round);
  if (kind == 1)
    for (int m = 0; m < MEMBERS; m++) sum += value(m, rank * N + i, round);
  if (kind == 2) return value((int)(i / N), i % N, round);
  if (kind == 3) return value(1, i, round);
  if (kind == 4) return i < N ? value(previous, i, round) : value(next, i, round);
  return sum;
}

static int communicate(int kind, const buffers *b, int rank, ncclComm_t comm, cudaStream_t s)
{
  switch (kind) {
  case 0: ncclAllReduce(b->send, b->recv, MEMBERS * N, ncclInt64, ncclSum, comm, s); break;
  case 1: ncclReduceScatter(b->send, b->recv, N, ncclInt64, ncclSum, comm, s); break;
  case 2: ncclAllGather(b->send, b->recv, N, ncclInt64, comm, s); break;
  case 3: ncclBroadcast(b->send, b->recv, MEMBERS * N, ncclInt64, 1, comm, s); break;
  case 4: return ring(b, rank, comm, s);
  default: return line(b, rank, comm, s);
  }
  return wait_until_complete(comm);
}

/* The last kind is a ring or, one way, a line. */
static int kind_of(int call, int one_way)
{
  return call % KINDS + (one_way && call % KINDS == KINDS - 1);
}

static int run_calls(const job *j, buffers *b, int rank, ncclComm_t comm, cudaStream_t stream)
{
  for (int k = 0; k < CALLS; k++) {
    if (begin(b, rank, k, stream)) return 4;
    if (communicate(kind_of(k, j->one_way), b, rank, comm, stream)) return 5;
    if (finish(b, k, stream)) return 6;
  }
  return (int)cudaStreamSynchronize(stream);
}

static int all_kinds(job *j, int rank, ncclComm_t comm, cudaStream_t stream)
{
  static const int counts[KINDS] = {ALL, N, ALL, ALL, 2 * N};
  buffers *b = NULL;
  int64_t *send, *recv;
  int failed;
  if (cudaMallocHost((void **)&b, sizeof *b)) return 3;
  if (cudaMalloc((void **)&send, ALL * 8) || cudaMalloc((void **)&recv, ALL * 8)) return 3;
  b->send = send;
  b->recv = recv;
  failed = run_calls(j, b, rank, comm, stream);
  for (int k = 0; k < CALLS && !failed; k++)
    for (int64_t i = 0; i < (j->one_way && k % KINDS == 4 ? (rank > 0) * N : counts[k % KINDS]);
         i++)
      if (b->got[k][i] != expected(k % KINDS, rank, i, k)) failed = 100 + k;
  cudaStreamSynchronize(stream);
  cudaFree(send);
  cudaFree(recv);
  cudaFreeHost(b);
  return failed;
}

Test(nccl_threads, every_operation_is_right_in_every_order)
{
  for (uint64_t seed = 1; seed <= SEEDS; seed++) {
    job j = {.body = all_kinds, .variant = (int)(seed % 2)};
    const simdev_options o = {.seed = seed, .order = (simdev_order)(seed % 4)};
    char text[256];
    cr_assert_eq(run(&j, &o, text, sizeof text), SIMDEV_OK, "seed %llu: %s",
                 (unsigned long long)seed, text);
  }
}

/* Without any one of the waits, the results are wrong in some order. */
Test(nccl_threads, each_wait_between_members_is_needed)
{
  int waits = 0, missed = 0;
  for (int64_t n = 1; n < 400; n++) {
    const simdev_fault drop = {.kind = SIMDEV_FAULT_DROP_SYNC, .rank = 0, .n = n};
    int is_wait = 0, found = 0, reached = 1;
    for (uint64_t seed = 1; seed <= TRIES && !found && reached; seed++) {
      job j = {.body = all_kinds, .one_way = 1};
      host_arg arg[MEMBERS];
      const simdev_options o = {.seed = seed,
                                .order = (simdev_order)(seed % 3),
                                .hardware_queues = -1, /* shared ones hide a missing wait */
                                .faults = &drop,
                                .fault_count = 1,
                                .record = 1};
      simdev *s = simdev_open(1, 1, &o, NULL);
      int64_t syncs;
      const simdev_sync *sync;
      zp_nccl_threads_use(&locking);
      for (int r = 0; r < MEMBERS; r++) {
        arg[r] = (host_arg){&j, r};
        simdev_host(s, 0, process, &arg[r]);
      }
      found = simdev_run(s) != SIMDEV_OK;
      sync = simdev_syncs(s, &syncs);
      reached = n <= syncs || found;
      for (int64_t i = 0; i < syncs; i++)
        if (sync[i].n == n) is_wait = sync[i].is_wait;
      simdev_close(s);
    }
    if (!reached) break;
    waits += is_wait;
    missed += is_wait && !found;
  }
  cr_assert_gt(waits, 40, "%d waits", waits);
  cr_assert_eq(missed, 0, "%d of %d waits: no order is wrong without them", missed, waits);
}

/* ---- Mismatch -------------------------------------------------------------------------------- */

static int mismatch(job *j, int rank, ncclComm_t comm, cudaStream_t stream)
{
  const int odd = rank == 1;
  int64_t *b;
  if (cudaMalloc((void **)&b, MEMBERS * N * 8)) return 3;
  switch (j->variant / 2) {
  case 0: ncclAllReduce(b, b, odd ? N - 1 : N, ncclInt64, ncclSum, comm, stream); break;
  case 1: ncclAllReduce(b, b, N, odd ? ncclInt32 : ncclInt64, ncclSum, comm, stream); break;
  case 2: ncclAllReduce(b, b, N, ncclInt64, odd ? ncclMax : ncclSum, comm, stream); break;
  case 3: ncclBroadcast(b, b, N, ncclInt64, odd ? 2 : 0, comm, stream); break;
  case 4:
    if (odd) ncclAllGather(b, b, 1, ncclInt64, comm, stream);
    else ncclAllReduce(b, b, N, ncclInt64, ncclSum, comm, stream);
    break;
  case 5:
    if (odd) ncclSend(b, N, ncclInt64, 0, comm, stream);
    else ncclAllReduce(b, b, N, ncclInt64, ncclSum, comm, stream);
    break;
  default:
    if (rank == 0) ncclSend(b, N, ncclInt64, 1, comm, stream);
    if (odd) ncclRecv(b, N - 1, ncclInt64, 0, comm, stream);
    if (rank == 2) ncclRecv(b, N, ncclInt64, 0, comm, stream);
  }
  j->received[rank] = wait_until_complete(comm);
  snprintf(j->why[rank], sizeof j->why[rank], "%s", ncclGetLastError(comm));
  cudaFree(b);
  return 0;
}

Test(nccl_threads, a_mismatch_is_an_error_of_all_members_and_names_both_calls)
{
  for (int variant = 0; variant < 14; variant++)
    for (uint64_t seed = 1; seed <= 20; seed++) {
      job j = {.body = mismatch, .variant = variant};
      const simdev_options o = {.seed = seed};
      char text[256];
      cr_assert_eq(run(&j, &o, text, sizeof text), SIMDEV_OK, "variant %d: %s", variant, text);
      for (int r = 0; r < MEMBERS; r++) {
        cr_assert_neq(j.received[r], ncclSuccess, "variant %d, member %d", variant, r);
        /* a member that calls after another has aborted gets that error */
        if (strstr(j.why[r], "aborted")) continue;
        cr_assert(strstr(j.why[r], "member 1 is ncc"), "variant %d: %s", variant, j.why[r]);
        cr_assert(strstr(j.why[r], "members called different operations"), "variant %d: %s",
                  variant, j.why[r]);
      }
    }
}

/* ---- Order and ends -------------------------------------------------------------------------- */

static int crossed(job *j, int rank, ncclComm_t comm, cudaStream_t stream)
{
  ncclComm_t other = NULL;
  int64_t *b;
  ncclConfig_t config = NCCL_CONFIG_INITIALIZER;
  config.blocking = 0;
  (void)j;
  if (cudaMalloc((void **)&b, 64)) return 3;
  ncclCommSplit(comm, 0, rank, &other, &config);
  if (wait_until_complete(comm)) return 4;
  for (int k = 0; k < 2; k++) {
    ncclComm_t on = (k == 0) == (rank == 0) ? comm : other;
    ncclAllReduce(b, b, 1, ncclInt64, ncclSum, on, stream);
    if (wait_until_complete(on)) return 5;
  }
  return 0;
}

Test(nccl_threads, different_orders_on_two_communicators_deadlock)
{
  job j = {.body = crossed};
  const simdev_options o = {.seed = 3, .allow_leaks = 1};
  cr_assert_eq(run(&j, &o, NULL, 0), SIMDEV_E_DEADLOCK);
}

static int split(job *j, int rank, ncclComm_t comm, cudaStream_t stream)
{
  ncclComm_t part = NULL;
  int n = -1, at = -1;
  (void)j, (void)stream;
  ncclCommSplit(comm, rank == 1 ? NCCL_SPLIT_NOCOLOR : 4, -rank, &part, NULL);
  if (wait_until_complete(comm)) return 3;
  if (rank == 1) return part != NULL;
  if (ncclCommCount(part, &n) || ncclCommUserRank(part, &at)) return 4;
  if (n != 2 || at != (rank == 0)) return 5;
  return (int)ncclCommDestroy(part);
}

Test(nccl_threads, a_split_orders_its_members_by_their_keys)
{
  job j = {.body = split};
  const simdev_options o = {.seed = 5};
  char text[256];
  cr_assert_eq(run(&j, &o, text, sizeof text), SIMDEV_OK, "%s", text);
}

static int abandoned(job *j, int rank, ncclComm_t comm, cudaStream_t stream)
{
  int64_t *b;
  if (rank == 2) { /* aborts */
    j->received[rank] = ncclRemoteError;
    return 0;
  }
  if (cudaMalloc((void **)&b, 64)) return 3;
  ncclAllReduce(b, b, 1, ncclInt64, ncclSum, comm, stream);
  j->received[rank] = wait_until_complete(comm);
  cudaFree(b);
  return 0;
}

Test(nccl_threads, an_abort_is_an_error_of_the_other_members)
{
  job j = {.body = abandoned};
  const simdev_options o = {.seed = 7};
  cr_assert_eq(run(&j, &o, NULL, 0), SIMDEV_OK);
  cr_assert_eq(j.received[0], ncclRemoteError);
  cr_assert_eq(j.received[1], ncclRemoteError);
}
