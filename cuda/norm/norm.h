/* The exact norm of gradients in device memory, for zeroproof.torch (python/): the functions of
 * libzeroproof_norm.so. Plain C.
 *
 * Each function queues work on a stream and returns without waiting for the device. They return 0,
 * or an error that zp_norm_error describes; then nothing or a part was queued, and `words` is
 * undefined. libzeroproof_norm_simdev.so has the same functions on the CPU, where "device memory"
 * is host memory, all work is done when a function returns, and the stream is ignored.
 */
#ifndef ZP_CUDA_NORM_H
#define ZP_CUDA_NORM_H
#include <stdint.h>

#include "../kernels/kernels.h"
#ifdef __cplusplus
extern "C" {
#endif

/* The vector that is summed over the ranks, of int64_t in device memory, initially zero. Words 0 to
 * 19 are the limbs of the exact sum of squares, 20 to 26 the caller's. The norm is NaN if the sum
 * over the ranks of word 27 or 29 is not 0. python/zeroproof/torch.py has the same numbers. */
enum {
  ZP_NORM_COPIES = 27,    /* set by the caller: 0 in sum if every required copy exists */
  ZP_NORM_NAN = 28,       /* how many elements are NaN */
  ZP_NORM_REFUSED = 29,   /* set by the caller: how many ranks have no valid sum */
  ZP_NORM_NONFINITE = 30, /* how many elements are inf or NaN */
  ZP_NORM_WORDS = 31
};

/* Adds the squares of the finite elements of n arrays to the limbs, and counts the others.
 * stream: a cudaStream_t of the current device; NULL: the default stream.
 * dtype: ZP_F32, ZP_BF16, ZP_F16.
 * run: (n) in host memory: in and count, set before zp_runs_lay (kernels.h) has laid them. Elements
 *     are aligned to their own size; together at most 2^41.
 * table: the same in device memory; NULL is allowed for n <= ZP_RUNS_HERE.
 * The limbs are not carried. Each of at most 1584 blocks adds less than 2^32 to each, so that 2^20
 * calls stay below 2^63. Errors: -1 for an invalid argument, or a cudaError_t.
 * spec: SUM-1 … SUM-4
 */
int32_t zp_norm_squares(void *stream, int32_t dtype, const zp_memory_run *run,
                        const zp_memory_run *table, int32_t n, int64_t *words);

/* Carries the limbs, and writes the norm: the square root of their sum, rounded once; inf if an
 * element is inf, NaN if one is NaN or if the sum is not valid.
 * norm: device memory of `bytes`: 4 (fp32) or 8 (fp64); or NULL: the limbs are carried only, so
 *     that vectors of 2^20 ranks can be added.
 * Errors: as above.
 * spec: SUM-6, NORM-1, NORM-2
 */
int32_t zp_norm_root(void *stream, int64_t *words, void *norm, int32_t bytes);

/* Adds the fingerprint of `bytes` bytes of device memory at x, which are bytes at, at + 1, ... of
 * a value, to the two lanes at sum, in device memory: as zp_fingerprint_add
 * (ref/num/simd/fingerprint.h).
 * stream: as above. Words that are aligned in memory and in the value are read as words.
 * Errors: as above.
 */
int32_t zp_norm_fingerprint(void *stream, const void *x, int64_t bytes, uint64_t at, int64_t *sum);

/* A description of an error, valid until the next call on this thread. */
const char *zp_norm_error(int32_t error);

/* ---- Kernels --------------------------------------------------------------------------------- */

/* zp_kernel_count_nan: adds the number of NaNs to *nan, unless *nonfinite is 0, as it mostly is. */
typedef struct zp_count_nan_params {
  int32_t dtype;
  const int64_t *nonfinite;
  int64_t *nan;
  zp_memory_runs runs;
} zp_count_nan_params;

/* zp_kernel_root: zp_norm_root. */
typedef struct zp_root_params {
  int64_t *words;
  void *norm;
  int32_t bytes;
} zp_root_params;

/* Bytes of a chunk, and of shared memory. */
enum { ZP_NORM_PRINT_CHUNK = 1 << 17, ZP_NORM_PRINT_SHARED = 9216 };

/* zp_kernel_fingerprint: zp_norm_fingerprint. */
typedef struct zp_fingerprint_params {
  const unsigned char *x;
  int64_t bytes;
  uint64_t at;
  int64_t *sum;
} zp_fingerprint_params;

extern const void *const zp_kernel_fingerprint;
extern const void *const zp_kernel_count_nan;
extern const void *const zp_kernel_root;

#ifdef __cplusplus
}
#endif
#endif
