/* Which host each rank runs on, for errors and for the bytes between hosts. Not installed. */
#ifndef ZP_COMM_MPI_HOSTS_H
#define ZP_COMM_MPI_HOSTS_H

#include "comm_mpi_state.h"

/* All ranks call it once MPI has started: they exchange the names of their hosts. 0, or -1. */
int zp_mpi_learn_hosts(zp_mpi *m);

/* " on HOST" for a rank if the job runs on several hosts, else "". */
typedef struct zp_mpi_on {
  char text[40];
} zp_mpi_on;
zp_mpi_on zp_mpi_on_host(const zp_mpi *m, int32_t rank);

/* Counts the ledger's bytes of the request that must leave this host: under direct exchange each
 * member receives as much. Integer sums, which MPI may add up on a host before it sends them, count
 * once for all members on this host, and a broadcast once for all that receive it. */
void zp_mpi_count_between(zp_mpi *m, const position *at);

#endif
