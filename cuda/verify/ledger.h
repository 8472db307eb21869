/* Logs of a rank's engine: the communications and the sync points that it issued. */
#ifndef ZP_CUDA_VERIFY_LEDGER_H
#define ZP_CUDA_VERIFY_LEDGER_H

#include <cuda_runtime_api.h>

#include "../../ref/plan/program.h"

/* The communications of one or more steps that issue the same ones. */
typedef struct zp_diff_ledger_steps {
  int32_t first, last; /* steps, from 0; below 0: another phase */
  int64_t begin, n;    /* their communications, in the ledger's op */
} zp_diff_ledger_steps;

/* Communications in the order of issue. A list that several steps issue is stored once: the ledger
 * of a long training takes no more memory than that of its different steps. */
typedef struct zp_diff_ledger {
  zp_op *op;
  int64_t n, cap;
  zp_diff_ledger_steps *steps; /* the last one is still being written */
  int64_t n_steps, cap_steps;
  int32_t no_memory;
} zp_diff_ledger;

/* Notes a communication; the comparison detects one that is missing for lack of memory. Steps are
 * added one after the other. */
void zp_diff_ledger_add(zp_diff_ledger *l, const zp_op *op, int32_t step);
void zp_diff_ledger_free(zp_diff_ledger *l);
/* 1: the two communications are the same, in all fields. */
int zp_diff_same_op(const zp_op *a, const zp_op *b);

/* Reading: a cursor begins as {0}. NULL: the end; otherwise *step is the communication's. */
typedef struct zp_diff_ledger_cursor {
  int64_t at, op; /* steps[at], its next communication … */
  int32_t after;  /* … in step first + after */
} zp_diff_ledger_cursor;
const zp_op *zp_diff_ledger_next(const zp_diff_ledger *l, zp_diff_ledger_cursor *c, int32_t *step);

/* Waits and records in the order of issue. */
typedef struct zp_diff_sync {
  int32_t site, waited; /* waited: the host did */
  cudaEvent_t event;
} zp_diff_sync;
typedef struct zp_diff_syncs {
  zp_diff_sync *sync;
  int64_t n, cap;
} zp_diff_syncs;

#endif
