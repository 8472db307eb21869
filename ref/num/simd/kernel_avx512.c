#include "kernel.h"

#if defined(__x86_64__)
#include <immintrin.h>
#include <math.h>
#include <string.h>

#define ZP_TARGET \
  __attribute__((target("avx512f,avx512dq,avx512bw,avx512vl,avx2,fma,f16c,bmi,popcnt")))
#define ZP_INLINE ZP_TARGET __attribute__((always_inline)) static inline

#define ZP_LOADU(p) _mm512_loadu_si512(p)
#define ZP_RARELY(c) __builtin_expect(c, 0)

/* Two running sums of 8 lanes. */
typedef struct lanes {
  __m512d high, rest;
} lanes;

static const int64_t FRACTION_FIELD = 0xfffffffffffff;

ZP_INLINE void add_squares(lanes *sum, __m256 x)
{
  __m512d d = _mm512_cvtps_pd(x);
  __m512d next = _mm512_fmadd_pd(d, d, sum->high);
  __m512d kept = _mm512_sub_pd(next, sum->high);
  sum->rest = _mm512_add_pd(sum->rest, _mm512_fmsub_pd(d, d, kept));
  sum->high = next;
}

ZP_INLINE void add_vector(lanes *sum, __m512i u)
{
  __m512 v = _mm512_castsi512_ps(u);
  add_squares(sum, _mm512_castps512_ps256(v));
  add_squares(sum + 1, _mm512_extractf32x8_ps(v, 1));
}

ZP_INLINE void add_vector_once(__m512d *sum0, __m512d *sum1, __m512 v)
{
  __m512d a = _mm512_cvtps_pd(_mm512_castps512_ps256(v));
  __m512d b = _mm512_cvtps_pd(_mm512_extractf32x8_ps(v, 1));
  *sum0 = _mm512_fmadd_pd(a, a, *sum0);
  *sum1 = _mm512_fmadd_pd(b, b, *sum1);
}

/* 32 half patterns as fp32, in an order of their own. */
ZP_INLINE void widened32(__m512 *v, int elem, __m512i u)
{
  if (elem == ZP_ELEM_BF16) {
    v[0] = _mm512_castsi512_ps(_mm512_slli_epi32(u, 16));
    v[1] = _mm512_castsi512_ps(_mm512_and_si512(u, _mm512_set1_epi32((int)0xffff0000)));
  } else {
    v[0] = _mm512_cvtph_ps(_mm512_castsi512_si256(u));
    v[1] = _mm512_cvtph_ps(_mm512_extracti32x8_epi32(u, 1));
  }
}

/* Lists the non-zero elements of u that are not `in`; returns how many. Writes 64 bytes. */
ZP_INLINE int64_t list32(char *list, __m512i u, __mmask16 in)
{
  __mmask16 out = _mm512_test_epi32_mask(u, _mm512_set1_epi32(0x7fffffff)) & (__mmask16)~in;
  _mm512_storeu_si512(list, _mm512_maskz_compress_epi32(out, u));
  return __builtin_popcount(out);
}

/* The same for 32 half patterns. */
ZP_INLINE int64_t list16(char *list, __m512i u, __mmask32 in)
{
  __mmask32 out = _mm512_test_epi16_mask(u, _mm512_set1_epi16(0x7fff)) & ~in;
  __m512i a = _mm512_cvtepu16_epi32(_mm512_castsi512_si256(u));
  __m512i b = _mm512_cvtepu16_epi32(_mm512_extracti64x4_epi64(u, 1));
  a = _mm512_maskz_compress_epi32((__mmask16)out, a);
  b = _mm512_maskz_compress_epi32((__mmask16)(out >> 16), b);
  int first = __builtin_popcount(out & 0xffff);
  _mm256_storeu_si256((__m256i *)list, _mm512_cvtepi32_epi16(a));
  _mm256_storeu_si256((__m256i *)(list + 2 * first), _mm512_cvtepi32_epi16(b));
  return first + __builtin_popcount(out >> 16);
}

/* limb += what is in two[0 .. 3], by the formulas in kernel.h; k, unit: bits from 2^-298. */
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

