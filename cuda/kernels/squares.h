/* The exact sum of squares of many tensors, and the number of non-finite elements, in one launch;
 * or of the means of fp32 sums, which are computed in registers (divisor: D·M; 0: no sums).
 *
 * Phases: clear the bins; each thread adds its elements to its lane's column of the block's bins;
 * sum the bins over the lanes; one thread carries them into limbs, with the code of
 * ref/num/exact.c; add the limbs to the tally. All additions are of integers, so any order gives
 * the same sum. spec: SUM-1 … SUM-4, RED-4, STAT-2, STAT-3 */
#ifndef ZP_CUDA_SQUARES_H
#define ZP_CUDA_SQUARES_H
#include "window.h"

/* A thread's sum that is not yet added to a bin: neighbours mostly share a bin, and registers are
 * faster than shared memory. */
typedef struct zp_held {
  uint32_t bin;
  int64_t lo, hi;
} zp_held;

/* A block's bins, and the thread's column of them. Lanes without a column have no elements. */
typedef struct zp_column {
  zp_squares_shared *s;
  uint32_t lane, lanes;
} zp_column;

ZP_ON_DEVICE void zp_release(zp_column c, zp_held h)
{
  if (c.lane >= c.lanes) return;
  ZP_ADD_SHARED(&c.s->bin[h.bin * c.lanes + c.lane], h.lo);
  ZP_ADD_SHARED(&c.s->bin[(ZP_SQ_BINS + h.bin) * c.lanes + c.lane], h.hi);
}

/* What is squared of element i: itself, or the mean of that sum. */
ZP_ON_DEVICE uint32_t zp_squared(int32_t dtype, int64_t divisor, const void *in, int64_t i)
{
  const uint32_t bits = zp_element(dtype, in, i);
  return divisor == 0 ? bits : zp_mean_of(bits, divisor);
}

/* ---- Without a window ------------------------------------------------------------------------ */

/* The square of a finite pattern. SUM-2 */
ZP_ON_DEVICE zp_held zp_hold_square(zp_column c, zp_held h, uint32_t bits)
{
  const uint32_t exponent = bits / 8388608u % 256u;
  const uint32_t bin = (exponent == 0 ? 0 : exponent - 1) / 8u;
  const uint64_t square = scaled_square(bits);
  if (bin != h.bin) {
    zp_release(c, h);
    h.bin = bin;
    h.lo = 0;
    h.hi = 0;
  }
  h.lo += (int64_t)(square % 2147483648u);
  h.hi += (int64_t)(square / 2147483648u);
  return h;
}

/* Adds the elements of a chunk one by one, from memory; returns how many are not finite. */
ZP_ON_DEVICE int64_t zp_add_one_by_one(zp_column c, int32_t dtype, int64_t divisor, const void *in,
                                       int64_t count, zp_vectors v, int32_t x)
{
  zp_held h = {0, 0, 0};
  int64_t bad = 0;
  for (int32_t k = 0; k < ZP_CHUNK_VECTORS && x < v.end; k++, x += v.step)
    for (int32_t e = 0; e < v.per; e++) {
      const int64_t i = v.first + (int64_t)x * v.per + e;
      if (i < 0 || i >= count) continue;
      const uint32_t bits = zp_squared(dtype, divisor, in, i);
      if (zp_nonfinite_f32(&bits, 1)) bad++;
      else h = zp_hold_square(c, h, bits);
    }
  zp_release(c, h);
  return bad;
}

/* The largest magnitude of a chunk, as a pattern of fp32. Reads memory again: the common path does
 * not compute it. */
ZP_ON_DEVICE uint32_t zp_largest_of(int32_t dtype, int64_t divisor, const void *in, int64_t count,
                                    zp_vectors v, int32_t x)
{
  uint32_t largest = 0;
  for (int32_t k = 0; k < ZP_CHUNK_VECTORS && x < v.end; k++, x += v.step)
    for (int32_t e = 0; e < v.per; e++) {
      const int64_t i = v.first + (int64_t)x * v.per + e;
      if (i < 0 || i >= count) continue;
      const uint32_t magnitude = zp_squared(dtype, divisor, in, i) & 0x7fffffffu;
      if (magnitude > largest) largest = magnitude;
    }
  return largest;
}

/* Each has its own code for elements and for means: one more argument would cost zp_kernel_squares
 * registers. */
