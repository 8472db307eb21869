/* The results of NCCL's operations; making, splitting and ending communicators. */
#include <criterion/criterion.h>

#include "comm_case.h"

enum { R = 3 };

/* Every seed of every order succeeds. */
static void holds_always(host_fn *fn, int ranks, int blocking)
{
  for (int order = SIMDEV_RANDOM; order <= SIMDEV_LAZY; order++) {
    const int good =
        count_seeds(ranks, fn, &blocking, (simdev_options){.order = order}, SEEDS, SIMDEV_OK);
    if (good != SEEDS) {
      simdev *s = run_case(ranks, fn, &blocking, &(simdev_options){.order = order});
      cr_log_error("%s", simdev_result(s)->text);
      simdev_close(s);
    }
    cr_assert_eq(good, SEEDS);
  }
}

/* ---- Collectives ----------------------------------------------------------------------------- */

/* Element i of member r is 100 r + i. */
static int collectives(void *arg, int rank)
{
  member m;
  int64_t in[R * 5], out[R * 5], *x, *y;
  OK(open_member(&m, rank, R, *(int *)arg));
  for (int i = 0; i < R * 5; i++) in[i] = 100 * rank + i;
  OK(to_device((void **)&x, in, sizeof in, m.stream));
  OK(cudaMalloc((void **)&y, sizeof out));

  OK(settle(ncclAllReduce(x, y, R * 5, ncclInt64, ncclSum, m.comm, m.stream), m.comm));
  OK(to_host(out, y, sizeof out, m.stream));
  for (int i = 0; i < R * 5; i++) IS(out[i] == 300 + 3 * i);

  OK(settle(ncclReduceScatter(x, y, 5, ncclInt64, ncclMax, m.comm, m.stream), m.comm));
  OK(to_host(out, y, 5 * sizeof *out, m.stream));
  for (int i = 0; i < 5; i++) IS(out[i] == 200 + rank * 5 + i);

  OK(settle(ncclAllGather(x, y, 5, ncclInt64, m.comm, m.stream), m.comm));
  OK(to_host(out, y, sizeof out, m.stream));
  for (int i = 0; i < R * 5; i++) IS(out[i] == 100 * (i / 5) + i % 5);

  OK(settle(ncclBroadcast(x, y, 5, ncclInt64, 2, m.comm, m.stream), m.comm));
  OK(to_host(out, y, 5 * sizeof *out, m.stream));
  for (int i = 0; i < 5; i++) IS(out[i] == 200 + i);

  OK(settle(ncclReduce(x, y, 5, ncclInt64, ncclMin, 1, m.comm, m.stream), m.comm));
  OK(to_host(out, y, 5 * sizeof *out, m.stream));
  for (int i = 0; i < 5; i++)
    IS(out[i] == (rank == 1 ? i : 200 + i)); /* of the others:
                                                                        * unchanged */
  OK(cudaFree(x));
  OK(cudaFree(y));
  return close_member(&m);
}

Test(collective, every_operation_computes_its_definition)
{
  holds_always(collectives, R, 0);
  holds_always(collectives, R, 1);
}

static int in_place(void *arg, int rank)
{
  member m;
  int32_t in[R * 2], out[R * 2], *x;
  OK(open_member(&m, rank, R, *(int *)arg));
  for (int i = 0; i < R * 2; i++) in[i] = 10 * rank + i;
  OK(to_device((void **)&x, in, sizeof in, m.stream));
  OK(settle(ncclReduceScatter(x, x + rank * 2, 2, ncclInt32, ncclSum, m.comm, m.stream), m.comm));
  OK(settle(ncclAllGather(x + rank * 2, x, 2, ncclInt32, m.comm, m.stream), m.comm));
  OK(settle(ncclAllReduce(x, x, R * 2, ncclInt32, ncclSum, m.comm, m.stream), m.comm));
  OK(to_host(out, x, sizeof out, m.stream));
  for (int i = 0; i < R * 2; i++) IS(out[i] == R * (30 + 3 * i));
  OK(cudaFree(x));
  return close_member(&m);
}

