/* kernel_bench ELEMENTS REPETITIONS: measures the bandwidth of each kernel as a share of that of a
 * plain read or copy. Both are measured alternately in this run, with L2 flushed before each.
 * Prints a line of JSON for each measurement. On simdev, where times have no meaning, the lines
 * have "simulated". */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../ref/comm/comm.h"
#include "main.h"
#include "measure.h"
#include "probe.h"
#include "states.h"

enum { MEMBERS = 8 };

/* ---- Kernels --------------------------------------------------------------------------------- */

static zp_bench_job job_of(const char *name, const void *kernel, void *params, const char *dtype,
                           int tensors, int64_t elements)
{
  const zp_bench_job j = {.name = name,
                          .kernel = kernel,
                          .params = params,
                          .dtype = dtype,
                          .tensors = tensors,
                          .elements = elements,
                          .data = "gradients"};
  return j;
}

static int fill(zp_bench *b, int array, int64_t n, int32_t dtype, int32_t kind)
{
  zp_fill_params p;
  const zp_launch l = {ZP_BENCH_BLOCKS, 256, 0};
  memset(&p, 0, sizeof p);
  p.out = b->array[array];
  p.n = n;
  p.dtype = dtype;
  p.kind = kind;
  p.seed = (uint64_t)array * 77 + 5;
  return zp_bench_launch(b, zp_kernel_fill, l, &p);
}

/* The elements as one tensor, or as several of unequal lengths, in a table on the device: from the
 * first array to array `to`. */
static int lay(zp_bench *b, int tensors, int64_t n, int64_t in_size, int to, int64_t out_size,
               zp_memory_runs *runs, zp_launch *l)
{
  int64_t at = 0;
  for (int i = 0; i < tensors; i++) {
    const int64_t mean = n / tensors, even = i + 1 == tensors ? n - at : mean - mean / 3;
    const int64_t count = i % 2 && i + 1 < tensors ? mean + mean / 3 : even;
    memset(&b->runs[i], 0, sizeof b->runs[i]);
    b->runs[i].in = b->array[0] + at * in_size;
    b->runs[i].out = b->array[to] + at * out_size;
    b->runs[i].at = at;
    b->runs[i].count = count;
    at += count;
  }
  memset(runs, 0, sizeof *runs);
  runs->n = tensors;
  runs->tiles = zp_runs_lay(b->runs, tensors);
  if (tensors == 1) runs->here[0] = b->runs[0];
  else runs->table = b->table;
  *l = zp_launch_runs(b->runs, tensors);
  if (cudaMemcpyAsync(b->table, b->runs, (size_t)tensors * sizeof *b->runs, cudaMemcpyHostToDevice,
                      b->stream))
    return -1;
  return (int)cudaStreamSynchronize(b->stream);
}

/* Exact sums do not depend on the division into tensors. */
static int same_squares(zp_bench *b, const zp_bench_job *j, const zp_tally *tally)
{
  int64_t *first = b->squares[b->sums++ % ZP_BENCH_SUMS];
  zp_tally t;
  if (cudaMemcpyAsync(&t, tally, sizeof t, cudaMemcpyDeviceToHost, b->stream) ||
      cudaStreamSynchronize(b->stream))
    return zp_bench_failed(j->name);
  zp_limbs_normalise(t.squares, ZP_SQ_LIMBS);
  if (b->sums <= ZP_BENCH_SUMS) memcpy(first, t.squares, sizeof t.squares);
  if (memcmp(first, t.squares, sizeof t.squares) == 0) return 0;
  fprintf(stderr, "kernel_bench: squares of %s: one tensor's sum is not that of %d\n", j->dtype,
          j->tensors);
  return 1;
}

