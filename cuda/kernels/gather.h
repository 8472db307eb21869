/* Copies or adds gradients to their buckets, and copies gathered buckets back to the parameters:
 * many runs in one launch. spec: RED-3 … RED-6, PART-7 … PART-9, STEP-8, STAT-3 */
#ifndef ZP_CUDA_GATHER_H
#define ZP_CUDA_GATHER_H
#include "stage.h"

/* Copies element i, of `bytes`; zero if in is NULL. */
ZP_ON_DEVICE void zp_copy_element(int64_t bytes, const void *in, void *out, int64_t i)
{
  if (bytes == 4) ((uint32_t *)out)[i] = in ? ((const uint32_t *)in)[i] : 0u;
  else ((uint16_t *)out)[i] = in ? ((const uint16_t *)in)[i] : (uint16_t)0;
}

/* fp32 sums; a missing gradient adds +0. RED-4, RED-6 */
ZP_ON_DEVICE void zp_add_element(uint32_t bits, float *window, int64_t i, int first)
{
  float x = zp_float_of(bits);
  if (first) window[i] = x;
  else zp_ordered_add_f32(window + i, &x, 1);
}

enum { ZP_GATHER_COPY, ZP_GATHER_ORDERED };

/* One element of a run; returns its fp32 pattern. */
ZP_ON_DEVICE uint32_t zp_gather_element(const zp_gather_params *p, int kind,
                                        const zp_memory_run *run, int64_t i)
{
  const uint32_t bits = run->in ? zp_element(p->dtype, run->in, i) : 0u;
  if (kind == ZP_GATHER_COPY) zp_copy_element(p->dtype == ZP_F32 ? 4 : 2, run->in, run->out, i);
  else zp_add_element(bits, (float *)run->out, i, p->first);
  return bits;
}

/* How many copies of one thread are in flight at once. */
enum { ZP_AHEAD = 4 };

/* Loads ZP_AHEAD quads of a run, from quad x on. Zeros if in is NULL, and for a quad that is not
 * whole. */
ZP_ON_DEVICE void zp_load_ahead(zp_quad *q, int32_t size, const void *in, const zp_vectors *v,
                                int32_t x)
{
  const zp_quad zeros = {{0, 0, 0, 0}};
  ZP_UNROLL for (int32_t k = 0; k < ZP_AHEAD; k++)
  {
    const int32_t at = x + k * v->step;
    q[k] =
        in && zp_is_whole(v, at) ? zp_load_raw(in, size, v->first + (int64_t)at * ZP_QUAD) : zeros;
  }
}

/* How many of four elements of a format are not finite. STAT-3 */
ZP_ON_DEVICE int64_t zp_nonfinite_quad(int32_t dtype, zp_quad q)
{
  const uint32_t field = dtype == ZP_F32 ? 0x7f800000u : dtype == ZP_BF16 ? 0x7f80u : 0x7c00u;
  int32_t bad = 0;
  ZP_UNROLL for (int32_t e = 0; e < ZP_QUAD; e++) bad += (q.bits[e] & field) == field;
  return bad;
}

/* Stores four elements of a run. q: as loaded; window: the sums that they are added to. */
ZP_ON_DEVICE void zp_gather_quad(const zp_gather_params *p, int kind, void *out, zp_quad q,
                                 zp_quad window, int64_t i)
{
  if (kind == ZP_GATHER_COPY) {
    zp_store_raw(out, p->dtype == ZP_F32 ? 4 : 2, i, q);
    return;
  }
  q = zp_widened(p->dtype, q);
  if (!p->first) {
    ZP_UNROLL for (int32_t e = 0; e < ZP_QUAD; e++)
    {
      float sum = zp_float_of(window.bits[e]), x = zp_float_of(q.bits[e]);
      zp_ordered_add_f32(&sum, &x, 1);
      q.bits[e] = zp_bits_of(sum);
    }
  }
  zp_store_raw(out, 4, i, q);
}

/* ZP_AHEAD quads of a thread; of a quad that crosses an end of the run, the elements inside.
 * Returns how many elements are not finite. */
ZP_ON_DEVICE int64_t zp_gather_some(const zp_gather_params *p, int kind, const zp_memory_run *run,
                                    const zp_vectors *v, int32_t x)
{
  zp_quad q[ZP_AHEAD], window[ZP_AHEAD];
  int64_t bad = 0;
  zp_load_ahead(q, p->dtype == ZP_F32 ? 4 : 2, run->in, v, x);
  zp_load_ahead(window, 4, kind == ZP_GATHER_ORDERED && !p->first ? run->out : NULL, v, x);
  ZP_UNROLL for (int32_t k = 0; k < ZP_AHEAD; k++)
  {
    const int32_t at = x + k * v->step;
    const int64_t i = v->first + (int64_t)at * ZP_QUAD;
    if (zp_is_whole(v, at)) {
      zp_gather_quad(p, kind, run->out, q[k], window[k], i);
      bad += zp_nonfinite_quad(p->dtype, q[k]);
    } else if (at < v->end) {
      for (int32_t e = 0; e < ZP_QUAD; e++) {
        if (i + e < 0 || i + e >= run->count) continue;
        const uint32_t bits = zp_gather_element(p, kind, run, i + e);
        bad += zp_nonfinite_f32(&bits, 1);
      }
    }
  }
  return bad;
}

