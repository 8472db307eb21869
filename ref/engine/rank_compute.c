/* Local ops that run the workload: load, forward, backward, and the check that gradients arrived.
 * spec: STEP-3, PIPE-6, STAT-1 */
#include <stdio.h>
#include <string.h>

#include "message_shape.h"
#include "rank_internal.h"

static zp_mb at_mb(const zp_rank *r, int64_t mb)
{
  zp_mb at;
  at.step = r->step;
  at.mb = mb;
  at.log2_scale = r->scaler.log2_scale;
  return at;
}

/* Points the tensors of a description at buffers that are large enough; 0 or -1. */
static int attach(zp_message *msg, zp_buffer *mem)
{
  for (int32_t i = 0; i < msg->n; i++) {
    if (zp_buffer_need(&mem[i], zp_tensor_bytes(&msg->t[i]))) return -1;
    msg->t[i].data = mem[i].data;
  }
  return 0;
}

void zp_rank_describe(const zp_rank *r, int32_t boundary, int64_t mb, zp_message *out)
{
  zp_activation_shape(r->work, r->cfg, boundary, r->at.dp, at_mb(r, mb), out);
}

void zp_rank_describe_gradient(const zp_rank *r, int32_t boundary, int64_t mb, zp_message *out)
{
  zp_activation_gradient_shape(r->work, r->cfg, boundary, r->at.dp, at_mb(r, mb), out);
}

int zp_rank_attach(zp_rank *r, zp_message *msg, zp_buffer *mem)
{
  if (attach(msg, mem) == 0) return 0;
  return zp_fail(r->err, ZP_E_MEMORY, r->rank,
                 "rank %d: no memory for a message of micro-batch %lld", r->rank,
                 (long long)r->current.mb);
}

static int workload_failed(zp_rank *r, const zp_op *op, const char *what)
{
  return zp_fail(r->err, ZP_E_WORKLOAD, r->rank,
                 "rank %d (stage %d, dp %d, tp %d), step %lld, program position %lld: %s of "
                 "micro-batch %lld refused what it received: dtype, shape or content is not what "
                 "the sender's stage makes (PIPE-6)",
                 r->rank, r->at.pp, r->at.dp, r->at.tp, (long long)r->step,
                 (long long)zp_cursor_position(&r->cursor), what, (long long)op->mb);
}

static int run_forward(zp_rank *r, const zp_op *op)
{
  static const zp_message none;
  float loss = 0;
  uint32_t bits;
  zp_rank_describe(r, r->at.pp, op->mb, &r->act_out);
  if (zp_rank_attach(r, &r->act_out, r->act_out_mem)) return r->err->status;
  if (r->work->forward(r->inst, at_mb(r, op->mb), op->slot,
                       r->at.pp > 0 ? &r->act_in[op->slot] : &none, &r->act_out, &loss))
    return workload_failed(r, op, "forward");
  if (r->at.pp != r->cfg->pp - 1 || r->at.tp != 0) return 0;
  memcpy(&bits, &loss, sizeof bits);
  zp_statistics_loss(&r->stats, bits);
  return 0;
}

/* One gradient from the workload. */
static void arrive(void *ctx, int32_t param, const void *grad)
{
  zp_rank *r = ctx;
  const int32_t i = param - r->lay.first_param;
  if (i < 0 || i >= r->lay.n_params || !r->used[i] || r->arrived[i]) {
    r->unasked = 1;
    r->twice = param;
    return;
  }
  r->arrived[i] = grad;
}

static int run_backward(zp_rank *r, const zp_op *op)
{
  static const zp_message none;
  const zp_sink sink = {r, arrive};
  const zp_mb at = at_mb(r, op->mb);
  const int last = r->at.pp == r->cfg->pp - 1;
  r->unasked = 0;
  for (int32_t i = 0; i < r->lay.n_params; i++) {
    const int32_t j = r->lay.first_param + i;
    r->arrived[i] = NULL;
    r->used[i] =
        !r->cfg->params[j].frozen && r->work->used(r->work->ctx, r->cfg, j, r->at.dp, r->at.tp, at);
  }
  zp_rank_describe_gradient(r, r->at.pp - 1, op->mb, &r->grad_out);
  if (zp_rank_attach(r, &r->grad_out, r->grad_out_mem)) return r->err->status;
  if (r->work->backward(r->inst, at, op->slot, last ? &none : &r->grad_in, &r->grad_out, sink))
    return workload_failed(r, op, "backward");
  return 0;
}

/* "entry 2 (h0.qkv.w)". */
static void put_name(zp_rank *r, int32_t j, char *text, int64_t cap)
{
  char name[64] = "";
  if (r->work->name && j >= 0 && j < r->cfg->n_params)
    r->work->name(r->work->ctx, r->cfg, j, name, sizeof name);
  snprintf(text, (size_t)cap, name[0] ? "entry %d (%s)" : "entry %d", j, name);
}

/* Gradients arrived = entries used, before any communication that would read them. STEP-3 */
static int run_arrived(zp_rank *r, const zp_op *op)
{
  int32_t used = 0, arrived = 0, named = 0;
  char name[96];
  for (int32_t i = 0; i < r->lay.n_params; i++) {
    used += r->used[i];
    arrived += r->arrived[i] != NULL;
  }
  if (used == arrived && !r->unasked) return 0;
  if (r->unasked) {
    put_name(r, r->twice, name, sizeof name);
    return zp_fail(r->err, ZP_E_ARRIVAL, r->rank,
                   "rank %d: the gradient of %s arrived twice, or though it was declared unused or "
                   "frozen, in step %lld, micro-batch %lld (STEP-3)",
                   r->rank, name, (long long)r->step, (long long)op->mb);
  }
  zp_fail(r->err, ZP_E_ARRIVAL, r->rank,
          "rank %d (stage %d, dp %d, tp %d): %d of %d gradients arrived in step %lld, micro-batch "
          "%lld (STEP-3); missing:",
          r->rank, r->at.pp, r->at.dp, r->at.tp, arrived, used, (long long)r->step,
          (long long)op->mb);
  for (int32_t i = 0; i < r->lay.n_params && named < 8; i++) {
    if (!r->used[i] || r->arrived[i]) continue;
    put_name(r, r->lay.first_param + i, name, sizeof name);
    zp_error_append(r->err, "%s %s", named ? "," : "", name);
    named++;
  }
  zp_error_append(r->err,
                  "%s. Declare entries unused where the loss does not reach them, or look at "
                  "who holds their gradient hooks. Parameters, masters and scaler are "
                  "unchanged.",
                  used - arrived > named ? " and more" : "");
  return ZP_E_ARRIVAL;
}

int zp_rank_compute(zp_rank *r, const zp_op *op)
{
  switch (op->kind) {
  case ZP_OP_FORWARD: return run_forward(r, op);
  case ZP_OP_BACKWARD: return run_backward(r, op);
  case ZP_OP_ARRIVED: return run_arrived(r, op);
  default: return 0; /* LOAD: a workload finds its data by (step, micro-batch); nothing to fetch */
  }
}
