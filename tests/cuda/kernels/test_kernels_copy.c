/* Laws of the kernels that move gradients into buckets and buckets into parameters. */
#include "../../../ref/engine/rank_query.h"
#include "../../../ref/num/nonfinite.h"
#include "../../../ref/num/ordered.h"
#include "../../../ref/num/value.h"
#include "kernel_run.h"

enum { RUNS = 40, MANY = 1000 };

static int64_t nonfinite_of(int32_t dtype, const void *x, int64_t n)
{
  if (dtype == ZP_F32) return zp_nonfinite_f32(x, n);
  return dtype == ZP_BF16 ? zp_nonfinite_bf16(x, n) : zp_nonfinite_f16(x, n);
}

/* ---- Runs ------------------------------------------------------------------------------------ */

/* spec: PART-9 */
Test(kernels_copy, tiles_of_runs_are_consecutive_and_empty_runs_have_zero)
{
  rng r = {1};
  for (int round = 0; round < 200; round++) {
    zp_memory_run run[RUNS];
    memset(run, 0, sizeof run);
    int64_t tiles = 0;
    for (int i = 0; i < RUNS; i++) run[i].count = some_count(&r);
    cr_assert_eq(zp_runs_lay(run, 0), 0);
    const int64_t all = zp_runs_lay(run, RUNS);
    for (int i = 0; i < RUNS; i++) {
      cr_assert_eq(run[i].first_tile, tiles);
      tiles += run[i].count / ZP_TILE + (run[i].count % ZP_TILE != 0);
    }
    cr_assert_eq(all, tiles);
  }
}

/* spec: PART-9, STAT-2 */
Test(kernels_copy, launches_cover_everything_and_stay_within_what_cuda_allows)
{
  const int64_t n[] = {0,
                       1,
                       ZP_TILE,
                       ZP_TILE + 1,
                       (int64_t)ZP_TILE * ZP_GRID_MAX,
                       INT32_MAX,
                       INT64_C(0x80000001),
                       INT64_C(2500000000),
                       INT64_C(0x100000001),
                       INT64_C(1) << 40,
                       INT64_C(1) << 41};
  for (size_t i = 0; i < sizeof n / sizeof *n; i++) {
    zp_memory_run run = {.count = n[i]};
    const int64_t tiles = zp_runs_lay(&run, 1);
    cr_assert_eq(tiles, n[i] / ZP_TILE + (n[i] % ZP_TILE > 0));
    const zp_launch a = zp_launch_runs(&run, 1), b = zp_launch_squares(&run, 1),
                    c = zp_launch_elements(n[i]);
    cr_assert_eq(a.grid == 0, n[i] == 0);
    cr_assert_leq(a.grid, ZP_GRID_MAX);
    cr_assert(a.grid == tiles || a.grid == ZP_GRID_MAX);
    cr_assert_eq(b.grid, tiles < ZP_SQUARES_GRID_MAX ? tiles : ZP_SQUARES_GRID_MAX);
    cr_assert_eq(c.grid, a.grid);
    cr_assert_eq(a.block, n[i] == 0 ? 0 : n[i] == 1 ? 32 : n[i] == 33 ? 64 : ZP_BLOCK_THREADS);
    cr_assert_eq(b.block, a.block);
    cr_assert_eq(c.block, a.block);
    cr_assert_eq(zp_squares_lanes(&run, 1), n[i] < ZP_LANES ? n[i] : ZP_LANES);
    cr_assert_eq(b.shared, offsetof(zp_squares_shared, bin) +
                               sizeof(int64_t[2 * ZP_SQ_BINS]) * (size_t)zp_squares_lanes(&run, 1));
    cr_assert_leq(b.shared, 48 << 10); /* what a kernel has without asking */
    const zp_launch d = zp_launch_limb_runs(&run, 1), e = zp_launch_limbs(n[i], 2);
    const int64_t most = n[i] < ZP_TILE ? n[i] : ZP_TILE,
                  slabs = tiles * ((most + ZP_STAGE_ELEMENTS - 1) / ZP_STAGE_ELEMENTS);
    cr_assert_eq(d.grid, slabs < ZP_GRID_MAX ? slabs : ZP_GRID_MAX);
    cr_assert_eq(e.grid, d.grid);
    cr_assert(d.block == a.block && e.block == a.block);
    cr_assert_eq(d.shared, sizeof(int64_t[ZP_STAGE_ELEMENTS * ZP_VAL_LIMBS]));
    cr_assert_eq(e.shared, 2 * d.shared);
    cr_assert_leq(e.shared, 48 << 10);
    /* a block's share of one bin stays below 2^31 squares (ref/num/exact.h) */
    cr_assert_leq((tiles / ZP_SQUARES_GRID_MAX + 1) * ZP_TILE, 1LL << 31);
  }
}

/* ---- Gather ---------------------------------------------------------------------------------- */

/* The gradients of some entries, and one place that they go to, run after run. */
typedef struct sources {
  int32_t dtype, n;
  zp_memory_run run[RUNS];
  guarded in[RUNS];
  int64_t start[RUNS], total, bad;
} sources;

