/* Records what an NCCL program enters, for `zeroproof trace check`: a library to be preloaded.
 *
 *   ZEROPROOF_TRACE=DIR LD_PRELOAD=libzptrace_nccl.so program
 *
 * A communicator's members are told by the places of all ranks' files; its key is its unique id,
 * or, of one that was made of another, the parent's key and how it was made. One that grew has no
 * key on which its old and new members could agree: what it does is recorded, and not judged. Where
 * the environment tells no rank (nccl_trace.c), it is the place in the communicator made with an
 * id, and one process may be several ranks. nccl_left_out.txt: the functions that are not here. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* What has the name of a function of NCCL is seen from outside, and nothing else. */
#pragma GCC visibility push(default)
#include <nccl.h>
#pragma GCC visibility pop

#include "nccl_trace.h"

enum { NOT_TOLD = -1 };

typedef struct known {
  ncclComm_t *handle,
      comm; /* the handle is filled in later where it is not yet: comm is NULL then */
  char key[ZPT_KEY];
  int size, place; /* NOT_TOLD: to be asked for; size 0: its members are not known */
  int id, splits;
  zpt_trace *trace;
} known;

static known *comms;
static int n_comms, room;
static __thread int unasked; /* made inside a group: they can be asked behind it */

static void *real(const char *name)
{
  void *f = dlsym(RTLD_NEXT, name);
  if (f == NULL) {
    fprintf(stderr, "zeroproof: there is no %s behind the recorder.\n", name);
    abort();
  }
  return f;
}

static known *find(ncclComm_t comm)
{
  if (comm == NULL) return NULL;
  for (int i = n_comms - 1; i >= 0; i--) /* the newest, should a handle be used again */
    if (comms[i].comm == comm || (comms[i].handle != NULL && *comms[i].handle == comm)) {
      comms[i].comm = comm;
      comms[i].handle = NULL;
      return &comms[i];
    }
  return NULL;
}

static int fine(ncclResult_t result)
{
  return result == ncclSuccess || result == ncclInProgress;
}

static uint64_t digest(const void *bytes, size_t n, uint64_t h)
{
  const uint8_t *b = bytes;
  for (size_t i = 0; i < n; i++) h = (h ^ b[i]) * 1099511628211u;
  return h;
}
static const uint64_t FIRST_DIGEST = 14695981039346656037u;

/* Takes in a communicator. What it is made of is not known when the recorder saw no birth of that:
 * then it has no file to go to. */
static void born(ncclComm_t *handle, int done, const char *key, int size, int place, zpt_trace *t)
{
  if (t == NULL) return;
  if (n_comms == room) {
    known *more = realloc(comms, (size_t)(2 * room + 64) * sizeof *comms);
    if (more == NULL) return;
    comms = more;
    room = 2 * room + 64;
  }
  known *k = &comms[n_comms++];
  *k = (known){done ? NULL : handle, done ? *handle : NULL, "", size, place, 0, 0, t};
  if (snprintf(k->key, sizeof k->key, "%s", key) >= (int)sizeof k->key)
    snprintf(k->key, sizeof k->key, "long %016llx",
             (unsigned long long)digest(key, strlen(key), FIRST_DIGEST));
  if (size != NOT_TOLD) k->id = zpt_group(t, k->key, size, place);
  else if (!done) unasked = 1;
}

/* Asks a communicator for its members, without the lock: the library may do other work then. */
static void settle(ncclComm_t comm)
{
  ncclResult_t (*count)(ncclComm_t, int *) = real("ncclCommCount");
  ncclResult_t (*user)(ncclComm_t, int *) = real("ncclCommUserRank");
  int size = 0, place = 0;
  if (count(comm, &size) != ncclSuccess || user(comm, &place) != ncclSuccess) return;
  pthread_mutex_lock(&zpt_lock);
  known *k = find(comm);
  if (k != NULL && k->size == NOT_TOLD) {
    k->size = size;
    k->place = place;
    k->id = zpt_group(k->trace, k->key, size, place);
  }
  pthread_mutex_unlock(&zpt_lock);
}

/* Behind a group: those that were made in it. */
static void settle_all(void)
{
  for (int i = 0;; i++) {
    pthread_mutex_lock(&zpt_lock);
    ncclComm_t comm = NULL;
    const int more = i < n_comms;
    if (more && comms[i].size == NOT_TOLD)
      comm = comms[i].handle != NULL ? *comms[i].handle : comms[i].comm;
    pthread_mutex_unlock(&zpt_lock);
    if (!more) return;
    if (comm != NULL) settle(comm);
  }
}

