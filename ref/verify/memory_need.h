/* How much memory a simulation takes, before it starts. */
#ifndef ZP_VERIFY_MEMORY_NEED_H
#define ZP_VERIFY_MEMORY_NEED_H

#include "../base/error.h"
#include "../engine/hyper.h"
#include "../plan/config.h"

/* Adds to *bytes an upper bound of what all ranks of a simulation take (hyper: replicas, gradients,
 * slots), and per_element bytes for each element of the model. 0, or a negative status. */
int zp_simulation_need(const zp_config *cfg, const zp_hyper *hyper, double per_element,
                       double *bytes, zp_error *err);

#endif
