#include "inject.h"

#include <string.h>

#include "../../ref/engine/window.h"
#include "../engine/device/sync_points.h"
#include "../engine/inspect.h"
#include "../simdev/simdev.h"

static int is_made(const zp_injector *j, zp_mistake mistake)
{
  return j->fault && j->fault->mistake == (int32_t)mistake &&
         (j->fault->rank < 0 || j->fault->rank == j->rank);
}

/* ---- Left out -------------------------------------------------------------------------------- */

static int leave_out(zp_injector *j)
{
  const zp_injection *f = j->fault;
  if (++j->occurrences != f->nth && f->nth != 0) return 0;
  if (f->hits) ++*f->hits;
  return 1;
}

/* The sync points that a mistake leaves out. */
static int forgets(const zp_injector *j, int32_t sync_point)
{
  switch (sync_point) {
  case ZP_SYNC_FREE_WAIT: return is_made(j, ZP_INJECT_REFILL);
  case ZP_SYNC_NEXT_WAIT:
  case ZP_SYNC_PREVIOUS_WAIT: return is_made(j, ZP_INJECT_NO_P2P_WAIT);
  case ZP_SYNC_ENDED_WAIT: return is_made(j, ZP_INJECT_NO_STEP_WAIT);
  case ZP_SYNC_READ_HOST: return is_made(j, ZP_INJECT_HOST_READ);
  default: return 0;
  }
}

/* ---- Producers ------------------------------------------------------------------------------- */

/* 1: the stream is in the flat group's set already, from this bucket or an earlier one. */
static int is_known(zp_injector *j, int32_t k, cudaStream_t stream)
{
  for (int32_t i = 0; i < j->n_known[k]; i++)
    if (j->known[k][i] == stream) return 1;
  return 0;
}

/* 1: the set has the event for another stream. */
static int is_in_use(const zp_injector *j, int32_t k, cudaEvent_t event)
{
  for (int32_t i = 0; i < j->n_known[k]; i++)
    if (j->event[k][i] == event) return 1;
  return 0;
}

/* A set that is not emptied records a stream only once, each with an event of its own. */
static int keep_producer(zp_injector *j, int32_t k, zp_cuda_action *a)
{
  const int32_t n = j->n_known[k];
  if (is_known(j, k, a->stream)) return 1;
  if (n == ZP_INJECT_STREAMS) return 0;
  if (is_in_use(j, k, a->event) && j->n_own > 0) a->event = j->own[--j->n_own];
  j->known[k][n] = a->stream;
  j->event[k][n] = a->event;
  j->n_known[k] = n + 1;
  return 0;
}

static int before_producer_record(zp_injector *j, zp_cuda_action *a)
{
  const int32_t k = a->op->flat;
  if (k >= ZP_INJECT_FLATS) return 0;
  if (is_made(j, ZP_INJECT_PRODUCERS_KEPT)) return keep_producer(j, k, a);
  if (!is_made(j, ZP_INJECT_ONE_EVENT)) return 0;
  if (!j->event[k][0]) j->event[k][0] = a->event;
  a->event = j->event[k][0];
  return 0;
}

/* Waits for the whole set with the first of the bucket's waits. */
static int wait_for_kept(const zp_injector *j, const zp_cuda_action *a, int later)
{
  const int32_t k = a->op->flat;
  if (k >= ZP_INJECT_FLATS) return 0;
  for (int32_t i = 0; !later && i < j->n_known[k]; i++)
    cudaStreamWaitEvent(a->stream, j->event[k][i], 0);
  return 1;
}

