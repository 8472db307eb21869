/* Kernels run with the geometry of their launch. */
#include <criterion/criterion.h>

#include "case.h"

typedef struct grid_params {
  int32_t *visits; /* [threads of the launch] */
  unsigned grid[3], block[3];
  int32_t *bad;
} grid_params;

static void visit(const void *params, simdev_thread t, void *shared, int phase)
{
  const grid_params *p = params;
  unsigned b = 0, i = 0, threads = 1;
  (void)shared;
  for (int d = 0; d < 3; d++) {
    if (t.gridDim[d] != p->grid[d] || t.blockDim[d] != p->block[d] || t.blockIdx[d] >= p->grid[d] ||
        t.threadIdx[d] >= p->block[d])
      ++*p->bad;
    threads *= p->block[d];
  }
  b = (t.blockIdx[2] * p->grid[1] + t.blockIdx[1]) * p->grid[0] + t.blockIdx[0];
  i = (t.threadIdx[2] * p->block[1] + t.threadIdx[1]) * p->block[0] + t.threadIdx[0];
  p->visits[b * threads + i] += phase + 1;
}

static const simdev_kernel visit_kernel = {"visit", sizeof(grid_params), 2, visit};

static int geometry(void *arg, int rank)
{
  enum { THREADS = 3 * 2 * 5 * 4 * 7 * 2 };
  grid_params p = {.grid = {3, 2, 5}, .block = {4, 7, 2}};
  int32_t out[THREADS], bad;
  void *args[] = {&p};
  (void)arg, (void)rank;
  OK(cudaMalloc((void **)&p.visits, sizeof out));
  OK(cudaMalloc((void **)&p.bad, sizeof bad));
  OK(cudaMemset(p.visits, 0, sizeof out));
  OK(cudaMemset(p.bad, 0, sizeof bad));
  OK(cudaLaunchKernel(&visit_kernel, (dim3){3, 2, 5}, (dim3){4, 7, 2}, args, 0, NULL));
  p.visits = NULL; /* the parameters are copied by the launch */
  OK(cudaMemcpy(&bad, p.bad, sizeof bad, cudaMemcpyDeviceToHost));
  IS(bad == 0);
  OK(cudaFree(p.bad));
  return 0;
}

Test(kernel, a_thread_has_its_coordinates)
{
  simdev_options o = {.allow_leaks = 1};
  cr_assert_eq(count_seeds(1, geometry, NULL, o, 20, SIMDEV_OK), 20);
}

static int each_thread_once(void *arg, int rank)
{
  enum { THREADS = 2 * 3 * 5 };
  grid_params p = {.grid = {2, 1, 1}, .block = {3, 5, 1}};
  int32_t out[THREADS];
  void *args[] = {&p};
  (void)arg, (void)rank;
  OK(cudaMalloc((void **)&p.visits, sizeof out));
  OK(cudaMalloc((void **)&p.bad, sizeof(int32_t)));
  OK(cudaMemset(p.visits, 0, sizeof out));
  OK(cudaLaunchKernel(&visit_kernel, (dim3){2, 1, 1}, (dim3){3, 5, 1}, args, 0, NULL));
  OK(cudaMemcpy(out, p.visits, sizeof out, cudaMemcpyDeviceToHost));
  for (int i = 0; i < THREADS; i++) IS(out[i] == 1 + 2); /* phases 0 and 1 */
  OK(cudaFree(p.visits));
  OK(cudaFree(p.bad));
  return 0;
}

Test(kernel, each_thread_runs_once_in_each_phase)
{
  cr_assert_eq(count_seeds(1, each_thread_once, NULL, (simdev_options){0}, 20, SIMDEV_OK), 20);
}

/* Each thread notes when it ran. */
static int32_t ticks;

static void tick_body(const void *params, simdev_thread t, void *shared, int phase)
{
  const vector *p = params;
  (void)shared, (void)phase;
  p->x[at(t)] = ticks++;
}

static const simdev_kernel tick_kernel = {"tick", sizeof(vector), 1, tick_body};

