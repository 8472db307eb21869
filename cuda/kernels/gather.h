/* Gradients into their buckets, and gathered buckets back into the parameters: many runs a launch.
 * spec: RED-3 … RED-6, PART-7 … PART-9, STEP-8, STAT-3 */
#ifndef ZP_CUDA_GATHER_H
#define ZP_CUDA_GATHER_H
#include "element.h"

/* Elements of `bytes` are copied, or zeroed where there is no `in`. */
ZP_ON_DEVICE void zp_copy_element(int64_t bytes, const void *in, void *out, int64_t i)
{
  if (bytes == 4) ((uint32_t *)out)[i] = in ? ((const uint32_t *)in)[i] : 0u;
  else ((uint16_t *)out)[i] = in ? ((const uint16_t *)in)[i] : (uint16_t)0;
}

/* fp32 sums: a missing gradient adds +0, as any other does. RED-4, RED-6 */
ZP_ON_DEVICE void zp_add_element(uint32_t bits, float *window, int64_t i, int first)
{
  float x = zp_float_of(bits);
  if (first) window[i] = x;
  else zp_ordered_add_f32(window + i, &x, 1);
}

/* Sums in limbs. RED-5 */
ZP_ON_DEVICE void zp_add_limbs(uint32_t bits, int64_t *window, int64_t i, int first)
{
  int64_t *limb = window + i * ZP_VAL_LIMBS;
  for (int32_t q = 0; first && q < ZP_VAL_LIMBS; q++) limb[q] = 0;
  zp_val_add_f32(limb, &bits, 1); /* widening is exact; +0 adds nothing */
}

enum { ZP_GATHER_COPY, ZP_GATHER_ORDERED, ZP_GATHER_EXACT };

/* One element of a run; returns its fp32 pattern. */
ZP_ON_DEVICE uint32_t zp_gather_element(const zp_gather_params *p, int kind,
                                        const zp_memory_run *run, int64_t i)
{
  const uint32_t bits = run->in ? zp_element(p->dtype, run->in, i) : 0u;
  if (kind == ZP_GATHER_COPY) zp_copy_element(p->dtype == ZP_F32 ? 4 : 2, run->in, run->out, i);
  else if (kind == ZP_GATHER_ORDERED) zp_add_element(bits, (float *)run->out, i, p->first);
  else zp_add_limbs(bits, (int64_t *)run->out, i, p->first);
  return bits;
}

ZP_ON_DEVICE void zp_gather(const zp_gather_params *p, int kind, simdev_thread t)
{
  const zp_memory_run *table = zp_run_table(&p->runs);
  int64_t bad = 0;
  for (int64_t tile = t.blockIdx[0]; tile < p->runs.tiles; tile += t.gridDim[0]) {
    const zp_memory_run *run = zp_run_of(table, p->runs.n, tile);
    const zp_span s = zp_span_of(tile - run->first_tile, run->count, t);
    for (int64_t i = s.i; i < s.end; i += s.step) {
      const uint32_t bits = zp_gather_element(p, kind, run, i);
      bad += zp_nonfinite_f32(&bits, 1);
    }
  }
  zp_count(p->nonfinite, bad);
}

ZP_ON_DEVICE void zp_gather_copy_body(const void *params, simdev_thread t, void *shared, int phase)
{
  (void)shared, (void)phase;
  zp_gather((const zp_gather_params *)params, ZP_GATHER_COPY, t);
}

ZP_ON_DEVICE void zp_gather_ordered_body(const void *params, simdev_thread t, void *shared,
                                         int phase)
{
  (void)shared, (void)phase;
  zp_gather((const zp_gather_params *)params, ZP_GATHER_ORDERED, t);
}

ZP_ON_DEVICE void zp_gather_exact_body(const void *params, simdev_thread t, void *shared, int phase)
{
  (void)shared, (void)phase;
  zp_gather((const zp_gather_params *)params, ZP_GATHER_EXACT, t);
}

/* The host's memory is far away: one thread of a block looks at it for all. */
enum { ZP_SCATTER_PHASES = 2 };

ZP_ON_DEVICE void zp_scatter_body(const void *params, simdev_thread t, void *shared, int phase)
{
  const zp_scatter_params *p = (const zp_scatter_params *)params;
  const zp_memory_run *table = zp_run_table(&p->runs);
  if (phase == 0) {
    if (p->gate.stop && t.threadIdx[0] == 0) *(int32_t *)shared = zp_is_shut(&p->gate);
    return;
  }
  if (p->gate.stop && *(const int32_t *)shared) return;
  for (int64_t tile = t.blockIdx[0]; tile < p->runs.tiles; tile += t.gridDim[0]) {
    const zp_memory_run *run = zp_run_of(table, p->runs.n, tile);
    const zp_span s = zp_span_of(tile - run->first_tile, run->count, t);
    for (int64_t i = s.i; i < s.end; i += s.step) zp_copy_element(p->bytes, run->in, run->out, i);
  }
}

#endif
