/* The exact sum of squares of many tensors, and how many elements are not finite, in one launch.
 *
 * Phases: bins empty; each thread adds its elements to its lane's column of the block's bins; bins
 * are summed over the lanes; one thread carries them into limbs, by the code of ref/num/exact.c;
 * the limbs are added to the tally. All additions are of integers: any order gives the same.
 * spec: SUM-1 … SUM-4, STAT-2, STAT-3 */
#ifndef ZP_CUDA_SQUARES_H
#define ZP_CUDA_SQUARES_H
#include "element.h"

/* What a thread has not added to the bins yet: neighbours mostly share a bin, and a register is
 * nearer than shared memory. */
typedef struct zp_held {
  uint32_t bin;
  int64_t lo, hi;
} zp_held;

/* A block's bins, and the thread's column of them. A lane without one has no elements. */
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

ZP_ON_DEVICE void zp_squares_add(const zp_squares_params *p, zp_squares_shared *s, simdev_thread t)
{
  const zp_memory_run *table = zp_run_table(&p->runs);
  const zp_column c = {s, t.threadIdx[0] % ZP_LANES, (uint32_t)p->lanes};
  zp_held h = {0, 0, 0};
  int64_t bad = 0;
  for (int64_t tile = t.blockIdx[0]; tile < p->runs.tiles; tile += t.gridDim[0]) {
    const zp_memory_run *run = zp_run_of(table, p->runs.n, tile);
    const zp_span span = zp_span_of(tile - run->first_tile, run->count, t);
    for (int64_t i = span.i; i < span.end; i += span.step) {
      const uint32_t bits = zp_element(p->dtype, run->in, i);
      if (zp_nonfinite_f32(&bits, 1)) bad++;
      else h = zp_hold_square(c, h, bits);
    }
  }
  zp_release(c, h);
  if (bad != 0) ZP_ADD_SHARED(&s->nonfinite, bad);
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

enum { ZP_SQUARES_PHASES = 5 };

ZP_ON_DEVICE void zp_squares_body(const void *params, simdev_thread t, void *shared, int phase)
{
  const zp_squares_params *p = (const zp_squares_params *)params;
  zp_squares_shared *s = (zp_squares_shared *)shared;
  const uint32_t i = t.threadIdx[0];
  if (phase == 0) zp_squares_clear(s, (uint32_t)p->lanes, t);
  if (phase == 1) zp_squares_add(p, s, t);
  if (phase == 2)
    for (uint32_t q = i; q < 2 * ZP_SQ_BINS; q += t.blockDim[0])
      zp_squares_total(s, (uint32_t)p->lanes, q);
  if (phase == 3 && i == 0) carry_in(s->total, s->total + ZP_SQ_BINS, s->limb);
  if (phase == 4 && i < ZP_SQ_LIMBS && s->limb[i] != 0)
    ZP_ADD_GLOBAL(&p->tally->squares[i], s->limb[i]);
  if (phase == 4 && i == ZP_SQ_LIMBS) zp_count(p->nonfinite, s->nonfinite);
}

#endif
