/* How the stand-in of cuBLASLt refuses a shape, and what it was asked. */
#ifndef ZP_TESTS_FAKE_CUBLAS_REFUSE_H
#define ZP_TESTS_FAKE_CUBLAS_REFUSE_H
#include <cuda_runtime_api.h>
#include <stdint.h>

struct zp_product;

/* The ways in which cuBLASLt says that it has no algorithm: none found, a status of the heuristic's,
 * a status in its result, one of the product. */
typedef enum {
  FAKE_TAKES_ALL,
  FAKE_FINDS_NONE,
  FAKE_HEURISTIC_REFUSES,
  FAKE_RESULT_REFUSES,
  FAKE_PRODUCT_REFUSES
} fake_refusal;

/* From now on, for all shapes of this K; 0: of any. */
void fake_cublas_refuses(fake_refusal how, int64_t K);

/* asked: for an algorithm; multiplied: launches. */
typedef struct fake_cublas_count {
  int64_t asked, multiplied;
} fake_cublas_count;
fake_cublas_count fake_cublas_counted(void);

/* Who multiplies: ref's own product, unless another is named. */
void fake_cublas_multiplies(int (*multiply)(const struct zp_product *p, cudaStream_t stream));

#endif