static int thread_order(void *arg, int rank)
{
  int *seen = arg; /* upwards, downwards, first thread first, blocks upwards, downwards */
  vector p = {.n = 9};
  int32_t out[9];
  void *args[] = {&p};
  (void)rank;
  ticks = 0;
  OK(make_vector(&p.x));
  OK(cudaLaunchKernel(&tick_kernel, (dim3){3, 1, 1}, (dim3){3, 1, 1}, args, 0, NULL));
  OK(cudaMemcpy(out, p.x, sizeof out, cudaMemcpyDeviceToHost));
  seen[0] += out[1] == out[0] + 1 && out[2] == out[1] + 1;
  seen[1] += out[1] == out[2] + 1 && out[0] == out[1] + 1;
  seen[2] += out[0] == 0;
  seen[3] += out[3] > out[0];
  seen[4] += out[3] < out[0];
  OK(cudaFree(p.x));
  return 0;
}

Test(kernel, threads_and_blocks_have_no_fixed_order)
{
  int seen[5] = {0};
  cr_assert_eq(count_seeds(1, thread_order, seen, (simdev_options){0}, SEEDS, SIMDEV_OK), SEEDS);
  for (int i = 0; i < 5; i++) cr_assert(seen[i] > 0 && seen[i] < SEEDS, "%d: %d", i, seen[i]);
}

/* ---- Blocks ---------------------------------------------------------------------------------- */

enum { BLOCKS_OF_TICKS = 12, ORDERS = 400 };

/* Blocks of two phases, which note when each ran. */
static void block_body(const void *params, simdev_thread t, void *shared, int phase)
{
  const vector *p = params;
  (void)shared;
  p->x[2 * t.blockIdx[0] + (unsigned)phase] = ticks++;
}

static const simdev_kernel block_kernel = {"blocks", sizeof(vector), 2, block_body};

/* arg counts runs in which: each block ends before the next begins; several begin before any ends;
 * each ends before the next begins, in an order that is neither upwards nor downwards. */
static int block_order(void *arg, int rank)
{
  vector p = {.n = 2 * BLOCKS_OF_TICKS};
  int32_t out[2 * BLOCKS_OF_TICKS], whole = 0, up = 0, down = 0, ended = 2 * BLOCKS_OF_TICKS;
  void *args[] = {&p};
  int *seen = arg;
  (void)rank;
  ticks = 0;
  OK(make_vector(&p.x));
  OK(cudaLaunchKernel(&block_kernel, (dim3){BLOCKS_OF_TICKS, 1, 1}, (dim3){1, 1, 1}, args, 0,
                      NULL));
  OK(cudaMemcpy(out, p.x, sizeof out, cudaMemcpyDeviceToHost));
  for (int b = 0; b < BLOCKS_OF_TICKS; b++) {
    const int32_t *this = out + 2 * b, *next = out + 2 * ((b + 1) % BLOCKS_OF_TICKS);
    IS(this[1] > this[0]);
    whole += this[1] == this[0] + 1;
    up += next[0] > this[0];
    down += next[0] < this[0];
    if (this[1] < ended) ended = this[1];
  }
  seen[0] += whole == BLOCKS_OF_TICKS;
  seen[1] += ended > 2;
  seen[2] += whole == BLOCKS_OF_TICKS && up > 1 && down > 1;
  return (int)cudaFree(p.x);
}

Test(kernel, blocks_run_in_any_order_by_phases)
{
  int seen[3] = {0};
  cr_assert_eq(count_seeds(1, block_order, seen, (simdev_options){0}, ORDERS, SIMDEV_OK), ORDERS);
  for (int i = 0; i < 3; i++) cr_assert(seen[i] > 0 && seen[i] < ORDERS, "%d: %d", i, seen[i]);
}

/* Each block uses the same global memory between its phases, which is right only if blocks run one
 * after the other. */
static void scratch_body(const void *params, simdev_thread t, void *shared, int phase)
{
  const vector *p = params;
  (void)shared;
  if (phase == 0) p->x[0] = (int32_t)t.blockIdx[0];
  else p->x[1 + t.blockIdx[0]] = p->x[0];
}

static const simdev_kernel scratch_kernel = {"scratch", sizeof(vector), 2, scratch_body};