ZP_INLINE int64_t window_f32(int64_t *limb, zp_window w, const char *x, int64_t n, char *list)
{
  int k = 2 * w.top - 296 + 298;
  int64_t listed = 0;
  lanes two[4];
  __m512i magnitude = _mm512_set1_epi32(0x7fffffff), low = _mm512_set1_epi32(w.low << 23);
  __m512i span = _mm512_set1_epi32((int)((uint32_t)(w.top + 1 - w.low) << 23));
  for (int j = 0; j < 4; j++) {
    two[j].high = _mm512_set1_pd(ldexp(1.0, 52 + k - 298));
    two[j].rest = _mm512_setzero_pd();
  }
  for (int64_t i = 0; i < n; i += ZP_LANE_STEP) {
    __m512i u = ZP_LOADU(x + 4 * i), v = ZP_LOADU(x + 4 * i + 64);
    __m512i a = _mm512_sub_epi32(_mm512_and_si512(u, magnitude), low);
    __m512i b = _mm512_sub_epi32(_mm512_and_si512(v, magnitude), low);
    __mmask16 in_u = _mm512_cmplt_epu32_mask(a, span), in_v = _mm512_cmplt_epu32_mask(b, span);
    if (ZP_RARELY((in_u & in_v) != 0xffff)) {
      listed += list32(list + 4 * listed, u, in_u);
      listed += list32(list + 4 * listed, v, in_v);
      u = _mm512_maskz_mov_epi32(in_u, u);
      v = _mm512_maskz_mov_epi32(in_v, v);
    }
    add_vector(two, u);
    add_vector(two + 2, v);
  }
  add_two_sums(limb, two, k, zp_window_unit(ZP_ELEM_F32, w));
  return listed;
}

ZP_INLINE int64_t window_half(int64_t *limb, int elem, zp_window w, const char *x, int64_t n,
                              char *list)
{
  int unit = zp_window_unit(elem, w), shift = elem == ZP_ELEM_BF16 ? 7 : 10;
  int64_t listed = 0;
  __m512i low = _mm512_set1_epi16((int16_t)(w.low << shift));
  __m512i span = _mm512_set1_epi16((int16_t)((w.top + 1 - w.low) << shift));
  __m512d start = _mm512_set1_pd(ldexp(1.0, 52 + unit - 298));
  __m512d s0 = start, s1 = start, s2 = start, s3 = start; /* an array would end up in memory */
  for (int64_t i = 0; i < n; i += ZP_LANE_STEP) {
    __m512i u = ZP_LOADU(x + 2 * i), a = _mm512_and_si512(u, _mm512_set1_epi16(0x7fff));
    __mmask32 in = _mm512_cmplt_epu16_mask(_mm512_sub_epi16(a, low), span);
    __m512 v[2];
    if (ZP_RARELY(in != 0xffffffffu)) {
      listed += list16(list + 2 * listed, u, in);
      u = _mm512_maskz_mov_epi16(in, u);
    }
    widened32(v, elem, u);
    add_vector_once(&s0, &s1, v[0]);
    add_vector_once(&s2, &s3, v[1]);
  }
  __m512d one[4] = { s0, s1, s2, s3 };
  __m512i sum = _mm512_setzero_si512();
  for (int j = 0; j < 4; j++) {
    __m512i h = _mm512_castpd_si512(one[j]);
    sum = _mm512_add_epi64(sum, _mm512_and_si512(h, _mm512_set1_epi64(FRACTION_FIELD)));
  }
  zp_add_at(limb, _mm512_reduce_add_epi64(sum), unit);
  return listed;
}

ZP_TARGET int64_t zp_window_avx512(int64_t *limb, int elem, zp_window w, const void *x, int64_t n,
                                   void *list)
{
  if (elem == ZP_ELEM_F32) return window_f32(limb, w, x, n, list);
  if (elem == ZP_ELEM_BF16) return window_half(limb, ZP_ELEM_BF16, w, x, n, list);
  return window_half(limb, ZP_ELEM_F16, w, x, n, list);
}

/* Squares and biased exponents of 16 fp32 patterns, the squares of those at even places first;
 * returns how many were non-finite. */