static void born_of_ids(ncclResult_t result, ncclComm_t *handle, int size, const ncclUniqueId *id,
                        int ids, int place)
{
  if (!fine(result)) return;
  uint64_t h = FIRST_DIGEST;
  char key[ZPT_KEY];
  for (int i = 0; i < ids; i++) h = digest(id[i].internal, sizeof id[i].internal, h);
  snprintf(key, sizeof key, "%016llx", (unsigned long long)h);
  pthread_mutex_lock(&zpt_lock);
  born(handle, result == ncclSuccess && !zpt_in_call(), key, size, place,
       zpt_open(zpt_rank(place), size));
  pthread_mutex_unlock(&zpt_lock);
}

/* Of what was made of another: parent's key, how, and which of those made so. */
static void born_of_comm(ncclResult_t result, ncclComm_t comm, ncclComm_t *child, const char *how,
                         int number)
{
  if (!fine(result) || child == NULL) return;
  const int done = result == ncclSuccess && !zpt_in_call();
  if (done && *child == NULL) return;
  pthread_mutex_lock(&zpt_lock);
  const known *parent = find(comm);
  if (parent != NULL) {
    char key[2 * ZPT_KEY];
    const int n = snprintf(key, sizeof key, "%s/%s", parent->key, how);
    if (number == 0) {
      for (int i = 0; i < n_comms; i++)
        number += comms[i].trace == parent->trace && strncmp(comms[i].key, key, (size_t)n) == 0 &&
                  strchr(comms[i].key + n, '/') == NULL;
      snprintf(key + n, sizeof key - (size_t)n, "#%d", number);
    }
    born(child, done, key, NOT_TOLD, NOT_TOLD, parent->trace);
  }
  pthread_mutex_unlock(&zpt_lock);
  if (done) settle(*child);
}

/* What is destroyed may come again as another communicator's handle. */
static void dead(ncclComm_t comm)
{
  pthread_mutex_lock(&zpt_lock);
  known *k = find(comm);
  if (k != NULL) k->comm = NULL;
  pthread_mutex_unlock(&zpt_lock);
}

static void enter(ncclComm_t comm, int op, int redop, size_t count, ncclDataType_t type, int root)
{
  pthread_mutex_lock(&zpt_lock);
  known *k = find(comm);
  if (k != NULL && k->size == NOT_TOLD) {
    pthread_mutex_unlock(&zpt_lock);
    settle(comm);
    pthread_mutex_lock(&zpt_lock);
    k = find(comm);
  }
  if (k != NULL && k->size != NOT_TOLD) {
    const int64_t n = (int64_t)count * (op == ZPT_ALL_TO_ALL ? k->size : 1); /* the whole tensor */
    zpt_enter(k->trace, k->id, op, redop, op == ZPT_ALL_TO_ALL && k->size == 0 ? -1 : n, (int)type,
              root);
  }
  pthread_mutex_unlock(&zpt_lock);
}

static int redop_of(ncclRedOp_t op)
{
  static const uint8_t words[] = {2, 3, 5, 4, 6}; /* sum, prod, max, min, avg */
  /* nothing but ncclRedOpCreatePreMulSum makes others */
  return (unsigned)op < sizeof words ? words[op] : ZPT_PREMUL_SUM;
}

/* ---- Communicators --------------------------------------------------------------------------- */

ncclResult_t ncclCommInitRank(ncclComm_t *comm, int n, ncclUniqueId id, int rank)
{
  ncclResult_t (*f)(ncclComm_t *, int, ncclUniqueId, int) = real("ncclCommInitRank");
  const ncclResult_t result = f(comm, n, id, rank);
  born_of_ids(result, comm, n, &id, 1, rank);
  return result;
}

ncclResult_t ncclCommInitRankConfig(ncclComm_t *comm, int n, ncclUniqueId id, int rank,
                                    ncclConfig_t *config)
{
  ncclResult_t (*f)(ncclComm_t *, int, ncclUniqueId, int, ncclConfig_t *) =
      real("ncclCommInitRankConfig");
  const ncclResult_t result = f(comm, n, id, rank, config);
  born_of_ids(result, comm, n, &id, 1, rank);
  return result;
}

