/* kernel_bench ELEMENTS REPETITIONS: what share of a plain read's or copy's bandwidth each kernel
 * has, both measured in turns in this run, L2 flushed before each. Prints a line of JSON for each
 * measurement as it is made. On simdev, where time says nothing, the lines say "simulated". */
#define _POSIX_C_SOURCE 200809L
#include <cuda_runtime_api.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "../../ref/engine/comm.h"
#include "../kernels/kernels.h"
#include "main.h"
#include "probe.h"

/* SUMS: of squares, with each number of tensors. */
enum { MOST = 64, TENSORS = 1000, MEMBERS = 8, ARRAYS = 8, BLOCKS = 132 * 16, SUMS = 5 };

/* Memory: arrays of n fp32; a table of runs; L2 and more of it. */
typedef struct bench {
  int64_t n;
  int repetitions;
  char *array[ARRAYS], *flush, *small;
  size_t flush_bytes;
  zp_memory_run *table, *runs; /* device, host */
  cudaStream_t stream;
  cudaEvent_t begin, end;
  int64_t squares[SUMS][ZP_SQ_LIMBS]; /* with one tensor */
  int sums;
  uint32_t grid; /* blocks at most; 0: as many as in a step */
} bench;

/* One measurement. */
typedef struct job {
  const char *name, *dtype, *data;
  int tensors;
  int64_t elements;
  const void *kernel;
  zp_launch l;
  void *params;
  int64_t read, write; /* bytes that cannot be spared */
  int norm;            /* 1: what makes a norm of squares comes behind */
} job;

static int failed(const char *what)
{
  const cudaError_t error = cudaGetLastError();
  fprintf(stderr, "kernel_bench: %s: error %d of CUDA, %s\n", what, (int)error,
          cudaGetErrorName(error));
  return -1;
}

/* ---- Time ------------------------------------------------------------------------------------ */

#ifdef ZP_ON_THREADS
static const char clock_name[] = "events";
static int start(bench *b)
{
  return (int)cudaEventRecord(b->begin, b->stream);
}

static int stop(bench *b, double *ms)
{
  float t = 0;
  const int error = (int)cudaEventRecord(b->end, b->stream) || (int)cudaEventSynchronize(b->end) ||
                    (int)cudaEventElapsedTime(&t, b->begin, b->end);
  *ms = t;
  return error;
}
#else
static const char clock_name[] = "simulated";
static double begun;
static double now_ms(void)
{
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return 1e3 * (double)t.tv_sec + 1e-6 * (double)t.tv_nsec;
}

static int start(bench *b)
{
  begun = now_ms();
  return (int)cudaStreamSynchronize(b->stream);
}

static int stop(bench *b, double *ms)
{
  const int error = (int)cudaStreamSynchronize(b->stream);
  *ms = now_ms() - begun;
  return error;
}
#endif

static int launch(const bench *b, const void *kernel, zp_launch l, void *params)
{
  void *args[] = {params};
  return (int)cudaLaunchKernel(kernel, (dim3){l.grid, 1, 1}, (dim3){l.block, 1, 1}, args, l.shared,
                               b->stream);
}

/* CUDA's own copy, where a job has no kernel. */
static int copy(const bench *b, int64_t bytes)
{
  return (int)cudaMemcpyAsync(b->array[ARRAYS / 2], b->array[0], (size_t)bytes,
                              cudaMemcpyDeviceToDevice, b->stream);
}

static int flushed(bench *b)
{
  return cudaMemsetAsync(b->flush, 0x5a, b->flush_bytes, b->stream) || start(b);
}

/* What a rank has counted becomes the step's norm. */
static int finish_norm(const bench *b)
{
  zp_pack_params pack = {(zp_tally *)(void *)(b->small + 256),
                         (int64_t *)(void *)(b->small + 2048)};
  zp_decide_params decide;
  memset(&decide, 0, sizeof decide);
  decide.stats = pack.stats;
  decide.step = (zp_step_state *)(void *)(b->small + 24576);
  decide.group = (zp_group_state *)(void *)(b->small + 32768);
  decide.divisor = decide.groups = decide.optims = 1;
  decide.clip = 1;
  return launch(b, zp_kernel_pack, zp_launch_one(), &pack) ||
         launch(b, zp_kernel_decide, zp_launch_one(), &decide);
}

static int run_job(bench *b, const job *j, double *ms)
{
  zp_launch l = j->l;
  if (b->grid && b->grid < l.grid) l.grid = b->grid;
  if (flushed(b) || (j->kernel ? launch(b, j->kernel, l, j->params) : copy(b, j->read))) return -1;
  if (j->norm && finish_norm(b)) return -1;
  return stop(b, ms);
}

