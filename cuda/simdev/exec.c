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
  if (!s->found.verdict) __atomic_store_n((uint32_t *)c->to, (uint32_t)c->value, __ATOMIC_RELEASE);
}

/* The successor of i among 0 … n - 1, upwards or downwards, cyclically. */
static uint64_t after(uint64_t i, uint64_t n, int down)
{
  if (down) return i == 0 ? n - 1 : i - 1;
  return i + 1 == n ? 0 : i + 1;
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

/* Blocks, and the threads of a phase, run upwards or downwards from a random one. */
static void kernel(simdev *s, sd_item *item)
{
  const sd_kernel_item *k = &item->u.kernel;
  const uint64_t blocks = (uint64_t)k->grid[0] * k->grid[1] * k->grid[2];
  const uint64_t threads = (uint64_t)k->block[0] * k->block[1] * k->block[2];
  const int down = sd_below(s, 2) == 0;
  uint64_t block = sd_random(s) % blocks, thread = sd_random(s) % threads;
  char *shared = item->stream->shared;
  simdev_thread two[2] = {0}; /* this thread's and the next one's: reading a struct right after
                               * writing it would stall the processor */
  unsigned n = 0;
  for (int i = 0; i < 3; i++) two[0].gridDim[i] = two[1].gridDim[i] = k->grid[i];
  for (int i = 0; i < 3; i++) two[0].blockDim[i] = two[1].blockDim[i] = k->block[i];
  unpack(thread, k->block, two[0].threadIdx);
  for (uint64_t b = 0; b < blocks; b++, block = after(block, blocks, down)) {
    unpack(block, k->grid, two[0].blockIdx);
    unpack(block, k->grid, two[1].blockIdx);
    const int phases = simdev_phases(k->kernel, k->params, two[0]);
    if (k->shared && phases > 0) sd_memory_poison(s, shared, k->shared, 0);
    for (int phase = 0; phase < phases; phase++)
      for (uint64_t i = 0; i < threads; i++) {
        const simdev_thread *t = &two[n++ & 1];
        if (s->found.verdict) return; /* a race was reported; one report is enough */
        thread = after(thread, threads, down);
        unpack(thread, k->block, two[n & 1].threadIdx);
        k->kernel->body(k->params, *t, shared, phase);
      }
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
