/* Looks for data races inside the kernels: each thread of a launch is a fiber of ThreadSanitizer,
 * ordered with the others by the barriers of its block and by nothing else, so that two threads
 * that touch one byte between two barriers are reported, whatever the order in which they run here.
 * Called by test_kernel_races.sh: races [no-barrier]. */
#define _GNU_SOURCE
#include <sanitizer/tsan_interface.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <ucontext.h>

#include "../../../cuda/kernels/kernels.h"
#include "../../../cuda/simdev/kernel.h"

enum { GRID = 3, N = 4 * ZP_TILE + 1234, STACK = 1 << 16 };

typedef struct fiber {
  ucontext_t context;
  void *identity, *stack;
  simdev_thread at;
} fiber;

typedef struct launch {
  const simdev_kernel *kernel;
  const void *params;
  void *shared[GRID];
  char *begin, *end; /* of the launch, and each block's barriers: addresses of their own, or one */
  char *edge;        /* would hide another */
  int phases[GRID], most; /* of each block, and of any */
  fiber *current;
  ucontext_t main;
  void *main_identity;
} launch;

static launch now;
static int no_barrier;
static fiber *fibers; /* [GRID * ZP_BLOCK_THREADS], made once: making one is slow */

/* What runs the threads is not what is watched. */
#define UNWATCHED __attribute__((no_sanitize("thread")))

UNWATCHED static char *edge_of(unsigned block, int phase)
{
  return now.edge + 8 * ((int)block * (now.most + 2) + phase);
}

UNWATCHED static void leave(fiber *f)
{
  __tsan_switch_to_fiber(now.main_identity, __tsan_switch_to_fiber_no_sync);
  swapcontext(&f->context, &now.main);
}

/* One thread's life: all phases, with the barrier in between. */
UNWATCHED static void live(void)
{
  fiber *f = now.current;
  const unsigned block = f->at.blockIdx[0];
  __tsan_acquire(now.begin);
  for (int phase = 0; phase < now.phases[block]; phase++) {
    if (phase > 0 && !no_barrier) __tsan_acquire(edge_of(block, phase));
    now.kernel->body(now.params, f->at, now.shared[block], phase);
    if (!no_barrier) __tsan_release(edge_of(block, phase + 1));
    if (phase + 1 == now.phases[block]) __tsan_release(now.end);
    leave(f);
  }
}

UNWATCHED static void enter(fiber *f)
{
  now.current = f;
  __tsan_switch_to_fiber(f->identity, __tsan_switch_to_fiber_no_sync);
  swapcontext(&now.main, &f->context);
}

static void fibers_make(void)
{
  fibers = calloc((size_t)GRID * ZP_BLOCK_THREADS, sizeof *fibers);
  for (int i = 0; i < GRID * ZP_BLOCK_THREADS; i++) {
    fibers[i].identity = __tsan_create_fiber(0);
    fibers[i].stack = malloc(STACK);
  }
}

static void prepare(fiber *f, zp_launch l, unsigned block, unsigned thread)
{
  f->at = (simdev_thread){{l.grid, 1, 1}, {l.block, 1, 1}, {block, 0, 0}, {thread, 0, 0}};
  getcontext(&f->context);
  f->context.uc_stack.ss_sp = f->stack;
  f->context.uc_stack.ss_size = STACK;
  makecontext(&f->context, live, 0);
}

static void run(const void *handle, zp_launch l, const void *params)
{
  memset(&now, 0, sizeof now);
  now.kernel = handle;
  now.params = params;
  now.main_identity = __tsan_get_current_fiber();
  if (l.grid > GRID) l.grid = GRID;
  for (unsigned b = 0; b < l.grid; b++) {
    const simdev_thread t = {{l.grid, 1, 1}, {l.block, 1, 1}, {b, 0, 0}, {0, 0, 0}};
    now.shared[b] = malloc(l.shared + 1);
    now.phases[b] = simdev_phases(handle, params, t);
    if (now.phases[b] > now.most) now.most = now.phases[b];
  }
  now.edge = calloc((size_t)GRID * (size_t)(now.most + 2) + 2, 8);
  now.begin = edge_of(GRID, 0);
  now.end = edge_of(GRID, 1);
  for (unsigned i = 0; i < l.grid * l.block; i++) prepare(&fibers[i], l, i / l.block, i % l.block);
  __tsan_release(now.begin);
  for (int phase = 0; phase < now.most; phase++)
    for (unsigned i = 0; i < l.grid * l.block; i++)
      if (phase < now.phases[i / l.block]) enter(&fibers[i]);
  __tsan_acquire(now.end);
  for (unsigned b = 0; b < l.grid; b++) free(now.shared[b]);
  free(now.edge);
  printf("%s\n", now.kernel->name);
}

/* ---- What is launched ------------------------------------------------------------------------ */

static float grad[N], master[N], m[N], v[N], out[N];
static int64_t limbs[N * 9], sums[N * 9], packed[N * 5];
static zp_tally tally;
static zp_step_state step;
static zp_group_state group[40];
static int64_t stats[ZP_STATS], bad;

/* Two runs that meet within a word, and an empty one. */
static void two_runs(zp_memory_runs *runs, const void *in, void *to, int64_t size)
{
  runs->n = 3;
  runs->here[0] = (zp_memory_run){.in = in, .out = to, .count = N / 2 + 1};
  runs->here[1] = (zp_memory_run){.in = in};
  runs->here[2] = (zp_memory_run){.in = (const char *)in + (N / 2 + 1) * size,
                                  .out = (char *)to + (N / 2 + 1) * size,
                                  .at = N / 2 + 1,
                                  .count = N - N / 2 - 1};
  runs->tiles = zp_runs_lay(runs->here, 3);
}

