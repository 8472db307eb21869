/* What the engine trains: a model cut into pipeline stages, or gradients given by formula.
 *
 * The engine owns every parameter (ref/plan's list of entries, in the model's order, whose ids do
 * not depend on pp); a workload reads them and produces activations, losses and gradients. One
 * instance serves the consecutive stages [first, last] of one (dp, tp) coordinate: a rank opens one
 * stage, the serial oracle opens all of them.
 * spec: STEP-1, PIPE-6, RED-1 */
#ifndef ZP_ENGINE_WORKLOAD_H
#define ZP_ENGINE_WORKLOAD_H

#include <stdint.h>

#include "../base/message.h"
#include "../plan/config.h"
#include "../plan/dtype.h"

/* Who an instance works for. */
typedef struct zp_place_of {
  int32_t first_stage, last_stage; /* inclusive */
  int32_t dp_index, tp_index;
} zp_place_of;

/* Receives the gradients of one backward: grad holds the entry's numel elements of the
 * entry's dtype, or of fp32 (zp_hyper.fp32_gradients), and stays readable and unwritten
 * until the instance's next call. */
typedef struct zp_sink {
  void *ctx;
  void (*arrive)(void *ctx, int32_t param, const void *grad);
} zp_sink;

/* Loss scale is 2^log2_scale (STEP-6); step counts from 0; mb is the rank's own micro-batch
 * 0..M-1, so that the global micro-batch is mb·dp + dp_index (STEP-1). */
typedef struct zp_mb {
  int64_t step;
  int64_t mb;
  int32_t log2_scale;
} zp_mb;

typedef struct zp_workload {
  void *ctx; /* shared by all instances, read-only during a step */

  /* A new instance in *inst. params[j] is the storage of entry j (numel elements of the
   * entry's dtype) for the stages opened, NULL for others; the engine rewrites it
   * between steps. Returns 0, or -1 when memory ran out. */
  int (*open)(void *ctx, const zp_config *cfg, zp_place_of where, const void *const *params,
              void **inst);
  void (*close)(void *inst);

  /* Initial values: fills value[numel] (fp32, before rounding to its dtype) of entry j for
   * tensor-parallel index tp and expert index ep (0 when the entry has no such copy). Entries of
   * one tied key get the same values. */
  void (*init)(void *ctx, const zp_config *cfg, int32_t param, int32_t tp, int32_t ep,
               float *value);

  /* 1 when entry j takes part in micro-batch `at` on this coordinate, 0 when it is declared
   * unused (it contributes zeros and no gradient arrives). */
  int (*used)(void *ctx, const zp_config *cfg, int32_t param, int32_t dp, int32_t tp, zp_mb at);

  /* Describes (data NULL) the activation that stage s sends to s+1 for this micro-batch. */
  void (*shape)(void *ctx, const zp_config *cfg, int32_t s, int32_t dp, zp_mb at, zp_message *out);

  /* Forward of the stages [first, last]. in: the received activation (n = 0 on stage 0), whose
   * buffers the engine keeps unchanged until this micro-batch's backward; out: described and
   * allocated by the engine, filled here (n = 0 on the last stage); slot names the place
   * where the instance keeps what backward needs: 0 <= slot < min(S - first, M) (PIPE-4). On the
   * last stage *loss is the micro-batch's own mean loss in fp32, without the loss scale. Returns 0,
   * or -1 for an activation it cannot take (wrong dtype or shape). */
  int (*forward)(void *inst, zp_mb at, int32_t slot, const zp_message *in, const zp_message *out,
                 float *loss);

  /* Backward of the same micro-batch. dout: gradient of out (same shapes; integer tensors carry
   * none and are absent, n counts only float tensors); din: gradient of in, to be filled. Gradients
   * are those of the mean loss times 2^log2_scale, rounded to their dtype. */
  int (*backward)(void *inst, zp_mb at, int32_t slot, const zp_message *dout, const zp_message *din,
                  zp_sink sink);

  /* The name of entry j, for people; NULL: entries are numbered. */
  void (*name)(void *ctx, const zp_config *cfg, int32_t param, char *text, int64_t cap);
} zp_workload;

#endif
