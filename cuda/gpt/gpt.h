/* gpt on the device: the callbacks of one stage of ref/model's transformer for the engine.
 *
 * The stage's layers are those of ref/model/gpt.h: the same values are rounded at the same points,
 * all sums except those of matrix products are added in ref's order, and products are those of
 * product.h. With ref's product of fp32 operands, loss and gradients have ref's bits; with another
 * order of additions they are within the bounds of spec/errors.md. spec: STEP-1, PIPE-6, ERR-1 */
#ifndef ZP_CUDA_GPT_H
#define ZP_CUDA_GPT_H
#include "../../ref/model/gpt.h"
#include "../engine/engine.h"
#include "product.h"

/* All of it must outlive the stage. param: [entries] the stage's entries in device memory. refused:
 * device memory; counts wrong messages. operands: of all products, as in zp_product. */
typedef struct zp_cuda_gpt_options {
  const zp_gpt_options *gpt;
  const zp_config *cfg; /* its entries must be those of zp_gpt_list */
  int32_t stage, dp_index;
  void *const *param;
  int32_t *refused;
  const zp_products *products;
  int32_t operands;
} zp_cuda_gpt_options;

typedef struct zp_cuda_gpt zp_cuda_gpt;

/* Loads the kernels; to be called before any launch. 0, or a CUDA error. spec: STRM-7 */
int zp_cuda_gpt_load(void);

/* Allocates a stage on the current device, and runs each of its products once if that loads a
 * kernel. NULL: no memory, or a product failed. spec: STRM-7 */
zp_cuda_gpt *zp_cuda_gpt_open(const zp_cuda_gpt_options *options);
void zp_cuda_gpt_close(zp_cuda_gpt *gpt);

/* The engine's callbacks of the same names (engine.h), on call->stream. grad: [entries] device
 * memory for the gradients of the stage's entries; NULL: not needed. 0, or non-zero: a launch
 * failed, or a message has a wrong shape. */
int zp_cuda_gpt_forward(zp_cuda_gpt *gpt, const zp_cuda_call *call);
int zp_cuda_gpt_backward(zp_cuda_gpt *gpt, const zp_cuda_call *call, void *const *grad);

#endif
