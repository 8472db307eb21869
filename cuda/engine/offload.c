/* Offload: masters and moments in pinned host memory. A bucket's means go to the host as soon as
 * they are made, on a stream of their own, while reductions and statistics go on; behind the last
 * of them goes the decision, for which the host waits once. Then the host updates bucket after
 * bucket, and while it is at one, the parameters of the one before go back and are gathered.
 *
 * The caller's thread leads the update, and the threads of OpenMP share it: nothing heavy runs in a
 * callback of CUDA's. Another thread would free nobody, as the next step's communications come
 * behind this step's gathers. The lock is given up meanwhile, so that the watchdog looks.
 *
 * No wait is needed for what the decision is behind already: the last step's gathers, hence all
 * that read places, means' copies and rounded masters then. spec: OPT-5, STRM-9 */
#include <stdlib.h>
#include <string.h>

#include "../offload/pages.h"
#include "../offload/update.h"
#include "engine_internal.h"

/* ---- Memory, streams, events ----------------------------------------------------------------- */

/* Large pages, which CUDA pins as they are. NULL: the array is small, there is no such memory, or CUDA
 * does not pin it; it may have memory of its own, whose pages it chooses. */
static void *take_pages(zp_cuda_pinned *to, size_t bytes)
{
  if (bytes < ZP_LARGE_PAGE || !(to->p = zp_host_pages(bytes, 1))) return NULL;
  if (cudaHostRegister(to->p, bytes, cudaHostRegisterDefault) == cudaSuccess) {
    to->pages = bytes;
    return to->p;
  }
  (void)cudaGetLastError(); /* not the program's */
  zp_host_pages_back(to->p, bytes);
  return to->p = NULL;
}

int zp_cuda_take_pinned(zp_cuda *e, void *to, int64_t count, int64_t bytes)
{
  const int64_t size = zp_arena_next(0, count, bytes);
  zp_cuda_offload *o = &e->offload;
  if (size < 0) return zp_cuda_fail(e, ZP_CUDA_E_MEMORY, "an array is too large for any host");
  zp_cuda_pinned *more = realloc(o->pinned, (size_t)(o->n_pinned + 1) * sizeof *more);
  if (!more) return zp_cuda_fail(e, ZP_CUDA_E_MEMORY, "no memory for the list of pinned arrays");
  o->pinned = more;
  zp_cuda_pinned *mine = &more[o->n_pinned];
  memset(mine, 0, sizeof *mine);
  if (!take_pages(mine, (size_t)(count * bytes))) {
    ZP_CUDA(e, cudaMallocHost(&mine->p, count * bytes > 0 ? (size_t)(count * bytes) : 1));
    memset(mine->p, 0, (size_t)(count * bytes));
  }
  o->n_pinned++;
  memcpy(to, &mine->p, sizeof mine->p);
  e->memory.host += count * bytes;
  return 0;
}

int64_t zp_cuda_landing(const zp_cuda *e)
{
  int64_t most = 0;
  for (int32_t k = 0; k < e->lay.n_flats; k++) {
    const zp_flat *f = &e->lay.flat[k];
    const int64_t n = zp_widest(f) / (e->cfg->stage == 0 ? 1 : f->members);
    if (f->use == 0 && n > most) most = n;
  }
  return most;
}

int zp_cuda_open_offload(zp_cuda *e)
{
  zp_cuda_offload *o = &e->offload;
  cudaEvent_t *const events[] = {&o->meant, &o->decided,  &o->out,
                                 &o->back,  &o->taken[0], &o->taken[1]};
  if (!e->opt.offload) return 0;
  for (int64_t i = 0; i < e->length[ZP_PHASE_STEP]; i++)
    o->updates += e->program[ZP_PHASE_STEP][i].kind == ZP_OP_UPDATE;
  ZP_CUDA(e, cudaStreamCreateWithFlags(&o->copy, cudaStreamNonBlocking));
  for (size_t i = 0; i < sizeof events / sizeof *events; i++)
    ZP_CUDA(e, cudaEventCreateWithFlags(events[i], cudaEventDisableTiming));
  return zp_cuda_take_pinned(e, &o->groups, e->cfg->optgroups, sizeof *o->groups);
}

void zp_cuda_drop_pinned(zp_cuda *e)
{
  zp_cuda_offload *o = &e->offload;
  for (int32_t i = 0; i < o->n_pinned; i++) {
    const zp_cuda_pinned *mine = &o->pinned[i];
    if (mine->pages == 0) cudaFreeHost(mine->p);
    else if (cudaHostUnregister(mine->p) == cudaSuccess) zp_host_pages_back(mine->p, mine->pages);
  }
  free(o->pinned);
}

void zp_cuda_close_offload(zp_cuda *e)
{
  const zp_cuda_offload *o = &e->offload;
  const cudaEvent_t events[] = {o->meant, o->decided, o->out, o->back, o->taken[0], o->taken[1]};
  for (size_t i = 0; i < sizeof events / sizeof *events; i++)
    if (events[i]) cudaEventDestroy(events[i]);
  if (o->copy) cudaStreamDestroy(o->copy);
}

