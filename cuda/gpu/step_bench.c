/* step_bench [within=SECONDS] CASE...: steps of the engine over NCCL, gradients in device memory,
 * without a model. CASE: MODEL,STAGE,M,BUCKET,OFFLOAD[,OPTION]; MODEL is 124m, 1.5b or tiny
 * (gpt2.h), OPTION partial (zp_cuda_options.partial_gather: a step's forward waits for all entries)
 * or fp32 (fp32_gradients). `launch` instead of a case measures what a call of NCCL costs the host.
 * The ranks are processes that torchrun's variables describe; without them there is one. Sums are
 * native, the precision is bf16.
 *
 * within: no case begins after so many seconds; those left out are counted on a line. For one rank.
 * A caller that stops the program DEADLINE_S and the time of a case later, at the earliest, knows
 * that it hangs.
 *
 * Prints a line of JSON for each case: ms, of a step, of several in a row; host_us, of zp_cuda_step
 * where the device is idle; launches of the engine; bytes that a step moves (0: not known) and
 * share, the time that a plain copy of as many takes over the step's; bytes of memory: as `plan`
 * prints them, as the engine allocates them, and the peak in use, NCCL's included. On simdev, where
 * times have no meaning, the clock is "simulated". */
#include <inttypes.h>
#include <math.h> /* HUGE_VAL */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../ref/base/clock.h"
#include "../../ref/comm/job/job.h"
#include "../../ref/engine/memory.h"
#include "../counters/counters.h"
#include "../engine/engine.h"
#include "../engine/inspect.h"
#include "gpt2.h"
#include "host.h"
#include "launch_cost.h"
#include "launches.h"
#include "main.h"
#include "probe.h"

/* ALIGN: elements of bf16 that a view of parameters starts at multiples of. PROBE_BLOCKS: as in
 * kernel_bench. */
enum { ALIGN = 64, WARM_STEPS = 2, STEPS = 10, ALONE = 5, COPIES = 50, PROBE_BLOCKS = 132 * 16 };
enum { DEADLINE_S = 30 }; /* of the engine */

typedef struct bench {
  zp_job job;
  double copy_bytes_s; /* bytes read and written a second by a plain copy */
  /* of a case */
  zp_param list[ZP_GPT2_ENTRIES];
  zp_config cfg;
  int32_t offload, partial;
  const char *model, *option; /* option: "" without one */
  char *grad;
  int32_t gradients;           /* their dtype */
  int64_t at[ZP_GPT2_ENTRIES]; /* where an entry's gradient begins */
  int64_t params;
  zp_cuda *e;
  int64_t by_model; /* launches of callbacks */
  /* of the device's memory: before the first case; then with the case's gradients; the least */
  size_t free_at_start, free_before, free_least;
} bench;

/* 0, or prints the call of CUDA that failed. */
static int failed(const char *call, cudaError_t e)
{
  if (e != cudaSuccess) fprintf(stderr, "step_bench: %s: %s\n", call, cudaGetErrorName(e));
  return e != cudaSuccess;
}

/* ---- A plain copy ---------------------------------------------------------------------------- */

static int copy(zp_probe_params *p)
{
  void *args[] = {p};
  return failed("cudaLaunchKernel", cudaLaunchKernel(zp_kernel_probe, (dim3){PROBE_BLOCKS, 1, 1},
                                                     (dim3){256, 1, 1}, args, 0, NULL));
}

/* Also warms up the device, whose clocks have risen after 0.2 s. */
static int measure_copy(bench *b)
{
  const int64_t bytes = zp_gpu_is_simulated() ? 1 << 14 : 1 << 29;
  const double warm_s = zp_gpu_is_simulated() ? 0 : 0.3;
  const int copies = zp_gpu_is_simulated() ? 1 : COPIES;
  char *memory;
  zp_probe_params p = {.read = bytes / 16, .write = bytes / 16};
  double begin = zp_clock_s();
  int bad;
  if (failed("cudaMalloc", cudaMalloc((void **)&memory, 2 * (size_t)bytes + 256))) return -1;
  p.in = memory;
  p.out = memory + bytes;
  p.sink = (uint32_t *)(void *)(memory + 2 * bytes);
  do {
    bad = copy(&p) || failed("cudaDeviceSynchronize", cudaDeviceSynchronize());
  } while (!bad && zp_clock_s() - begin < warm_s);
  begin = zp_clock_s();
  for (int i = 0; i < copies && !bad; i++) bad = copy(&p);
  bad = bad || failed("cudaDeviceSynchronize", cudaDeviceSynchronize());
  b->copy_bytes_s = 2 * (double)bytes * copies / (zp_clock_s() - begin);
  return failed("cudaFree", cudaFree(memory)) || bad;
}

