/* Where the device is in the program: behind every communication its stream writes how many of its
 * communications have ended into a word that the host reads when something went wrong. The write
 * needs no multiprocessor, no event and no wait; nothing is ordered by it. spec: LEDG-7 */
#include <cuda.h>
#include <stdlib.h>

#include "engine_internal.h"

/* Launches of one op: parts to their owners, then sums to all. */
enum { LAUNCHES = 2 };

/* Room for what can be in flight, INIT or a step more. */
int zp_cuda_open_marks(zp_cuda *e)
{
  int64_t most = 0;
  for (int32_t phase = 0; phase < ZP_PHASES; phase++) {
    int64_t n = 0;
    for (int64_t i = 0; e->program[phase] && i < e->length[phase]; i++)
      n += zp_op_communicates(&e->program[phase][i]);
    if (n > most) most = n;
  }
  e->marks.cap = LAUNCHES * (ZP_CUDA_FLIGHT + 1) * most + 1;
  e->marks.mark = calloc((size_t)e->marks.cap, sizeof *e->marks.mark);
  if (!e->marks.mark) return zp_cuda_fail(e, ZP_CUDA_E_MEMORY, "no host memory");
  ZP_CUDA(e, cudaMallocHost((void **)&e->shared, sizeof *e->shared));
  *e->shared = (zp_cuda_shared){.stop = INT64_MAX};
  return 0;
}

static int32_t lane_of(zp_cuda_marks *m, cudaStream_t stream)
{
  int32_t i = 0;
  while (i < ZP_CUDA_LANES && m->lane[i] && m->lane[i] != stream) i++;
  if (i < ZP_CUDA_LANES) m->lane[i] = stream;
  return i;
}

int zp_cuda_mark_comm(zp_cuda *e, cudaStream_t stream)
{
  zp_cuda_marks *m = &e->marks;
  const int32_t lane = lane_of(m, stream);
  CUresult r;
  if (lane == ZP_CUDA_LANES)
    return zp_cuda_fail(e, ZP_CUDA_E_REFUSED, "communication on more than %d streams", lane);
  r = cuStreamWriteValue32((CUstream)stream, (CUdeviceptr)(uintptr_t)&e->shared->ended[lane],
                           ++m->launched[lane], CU_STREAM_WRITE_VALUE_DEFAULT);
  if (r != CUDA_SUCCESS)
    return zp_cuda_fail(e, ZP_CUDA_E_CUDA, "CUDA driver error %d from cuStreamWriteValue32",
                        (int)r);
  if (m->n - m->ended == m->cap) zp_cuda_position(e);
  if (m->n - m->ended == m->cap) m->ended++; /* two steps do not have as many */
  m->mark[m->n++ % m->cap] = (zp_cuda_mark){.step = e->phase == ZP_PHASE_INIT ? -1 : e->step,
                                            .pc = e->pc,
                                            .phase = e->phase,
                                            .lane = lane,
                                            .n = m->launched[lane]};
  return 0;
}

const zp_cuda_mark *zp_cuda_position(zp_cuda *e)
{
  zp_cuda_marks *m = &e->marks;
  for (; m->ended < m->n; m->ended++) {
    const zp_cuda_mark *k = &m->mark[m->ended % m->cap];
    const uint32_t ended = __atomic_load_n(&e->shared->ended[k->lane], __ATOMIC_ACQUIRE);
    if ((int32_t)(ended - k->n) < 0) return k; /* counters go round */
  }
  return NULL;
}
