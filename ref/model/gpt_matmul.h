/* The one matrix product that the model needs, with one fixed order of additions.
 *
 *   C(m,n) += Σ_k A(m,k)·B(k,n)
 *
 * C (M,N), rows ldc apart; A(m,k) = a[m·am + k·ak], so a transposed A is a matter of strides;
 * B (K,N), rows ldb apart; both N-contiguous. Each element of C is one chain: it starts from the
 * value in C and adds the rounded products for k = 0, 1, …, K−1. Vectors run along n and blocks
 * over (m, n) only, so neither changes a bit. C overlaps neither A nor B. */
#ifndef ZP_MODEL_GPT_MATMUL_H
#define ZP_MODEL_GPT_MATMUL_H

#include <stdint.h>

typedef struct zp_gpt_product {
  int64_t M, N, K;
  float *c;
  int64_t ldc;
  const float *a;
  int64_t am, ak;
  const float *b;
  int64_t ldb;
} zp_gpt_product;

void zp_gpt_matmul(zp_gpt_product p);

/* The same with vectors of at most `width` floats (4, 8, 16; no more than zp_gpt_cpu_width), so
 * that a test can compare them. */
void zp_gpt_matmul_as(int32_t width, zp_gpt_product p);

#endif
