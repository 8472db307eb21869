#define _GNU_SOURCE
#include "job.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Names of one launcher's variables. */
typedef struct variables {
  const char *launcher, *rank, *world, *local_rank, *local_world;
} variables;

static const variables of[3] = {
    [ZP_TORCHRUN] = {"torchrun", "RANK", "WORLD_SIZE", "LOCAL_RANK", "LOCAL_WORLD_SIZE"},
    [ZP_OPEN_MPI] = {"Open MPI", "OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE",
                     "OMPI_COMM_WORLD_LOCAL_RANK", "OMPI_COMM_WORLD_LOCAL_SIZE"},
};

enum { WORLD_MAX = 1 << 20, PORT_MAX = 65535 };

/* A whole number from lo to hi; 0, or -1 after an error that names the variable. */
static int number(const char *name, int32_t lo, int32_t hi, int32_t *value, zp_error *err)
{
  const char *text = getenv(name);
  char *end = NULL;
  long v;
  if (!text || *text < '0' || *text > '9' || strlen(text) > 9) goto bad;
  v = strtol(text, &end, 10);
  if (*end != 0 || v < lo || v > hi) goto bad;
  *value = (int32_t)v;
  return 0;
bad:
  zp_fail(
      err, ZP_E_REFUSED, -1,
      "the environment's %s is %s%.60s%s; it should be a whole number from %d to %d. It is set by "
      "torchrun or mpirun: start the processes with one of them, or unset it",
      name, text ? "'" : "", text ? text : "not set", text ? "'" : "", (int)lo, (int)hi);
  return -1;
}

/* What one launcher says; 0, -1 after an error, 1 when it has not started this process. */
static int read_launcher(int32_t launcher, zp_job *job, zp_error *err)
{
  const variables *v = &of[launcher];
  if (!getenv(v->rank) && !getenv(v->world)) return 1;
  memset(job, 0, sizeof *job);
  job->launcher = launcher;
  if (number(v->world, 1, WORLD_MAX, &job->world, err)) return -1;
  if (number(v->rank, 0, job->world - 1, &job->rank, err)) return -1;
  job->local_world = job->world;
  job->local_rank = job->rank;
  if (job->world == 1 && !getenv(v->local_world)) return 0;
  if (number(v->local_world, 1, job->world, &job->local_world, err)) return -1;
  return number(v->local_rank, 0, job->local_world - 1, &job->local_rank, err);
}

static const char *or_empty(const char *name)
{
  const char *text = getenv(name);
  return text ? text : "";
}

/* One name for all processes of the job: what the launcher calls it. */
static void take_name(zp_job *job)
{
  if (job->launcher == ZP_OPEN_MPI)
    snprintf(job->name, sizeof job->name, "%.60s-%.60s", or_empty("PMIX_NAMESPACE"),
             or_empty("OMPI_MCA_ess_base_jobid"));
  else
    snprintf(job->name, sizeof job->name, "%.60s-%.60s-%.8s-%.8s", or_empty("TORCHELASTIC_RUN_ID"),
             or_empty("MASTER_ADDR"), or_empty("MASTER_PORT"),
             or_empty("TORCHELASTIC_RESTART_COUNT"));
}

/* Several hosts: where rank 0 is, if that is said; who needs it asks (job_exchange.c). */
static int take_address(zp_job *job, zp_error *err)
{
  const char *address = or_empty("MASTER_ADDR");
  const int own = getenv(ZP_JOB_PORT_VARIABLE) != NULL;
  if (job->local_world == job->world || *address == 0) return 0;
  if (strlen(address) >= sizeof job->address)
    return zp_fail(
        err, ZP_E_REFUSED, -1, "the environment's MASTER_ADDR has %llu bytes, at most %llu",
        (unsigned long long)strlen(address), (unsigned long long)sizeof job->address - 1);
  memcpy(job->address, address, strlen(address) + 1);
  if (number(own ? ZP_JOB_PORT_VARIABLE : "MASTER_PORT", 1, own ? PORT_MAX : PORT_MAX - 1,
             &job->port, err))
    return err->status;
  job->port += !own;
  return 0;
}

int zp_job_read(zp_job *job, zp_error *err)
{
  zp_job torch, mpi, found = {.world = 1, .local_world = 1};
  const int no_torch = read_launcher(ZP_TORCHRUN, &torch, err);
  const int no_mpi = no_torch < 0 ? 1 : read_launcher(ZP_OPEN_MPI, &mpi, err);
  if (no_torch < 0 || no_mpi < 0) return err->status;
  if (!no_torch && !no_mpi && (torch.rank != mpi.rank || torch.world != mpi.world))
    return zp_fail(
        err, ZP_E_REFUSED, -1,
        "the environment has variables of torchrun (rank %d of %d) and of Open MPI (rank "
        "%d of %d) that contradict each other: unset RANK and WORLD_SIZE, or "
        "OMPI_COMM_WORLD_RANK and OMPI_COMM_WORLD_SIZE",
        (int)torch.rank, (int)torch.world, (int)mpi.rank, (int)mpi.world);
  if (!no_mpi) found = mpi;
  else if (!no_torch) found = torch;
  take_name(&found);
  if (take_address(&found, err)) return err->status;
  *job = found;
  return ZP_OK;
}
