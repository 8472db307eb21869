/* The work of items, on the fiber of the item's stream. */
#include "state.h"

static void check(simdev *s, const sd_item *item, const void *p, size_t n, const char *verb)
{
  sd_memory_range(s, item->stream->agent.rank, p, n, verb, item);
}

static void copy(simdev *s, sd_item *item)
{
  sd_copy_item *c = &item->u.copy;
  check(s, item, c->to, c->bytes, "writes");
  if (!c->staged) check(s, item, c->from, c->bytes, "reads");
  if (s->found.verdict) return;
  if (!c->staged) sd_race_read(c->from, c->bytes);
  sd_race_write(c->to, c->bytes);
  sd_copy_bytes(c->to, c->from, c->bytes);
  if (c->staged) sd_buffer_release(&s->arena, (void *)(uintptr_t)c->from, c->bytes);
}

static void set(simdev *s, sd_item *item)
{
  sd_copy_item *c = &item->u.copy;
  check(s, item, c->to, c->bytes, "writes");
  if (s->found.verdict) return;
  sd_race_write(c->to, c->bytes);
  sd_set_bytes(c->to, c->value, c->bytes);
}

static void word(simdev *s, sd_item *item)
{
  const sd_copy_item *c = &item->u.copy;
  check(s, item, c->to, c->bytes, "writes");
  if (!s->found.verdict) sd_race_store_word(c->to, (uint32_t)c->value);
}

static void unpack(uint64_t i, const uint32_t size[3], unsigned at[3])
{
  if (size[1] == 1 && size[2] == 1) { /* the usual case, without divisions; the other coordinates
                                       * stay 0 */
    at[0] = (unsigned)i;
    return;
  }
  at[0] = (unsigned)(i % size[0]);
  at[1] = (unsigned)(i / size[0] % size[1]);
  at[2] = (unsigned)(i / size[0] / size[1]);
}

/* A block that has begun. */
typedef struct block {
  uint64_t index;
  int phase, phases;
  char *shared;
} block;

/* A launch. Its choices come from one number of the simulation's, so that the simulation's later
 * choices do not depend on the grid. */
typedef struct grid {
  const sd_kernel_item *k;
  uint64_t blocks, threads, random;
  uint64_t next, stride; /* the block that begins next, and how far the one after it is */
  uint64_t thread;       /* the one that runs next */
  int down;              /* threads run downwards */
  block here[SD_BLOCKS];
  uint32_t n, most; /* blocks that have begun and not ended; how many may have */
} grid;

static uint32_t draw(grid *g, uint32_t n)
{
  g->random = g->random * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
  return (uint32_t)((g->random >> 32) * n >> 32);
}

static uint64_t divisor(uint64_t a, uint64_t b)
{
  while (b > 0) {
    const uint64_t rest = a % b;
    a = b;
    b = rest;
  }
  return a;
}

/* Upwards, downwards, or in steps of any length that reach all. */
static uint64_t stride_of(grid *g)
{
  const uint32_t how = draw(g, 4);
  const uint64_t any = 1 + draw(g, (uint32_t)(g->blocks < UINT32_MAX ? g->blocks : UINT32_MAX));
  if (how < 2) return how == 0 ? 1 : g->blocks - 1 + (g->blocks == 1);
  return divisor(any, g->blocks) == 1 ? any : 1;
}

static void grid_begin(simdev *s, const sd_kernel_item *k, grid *g)
{
  g->k = k;
  g->blocks = (uint64_t)k->grid[0] * k->grid[1] * k->grid[2];
  g->threads = (uint64_t)k->block[0] * k->block[1] * k->block[2];
  g->down = sd_below(s, 2) == 0;
  g->random = sd_random(s);
  g->next = g->random % g->blocks;
  g->thread = sd_random(s) % g->threads;
  g->stride = stride_of(g);
  g->most = 1 + draw(g, SD_BLOCKS);
  if (g->most > g->blocks) g->most = (uint32_t)g->blocks;
  g->n = 0;
}

