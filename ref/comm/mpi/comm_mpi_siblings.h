/* The processes that mpirun started on this host beside this one. Not installed. spec: LEDG-7 */
#ifndef ZP_COMM_MPI_SIBLINGS_H
#define ZP_COMM_MPI_SIBLINGS_H

#include <stddef.h>

/* While MPI starts, a rank that runs another program, or has ended, is not reported by MPI: all
 * others wait for it. Puts into text[cap] which ranks of this host do not run this program, as a
 * sentence, and returns how many; 0 with "" if none is known. Linux; reads /proc. */
int zp_mpi_find_strangers(char *text, size_t cap);

#endif
