/* Calls that allocate, free and register memory: they may wait until the device is idle; and
 * registered memory is pinned memory of the program's. */
#include <criterion/criterion.h>
#include <stdlib.h>

#include "comm_case.h"

enum { BYTES = N * (int)sizeof(int32_t) };

/* ---- Waiting for the device ------------------------------------------------------------------ */

typedef enum memory_call {
  MALLOC,
  FREE,
  MALLOC_HOST,
  FREE_HOST,
  REGISTER,
  UNREGISTER,
  CALLS
} memory_call;

static const char *const names[CALLS] = {"cudaMalloc",   "cudaFree",         "cudaMallocHost",
                                         "cudaFreeHost", "cudaHostRegister", "cudaHostUnregister"};

/* What each call uses. */
typedef struct memory {
  int32_t mine[N];
  void *p;
} memory;

static int prepare(memory *x, memory_call call)
{
  if (call == FREE) OK(cudaMalloc(&x->p, 8));
  if (call == FREE_HOST) OK(cudaMallocHost(&x->p, 8));
  if (call == UNREGISTER) OK(cudaHostRegister(x->mine, BYTES, cudaHostRegisterDefault));
  return 0;
}

static int make_call(memory *x, memory_call call)
{
  switch (call) {
  case MALLOC: return (int)cudaMalloc(&x->p, 8);
  case FREE: return (int)cudaFree(x->p);
  case MALLOC_HOST: return (int)cudaMallocHost(&x->p, 8);
  case FREE_HOST: return (int)cudaFreeHost(x->p);
  case REGISTER: return (int)cudaHostRegister(x->mine, BYTES, cudaHostRegisterDefault);
  default: return (int)cudaHostUnregister(x->mine);
  }
}

static int clean_up(memory *x, memory_call call)
{
  if (call == MALLOC) OK(cudaFree(x->p));
  if (call == MALLOC_HOST) OK(cudaFreeHost(x->p));
  if (call == REGISTER) OK(cudaHostUnregister(x->mine));
  return 0;
}

/* Rank 0's collective waits for rank 1, whose host waits for rank 0's, which makes the call.
 * arg: the call. */
static int calls_beside_a_collective(void *arg, int rank)
{
  static int called;
  const memory_call call = *(const memory_call *)arg;
  static memory of[2];
  memory *x = &of[rank];
  member m;
  int32_t *y;
  OK(open_member(&m, rank, 2, 1));
  OK(make_vector(&y));
  OK(fill(y, rank, m.stream));
  OK(prepare(x, call));
  OK(cudaStreamSynchronize(m.stream));
  if (rank == 1) OK(simdev_await(&called));
  OK(ncclAllReduce(y, y, N, ncclInt32, ncclMax, m.comm, m.stream));
  OK(make_call(x, call));
  if (rank == 0) simdev_signal(&called);
  OK(close_member(&m));
  OK(clean_up(x, call));
  return (int)cudaFree(y);
}

Test(idle, a_memory_call_beside_a_collective_that_needs_this_host_can_deadlock)
{
  for (int call = 0; call < CALLS; call++) {
    simdev_options o = {.idle_memory_calls = SIMDEV_ALWAYS,
                        .register_memory = SIMDEV_ALWAYS,
                        .lazy_connections = SIMDEV_NEVER};
    simdev *s = run_case(2, calls_beside_a_collective, &call, &o);
    cr_assert_eq(simdev_result(s)->status, SIMDEV_E_DEADLOCK, "%s", simdev_result(s)->text);
    cr_assert(says(s, names[call]) && says(s, "which may wait until the device is idle, for: ") &&
                  says(s, "ncclAllReduce"),
              "%s", simdev_result(s)->text);
    simdev_close(s);
    cr_assert_eq(count_seeds(2, calls_beside_a_collective, &call, o, SEEDS, SIMDEV_E_DEADLOCK),
                 SEEDS, "%s", names[call]);
    o.idle_memory_calls = SIMDEV_NEVER;
    cr_assert_eq(count_seeds(2, calls_beside_a_collective, &call, o, SEEDS, SIMDEV_OK), SEEDS, "%s",
                 names[call]);
    o.idle_memory_calls = SIMDEV_BY_SEED;
    cr_assert_gt(count_seeds(2, calls_beside_a_collective, &call, o, SEEDS, SIMDEV_OK), 0);
    cr_assert_gt(count_seeds(2, calls_beside_a_collective, &call, o, SEEDS, SIMDEV_E_DEADLOCK), 0);
  }
}

