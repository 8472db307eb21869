/* The clock of measurements: the device's, or on simdev, where times have no meaning, the
 * host's. */
#include "measure.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../ref/base/clock.h"
#include "probe.h"

int zp_bench_failed(const char *what)
{
  const cudaError_t error = cudaGetLastError();
  fprintf(stderr, "kernel_bench: %s: error %d of CUDA, %s\n", what, (int)error,
          cudaGetErrorName(error));
  return -1;
}

/* ---- Time ------------------------------------------------------------------------------------ */

#ifdef ZP_ON_THREADS
static const char clock_name[] = "events";
static const double warm_s = 0.3; /* a device that was idle raises its clocks for 0.2 s */
static int start(zp_bench *b)
{
  return (int)cudaEventRecord(b->begin, b->stream);
}

static int stop(zp_bench *b, double *ms)
{
  float t = 0;
  const int error = (int)cudaEventRecord(b->end, b->stream) || (int)cudaEventSynchronize(b->end) ||
                    (int)cudaEventElapsedTime(&t, b->begin, b->end);
  *ms = t;
  return error;
}
#else
static const char clock_name[] = "simulated";
static const double warm_s = 0;
static double begun;

static int start(zp_bench *b)
{
  begun = zp_clock_s();
  return (int)cudaStreamSynchronize(b->stream);
}

static int stop(zp_bench *b, double *ms)
{
  const int error = (int)cudaStreamSynchronize(b->stream);
  *ms = 1e3 * (zp_clock_s() - begun);
  return error;
}
#endif

int zp_bench_launch(const zp_bench *b, const void *kernel, zp_launch l, void *params)
{
  void *args[] = {params};
  return (int)cudaLaunchKernel(kernel, (dim3){l.grid, 1, 1}, (dim3){l.block, 1, 1}, args, l.shared,
                               b->stream);
}

/* CUDA's copy, for a job without a kernel. */
static int copy(const zp_bench *b, int64_t bytes)
{
  return (int)cudaMemcpyAsync(b->array[ZP_BENCH_ARRAYS / 2], b->array[0], (size_t)bytes,
                              cudaMemcpyDeviceToDevice, b->stream);
}

static int run_probe(const zp_bench *b, zp_probe_params p)
{
  const zp_launch l = {ZP_BENCH_BLOCKS, 256, 0};
  p.sink = (uint32_t *)(void *)b->small;
  return zp_bench_launch(b, zp_kernel_probe, l, &p);
}

/* Fills L2 by reading: written lines would go to memory during the measurement. */
static int flush(const zp_bench *b)
{
  return run_probe(b, (zp_probe_params){.in = b->flush, .read = (int64_t)b->flush_bytes / 16});
}

/* The kernel that makes the step's norm of a rank's sums. */
static int finish_norm(const zp_bench *b)
{
  zp_pack_params pack = {(zp_tally *)(void *)(b->small + 256), (int64_t *)(void *)(b->small + 2048),
                         0, 0, 0};
  zp_decide_params decide;
  memset(&decide, 0, sizeof decide);
  decide.stats = pack.stats;
  decide.step = (zp_step_state *)(void *)(b->small + 24576);
  decide.group = (zp_group_state *)(void *)(b->small + 32768);
  decide.divisor = decide.ranks = decide.groups = decide.optims = 1;
  decide.clip = 1;
  return zp_bench_launch(b, zp_kernel_pack, zp_launch_one(), &pack) ||
         zp_bench_launch(b, zp_kernel_decide, zp_launch_one(), &decide);
}

static int launch_job(const zp_bench *b, const zp_bench_job *j)
{
  zp_launch l = j->l;
  if (!j->kernel) return copy(b, j->read);
  if (b->grid && b->grid < l.grid) l.grid = b->grid;
  for (int i = 0; i < (j->launches ? j->launches : 1); i++)
    if (zp_bench_launch(b, j->kernel, l, (char *)j->params + (size_t)i * j->params_bytes))
      return -1;
  return j->norm ? finish_norm(b) : 0;
}

