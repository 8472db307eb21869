/* Messages between pipeline stages: tuples of tensors. */
#ifndef ZP_BASE_MESSAGE_H
#define ZP_BASE_MESSAGE_H

#include <stdint.h>

enum { ZP_MSG_TENSORS = 4, ZP_MSG_DIMS = 4 };

/* One tensor of a message: shape (dim[0], …, dim[ndim-1]), row-major; data may be NULL in a pure
 * description. */
typedef struct zp_tensor {
  int32_t dtype; /* zp_dtype */
  int32_t ndim;  /* 1..ZP_MSG_DIMS */
  int64_t dim[ZP_MSG_DIMS];
  void *data;
} zp_tensor;

/* The message of one micro-batch from one stage to the next: a tuple of n tensors. */
typedef struct zp_message {
  int32_t n; /* 0..ZP_MSG_TENSORS */
  zp_tensor t[ZP_MSG_TENSORS];
} zp_message;

#endif
