/* Records what an NCCL program enters, for `zeroproof trace check`: a library to be preloaded.
 *
 *   ZEROPROOF_TRACE=DIR LD_PRELOAD=libzptrace_nccl.so program
 *
 * A communicator's members are told by the places of all ranks' files; its key is its unique id,
 * or, of one that was made of another, the parent's key and how it was made. One that grew has no
 * key on which its old and new members could agree: what it does is recorded, and not judged. Which
 * rank enters something: nccl_comms.c. nccl_left_out.txt: the functions that are not here. */
#define _GNU_SOURCE
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "nccl_comms.h"

/* f: the function of that name behind this one, of whatever type f is. */
#define REAL(f, name)                                                                              \
  do {                                                                                             \
    zpt_caller = __builtin_return_address(0);                                                      \
    *(void **)&(f) = zpt_find(name);                                                               \
    if ((f) == NULL) return zpt_none(name);                                                        \
  } while (0)

static int by_ids(int size, const ncclUniqueId *id, int ids, int place)
{
  uint64_t h = ZPT_FIRST_DIGEST;
  char key[ZPT_KEY];
  for (int i = 0; i < ids; i++) h = zpt_digest(id[i].internal, sizeof id[i].internal, h);
  snprintf(key, sizeof key, "%016llx", (unsigned long long)h);
  return zpt_expect(&(zpt_birth){key, size, place, -1});
}

/* Of what is made of another. */
static int by_comm(ncclComm_t comm, const char *how, int number)
{
  char key[2 * ZPT_KEY];
  pthread_mutex_lock(&zpt_lock);
  const int parent = zpt_comm(comm);
  const int found = zpt_child_key(parent, how, number, key, sizeof key);
  pthread_mutex_unlock(&zpt_lock);
  return found ? zpt_expect(&(zpt_birth){key, ZPT_NOT_TOLD, ZPT_NOT_TOLD, parent}) : -1;
}