/* The wait makes nothing correct: memory that an item uses may not be freed. */
static int frees_what_is_used(void *arg, int rank)
{
  cudaStream_t st;
  int32_t *x;
  (void)arg;
  OK(cudaSetDevice(rank));
  OK(make_stream(&st));
  OK(make_vector(&x));
  OK(fill(x, 1, st));
  OK(cudaFree(x));
  return (int)cudaStreamDestroy(st);
}

Test(idle, what_a_queued_item_uses_may_not_be_freed)
{
  simdev_options o = {.order = SIMDEV_LAZY, .idle_memory_calls = SIMDEV_ALWAYS};
  cr_assert_eq(count_seeds(1, frees_what_is_used, NULL, o, SEEDS, SIMDEV_E_ACCESS), SEEDS);
}

/* ---- Registered memory ----------------------------------------------------------------------- */

/* A copy from registered memory is asynchronous; arg: counts copies that had read their source when
 * the call returned, and those that had not. */
static int copies_from_registered(void *arg, int rank)
{
  int32_t *mine = malloc(BYTES), *x, out[N];
  int *seen = arg;
  cudaStream_t st;
  OK(cudaSetDevice(rank));
  OK(make_stream(&st));
  OK(make_vector(&x));
  for (int32_t i = 0; i < N; i++) mine[i] = 1 + i;
  OK(cudaHostRegister(mine, BYTES, cudaHostRegisterDefault));
  OK(cudaMemcpyAsync(x, mine, BYTES, cudaMemcpyHostToDevice, st));
  simdev_pause();
  for (int32_t i = 0; i < N; i++) mine[i] = 5 + i;
  OK(to_host(out, x, BYTES, st));
  IS(holds(out, 1) || holds(out, 5));
  seen[out[0] == 5]++;
  OK(copy_add(mine, x, 1, st)); /* a kernel writes it */
  OK(cudaStreamSynchronize(st));
  IS(mine[0] == out[0] + 1);
  OK(cudaHostUnregister(mine));
  free(mine);
  OK(cudaFree(x));
  return (int)cudaStreamDestroy(st);
}

Test(registered, memory_is_pinned)
{
  simdev_options o = {.register_memory = SIMDEV_ALWAYS};
  int seen[2] = {0, 0};
  cr_assert_eq(count_seeds(1, copies_from_registered, seen, o, SEEDS, SIMDEV_OK), SEEDS);
  cr_assert(seen[0] > 0 && seen[1] > 0, "%d %d", seen[0], seen[1]);
}

static int32_t mine[2 * N];

static int registers(void *arg, int rank)
{
  int *can = arg;
  const cudaError_t e = cudaHostRegister(mine, BYTES, cudaHostRegisterDefault);
  (void)rank;
  ++can[e == cudaSuccess];
  if (e != cudaSuccess) {
    IS(cudaHostUnregister(mine) == cudaErrorHostMemoryNotRegistered);
    return e != cudaErrorNotSupported;
  }
  IS(cudaHostRegister(mine + N - 1, 8, 0) == cudaErrorHostMemoryAlreadyRegistered);
  IS(cudaHostUnregister(mine + 1) == cudaErrorHostMemoryNotRegistered);
  IS(cudaHostRegister(NULL, 8, 0) == cudaErrorInvalidValue);
  IS(cudaHostRegister(mine + N, 0, 0) == cudaErrorInvalidValue);
  OK(cudaHostRegister(mine + N, 8, 0));
  OK(cudaHostUnregister(mine));
  OK(cudaHostUnregister(mine + N));
  IS(cudaHostUnregister(mine) == cudaErrorHostMemoryNotRegistered);
  return 0;
}

