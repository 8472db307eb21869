#include "kernel.h"

#if defined(__x86_64__)
#include <immintrin.h>
#include <math.h>

#include "../half.h"

#define ZP_TARGET __attribute__((target("avx2,fma,f16c")))
#define ZP_INLINE ZP_TARGET __attribute__((always_inline)) static inline

#define ZP_LOADU(p) _mm256_loadu_si256((const __m256i *)(p))

/* Two running sums of 4 lanes; 8 of them are the 32 lanes that kernel.h counts on. */
typedef struct lanes {
  __m256d high, rest;
} lanes;

/* Running extent: 8 lanes of fp32 patterns or 16 of half patterns. */
typedef struct extents {
  __m256i max, min_less_1;
} extents;

static const int64_t FRACTION_FIELD = 0xfffffffffffff;

ZP_INLINE void add_squares(lanes *sum, __m128 x)
{
  __m256d d = _mm256_cvtps_pd(x);
  __m256d next = _mm256_fmadd_pd(d, d, sum->high);
  __m256d kept = _mm256_sub_pd(next, sum->high);
  sum->rest = _mm256_add_pd(sum->rest, _mm256_fmsub_pd(d, d, kept));
  sum->high = next;
}

ZP_INLINE void add_vector(lanes *sum, __m256 v)
{
  add_squares(sum, _mm256_castps256_ps128(v));
  add_squares(sum + 1, _mm256_extractf128_ps(v, 1));
}

ZP_INLINE void add_vector_once(__m256d *sum0, __m256d *sum1, __m256 v)
{
  __m256d a = _mm256_cvtps_pd(_mm256_castps256_ps128(v));
  __m256d b = _mm256_cvtps_pd(_mm256_extractf128_ps(v, 1));
  *sum0 = _mm256_fmadd_pd(a, a, *sum0);
  *sum1 = _mm256_fmadd_pd(b, b, *sum1);
}

ZP_INLINE void widen32(extents *e, __m256i u)
{
  __m256i a = _mm256_and_si256(u, _mm256_set1_epi32(0x7fffffff));
  e->max = _mm256_max_epu32(e->max, a);
  e->min_less_1 = _mm256_min_epu32(e->min_less_1, _mm256_sub_epi32(a, _mm256_set1_epi32(1)));
}

