/* spec: LEDG-1, LEDG-2, LEDG-7, RED-4, RED-5, PIPE-3, PIPE-6 */
#define _GNU_SOURCE
#include "comm_mpi.h"

#include <fcntl.h>
#include <limits.h>
#include <mpi.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { TAG_CARD = 1, TAG_DATA, TAG_NOTICE, TAG_SIZE };
enum {
  SPINS = 200,          /* polls that only yield; later ones sleep, since ranks share cores */
  NAP_NS = 50000,
  PLACE = 640,
  REASON = 2400,        /* a notice stays below 4 KiB: every transport sends that eagerly */
  SHOWN = 12,           /* ranks listed in one message */
  WATCHDOG_EXIT = 3     /* the environment failed */
};
#define GRACE_S 0.5     /* for cards that may still come after a mismatch was seen */
#define ROLL_S 2.0      /* for other ranks to say where they are */
#define ROLL_STOPPED_S 0.5 /* the same after SIGTERM: plain mpirun kills one second after it */
#define LINGER_S 0.2
#define STOPPED_TEXT                                                                              \
  "stopped by SIGTERM (mpirun sends it when another process has died or the job is cancelled)"

/* One communicator and who is in it. */
typedef struct communicator {
  MPI_Comm comm;
  int32_t size, index;
  int32_t *member; /* [size] world ranks */
} communicator;

/* What a participant issues. out, in: shapes sent and expected (P2P). LEDG-2 */
typedef struct card {
  zp_op op;
  int32_t rank, phase;
  int64_t pc, step;
  int64_t out[ZP_META_LONGS], in[ZP_META_LONGS];
} card;

/* What a failed rank tells all others. roll: they shall say where they are, too. */
typedef struct notice {
  int32_t rank, status, roll;
  char place[PLACE], reason[REASON];
} notice;

typedef struct watchdog {
  pthread_t thread;
  pthread_mutex_t lock;
  pthread_cond_t changed;
  double limit;
  int armed, quit;
  char what[PLACE + 32];
} watchdog;

struct zp_mpi {
  int32_t rank, size;
  double deadline_s;
  int64_t piece;
  sigset_t stop, old_mask;
  MPI_Comm control;
  communicator world, outside;
  communicator *made; /* by slot_of */
  int32_t n_made;
  /* messages under way; peer: world rank, or -1 for a collective; finished: by place in req */
  MPI_Request *req;
  int32_t *peer;
  uint8_t *finished;
  int *index;
  int32_t n_req, cap_req, pending;
  card own, *cards; /* [size] by member */
  const void **parts; /* [size] */
  char *scratch;
  int64_t cap_scratch;
  int64_t length; /* announced to rank 0 */
  uint8_t *mark; /* [size] */
  /* failure */
  notice said, *heard; /* [size], from the first one on */
  uint8_t *has_heard;  /* [size] */
  int32_t n_heard, first_heard, told;
  MPI_Request *say; /* [size] */
  watchdog dog;
};

/* Where this rank is: in a request of a program, or outside. */
typedef struct place {
  const zp_request *q;
  const communicator *c;
  const char *outside;
} place;

typedef enum ending { ENDED = 0, LATE, NOTICED, STOPPED, BROKEN } ending;

