/* The simulator's reports of mismatches and deadlocks: which rank waits for which, in which op of
 * which group at which program position, and which ops the others issued instead. spec: LEDG-2,
 * LEDG-7 */
#ifndef ZP_COMM_SIM_REPORT_H
#define ZP_COMM_SIM_REPORT_H

#include "../../engine/rank.h"

typedef enum zp_wait_state { ZP_READY = 0, ZP_WAITING = 1, ZP_ENDED = 2 } zp_wait_state;

/* The state of one rank; send, recv: halves of an exchange that are still incomplete. */
typedef struct zp_wait {
  int32_t state;
  int32_t send, recv;
} zp_wait;

/* Ranks a and b are in one group and issued different ops. */
void zp_report_mismatch(zp_rank *const *rank, const zp_wait *wait, int32_t a, int32_t b,
                        zp_error *err);

/* No rank can continue. */
void zp_report_deadlock(zp_rank *const *rank, const zp_wait *wait, int32_t world, zp_error *err);

/* One rank failed (err->rank): where the others were when they were stopped. */
void zp_report_others(zp_rank *const *rank, const zp_wait *wait, int32_t world, zp_error *err);

#endif
