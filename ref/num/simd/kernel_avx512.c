#include "kernel.h"

#if defined(__x86_64__)
#include <immintrin.h>
#include <math.h>
#include <string.h>

#define ZP_TARGET                                                                                  \
  __attribute__((target("avx512f,avx512dq,avx512bw,avx512vl,avx2,fma,f16c,bmi,popcnt")))
#define ZP_INLINE ZP_TARGET __attribute__((always_inline)) static inline

#define ZP_LOADU(p) _mm512_loadu_si512(p)
#define ZP_RARELY(c) __builtin_expect(c, 0)

/* Two running sums of 8 lanes. */
typedef struct lanes {
  __m512d high, rest;
} lanes;

static const int64_t FRACTION_FIELD = 0xfffffffffffff;

/* Adds 8 elements, those not `in` as 0. Converting them from memory takes one operation and from
 * half of a register three, and these operations, not the loads, are the bottleneck. */
ZP_INLINE void add_squares(lanes *sum, __mmask8 in, const char *x)
{
  __m512d d = _mm512_maskz_cvtps_pd(in, _mm256_loadu_ps((const float *)x));
  __m512d next = _mm512_fmadd_pd(d, d, sum->high);
  __m512d kept = _mm512_sub_pd(next, sum->high);
  sum->rest = _mm512_add_pd(sum->rest, _mm512_fmsub_pd(d, d, kept));
  sum->high = next;
}

ZP_INLINE void add_vector_once(__m512d *sum0, __m512d *sum1, __m512 v)
{
  __m512d a = _mm512_cvtps_pd(_mm512_castps512_ps256(v));
  __m512d b = _mm512_cvtps_pd(_mm512_extractf32x8_ps(v, 1));
  *sum0 = _mm512_fmadd_pd(a, a, *sum0);
  *sum1 = _mm512_fmadd_pd(b, b, *sum1);
}

/* limb += the sums in two[0 .. 3], by the formulas in kernel.h; k, unit: bits from 2^-298. */
ZP_INLINE void add_two_sums(int64_t *limb, const lanes *two, int k, int unit)
{
  __m512d magic = _mm512_set1_pd(ldexp(1.5, 52 + unit - 298));
  __m512i high = _mm512_setzero_si512(), rest = high;
  for (int j = 0; j < 4; j++) {
    /* the fraction field counts 2^k; beside the magic number it counts units */
    __m512i h = _mm512_castpd_si512(two[j].high);
    __m512i r = _mm512_castpd_si512(_mm512_add_pd(two[j].rest, magic));
    high = _mm512_add_epi64(high, _mm512_and_si512(h, _mm512_set1_epi64(FRACTION_FIELD)));
    rest = _mm512_add_epi64(rest, _mm512_sub_epi64(r, _mm512_castpd_si512(magic)));
  }
  zp_add_at(limb, _mm512_reduce_add_epi64(high), k);
  zp_add_at(limb, _mm512_reduce_add_epi64(rest), unit);
}

ZP_INLINE int64_t window_f32(int64_t *limb, zp_window w, const char *x, int64_t n, char *list,
                             int many, int64_t ahead)
{
  int k = 2 * w.top - 296 + 298;
  zp_marks marks;
  memset(&marks, 0, sizeof marks);
  lanes two[4];
  __m512i magnitude = _mm512_set1_epi32(0x7fffffff), low = _mm512_set1_epi32(w.low << 23);
  __m512i span = _mm512_set1_epi32((int)((uint32_t)(w.top + 1 - w.low) << 23));
  for (int j = 0; j < 4; j++) {
    two[j].high = _mm512_set1_pd(ldexp(1.0, 52 + k - 298));
    two[j].rest = _mm512_setzero_pd();
  }
  for (int64_t i = 0; i < n; i += ZP_LANE_STEP) {
    __m512i u = ZP_LOADU(x + 4 * i), v = ZP_LOADU(x + 4 * i + 64);
    _mm_prefetch(x + 4 * i + ahead, _MM_HINT_T0);
    _mm_prefetch(x + 4 * i + ahead + 64, _MM_HINT_T0);
    __m512i a = _mm512_sub_epi32(_mm512_and_si512(u, magnitude), low);
    __m512i b = _mm512_sub_epi32(_mm512_and_si512(v, magnitude), low);
    __mmask16 in_u = _mm512_cmplt_epu32_mask(a, span), in_v = _mm512_cmplt_epu32_mask(b, span);
    if (many || ZP_RARELY((in_u & in_v) != 0xffff)) {
      uint32_t out = _mm512_mask_test_epi32_mask((__mmask16)~in_v, v, magnitude);
      out = out << 16 | _mm512_mask_test_epi32_mask((__mmask16)~in_u, u, magnitude);
      zp_mark(&marks, i, out, 4);
    }
    add_squares(two, (__mmask8)in_u, x + 4 * i);
    add_squares(two + 1, (__mmask8)(in_u >> 8), x + 4 * i + 32);
    add_squares(two + 2, (__mmask8)in_v, x + 4 * i + 64);
    add_squares(two + 3, (__mmask8)(in_v >> 8), x + 4 * i + 96);
  }
  add_two_sums(limb, two, k, zp_window_unit(ZP_ELEM_F32, w));
  return zp_list_marked(list, x, 4, &marks, n);
}