static double now(void)
{
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static void rest(int32_t *idle)
{
  const struct timespec nap = {0, NAP_NS};
  if ((*idle)++ < SPINS) sched_yield();
  else nanosleep(&nap, NULL);
}

/* ---- The watchdog of calls that block inside MPI. LEDG-7 ------------------------------------- */

/* While such a call lasts, nobody else polls for SIGTERM: the watchdog does. */
static void *watch(void *arg)
{
  const struct timespec tick = {0, 50000000};
  watchdog *d = arg;
  sigset_t stop;
  sigemptyset(&stop);
  sigaddset(&stop, SIGTERM);
  pthread_mutex_lock(&d->lock);
  while (!d->quit) {
    if (!d->armed) {
      pthread_cond_wait(&d->changed, &d->lock);
      continue;
    }
    pthread_mutex_unlock(&d->lock);
    const int stopped = sigtimedwait(&stop, NULL, &tick) == SIGTERM;
    pthread_mutex_lock(&d->lock);
    if (d->armed && (stopped || now() > d->limit)) {
      dprintf(STDERR_FILENO, "zeroproof: %s: %s (LEDG-7)\n", d->what,
              stopped ? STOPPED_TEXT : "no answer before the deadline");
      _exit(WATCHDOG_EXIT);
    }
    if (stopped) kill(getpid(), SIGTERM); /* not for the watchdog: back to who polls */
  }
  pthread_mutex_unlock(&d->lock);
  return NULL;
}

static int watchdog_start(watchdog *d)
{
  pthread_mutex_init(&d->lock, NULL);
  pthread_cond_init(&d->changed, NULL);
  return pthread_create(&d->thread, NULL, watch, d);
}

static void watchdog_arm(zp_mpi *m, int armed, const char *what)
{
  watchdog *d = &m->dog;
  pthread_mutex_lock(&d->lock);
  d->limit = now() + m->deadline_s;
  d->armed = armed;
  snprintf(d->what, sizeof d->what, "rank %d: %s", m->rank, what);
  pthread_cond_signal(&d->changed);
  pthread_mutex_unlock(&d->lock);
}

static void watchdog_end(watchdog *d)
{
  pthread_mutex_lock(&d->lock);
  d->quit = 1;
  pthread_cond_signal(&d->changed);
  pthread_mutex_unlock(&d->lock);
  pthread_join(d->thread, NULL);
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

/* "step 3, program position 17: all_reduce(…)". */
static void put_position(char *text, int cap, const zp_op *op, int32_t phase, int64_t step,
                         int64_t pc)
{
  char words[256];
  zp_op_describe(op, words, sizeof words);
  snprintf(text, (size_t)cap, "%s %lld, program position %lld: %s", zp_phase_name(phase),
           (long long)step, (long long)pc, words);
}

static void put_place(char *text, int cap, const place *at)
{
  char position[320], members[160], key[24] = "";
  if (!at->q) {
    snprintf(text, (size_t)cap, "%s", at->outside);
    return;
  }
  const zp_op *op = at->q->op;
  put_position(position, sizeof position, op, at->q->phase, at->q->step, at->q->pc);
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
    if (n++ < SHOWN) used += snprintf(text + used, (size_t)(cap - used), " %d", i);
  }
  if (n > SHOWN) snprintf(text + used, (size_t)(cap - used), " and %d more", n - SHOWN);
}

/* ---- Notices --------------------------------------------------------------------------------- */

/* Takes in what other ranks have to say. Errors are left to the deadline. */
static void listen(zp_mpi *m)
{
  for (;;) {
    MPI_Status s;
    int there = 0;
    notice in;
    if (MPI_Iprobe(MPI_ANY_SOURCE, TAG_NOTICE, m->control, &there, &s) || !there) return;
    if (MPI_Recv(&in, sizeof in, MPI_BYTE, s.MPI_SOURCE, TAG_NOTICE, m->control,
                 MPI_STATUS_IGNORE))
      return;
    if (!m->heard) m->heard = calloc((size_t)m->size, sizeof *m->heard);
    if (!m->heard || m->has_heard[s.MPI_SOURCE]) return;
    if (m->n_heard == 0) m->first_heard = s.MPI_SOURCE;
    in.place[PLACE - 1] = in.reason[REASON - 1] = 0;
    m->heard[s.MPI_SOURCE] = in;
    m->has_heard[s.MPI_SOURCE] = 1;
    m->n_heard++;
  }
}

/* Tells all other ranks, once. */
static void tell(zp_mpi *m, int32_t status, int32_t roll, const char *where, const char *reason)
{
  if (m->told) return;
  m->told = 1;
  m->said.rank = m->rank;
  m->said.status = status;
  m->said.roll = roll;
  snprintf(m->said.place, sizeof m->said.place, "%s", where);
  snprintf(m->said.reason, sizeof m->said.reason, "%s", reason);
  for (int32_t i = 0; i < m->size; i++) {
    m->say[i] = MPI_REQUEST_NULL;
    if (i == m->rank) continue;
    if (MPI_Isend(&m->said, sizeof m->said, MPI_BYTE, i, TAG_NOTICE, m->control, &m->say[i]))
      m->say[i] = MPI_REQUEST_NULL; /* nobody there any more */
  }
}

/* Listens until all others have spoken, or for so long. */
static void linger(zp_mpi *m, double seconds)
{
  const double limit = now() + seconds;
  int32_t idle = 0;
  while (m->n_heard < m->size - 1 && now() < limit) {
    int sent;
    MPI_Testall(m->size, m->say, &sent, MPI_STATUSES_IGNORE);
    listen(m);
    rest(&idle);
  }
}

/* Where those are who have spoken (but for rank `known`), and who shows no sign of life: the one at
 * fault. LEDG-7 */
static void put_roll(zp_mpi *m, double seconds, int32_t known, zp_error *err)
{
  char text[PLACE] = "";
  int32_t silent = 0, last = -1, shown = 0;
  linger(m, seconds);
  for (int32_t i = 0; i < m->size; i++) {
    m->mark[i] = i != m->rank && !m->has_heard[i];
    silent += m->mark[i];
    if (m->mark[i]) last = i;
    if (i == m->rank || i == known || m->mark[i] || shown++ >= SHOWN) continue;
    zp_error_append(err, "\n  rank %d: %s", i, m->heard[i].place);
  }
  if (silent == 0) return;
  put_marked(m, text, sizeof text);
  zp_error_append(err, "\n  no sign of life from rank%s%s: killed, stopped, or still computing",
                  silent > 1 ? "s" : "", text);
  if (silent == 1) err->rank = last;
}

/* The notice that says most: not the echo of another one. */
static const notice *cause_of(const zp_mpi *m)
{
  for (int32_t i = 0; i < m->size; i++)
    if (m->has_heard[i] && m->heard[i].status != ZP_E_PEER) return &m->heard[i];
  return &m->heard[m->first_heard];
}

/* A wait came to a bad end: says why, where this rank was and whom it waited for. LEDG-7 */
static int fail_wait(zp_mpi *m, const place *at, ending why, zp_error *err)
{
  char where[PLACE], full[PLACE + 192], missing[160] = "", reason[512];
  int32_t roll = 1, culprit = -1;
  const int32_t n = mark_missing(m);
  put_place(where, sizeof where, at);
  put_marked(m, missing, sizeof missing);
  for (int32_t i = 0; n == 1 && i < m->size; i++)
    if (m->mark[i]) culprit = i;
  if (why == LATE) snprintf(reason, sizeof reason, "no progress for %g s", m->deadline_s);
  else if (why == BROKEN) snprintf(reason, sizeof reason, "MPI could not deliver a message");
  else if (why == STOPPED)
    snprintf(reason, sizeof reason, "%s", STOPPED_TEXT);
  else {
    const notice *c = cause_of(m);
    culprit = c->rank;
    roll = c->roll;
    snprintf(reason, sizeof reason, "rank %d has failed", c->rank);
  }
  snprintf(full, sizeof full, "%s; %s%s", where,
           n > 0 ? "waits for rank" : "all participants are there", missing);
  tell(m, ZP_E_PEER, roll, full, reason);
  zp_fail(err, ZP_E_PEER, culprit, "rank %d: %s, in %s", m->rank, reason, full);
  if (why == NOTICED) {
    const notice *c = cause_of(m);
    zp_error_append(err, "\n  rank %d (%s), in %s\n  its reason: %s", c->rank,
                    zp_status_name(c->status), c->place, c->reason);
  }
  if (roll)
    put_roll(m, why == STOPPED ? ROLL_STOPPED_S : ROLL_S, why == NOTICED ? culprit : -1, err);
  return ZP_E_PEER;
}

/* This rank itself has failed: *err says why. */
static int fail_here(zp_mpi *m, const place *at, const zp_error *err)
{
  char where[PLACE];
  put_place(where, sizeof where, at);
  tell(m, err->status, 0, where, err->text);
  return err->status;
}

/* ---- Messages under way ---------------------------------------------------------------------- */

static int reserve(zp_mpi *m)
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

static void clear(zp_mpi *m)
{
  m->n_req = m->pending = 0;
}

/* Counts the request that was just started in req[n_req]. */
static void started(zp_mpi *m, int32_t peer)
{
  m->peer[m->n_req] = peer;
  m->finished[m->n_req] = 0;
  m->n_req++;
  m->pending++;
}

/* Sends to, or receives from, member `who`, in pieces that MPI's int counts hold; a card is one
 * piece, since mismatch_seen counts cards by requests. 0, or -1. */
static int post(zp_mpi *m, const communicator *c, int sends, const void *data, int64_t bytes,
                int32_t who, int tag)
{
  char *at = (char *)(uintptr_t)data; /* MPI_Irecv writes, MPI_Isend does not */
  const int64_t most = tag == TAG_CARD ? bytes : m->piece;
  while (bytes > 0) {
    const int n = (int)(bytes < most ? bytes : most);
    if (reserve(m)) return -1;
    MPI_Request *req = &m->req[m->n_req];
    if (sends ? MPI_Isend(at, n, MPI_BYTE, who, tag, c->comm, req)
              : MPI_Irecv(at, n, MPI_BYTE, who, tag, c->comm, req))
      return -1;
    started(m, c->member[who]);
    at += n;
    bytes -= n;
  }
  return 0;
}

/* Polls once: how many requests completed, or -1. */
static int32_t poll_once(zp_mpi *m)
{
  int n = 0;
  const int rc = MPI_Testsome(m->n_req, m->req, &n, m->index, MPI_STATUSES_IGNORE);
  if (rc != MPI_SUCCESS) return -1;
  if (n == MPI_UNDEFINED) n = 0;
  for (int i = 0; i < n; i++) m->finished[m->index[i]] = 1;
  m->pending -= n;
  listen(m);
  return n;
}

/* Is another communication of the group on one of the first n cards that have come? LEDG-2 */
static int32_t differs(const card *a, const card *b, int32_t b_index);
static int32_t mismatch_seen(const zp_mpi *m, const communicator *c, int32_t only)
{
  int32_t k = 0;
  for (int32_t i = 0; i < c->size; i++) {
    if (i == c->index || (only >= 0 && i != only)) continue;
    if (m->finished[k++] && differs(&m->own, &m->cards[i], i)) return 1;
  }
  return 0;
}

/* Did a member of c report a mismatch? Then its card is on its way here, too. */
static int told_of_mismatch(const zp_mpi *m, const communicator *c)
{
  const notice *cause = cause_of(m);
  for (int32_t i = 0; i < c->size; i++)
    if (c->member[i] == cause->rank) return cause->status == ZP_E_MISMATCH;
  return 0;
}

/* Waits for all messages under way. c: not NULL when they begin with the cards of c's members (or
 * only one of them): a mismatch ends the wait soon, but not before the other cards had a chance to
 * come, so that every participant can name them all. LEDG-2, LEDG-7 */
static ending wait_all(zp_mpi *m, const communicator *c, int32_t only)
{
  const struct timespec at_once = {0, 0};
  double limit = now() + m->deadline_s;
  int32_t idle = 0, hurry = 0;
  while (m->pending > 0) {
    const int32_t n = poll_once(m);
    if (n < 0) return BROKEN;
    if (n > 0 && !hurry) limit = now() + m->deadline_s;
    if (m->n_heard > 0 && !hurry && !(c && told_of_mismatch(m, c))) return NOTICED;
    if (!hurry && c && (m->n_heard > 0 || (n > 0 && mismatch_seen(m, c, only)))) {
      hurry = 1;
      limit = now() + GRACE_S;
    }
    if (m->pending > 0 && now() > limit) return m->n_heard > 0 ? NOTICED : LATE;
    if (n == 0) rest(&idle);
    else idle = 0;
    if (idle > SPINS && sigtimedwait(&m->stop, NULL, &at_once) == SIGTERM)
      return m->n_heard > 0 ? NOTICED : STOPPED;
  }
  return ENDED;
}

/* The same for data, with the error. */
static int finish(zp_mpi *m, const place *at, int failed, zp_error *err)
{
  const ending end = failed ? BROKEN : wait_all(m, NULL, -1);
  if (end != ENDED) return fail_wait(m, at, end, err);
  clear(m);
  return 0;
}

/* ---- Cards: who issues what. LEDG-2 ---------------------------------------------------------- */

static int32_t differs(const card *a, const card *b, int32_t b_index)
{
  const zp_op *x = &a->op, *y = &b->op;
  if (x->kind != y->kind) return 1;
  if (x->kind != ZP_OP_P2P && x->kind != ZP_OP_META)
    return x->what != y->what || x->count != y->count || x->dtype != y->dtype ||
           x->redop != y->redop || x->root != y->root || x->key != y->key;
  const int32_t opposite = x->what == ZP_WHAT_ACTIVATION ? ZP_WHAT_ACTIVATION_GRADIENT
                                                         : ZP_WHAT_ACTIVATION;
  return y->what != opposite || x->root != b_index || x->mb != y->recv_mb || x->recv_mb != y->mb ||
         memcmp(a->out, b->in, sizeof a->out) != 0 || memcmp(a->in, b->out, sizeof a->in) != 0;
}

/* "; sends bf16 (2, 64, 48); expects nothing". */
static void put_message(zp_error *err, const char *verb, const int64_t *meta)
{
  zp_message msg;
  if (zp_meta_decode(meta, &msg) || msg.n == 0) return;
  zp_error_append(err, "; %s", verb);
  for (int32_t i = 0; i < msg.n; i++) {
    zp_error_append(err, " %s (", zp_dtype_name(msg.t[i].dtype));
    for (int32_t d = 0; d < msg.t[i].ndim; d++)
      zp_error_append(err, "%s%lld", d ? ", " : "", (long long)msg.t[i].dim[d]);
    zp_error_append(err, ")");
  }
}

static void put_card(zp_error *err, const card *k)
{
  char text[320];
  put_position(text, sizeof text, &k->op, k->phase, k->step, k->pc);
  zp_error_append(err, "\n  rank %d, %s", k->rank, text);
  put_message(err, "sends", k->out);
  put_message(err, "expects", k->in);
}

static int fail_mismatch(zp_mpi *m, const place *at, int32_t only, zp_error *err)
{
  const communicator *c = at->c;
  int32_t k = 0, shown = 0;
  char where[PLACE];
  put_place(where, sizeof where, at);
  zp_fail(err, ZP_E_MISMATCH, -1,
          "mismatch: members of one group issued different communications (LEDG-2); rank %d, in %s",
          m->rank, where);
  put_card(err, &m->own);
  for (int32_t i = 0; i < c->size; i++) {
    if (i == c->index || (only >= 0 && i != only)) continue;
    const int32_t there = m->finished[k++];
    if (shown++ >= SHOWN) continue;
    if (there) put_card(err, &m->cards[i]);
    else zp_error_append(err, "\n  rank %d has not come", c->member[i]);
  }
  return fail_here(m, at, err);
}

static void fill_card(zp_mpi *m, const zp_request *q)
{
  card *k = &m->own;
  memset(k, 0, sizeof *k); /* padding travels, too */
  k->op = *q->op;
  k->rank = m->rank;
  k->phase = q->phase;
  k->pc = q->pc;
  k->step = q->step;
  if (q->op->kind != ZP_OP_P2P) return;
  if (q->op->mb >= 0 && q->out_msg) zp_meta_encode(q->out_msg, k->out);
  if (q->op->recv_mb >= 0 && q->in_msg) zp_meta_encode(q->in_msg, k->in);
}

/* Exchanges cards with all members (only = -1) or one of them and compares. LEDG-2 */
static int agree(zp_mpi *m, const place *at, int32_t only, zp_error *err)
{
  const communicator *c = at->c;
  int failed = 0;
  ending end;
  fill_card(m, at->q);
  for (int sends = 0; sends < 2; sends++)
    for (int32_t i = 0; i < c->size && !failed; i++)
      if (i != c->index && (only < 0 || i == only))
        failed = post(m, c, sends, sends ? &m->own : &m->cards[i], sizeof m->own, i, TAG_CARD);
  end = failed ? BROKEN : wait_all(m, c, only);
  if (!failed && mismatch_seen(m, c, only)) return fail_mismatch(m, at, only, err);
  if (end != ENDED) return fail_wait(m, at, end, err);
  clear(m);
  return 0;
}

/* ---- Data ------------------------------------------------------------------------------------ */

static int64_t smaller(int64_t a, int64_t b)
{
  return a < b ? a : b;
}

static int grow_scratch(zp_mpi *m, int64_t bytes)
{
  if (bytes <= m->cap_scratch) return 0;
  char *p = realloc(m->scratch, (size_t)bytes);
  if (!p) return -1;
  m->scratch = p;
  m->cap_scratch = bytes;
  return 0;
}

/* A type of which `*count` elements are `bytes` bytes, however many. MPI_DATATYPE_NULL: failed. */
static MPI_Datatype type_of(const zp_mpi *m, int64_t bytes, int *count)
{
  MPI_Datatype part, whole;
  const MPI_Datatype types[2] = {MPI_BYTE, MPI_BYTE};
  int lengths[2] = {1, (int)(bytes % m->piece)};
  MPI_Aint at[2] = {0, (MPI_Aint)(bytes - bytes % m->piece)};
  *count = (int)bytes;
  if (bytes <= m->piece) return MPI_BYTE;
  *count = 1;
  lengths[0] = (int)(bytes / m->piece);
  if (MPI_Type_contiguous((int)m->piece, MPI_BYTE, &part)) return MPI_DATATYPE_NULL;
  MPI_Datatype both[2] = {part, types[1]};
  if (MPI_Type_create_struct(2, lengths, at, both, &whole)) whole = MPI_DATATYPE_NULL;
  else if (MPI_Type_commit(&whole)) MPI_Type_free(&whole);
  MPI_Type_free(&part);
  return whole;
}

/* ALL_GATHER, GATHER, BROADCAST by MPI: they only move bytes. */
static int move_bytes(zp_mpi *m, const place *at, zp_error *err)
{
  const zp_op *op = at->q->op;
  const communicator *c = at->c;
  const int64_t bytes = op->count * zp_dtype_bytes(op->dtype);
  const void *send = at->q->send;
  void *recv = at->q->recv;
  int n, rc;
  if (bytes == 0) return 0;
  if (reserve(m)) return zp_fail(err, ZP_E_MEMORY, m->rank, "rank %d: no memory", m->rank);
  MPI_Datatype type = type_of(m, bytes, &n);
  MPI_Request *req = &m->req[m->n_req];
  if (type == MPI_DATATYPE_NULL) return finish(m, at, 1, err);
  if (op->kind == ZP_OP_ALL_GATHER) rc = MPI_Iallgather(send, n, type, recv, n, type, c->comm, req);
  else if (op->kind == ZP_OP_GATHER)
    rc = MPI_Igather(send, n, type, recv, n, type, op->root, c->comm, req);
  else rc = MPI_Ibcast(recv, n, type, op->root, c->comm, req);
  if (!rc) started(m, -1);
  if (type != MPI_BYTE) MPI_Type_free(&type); /* lives on until the collective is done */
  return finish(m, at, rc, err);
}

/* Part q, of `part` elements each, of `total` elements: the last parts may be short or empty. */
static int64_t part_start(int64_t part, int64_t total, int32_t q)
{
  return smaller(part * q, total);
}
static int64_t part_count(int64_t part, int64_t total, int32_t q)
{
  return part_start(part, total, q + 1) - part_start(part, total, q);
}

/* Direct exchange: part q of everyone's `send` goes to member q, who reduces the D parts in member
 * order, so that every bit is comm_sim's. out: this member's part of the result. RED-4, RED-5 */
static int reduce_parts(zp_mpi *m, const place *at, int64_t part, int64_t total, void *out,
                        zp_error *err)
{
  const zp_op *op = at->q->op;
  const communicator *c = at->c;
  const int64_t size = zp_dtype_bytes(op->dtype), mine = part_count(part, total, c->index);
  const char *send = at->q->send;
  int failed = 0;
  if (grow_scratch(m, c->size * mine * size))
    return zp_fail(err, ZP_E_MEMORY, m->rank, "rank %d: no memory to reduce %lld bytes", m->rank,
                   (long long)(c->size * mine * size));
  for (int32_t i = 0; i < c->size; i++) {
    m->parts[i] = i == c->index ? send + part_start(part, total, i) * size
                                : m->scratch + i * mine * size;
    if (i != c->index && !failed) failed = post(m, c, 0, m->parts[i], mine * size, i, TAG_DATA);
  }
  for (int32_t i = 0; i < c->size && !failed; i++)
    if (i != c->index)
      failed = post(m, c, 1, send + part_start(part, total, i) * size,
                    part_count(part, total, i) * size, i, TAG_DATA);
  if (finish(m, at, failed, err)) return err->status;
  zp_reduce_members(op->redop, op->dtype, c->size, m->parts, mine, out);
  return 0;
}

static int reduce_scatter(zp_mpi *m, const place *at, zp_error *err)
{
  const zp_op *op = at->q->op;
  const communicator *c = at->c;
  if (op->redop != ZP_RED_SUM || op->count * c->size > m->piece / 8)
    return reduce_parts(m, at, op->count, op->count * c->size, at->q->recv, err);
  if (reserve(m)) return zp_fail(err, ZP_E_MEMORY, m->rank, "rank %d: no memory", m->rank);
  const int rc = MPI_Ireduce_scatter_block(at->q->send, at->q->recv, (int)op->count, MPI_INT64_T,
                                           MPI_SUM, c->comm, &m->req[m->n_req]);
  if (!rc) started(m, -1);
  return finish(m, at, rc, err);
}

/* Integer addition is associative: MPI may add in any order. STAT-3 */
static int all_reduce_sum(zp_mpi *m, const place *at, zp_error *err)
{
  const int64_t *send = at->q->send;
  int64_t *recv = at->q->recv, left = at->q->op->count;
  int rc = 0;
  while (left > 0 && !rc) {
    const int n = (int)smaller(left, m->piece / 8);
    if (reserve(m)) return zp_fail(err, ZP_E_MEMORY, m->rank, "rank %d: no memory", m->rank);
    rc = MPI_Iallreduce(send, recv, n, MPI_INT64_T, MPI_SUM, at->c->comm, &m->req[m->n_req]);
    if (!rc) started(m, -1);
    send += n;
    recv += n;
    left -= n;
  }
  return finish(m, at, rc, err);
}

/* Each member reduces one part and sends it to all others. RED-4, RED-5 */
static int all_reduce(zp_mpi *m, const place *at, zp_error *err)
{
  const zp_op *op = at->q->op;
  const communicator *c = at->c;
  if (op->redop == ZP_RED_SUM) return all_reduce_sum(m, at, err);
  const int64_t total = op->count, part = (total + c->size - 1) / c->size;
  const int64_t size = zp_result_width(op->redop) * zp_dtype_bytes(zp_result_dtype(op->redop));
  char *recv = at->q->recv, *mine = recv + part_start(part, total, c->index) * size;
  int failed = 0;
  if (reduce_parts(m, at, part, total, mine, err)) return err->status;
  for (int32_t i = 0; i < c->size && !failed; i++)
    if (i != c->index)
      failed = post(m, c, 0, recv + part_start(part, total, i) * size,
                    part_count(part, total, i) * size, i, TAG_DATA);
  for (int32_t i = 0; i < c->size && !failed; i++)
    if (i != c->index)
      failed = post(m, c, 1, mine, part_count(part, total, c->index) * size, i, TAG_DATA);
  return finish(m, at, failed, err);
}

/* Both halves are posted before either is waited for: no buffering is needed. PIPE-3 */
static int exchange(zp_mpi *m, const place *at, zp_error *err)
{
  const zp_request *q = at->q;
  const int32_t who = q->op->root;
  const int64_t meta = ZP_META_LONGS * (int64_t)sizeof *q->in_meta;
  int failed = 0;
  if (q->op->kind == ZP_OP_META) {
    if (q->op->recv_mb >= 0) failed = post(m, at->c, 0, q->in_meta, meta, who, TAG_DATA);
    if (q->op->mb >= 0 && !failed) failed = post(m, at->c, 1, q->out_meta, meta, who, TAG_DATA);
    return finish(m, at, failed, err);
  }
  for (int sends = 0; sends < 2; sends++) {
    const zp_message *msg = sends ? q->out_msg : q->in_msg;
    const int wanted = msg && (sends ? q->op->mb : q->op->recv_mb) >= 0;
    for (int32_t i = 0; wanted && i < msg->n && !failed; i++)
      failed = post(m, at->c, sends, msg->t[i].data, zp_tensor_bytes(&msg->t[i]), who, TAG_DATA);
  }
  return finish(m, at, failed, err);
}

/* A group of one: nothing travels. */
static void alone(const zp_request *q)
{
  const zp_op *op = q->op;
  const size_t bytes = (size_t)(op->count * zp_dtype_bytes(op->dtype));
  const void *in[1] = {q->send};
  if (op->kind == ZP_OP_REDUCE_SCATTER || op->kind == ZP_OP_ALL_REDUCE)
    zp_reduce_members(op->redop, op->dtype, 1, in, op->count, q->recv);
  else if (op->kind != ZP_OP_BROADCAST && bytes > 0) memmove(q->recv, q->send, bytes);
}

/* ---- Communicators. LEDG-4 ------------------------------------------------------------------- */

static int32_t slot_of(int32_t group, int32_t key)
{
  return group == ZP_GROUP_TIED ? ZP_GROUP_TIED + key : group;
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
  const int32_t n = ZP_GROUP_TIED + cfg->tied_keys;
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
  c->size = zp_group_size(r->cfg, op->root, op->key, r->at);
  c->index = zp_group_index(r->cfg, op->root, op->key, r->at);
  c->member = malloc((size_t)c->size * sizeof *c->member);
  if (!c->member) return zp_fail(err, ZP_E_MEMORY, m->rank, "rank %d: no memory", m->rank);
  MPI_Comm_size(c->comm, &size);
  MPI_Comm_rank(c->comm, &index);
  MPI_Comm_group(m->world.comm, &all);
  MPI_Comm_group(c->comm, &some);
  for (int i = 0; i < c->size; i++) {
    c->member[i] = zp_group_member(r->cfg, op->root, op->key, r->at, i);
    if (i < size && MPI_Group_translate_ranks(some, 1, &i, all, &there)) bad = 1;
    bad |= there != c->member[i];
  }
  MPI_Group_free(&all);
  MPI_Group_free(&some);
  if (!bad && size == c->size && index == c->index) return 0;
  return zp_fail(err, ZP_E_MISMATCH, m->rank,
                 "rank %d: MPI's communicator of group %s has other members than the topology says "
                 "(LEDG-4)", m->rank, zp_group_name(op->root));
}

static int create(zp_mpi *m, zp_rank *r, const place *at, zp_error *err)
{
  const zp_op *op = at->q->op;
  const int32_t slot = slot_of(op->root, op->key);
  const int32_t id = zp_group_id(r->cfg, op->root, op->key, r->at);
  char where[PLACE];
  if (slot <= 0 || slot >= m->n_made)
    return zp_fail(err, ZP_E_REFUSED, m->rank, "rank %d: no group of kind %d, key %d", m->rank,
                   op->root, op->key);
  communicator *c = &m->made[slot];
  free_communicator(c);
  put_place(where, sizeof where, at);
  watchdog_arm(m, 1, where);
  const int rc = MPI_Comm_split(m->world.comm, id < 0 ? MPI_UNDEFINED : id,
                                zp_group_index(r->cfg, op->root, op->key, r->at), &c->comm);
  watchdog_arm(m, 0, "");
  if (rc) return finish(m, at, rc, err);
  return id < 0 ? 0 : check_members(m, r, op, c, err);
}

/* ---- Programs -------------------------------------------------------------------------------- */

static int carry_out(zp_mpi *m, zp_rank *r, const place *at, zp_error *err)
{
  switch (at->q->op->kind) {
  case ZP_OP_META:
  case ZP_OP_P2P: return exchange(m, at, err);
  case ZP_OP_REDUCE_SCATTER: return reduce_scatter(m, at, err);
  case ZP_OP_ALL_REDUCE: return all_reduce(m, at, err);
  case ZP_OP_CREATE: return create(m, r, at, err);
  default: return move_bytes(m, at, err);
  }
}

/* One request from the cards to the last byte. LEDG-2 */
static int serve(zp_mpi *m, zp_rank *r, const zp_request *q, zp_error *err)
{
  const zp_op *op = q->op;
  const place at = {q, find(m, op->group, op->key), NULL};
  const int pair = op->kind == ZP_OP_P2P || op->kind == ZP_OP_META;
  const int rooted = pair || op->kind == ZP_OP_BROADCAST || op->kind == ZP_OP_GATHER;
  const struct timespec at_once = {0, 0};
  listen(m);
  if (m->n_heard > 0) return fail_wait(m, &at, NOTICED, err);
  if (sigtimedwait(&m->stop, NULL, &at_once) == SIGTERM) return fail_wait(m, &at, STOPPED, err);
  if (!at.c || (rooted && (op->root < 0 || op->root >= at.c->size)) ||
      (pair && op->root == at.c->index)) {
    zp_fail(err, ZP_E_MISMATCH, m->rank, "rank %d: no such participants: its group %s has %d, root "
            "is %d (LEDG-2)", m->rank, zp_group_name(op->group), at.c ? at.c->size : 0, op->root);
    return fail_here(m, &at, err);
  }
  if (at.c->size == 1 && op->kind != ZP_OP_CREATE) {
    alone(q);
    return 0;
  }
  if (agree(m, &at, pair ? op->root : -1, err)) return err->status;
  if (carry_out(m, r, &at, err) == 0) return 0;
  return m->told ? err->status : fail_here(m, &at, err);
}

/* The rank's own failure, at its op. */
static int fail_rank(zp_mpi *m, zp_rank *r, zp_error *err)
{
  const zp_request q = {.op = &r->current, .phase = r->phase, .pc = r->pc, .step = r->step};
  const place at = {&q, NULL, NULL};
  if (err != r->err) *err = *r->err;
  if (r->current.kind >= ZP_OP_FIRST_COMM) {
    const place of = {&q, find(m, r->current.group, r->current.key), NULL};
    return fail_here(m, &of, err);
  }
  return fail_here(m, &at, err);
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
    if (run == ZP_RUN_DONE) return ZP_OK;
    if (run == ZP_RUN_ERROR) return fail_rank(m, r, err);
    if (serve(m, r, &r->request, err)) return err->status;
    if (zp_rank_complete(r)) return fail_rank(m, r, err);
  }
}