static void sources_make(rng *r, sources *s, int32_t dtype)
{
  s->dtype = dtype;
  s->n = 1 + (int32_t)rng_below(r, RUNS);
  s->total = 0;
  s->bad = 0;
  memset(s->run, 0, sizeof s->run);
  for (int32_t i = 0; i < s->n; i++) {
    const int64_t n = some_count(r);
    s->run[i].count = n;
    s->start[i] = s->total;
    s->total += n;
    s->in[i] = guarded_make(n * bytes_of(dtype), bytes_of(dtype));
    fill(r, dtype, (int)rng_below(r, KINDS), s->in[i].data, n);
    s->run[i].in = rng_below(r, 5) ? s->in[i].data : NULL; /* NULL: declared unused, or padding */
    if (s->run[i].in) s->bad += nonfinite_of(dtype, s->in[i].data, n);
  }
}

static void sources_free(sources *s)
{
  for (int32_t i = 0; i < s->n; i++) guarded_free(&s->in[i]);
}

/* Launches a gather of s into out, elements of `bytes`; the runs are permuted, so that their order
 * in the table cannot matter. */
static int64_t gather(rng *r, const void *kernel, sources *s, void *out, int64_t bytes, int first)
{
  zp_gather_params p;
  uint32_t order[RUNS];
  zp_memory_run table[RUNS];
  int64_t bad = 7;
  memset(&p, 0, sizeof p);
  shuffled(r, order, (uint32_t)s->n);
  const int inside = s->n <= ZP_RUNS_HERE && rng_below(r, 2);
  for (int32_t i = 0; i < s->n; i++) {
    table[i] = s->run[order[i]];
    table[i].out = (char *)out + s->start[order[i]] * bytes;
  }
  p.dtype = s->dtype;
  p.first = first;
  p.nonfinite = rng_below(r, 4) ? &bad : NULL;
  p.runs.n = s->n;
  p.runs.tiles = zp_runs_lay(table, s->n);
  if (inside) memcpy(p.runs.here, table, (size_t)s->n * sizeof *table);
  else p.runs.table = table;
  const zp_launch l =
      kernel == zp_kernel_gather_exact ? limb_runs_launch(&p.runs) : runs_launch(&p.runs);
  kernel_run(r, kernel, narrowed(r, l), &p);
  return p.nonfinite ? bad - 7 : s->bad;
}

/* spec: RED-1, RED-3, RED-6, PART-7, PART-8, STAT-3 */
Test(kernels_copy, a_slot_gets_the_elements_of_every_run_and_zeros_for_the_unused)
{
  rng r = {2};
  for (int round = 0; round < 120; round++) {
    sources s;
    sources_make(&r, &s, round % 3);
    const int64_t size = bytes_of(s.dtype);
    guarded slot = guarded_make(s.total * size, size);
    cr_assert_eq(gather(&r, zp_kernel_gather_copy, &s, slot.data, size, 0), s.bad);
    for (int32_t i = 0; i < s.n; i++)
      for (int64_t k = 0; k < s.run[i].count * size; k++)
        cr_assert_eq(slot.data[s.start[i] * size + k], s.run[i].in ? s.in[i].data[k] : 0,
                     "round %d run %d byte %lld", round, i, (long long)k);
    guarded_free(&slot);
    sources_free(&s);
  }
}

/* spec: RED-4, RED-6, STAT-3, STEP-4 */
Test(kernels_copy, an_fp32_window_is_the_ordered_sum_of_its_micro_batches)
{
  rng r = {3};
  for (int round = 0; round < 60; round++) {
    guarded window = {0};
    float *want = NULL, *x = NULL;
    sources s;
    for (int mb = 0; mb < 3; mb++) {
      rng same = {(uint64_t)round * 1000}; /* the same counts in each micro-batch */
      sources_make(&same, &s, round % 3);
      for (int32_t i = 0; i < s.n; i++) {
        s.bad -= s.run[i].in ? nonfinite_of(s.dtype, s.in[i].data, s.run[i].count) : 0;
        fill(&r, s.dtype, (int)rng_below(&r, KINDS), s.in[i].data, s.run[i].count);
        s.run[i].in = rng_below(&r, 4) ? s.in[i].data : NULL;
        s.bad += s.run[i].in ? nonfinite_of(s.dtype, s.in[i].data, s.run[i].count) : 0;
      }
      if (mb == 0) {
        window = guarded_make(s.total * 4, 4);
        want = calloc((size_t)s.total + 1, sizeof *want);
        x = calloc((size_t)s.total + 1, sizeof *x);
      }
      cr_assert_eq(gather(&r, zp_kernel_gather_ordered, &s, window.data, 4, mb == 0), s.bad);
      for (int32_t i = 0; i < s.n; i++) {
        memset(x, 0, (size_t)s.total * sizeof *x);
        if (s.run[i].in) zp_widen_from(s.dtype, s.run[i].in, 0, s.run[i].count, x);
        if (mb == 0) memcpy(want + s.start[i], x, (size_t)s.run[i].count * sizeof *x);
        else zp_ordered_add_f32(want + s.start[i], x, s.run[i].count);
      }
      const float *got = (const float *)(const void *)window.data;
      for (int64_t k = 0; k < s.total; k++)
        cr_assert(same_f32(got[k], want[k]), "round %d mb %d element %lld: %08x not %08x", round,
                  mb, (long long)k, bits_of(got[k]), bits_of(want[k]));
      sources_free(&s);
    }
    guarded_free(&window);
    free(want);
    free(x);
  }
}

