/* Messages under way. Not installed. */
#ifndef ZP_COMM_MPI_MESSAGES_H
#define ZP_COMM_MPI_MESSAGES_H

#include "comm_mpi_state.h"

enum { ZP_MPI_SPINS = 200 }; /* polls that only yield; later ones sleep, since ranks share cores */

/* Between two polls: the first ones only yield. */
void zp_mpi_rest(int32_t *idle);

/* Room for one more request in req[n_req]; 0 or -1. */
int zp_mpi_reserve(zp_mpi *m);

/* Counts the request that was just started in req[n_req]; peer: a world rank, -1: all of them. */
void zp_mpi_started(zp_mpi *m, int32_t peer);

/* Forgets the requests, all of which have completed. */
void zp_mpi_clear(zp_mpi *m);

/* Sends to, or receives from, member `who`, in pieces that MPI's int counts hold; a signature is
 * one piece, since zp_mpi_mismatch_seen counts them by requests. 0, or -1. */
int zp_mpi_post(zp_mpi *m, const communicator *c, int sends, const void *data, int64_t bytes,
                int32_t who, int tag);

#endif
