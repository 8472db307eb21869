/* The faults of ref. */
#ifndef ZP_VERIFY_REF_FAULT_H
#define ZP_VERIFY_REF_FAULT_H

#include "fault_inject.h"

/* All of ref's faults, by number and by name. */
int32_t zp_ref_fault_count(void);
const zp_fault *zp_ref_fault_at(int32_t i);
const zp_fault *zp_ref_fault_find(const char *name);

/* Why it fails, and what excludes it here: a few lines for people; NULL when `what` says it all. */
const char *zp_ref_fault_why(const zp_fault *fault);

/* 1: a fault in loading, so that the run continues from its checkpoint with the fault. */
int zp_ref_fault_loads(const zp_fault *fault);

/* The families, each a table in a file of its own. */
typedef struct zp_fault_family {
  const zp_ref_fault *fault;
  int32_t n;
} zp_fault_family;
zp_fault_family zp_faults_ledger(void);
zp_fault_family zp_faults_norm(void);
zp_fault_family zp_faults_window(void);
zp_fault_family zp_faults_state(void);
zp_fault_family zp_faults_partial(void);
zp_fault_family zp_faults_replica(void);
zp_fault_family zp_faults_axes(void);
zp_fault_family zp_faults_checkpoint(void);

#endif