ZP_NOINLINE int64_t zp_squares_slowly(zp_column c, int32_t dtype, const void *in, int64_t count,
                                      zp_vectors v, int32_t x)
{
  return zp_add_one_by_one(c, dtype, 0, in, count, v, x);
}
ZP_NOINLINE int64_t zp_means_slowly(zp_column c, int64_t divisor, const void *in, int64_t count,
                                    zp_vectors v, int32_t x)
{
  return zp_add_one_by_one(c, ZP_F32, divisor, in, count, v, x);
}
ZP_NOINLINE uint32_t zp_chunk_largest(int32_t dtype, const void *in, int64_t count, zp_vectors v,
                                      int32_t x)
{
  return zp_largest_of(dtype, 0, in, count, v, x);
}
ZP_NOINLINE uint32_t zp_largest_mean(int64_t divisor, const void *in, int64_t count, zp_vectors v,
                                     int32_t x)
{
  return zp_largest_of(ZP_F32, divisor, in, count, v, x);
}

/* ---- With a window --------------------------------------------------------------------------- */

/* Adds value * 2^(bit - 298), value < 2^53, to the bins: 32 bits to that of `bit`, the others two
 * bins further. */
ZP_ON_DEVICE void zp_release_at(zp_column c, uint64_t value, int32_t bit)
{
  const uint32_t by = (uint32_t)bit % 16u;
  const uint64_t lower = value % 4294967296u << by, upper = value / 4294967296u << by;
  zp_held h = {(uint32_t)bit / 16u, (int64_t)(lower % 2147483648u), (int64_t)(lower / 2147483648u)};
  zp_release(c, h);
  h.bin += 2;
  h.lo = (int64_t)(upper % 2147483648u);
  h.hi = (int64_t)(upper / 2147483648u);
  zp_release(c, h);
}

ZP_NOINLINE void zp_window_release(zp_column c, zp_window w)
{
  uint64_t high, rest;
  zp_window_sum(&w, &high, &rest);
  zp_release_at(c, high, w.unit);
  zp_release_at(c, rest, w.unit - ZP_REST_BITS);
}

/* The largest exponent that the window was opened for, unless its unit was clamped. */
ZP_ON_DEVICE int32_t zp_window_top(const zp_window *w)
{
  return (w->unit - ZP_HEADROOM + 6) / 2;
}

/* Loads a chunk: vectors from x on, of sums their means; zeros beyond the run's ends. */
ZP_ON_DEVICE void zp_chunk_load(uint32_t *word, int64_t divisor, const void *in, int64_t count,
                                zp_vectors v, int32_t x)
{
  zp_vector got[ZP_CHUNK_VECTORS];
  if (zp_is_whole(&v, x) && zp_is_whole(&v, x + (ZP_CHUNK_VECTORS - 1) * v.step)) {
    ZP_UNROLL for (int32_t k = 0; k < ZP_CHUNK_VECTORS; k++) got[k] =
        zp_whole_vector(&v, in, x + k * v.step);
  } else {
    ZP_UNROLL for (int32_t k = 0; k < ZP_CHUNK_VECTORS; k++) got[k] =
        zp_vector_at(v, in, count, x + k * v.step);
  }
  ZP_UNROLL for (int32_t i = 0; i < ZP_CHUNK_WORDS; i++)
  {
    word[i] = got[i / ZP_WORDS].word[i % ZP_WORDS];
    if (divisor != 0) word[i] = zp_mean_of(word[i], divisor);
  }
}

/* Adds one chunk of a thread: its vectors from x on. Returns how many elements are not finite. */
ZP_ON_DEVICE int64_t zp_squares_chunk(zp_column c, zp_window *w, int32_t dtype, int64_t divisor,
                                      const void *in, int64_t count, zp_vectors v, int32_t x)
{
  for (int32_t tries = 0;; tries++) {
    uint32_t word[ZP_CHUNK_WORDS];
    zp_chunk_load(word, divisor, in, count, v,
                  x); /* also the second time: keeping words costs registers */
    if (zp_window_add(w, dtype, word)) break;
    const uint32_t largest = divisor == 0 ? zp_chunk_largest(dtype, in, count, v, x)
                                          : zp_largest_mean(divisor, in, count, v, x);
    if (tries == 1 || largest >= 0x7f800000u)
      return divisor == 0 ? zp_squares_slowly(c, dtype, in, count, v, x)
                          : zp_means_slowly(c, divisor, in, count, v, x);
    zp_window_release(c, *w);
    zp_window_open(w, dtype, (int32_t)(largest >> 23));
  }
  if (zp_window_is_full(w)) {
    zp_window_release(c, *w);
    zp_window_open(w, dtype, zp_window_top(w));
  }
  return 0;
}

/* A chunk of sums whose squares are not counted: how many of their means are not finite. */
ZP_ON_DEVICE int64_t zp_watch_chunk(int64_t divisor, const void *in, int64_t count, zp_vectors v,
                                    int32_t x)
{
  uint32_t word[ZP_CHUNK_WORDS];
  int32_t bad = 0;
  zp_chunk_load(word, divisor, in, count, v, x);
  ZP_UNROLL for (int32_t i = 0; i < ZP_CHUNK_WORDS; i++) bad +=
      (word[i] & 0x7f800000u) == 0x7f800000u;
  return bad;
}

