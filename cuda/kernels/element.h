/* Elements of the three formats, and how the threads of a launch share them. spec: NUM-1 … NUM-3 */
#ifndef ZP_CUDA_ELEMENT_H
#define ZP_CUDA_ELEMENT_H
#include "device.h"

ZP_ON_DEVICE float zp_float_of(uint32_t bits)
{
  float x;
  memcpy(&x, &bits, sizeof x);
  return x;
}

ZP_ON_DEVICE uint32_t zp_bits_of(float x)
{
  uint32_t bits;
  memcpy(&bits, &x, sizeof bits);
  return bits;
}

/* The fp32 pattern of element i. dtype: ZP_F32, ZP_BF16, ZP_F16. */
ZP_ON_DEVICE uint32_t zp_element(int32_t dtype, const void *x, int64_t i)
{
  if (dtype == ZP_F32) return ((const uint32_t *)x)[i];
  if (dtype == ZP_BF16) return zp_f32_from_bf16(((const uint16_t *)x)[i]);
  return zp_bits_of(ZP_FROM_F16(((const uint16_t *)x)[i]));
}

/* Element i becomes x, rounded. NUM-2 */
ZP_ON_DEVICE void zp_store_rounded(int32_t dtype, void *out, int64_t i, float x)
{
  if (dtype == ZP_F32) ((float *)out)[i] = x;
  else if (dtype == ZP_BF16) ((uint16_t *)out)[i] = zp_bf16_from_f32(zp_bits_of(x));
  else ((uint16_t *)out)[i] = ZP_TO_F16(x);
}

/* x, rounded to dtype. NUM-2 */
ZP_ON_DEVICE float zp_rounded_to(int32_t dtype, float x)
{
  if (dtype == ZP_BF16) return zp_float_of(zp_f32_from_bf16(zp_bf16_from_f32(zp_bits_of(x))));
  if (dtype == ZP_F16) return zp_float_of(zp_f32_from_f16(zp_f16_from_f32(zp_bits_of(x))));
  return x;
}

/* The mean of an fp32 sum, as patterns. divisor: D·M. RED-4 */
ZP_ON_DEVICE uint32_t zp_mean_of(uint32_t sum, int64_t divisor)
{
  const float x = zp_float_of(sum);
  float mean;
  zp_ordered_mean_f32(&mean, &x, divisor, 1);
  return zp_bits_of(mean);
}

/* Adds a thread's count to a counter; most counts are zero. */
ZP_ON_DEVICE void zp_count(int64_t *counter, int64_t counted)
{
  if (counter && counted != 0) ZP_ADD_GLOBAL(counter, counted);
}

/* A thread's elements of a tile: i, i + step, … < end. Neighbouring threads have neighbouring
 * elements, so that a warp's accesses coalesce. */
typedef struct zp_span {
  int64_t i, end, step;
} zp_span;

/* The thread's elements of a tile of an array of n elements. */
ZP_ON_DEVICE zp_span zp_span_of(int64_t tile, int64_t n, simdev_thread t)
{
  zp_span s;
  s.i = tile * ZP_TILE + t.threadIdx[0];
  s.end = n - tile * ZP_TILE < ZP_TILE ? n : (tile + 1) * ZP_TILE;
  s.step = t.blockDim[0];
  return s;
}

ZP_ON_DEVICE const zp_memory_run *zp_run_table(const zp_memory_runs *runs)
{
  return runs->table ? runs->table : runs->here;
}

/* The run that a tile belongs to: the last one that begins at or before it. An empty run begins
 * where the next one does, so it is not the last of these. tile: 0 … tiles - 1. */
ZP_ON_DEVICE const zp_memory_run *zp_run_of(const zp_memory_run *table, int32_t n, int64_t tile)
{
  int32_t low = 0, high = n; /* table[low] begins at or before the tile, table[high] after it */
  while (high - low > 1) {
    const int32_t mid = low + (high - low) / 2;
    if (table[mid].first_tile <= tile) low = mid;
    else high = mid;
  }
  return table + low;
}

/* STEP-5 */
ZP_ON_DEVICE int zp_is_shut(const zp_gate *gate)
{
  return gate->stop != NULL && ZP_LOAD_HOST(gate->stop) <= gate->step;
}

#endif