ncclResult_t ncclCommInitRankScalable(ncclComm_t *comm, int n, int rank, int ids, ncclUniqueId *id,
                                      ncclConfig_t *config)
{
  ncclResult_t (*f)(ncclComm_t *, int, int, int, ncclUniqueId *, ncclConfig_t *) =
      real("ncclCommInitRankScalable");
  const ncclResult_t result = f(comm, n, rank, ids, id, config);
  born_of_ids(result, comm, n, id, ids, rank);
  return result;
}

/* All members are of this process, which is n ranks then. */
ncclResult_t ncclCommInitAll(ncclComm_t *comm, int n, const int *devices)
{
  static int calls;
  ncclResult_t (*f)(ncclComm_t *, int, const int *) = real("ncclCommInitAll");
  const ncclResult_t result = f(comm, n, devices);
  if (!fine(result)) return result;
  char host[64] = "", key[ZPT_KEY];
  gethostname(host, sizeof host - 1);
  pthread_mutex_lock(&zpt_lock);
  snprintf(key, sizeof key, "%s %d all#%d", host, (int)getpid(), calls++);
  for (int i = 0; i < n; i++)
    born(&comm[i], 1, key, n, i, zpt_open(zpt_rank(0) * n + i, zpt_rank(0) * n + n));
  pthread_mutex_unlock(&zpt_lock);
  return result;
}

ncclResult_t ncclCommSplit(ncclComm_t comm, int color, int order, ncclComm_t *child,
                           ncclConfig_t *config)
{
  ncclResult_t (*f)(ncclComm_t, int, int, ncclComm_t *, ncclConfig_t *) = real("ncclCommSplit");
  const ncclResult_t result = f(comm, color, order, child, config);
  char how[32];
  pthread_mutex_lock(&zpt_lock);
  known *parent = find(comm); /* who takes no part counts, too */
  const int number = parent != NULL ? ++parent->splits : 0;
  pthread_mutex_unlock(&zpt_lock);
  snprintf(how, sizeof how, "%d:%d", number, color);
  if (number > 0 && color != NCCL_SPLIT_NOCOLOR) born_of_comm(result, comm, child, how, number);
  return result;
}

static int by_value(const void *a, const void *b)
{
  return (*(const int *)a > *(const int *)b) - (*(const int *)a < *(const int *)b);
}

/* Members have not made equally many, as who is left out does not call: those who leave out the
 * same have. */
ncclResult_t ncclCommShrink(ncclComm_t comm, int *without, int n, ncclComm_t *child,
                            ncclConfig_t *config, int flags)
{
  ncclResult_t (*f)(ncclComm_t, int *, int, ncclComm_t *, ncclConfig_t *, int) =
      real("ncclCommShrink");
  const ncclResult_t result = f(comm, without, n, child, config, flags);
  int *sorted = n > 0 ? malloc((size_t)n * sizeof *sorted) : NULL;
  char how[32];
  if (sorted == NULL) return result;
  memcpy(sorted, without, (size_t)n * sizeof *sorted);
  qsort(sorted, (size_t)n, sizeof *sorted, by_value);
  const uint64_t h = digest(sorted, (size_t)n * sizeof *sorted, FIRST_DIGEST);
  snprintf(how, sizeof how, "-%016llx", (unsigned long long)h);
  free(sorted);
  born_of_comm(result, comm, child, how, 0);
  return result;
}

ncclResult_t ncclCommGrow(ncclComm_t comm, int n, const ncclUniqueId *id, int rank,
                          ncclComm_t *child, ncclConfig_t *config)
{
  ncclResult_t (*f)(ncclComm_t, int, const ncclUniqueId *, int, ncclComm_t *, ncclConfig_t *) =
      real("ncclCommGrow");
  const ncclResult_t result = f(comm, n, id, rank, child, config);
  if (!fine(result)) return result;
  pthread_mutex_lock(&zpt_lock);
  const known *parent = find(comm);
  born(child, result == ncclSuccess && !zpt_in_call(), "grown", 0, 0,
       parent != NULL ? parent->trace
       : rank >= 0    ? zpt_open(zpt_rank(rank), n)
                      : NULL);
  pthread_mutex_unlock(&zpt_lock);
  return result;
}

ncclResult_t ncclCommDestroy(ncclComm_t comm)
{
  ncclResult_t (*f)(ncclComm_t) = real("ncclCommDestroy");
  dead(comm);
  return f(comm);
}

