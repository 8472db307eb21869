/* Packed sums, 40 or 12 bytes an element. Neighbouring threads access neighbouring words of device
 * memory; the nine limbs of a thread's element are in shared memory, since limbs are indexed by
 * exponents.
 * spec: RED-5, TIE-2, SUM-5 … SUM-9 */
#ifndef ZP_CUDA_PACKED_H
#define ZP_CUDA_PACKED_H
#include "means.h"
#include "parts.h"

ZP_ON_DEVICE int64_t *zp_top_of(void *packed, int64_t n)
{
  return (int64_t *)(void *)((uint32_t *)packed + ZP_PACKED_WORDS * n);
}

/* f16: sums of fp16 numbers. */
ZP_ON_DEVICE void zp_unpack_one(int64_t *limb, const void *packed, int64_t f16, int64_t n,
                                int64_t i)
{
  const uint32_t *low = (const uint32_t *)packed;
  if (f16) zp_val_unpack_f16(limb, low, n, i);
  else zp_val_unpack(limb, low, (const int64_t *)(const void *)(low + ZP_PACKED_WORDS * n), n, i);
}

/* Carries, and packs. */
ZP_ON_DEVICE void zp_pack_one(int64_t *limb, void *packed, int64_t f16, int64_t n, int64_t i)
{
  zp_val_normalise(limb, 1);
  if (f16) zp_val_pack_f16(limb, (uint32_t *)packed, n, i);
  else zp_val_pack(limb, (uint32_t *)packed, zp_top_of(packed, n), n, i);
}

/* ---- Parts ----------------------------------------------------------------------------------- */

/* sum, term: limbs in shared memory; term is for parts that are packed. SUM-6 */
ZP_ON_DEVICE void zp_add_one_packed(const zp_add_params *p, int64_t *sum, int64_t *term, int64_t i)
{
  if (p->first)
    for (int32_t q = 0; q < ZP_VAL_LIMBS; q++) sum[q] = 0;
  else zp_unpack_one(sum, p->out, p->f16, p->n, i);
  for (int32_t r = 0; r < p->members; r++) {
    if (p->dtype == ZP_I64) {
      zp_unpack_one(term, zp_part_of(p, r), p->f16, p->n, i);
      zp_limbs_merge(sum, term, ZP_VAL_LIMBS);
      continue;
    }
    const uint32_t bits = zp_element(p->dtype, zp_part_of(p, r), i);
    zp_val_add_f32(sum, &bits, 1);
  }
  zp_pack_one(sum, p->out, p->f16, p->n, i);
}

ZP_ON_DEVICE void zp_add_packed_body(const void *params, simdev_thread t, void *shared, int phase)
{
  const zp_add_params *p = (const zp_add_params *)params;
  const int32_t mine = (int32_t)t.threadIdx[0] * ZP_VAL_LIMBS;
  int64_t *sum = (int64_t *)shared + mine, *term = sum + ZP_SLAB * ZP_VAL_LIMBS;
  const zp_slabs slabs = zp_slabs_of((p->n + ZP_TILE - 1) / ZP_TILE, t);
  (void)phase;
  for (int64_t at = slabs.begin; at < slabs.end; at++) {
    const zp_slab slab = zp_slab_at(at, p->n);
    for (int32_t x = (int32_t)t.threadIdx[0]; x < slab.n; x += (int32_t)t.blockDim[0])
      zp_add_one_packed(p, sum, term, slab.first + x);
  }
}

/* ---- Limbs, and back ------------------------------------------------------------------------- */

enum { ZP_REPACK_PHASES = 2 };

ZP_ON_DEVICE int zp_repack_phases(const zp_packed_params *p, simdev_thread t)
{
  return ZP_REPACK_PHASES * zp_rounds_of_runs(&p->runs, t);
}
ZP_ON_DEVICE int zp_unpack_sums_phases(const void *params, simdev_thread t)
{
  return zp_repack_phases((const zp_packed_params *)params, t);
}
ZP_ON_DEVICE int zp_pack_sums_phases(const void *params, simdev_thread t)
{
  return zp_repack_phases((const zp_packed_params *)params, t);
}

