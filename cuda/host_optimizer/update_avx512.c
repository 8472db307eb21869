#include "update_internal.h"

#if defined(__x86_64__)
#include <immintrin.h>

#define ZP_TARGET __attribute__((target("avx512f,avx512dq,avx512bw,avx512vl")))
#define ZP_NAME zp_host_step_avx512
#define ZP_NAME_ROUND zp_host_round_avx512
enum { ZP_WIDTH = 16 };
typedef __m512 zp_vec;

ZP_TARGET static inline zp_vec vec_set(float x)
{
  return _mm512_set1_ps(x);
}
ZP_TARGET static inline zp_vec vec_load(const float *p)
{
  return _mm512_loadu_ps(p);
}
ZP_TARGET static inline void vec_store(float *p, zp_vec x)
{
  _mm512_storeu_ps(p, x);
}
ZP_TARGET static inline zp_vec vec_sqrt(zp_vec a)
{
  return _mm512_sqrt_ps(a);
}
ZP_TARGET static inline zp_vec vec_mean(zp_vec sum, double divisor)
{
  const __m512d by = _mm512_set1_pd(divisor);
  const __m512d low = _mm512_div_pd(_mm512_cvtps_pd(_mm512_castps512_ps256(sum)), by);
  const __m512d high = _mm512_div_pd(_mm512_cvtps_pd(_mm512_extractf32x8_ps(sum, 1)), by);
  return _mm512_insertf32x8(_mm512_castps256_ps512(_mm512_cvtpd_ps(low)), _mm512_cvtpd_ps(high), 1);
}

/* The CPU's own conversion to bf16 is not used: it treats subnormal numbers as zero. */
ZP_TARGET static inline void vec_store_bf16(uint16_t *p, zp_vec x)
{
  const __m512i u = _mm512_castps_si512(x), kept = _mm512_srli_epi32(u, 16);
  const __m512i odd = _mm512_and_si512(kept, _mm512_set1_epi32(1));
  const __m512i up = _mm512_add_epi32(_mm512_add_epi32(u, _mm512_set1_epi32(0x7fff)), odd);
  const __mmask16 nan = _mm512_cmp_ps_mask(x, x, _CMP_UNORD_Q);
  const __m512i quiet = _mm512_or_si512(kept, _mm512_set1_epi32(0x40));
  const __m512i h = _mm512_mask_mov_epi32(_mm512_srli_epi32(up, 16), nan, quiet);
  _mm256_storeu_si256((__m256i *)p, _mm512_cvtepi32_epi16(h));
}

ZP_TARGET static inline void vec_store_f16(uint16_t *p, zp_vec x)
{
  _mm256_storeu_si256((__m256i *)p, _mm512_cvtps_ph(x, _MM_FROUND_TO_NEAREST_INT));
}

#include "update_vectors.inc"

#else

int64_t zp_host_step_avx512(const zp_host_update *u, int64_t from, int64_t to)
{
  (void)u, (void)to;
  return from;
}

int64_t zp_host_round_avx512(const zp_host_update *u, int64_t from, int64_t to)
{
  (void)u, (void)to;
  return from;
}

#endif
