#include "inspect.h"

#include "../../ref/comm/comm.h"
#include "../../ref/engine/ledger.h"
#include "entry.h"
#include "parts.h"

cudaStream_t zp_cuda_stream_of(const zp_cuda *e, zp_cuda_stream_kind kind)
{
  const zp_cuda_rank *r = &e->rank;
  return kind == ZP_CUDA_COMPUTE  ? r->compute
         : kind == ZP_CUDA_REDUCE ? r->reduce
         : kind == ZP_CUDA_P2P    ? r->p2p
         : kind == ZP_CUDA_GATHER ? r->gather
                                  : e->offload.copy;
}

zp_cuda_arrays zp_cuda_arrays_of(const zp_cuda *e, int32_t k)
{
  const zp_cuda_flat *s = &e->buffers.flat[k];
  const int32_t slots = e->rank.plan.slots;
  return (zp_cuda_arrays){.master = s->master,
                          .moment1 = s->moment1,
                          .moment2 = s->moment2,
                          .window = s->window,
                          .slot = slots > 0 ? e->buckets.slot : NULL,
                          .slots = slots,
                          .slot_dtype = zp_cuda_slot_dtype(&e->rank, k)};
}

const float *zp_cuda_gradients_at(const zp_cuda *e, int32_t k, zp_range r)
{
  return zp_cuda_gradient_of(&e->buffers, k, r).data;
}

const zp_layout *zp_cuda_layout_of(const zp_cuda *e)
{
  return &e->rank.plan.lay;
}

const zp_step_state *zp_cuda_state_of(const zp_cuda *e)
{
  return e->memory.state;
}

int32_t zp_cuda_is_ready(const zp_cuda *e)
{
  return e->rank.progress.host.ready;
}

int64_t zp_cuda_position_of(const zp_cuda *e)
{
  return zp_cursor_position(&e->rank.progress.host.cursor);
}

int32_t zp_cuda_orders_by_events(const zp_cuda *e)
{
  return e->comms.order.by_events;
}

int64_t zp_cuda_host_updates(const zp_cuda *e)
{
  return e->offload.updates;
}

int32_t zp_cuda_step_has_ended(const zp_cuda *e, int64_t step)
{
  return cudaEventQuery(zp_cuda_step_end(&e->steps, step)) == cudaSuccess;
}

/* ---- Of engine.h ----------------------------------------------------------------------------- */

void *zp_cuda_param(const zp_cuda *e, int32_t param)
{
  const zp_layout *lay = &e->rank.plan.lay;
  const int32_t i = param - lay->first_param;
  return i < 0 || i >= lay->n_params ? NULL : e->buffers.param[i];
}

zp_cuda_memory zp_cuda_memory_of(const zp_cuda *e)
{
  return e->allocations.bytes;
}

int64_t zp_cuda_meta_waits(const zp_cuda *e)
{
  return e->messages.meta_waits;
}

int64_t zp_cuda_offload_waits(const zp_cuda *e)
{
  return e->offload.waits;
}

static int64_t message_bytes(const zp_message *m)
{
  int64_t bytes = 0;
  for (int32_t i = 0; i < m->n; i++) bytes += zp_tensor_bytes(&m->t[i]);
  return bytes;
}

int64_t zp_cuda_sent_bytes(const zp_cuda *e, const zp_op *op)
{
  const zp_cuda_plan *p = &e->rank.plan;
  const zp_cuda_messages *m = &e->messages;
  if (op->kind != ZP_OP_P2P)
    return zp_sent_bytes(op, zp_block_group_size(&p->block, op->group, op->key),
                         zp_block_group_index(&p->block, op->group, op->key));
  if (op->mb < 0) return 0;
  return message_bytes(op->what == ZP_WHAT_ACTIVATION ? &m->act_out : &m->grad_out);
}

int32_t zp_cuda_is_announced(zp_cuda *e)
{
  int32_t announced;
  zp_cuda_enter(e);
  announced = e->steps.begun;
  zp_cuda_leave(e);
  return announced;
}

int64_t zp_cuda_step_count(const zp_cuda *e)
{
  return e->rank.progress.host.step;
}

static const zp_error *find_error(const zp_cuda *e, const zp_error *other)
{
  static const zp_error none;
  const zp_error *err = other && other->status ? other : &none;
  zp_cuda_lock_take(&e->rank.lock);
  if (zp_cuda_has_failed(&e->rank)) err = &e->rank.failure.first;
  zp_cuda_lock_release(&e->rank.lock);
  return err;
}

const zp_error *zp_cuda_first_error(const zp_cuda *e)
{
  return find_error(e, NULL);
}

const zp_error *zp_cuda_why(const zp_cuda *e)
{
  return find_error(e, &e->checkpoint.unsaved);
}