/* A slab between shared memory and the packed sums. */
ZP_ON_DEVICE void zp_repack_slab(const zp_packed_params *p, int back, const zp_memory_run *run,
                                 zp_slab slab, int64_t *stage, simdev_thread t)
{
  for (int32_t x = (int32_t)t.threadIdx[0]; x < slab.n; x += (int32_t)t.blockDim[0]) {
    int64_t *limb = stage + x * ZP_VAL_LIMBS;
    if (back) zp_pack_one(limb, p->packed, p->f16, p->n, run->at + slab.first + x);
    else zp_unpack_one(limb, p->packed, p->f16, p->n, run->at + slab.first + x);
  }
}

ZP_ON_DEVICE void zp_repack(const zp_packed_params *p, int back, simdev_thread t, int64_t *stage,
                            int phase)
{
  const int64_t at = zp_slabs_of(p->runs.tiles, t).begin + phase / ZP_REPACK_PHASES;
  const zp_memory_run *run = zp_run_of_slab(&p->runs, at);
  const zp_slab slab = zp_slab_at(at - run->first_tile * ZP_SLABS, run->count);
  if (phase % ZP_REPACK_PHASES == back) zp_repack_slab(p, back, run, slab, stage, t);
  else if (back) zp_stage_in(stage, (const int64_t *)run->in, slab, t);
  else zp_stage_out(stage, (int64_t *)run->out, slab, t);
}

ZP_ON_DEVICE void zp_unpack_sums_body(const void *params, simdev_thread t, void *shared, int phase)
{
  zp_repack((const zp_packed_params *)params, 0, t, (int64_t *)shared, phase);
}

ZP_ON_DEVICE void zp_pack_sums_body(const void *params, simdev_thread t, void *shared, int phase)
{
  zp_repack((const zp_packed_params *)params, 1, t, (int64_t *)shared, phase);
}

/* ---- Means ----------------------------------------------------------------------------------- */

/* As zp_slab_means. Each mean takes the place of its sum's first word. */
ZP_ON_DEVICE int64_t zp_slab_means_packed(const zp_squares_params *p, const zp_memory_run *run,
                                          zp_slab slab, int64_t *limb, zp_column c, simdev_thread t)
{
  const int64_t from = (uint32_t *)run->out - (uint32_t *)p->packed;
  zp_held h = {0, 0, 0};
  int64_t bad = 0;
  for (int32_t x = (int32_t)t.threadIdx[0]; x < slab.n; x += (int32_t)t.blockDim[0]) {
    zp_unpack_one(limb, p->packed, p->f16, p->n, from + slab.first + x);
    const uint32_t bits = zp_val_mean_f32(limb, p->divisor);
    ((uint32_t *)run->out)[slab.first + x] = bits;
    if (zp_nonfinite_f32(&bits, 1)) bad++;
    else if (run->at != 0) h = zp_hold_square(c, h, bits);
  }
  zp_release(c, h);
  return bad;
}

ZP_ON_DEVICE void zp_means_packed(const zp_squares_params *p, zp_squares_shared *s, simdev_thread t)
{
  const zp_column c = {s, t.threadIdx[0] % ZP_LANES, (uint32_t)p->lanes};
  int64_t *limb = s->bin + 2 * ZP_SQ_BINS * p->lanes + (int32_t)t.threadIdx[0] * ZP_VAL_LIMBS;
  const zp_slabs slabs = zp_slabs_of(p->runs.tiles, t);
  int64_t bad = 0;
  for (int64_t at = slabs.begin; at < slabs.end; at++) {
    const zp_memory_run *run = zp_run_of_slab(&p->runs, at);
    const zp_slab slab = zp_slab_at(at - run->first_tile * ZP_SLABS, run->count);
    bad += zp_slab_means_packed(p, run, slab, limb, c, t);
  }
  if (bad != 0) ZP_ADD_SHARED(&s->nonfinite, bad);
}

ZP_ON_DEVICE void zp_mean_packed_body(const void *params, simdev_thread t, void *shared, int phase)
{
  const zp_squares_params *p = (const zp_squares_params *)params;
  zp_squares_shared *s = (zp_squares_shared *)shared;
  if (phase == 0) zp_squares_clear(s, (uint32_t)p->lanes, t);
  if (phase == 1) zp_means_packed(p, s, t);
  zp_squares_end(p, s, t, phase - 2);
}

#endif
