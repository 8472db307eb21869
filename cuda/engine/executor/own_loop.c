/* spec: STEP-2, STRM-4 */
#include "own_loop.h"

#include <string.h>

#include "../device/launch.h"

static zp_cuda_rank *rank_of(const zp_cuda_steps *s)
{
  return s->ops->r;
}

int zp_cuda_continue_own_step(zp_cuda_steps *s)
{
  if (!s->begun) {
    ZP_TRY(zp_cuda_begin_step(s));
    memset(s->loss_copied, 0, (size_t)rank_of(s)->plan.cfg->micro_batches);
    s->begun = 1;
  }
  return zp_cuda_continue(s);
}

/* The current one; any, if the stage has no gradients. */
static int is_loss_awaited(const zp_cuda_steps *s, int64_t mb)
{
  const zp_cuda_plan *p = &rank_of(s)->plan;
  if (zp_cuda_gradients_trained(s->gradients) > 0) return mb >= 0 && mb == s->gradients->mb;
  return mb >= 0 && mb < p->cfg->micro_batches;
}

int zp_cuda_copy_loss(zp_cuda_steps *s, int64_t mb, const float *loss, cudaStream_t stream)
{
  zp_cuda_rank *r = rank_of(s);
  if (r->opt.model.forward || !loss)
    return zp_cuda_fail(r, ZP_E_REFUSED,
                        "the loss of micro-batch %lld cannot be passed: its address is NULL, or "
                        "there are callbacks, and forward stores it",
                        (long long)mb);
  ZP_TRY(zp_cuda_continue_own_step(s));
  if (!is_loss_awaited(s, mb) && zp_cuda_gradients_trained(s->gradients) == 0)
    return zp_cuda_fail(r, ZP_E_REFUSED,
                        "the loss of micro-batch %lld was passed; micro-batches are 0 to %lld",
                        (long long)mb, (long long)r->plan.cfg->micro_batches - 1);
  if (!is_loss_awaited(s, mb))
    return zp_cuda_fail(r, ZP_E_REFUSED,
                        "the loss of micro-batch %lld was passed, expected that of micro-batch "
                        "%lld",
                        (long long)mb, (long long)s->gradients->mb);
  s->loss_copied[mb] = 1;
  ZP_CUDA(
      r, cudaMemcpyAsync(s->ops->memory->loss + mb, loss, sizeof *loss, cudaMemcpyDefault, stream));
  return zp_cuda_join_loss(s->pipeline, stream);
}

int zp_cuda_end_own_step(zp_cuda_steps *s, cudaStream_t stream)
{
  zp_cuda_rank *r = rank_of(s);
  float *losses = s->ops->memory->loss;
  if (zp_cuda_has_failed(r)) return -1;
  if (r->opt.model.forward)
    return zp_cuda_fail(r, ZP_E_REFUSED, "there are callbacks: zp_cuda_step runs the whole step");
  ZP_TRY(zp_cuda_continue_own_step(s));
  for (int64_t mb = 0; mb < r->plan.cfg->micro_batches; mb++)
    if (!s->loss_copied[mb]) ZP_CUDA(r, cudaMemsetAsync(losses + mb, 0, sizeof *losses, r->reduce));
  ZP_TRY(zp_cuda_record_caller(s->pipeline, stream));
  s->ending = 1;
  ZP_TRY(zp_cuda_continue(s));
  s->ending = s->begun = 0;
  ZP_TRY(zp_cuda_record_step_end(s));
  r->progress.host.step++;
  return zp_cuda_wait_for_last_step(s, ZP_SYNC_RESUMED_WAIT, stream);
}
