/* Faults that `--engine cuda --fault NAME` plants: into the model that the twin trains. */
#ifndef ZP_TRIAL_FAULTS_H
#define ZP_TRIAL_FAULTS_H

#include "../../ref/cli/sim_fault.h"
#include "trial.h"

int32_t zp_twin_fault_count(void);
const zp_fault *zp_twin_fault_at(int32_t i);
/* NULL: there is none of that name. */
const zp_fault *zp_twin_fault_find(const char *name);

/* The schedule with the fault planted. */
void zp_twin_plant(const zp_fault *fault, zp_trial_schedule *s);

#endif
