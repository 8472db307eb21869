/* spec: LEDG-7 */
#define _GNU_SOURCE
#include "comm_mpi_notice.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../base/clock.h"
#include "../job/roster.h"
#include "comm_mpi_hosts.h"
#include "comm_mpi_messages.h"

enum { LIST = 32 + SHOWN * 48 }; /* bytes of a list of ranks with their hosts */
#define ROLL_S 2.0               /* for other ranks to report their positions */

/* Seconds for the same after SIGTERM: half of those after which mpirun kills (1 unless it is set),
 * so that the other half is left for this rank's report. */
static double roll_stopped_s(void)
{
  const char *text = getenv("OMPI_MCA_odls_base_sigkill_timeout"); /* mpirun passes it on */
  const long grace = text ? strtol(text, NULL, 10) : 1;
  return 0.5 * (double)(grace < 1 ? 1 : grace > 3600 ? 3600 : grace);
}

/* ---- Words ----------------------------------------------------------------------------------- */

/* "{0, 2, 4}", at most SHOWN of them. */
static void put_ranks(char *text, int cap, const int32_t *rank, int32_t n)
{
  int used = snprintf(text, (size_t)cap, "{");
  for (int32_t i = 0; i < n && i < SHOWN; i++)
    used += snprintf(text + used, (size_t)(cap - used), "%s%d", i ? ", " : "", rank[i]);
  snprintf(text + used, (size_t)(cap - used), n > SHOWN ? ", ... %d ranks}" : "}", n);
}

void zp_mpi_format_op(char *text, int cap, const zp_op *op, int32_t phase, int64_t step, int64_t pc)
{
  char words[256];
  zp_op_describe(op, words, sizeof words);
  snprintf(text, (size_t)cap, "%s %lld, program position %lld: %s", zp_phase_name(phase),
           (long long)step, (long long)pc, words);
}

void zp_mpi_format_position(char *text, int cap, const position *at)
{
  char position[320], members[160], key[24] = "";
  if (!at->q) {
    snprintf(text, (size_t)cap, "%s", at->outside);
    return;
  }
  const zp_op *op = at->q->op;
  zp_mpi_format_op(position, sizeof position, op, at->q->phase, at->q->step, at->q->pc);
  if (!at->c) {
    snprintf(text, (size_t)cap, "%s", position);
    return;
  }
  put_ranks(members, sizeof members, at->c->member, at->c->size);
  if (op->group == ZP_GROUP_TIED) snprintf(key, sizeof key, " key %d", op->key);
  snprintf(text, (size_t)cap, "%s of group %s%s %s", position, zp_group_name(op->group), key,
           members);
}

/* The ranks that messages under way still wait for, in mark; how many. */
static int32_t mark_missing(zp_mpi *m)
{
  int32_t n = 0;
  memset(m->mark, 0, (size_t)m->size);
  for (int32_t i = 0; i < m->n_req; i++) {
    if (m->finished[i] || m->peer[i] < 0 || m->mark[m->peer[i]]) continue;
    m->mark[m->peer[i]] = 1;
    n++;
  }
  return n;
}

static void put_marked(const zp_mpi *m, char *text, int cap)
{
  int used = 0;
  int32_t n = 0;
  for (int32_t i = 0; i < m->size; i++) {
    if (!m->mark[i]) continue;
    if (n++ < SHOWN)
      used += snprintf(text + used, (size_t)(cap - used), "%s %d%s", n > 1 ? "," : "", i,
                       zp_mpi_on_host(m, i).text);
  }
  if (n > SHOWN) snprintf(text + used, (size_t)(cap - used), " and %d more", n - SHOWN);
}

/* ---- Notices --------------------------------------------------------------------------------- */

void zp_mpi_receive_notices(zp_mpi *m)
{
  for (;;) {
    MPI_Status s;
    int there = 0;
    notice in;
    if (MPI_Iprobe(MPI_ANY_SOURCE, TAG_NOTICE, m->control, &there, &s) || !there) return;
    if (MPI_Recv(&in, sizeof in, MPI_BYTE, s.MPI_SOURCE, TAG_NOTICE, m->control, MPI_STATUS_IGNORE))
      return;
    if (!m->received) m->received = calloc((size_t)m->size, sizeof *m->received);
    if (!m->received || m->has_received[s.MPI_SOURCE]) return;
    if (m->n_received == 0) m->first_received = s.MPI_SOURCE;
    in.position[POSITION - 1] = in.why.position[POSITION - 1] = in.why.reason[REASON - 1] = 0;
    m->received[s.MPI_SOURCE] = in;
    m->has_received[s.MPI_SOURCE] = 1;
    m->n_received++;
  }
}

/* Sends a notice with the cause that is in m->sent. */
static void send_notice(zp_mpi *m, int32_t roll, const char *where)
{
  m->notified = 1;
  m->sent.roll = roll;
  snprintf(m->sent.position, sizeof m->sent.position, "%.*s", POSITION - 1, where);
  for (int32_t i = 0; i < m->size; i++) {
    m->sending[i] = MPI_REQUEST_NULL;
    if (i == m->rank) continue;
    if (MPI_Isend(&m->sent, sizeof m->sent, MPI_BYTE, i, TAG_NOTICE, m->control, &m->sending[i]))
      m->sending[i] = MPI_REQUEST_NULL; /* that rank has left */
  }
}

