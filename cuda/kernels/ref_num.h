/* The functions of ref/num for kernels: the same sources, compiled again, by nvcc for the device.
 * Their meaning is unchanged: each external function is declared here first, as static and under
 * another name (which differs from the library's); for nvcc `static` becomes `static __device__`;
 * and three names that two files use for different helpers are renamed.
 * spec: NUM-1 … NUM-3, SUM-1 … SUM-8, NORM-1, NORM-2, OPT-3
 */
#ifndef ZP_CUDA_REF_NUM_H
#define ZP_CUDA_REF_NUM_H
#include <math.h>
#include <stdint.h>
#include <string.h>

#define zp_f32_from_bf16 zp_dev_f32_from_bf16
#define zp_bf16_from_f32 zp_dev_bf16_from_f32
#define zp_f32_from_f16 zp_dev_f32_from_f16
#define zp_f16_from_f32 zp_dev_f16_from_f32
#define zp_nonfinite_f32 zp_dev_nonfinite_f32
#define zp_nonfinite_bf16 zp_dev_nonfinite_bf16
#define zp_nonfinite_f16 zp_dev_nonfinite_f16
#define zp_sumsq_clear zp_dev_sumsq_clear
#define zp_sumsq_add_f32 zp_dev_sumsq_add_f32
#define zp_sumsq_add_bf16 zp_dev_sumsq_add_bf16
#define zp_sumsq_add_f16 zp_dev_sumsq_add_f16
#define zp_sumsq_limbs zp_dev_sumsq_limbs
#define zp_limbs_merge zp_dev_limbs_merge
#define zp_limbs_normalise zp_dev_limbs_normalise
#define zp_val_add_f32 zp_dev_val_add_f32
#define zp_val_add_bf16 zp_dev_val_add_bf16
#define zp_val_add_f16 zp_dev_val_add_f16
#define zp_val_normalise zp_dev_val_normalise
#define zp_val_mean_f32 zp_dev_val_mean_f32
#define zp_val_pack zp_dev_val_pack
#define zp_val_unpack zp_dev_val_unpack
#define zp_val_pack_f16 zp_dev_val_pack_f16
#define zp_val_unpack_f16 zp_dev_val_unpack_f16
#define zp_norm_f64 zp_dev_norm_f64
#define zp_norm_f32 zp_dev_norm_f32
#define zp_ordered_add_f32 zp_dev_ordered_add_f32
#define zp_ordered_mean_f32 zp_dev_ordered_mean_f32
#define zp_scaler_init zp_dev_scaler_init
#define zp_scaler_from_f64 zp_dev_scaler_from_f64
#define zp_scaler_update zp_dev_scaler_update
#define zp_optim_state_init zp_dev_optim_state_init
#define zp_optim_tick zp_dev_optim_tick
#define zp_clip_factor zp_dev_clip_factor
#define zp_optim_step zp_dev_optim_step
#define zp_squares_settle zp_dev_squares_settle
#define zp_judge zp_dev_judge
#define zp_decide zp_dev_decide
#define zp_agree_words zp_dev_agree_words
#define zp_agree_same zp_dev_agree_same

