/* The record of a run: items, edges, sync calls. */
#include <criterion/criterion.h>

#include "comm_case.h"

enum { R = 2 };

static int recorded(void *arg, int rank)
{
  member m;
  cudaStream_t other;
  cudaEvent_t e;
  int32_t *x;
  (void)arg;
  OK(open_member(&m, rank, R, 1));
  OK(make_stream(&other));
  simdev_name_stream(other, "producer");
  OK(make_event(&e));
  OK(make_vector(&x));
  OK(fill(x, rank, other));
  OK(cudaEventRecord(e, other));
  OK(cudaStreamWaitEvent(m.stream, e, 0));
  OK(ncclBroadcast(x, x, N, ncclInt32, 0, m.comm, m.stream));
  OK(cudaStreamSynchronize(m.stream));
  OK(cudaFree(x));
  OK(cudaEventDestroy(e));
  OK(cudaStreamDestroy(other));
  return close_member(&m);
}

static const simdev_record *find(const simdev_record *r, int64_t n, int rank, const char *name)
{
  for (int64_t i = 0; i < n; i++)
    if (r[i].rank == rank && strcmp(r[i].name, name) == 0) return &r[i];
  return NULL;
}

static int has_edge(const simdev *s, simdev_edge_kind kind, int64_t from, int64_t to)
{
  int64_t n;
  const simdev_edge *e = simdev_edges(s, &n);
  for (int64_t i = 0; i < n; i++)
    if (e[i].kind == kind && e[i].from == from && e[i].to == to) return 1;
  return 0;
}

/* The rank's call of that number waited for the item. */
static int is_host_edge(const simdev *s, int64_t from, int rank, int call)
{
  int64_t n;
  const simdev_edge *e = simdev_edges(s, &n);
  for (int64_t i = 0; i < n; i++)
    if (e[i].kind == SIMDEV_EDGE_HOST && e[i].from == from && e[i].rank == rank &&
        e[i].call == call)
      return 1;
  return 0;
}

Test(record, a_record_has_items_edges_and_sync_calls)
{
  int waited = 0;
  for (uint64_t seed = 0; seed < 20; seed++) {
    simdev *s = run_case(R, recorded, NULL, &(simdev_options){.seed = seed, .record = 1});
    int64_t n, syncs;
    const simdev_record *r = simdev_records(s, &n);
    const simdev_sync *y = simdev_syncs(s, &syncs);
    const simdev_record *send = find(r, n, 0, "ncclBroadcast"), *recv;
    cr_assert_eq(simdev_result(s)->status, SIMDEV_OK, "%s", simdev_result(s)->text);
    cr_assert_eq(n, simdev_result(s)->items);
    cr_assert_eq(n, R * 4);
    cr_assert_eq(syncs, R * 2);
    for (int rank = 0; rank < R; rank++) {
      const simdev_record *k = find(r, n, rank, "fill");
      const simdev_record *e = find(r, n, rank, "cudaEventRecord");
      const simdev_record *w = find(r, n, rank, "cudaStreamWaitEvent");
      recv = find(r, n, rank, "ncclBroadcast");
      cr_assert(k->kind == SIMDEV_KERNEL && k->stream == 1 && recv->stream == 0);
      cr_assert(k->end < e->begin && e->end < w->begin && w->end < recv->begin);
      cr_assert(has_edge(s, SIMDEV_EDGE_EVENT, e->issue, w->issue));
      cr_assert(has_edge(s, SIMDEV_EDGE_HOST, recv->issue, 0));
      cr_assert(is_host_edge(s, recv->issue, rank, recv->call + 1));
    }
    /* the root's data reach the other member; none come back */
    cr_assert(has_edge(s, SIMDEV_EDGE_DATA, send->issue, recv->issue));
    cr_assert_not(has_edge(s, SIMDEV_EDGE_DATA, recv->issue, send->issue));
    for (int64_t i = 0; i < syncs; i++) {
      cr_assert(y[i].n == 1 + y[i].is_wait && !y[i].dropped && y[i].site);
      cr_assert_eq(y[i].stream, y[i].is_wait ? 0 : 1);
      waited += y[i].waited;
    }
    simdev_close(s);
  }
  cr_assert_gt(waited, 0);
}

