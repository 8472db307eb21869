/* Kernels for measurements and large arrays: a plain read, a copy, filling memory, checksums. */
#ifndef ZP_GPU_PROBE_H
#define ZP_GPU_PROBE_H
#include <stdint.h>

/* words: of 16 bytes. in: read, unless NULL; out: written, unless NULL; several arrays follow each
 * other in memory. sink: prevents the compiler from removing the reads. */
typedef struct zp_probe_params {
  const void *in;
  void *out;
  int64_t read, write;
  uint32_t *sink;
} zp_probe_params;

/* The values of fill: close to one; over all exponents, so that neighbours differ much; gradients,
 * log-normal over about 2^12. */
enum { ZP_FILL_NEAR, ZP_FILL_SPREAD, ZP_FILL_GRADIENT, ZP_FILL_POSITIVE };

/* n elements of dtype. */
typedef struct zp_fill_params {
  void *out;
  int64_t n;
  int32_t dtype, kind;
  uint64_t seed;
} zp_fill_params;

/* Adds to *sum a hash of each word and its position, modulo 2^64. */
typedef struct zp_checksum_params {
  const uint32_t *in;
  int64_t words;
  uint64_t *sum;
} zp_checksum_params;

#ifdef __cplusplus
extern "C" {
#endif
extern const void *const zp_kernel_probe;
extern const void *const zp_kernel_fill;
extern const void *const zp_kernel_checksum;
#ifdef __cplusplus
}
#endif
#endif
