#include "kernel.h"

#if defined(__x86_64__)
#include <immintrin.h>
#include <math.h>
#include <string.h>

#define ZP_TARGET __attribute__((target("avx2,fma,f16c,bmi,popcnt")))
#define ZP_INLINE ZP_TARGET __attribute__((always_inline)) static inline

#define ZP_LOADU(p) _mm256_loadu_si256((const __m256i *)(p))
#define ZP_RARELY(c) __builtin_expect(c, 0)

/* Two running sums of 4 lanes; 8 of these are the 32 lanes of kernel.h. */
typedef struct lanes {
  __m256d high, rest;
} lanes;

static const int64_t FRACTION_FIELD = 0xfffffffffffff;

ZP_INLINE void add_squares(lanes *sum, __m128 x)
{
  __m256d d = _mm256_cvtps_pd(x);
  __m256d next = _mm256_fmadd_pd(d, d, sum->high);
  __m256d kept = _mm256_sub_pd(next, sum->high);
  sum->rest = _mm256_add_pd(sum->rest, _mm256_fmsub_pd(d, d, kept));
  sum->high = next;
}

ZP_INLINE void add_vector(lanes *sum, __m256i u)
{
  __m256 v = _mm256_castsi256_ps(u);
  add_squares(sum, _mm256_castps256_ps128(v));
  add_squares(sum + 1, _mm256_extractf128_ps(v, 1));
}

/* 16 half patterns as fp32, in an order of their own. */
ZP_INLINE void widened16(__m256 *v, int elem, __m256i u)
{
  if (elem == ZP_ELEM_BF16) {
    v[0] = _mm256_castsi256_ps(_mm256_slli_epi32(u, 16));
    v[1] = _mm256_castsi256_ps(_mm256_and_si256(u, _mm256_set1_epi32((int)0xffff0000)));
  } else {
    v[0] = _mm256_cvtph_ps(_mm256_castsi256_si128(u));
    v[1] = _mm256_cvtph_ps(_mm256_extracti128_si256(u, 1));
  }
}

/* Marks of 8 elements: those that are neither `in` nor zero. */
ZP_INLINE uint32_t marks32(__m256i u, __m256i in)
{
  __m256i zero = _mm256_cmpeq_epi32(_mm256_slli_epi32(u, 1), _mm256_setzero_si256());
  __m256 keep = _mm256_castsi256_ps(_mm256_or_si256(zero, in));
  return (uint32_t)_mm256_movemask_ps(keep) ^ 0xffu;
}

/* The same for 16 half patterns. */
ZP_INLINE uint32_t marks16(__m256i u, __m256i in)
{
  __m256i zero = _mm256_cmpeq_epi16(_mm256_slli_epi16(u, 1), _mm256_setzero_si256());
  __m256i keep = _mm256_or_si256(zero, in);
  __m128i low = _mm256_castsi256_si128(keep), high = _mm256_extracti128_si256(keep, 1);
  return (uint32_t)_mm_movemask_epi8(_mm_packs_epi16(low, high)) ^ 0xffffu;
}

/* Marks 16 elements, not inlined: its values would spill the sums from registers. */
ZP_TARGET __attribute__((noinline, cold)) static void
mark_apart(zp_marks *m, int64_t i, __m256i u, __m256i v, __m256i in_u, __m256i in_v)
{
  zp_mark(m, i, marks32(u, in_u) | marks32(v, in_v) << 8, 2);
}

/* The sum of 4 signed lanes. */
ZP_INLINE int64_t lane_sum(__m256i v)
{
  int64_t a[4];
  _mm256_storeu_si256((__m256i *)a, v);
  return a[0] + a[1] + a[2] + a[3];
}

/* limb += the sums in two[0 .. 7], by the formulas in kernel.h; k, unit: bits from 2^-298. */
ZP_INLINE void add_two_sums(int64_t *limb, const lanes *two, int k, int unit)
{
  __m256d magic = _mm256_set1_pd(ldexp(1.5, 52 + unit - 298));
  __m256i high = _mm256_setzero_si256(), rest = high;
  for (int j = 0; j < 8; j++) {
    /* the fraction field counts 2^k; beside the magic number it counts units */
    __m256i h = _mm256_castpd_si256(two[j].high);
    __m256i r = _mm256_castpd_si256(_mm256_add_pd(two[j].rest, magic));
    high = _mm256_add_epi64(high, _mm256_and_si256(h, _mm256_set1_epi64x(FRACTION_FIELD)));
    rest = _mm256_add_epi64(rest, _mm256_sub_epi64(r, _mm256_castpd_si256(magic)));
  }
  zp_add_at(limb, lane_sum(high), k);
  zp_add_at(limb, lane_sum(rest), unit);
}

