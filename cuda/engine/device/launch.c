#include "launch.h"

#include "trace.h"

int zp_cuda_intercepted(const zp_cuda_rank *r, zp_cuda_action *action)
{
  const zp_cuda_intercept *test = &r->opt.intercept;
  const zp_cursor *c = &r->progress.host.cursor;
  const int64_t at = zp_cursor_position(c);
  if (!test->before) return 0;
  if (at < c->length) action->op = &c->ops[at];
  return test->before(test->ctx, action);
}

int zp_cuda_load_kernel(zp_cuda_rank *r, const void *kernel)
{
  zp_cuda_action a = {.kind = ZP_CUDA_LOAD, .kernel = kernel};
  struct cudaFuncAttributes unused;
  if (zp_cuda_intercepted(r, &a)) return 0;
  ZP_CUDA(r, cudaFuncGetAttributes(&unused, kernel));
  return 0;
}

int zp_cuda_launch(zp_cuda_rank *r, const void *kernel, zp_launch l, void *params,
                   cudaStream_t stream)
{
  zp_cuda_action a = {.kind = ZP_CUDA_LAUNCH, .kernel = kernel, .params = params, .stream = stream};
  void *args[] = {params};
  if (l.grid == 0 || zp_cuda_intercepted(r, &a)) return 0;
  ZP_CUDA(r, cudaLaunchKernel(kernel, (dim3){l.grid, 1, 1}, (dim3){l.block, 1, 1}, args, l.shared,
                              a.stream));
  zp_cuda_launched(r, &a);
  return 0;
}

int zp_cuda_wait(zp_cuda_rank *r, int32_t sync_point, cudaStream_t stream, cudaEvent_t event)
{
  zp_cuda_action a = {
      .kind = ZP_CUDA_WAIT, .sync_point = sync_point, .stream = stream, .event = event};
  if (zp_cuda_intercepted(r, &a)) return 0;
  ZP_CUDA(r, cudaStreamWaitEvent(a.stream, a.event, 0));
  zp_cuda_synced(r, &a, 0);
  return 0;
}

int zp_cuda_record(zp_cuda_rank *r, int32_t sync_point, cudaEvent_t event, cudaStream_t stream)
{
  zp_cuda_action a = {
      .kind = ZP_CUDA_RECORD, .sync_point = sync_point, .stream = stream, .event = event};
  if (zp_cuda_intercepted(r, &a)) return 0;
  ZP_CUDA(r, cudaEventRecord(a.event, a.stream));
  zp_cuda_synced(r, &a, 0);
  return 0;
}