Test(collective, works_in_place)
{
  holds_always(in_place, R, 0);
}

/* ---- Types and operators --------------------------------------------------------------------- */

/* Small integers are exact in every type: 1, 2, 3 on three members. */
static int types(void *arg, int rank)
{
  static const struct {
    ncclDataType_t t;
    size_t bytes;
    uint64_t one_two_three[4], want[4]; /* want: sum 6, prod 6, max 3, min 1 */
  } row[] = {
      {ncclInt8, 1, {1, 2, 3}, {6, 6, 3, 1}},
      {ncclUint8, 1, {1, 2, 3}, {6, 6, 3, 1}},
      {ncclInt32, 4, {1, 2, 3}, {6, 6, 3, 1}},
      {ncclUint32, 4, {1, 2, 3}, {6, 6, 3, 1}},
      {ncclInt64, 8, {1, 2, 3}, {6, 6, 3, 1}},
      {ncclUint64, 8, {1, 2, 3}, {6, 6, 3, 1}},
      {ncclFloat16, 2, {0x3c00, 0x4000, 0x4200}, {0x4600, 0x4600, 0x4200, 0x3c00}},
      {ncclBfloat16, 2, {0x3f80, 0x4000, 0x4040}, {0x40c0, 0x40c0, 0x4040, 0x3f80}},
      {ncclFloat32,
       4,
       {0x3f800000, 0x40000000, 0x40400000},
       {0x40c00000, 0x40c00000, 0x40400000, 0x3f800000}},
      {ncclFloat64,
       8,
       {0x3ff0000000000000, 0x4000000000000000, 0x4008000000000000},
       {0x4018000000000000, 0x4018000000000000, 0x4008000000000000, 0x3ff0000000000000}},
  };
  static const ncclRedOp_t op[4] = {ncclSum, ncclProd, ncclMax, ncclMin};
  member m;
  char *x;
  OK(open_member(&m, rank, R, *(int *)arg));
  for (size_t k = 0; k < sizeof row / sizeof *row; k++)
    for (int j = 0; j < 4; j++) {
      uint64_t out = 0;
      OK(to_device((void **)&x, &row[k].one_two_three[rank], row[k].bytes, m.stream));
      OK(settle(ncclAllReduce(x, x, 1, row[k].t, op[j], m.comm, m.stream), m.comm));
      OK(to_host(&out, x, row[k].bytes, m.stream));
      IS(out == row[k].want[j]);
      OK(cudaFree(x));
    }
  return close_member(&m);
}

Test(collective, all_types_and_operators_are_supported)
{
  int blocking = 1;
  cr_assert_eq(count_seeds(R, types, &blocking, (simdev_options){0}, 10, SIMDEV_OK), 10);
}

/* Minima compare signed numbers; averages divide. */
static int signs(void *arg, int rank)
{
  member m;
  int32_t v[2] = {rank - 1, -6 * rank}, out[2], *x;
  float f = (float)(rank * 3), *y, g;
  OK(open_member(&m, rank, R, *(int *)arg));
  OK(to_device((void **)&x, v, sizeof v, m.stream));
  OK(to_device((void **)&y, &f, sizeof f, m.stream));
  OK(ncclAllReduce(x, x, 1, ncclInt32, ncclMin, m.comm, m.stream));
  OK(ncclAllReduce(x + 1, x + 1, 1, ncclInt32, ncclAvg, m.comm, m.stream));
  OK(ncclAllReduce(y, y, 1, ncclFloat32, ncclAvg, m.comm, m.stream));
  OK(to_host(out, x, sizeof out, m.stream));
  OK(to_host(&g, y, sizeof g, m.stream));
  IS(out[0] == -1 && out[1] == -6 && g > 2.99f && g < 3.01f);
  OK(cudaFree(x));
  OK(cudaFree(y));
  return close_member(&m);
}

