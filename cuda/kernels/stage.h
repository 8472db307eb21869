/* Sums in limbs, 72 bytes an element, staged in shared memory. Neighbouring threads copy
 * neighbouring words between device memory and shared memory, where one thread processes the nine
 * words of an element: a stride of nine words has no bank conflicts. Slab by slab, with barriers in
 * between. spec: RED-5, SUM-5, SUM-6 */
#ifndef ZP_CUDA_STAGE_H
#define ZP_CUDA_STAGE_H
#include "vector.h"

/* Elements of a slab, and slabs of a tile; the last tile of an array may have fewer. A block's
 * slabs are consecutive. */
enum { ZP_SLAB = ZP_STAGE_ELEMENTS, ZP_SLABS = ZP_TILE / ZP_SLAB };

/* Elements first … first + n - 1 of an array; n 0: empty. */
typedef struct zp_slab {
  int64_t first;
  int32_t n;
} zp_slab;

/* The slabs of a block: begin … end - 1, counted over all tiles. */
typedef struct zp_slabs {
  int64_t begin, end;
} zp_slabs;

ZP_ON_DEVICE zp_slabs zp_slabs_of(int64_t tiles, simdev_thread t)
{
  const int64_t b = t.blockIdx[0], grid = t.gridDim[0], all = tiles * ZP_SLABS;
  zp_slabs p;
  p.begin = all * b / grid;
  p.end = all * (b + 1) / grid;
  return p;
}

/* Slab number `at` of an array of n elements. */
ZP_ON_DEVICE zp_slab zp_slab_at(int64_t at, int64_t n)
{
  zp_slab p;
  p.first = at * ZP_SLAB;
  p.n = n - p.first < ZP_SLAB ? (int32_t)(n > p.first ? n - p.first : 0) : ZP_SLAB;
  return p;
}

/* How many slabs of the block lie before the end of its last array, which has n elements and begins
 * with slab `from`. */
ZP_ON_DEVICE int32_t zp_rounds_of(zp_slabs p, int64_t from, int64_t n)
{
  const int64_t end = from + (n + ZP_SLAB - 1) / ZP_SLAB;
  const int64_t last = p.end < end ? p.end : end;
  return last > p.begin ? (int32_t)(last - p.begin) : 0;
}

/* The same for a single array. */
ZP_ON_DEVICE int32_t zp_rounds_of_array(int64_t n, simdev_thread t)
{
  return zp_rounds_of(zp_slabs_of((n + ZP_TILE - 1) / ZP_TILE, t), 0, n);
}
ZP_ON_DEVICE zp_slab zp_slab_of_array(int64_t n, int32_t round, simdev_thread t)
{
  return zp_slab_at(zp_slabs_of((n + ZP_TILE - 1) / ZP_TILE, t).begin + round, n);
}

/* The run of slab number `at`, counted over all tiles. */
ZP_ON_DEVICE const zp_memory_run *zp_run_of_slab(const zp_memory_runs *runs, int64_t at)
{
  return zp_run_of(zp_run_table(runs), runs->n, at / ZP_SLABS);
}

/* zp_rounds_of for arrays that are runs. */
ZP_ON_DEVICE int32_t zp_rounds_of_runs(const zp_memory_runs *runs, simdev_thread t)
{
  const zp_slabs slabs = zp_slabs_of(runs->tiles, t);
  if (slabs.begin == slabs.end) return 0;
  const zp_memory_run *last = zp_run_of_slab(runs, slabs.end - 1);
  return zp_rounds_of(slabs, last->first_tile * ZP_SLABS, last->count);
}

/* limbs: of the array. All loads are before the stores, so that they are in flight at once. */
ZP_ON_DEVICE void zp_stage_in(int64_t *stage, const int64_t *limbs, zp_slab p, simdev_thread t)
{
  const int64_t *from = limbs + p.first * ZP_VAL_LIMBS;
  const int32_t words = p.n * ZP_VAL_LIMBS, step = (int32_t)t.blockDim[0];
  for (int32_t w = (int32_t)t.threadIdx[0]; w < words; w += ZP_VAL_LIMBS * step) {
    int64_t got[ZP_VAL_LIMBS];
    ZP_UNROLL for (int32_t q = 0; q < ZP_VAL_LIMBS; q++) got[q] =
        w + q * step < words ? from[w + q * step] : 0;
    ZP_UNROLL for (int32_t q = 0; q < ZP_VAL_LIMBS; q++) if (w + q * step < words)
        stage[w + q * step] = got[q];
  }
}

ZP_ON_DEVICE void zp_stage_out(const int64_t *stage, int64_t *limbs, zp_slab p, simdev_thread t)
{
  int64_t *to = limbs + p.first * ZP_VAL_LIMBS;
  const int32_t words = p.n * ZP_VAL_LIMBS;
  for (int32_t w = (int32_t)t.threadIdx[0]; w < words; w += (int32_t)t.blockDim[0])
    to[w] = stage[w];
}

#endif