/* ---- Outside programs ------------------------------------------------------------------------ */

int zp_mpi_gather_bytes(zp_mpi *m, const void *mine, int64_t bytes, void **all, int64_t *sizes,
                        zp_error *err)
{
  const place at = {NULL, &m->outside, "gathering results on rank 0"};
  int64_t total = bytes, offset = bytes;
  int failed = 0;
  *all = NULL;
  if (m->rank != 0) {
    m->length = bytes; /* outlives this call, should it fail while the message is under way */
    failed = post(m, &m->outside, 1, &m->length, sizeof m->length, 0, TAG_SIZE);
    if (!failed) failed = post(m, &m->outside, 1, mine, bytes, 0, TAG_DATA);
    return finish(m, &at, failed, err);
  }
  sizes[0] = bytes;
  for (int32_t i = 1; i < m->size && !failed; i++)
    failed = post(m, &m->outside, 0, &sizes[i], sizeof *sizes, i, TAG_SIZE);
  if (finish(m, &at, failed, err)) return err->status;
  for (int32_t i = 1; i < m->size; i++) total += sizes[i];
  char *to = malloc((size_t)total + 1);
  if (!to) {
    zp_fail(err, ZP_E_MEMORY, 0, "rank 0: no memory for %lld bytes of results", (long long)total);
    return fail_here(m, &at, err);
  }
  if (bytes > 0) memcpy(to, mine, (size_t)bytes);
  for (int32_t i = 1; i < m->size && !failed; i++) {
    failed = post(m, &m->outside, 0, to + offset, sizes[i], i, TAG_DATA);
    offset += sizes[i];
  }
  if (finish(m, &at, failed, err)) return err->status; /* `to` stays: MPI may still write to it */
  *all = to;
  return 0;
}