static int run_probe(bench *b, zp_probe_params *p, double *ms)
{
  const zp_launch l = {BLOCKS, 256, 0};
  if (flushed(b) || launch(b, zp_kernel_probe, l, p)) return -1;
  return stop(b, ms);
}

static int by_value(const void *a, const void *b)
{
  const double x = *(const double *)a, y = *(const double *)b;
  return (x > y) - (x < y);
}

static double median(double *ms, int n)
{
  qsort(ms, (size_t)n, sizeof *ms, by_value);
  return n % 2 ? ms[n / 2] : (ms[n / 2 - 1] + ms[n / 2]) / 2;
}

/* The probe takes the same bytes: what is only read is read, what is written is written. */
static int measure(bench *b, const job *j)
{
  double kernel[MOST], probe[MOST];
  char blocks[32] = "";
  zp_probe_params p;
  if (b->grid) snprintf(blocks, sizeof blocks, ", %u blocks", b->grid);
  memset(&p, 0, sizeof p);
  p.in = b->array[0];
  p.out = b->array[ARRAYS / 2];
  p.read = j->read / 16;
  p.write = j->write / 16;
  p.sink = (uint32_t *)(void *)b->small;
  for (int i = -2; i < b->repetitions; i++) { /* two to warm up */
    double *k = &kernel[i < 0 ? 0 : i], *q = &probe[i < 0 ? 0 : i];
    if (run_job(b, j, k) || run_probe(b, &p, q)) return failed(j->name);
  }
  {
    const double ms = median(kernel, b->repetitions), base = median(probe, b->repetitions);
    printf("{\"kernel\": \"%s%s\", \"dtype\": \"%s\", \"data\": \"%s\", \"elements\": %" PRId64
           ", \"size\": %" PRId64 ", \"tensors\": %d, \"read\": %" PRId64 ", \"written\": %" PRId64
           ", \"ms\": %.5f, \"least_ms\": %.5f, \"base\": \"%s\", \"base_ms\": %.5f, "
           "\"share\": %.4f, \"gb_s\": %.1f, \"repetitions\": %d, \"clock\": \"%s\"}\n",
           j->name, blocks, j->dtype, j->data, j->elements, b->n, j->tensors, j->read, j->write, ms,
           kernel[0], j->write > j->read / 64 ? "copy" : "read", base, base / ms,
           (double)(j->read + j->write) / ms / 1e6, b->repetitions, clock_name);
    fflush(stdout);
  }
  return 0;
}

/* ---- Kernels --------------------------------------------------------------------------------- */

static job job_of(const char *name, const void *kernel, void *params, const char *dtype,
                  int tensors, int64_t elements)
{
  const job j = {.name = name,
                 .kernel = kernel,
                 .params = params,
                 .dtype = dtype,
                 .tensors = tensors,
                 .elements = elements,
                 .data = "gradients"};
  return j;
}

static int fill(bench *b, int array, int64_t n, int32_t dtype, int32_t kind)
{
  zp_fill_params p;
  const zp_launch l = {BLOCKS, 256, 0};
  memset(&p, 0, sizeof p);
  p.out = b->array[array];
  p.n = n;
  p.dtype = dtype;
  p.kind = kind;
  p.seed = (uint64_t)array * 77 + 5;
  return launch(b, zp_kernel_fill, l, &p);
}

/* The elements as one tensor, or as many of unequal lengths, in a table on the device: from the
 * first array into array `to`. */
