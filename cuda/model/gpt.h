/* gpt on the device: one stage of ref/model's transformer as callbacks' work for the engine.
 *
 * The stage's layers are those of ref/model/gpt.h: the same values are rounded at the same places,
 * every sum but those of the products is added in ref's order, and products are cuda/model's
 * product.h. With ref's product loss and gradients are ref's bits; with another order of additions
 * they are within spec/errors.md's bounds. spec: STEP-1, PIPE-6, ERR-1 */
#ifndef ZP_CUDA_GPT_H
#define ZP_CUDA_GPT_H
#include "../../ref/model/gpt.h"
#include "../engine/engine.h"
#include "product.h"

/* What a stage is opened with; all of it outlives the stage. param: [entries] the stage's entries
 * in device memory, of the configuration's precision. refused: device; counts what the model was
 * given and could not take. */
typedef struct zp_cuda_gpt_options {
  const zp_gpt_options *gpt;
  const zp_config *cfg; /* its entries are those of zp_gpt_list */
  int32_t stage, dp_index;
  void *const *param;
  int32_t *refused;
  const zp_products *products;
} zp_cuda_gpt_options;

typedef struct zp_cuda_gpt zp_cuda_gpt;

/* Loads the kernels: 0, or an error of CUDA's. Before anything is launched. spec: STRM-7 */
int zp_cuda_gpt_load(void);

/* Memory for a stage, on the current device; and each of its products once, where that loads a
 * kernel. NULL when there is no memory, or a product fails. spec: STRM-7 */
zp_cuda_gpt *zp_cuda_gpt_open(const zp_cuda_gpt_options *options);
void zp_cuda_gpt_close(zp_cuda_gpt *gpt);

/* Enqueue on call->stream what the engine's callbacks of the same names are to (engine.h). grad:
 * [entries] where backward leaves the gradients of the stage's entries, device memory; NULL: not
 * wanted. 0, or non-zero: a launch failed, or a message has another shape than this model's. */
int zp_cuda_gpt_forward(zp_cuda_gpt *gpt, const zp_cuda_call *call);
int zp_cuda_gpt_backward(zp_cuda_gpt *gpt, const zp_cuda_call *call, void *const *grad);

#endif
