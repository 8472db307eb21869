/* Gradients as they come: copied by the producer streams, each into one buffer that its next copy
 * overwrites, and announced from there. */
#include "trial_internal.h"

/* What the engine refused is not of the plan. */
static int logged(zp_trial_worker *w, int failed)
{
  if (!w->t->now.hosts) w->t->log[w->rank].n -= failed != 0;
  return failed;
}

/* For the path; it is told what one host does. stream -1: none. */
static void trace(zp_trial_worker *w, int32_t param, int32_t stream)
{
  const int64_t mb = w->call->mb;
  if (w->t->now.hosts) return;
  zp_path_announced(&w->t->log[w->rank], w->steps_done, mb, param, stream);
  if (stream < 0) return;
  w->now = param;
  w->mb = mb;
  simdev_tag(zp_path_tag(ZP_PATH_COPY, w->steps_done, mb, param));
}

/* By host k; where there are several, from its own stream. */
static int announce_one(zp_trial_worker *w, int32_t k, int32_t param)
{
  const zp_cuda_call *call = w->call;
  const zp_config *c = w->t->cfg;
  const zp_workload *work = w->t->work;
  const size_t bytes = (size_t)zp_trial_bytes(w, param);
  const int32_t any = (int32_t)(zp_trial_random(&w->random[k]) % (uint64_t)w->streams);
  const int32_t s = w->t->now.hosts ? k : any;
  const int used =
      work->used(work->ctx, c, param, w->at.dp, w->at.tp, (zp_mb){call->step, call->mb, 0});
  trace(w, param, used ? s : -1);
  if (!used) return logged(w, zp_cuda_grad_unused(w->e, param, call->mb));
  ZP_TRIAL_OK(cudaMemcpyAsync(w->grad[s], zp_trial_raw(w, param, call->mb), bytes,
                              cudaMemcpyDeviceToDevice, w->producer[s]));
  if (w->t->now.waits_for_all) {
    ZP_TRIAL_OK(cudaEventRecord(w->all, w->e->reduce));
    ZP_TRIAL_OK(cudaStreamWaitEvent(w->producer[s], w->all, 0));
  }
  ZP_TRIAL_OK(logged(w, zp_cuda_grad_ready(w->e, param, call->mb, bytes > 0 ? w->grad[s] : NULL,
                                           c->precision, w->producer[s])));
  if (!w->t->now.hosts) simdev_tag(zp_path_tag(ZP_PATH_SET, w->steps_done, call->mb, param));
  /* nobody needs it any more: the next copy, or this, overwrites it */
  return (int)cudaMemsetAsync(w->grad[s], 0xff, bytes, w->producer[s]);
}

/* The stage's trained entries: in backward order, or in any. */
void zp_trial_shuffle(zp_trial_worker *w)
{
  int32_t n = 0;
  for (int32_t i = w->t->cfg->n_params - 1; i >= 0; i--)
    if (w->raw[i]) w->order[n++] = i;
  for (int32_t i = n - 1; i > 0 && !w->t->now.in_order; i--) {
    const int32_t k = (int32_t)(zp_trial_random(&w->random[0]) % (uint64_t)(i + 1));
    const int32_t x = w->order[i];
    w->order[i] = w->order[k];
    w->order[k] = x;
  }
  w->entries = n;
}

int zp_trial_announce(zp_trial_worker *w, int32_t k)
{
  const zp_trial_schedule *now = &w->t->now;
  const int32_t hosts = now->hosts ? w->streams : 1;
  const int last_step = w->call->step - w->t->base == w->t->steps - 1;
  for (int32_t i = k; i < w->entries; i += hosts) {
    if (now->forgets == w->rank + 1 && i == w->entries - 1 && last_step) continue;
    ZP_TRIAL_OK(announce_one(w, k, w->order[i]));
    if (now->repeats == w->rank + 1 && i == 0 && last_step)
      ZP_TRIAL_OK(announce_one(w, k, w->order[i]));
  }
  return 0;
}
