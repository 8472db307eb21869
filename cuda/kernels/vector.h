/* Access to 16 bytes at a time, in memory that may start anywhere; a block's loop over its tiles.
 * spec: PART-9 */
#ifndef ZP_CUDA_VECTOR_H
#define ZP_CUDA_VECTOR_H
#include "element.h"

enum { ZP_VECTOR = 16, ZP_WORDS = 4 };

/* A vector's bytes; alignment lets nvcc load and store them at once. */
#ifdef __CUDACC__
#define ZP_ALIGNED(n) __align__(n)
#define ZP_UNROLL _Pragma("unroll")
#else
#define ZP_ALIGNED(n)
#define ZP_UNROLL
#endif

typedef struct ZP_ALIGNED(16) zp_vector {
  uint32_t word[ZP_WORDS];
} zp_vector;
typedef struct ZP_ALIGNED(8) zp_pair {
  uint32_t word[2];
} zp_pair;

/* Under nvcc an assignment is one instruction, which fails on the device if the memory is not
 * aligned. In C the alignment is checked. */
#ifdef __CUDACC__
#define ZP_MOVE(to, from, type, memory) (*(type *)(to) = *(const type *)(from))
#else
#define ZP_MOVE(to, from, type, memory)                                                            \
  ((uintptr_t)(memory) % sizeof(type) ? __builtin_trap() : (void)memcpy(to, from, sizeof(type)))
#endif

ZP_ON_DEVICE zp_vector zp_load_vector(const void *from)
{
  zp_vector v;
  ZP_GLOBAL(from);
  ZP_MOVE(&v, from, zp_vector, from);
  return v;
}

ZP_ON_DEVICE void zp_store_vector(void *to, zp_vector v)
{
  ZP_GLOBAL(to);
  ZP_MOVE(to, &v, zp_vector, to);
}

ZP_ON_DEVICE zp_pair zp_load_pair(const void *from)
{
  zp_pair v;
  ZP_GLOBAL(from);
  ZP_MOVE(&v, from, zp_pair, from);
  return v;
}

ZP_ON_DEVICE void zp_store_pair(void *to, zp_pair v)
{
  ZP_GLOBAL(to);
  ZP_MOVE(to, &v, zp_pair, to);
}

/* How many elements of `size` bytes lie between the last multiple of 16 bytes and x. */
ZP_ON_DEVICE int32_t zp_lead(const void *x, int32_t size)
{
  return (int32_t)((uintptr_t)x % ZP_VECTOR) / size;
}

/* A thread's vectors of a tile: x, x + step, … < end. Vector x has `per` elements, from element
 * first + x * per on. Vectors begin at multiples of 16 bytes, so the first and last vector of a run
 * may cross its ends: those from whole_from to whole_to - 1 are whole. So tiles are shifted, but
 * keep their length; the run's last tile also has the elements that the shift leaves over. */
typedef struct zp_vectors {
  int64_t first;
  int32_t x, end, step, per;
  int32_t whole_from, whole_to;
} zp_vectors;

/* tile: of the run. n: its elements. */
ZP_ON_DEVICE zp_vectors zp_vectors_of(int64_t tile, int64_t n, int32_t lead, int32_t size,
                                      simdev_thread t)
{
  zp_vectors v;
  int32_t elements = ZP_TILE;
  v.per = ZP_VECTOR / size;
  v.first = tile * ZP_TILE - lead;
  if (n - tile * ZP_TILE <= ZP_TILE) elements = (int32_t)(n - v.first);
  v.x = (int32_t)t.threadIdx[0];
  v.step = (int32_t)t.blockDim[0];
  v.end = (elements + v.per - 1) / v.per;
  v.whole_from = v.first < 0;
  v.whole_to = elements / v.per;
  return v;
}

ZP_ON_DEVICE int zp_is_whole(const zp_vectors *v, int32_t x)
{
  return x >= v->whole_from && x < v->whole_to;
}

ZP_ON_DEVICE zp_vector zp_whole_vector(const zp_vectors *v, const void *in, int32_t x)
{
  return zp_load_vector((const char *)in + v->first * (ZP_VECTOR / v->per) + x * ZP_VECTOR);
}

/* Vector x of n elements `in`; zeros beyond its ends. */
ZP_NOINLINE zp_vector zp_vector_at(zp_vectors v, const void *in, int64_t n, int32_t x)
{
  const int64_t i = v.first + (int64_t)x * v.per;
  zp_vector out = {{0, 0, 0, 0}};
  if (x >= v.end) return out;
  if (zp_is_whole(&v, x)) return zp_whole_vector(&v, in, x);
  ZP_UNROLL for (int32_t w = 0; w < ZP_WORDS; w++)
  {
    if (v.per == ZP_WORDS) {
      if (i + w >= 0 && i + w < n) out.word[w] = ((const uint32_t *)in)[i + w];
    } else {
      const int64_t a = i + 2 * w;
      if (a >= 0 && a < n) out.word[w] = ((const uint16_t *)in)[a];
      if (a + 1 >= 0 && a + 1 < n) out.word[w] |= (uint32_t)((const uint16_t *)in)[a + 1] << 16;
    }
  }
  return out;
}

