/* spec: LEDG-1, LEDG-2, LEDG-4, LEDG-7 */
#define _GNU_SOURCE
#include "comm_mpi_state.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "../../base/clock.h"
#include "../job/roster.h"
#include "comm_mpi_data.h"
#include "comm_mpi_hosts.h"
#include "comm_mpi_messages.h"
#include "comm_mpi_notice.h"
#include "comm_mpi_wait.h"

#define LINGER_S 0.7 /* longer than comm_mpi_wait.c's GRACE_S, which another rank may still spend */

/* Starting MPI and splitting take as long as MPI needs: a busy machine is not a failed peer. */
static void arm(zp_mpi *m, int armed, const char *what)
{
  const double seconds = m->deadline_s > ZP_MPI_DEADLINE_S ? m->deadline_s : ZP_MPI_DEADLINE_S;
  zp_mpi_watchdog_arm(&m->dog, armed, seconds, m->rank, what, m->world.member == NULL);
}

/* ---- Communicators. LEDG-4 ------------------------------------------------------------------- */

static int32_t slot_of(int32_t group, int32_t key)
{
  if (group == ZP_GROUP_REPLICA) return ZP_GROUP_TIED;
  return group == ZP_GROUP_TIED ? ZP_GROUP_TIED + 1 + key : group;
}

static void free_communicator(communicator *c)
{
  if (c->member && c->comm != MPI_COMM_NULL) MPI_Comm_free(&c->comm);
  free(c->member);
  c->member = NULL;
}

/* The communicator of a kind of group for this rank, or NULL when none was made. */
static const communicator *find(const zp_mpi *m, int32_t group, int32_t key)
{
  const int32_t slot = slot_of(group, key);
  if (group == ZP_GROUP_WORLD) return &m->world;
  return slot > 0 && slot < m->n_made && m->made[slot].member ? &m->made[slot] : NULL;
}

/* Room for the communicators of this configuration. */
static int grow_made(zp_mpi *m, const zp_config *cfg)
{
  const int32_t n = ZP_GROUP_TIED + 1 + cfg->tied_keys;
  if (n <= m->n_made) return 0;
  communicator *p = realloc(m->made, (size_t)n * sizeof *p);
  if (!p) return -1;
  memset(p + m->n_made, 0, (size_t)(n - m->n_made) * sizeof *p);
  m->made = p;
  m->n_made = n;
  return 0;
}

/* Fills in the members from the topology and compares them with what MPI made. LEDG-4 */
static int check_members(zp_mpi *m, const zp_rank *r, const zp_op *op, communicator *c,
                         zp_error *err)
{
  MPI_Group all, some;
  int size = -1, index = -1, bad = 0, there = -1;
  c->size = zp_block_group_size(&r->block, op->root, op->key);
  c->index = zp_block_group_index(&r->block, op->root, op->key);
  c->member = malloc((size_t)c->size * sizeof *c->member);
  if (!c->member) return zp_fail(err, ZP_E_MEMORY, m->rank, "rank %d: no memory", m->rank);
  MPI_Comm_size(c->comm, &size);
  MPI_Comm_rank(c->comm, &index);
  MPI_Comm_group(m->world.comm, &all);
  MPI_Comm_group(c->comm, &some);
  for (int i = 0; i < c->size; i++) {
    c->member[i] = zp_block_group_member(&r->block, op->root, op->key, i);
    if (i < size && MPI_Group_translate_ranks(some, 1, &i, all, &there)) bad = 1;
    bad |= there != c->member[i];
  }
  MPI_Group_free(&all);
  MPI_Group_free(&some);
  if (!bad && size == c->size && index == c->index) return 0;
  return zp_fail(
      err, ZP_E_MISMATCH, m->rank,
      "rank %d: MPI's communicator of group %s does not have the members that the topology "
      "defines "
      "(LEDG-4)",
      m->rank, zp_group_name(op->root));
}

static int create(zp_mpi *m, zp_rank *r, const position *at, zp_error *err)
{
  const zp_op *op = at->q->op;
  const int32_t slot = slot_of(op->root, op->key);
  const int32_t id = zp_block_group_id(&r->block, op->root, op->key);
  char where[POSITION];
  if (slot <= 0 || slot >= m->n_made)
    return zp_fail(err, ZP_E_REFUSED, m->rank, "rank %d: no group of kind %d, key %d", m->rank,
                   op->root, op->key);
  communicator *c = &m->made[slot];
  free_communicator(c);
  zp_mpi_format_position(where, sizeof where, at);
  arm(m, 1, where);
  const int rc = MPI_Comm_split(m->world.comm, id < 0 ? MPI_UNDEFINED : id,
                                zp_block_group_index(&r->block, op->root, op->key), &c->comm);
  arm(m, 0, "");
  if (rc) return zp_mpi_finish(m, at, rc, err);
  return id < 0 ? 0 : check_members(m, r, op, c, err);
}