ZP_INLINE int bin_operands(uint64_t *square, uint8_t *exponent, __m512i u)
{
  __m512i field = _mm512_set1_epi32(0x7f800000), be = _mm512_and_si512(u, field);
  __mmask16 normal = _mm512_test_epi32_mask(u, field);
  __m512i m = _mm512_and_si512(u, _mm512_set1_epi32(0x7fffff));
  m = _mm512_mask_or_epi32(m, normal, m, _mm512_set1_epi32(0x800000));
  __m512i odd = _mm512_srli_epi64(m, 32);
  _mm512_store_si512(square, _mm512_mul_epu32(m, m));
  _mm512_store_si512(square + 8, _mm512_mul_epu32(odd, odd));
  _mm_store_si128((__m128i *)exponent, _mm512_cvtepi32_epi8(_mm512_srli_epi32(be, 23)));
  return __builtin_popcount(_mm512_cmpeq_epi32_mask(be, field));
}

/* Operands are written some hundreds ahead of their use: read back at once, narrow loads would wait
 * for the wide stores; taken out of vector registers one by one, for the extractions. Exponents
 * come 8 to a load, because loads and stores are what limits this. */
ZP_TARGET static int64_t bins_f32(zp_bins *b, const char *x, int64_t n, int64_t ahead)
{
  _Alignas(64) uint64_t square[ZP_BIN_AHEAD];
  _Alignas(64) uint8_t exponent[ZP_BIN_AHEAD];
  int64_t bad = 0;
  for (int64_t from = 0; from < n; from += ZP_BIN_AHEAD) {
    int64_t count = n - from < ZP_BIN_AHEAD ? n - from : ZP_BIN_AHEAD;
    for (int64_t i = 0; i < count; i += 16) {
      bad += bin_operands(square + i, exponent + i, ZP_LOADU(x + 4 * (from + i)));
    }
    for (int64_t i = 0; i < count; i += 8) {
      uint64_t e;
      const uint64_t *even = square + i / 16 * 16 + i % 16 / 2, *odd = even + 8;
      memcpy(&e, exponent + i, sizeof e);
      if (i % 16 == 0) _mm_prefetch(x + ahead + 4 * (from + i), _MM_HINT_T1);
      for (int j = 0; j < 4; j++) {
        b->word[ZP_BINS * (2 * j) + (e & 255)] += even[j];
        b->word[ZP_BINS * (2 * j + 1) + (e >> 8 & 255)] += odd[j];
        e >>= 16;
      }
    }
  }
  return bad;
}

/* Where the bins of the 16 pairs in u are: 16 (class0 + 16 class1), in bytes. */
ZP_INLINE __m256i pair_places(int elem, __m512i u)
{
  int bf16 = elem == ZP_ELEM_BF16;
  __m512i first = _mm512_srli_epi32(u, bf16 ? 7 : 8), second = _mm512_srli_epi32(u, bf16 ? 19 : 20);
  first = _mm512_and_si512(first, _mm512_set1_epi32(bf16 ? 0xf0 : 0x70));
  second = _mm512_and_si512(second, _mm512_set1_epi32(bf16 ? 0xf00 : 0x700));
  return _mm512_cvtepi32_epi16(_mm512_or_si512(first, second));
}

/* Scaled squares of 16 pairs: pair 4 l + q in 128-bit lane l of v[q]. Returns how many were
 * non-finite: their squares are 0. */