/* An entry that is unused in a later micro-batch still adds +0: -0 + 0 is +0. spec: RED-4, RED-6 */
Test(kernels_copy, an_unused_entry_turns_minus_zero_into_zero)
{
  rng r = {4};
  uint32_t minus = 0x80000000u;
  float window = 5;
  zp_gather_params p = {.dtype = ZP_F32, .first = 1};
  p.runs.n = 1;
  p.runs.here[0] = (zp_memory_run){.in = &minus, .out = &window, .count = 1};
  p.runs.tiles = zp_runs_lay(p.runs.here, 1);
  kernel_run(&r, zp_kernel_gather_ordered, runs_launch(&p.runs), &p);
  cr_assert_eq(bits_of(window), minus);
  p.first = 0;
  p.runs.here[0].in = NULL;
  kernel_run(&r, zp_kernel_gather_ordered, runs_launch(&p.runs), &p);
  cr_assert_eq(bits_of(window), 0);
}

/* spec: RED-5, RED-6, SUM-5, STAT-3 */
Test(kernels_copy, a_limb_window_is_the_exact_sum_of_its_micro_batches)
{
  rng r = {5};
  for (int round = 0; round < 30; round++) {
    sources s;
    sources_make(&r, &s, round % 3);
    guarded window = guarded_make(s.total * 72, 8);
    int64_t *want = calloc((size_t)s.total * 9 + 1, sizeof *want);
    for (int mb = 0; mb < 2; mb++) {
      cr_assert_eq(gather(&r, zp_kernel_gather_exact, &s, window.data, 72, mb == 0), s.bad);
      for (int32_t i = 0; i < s.n; i++) {
        const void *in = s.run[i].in;
        if (!in) continue;
        if (s.dtype == ZP_F32) zp_val_add_f32(want + s.start[i] * 9, in, s.run[i].count);
        else if (s.dtype == ZP_BF16) zp_val_add_bf16(want + s.start[i] * 9, in, s.run[i].count);
        else zp_val_add_f16(want + s.start[i] * 9, in, s.run[i].count);
      }
      cr_assert_eq(memcmp(window.data, want, (size_t)s.total * 72), 0, "round %d mb %d", round, mb);
    }
    guarded_free(&window);
    free(want);
    sources_free(&s);
  }
}

/* ---- Scatter, and many runs ------------------------------------------------------------------ */

/* spec: STEP-8, PART-9 */
Test(kernels_copy, a_gathered_bucket_goes_back_to_where_it_came_from)
{
  rng r = {6};
  for (int round = 0; round < 40; round++) {
    sources s;
    sources_make(&r, &s, round % 3);
    const int64_t size = bytes_of(s.dtype);
    guarded bucket = guarded_make(s.total * size, size), back[RUNS];
    zp_scatter_params p = {.bytes = (int32_t)size};
    for (int32_t i = 0; i < s.n; i++) s.run[i].in = s.in[i].data;
    gather(&r, zp_kernel_gather_copy, &s, bucket.data, size, 0);
    for (int32_t i = 0; i < s.n; i++) {
      back[i] = guarded_make(s.run[i].count * size, size);
      s.run[i].in = bucket.data + s.start[i] * size;
      s.run[i].out = back[i].data;
    }
    p.runs.n = s.n;
    p.runs.table = s.run;
    p.runs.tiles = zp_runs_lay(s.run, s.n);
    kernel_run(&r, zp_kernel_scatter, narrowed(&r, runs_launch(&p.runs)), &p);
    for (int32_t i = 0; i < s.n; i++) {
      cr_assert_eq(memcmp(back[i].data, s.in[i].data, (size_t)(s.run[i].count * size)), 0);
      guarded_free(&back[i]);
    }
    guarded_free(&bucket);
    sources_free(&s);
  }
}

/* spec: RED-3, PART-9 */
Test(kernels_copy, a_thousand_tiny_tensors_go_in_one_launch)
{
  rng r = {7};
  static zp_memory_run run[MANY];
  static uint16_t in[MANY * 3], out[MANY * 3];
  int64_t n = 0;
  memset(run, 0, sizeof run);
  fill(&r, ZP_BF16, KIND_UNIFORM, in, MANY * 3);
  for (int i = 0; i < MANY; i++) {
    run[i] = (zp_memory_run){.in = in + n, .out = out + n, .count = rng_below(&r, 4)};
    n += run[i].count;
  }
  zp_gather_params p = {.dtype = ZP_BF16};
  p.runs.table = run;
  p.runs.n = MANY;
  p.runs.tiles = zp_runs_lay(run, MANY);
  kernel_run(&r, zp_kernel_gather_copy, runs_launch(&p.runs), &p);
  cr_assert_eq(memcmp(in, out, (size_t)n * sizeof *in), 0);
}
