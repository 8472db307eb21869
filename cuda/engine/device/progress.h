/* Where host and device are in the programs. After every communication its stream writes how many
 * of its communications have ended into a word that the host reads after an error. The write needs
 * no multiprocessor, no event and no wait, and orders nothing. spec: LEDG-7 */
#ifndef ZP_CUDA_PROGRESS_H
#define ZP_CUDA_PROGRESS_H

#include <cuda.h>
#include <cuda_runtime_api.h>

#include "../../../ref/engine/cursor.h"
#include "../../kernels/kernels.h"
#include "plan.h"

/* Steps that may be in flight. */
enum { ZP_CUDA_FLIGHT = 2 };
/* Streams on which communication is launched. */
enum { ZP_CUDA_LANES = 4 };

/* Where the host is. */
typedef struct zp_cuda_position {
  int32_t ready; /* 1: INIT has been issued */
  int64_t step;
  zp_cursor cursor; /* in the program that is being issued */
} zp_cuda_position;

/* A communication that was launched: the n-th of its lane. */
typedef struct zp_cuda_mark {
  int64_t step, pc; /* step -1: INIT */
  int32_t phase, lane;
  uint32_t n;
} zp_cuda_mark;

/* Pinned memory that one of host and device writes while the other reads. */
typedef struct zp_cuda_shared {
  int64_t stop; /* of zp_gate */
  zp_difference difference;
  uint32_t ended[ZP_CUDA_LANES]; /* communications of the lane that have ended */
} zp_cuda_shared;

/* Communications from the first one that may not have ended: numbers ended … n-1, number i in
 * mark[i % cap]. */
typedef struct zp_cuda_progress {
  zp_cuda_position host;
  zp_cuda_mark *mark; /* [cap]; NULL: not opened yet */
  int64_t cap, ended, n;
  uint8_t *issued; /* [length of a step] of the cursor */
  cudaStream_t lane[ZP_CUDA_LANES];
  uint32_t launched[ZP_CUDA_LANES];
  zp_cuda_shared *shared; /* pinned; NULL: not opened yet */
} zp_cuda_progress;

/* Room for what can be in flight. */
cudaError_t zp_cuda_progress_open(zp_cuda_progress *p, const zp_cuda_plan *plan);
void zp_cuda_progress_close(zp_cuda_progress *p); /* but the pinned memory */
void zp_cuda_progress_free_shared(zp_cuda_progress *p);

/* 0, or ZP_E_INTERNAL in *err. */
int zp_cuda_progress_invariant(const zp_cuda_progress *p, const zp_cuda_plan *plan, zp_error *err);

/* The lane of a stream that communicates; -1: there are more streams than lanes. */
int32_t zp_cuda_progress_lane(zp_cuda_progress *p, cudaStream_t stream);

/* Queues the write after the communication that was launched last on the lane, and keeps to which
 * op it belongs. */
CUresult zp_cuda_progress_mark(zp_cuda_progress *p, int32_t lane);

/* The earliest communication that has not ended on the device; NULL: all have. */
const zp_cuda_mark *zp_cuda_progress_device(zp_cuda_progress *p);
/* The latest that was launched; NULL: none was. */
const zp_cuda_mark *zp_cuda_progress_latest(const zp_cuda_progress *p);

/* The step that the host is in or will be in next; -1: INIT. */
int64_t zp_cuda_host_step(const zp_cuda_progress *p);
/* The step of the earliest communication that has not ended, if that is before the host's. */
int64_t zp_cuda_device_step(zp_cuda_progress *p);

/* Of the step that is being issued. */
zp_gate zp_cuda_gate(const zp_cuda_progress *p);
/* From step `first` on, or an earlier one for which the gate is closed already, what the device has
 * queued changes neither parameters nor state. */
void zp_cuda_close_gate(zp_cuda_progress *p, int64_t first);

#endif
