/* spec: PIPE-4, PIPE-6 */
#include "messages.h"

#include <stdlib.h>
#include <string.h>

#include "../../../ref/base/invariant.h"
#include "../../../ref/comm/comm.h"
#include "../../../ref/engine/window.h"
#include "../comm/collectives.h"
#include "../comm/host_wait.h"
#include "../device/launch.h"
#include "../device/trace.h"

static int is_integer(int32_t dtype)
{
  return dtype == ZP_I32 || dtype == ZP_I64;
}

/* ---- Memory ---------------------------------------------------------------------------------- */

int zp_cuda_messages_open(zp_cuda_messages *m, zp_cuda_rank *r, zp_cuda_comms *comms)
{
  const zp_cuda_plan *p = &r->plan;
  m->r = r;
  m->comms = comms;
  m->slots = (int32_t)zp_alive(p->cfg->pp, p->cfg->micro_batches, p->at.pp);
  m->act_in = calloc((size_t)m->slots, sizeof *m->act_in);
  m->act_in_room = calloc((size_t)m->slots, sizeof *m->act_in_room);
  m->sent = calloc((size_t)m->slots, sizeof *m->sent);
  if (m->act_in && m->act_in_room && m->sent) return 0;
  return zp_cuda_fail(r, ZP_E_MEMORY, "no host memory for the messages");
}

static int allocate(zp_cuda_allocations *a, const zp_message *like, int gradient, zp_message *out)
{
  out->n = 0;
  for (int32_t i = 0; i < like->n; i++) {
    zp_tensor *t = &out->t[out->n];
    if (gradient && is_integer(like->t[i].dtype)) continue; /* PIPE-6 */
    *t = like->t[i];
    ZP_TRY(zp_cuda_allocate(a, &a->bytes.messages, &t->data, zp_tensor_numel(t),
                            zp_dtype_bytes(t->dtype)));
    out->n++;
  }
  return 0;
}

/* Dynamic shapes: room for what the options allow; what lies there is described later. */
static int allocate_rooms(zp_cuda_messages *m, zp_cuda_allocations *a)
{
  const zp_cuda_plan *p = &m->r->plan;
  const int64_t bytes = m->r->opt.message_bytes, longs = sizeof *m->meta_host;
  const int previous = p->at.pp > 0, next = p->at.pp < p->cfg->pp - 1;
  int64_t *use = &a->bytes.messages;
  for (int32_t i = 0; previous && i < m->slots; i++)
    ZP_TRY(zp_cuda_allocate(a, use, &m->act_in_room[i], bytes, 1));
  if (previous) ZP_TRY(zp_cuda_allocate(a, use, &m->grad_out_room, bytes, 1));
  if (next) ZP_TRY(zp_cuda_allocate(a, use, &m->act_out_room, bytes, 1));
  if (next) ZP_TRY(zp_cuda_allocate(a, use, &m->grad_in_room, bytes, 1));
  ZP_TRY(zp_cuda_allocate(a, use, &m->meta_in, ZP_META_LONGS, longs));
  ZP_TRY(zp_cuda_allocate(a, use, &m->meta_out, ZP_META_LONGS, longs));
  ZP_TRY(zp_cuda_create_event(m->r, &m->meta_on_host));
  ZP_CUDA(m->r, cudaMallocHost((void **)&m->meta_host, ZP_META_LONGS * sizeof *m->meta_host));
  a->bytes.words += ZP_META_LONGS * longs;
  return 0;
}

int zp_cuda_messages_allocate(zp_cuda_messages *m, zp_cuda_allocations *a)
{
  const zp_cuda_options *o = &m->r->opt;
  if (m->r->plan.cfg->dynamic_shapes) return allocate_rooms(m, a);
  for (int32_t i = 0; i < m->slots; i++) ZP_TRY(allocate(a, &o->act_in, 0, &m->act_in[i]));
  ZP_TRY(allocate(a, &o->act_in, 1, &m->grad_out));
  ZP_TRY(allocate(a, &o->act_out, 0, &m->act_out));
  return allocate(a, &o->act_out, 1, &m->grad_in);
}

