/* The pipeline: callbacks on the compute stream, exchanges with the neighbours on another.
 *
 * Buffers: a place for each activation that is alive, one for each other direction. An exchange of
 * a backward slot is with the next stage, of a forward slot with the previous one (PIPE-3), so that
 * the latest exchange with a stage is the one that brought what compute needs, and took away what
 * it overwrites (PIPE-4). spec: PIPE-2 … PIPE-6 */
#include "engine_internal.h"

static int record_new(zp_cuda *e, int32_t site, cudaEvent_t event, cudaStream_t stream,
                      int64_t *is_new)
{
  if (!zp_cuda_is_wanted(e)) return 0;
  *is_new = ++e->recorded;
  return zp_cuda_record(e, site, event, stream);
}

/* One of two events of one stream: who waits for the later record is behind the earlier one. */
typedef struct either {
  int32_t site, wanted;
  cudaEvent_t event;
  int64_t *is_new; /* the record's number; 0: it has been waited for */
} either;

/* For those of the two that are wanted and new. */
static int wait_once(zp_cuda *e, cudaStream_t stream, either a, either b)
{
  const int64_t x = a.wanted ? *a.is_new : 0, y = b.wanted ? *b.is_new : 0;
  const either *later = x > y ? &a : &b, *other = x > y ? &b : &a;
  const int64_t n = x > y ? x : y;
  if (n == 0) return 0;
  *later->is_new = 0;
  if (*other->is_new < n) *other->is_new = 0;
  return zp_cuda_wait(e, later->site, stream, later->event);
}

/* ---- Exchanges ------------------------------------------------------------------------------- */

static int is_bad(ncclResult_t r)
{
  return r != ncclSuccess && r != ncclInProgress;
}

static int is_empty(const zp_cuda_message *m)
{
  int64_t count = 0;
  for (int32_t i = 0; m && i < m->n; i++) count += m->t[i].count;
  return count == 0;
}

/* Both sides know which tensors have no elements: these do not travel. */
int zp_cuda_transfer(zp_cuda *e, const zp_op *op, const zp_cuda_message *out,
                     const zp_cuda_message *in)
{
  const ncclComm_t comm = zp_cuda_comm(e, op);
  ncclResult_t state = ncclSuccess, ended;
  if (is_empty(out) && is_empty(in)) return 0;
  ZP_TRY(zp_cuda_comm_begin(e, e->p2p));
  ZP_NCCL(e, ncclGroupStart());
  for (int32_t i = 0; out && i < out->n && !is_bad(state); i++)
    if (out->t[i].count > 0)
      state = ncclSend(out->t[i].data, (size_t)out->t[i].count, zp_cuda_dtype(out->t[i].dtype),
                       op->root, comm, e->p2p);
  for (int32_t i = 0; in && i < in->n && !is_bad(state); i++)
    if (in->t[i].count > 0)
      state = ncclRecv(in->t[i].data, (size_t)in->t[i].count, zp_cuda_dtype(in->t[i].dtype),
                       op->root, comm, e->p2p);
  ended = ncclGroupEnd();
  ZP_TRY(zp_cuda_check_nccl(e, state, "ncclSend or ncclRecv"));
  ZP_TRY(zp_cuda_check_nccl(e, ended, "ncclGroupEnd"));
  return zp_cuda_comm_end(e, comm, e->p2p);
}