/* ---- The model ------------------------------------------------------------------------------- */

static int first_values(void *ctx, int32_t param, void *data, cudaStream_t stream)
{
  const bench *b = ctx;
  return (int)cudaMemsetAsync(data, 0x3c, (size_t)b->list[param].numel * 2, stream);
}

static int forward(void *ctx, const zp_cuda_call *call)
{
  bench *b = ctx;
  if (b->partial && call->mb == 0 && zp_cuda_wait_params(b->e, NULL, -1, call->stream)) return -1;
  b->by_model++;
  return (int)cudaMemsetAsync(call->loss, 0, sizeof *call->loss, call->stream);
}

static int backward(void *ctx, const zp_cuda_call *call)
{
  const bench *b = ctx;
  for (int32_t i = b->cfg.n_params - 1; i >= 0; i--)
    if (zp_cuda_grad_ready(b->e, i, call->mb, b->grad + b->at[i], b->cfg.params[i].numel,
                           b->gradients, call->stream))
      return -1;
  return 0;
}

static int alone(void *ctx, int32_t rank, void *bytes, size_t n)
{
  (void)ctx, (void)rank, (void)bytes, (void)n;
  return 0;
}

/* ---- A case ---------------------------------------------------------------------------------- */

static int read_case(bench *b, const char *text, zp_hyper *h)
{
  static const char *const options[] = {"", ",partial", ",fp32"};
  static char model[16];
  int stage, offload, end = 0, option = 0;
  long long mb, bucket;
  const int fields =
      sscanf(text, "%15[^,],%d,%lld,%lld,%d%n", model, &stage, &mb, &bucket, &offload, &end);
  while (fields == 5 && option < 3 && strcmp(text + end, options[option]) != 0) option++;
  b->cfg = (zp_config){.pp = 1, .dp = b->job.world, .tp = 1, .ep = 1, .stage = stage};
  b->cfg.precision = ZP_BF16;
  b->cfg.optgroups = 1;
  b->cfg.align = ALIGN;
  b->cfg.micro_batches = mb;
  b->cfg.bucket = bucket;
  b->cfg.params = b->list;
  b->cfg.n_params = fields == 5 && option < 3 ? zp_gpt2_list(model, b->list) : 0;
  b->model = model;
  b->offload = offload;
  b->partial = option == 1;
  b->option = option == 1 ? "partial gathers" : option == 2 ? "fp32 gradients" : "";
  h->fp32_gradients = option == 2;
  b->gradients = zp_dtype_of(h->fp32_gradients, b->cfg.precision);
  if (b->cfg.n_params > 0) return 0;
  fprintf(stderr, "step_bench: '%s' is not MODEL,STAGE,M,BUCKET,OFFLOAD[,partial|,fp32]\n", text);
  return -1;
}

static int open_gradients(bench *b)
{
  int64_t bytes = 0;
  b->params = 0;
  for (int32_t i = 0; i < b->cfg.n_params; i++) {
    b->at[i] = bytes;
    bytes += (b->list[i].numel * zp_dtype_bytes(b->gradients) + 255) / 256 * 256;
    b->params += b->list[i].numel;
  }
  return failed("cudaMalloc", cudaMalloc((void **)&b->grad, (size_t)bytes)) ||
         failed("cudaMemsetAsync", cudaMemsetAsync(b->grad, 0x3c, (size_t)bytes, NULL)) ||
         failed("cudaDeviceSynchronize", cudaDeviceSynchronize());
}