void zp_cuda_messages_free(const zp_cuda_messages *m)
{
  if (m->meta_host) cudaFreeHost(m->meta_host);
}

void zp_cuda_messages_close(zp_cuda_messages *m)
{
  zp_cuda_destroy_event(m->meta_on_host);
  free(m->act_in);
  free(m->act_in_room);
  free(m->sent);
}

/* ---- Layout ---------------------------------------------------------------------------------- */

/* cudaMalloc's own alignment, for every tensor of a message. */
enum { ALIGN = 256 };

/* Lays the tensors one after the other into the message's room; returns the bytes that they take,
 * which may be more than the room has. A tensor has at most 2^43 bytes. */
static int64_t lay(zp_message *m, char *room)
{
  int64_t used = 0;
  for (int32_t i = 0; i < m->n; i++) {
    m->t[i].data = room + used;
    used += (zp_tensor_bytes(&m->t[i]) + ALIGN - 1) / ALIGN * ALIGN;
  }
  return used;
}

void zp_cuda_lay_gradient(const zp_message *act, void *room, zp_message *out)
{
  out->n = 0;
  for (int32_t i = 0; i < act->n; i++)
    if (!is_integer(act->t[i].dtype)) out->t[out->n++] = act->t[i];
  lay(out, room); /* no more bytes than the activation */
}

/* ---- Descriptions ---------------------------------------------------------------------------- */

/* As a meta message; -1: it does not fit one. */
static int encode(const zp_message *m, int64_t meta[ZP_META_LONGS])
{
  if (m->n < 0 || m->n > ZP_MSG_TENSORS) return -1;
  for (int32_t i = 0; i < m->n; i++)
    if (m->t[i].ndim < 1 || m->t[i].ndim > ZP_MSG_DIMS) return -1;
  zp_meta_encode(m, meta);
  return 0;
}

const char *zp_cuda_decode(const int64_t *meta, int32_t precision, int64_t message_bytes,
                           void *room, zp_message *out)
{
  zp_message in = {0};
  if (zp_meta_decode(meta, &in))
    return "has more than 4 tensors, or one of no dtype, of no or more than 4 dimensions, or of "
           "more than 2^40 elements";
  out->n = in.n;
  for (int32_t i = 0; i < in.n; i++) {
    out->t[i] = in.t[i];
    if (in.t[i].dtype != precision && !is_integer(in.t[i].dtype))
      return "has a tensor whose dtype is neither the precision nor an integer's";
  }
  return lay(out, room) <= message_bytes ? NULL : "is larger than message_bytes allows";
}

static const char *decode(const zp_cuda_messages *m, const int64_t *meta, void *room,
                          zp_message *out)
{
  return zp_cuda_decode(meta, m->r->plan.cfg->precision, m->r->opt.message_bytes, room, out);
}

/* Before forward: its output is described and laid out. */
int zp_cuda_describe(zp_cuda_messages *m, const zp_op *op, const zp_cuda_call *call)
{
  zp_cuda_rank *r = m->r;
  int64_t meta[ZP_META_LONGS];
  zp_message described = {0};
  const char *why = "cannot be sent: 0 to 4 tensors, each of 1 to 4 dimensions";
  int failed;
  if (r->plan.at.pp == r->plan.cfg->pp - 1) return 0;
  zp_cuda_lock_release(&r->lock);
  failed = r->opt.model.shape(r->opt.model.ctx, call, &described);
  zp_cuda_lock_take(&r->lock);
  if (zp_cuda_has_failed(r)) return -1;
  if (failed) return zp_cuda_fail(r, ZP_E_WORKLOAD, "the model's shape failed");
  if (encode(&described, meta) == 0) why = decode(m, meta, m->act_out_room, &m->act_out);
  if (why)
    return zp_cuda_fail(
        r, ZP_E_WORKLOAD,
        "the activation of micro-batch %lld, as the model describes it, %s (PIPE-6; "
        "message_bytes is %lld)",
        (long long)op->mb, why, (long long)r->opt.message_bytes);
  m->sent[op->slot] = m->act_out;
  return 0;
}

