/* The parts of gpt_bounds. */
#ifndef ZP_TESTS_GPT_BOUNDS_H
#define ZP_TESTS_GPT_BOUNDS_H
#include "../../../cuda/gpt/product.h"

/* 0, or the line where a call failed. */
#define OK(call)                                                                                   \
  do {                                                                                             \
    if ((call) != 0) return __LINE__;                                                              \
  } while (0)

/* Prints "ok CASE_WHAT" or "not ok CASE_WHAT: WHY", and counts the latter. */
void verdict(int good, const char *name, const char *what, const char *why);

/* Single products: those of zp_products_open and ref's are within γ of the exact sums; without a
 * term they are not. small: no large ones. spec: ERR-3, ERR-8 */
int judge_products_alone(cudaStream_t stream, int small);

/* For shapes that ref's product multiplied instead, the library is not tested. */
void judge_library(void);

/* Shapes without an algorithm of cuBLASLt, and when algorithms are requested: with the stand-in.
 * spec: ERR-1, STRM-7 */
int judge_cublaslt(cudaStream_t stream);

#endif