/* Unsigned comparison by a signed one: 0 .. span - 1, moved down to the least signed number. */
typedef struct range32 {
  __m256i low, span;
} range32;

/* Elements from .. to - 1 of a block, into four pairs of sums. */
ZP_INLINE void window_part_f32(lanes *two, range32 r, const char *x, int64_t from, int64_t to,
                               zp_marks *marks, int many, int64_t ahead)
{
  lanes sum[4] = {two[0], two[1], two[2], two[3]};
  __m256i magnitude = _mm256_set1_epi32(0x7fffffff);
  for (int64_t i = from; i < to; i += 16) {
    __m256i u = ZP_LOADU(x + 4 * i), v = ZP_LOADU(x + 4 * i + 32);
    _mm_prefetch(x + 4 * i + ahead, _MM_HINT_T0);
    __m256i a = _mm256_sub_epi32(_mm256_and_si256(u, magnitude), r.low);
    __m256i b = _mm256_sub_epi32(_mm256_and_si256(v, magnitude), r.low);
    __m256i in_u = _mm256_cmpgt_epi32(r.span, a), in_v = _mm256_cmpgt_epi32(r.span, b);
    if (many || ZP_RARELY(_mm256_movemask_epi8(_mm256_and_si256(in_u, in_v)) != -1)) {
      if (many) zp_mark(marks, i, marks32(u, in_u) | marks32(v, in_v) << 8, 2);
      else mark_apart(marks, i, u, v, in_u, in_v);
      u = _mm256_and_si256(in_u, u);
      v = _mm256_and_si256(in_v, v);
    }
    add_vector(sum, u);
    add_vector(sum + 2, v);
  }
  for (int j = 0; j < 4; j++) two[j] = sum[j];
}

/* One half of the block after the other, so that four pairs of sums at a time stay in registers. */
ZP_INLINE int64_t window_f32(int64_t *limb, zp_window w, const char *x, int64_t n, char *list,
                             int many, int64_t ahead)
{
  int k = 2 * w.top - 296 + 298;
  uint32_t sign = 0x80000000u, span = (uint32_t)(w.top + 1 - w.low) << 23;
  range32 r = {_mm256_set1_epi32((int)(((uint32_t)w.low << 23) + sign)),
               _mm256_set1_epi32((int)(span + sign))};
  lanes two[8];
  for (int j = 0; j < 8; j++) {
    two[j].high = _mm256_set1_pd(ldexp(1.0, 52 + k - 298));
    two[j].rest = _mm256_setzero_pd();
  }
  int64_t half = n / 2 / 16 * 16;
  zp_marks marks;
  memset(&marks, 0, sizeof marks);
  window_part_f32(two, r, x, 0, half, &marks, many, ahead);
  window_part_f32(two + 4, r, x, half, n, &marks, many, ahead);
  add_two_sums(limb, two, k, zp_window_unit(ZP_ELEM_F32, w));
  return zp_list_marked(list, x, 4, &marks, n);
}

/* Elements from .. from + count - 1 of a block as fp32, those outside of the window as 0. */
ZP_INLINE void widen_part(float *to, int elem, zp_window w, const char *x, int64_t from,
                          int64_t count, zp_marks *marks, int many, int64_t ahead)
{
  int shift = elem == ZP_ELEM_BF16 ? 7 : 10;
  __m256i low = _mm256_set1_epi16((int16_t)((w.low << shift) + 0x8000)); /* as in range32 */
  __m256i span = _mm256_set1_epi16((int16_t)(((w.top + 1 - w.low) << shift) + 0x8000));
  for (int64_t i = 0; i < count; i += 16) {
    const char *at = x + 2 * (from + i);
    __m256i u = ZP_LOADU(at), a = _mm256_and_si256(u, _mm256_set1_epi16(0x7fff));
    __m256i in = _mm256_cmpgt_epi16(span, _mm256_sub_epi16(a, low));
    __m256 v[2];
    _mm_prefetch(at + ahead, _MM_HINT_T0);
    if (many || ZP_RARELY(_mm256_movemask_epi8(in) != -1)) {
      zp_mark(marks, from + i, marks16(u, in), 2);
      u = _mm256_and_si256(in, u);
    }
    widened16(v, elem, u);
    _mm256_store_ps(to + i, v[0]);
    _mm256_store_ps(to + i + 8, v[1]);
  }
}

