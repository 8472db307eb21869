/* comm_mpi.h for a program without MPI: built with MPI=0, or for a GPU, where a CUDA image has no
 * MPI to link. A program that mpirun has started ends with the error of zp_mpi_start; the functions
 * that need a joined job are never called. */
#include <stdlib.h>

#include "../../base/error.h"
#include "../mpi/comm_mpi.h"

static int refuse(zp_error *err)
{
  return zp_fail(err, ZP_E_REFUSED, -1,
                 "this program was built without MPI, so all ranks run in one process; start it "
                 "without mpirun, or build it with Open MPI");
}

int zp_mpi_present(void)
{
  return getenv("OMPI_COMM_WORLD_SIZE") != NULL;
}

int zp_mpi_library(char *text, int32_t cap)
{
  (void)text, (void)cap;
  return 0;
}

double zp_mpi_deadline(void)
{
  return ZP_MPI_DEADLINE_S;
}

int zp_mpi_start(zp_mpi **out, double deadline_s, zp_error *err)
{
  (void)out, (void)deadline_s;
  return refuse(err);
}

int32_t zp_mpi_rank(const zp_mpi *m)
{
  (void)m;
  return 0;
}

int32_t zp_mpi_size(const zp_mpi *m)
{
  (void)m;
  return 1;
}

int32_t zp_mpi_hosts(const zp_mpi *m)
{
  (void)m;
  return 1;
}

const char *zp_mpi_host(const zp_mpi *m, int32_t rank)
{
  (void)m, (void)rank;
  return "";
}

int64_t zp_mpi_sent_between(const zp_mpi *m)
{
  (void)m;
  return 0;
}

int zp_mpi_run(zp_mpi *m, zp_rank *r, int32_t phase, zp_error *err)
{
  (void)m, (void)r, (void)phase;
  return refuse(err);
}

int zp_mpi_gather_bytes(zp_mpi *m, const void *mine, int64_t bytes, void **all, int64_t *sizes,
                        zp_error *err)
{
  (void)m, (void)mine, (void)bytes, (void)all, (void)sizes;
  return refuse(err);
}

int zp_mpi_broadcast_bytes(zp_mpi *m, void *data, int64_t bytes, zp_error *err)
{
  (void)m, (void)data, (void)bytes;
  return refuse(err);
}

int zp_mpi_barrier(zp_mpi *m, zp_error *err)
{
  (void)m;
  return refuse(err);
}

int zp_mpi_stop(zp_mpi *m, zp_error *err)
{
  (void)m;
  return refuse(err);
}

int32_t zp_mpi_abandon(zp_mpi *m, const zp_error *why)
{
  (void)m;
  return why->status;
}
