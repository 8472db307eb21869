/* A workload as the engine's model: its functions are kernels of one thread; gpt has kernels of its
 * own (cuda/gpt). */
#ifndef ZP_CUDA_VERIFY_MODEL_H
#define ZP_CUDA_VERIFY_MODEL_H

#include "../engine/engine.h"
#include "../gpt/gpt.h"
#include "../gpt/judge.h"
#include "differential.h"

/* A rank's. */
typedef struct zp_diff_model {
  void *inst;             /* of the workload; or … */
  zp_cuda_gpt *gpt;       /* … of gpt's own kernels */
  zp_products products;   /* gpt's GEMM backend: ref's, or … */
  zp_products library;    /* … the library's, … */
  zp_product_judge judge; /* … whose results are judged */
  zp_judged judged;
  void **param;           /* [n_params of the stage] device: the engine's parameters */
  void **params, **grads; /* [n_params] the same; where a backward writes gradients */
  int32_t *refused;       /* device: kernels that did not receive the expected message */
  uint64_t *seen;     /* device: [steps · M · 2] hashes of the parameters that forward and the end
                             of backward read */
  zp_message in, out; /* dtypes and shapes */
  uint32_t read;      /* what forward has read of an entry, so that it is read */
  int64_t step;       /* which step it was before it waited for an entry */
} zp_diff_model;

/* Loads the model's kernels before they are used. */
int zp_diff_model_load(void);
/* Allocates refused, seen; both are closed with the model. */
int zp_diff_model_open_refused(zp_diff_rank *w);
int zp_diff_model_open_seen(zp_diff_rank *w);
int zp_diff_model_open(zp_diff_rank *w);
void zp_diff_model_close(zp_diff_rank *w);
zp_cuda_model zp_diff_model_callbacks(zp_diff_rank *w);
/* Launches a kernel that reads all parameters, as the end of backward does. */
int zp_diff_model_read(zp_diff_rank *w, const zp_cuda_call *call);

/* messages.c: the shape of the messages at a boundary in one micro-batch; their description for the
 * engine; with dynamic shapes the bytes of the largest message of the rank. */
void zp_diff_shape(const zp_diff_rank *w, int32_t boundary, int64_t step, int64_t mb,
                   zp_message *m);
void zp_diff_describe(const zp_diff_rank *w, int32_t boundary, zp_message *m, zp_message *to);
int64_t zp_diff_message_bytes(const zp_diff_rank *w);

#endif
