/* The caller computes in a loop of its own: on one stream, and its losses come on another; it ends
 * the steps. Nothing but the engine orders its work behind the step before. */
#include "trial_internal.h"

/* Work that is done again and again, so that others may overtake it. */
enum { LONG = 20 };

/* Its stream begins when the host has heard that parameters and state are there. */
int zp_trial_open_own_loop(zp_trial_worker *w)
{
  const size_t bytes = 2 * (size_t)w->t->cfg->micro_batches * sizeof *w->loss;
  zp_step_state s;
  ZP_TRIAL_OK(cudaStreamCreateWithFlags(&w->own, cudaStreamNonBlocking));
  ZP_TRIAL_OK(cudaStreamCreateWithFlags(&w->losses, cudaStreamNonBlocking));
  simdev_name_stream(w->own, "the caller's");
  simdev_name_stream(w->losses, "losses");
  ZP_TRIAL_OK(cudaEventCreateWithFlags(&w->forwarded, cudaEventDisableTiming));
  ZP_TRIAL_OK(cudaMalloc((void **)&w->loss, bytes));
  return zp_cuda_get(w->e, &s);
}

/* Behind the forward, on a stream of its own, which nothing else waits for. */
static int give_loss(zp_trial_worker *w, const zp_cuda_call *call)
{
  float *given = call->loss + w->t->cfg->micro_batches;
  ZP_TRIAL_OK(cudaEventRecord(w->forwarded, w->own));
  ZP_TRIAL_OK(cudaStreamWaitEvent(w->losses, w->forwarded, 0));
  for (int32_t i = 0; i < LONG; i++)
    ZP_TRIAL_OK(
        cudaMemcpyAsync(given, call->loss, sizeof *given, cudaMemcpyDeviceToDevice, w->losses));
  return zp_cuda_loss(w->e, call->mb, given, w->losses);
}

int zp_trial_own_step(zp_trial_worker *w)
{
  const zp_cuda_model m = zp_trial_model(w);
  const zp_cuda_message none = {0};
  for (int64_t mb = 0; mb < w->t->cfg->micro_batches; mb++) {
    const zp_cuda_call call = {.step = w->t->base + w->steps_done,
                               .mb = mb,
                               .stream = w->own,
                               .state = w->e->state,
                               .in = &none,
                               .out = &none,
                               .loss = w->loss + mb};
    ZP_TRIAL_OK(m.forward(w, &call));
    ZP_TRIAL_OK(give_loss(w, &call));
    ZP_TRIAL_OK(m.backward(w, &call));
    for (int32_t i = 0; i < LONG; i++) ZP_TRIAL_OK(zp_trial_read_again(w, &call));
  }
  return zp_cuda_end_step(w->e, w->own);
}

void zp_trial_rest_own_loop(const zp_trial_worker *w)
{
  if (w->own) cudaStreamSynchronize(w->own);
  if (w->losses) cudaStreamSynchronize(w->losses);
}

void zp_trial_close_own_loop(zp_trial_worker *w)
{
  if (w->own) cudaStreamDestroy(w->own);
  if (w->losses) cudaStreamDestroy(w->losses);
  if (w->forwarded) cudaEventDestroy(w->forwarded);
  if (w->loss) cudaFree(w->loss);
}
