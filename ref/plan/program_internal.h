/* The four programs, one file each; program.c dispatches. Not installed.
 * spec: STEP-2, LEDG-4 … LEDG-8, CKPT-1 … CKPT-3 */
#ifndef ZP_PLAN_PROGRAM_INTERNAL_H
#define ZP_PLAN_PROGRAM_INTERNAL_H

#include "op.h"
#include "step_internal.h"

/* Each zp_need_* is the number of ops that the zp_put_* of the same name writes from ops[0] on, and
 * returns. LEDG-8 */
int64_t zp_need_init(const zp_config *cfg, const zp_layout *lay);
int64_t zp_put_init(const zp_config *cfg, const zp_layout *lay, zp_op *ops);

int64_t zp_need_save(const zp_config *cfg, const zp_layout *lay, zp_coord at);
int64_t zp_put_save(const zp_config *cfg, const zp_layout *lay, zp_coord at, zp_op *ops);

int64_t zp_need_load(void);
int64_t zp_put_load(zp_op *ops);

#endif