Test(registered, ranges_do_not_overlap_and_some_devices_have_none)
{
  int can[2] = {0, 0};
  cr_assert_eq(count_seeds(1, registers, can, (simdev_options){0}, SEEDS, SIMDEV_OK), SEEDS);
  cr_assert(can[0] > 0 && can[1] > 0, "%d %d", can[0], can[1]);
}

/* arg: 0 writes past the end, 1 unregisters what an item uses, 2 never unregisters, 3 another rank
 * uses it */
static int misuses(void *arg, int rank)
{
  static int registered, used;
  const int which = *(const int *)arg;
  cudaStream_t st;
  OK(cudaSetDevice(rank));
  OK(make_stream(&st));
  if (rank == 0) OK(cudaHostRegister(mine, BYTES, cudaHostRegisterDefault));
  if (rank == 0) simdev_signal(&registered);
  if (rank == 1) OK(simdev_await(&registered));
  if (which == 0 && rank == 0) OK(cudaMemsetAsync(mine + 1, 0, BYTES, st));
  if (which == 1 && rank == 0) OK(cudaMemsetAsync(mine, 0, BYTES, st));
  if (which == 3 && rank == 1) OK(cudaMemsetAsync(mine, 0, BYTES, st));
  if (which != 1) OK(cudaStreamSynchronize(st));
  if (rank == 1) simdev_signal(&used);
  if (rank == 0) OK(simdev_await(&used));
  if (rank == 0 && which != 2) OK(cudaHostUnregister(mine));
  return (int)cudaStreamDestroy(st);
}

Test(registered, misuse_is_reported)
{
  static const struct {
    simdev_status status;
    const char *text;
  } want[] = {{SIMDEV_E_ACCESS, "out of bounds by 4"},
              {SIMDEV_E_ACCESS, "cudaHostUnregister"},
              {SIMDEV_E_LEAK, "registered memory made by call"},
              {SIMDEV_E_ACCESS, "memory of rank 0"}};
  const simdev_options o = {.order = SIMDEV_LAZY, .register_memory = SIMDEV_ALWAYS};
  for (int which = 0; which < 4; which++) {
    simdev *s = run_case(2, misuses, &which, &o);
    cr_assert_eq(simdev_result(s)->status, want[which].status, "case %d: %s", which,
                 simdev_result(s)->text);
    cr_assert(says(s, want[which].text), "case %d: %s", which, simdev_result(s)->text);
    simdev_close(s);
  }
}

/* ---- Counted --------------------------------------------------------------------------------- */

static int creates(void *arg, int rank)
{
  simdev *const *s = arg;
  const int64_t before = simdev_created(*s, rank);
  cudaEvent_t e;
  memory x;
  member m;
  OK(open_member(&m, rank, 1, 1)); /* a communicator and a stream */
  for (int call = 0; call < CALLS; call++) {
    OK(prepare(&x, (memory_call)call));
    OK(make_call(&x, (memory_call)call));
    OK(clean_up(&x, (memory_call)call));
  }
  OK(make_event(&e));
  OK(cudaEventDestroy(e));
  OK(close_member(&m));
  return simdev_created(*s, rank) - before != CALLS + 3;
}

Test(created, what_a_rank_makes_is_counted)
{
  const simdev_options o = {.register_memory = SIMDEV_ALWAYS};
  simdev *s = simdev_open(1, 1, &o, NULL);
  simdev_host(s, 0, creates, &s);
  for (int run = 0; run < 2; run++) {
    cr_assert_eq(simdev_run(s), SIMDEV_OK, "%s", simdev_result(s)->text);
    simdev_reset(s, &o);
  }
  simdev_close(s);
}