#ifdef __CUDACC__
#define ZP_FN static __device__
extern "C" {
/* "redeclared without __device__, hence treated as __host__ __device__", which is intended. */
#pragma nv_diag_suppress 20037
/* Kernels do not call all of them. */
#pragma nv_diag_suppress 177
#else
#define ZP_FN static
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wunused-function"
#endif

struct zp_sumsq;
struct zp_scaler;
struct zp_optim;
struct zp_optim_state;
struct zp_decision;
ZP_FN uint32_t zp_f32_from_bf16(uint16_t h);
ZP_FN uint16_t zp_bf16_from_f32(uint32_t u);
ZP_FN uint32_t zp_f32_from_f16(uint16_t h);
ZP_FN uint16_t zp_f16_from_f32(uint32_t u);
ZP_FN int64_t zp_nonfinite_f32(const uint32_t *x, int64_t n);
ZP_FN int64_t zp_nonfinite_bf16(const uint16_t *x, int64_t n);
ZP_FN int64_t zp_nonfinite_f16(const uint16_t *x, int64_t n);
ZP_FN void zp_sumsq_clear(struct zp_sumsq *s);
ZP_FN int64_t zp_sumsq_add_f32(struct zp_sumsq *s, const uint32_t *x, int64_t n);
ZP_FN int64_t zp_sumsq_add_bf16(struct zp_sumsq *s, const uint16_t *x, int64_t n);
ZP_FN int64_t zp_sumsq_add_f16(struct zp_sumsq *s, const uint16_t *x, int64_t n);
ZP_FN void zp_sumsq_limbs(struct zp_sumsq *s, int64_t limb[20]);
ZP_FN void zp_limbs_merge(int64_t *into, const int64_t *from, int32_t n);
ZP_FN void zp_limbs_normalise(int64_t *limb, int32_t n);
ZP_FN void zp_val_add_f32(int64_t *limbs, const uint32_t *x, int64_t n);
ZP_FN void zp_val_add_bf16(int64_t *limbs, const uint16_t *x, int64_t n);
ZP_FN void zp_val_add_f16(int64_t *limbs, const uint16_t *x, int64_t n);
ZP_FN void zp_val_normalise(int64_t *limbs, int64_t n);
ZP_FN uint32_t zp_val_mean_f32(const int64_t limb[9], int64_t divisor);
ZP_FN void zp_val_pack(const int64_t limb[9], uint32_t *low, int64_t *top, int64_t n, int64_t i);
ZP_FN void zp_val_unpack(int64_t limb[9], const uint32_t *low, const int64_t *top, int64_t n,
                         int64_t i);
ZP_FN void zp_val_pack_f16(const int64_t limb[9], uint32_t *low, int64_t n, int64_t i);
ZP_FN void zp_val_unpack_f16(int64_t limb[9], const uint32_t *low, int64_t n, int64_t i);
ZP_FN uint64_t zp_norm_f64(const int64_t limb[20]);
ZP_FN uint32_t zp_norm_f32(const int64_t limb[20]);
ZP_FN void zp_ordered_add_f32(float *acc, const float *x, int64_t n);
ZP_FN void zp_ordered_mean_f32(float *mean, const float *sum, int64_t divisor, int64_t n);
ZP_FN int zp_scaler_init(struct zp_scaler *s, int32_t dynamic, int32_t log2_scale, int32_t log2_min,
                         int32_t log2_max, int64_t window, int32_t hysteresis, int32_t consecutive);
ZP_FN int zp_scaler_from_f64(uint64_t bits, int32_t *log2_scale);
ZP_FN void zp_scaler_update(struct zp_scaler *s, int32_t overflow);
ZP_FN void zp_optim_state_init(struct zp_optim_state *state);
ZP_FN void zp_optim_tick(struct zp_optim_state *state, const struct zp_optim *optim);
ZP_FN double zp_clip_factor(double norm_unscaled, double clip, double eps);
ZP_FN void zp_optim_step(const struct zp_optim *optim, const struct zp_optim_state *state,
                         float factor_clip, int32_t log2_scale, int64_t n, const float *grad,
                         float *master, float *m, float *v);
ZP_FN void zp_squares_settle(int64_t squares[20]);
ZP_FN struct zp_decision zp_judge(const int64_t squares[20], const int64_t loss[9],
                                  int64_t nonfinite, int64_t bad_loss, int64_t divisor, double clip,
                                  double eps, int32_t log2_scale);
ZP_FN struct zp_decision zp_decide(const int64_t squares[20], const int64_t loss[9],
                                   int64_t nonfinite, int64_t bad_loss, int64_t divisor,
                                   double clip, double eps, struct zp_scaler *scaler);
ZP_FN void zp_agree_words(uint64_t x, int32_t rank, int64_t words[16]);
ZP_FN int32_t zp_agree_same(const int64_t sums[16], int64_t ranks);
#ifdef __CUDACC__
}
#define static static __device__
#endif

#include "../../ref/num/half.c"
#include "../../ref/num/nonfinite.c"

#include "../../ref/num/exact.c"
#include "../../ref/num/exact_limbs.c"
#define add_to_limb add_to_value_limb
#include "../../ref/num/value.c"
#undef add_to_limb

#define take_word take_value_word
#define rounded rounded_quotient
#include "../../ref/num/value_mean.c"
#undef rounded
#undef take_word

#include "../../ref/num/packed.c"

#include "../../ref/num/norm.c"
#include "../../ref/num/optim.c"
#include "../../ref/num/ordered.c"
#include "../../ref/num/scaler.c"

#include "../../ref/num/decide.c"

#include "../../ref/num/agree.c"

#ifdef __CUDACC__
#undef static
#else
#pragma GCC diagnostic pop
#endif
#endif
