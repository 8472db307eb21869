/* Opening and closing: everything is made at opening, a step allocates nothing. spec: STEP-1,
 * LIM-0 */
#include <stdlib.h>

#include "../../ref/engine/hyper.h"
#include "device/clock.h"
#include "device/launch.h"
#include "options.h"
#include "parts.h"
#include "teardown.h"

/* ---- Opening --------------------------------------------------------------------------------- */

/* Which parts work on which. */
static void connect(zp_cuda *e)
{
  zp_cuda_rank *r = &e->rank;
  e->allocations.r = e->pipeline.r = e->offload.r = e->checkpoint.r = e->ops.r = r;
  e->ops.comms = e->checkpoint.comms = &e->comms;
  e->offload.comms = &e->comms;
  e->ops.buffers = e->offload.buffers = e->checkpoint.buffers = &e->buffers;
  e->ops.memory = e->offload.memory = e->checkpoint.memory = e->pipeline.memory = &e->memory;
  e->ops.offload = &e->offload;
  e->ops.buckets = &e->buckets;
  e->ops.gathers = &e->gathers;
  e->pipeline.messages = e->steps.messages = &e->messages;
  e->steps.ops = &e->ops;
  e->steps.gradients = &e->gradients;
  e->steps.pipeline = &e->pipeline;
  e->steps.checkpoint = &e->checkpoint;
}

static int open_plan(zp_cuda *e)
{
  zp_cuda_rank *r = &e->rank;
  const zp_cuda_plan_how how = {.replicas = zp_cuda_replicas(&r->opt),
                                .fp32_gradients = r->opt.fp32_gradients,
                                .slots = r->opt.slots,
                                .entry_align =
                                    zp_entry_align(r->opt.entry_align, r->opt.cfg->precision)};
  if (zp_cuda_plan_open(&r->plan, r->opt.cfg, how, r->opt.rank))
    return zp_cuda_fail(r, ZP_E_MEMORY, "no host memory for the programs");
  if (zp_cuda_lock_open(&r->lock, r->opt.threads))
    return zp_cuda_fail(r, ZP_E_MEMORY, "no host memory for the lock");
  ZP_TRY(zp_cuda_comms_open(&e->comms, r));
  ZP_TRY(zp_cuda_buffers_open(&e->buffers, r));
  ZP_TRY(zp_cuda_buckets_open(&e->buckets, r));
  ZP_TRY(zp_cuda_gathers_open(&e->gathers, r));
  ZP_TRY(zp_cuda_gradients_open(&e->gradients, &e->ops));
  ZP_TRY(zp_cuda_messages_open(&e->messages, r, &e->comms));
  return zp_cuda_steps_open(&e->steps);
}

/* All kernels: CUDA loads one at its first launch, and may wait until the device is idle for that,
 * while communication waits for other ranks. STRM-7 */
static int open_device(zp_cuda *e)
{
  static const void *const *const kernel[] = {
#define ZP_KERNEL_AT(name) &zp_kernel_##name,
      ZP_KERNELS(ZP_KERNEL_AT)
#undef ZP_KERNEL_AT
  };
  ZP_CUDA(&e->rank, cudaSetDevice(e->rank.opt.device));
  for (size_t i = 0; i < sizeof kernel / sizeof *kernel; i++)
    ZP_TRY(zp_cuda_load_kernel(&e->rank, *kernel[i]));
  return 0;
}

static int open_streams(zp_cuda *e)
{
  zp_cuda_rank *r = &e->rank;
  ZP_TRY(zp_cuda_create_stream(r, &r->compute, 0));
  ZP_TRY(zp_cuda_create_stream(r, &r->reduce, 1));
  ZP_TRY(zp_cuda_create_stream(r, &r->p2p, 1));
  if (r->opt.partial_gather) ZP_TRY(zp_cuda_create_stream(r, &r->gather, 1));
  ZP_TRY(zp_cuda_gathers_create_events(&e->gathers));
  ZP_TRY(zp_cuda_pipeline_open(&e->pipeline));
  ZP_TRY(zp_cuda_steps_create_events(&e->steps));
  ZP_TRY(zp_cuda_step_memory_open(&e->memory, r));
  ZP_TRY(zp_cuda_order_open(&e->comms.order));
  ZP_TRY(zp_cuda_check(r, zp_cuda_progress_open(&r->progress, &r->plan), "cudaMallocHost"));
  e->allocations.bytes.words += (int64_t)sizeof *r->progress.shared;
  return zp_cuda_offload_open(&e->offload, &e->allocations);
}