static zp_hyper hyper_of(void)
{
  zp_hyper h = {.groups = 1, .clip = 1, .clip_eps = 1e-6, .entry_align = ALIGN};
  h.optim[0] = (zp_optim){ZP_OPTIM_ADAMW, 1e-3, 0.9, 0.95, 1e-8, 0.1, 0};
  zp_scaler_init(&h.scaler, 0, 0, 0, 0, 1, 1, 0);
  return h;
}

static int open_engine(bench *b, const zp_hyper *h)
{
  zp_error err;
  zp_cuda_options o = {.cfg = &b->cfg,
                       .optims = 1,
                       .clip = h->clip,
                       .clip_eps = h->clip_eps,
                       .scaler = h->scaler,
                       .entry_align = h->entry_align,
                       .slots = h->slots,
                       .rank = b->job.rank,
                       .device = b->job.local_rank,
                       .native = 1,
                       .offload = b->offload,
                       .partial_gather = b->partial,
                       .fp32_gradients = h->fp32_gradients,
                       .model = {b, first_values, forward, backward, NULL},
                       .exchange = b->job.world > 1 ? zp_job_exchange : alone,
                       .exchange_ctx = &b->job,
                       .deadline_ns = DEADLINE_S * 1000000000ull};
  o.optim[0] = h->optim[0];
  if (zp_gpu_is_simulated()) {
    o.now_ns = zp_gpu_now_ns;
    o.pause = zp_gpu_pause;
  }
  b->e = zp_cuda_open(&o, &err);
  if (!b->e) return fprintf(stderr, "step_bench: %s\n", err.text), -1;
  return zp_cuda_init(b->e);
}

static int see_memory(bench *b)
{
  size_t now, total;
  if (failed("cudaMemGetInfo", cudaMemGetInfo(&now, &total))) return -1;
  if (now < b->free_least) b->free_least = now;
  return 0;
}

/* Until the device is idle. */
static int steps(bench *b, int count)
{
  for (int i = 0; i < count; i++)
    if (zp_cuda_step(b->e)) return -1;
  return failed("cudaDeviceSynchronize", cudaDeviceSynchronize()) || see_memory(b);
}

static int by_value(const void *a, const void *b)
{
  const double x = *(const double *)a, y = *(const double *)b;
  return (x > y) - (x < y);
}

/* The host's time for a step on an idle device: medians. With offload it has the wait for the
 * device and the host's update. */
static int measure_host(bench *b, double *us, int64_t *launches)
{
  double each[ALONE];
  for (int i = 0; i < ALONE; i++) {
    const double begin = zp_clock_s();
    *launches = zp_gpu_launches();
    b->by_model = 0;
    if (zp_cuda_step(b->e)) return -1;
    each[i] = 1e6 * (zp_clock_s() - begin);
    *launches = zp_gpu_launches() - *launches - b->by_model;
    if (failed("cudaDeviceSynchronize", cudaDeviceSynchronize())) return -1;
  }
  qsort(each, ALONE, sizeof *each, by_value);
  *us = each[ALONE / 2];
  return 0;
}

/* The engine's own accesses, and what NCCL copies for a single rank: sums from slots. What it
 * reduces or gathers in place, it does not touch. 0: not known. */
static double bytes_of(const bench *b, const zp_hyper *h)
{
  const zp_counters_job job = {.cfg = &b->cfg, .hyper = h, .native = 1, .offload = b->offload};
  const double ideal = zp_counters_ideal(&job);
  const double nccl = b->cfg.stage == 2 ? 8 * (double)b->cfg.micro_batches : 0;
  return ideal < 0 || b->job.world > 1 ? 0 : (ideal + nccl) * (double)b->params;
}

static int64_t planned(const bench *b, const zp_hyper *h)
{
  zp_block_rank block = zp_block_of(&b->cfg, 1, b->job.rank);
  const zp_layout *lay = zp_cuda_layout_of(b->e);
  zp_device_memory device;
  zp_memory m;
  block.slots = h->slots;
  block.fp32_gradients = h->fp32_gradients;
  if (zp_block_align(&block, zp_entry_align(h->entry_align, b->cfg.precision))) return -1;
  if (zp_device_memory_of(&block, lay, &device)) return -1;
  m = zp_memory_of(&block.cfg, lay, h->slots, h->fp32_gradients);
  zp_block_close(&block);
  /* offload: masters and moments are in host memory */
  return zp_device_memory_total(&m, &device) + device.native - (b->offload ? m.state : 0);
}

