/* Bounds on the difference between gpt on a device and ref: for given data, ranges that contain
 * each loss and gradient that ref's operations can give if the terms of matrix products are added
 * in any order (ERR-1). spec: ERR-2 … ERR-6 */
#ifndef ZP_CUDA_BOUND_H
#define ZP_CUDA_BOUND_H
#include "../../ref/model/gpt.h"

typedef struct zp_range {
  double lo, hi;
} zp_range;

/* One micro-batch of the whole model. precision: zp_dtype of the configuration. For small models:
 * time and memory grow with the square of the number of activations. */
typedef struct zp_bound_input {
  zp_gpt_shape shape;
  int64_t T; /* <= shape.context */
  int32_t precision, log2_scale;
  const void *const *params;     /* [entries] in the precision */
  const int32_t *token, *target; /* (batch, T) */
} zp_bound_input;

/* loss: the range of the mean loss. grad: [entries], each of numel ranges, of numbers in the
 * precision. 0, or -1: no memory. */
int zp_bound_gpt(const zp_bound_input *in, zp_range *loss, zp_range *const *grad);

#endif
