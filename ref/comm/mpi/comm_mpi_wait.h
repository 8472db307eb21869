/* Every wait has a deadline. Not installed. spec: LEDG-7 */
#ifndef ZP_COMM_MPI_WAIT_H
#define ZP_COMM_MPI_WAIT_H

#include "comm_mpi_state.h"

/* Waits for all messages under way, with the error. failed: a message could not even be posted. */
int zp_mpi_finish(zp_mpi *m, const position *at, int failed, zp_error *err);

/* Exchanges signatures with all members (only = -1) or one of them and compares. LEDG-2 */
int zp_mpi_agree(zp_mpi *m, const position *at, int32_t only, zp_error *err);

#endif
