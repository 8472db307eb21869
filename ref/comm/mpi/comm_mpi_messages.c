#define _GNU_SOURCE
#include "comm_mpi_messages.h"

#include <sched.h>
#include <stdlib.h>
#include <time.h>

/* A rank that has waited for some half a second leaves the cores to others. */
enum { NAP_NS = 50000, LONG_NAP_NS = 1000000, LONG_POLLS = 5000 };

void zp_mpi_rest(int32_t *idle)
{
  const struct timespec nap = {0, *idle < LONG_POLLS ? NAP_NS : LONG_NAP_NS};
  if ((*idle)++ < ZP_MPI_SPINS) sched_yield();
  else nanosleep(&nap, NULL);
}

int zp_mpi_reserve(zp_mpi *m)
{
  if (m->n_req < m->cap_req) return 0;
  const size_t cap = (size_t)m->cap_req * 2;
  void *a = realloc(m->req, cap * sizeof *m->req);
  if (a) m->req = a;
  void *b = realloc(m->peer, cap * sizeof *m->peer);
  if (b) m->peer = b;
  void *c = realloc(m->finished, cap);
  if (c) m->finished = c;
  void *d = realloc(m->index, cap * sizeof *m->index);
  if (d) m->index = d;
  if (!a || !b || !c || !d) return -1;
  m->cap_req = (int32_t)cap;
  return 0;
}

void zp_mpi_clear(zp_mpi *m)
{
  m->n_req = m->pending = 0;
}

void zp_mpi_started(zp_mpi *m, int32_t peer)
{
  m->peer[m->n_req] = peer;
  m->finished[m->n_req] = 0;
  m->n_req++;
  m->pending++;
}

int zp_mpi_post(zp_mpi *m, const communicator *c, int sends, const void *data, int64_t bytes,
                int32_t who, int tag)
{
  char *at = (char *)(uintptr_t)data; /* MPI_Irecv writes, MPI_Isend does not */
  const int64_t most = tag == TAG_SIGNATURE ? bytes : m->piece;
  while (bytes > 0) {
    const int n = (int)(bytes < most ? bytes : most);
    if (zp_mpi_reserve(m)) return -1;
    MPI_Request *req = &m->req[m->n_req];
    if (sends ? MPI_Isend(at, n, MPI_BYTE, who, tag, c->comm, req)
              : MPI_Irecv(at, n, MPI_BYTE, who, tag, c->comm, req))
      return -1;
    zp_mpi_started(m, c->member[who]);
    at += n;
    bytes -= n;
  }
  return 0;
}