static int run_job(zp_bench *b, const zp_bench_job *j, double *ms)
{
  return flush(b) || start(b) || launch_job(b, j) || stop(b, ms);
}

static int time_probe(zp_bench *b, zp_probe_params p, double *ms)
{
  return flush(b) || start(b) || run_probe(b, p) || stop(b, ms);
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

int zp_bench_measure(zp_bench *b, const zp_bench_job *j)
{
  double kernel[ZP_BENCH_REPETITIONS], probe[ZP_BENCH_REPETITIONS];
  char blocks[32] = "";
  const zp_probe_params p = {.in = b->array[0],
                             .out = b->array[ZP_BENCH_ARRAYS / 2],
                             .read = j->read / 16,
                             .write = j->write / 16};
  if (b->grid) snprintf(blocks, sizeof blocks, ", %u blocks", b->grid);
  for (int i = -2; i < b->repetitions; i++) { /* two for warm-up */
    double *k = &kernel[i < 0 ? 0 : i], *q = &probe[i < 0 ? 0 : i];
    if (run_job(b, j, k) || time_probe(b, p, q)) return zp_bench_failed(j->name);
  }
  {
    const double ms = median(kernel, b->repetitions), base = median(probe, b->repetitions);
    printf("{\"kernel\": \"%s%s\", \"dtype\": \"%s\", \"data\": \"%s\", \"elements\": %" PRId64
           ", \"size\": %" PRId64 ", \"tensors\": %d, \"launches\": %d, \"read\": %" PRId64
           ", \"written\": %" PRId64
           ", \"ms\": %.5f, \"least_ms\": %.5f, \"base\": \"%s\", \"base_ms\": %.5f, "
           "\"share\": %.4f, \"gb_s\": %.1f, \"repetitions\": %d, \"clock\": \"%s\"}\n",
           j->name, blocks, j->dtype, j->data, j->elements, b->n, j->tensors,
           j->launches ? j->launches : 1, j->read, j->write, ms, kernel[0],
           j->write > j->read / 64 ? "copy" : "read", base, base / ms,
           (double)(j->read + j->write) / ms / 1e6, b->repetitions, clock_name);
    fflush(stdout);
  }
  return 0;
}

/* ---- Memory ---------------------------------------------------------------------------------- */

/* Work until the device has its clocks of a long run. */
static int warm(const zp_bench *b)
{
  const double begin = zp_clock_s();
  do {
    if (flush(b) || cudaStreamSynchronize(b->stream)) return -1;
  } while (zp_clock_s() - begin < warm_s);
  return 0;
}

/* One allocation, so that the probe may cross the ends of arrays. */
int zp_bench_open(zp_bench *b)
{
  const size_t each = (size_t)(b->n * 4 + 4095) / 4096 * 4096;
  char *all;
  struct cudaFuncAttributes loaded;
#ifdef ZP_ON_THREADS
  b->flush_bytes = (size_t)256 << 20; /* four times the L2 of an H200 */
  b->bucket = 50000000;
#else
  b->bucket = 5000;
  b->flush_bytes = 4096;
#endif
  if (cudaSetDevice(0) || cudaMalloc((void **)&all, ZP_BENCH_ARRAYS * each)) return -1;
  for (int i = 0; i < ZP_BENCH_ARRAYS; i++) b->array[i] = all + (size_t)i * each;
  b->runs = calloc(ZP_BENCH_TENSORS, sizeof *b->runs);
  if (!b->runs || cudaMalloc((void **)&b->table, ZP_BENCH_TENSORS * sizeof *b->table) ||
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
  if (cudaMemsetAsync(b->small, 0, 1 << 16, b->stream) ||
      cudaMemsetAsync(b->flush, 0x5a, b->flush_bytes, b->stream))
    return -1;
  return warm(b);
}

void zp_bench_close(zp_bench *b)
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