static int lay(bench *b, int tensors, int64_t n, int64_t in_size, int to, int64_t out_size,
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

/* Exact sums do not depend on how the elements are cut into tensors. */
static int same_squares(bench *b, const job *j, const zp_tally *tally)
{
  int64_t *first = b->squares[b->sums++ % SUMS];
  zp_tally t;
  if (cudaMemcpyAsync(&t, tally, sizeof t, cudaMemcpyDeviceToHost, b->stream) ||
      cudaStreamSynchronize(b->stream))
    return failed(j->name);
  zp_limbs_normalise(t.squares, ZP_SQ_LIMBS);
  if (b->sums <= SUMS) memcpy(first, t.squares, sizeof t.squares);
  if (memcmp(first, t.squares, sizeof t.squares) == 0) return 0;
  fprintf(stderr, "kernel_bench: squares of %s: one tensor's sum is not that of %d\n", j->dtype,
          j->tensors);
  return 1;
}

static int bench_squares(bench *b, int32_t dtype, int tensors, int32_t kind)
{
  zp_squares_params p;
  job j = job_of("squares", zp_kernel_squares, &p, zp_dtype_name(dtype), tensors, b->n);
  memset(&p, 0, sizeof p);
  p.dtype = dtype;
  p.tally = (zp_tally *)(void *)(b->small + 256);
  p.nonfinite = (int64_t *)(void *)b->small; /* counted as in a step */
  if (kind == ZP_FILL_SPREAD) j.data = "all exponents";
  j.read = b->n * zp_dtype_bytes(dtype);
  if (fill(b, 0, b->n, dtype, kind) || cudaMemsetAsync(p.tally, 0, sizeof *p.tally, b->stream) ||
      lay(b, tensors, b->n, zp_dtype_bytes(dtype), 1, 4, &p.runs, &j.l))
    return -1;
  p.lanes = zp_squares_lanes(b->runs, tensors);
  j.l = zp_launch_squares(b->runs, tensors);
  if (measure(b, &j)) return -1;
  if (b->grid) return 0;
  if (same_squares(b, &j, p.tally)) return 1;
  j.name = "norm";
  j.norm = 1;
  return kind == ZP_FILL_GRADIENT ? measure(b, &j) : 0;
}

static int bench_gather(bench *b, int ordered, int32_t dtype, int tensors)
{
  const int64_t size = zp_dtype_bytes(dtype);
  zp_gather_params p;
  job j = job_of(ordered ? "gather_ordered" : "gather_copy",
                 ordered ? zp_kernel_gather_ordered : zp_kernel_gather_copy, &p,
                 zp_dtype_name(dtype), tensors, b->n);
  memset(&p, 0, sizeof p);
  p.dtype = dtype;
  p.nonfinite = (int64_t *)(void *)b->small;
  j.read = b->n * (ordered ? size + 4 : size);
  j.write = b->n * (ordered ? 4 : size);
  if (fill(b, 0, b->n, dtype, ZP_FILL_GRADIENT) || fill(b, 1, b->n, ZP_F32, ZP_FILL_GRADIENT))
    return -1;
  if (lay(b, tensors, b->n, size, 1, ordered ? 4 : size, &p.runs, &j.l)) return -1;
  return measure(b, &j);
}

static int bench_scatter(bench *b, int32_t dtype, int tensors)
{
  const int64_t size = zp_dtype_bytes(dtype);
  zp_scatter_params p;
  job j = job_of("scatter", zp_kernel_scatter, &p, zp_dtype_name(dtype), tensors, b->n);
  memset(&p, 0, sizeof p);
  p.bytes = (int32_t)size;
  j.read = j.write = size * b->n;
  if (fill(b, 0, b->n, dtype, ZP_FILL_GRADIENT)) return -1;
  if (lay(b, tensors, b->n, size, 1, size, &p.runs, &j.l)) return -1;
  return measure(b, &j);
}

/* Parts of 8 members, as many elements together. */
static int bench_add(bench *b)
{
  zp_add_params p;
  job j = job_of("add_ordered", zp_kernel_add_ordered, &p, "fp32", 1, b->n);
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
  return measure(b, &j);
}

static int bench_mean(bench *b)
{
  zp_mean_params p;
  job j = job_of("mean_ordered", zp_kernel_mean_ordered, &p, "fp32", 1, b->n);
  memset(&p, 0, sizeof p);
  p.n = b->n;
  p.divisor = 24;
  p.sum = b->array[0];
  p.mean = (float *)(void *)b->array[1];
  p.nonfinite = (int64_t *)(void *)b->small;
  j.l = zp_launch_elements(p.n);
  j.read = j.write = 4 * b->n;
  if (fill(b, 0, b->n, ZP_F32, ZP_FILL_GRADIENT)) return -1;
  return measure(b, &j);
}

/* ---- Sums in limbs: 72 bytes an element, so that fewer fit into the arrays ---------------------- */

static int64_t limbs_in(const bench *b)
{
  return b->n / 5;
}

/* Sums of one gradient each, of n elements from the first array on. */
static int make_sums(bench *b, int64_t n)
{
  zp_gather_params p;
  zp_launch l;
  memset(&p, 0, sizeof p);
  p.dtype = ZP_BF16;
  p.first = 1;
  if (fill(b, ARRAYS - 1, n, ZP_BF16, ZP_FILL_GRADIENT) ||
      lay(b, 1, n, 2, 1, ZP_VAL_LIMBS * 8, &p.runs, &l))
    return -1;
  p.runs.here[0].in = b->array[ARRAYS - 1];
  p.runs.here[0].out = b->array[0];
  return launch(b, zp_kernel_gather_exact, zp_launch_limb_runs(b->runs, 1), &p);
}

static int bench_gather_exact(bench *b, int tensors)
{
  const int64_t n = limbs_in(b);
  zp_gather_params p;
  job j = job_of("gather_exact", zp_kernel_gather_exact, &p, "bf16", tensors, n);
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
  return measure(b, &j);
}

static int bench_add_exact(bench *b)
{
  const int64_t n = limbs_in(b) / MEMBERS;
  zp_add_params p;
  job j = job_of("add_exact", zp_kernel_add_exact, &p, "limbs", 1, n * MEMBERS);
  j.l = zp_launch_limbs(n, 2);
  j.read = n * 72 * MEMBERS;
  j.write = n * 72;
  memset(&p, 0, sizeof p);
  p.dtype = ZP_I64;
  p.members = MEMBERS;
  p.own = -1;
  p.first = 1;
  p.n = n;
  p.stride = n * 72;
  p.parts = b->array[0];
  p.out = b->array[ARRAYS / 2];
  if (make_sums(b, n * MEMBERS)) return -1;
  return measure(b, &j);
}

static int bench_settle(bench *b)
{
  const int64_t n = limbs_in(b);
  zp_settle_params p = {n, (int64_t *)(void *)b->array[0]};
  job j = job_of("settle", zp_kernel_settle, &p, "limbs", 1, n);
  j.l = zp_launch_limbs(n, 1);
  j.read = j.write = n * 72;
  if (make_sums(b, n)) return -1;
  return measure(b, &j);
}

static int bench_mean_exact(bench *b)
{
  const int64_t n = limbs_in(b);
  zp_mean_params p = {.n = n,
                      .divisor = 24,
                      .sum = b->array[0],
                      .mean = (float *)(void *)b->array[ARRAYS / 2],
                      .nonfinite = (int64_t *)(void *)b->small};
  job j = job_of("mean_exact", zp_kernel_mean_exact, &p, "limbs", 1, n);
  j.l = zp_launch_limbs(n, 1);
  j.read = n * 72;
  j.write = n * 4;
  if (make_sums(b, n)) return -1;
  return measure(b, &j);
}

/* ---- Update ---------------------------------------------------------------------------------- */

/* The step's and the group's state, on the device. */
static int lay_states(bench *b, zp_update_params *p)
{
  zp_step_state step;
  zp_group_state group;
  memset(&step, 0, sizeof step);
  memset(&group, 0, sizeof group);
  group.rule = ZP_RULE_ADAMW;
  for (int i = 0; i < ZP_STEP_SCALARS; i++) group.scalar[i] = 0.5f + (float)i / 32;
  p->step = (const zp_step_state *)(const void *)(b->small + 8192);
  p->group = (const zp_group_state *)(const void *)(b->small + 16384);
  if (cudaMemcpyAsync(b->small + 8192, &step, sizeof step, cudaMemcpyHostToDevice, b->stream) ||
      cudaMemcpyAsync(b->small + 16384, &group, sizeof group, cudaMemcpyHostToDevice, b->stream))
    return -1;
  return (int)cudaStreamSynchronize(b->stream);
}

/* Numbers that are none, or subnormal, would be divided on another way, and slowly. */
static int check_finite(bench *b, int array, int64_t *bad)
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
      launch(b, zp_kernel_squares, zp_launch_squares(p.runs.here, 1), &p) ||
      cudaMemcpyAsync(bad, p.nonfinite, sizeof *bad, cudaMemcpyDeviceToHost, b->stream))
    return -1;
  return (int)cudaStreamSynchronize(b->stream);
}

