/* Dynamic shapes: what a message looks like is known when its micro-batch comes.
 *
 * The sender's model says it before forward; the receiver is sent 25 integers before the data, and
 * its host waits for them, as it cannot post a receive of unknown size. Memory is not allocated for
 * that: every message has room for options.message_bytes, and what does not fit is an error. What a
 * gradient looks like both sides know from its activation. spec: PIPE-6 */
#include <string.h>

#include "../../ref/engine/comm.h"
#include "engine_internal.h"

_Static_assert((int)ZP_CUDA_TENSORS == (int)ZP_MSG_TENSORS, "one limit of tensors");
_Static_assert((int)ZP_CUDA_DIMS == (int)ZP_MSG_DIMS, "one limit of dimensions");

/* ---- Where the tensors lie ------------------------------------------------------------------- */

/* cudaMalloc's own alignment, for every tensor of a message. */
enum { ALIGN = 256 };

/* Lays the tensors one after the other into the message's room; the bytes that they take, which may
 * be more than there are. A tensor has at most 2^43 bytes. */
static int64_t lay(zp_cuda_message *m, char *room)
{
  int64_t used = 0;
  for (int32_t i = 0; i < m->n; i++) {
    m->t[i].data = room + used;
    used += (m->t[i].count * zp_dtype_bytes(m->t[i].dtype) + ALIGN - 1) / ALIGN * ALIGN;
  }
  return used;
}

void zp_cuda_gradient_of(const zp_cuda_message *act, void *room, zp_cuda_message *out)
{
  out->n = 0;
  for (int32_t i = 0; i < act->n; i++)
    if (act->t[i].dtype != ZP_I32 && act->t[i].dtype != ZP_I64) out->t[out->n++] = act->t[i];
  lay(out, room); /* no more than the activation */
}

/* ---- Descriptions ---------------------------------------------------------------------------- */

/* As a meta message; -1 where it cannot be one. */
static int encode(const zp_cuda_message *m, int64_t meta[ZP_META_LONGS])
{
  zp_message out = {0};
  if (m->n < 0 || m->n > ZP_MSG_TENSORS) return -1;
  out.n = m->n;
  for (int32_t i = 0; i < m->n; i++) {
    if (m->t[i].ndim < 1 || m->t[i].ndim > ZP_MSG_DIMS) return -1;
    out.t[i].dtype = m->t[i].dtype;
    out.t[i].ndim = m->t[i].ndim;
    memcpy(out.t[i].dim, m->t[i].dim, sizeof out.t[i].dim);
  }
  zp_meta_encode(&out, meta);
  return 0;
}

const char *zp_cuda_decode(const zp_cuda *e, const int64_t *meta, void *room, zp_cuda_message *out)
{
  zp_message in;
  if (zp_meta_decode(meta, &in))
    return "has more than 4 tensors, or one of no dtype, of no or more than 4 dimensions, or of "
           "more than 2^40 elements";
  out->n = in.n;
  for (int32_t i = 0; i < in.n; i++) {
    zp_cuda_tensor *t = &out->t[i];
    *t = (zp_cuda_tensor){
        .dtype = in.t[i].dtype, .count = zp_tensor_numel(&in.t[i]), .ndim = in.t[i].ndim};
    memcpy(t->dim, in.t[i].dim, sizeof t->dim);
    if (t->dtype != e->cfg->precision && t->dtype != ZP_I32 && t->dtype != ZP_I64)
      return "has a tensor that is neither of the precision nor of integers";
  }
  return lay(out, room) <= e->opt.message_bytes ? NULL : "is larger than message_bytes allows";
}

/* ---- What this stage sends ------------------------------------------------------------------- */

/* Before forward: its output is described and laid out. */
int zp_cuda_describe(zp_cuda *e, const zp_op *op, const zp_cuda_call *call)
{
  int64_t meta[ZP_META_LONGS];
  zp_cuda_message said = {0};
  const char *why = "says nothing that can be sent";
  int failed;
  if (e->at.pp == e->cfg->pp - 1) return 0;
  zp_cuda_leave(e);
  failed = e->opt.model.shape(e->opt.model.ctx, call, &said);
  zp_cuda_enter(e);
  if (e->err.status) return -1;
  if (failed) return zp_cuda_fail(e, ZP_CUDA_E_MODEL, "the model's shape failed");
  if (encode(&said, meta) == 0) why = zp_cuda_decode(e, meta, e->act_out_room, &e->act_out);
  if (why)
    return zp_cuda_fail(
        e, ZP_CUDA_E_MODEL,
        "the activation of micro-batch %lld, as the model describes it, %s (PIPE-6; "
        "message_bytes is %lld)",
        (long long)op->mb, why, (long long)e->opt.message_bytes);
  e->sent[op->slot] = e->act_out;
  return 0;
}

/* ---- Meta messages --------------------------------------------------------------------------- */

static zp_cuda_message longs(int64_t *data)
{
  zp_cuda_message m = {.n = 1};
  m.t[0] = (zp_cuda_tensor){.dtype = ZP_I64, .count = ZP_META_LONGS, .data = data};
  return m;
}

/* The integers travel with a launch: no buffer of the host's might be overwritten by the next. */
static int send_meta(zp_cuda *e, const zp_op *op)
{
  zp_tell_params p = {.to = e->meta_out, .n = ZP_META_LONGS};
  const zp_cuda_message out = longs(e->meta_out);
  _Static_assert((int)ZP_META_LONGS <= (int)ZP_TELL_MAX, "a meta message fits a launch");
  encode(&e->act_out, p.value); /* was described before forward */
  ZP_TRY(zp_cuda_launch(e, zp_kernel_tell, zp_launch_one(), &p, e->p2p));
  return zp_cuda_transfer(e, op, &out, NULL);
}

static int receive_meta(zp_cuda *e, const zp_op *op)
{
  const int32_t place = zp_act_place(e->act_slots, op->recv_mb);
  const zp_cuda_message in = longs(e->meta_in);
  const char *why;
  ZP_TRY(zp_cuda_transfer(e, op, NULL, &in));
  ZP_CUDA(e, cudaMemcpyAsync(e->meta_host, e->meta_in, ZP_META_LONGS * sizeof *e->meta_host,
                             cudaMemcpyDeviceToHost, e->p2p));
  ZP_TRY(zp_cuda_record(e, ZP_SITE_MET_RECORD, e->met, e->p2p));
  ZP_TRY(zp_cuda_host_wait(e, ZP_SITE_MET_HOST, e->met, "the meta message's arrival"));
  e->meta_waits++;
  why = zp_cuda_decode(e, e->meta_host, e->act_in_room[place], &e->act_in[place]);
  if (!why) return 0;
  return zp_cuda_fail(e, ZP_CUDA_E_MISMATCH,
                      "the meta message of micro-batch %lld from stage %d describes what %s "
                      "(PIPE-6; message_bytes is %lld)",
                      (long long)op->recv_mb, op->root, why, (long long)e->opt.message_bytes);
}

int zp_cuda_meta(zp_cuda *e, const zp_op *op)
{
  ZP_TRY(op->mb >= 0 ? send_meta(e, op) : receive_meta(e, op));
  zp_cuda_issued(e, op);
  return 0;
}

int64_t zp_cuda_meta_waits(const zp_cuda *e)
{
  return e->meta_waits;
}