ncclResult_t ncclCommAbort(ncclComm_t comm)
{
  ncclResult_t (*f)(ncclComm_t) = real("ncclCommAbort");
  dead(comm);
  return f(comm);
}

/* ---- Groups ---------------------------------------------------------------------------------- */

ncclResult_t ncclGroupStart(void)
{
  ncclResult_t (*f)(void) = real("ncclGroupStart");
  zpt_call();
  return f();
}

static void ended(ncclResult_t result)
{
  if (zpt_in_call() || !unasked || result != ncclSuccess) return;
  unasked = 0;
  settle_all();
}

ncclResult_t ncclGroupEnd(void)
{
  ncclResult_t (*f)(void) = real("ncclGroupEnd");
  zpt_call_end();
  const ncclResult_t result = f();
  ended(result);
  return result;
}

/* It ends a group as well; what was in it is recorded as if it had been entered. */
ncclResult_t ncclGroupSimulateEnd(ncclSimInfo_t *info)
{
  ncclResult_t (*f)(ncclSimInfo_t *) = real("ncclGroupSimulateEnd");
  zpt_call_end();
  return f(info);
}

/* ---- Operations ------------------------------------------------------------------------------ */

#define FORWARD(name, op, redop, root, params, args)                                               \
  ncclResult_t name params                                                                         \
  {                                                                                                \
    ncclResult_t(*f) params = real(#name);                                                         \
    enter(comm, op, redop, count, type, root);                                                     \
    return f args;                                                                                 \
  }

FORWARD(ncclAllReduce, ZPT_ALL_REDUCE, redop_of(red), -1,
        (const void *s, void *r, size_t count, ncclDataType_t type, ncclRedOp_t red,
         ncclComm_t comm, cudaStream_t stream),
        (s, r, count, type, red, comm, stream))
FORWARD(ncclReduceScatter, ZPT_REDUCE_SCATTER, redop_of(red), -1,
        (const void *s, void *r, size_t count, ncclDataType_t type, ncclRedOp_t red,
         ncclComm_t comm, cudaStream_t stream),
        (s, r, count, type, red, comm, stream))
FORWARD(ncclReduce, ZPT_REDUCE, redop_of(red), root,
        (const void *s, void *r, size_t count, ncclDataType_t type, ncclRedOp_t red, int root,
         ncclComm_t comm, cudaStream_t stream),
        (s, r, count, type, red, root, comm, stream))
FORWARD(ncclAllGather, ZPT_ALL_GATHER, ZPT_NONE, -1,
        (const void *s, void *r, size_t count, ncclDataType_t type, ncclComm_t comm,
         cudaStream_t stream),
        (s, r, count, type, comm, stream))
FORWARD(ncclAlltoAll, ZPT_ALL_TO_ALL, ZPT_NONE, -1,
        (const void *s, void *r, size_t count, ncclDataType_t type, ncclComm_t comm,
         cudaStream_t stream),
        (s, r, count, type, comm, stream))
FORWARD(ncclGather, ZPT_GATHER, ZPT_NONE, root,
        (const void *s, void *r, size_t count, ncclDataType_t type, int root, ncclComm_t comm,
         cudaStream_t stream),
        (s, r, count, type, root, comm, stream))
FORWARD(ncclScatter, ZPT_SCATTER, ZPT_NONE, root,
        (const void *s, void *r, size_t count, ncclDataType_t type, int root, ncclComm_t comm,
         cudaStream_t stream),
        (s, r, count, type, root, comm, stream))
FORWARD(ncclBroadcast, ZPT_BROADCAST, ZPT_NONE, root,
        (const void *s, void *r, size_t count, ncclDataType_t type, int root, ncclComm_t comm,
         cudaStream_t stream),
        (s, r, count, type, root, comm, stream))
FORWARD(ncclBcast, ZPT_BROADCAST, ZPT_NONE, root,
        (void *s, size_t count, ncclDataType_t type, int root, ncclComm_t comm,
         cudaStream_t stream),
        (s, count, type, root, comm, stream))
FORWARD(ncclSend, ZPT_SEND, ZPT_NONE, peer,
        (const void *s, size_t count, ncclDataType_t type, int peer, ncclComm_t comm,
         cudaStream_t stream),
        (s, count, type, peer, comm, stream))
FORWARD(ncclRecv, ZPT_RECV, ZPT_NONE, peer,
        (void *s, size_t count, ncclDataType_t type, int peer, ncclComm_t comm,
         cudaStream_t stream),
        (s, count, type, peer, comm, stream))