/* Unscale, clip, AdamW, rounding: 16 bytes read, 12 written, and the rounded ones. What is read lies
 * where the probe does not write. */
static int bench_update(bench *b, int32_t dtype, int tensors)
{
  const int64_t size = zp_dtype_bytes(dtype);
  int64_t bad = 0;
  zp_update_params p;
  job j = job_of("update", zp_kernel_update, &p, zp_dtype_name(dtype), tensors, b->n);
  memset(&p, 0, sizeof p);
  p.grad = (const float *)(const void *)b->array[0];
  p.master = (float *)(void *)b->array[1];
  p.m = (float *)(void *)b->array[2];
  p.v = (float *)(void *)b->array[3];
  p.real = b->n;
  p.dtype = dtype;
  j.read = 16 * b->n;
  j.write = (12 + size) * b->n;
  for (int a = 0; a < 4; a++)
    if (fill(b, a, b->n, ZP_F32, a == 3 ? ZP_FILL_POSITIVE : ZP_FILL_GRADIENT)) return -1;
  if (lay_states(b, &p) || lay(b, tensors, b->n, size, ARRAYS / 2, size, &p.runs, &j.l) ||
      measure(b, &j) || check_finite(b, 1, &bad))
    return -1;
  if (bad) fprintf(stderr, "kernel_bench: update: %" PRId64 " masters are no numbers\n", bad);
  return bad != 0;
}