ZP_INLINE int64_t window_f16(int64_t *limb, zp_window w, const char *x, int64_t n, char *list,
                             int many, int64_t ahead)
{
  int unit = zp_window_unit(ZP_ELEM_F16, w);
  zp_marks marks;
  memset(&marks, 0, sizeof marks);
  __m512i magnitude = _mm512_set1_epi16(0x7fff);
  __m512i low = _mm512_set1_epi16((int16_t)(w.low << 10));
  __m512i span = _mm512_set1_epi16((int16_t)((w.top + 1 - w.low) << 10));
  __m512d start = _mm512_set1_pd(ldexp(1.0, 52 + unit - 298));
  __m512d s0 = start, s1 = start, s2 = start, s3 = start; /* an array would be stored in memory */
  for (int64_t i = 0; i < n; i += ZP_LANE_STEP) {
    __m512i u = ZP_LOADU(x + 2 * i), a = _mm512_and_si512(u, magnitude);
    __mmask32 in = _mm512_cmplt_epu16_mask(_mm512_sub_epi16(a, low), span);
    _mm_prefetch(x + 2 * i + ahead, _MM_HINT_T0);
    if (many || ZP_RARELY(in != 0xffffffffu)) {
      uint32_t out = _mm512_mask_test_epi16_mask(~in, u, magnitude);
      zp_mark(&marks, i, out, 4);
      u = _mm512_maskz_mov_epi16(in, u);
    }
    add_vector_once(&s0, &s1, _mm512_cvtph_ps(_mm512_castsi512_si256(u)));
    add_vector_once(&s2, &s3, _mm512_cvtph_ps(_mm512_extracti32x8_epi32(u, 1)));
  }
  __m512d one[4] = {s0, s1, s2, s3};
  __m512i sum = _mm512_setzero_si512();
  for (int j = 0; j < 4; j++) {
    __m512i h = _mm512_castpd_si512(one[j]);
    sum = _mm512_add_epi64(sum, _mm512_and_si512(h, _mm512_set1_epi64(FRACTION_FIELD)));
  }
  zp_add_at(limb, _mm512_reduce_add_epi64(sum), unit);
  return zp_list_marked(list, x, 2, &marks, n);
}

/* sum += the unsigned halves of each lane of t. */
ZP_INLINE void add_unsigned(__m512i *sum, __m512i t)
{
  __m512i low = _mm512_and_si512(t, _mm512_set1_epi64(0xffffffff));
  *sum = _mm512_add_epi64(*sum, _mm512_add_epi64(low, _mm512_srli_epi64(t, 32)));
}

/* bf16 in integers, as kernel.h describes: less work than in fp64, where a register becomes 4. */
ZP_INLINE int64_t window_bf16(int64_t *limb, zp_window w, const char *x, int64_t n, char *list,
                              int many, int64_t ahead)
{
  zp_marks marks;
  memset(&marks, 0, sizeof marks);
  __m512i magnitude = _mm512_set1_epi16(0x7fff), zero = _mm512_setzero_si512();
  __m512i low = _mm512_set1_epi16((int16_t)w.low), half = _mm512_set1_epi16(ZP_HALF_WINDOW);
  __m512i sum0 = zero, sum1 = zero;
  for (int64_t from = 0; from < n; from += ZP_LANE_STEP * ZP_HALF_ADDS) {
    int64_t end = n - from < ZP_LANE_STEP * ZP_HALF_ADDS ? n : from + ZP_LANE_STEP * ZP_HALF_ADDS;
    __m512i t0 = zero, t1 = zero;
    for (int64_t i = from; i < end; i += ZP_LANE_STEP) {
      __m512i u = ZP_LOADU(x + 2 * i), a = _mm512_and_si512(u, magnitude);
      __m512i by0 = _mm512_sub_epi16(_mm512_srli_epi16(a, 7), low);
      __m512i by1 = _mm512_sub_epi16(by0, half);
      __mmask32 in0 = _mm512_cmplt_epu16_mask(by0, half), in1 = _mm512_cmplt_epu16_mask(by1, half);
      _mm_prefetch(x + 2 * i + ahead, _MM_HINT_T0);
      if (many || ZP_RARELY((in0 | in1) != 0xffffffffu)) {
        zp_mark(&marks, i, _mm512_mask_test_epi16_mask(~(in0 | in1), u, magnitude), 4);
      }
      /* (u & 0x7f) | 0x80 */
      __m512i m =
          _mm512_ternarylogic_epi32(u, _mm512_set1_epi16(0x7f), _mm512_set1_epi16(0x80), 0xea);
      __m512i m0 = _mm512_maskz_sllv_epi16(in0, m, by0), m1 = _mm512_maskz_sllv_epi16(in1, m, by1);
      t0 = _mm512_add_epi32(t0, _mm512_madd_epi16(m0, m0));
      t1 = _mm512_add_epi32(t1, _mm512_madd_epi16(m1, m1));
    }
    add_unsigned(&sum0, t0);
    add_unsigned(&sum1, t1);
  }
  int unit = zp_window_unit(ZP_ELEM_BF16, w);
  zp_add_at(limb, _mm512_reduce_add_epi64(sum0), unit);
  zp_add_at(limb, _mm512_reduce_add_epi64(sum1), unit + 2 * ZP_HALF_WINDOW);
  return zp_list_marked(list, x, 2, &marks, n);
}