/* ---- Programs -------------------------------------------------------------------------------- */

static int carry_out(zp_mpi *m, zp_rank *r, const position *at, zp_error *err)
{
  switch (at->q->op->kind) {
  case ZP_OP_META:
  case ZP_OP_P2P: return zp_mpi_exchange(m, at, err);
  case ZP_OP_REDUCE_SCATTER: return zp_mpi_reduce_scatter(m, at, err);
  case ZP_OP_ALL_REDUCE: return zp_mpi_all_reduce(m, at, err);
  case ZP_OP_CREATE: return create(m, r, at, err);
  default: return zp_mpi_move_bytes(m, at, err);
  }
}

/* One request, from the signatures to the last byte. LEDG-2 */
static int serve(zp_mpi *m, zp_rank *r, const zp_request *q, zp_error *err)
{
  const zp_op *op = q->op;
  const position at = {q, find(m, op->group, op->key), NULL};
  const int pair = op->kind == ZP_OP_P2P || op->kind == ZP_OP_META;
  const int rooted = pair || op->kind == ZP_OP_BROADCAST || op->kind == ZP_OP_GATHER;
  const struct timespec at_once = {0, 0};
  zp_mpi_receive_notices(m);
  if (m->n_received > 0) return zp_mpi_fail_wait(m, &at, NOTICED, err);
  if (sigtimedwait(&m->stop, NULL, &at_once) == SIGTERM)
    return zp_mpi_fail_wait(m, &at, STOPPED, err);
  if (!at.c || (rooted && (op->root < 0 || op->root >= at.c->size)) ||
      (pair && op->root == at.c->index)) {
    zp_fail(err, ZP_E_MISMATCH, m->rank,
            "rank %d: no such participants: its group %s has %d, root "
            "is %d (LEDG-2)",
            m->rank, zp_group_name(op->group), at.c ? at.c->size : 0, op->root);
    return zp_mpi_fail_here(m, &at, err);
  }
  if (at.c->size == 1 && op->kind != ZP_OP_CREATE) {
    zp_request_alone(q);
    return 0;
  }
  if (zp_mpi_agree(m, &at, pair ? op->root : -1, err)) return err->status;
  if (carry_out(m, r, &at, err) == 0) {
    zp_mpi_count_between(m, &at);
    return 0;
  }
  return m->notified ? err->status : zp_mpi_fail_here(m, &at, err);
}

/* The rank's own failure, at its op. */
static int fail_rank(zp_mpi *m, zp_rank *r, zp_error *err)
{
  const zp_request q = {.op = &r->current,
                        .phase = r->cursor.phase,
                        .pc = zp_cursor_position(&r->cursor),
                        .step = r->step};
  const position at = {&q, NULL, NULL};
  if (err != r->err) *err = *r->err;
  /* a notice might make another rank abandon the very op that is about to report the reason */
  if (r->agreed) {
    zp_mpi_never_notify(m);
    return err->status;
  }
  if (r->current.kind >= ZP_OP_FIRST_COMM) {
    const position of = {&q, find(m, r->current.group, r->current.key), NULL};
    return zp_mpi_fail_here(m, &of, err);
  }
  return zp_mpi_fail_here(m, &at, err);
}

int zp_mpi_run(zp_mpi *m, zp_rank *r, int32_t phase, zp_error *err)
{
  if (zp_world(r->cfg) != m->size || r->rank != m->rank)
    return zp_fail(err, ZP_E_REFUSED, m->rank,
                   "pp x dp x tp = %d x %d x %d needs %d processes, but mpirun started %d: start "
                   "that many with -n, or change the topology",
                   r->cfg->pp, r->cfg->dp, r->cfg->tp, zp_world(r->cfg), m->size);
  if (grow_made(m, r->cfg))
    return zp_fail(err, ZP_E_MEMORY, m->rank, "rank %d: no memory", m->rank);
  zp_rank_begin(r, phase);
  for (;;) {
    const zp_run run = zp_rank_advance(r);
    if (run == ZP_RUN_DONE || run == ZP_RUN_PAUSED) return ZP_OK;
    if (run == ZP_RUN_ERROR) return fail_rank(m, r, err);
    if (serve(m, r, &r->request, err)) return err->status;
    if (zp_rank_complete(r)) return fail_rank(m, r, err);
  }
}

/* ---- Outside programs ------------------------------------------------------------------------ */

