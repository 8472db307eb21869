/* spec: OPT-5, STRM-9 */
#include "offload.h"

#include "../../../ref/base/invariant.h"
#include "../../host_optimizer/update.h"
#include "../comm/host_wait.h"
#include "../device/launch.h"

/* ---- Memory, streams, events ----------------------------------------------------------------- */

int zp_cuda_offload_open(zp_cuda_offload *o, zp_cuda_allocations *a)
{
  const zp_cuda_plan *p = &o->r->plan;
  cudaEvent_t *const events[] = {&o->averaged,    &o->decided,     &o->copied_out,
                                 &o->copied_back, &o->consumed[0], &o->consumed[1]};
  if (!o->r->opt.offload) return 0;
  for (int32_t k = 0; k < p->lay.n_flats; k++) {
    const int64_t buckets = p->lay.flat[k].use == 0 ? zp_buckets(&p->lay.flat[k]) : 0;
    o->updates += buckets;
    o->landings += zp_has_views(p->cfg, &p->lay, k) ? 0 : buckets;
  }
  ZP_TRY(zp_cuda_create_stream(o->r, &o->copy, 0));
  for (size_t i = 0; i < sizeof events / sizeof *events; i++)
    ZP_TRY(zp_cuda_create_event(o->r, events[i]));
  return zp_cuda_allocate_pinned(a, &o->groups, p->cfg->optgroups, sizeof *o->groups);
}

/* Bytes of the largest bucket that is copied back. */
static int64_t largest(const zp_cuda_plan *p)
{
  int64_t most = 0;
  for (int32_t k = 0; k < p->lay.n_flats; k++) {
    const zp_flat *f = &p->lay.flat[k];
    const int64_t n = zp_widest(f) / (p->cfg->stage == 0 ? 1 : f->members);
    const int64_t bytes = n * zp_cuda_value_bytes(p, k);
    if (f->use == 0 && !zp_has_views(p->cfg, &p->lay, k) && bytes > most) most = bytes;
  }
  return most;
}

int zp_cuda_offload_open_landing(zp_cuda_offload *o, zp_cuda_allocations *a)
{
  const zp_cuda_plan *p = &o->r->plan;
  for (int32_t i = 0; o->landings > 0 && i < 2; i++)
    ZP_TRY(zp_cuda_allocate(a, &a->bytes.landing, &o->landing[i], largest(p), 1));
  return 0;
}

void zp_cuda_offload_close(const zp_cuda_offload *o)
{
  const cudaEvent_t events[] = {o->averaged,    o->decided,     o->copied_out,
                                o->copied_back, o->consumed[0], o->consumed[1]};
  for (size_t i = 0; i < sizeof events / sizeof *events; i++) zp_cuda_destroy_event(events[i]);
  zp_cuda_destroy_stream(o->copy);
}

/* ---- To the host ----------------------------------------------------------------------------- */

int zp_cuda_offload_send_gradients(const zp_cuda_offload *o, const zp_op *op, zp_range r)
{
  const float *from = zp_cuda_gradient_of(o->buffers, op->flat, r).data;
  float *to = o->buffers->flat[op->flat].gradient_host;
  ZP_TRY(zp_cuda_record(o->r, ZP_SYNC_AVERAGED_RECORD, o->averaged, o->r->reduce));
  ZP_TRY(zp_cuda_wait(o->r, ZP_SYNC_AVERAGED_WAIT, o->copy, o->averaged));
  ZP_CUDA(o->r, cudaMemcpyAsync(to + r.at, from, (size_t)r.count * sizeof *to,
                                cudaMemcpyDeviceToHost, o->copy));
  return 0;
}

int zp_cuda_offload_send_decision(zp_cuda_offload *o)
{
  const zp_cuda_step_memory *m = o->memory;
  const size_t groups = (size_t)o->r->plan.cfg->optgroups * sizeof *o->groups;
  if (o->updates == 0) return 0; /* the host does not read it */
  ZP_TRY(zp_cuda_record(o->r, ZP_SYNC_DECIDED_RECORD, o->decided, o->r->reduce));
  ZP_TRY(zp_cuda_wait(o->r, ZP_SYNC_DECIDED_WAIT, o->copy, o->decided));
  ZP_CUDA(o->r, cudaMemcpyAsync(m->state_host, m->state, sizeof *m->state, cudaMemcpyDeviceToHost,
                                o->copy));
  ZP_CUDA(o->r, cudaMemcpyAsync(o->groups, m->groups, groups, cudaMemcpyDeviceToHost, o->copy));
  o->has_decision = 0;
  o->n = 0;
  return zp_cuda_record(o->r, ZP_SYNC_OUT_RECORD, o->copied_out, o->copy);
}

