/* Participants of an op compare what each of them issues. Not installed. spec: LEDG-2 */
#ifndef ZP_COMM_MPI_SIGNATURE_H
#define ZP_COMM_MPI_SIGNATURE_H

#include "comm_mpi_state.h"

/* Does one of the signatures that have arrived name another communication of the group? */
int zp_mpi_mismatch_seen(const zp_mpi *m, const communicator *c, int32_t only);

/* Fails with what each participant issues. */
int zp_mpi_fail_mismatch(zp_mpi *m, const position *at, int32_t only, zp_error *err);

/* This rank's own signature, for the request. */
void zp_mpi_sign(zp_mpi *m, const zp_request *q);

#endif
