/* The owner adds the parts that it received, in the order of the ranks.
 * spec: RED-4, RED-5, SUM-6, TIE-2 */
#ifndef ZP_CUDA_PARTS_H
#define ZP_CUDA_PARTS_H
#include "stage.h"

/* Where member r's part begins. */
ZP_ON_DEVICE const void *zp_part_of(const zp_add_params *p, int32_t r)
{
  return r == p->own ? p->own_in : (const char *)p->parts + r * p->stride;
}

/* Left to right, from the first part itself. RED-4 */
ZP_ON_DEVICE void zp_add_one_ordered(const zp_add_params *p, float *out, int64_t i)
{
  float sum = zp_float_of(zp_element(p->dtype, zp_part_of(p, 0), i));
  for (int32_t r = 1; r < p->members; r++) {
    const float x = zp_float_of(zp_element(p->dtype, zp_part_of(p, r), i));
    zp_ordered_add_f32(&sum, &x, 1);
  }
  if (p->first) out[i] = sum;
  else zp_ordered_add_f32(out + i, &sum, 1);
}

/* sum + x, of four elements. */
ZP_ON_DEVICE zp_quad zp_added(zp_quad sum, zp_quad x)
{
  ZP_UNROLL for (int32_t e = 0; e < ZP_QUAD; e++)
  {
    float a = zp_float_of(sum.bits[e]);
    const float b = zp_float_of(x.bits[e]);
    zp_ordered_add_f32(&a, &b, 1);
    sum.bits[e] = zp_bits_of(a);
  }
  return sum;
}

ZP_ON_DEVICE void zp_add_quad_ordered(const zp_add_params *p, float *out, int64_t i)
{
  zp_quad sum = zp_load_quad(p->dtype, zp_part_of(p, 0), i);
  for (int32_t r = 1; r < p->members; r++)
    sum = zp_added(sum, zp_load_quad(p->dtype, zp_part_of(p, r), i));
  if (!p->first) sum = zp_added(zp_load_raw(out, 4, i), sum);
  zp_store_raw(out, 4, i, sum);
}

/* Whole quads; of a quad that crosses an end of the array, its elements. */
ZP_ON_DEVICE void zp_add_ordered_body(const void *params, simdev_thread t, void *shared, int phase)
{
  const zp_add_params *p = (const zp_add_params *)params;
  float *out = (float *)p->out;
  const int32_t lead = zp_quad_lead(out, 4);
  (void)shared, (void)phase;
  for (int64_t tile = t.blockIdx[0]; tile * ZP_TILE < p->n; tile += t.gridDim[0]) {
    const zp_vectors v = zp_quads_of(tile, p->n, lead, t);
    for (int32_t x = v.x; x < v.end; x += v.step) {
      const int64_t i = v.first + (int64_t)x * ZP_QUAD;
      if (zp_is_whole(&v, x)) zp_add_quad_ordered(p, out, i);
      else
        for (int32_t e = 0; e < ZP_QUAD; e++)
          if (i + e >= 0 && i + e < p->n) zp_add_one_ordered(p, out, i + e);
    }
  }
}

/* ---- Sums in limbs --------------------------------------------------------------------------- */

enum { ZP_ADD_EXACT_PHASES = 3, ZP_SETTLE_PHASES = 3 };

ZP_ON_DEVICE int zp_add_exact_phases(const void *params, simdev_thread t)
{
  return ZP_ADD_EXACT_PHASES * zp_rounds_of_array(((const zp_add_exact_params *)params)->n, t);
}

/* Stages a part and the sums; carries the part and adds it; stores the sums. */
ZP_ON_DEVICE void zp_add_exact_body(const void *params, simdev_thread t, void *shared, int phase)
{
  const zp_add_exact_params *p = (const zp_add_exact_params *)params;
  const zp_slab slab = zp_slab_of_array(p->n, phase / ZP_ADD_EXACT_PHASES, t);
  int64_t *part = (int64_t *)shared, *sum = part + ZP_SLAB * ZP_VAL_LIMBS;
  phase %= ZP_ADD_EXACT_PHASES;
  if (phase == 0) zp_stage_in(part, p->part, slab, t);
  if (phase == 0) zp_stage_in(sum, p->sum, slab, t);
  for (int32_t x = (int32_t)t.threadIdx[0]; phase == 1 && x < slab.n; x += (int32_t)t.blockDim[0]) {
    zp_val_normalise(part + x * ZP_VAL_LIMBS, 1);
    zp_limbs_merge(sum + x * ZP_VAL_LIMBS, part + x * ZP_VAL_LIMBS, ZP_VAL_LIMBS);
  }
  if (phase == 2) zp_stage_out(sum, p->sum, slab, t);
}

ZP_ON_DEVICE int zp_settle_phases(const void *params, simdev_thread t)
{
  return ZP_SETTLE_PHASES * zp_rounds_of_array(((const zp_settle_params *)params)->n, t);
}

ZP_ON_DEVICE void zp_settle_body(const void *params, simdev_thread t, void *shared, int phase)
{
  const zp_settle_params *p = (const zp_settle_params *)params;
  const zp_slab slab = zp_slab_of_array(p->n, phase / ZP_SETTLE_PHASES, t);
  int64_t *stage = (int64_t *)shared;
  phase %= ZP_SETTLE_PHASES;
  if (phase == 0) zp_stage_in(stage, p->limbs, slab, t);
  for (int32_t x = (int32_t)t.threadIdx[0]; phase == 1 && x < slab.n; x += (int32_t)t.blockDim[0])
    zp_val_normalise(stage + x * ZP_VAL_LIMBS, 1);
  if (phase == 2) zp_stage_out(stage, p->limbs, slab, t);
}

#endif
