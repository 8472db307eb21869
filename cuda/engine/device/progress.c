/* spec: LEDG-7, STEP-5 */
#include "progress.h"

#include <stdlib.h>

#include "../../../ref/base/invariant.h"

/* Launches of one op: an exchange of parts, then a gather of sums. */
enum { LAUNCHES = 2 };

/* INIT or a step more than may be in flight. */
cudaError_t zp_cuda_progress_open(zp_cuda_progress *p, const zp_cuda_plan *plan)
{
  cudaError_t result;
  int64_t most = 0;
  for (int32_t phase = 0; phase < ZP_PHASES; phase++) {
    int64_t n = 0;
    for (int64_t i = 0; i < plan->length[phase]; i++)
      n += zp_op_communicates(&plan->program[phase][i]);
    if (n > most) most = n;
  }
  p->cap = LAUNCHES * (ZP_CUDA_FLIGHT + 1) * most + 1;
  p->mark = calloc((size_t)p->cap, sizeof *p->mark);
  p->issued = calloc((size_t)plan->length[ZP_PHASE_STEP] + 1, 1);
  if (!p->mark || !p->issued) return cudaErrorMemoryAllocation;
  result = cudaMallocHost((void **)&p->shared, sizeof *p->shared);
  if (result == cudaSuccess)
    *p->shared = (zp_cuda_shared){.stop = INT64_MAX, .difference = {.step = -1}};
  return result;
}

void zp_cuda_progress_close(zp_cuda_progress *p)
{
  free(p->mark);
  free(p->issued);
}

void zp_cuda_progress_free_shared(zp_cuda_progress *p)
{
  if (p->shared) cudaFreeHost(p->shared);
}

int zp_cuda_progress_invariant(const zp_cuda_progress *p, const zp_cuda_plan *plan, zp_error *err)
{
  const zp_cuda_position *h = &p->host;
  const zp_cursor *c = &h->cursor;
  ZP_INVARIANT(err, -1, c->phase >= -1 && c->phase < ZP_PHASES);
  ZP_INVARIANT(err, -1, zp_cursor_position(c) <= c->length);
  ZP_INVARIANT(err, -1, c->length == (c->phase < 0 ? 0 : plan->length[c->phase]));
  ZP_INVARIANT(err, -1, h->step >= 0);
  ZP_INVARIANT(err, -1, p->ended >= 0 && p->ended <= p->n);
  ZP_INVARIANT(err, -1, p->n - p->ended <= p->cap);
  return 0;
}

int32_t zp_cuda_progress_lane(zp_cuda_progress *p, cudaStream_t stream)
{
  int32_t i = 0;
  while (i < ZP_CUDA_LANES && p->lane[i] && p->lane[i] != stream) i++;
  if (i == ZP_CUDA_LANES) return -1;
  p->lane[i] = stream;
  return i;
}

CUresult zp_cuda_progress_mark(zp_cuda_progress *p, int32_t lane)
{
  const CUdeviceptr word = (CUdeviceptr)(uintptr_t)&p->shared->ended[lane];
  const CUresult r = cuStreamWriteValue32((CUstream)p->lane[lane], word, ++p->launched[lane],
                                          CU_STREAM_WRITE_VALUE_DEFAULT);
  if (r != CUDA_SUCCESS) return r;
  if (p->n - p->ended == p->cap) zp_cuda_progress_device(p);
  if (p->n - p->ended == p->cap) p->ended++; /* two steps do not have as many */
  p->mark[p->n++ % p->cap] =
      (zp_cuda_mark){.step = p->host.cursor.phase == ZP_PHASE_INIT ? -1 : p->host.step,
                     .pc = zp_cursor_position(&p->host.cursor),
                     .phase = p->host.cursor.phase,
                     .lane = lane,
                     .n = p->launched[lane]};
  return r;
}

const zp_cuda_mark *zp_cuda_progress_device(zp_cuda_progress *p)
{
  for (; p->mark && p->ended < p->n; p->ended++) {
    const zp_cuda_mark *k = &p->mark[p->ended % p->cap];
    const uint32_t ended = __atomic_load_n(&p->shared->ended[k->lane], __ATOMIC_ACQUIRE);
    if ((int32_t)(ended - k->n) < 0) return k; /* counters wrap around */
  }
  return NULL;
}

const zp_cuda_mark *zp_cuda_progress_latest(const zp_cuda_progress *p)
{
  return p->mark && p->n > 0 ? &p->mark[(p->n - 1) % p->cap] : NULL;
}

int64_t zp_cuda_host_step(const zp_cuda_progress *p)
{
  return p->host.ready ? p->host.step : -1;
}

int64_t zp_cuda_device_step(zp_cuda_progress *p)
{
  const zp_cuda_mark *device = zp_cuda_progress_device(p);
  const int64_t host = zp_cuda_host_step(p);
  return device && device->step < host ? device->step : host;
}

zp_gate zp_cuda_gate(const zp_cuda_progress *p)
{
  return (zp_gate){&p->shared->stop, p->host.step};
}

void zp_cuda_close_gate(zp_cuda_progress *p, int64_t first)
{
  const int64_t to = first > 0 ? first : 0;
  int64_t *stop = p->shared ? &p->shared->stop : NULL;
  int64_t now = stop ? __atomic_load_n(stop, __ATOMIC_ACQUIRE) : to;
  while (now > to &&
         !__atomic_compare_exchange_n(stop, &now, to, 0, __ATOMIC_RELEASE, __ATOMIC_ACQUIRE))
    ; /* the device has closed it meanwhile */
}
