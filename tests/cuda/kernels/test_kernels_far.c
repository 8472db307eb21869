/* Kernels on arrays of up to 2^40 elements, without the memory: address space is reserved, and only
 * what the blocks of a few tiles touch is memory. An index that has gone through 32 bits ends in a
 * page that is not there. What such a block does is what one block does with the tile alone. */
#define _GNU_SOURCE
#include <criterion/criterion.h>
#include <stdlib.h>
#include <sys/mman.h>

#include "kernel_run.h"

enum { ARRAYS = 4, MEMBERS = 3, FLOATS = 4, LIMBS = ZP_VAL_LIMBS * 8, PAGE = 4096 };

/* ---- Arrays ---------------------------------------------------------------------------------- */

/* n elements of one array of a kernel; parts of members lie one behind the other. */
typedef struct array {
  int64_t size, members;
} array;

typedef struct call {
  int64_t n;
  char *at[ARRAYS];
  int32_t last; /* the tile is the last one */
  zp_tally tally;
  int64_t bad;
} call;

/* The parameters of a call: n elements, arrays at c->at. */
typedef union params {
  zp_gather_params gather;
  zp_scatter_params scatter;
  zp_squares_params squares;
  zp_add_params add;
  zp_add_exact_params limbs;
  zp_settle_params settle;
  zp_update_params update;
} params;

typedef struct subject {
  const char *name;
  const void *const *kernel;
  array a[ARRAYS];
  void (*fill)(call *c, params *p);
} subject;

static void runs_of(zp_memory_runs *runs, const void *in, void *out, int64_t n)
{
  runs->n = 1;
  runs->here[0] = (zp_memory_run){.in = in, .out = out, .count = n};
  runs->tiles = zp_runs_lay(runs->here, 1);
}

static void gather(call *c, params *p)
{
  p->gather.dtype = ZP_BF16;
  p->gather.nonfinite = &c->bad;
  runs_of(&p->gather.runs, c->at[0], c->at[1], c->n);
}

static void scatter(call *c, params *p)
{
  p->scatter.bytes = 4;
  runs_of(&p->scatter.runs, c->at[0], c->at[1], c->n);
}

static void squares(call *c, params *p)
{
  p->squares.dtype = ZP_F32;
  p->squares.tally = &c->tally;
  p->squares.nonfinite = &c->bad;
  runs_of(&p->squares.runs, c->at[0], NULL, c->n);
  p->squares.lanes = zp_squares_lanes(p->squares.runs.here, 1);
}

static void add(call *c, params *p)
{
  p->add = (zp_add_params){.dtype = ZP_BF16,
                           .members = MEMBERS,
                           .own = 1,
                           .n = c->n,
                           .stride = c->n * 2,
                           .parts = c->at[0],
                           .own_in = c->at[1],
                           .out = c->at[2]};
}

static void add_limbs(call *c, params *p)
{
  p->limbs = (zp_add_exact_params){c->n, (int64_t *)(void *)c->at[0], (int64_t *)(void *)c->at[1]};
}

static void settle(call *c, params *p)
{
  p->settle = (zp_settle_params){c->n, (int64_t *)(void *)c->at[0]};
}

static void mean(call *c, params *p)
{
  squares(c, p);
  p->squares.divisor = 6;
  p->squares.runs.here[0].out = c->at[1];
  p->squares.runs.here[0].at = 1;
}

static void update(call *c, params *p)
{
  static const zp_step_state step;
  static const zp_group_state group = {.rule = ZP_RULE_MOMENTUM,
                                       .scalar = {1, 1, 1, .5f, .5f, .5f, .5f, 1, 1, 1, .25f, .5f}};
  p->update.step = &step;
  p->update.group = &group;
  p->update.grad = (const float *)(const void *)c->at[0];
  p->update.master = (float *)(void *)c->at[1];
  p->update.m = (float *)(void *)c->at[2];
  p->update.real = c->last ? c->n - 3 : c->n; /* the last three are padding */
  p->update.dtype = ZP_F16;
  runs_of(&p->update.runs, NULL, c->at[3], c->n);
}

static const subject subjects[] = {
    {"gather_copy", &zp_kernel_gather_copy, {{2, 1}, {2, 1}}, gather},
    {"gather_ordered", &zp_kernel_gather_ordered, {{2, 1}, {FLOATS, 1}}, gather},
    {"gather_exact", &zp_kernel_gather_exact, {{2, 1}, {LIMBS, 1}}, gather},
    {"scatter", &zp_kernel_scatter, {{FLOATS, 1}, {FLOATS, 1}}, scatter},
    {"squares", &zp_kernel_squares, {{FLOATS, 1}}, squares},
    {"add_ordered", &zp_kernel_add_ordered, {{2, MEMBERS}, {2, 1}, {FLOATS, 1}}, add},
    {"add_exact", &zp_kernel_add_exact, {{LIMBS, 1}, {LIMBS, 1}}, add_limbs},
    {"settle", &zp_kernel_settle, {{LIMBS, 1}}, settle},
    {"mean_ordered", &zp_kernel_mean_ordered, {{FLOATS, 1}}, mean},
    {"mean_exact", &zp_kernel_mean_exact, {{LIMBS, 1}, {FLOATS, 1}}, mean},
    {"update", &zp_kernel_update, {{FLOATS, 1}, {FLOATS, 1}, {FLOATS, 1}, {2, 1}}, update},
};

