/* The parts of a stage on the device. */
#ifndef ZP_CUDA_GPT_INTERNAL_H
#define ZP_CUDA_GPT_INTERNAL_H
#include "../../ref/model/gpt_data.h"
#include "../../ref/model/gpt_net.h"
#include "gpt.h"
#include "layers.h"

/* One micro-batch in flight: ref's structures with arrays in device memory. */
typedef struct zp_cuda_gpt_kept {
  int32_t *token, *target; /* (N) */
  zp_gpt_block_kept *block;
  zp_gpt_head_kept head;
} zp_cuda_gpt_kept;

struct zp_cuda_gpt {
  zp_cuda_gpt_options o;
  zp_gpt_options gpt;
  int32_t first_block, n_blocks, is_first, is_last, slots;
  uint8_t *text;                       /* device */
  zp_cuda_gpt_kept *slot;              /* [slots] */
  float *value[ZP_GPT_BLOCK_ENTRIES];  /* decoded entries of the current layer */
  float *dvalue[ZP_GPT_BLOCK_ENTRIES]; /* their gradients in fp32 */
  float *x, *dx, *dy;                  /* (N,C), as in ref */
  float *wide, *narrow, *mid;          /* (N, max(4C,V)), (N,C), (N,C) */
  float *dp;                           /* (B,H,T,T) */
  double *row;                         /* (N) losses */
  void **allocated;                    /* device memory, in the order of allocation */
  int64_t n_allocated, cap_allocated;
  zp_gpt_pool pool; /* the allocator that ref's functions use */
};

/* The work of a micro-batch: its stream and sizes. */
typedef struct zp_cuda_gpt_work {
  zp_cuda_gpt *gpt;
  cudaStream_t stream;
  zp_gpt_dims d;
  int32_t failed;
  int32_t products_only; /* 1: only the products are launched */
} zp_cuda_gpt_work;

/* The layers of ref's gpt_net.c and gpt_layers.c as launches; w->failed keeps the first error. */
void zp_cuda_gpt_launch(zp_cuda_gpt_work *w, const void *kernel, zp_launch l, const void *params);
void zp_cuda_gpt_block(zp_cuda_gpt_work *w, float *y, const zp_gpt_block_kept *kept);
void zp_cuda_gpt_block_backward(zp_cuda_gpt_work *w, float *dx, const float *dy,
                                const zp_gpt_block_kept *kept);
void zp_cuda_gpt_head(zp_cuda_gpt_work *w, const zp_gpt_head_kept *kept);
void zp_cuda_gpt_head_backward(zp_cuda_gpt_work *w, float *dx, const int32_t *target,
                               const zp_step_state *state, const zp_gpt_head_kept *kept);
void zp_cuda_gpt_loss(zp_cuda_gpt_work *w, float *loss, const int32_t *target,
                      const zp_gpt_head_kept *kept);

#endif
