/* Logs of a rank's engine: the communications and the sync points that it issued. */
#ifndef ZP_CUDA_VERIFY_LEDGER_H
#define ZP_CUDA_VERIFY_LEDGER_H

#include <cuda_runtime_api.h>

#include "../../ref/plan/program.h"

/* Communications in the order of issue. */
typedef struct zp_diff_ledger {
  zp_op *op;
  int32_t *step; /* from 0; below 0: of another phase */
  int64_t n, cap;
  int32_t no_memory;
} zp_diff_ledger;

/* Notes a communication; the comparison detects one that is missing for lack of memory. */
void zp_diff_ledger_add(zp_diff_ledger *l, const zp_op *op, int32_t step);
void zp_diff_ledger_free(zp_diff_ledger *l);

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