/* ---- On the host, and back ------------------------------------------------------------------- */

static int receive_decision(zp_cuda_offload *o)
{
  if (o->has_decision) return 0;
  ZP_TRY(zp_cuda_host_wait(o->comms, ZP_SYNC_OUT_HOST, o->copied_out,
                           "the gradients' copies to the host"));
  ZP_TRY(zp_cuda_check_hyper(o->r, o->r->progress.host.step));
  o->has_decision = 1;
  o->waits++;
  return 0;
}

/* Without the lock: nothing else reads what a step leaves on the host before the call returns. */
static int update_range(const zp_cuda_offload *o, const zp_op *op, zp_range r)
{
  const zp_cuda_plan *p = &o->r->plan;
  const zp_cuda_flat *s = &o->buffers->flat[op->flat];
  const zp_host_update u = {.group = o->groups + p->lay.flat[op->flat].optgroup,
                            .grad = s->gradient_host + r.at,
                            .divisor = zp_cuda_gradient_of(o->buffers, op->flat, r).divisor,
                            .master = s->master + r.at,
                            .m = s->moment1 + r.at,
                            .v = s->moment2 + r.at,
                            .out = (char *)s->param_host + r.at * zp_cuda_value_bytes(p, op->flat),
                            .n = r.count,
                            .real = o->memory->state_host->decision.skipped ? 0 : r.real,
                            .dtype = zp_cuda_value_dtype(p, op->flat)};
  zp_cuda_lock_release(&o->r->lock);
  zp_host_update_run(&u, o->r->opt.offload_threads);
  zp_cuda_lock_take(&o->r->lock);
  return zp_cuda_has_failed(o->r) ? -1 : 0;
}

int zp_cuda_offload_update(zp_cuda_offload *o, const zp_op *op, void *to)
{
  const zp_cuda_plan *p = &o->r->plan;
  const zp_range r = zp_local_range(&p->block.cfg, &p->lay, p->block.at, op->flat, op->bucket);
  const int64_t size = zp_cuda_value_bytes(p, op->flat);
  const char *from = (const char *)o->buffers->flat[op->flat].param_host + r.at * size;
  const int32_t k = (int32_t)(o->n % 2);
  ZP_TRY(receive_decision(o));
  ZP_TRY(update_range(o, op, r));
  if (!to) {
    if (o->n >= 2) ZP_TRY(zp_cuda_wait(o->r, ZP_SYNC_CONSUMED_WAIT, o->copy, o->consumed[k]));
    o->n++;
    to = o->landing[k];
  }
  ZP_CUDA(o->r,
          cudaMemcpyAsync(to, from, (size_t)(r.count * size), cudaMemcpyHostToDevice, o->copy));
  ZP_TRY(zp_cuda_record(o->r, ZP_SYNC_BACK_RECORD, o->copied_back, o->copy));
  return zp_cuda_wait(o->r, ZP_SYNC_BACK_WAIT,
                      o->r->opt.partial_gather ? o->r->gather : o->r->reduce, o->copied_back);
}

void *zp_cuda_offload_landing(const zp_cuda_offload *o)
{
  return o->landing[(o->n - 1) % 2];
}

/* If a later bucket of the step comes to the same buffer. */
int zp_cuda_offload_release_landing(const zp_cuda_offload *o)
{
  if (o->n + 1 >= o->landings) return 0;
  return zp_cuda_record(o->r, ZP_SYNC_CONSUMED_RECORD, o->consumed[(o->n - 1) % 2], o->r->reduce);
}

int zp_cuda_offload_invariant(const zp_cuda_offload *o, zp_error *err)
{
  ZP_INVARIANT(err, -1, !o->copy == !o->r->opt.offload);
  ZP_INVARIANT(err, -1, o->n >= 0 && o->n <= o->landings && o->landings <= o->updates);
  ZP_INVARIANT(err, -1, o->waits >= 0);
  ZP_INVARIANT(err, -1, !o->copy || o->groups);
  ZP_INVARIANT(err, -1, o->landings == 0 || (o->landing[0] && o->landing[1]));
  return 0;
}
