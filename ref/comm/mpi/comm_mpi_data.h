/* What the ops do with the data. Not installed. spec: RED-4, RED-5, PIPE-3 */
#ifndef ZP_COMM_MPI_DATA_H
#define ZP_COMM_MPI_DATA_H

#include "comm_mpi_state.h"

/* ALL_GATHER, GATHER, BROADCAST; P2P and META; the reductions. */
int zp_mpi_move_bytes(zp_mpi *m, const position *at, zp_error *err);
int zp_mpi_exchange(zp_mpi *m, const position *at, zp_error *err);
int zp_mpi_reduce_scatter(zp_mpi *m, const position *at, zp_error *err);
int zp_mpi_all_reduce(zp_mpi *m, const position *at, zp_error *err);

#endif
