/* comm_mpi: one process per rank over MPI, the same bits as comm_sim.
 *
 * Before the data of an op move, its participants exchange signatures of the op that each of them
 * issues. If the signatures differ, all participants report a mismatch; if one is missing, the
 * error names its rank. Float reductions are direct exchanges and zp_reduce_members on the owner,
 * so their order is that of the specification; int64 sums, gathers and broadcasts are MPI's
 * non-blocking collectives. Every wait polls, with a deadline that restarts whenever a message
 * completes. A rank that fails notifies all others, which then fail as well. spec: LEDG-1, LEDG-2,
 * LEDG-7, RED-4, RED-5
 *
 * Errors of all functions: a negative zp_status and *err. The job cannot continue then: print the
 * error, call zp_mpi_abandon and leave with _exit. Free nothing before that, since messages in
 * flight may still use their buffers. Only the thread that called zp_mpi_start may call these
 * functions. */
#ifndef ZP_COMM_MPI_H
#define ZP_COMM_MPI_H

#include <stdint.h>

#include "../../engine/rank.h"

#define ZP_MPI_DEADLINE_S 30.0
#define ZP_MPI_DEADLINE_VARIABLE "ZEROPROOF_DEADLINE" /* seconds, for all processes of a job */

typedef struct zp_mpi zp_mpi;

/* Returns 1 if mpirun started this process. */
int zp_mpi_present(void);

/* Writes the version of the MPI library. Returns 0, and writes nothing, if the program was built
 * without one. */
int zp_mpi_library(char *text, int32_t cap);

/* The deadline in seconds that the environment sets, else ZP_MPI_DEADLINE_S. The start of MPI and
 * splits of communicators have at least ZP_MPI_DEADLINE_S, so that a busy machine is not reported
 * as a failed peer. */
double zp_mpi_deadline(void);

/* Joins the job. deadline_s > 0: how long a wait may last without any progress; it must be longer
 * than a rank's longest stretch of computing. Blocks SIGTERM, which is polled instead: mpirun sends
 * it when another process has exited, and this one must still report its position. Start-up, splits
 * and the final MPI_Finalize block inside MPI: a watchdog prints and leaves with exit code 3 when
 * one lasts longer than the deadline. spec: LEDG-7 */
int zp_mpi_start(zp_mpi **out, double deadline_s, zp_error *err);
int32_t zp_mpi_rank(const zp_mpi *m);
int32_t zp_mpi_size(const zp_mpi *m);

/* On how many hosts the job runs, and the name of a rank's host. */
int32_t zp_mpi_hosts(const zp_mpi *m);
const char *zp_mpi_host(const zp_mpi *m, int32_t rank);

/* Bytes of this rank's ledger that had to leave its host, at least: see comm_mpi_hosts.h. 0 on one
 * host. spec: LEDG-1 */
int64_t zp_mpi_sent_between(const zp_mpi *m);

/* Runs one phase of this process's rank, as zp_sim_run does of all ranks. The world must be as
 * large as r->cfg says and r->rank be this process's. spec: LEDG-1, LEDG-2, LEDG-7 */
int zp_mpi_run(zp_mpi *m, zp_rank *r, int32_t phase, zp_error *err);

/* Outside programs, called by all processes in the same order. Gather: bytes may differ; on rank 0
 * *all (malloc'ed, the caller frees it) is the concatenation by rank and sizes[size] says how long
 * each is; elsewhere *all is NULL and sizes is untouched. Broadcast: from rank 0, as many bytes
 * everywhere. */
int zp_mpi_gather_bytes(zp_mpi *m, const void *mine, int64_t bytes, void **all, int64_t *sizes,
                        zp_error *err);
int zp_mpi_broadcast_bytes(zp_mpi *m, void *data, int64_t bytes, zp_error *err);
int zp_mpi_barrier(zp_mpi *m, zp_error *err);

/* Leaves the job after a clean end: waits for all others, finalizes MPI, frees m. 0, or a negative
 * status in *err when others did not come: then as after any error. */
int zp_mpi_stop(zp_mpi *m, zp_error *err);

/* After an error: sends `why` to all others unless they have it, and waits briefly for the
 * delivery. Never hangs, never finalizes MPI. m must not be used any more; leave with _exit.
 * Returns the status that all ranks of the job exit with: why->status or, if that is ZP_E_PEER, the
 * status of a rank that reported a failure of its own. */
int32_t zp_mpi_abandon(zp_mpi *m, const zp_error *why);

/* For tests: the most bytes that travel as one message, default 2^30. MPI counts are ints, so that
 * larger ones are cut; a small piece exercises that. */
void zp_mpi_set_piece(zp_mpi *m, int64_t bytes);

#endif
