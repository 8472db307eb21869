/* Declarations shared by the vector kernels and fast.c. Internal to ref/num/simd.
 *
 * Windows. Most elements of a block have biased exponents in a window [low, top] chosen before;
 * they are added in fp64, where their squares are exact (at most 48 bits). The others are copied to
 * a list, whose elements are added in bins. A block is at most ZP_BLOCK elements over 32 lanes, 128
 * squares a lane (half types on AVX2: 16 lanes, 256 squares). With fp32 exponents:
 *   squares            < 2^(2 top - 252), their sum in a lane < 2^(2 top - 245), AVX2 2^(... - 244)
 *   unit of squares    = 2^(2 low - 254 - 2 f) with f fraction bits (fp32 23, fp16 10, bf16 7) One
 * sum: a lane starts at 2^52 units and stays exact if its sum is at most 2^52 units, that is 2 (top
 * - low) <= 42 - 2 f: widths top - low of 14 for bf16, 11 for fp16, none for fp32. Two sums: `high`
 * starts at 2^(52+k), so that adding a square rounds it to a multiple of 2^k. The lost part, square
 * - (high' - high), is exact and goes into `rest`. With 2^(52 + k) twice the sum in a lane, k = 2
 * top - 296: |lost| <= 2^k in any rounding mode, their sum is at most 2^(2 top - 289), and that at
 * most 2^51 units if 2 (top - low) <= 86 - 2 f: width 20 for fp32. Subnormal fp32 and bf16 numbers
 * are in no window, because the process may have set its CPU to treat them as zero. Those of fp16
 * are normal in fp32 and share the unit of exponent 1.
 *
 * bf16 on AVX-512 is added in integers. The window is two halves of ZP_HALF_WINDOW = 7 exponents.
 * Significands, below 2^8, are shifted to the lowest exponent of their half, by at most 6, so that
 * they are below 2^14 and the squares of two neighbours together below 2^29. A lane of 32 bits,
 * unsigned, holds ZP_HALF_ADDS = 8 such sums; then it is added to 64 bits. That limits the width to
 * 13 for bf16.
 *
 * Bins, for listed elements and for blocks where no window holds most of them. Two elements at a
 * time are added to a bin that belongs to the pair of their exponent classes, because the stores to
 * the bins are the bottleneck. A class is ZP_CLASS exponents, and significands are shifted to its
 * lowest. A subnormal number counts with twice its significand and exponent 0. fp32: significands
 * are shifted by at most 7, so they are below 2^31 and their squares below 2^62. A bin holds four
 * words, the sums of the low and the high 32 bits of the squares of both elements, each at most
 * 2^32 - 1 times the number of additions. Half types: squares are below 2^46 for bf16, 2^28 for
 * fp16, and a bin is one word per element. Their bins have copies that successive elements use in
 * turn, so every bin gets at most one in 8 of the ZP_BIN_CAPACITY = 2^21 elements added, and 2^18
 * squares of bf16 are below 2^64. That is less than fp32 could hold: the words of one class, added
 * up, are below 2^21 2^32. Non-finite elements are counted, with a square of 0.
 */
#ifndef ZP_REF_NUM_SIMD_KERNEL_H
#define ZP_REF_NUM_SIMD_KERNEL_H
#include <stdint.h>
#include <string.h>

#include "fast.h"

enum { ZP_ELEM_F32 = 0, ZP_ELEM_BF16 = 1, ZP_ELEM_F16 = 2 };
enum { ZP_BLOCK = 4096, ZP_LANE_STEP = 32 };

/* bf16 on AVX-512: exponents per half of a window, additions to a lane of 32 bits. */
enum { ZP_HALF_WINDOW = 7, ZP_HALF_ADDS = 8 };

/* Exponents low .. top as biased in the element's own format. fp16: low 0 includes subnormals. */
typedef struct zp_window {
  int top, low;
} zp_window;

enum { ZP_EXPONENTS = 256, ZP_PAIR_COPIES = 4, ZP_BIN_AHEAD = 256 };
enum { ZP_CLASS_F32 = 8, ZP_CLASS_BF16 = 16, ZP_CLASS_F16 = 4, ZP_BIN_CAPACITY = 2097152 };
enum { ZP_WORDS_F32 = 4 * 32 * 32, ZP_WORDS_HALF = ZP_PAIR_COPIES * 2 * 16 * 16 };

/* fp32: word[4 (32 class0 + class1) + 2 j + half] is for element j of a pair; half: 0 low, 1 high.
 * Half types: word[512 copy + 2 (class0 + 16 class1) + j].
 */
