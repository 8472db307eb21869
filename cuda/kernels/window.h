/* Exact sums of squares in fp64, for elements whose exponents lie in a window.
 *
 * The square of an fp32, bf16 or fp16 number is exact in fp64. `high` starts at 2^(52 + k), so that
 * adding a square rounds it to a multiple of 2^k. The rounding error, square - (high' - high), is
 * exact, at most 2^(k - 1), and is added to `rest`, which starts at 3 * 2^(51 + j), j = k - 42, and
 * so counts multiples of 2^j. Both are exact under three conditions:
 *
 *   - high < 2^(53 + k). It never decreases, as squares are not negative, so one check at the end
 *     of a chunk suffices, also for infinities and NaNs.
 *   - All squares are multiples of 2^j: all numbers except zeros have exponents of at least `low`.
 *   - rest stays between 2^(52 + j) and 2^(53 + j). It is released to the bins when it has changed
 *     by 2^(50 + j), and a chunk of 32 numbers changes it by at most 2^(k + 4) = 2^(46 + j).
 *
 * A chunk that violates one is undone, and added again in a window opened for it; if its exponents
 * are too far apart for any window, its elements are added one by one. Windows reach 19 exponents
 * below a chunk's largest for fp32, 35 for bf16, and hold every fp16 number. spec: SUM-1, SUM-2
 */
#ifndef ZP_CUDA_WINDOW_H
#define ZP_CUDA_WINDOW_H
#include "vector.h"

/* What a thread adds between two checks: loads that are in flight at once. */
enum { ZP_CHUNK_VECTORS = 4, ZP_CHUNK_WORDS = ZP_CHUNK_VECTORS * ZP_WORDS };

/* Bits that `rest` reaches below `high`; log2 of how much larger than a chunk's largest square a
 * sum may become; the units for which both parts of a sum fit into the bins (squares.h). */
enum { ZP_REST_BITS = 42, ZP_HEADROOM = 8, ZP_UNIT_MIN = ZP_REST_BITS, ZP_UNIT_MAX = 16 * 29 + 15 };

/* unit: high counts 2^(unit - 298), unit = k + 298. least: the lowest exponent, of fp32, biased. */
typedef struct zp_window {
  double high, rest;
  int32_t unit;
  uint32_t least;
} zp_window;

ZP_ON_DEVICE double zp_double_of(uint64_t bits)
{
  double x;
  memcpy(&x, &bits, sizeof x);
  return x;
}

ZP_ON_DEVICE uint64_t zp_bits_of_double(double x)
{
  uint64_t bits;
  memcpy(&bits, &x, sizeof bits);
  return bits;
}

/* Upper words of the initial values of high and rest: 1023 + 52 - 298 = 777. */
ZP_ON_DEVICE uint32_t zp_high_start(int32_t unit)
{
  return (uint32_t)(unit + 777) << 20;
}
ZP_ON_DEVICE uint32_t zp_rest_start(int32_t unit)
{
  return (uint32_t)(unit - ZP_REST_BITS + 777) << 20 | 0x80000u;
}

/* The exponent of fp32, biased, from which on squares of a format are multiples of 2^j. Twice it
 * plus -2 (23 fraction bits), 30 (7) or 24 (10) is the lowest bit of such squares, above 2^-298. */
ZP_ON_DEVICE int32_t zp_window_low(int32_t dtype, int32_t unit)
{
  const int32_t bit = unit - ZP_REST_BITS - (dtype == ZP_F32 ? -2 : dtype == ZP_BF16 ? 30 : 24);
  return bit > 2 ? (bit + 1) / 2 : 1; /* subnormal fp32 and bf16 numbers are in no window */
}

/* Opens an empty window. top: the largest exponent of its numbers, of fp32, biased. */
ZP_ON_DEVICE void zp_window_open(zp_window *w, int32_t dtype, int32_t top)
{
  int32_t unit = 2 * top - 252 + ZP_HEADROOM - 52 + 298;
  if (unit < ZP_UNIT_MIN) unit = ZP_UNIT_MIN;
  if (unit > ZP_UNIT_MAX) unit = ZP_UNIT_MAX;
  w->unit = unit;
  w->high = zp_double_of((uint64_t)zp_high_start(unit) << 32);
  w->rest = zp_double_of((uint64_t)zp_rest_start(unit) << 32);
  w->least = (uint32_t)zp_window_low(dtype, unit);
}