/* ---- Four elements --------------------------------------------------------------------------- */

/* Four elements, as patterns of fp32 or, for copies, of their own format. */
typedef struct zp_quad {
  uint32_t bits[4];
} zp_quad;

enum { ZP_QUAD = 4 };

/* Where quads of an array begin: elements between the last boundary and x. */
ZP_ON_DEVICE int32_t zp_quad_lead(const void *x, int32_t size)
{
  return (int32_t)((uintptr_t)x / (uintptr_t)size % ZP_QUAD);
}

/* Elements i … i + 3 of x, not converted. One load if they are aligned: the quads may be those of
 * another array. */
ZP_ON_DEVICE zp_quad zp_load_raw(const void *x, int32_t size, int64_t i)
{
  const char *at = (const char *)x + i * size;
  zp_quad q;
  if ((uintptr_t)at % (uintptr_t)(ZP_QUAD * size) != 0) {
    ZP_UNROLL for (int32_t e = 0; e < ZP_QUAD; e++) q.bits[e] =
        size == 4 ? ((const uint32_t *)at)[e] : ((const uint16_t *)at)[e];
  } else if (size == 4) {
    const zp_vector v = zp_load_vector(at);
    ZP_UNROLL for (int32_t e = 0; e < ZP_QUAD; e++) q.bits[e] = v.word[e];
  } else {
    const zp_pair v = zp_load_pair(at);
    ZP_UNROLL for (int32_t e = 0; e < ZP_QUAD; e++) q.bits[e] =
        e % 2 ? v.word[e / 2] >> 16 : v.word[e / 2] & 0xffffu;
  }
  return q;
}

ZP_ON_DEVICE void zp_store_raw(void *x, int32_t size, int64_t i, zp_quad q)
{
  char *at = (char *)x + i * size;
  if ((uintptr_t)at % (uintptr_t)(ZP_QUAD * size) != 0) {
    ZP_UNROLL for (int32_t e = 0; e < ZP_QUAD; e++)
    {
      if (size == 4) ((uint32_t *)at)[e] = q.bits[e];
      else ((uint16_t *)at)[e] = (uint16_t)q.bits[e];
    }
  } else if (size == 4) {
    const zp_vector v = {{q.bits[0], q.bits[1], q.bits[2], q.bits[3]}};
    zp_store_vector(at, v);
  } else {
    const zp_pair v = {{q.bits[0] | q.bits[1] << 16, q.bits[2] | q.bits[3] << 16}};
    zp_store_pair(at, v);
  }
}

/* As patterns of fp32. NUM-3 */
ZP_ON_DEVICE zp_quad zp_widened(int32_t dtype, zp_quad q)
{
  ZP_UNROLL for (int32_t e = 0; e < ZP_QUAD; e++)
  {
    if (dtype == ZP_BF16) q.bits[e] = zp_f32_from_bf16((uint16_t)q.bits[e]);
    if (dtype == ZP_F16) q.bits[e] = zp_bits_of(ZP_FROM_F16((uint16_t)q.bits[e]));
  }
  return q;
}

ZP_ON_DEVICE zp_quad zp_load_quad(int32_t dtype, const void *x, int64_t i)
{
  return zp_widened(dtype, zp_load_raw(x, dtype == ZP_F32 ? 4 : 2, i));
}

/* Rounded. NUM-2 */
ZP_ON_DEVICE void zp_store_quad(int32_t dtype, void *x, int64_t i, zp_quad q)
{
  ZP_UNROLL for (int32_t e = 0; e < ZP_QUAD; e++)
  {
    if (dtype == ZP_BF16) q.bits[e] = zp_bf16_from_f32(q.bits[e]);
    if (dtype == ZP_F16) q.bits[e] = ZP_TO_F16(zp_float_of(q.bits[e]));
  }
  zp_store_raw(x, dtype == ZP_F32 ? 4 : 2, i, q);
}

/* A thread's quads of a tile. lead: of the array that is written. */
ZP_ON_DEVICE zp_vectors zp_quads_of(int64_t tile, int64_t n, int32_t lead, simdev_thread t)
{
  return zp_vectors_of(tile, n, lead, ZP_VECTOR / ZP_QUAD, t);
}

/* ---- Tiles ----------------------------------------------------------------------------------- */

/* A block's tiles are consecutive, so it searches the table only for its first run. */
typedef struct zp_walk {
  const zp_memory_run *run, *last;
  int64_t tile, end;
} zp_walk;

ZP_ON_DEVICE zp_walk zp_walk_of(const zp_memory_runs *runs, simdev_thread t)
{
  const zp_memory_run *table = zp_run_table(runs);
  const int64_t b = t.blockIdx[0], grid = t.gridDim[0];
  zp_walk w;
  w.tile = runs->tiles * b / grid;
  w.end = runs->tiles * (b + 1) / grid;
  w.run = zp_run_of(table, runs->n, w.tile);
  w.last = table + runs->n - 1;
  return w;
}

ZP_ON_DEVICE void zp_walk_on(zp_walk *w)
{
  w->tile++;
  while (w->run < w->last && w->run[1].first_tile <= w->tile) w->run++;
}

#endif
