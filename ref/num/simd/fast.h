/* Fast variants of the exact sum of squares: the same canonical limbs as the plain ones.
 *
 * Not in the scope of the proofs (vector intrinsics); compared with the plain functions bit by
 * bit in tests/ref/num/test_num_simd.c. Contracts are those of ref/num/exact.h.
 */
#ifndef ZP_REF_NUM_SIMD_FAST_H
#define ZP_REF_NUM_SIMD_FAST_H
#include <stdint.h>

#include "../exact.h"
#ifdef __cplusplus
extern "C" {
#endif

/* Levels of vector instructions; higher is faster. */
enum { ZP_SIMD_PLAIN = 0, ZP_SIMD_AVX2 = 1, ZP_SIMD_AVX512 = 2 };

/* The highest ZP_SIMD_* level of this CPU, at most ZP_SIMD_MAX if the build defines it.
 * Errors: none.
 * spec: SUM-2
 */
int zp_simd_level(void);

/* zp_sumsq_add_f32, bf16, f16 at the highest level of this CPU.
 * s, x, n, result: as in ref/num/exact.h. Errors: none.
 * spec: SUM-2
 */
int64_t zp_sumsq_add_f32_fast(zp_sumsq *s, const uint32_t *x, int64_t n);
int64_t zp_sumsq_add_bf16_fast(zp_sumsq *s, const uint16_t *x, int64_t n);
int64_t zp_sumsq_add_f16_fast(zp_sumsq *s, const uint16_t *x, int64_t n);

/* The same at a given level, for tests; a level that this CPU lacks falls back to its highest.
 * level: ZP_SIMD_*. Errors: none.
 * spec: SUM-2
 */
int64_t zp_sumsq_add_f32_level(int level, zp_sumsq *s, const uint32_t *x, int64_t n);
int64_t zp_sumsq_add_bf16_level(int level, zp_sumsq *s, const uint16_t *x, int64_t n);
int64_t zp_sumsq_add_f16_level(int level, zp_sumsq *s, const uint16_t *x, int64_t n);

/* The same on up to `threads` POSIX threads, the caller's included, each summing a range of x.
 * threads: 1 to 64; other values are clamped, and few elements need fewer. The caller sums what a
 * thread that cannot be started would have. Errors: none.
 * spec: SUM-2
 */
int64_t zp_sumsq_add_f32_mt(zp_sumsq *s, const uint32_t *x, int64_t n, int threads);
int64_t zp_sumsq_add_bf16_mt(zp_sumsq *s, const uint16_t *x, int64_t n, int threads);
int64_t zp_sumsq_add_f16_mt(zp_sumsq *s, const uint16_t *x, int64_t n, int threads);

/* The same for a list of arrays, such as the gradients of a model: the threads divide their total.
 * x: (arrays), each the address of n[i] >= 0 elements, aligned as its elements are; not read where
 * n[i] is 0. n: (arrays), together below 2^62. arrays >= 0. threads, result, errors: as above.
 * spec: SUM-2
 */
int64_t zp_sumsq_add_f32_list(zp_sumsq *s, const void *const *x, const int64_t *n, int64_t arrays,
                              int threads);
int64_t zp_sumsq_add_bf16_list(zp_sumsq *s, const void *const *x, const int64_t *n, int64_t arrays,
                               int threads);
int64_t zp_sumsq_add_f16_list(zp_sumsq *s, const void *const *x, const int64_t *n, int64_t arrays,
                              int threads);

#ifdef __cplusplus
}
#endif
#endif