/* All tiles of a block. dtype: a compile-time constant; so is divisor, if it is 0. */
ZP_ON_DEVICE void zp_squares_tiles(const zp_squares_params *p, int32_t dtype, int64_t divisor,
                                   zp_squares_shared *s, simdev_thread t)
{
  const int32_t size = dtype == ZP_F32 ? 4 : 2;
  const zp_column c = {s, t.threadIdx[0] % ZP_LANES, (uint32_t)p->lanes};
  zp_window w;
  int64_t bad = 0;
  zp_window_open(&w, dtype, 127);
  for (zp_walk at = zp_walk_of(&p->runs, t); at.tile < at.end; zp_walk_on(&at)) {
    const void *in = at.run->in; /* loaded once, so that no chunk waits for the table */
    const int64_t count = at.run->count;
    const zp_vectors v =
        zp_vectors_of(at.tile - at.run->first_tile, count, zp_lead(in, size), size, t);
    const int counts = divisor == 0 || at.run->at != 0;
    for (int32_t x = v.x; x < v.end; x += ZP_CHUNK_VECTORS * v.step)
      bad += counts ? zp_squares_chunk(c, &w, dtype, divisor, in, count, v, x)
                    : zp_watch_chunk(divisor, in, count, v, x);
  }
  zp_window_release(c, w);
  if (bad != 0) ZP_ADD_SHARED(&s->nonfinite, bad);
}

ZP_ON_DEVICE void zp_squares_add(const zp_squares_params *p, zp_squares_shared *s, simdev_thread t)
{
  if (p->dtype == ZP_F32) zp_squares_tiles(p, ZP_F32, 0, s, t);
  else if (p->dtype == ZP_BF16) zp_squares_tiles(p, ZP_BF16, 0, s, t);
  else zp_squares_tiles(p, ZP_F16, 0, s, t);
}

ZP_ON_DEVICE void zp_squares_clear(zp_squares_shared *s, uint32_t lanes, simdev_thread t)
{
  for (uint32_t i = t.threadIdx[0]; i < 2 * ZP_SQ_BINS * lanes; i += t.blockDim[0]) s->bin[i] = 0;
  if (t.threadIdx[0] < ZP_SQ_LIMBS)
    s->limb[t.threadIdx[0]] = 0; /* a block has 32 threads or more */
  if (t.threadIdx[0] == 0) s->nonfinite = 0;
}

/* Row q, summed over the lanes; neighbouring threads begin in different banks. */
ZP_ON_DEVICE void zp_squares_total(zp_squares_shared *s, uint32_t lanes, uint32_t q)
{
  const int64_t *row = s->bin + q * lanes;
  uint32_t at = q % ZP_LANES < lanes ? q % ZP_LANES : 0;
  int64_t sum = 0;
  for (uint32_t j = 0; j < lanes; j++) {
    sum += row[at];
    at = at + 1 == lanes ? 0 : at + 1;
  }
  s->total[q] = sum;
}

enum { ZP_SQUARES_PHASES = 5, ZP_SQUARES_LAST = 3 };

/* The last phases, from the bins to the tally. phase: 0 … ZP_SQUARES_LAST - 1. */
ZP_ON_DEVICE void zp_squares_end(const zp_squares_params *p, zp_squares_shared *s, simdev_thread t,
                                 int phase)
{
  const uint32_t i = t.threadIdx[0];
  if (phase == 0)
    for (uint32_t q = i; q < 2 * ZP_SQ_BINS; q += t.blockDim[0])
      zp_squares_total(s, (uint32_t)p->lanes, q);
  if (phase == 1 && i == 0) carry_in(s->total, s->total + ZP_SQ_BINS, s->limb);
  if (phase == 2 && i < ZP_SQ_LIMBS && s->limb[i] != 0)
    ZP_ADD_GLOBAL(&p->tally->squares[i], s->limb[i]);
  if (phase == 2 && i == ZP_SQ_LIMBS) zp_count(p->nonfinite, s->nonfinite);
}

ZP_ON_DEVICE void zp_squares_body(const void *params, simdev_thread t, void *shared, int phase)
{
  const zp_squares_params *p = (const zp_squares_params *)params;
  zp_squares_shared *s = (zp_squares_shared *)shared;
  if (phase == 0) zp_squares_clear(s, (uint32_t)p->lanes, t);
  if (phase == 1) zp_squares_add(p, s, t);
  zp_squares_end(p, s, t, phase - 2);
}

#endif