/* ---- Meta messages --------------------------------------------------------------------------- */

static zp_message longs(int64_t *data)
{
  zp_message m = {.n = 1};
  m.t[0] = (zp_tensor){.dtype = ZP_I64, .ndim = 1, .dim = {ZP_META_LONGS}, .data = data};
  return m;
}

/* The integers travel with a launch, so that the host needs no buffer that the next may
 * overwrite. */
static int send_meta(zp_cuda_messages *m, const zp_op *op)
{
  zp_write_params p = {.to = m->meta_out, .n = ZP_META_LONGS};
  const zp_message out = longs(m->meta_out);
  _Static_assert((int)ZP_META_LONGS <= (int)ZP_WRITE_MAX, "a meta message fits a launch");
  encode(&m->act_out, p.value); /* was described before forward */
  ZP_TRY(zp_cuda_launch(m->r, zp_kernel_write, zp_launch_one(), &p, m->r->p2p));
  return zp_cuda_exchange_messages(m->comms, op, &out, NULL);
}

static int receive_meta(zp_cuda_messages *m, const zp_op *op)
{
  const int32_t slot = zp_act_place(m->slots, op->recv_mb);
  const zp_message in = longs(m->meta_in);
  const char *why;
  ZP_TRY(zp_cuda_exchange_messages(m->comms, op, NULL, &in));
  ZP_CUDA(m->r, cudaMemcpyAsync(m->meta_host, m->meta_in, ZP_META_LONGS * sizeof *m->meta_host,
                                cudaMemcpyDeviceToHost, m->r->p2p));
  ZP_TRY(zp_cuda_record(m->r, ZP_SYNC_META_RECORD, m->meta_on_host, m->r->p2p));
  ZP_TRY(zp_cuda_host_wait(m->comms, ZP_SYNC_META_HOST, m->meta_on_host,
                           "the meta message's arrival"));
  m->meta_waits++;
  why = decode(m, m->meta_host, m->act_in_room[slot], &m->act_in[slot]);
  if (!why) return 0;
  return zp_cuda_fail(m->r, ZP_E_MISMATCH,
                      "the meta message of micro-batch %lld from stage %d describes what %s "
                      "(PIPE-6; message_bytes is %lld)",
                      (long long)op->recv_mb, op->root, why, (long long)m->r->opt.message_bytes);
}

int zp_cuda_meta(zp_cuda_messages *m, const zp_op *op)
{
  ZP_TRY(op->mb >= 0 ? send_meta(m, op) : receive_meta(m, op));
  zp_cuda_issued(m->r, op);
  return 0;
}

int zp_cuda_messages_invariant(const zp_cuda_messages *m, zp_error *err)
{
  ZP_INVARIANT(err, -1, m->slots >= 1 && m->slots <= m->r->plan.cfg->micro_batches);
  for (int32_t i = 0; i < m->slots; i++)
    ZP_INVARIANT(err, -1, m->act_in[i].n >= 0 && m->act_in[i].n <= ZP_MSG_TENSORS);
  ZP_INVARIANT(err, -1, m->act_out.n >= 0 && m->act_out.n <= ZP_MSG_TENSORS);
  ZP_INVARIANT(err, -1, m->grad_in.n >= 0 && m->grad_in.n <= ZP_MSG_TENSORS);
  ZP_INVARIANT(err, -1, m->grad_out.n >= 0 && m->grad_out.n <= ZP_MSG_TENSORS);
  ZP_INVARIANT(err, -1, m->meta_waits >= 0);
  return 0;
}