/* ---- Memory ---------------------------------------------------------------------------------- */

/* Makes memory of [from, to) of the reserved space, which had none. */
static void make_memory(char *space, int64_t from, int64_t to)
{
  const int64_t low = from / PAGE * PAGE, high = (to + PAGE - 1) / PAGE * PAGE;
  cr_assert_eq(mprotect(space + low, (size_t)(high - low), PROT_READ | PROT_WRITE), 0);
}

static int64_t bytes_of_array(array a, int64_t n)
{
  return a.size * a.members * n;
}

/* Space for the arrays of n elements, with memory for the elements from `first` up to `end`. */
static void reserve(const subject *s, int64_t first, int64_t end, call *c)
{
  for (int i = 0; i < ARRAYS && s->a[i].size; i++) {
    const array a = s->a[i];
    c->at[i] = mmap(NULL, (size_t)bytes_of_array(a, c->n), PROT_NONE,
                    MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    cr_assert(c->at[i] != MAP_FAILED, "no %lld bytes of address space",
              (long long)bytes_of_array(a, c->n));
    for (int64_t r = 0; r < a.members; r++)
      make_memory(c->at[i], (r * c->n + first) * a.size, (r * c->n + end) * a.size);
  }
}

static void release(const subject *s, call *c)
{
  for (int i = 0; i < ARRAYS && s->a[i].size; i++)
    munmap(c->at[i], (size_t)bytes_of_array(s->a[i], c->n));
}

/* The same finite numbers into both. The low bytes of x come first. */
static void fill_both(rng *r, const subject *s, call *far, int64_t first, call *near)
{
  for (int i = 0; i < ARRAYS && s->a[i].size; i++)
    for (int64_t m = 0; m < s->a[i].members; m++) {
      const int64_t bytes = near->n * s->a[i].size;
      char *to = far->at[i] + (m * far->n + first) * s->a[i].size;
      const int64_t step = s->a[i].size == LIMBS ? 8 : 2;
      for (int64_t k = 0; k < bytes; k += step) { /* limbs as they are when carried */
        const int64_t x = step == 8 ? rng_u32(r) : rng_u32(r) & 0x3fbf;
        memcpy(near->at[i] + m * bytes + k, &x, (size_t)step);
      }
      memcpy(to, near->at[i] + m * bytes, (size_t)bytes);
    }
}

static void assert_same(const subject *s, const call *far, int64_t first, const call *near)
{
  for (int i = 0; i < ARRAYS && s->a[i].size; i++)
    for (int64_t m = 0; m < s->a[i].members; m++) {
      const int64_t bytes = near->n * s->a[i].size;
      cr_assert_arr_eq(far->at[i] + (m * far->n + first) * s->a[i].size, near->at[i] + m * bytes,
                       (size_t)bytes, "%s: array %d of %lld elements from %lld on", s->name, i,
                       (long long)far->n, (long long)first);
    }
  cr_assert_arr_eq(&far->tally, &near->tally, sizeof far->tally, "%s: the tally", s->name);
  cr_assert_eq(far->bad, near->bad);
}

/* ---- Blocks ---------------------------------------------------------------------------------- */

/* One block of a grid that has one for each tile. */
static void run_tile(const subject *s, call *c, int64_t tile)
{
  static struct {
    zp_squares_shared squares;
    int64_t limbs[2 * ZP_BLOCK_THREADS * ZP_VAL_LIMBS];
  } shared; /* more than any kernel uses */
  const simdev_kernel *k = *s->kernel;
  const unsigned tiles = (unsigned)((c->n + ZP_TILE - 1) / ZP_TILE);
  simdev_thread t = {{tiles, 1, 1}, {ZP_BLOCK_THREADS, 1, 1}, {(unsigned)tile, 0, 0}, {0, 0, 0}};
  params p;
  memset(&p, 0, sizeof p);
  s->fill(c, &p);
  const int phases = simdev_phases(k, &p, t);
  for (int phase = 0; phase < phases; phase++)
    for (t.threadIdx[0] = 0; t.threadIdx[0] < ZP_BLOCK_THREADS; t.threadIdx[0]++)
      k->body(&p, t, &shared, phase);
}

static void try_tile(rng *r, const subject *s, int64_t n, int64_t tile)
{
  const int64_t first = tile * ZP_TILE, rest = n - first;
  call far = {.n = n, .last = rest <= ZP_TILE};
  call near = {.n = far.last ? rest : ZP_TILE, .last = far.last};
  reserve(s, first, first + near.n, &far);
  for (int i = 0; i < ARRAYS && s->a[i].size; i++)
    near.at[i] = malloc((size_t)bytes_of_array(s->a[i], near.n));
  fill_both(r, s, &far, first, &near);
  run_tile(s, &far, tile);
  run_tile(s, &near, 0);
  assert_same(s, &far, first, &near);
  release(s, &far);
  for (int i = 0; i < ARRAYS && s->a[i].size; i++) free(near.at[i]);
}

/* At most 8 TiB an array. */
static int64_t fitting(const subject *s, int64_t n)
{
  for (int i = 0; i < ARRAYS && s->a[i].size; i++)
    if (bytes_of_array(s->a[i], 1) > (INT64_C(1) << 43) / n)
      n = (INT64_C(1) << 43) / bytes_of_array(s->a[i], 1);
  return n;
}

/* spec: PART-9, RED-4, RED-5, SUM-3, STEP-7, STEP-8 */
Test(kernels_far, arrays_beyond_32_bits_are_worked_on_like_small_ones)
{
  static const int64_t counts[] = {INT64_C(0x7fffffff), INT64_C(0x80000001), INT64_C(2500000000),
                                   INT64_C(0x100000001), INT64_C(1) << 40};
  rng r = {31};
  for (size_t k = 0; k < sizeof subjects / sizeof *subjects; k++)
    for (size_t i = 0; i < sizeof counts / sizeof *counts; i++) {
      const int64_t n = fitting(&subjects[k], counts[i]), tiles = (n + ZP_TILE - 1) / ZP_TILE;
      /* where an element's number, or its place in bytes, first needs more than 31 and 32 bits */
      const int64_t tile[] = {(INT64_C(1) << 31) / LIMBS / ZP_TILE, (INT64_C(1) << 29) / ZP_TILE,
                              (INT64_C(1) << 31) / ZP_TILE, (INT64_C(1) << 32) / ZP_TILE,
                              tiles - 1};
      for (size_t j = 0; j < sizeof tile / sizeof *tile; j++)
        if (tile[j] < tiles) try_tile(&r, &subjects[k], n, tile[j]);
    }
}

/* Runs behind a long one begin at tiles, and lie in memory, as far out as they do.
 * spec: PART-9 */
Test(kernels_far, runs_after_long_ones_are_found)
{
  enum { N = 4 };
  static const int64_t counts[N] = {INT64_C(1) << 40, INT64_C(0x80000001), 3, INT64_C(2500000000)};
  static const uint16_t from[3] = {7, 8, 9};
  uint16_t to[3] = {0, 0, 0};
  zp_scatter_params p = {.bytes = 2};
  int64_t tiles = 0;
  p.runs.n = N;
  for (int i = 0; i < N; i++) p.runs.here[i].count = counts[i];
  p.runs.here[2].in = from;
  p.runs.here[2].out = to;
  p.runs.tiles = zp_runs_lay(p.runs.here, N);
  for (int i = 0; i < N; i++) {
    cr_assert_eq(p.runs.here[i].first_tile, tiles);
    tiles += counts[i] / ZP_TILE + (counts[i] % ZP_TILE > 0);
  }
  cr_assert_eq(p.runs.tiles, tiles);
  const simdev_kernel *k = zp_kernel_scatter;
  simdev_thread t = {{(unsigned)tiles, 1, 1},
                     {ZP_BLOCK_THREADS, 1, 1},
                     {(unsigned)p.runs.here[2].first_tile, 0, 0},
                     {0, 0, 0}};
  for (int phase = 0; phase < k->phases; phase++)
    for (t.threadIdx[0] = 0; t.threadIdx[0] < ZP_BLOCK_THREADS; t.threadIdx[0]++)
      k->body(&p, t, NULL, phase);
  cr_assert_arr_eq(to, from, sizeof to);
}

/* What an update of elements at + 0 … 4 of a shard makes of them: out rounded, masters 1 … 5. */
static void update_at(call *c, int64_t at, uint16_t out[5])
{
  rng r = {33};
  params p;
  memset(&p, 0, sizeof p);
  update(c, &p);
  for (int i = 0; i < 5; i++) p.update.master[at + i] = (float)(i + 1);
  p.update.runs.here[0] = (zp_memory_run){.out = out, .at = at, .count = 5};
  p.update.runs.tiles = zp_runs_lay(p.update.runs.here, 1);
  kernel_run(&r, zp_kernel_update, zp_launch_runs(p.update.runs.here, 1), &p);
}

/* spec: STEP-7 */
Test(kernels_far, an_update_reaches_the_far_end_of_a_shard)
{
  const int64_t at = INT64_C(2500000000);
  const subject *s = &subjects[sizeof subjects / sizeof *subjects - 1];
  call far = {.n = at + 5}, near = {.n = 5};
  uint16_t out[5], want[5];
  reserve(s, at, at + 5, &far);
  reserve(s, 0, 5, &near);
  update_at(&far, at, out);
  update_at(&near, 0, want);
  cr_assert_arr_eq(out, want, sizeof out);
  cr_assert_neq(out[0], 0);
  release(s, &far);
  release(s, &near);
}