static int open_memory(zp_cuda *e)
{
  const zp_layout *lay = &e->rank.plan.lay;
  zp_cuda_allocations *a = &e->allocations;
  for (int32_t k = 0; k < lay->n_flats; k++) {
    ZP_TRY(zp_cuda_buckets_open_flat(&e->buckets, k));
    ZP_TRY(zp_cuda_buffers_open_flat(&e->buffers, a, k));
  }
  ZP_TRY(zp_cuda_buckets_open_slots(&e->buckets, a));
  for (int32_t i = lay->n_params - 1; i >= 0; i--)
    ZP_TRY(zp_cuda_buffers_open_param(&e->buffers, a, i));
  ZP_TRY(zp_cuda_gradients_open_entries(&e->gradients, a));
  ZP_TRY(zp_cuda_buffers_open_scratch(&e->buffers, a));
  ZP_TRY(zp_cuda_offload_open_landing(&e->offload, a));
  ZP_TRY(zp_cuda_messages_allocate(&e->messages, a));
  return zp_cuda_step_memory_allocate(&e->memory, a);
}

zp_cuda *zp_cuda_open(const zp_cuda_options *options, zp_error *err)
{
  zp_cuda *e;
  *err = (zp_error){0};
  if (zp_cuda_check_options(options, err)) return NULL;
  e = calloc(1, sizeof *e);
  if (!e) {
    zp_fail(err, ZP_E_MEMORY, options->rank, "no host memory for the engine");
    return NULL;
  }
  zp_cuda_copy_options(&e->rank.opt, options, zp_coord_of(options->cfg, options->rank));
  e->rank.digest =
      zp_hyper_digest(e->rank.opt.optim, options->optims, options->clip, options->clip_eps);
  zp_cursor_begin(&e->rank.progress.host.cursor, NULL, 0, -1);
  e->rank.log = zp_log_open("cuda", options->rank);
  connect(e);
  if (open_plan(e) || open_device(e) || open_streams(e) || open_memory(e) ||
      zp_cuda_step_memory_start(&e->memory, &e->comms) || zp_cuda_comms_connect(&e->comms) ||
      zp_cuda_watchdog_start(e)) {
    zp_cuda_tear_down(e);
    *err = e->rank.failure.first;
    zp_cuda_close(e);
    return NULL;
  }
  return e;
}

/* ---- Closing --------------------------------------------------------------------------------- */

/* Aborted communication ends soon, but a kernel of the model's may wait without end; cudaFree,
 * which may wait for the whole device, would then block. */
static int is_idle(const zp_cuda *e)
{
  const zp_cuda_rank *r = &e->rank;
  const cudaStream_t streams[] = {r->compute, r->reduce, r->p2p, r->gather, e->offload.copy};
  for (size_t i = 0; i < sizeof streams / sizeof *streams; i++)
    if (streams[i] && !zp_cuda_drain_stream(r, streams[i])) return 0;
  return 1;
}

static void free_memory(zp_cuda *e)
{
  zp_cuda_checkpoint_end(&e->checkpoint);
  zp_cuda_free_pinned(&e->allocations);
  zp_cuda_free_device(&e->allocations);
  zp_cuda_step_memory_free(&e->memory);
  zp_cuda_messages_free(&e->messages);
  zp_cuda_progress_free_shared(&e->rank.progress);
}

static void close_parts(zp_cuda *e)
{
  zp_cuda_rank *r = &e->rank;
  zp_cuda_offload_close(&e->offload);
  zp_cuda_destroy_stream(r->compute);
  zp_cuda_destroy_stream(r->reduce);
  zp_cuda_destroy_stream(r->p2p);
  zp_cuda_destroy_stream(r->gather);
  zp_cuda_buckets_close(&e->buckets);
  zp_cuda_gathers_close(&e->gathers);
  zp_cuda_gradients_close(&e->gradients);
  zp_cuda_steps_close(&e->steps);
  zp_cuda_pipeline_close(&e->pipeline);
  zp_cuda_step_memory_close(&e->memory);
  zp_cuda_order_close(&e->comms.order);
  zp_cuda_messages_close(&e->messages);
  zp_cuda_buffers_close(&e->buffers);
  zp_cuda_comms_close(&e->comms);
  zp_cuda_allocations_close(&e->allocations);
  zp_cuda_progress_close(&r->progress);
  zp_cuda_lock_close(&r->lock);
  zp_cuda_plan_close(&r->plan);
}

int zp_cuda_close(zp_cuda *e)
{
  int status;
  if (!e) return 0;
  zp_cuda_watchdog_stop(e);
  /* with a deadline, and after all queued communication */
  if (!zp_cuda_has_failed(&e->rank) || e->rank.failure.agreed) zp_cuda_comms_finalize(&e->comms);
  zp_cuda_tear_down(e);
  status = e->rank.failure.first.status;
  zp_cuda_comms_abort(&e->comms); /* those that are left */
  if (is_idle(e)) free_memory(e);
  close_parts(e);
  free(e);
  return status;
}