/* The next block begins, in the shared memory of the one that has ended, or in its own. */
static void block_begin(simdev *s, grid *g, simdev_thread *t)
{
  block *b = &g->here[g->n];
  unpack(g->next, g->k->grid, t->blockIdx);
  b->index = g->next;
  b->phase = 0;
  b->phases = simdev_phases(g->k->kernel, g->k->params, *t);
  g->next = (g->next + g->stride) % g->blocks;
  if (b->phases < 1) return;
  if (g->k->shared) sd_memory_poison(s, b->shared, g->k->shared, 0);
  g->n++;
}

/* All threads, upwards or downwards from any of them. */
static void run_phase(simdev *s, grid *g, const block *b, simdev_thread two[2])
{
  unsigned n = 0;
  unpack(b->index, g->k->grid, two[0].blockIdx);
  unpack(b->index, g->k->grid, two[1].blockIdx);
  unpack(g->thread, g->k->block, two[0].threadIdx);
  for (uint64_t i = 0; i < g->threads; i++) {
    const simdev_thread *t = &two[n++ & 1];
    if (s->found.verdict) return; /* a race was reported; one report is enough */
    if (g->down) g->thread = (g->thread == 0 ? g->threads : g->thread) - 1;
    else g->thread = g->thread + 1 == g->threads ? 0 : g->thread + 1;
    unpack(g->thread, g->k->block, two[n & 1].threadIdx);
    g->k->kernel->body(g->k->params, *t, b->shared, b->phase);
  }
}

/* Up to SD_BLOCKS blocks are on the device at a time, and run their phases in any order. */
static void kernel(simdev *s, sd_item *item)
{
  const sd_kernel_item *k = &item->u.kernel;
  grid g;
  simdev_thread two[2] = {0}; /* this thread's and the next one's: reading a struct right after
                               * writing it would stall the processor */
  grid_begin(s, k, &g);
  for (int i = 0; i < 3; i++) two[0].gridDim[i] = two[1].gridDim[i] = k->grid[i];
  for (int i = 0; i < 3; i++) two[0].blockDim[i] = two[1].blockDim[i] = k->block[i];
  for (uint32_t i = 0; i < g.most; i++)
    g.here[i].shared = item->stream->shared + i * sd_shared_of_block(k->shared);
  for (uint64_t left = g.blocks; g.n > 0 || left > 0;) {
    for (; g.n < g.most && left > 0; left--) block_begin(s, &g, &two[0]);
    if (g.n == 0) return; /* the last ones had no phase */
    const uint32_t i = g.n == 1 ? 0 : draw(&g, g.n);
    run_phase(s, &g, &g.here[i], two);
    if (s->found.verdict) return;
    if (++g.here[i].phase < g.here[i].phases) continue;
    const block ended = g.here[i];
    g.here[i] = g.here[--g.n];
    g.here[g.n].shared = ended.shared;
  }
}

/* The program's own code: a kernel or host function. */
static void code(void *arg)
{
  simdev *s = sd_now;
  sd_item *item = arg;
  if (item->kind == SIMDEV_KERNEL) {
    kernel(s, item);
    return;
  }
  s->streams.in_callback = 1;
  item->u.host.fn(item->u.host.arg);
  s->streams.in_callback = 0;
}

void sd_execute(simdev *s, sd_item *item)
{
  switch (item->kind) {
  case SIMDEV_KERNEL:
  case SIMDEV_HOST_FUNCTION: sd_fiber_call(item->stream->fiber, code, item); break;
  case SIMDEV_COPY: copy(s, item); break;
  case SIMDEV_SET: set(s, item); break;
  case SIMDEV_WORD: word(s, item); break;
  case SIMDEV_FREE: sd_memory_free_item(s, item); break;
  default: break; /* RECORD and WAIT only order; COMM is in nccl_launch.c */
  }
}