ZP_INLINE void widen16(extents *e, __m256i u)
{
  __m256i a = _mm256_and_si256(u, _mm256_set1_epi16(0x7fff));
  e->max = _mm256_max_epu16(e->max, a);
  e->min_less_1 = _mm256_min_epu16(e->min_less_1, _mm256_sub_epi16(a, _mm256_set1_epi16(1)));
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

/* 16 half patterns some of which are below mid: two sums for these, one for the others. */
ZP_TARGET __attribute__((noinline)) static void
add_mixed(__m256d *one, lanes *two, extents *e, zp_window w, int elem, const char *x)
{
  __m256 v[2];
  __m256i u = ZP_LOADU(x), least = _mm256_set1_epi32((w.mid << 23) - 1);
  __m256i magnitude = _mm256_set1_epi32(0x7fffffff);
  widen16(e, u);
  widened16(v, elem, u);
  for (int j = 0; j < 2; j++) {
    __m256i a = _mm256_and_si256(_mm256_castps_si256(v[j]), magnitude);
    __m256 large = _mm256_castsi256_ps(_mm256_cmpgt_epi32(a, least));
    add_vector(two + 2 * j, _mm256_andnot_ps(large, v[j]));
    add_vector_once(one + 2 * j, one + 2 * j + 1, _mm256_and_ps(large, v[j]));
  }
}

ZP_INLINE extents empty_extent(void)
{
  extents e = { _mm256_setzero_si256(), _mm256_set1_epi32(-1) };
  return e;
}

ZP_INLINE extents extent_of(int elem, const char *x, int64_t n)
{
  extents e = empty_extent();
  for (int64_t i = 0; i < n; i += 16) {
    if (elem == ZP_ELEM_F32) {
      widen32(&e, ZP_LOADU(x + 4 * i));
      widen32(&e, ZP_LOADU(x + 4 * i + 32));
    } else {
      widen16(&e, ZP_LOADU(x + 2 * i));
    }
  }
  return e;
}

ZP_INLINE zp_extent total_extent(extents e, int elem)
{
  uint32_t max[8], min[8];
  _mm256_storeu_si256((__m256i *)max, e.max);
  _mm256_storeu_si256((__m256i *)min, e.min_less_1);
  zp_extent r = { 0, UINT32_MAX };
  if (elem == ZP_ELEM_F32) {
    for (int j = 0; j < 8; j++) {
      r.max = max[j] > r.max ? max[j] : r.max;
      r.min_less_1 = min[j] < r.min_less_1 ? min[j] : r.min_less_1;
    }
    return r;
  }
  uint32_t max16 = 0, min16 = 0xffff;
  for (int j = 0; j < 16; j++) {
    uint32_t a = max[j / 2] >> (j % 2 * 16) & 0xffff, b = min[j / 2] >> (j % 2 * 16) & 0xffff;
    max16 = a > max16 ? a : max16;
    min16 = b < min16 ? b : min16;
  }
  int bf16 = elem == ZP_ELEM_BF16;
  uint16_t least = (uint16_t)(min16 + 1);
  r.max = bf16 ? zp_f32_from_bf16((uint16_t)max16) : zp_f32_from_f16((uint16_t)max16);
  r.min_less_1 = (bf16 ? zp_f32_from_bf16(least) : zp_f32_from_f16(least)) - 1;
  return r;
}

/* The sum of 4 signed lanes. */
ZP_INLINE int64_t lane_sum(__m256i v)
{
  int64_t a[4];
  _mm256_storeu_si256((__m256i *)a, v);
  return a[0] + a[1] + a[2] + a[3];
}

/* limb += what is in two[0 .. 7], by the formulas in kernel.h. */
ZP_INLINE void add_two_sums(int64_t *limb, const lanes *two, int k, int unit)
{
  __m256d magic = _mm256_set1_pd(ldexp(1.5, 52 + unit));
  __m256i high = _mm256_setzero_si256(), rest = high;
  for (int j = 0; j < 8; j++) {
    /* the fraction field counts 2^k; beside the magic number it counts units */
    __m256i h = _mm256_castpd_si256(two[j].high);
    __m256i r = _mm256_castpd_si256(_mm256_add_pd(two[j].rest, magic));
    high = _mm256_add_epi64(high, _mm256_and_si256(h, _mm256_set1_epi64x(FRACTION_FIELD)));
    rest = _mm256_add_epi64(rest, _mm256_sub_epi64(r, _mm256_castpd_si256(magic)));
  }
  zp_add_at(limb, lane_sum(high), k + 298);
  zp_add_at(limb, lane_sum(rest), unit + 298);
}

ZP_INLINE void start_two_sums(lanes *two, int k)
{
  for (int j = 0; j < 8; j++) {
    two[j].high = _mm256_set1_pd(ldexp(1.0, 52 + k));
    two[j].rest = _mm256_setzero_pd();
  }
}

/* Adds one block under an assumed window, unless it turns out not to fit; returns 1 if added. One
 * half of the block after the other, so that four pairs of sums at a time stay in registers.
 */
ZP_INLINE int add_block_f32(int64_t *limb, zp_window w, const char *x, int64_t n)
{
  int k = 2 * w.top - 296, unit = 2 * w.low - 254 - 2 * w.fraction;
  lanes two[8];
  extents e = empty_extent();
  start_two_sums(two, k);
  int64_t half = n / 2 / 16 * 16;
  for (int64_t i = 0; i < half; i += 16) {
    __m256i u = ZP_LOADU(x + 4 * i), v = ZP_LOADU(x + 4 * i + 32);
    widen32(&e, u);
    widen32(&e, v);
    add_vector(two, _mm256_castsi256_ps(u));
    add_vector(two + 2, _mm256_castsi256_ps(v));
  }
  for (int64_t i = half; i < n; i += 16) {
    __m256i u = ZP_LOADU(x + 4 * i), v = ZP_LOADU(x + 4 * i + 32);
    widen32(&e, u);
    widen32(&e, v);
    add_vector(two + 4, _mm256_castsi256_ps(u));
    add_vector(two + 6, _mm256_castsi256_ps(v));
  }
  if (!zp_in_window(w, total_extent(e, ZP_ELEM_F32))) return 0;
  add_two_sums(limb, two, k, unit);
  return 1;
}

/* limb += what is in the one-sum lanes. */
ZP_INLINE void add_one_sums(int64_t *limb, const __m256d *one, int unit)
{
  __m256i sum = _mm256_setzero_si256();
  for (int j = 0; j < 4; j++) {
    __m256i h = _mm256_castpd_si256(one[j]);
    sum = _mm256_add_epi64(sum, _mm256_and_si256(h, _mm256_set1_epi64x(FRACTION_FIELD)));
  }
  zp_add_at(limb, lane_sum(sum), unit + 298);
}

/* As add_block_f32, for bf16 and fp16. Sums of groups with small elements are kept apart, in
 * memory, so that those of the usual groups stay in registers. */
ZP_INLINE int add_block_half(int64_t *limb, zp_window w, int elem, const char *x, int64_t n)
{
  int k = 2 * (w.mid - 1) - 296, unit = 2 * w.low - 254 - 2 * w.fraction;
  int unit_one = 2 * w.mid - 254 - 2 * w.fraction, mixed = 0;
  __m256i mid_less_1 = _mm256_set1_epi16((int16_t)(zp_half_pattern(elem, w.mid) - 1));
  __m256d start = _mm256_set1_pd(ldexp(1.0, 52 + unit_one));
  __m256d s0 = start, s1 = start, s2 = start, s3 = start; /* an array would end up in memory */
  __m256d one_mixed[4] = { start, start, start, start };
  lanes two[8];
  extents e = empty_extent(), small = e;
  start_two_sums(two, k);
  for (int64_t i = 0; i < n; i += 16) {
    __m256i u = ZP_LOADU(x + 2 * i), a = _mm256_and_si256(u, _mm256_set1_epi16(0x7fff));
    __m256i less_1 = _mm256_sub_epi16(a, _mm256_set1_epi16(1));
    __m256i large = _mm256_cmpeq_epi16(_mm256_max_epu16(less_1, mid_less_1), less_1);
    __m256 v[2];
    e.max = _mm256_max_epu16(e.max, a);
    if (__builtin_expect(_mm256_movemask_epi8(large) != -1, 0)) {
      add_mixed(one_mixed, two + i % ZP_LANE_STEP / 4, &small, w, elem, x + 2 * i);
      mixed = 1;
      continue;
    }
    widened16(v, elem, u);
    add_vector_once(&s0, &s1, v[0]);
    add_vector_once(&s2, &s3, v[1]);
  }
  e.min_less_1 = small.min_less_1;
  if (!zp_in_window(w, total_extent(e, elem))) return 0;
  __m256d one[4] = { s0, s1, s2, s3 };
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

ZP_TARGET int64_t zp_window_avx2(int64_t *limb, int elem, const void *x, int64_t n)
{
  if (elem == ZP_ELEM_F32) return window_blocks(limb, ZP_ELEM_F32, x, n);
  if (elem == ZP_ELEM_BF16) return window_blocks(limb, ZP_ELEM_BF16, x, n);
  return window_blocks(limb, ZP_ELEM_F16, x, n);
}

/* Squares and biased exponents of 8 fp32 patterns, in the same order of their own; returns how many
 * were non-finite. */
ZP_INLINE int bin_operands(uint64_t *square, uint32_t *exponent, __m256i u)
{
  __m256i field = _mm256_set1_epi32(0x7f800000), be = _mm256_and_si256(u, field);
  __m256i tiny = _mm256_cmpeq_epi32(be, _mm256_setzero_si256());
  __m256i one = _mm256_andnot_si256(tiny, _mm256_set1_epi32(0x800000));
  __m256i m = _mm256_or_si256(_mm256_and_si256(u, _mm256_set1_epi32(0x7fffff)), one);
  __m256i odd = _mm256_srli_epi64(m, 32), bad = _mm256_cmpeq_epi32(be, field);
  _mm256_store_si256((__m256i *)square, _mm256_mul_epu32(m, m));
  _mm256_store_si256((__m256i *)(square + 4), _mm256_mul_epu32(odd, odd));
  _mm256_store_si256((__m256i *)exponent, _mm256_srli_epi32(be, 23));
  return __builtin_popcount((unsigned)_mm256_movemask_ps(_mm256_castsi256_ps(bad)));
}

/* Operands are written some hundreds ahead of their use: read back at once, narrow loads would wait
 * for the wide stores; taken out of vector registers one by one, for the extractions. */
ZP_INLINE int64_t add_to_bins(zp_bins *b, int elem, const char *x, int64_t n, int64_t after)
{
  int64_t size = elem == ZP_ELEM_F32 ? 4 : 2;
  _Alignas(32) uint64_t square[ZP_BIN_AHEAD];
  _Alignas(32) uint32_t exponent[ZP_BIN_AHEAD];
  int64_t bad = 0;
  for (int64_t from = 0; from < n; from += ZP_BIN_AHEAD) {
    int64_t count = n - from < ZP_BIN_AHEAD ? n - from : ZP_BIN_AHEAD;
    for (int64_t i = 0; i < count; i += 16) {
      __m256 v[2];
      if (elem == ZP_ELEM_F32) {
        v[0] = _mm256_castsi256_ps(ZP_LOADU(x + 4 * (from + i)));
        v[1] = _mm256_castsi256_ps(ZP_LOADU(x + 4 * (from + i) + 32));
      } else {
        widened16(v, elem, ZP_LOADU(x + 2 * (from + i)));
      }
      bad += bin_operands(square + i, exponent + i, _mm256_castps_si256(v[0]));
      bad += bin_operands(square + i + 8, exponent + i + 8, _mm256_castps_si256(v[1]));
    }
    for (int64_t i = 0; i < count; i += 8) {
      int64_t ahead = n + from + i; /* the next block, while this one computes */
      if (ahead < n + after) _mm_prefetch(x + size * ahead, _MM_HINT_T1);
      for (int j = 0; j < 4; j++) {
        b->bin[2 * j][exponent[i + 2 * j]] += square[i + j];
        b->bin[2 * j + 1][exponent[i + 2 * j + 1]] += square[i + 4 + j];
      }
    }
  }
  return bad;
}

ZP_TARGET int64_t zp_bins_avx2(zp_bins *b, int elem, const void *x, int64_t n, int64_t after)
{
  if (elem == ZP_ELEM_F32) return add_to_bins(b, ZP_ELEM_F32, x, n, after);
  if (elem == ZP_ELEM_BF16) return add_to_bins(b, ZP_ELEM_BF16, x, n, after);
  return add_to_bins(b, ZP_ELEM_F16, x, n, after);
}

#else

int64_t zp_window_avx2(int64_t *limb, int elem, const void *x, int64_t n)
{
  (void)limb, (void)elem, (void)x, (void)n;
  return 0;
}

int64_t zp_bins_avx2(zp_bins *b, int elem, const void *x, int64_t n, int64_t after)
{
  (void)b, (void)elem, (void)x, (void)n, (void)after;
  return 0;
}

#endif
