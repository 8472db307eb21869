#include "clock.h"

#include <sched.h>

#include "../../../ref/base/clock.h"

uint64_t zp_cuda_now(const zp_cuda_rank *r)
{
  return r->opt.now_ns ? r->opt.now_ns() : (uint64_t)zp_clock_ns();
}

uint64_t zp_cuda_time_limit(const zp_cuda_rank *r)
{
  const uint64_t ten_minutes = (uint64_t)600 * 1000000000u;
  return r->opt.deadline_ns ? r->opt.deadline_ns : ten_minutes;
}

uint64_t zp_cuda_deadline(const zp_cuda_rank *r)
{
  return zp_cuda_now(r) + zp_cuda_time_limit(r);
}

void zp_cuda_pause(const zp_cuda_rank *r)
{
  if (r->opt.pause) r->opt.pause();
  else sched_yield();
}

int zp_cuda_drain_event(const zp_cuda_rank *r, cudaEvent_t event)
{
  const uint64_t deadline = zp_cuda_deadline(r);
  cudaError_t state = cudaErrorNotReady;
  while (zp_cuda_now(r) < deadline && (state = cudaEventQuery(event)) == cudaErrorNotReady)
    zp_cuda_pause(r);
  return state == cudaSuccess;
}

int zp_cuda_drain_stream(const zp_cuda_rank *r, cudaStream_t stream)
{
  const uint64_t deadline = zp_cuda_deadline(r);
  cudaError_t state = cudaErrorNotReady;
  while (zp_cuda_now(r) < deadline && (state = cudaStreamQuery(stream)) == cudaErrorNotReady)
    zp_cuda_pause(r);
  return state != cudaErrorNotReady; /* nothing runs in a context that is lost */
}