/* The elements pass through memory, because converting a register to fp64 takes a shuffle more. */
ZP_INLINE int64_t window_half(int64_t *limb, int elem, zp_window w, const char *x, int64_t n,
                              char *list, int many, int64_t ahead)
{
  enum { PART = 512 };
  int unit = zp_window_unit(elem, w);
  zp_marks marks;
  memset(&marks, 0, sizeof marks);
  _Alignas(32) float v[PART];
  __m256d start = _mm256_set1_pd(ldexp(1.0, 52 + unit - 298));
  __m256d s0 = start, s1 = start, s2 = start, s3 = start; /* an array would be stored in memory */
  for (int64_t from = 0; from < n; from += PART) {
    int64_t count = n - from < PART ? n - from : PART;
    widen_part(v, elem, w, x, from, count, &marks, many, ahead);
    for (int64_t i = 0; i < count; i += 16) {
      __m256d d0 = _mm256_cvtps_pd(_mm_load_ps(v + i)),
              d1 = _mm256_cvtps_pd(_mm_load_ps(v + i + 4));
      __m256d d2 = _mm256_cvtps_pd(_mm_load_ps(v + i + 8));
      __m256d d3 = _mm256_cvtps_pd(_mm_load_ps(v + i + 12));
      s0 = _mm256_fmadd_pd(d0, d0, s0), s1 = _mm256_fmadd_pd(d1, d1, s1);
      s2 = _mm256_fmadd_pd(d2, d2, s2), s3 = _mm256_fmadd_pd(d3, d3, s3);
    }
  }
  __m256d one[4] = {s0, s1, s2, s3};
  __m256i sum = _mm256_setzero_si256();
  for (int j = 0; j < 4; j++) {
    __m256i h = _mm256_castpd_si256(one[j]);
    sum = _mm256_add_epi64(sum, _mm256_and_si256(h, _mm256_set1_epi64x(FRACTION_FIELD)));
  }
  zp_add_at(limb, lane_sum(sum), unit);
  return zp_list_marked(list, x, 2, &marks, n);
}

ZP_TARGET int64_t zp_window_avx2(int64_t *limb, int elem, zp_window w, const void *x, int64_t n,
                                 void *list, int many, int64_t ahead)
{
  if (elem == ZP_ELEM_F32) {
    return many ? window_f32(limb, w, x, n, list, 1, ahead)
                : window_f32(limb, w, x, n, list, 0, ahead);
  }
  if (elem == ZP_ELEM_BF16) {
    return many ? window_half(limb, ZP_ELEM_BF16, w, x, n, list, 1, ahead)
                : window_half(limb, ZP_ELEM_BF16, w, x, n, list, 0, ahead);
  }
  return many ? window_half(limb, ZP_ELEM_F16, w, x, n, list, 1, ahead)
              : window_half(limb, ZP_ELEM_F16, w, x, n, list, 0, ahead);
}

/* Shifted squares of 8 fp32 patterns, of those at even places first; adds -1 to a lane of *bad for
 * each non-finite one. Returns the positions of the bins of pairs (0, 2), (1, 3), (4, 6), (5, 7)
 * in bytes, in the upper 16 bits of lanes 0, 1, 4, 5. */
ZP_INLINE __m256i bin_operands(uint64_t *square, __m256i *bad, __m256i u)
{
  __m256i magnitude = _mm256_and_si256(u, _mm256_set1_epi32(0x7fffffff));
  __m256i one = _mm256_min_epu32(magnitude, _mm256_set1_epi32(0x800000)); /* doubles subnormals */
  __m256i m = _mm256_add_epi32(_mm256_and_si256(u, _mm256_set1_epi32(0x7fffff)), one);
  __m256i by = _mm256_and_si256(_mm256_srli_epi32(u, 23), _mm256_set1_epi32(ZP_CLASS_F32 - 1));
  __m256i top = _mm256_cmpgt_epi32(magnitude, _mm256_set1_epi32(0x7f7fffff));
  m = _mm256_sllv_epi32(_mm256_andnot_si256(top, m), by);
  __m256i odd = _mm256_srli_epi64(m, 32);
  _mm256_store_si256((__m256i *)square, _mm256_mul_epu32(m, m));
  _mm256_store_si256((__m256i *)(square + 4), _mm256_mul_epu32(odd, odd));
  *bad = _mm256_add_epi32(*bad, top);
  /* a bin has 32 bytes: bits 5 to 9 are the second class, 10 to 14 the first */
  __m256i class = _mm256_and_si256(u, _mm256_set1_epi32(0x7c000000));
  __m256i second = _mm256_srli_epi32(_mm256_shuffle_epi32(class, 0x4e), 5);
  return _mm256_or_si256(class, second);
}