static int bench_squares(zp_bench *b, int32_t dtype, int tensors, int32_t kind)
{
  zp_squares_params p;
  zp_bench_job j = job_of("squares", zp_kernel_squares, &p, zp_dtype_name(dtype), tensors, b->n);
  memset(&p, 0, sizeof p);
  p.dtype = dtype;
  p.tally = (zp_tally *)(void *)(b->small + 256);
  p.nonfinite = (int64_t *)(void *)b->small; /* as in a step */
  if (kind == ZP_FILL_SPREAD) j.data = "all exponents";
  j.read = b->n * zp_dtype_bytes(dtype);
  if (fill(b, 0, b->n, dtype, kind) || cudaMemsetAsync(p.tally, 0, sizeof *p.tally, b->stream) ||
      lay(b, tensors, b->n, zp_dtype_bytes(dtype), 1, 4, &p.runs, &j.l))
    return -1;
  p.lanes = zp_squares_lanes(b->runs, tensors);
  j.l = zp_launch_squares(b->runs, tensors);
  if (zp_bench_measure(b, &j)) return -1;
  if (b->grid) return 0;
  if (same_squares(b, &j, p.tally)) return 1;
  j.name = "norm";
  j.norm = 1;
  return kind == ZP_FILL_GRADIENT ? zp_bench_measure(b, &j) : 0;
}

/* Into a bucket: as they are, widened, or added to the window's sums. */
typedef enum gather { COPIED, WIDENED, ADDED } gather;

static int bench_gather(zp_bench *b, gather how, int32_t dtype, int tensors)
{
  static const char *const names[] = {"gather_copy", "gather_ordered, first", "gather_ordered"};
  const int64_t size = zp_dtype_bytes(dtype);
  const int ordered = how != COPIED;
  zp_gather_params p;
  zp_bench_job j = job_of(names[how], ordered ? zp_kernel_gather_ordered : zp_kernel_gather_copy,
                          &p, zp_dtype_name(dtype), tensors, b->n);
  memset(&p, 0, sizeof p);
  p.dtype = dtype;
  p.first = how == WIDENED;
  p.nonfinite = (int64_t *)(void *)b->small;
  j.read = b->n * (how == ADDED ? size + 4 : size);
  j.write = b->n * (ordered ? 4 : size);
  if (fill(b, 0, b->n, dtype, ZP_FILL_GRADIENT) || fill(b, 1, b->n, ZP_F32, ZP_FILL_GRADIENT))
    return -1;
  if (lay(b, tensors, b->n, size, 1, ordered ? 4 : size, &p.runs, &j.l)) return -1;
  return zp_bench_measure(b, &j);
}

static int bench_scatter(zp_bench *b, int32_t dtype, int tensors)
{
  const int64_t size = zp_dtype_bytes(dtype);
  zp_scatter_params p;
  zp_bench_job j = job_of("scatter", zp_kernel_scatter, &p, zp_dtype_name(dtype), tensors, b->n);
  memset(&p, 0, sizeof p);
  p.bytes = (int32_t)size;
  j.read = j.write = size * b->n;
  if (fill(b, 0, b->n, dtype, ZP_FILL_GRADIENT)) return -1;
  if (lay(b, tensors, b->n, size, 1, size, &p.runs, &j.l)) return -1;
  return zp_bench_measure(b, &j);
}

/* Parts of 8 members, with the same number of elements in total. */
static int bench_add(zp_bench *b)
{
  zp_add_params p;
  zp_bench_job j = job_of("add_ordered", zp_kernel_add_ordered, &p, "fp32", 1, b->n);
  memset(&p, 0, sizeof p);
  p.dtype = ZP_F32;
  p.members = MEMBERS;
  p.own = -1;
  p.first = 1;
  p.n = b->n / MEMBERS;
  p.stride = p.n * 4;
  p.parts = b->array[0];
  p.out = b->array[1];
  j.l = zp_launch_elements(p.n);
  j.read = p.n * 4 * MEMBERS;
  j.write = p.n * 4;
  if (fill(b, 0, b->n, ZP_F32, ZP_FILL_GRADIENT)) return -1;
  return zp_bench_measure(b, &j);
}

/* Sums or limbs of n elements, from the first array, whose squares are all counted. The launch is
 * the caller's. */