Test(collective, minimum_and_average_respect_signs)
{
  int blocking = 1;
  cr_assert_eq(count_seeds(R, signs, &blocking, (simdev_options){0}, 10, SIMDEV_OK), 10);
}

/* 1 + 2^-24 + 2^-24 in fp32 is 1 or 1 + 2^-23, depending on the order; all members get the same. */
static uint32_t order_seen[R][SEEDS];
static int order_seed;

static int order_of_sums(void *arg, int rank)
{
  const float v = rank == 0 ? 1.0f : 0x1p-24f;
  member m;
  float *x;
  OK(open_member(&m, rank, R, *(int *)arg));
  OK(to_device((void **)&x, &v, sizeof v, m.stream));
  OK(ncclAllReduce(x, x, 1, ncclFloat32, ncclSum, m.comm, m.stream));
  OK(to_host(&order_seen[rank][order_seed], x, sizeof *x, m.stream));
  OK(cudaFree(x));
  return close_member(&m);
}

Test(collective, float_sums_have_no_fixed_order)
{
  int blocking = 1, seen[2] = {0, 0};
  for (order_seed = 0; order_seed < SEEDS; order_seed++) {
    simdev *s =
        run_case(R, order_of_sums, &blocking, &(simdev_options){.seed = (uint64_t)order_seed});
    cr_assert_eq(simdev_result(s)->status, SIMDEV_OK);
    simdev_close(s);
    for (int r = 1; r < R; r++) cr_assert_eq(order_seen[r][order_seed], order_seen[0][order_seed]);
    seen[order_seen[0][order_seed] == 0x3f800001]++;
  }
  cr_assert_gt(seen[0], 0);
  cr_assert_gt(seen[1], 0);
}

/* ---- Point to point -------------------------------------------------------------------------- */

/* A ring in one group; then a message to itself. */
static int ring(void *arg, int rank)
{
  member m;
  int32_t in[2] = {rank, -rank}, out[2], *x, *y;
  OK(open_member(&m, rank, R, *(int *)arg));
  OK(to_device((void **)&x, in, sizeof in, m.stream));
  OK(to_device((void **)&y, in, sizeof in, m.stream));
  OK(ncclGroupStart());
  for (int i = 0; i < 2; i++) {
    const ncclResult_t a = ncclSend(x + i, 1, ncclInt32, (rank + 1) % R, m.comm, m.stream);
    const ncclResult_t b = ncclRecv(y + i, 1, ncclInt32, (rank + R - 1) % R, m.comm, m.stream);
    IS((a == ncclSuccess || a == ncclInProgress) && (b == ncclSuccess || b == ncclInProgress));
  }
  OK(settle(ncclGroupEnd(), m.comm));
  OK(to_host(out, y, sizeof out, m.stream));
  IS(out[0] == (rank + R - 1) % R && out[1] == -out[0]);
  OK(ncclGroupStart());
  ncclSend(x, 2, ncclInt32, rank, m.comm, m.stream);
  ncclRecv(y, 2, ncclInt32, rank, m.comm, m.stream);
  OK(settle(ncclGroupEnd(), m.comm));
  OK(to_host(out, y, sizeof out, m.stream));
  IS(out[0] == rank);
  OK(cudaFree(x));
  OK(cudaFree(y));
  return close_member(&m);
}

Test(p2p, a_group_needs_no_buffering)
{
  holds_always(ring, R, 0);
  holds_always(ring, R, 1);
}

/* Both send first, which succeeds only if sends complete early. */
static int send_first(void *arg, int rank)
{
  member m;
  int32_t *x, *y;
  OK(open_member(&m, rank, 2, *(int *)arg));
  OK(make_vector(&x));
  OK(make_vector(&y));
  OK(fill(x, rank, m.stream));
  OK(ncclSend(x, N, ncclInt32, 1 - rank, m.comm, m.stream));
  OK(ncclRecv(y, N, ncclInt32, 1 - rank, m.comm, m.stream));
  OK(cudaStreamSynchronize(m.stream));
  OK(cudaFree(x));
  OK(cudaFree(y));
  return close_member(&m);
}