ZP_INLINE int pair_squares(__m512i *v, int elem, __m512i u)
{
  int bf16 = elem == ZP_ELEM_BF16;
  __m512i field = _mm512_set1_epi16(bf16 ? 0x7f80 : 0x7c00), be = _mm512_and_si512(u, field);
  __m512i m = _mm512_and_si512(u, _mm512_set1_epi16(bf16 ? 0x7f : 0x3ff));
  __mmask32 normal = _mm512_test_epi16_mask(u, field), finite = _mm512_cmpneq_epi16_mask(be, field);
  __m512i hidden = _mm512_set1_epi16(bf16 ? 0x80 : 0x400);
  m = _mm512_mask_add_epi16(_mm512_add_epi16(m, m), normal, m, hidden);
  if (bf16) {
    __m512i square = _mm512_maskz_mullo_epi16(finite, m, m);
    __m512i by = _mm512_and_si512(_mm512_srli_epi16(u, 6), _mm512_set1_epi16(2 * 15));
    for (int q = 0; q < 4; q++) { /* bytes 4 q to 4 q + 3 of a lane are pair q */
      const char a = (char)(4 * q), z = -128;
      __m512i to = _mm512_broadcast_i32x4(_mm_setr_epi8(
        a, (char)(a + 1), z, z, z, z, z, z, (char)(a + 2), (char)(a + 3), z, z, z, z, z, z));
      v[q] = _mm512_sllv_epi64(_mm512_shuffle_epi8(square, to), _mm512_shuffle_epi8(by, to));
    }
  } else {
    __m512i by = _mm512_and_si512(_mm512_srli_epi16(u, 9), _mm512_set1_epi16(2 * 3));
    __m512i least = _mm512_set1_epi32(0xffff), zero = _mm512_setzero_si512();
    m = _mm512_maskz_mov_epi16(finite, m);
    __m512i m0 = _mm512_and_si512(m, least), m1 = _mm512_srli_epi32(m, 16);
    __m512i v0 = _mm512_sllv_epi32(_mm512_madd_epi16(m0, m0), _mm512_and_si512(by, least));
    __m512i v1 = _mm512_sllv_epi32(_mm512_madd_epi16(m1, m1), _mm512_srli_epi32(by, 16));
    __m512i a = _mm512_unpacklo_epi32(v0, v1), c = _mm512_unpackhi_epi32(v0, v1);
    v[0] = _mm512_unpacklo_epi32(a, zero), v[1] = _mm512_unpackhi_epi32(a, zero);
    v[2] = _mm512_unpacklo_epi32(c, zero), v[3] = _mm512_unpackhi_epi32(c, zero);
  }
  return __builtin_popcount(~finite);
}

ZP_INLINE void add_pair(uint64_t *word, uint32_t place, __m128i v)
{
  __m128i *bin = (__m128i *)((char *)word + place);
  _mm_store_si128(bin, _mm_add_epi64(_mm_load_si128(bin), v));
}

ZP_INLINE int64_t bins_half(zp_bins *b, int elem, const char *x, int64_t n, int64_t ahead)
{
  _Alignas(64) uint16_t place[ZP_BIN_AHEAD / 2];
  int64_t bad = 0;
  for (int64_t from = 0; from < n; from += ZP_BIN_AHEAD) {
    int64_t count = n - from < ZP_BIN_AHEAD ? n - from : ZP_BIN_AHEAD;
    for (int64_t i = 0; i < count; i += 32) {
      __m256i p = pair_places(elem, ZP_LOADU(x + 2 * (from + i)));
      _mm256_store_si256((__m256i *)(place + i / 2), p);
    }
    for (int64_t i = 0; i < count; i += 32) {
      __m512i v[4];
      const uint16_t *at = place + i / 2;
      bad += pair_squares(v, elem, ZP_LOADU(x + 2 * (from + i)));
      _mm_prefetch(x + ahead + 2 * (from + i), _MM_HINT_T1);
      for (int q = 0; q < ZP_PAIR_COPIES; q++) {
        uint64_t *word = b->word + 512 * q;
        add_pair(word, at[q], _mm512_castsi512_si128(v[q]));
        add_pair(word, at[4 + q], _mm512_extracti64x2_epi64(v[q], 1));
        add_pair(word, at[8 + q], _mm512_extracti64x2_epi64(v[q], 2));
        add_pair(word, at[12 + q], _mm512_extracti64x2_epi64(v[q], 3));
      }
    }
  }
  return bad;
}

ZP_TARGET int64_t zp_bins_avx512(zp_bins *b, int elem, const void *x, int64_t n, int64_t ahead)
{
  if (elem == ZP_ELEM_F32) return bins_f32(b, x, n, ahead);
  if (elem == ZP_ELEM_BF16) return bins_half(b, ZP_ELEM_BF16, x, n, ahead);
  return bins_half(b, ZP_ELEM_F16, x, n, ahead);
}

#else

int64_t zp_window_avx512(int64_t *limb, int elem, zp_window w, const void *x, int64_t n, void *list)
{
  (void)limb, (void)elem, (void)w, (void)x, (void)n, (void)list;
  return 0;
}

int64_t zp_bins_avx512(zp_bins *b, int elem, const void *x, int64_t n, int64_t ahead)
{
  (void)b, (void)elem, (void)x, (void)n, (void)ahead;
  return 0;
}

#endif