int zp_mpi_gather_bytes(zp_mpi *m, const void *mine, int64_t bytes, void **all, int64_t *sizes,
                        zp_error *err)
{
  const position at = {NULL, &m->outside, "gathering results on rank 0"};
  int64_t total = bytes, offset = bytes;
  int failed = 0;
  *all = NULL;
  if (m->rank != 0) {
    m->length = bytes; /* outlives this call, should it fail while the message is under way */
    failed = zp_mpi_post(m, &m->outside, 1, &m->length, sizeof m->length, 0, TAG_SIZE);
    if (!failed) failed = zp_mpi_post(m, &m->outside, 1, mine, bytes, 0, TAG_DATA);
    return zp_mpi_finish(m, &at, failed, err);
  }
  sizes[0] = bytes;
  for (int32_t i = 1; i < m->size && !failed; i++)
    failed = zp_mpi_post(m, &m->outside, 0, &sizes[i], sizeof *sizes, i, TAG_SIZE);
  if (zp_mpi_finish(m, &at, failed, err)) return err->status;
  for (int32_t i = 1; i < m->size; i++) total += sizes[i];
  char *to = malloc((size_t)total + 1);
  if (!to) {
    zp_fail(err, ZP_E_MEMORY, 0, "rank 0: no memory for %lld bytes of results", (long long)total);
    return zp_mpi_fail_here(m, &at, err);
  }
  if (bytes > 0) memcpy(to, mine, (size_t)bytes);
  for (int32_t i = 1; i < m->size && !failed; i++) {
    failed = zp_mpi_post(m, &m->outside, 0, to + offset, sizes[i], i, TAG_DATA);
    offset += sizes[i];
  }
  if (zp_mpi_finish(m, &at, failed, err)) return err->status; /* `to` stays: MPI may write to it */
  *all = to;
  return 0;
}

int zp_mpi_broadcast_bytes(zp_mpi *m, void *data, int64_t bytes, zp_error *err)
{
  const position at = {NULL, &m->outside, "broadcasting from rank 0, outside the programs"};
  int failed = 0;
  if (m->rank != 0) failed = zp_mpi_post(m, &m->outside, 0, data, bytes, 0, TAG_DATA);
  for (int32_t i = 1; i < m->size && m->rank == 0 && !failed; i++)
    failed = zp_mpi_post(m, &m->outside, 1, data, bytes, i, TAG_DATA);
  return zp_mpi_finish(m, &at, failed, err);
}

/* All ranks exchange a message, so that a deadline can name the ranks that did not come. */
int zp_mpi_barrier(zp_mpi *m, zp_error *err)
{
  const position at = {NULL, &m->outside, "waiting for all ranks outside the programs"};
  int failed = 0;
  for (int sends = 0; sends < 2; sends++)
    for (int32_t i = 0; i < m->size && !failed; i++)
      if (i != m->rank)
        failed = zp_mpi_post(m, &m->outside, sends, sends ? m->mark : (uint8_t *)m->others + i, 1,
                             i, TAG_SIZE);
  return zp_mpi_finish(m, &at, failed, err);
}

/* ---- Joining and leaving --------------------------------------------------------------------- */

int zp_mpi_present(void)
{
  return getenv("OMPI_COMM_WORLD_SIZE") != NULL;
}

int zp_mpi_library(char *text, int32_t cap)
{
  char whole[MPI_MAX_LIBRARY_VERSION_STRING + 1];
  int n = 0;
  if (MPI_Get_library_version(whole, &n) != MPI_SUCCESS) return 0;
  snprintf(text, (size_t)cap, "%s", whole);
  return 1;
}

double zp_mpi_deadline(void)
{
  const char *text = getenv(ZP_MPI_DEADLINE_VARIABLE);
  char *end = NULL;
  const double s = text ? strtod(text, &end) : 0;
  return text && end != text && *end == 0 && s > 0 && s < 1e9 ? s : ZP_MPI_DEADLINE_S;
}

void zp_mpi_set_piece(zp_mpi *m, int64_t bytes)
{
  m->piece = bytes < 8 ? 8 : bytes > 1 << 30 ? 1 << 30 : bytes;
}

static void release(zp_mpi *m)
{
  free(m->host);
  free(m->made);
  free(m->req);
  free(m->peer);
  free(m->finished);
  free(m->index);
  free(m->others);
  free(m->parts);
  free(m->scratch);
  free(m->mark);
  free(m->received);
  free(m->has_received);
  free(m->sending);
  free(m->world.member);
  free(m->outside.member);
  free(m);
}

static int dup_world(zp_mpi *m, communicator *c)
{
  c->size = m->size;
  c->index = m->rank;
  c->member = malloc((size_t)m->size * sizeof *c->member);
  for (int32_t i = 0; c->member && i < m->size; i++) c->member[i] = i;
  return !c->member || MPI_Comm_dup(MPI_COMM_WORLD, &c->comm);
}

