/* Fingerprints of values: the sum over all words of (word * key(index)) mod 2^64, in two lanes.
 *
 * A word is 32 bits, little endian; its index is its position in the whole value, so that the
 * fingerprints of parts add up to that of the whole, in any order. conformance/TRACE.md defines the
 * keys and states the probability of a collision. Not in the scope of the proofs.
 */
#ifndef ZP_REF_NUM_SIMD_FINGERPRINT_H
#define ZP_REF_NUM_SIMD_FINGERPRINT_H
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Adds the fingerprint of `bytes` bytes at x, which are bytes at, at + 1, ... of a value.
 * x: any alignment; may be NULL if bytes is 0. bytes: >= 0. sum: two lanes, set by the caller,
 * at first to 0. Thread-safe. Errors: none.
 */
void zp_fingerprint_add(const void *x, int64_t bytes, uint64_t at, uint64_t sum[2]);

/* The same at a level of vector instructions (ZP_SIMD_*, fast.h), for tests. A level that this CPU
 * lacks falls back to its highest. Errors: none.
 */
void zp_fingerprint_add_level(int level, const void *x, int64_t bytes, uint64_t at,
                              uint64_t sum[2]);

/* The same for `n` pieces that follow each other in the value from byte `at` on.
 * x, bytes: n addresses and sizes. Errors: none.
 */
void zp_fingerprint_add_list(const void *const *x, const int64_t *bytes, int64_t n, uint64_t at,
                             uint64_t sum[2]);

#ifdef __cplusplus
}
#endif
#endif
