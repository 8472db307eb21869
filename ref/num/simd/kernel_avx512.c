#include "kernel.h"

#if defined(__x86_64__)
#include <immintrin.h>
#include <math.h>

#include "../half.h"

#define ZP_TARGET __attribute__((target("avx512f,avx512dq,avx512bw,avx512vl,avx2,fma,f16c")))
#define ZP_INLINE ZP_TARGET __attribute__((always_inline)) static inline

#define ZP_LOADU(p) _mm512_loadu_si512(p)

/* Two running sums of 8 lanes. */
typedef struct lanes {
  __m512d high, rest;
} lanes;

/* Running extent: 16 lanes of fp32 patterns or 32 of half patterns. */
typedef struct extents {
  __m512i max, min_less_1;
} extents;

static const uint64_t FRACTION_FIELD = 0xfffffffffffff;

ZP_INLINE void add_squares(lanes *sum, __m256 x)
{
  __m512d d = _mm512_cvtps_pd(x);
  __m512d next = _mm512_fmadd_pd(d, d, sum->high);
  __m512d kept = _mm512_sub_pd(next, sum->high);
  sum->rest = _mm512_add_pd(sum->rest, _mm512_fmsub_pd(d, d, kept));
  sum->high = next;
}

ZP_INLINE void add_vector(lanes *sum, __m512 v)
{
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

ZP_INLINE void widen32(extents *e, __m512i u)
{
  __m512i a = _mm512_and_si512(u, _mm512_set1_epi32(0x7fffffff));
  e->max = _mm512_max_epu32(e->max, a);
  e->min_less_1 = _mm512_min_epu32(e->min_less_1, _mm512_sub_epi32(a, _mm512_set1_epi32(1)));
}

ZP_INLINE void widen16(extents *e, __m512i u)
{
  __m512i a = _mm512_and_si512(u, _mm512_set1_epi16(0x7fff));
  e->max = _mm512_max_epu16(e->max, a);
  e->min_less_1 = _mm512_min_epu16(e->min_less_1, _mm512_sub_epi16(a, _mm512_set1_epi16(1)));
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

/* 32 half patterns some of which are below mid: two sums for these, one for the others. */
ZP_TARGET __attribute__((noinline)) static void
add_mixed(__m512d *one, lanes *two, extents *e, zp_window w, int elem, __m512i u)
{
  __m512 v[2];
  __m512i mid = _mm512_set1_epi32(w.mid << 23), magnitude = _mm512_set1_epi32(0x7fffffff);
  widen16(e, u);
  widened32(v, elem, u);
  for (int j = 0; j < 2; j++) {
    __m512i a = _mm512_and_si512(_mm512_castps_si512(v[j]), magnitude);
    __mmask16 low = _mm512_cmplt_epu32_mask(a, mid);
    add_vector(two + 2 * j, _mm512_maskz_mov_ps(low, v[j]));
    add_vector_once(one + 2 * j, one + 2 * j + 1, _mm512_maskz_mov_ps((__mmask16)~low, v[j]));
  }
}

ZP_INLINE extents empty_extent(void)
{
  extents e = { _mm512_setzero_si512(), _mm512_set1_epi32(-1) };
  return e;
}

ZP_INLINE extents extent_of(int elem, const char *x, int64_t n)
{
  extents e = empty_extent();
  for (int64_t i = 0; i < n; i += ZP_LANE_STEP) {
    if (elem == ZP_ELEM_F32) {
      widen32(&e, ZP_LOADU(x + 4 * i));
      widen32(&e, ZP_LOADU(x + 4 * i + 64));
    } else {
      widen16(&e, ZP_LOADU(x + 2 * i));
    }
  }
  return e;
}

ZP_INLINE zp_extent total_extent(extents e, int elem)
{
  zp_extent r;
  if (elem == ZP_ELEM_F32) {
    r.max = _mm512_reduce_max_epu32(e.max);
    r.min_less_1 = _mm512_reduce_min_epu32(e.min_less_1);
    return r;
  }
  __m512i low = _mm512_set1_epi32(0xffff);
  uint32_t max = _mm512_reduce_max_epu32(
    _mm512_max_epu32(_mm512_and_si512(e.max, low), _mm512_srli_epi32(e.max, 16)));
  uint32_t min = _mm512_reduce_min_epu32(
    _mm512_min_epu32(_mm512_and_si512(e.min_less_1, low), _mm512_srli_epi32(e.min_less_1, 16)));
  int bf16 = elem == ZP_ELEM_BF16;
  uint16_t max16 = (uint16_t)max, min16 = (uint16_t)(min + 1);
  r.max = bf16 ? zp_f32_from_bf16(max16) : zp_f32_from_f16(max16);
  r.min_less_1 = (bf16 ? zp_f32_from_bf16(min16) : zp_f32_from_f16(min16)) - 1;
  return r;
}

/* limb += what is in two[0 .. 3], by the formulas in kernel.h. */
ZP_INLINE void add_two_sums(int64_t *limb, const lanes *two, int k, int unit)
{
  __m512d magic = _mm512_set1_pd(ldexp(1.5, 52 + unit));
  __m512i high = _mm512_setzero_si512(), rest = high;
  for (int j = 0; j < 4; j++) {
    /* the fraction field counts 2^k; beside the magic number it counts units */
    __m512i h = _mm512_castpd_si512(two[j].high);
    __m512i r = _mm512_castpd_si512(_mm512_add_pd(two[j].rest, magic));
    high = _mm512_add_epi64(high, _mm512_and_si512(h, _mm512_set1_epi64(FRACTION_FIELD)));
    rest = _mm512_add_epi64(rest, _mm512_sub_epi64(r, _mm512_castpd_si512(magic)));
  }
  zp_add_at(limb, _mm512_reduce_add_epi64(high), k + 298);
  zp_add_at(limb, _mm512_reduce_add_epi64(rest), unit + 298);
}

ZP_INLINE void start_two_sums(lanes *two, int k)
{
  for (int j = 0; j < 4; j++) {
    two[j].high = _mm512_set1_pd(ldexp(1.0, 52 + k));
    two[j].rest = _mm512_setzero_pd();
  }
}

/* Adds one block under an assumed window, unless it turns out not to fit; returns 1 if added. */
ZP_INLINE int add_block_f32(int64_t *limb, zp_window w, const char *x, int64_t n)
{
  int k = 2 * w.top - 296, unit = 2 * w.low - 254 - 2 * w.fraction;
  lanes two[4];
  extents e = empty_extent();
  start_two_sums(two, k);
  for (int64_t i = 0; i < n; i += ZP_LANE_STEP) {
    __m512i u = ZP_LOADU(x + 4 * i), v = ZP_LOADU(x + 4 * i + 64);
    widen32(&e, u);
    widen32(&e, v);
    add_vector(two, _mm512_castsi512_ps(u));
    add_vector(two + 2, _mm512_castsi512_ps(v));
  }
  if (!zp_in_window(w, total_extent(e, ZP_ELEM_F32))) return 0;
  add_two_sums(limb, two, k, unit);
  return 1;
}

/* limb += what is in the one-sum lanes. */
ZP_INLINE void add_one_sums(int64_t *limb, const __m512d *one, int unit)
{
  __m512i sum = _mm512_setzero_si512();
  for (int j = 0; j < 4; j++) {
    __m512i h = _mm512_castpd_si512(one[j]);
    sum = _mm512_add_epi64(sum, _mm512_and_si512(h, _mm512_set1_epi64(FRACTION_FIELD)));
  }
  zp_add_at(limb, _mm512_reduce_add_epi64(sum), unit + 298);
}

/* As add_block_f32, for bf16 and fp16. Sums of groups with small elements are kept apart, in
 * memory, so that those of the usual groups stay in registers. */
ZP_INLINE int add_block_half(int64_t *limb, zp_window w, int elem, const char *x, int64_t n)
{
  int k = 2 * (w.mid - 1) - 296, unit = 2 * w.low - 254 - 2 * w.fraction;
  int unit_one = 2 * w.mid - 254 - 2 * w.fraction, mixed = 0;
  __m512i mid_less_1 = _mm512_set1_epi16((int16_t)(zp_half_pattern(elem, w.mid) - 1));
  __m512d start = _mm512_set1_pd(ldexp(1.0, 52 + unit_one));
  __m512d s0 = start, s1 = start, s2 = start, s3 = start; /* an array would end up in memory */
  __m512d one_mixed[4] = { start, start, start, start };
  lanes two[4];
  extents e = empty_extent(), small = e;
  start_two_sums(two, k);
  for (int64_t i = 0; i < n; i += ZP_LANE_STEP) {
    __m512i u = ZP_LOADU(x + 2 * i), a = _mm512_and_si512(u, _mm512_set1_epi16(0x7fff));
    __m512i less_1 = _mm512_sub_epi16(a, _mm512_set1_epi16(1));
    __m512 v[2];
    e.max = _mm512_max_epu16(e.max, a);
    if (__builtin_expect(_mm512_cmplt_epu16_mask(less_1, mid_less_1) != 0, 0)) {
      add_mixed(one_mixed, two, &small, w, elem, u);
      mixed = 1;
      continue;
    }
    widened32(v, elem, u);
    add_vector_once(&s0, &s1, v[0]);
    add_vector_once(&s2, &s3, v[1]);
  }
  e.min_less_1 = small.min_less_1;
  if (!zp_in_window(w, total_extent(e, elem))) return 0;
  __m512d one[4] = { s0, s1, s2, s3 };
  add_one_sums(limb, one, unit_one);
  if (mixed) add_one_sums(limb, one_mixed, unit_one);
  if (mixed) add_two_sums(limb, two, k, unit);
  return 1;
}

ZP_INLINE int add_block(int64_t *limb, zp_window w, int elem, const char *x, int64_t n)
{
  return elem == ZP_ELEM_F32 ? add_block_f32(limb, w, x, n) : add_block_half(limb, w, elem, x, n);
}

ZP_INLINE int64_t window_blocks(int64_t *limb, int elem, const char *x, int64_t n)
{
  int64_t done = 0, size = elem == ZP_ELEM_F32 ? 4 : 2;
  int known = 0;
  zp_window w = { 0, 0, 0, 0 };
  while (done < n) {
    int64_t block = n - done < ZP_BLOCK ? n - done : ZP_BLOCK;
    const char *at = x + size * done;
    if (known && add_block(limb, w, elem, at, block)) {
      done += block;
      continue;
    }
    known = zp_choose_window(&w, elem, total_extent(extent_of(elem, at, block), elem));
    if (!known) break;
  }
  return done;
}

ZP_TARGET int64_t zp_window_avx512(int64_t *limb, int elem, const void *x, int64_t n)
{
  if (elem == ZP_ELEM_F32) return window_blocks(limb, ZP_ELEM_F32, x, n);
  if (elem == ZP_ELEM_BF16) return window_blocks(limb, ZP_ELEM_BF16, x, n);
  return window_blocks(limb, ZP_ELEM_F16, x, n);
}

/* Squares and biased exponents of 16 fp32 patterns, in the same order of their own; returns how
 * many were non-finite. */
ZP_INLINE int bin_operands(uint64_t *square, uint32_t *exponent, __m512i u)
{
  __m512i field = _mm512_set1_epi32(0x7f800000), be = _mm512_and_si512(u, field);
  __mmask16 normal = _mm512_test_epi32_mask(u, field);
  __m512i m = _mm512_and_si512(u, _mm512_set1_epi32(0x7fffff));
  m = _mm512_mask_or_epi32(m, normal, m, _mm512_set1_epi32(0x800000));
  __m512i odd = _mm512_srli_epi64(m, 32);
  _mm512_store_si512(square, _mm512_mul_epu32(m, m));
  _mm512_store_si512(square + 8, _mm512_mul_epu32(odd, odd));
  _mm512_store_si512(exponent, _mm512_srli_epi32(be, 23));
  return __builtin_popcount(_mm512_cmpeq_epi32_mask(be, field));
}

/* Operands are written some hundreds ahead of their use: read back at once, narrow loads would wait
 * for the wide stores; taken out of vector registers one by one, for the extractions. */
ZP_INLINE int64_t add_to_bins(zp_bins *b, int elem, const char *x, int64_t n, int64_t after)
{
  int64_t size = elem == ZP_ELEM_F32 ? 4 : 2;
  _Alignas(64) uint64_t square[ZP_BIN_AHEAD];
  _Alignas(64) uint32_t exponent[ZP_BIN_AHEAD];
  int64_t bad = 0;
  for (int64_t from = 0; from < n; from += ZP_BIN_AHEAD) {
    int64_t count = n - from < ZP_BIN_AHEAD ? n - from : ZP_BIN_AHEAD;
    for (int64_t i = 0; i < count; i += ZP_LANE_STEP) {
      __m512 v[2];
      if (elem == ZP_ELEM_F32) {
        v[0] = _mm512_castsi512_ps(ZP_LOADU(x + 4 * (from + i)));
        v[1] = _mm512_castsi512_ps(ZP_LOADU(x + 4 * (from + i) + 64));
      } else {
        widened32(v, elem, ZP_LOADU(x + 2 * (from + i)));
      }
      bad += bin_operands(square + i, exponent + i, _mm512_castps_si512(v[0]));
      bad += bin_operands(square + i + 16, exponent + i + 16, _mm512_castps_si512(v[1]));
    }
    for (int64_t i = 0; i < count; i += 16) {
      int64_t ahead = n + from + i; /* the next block, while this one computes */
      if (ahead < n + after) _mm_prefetch(x + size * ahead, _MM_HINT_T1);
      for (int j = 0; j < 8; j++) {
        b->bin[j][exponent[i + 2 * j]] += square[i + j];
        b->bin[7 - j][exponent[i + 2 * j + 1]] += square[i + 8 + j];
      }
    }
  }
  return bad;
}

ZP_TARGET int64_t zp_bins_avx512(zp_bins *b, int elem, const void *x, int64_t n, int64_t after)
{
  if (elem == ZP_ELEM_F32) return add_to_bins(b, ZP_ELEM_F32, x, n, after);
  if (elem == ZP_ELEM_BF16) return add_to_bins(b, ZP_ELEM_BF16, x, n, after);
  return add_to_bins(b, ZP_ELEM_F16, x, n, after);
}

#else

int64_t zp_window_avx512(int64_t *limb, int elem, const void *x, int64_t n)
{
  (void)limb, (void)elem, (void)x, (void)n;
  return 0;
}

int64_t zp_bins_avx512(zp_bins *b, int elem, const void *x, int64_t n, int64_t after)
{
  (void)b, (void)elem, (void)x, (void)n, (void)after;
  return 0;
}

#endif
