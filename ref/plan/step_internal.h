/* The STEP program: program_pipeline.c writes the slots, program_step.c the rest. Not installed.
 * spec: STEP-2, LEDG-6, LEDG-8 */
#ifndef ZP_PLAN_STEP_INTERNAL_H
#define ZP_PLAN_STEP_INTERNAL_H

#include "op.h"

/* One entry's gradient of micro-batch mb, arriving in slot t, with all that its ops depend on. */
typedef struct zp_arrival {
  zp_flat flat; /* its flat group, number k */
  int32_t k, param;
  int32_t stage, reduce, precision; /* of the configuration */
  int32_t reduces;                  /* 1: buckets that it completes are reduced */
  int64_t from, to;                 /* its elements of the flat group */
  int64_t mb, t, clock;
} zp_arrival;

#include "../../spec/acsl/step_program.h"

/* Appends the whole pipeline of lay's stage. Returns the number of ops after it. PIPE-1 … PIPE-3 */
int64_t zp_put_pipeline(const zp_config *cfg, const zp_layout *lay, zp_op *ops, int64_t n);

/* The number of ops that zp_put_step writes from ops[0] on, and returns. LEDG-8 */
int64_t zp_need_step(const zp_config *cfg, const zp_layout *lay);
int64_t zp_put_step(const zp_config *cfg, const zp_layout *lay, zp_op *ops);

#endif
