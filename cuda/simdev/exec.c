/* What items do when their turn has come. Runs on the item's stream's fiber. */
#include "internal.h"

static void check(simdev *s, const sd_item *item, const void *p, size_t n, const char *verb)
{
  sd_memory_range(s, item->stream->agent.rank, p, n, verb, item);
}

static void copy(simdev *s, sd_item *item)
{
  sd_copy_item *c = &item->u.copy;
  check(s, item, c->to, c->bytes, "writes");
  if (!c->staged) check(s, item, c->from, c->bytes, "reads");
  if (s->verdict) return;
  if (!c->staged) sd_race_read(c->from, c->bytes);
  sd_race_write(c->to, c->bytes);
  sd_copy_bytes(c->to, c->from, c->bytes);
  if (c->staged) sd_buffer_put(s, (void *)(uintptr_t)c->from, c->bytes);
}

static void set(simdev *s, sd_item *item)
{
  sd_copy_item *c = &item->u.copy;
  check(s, item, c->to, c->bytes, "writes");
  if (s->verdict) return;
  sd_race_write(c->to, c->bytes);
  sd_set_bytes(c->to, c->value, c->bytes);
}

/* The i-th of n that are visited from `first`, upwards or downwards, all once. */
static uint64_t visit(uint64_t i, uint64_t n, uint64_t first, int down)
{
  const uint64_t at = first + (down ? n - 1 - i : i);
  return at >= n ? at - n : at;
}

static void unpack(uint64_t i, const uint32_t size[3], unsigned at[3])
{
  if (size[1] == 1 && size[2] == 1) { /* the usual case, without divisions */
    at[0] = (unsigned)i, at[1] = at[2] = 0;
    return;
  }
  at[0] = (unsigned)(i % size[0]);
  at[1] = (unsigned)(i / size[0] % size[1]);
  at[2] = (unsigned)(i / size[0] / size[1]);
}

/* Blocks, and the threads of a phase, run in an order that the seed turns round. */
static void kernel(simdev *s, sd_item *item)
{
  const sd_kernel_item *k = &item->u.kernel;
  const uint64_t blocks = (uint64_t)k->grid[0] * k->grid[1] * k->grid[2];
  const uint64_t threads = (uint64_t)k->block[0] * k->block[1] * k->block[2];
  const uint64_t block_first = sd_random(s) % blocks, thread_first = sd_random(s) % threads;
  const int down = sd_below(s, 2) == 0;
  char *shared = item->stream->shared;
  simdev_thread t;
  for (int i = 0; i < 3; i++) t.gridDim[i] = k->grid[i];
  for (int i = 0; i < 3; i++) t.blockDim[i] = k->block[i];
  for (uint64_t b = 0; b < blocks; b++) {
    unpack(visit(b, blocks, block_first, down), k->grid, t.blockIdx);
    if (k->shared) sd_memory_poison(s, shared, k->shared, 0);
    for (int phase = 0; phase < k->kernel->phases; phase++)
      for (uint64_t i = 0; i < threads; i++) {
        if (s->verdict) return; /* a race was reported: once is enough */
        unpack(visit(i, threads, thread_first, down), k->block, t.threadIdx);
        k->kernel->body(k->params, t, shared, phase);
      }
  }
}

#ifdef SIMDEV_TSAN
/* Streams' kernels run on one stack, though on fibers of their own: what a body keeps on the stack,
 * with its address given away, would look like a race. Each stream gets a piece of the stack. */
static void kernel_apart(simdev *s, sd_item *item)
{
  const size_t piece = (size_t)(1 + item->stream->agent.rank * 8 + (item->stream->id & 7));
  volatile char *gap = __builtin_alloca(piece * 16384);
  *gap = 0;
  kernel(s, item);
}
#else
#define kernel_apart kernel
#endif

void sd_execute(simdev *s, sd_item *item)
{
  switch (item->kind) {
  case SIMDEV_KERNEL: kernel_apart(s, item); break;
  case SIMDEV_COPY: copy(s, item); break;
  case SIMDEV_SET: set(s, item); break;
  case SIMDEV_HOST_FUNCTION:
    s->in_callback = 1;
    item->u.host.fn(item->u.host.arg);
    s->in_callback = 0;
    break;
  case SIMDEV_FREE: sd_memory_free_item(s, item); break;
  default: break; /* RECORD and WAIT are order alone; COMM is nccl_launch.c's */
  }
}