static void enter(ncclComm_t comm, int op, int redop, size_t count, ncclDataType_t type, int root)
{
  int id, size;
  pthread_mutex_lock(&zpt_lock);
  zpt_trace *t = zpt_trace_of(comm, &id, &size);
  if (t != NULL) {
    const int64_t n = (int64_t)count * (op == ZPT_ALL_TO_ALL ? size : 1); /* the whole tensor */
    zpt_enter(t, id, op, redop, op == ZPT_ALL_TO_ALL && size == 0 ? -1 : n, (int)type, root);
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
  ncclResult_t (*f)(ncclComm_t *, int, ncclUniqueId, int);
  REAL(f, "ncclCommInitRank");
  const int number = by_ids(n, &id, 1, rank);
  const ncclResult_t result = f(comm, n, id, rank);
  zpt_born(number, comm, result);
  return result;
}

ncclResult_t ncclCommInitRankConfig(ncclComm_t *comm, int n, ncclUniqueId id, int rank,
                                    ncclConfig_t *config)
{
  ncclResult_t (*f)(ncclComm_t *, int, ncclUniqueId, int, ncclConfig_t *);
  REAL(f, "ncclCommInitRankConfig");
  const int number = by_ids(n, &id, 1, rank);
  const ncclResult_t result = f(comm, n, id, rank, config);
  zpt_born(number, comm, result);
  return result;
}

ncclResult_t ncclCommInitRankScalable(ncclComm_t *comm, int n, int rank, int ids, ncclUniqueId *id,
                                      ncclConfig_t *config)
{
  ncclResult_t (*f)(ncclComm_t *, int, int, int, ncclUniqueId *, ncclConfig_t *);
  REAL(f, "ncclCommInitRankScalable");
  const int number = by_ids(n, id, ids, rank);
  const ncclResult_t result = f(comm, n, rank, ids, id, config);
  zpt_born(number, comm, result);
  return result;
}

/* All members are of this process. */
ncclResult_t ncclCommInitAll(ncclComm_t *comm, int n, const int *devices)
{
  static int calls;
  ncclResult_t (*f)(ncclComm_t *, int, const int *);
  REAL(f, "ncclCommInitAll");
  char host[64] = "", key[ZPT_KEY];
  gethostname(host, sizeof host - 1);
  pthread_mutex_lock(&zpt_lock);
  snprintf(key, sizeof key, "%s %d all#%d", host, (int)getpid(), calls++);
  pthread_mutex_unlock(&zpt_lock);
  const ncclResult_t result = f(comm, n, devices);
  if (result != ncclSuccess) return result;
  int *numbers = malloc((size_t)n * sizeof *numbers);
  for (int i = 0; numbers != NULL && i < n; i++)
    numbers[i] = zpt_expect(&(zpt_birth){key, n, i, -1});
  for (int i = 0; numbers != NULL && i < n; i++) zpt_born(numbers[i], &comm[i], result);
  free(numbers);
  return result;
}

ncclResult_t ncclCommSplit(ncclComm_t comm, int color, int order, ncclComm_t *child,
                           ncclConfig_t *config)
{
  ncclResult_t (*f)(ncclComm_t, int, int, ncclComm_t *, ncclConfig_t *);
  REAL(f, "ncclCommSplit");
  char how[32];
  pthread_mutex_lock(&zpt_lock);
  const int splits = zpt_splits(zpt_comm(comm)); /* who takes no part counts, too */
  pthread_mutex_unlock(&zpt_lock);
  snprintf(how, sizeof how, "%d:%d", splits, color);
  const int number = splits > 0 && color != NCCL_SPLIT_NOCOLOR ? by_comm(comm, how, splits) : -1;
  const ncclResult_t result = f(comm, color, order, child, config);
  zpt_born(number, child, result);
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
  ncclResult_t (*f)(ncclComm_t, int *, int, ncclComm_t *, ncclConfig_t *, int);
  REAL(f, "ncclCommShrink");
  int *sorted = n > 0 ? malloc((size_t)n * sizeof *sorted) : NULL;
  int number = -1;
  char how[32];
  if (sorted != NULL) {
    memcpy(sorted, without, (size_t)n * sizeof *sorted);
    qsort(sorted, (size_t)n, sizeof *sorted, by_value);
    const uint64_t h = zpt_digest(sorted, (size_t)n * sizeof *sorted, ZPT_FIRST_DIGEST);
    snprintf(how, sizeof how, "-%016llx", (unsigned long long)h);
    free(sorted);
    number = by_comm(comm, how, 0);
  }
  const ncclResult_t result = f(comm, without, n, child, config, flags);
  zpt_born(number, child, result);
  return result;
}

ncclResult_t ncclCommGrow(ncclComm_t comm, int n, const ncclUniqueId *id, int rank,
                          ncclComm_t *child, ncclConfig_t *config)
{
  ncclResult_t (*f)(ncclComm_t, int, const ncclUniqueId *, int, ncclComm_t *, ncclConfig_t *);
  REAL(f, "ncclCommGrow");
  pthread_mutex_lock(&zpt_lock);
  const int parent = zpt_comm(comm);
  pthread_mutex_unlock(&zpt_lock);
  const int number =
      parent >= 0 || rank >= 0 ? zpt_expect(&(zpt_birth){"grown", 0, rank, parent}) : -1;
  const ncclResult_t result = f(comm, n, id, rank, child, config);
  zpt_born(number, child, result);
  return result;
}

ncclResult_t ncclCommGetAsyncError(ncclComm_t comm, ncclResult_t *state)
{
  ncclResult_t (*f)(ncclComm_t, ncclResult_t *);
  REAL(f, "ncclCommGetAsyncError");
  const ncclResult_t result = f(comm, state);
  if (result == ncclSuccess) zpt_polled(comm, *state);
  return result;
}

ncclResult_t ncclCommDestroy(ncclComm_t comm)
{
  ncclResult_t (*f)(ncclComm_t);
  REAL(f, "ncclCommDestroy");
  zpt_dead(comm);
  return f(comm);
}

ncclResult_t ncclCommAbort(ncclComm_t comm)
{
  ncclResult_t (*f)(ncclComm_t);
  REAL(f, "ncclCommAbort");
  zpt_dead(comm);
  return f(comm);
}

/* ---- Groups ---------------------------------------------------------------------------------- */

ncclResult_t ncclGroupStart(void)
{
  ncclResult_t (*f)(void);
  REAL(f, "ncclGroupStart");
  zpt_call();
  return f();
}

ncclResult_t ncclGroupEnd(void)
{
  ncclResult_t (*f)(void);
  REAL(f, "ncclGroupEnd");
  zpt_call_end();
  const int group = zpt_group_ends();
  const ncclResult_t result = f();
  zpt_group_ended(group, result);
  return result;
}

/* It ends a group as well; what was in it is recorded as if it had been entered. */
ncclResult_t ncclGroupSimulateEnd(ncclSimInfo_t *info)
{
  ncclResult_t (*f)(ncclSimInfo_t *);
  REAL(f, "ncclGroupSimulateEnd");
  zpt_call_end();
  const int group = zpt_group_ends();
  const ncclResult_t result = f(info);
  zpt_group_ended(group, result);
  return result;
}

/* ---- Operations ------------------------------------------------------------------------------ */

#define FORWARD(name, op, redop, root, params, args)                                               \
  ncclResult_t name params                                                                         \
  {                                                                                                \
    ncclResult_t(*f) params;                                                                       \
    REAL(f, #name);                                                                                \
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