static int lay_means(zp_bench *b, int64_t n, int64_t size, zp_squares_params *p)
{
  zp_launch l;
  memset(p, 0, sizeof *p);
  p->divisor = 24;
  p->tally = (zp_tally *)(void *)(b->small + 256);
  p->nonfinite = (int64_t *)(void *)b->small;
  if (lay(b, 1, n, size, ZP_BENCH_ARRAYS / 2, 4, &p->runs, &l)) return -1;
  p->runs.here[0].at = 1;
  p->lanes = zp_squares_lanes(p->runs.here, 1);
  return 0;
}

/* The norm of a step with native or ordered sums, whose sums lie bucket after bucket: a launch for
 * each, then the norm. */
static int bench_mean(zp_bench *b)
{
  static zp_squares_params p[ZP_BENCH_BUCKETS];
  const int64_t whole = b->n / b->bucket, most = ZP_BENCH_BUCKETS;
  const int64_t buckets = whole < 1 ? 1 : whole < most ? whole : most;
  const int64_t each = b->n / buckets / 4 * 4; /* the last one has the rest */
  zp_bench_job j = job_of("mean_ordered", zp_kernel_mean_ordered, p, "fp32", 1, b->n);
  j.read = 4 * b->n;
  j.launches = (int)buckets;
  j.params_bytes = sizeof *p;
  if (fill(b, 0, b->n, ZP_F32, ZP_FILL_GRADIENT)) return -1;
  for (int64_t i = 0; i < buckets; i++) {
    if (lay_means(b, i + 1 < buckets ? each : b->n - i * each, 4, &p[i])) return -1;
    p[i].runs.here[0].in = b->array[0] + 4 * each * i;
  }
  j.l = zp_launch_squares(p->runs.here, 1);
  if (zp_bench_measure(b, &j)) return -1;
  j.name = "norm of sums";
  j.norm = 1;
  return zp_bench_measure(b, &j);
}

/* ---- Sums in limbs: 72 bytes an element, so that fewer fit into the arrays ------------------- */

static int64_t limbs_in(const zp_bench *b)
{
  return b->n / 5;
}

/* Sums of one gradient each, of n elements from the first array. */
static int make_sums(zp_bench *b, int64_t n)
{
  zp_gather_params p;
  zp_launch l;
  memset(&p, 0, sizeof p);
  p.dtype = ZP_BF16;
  p.first = 1;
  if (fill(b, ZP_BENCH_ARRAYS - 1, n, ZP_BF16, ZP_FILL_GRADIENT) ||
      lay(b, 1, n, 2, 1, ZP_VAL_LIMBS * 8, &p.runs, &l))
    return -1;
  p.runs.here[0].in = b->array[ZP_BENCH_ARRAYS - 1];
  p.runs.here[0].out = b->array[0];
  return zp_bench_launch(b, zp_kernel_gather_exact, zp_launch_limb_runs(b->runs, 1), &p);
}

static int bench_gather_exact(zp_bench *b, int tensors)
{
  const int64_t n = limbs_in(b);
  zp_gather_params p;
  zp_bench_job j = job_of("gather_exact", zp_kernel_gather_exact, &p, "bf16", tensors, n);
  j.read = n * 74;
  j.write = n * 72;
  memset(&p, 0, sizeof p);
  p.dtype = ZP_BF16;
  p.nonfinite = (int64_t *)(void *)b->small;
  if (fill(b, 0, n, ZP_BF16, ZP_FILL_GRADIENT) ||
      cudaMemsetAsync(b->array[1], 0, (size_t)n * 72, b->stream) ||
      lay(b, tensors, n, 2, 1, 72, &p.runs, &j.l))
    return -1;
  j.l = zp_launch_limb_runs(b->runs, tensors);
  return zp_bench_measure(b, &j);
}

/* To sums that are there, those of another use of a tied key. */
static int bench_add_exact(zp_bench *b)
{
  const int64_t n = limbs_in(b) / 2;
  zp_add_exact_params p = {n, (const int64_t *)(const void *)b->array[0],
                           (int64_t *)(void *)(b->array[0] + 72 * n)};
  zp_bench_job j = job_of("add_exact", zp_kernel_add_exact, &p, "limbs", 1, n);
  j.l = zp_launch_limbs(n, 2);
  j.read = n * 72 * 2;
  j.write = n * 72;
  if (make_sums(b, 2 * n)) return -1;
  return zp_bench_measure(b, &j);
}

