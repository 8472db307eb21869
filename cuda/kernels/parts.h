/* The owner adds up the parts that it was sent, in the order of the ranks; then means.
 * spec: RED-2, RED-4, RED-5, SUM-6, SUM-7, TIE-2, STAT-3 */
#ifndef ZP_CUDA_PARTS_H
#define ZP_CUDA_PARTS_H
#include "vector.h"

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

/* The quads of element i: whole ones, or the elements that there are. */
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

/* sum += element i of a part: a number of a format, or limbs, which are carried first. SUM-6 */
ZP_ON_DEVICE void zp_add_part_limbs(int64_t *sum, int32_t dtype, const void *part, int64_t i)
{
  int64_t limb[ZP_VAL_LIMBS];
  if (dtype != ZP_I64) {
    const uint32_t bits = zp_element(dtype, part, i);
    zp_val_add_f32(sum, &bits, 1);
    return;
  }
  for (int32_t q = 0; q < ZP_VAL_LIMBS; q++)
    limb[q] = ((const int64_t *)part)[i * ZP_VAL_LIMBS + q];
  zp_val_normalise(limb, 1);
  zp_limbs_merge(sum, limb, ZP_VAL_LIMBS);
}

ZP_ON_DEVICE void zp_add_exact_body(const void *params, simdev_thread t, void *shared, int phase)
{
  const zp_add_params *p = (const zp_add_params *)params;
  (void)shared, (void)phase;
  for (int64_t tile = t.blockIdx[0]; tile * ZP_TILE < p->n; tile += t.gridDim[0]) {
    const zp_span s = zp_span_of(tile, p->n, t);
    for (int64_t i = s.i; i < s.end; i += s.step) {
      int64_t sum[ZP_VAL_LIMBS] = {0, 0, 0, 0, 0, 0, 0, 0, 0};
      int64_t *out = (int64_t *)p->out + i * ZP_VAL_LIMBS;
      for (int32_t r = 0; r < p->members; r++)
        zp_add_part_limbs(sum, p->dtype, zp_part_of(p, r), i);
      if (!p->first) {
        zp_val_normalise(sum, 1);
        zp_limbs_merge(sum, out, ZP_VAL_LIMBS);
      }
      for (int32_t q = 0; q < ZP_VAL_LIMBS; q++) out[q] = sum[q];
    }
  }
}

ZP_ON_DEVICE void zp_settle_body(const void *params, simdev_thread t, void *shared, int phase)
{
  const zp_settle_params *p = (const zp_settle_params *)params;
  (void)shared, (void)phase;
  for (int64_t tile = t.blockIdx[0]; tile * ZP_TILE < p->n; tile += t.gridDim[0]) {
    const zp_span s = zp_span_of(tile, p->n, t);
    for (int64_t i = s.i; i < s.end; i += s.step) zp_val_normalise(p->limbs + i * ZP_VAL_LIMBS, 1);
  }
}

/* One mean; 1 where it is not finite. */
ZP_ON_DEVICE int64_t zp_mean_one(const zp_mean_params *p, int exact, int64_t i)
{
  uint32_t bits;
  if (exact) {
    bits = zp_val_mean_f32((const int64_t *)p->sum + i * ZP_VAL_LIMBS, p->divisor);
    p->mean[i] = zp_float_of(bits);
  } else {
    zp_ordered_mean_f32(p->mean + i, (const float *)p->sum + i, p->divisor, 1);
    bits = zp_bits_of(p->mean[i]);
  }
  return zp_nonfinite_f32(&bits, 1);
}

ZP_ON_DEVICE int64_t zp_mean_quad(const zp_mean_params *p, int64_t i)
{
  zp_quad q = zp_load_raw(p->sum, 4, i);
  int64_t bad = 0;
  ZP_UNROLL for (int32_t e = 0; e < ZP_QUAD; e++)
  {
    const float sum = zp_float_of(q.bits[e]);
    float mean;
    zp_ordered_mean_f32(&mean, &sum, p->divisor, 1);
    q.bits[e] = zp_bits_of(mean);
    bad += zp_nonfinite_f32(&q.bits[e], 1);
  }
  zp_store_raw(p->mean, 4, i, q);
  return bad;
}

/* Means of either kind of sums: ordered ones four at a time. */
ZP_ON_DEVICE void zp_mean(const zp_mean_params *p, int exact, simdev_thread t)
{
  const int32_t lead = zp_quad_lead(p->mean, 4);
  int64_t bad = 0;
  for (int64_t tile = t.blockIdx[0]; tile * ZP_TILE < p->n; tile += t.gridDim[0]) {
    const zp_span s = zp_span_of(tile, p->n, t);
    const zp_vectors v = zp_quads_of(tile, p->n, lead, t);
    for (int64_t i = s.i; exact && i < s.end; i += s.step) bad += zp_mean_one(p, 1, i);
    for (int32_t x = v.x; !exact && x < v.end; x += v.step) {
      const int64_t i = v.first + (int64_t)x * ZP_QUAD;
      if (zp_is_whole(&v, x)) bad += zp_mean_quad(p, i);
      else
        for (int32_t e = 0; e < ZP_QUAD; e++)
          if (i + e >= 0 && i + e < p->n) bad += zp_mean_one(p, 0, i + e);
    }
  }
  zp_count(p->nonfinite, bad);
}

ZP_ON_DEVICE void zp_mean_ordered_body(const void *params, simdev_thread t, void *shared, int phase)
{
  (void)shared, (void)phase;
  zp_mean((const zp_mean_params *)params, 0, t);
}

ZP_ON_DEVICE void zp_mean_exact_body(const void *params, simdev_thread t, void *shared, int phase)
{
  (void)shared, (void)phase;
  zp_mean((const zp_mean_params *)params, 1, t);
}

#endif
