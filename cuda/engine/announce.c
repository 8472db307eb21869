/* The calls that any thread may make, and those that belong to them. spec: RED-3, RED-6, STEP-3 */
#include "entry.h"
#include "executor/own_loop.h"
#include "parts.h"
#include "teardown.h"

typedef struct announcement {
  int32_t param;
  int64_t mb;
  zp_cuda_arrival arrival;
  const void *grad;
  cudaStream_t stream;
  void **buffer; /* not NULL: no announcement, but where its gradient may be written */
} announcement;

static int announce(zp_cuda *e, const void *arguments)
{
  const announcement *a = arguments;
  const int own = !e->rank.opt.model.forward;
  if (own) ZP_TRY(zp_cuda_continue_own_step(&e->steps));
  if (a->buffer)
    return zp_cuda_gradients_buffer(&e->gradients, a->param, a->mb, a->stream, a->buffer);
  ZP_TRY(
      zp_cuda_gradients_announce(&e->gradients, a->param, a->mb, a->arrival, a->grad, a->stream));
  return own ? zp_cuda_continue_own_step(&e->steps) : 0;
}

/* Launches what the announcement allows, on the engine's device. NCCL needs one order of launches
 * on all ranks, not one thread: the lock ensures the program's order, and each group begins and
 * ends while it is held. A thread that has used no device yet has 0 as its current one, and no
 * context: calls of the driver need one, so the device is set even if it is already current. */
static int on_device(zp_cuda *e, int (*call)(zp_cuda *e, const void *arguments),
                     const void *arguments)
{
  zp_cuda_rank *r = &e->rank;
  int device = r->opt.device, failed, status;
  zp_cuda_enter(e);
  failed = zp_cuda_has_failed(r) || zp_cuda_check(r, cudaGetDevice(&device), "cudaGetDevice") ||
           zp_cuda_check(r, cudaSetDevice(r->opt.device), "cudaSetDevice") || call(e, arguments);
  zp_cuda_tear_down(e); /* on the engine's device, too */
  if (device != r->opt.device && cudaSetDevice(device) != cudaSuccess)
    failed = zp_cuda_fail(r, ZP_E_DEVICE, "device %d could not be made current again", device);
  status = zp_cuda_leave(e);
  return failed ? status : 0;
}

static const char *dtype_name(int32_t dtype)
{
  return dtype == ZP_F32    ? "fp32"
         : dtype == ZP_BF16 ? "bf16"
         : dtype == ZP_F16  ? "fp16"
                            : "not a floating-point type";
}

/* The entry, or NULL: no entry has this number, which is refused later. */
static const zp_param *entry_of(const zp_cuda *e, int32_t param)
{
  const zp_config *cfg = e->rank.plan.cfg;
  return param >= 0 && param < cfg->n_params ? &cfg->params[param] : NULL;
}

/* Errors of an announcement, before anything is queued. */
static int refuse_dtype(zp_cuda *e, int32_t param, int32_t dtype, int32_t expected)
{
  zp_cuda_enter(e);
  zp_cuda_fail(&e->rank, ZP_E_ARRIVAL, "the dtype of entry %d's gradient: got %s, expected %s, %s",
               param, dtype_name(dtype),
               e->rank.opt.fp32_gradients ? "that of fp32_gradients" : "the entry's",
               dtype_name(expected));
  return zp_cuda_leave(e);
}

static int refuse_count(zp_cuda *e, int32_t param, int64_t count, int64_t expected)
{
  zp_cuda_enter(e);
  zp_cuda_fail(&e->rank, ZP_E_ARRIVAL,
               "the gradient of entry %d: got a count of %lld, expected %lld, the entry's elements",
               param, (long long)count, (long long)expected);
  return zp_cuda_leave(e);
}

static int refuse_address(zp_cuda *e, int32_t param)
{
  zp_cuda_enter(e);
  zp_cuda_fail(&e->rank, ZP_E_ARRIVAL, "the address of entry %d's gradient is NULL", param);
  return zp_cuda_leave(e);
}

static int refuse_stream(zp_cuda *e, int32_t param)
{
  zp_cuda_enter(e);
  zp_cuda_fail(&e->rank, ZP_E_ARRIVAL,
               "the gradient of entry %d comes on cudaStreamPerThread, which is another stream "
               "in each thread",
               param);
  return zp_cuda_leave(e);
}

int zp_cuda_grad_ready(zp_cuda *e, int32_t param, int64_t mb, const void *grad, int64_t count,
                       int32_t dtype, cudaStream_t stream)
{
  const zp_param *p = entry_of(e, param);
  const int32_t expected = p ? zp_block_gradients(&e->rank.plan.block, p->fp32) : dtype;
  const announcement a = {param, mb, ZP_CUDA_READY, grad, stream, NULL};
  if (dtype != expected) return refuse_dtype(e, param, dtype, expected);
  if (p && count != p->numel) return refuse_count(e, param, count, p->numel);
  if (!grad && !(p && p->numel == 0)) return refuse_address(e, param);
  if (stream == cudaStreamPerThread) return refuse_stream(e, param);
  return on_device(e, announce, &a);
}

/* The reduction's own stream writes its zeros, after all readers of the bucket's earlier
 * contents. */
int zp_cuda_grad_unused(zp_cuda *e, int32_t param, int64_t mb)
{
  const announcement a = {param, mb, ZP_CUDA_UNUSED, NULL, e->rank.reduce, NULL};
  return on_device(e, announce, &a);
}

int zp_cuda_grad_buffer(zp_cuda *e, int32_t param, int64_t mb, cudaStream_t stream, void **buffer)
{
  const announcement a = {param, mb, ZP_CUDA_AWAITED, NULL, stream, buffer};
  *buffer = NULL;
  if (stream == cudaStreamPerThread) return refuse_stream(e, param);
  return on_device(e, announce, &a);
}

/* ---- Parameters and losses ------------------------------------------------------------------- */

typedef struct entries {
  const int32_t *params;
  int32_t n;
  cudaStream_t stream;
} entries;

static int wait_params(zp_cuda *e, const void *arguments)
{
  const entries *a = arguments;
  return zp_cuda_gathers_wait(&e->gathers, a->params, a->n, a->stream);
}

/* Stream 0 is that of the current device. */
int zp_cuda_wait_params(zp_cuda *e, const int32_t *params, int32_t n, cudaStream_t stream)
{
  const entries a = {params, n, stream};
  return on_device(e, wait_params, &a);
}

typedef struct announced_loss {
  int64_t mb;
  const float *loss;
  cudaStream_t stream;
} announced_loss;

static int copy_loss(zp_cuda *e, const void *arguments)
{
  const announced_loss *a = arguments;
  return zp_cuda_copy_loss(&e->steps, a->mb, a->loss, a->stream);
}

int zp_cuda_loss(zp_cuda *e, int64_t mb, const float *loss, cudaStream_t stream)
{
  const announced_loss a = {mb, loss, stream};
  return on_device(e, copy_loss, &a);
}

int zp_cuda_refuse(zp_cuda *e, const char *why)
{
  zp_cuda_enter(e);
  zp_cuda_fail(&e->rank, ZP_E_REFUSED, "%s", why);
  return zp_cuda_leave(e);
}
