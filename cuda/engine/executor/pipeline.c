/* spec: PIPE-2 … PIPE-6, STRM-3, STRM-4 */
#include "pipeline.h"

#include "../../../ref/base/invariant.h"
#include "../comm/collectives.h"
#include "../device/launch.h"
#include "../device/needed_records.h"
#include "../device/trace.h"
#include "statistics.h"

int zp_cuda_pipeline_open(zp_cuda_pipeline *p)
{
  ZP_TRY(zp_cuda_create_event(p->r, &p->forwarded));
  ZP_TRY(zp_cuda_create_event(p->r, &p->backwarded));
  ZP_TRY(zp_cuda_create_event(p->r, &p->with_next));
  return zp_cuda_create_event(p->r, &p->with_previous);
}

void zp_cuda_pipeline_close(const zp_cuda_pipeline *p)
{
  zp_cuda_destroy_event(p->forwarded);
  zp_cuda_destroy_event(p->backwarded);
  zp_cuda_destroy_event(p->with_next);
  zp_cuda_destroy_event(p->with_previous);
}

/* ---- Waits and records ----------------------------------------------------------------------- */

static int record_new(zp_cuda_pipeline *p, int32_t sync_point, cudaEvent_t event,
                      cudaStream_t stream, int64_t *is_new)
{
  if (!zp_cuda_record_is_needed(&p->r->plan, &p->r->progress.host)) return 0;
  *is_new = ++p->recorded;
  return zp_cuda_record(p->r, sync_point, event, stream);
}

/* One of two events of one stream: a wait for the later record implies the earlier one. */
typedef struct either {
  int32_t sync_point, wanted;
  cudaEvent_t event;
  int64_t *is_new; /* the record's number; 0: it has been waited for */
} either;

/* For the later of the two that are wanted and new. */
static int wait_once(const zp_cuda_pipeline *p, cudaStream_t stream, either a, either b)
{
  const int64_t x = a.wanted ? *a.is_new : 0, y = b.wanted ? *b.is_new : 0;
  const either *later = x > y ? &a : &b, *other = x > y ? &b : &a;
  const int64_t n = x > y ? x : y;
  if (n == 0) return 0;
  *later->is_new = 0;
  if (*other->is_new < n) *other->is_new = 0;
  return zp_cuda_wait(p->r, later->sync_point, stream, later->event);
}

/* ---- Exchanges ------------------------------------------------------------------------------- */

/* forward made what goes to the next stage; backward made what goes back, and has read what the
 * exchange overwrites: the gradient before, or the slot's activation */
static int wait_for_callbacks(zp_cuda_pipeline *p, int next, int out, int in)
{
  const either forwarded = {ZP_SYNC_FORWARDED_WAIT, out && next, p->forwarded, &p->new_forwarded};
  const either backwarded = {ZP_SYNC_BACKWARDED_WAIT, in || (out && !next), p->backwarded,
                             &p->new_backwarded};
  return wait_once(p, p->r->p2p, forwarded, backwarded);
}

int zp_cuda_p2p(zp_cuda_pipeline *p, const zp_op *op)
{
  zp_cuda_messages *m = p->messages;
  const int next = op->what == ZP_WHAT_ACTIVATION;
  const zp_message *out = NULL, *in = NULL;
  if (op->mb >= 0) out = next ? &m->act_out : &m->grad_out;
  if (op->recv_mb >= 0) {
    const int32_t slot = zp_act_place(m->slots, op->recv_mb);
    in = next ? &m->grad_in : &m->act_in[slot];
    if (next && p->r->plan.cfg->dynamic_shapes)
      zp_cuda_lay_gradient(&m->sent[slot], m->grad_in_room, &m->grad_in);
  }
  ZP_TRY(wait_for_callbacks(p, next, out != NULL, in != NULL));
  ZP_TRY(zp_cuda_exchange_messages(m->comms, op, out, in));
  zp_cuda_issued(p->r, op);
  if (next) return record_new(p, ZP_SYNC_NEXT_RECORD, p->with_next, p->r->p2p, &p->new_next);
  return record_new(p, ZP_SYNC_PREVIOUS_RECORD, p->with_previous, p->r->p2p, &p->new_previous);
}

/* ---- Callbacks ------------------------------------------------------------------------------- */

static int wait_for_exchanges(zp_cuda_pipeline *p)
{
  const either previous = {ZP_SYNC_PREVIOUS_WAIT, 1, p->with_previous, &p->new_previous};
  const either next = {ZP_SYNC_NEXT_WAIT, 1, p->with_next, &p->new_next};
  return wait_once(p, p->r->compute, previous, next);
}

