#include "entry.h"

#include "parts.h"
#include "teardown.h"

/* 0, or the first violated invariant in *err. */
static int check_parts(const zp_cuda *e, zp_error *err)
{
  const zp_cuda_rank *r = &e->rank;
  return zp_cuda_plan_invariant(&r->plan, err) ||
         zp_cuda_progress_invariant(&r->progress, &r->plan, err) ||
         zp_cuda_failure_invariant(&r->failure, err) || zp_cuda_lock_invariant(&r->lock, err) ||
         zp_cuda_allocations_invariant(&e->allocations, err) ||
         zp_cuda_comms_invariant(&e->comms, err) || zp_cuda_buffers_invariant(&e->buffers, err) ||
         zp_cuda_step_memory_invariant(&e->memory, err) ||
         zp_cuda_offload_invariant(&e->offload, err) ||
         zp_cuda_checkpoint_invariant(&e->checkpoint, err) ||
         zp_cuda_buckets_invariant(&e->buckets, err) ||
         zp_cuda_gathers_invariant(&e->gathers, err) ||
         zp_cuda_gradients_invariant(&e->gradients, err) ||
         zp_cuda_messages_invariant(&e->messages, err) ||
         zp_cuda_pipeline_invariant(&e->pipeline, err) || zp_cuda_steps_invariant(&e->steps, err) ||
         zp_cuda_watchdog_invariant(&e->watchdog, err);
}

static void check(zp_cuda *e)
{
  zp_error why;
  why.status = ZP_OK; /* the text is set with an error only */
  if (!zp_cuda_has_failed(&e->rank) && check_parts(e, &why))
    zp_cuda_fail(&e->rank, ZP_E_INTERNAL, "%s", why.text);
}

void zp_cuda_enter(zp_cuda *e)
{
  zp_cuda_lock_take(&e->rank.lock);
  check(e);
}

int zp_cuda_leave(zp_cuda *e)
{
  int status;
  check(e);
  zp_cuda_tear_down(e);
  status = e->rank.failure.first.status;
  zp_cuda_lock_release(&e->rank.lock);
  return status;
}