Test(p2p, a_send_may_wait_for_its_receive)
{
  int blocking = 1, by_seed;
  simdev_options o = {.early_sends = SIMDEV_ALWAYS, .lazy_connections = SIMDEV_NEVER};
  simdev *s;
  cr_assert_eq(count_seeds(2, send_first, &blocking, o, SEEDS, SIMDEV_OK), SEEDS);
  o.early_sends = SIMDEV_NEVER;
  cr_assert_eq(count_seeds(2, send_first, &blocking, o, SEEDS, SIMDEV_E_DEADLOCK), SEEDS);
  o.early_sends = SIMDEV_BY_SEED;
  by_seed = count_seeds(2, send_first, &blocking, o, SEEDS, SIMDEV_E_DEADLOCK);
  cr_assert(by_seed > 0 && by_seed < SEEDS, "%d", by_seed);
  o.early_sends = SIMDEV_NEVER;
  s = run_case(2, send_first, &blocking, &o);
  cr_assert(says(s, "ncclSend(100 x int32, peer 1) of communicator 'world'"), "%s",
            simdev_result(s)->text);
  cr_assert(
      says(s, "waits for rank 1, whose call 8 issued it, but whose stream has not reached it"),
      "%s", simdev_result(s)->text);
  simdev_close(s);
}

/* The root waits for its operation before another member begins. */
static int root_first(void *arg, int rank)
{
  member m;
  int32_t *x;
  OK(open_member(&m, rank, R, *(int *)arg));
  OK(make_vector(&x));
  if (rank != 0) OK(simdev_await(&world_id));
  OK(ncclBroadcast(x, x, N, ncclInt32, 0, m.comm, m.stream));
  if (rank == 0) {
    OK(cudaStreamSynchronize(m.stream));
    simdev_signal(&world_id);
  }
  OK(cudaStreamSynchronize(m.stream));
  OK(cudaFree(x));
  return close_member(&m);
}

Test(collective, a_root_may_wait_for_the_others)
{
  int blocking = 1;
  simdev_options o = {.early_sends = SIMDEV_ALWAYS, .lazy_connections = SIMDEV_NEVER};
  cr_assert_eq(count_seeds(R, root_first, &blocking, o, 20, SIMDEV_OK), 20);
  o.early_sends = SIMDEV_NEVER;
  cr_assert_eq(count_seeds(R, root_first, &blocking, o, 20, SIMDEV_E_DEADLOCK), 20);
}

/* ---- Groups ---------------------------------------------------------------------------------- */

/* One group, two streams: it begins when both have reached it, and both wait for its end. */
static int two_streams(void *arg, int rank)
{
  member m;
  cudaStream_t other;
  cudaEvent_t e;
  int32_t *x, *y, *z, out[N];
  OK(open_member(&m, rank, R, *(int *)arg));
  OK(make_stream(&other));
  OK(make_event(&e));
  OK(make_vector(&x));
  OK(make_vector(&y));
  OK(make_vector(&z));
  OK(fill(x, rank, m.stream));
  OK(fill(y, rank, other));
  OK(ncclGroupStart());
  ncclAllReduce(x, x, N, ncclInt32, ncclMax, m.comm, m.stream);
  ncclAllReduce(y, y, N, ncclInt32, ncclMin, m.comm, other);
  OK(settle(ncclGroupEnd(), m.comm));
  OK(copy_add(z, x, 0, other)); /* x was reduced on the other stream: still in order */
  OK(to_host(out, z, sizeof out, other));
  IS(holds(out, R - 1));
  OK(to_host(out, y, sizeof out, m.stream));
  IS(holds(out, 0));
  OK(cudaFree(x));
  OK(cudaFree(y));
  OK(cudaFree(z));
  OK(cudaEventDestroy(e));
  OK(cudaStreamDestroy(other));
  return close_member(&m);
}