static int shares_scratch(void *arg, int rank)
{
  vector p = {.n = N};
  int32_t out[4];
  void *args[] = {&p};
  (void)arg, (void)rank;
  OK(make_vector(&p.x));
  OK(cudaLaunchKernel(&scratch_kernel, (dim3){3, 1, 1}, (dim3){1, 1, 1}, args, 0, NULL));
  OK(cudaMemcpy(out, p.x, sizeof out, cudaMemcpyDeviceToHost));
  OK(cudaFree(p.x));
  return out[1] != 0 || out[2] != 1 || out[3] != 2;
}

Test(kernel, scratch_memory_that_blocks_share_is_found)
{
  cr_assert_gt(count_seeds(1, shares_scratch, NULL, (simdev_options){0}, SEEDS, SIMDEV_E_HOST), 0);
}

/* ---- Shared memory --------------------------------------------------------------------------- */

/* A block sum through shared memory: correct only if a phase ends before the next begins. */
static void sum_body(const void *params, simdev_thread t, void *shared, int phase)
{
  const vector *p = params;
  int32_t *s = shared;
  const int32_t i = (int32_t)t.threadIdx[0], n = (int32_t)t.blockDim[0];
  if (phase == 0) {
    s[i] = at(t) < p->n ? p->y[at(t)] : 0;
    return;
  }
  if (i == 0) p->x[t.blockIdx[0]] = 0;
  for (int32_t k = 0; i == 0 && k < n; k++) p->x[t.blockIdx[0]] += s[k];
}

static const simdev_kernel sum_kernel = {"sum", sizeof(vector), 2, sum_body};

static int block_sums(void *arg, int rank)
{
  enum { BLOCK = 32, BLOCKS = (N + BLOCK - 1) / BLOCK };
  vector p = {.n = N};
  int32_t *y, out[BLOCKS], sum = 0;
  void *args[] = {&p};
  (void)arg, (void)rank;
  OK(make_vector(&y));
  OK(make_vector(&p.x));
  p.y = y;
  OK(fill(y, 1, NULL));
  OK(cudaLaunchKernel(&sum_kernel, (dim3){BLOCKS, 1, 1}, (dim3){BLOCK, 1, 1}, args,
                      BLOCK * sizeof(int32_t), NULL));
  OK(cudaMemcpy(out, p.x, sizeof out, cudaMemcpyDeviceToHost));
  for (int b = 0; b < BLOCKS; b++) sum += out[b];
  IS(sum == N * (N + 1) / 2);
  OK(cudaFree(y));
  OK(cudaFree(p.x));
  return 0;
}

Test(kernel, a_phase_ends_before_the_next_begins)
{
  cr_assert_eq(count_seeds(2, block_sums, NULL, (simdev_options){0}, 20, SIMDEV_OK), 20);
}

/* Block b goes round b times: the first thread counts what all wrote in the phase before. */
static int rounds_of_block(const void *params, simdev_thread t)
{
  (void)params;
  return 2 * (int)t.blockIdx[0];
}

static void rounds_body(const void *params, simdev_thread t, void *shared, int phase)
{
  const vector *p = params;
  int32_t *s = shared;
  if (phase % 2 == 0) s[t.threadIdx[0]] = phase + 1;
  for (unsigned i = 0; phase % 2 == 1 && t.threadIdx[0] == 0 && i < t.blockDim[0]; i++)
    p->x[t.blockIdx[0]] += s[i] == phase;
}

static const simdev_loop_kernel rounds_kernel = {
    {"rounds", sizeof(vector), SIMDEV_LOOP, rounds_body}, rounds_of_block};

static int loops(void *arg, int rank)
{
  enum { BLOCK = 8, BLOCKS = 4 };
  vector p = {0};
  int32_t out[BLOCKS];
  void *args[] = {&p};
  (void)arg, (void)rank;
  OK(make_vector(&p.x));
  OK(cudaMemset(p.x, 0, sizeof out));
  OK(cudaLaunchKernel(&rounds_kernel, (dim3){BLOCKS, 1, 1}, (dim3){BLOCK, 1, 1}, args,
                      BLOCK * sizeof(int32_t), NULL));
  OK(cudaMemcpy(out, p.x, sizeof out, cudaMemcpyDeviceToHost));
  for (int b = 0; b < BLOCKS; b++) IS(out[b] == b * BLOCK);
  OK(cudaFree(p.x));
  return 0;
}