static int allocate(zp_mpi *m)
{
  const size_t n = (size_t)m->size;
  m->cap_req = 64;
  m->req = malloc(64 * sizeof *m->req);
  m->peer = malloc(64 * sizeof *m->peer);
  m->finished = malloc(64);
  m->index = malloc(64 * sizeof *m->index);
  m->others = calloc(n, sizeof *m->others);
  m->parts = calloc(n, sizeof *m->parts);
  m->mark = calloc(n, 1);
  m->has_received = calloc(n, 1);
  m->sending = calloc(n, sizeof *m->sending);
  return !m->req || !m->peer || !m->finished || !m->index || !m->others || !m->parts || !m->mark ||
         !m->has_received || !m->sending;
}

/* Has mpirun started processes on several hosts? Known before MPI starts. */
static int several_hosts(void)
{
  const char *here = getenv("OMPI_COMM_WORLD_LOCAL_SIZE"), *all = getenv("OMPI_COMM_WORLD_SIZE");
  return here != NULL && all != NULL && strcmp(here, all) != 0;
}

int zp_mpi_start(zp_mpi **out, double deadline_s, zp_error *err)
{
  int level, bad;
  zp_mpi *m = calloc(1, sizeof *m);
  if (!m) return zp_fail(err, ZP_E_MEMORY, -1, "no memory to start MPI");
  m->deadline_s = deadline_s > 0 ? deadline_s : ZP_MPI_DEADLINE_S;
  m->piece = 1 << 30;
  const char *text = getenv("OMPI_COMM_WORLD_RANK"); /* for the watchdog, until MPI has started */
  m->rank = text ? atoi(text) : -1;
  sigemptyset(&m->stop);
  sigaddset(&m->stop, SIGTERM);
  pthread_sigmask(SIG_BLOCK, &m->stop, &m->old_mask); /* before MPI starts its threads */
  if (zp_mpi_watchdog_start(&m->dog)) {
    pthread_sigmask(SIG_SETMASK, &m->old_mask, NULL);
    free(m);
    return zp_fail(err, ZP_E_MEMORY, -1, "no thread for MPI's watchdog");
  }
  if (several_hosts()) gethostname(m->dog.host, sizeof m->dog.host - 1);
  arm(m, 1, "starting MPI");
  bad = MPI_Init_thread(NULL, NULL, MPI_THREAD_FUNNELED, &level) || level < MPI_THREAD_FUNNELED;
  if (!bad) {
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN); /* duplicates inherit it */
    MPI_Comm_rank(MPI_COMM_WORLD, &m->rank);
    MPI_Comm_size(MPI_COMM_WORLD, &m->size);
    bad = allocate(m) || MPI_Comm_dup(MPI_COMM_WORLD, &m->control) || dup_world(m, &m->world) ||
          dup_world(m, &m->outside) || zp_mpi_learn_hosts(m);
  }
  arm(m, 0, "");
  if (bad) {
    zp_mpi_watchdog_end(&m->dog);
    return zp_fail(err, ZP_E_MEMORY, m->rank, "MPI did not start (no memory, or no such threads)");
  }
  zp_roster_report(ZP_ROSTER_JOINED, NULL, -1);
  *out = m;
  return 0;
}

int32_t zp_mpi_rank(const zp_mpi *m)
{
  return m->rank;
}

int32_t zp_mpi_size(const zp_mpi *m)
{
  return m->size;
}

int zp_mpi_stop(zp_mpi *m, zp_error *err)
{
  if (zp_mpi_barrier(m, err)) return err->status;
  arm(m, 1, "leaving MPI");
  for (int32_t i = 1; i < m->n_made; i++) free_communicator(&m->made[i]);
  MPI_Comm_free(&m->control);
  MPI_Comm_free(&m->world.comm);
  MPI_Comm_free(&m->outside.comm);
  MPI_Finalize();
  arm(m, 0, "");
  zp_mpi_watchdog_end(&m->dog);
  pthread_sigmask(SIG_SETMASK, &m->old_mask, NULL);
  release(m);
  return 0;
}

int32_t zp_mpi_abandon(zp_mpi *m, const zp_error *why)
{
  const double until = zp_clock_s() + LINGER_S;
  int32_t idle = 0;
  zp_roster_report(ZP_ROSTER_LEAVES, why->text, why->rank);
  zp_mpi_notify(m, why->status, 0, "outside the programs", why->text);
  zp_mpi_linger(m, LINGER_S);
  /* A rank that sent its notice may not have printed yet, and mpirun kills it when the next two
   * processes leave: it sleeps between its signals, and SIGCHLD wakes it. */
  while (zp_clock_s() < until) {
    zp_mpi_receive_notices(m);
    zp_mpi_rest(&idle);
  }
  if (why->status != ZP_E_PEER || m->n_received == 0) return why->status;
  return zp_mpi_cause_of(m)->status;
}
