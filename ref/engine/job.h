/* Which rank this process is, from what torchrun or Open MPI's mpirun put into its environment, and a
 * way for such processes to agree on some bytes before any library connects them.
 *
 * torchrun:  RANK, WORLD_SIZE, LOCAL_RANK, LOCAL_WORLD_SIZE, MASTER_ADDR, MASTER_PORT
 * Open MPI:  OMPI_COMM_WORLD_RANK, _SIZE, _LOCAL_RANK, _LOCAL_SIZE
 * neither:   one process, rank 0 of 1 */
#ifndef ZP_ENGINE_JOB_H
#define ZP_ENGINE_JOB_H

#include <stddef.h>
#include <stdint.h>

#include "error.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Where rank 0 listens when processes are on several hosts: MASTER_ADDR and this variable, else
 * MASTER_PORT + 1, since torchrun itself listens on MASTER_PORT. */
#define ZP_JOB_PORT_VARIABLE "ZEROPROOF_PORT"

typedef enum zp_launcher { ZP_ALONE = 0, ZP_TORCHRUN = 1, ZP_OPEN_MPI = 2 } zp_launcher;

typedef struct zp_job {
  int32_t launcher; /* zp_launcher */
  int32_t rank, world;
  int32_t local_rank, local_world; /* on this host; local_rank is the usual choice of a device */
  char name[160];                  /* the same in all processes of the job, on a host in no other */
  char address[256];               /* of rank 0, when there are several hosts; empty: not said */
  int32_t port;
  int32_t exchanges; /* so far */
  double patience_s; /* of an exchange; 0: 60 */
  char why[512];     /* why the last exchange failed */
} zp_job;

/* Reads the environment. Errors: ZP_E_REFUSED with the variable, its value and what it should be:
 * a number out of range or none, one variable without the other it goes with, two launchers that
 * contradict each other. *job is then untouched. */
int zp_job_read(zp_job *job, zp_error *err);

/* An exchange for zp_engine_options: gives all processes of the job (ctx: its zp_job) the bytes that
 * rank 0 has. Through a socket of this host that only this user's processes may use, or by TCP when
 * there are several hosts: there anybody who reaches the port may read, so that nothing secret
 * should be sent. Returns 0, or -1 with the reason in job->why: nobody came in time, or the
 * address is not said or cannot be used. */
int zp_job_exchange(void *ctx, int32_t rank, void *bytes, size_t n);

#ifdef __cplusplus
}
#endif

#endif
