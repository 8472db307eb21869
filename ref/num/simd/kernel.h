/* What the vector kernels and fast.c share. Internal to ref/num/simd.
 *
 * Windows. Let the non-zero elements of a block have biased fp32 exponents in [low, top], top - low
 * at most some width. Squares are exact in fp64 (at most 48 bits). A block is at most ZP_BLOCK
 * elements over 32 lanes, 128 squares a lane (one sum on AVX2: 16 lanes, 256 squares):
 *   squares            < 2^(2 top - 252), their sum in a lane < 2^(2 top - 245), AVX2 2^(... - 244)
 *   unit of squares    = 2^(2 low - 254 - 2 f) with f fraction bits (fp32 23, fp16 10, bf16 7)
 * One sum: a lane starts at 2^52 units and stays exact if its sum is at most 2^52 units, that is
 * 2 (top - low) <= 42 - 2 f: widths 14 for bf16, 11 for fp16, none for fp32.
 * Two sums: `high` starts at 2^(52+k), so that adding a square rounds it to a multiple of 2^k, and
 * what is lost, square - (high' - high), is exact and goes into `rest`. With 2^(52 + k) twice the
 * sum in a lane, k = 2 top - 296: |lost| <= 2^k in any rounding mode, their sum is at most
 * 2^(2 top - 289), and that at most 2^51 units if 2 (top - low) <= 86 - 2 f: widths 20, 33, 36 for
 * fp32, fp16, bf16.
 * fp32 uses two sums. The half types use one sum from top down to `mid`, and two for the elements
 * below, which are few in a gradient: groups of 32 without any pay one branch that is predicted.
 * A kernel assumes a window and measures, in the same pass, whether the block was inside; if not,
 * the block is done again another way.
 *
 * Bins, for blocks whose exponents are too wide for a window: one per biased exponent, in copies
 * that successive elements take in turn, so that an addition need not wait for the one before. A
 * square is below 2^48, so a bin holds 2^16 of them. Bin 255 is the non-finite elements' and is
 * never read.
 */
#ifndef ZP_REF_NUM_SIMD_KERNEL_H
#define ZP_REF_NUM_SIMD_KERNEL_H
#include <stdint.h>

#include "fast.h"

enum { ZP_ELEM_F32 = 0, ZP_ELEM_BF16 = 1, ZP_ELEM_F16 = 2 };
enum { ZP_BLOCK = 4096, ZP_LANE_STEP = 32 };

/* A window of biased fp32 exponents; fraction: f above. mid: the lowest exponent of the one-sum
 * part (half types), top + 1 when there is no such part (fp32).
 */
typedef struct zp_window {
  int top, mid, low, fraction;
} zp_window;

enum { ZP_BIN_COPIES = 8, ZP_BINS = 256, ZP_BIN_CAPACITY = 65536, ZP_BIN_AHEAD = 512 };

/* held: most elements that any one bin may hold; -1: not cleared yet */
typedef struct zp_bins {
  uint64_t bin[ZP_BIN_COPIES][ZP_BINS];
  int64_t held;
} zp_bins;

/* Largest magnitude pattern of a block and smallest non-zero one less 1 (all ones: none), fp32. */
typedef struct zp_extent {
  uint32_t max, min_less_1;
} zp_extent;

/* limb += v * 2^bit. limb: (ZP_SQ_LIMBS). |v| < 2^62, bit at most 544; a limb grows by less than
 * 2^32 a call. Errors: none. spec: SUM-3
 */
static inline void zp_add_at(int64_t *limb, int64_t v, int bit)
{
  __extension__ __int128 wide = (__int128)v * ((int64_t)1 << (bit % 32));
  limb[bit / 32] += (int64_t)(uint32_t)wide;
  limb[bit / 32 + 1] += (int64_t)(uint32_t)(wide >> 32);
  limb[bit / 32 + 2] += (int64_t)(wide >> 64);
}

/* Whether a block of this extent lies in the window. Errors: none. spec: SUM-2 */
static inline int zp_in_window(zp_window w, zp_extent e)
{
  return e.max < ((uint32_t)w.top + 1) << 23 && e.min_less_1 >= ((uint32_t)w.low << 23) - 1;
}

/* The window for a block of this extent, with the spare width halved above and below; returns 0
 * if there is none: subnormal or non-finite elements, or exponents too wide. spec: SUM-2
 */
static inline int zp_choose_window(zp_window *w, int elem, zp_extent e)
{
  static const int one_sum[3] = { -1, 14, 11 }, two_sums[3] = { 20, 36, 33 };
  static const int fraction[3] = { 23, 7, 10 };
  int width = one_sum[elem] + 1 + two_sums[elem]; /* exponents top .. mid, then mid - 1 .. low */
  int top = (int)(e.max >> 23), low = e.max == 0 ? 0 : (int)((e.min_less_1 + 1) >> 23);
  if (e.max == 0) top = low = 127; /* all zero: any window */
  if (top > 254 || low < 1 || top - low > width) return 0;
  int spare = (width - (top - low)) / 2;
  if (elem != ZP_ELEM_F32 && spare > 2) spare = 2; /* the one-sum part had better reach far down */
  top = top + spare < 254 ? top + spare : 254;
  w->top = top;
  w->mid = top - one_sum[elem] > 1 ? top - one_sum[elem] : 1;
  w->low = top - width > 1 ? top - width : 1;
  w->fraction = fraction[elem];
  return 1;
}

/* The half pattern, sign off, where fp32 exponent `mid` begins; every non-zero one is at least that
 * if mid is below fp16's range. spec: SUM-2
 */
static inline uint16_t zp_half_pattern(int elem, int mid)
{
  if (elem == ZP_ELEM_BF16) return (uint16_t)(mid << 7);
  if (mid >= 113) return (uint16_t)((mid - 112) << 10); /* 113: the first normal exponent */
  return mid >= 103 ? (uint16_t)(1 << (mid - 103)) : 1; /* units of 2^-24, exponent 103 */
}

/* Adds the leading blocks of x whose exponents fit a window to limb; returns how many elements
 * that were: all n, or less when the next block needs another way.
 * limb: (ZP_SQ_LIMBS), not carried. elem: ZP_ELEM_*. x: (n) of that type; n a multiple of
 * ZP_LANE_STEP. Errors: none.
 * spec: SUM-2
 */
int64_t zp_window_avx2(int64_t *limb, int elem, const void *x, int64_t n);
int64_t zp_window_avx512(int64_t *limb, int elem, const void *x, int64_t n);

/* Adds n elements to the bins; returns how many were non-finite.
 * elem, x: as above. n: a multiple of ZP_LANE_STEP, at most ZP_BLOCK. after: how many elements of
 * x follow these n, for prefetching. Errors: none.
 * spec: SUM-2
 */
int64_t zp_bins_avx2(zp_bins *b, int elem, const void *x, int64_t n, int64_t after);
int64_t zp_bins_avx512(zp_bins *b, int elem, const void *x, int64_t n, int64_t after);

#endif
