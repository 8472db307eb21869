/* Kernels that measurements are made with: a plain read, a copy, and what fills memory. */
#ifndef ZP_GPU_PROBE_H
#define ZP_GPU_PROBE_H
#include <stdint.h>

/* words: of 16 bytes. in: read, unless NULL; out: written, unless NULL; several arrays lie behind
 * each other, which memory does not mind. sink: keeps the reads from being left out. */
typedef struct zp_probe_params {
  const void *in;
  void *out;
  int64_t read, write;
  uint32_t *sink;
} zp_probe_params;

/* How fill makes values: near one; over all exponents, so that neighbours lie far apart; gradients,
 * log-normal over some 2^12. */
enum { ZP_FILL_NEAR, ZP_FILL_SPREAD, ZP_FILL_GRADIENT, ZP_FILL_POSITIVE };

/* n elements of dtype. */
typedef struct zp_fill_params {
  void *out;
  int64_t n;
  int32_t dtype, kind;
  uint64_t seed;
} zp_fill_params;

#ifdef __cplusplus
extern "C" {
#endif
extern const void *const zp_kernel_probe;
extern const void *const zp_kernel_fill;
#ifdef __cplusplus
}
#endif
#endif