/* The broadcast is enqueued later, when the host has another tag. */
static int tagged(void *arg, int rank)
{
  member m;
  int32_t *x;
  ncclResult_t e;
  (void)arg;
  OK(open_member(&m, rank, R, 0));
  OK(make_vector(&x));
  OK(fill(x, rank, m.stream));
  simdev_tag(7 + rank);
  e = ncclBroadcast(x, x, N, ncclInt32, 0, m.comm, m.stream);
  simdev_tag(-1);
  OK(settle(e, m.comm));
  OK(fill(x, rank, m.stream));
  OK(cudaStreamSynchronize(m.stream));
  OK(cudaFree(x));
  return close_member(&m);
}

Test(record, a_record_has_the_tag_of_the_call)
{
  for (uint64_t seed = 0; seed < 20; seed++) {
    simdev *s = run_case(R, tagged, NULL, &(simdev_options){.seed = seed, .record = 1});
    int64_t n;
    const simdev_record *r = simdev_records(s, &n);
    cr_assert_eq(simdev_result(s)->status, SIMDEV_OK, "%s", simdev_result(s)->text);
    cr_assert_eq(n, R * 3);
    for (int64_t i = 0; i < n; i++) {
      const int comm = r[i].kind == SIMDEV_COMM;
      const int before = find(r, n, r[i].rank, "fill") == &r[i];
      cr_assert_eq(r[i].tag, comm ? 7 + r[i].rank : before ? 0 : -1);
    }
    simdev_close(s);
  }
}

Test(record, a_record_shows_dropped_syncs)
{
  simdev_fault f = {SIMDEV_FAULT_DROP_SYNC, 1, NULL, 2, 0};
  simdev *s =
      run_case(R, recorded, NULL, &(simdev_options){.record = 1, .faults = &f, .fault_count = 1});
  int64_t n, dropped = 0;
  const simdev_sync *y = simdev_syncs(s, &n);
  for (int64_t i = 0; i < n; i++) dropped += y[i].dropped && y[i].rank == 1 && y[i].is_wait;
  cr_assert_eq(dropped, 1);
  cr_assert_null(find(simdev_records(s, &n), n, 1, "cudaStreamWaitEvent"));
  simdev_close(s);
}

Test(record, named_streams_are_named_in_reports)
{
  simdev_fault f = {SIMDEV_FAULT_DIE, 0, "ncclBroadcast", 1, 0};
  simdev *s = run_case(R, recorded, NULL,
                       &(simdev_options){.order = SIMDEV_LAZY, .faults = &f, .fault_count = 1});
  cr_assert(says(s, "rank 0, stream 'producer', kernel fill (call 7) does not run"), "%s",
            simdev_result(s)->text);
  simdev_close(s);
}

/* Other ranks make none of these calls. */
static int calls_by_name(void *arg, int rank)
{
  simdev *const *s = arg;
  int32_t *x;
  int64_t n, fills = 0;
  if (rank != 1) return 0;
  OK(make_vector(&x));
  for (int i = 0; i < 3; i++) OK(fill(x, i, NULL));
  const simdev_call_count *c = simdev_calls(*s, rank, &n);
  for (int64_t i = 0; i < n; i++)
    if (strcmp(c[i].name, "cudaLaunchKernel") == 0) fills = c[i].calls;
  IS(n == 2 && fills == 3 && strcmp(c[0].name, "cudaMalloc") == 0);
  return (int)cudaFree(x);
}

Test(record, calls_are_counted_by_name_while_the_run_goes_on)
{
  for (int32_t record = 0; record < 2; record++) {
    int64_t n;
    simdev *s = simdev_open(R, R, &(simdev_options){.record = record}, NULL);
    for (int r = 0; r < R; r++) simdev_host(s, r, calls_by_name, &s);
    cr_assert_eq(simdev_run(s), record ? SIMDEV_OK : SIMDEV_E_HOST);
    cr_assert_eq((simdev_calls(s, 0, &n), n), 0);
    cr_assert_eq((simdev_calls(s, 1, &n), n), record ? 3 : 0);
    simdev_close(s);
  }
}