typedef struct zp_bins {
  _Alignas(64) uint64_t word[ZP_WORDS_F32];
} zp_bins;

/* limb += v * 2^bit. limb: (ZP_SQ_LIMBS). |v| < 2^62, bit at most 544; a limb grows by less than
 * 2^32 per call. Errors: none. spec: SUM-3
 */
static inline void zp_add_at(int64_t *limb, int64_t v, int bit)
{
  __extension__ __int128 wide = (__int128)v * ((int64_t)1 << (bit % 32));
  limb[bit / 32] += (int64_t)(uint32_t)wide;
  limb[bit / 32 + 1] += (int64_t)(uint32_t)(wide >> 32);
  limb[bit / 32 + 2] += (int64_t)(wide >> 64);
}

/* The bit, counted from 2^-298, of the unit of squares in a window. spec: SUM-1 */
static inline int zp_window_unit(int elem, zp_window w)
{
  if (elem == ZP_ELEM_F32) return 2 * w.low - 254 - 46 + 298;
  if (elem == ZP_ELEM_BF16) return 2 * w.low - 254 - 14 + 298;
  return 2 * ((w.low > 1 ? w.low : 1) + 112) - 254 - 20 + 298; /* 112: fp16's bias is 15, not 127 */
}

/* The elements of a block that are outside of its window and not zero. bit: (of element i) bit
 * i % 8 of byte i / 8. any: bit i / 64 is set if one of 64 may be.
 */
typedef struct zp_marks {
  uint8_t bit[ZP_BLOCK / 8];
  uint64_t any;
} zp_marks;

/* Sets the marks of the elements from i on to `out`. bytes: 2 or 4, of out. Errors: none. */
static inline void zp_mark(zp_marks *m, int64_t i, uint32_t out, int bytes)
{
  memcpy(m->bit + i / 8, &out, (size_t)bytes); /* little-endian */
  m->any |= (uint64_t)(out != 0) << (i / 64);
}

/* Copies the marked elements of x to list; returns their number. It copies four at a time, marked
 * or not, because a branch on a mark of one in 100 is not predictable.
 * size: of an element. n: of x, a multiple of 32. list: ends in scratch for ZP_LANE_STEP.
 * Errors: none. spec: SUM-2
 */
__attribute__((always_inline)) static inline int64_t
zp_list_marked(char *list, const char *x, int64_t size, const zp_marks *m, int64_t n)
{
  int64_t listed = 0;
  for (uint64_t any = m->any; any != 0; any &= any - 1) {
    int64_t i = 64 * (int64_t)__builtin_ctzll(any);
    uint64_t bits, last = (uint64_t)1 << (n - i < 64 ? 31 : 63); /* copied if no mark is left */
    char *to = list + size * listed;
    memcpy(&bits, m->bit + i / 8, sizeof bits);
    listed += __builtin_popcountll(bits);
    do {
      for (int j = 0; j < 4; j++, to += size) {
        memcpy(to, x + size * (i + __builtin_ctzll(bits | last)), (size_t)size);
        bits &= bits - 1;
      }
    } while (bits != 0);
  }
  return listed;
}

/* Adds the squares of the elements of one block that lie in the window to limb, copies the others
 * except zeros to `list` and returns their number.
 * limb: (ZP_SQ_LIMBS), not carried. elem: ZP_ELEM_*. x: (n) of that type; n a multiple of
 * ZP_LANE_STEP, at most ZP_BLOCK. list: (n + ZP_LANE_STEP) of that type, the end is scratch. many:
 * 1 to mark without branches, which are slow if unpredictable. ahead: the distance in bytes at
 * which to prefetch: the arithmetic delays the loads, and the hardware prefetches only within a
 * page. Errors: none. spec: SUM-2
 */
int64_t zp_window_avx2(int64_t *limb, int elem, zp_window w, const void *x, int64_t n, void *list,
                       int many, int64_t ahead);
int64_t zp_window_avx512(int64_t *limb, int elem, zp_window w, const void *x, int64_t n, void *list,
                         int many, int64_t ahead);

/* Adds n elements to the bins; returns the number of non-finite ones.
 * elem, x: as above; n: a multiple of ZP_LANE_STEP. ahead: as above.
 * Errors: none. spec: SUM-2
 */
int64_t zp_bins_avx2(zp_bins *b, int elem, const void *x, int64_t n, int64_t ahead);

/* The same for fp32. Wider vectors do not help the half types, whose pairs are added one by one.
 * Errors: none. spec: SUM-2
 */
int64_t zp_bins_f32_avx512(zp_bins *b, const void *x, int64_t n, int64_t ahead);

#endif
