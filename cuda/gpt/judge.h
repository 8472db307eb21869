/* Checks matrix products of any size on the device: each element is compared with the exact sum of
 * its terms. spec: ERR-7, ERR-8 */
#ifndef ZP_CUDA_JUDGE_H
#define ZP_CUDA_JUDGE_H
#include "product.h"
#ifdef __cplusplus
extern "C" {
#endif

enum { ZP_JUDGED_WITHIN = 65, ZP_JUDGED_FACTORS = 64 };
#define ZP_JUDGED_SHARE 0x1p-6

/* Counts of elements. Each element is undecided, outside its bound, or within it.
 * undecided: the order of additions decides whether the sum overflows.
 * outside: by the product's name.
 * within[i]: of the elements within, those of threads whose largest error, as a share of the bound,
 * is i·ZP_JUDGED_SHARE when rounded up.
 * factor[i]: of the elements outside, those whose error is 2^i to 2^(i+1) times the bound; NaN and
 * infinity count in the last. */
typedef struct zp_judged {
  int64_t undecided, outside[ZP_PRODUCTS], within[ZP_JUDGED_WITHIN], factor[ZP_JUDGED_FACTORS];
} zp_judged;

/* by: the GEMM backend. on: 1: products are judged from now on, on their stream. elements: how many
 * were judged. found: device memory, whose counts only increase. */
typedef struct zp_product_judge {
  const zp_products *by;
  int32_t on;
  int64_t elements;
  zp_judged *found;
} zp_product_judge;

/* For the current device; 0, or a CUDA error. The caller closes `by` after this. */
int zp_product_judge_open(zp_product_judge *judge, const zp_products *by);
void zp_product_judge_close(zp_product_judge *judge);

/* The same products as by's, of fewer than 2^23 terms; the judge outlives them. */
zp_products zp_products_judged(zp_product_judge *judge);

/* Reads the counts; the device must be idle. 0, or a CUDA error. */
int zp_product_judge_read(const zp_product_judge *judge, zp_judged *found);

/* The product with the most elements outside the bound; -1 if no element is outside. */
int32_t zp_judged_worst_product(const zp_judged *found);

/* The largest error within the bound, as a share of it, rounded up to a multiple of
 * ZP_JUDGED_SHARE. */
double zp_judged_max_error(const zp_judged *found);

/* The largest error relative to the bound, of the elements outside: its log2, rounded down. */
int32_t zp_judged_log2_factor(const zp_judged *found);

/* How many elements the device has counted. */
int64_t zp_judged_elements(const zp_judged *found);

/* Writes a product's name to `text`: "fc", or "fc, gradient of its left operand". */
void zp_product_describe(int32_t name, char text[48]);

#ifdef __cplusplus
}
#endif
#endif