ZP_TARGET int64_t zp_window_avx512(int64_t *limb, int elem, zp_window w, const void *x, int64_t n,
                                   void *list, int many, int64_t ahead)
{
  if (elem == ZP_ELEM_F32) {
    return many ? window_f32(limb, w, x, n, list, 1, ahead)
                : window_f32(limb, w, x, n, list, 0, ahead);
  }
  if (elem == ZP_ELEM_BF16) {
    return many ? window_bf16(limb, w, x, n, list, 1, ahead)
                : window_bf16(limb, w, x, n, list, 0, ahead);
  }
  return many ? window_f16(limb, w, x, n, list, 1, ahead)
              : window_f16(limb, w, x, n, list, 0, ahead);
}

/* Shifted squares of 16 fp32 patterns, of those at even places first. place: as in kernel_avx2.c,
 * pairs of elements i and i + 2. Returns the number of finite ones. */
ZP_INLINE int bin_operands(uint64_t *square, uint16_t *place, __m512i u)
{
  __m512i magnitude = _mm512_and_si512(u, _mm512_set1_epi32(0x7fffffff));
  __m512i one = _mm512_min_epu32(magnitude, _mm512_set1_epi32(0x800000)); /* doubles subnormals */
  __m512i m = _mm512_add_epi32(_mm512_and_si512(u, _mm512_set1_epi32(0x7fffff)), one);
  __m512i by = _mm512_and_si512(_mm512_srli_epi32(u, 23), _mm512_set1_epi32(ZP_CLASS_F32 - 1));
  __mmask16 finite = _mm512_cmplt_epu32_mask(magnitude, _mm512_set1_epi32(0x7f800000));
  m = _mm512_maskz_sllv_epi32(finite, m, by);
  __m512i odd = _mm512_srli_epi64(m, 32);
  _mm512_store_si512(square, _mm512_mul_epu32(m, m));
  _mm512_store_si512(square + 8, _mm512_mul_epu32(odd, odd));
  __m512i class = _mm512_and_si512(u, _mm512_set1_epi32(0x7c000000));
  __m512i second = _mm512_srli_epi32(_mm512_shuffle_epi32(class, 0x4e), 5);
  _mm512_store_si512(place, _mm512_or_si512(class, second));
  return __builtin_popcount(finite);
}

ZP_INLINE void add_two(uint64_t *word, uint32_t place, const uint64_t *square)
{
  __m256i *bin = (__m256i *)((char *)word + place);
  __m256i halves = _mm256_cvtepu32_epi64(_mm_load_si128((const __m128i *)square));
  _mm256_store_si256(bin, _mm256_add_epi64(_mm256_load_si256(bin), halves));
}

/* As in kernel_avx2.c; only the operands are computed in wider vectors. */
ZP_TARGET int64_t zp_bins_f32_avx512(zp_bins *b, const void *v, int64_t n, int64_t ahead)
{
  const char *x = v;
  _Alignas(64) uint64_t square[ZP_BIN_AHEAD];
  _Alignas(64) uint16_t place[2 * ZP_BIN_AHEAD];
  int64_t finite = 0;
  for (int64_t from = 0; from < n; from += ZP_BIN_AHEAD) {
    int64_t count = n - from < ZP_BIN_AHEAD ? n - from : ZP_BIN_AHEAD;
    for (int64_t i = 0; i < count; i += 16) {
      const char *at = x + 4 * (from + i);
      finite += bin_operands(square + i, place + 2 * i, ZP_LOADU(at));
      _mm_prefetch(at + ahead, _MM_HINT_T0);
    }
    for (int64_t i = 0; i < count; i += 16) {
      const uint16_t *at = place + 2 * i; /* little-endian: the upper halves are at odd places */
      for (int q = 0; q < 4; q++) {
        add_two(b->word, at[8 * q + 1], square + i + 2 * q);
        add_two(b->word, at[8 * q + 3], square + i + 8 + 2 * q);
      }
    }
  }
  return n - finite;
}

#else

int64_t zp_window_avx512(int64_t *limb, int elem, zp_window w, const void *x, int64_t n, void *list,
                         int many, int64_t ahead)
{
  (void)limb, (void)elem, (void)w, (void)x, (void)n, (void)list, (void)many, (void)ahead;
  return 0;
}

int64_t zp_bins_f32_avx512(zp_bins *b, const void *x, int64_t n, int64_t ahead)
{
  (void)b, (void)x, (void)n, (void)ahead;
  return 0;
}

#endif