Test(kernel, a_block_has_as_many_phases_as_its_kernel_says)
{
  cr_assert_eq(count_seeds(1, loops, NULL, (simdev_options){0}, 20, SIMDEV_OK), 20);
}

/* Shared memory holds nothing of the block before: a kernel that forgets to write it is found. */
static void forgets(const void *params, simdev_thread t, void *shared, int phase)
{
  const vector *p = params;
  int32_t *s = shared;
  (void)phase;
  if (t.blockIdx[0] == 0 && t.threadIdx[0] == 0) s[0] = 1;
  if (t.threadIdx[0] == 0) p->x[t.blockIdx[0]] = s[0];
}

static const simdev_kernel forgets_kernel = {"forgets", sizeof(vector), 1, forgets};

static int shared_is_fresh(void *arg, int rank)
{
  vector p = {.n = N};
  int32_t out[3];
  void *args[] = {&p};
  (void)arg, (void)rank;
  OK(make_vector(&p.x));
  OK(cudaLaunchKernel(&forgets_kernel, (dim3){3, 1, 1}, (dim3){1, 1, 1}, args, 4, NULL));
  OK(cudaMemcpy(out, p.x, sizeof out, cudaMemcpyDeviceToHost));
  IS(out[0] == 1 && out[1] != 1 && out[2] != 1);
  OK(cudaFree(p.x));
  return 0;
}

Test(kernel, shared_memory_is_poisoned_for_each_block)
{
  cr_assert_eq(count_seeds(1, shared_is_fresh, NULL, (simdev_options){0}, 20, SIMDEV_OK), 20);
}

static int refused(void *arg, int rank)
{
  static const simdev_kernel no_body = {.name = "none", .phases = 1};
  const dim3 one = {1, 1, 1};
  vector p = {0};
  void *args[] = {&p};
  (void)arg, (void)rank;
  IS(cudaLaunchKernel(&fill_kernel, (dim3){0, 1, 1}, one, args, 0, NULL) ==
     cudaErrorInvalidConfiguration);
  IS(cudaLaunchKernel(&fill_kernel, one, (dim3){1025, 1, 1}, args, 0, NULL) ==
     cudaErrorInvalidConfiguration);
  IS(cudaLaunchKernel(&fill_kernel, one, (dim3){32, 33, 1}, args, 0, NULL) ==
     cudaErrorInvalidConfiguration);
  IS(cudaLaunchKernel(&fill_kernel, one, one, args, 64 << 10, NULL) == cudaErrorInvalidValue);
  OK(cudaFuncSetAttribute(&fill_kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, 64 << 10));
  OK(cudaLaunchKernel(&fill_kernel, one, one, args, 64 << 10, NULL));
  IS(cudaFuncSetAttribute(&fill_kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, 1 << 20) ==
     cudaErrorInvalidValue);
  IS(cudaLaunchKernel(NULL, one, one, args, 0, NULL) == cudaErrorInvalidDeviceFunction);
  IS(cudaLaunchKernel(&no_body, one, one, args, 0, NULL) == cudaErrorInvalidDeviceFunction);
  IS(cudaLaunchKernel(&fill_kernel, one, one, NULL, 0, NULL) == cudaErrorInvalidValue);
  return 0;
}

Test(kernel, invalid_launches_are_errors)
{
  cr_assert_eq(count_seeds(1, refused, NULL, (simdev_options){0}, 3, SIMDEV_OK), 3);
}

static int wrong_device(void *arg, int rank)
{
  cudaStream_t st;
  int32_t *x;
  (void)arg, (void)rank;
  OK(make_stream(&st));
  OK(make_vector(&x));
  OK(cudaSetDevice(1));
  IS(fill(x, 0, st) == cudaErrorInvalidResourceHandle);
  return 0;
}

Test(kernel, a_kernel_runs_on_a_stream_of_the_current_device)
{
  simdev *s = run_case(2, wrong_device, NULL, &(simdev_options){.allow_leaks = 1});
  cr_assert(says(s, "the stream is device 0's, the current device is 1"));
  simdev_close(s);
}