/* ---- Whole vectors --------------------------------------------------------------------------- */

/* Whether the vectors of both arrays begin at the same elements; 0 if in is NULL. */
ZP_ON_DEVICE int zp_equal_alignment(const void *in, const void *out)
{
  return in && ((uintptr_t)in - (uintptr_t)out) % ZP_VECTOR == 0;
}

/* Copies ZP_AHEAD whole vectors, from vector x on. Returns words in which the top bit (of each
 * half, for 16-bit formats) is set if an element is not finite. field: the bits of the exponent;
 * least: the lowest of them. */
ZP_ON_DEVICE uint32_t zp_copy_vectors(int32_t size, const zp_memory_run *run, const zp_vectors *v,
                                      int32_t x, uint32_t field, uint32_t least)
{
  const int64_t first = v->first * size;
  zp_vector got[ZP_AHEAD];
  uint32_t flags = 0;
  ZP_UNROLL for (int32_t k = 0; k < ZP_AHEAD; k++) got[k] =
      zp_load_vector((const char *)run->in + first + (x + k * v->step) * ZP_VECTOR);
  ZP_UNROLL for (int32_t k = 0; k < ZP_AHEAD; k++)
  {
    zp_store_vector((char *)run->out + first + (x + k * v->step) * ZP_VECTOR, got[k]);
    ZP_UNROLL for (int32_t w = 0; w < ZP_WORDS; w++) flags |= (got[k].word[w] & field) + least;
  }
  return flags;
}

ZP_ON_DEVICE int zp_all_whole(const zp_vectors *v, int32_t x)
{
  return zp_is_whole(v, x) && zp_is_whole(v, x + (ZP_AHEAD - 1) * v->step);
}

/* Copies the elements of ZP_AHEAD vectors one by one, even if they were copied before. Returns how
 * many are not finite. */
ZP_NOINLINE int64_t zp_copy_slowly(int32_t dtype, const void *in, void *out, int64_t count,
                                   zp_vectors v, int32_t x)
{
  int64_t bad = 0;
  for (int32_t k = 0; k < ZP_AHEAD && x < v.end; k++, x += v.step)
    for (int32_t e = 0; e < v.per; e++) {
      const int64_t i = v.first + (int64_t)x * v.per + e;
      if (i < 0 || i >= count) continue;
      const uint32_t bits = zp_element(dtype, in, i);
      zp_copy_element(dtype == ZP_F32 ? 4 : 2, in, out, i);
      bad += zp_nonfinite_f32(&bits, 1);
    }
  return bad;
}

/* A tile of a run whose arrays are equally aligned. dtype: if the count is not used, any format of
 * that size. Returns how many elements are not finite. */
ZP_ON_DEVICE int64_t zp_copy_tile(int32_t dtype, const zp_memory_run *run, int64_t tile,
                                  simdev_thread t)
{
  const int32_t size = dtype == ZP_F32 ? 4 : 2;
  const uint32_t field = dtype == ZP_F32    ? 0x7f800000u
                         : dtype == ZP_BF16 ? 0x7f807f80u
                                            : 0x7c007c00u;
  const uint32_t least = dtype == ZP_F32 ? 0x800000u : dtype == ZP_BF16 ? 0x800080u : 0x4000400u;
  const uint32_t top = dtype == ZP_F32 ? 0x80000000u : 0x80008000u;
  const zp_vectors v = zp_vectors_of(tile, run->count, zp_lead(run->out, size), size, t);
  int64_t bad = 0;
  for (int32_t x = v.x; x < v.end; x += ZP_AHEAD * v.step)
    if (!zp_all_whole(&v, x) || (zp_copy_vectors(size, run, &v, x, field, least) & top) != 0)
      bad += zp_copy_slowly(dtype, run->in, run->out, run->count, v, x);
  return bad;
}