static int bench_settle(zp_bench *b)
{
  const int64_t n = limbs_in(b);
  zp_settle_params p = {n, (int64_t *)(void *)b->array[0]};
  zp_bench_job j = job_of("settle", zp_kernel_settle, &p, "limbs", 1, n);
  j.l = zp_launch_limbs(n, 1);
  j.read = j.write = n * 72;
  if (make_sums(b, n)) return -1;
  return zp_bench_measure(b, &j);
}

static int bench_mean_exact(zp_bench *b)
{
  const int64_t n = limbs_in(b);
  zp_squares_params p;
  zp_bench_job j = job_of("mean_exact", zp_kernel_mean_exact, &p, "limbs", 1, n);
  j.read = n * 72;
  j.write = n * 4;
  if (make_sums(b, n) || lay_means(b, n, 72, &p)) return -1;
  j.l = zp_launch_mean_exact(p.runs.here, 1);
  return zp_bench_measure(b, &j);
}

/* ---- Packed sums: 40 bytes an element -------------------------------------------------------- */

/* The members' parts, added to n packed sums. */
static zp_add_params packed_sums(zp_bench *b, int64_t n, int32_t members, int32_t first, char *out)
{
  return (zp_add_params){.dtype = ZP_BF16,
                         .members = members,
                         .own = -1,
                         .first = first,
                         .n = n,
                         .stride = n * 2,
                         .parts = b->array[ZP_BENCH_ARRAYS / 2],
                         .out = out};
}

/* Sums of one gradient each, in the first array. */
static int make_packed(zp_bench *b, int64_t n)
{
  zp_add_params p = packed_sums(b, n, 1, 1, b->array[0]);
  if (fill(b, ZP_BENCH_ARRAYS / 2, n, ZP_BF16, ZP_FILL_GRADIENT)) return -1;
  return zp_bench_launch(b, zp_kernel_add_packed, zp_launch_limbs(n, 1), &p);
}

/* Parts of 8 members, as after a bucket's exchange. */
static int bench_add_packed(zp_bench *b)
{
  const int64_t n = limbs_in(b);
  zp_add_params p = packed_sums(b, n, MEMBERS, 0, b->array[0]);
  zp_bench_job j = job_of("add_packed", zp_kernel_add_packed, &p, "bf16", 1, n);
  j.l = zp_launch_limbs(n, 1);
  j.read = n * (2 * MEMBERS + ZP_PACKED_BYTES);
  j.write = n * ZP_PACKED_BYTES;
  if (make_packed(b, n) || fill(b, ZP_BENCH_ARRAYS / 2, MEMBERS * n, ZP_BF16, ZP_FILL_GRADIENT))
    return -1;
  return zp_bench_measure(b, &j);
}

/* The means take the place of the sums' first words. */
static int bench_mean_packed(zp_bench *b)
{
  const int64_t n = limbs_in(b);
  zp_squares_params p;
  zp_bench_job j = job_of("mean_packed", zp_kernel_mean_packed, &p, "packed", 1, n);
  j.read = n * ZP_PACKED_BYTES;
  j.write = n * 4;
  if (make_packed(b, n) || lay_means(b, n, 4, &p)) return -1;
  p.packed = p.runs.here[0].out = b->array[0];
  p.n = n;
  j.l = zp_launch_mean_exact(p.runs.here, 1);
  return zp_bench_measure(b, &j);
}