int zp_cuda_p2p(zp_cuda *e, const zp_op *op)
{
  const int next = op->what == ZP_WHAT_ACTIVATION;
  const zp_cuda_message *out = NULL, *in = NULL;
  if (op->mb >= 0) out = next ? &e->act_out : &e->grad_out;
  if (op->recv_mb >= 0) {
    const int32_t place = zp_act_place(e->act_slots, op->recv_mb);
    in = next ? &e->grad_in : &e->act_in[place];
    if (next && e->cfg->dynamic_shapes)
      zp_cuda_gradient_of(&e->sent[place], e->grad_in_room, &e->grad_in);
  }
  /* forward made what goes to the next stage; backward made what goes back, and has read what is
   * overwritten: the gradient before, or the place's activation */
  ZP_TRY(wait_once(
      e, e->p2p, (either){ZP_SITE_FORWARDED_WAIT, out && next, e->forwarded, &e->new_forwarded},
      (either){ZP_SITE_BACKWARDED_WAIT, in || (out && !next), e->backwarded, &e->new_backwarded}));
  ZP_TRY(zp_cuda_transfer(e, op, out, in));
  zp_cuda_issued(e, op);
  if (next) ZP_TRY(record_new(e, ZP_SITE_NEXT_RECORD, e->with_next, e->p2p, &e->new_next));
  else ZP_TRY(record_new(e, ZP_SITE_PREVIOUS_RECORD, e->with_previous, e->p2p, &e->new_previous));
  return e->opt.fault ? zp_cuda_plant_recorded(e, op) : 0;
}

/* ---- Callbacks ------------------------------------------------------------------------------- */

static int wait_for_exchanges(zp_cuda *e)
{
  if (zp_cuda_planted(e, ZP_PLANT_NO_P2P_WAIT)) return 0;
  return wait_once(e, e->compute,
                   (either){ZP_SITE_PREVIOUS_WAIT, 1, e->with_previous, &e->new_previous},
                   (either){ZP_SITE_NEXT_WAIT, 1, e->with_next, &e->new_next});
}

static zp_cuda_call call_of(const zp_cuda *e, const zp_op *op)
{
  return (zp_cuda_call){
      .step = e->step, .mb = op->mb, .slot = op->slot, .stream = e->compute, .state = e->state};
}

typedef int (*callback)(void *ctx, const zp_cuda_call *call);

/* Without the lock: threads of the model's may announce gradients. */
static int call_model(zp_cuda *e, callback f, const zp_cuda_call *call, const char *what)
{
  int failed;
  zp_cuda_leave(e);
  failed = f(e->opt.model.ctx, call);
  zp_cuda_enter(e);
  if (e->err.status) return -1;
  return failed ? zp_cuda_fail(e, ZP_CUDA_E_MODEL, "the model's %s failed", what) : 0;
}

int zp_cuda_forward(zp_cuda *e, const zp_op *op)
{
  zp_cuda_call call = call_of(e, op);
  if (e->own) return 0;
  call.in = &e->act_in[op->slot];
  call.out = &e->act_out;
  call.loss = e->loss + op->mb;
  if (e->cfg->dynamic_shapes) ZP_TRY(zp_cuda_describe(e, op, &call));
  ZP_TRY(wait_for_exchanges(e));
  ZP_TRY(call_model(e, e->opt.model.forward, &call, "forward"));
  if (e->at.pp == e->cfg->pp - 1) { /* nothing goes on but, in the end, the losses */
    if (op->mb < e->cfg->micro_batches - 1 || e->at.tp != 0) return 0;
    return zp_cuda_record(e, ZP_SITE_LOSSES_RECORD, e->forwarded, e->compute);
  }
  return record_new(e, ZP_SITE_FORWARDED_RECORD, e->forwarded, e->compute, &e->new_forwarded);
}

int zp_cuda_backward(zp_cuda *e, const zp_op *op)
{
  zp_cuda_call call = call_of(e, op);
  call.in = &e->grad_in;
  call.out = &e->grad_out;
  if (e->cfg->dynamic_shapes)
    zp_cuda_gradient_of(&e->act_in[op->slot], e->grad_out_room, &e->grad_out);
  ZP_TRY(wait_for_exchanges(e));
  zp_cuda_begin_gradients(e);
  e->mb = op->mb;
  e->next = e->pc + 2; /* behind ARRIVED */
  if (e->own) return 0;
  ZP_TRY(call_model(e, e->opt.model.backward, &call, "backward"));
  return record_new(e, ZP_SITE_BACKWARDED_RECORD, e->backwarded, e->compute, &e->new_backwarded);
}
