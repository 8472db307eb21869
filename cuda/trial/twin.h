/* The CUDA twin as an engine of the command (ref/cli/engine.h). */
#ifndef ZP_TRIAL_TWIN_H
#define ZP_TRIAL_TWIN_H

#include "../../ref/cli/engine.h"

extern const zp_engine zp_engine_twin;
extern const struct zp_adapter_side zp_adapter_twin; /* given.c */

/* Runs a case in c->schedules orders (at least one) from c->schedule on, to the first failure. */
void zp_twin_run(const zp_case *c, const struct zp_fault *fault, zp_verdict *v);

/* Trains on ref, then on the twin. 0, or a negative status in *err. */
int zp_twin_train(const zp_engine_training *job, zp_error *err);

#endif