Test(group, an_operation_on_two_streams_orders_both)
{
  holds_always(two_streams, R, 0);
}

/* Two communicators in one group, over different ranks' orders. */
static int two_comms(void *arg, int rank)
{
  member m;
  ncclComm_t other;
  int32_t *x, *y, out[N], index, count;
  ncclResult_t e;
  OK(open_member(&m, rank, R, *(int *)arg));
  e = ncclCommSplit(m.comm, 0, -rank, &other, NULL);
  IS(e == (*(int *)arg ? ncclSuccess : ncclInProgress));
  OK(settle(e, m.comm));
  OK(settle(e, other));
  OK(ncclCommUserRank(other, &index));
  OK(ncclCommCount(other, &count));
  IS(index == R - 1 - rank && count == R);
  OK(make_vector(&x));
  OK(make_vector(&y));
  OK(fill(x, rank, m.stream));
  OK(ncclGroupStart());
  ncclAllReduce(x, y, N, ncclInt32, ncclMax, m.comm, m.stream);
  ncclBroadcast(x, x, N, ncclInt32, 0, other, m.stream);
  e = ncclGroupEnd();
  OK(settle(e, m.comm));
  OK(settle(e, other));
  OK(to_host(out, y, sizeof out, m.stream));
  IS(holds(out, R - 1)); /* in either order of the two */
  OK(to_host(out, x, sizeof out, m.stream));
  IS(holds(out, R - 1)); /* member 0 of the other is rank R - 1 */
  OK(cudaFree(x));
  OK(cudaFree(y));
  OK(end_comm(other));
  return close_member(&m);
}

Test(group, two_communicators_work_in_one_group)
{
  holds_always(two_comms, R, 0);
  holds_always(two_comms, R, 1);
}

/* The program's order of communicators within a group does not matter: it may differ between
 * members. */
static int crossed_in_a_group(void *arg, int rank)
{
  member m;
  ncclComm_t other;
  int32_t *x, *y;
  OK(open_member(&m, rank, 2, *(int *)arg));
  OK(ncclCommSplit(m.comm, 0, rank, &other, NULL));
  OK(make_vector(&x));
  OK(make_vector(&y));
  OK(ncclGroupStart());
  if (rank == 0) OK(ncclAllReduce(y, y, N, ncclInt32, ncclMax, other, m.stream));
  OK(ncclAllReduce(x, x, N, ncclInt32, ncclMax, m.comm, m.stream));
  if (rank == 1) OK(ncclAllReduce(y, y, N, ncclInt32, ncclMax, other, m.stream));
  OK(ncclGroupEnd());
  OK(cudaStreamSynchronize(m.stream));
  OK(cudaFree(x));
  OK(cudaFree(y));
  OK(ncclCommDestroy(other));
  return close_member(&m);
}

Test(group, members_may_call_communicators_in_different_orders)
{
  int blocking = 1;
  cr_assert_eq(count_seeds(2, crossed_in_a_group, &blocking, (simdev_options){0}, SEEDS, SIMDEV_OK),
               SEEDS);
}

/* One process, all devices: made in a group, used in groups, destroyed one by one. */
static int one_process(void *arg, int rank)
{
  ncclComm_t comm[R];
  cudaStream_t st[R];
  int32_t *x[R], out[N];
  (void)arg, (void)rank;
  OK(ncclGroupStart());
  for (int i = 0; i < R; i++) {
    OK(cudaSetDevice(i));
    OK(ncclCommInitRank(&comm[i], R, world_id, i));
    OK(make_stream(&st[i]));
    OK(make_vector(&x[i]));
    OK(fill(x[i], i, st[i]));
  }
  OK(ncclGroupEnd());
  OK(ncclGroupStart());
  for (int i = 0; i < R; i++) OK(ncclAllReduce(x[i], x[i], N, ncclInt32, ncclMax, comm[i], st[i]));
  OK(ncclGroupEnd());
  for (int i = 0; i < R; i++) {
    OK(to_host(out, x[i], sizeof out, st[i]));
    IS(holds(out, R - 1));
    OK(cudaFree(x[i]));
    OK(cudaStreamDestroy(st[i]));
    OK(ncclCommDestroy(comm[i]));
  }
  return 0;
}