ZP_INLINE void add_two(uint64_t *word, uint32_t place, const uint64_t *square)
{
  __m256i *bin = (__m256i *)((char *)word + place);
  __m256i halves = _mm256_cvtepu32_epi64(_mm_load_si128((const __m128i *)square));
  _mm256_store_si256(bin, _mm256_add_epi64(_mm256_load_si256(bin), halves));
}

/* Operands are stored some hundreds of elements before their use. If they were read back
 * immediately, narrow loads would wait for the wide stores; extracting them from vector registers
 * one by one is slow. */
ZP_TARGET static int64_t bins_f32(zp_bins *b, const char *x, int64_t n, int64_t ahead)
{
  _Alignas(32) uint64_t square[ZP_BIN_AHEAD];
  _Alignas(32) uint16_t place[2 * ZP_BIN_AHEAD];
  __m256i bad = _mm256_setzero_si256();
  for (int64_t from = 0; from < n; from += ZP_BIN_AHEAD) {
    int64_t count = n - from < ZP_BIN_AHEAD ? n - from : ZP_BIN_AHEAD;
    for (int64_t i = 0; i < count; i += 16) {
      const char *at = x + 4 * (from + i);
      _mm_prefetch(at + ahead, _MM_HINT_T0);
      __m256i p0 = bin_operands(square + i, &bad, ZP_LOADU(at));
      __m256i p1 = bin_operands(square + i + 8, &bad, ZP_LOADU(at + 32));
      _mm256_store_si256((__m256i *)(place + 2 * i), p0);
      _mm256_store_si256((__m256i *)(place + 2 * i + 16), p1);
    }
    for (int64_t i = 0; i < count; i += 8) {
      const uint16_t *at = place + 2 * i; /* little-endian: the upper halves are at odd places */
      add_two(b->word, at[1], square + i);
      add_two(b->word, at[9], square + i + 2);
      add_two(b->word, at[3], square + i + 4);
      add_two(b->word, at[11], square + i + 6);
    }
  }
  return -lane_sum(_mm256_add_epi64(_mm256_cvtepi32_epi64(_mm256_castsi256_si128(bad)),
                                    _mm256_cvtepi32_epi64(_mm256_extracti128_si256(bad, 1))));
}

/* The positions of the bins of the 8 pairs in u: 16 (class0 + 16 class1), in bytes. */
ZP_INLINE __m256i pair_places(int elem, __m256i u)
{
  int bf16 = elem == ZP_ELEM_BF16;
  __m256i first = _mm256_srli_epi32(u, bf16 ? 7 : 8), second = _mm256_srli_epi32(u, bf16 ? 19 : 20);
  first = _mm256_and_si256(first, _mm256_set1_epi32(bf16 ? 0xf0 : 0x70));
  second = _mm256_and_si256(second, _mm256_set1_epi32(bf16 ? 0xf00 : 0x700));
  return _mm256_or_si256(first, second);
}

/* Scaled squares of 8 pairs: pair 4 l + q in 128-bit lane l of v[q]. Returns the number of
 * non-finite ones; their squares are 0. */
