/* Products that add in other orders than ref's, as a library may, and products without one term. */
#ifndef ZP_TESTS_PRODUCT_ORDERS_H
#define ZP_TESTS_PRODUCT_ORDERS_H
#include "../../../cuda/gpt/product.h"
#ifdef __cplusplus
extern "C" {
#endif

typedef enum product_order {
  ORDER_REF,
  ORDER_REVERSED, /* the last term first, the bias last */
  ORDER_BLOCKED,  /* eight sums of every eighth term, added at the end */
  ORDER_PAIRWISE, /* pairwise: the smallest error */
  ORDER_FUSED,    /* ascending, a term not rounded */
  ORDERS
} product_order;

/* The term that is left out, in device memory: number k of element c (over all matrices); k < 0:
 * none. */
typedef struct product_gap {
  int64_t c, k;
} product_gap;

/* T: tokens of a sequence. at: the term's position among all terms, 0 … 1; below 0: the largest. */
typedef struct product_orders_params {
  zp_product p;
  product_gap *gap; /* NULL: none */
  int64_t T;
  double at;
  int32_t order;
} product_orders_params;

extern const void *const zp_kernel_any_order; /* one thread for each element of C */
extern const void *const zp_kernel_pick;      /* one thread: finds the term to leave out */

#ifdef __cplusplus
}
#endif
#endif
