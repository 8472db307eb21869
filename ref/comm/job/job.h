/* The rank of this process, from the environment that torchrun or Open MPI's mpirun sets, and an
 * exchange of bytes between such processes before any library connects them.
 *
 * torchrun:  RANK, WORLD_SIZE, LOCAL_RANK, LOCAL_WORLD_SIZE, MASTER_ADDR, MASTER_PORT
 * Open MPI:  OMPI_COMM_WORLD_RANK, _SIZE, _LOCAL_RANK, _LOCAL_SIZE
 * neither:   one process, rank 0 of 1 */
#ifndef ZP_COMM_JOB_H
#define ZP_COMM_JOB_H

#include <stddef.h>
#include <stdint.h>

#include "../../base/error.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Where rank 0 listens when processes are on several hosts: MASTER_ADDR and this variable, else
 * MASTER_PORT + 1, since torchrun itself listens on MASTER_PORT. */
#define ZP_JOB_PORT_VARIABLE "ZEROPROOF_PORT"

/* The job's secret between several hosts: 32 to 128 characters, the same for all processes, or a
 * file of this user with mode 600 that begins with them. */
#define ZP_JOB_TOKEN_VARIABLE "ZEROPROOF_TOKEN"
#define ZP_JOB_TOKEN_FILE_VARIABLE "ZEROPROOF_TOKEN_FILE"

typedef enum zp_launcher { ZP_ALONE = 0, ZP_TORCHRUN = 1, ZP_OPEN_MPI = 2 } zp_launcher;

typedef struct zp_job {
  int32_t launcher; /* zp_launcher */
  int32_t rank, world;
  int32_t local_rank, local_world; /* on this host; local_rank is the usual choice of a device */
  char name[160];                  /* the same in all processes of the job, on a host in no other */
  char address[256];               /* of rank 0, if there are several hosts; empty: unknown */
  int32_t port;
  int32_t exchanges; /* so far */
  double patience_s; /* of an exchange; 0: 60 */
  char why[512];     /* why the last exchange failed */
} zp_job;

/* Reads the environment. Errors: ZP_E_REFUSED with the variable, its value and the expected value:
 * not a number, a number out of range, a variable without the one that it requires, or two
 * launchers that contradict each other. *job is then unchanged. */
int zp_job_read(zp_job *job, zp_error *err);

/* An exchange for zp_engine_options: sends the bytes of rank 0 to all processes of the job (ctx:
 * its zp_job). On one host it uses a socket that only processes of this user can open. Between
 * several hosts it uses TCP at MASTER_ADDR, and requires the job's token: each side shows the other
 * one half of it. The token and the bytes are not encrypted, so any program that can read the
 * network's packets can join. A connection that is idle, slow, or without the token delays nothing.
 * Returns 0, or -1 with the reason in job->why: a timeout with the ranks that did not come and what
 * was refused, an unknown or unusable address, no token or another one, a rank that two processes
 * have, or a job of another size. */
int zp_job_exchange(void *ctx, int32_t rank, void *bytes, size_t n);

#ifdef __cplusplus
}
#endif

#endif
