/* Only the engine orders the caller's work after the previous step. */
#include "state.h"

/* Work is repeated so often that other work may overtake it. */
enum { REPEATS = 20 };

/* The caller's stream begins after the host has the engine's state. */
int zp_own_loop_open(zp_diff_rank *w)
{
  const size_t bytes = 2 * (size_t)w->t->cfg->micro_batches * sizeof *w->own_loop.loss;
  zp_step_state s;
  ZP_HOST_TRY(cudaStreamCreateWithFlags(&w->own_loop.stream, cudaStreamNonBlocking));
  ZP_HOST_TRY(cudaStreamCreateWithFlags(&w->own_loop.losses, cudaStreamNonBlocking));
  simdev_name_stream(w->own_loop.stream, "the caller's");
  simdev_name_stream(w->own_loop.losses, "losses");
  ZP_HOST_TRY(cudaEventCreateWithFlags(&w->own_loop.forwarded, cudaEventDisableTiming));
  ZP_HOST_TRY(cudaMalloc((void **)&w->own_loop.loss, bytes));
  return zp_cuda_get(w->e, &s);
}

/* After the forward, on a stream that no other work waits for. */
static int announce_loss(zp_diff_rank *w, const zp_cuda_call *call)
{
  float *announced = call->loss + w->t->cfg->micro_batches;
  ZP_HOST_TRY(cudaEventRecord(w->own_loop.forwarded, w->own_loop.stream));
  ZP_HOST_TRY(cudaStreamWaitEvent(w->own_loop.losses, w->own_loop.forwarded, 0));
  for (int32_t i = 0; i < REPEATS; i++)
    ZP_HOST_TRY(cudaMemcpyAsync(announced, call->loss, sizeof *announced, cudaMemcpyDeviceToDevice,
                                w->own_loop.losses));
  return zp_cuda_loss(w->e, call->mb, announced, w->own_loop.losses);
}

int zp_own_loop_step(zp_diff_rank *w)
{
  const zp_cuda_model m = zp_diff_model_callbacks(w);
  const zp_message none = {0};
  for (int64_t mb = 0; mb < w->t->cfg->micro_batches; mb++) {
    const zp_cuda_call call = {.step = w->t->base + w->steps_done,
                               .mb = mb,
                               .stream = w->own_loop.stream,
                               .state = zp_cuda_state_of(w->e),
                               .in = &none,
                               .out = &none,
                               .loss = w->own_loop.loss + mb};
    ZP_HOST_TRY(m.forward(w, &call));
    ZP_HOST_TRY(announce_loss(w, &call));
    ZP_HOST_TRY(m.backward(w, &call));
    for (int32_t i = 0; i < REPEATS; i++) ZP_HOST_TRY(zp_diff_model_read(w, &call));
  }
  return zp_cuda_end_step(w->e, w->own_loop.stream);
}

void zp_own_loop_wait(const zp_diff_rank *w)
{
  if (w->own_loop.stream) cudaStreamSynchronize(w->own_loop.stream);
  if (w->own_loop.losses) cudaStreamSynchronize(w->own_loop.losses);
}

void zp_own_loop_close(zp_diff_rank *w)
{
  if (w->own_loop.stream) cudaStreamDestroy(w->own_loop.stream);
  if (w->own_loop.losses) cudaStreamDestroy(w->own_loop.losses);
  if (w->own_loop.forwarded) cudaEventDestroy(w->own_loop.forwarded);
  if (w->own_loop.loss) cudaFree(w->own_loop.loss);
}
