/* Products judged one by one, on the device that has carried them out, of any size: each element
 * beside the exact sum of the terms that it had. spec: ERR-7 */
#ifndef ZP_CUDA_JUDGE_H
#define ZP_CUDA_JUDGE_H
#include "product.h"
#ifdef __cplusplus
extern "C" {
#endif

enum { ZP_JUDGED_NEAR = 65, ZP_JUDGED_TIMES = 64 };
#define ZP_JUDGED_SHARE 0x1p-6

/* Each element once. unsaid: nothing can be said, as the order decides what overflows. outside: by
 * the product's name, those that are farther off than the clause allows. near[i]: the others, of
 * threads whose farthest was within i shares of that, and not within i - 1. times[i]: of those outside,
 * how many are 2^i times as far or farther, and not 2^(i+1); no numbers are the last ones'. */
typedef struct zp_judged {
  int64_t unsaid, outside[ZP_PRODUCTS], near[ZP_JUDGED_NEAR], times[ZP_JUDGED_TIMES];
} zp_judged;

/* by: who multiplies. on: 1: what is multiplied from now on is judged behind it, on its stream.
 * elements: that were. found: device memory, which only grows. */
typedef struct zp_product_judge {
  const zp_products *by;
  int32_t on;
  int64_t elements;
  zp_judged *found;
} zp_product_judge;

/* For the current device; 0, or an error of CUDA's. `by` is the caller's to close, behind this. */
int zp_product_judge_open(zp_product_judge *judge, const zp_products *by);
void zp_product_judge_close(zp_product_judge *judge);

/* The same products as by's, of fewer than 2^23 terms; the judge outlives them. */
zp_products zp_products_judged(zp_product_judge *judge);

/* What was found until now, when the device rests. 0, or an error of CUDA's. */
int zp_product_judge_read(const zp_product_judge *judge, zp_judged *found);

/* The product of which most elements were outside, or -1; and the farthest of the others, as a share
 * of what is allowed, rounded up to a multiple of ZP_JUDGED_SHARE. */
int32_t zp_judged_outside(const zp_judged *found);
double zp_judged_farthest(const zp_judged *found);

/* Of what is outside, log2 of how many times farther off than allowed, rounded down. */
int32_t zp_judged_times(const zp_judged *found);

/* How many elements were looked at, as the device has counted them. */
int64_t zp_judged_elements(const zp_judged *found);

/* What a product is called: "fc", or "fc, gradient of its left operand"; in `text`. */
void zp_product_called(int32_t name, char text[48]);

#ifdef __cplusplus
}
#endif
#endif