ZP_ON_DEVICE void zp_gather(const zp_gather_params *p, int kind, simdev_thread t)
{
  const int32_t size = kind == ZP_GATHER_ORDERED || p->dtype == ZP_F32 ? 4 : 2;
  int64_t bad = 0;
  for (zp_walk at = zp_walk_of(&p->runs, t); at.tile < at.end; zp_walk_on(&at)) {
    const zp_memory_run *run = at.run;
    const int64_t tile = at.tile - run->first_tile;
    const zp_vectors v = zp_quads_of(tile, run->count, zp_quad_lead(run->out, size), t);
    if (kind == ZP_GATHER_COPY && zp_equal_alignment(run->in, run->out))
      bad += zp_copy_tile(p->dtype, run, tile, t);
    else
      for (int32_t x = v.x; x < v.end; x += ZP_AHEAD * v.step)
        bad += zp_gather_some(p, kind, run, &v, x);
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

/* ---- Sums in limbs --------------------------------------------------------------------------- */

enum { ZP_GATHER_PHASES = 3 };

ZP_ON_DEVICE int zp_gather_exact_phases(const void *params, simdev_thread t)
{
  return ZP_GATHER_PHASES * zp_rounds_of_runs(&((const zp_gather_params *)params)->runs, t);
}

/* Adds a slab's elements to their limbs in shared memory; returns how many are not finite. RED-5 */
ZP_ON_DEVICE int64_t zp_gather_limbs(const zp_gather_params *p, const void *in, zp_slab slab,
                                     int64_t *stage, simdev_thread t)
{
  int64_t bad = 0;
  for (int32_t x = (int32_t)t.threadIdx[0]; x < slab.n; x += (int32_t)t.blockDim[0]) {
    const uint32_t bits = in ? zp_element(p->dtype, in, slab.first + x) : 0u;
    int64_t *limb = stage + x * ZP_VAL_LIMBS;
    for (int32_t q = 0; p->first && q < ZP_VAL_LIMBS; q++) limb[q] = 0;
    zp_val_add_f32(limb, &bits, 1); /* widening is exact; +0 adds nothing */
    bad += zp_nonfinite_f32(&bits, 1);
  }
  return bad;
}

ZP_ON_DEVICE void zp_gather_exact_body(const void *params, simdev_thread t, void *shared, int phase)
{
  const zp_gather_params *p = (const zp_gather_params *)params;
  const int64_t at = zp_slabs_of(p->runs.tiles, t).begin + phase / ZP_GATHER_PHASES;
  const zp_memory_run *run = zp_run_of_slab(&p->runs, at);
  const zp_slab slab = zp_slab_at(at - run->first_tile * ZP_SLABS, run->count);
  int64_t *stage = (int64_t *)shared, *window = (int64_t *)run->out;
  phase %= ZP_GATHER_PHASES;
  if (phase == 0 && !p->first) zp_stage_in(stage, window, slab, t);
  if (phase == 1) zp_count(p->nonfinite, zp_gather_limbs(p, run->in, slab, stage, t));
  if (phase == 2) zp_stage_out(stage, window, slab, t);
}

/* ZP_AHEAD quads of a thread; of a quad that crosses an end of the run, the elements inside. */
ZP_ON_DEVICE void zp_scatter_some(int32_t bytes, const zp_memory_run *run, const zp_vectors *v,
                                  int32_t x)
{
  zp_quad q[ZP_AHEAD];
  zp_load_ahead(q, bytes, run->in, v, x);
  ZP_UNROLL for (int32_t k = 0; k < ZP_AHEAD; k++)
  {
    const int32_t at = x + k * v->step;
    const int64_t i = v->first + (int64_t)at * ZP_QUAD;
    if (zp_is_whole(v, at)) zp_store_raw(run->out, bytes, i, q[k]);
    else
      for (int32_t e = 0; e < ZP_QUAD && at < v->end; e++)
        if (i + e >= 0 && i + e < run->count) zp_copy_element(bytes, run->in, run->out, i + e);
  }
}

/* Reading host memory is slow: one thread of a block reads the gate for all. */
enum { ZP_SCATTER_PHASES = 2 };

ZP_ON_DEVICE void zp_scatter_body(const void *params, simdev_thread t, void *shared, int phase)
{
  const zp_scatter_params *p = (const zp_scatter_params *)params;
  if (phase == 0) {
    if (p->gate.stop && t.threadIdx[0] == 0) *(int32_t *)shared = zp_is_shut(&p->gate);
    return;
  }
  if (p->gate.stop && *(const int32_t *)shared) return;
  for (zp_walk at = zp_walk_of(&p->runs, t); at.tile < at.end; zp_walk_on(&at)) {
    const zp_memory_run *run = at.run;
    const int64_t tile = at.tile - run->first_tile;
    const zp_vectors v =
        zp_quads_of(tile, run->count, zp_quad_lead(run->out, (int32_t)p->bytes), t);
    if (zp_equal_alignment(run->in, run->out)) {
      (void)zp_copy_tile(p->bytes == 4 ? ZP_F32 : ZP_BF16, run, tile, t);
      continue;
    }
    for (int32_t x = v.x; x < v.end; x += ZP_AHEAD * v.step)
      zp_scatter_some((int32_t)p->bytes, run, &v, x);
  }
}

#endif