ZP_INLINE int pair_squares(__m256i *v, int elem, __m256i u)
{
  int bf16 = elem == ZP_ELEM_BF16;
  __m256i field = _mm256_set1_epi16(bf16 ? 0x7f80 : 0x7c00), be = _mm256_and_si256(u, field);
  __m256i fr = _mm256_and_si256(u, _mm256_set1_epi16(bf16 ? 0x7f : 0x3ff));
  __m256i bad = _mm256_cmpeq_epi16(be, field), zero = _mm256_setzero_si256();
  __m256i normal = _mm256_or_si256(fr, _mm256_set1_epi16(bf16 ? 0x80 : 0x400));
  __m256i m = _mm256_blendv_epi8(normal, _mm256_add_epi16(fr, fr), _mm256_cmpeq_epi16(be, zero));
  m = _mm256_andnot_si256(bad, m);
  if (bf16) {
    __m256i square = _mm256_mullo_epi16(m, m);
    __m256i by = _mm256_and_si256(_mm256_srli_epi16(u, 6), _mm256_set1_epi16(2 * 15));
    for (int q = 0; q < 4; q++) { /* bytes 4 q to 4 q + 3 of a lane are pair q */
      const char a = (char)(4 * q), z = -128;
      __m256i to = _mm256_broadcastsi128_si256(_mm_setr_epi8(
          a, (char)(a + 1), z, z, z, z, z, z, (char)(a + 2), (char)(a + 3), z, z, z, z, z, z));
      v[q] = _mm256_sllv_epi64(_mm256_shuffle_epi8(square, to), _mm256_shuffle_epi8(by, to));
    }
  } else {
    __m256i by = _mm256_and_si256(_mm256_srli_epi16(u, 9), _mm256_set1_epi16(2 * 3));
    __m256i least = _mm256_set1_epi32(0xffff);
    __m256i m0 = _mm256_and_si256(m, least), m1 = _mm256_srli_epi32(m, 16);
    __m256i v0 = _mm256_sllv_epi32(_mm256_madd_epi16(m0, m0), _mm256_and_si256(by, least));
    __m256i v1 = _mm256_sllv_epi32(_mm256_madd_epi16(m1, m1), _mm256_srli_epi32(by, 16));
    __m256i a = _mm256_unpacklo_epi32(v0, v1), c = _mm256_unpackhi_epi32(v0, v1);
    v[0] = _mm256_unpacklo_epi32(a, zero), v[1] = _mm256_unpackhi_epi32(a, zero);
    v[2] = _mm256_unpacklo_epi32(c, zero), v[3] = _mm256_unpackhi_epi32(c, zero);
  }
  return __builtin_popcount((unsigned)_mm256_movemask_epi8(bad)) / 2;
}

ZP_INLINE void add_pair(uint64_t *word, uint32_t place, __m128i v)
{
  __m128i *bin = (__m128i *)((char *)word + place);
  _mm_store_si128(bin, _mm_add_epi64(_mm_load_si128(bin), v));
}

ZP_INLINE int64_t bins_half(zp_bins *b, int elem, const char *x, int64_t n, int64_t ahead)
{
  _Alignas(32) uint16_t place[ZP_BIN_AHEAD / 2];
  int64_t bad = 0;
  for (int64_t from = 0; from < n; from += ZP_BIN_AHEAD) {
    int64_t count = n - from < ZP_BIN_AHEAD ? n - from : ZP_BIN_AHEAD;
    for (int64_t i = 0; i < count; i += 32) {
      const char *at = x + 2 * (from + i);
      __m256i p0 = pair_places(elem, ZP_LOADU(at)), p1 = pair_places(elem, ZP_LOADU(at + 32));
      /* pairs 0-3 of both vectors, then 4-7 of both */
      _mm256_store_si256((__m256i *)(place + i / 2), _mm256_packus_epi32(p0, p1));
      _mm_prefetch(at + ahead, _MM_HINT_T0);
    }
    for (int64_t i = 0; i < count; i += 16) {
      __m256i v[4];
      const uint16_t *at = place + i / 32 * 16 + i % 32 / 4;
      bad += pair_squares(v, elem, ZP_LOADU(x + 2 * (from + i)));
      for (int q = 0; q < ZP_PAIR_COPIES; q++) {
        add_pair(b->word + 512 * q, at[q], _mm256_castsi256_si128(v[q]));
        add_pair(b->word + 512 * q, at[8 + q], _mm256_extracti128_si256(v[q], 1));
      }
    }
  }
  return bad;
}

ZP_TARGET int64_t zp_bins_avx2(zp_bins *b, int elem, const void *x, int64_t n, int64_t ahead)
{
  if (elem == ZP_ELEM_F32) return bins_f32(b, x, n, ahead);
  if (elem == ZP_ELEM_BF16) return bins_half(b, ZP_ELEM_BF16, x, n, ahead);
  return bins_half(b, ZP_ELEM_F16, x, n, ahead);
}

#else

int64_t zp_window_avx2(int64_t *limb, int elem, zp_window w, const void *x, int64_t n, void *list,
                       int many, int64_t ahead)
{
  (void)limb, (void)elem, (void)w, (void)x, (void)n, (void)list, (void)many, (void)ahead;
  return 0;
}

int64_t zp_bins_avx2(zp_bins *b, int elem, const void *x, int64_t n, int64_t ahead)
{
  (void)b, (void)elem, (void)x, (void)n, (void)ahead;
  return 0;
}

#endif