int zp_mpi_broadcast_bytes(zp_mpi *m, void *data, int64_t bytes, zp_error *err)
{
  const place at = {NULL, &m->outside, "broadcasting results from rank 0"};
  int failed = 0;
  if (m->rank != 0) failed = post(m, &m->outside, 0, data, bytes, 0, TAG_DATA);
  for (int32_t i = 1; i < m->size && m->rank == 0 && !failed; i++)
    failed = post(m, &m->outside, 1, data, bytes, i, TAG_DATA);
  return finish(m, &at, failed, err);
}

/* Everybody hears from everybody, so that a deadline can name who did not come. */
int zp_mpi_barrier(zp_mpi *m, zp_error *err)
{
  const place at = {NULL, &m->outside, "waiting for all ranks outside the programs"};
  int failed = 0;
  for (int sends = 0; sends < 2; sends++)
    for (int32_t i = 0; i < m->size && !failed; i++)
      if (i != m->rank)
        failed = post(m, &m->outside, sends, sends ? m->mark : (uint8_t *)m->cards + i, 1, i,
                      TAG_SIZE);
  return finish(m, &at, failed, err);
}

/* ---- Joining and leaving --------------------------------------------------------------------- */

int zp_mpi_present(void)
{
  return getenv("OMPI_COMM_WORLD_SIZE") != NULL;
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
  free(m->made);
  free(m->req);
  free(m->peer);
  free(m->finished);
  free(m->index);
  free(m->cards);
  free(m->parts);
  free(m->scratch);
  free(m->mark);
  free(m->heard);
  free(m->has_heard);
  free(m->say);
  free(m->world.member);
  free(m->outside.member);
  free(m);
}