static void gather_and_scatter(void)
{
  zp_gather_params g = {.dtype = ZP_BF16, .first = 1, .nonfinite = &bad};
  zp_scatter_params s = {.bytes = 2};
  two_runs(&g.runs, grad, out, 2);
  run(zp_kernel_gather_copy, zp_launch_runs(g.runs.here, g.runs.n), &g);
  two_runs(&s.runs, grad, out, 2);
  run(zp_kernel_scatter, zp_launch_runs(s.runs.here, s.runs.n), &s);
  g.dtype = ZP_F32;
  two_runs(&g.runs, grad, out, 4);
  run(zp_kernel_gather_ordered, zp_launch_runs(g.runs.here, g.runs.n), &g);
  g.first = 0;
  run(zp_kernel_gather_ordered, zp_launch_runs(g.runs.here, g.runs.n), &g);
  two_runs(&g.runs, grad, limbs, 4);
  g.runs.here[2].out = limbs + (N / 2 + 1) * 9;
  run(zp_kernel_gather_exact, zp_launch_limb_runs(g.runs.here, g.runs.n), &g);
}

static void parts_and_means(void)
{
  zp_add_params a = {.dtype = ZP_F32, .members = 3, .own = 1, .n = N, .parts = grad};
  a.own_in = m;
  a.out = out;
  run(zp_kernel_add_ordered, zp_launch_elements(N), &a);
  zp_add_exact_params b = {N, limbs, sums};
  run(zp_kernel_add_exact, zp_launch_limbs(N, 2), &b);
  zp_settle_params s = {N, sums};
  run(zp_kernel_settle, zp_launch_limbs(N, 1), &s);
  zp_squares_params e = {.divisor = 6, .tally = &tally, .nonfinite = &bad};
  two_runs(&e.runs, out, NULL, 4); /* squares of the second are counted */
  e.lanes = zp_squares_lanes(e.runs.here, e.runs.n);
  run(zp_kernel_mean_ordered, zp_launch_squares(e.runs.here, e.runs.n), &e);
  two_runs(&e.runs, sums, master, 72);
  e.runs.here[2].out = master + N / 2 + 1;
  run(zp_kernel_mean_exact, zp_launch_mean_exact(e.runs.here, e.runs.n), &e);
}

static void packed_sums(void)
{
  zp_add_params a = {.dtype = ZP_F32, .members = 3, .own = 1, .n = N, .parts = grad};
  zp_packed_params p = {.packed = packed, .n = N};
  zp_squares_params e = {
      .divisor = 6, .packed = packed, .n = N, .tally = &tally, .nonfinite = &bad};
  a.own_in = m;
  a.out = packed;
  run(zp_kernel_add_packed, zp_launch_limbs(N, 1), &a);
  two_runs(&p.runs, sums, sums, 72);
  run(zp_kernel_pack_sums, zp_launch_limb_runs(p.runs.here, p.runs.n), &p);
  run(zp_kernel_unpack_sums, zp_launch_limb_runs(p.runs.here, p.runs.n), &p);
  two_runs(&e.runs, NULL, packed, 4);
  e.lanes = zp_squares_lanes(e.runs.here, e.runs.n);
  run(zp_kernel_mean_packed, zp_launch_mean_exact(e.runs.here, e.runs.n), &e);
}

static void statistics_and_update(void)
{
  zp_squares_params q = {.dtype = ZP_F32, .tally = &tally, .nonfinite = &bad};
  zp_write_params t = {stats, {1, 2, 3}, 3, 0};
  zp_loss_params l = {3, grad, &tally};
  zp_pack_params k = {&tally, stats, 0x123456789abcdef0u, 0, 0};
  zp_decide_params d = {stats, &step, group, 6,  1, 1e-6, 40, 1, {{ZP_OPTIM_ADAMW, .lr = 1e-3}},
                        1,     0,     NULL,  {0}};
  zp_update_params u = {&step, group, grad, master, m, v, 6, N - 3, ZP_BF16, {0}};
  two_runs(&q.runs, grad, NULL, 4);
  q.lanes = zp_squares_lanes(q.runs.here, q.runs.n);
  run(zp_kernel_squares, zp_launch_squares(q.runs.here, q.runs.n), &q);
  run(zp_kernel_write, zp_launch_one(), &t);
  run(zp_kernel_loss, zp_launch_one(), &l);
  run(zp_kernel_pack, zp_launch_one(), &k);
  run(zp_kernel_decide, zp_launch_one(), &d);
  two_runs(&u.runs, NULL, out, 2);
  u.runs.here[0].in = u.runs.here[2].in = NULL;
  run(zp_kernel_update, zp_launch_runs(u.runs.here, u.runs.n), &u);
}

int main(int argc, char **argv)
{
  no_barrier = argc > 1 && strcmp(argv[1], "no-barrier") == 0;
  fibers_make();
  for (int64_t i = 0; i < N; i++) grad[i] = (float)(i % 97 - 40) * (i % 3 ? 1e-3f : 1e20f);
  grad[77] = grad[N - 1] = 1e38f * 10;
  gather_and_scatter();
  parts_and_means();
  packed_sums();
  statistics_and_update();
  return 0;
}