/* As limbs, which NCCL adds, and back. */
static int bench_repack(zp_bench *b)
{
  const int64_t n = limbs_in(b);
  zp_packed_params p;
  zp_launch l;
  zp_bench_job j = job_of("unpack_sums", zp_kernel_unpack_sums, &p, "packed", 1, n);
  memset(&p, 0, sizeof p);
  p.packed = b->array[0];
  p.n = n;
  j.read = n * ZP_PACKED_BYTES;
  j.write = n * 72;
  if (make_packed(b, n) || lay(b, 1, n, 72, ZP_BENCH_ARRAYS / 2, 72, &p.runs, &l)) return -1;
  p.runs.here[0].in = p.runs.here[0].out;
  j.l = zp_launch_limb_runs(b->runs, 1);
  if (zp_bench_measure(b, &j)) return -1;
  j.name = "pack_sums";
  j.kernel = zp_kernel_pack_sums;
  j.read = n * 72;
  j.write = n * ZP_PACKED_BYTES;
  return zp_bench_measure(b, &j);
}

/* ---- Update ---------------------------------------------------------------------------------- */

/* NaN or subnormal numbers would take a slow path of the division. */
static int check_finite(zp_bench *b, int array, int64_t *bad)
{
  zp_squares_params p;
  zp_launch l;
  memset(&p, 0, sizeof p);
  p.dtype = ZP_F32;
  p.tally = (zp_tally *)(void *)(b->small + 256);
  p.nonfinite = (int64_t *)(void *)(b->small + 1024);
  if (lay(b, 1, b->n, 4, 1, 4, &p.runs, &l)) return -1;
  p.runs.here[0].in = b->array[array];
  p.lanes = zp_squares_lanes(p.runs.here, 1);
  if (cudaMemsetAsync(p.nonfinite, 0, sizeof *bad, b->stream) ||
      zp_bench_launch(b, zp_kernel_squares, zp_launch_squares(p.runs.here, 1), &p) ||
      cudaMemcpyAsync(bad, p.nonfinite, sizeof *bad, cudaMemcpyDeviceToHost, b->stream))
    return -1;
  return (int)cudaStreamSynchronize(b->stream);
}

/* Mean, unscale, clip, AdamW, rounding: reads 16 bytes and writes 12 and the rounded ones. The
 * probe does not write the memory that is read. */
static int bench_update(zp_bench *b, int32_t dtype, int tensors)
{
  const int64_t size = zp_dtype_bytes(dtype);
  int64_t bad = 0;
  zp_update_params p;
  zp_bench_job j = job_of("update", zp_kernel_update, &p, zp_dtype_name(dtype), tensors, b->n);
  memset(&p, 0, sizeof p);
  zp_step_state *step = (zp_step_state *)(void *)(b->small + 8192);
  zp_group_state *group = (zp_group_state *)(void *)(b->small + 16384);
  p.step = step;
  p.group = group;
  p.grad = (const float *)(const void *)b->array[0];
  p.master = (float *)(void *)b->array[1];
  p.m = (float *)(void *)b->array[2];
  p.v = (float *)(void *)b->array[3];
  p.divisor = 24;
  p.real = b->n;
  p.dtype = dtype;
  j.read = 16 * b->n;
  j.write = (12 + size) * b->n;
  for (int a = 0; a < 4; a++)
    if (fill(b, a, b->n, ZP_F32, a == 3 ? ZP_FILL_POSITIVE : ZP_FILL_GRADIENT)) return -1;
  if (zp_gpu_write_states(step, group) ||
      lay(b, tensors, b->n, size, ZP_BENCH_ARRAYS / 2, size, &p.runs, &j.l) ||
      zp_bench_measure(b, &j) || check_finite(b, 1, &bad))
    return -1;
  if (bad) fprintf(stderr, "kernel_bench: update: %" PRId64 " masters are no numbers\n", bad);
  return bad != 0;
}

/* CUDA's copy of half of the update's bytes, to check that the plain copy is as fast. */
static int bench_copy(zp_bench *b)
{
  zp_bench_job j = job_of("cudaMemcpyAsync", NULL, NULL, "fp32", 1, b->n);
  j.read = j.write = 8 * b->n;
  return zp_bench_measure(b, &j);
}