/* A reduction waits for its producers one after the other. */
static int before_producer_wait(zp_injector *j, const zp_cuda_action *a)
{
  const int later = ++j->producer_waits > 1;
  if (is_made(j, ZP_INJECT_FIRST_BATCH)) return a->op->mb > 0;
  if (is_made(j, ZP_INJECT_PRODUCERS_KEPT)) return wait_for_kept(j, a, later);
  if (is_made(j, ZP_INJECT_COMPUTE_ONLY) && !later)
    cudaEventRecord(a->event, zp_cuda_stream_of(*j->engine, ZP_CUDA_COMPUTE));
  return later && (is_made(j, ZP_INJECT_ONE_PRODUCER) || is_made(j, ZP_INJECT_ONE_EVENT) ||
                   is_made(j, ZP_INJECT_COMPUTE_ONLY));
}

/* ---- Slots ----------------------------------------------------------------------------------- */

static const zp_flat *flat_of(const zp_injector *j, const zp_op *op)
{
  return &zp_cuda_layout_of(*j->engine)->flat[op->flat];
}

/* 1: the op works on a stage-2 slot, and there are others. */
static int has_slot(const zp_injector *j, const zp_op *op)
{
  return op && op->flat >= 0 && *j->engine && zp_cuda_arrays_of(*j->engine, op->flat).slots > 1;
}

/* What lies in slot 1 lies in slot 0 instead. */
static const void *in_first_slot(const zp_injector *j, const zp_op *op, const void *p)
{
  const zp_cuda_arrays a = zp_cuda_arrays_of(*j->engine, op->flat);
  const int64_t bytes = zp_widest(flat_of(j, op)) * zp_dtype_bytes(a.slot_dtype);
  const char *slot = a.slot[1], *at = p;
  return at >= slot && at < slot + bytes ? (const char *)a.slot[0] + (at - slot) : p;
}

static void reset_slot(const zp_injector *j, zp_cuda_action *a)
{
  if (a->kernel == zp_kernel_gather_copy || a->kernel == zp_kernel_gather_ordered) {
    zp_gather_params *g = a->params;
    for (int32_t i = 0; i < g->runs.n; i++) {
      zp_memory_run *run = &g->runs.here[i];
      run->in = in_first_slot(j, a->op, run->in);
      run->out = (void *)(uintptr_t)in_first_slot(j, a->op, run->out);
    }
  } else if (a->kernel == zp_kernel_add_ordered || a->kernel == zp_kernel_add_packed) {
    zp_add_params *add = a->params;
    add->own_in = in_first_slot(j, a->op, add->own_in);
  } else if (a->kind == ZP_CUDA_COMMUNICATE) {
    a->send = in_first_slot(j, a->op, a->send);
  }
}

/* Parts of other ranks, which NCCL receives and a kernel adds. */
static void share_slot(const zp_injector *j, zp_cuda_action *a)
{
  const zp_cuda_arrays arrays = zp_cuda_arrays_of(*j->engine, a->op->flat);
  void *other = arrays.slot[a->op->slot == 0];
  if (a->op->what != ZP_WHAT_GRADIENT) return;
  if (a->kind == ZP_CUDA_COMMUNICATE) a->recv = other;
  if (a->kernel != zp_kernel_add_ordered && a->kernel != zp_kernel_add_packed) return;
  if (((zp_add_params *)a->params)->parts) ((zp_add_params *)a->params)->parts = other;
}

/* As a caching allocator would: the memory is compute's again as soon as the host has no use for
 * it, and compute fills it with something else. */
void zp_inject_issued(const zp_injector *j, const zp_op *op)
{
  zp_cuda_arrays a;
  cudaStream_t compute;
  zp_range whole;
  int64_t element;
  if (!is_made(j, ZP_INJECT_EARLY_FREE) || op->what != ZP_WHAT_GRADIENT) return;
  a = zp_cuda_arrays_of(*j->engine, op->flat);
  compute = zp_cuda_stream_of(*j->engine, ZP_CUDA_COMPUTE);
  whole = zp_whole_range(flat_of(j, op), op->bucket);
  if (whole.count == 0) return;
  element = a.slot ? zp_dtype_bytes(a.slot_dtype) : zp_sum_bytes(j->cfg->reduce);
  cudaMemsetAsync(a.slot ? a.slot[op->slot] : (char *)a.window + whole.at * element, 0x7f,
                  (size_t)(whole.count * element), compute);
}

