/* The matrix products of a model on the device and their GEMM backends: cuBLASLt if its header was
 * found at compile time, else a kernel that adds in ref's order (ref/model/gpt_matmul.h).
 * `zeroproof env` prints the backend. spec: ERR-1 */
#ifndef ZP_CUDA_PRODUCT_H
#define ZP_CUDA_PRODUCT_H
#include <cuda_runtime_api.h>
#include <stdint.h>
#ifdef __cplusplus
extern "C" {
#endif

/* The products of the model: forward, then for each the gradients of its left and right operand. */
typedef enum zp_product_name {
  ZP_PRODUCT_QKV,
  ZP_PRODUCT_SCORES, /* q·kᵀ */
  ZP_PRODUCT_MIX,    /* p·v */
  ZP_PRODUCT_PROJ,
  ZP_PRODUCT_FC,
  ZP_PRODUCT_OUT,
  ZP_PRODUCT_HEAD,
  ZP_PRODUCT_FORWARD, /* how many */
  ZP_PRODUCT_LEFT = ZP_PRODUCT_FORWARD,
  ZP_PRODUCT_RIGHT = 2 * ZP_PRODUCT_FORWARD,
  ZP_PRODUCTS = 3 * ZP_PRODUCT_FORWARD
} zp_product_name;

/* outer·inner products with fp32 sums. Each matrix of product (o,i) begins step.outer·o +
 * step.inner·i elements after that of the first product:
 *
 *   C(m,n) = bias(n) + Σ_k A(m,k)·B(k,n),  A(m,k) = a[m·am + k·ak],  B(k,n) = b[k·bk + n·bn]
 *
 * stored: the type of A and B in memory, ZP_F32 or ZP_BF16. operands: ZP_F32; or ZP_BF16: elements
 * of A and B that are not bf16 are first rounded to it (NUM-2, ERR-8).
 * C (M,N): rows ldc apart. One of am and ak is 1, and one of bk and bn. bias: (N), or NULL: zeros.
 * All pointers are to device memory; C overlaps nothing else. */
typedef struct zp_product_stride {
  int64_t outer, inner;
} zp_product_stride;

typedef struct zp_product {
  int64_t M, N, K;
  float *c;
  int64_t ldc;
  const void *a;
  int64_t am, ak;
  const void *b;
  int64_t bk, bn;
  const float *bias;
  int64_t outer, inner;
  zp_product_stride step_a, step_b, step_c;
  int32_t name;             /* zp_product_name */
  int32_t stored, operands; /* zp_dtype */
} zp_product;

/* A GEMM backend. multiply: enqueues on `stream`; 0, or non-zero: it failed. Each addition is
 * rounded once to fp32, each term once or not at all; the order of additions is free (ERR-1). Of
 * bf16 operands, tensor cores may add (ERR-8).
 * loads: 1: the first product of a shape may load a kernel or allocate memory, so a model
 * multiplies each shape once when it is opened (STRM-7). */
typedef struct zp_products {
  void *ctx;
  int (*multiply)(void *ctx, const zp_product *p, cudaStream_t stream);
  void (*close)(void *ctx);
  int32_t loads;
} zp_products;

/* For the current device. 0, or -1: no memory, or cuBLASLt failed. */
int zp_products_open(zp_products *products);

/* The backend of zp_products_open: "ref's own, in ref's order" or "cuBLASLt 13.1.0 …", and for how
 * many shapes in this process ref's product was used, because cuBLASLt has no algorithm. */
const char *zp_products_name(void);

/* 1: zp_products_open opens cuBLASLt. */
extern const int32_t zp_products_library;

/* The number of shapes without an algorithm; *shapes: the number of all shapes. Both are 0 if ref's
 * product is the backend. */
int64_t zp_products_refused(int64_t *shapes);

/* The backend in ref's order. */
extern const zp_products zp_products_ref;

#ifdef __cplusplus
}
#endif
#endif
