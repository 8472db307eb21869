/* What a rank sends to the others when it has failed. Not installed. spec: LEDG-7 */
#ifndef ZP_COMM_MPI_NOTICE_H
#define ZP_COMM_MPI_NOTICE_H

#include "comm_mpi_state.h"

/* "step 3, program position 17: all_reduce(…)". */
void zp_mpi_format_op(char *text, int cap, const zp_op *op, int32_t phase, int64_t step,
                      int64_t pc);
void zp_mpi_format_position(char *text, int cap, const position *at);

/* Receives the notices of other ranks. Errors are left to the deadline. */
void zp_mpi_receive_notices(zp_mpi *m);

/* Sends a notice to all other ranks, once. */
void zp_mpi_notify(zp_mpi *m, int32_t status, int32_t roll, const char *where, const char *reason);

/* The others know of this rank's failure, or are not affected: no notice, now or later. */
void zp_mpi_never_notify(zp_mpi *m);

/* Receives until all others have sent a notice, or for so long. */
void zp_mpi_linger(zp_mpi *m, double seconds);

/* The failure that the notices report: one that is no wait for another rank comes first. At least
 * one was received. */
const cause *zp_mpi_cause_of(const zp_mpi *m);

/* A wait failed: reports why, where this rank was and which ranks it waited for. LEDG-7 */
int zp_mpi_fail_wait(zp_mpi *m, const position *at, ending why, zp_error *err);

/* This rank itself has failed: *err says why. */
int zp_mpi_fail_here(zp_mpi *m, const position *at, const zp_error *err);

#endif
