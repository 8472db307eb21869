/* The optimizer's step on the host, for masters and moments in host memory: mean, unscale, clip,
 * SGD or AdamW, rounding to the parameters' type, in one pass and on all cores.
 *
 * The results have the bits of zp_optim_step and of zp_kernel_update on any CPU, for any number
 * of threads, and in any floating-point mode of the caller (such as flush to zero): each operation
 * is one IEEE operation in fp32 (of the mean: in fp64, or, where D·M is a power of two, a
 * multiplication in fp32 with the same bits), in the order of the table in ref/num/optim.h, and
 * vector division and square root round correctly. The code without vectors, which also processes
 * the elements after the last whole vector, is the proven source, compiled again, except for such a
 * multiplication. That and the vector code are not proven; a test compares them bit by bit with ref
 * (tests/cuda/host_optimizer/test_offload_update.c), except the payload of a NaN that an operation
 * on two NaNs returns, which hardware may choose (ref/num/ieee.h).
 *
 * It is not in ref/num/simd, because ref does not use vectors for updates. */
#ifndef ZP_CUDA_OFFLOAD_UPDATE_H
#define ZP_CUDA_OFFLOAD_UPDATE_H

#include <stdint.h>

#include "../kernels/kernels.h"

/* group: rule and scalars of the step, written by zp_kernel_decide. grad, m, v: (real); master:
 * (n); grad: the means, divisor = 0; or fp32 sums, which are divided by `divisor`, D·M. m, v: as
 * for zp_optim_step. out: (n) of dtype, the rounded masters, or NULL. No array overlaps another.
 * Elements from `real` on are padding: they are only rounded, as are all elements of a skipped step
 * (real = 0). Arrays are aligned to their elements. */
typedef struct zp_host_update {
  const zp_group_state *group;
  const float *grad;
  float *master, *m, *v;
  void *out;
  int64_t divisor, n, real;
  int32_t dtype;
} zp_host_update;

/* Updates, on at most `threads` OpenMP threads; 0: OpenMP's default number. Each thread begins with
 * a range of its own, which is the same in every call with this n, so that it accesses the memory
 * that it touched first; then it helps other threads. Errors: none. spec: RED-4, STEP-6, STEP-7,
 * OPT-2 … OPT-4
 */
void zp_host_update_run(const zp_host_update *u, int threads);

/* The same on one thread with the vectors of a level of ref/num/simd/fast.h, for tests; at most the
 * highest level of this CPU. Errors: none.
 * spec: STEP-6, STEP-7, OPT-2 … OPT-4
 */
void zp_host_update_level(int level, const zp_host_update *u);

/* zp_optim_step with the vectors of this CPU, on one thread: its arguments and results.
 * spec: OPT-2 … OPT-4 */
void zp_host_optim_step(const zp_optim *optim, const zp_optim_state *state, float factor_clip,
                        int32_t log2_scale, int64_t n, const float *grad, float *master, float *m,
                        float *v);

#endif
