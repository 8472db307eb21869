#include "update_internal.h"

#if defined(__x86_64__)
#include <immintrin.h>

#define ZP_TARGET __attribute__((target("avx2,f16c")))
#define ZP_NAME zp_host_step_avx2
#define ZP_NAME_ROUND zp_host_round_avx2
enum { ZP_WIDTH = 8 };
typedef __m256 zp_vec;

ZP_TARGET static inline zp_vec vec_set(float x)
{
  return _mm256_set1_ps(x);
}
ZP_TARGET static inline zp_vec vec_load(const float *p)
{
  return _mm256_loadu_ps(p);
}
ZP_TARGET static inline void vec_store(float *p, zp_vec x)
{
  _mm256_storeu_ps(p, x);
}
ZP_TARGET static inline zp_vec vec_sqrt(zp_vec a)
{
  return _mm256_sqrt_ps(a);
}
ZP_TARGET static inline zp_vec vec_mean(zp_vec sum, double divisor)
{
  const __m256d by = _mm256_set1_pd(divisor);
  const __m256d low = _mm256_div_pd(_mm256_cvtps_pd(_mm256_castps256_ps128(sum)), by);
  const __m256d high = _mm256_div_pd(_mm256_cvtps_pd(_mm256_extractf128_ps(sum, 1)), by);
  return _mm256_set_m128(_mm256_cvtpd_ps(high), _mm256_cvtpd_ps(low));
}

ZP_TARGET static inline void vec_store_bf16(uint16_t *p, zp_vec x)
{
  const __m256i u = _mm256_castps_si256(x), kept = _mm256_srli_epi32(u, 16);
  const __m256i odd = _mm256_and_si256(kept, _mm256_set1_epi32(1));
  const __m256i up = _mm256_add_epi32(_mm256_add_epi32(u, _mm256_set1_epi32(0x7fff)), odd);
  const __m256i nan = _mm256_castps_si256(_mm256_cmp_ps(x, x, _CMP_UNORD_Q));
  const __m256i quiet = _mm256_or_si256(kept, _mm256_set1_epi32(0x40));
  const __m256i h = _mm256_blendv_epi8(_mm256_srli_epi32(up, 16), quiet, nan);
  /* packus packs each half of the register: the result is in quarters 0 and 2 */
  const __m256i packed = _mm256_permute4x64_epi64(_mm256_packus_epi32(h, h), 0x08);
  _mm_storeu_si128((__m128i *)p, _mm256_castsi256_si128(packed));
}

ZP_TARGET static inline void vec_store_f16(uint16_t *p, zp_vec x)
{
  _mm_storeu_si128((__m128i *)p, _mm256_cvtps_ph(x, _MM_FROUND_TO_NEAREST_INT));
}

#include "update_vectors.inc"

#else

int64_t zp_host_step_avx2(const zp_host_update *u, int64_t from, int64_t to)
{
  (void)u, (void)to;
  return from;
}

int64_t zp_host_round_avx2(const zp_host_update *u, int64_t from, int64_t to)
{
  (void)u, (void)to;
  return from;
}

#endif
