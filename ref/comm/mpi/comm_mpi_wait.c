/* spec: LEDG-2, LEDG-7 */
#define _GNU_SOURCE
#include "comm_mpi_wait.h"

#include <time.h>

#include "../../base/clock.h"
#include "comm_mpi_messages.h"
#include "comm_mpi_notice.h"
#include "comm_mpi_signature.h"

#define GRACE_S 0.5 /* for signatures that may still arrive after a mismatch was seen */

/* Polls once: how many requests completed, or -1. */
static int32_t poll_once(zp_mpi *m)
{
  int n = 0;
  const int rc = MPI_Testsome(m->n_req, m->req, &n, m->index, MPI_STATUSES_IGNORE);
  if (rc != MPI_SUCCESS) return -1;
  if (n == MPI_UNDEFINED) n = 0;
  for (int i = 0; i < n; i++) m->finished[m->index[i]] = 1;
  m->pending -= n;
  zp_mpi_receive_notices(m);
  return n;
}

/* Was a mismatch of a member of c reported? Then its signature is on its way here, too. */
static int was_mismatch(const zp_mpi *m, const communicator *c)
{
  const cause *why = zp_mpi_cause_of(m);
  for (int32_t i = 0; i < c->size; i++)
    if (c->member[i] == why->rank) return why->status == ZP_E_MISMATCH;
  return 0;
}

/* Waits for all messages under way. c: not NULL when they begin with the signatures of c's members
 * (or only one of them): a mismatch ends the wait soon, but not before the other signatures had a
 * chance to arrive, so that every participant can name them all. LEDG-2, LEDG-7 */
static ending wait_all(zp_mpi *m, const communicator *c, int32_t only)
{
  const struct timespec at_once = {0, 0};
  double limit = zp_clock_s() + m->deadline_s;
  int32_t idle = 0, hurry = 0;
  while (m->pending > 0) {
    const int32_t n = poll_once(m);
    if (n < 0) return BROKEN;
    if (m->pending == 0) return ENDED;
    if (n > 0 && !hurry) limit = zp_clock_s() + m->deadline_s;
    if (m->n_received > 0 && !hurry && !(c && was_mismatch(m, c))) return NOTICED;
    if (!hurry && c && (m->n_received > 0 || (n > 0 && zp_mpi_mismatch_seen(m, c, only)))) {
      hurry = 1;
      limit = zp_clock_s() + GRACE_S;
    }
    if (zp_clock_s() > limit) return m->n_received > 0 ? NOTICED : LATE;
    if (n == 0) zp_mpi_rest(&idle);
    else idle = 0;
    if (idle > ZP_MPI_SPINS && sigtimedwait(&m->stop, NULL, &at_once) == SIGTERM)
      return m->n_received > 0 ? NOTICED : STOPPED;
  }
  return ENDED;
}

int zp_mpi_finish(zp_mpi *m, const position *at, int failed, zp_error *err)
{
  const ending end = failed ? BROKEN : wait_all(m, NULL, -1);
  if (end != ENDED) return zp_mpi_fail_wait(m, at, end, err);
  zp_mpi_clear(m);
  return 0;
}

int zp_mpi_agree(zp_mpi *m, const position *at, int32_t only, zp_error *err)
{
  const communicator *c = at->c;
  int failed = 0;
  ending end;
  zp_mpi_sign(m, at->q);
  for (int sends = 0; sends < 2; sends++)
    for (int32_t i = 0; i < c->size && !failed; i++)
      if (i != c->index && (only < 0 || i == only))
        failed = zp_mpi_post(m, c, sends, sends ? &m->own : &m->others[i], sizeof m->own, i,
                             TAG_SIGNATURE);
  end = failed ? BROKEN : wait_all(m, c, only);
  if (!failed && zp_mpi_mismatch_seen(m, c, only)) return zp_mpi_fail_mismatch(m, at, only, err);
  if (end != ENDED) return zp_mpi_fail_wait(m, at, end, err);
  zp_mpi_clear(m);
  return 0;
}
