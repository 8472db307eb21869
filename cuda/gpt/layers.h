/* The parameters of gpt's kernels, except matrix products. Plain C.
 *
 * Arrays are device memory, fp32, row-major, with ref's shapes (ref/model/gpt_layers.h): B
 * sequences of T tokens, N = B·T rows, C columns, H heads, V = 256 bytes. Every sum is one chain in
 * ref's order, so equal operands give ref's bits on any device. The host computes numbers that
 * derive from counts, with ref's rounding. spec: ERR-1 */
#ifndef ZP_CUDA_LAYERS_H
#define ZP_CUDA_LAYERS_H
#include "../kernels/kernels.h"
#include "judge.h"
#ifdef __cplusplus
extern "C" {
#endif

enum { ZP_LAYERS_V = 256, ZP_LAYERS_BATCH = 256 };

/* out[i] = in[i], rounded to dtype_out; runs.at is not used. */
typedef struct zp_convert_params {
  zp_memory_runs runs;
  int32_t dtype_in, dtype_out;
} zp_convert_params;

/* token and target (N) of B windows of the text, from first[b] on. Adds 1 to *refused if the device
 * is not in `step`. */
typedef struct zp_read_params {
  const uint8_t *text;
  int64_t B, T, step;
  int64_t first[ZP_LAYERS_BATCH];
  const zp_step_state *state;
  int32_t *token, *target, *refused;
} zp_read_params;

/* Targets of a message, (N); adds the number of invalid ones to *refused. */
typedef struct zp_targets_params {
  const int32_t *in;
  int32_t *target, *refused;
  int64_t N;
} zp_targets_params;

/* x (N,C), rounded to dtype; backward: dwte (V,C), dwpe (context,C) from dx. */
typedef struct zp_embed_params {
  float *x;
  const float *wte, *wpe;
  const float *dx;
  float *dwte, *dwpe;
  const int32_t *token;
  int64_t N, T, C, context;
  int32_t dtype;
} zp_embed_params;

/* y = (x − mean)·rstd·g + b; backward: dx = add + …, dg, db from dy. count: (float)C. */
typedef struct zp_layer_norm_params {
  float *y, *mean, *rstd;
  const float *x, *g, *b;
  const float *dy, *add;
  float *dx, *dg, *db;
  int64_t N, C;
  float count;
} zp_layer_norm_params;

/* y[i] = x[i] + y[i], rounded to dtype. */
typedef struct zp_residual_params {
  float *y;
  const float *x;
  int64_t n;
  int32_t dtype;
} zp_residual_params;

/* x[i] becomes the nearest number of dtype. */
typedef struct zp_round_params {
  float *x;
  int64_t n;
  int32_t dtype;
} zp_round_params;

/* y = GELU(x); backward: y becomes y·GELU'(x). */
typedef struct zp_gelu_params {
  float *y;
  const float *x;
  int64_t n;
} zp_gelu_params;

/* p (heads·T, T): scores become causal probabilities; backward: dp, of p, that of the scores. */
typedef struct zp_softmax_params {
  float *p, *dp;
  int64_t rows, T;
  float scale;
} zp_softmax_params;

/* sum (columns): of x (N, columns) over ascending rows. */
typedef struct zp_columns_params {
  float *sum;
  const float *x;
  int64_t N, columns;
} zp_columns_params;

/* Logits in p (N,V) become probabilities, row[n] the loss of row n. */
typedef struct zp_entropy_params {
  float *p;
  double *row;
  float *loss; /* zp_kernel_entropy_mean: the rows' mean */
  float *dlogits;
  const int32_t *target;
  const zp_step_state *state; /* the loss scale */
  int64_t N;
  double count; /* N */
  float mean;   /* 1/N in fp32 */
} zp_entropy_params;

/* Packs the matrices of a product's operand, rounded to bf16: lines of `length` elements, `apart`
 * elements apart in `in` (step: as in zp_product) and length_out in `out`. */
typedef struct zp_pack_operand_params {
  const float *in;
  uint16_t *out;
  int64_t outer, inner, lines, length, apart, length_out;
  zp_product_stride step;
} zp_pack_operand_params;

/* The bound of an element's error: share·Σ|terms| + least. spec: ERR-7, ERR-8 */
typedef struct zp_judge_product_params {
  zp_product p;
  double share, least;
  zp_judged *found;
} zp_judge_product_params;

zp_judge_product_params zp_judge_product_of(const zp_product *p, zp_judged *found);

/* One thread for each of n items; with fewer blocks, threads loop. */
zp_launch zp_launch_items(int64_t n);
/* One warp for each of n rows: of layer_norm, softmax, their backward kernels, and entropy. */
zp_launch zp_launch_rows(int64_t n);

extern const void *const zp_kernel_product;
extern const void *const zp_kernel_judge_product;
extern const void *const zp_kernel_pack_operand;
extern const void *const zp_kernel_convert;
extern const void *const zp_kernel_read;
extern const void *const zp_kernel_targets;
extern const void *const zp_kernel_embed;
extern const void *const zp_kernel_embed_backward;
extern const void *const zp_kernel_layer_norm;
extern const void *const zp_kernel_layer_norm_backward;
extern const void *const zp_kernel_layer_norm_columns;
extern const void *const zp_kernel_residual;
extern const void *const zp_kernel_round;
extern const void *const zp_kernel_gelu;
extern const void *const zp_kernel_gelu_backward;
extern const void *const zp_kernel_softmax;
extern const void *const zp_kernel_softmax_backward;
extern const void *const zp_kernel_columns;
extern const void *const zp_kernel_entropy;
extern const void *const zp_kernel_entropy_mean;
extern const void *const zp_kernel_entropy_backward;

#ifdef __cplusplus
}
#endif
#endif