Test(group, one_process_may_make_all_communicators)
{
  simdev_options o = {0};
  simdev *s = simdev_open(1, R, NULL, NULL);
  simdev_host(s, 0, one_process, NULL);
  for (o.seed = 0; o.seed < SEEDS; o.seed++) {
    simdev_reset(s, &o);
    cr_assert_eq(simdev_run(s), SIMDEV_OK, "%s", simdev_result(s)->text);
  }
  simdev_close(s);
}

/* ---- Splitting ------------------------------------------------------------------------------- */

/* Ranks 0 and 2 in one, 1 in none; the pair's order follows the key. */
static int split(void *arg, int rank)
{
  member m;
  ncclComm_t pair = NULL;
  ncclResult_t e;
  int index, count, device;
  OK(open_member(&m, rank, R, *(int *)arg));
  e = ncclCommSplit(m.comm, rank == 1 ? NCCL_SPLIT_NOCOLOR : 7, rank == 0 ? 5 : 4, &pair, NULL);
  OK(settle(e, m.comm));
  IS((pair == NULL) == (rank == 1));
  if (pair) {
    OK(settle(e, pair));
    OK(ncclCommUserRank(pair, &index));
    OK(ncclCommCount(pair, &count));
    OK(ncclCommCuDevice(pair, &device));
    IS(count == 2 && index == (rank == 0) && device == rank);
    OK(end_comm(pair));
  }
  return close_member(&m);
}

Test(split, members_are_ordered_by_color_and_key)
{
  holds_always(split, R, 0);
  holds_always(split, R, 1);
}

/* Finalizing waits for operations that still run on the device. */
static int finalizes_early(void *arg, int rank)
{
  member m;
  int32_t *x, out[N];
  OK(open_member(&m, rank, R, *(int *)arg));
  OK(make_vector(&x));
  OK(fill(x, rank, m.stream));
  OK(settle(ncclAllReduce(x, x, N, ncclInt32, ncclMax, m.comm, m.stream), m.comm));
  OK(settle(ncclCommFinalize(m.comm), m.comm));
  IS(cudaStreamQuery(m.stream) == cudaSuccess);
  OK(ncclCommDestroy(m.comm));
  OK(to_host(out, x, sizeof out, m.stream));
  IS(holds(out, R - 1));
  OK(cudaFree(x));
  return (int)cudaStreamDestroy(m.stream);
}

Test(finalize, finalize_waits_for_operations)
{
  holds_always(finalizes_early, R, 0);
  holds_always(finalizes_early, R, 1);
}

static int split_early(void *arg, int rank)
{
  member m;
  ncclComm_t other;
  ncclResult_t e;
  int32_t *x;
  OK(open_member(&m, rank, R, *(int *)arg));
  OK(make_vector(&x));
  OK(settle(ncclAllReduce(x, x, N, ncclInt32, ncclSum, m.comm, m.stream), m.comm));
  e = ncclCommSplit(m.comm, 0, 0, &other, NULL);
  return e == ncclInvalidUsage ? 0 : 1;
}

Test(split, a_split_with_operations_outstanding_is_an_error)
{
  int blocking = 0;
  simdev *s = run_case(R, split_early, &blocking,
                       &(simdev_options){.allow_leaks = 1, .order = SIMDEV_LAZY});
  cr_assert_eq(simdev_result(s)->status, SIMDEV_E_MISUSE);
  cr_assert(says(s, "(ncclCommSplit): 1 operations of the parent are outstanding"), "%s",
            simdev_result(s)->text);
  simdev_close(s);
}
