/* How far a device's gpt may be from ref's: ranges in which every loss and gradient lies that is
 * made by ref's operations, but for the order in which the terms of the matrix products are added
 * (ERR-1). They are computed beside ref, for the data at hand. spec: ERR-2 … ERR-6 */
#ifndef ZP_CUDA_BOUND_H
#define ZP_CUDA_BOUND_H
#include "../../ref/model/gpt.h"

typedef struct zp_range {
  double lo, hi;
} zp_range;

/* One micro-batch of the whole model. precision: zp_dtype of the configuration. It is for small
 * models: time and memory grow with the square of the activations' number. */
typedef struct zp_bound_input {
  zp_gpt_shape shape;
  int64_t T; /* <= shape.context */
  int32_t precision, log2_scale;
  const void *const *params;     /* [entries] of the precision */
  const int32_t *token, *target; /* (batch, T) */
} zp_bound_input;

/* loss: of the mean loss. grad: [entries], each of numel ranges, of numbers of the precision.
 * 0, or -1 when memory ran out. */
int zp_bound_gpt(const zp_bound_input *in, zp_range *loss, zp_range *const *grad);

#endif