/* The sign bit of each bf16 number of a word becomes 1 if the number is nonzero and below the
 * window. (fp32 is compared in zp_window_add: doubled, without a sign, minus one, so that zero is
 * above all.) */
ZP_ON_DEVICE uint32_t zp_below_bf16(uint32_t word, uint32_t least)
{
  const uint32_t magnitude = word & 0x7fff7fffu;
  const uint32_t reaches = magnitude + (0x8000u - least * 128u) * 0x10001u;
  return (magnitude + 0x7fff7fffu) & ~reaches;
}

/* A number of a word as fp32; second: 1: the upper half, of 16-bit formats. */
ZP_ON_DEVICE float zp_number(int32_t dtype, uint32_t word, int32_t second)
{
  if (dtype == ZP_F32) return zp_float_of(word);
  if (dtype == ZP_BF16) return zp_float_of(second ? word & 0xffff0000u : word << 16);
  return ZP_FROM_F16((uint16_t)(second ? word >> 16 : word));
}

ZP_ON_DEVICE void zp_window_put(zp_window *w, float x)
{
  const double wide = (double)x;
  const double square = wide * wide;
  const double next = w->high + square;
  const double kept = next - w->high;
  w->rest = w->rest + (square - kept);
  w->high = next;
}

/* Adds a chunk of words and returns 1; 0: a number is outside the window, and nothing is added. */
ZP_ON_DEVICE int zp_window_add(zp_window *w, int32_t dtype, const uint32_t *word)
{
  zp_window next = *w;
  uint32_t smallest = 0xffffffffu, below = 0;
  ZP_UNROLL for (int32_t i = 0; i < ZP_CHUNK_WORDS; i++)
  {
    zp_window_put(&next, zp_number(dtype, word[i], 0));
    if (dtype != ZP_F32) zp_window_put(&next, zp_number(dtype, word[i], 1));
    if (dtype == ZP_F32) {
      const uint32_t key = 2u * word[i] - 1u;
      smallest = key < smallest ? key : smallest;
    }
    if (dtype == ZP_BF16) below |= zp_below_bf16(word[i], w->least);
  }
  ZP_COMPUTED(next.rest); /* else nvcc keeps all squares of the chunk until the checks below */
  const uint32_t filled = (uint32_t)(zp_bits_of_double(next.high) >> 32) - zp_high_start(w->unit);
  if (filled >= 0x100000u) return 0;
  if (dtype == ZP_F32 && smallest < (w->least << 24) - 1u) return 0;
  if (dtype == ZP_BF16 && (below & 0x80008000u) != 0) return 0;
  w->high = next.high;
  w->rest = next.rest;
  return 1;
}

/* Whether another chunk might not fit: high is half full, or rest has changed by a quarter. */
ZP_ON_DEVICE int zp_window_is_full(const zp_window *w)
{
  const uint32_t high = (uint32_t)(zp_bits_of_double(w->high) >> 32) - zp_high_start(w->unit);
  const uint32_t rest = (uint32_t)(zp_bits_of_double(w->rest) >> 32) - zp_rest_start(w->unit);
  return high >= 0x80000u || rest + 0x40000u >= 0x80000u;
}

/* The sum: high * 2^k + rest * 2^j, 0 <= rest < 2^42, high < 2^52. */
ZP_ON_DEVICE void zp_window_sum(const zp_window *w, uint64_t *high, uint64_t *rest)
{
  const uint64_t unit = UINT64_C(1) << ZP_REST_BITS; /* one unit of high, in units of rest */
  const uint64_t h = zp_bits_of_double(w->high) - ((uint64_t)zp_high_start(w->unit) << 32);
  uint64_t r = zp_bits_of_double(w->rest) - ((uint64_t)zp_rest_start(w->unit) << 32);
  r += UINT64_C(1) << 52;                            /* makes it non-negative */
  *high = h + r / unit - (UINT64_C(1) << 52) / unit; /* and is subtracted again */
  *rest = r % unit;
}

#endif
