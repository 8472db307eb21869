/* The optimizer's step on the host, for masters and moments in host memory: unscale, clip, SGD or
 * AdamW, rounding to the parameters' type, in one pass and on all cores.
 *
 * The same bits as zp_optim_step and as zp_kernel_update, whatever the CPU, the number of threads
 * and the floating-point modes that the caller has set (a flush to zero, say): every operation is
 * one IEEE operation in fp32, in the order of the table in ref/num/optim.h, and vector division and
 * square root round correctly. Not in the scope of the proofs (intrinsics): where there are no wide
 * vectors, and behind the last whole one, the proven source itself is compiled; what else there is,
 * is compared with it bit by bit in tests/cuda/test_offload_update.c. Payloads of NaNs are not
 * compared where two NaNs meet, of which hardware takes either (ref/num/ieee.h).
 *
 * It is here and not in ref/num/simd because ref never updates with vectors. */
#ifndef ZP_CUDA_OFFLOAD_UPDATE_H
#define ZP_CUDA_OFFLOAD_UPDATE_H

#include <stdint.h>

#include "../kernels/kernels.h"

/* group: rule and scalars of the step, as zp_kernel_decide leaves them. grad, master, m, v: (real),
 * apart; m, v: as for zp_optim_step. master: (n). out: (n) of dtype, the rounded masters, or NULL
 * where none are wanted; apart from the others. Elements from `real` on are padding: rounded only,
 * as all are when a step is skipped (real = 0). Nothing need be aligned but to its elements. */
typedef struct zp_host_update {
  const zp_group_state *group;
  const float *grad;
  float *master, *m, *v;
  void *out;
  int64_t n, real;
  int32_t dtype;
} zp_host_update;

/* Updates, on at most `threads` threads of OpenMP; 0: as many as it gives. Each thread begins with
 * a range of its own, the same for every call of this n, so that memory that a thread touched first
 * is its own again, and then helps others. Errors: none.
 * spec: STEP-6, STEP-7, OPT-2 … OPT-4
 */
void zp_host_update_run(const zp_host_update *u, int threads);

/* The same at a given level of ref/num/simd/fast.h, for tests, on one thread. A level that this CPU
 * lacks falls back to the highest that it has. Errors: none.
 * spec: STEP-6, STEP-7, OPT-2 … OPT-4
 */
void zp_host_update_level(int level, const zp_host_update *u);

#endif
