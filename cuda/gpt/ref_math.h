/* exp, log, tanh and GELU of ref/model for kernels: the same source, compiled again, as
 * cuda/kernels/ref_num.h does with ref/num. */
#ifndef ZP_CUDA_REF_MATH_H
#define ZP_CUDA_REF_MATH_H
#include "../kernels/element.h"

#define zp_float_bits zp_math_float_bits
#define zp_float_of zp_math_float_of
#define zp_pow2f zp_dev_pow2f
#define zp_log zp_dev_log
#define zp_gelu zp_dev_gelu
#define zp_gelu_backward zp_dev_gelu_backward
#define zp_exp_shifted zp_dev_exp_shifted
/* No vectors: a thread computes one number. */
#define ZP_GPT_PLAIN

#ifdef __CUDACC__
#pragma nv_diag_suppress 39 /* -1.0 / 0.0 is intended */
#define restrict __restrict__
#else
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wunused-function"
#endif

ZP_FN float zp_pow2f(int32_t k);
ZP_FN double zp_log(double x);
ZP_FN void zp_gelu(float *y, const float *x, int64_t n);
ZP_FN void zp_gelu_backward(float *dy, const float *x, int64_t n);
ZP_FN void zp_exp_shifted(float *x, float shift, int64_t n);

#ifdef __CUDACC__
#define static static __device__
#endif
#include "../../ref/model/zmath.c"
#include "../../ref/model/zmath.h"
#ifdef __CUDACC__
#undef static
#undef restrict
#else
#pragma GCC diagnostic pop
#endif
#undef zp_float_bits
#undef zp_float_of

#endif
