/* The matrix products of a model on the device, and who carries them out: cuBLASLt where its header
 * was found when this was compiled, else a kernel of our own that adds in ref's order
 * (ref/model/gpt_matmul.h). `zeroproof env` says which. spec: ERR-1 */
#ifndef ZP_CUDA_PRODUCT_H
#define ZP_CUDA_PRODUCT_H
#include <cuda_runtime_api.h>
#include <stdint.h>
#ifdef __cplusplus
extern "C" {
#endif

/* Which product of the model it is: forward; then, of each, the gradients of its left and of its
 * right operand. */
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

/* outer·inner products in fp32, number (o,i) of matrices that begin o·X.outer + i·X.inner behind
 * the first ones:
 *
 *   C(m,n) = bias(n) + Σ_k A(m,k)·B(k,n),  A(m,k) = a[m·am + k·ak],  B(k,n) = b[k·bk + n·bn]
 *
 * C (M,N): rows ldc apart. One of am and ak is 1, and one of bk and bn. bias: (N), or NULL: zeros.
 * All pointers are to device memory; C overlaps nothing else. */
typedef struct zp_product_stride {
  int64_t outer, inner;
} zp_product_stride;

typedef struct zp_product {
  int64_t M, N, K;
  float *c;
  int64_t ldc;
  const float *a;
  int64_t am, ak;
  const float *b;
  int64_t bk, bn;
  const float *bias;
  int64_t outer, inner;
  zp_product_stride step_a, step_b, step_c;
  int32_t name; /* zp_product_name */
} zp_product;

/* Who multiplies. multiply: enqueues on `stream`; 0, or non-zero when it failed. Each term and each
 * addition is rounded once, to fp32, or a term is not rounded at all; the order of additions is
 * its own (ERR-1). loads: 1: CUDA may load a kernel at the first product of a shape, so that a model
 * multiplies each once when it is opened (STRM-7). */
typedef struct zp_products {
  void *ctx;
  int (*multiply)(void *ctx, const zp_product *p, cudaStream_t stream);
  void (*close)(void *ctx);
  int32_t loads;
} zp_products;

/* For one device, the current one. 0, or -1 when memory ran out or cuBLASLt failed. */
int zp_products_open(zp_products *products);

/* "ref's own, in ref's order" or "cuBLASLt 13.1.0 …": the one that zp_products_open opens; and for
 * how many of this process's shapes so far it had no algorithm, so that ref's own multiplied. */
const char *zp_products_are(void);

/* 1: cuBLASLt is what it opens. */
extern const int32_t zp_products_library;

/* These, and in *shapes all that it was asked for: 0 of 0 where ref's own is the only one. */
int64_t zp_products_refused(int64_t *shapes);

/* Ref's order, whatever zp_products_open opens. */
extern const zp_products zp_products_ref;

#ifdef __cplusplus
}
#endif
#endif