/* ---- NCCL ------------------------------------------------------------------------------------ */

/* The records that follow a communication come before its work. */
static void finish(zp_injector *j)
{
  ncclResult_t state = ncclInProgress;
  const ncclComm_t comm = j->unfinished;
  j->unfinished = NULL;
  while (ncclCommGetAsyncError(comm, &state) == ncclSuccess && state == ncclInProgress)
    simdev_pause();
}

static int before_enqueue(zp_injector *j, const zp_cuda_action *a)
{
  if (!is_made(j, ZP_INJECT_UNSETTLED) || !*j->engine ||
      a->stream != zp_cuda_stream_of(*j->engine, ZP_CUDA_P2P))
    return 0;
  j->unfinished = a->comm;
  return 1;
}

static void before_communication(const zp_injector *j, zp_cuda_action *a)
{
  if (is_made(j, ZP_INJECT_GATHER_EARLY) && a->op->kind == ZP_OP_ALL_GATHER)
    a->stream = zp_cuda_stream_of(*j->engine, ZP_CUDA_P2P);
}

/* The process calls NCCL, which reads its variables, before the engine sets one. */
static int before_load(zp_injector *j)
{
  ncclUniqueId unused;
  if (is_made(j, ZP_INJECT_ORDER_LATE) && !j->nccl_called) {
    ncclGetUniqueId(&unused);
    j->nccl_called = 1;
  }
  return is_made(j, ZP_INJECT_UNLOADED);
}

int zp_injects_late_order(const zp_injection *fault)
{
  return fault && fault->mistake == ZP_INJECT_ORDER_LATE;
}

/* ---- The intercept --------------------------------------------------------------------------- */

static int before(void *ctx, zp_cuda_action *a)
{
  zp_injector *j = ctx;
  const zp_injection *f = j->fault;
  if (j->unfinished && a->kind != ZP_CUDA_RECORD) finish(j);
  if (f->rank >= 0 && f->rank != j->rank) return 0;
  if (a->sync_point && a->sync_point == f->sync_point) return leave_out(j);
  if (a->sync_point == ZP_SYNC_COPIED_WAIT) return before_producer_wait(j, a);
  j->producer_waits = 0;
  if (a->sync_point == ZP_SYNC_COPIED_RECORD) return before_producer_record(j, a);
  if (a->sync_point) return forgets(j, a->sync_point);
  if (a->kind == ZP_CUDA_LOAD) return before_load(j);
  if (a->kind == ZP_CUDA_ENQUEUE) return before_enqueue(j, a);
  if (a->kind == ZP_CUDA_COMMUNICATE) before_communication(j, a);
  if (is_made(j, ZP_INJECT_SLOT_RESET) && has_slot(j, a->op)) reset_slot(j, a);
  if (is_made(j, ZP_INJECT_SHARED_BUFFER) && has_slot(j, a->op)) share_slot(j, a);
  return 0;
}

zp_cuda_intercept zp_inject(zp_injector *j, const zp_injection *fault, const zp_config *cfg,
                            int32_t rank, zp_cuda *const *engine)
{
  memset(j, 0, sizeof *j);
  j->fault = fault;
  j->cfg = cfg;
  j->rank = rank;
  j->engine = engine;
  /* before the first step: within steps nothing is made (STRM-7) */
  while (is_made(j, ZP_INJECT_PRODUCERS_KEPT) && j->n_own < ZP_INJECT_OWN &&
         cudaEventCreateWithFlags(&j->own[j->n_own], cudaEventDisableTiming) == cudaSuccess)
    j->n_own++;
  return (zp_cuda_intercept){j, fault ? before : NULL};
}

void zp_inject_close(const zp_injector *j)
{
  for (int32_t i = 0; i < ZP_INJECT_OWN; i++)
    if (j->own[i]) cudaEventDestroy(j->own[i]);
}
