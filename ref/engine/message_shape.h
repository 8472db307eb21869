/* What two neighbouring stages exchange for a micro-batch, as the workload describes it. */
#ifndef ZP_ENGINE_MESSAGE_SHAPE_H
#define ZP_ENGINE_MESSAGE_SHAPE_H

#include "workload.h"

/* The activation that stage `boundary` sends to the next one; n = 0 where there is no next one.
 * dp: the coordinate of both ranks. spec: PIPE-6 */
void zp_activation_shape(const zp_workload *work, const zp_config *cfg, int32_t boundary,
                         int32_t dp, zp_mb at, zp_message *out);

/* Its gradient: the float tensors only. spec: PIPE-6 */
void zp_activation_gradient_shape(const zp_workload *work, const zp_config *cfg, int32_t boundary,
                                  int32_t dp, zp_mb at, zp_message *out);

#endif