/* The same copy in several launches: what it takes longer than in one is the gap between them. */
static int bench_gaps(zp_bench *b)
{
  static zp_probe_params p[ZP_BENCH_BUCKETS];
  const int64_t words = b->n / 4 / ZP_BENCH_BUCKETS;
  zp_bench_job j = job_of("copy in several launches", zp_kernel_probe, p, "fp32", 1,
                          4 * words * ZP_BENCH_BUCKETS);
  j.l = (zp_launch){ZP_BENCH_BLOCKS, 256, 0};
  j.read = j.write = 16 * words * ZP_BENCH_BUCKETS;
  j.launches = ZP_BENCH_BUCKETS;
  j.params_bytes = sizeof *p;
  for (int64_t i = 0; i < ZP_BENCH_BUCKETS; i++)
    p[i] = (zp_probe_params){.in = b->array[0] + 16 * words * i,
                             .out = b->array[ZP_BENCH_ARRAYS / 2] + 16 * words * i,
                             .read = words,
                             .write = words,
                             .sink = (uint32_t *)(void *)b->small};
  return zp_bench_measure(b, &j);
}

/* With as many blocks as the 132 multiprocessors of an H200 run at once, or a few times that: three
 * each for the exact norm, four for the update. */
static int bench_grids(zp_bench *b)
{
  static const uint32_t squares[] = {396, 792, 1188}, update[] = {528, 1056, 1584};
  int failed = 0;
  for (size_t i = 0; i < sizeof squares / sizeof *squares && !failed; i++) {
    b->grid = squares[i];
    failed = bench_squares(b, ZP_F32, 1, ZP_FILL_GRADIENT) ||
             bench_squares(b, ZP_BF16, 1, ZP_FILL_GRADIENT);
    b->grid = update[i];
    failed = failed || bench_update(b, ZP_BF16, 1);
  }
  b->grid = 0;
  return failed;
}

/* ---- All ------------------------------------------------------------------------------------- */

static int run_all(zp_bench *b)
{
  static const int tensors[] = {1, ZP_BENCH_TENSORS};
  for (int k = 0; k < 2; k++) {
    const int t = tensors[k];
    if (bench_squares(b, ZP_F32, t, ZP_FILL_GRADIENT) ||
        bench_squares(b, ZP_BF16, t, ZP_FILL_GRADIENT) ||
        bench_squares(b, ZP_F16, t, ZP_FILL_GRADIENT) ||
        bench_squares(b, ZP_F32, t, ZP_FILL_SPREAD) ||
        bench_squares(b, ZP_BF16, t, ZP_FILL_SPREAD) || bench_gather_exact(b, t))
      return 1;
    for (int32_t i = 0; i < 2; i++) {
      const int32_t dtype = i == 0 ? ZP_BF16 : ZP_F32;
      if (bench_gather(b, COPIED, dtype, t) || bench_gather(b, WIDENED, dtype, t) ||
          bench_gather(b, ADDED, dtype, t) || bench_scatter(b, dtype, t) ||
          bench_update(b, dtype, t))
        return 1;
    }
  }
  return bench_copy(b) || bench_gaps(b) || bench_add(b) || bench_mean(b) || bench_add_exact(b) ||
         bench_settle(b) || bench_mean_exact(b) || bench_add_packed(b) || bench_mean_packed(b) ||
         bench_repack(b) || bench_grids(b);
}

int zp_gpu_main(int argc, char **argv)
{
  zp_bench b;
  int result = 3;
  memset(&b, 0, sizeof b);
  if (argc != 3 || (b.n = atoll(argv[1])) < ZP_BENCH_TENSORS ||
      (b.repetitions = atoi(argv[2])) < 1 || b.repetitions > ZP_BENCH_REPETITIONS) {
    fprintf(stderr, "usage: %s ELEMENTS (%d or more) REPETITIONS (1 to %d)\n", argv[0],
            ZP_BENCH_TENSORS, ZP_BENCH_REPETITIONS);
    return 2;
  }
  if (zp_bench_open(&b))
    fprintf(stderr, "kernel_bench: no device, or no memory: %s\n",
            cudaGetErrorName(cudaGetLastError()));
  else result = run_all(&b) ? 1 : 0;
  zp_bench_close(&b);
  return result;
}