static zp_cuda_call call_of(const zp_cuda_pipeline *p, const zp_op *op)
{
  return (zp_cuda_call){.step = p->r->progress.host.step,
                        .mb = op->mb,
                        .slot = op->slot,
                        .stream = p->r->compute,
                        .state = p->memory->state};
}

typedef int (*callback)(void *ctx, const zp_cuda_call *call);

/* Without the lock: threads of the model's may announce gradients. */
static int call_model(zp_cuda_rank *r, callback f, const zp_cuda_call *call, const char *what)
{
  int failed;
  zp_cuda_lock_release(&r->lock);
  failed = f(r->opt.model.ctx, call);
  zp_cuda_lock_take(&r->lock);
  if (zp_cuda_has_failed(r)) return -1;
  return failed ? zp_cuda_fail(r, ZP_E_WORKLOAD, "the model's %s failed", what) : 0;
}

int zp_cuda_forward(zp_cuda_pipeline *p, const zp_op *op)
{
  const zp_cuda_plan *plan = &p->r->plan;
  zp_cuda_messages *m = p->messages;
  zp_cuda_call call = call_of(p, op);
  if (!p->r->opt.model.forward) return 0;
  call.in = &m->act_in[op->slot];
  call.out = &m->act_out;
  call.loss = p->memory->loss + op->mb;
  if (plan->cfg->dynamic_shapes) ZP_TRY(zp_cuda_describe(m, op, &call));
  ZP_TRY(wait_for_exchanges(p));
  ZP_TRY(call_model(p->r, p->r->opt.model.forward, &call, "forward"));
  if (plan->at.pp == plan->cfg->pp - 1) { /* only the losses are read later */
    if (op->mb < plan->cfg->micro_batches - 1 || !zp_cuda_counts_losses(plan)) return 0;
    return zp_cuda_record(p->r, ZP_SYNC_LOSSES_RECORD, p->forwarded, p->r->compute);
  }
  return record_new(p, ZP_SYNC_FORWARDED_RECORD, p->forwarded, p->r->compute, &p->new_forwarded);
}

int zp_cuda_backward(zp_cuda_pipeline *p, const zp_op *op)
{
  zp_cuda_messages *m = p->messages;
  zp_cuda_call call = call_of(p, op);
  call.in = &m->grad_in;
  call.out = &m->grad_out;
  if (p->r->plan.cfg->dynamic_shapes)
    zp_cuda_lay_gradient(&m->act_in[op->slot], m->grad_out_room, &m->grad_out);
  ZP_TRY(wait_for_exchanges(p));
  if (!p->r->opt.model.backward) return 0;
  ZP_TRY(call_model(p->r, p->r->opt.model.backward, &call, "backward"));
  return record_new(p, ZP_SYNC_BACKWARDED_RECORD, p->backwarded, p->r->compute, &p->new_backwarded);
}

/* ---- Statistics and decision ----------------------------------------------------------------- */

int zp_cuda_wait_for_losses(const zp_cuda_pipeline *p, int after_forward)
{
  if (!zp_cuda_counts_losses(&p->r->plan) || !p->r->opt.model.forward || after_forward) return 0;
  return zp_cuda_wait(p->r, ZP_SYNC_LOSSES_WAIT, p->r->reduce, p->forwarded);
}

/* The last reader of the step's state and of the parameters that the updates overwrite. */
int zp_cuda_wait_for_backward(const zp_cuda_pipeline *p)
{
  return zp_cuda_wait(p->r, ZP_SYNC_FINISHED_WAIT, p->r->reduce, p->backwarded);
}

/* ---- Without callbacks ----------------------------------------------------------------------- */

/* Immediately: what reduce queues from here on is of this micro-batch, or later. */
int zp_cuda_join_loss(const zp_cuda_pipeline *p, cudaStream_t stream)
{
  ZP_TRY(zp_cuda_record(p->r, ZP_SYNC_CALLER_LOSS_RECORD, p->forwarded, stream));
  return zp_cuda_wait(p->r, ZP_SYNC_CALLER_LOSS_WAIT, p->r->reduce, p->forwarded);
}

int zp_cuda_record_caller(const zp_cuda_pipeline *p, cudaStream_t stream)
{
  return zp_cuda_record(p->r, ZP_SYNC_CALLER_RECORD, p->backwarded, stream);
}

int zp_cuda_pipeline_invariant(const zp_cuda_pipeline *p, zp_error *err)
{
  ZP_INVARIANT(err, -1, p->new_forwarded >= 0 && p->new_forwarded <= p->recorded);
  ZP_INVARIANT(err, -1, p->new_backwarded >= 0 && p->new_backwarded <= p->recorded);
  ZP_INVARIANT(err, -1, p->new_next >= 0 && p->new_next <= p->recorded);
  ZP_INVARIANT(err, -1, p->new_previous >= 0 && p->new_previous <= p->recorded);
  return 0;
}