static int64_t allocated(const bench *b)
{
  const zp_cuda_memory m = zp_cuda_memory_of(b->e);
  return zp_memory_total(&m.planned) + m.staging + m.messages + m.sums + m.state + m.landing;
}

static int measure(bench *b, const zp_hyper *h)
{
  const double bytes = bytes_of(b, h);
  double begin, ms, host_us;
  int64_t launches;
  zp_step_state state;
  if (steps(b, WARM_STEPS)) return -1;
  begin = zp_clock_s();
  if (steps(b, STEPS)) return -1;
  ms = 1e3 * (zp_clock_s() - begin) / STEPS;
  if (measure_host(b, &host_us, &launches) || zp_cuda_get(b->e, &state)) return -1;
  if (state.decision.skipped) return fprintf(stderr, "step_bench: the step was skipped\n"), -1;
  printf("{\"step\": \"%s\", \"params\": %" PRId64 ", \"ranks\": %d, \"stage\": %d, "
         "\"micro_batches\": %" PRId64 ", \"bucket\": %" PRId64 ", \"offload\": %d, "
         "\"option\": \"%s\", \"ms\": %.4f, \"host_us\": %.1f, \"launches\": %" PRId64
         ", \"bytes\": %.0f, "
         "\"copy_gb_s\": %.2f, \"share\": %.4f, \"planned\": %" PRId64 ", \"allocated\": %" PRId64
         ", \"peak\": %" PRId64 ", \"clock\": \"%s\"}\n",
         b->model, b->params, (int)b->job.world, (int)b->cfg.stage, b->cfg.micro_batches,
         b->cfg.bucket, (int)b->offload, b->option, ms, host_us, launches, bytes,
         b->copy_bytes_s / 1e9, 1e3 * bytes / b->copy_bytes_s / ms, planned(b, h), allocated(b),
         (int64_t)(b->free_before - b->free_least), zp_gpu_is_simulated() ? "simulated" : "host");
  return fflush(stdout);
}

static int run_case(bench *b, const char *text)
{
  zp_hyper h = hyper_of();
  size_t before = 0, after = 0, total;
  int bad = read_case(b, text, &h) || failed("cudaMemGetInfo", cudaMemGetInfo(&before, &total)) ||
            open_gradients(b) || failed("cudaMemGetInfo", cudaMemGetInfo(&after, &total));
  b->free_before = b->free_at_start - (before - after);
  b->free_least = b->free_before;
  bad = bad || open_engine(b, &h) || see_memory(b) || measure(b, &h);
  if (b->e && zp_cuda_why(b->e)->status)
    fprintf(stderr, "step_bench: %s\n", zp_cuda_why(b->e)->text);
  bad = zp_cuda_close(b->e) || bad;
  b->e = NULL;
  cudaFree(b->grad);
  b->grad = NULL;
  return bad;
}

int zp_gpu_main(int argc, char **argv)
{
  static bench b;
  const double begin = zp_clock_s();
  double within = HUGE_VAL;
  zp_error err;
  int bad = 0, i = 1;
  size_t total;
  if (argc > 2 && sscanf(argv[1], "within=%lf", &within) == 1) i++;
  if (argc < 2) return fprintf(stderr, "usage: %s [within=SECONDS] CASE...\n", argv[0]), 2;
  if (zp_job_read(&b.job, &err)) return fprintf(stderr, "step_bench: %s\n", err.text), 2;
  if (b.job.world > 1 && i > 1) return fprintf(stderr, "step_bench: within: for one rank\n"), 2;
  if (failed("cudaSetDevice", cudaSetDevice(b.job.local_rank)) || measure_copy(&b) ||
      failed("cudaMemGetInfo", cudaMemGetInfo(&b.free_at_start, &total)))
    return 3;
  for (; i < argc && !bad && zp_clock_s() - begin < within; i++)
    bad = strcmp(argv[i], "launch") == 0 ? zp_launch_cost(&b.job) : run_case(&b, argv[i]);
  if (!bad && i < argc) printf("{\"left_out\": %d}\n", argc - i);
  return bad ? 1 : 0;
}