/* Lets zeroproof launch tell a job that ran from one that mpirun could not start. */
static void say_started(const zp_mpi *m)
{
  const char *path = getenv(ZP_MPI_STARTED_VARIABLE);
  const int fd = m->rank == 0 && path ? open(path, O_WRONLY | O_APPEND | O_NOFOLLOW) : -1;
  if (fd < 0) return;
  if (write(fd, "1", 1) != 1) { /* then launch reports 3 instead of 1: no harm */
  }
  close(fd);
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
  m->cards = calloc(n, sizeof *m->cards);
  m->parts = calloc(n, sizeof *m->parts);
  m->mark = calloc(n, 1);
  m->has_heard = calloc(n, 1);
  m->say = calloc(n, sizeof *m->say);
  return !m->req || !m->peer || !m->finished || !m->index || !m->cards || !m->parts || !m->mark ||
         !m->has_heard || !m->say;
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
  if (watchdog_start(&m->dog)) {
    pthread_sigmask(SIG_SETMASK, &m->old_mask, NULL);
    free(m);
    return zp_fail(err, ZP_E_MEMORY, -1, "no thread for MPI's watchdog");
  }
  watchdog_arm(m, 1, "starting MPI");
  bad = MPI_Init_thread(NULL, NULL, MPI_THREAD_FUNNELED, &level) || level < MPI_THREAD_FUNNELED;
  if (!bad) {
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN); /* duplicates inherit it */
    MPI_Comm_rank(MPI_COMM_WORLD, &m->rank);
    MPI_Comm_size(MPI_COMM_WORLD, &m->size);
    bad = allocate(m) || MPI_Comm_dup(MPI_COMM_WORLD, &m->control) || dup_world(m, &m->world) ||
          dup_world(m, &m->outside);
  }
  watchdog_arm(m, 0, "");
  if (bad) {
    watchdog_end(&m->dog);
    return zp_fail(err, ZP_E_MEMORY, m->rank, "MPI did not start (no memory, or no such threads)");
  }
  say_started(m);
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
  watchdog_arm(m, 1, "leaving MPI");
  for (int32_t i = 1; i < m->n_made; i++) free_communicator(&m->made[i]);
  MPI_Comm_free(&m->control);
  MPI_Comm_free(&m->world.comm);
  MPI_Comm_free(&m->outside.comm);
  MPI_Finalize();
  watchdog_arm(m, 0, "");
  watchdog_end(&m->dog);
  pthread_sigmask(SIG_SETMASK, &m->old_mask, NULL);
  release(m);
  return 0;
}

void zp_mpi_abandon(zp_mpi *m, const zp_error *why)
{
  int32_t status = why->status;
  tell(m, status, 0, "outside the programs", why->text);
  linger(m, LINGER_S);
}
