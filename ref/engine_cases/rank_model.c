/* The callbacks of the model, which a loop of the caller's own calls, too: the workload runs on the
 * host, with copies of the engine's messages. spec: PIPE-4, PIPE-6 */
#include <stdlib.h>
#include <string.h>

#include "rank_state.h"

static zp_mb at_mb(const zp_rank_job *r, const zp_engine_call *c)
{
  return (zp_mb){c->step, c->mb, r->ref->scaler.log2_scale};
}

/* ---- Messages -------------------------------------------------------------------------------- */

/* m->here: host memory with the shapes of `there`. */
static int describe(zp_rank_message *m, const zp_message *there)
{
  static const zp_message none;
  m->there = there ? *there : none;
  m->here.n = m->there.n;
  for (int32_t i = 0; i < m->there.n; i++) {
    void *data = realloc(m->here.t[i].data, (size_t)zp_tensor_bytes(&m->there.t[i]) + 1);
    if (!data) return -1;
    m->here.t[i] = m->there.t[i];
    m->here.t[i].data = data;
  }
  return 0;
}

/* Between `here` and `there`; the host waits. */
static int copy_message(const zp_rank_job *r, const zp_rank_message *m, int32_t to_host,
                        void *stream)
{
  const zp_rank_device *d = &r->o->device;
  for (int32_t i = 0; i < m->there.n; i++) {
    void *here = m->here.t[i].data, *there = m->there.t[i].data;
    const size_t bytes = (size_t)zp_tensor_bytes(&m->there.t[i]);
    if (bytes > 0 && d->copy(d->ctx, to_host ? here : there, to_host ? there : here, bytes, stream))
      return -1;
  }
  return m->there.n > 0 && d->wait(d->ctx, stream) ? -1 : 0;
}

static void release(zp_rank_message *m)
{
  for (int32_t i = 0; i < ZP_MSG_TENSORS; i++) free(m->here.t[i].data);
}

void zp_rank_messages_close(zp_rank_job *r)
{
  zp_rank_memory *m = &r->memory;
  for (int64_t i = 0; m->in && i < r->c->cfg.micro_batches; i++) release(&m->in[i]);
  release(&m->out);
  release(&m->dout);
  release(&m->din);
  free(m->in);
}

/* ---- Callbacks ------------------------------------------------------------------------------- */

/* The streams that the rank uses while a callback runs; in a loop of the caller's own, all that
 * were forked when the step began. */
static int begin(zp_rank_job *r, const zp_engine_call *c)
{
  r->memory.stream[r->memory.streams] = c->stream;
  return r->callbacks ? zp_rank_fork(r, c->stream) : 0;
}

static int end(zp_rank_job *r, const zp_engine_call *c)
{
  return r->callbacks ? zp_rank_join(r, c->stream) : 0;
}

int zp_rank_forward(void *ctx, const zp_engine_call *c)
{
  zp_rank_job *r = ctx;
  const zp_rank_device *d = &r->o->device;
  zp_rank_message *in = &r->memory.in[c->slot], *out = &r->memory.out;
  float loss = 0;
  if (begin(r, c) || (c->mb == 0 && zp_rank_read_params(r, c->stream))) return -1;
  if (describe(in, c->in) || describe(out, c->out) || copy_message(r, in, 1, c->stream)) return -1;
  if (r->work.forward(r->inst, at_mb(r, c), c->slot, &in->here, &out->here, &loss)) return -2;
  if (copy_message(r, out, 0, c->stream)) return -1;
  if (r->ref->at.pp == r->c->cfg.pp - 1) {
    float *kept = &r->memory.losses[c->step * r->c->cfg.micro_batches + c->mb];
    *kept = loss;
    if (c->loss && d->copy(d->ctx, c->loss, kept, sizeof loss, c->stream)) return -1;
  }
  return end(r, c);
}

static void keep(void *ctx, int32_t param, const void *grad)
{
  zp_rank_job *r = ctx;
  r->used[param] = 1;
  memcpy(zp_rank_made(r, param, r->mb), grad, zp_rank_grad_bytes(r, param));
}

/* What forward received is read again: the engine has kept it. */
int zp_rank_backward(void *ctx, const zp_engine_call *c)
{
  zp_rank_job *r = ctx;
  zp_rank_memory *m = &r->memory;
  const zp_sink sink = {r, keep};
  int status;
  r->mb = c->mb;
  memset(r->used, 0, sizeof r->used);
  if (begin(r, c) || copy_message(r, &m->in[c->slot], 1, c->stream)) return -1;
  if (describe(&m->dout, c->in) || describe(&m->din, c->out)) return -1;
  if (copy_message(r, &m->dout, 1, c->stream)) return -1;
  if (r->work.backward(r->inst, at_mb(r, c), c->slot, &m->dout.here, &m->din.here, sink)) return -2;
  if (copy_message(r, &m->din, 0, c->stream)) return -1;
  status = zp_rank_announce(r, c->mb);
  if (!status && c->mb == r->c->cfg.micro_batches - 1) status = zp_rank_read_params_again(r);
  return status ? status : end(r, c);
}

int zp_rank_shape(void *ctx, int64_t step, int64_t mb, zp_message *out)
{
  zp_rank_job *r = ctx;
  r->work.shape(r->work.ctx, &r->c->cfg, r->ref->at.pp, r->ref->at.dp, (zp_mb){step, mb, 0}, out);
  return 0;
}
