/* Means of the window's sums, and their squares, in one launch. Means of fp32 sums are not stored:
 * the update computes them again, with the same roundings.
 * spec: RED-2, RED-4, RED-5, SUM-1 … SUM-4, SUM-7, STAT-2, STAT-3 */
#ifndef ZP_CUDA_MEANS_H
#define ZP_CUDA_MEANS_H
#include "squares.h"
#include "stage.h"

ZP_ON_DEVICE void zp_mean_ordered_body(const void *params, simdev_thread t, void *shared, int phase)
{
  const zp_squares_params *p = (const zp_squares_params *)params;
  zp_squares_shared *s = (zp_squares_shared *)shared;
  if (phase == 0) zp_squares_clear(s, (uint32_t)p->lanes, t);
  if (phase == 1) zp_squares_tiles(p, ZP_F32, p->divisor, s, t);
  zp_squares_end(p, s, t, phase - 2);
}

/* ---- Sums in limbs --------------------------------------------------------------------------- */

/* Of a slab: stage its sums; divide them. */
enum { ZP_MEAN_PHASES = 2 };

/* The bins are cleared before the slabs. */
ZP_ON_DEVICE int zp_mean_exact_phases(const void *params, simdev_thread t)
{
  const int slabs = zp_rounds_of_runs(&((const zp_squares_params *)params)->runs, t);
  return slabs == 0 ? 0 : 1 + ZP_MEAN_PHASES * slabs + ZP_SQUARES_LAST;
}

/* The means of a slab's sums in shared memory. Squares are added to the bins unless the run's are
 * not counted. Returns how many means are not finite. */
ZP_ON_DEVICE int64_t zp_slab_means(const zp_squares_params *p, const zp_memory_run *run,
                                   zp_slab slab, const int64_t *stage, zp_column c, simdev_thread t)
{
  zp_held h = {0, 0, 0};
  int64_t bad = 0;
  for (int32_t x = (int32_t)t.threadIdx[0]; x < slab.n; x += (int32_t)t.blockDim[0]) {
    const uint32_t bits = zp_val_mean_f32(stage + x * ZP_VAL_LIMBS, p->divisor);
    ((uint32_t *)run->out)[slab.first + x] = bits;
    if (zp_nonfinite_f32(&bits, 1)) bad++;
    else if (run->at != 0) h = zp_hold_square(c, h, bits);
  }
  zp_release(c, h);
  return bad;
}

ZP_ON_DEVICE void zp_mean_exact_body(const void *params, simdev_thread t, void *shared, int phase)
{
  const zp_squares_params *p = (const zp_squares_params *)params;
  zp_squares_shared *s = (zp_squares_shared *)shared;
  const zp_column c = {s, t.threadIdx[0] % ZP_LANES, (uint32_t)p->lanes};
  int64_t *stage = s->bin + 2 * ZP_SQ_BINS * p->lanes;
  const int last = zp_mean_exact_phases(params, t) - ZP_SQUARES_LAST;
  if (phase == 0) zp_squares_clear(s, c.lanes, t);
  if (phase >= last) zp_squares_end(p, s, t, phase - last);
  if (phase == 0 || phase >= last) return;
  const int64_t at = zp_slabs_of(p->runs.tiles, t).begin + (phase - 1) / ZP_MEAN_PHASES;
  const zp_memory_run *run = zp_run_of_slab(&p->runs, at);
  const zp_slab slab = zp_slab_at(at - run->first_tile * ZP_SLABS, run->count);
  if ((phase - 1) % ZP_MEAN_PHASES == 0) zp_stage_in(stage, (const int64_t *)run->in, slab, t);
  else {
    const int64_t bad = zp_slab_means(p, run, slab, stage, c, t);
    if (bad != 0) ZP_ADD_SHARED(&s->nonfinite, bad);
  }
}

#endif