/* What CUDA's copy takes for half of the update's bytes: whether the plain copy is as fast. */
static int bench_copy(bench *b)
{
  job j = job_of("cudaMemcpyAsync", NULL, NULL, "fp32", 1, b->n);
  j.read = j.write = 8 * b->n;
  return measure(b, &j);
}

/* With as many blocks as the 132 multiprocessors of an H200 have at once, or a few times that: the
 * exact norm's three each, the update's four. */
static int bench_grids(bench *b)
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

/* One piece of memory, so that the probe may run over the arrays' ends. */
static int open_bench(bench *b)
{
  const size_t each = (size_t)(b->n * 4 + 4095) / 4096 * 4096;
  char *all;
  struct cudaFuncAttributes loaded;
  if (cudaSetDevice(0) || cudaMalloc((void **)&all, ARRAYS * each)) return -1;
  for (int i = 0; i < ARRAYS; i++) b->array[i] = all + (size_t)i * each;
  b->runs = calloc(TENSORS, sizeof *b->runs);
  if (!b->runs || cudaMalloc((void **)&b->table, TENSORS * sizeof *b->table) ||
      cudaMalloc((void **)&b->small, 1 << 16) || cudaMalloc((void **)&b->flush, b->flush_bytes))
    return -1;
  if (cudaStreamCreateWithFlags(&b->stream, cudaStreamNonBlocking)) return -1;
#ifdef ZP_ON_THREADS
  if (cudaEventCreate(&b->begin) || cudaEventCreate(&b->end)) return -1;
#endif
  if (cudaFuncGetAttributes(&loaded, zp_kernel_probe) ||
      cudaFuncGetAttributes(&loaded, zp_kernel_fill))
    return -1;
#define LOAD(name)                                                                                 \
  if (cudaFuncGetAttributes(&loaded, zp_kernel_##name)) return -1;
  ZP_KERNELS(LOAD)
#undef LOAD
  return (int)cudaMemsetAsync(b->small, 0, 1 << 16, b->stream);
}

static void close_bench(bench *b)
{
  if (b->stream) cudaStreamDestroy(b->stream);
#ifdef ZP_ON_THREADS
  if (b->begin) cudaEventDestroy(b->begin);
  if (b->end) cudaEventDestroy(b->end);
#endif
  cudaFree(b->array[0]);
  cudaFree(b->table);
  cudaFree(b->small);
  cudaFree(b->flush);
  free(b->runs);
}

static int run_all(bench *b)
{
  static const int tensors[] = {1, TENSORS};
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
      if (bench_gather(b, 0, dtype, t) || bench_gather(b, 1, dtype, t) ||
          bench_scatter(b, dtype, t) || bench_update(b, dtype, t))
        return 1;
    }
  }
  return bench_copy(b) || bench_add(b) || bench_mean(b) || bench_add_exact(b) || bench_settle(b) ||
         bench_mean_exact(b) || bench_grids(b);
}

int zp_gpu_main(int argc, char **argv)
{
  bench b;
  int result = 3;
  memset(&b, 0, sizeof b);
  if (argc != 3 || (b.n = atoll(argv[1])) < TENSORS || (b.repetitions = atoi(argv[2])) < 1 ||
      b.repetitions > MOST) {
    fprintf(stderr, "usage: %s ELEMENTS (%d or more) REPETITIONS (1 to %d)\n", argv[0], TENSORS,
            MOST);
    return 2;
  }
#ifdef ZP_ON_THREADS
  b.flush_bytes = (size_t)256 << 20; /* four times what an H200's L2 holds */
#else
  b.flush_bytes = 4096;
#endif
  if (open_bench(&b))
    fprintf(stderr, "kernel_bench: no device, or no memory: %s\n",
            cudaGetErrorName(cudaGetLastError()));
  else result = run_all(&b) ? 1 : 0;
  close_bench(&b);
  return result;
}
