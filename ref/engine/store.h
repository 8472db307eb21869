/* Where checkpoints go and come from: what the executors of the SAVE and LOAD programs call.
 * ref/engine/checkpoint.h implements it on files. */
#ifndef ZP_ENGINE_STORE_H
#define ZP_ENGINE_STORE_H

#include <stdint.h>

#include "../base/error.h"
#include "../num/optim.h"
#include "../num/scaler.h"

/* What a checkpoint says besides the arrays. spec: CKPT-1 */
typedef struct zp_train_state {
  int64_t step;
  zp_scaler scaler;
  int32_t groups; /* states used */
  zp_optim_state *optim;
} zp_train_state;

/* All functions return 0, or a negative zp_status after filling *err. what: ZP_WHAT_PARAMETER
 * (frozen entries), ZP_WHAT_MASTER, ZP_WHAT_MOMENT1, ZP_WHAT_MOMENT2; tp, ep: which copy of the
 * entry (0 when it has only one); offset, count in elements of the entry. Entries of one tied key
 * go by the name of its first entry in the list. spec: CKPT-1 … CKPT-5 */
typedef struct zp_store {
  void *ctx;
  int (*put)(void *ctx, int32_t param, int32_t tp, int32_t ep, int32_t what, int64_t offset,
             int64_t count, const float *value, zp_error *err);
  int (*finish)(void *ctx, const zp_train_state *state, zp_error *err); /* this rank: durable */
  int (*commit)(void *ctx, zp_error *err);                              /* rank 0: published */
  int (*get)(void *ctx, int32_t param, int32_t tp, int32_t ep, int32_t what, int64_t offset,
             int64_t count, float *value, zp_error *err);
  int (*state)(void *ctx, zp_train_state *state, zp_error *err);
} zp_store;

/* Elements of the precision `dtype` <-> fp32, in which checkpoints have them: x[0 … n-1] to element
 * at … at+n-1 of out, and back. spec: NUM-1, NUM-2, CKPT-1 */
void zp_round_to(int32_t dtype, const float *x, int64_t n, void *out, int64_t at);
void zp_widen_from(int32_t dtype, const void *x, int64_t at, int64_t n, float *out);

#endif
