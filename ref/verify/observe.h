/* What backends share to report what a rank issues. */
#ifndef ZP_VERIFY_OBSERVE_H
#define ZP_VERIFY_OBSERVE_H

#include "backend.h"

/* Points the halves of issued->op, where that is an exchange, at *send and *recv, which become what
 * the workload describes for the step `at.step`. at.mb is not used. */
void zp_issued_messages(const zp_workload *work, const zp_config *cfg, zp_mb at, zp_issued *issued,
                        zp_message *send, zp_message *recv);

/* The word of the backend's option `name` that the run has. */
const char *zp_observed_option(const zp_backend *backend, const zp_observed_run *run,
                               const char *name);

#endif
