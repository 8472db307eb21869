/* Random cases through the public functions of the engine, as backends of `fuzz`: ranks are threads
 * over a transport of their own (--engine api), or the processes of an MPI job (--comm mpi). */
#ifndef ZP_ENGINE_CASES_BACKEND_H
#define ZP_ENGINE_CASES_BACKEND_H

#include "../verify/backend.h"

/* Its member `processes` is the backend of --comm mpi. */
extern const zp_backend zp_backend_api;

/* All ranks as threads of this process. At most 4, in one data-parallel group. */
void zp_api_threads_run(const zp_case *c, const char *folder, const zp_fault *fault, zp_verdict *v);

/* All ranks as processes under mpirun. */
void zp_api_mpi_run(const zp_case *c, const char *folder, const zp_fault *fault, zp_verdict *v);

/* What each of these processes does; fault: a number (rank_run.h). An exit code. */
int zp_api_mpi_rank(const char *folder, const char *text, const char *fault);

enum { ZP_API_PROCESSES = 6 }; /* ranks, at most */

#endif