/* ---- To the host ----------------------------------------------------------------------------- */

int zp_cuda_send_means(zp_cuda *e, const zp_op *op, zp_range r)
{
  const zp_cuda_offload *o = &e->offload;
  const zp_cuda_flat *s = &e->flat[op->flat];
  ZP_TRY(zp_cuda_record(e, ZP_SITE_MEANT_RECORD, o->meant, e->reduce));
  ZP_TRY(zp_cuda_wait(e, ZP_SITE_MEANT_WAIT, o->copy, o->meant));
  ZP_CUDA(e, cudaMemcpyAsync(s->mean_host + r.at, s->mean + r.at, (size_t)r.count * sizeof *s->mean,
                             cudaMemcpyDeviceToHost, o->copy));
  return 0;
}

int zp_cuda_send_decision(zp_cuda *e)
{
  zp_cuda_offload *o = &e->offload;
  const size_t groups = (size_t)e->cfg->optgroups * sizeof *o->groups;
  if (o->updates == 0) return 0; /* nobody would hear it */
  ZP_TRY(zp_cuda_record(e, ZP_SITE_DECIDED_RECORD, o->decided, e->reduce));
  ZP_TRY(zp_cuda_wait(e, ZP_SITE_DECIDED_WAIT, o->copy, o->decided));
  ZP_CUDA(e, cudaMemcpyAsync(e->state_host, e->state, sizeof *e->state, cudaMemcpyDeviceToHost,
                             o->copy));
  ZP_CUDA(e, cudaMemcpyAsync(o->groups, e->groups, groups, cudaMemcpyDeviceToHost, o->copy));
  o->heard = 0;
  o->n = 0;
  return zp_cuda_record(e, ZP_SITE_OUT_RECORD, o->out, o->copy);
}

/* ---- On the host, and back ------------------------------------------------------------------- */

static int hear_decision(zp_cuda *e)
{
  zp_cuda_offload *o = &e->offload;
  if (o->heard) return 0;
  ZP_TRY(zp_cuda_host_wait(e, ZP_SITE_OUT_HOST, o->out, "the gradients' copies to the host"));
  o->heard = 1;
  o->waits++;
  return 0;
}

/* Without the lock: nobody else reads what a step leaves on the host before the call is over. */
static int update_range(zp_cuda *e, const zp_op *op, zp_range r)
{
  const zp_cuda_flat *s = &e->flat[op->flat];
  const zp_host_update u = {.group = e->offload.groups + e->lay.flat[op->flat].optgroup,
                            .grad = s->mean_host + r.at,
                            .master = s->master + r.at,
                            .m = s->moment1 + r.at,
                            .v = s->moment2 + r.at,
                            .out = (char *)s->param_host + r.at * zp_cuda_size(e),
                            .n = r.count,
                            .real = e->state_host->decision.skipped ? 0 : r.real,
                            .dtype = e->cfg->precision};
  zp_cuda_leave(e);
  zp_host_update_run(&u, e->opt.offload_threads);
  zp_cuda_enter(e);
  return e->err.status ? -1 : 0;
}

int zp_cuda_update_on_host(zp_cuda *e, const zp_op *op)
{
  zp_cuda_offload *o = &e->offload;
  const zp_range r = zp_local_range(e->cfg, &e->lay, e->at, op->flat, op->bucket);
  const char *from = (const char *)e->flat[op->flat].param_host + r.at * zp_cuda_size(e);
  const int32_t k = (int32_t)(o->n % 2);
  ZP_TRY(hear_decision(e));
  ZP_TRY(update_range(e, op, r));
  if (o->n >= 2) ZP_TRY(zp_cuda_wait(e, ZP_SITE_TAKEN_WAIT, o->copy, o->taken[k]));
  o->n++;
  ZP_CUDA(e, cudaMemcpyAsync(o->place[k], from, (size_t)(r.count * zp_cuda_size(e)),
                             cudaMemcpyHostToDevice, o->copy));
  ZP_TRY(zp_cuda_record(e, ZP_SITE_BACK_RECORD, o->back, o->copy));
  return zp_cuda_wait(e, ZP_SITE_BACK_WAIT, e->reduce, o->back);
}

void *zp_cuda_place(const zp_cuda *e)
{
  return e->offload.place[(e->offload.n - 1) % 2];
}

/* Where a later bucket of the step comes to the same place. */
int zp_cuda_free_place(zp_cuda *e)
{
  const zp_cuda_offload *o = &e->offload;
  if (o->n + 1 >= o->updates) return 0;
  return zp_cuda_record(e, ZP_SITE_TAKEN_RECORD, o->taken[(o->n - 1) % 2], e->reduce);
}

int64_t zp_cuda_offload_waits(const zp_cuda *e)
{
  return e->offload.waits;
}