void zp_mpi_notify(zp_mpi *m, int32_t status, int32_t roll, const char *where, const char *reason)
{
  cause *own = &m->sent.why;
  if (m->notified) return;
  own->rank = m->rank;
  own->status = status;
  snprintf(own->position, sizeof own->position, "%s", where);
  snprintf(own->reason, sizeof own->reason, "%s", reason);
  send_notice(m, roll, where);
}

void zp_mpi_never_notify(zp_mpi *m)
{
  m->notified = 1;
  for (int32_t i = 0; i < m->size; i++) m->sending[i] = MPI_REQUEST_NULL;
}

void zp_mpi_linger(zp_mpi *m, double seconds)
{
  const struct timespec at_once = {0, 0};
  const double stopped_s = roll_stopped_s();
  double limit = zp_clock_s() + seconds;
  int32_t idle = 0;
  while (m->n_received < m->size - 1 && zp_clock_s() < limit) {
    int sent;
    MPI_Testall(m->size, m->sending, &sent, MPI_STATUSES_IGNORE);
    zp_mpi_receive_notices(m);
    zp_mpi_rest(&idle);
    if (sigtimedwait(&m->stop, NULL, &at_once) == SIGTERM && limit > zp_clock_s() + stopped_s)
      limit = zp_clock_s() + stopped_s;
  }
}

/* The positions of the ranks that sent a notice (but for rank `known`), and which ranks sent none:
 * if it is one, it is at fault. LEDG-7 */
static void put_roll(zp_mpi *m, double seconds, int32_t known, zp_error *err)
{
  char text[POSITION] = "";
  int32_t silent = 0, last = -1, shown = 0;
  zp_mpi_linger(m, seconds);
  for (int32_t i = 0; i < m->size; i++) {
    m->mark[i] = i != m->rank && i != known && !m->has_received[i];
    silent += m->mark[i];
    if (m->mark[i]) last = i;
    if (i == m->rank || i == known || m->mark[i] || shown++ >= SHOWN) continue;
    zp_error_append(err, "\n  rank %d%s: %s", i, zp_mpi_on_host(m, i).text,
                    m->received[i].position);
  }
  if (silent == 0) return;
  put_marked(m, text, sizeof text);
  zp_error_append(err, "\n  no sign of life from rank%s%s: killed, stopped, or still computing",
                  silent > 1 ? "s" : "", text);
  if (silent == 1) err->rank = last;
}

static const notice *best_notice(const zp_mpi *m)
{
  for (int32_t i = 0; i < m->size; i++)
    if (m->has_received[i] && m->received[i].why.status != ZP_E_PEER) return &m->received[i];
  return &m->received[m->first_received];
}

const cause *zp_mpi_cause_of(const zp_mpi *m)
{
  return &best_notice(m)->why;
}

int zp_mpi_fail_wait(zp_mpi *m, const position *at, ending why, zp_error *err)
{
  char where[POSITION], full[POSITION + LIST + 32], missing[LIST] = "", reason[512];
  int32_t roll = 1, culprit = -1;
  const cause *c = why == NOTICED ? zp_mpi_cause_of(m) : NULL;
  const int32_t n = mark_missing(m);
  zp_mpi_format_position(where, sizeof where, at);
  put_marked(m, missing, sizeof missing);
  for (int32_t i = 0; n == 1 && i < m->size; i++)
    if (m->mark[i]) culprit = i;
  if (why == LATE) snprintf(reason, sizeof reason, "no progress for %g s", m->deadline_s);
  else if (why == BROKEN) snprintf(reason, sizeof reason, "MPI could not deliver a message");
  else if (why == STOPPED) snprintf(reason, sizeof reason, "%s", STOPPED_TEXT);
  else {
    culprit = c->rank;
    roll = best_notice(m)->roll;
    snprintf(reason, sizeof reason, "rank %d%s has failed", c->rank,
             zp_mpi_on_host(m, c->rank).text);
  }
  snprintf(full, sizeof full, "%s; %s%s", where,
           n > 1   ? "waits for ranks"
           : n > 0 ? "waits for rank"
                   : "all participants are there",
           missing);
  if (!c) zp_mpi_notify(m, ZP_E_PEER, roll, full, reason);
  else if (!m->notified) {
    m->sent.why = *c;
    send_notice(m, roll, full);
  }
  zp_fail(err, ZP_E_PEER, culprit, "rank %d%s: %s, in %s", m->rank, zp_mpi_on_host(m, m->rank).text,
          reason, full);
  if (c)
    zp_error_append(err, "\n  rank %d%s (%s), in %s\n  its reason: %s", c->rank,
                    zp_mpi_on_host(m, c->rank).text, zp_status_name(c->status), c->position,
                    c->reason);
  zp_roster_log(err->text); /* mpirun may end this process while it waits for the others */
  if (roll)
    put_roll(m, why == STOPPED ? roll_stopped_s() : ROLL_S, why == NOTICED ? culprit : -1, err);
  return ZP_E_PEER;
}

int zp_mpi_fail_here(zp_mpi *m, const position *at, const zp_error *err)
{
  char where[POSITION];
  zp_mpi_format_position(where, sizeof where, at);
  zp_mpi_notify(m, err->status, 0, where, err->text);
  return err->status;
}
