/* What the parts of gpt_bounds share. */
#ifndef ZP_TESTS_GPT_BOUNDS_H
#define ZP_TESTS_GPT_BOUNDS_H
#include "../../cuda/model/product.h"

/* 0, or the line where a call failed. */
#define OK(call)                                                                                   \
  do {                                                                                             \
    if ((call) != 0) return __LINE__;                                                              \
  } while (0)

/* Prints "ok CASE_WHAT" or "not ok CASE_WHAT: WHY", and counts the latter. */
void verdict(int good, const char *name, const char *what, const char *why);

/* Products by themselves: those that zp_products_open opens and ref's are within γ of the exact sums;
 * without a term they are not. small: no large ones. spec: ERR-3 */
int judge_products_alone(cudaStream_t stream, int small);

/* Of shapes that ref's own product multiplied in its place nothing is known of the library. */
void judge_library(void);

/* Shapes that cuBLASLt has no algorithm for, and when it is asked for one: with the stand-in.
 * spec: ERR-1, STRM-7 */
int judge_cublaslt(cudaStream_t stream);

#endif
