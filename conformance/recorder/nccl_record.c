/* A preloaded library that records the operations of an NCCL program for `zeroproof trace check`.
 *
 *   ZEROPROOF_TRACE=DIR LD_PRELOAD=libzptrace_nccl.so program
 *
 * Each rank records its index in a communicator; the files of all ranks together give the
 * members. The key of a communicator is its unique id, or the parent's key and how it was
 * derived. For a grown communicator there is no key on which old and new members agree: it is
 * recorded but not judged. nccl_comms.c finds the rank. nccl_left_out.txt lists the functions
 * that are not wrapped. */
#define _GNU_SOURCE
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "nccl_comms.h"

/* Sets f, of any function type, to NCCL's function of that name. */
#define REAL(f, name)                                                                              \
  do {                                                                                             \
    zpt_caller = __builtin_return_address(0);                                                      \
    *(void **)&(f) = zpt_find(name);                                                               \
    if ((f) == NULL) return zpt_missing(name);                                                     \
  } while (0)

static int create_by_ids(int size, const ncclUniqueId *id, int ids, int comm_rank)
{
  uint64_t h = ZPT_FIRST_DIGEST;
  char key[ZPT_KEY];
  for (int i = 0; i < ids; i++) h = zpt_digest(id[i].internal, sizeof id[i].internal, h);
  snprintf(key, sizeof key, "%016llx", (unsigned long long)h);
  return zpt_create_begin(&(zpt_creation){key, size, comm_rank, -1});
}

/* A communicator derived from another. */
static int create_by_comm(ncclComm_t comm, const char *how, int number)
{
  char key[2 * ZPT_KEY];
  pthread_mutex_lock(&zpt_lock);
  const int parent = zpt_comm(comm);
  const int found = zpt_child_key(parent, how, number, key, sizeof key);
  pthread_mutex_unlock(&zpt_lock);
  return found ? zpt_create_begin(&(zpt_creation){key, ZPT_NOT_KNOWN, ZPT_NOT_KNOWN, parent}) : -1;
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
  /* other values come from ncclRedOpCreatePreMulSum only */
  return (unsigned)op < sizeof words ? words[op] : ZPT_PREMUL_SUM;
}

/* ---- Communicators --------------------------------------------------------------------------- */

ncclResult_t ncclCommInitRank(ncclComm_t *comm, int n, ncclUniqueId id, int rank)
{
  ncclResult_t (*f)(ncclComm_t *, int, ncclUniqueId, int);
  REAL(f, "ncclCommInitRank");
  const int number = create_by_ids(n, &id, 1, rank);
  const ncclResult_t result = f(comm, n, id, rank);
  zpt_create_end(number, comm, result);
  return result;
}

ncclResult_t ncclCommInitRankConfig(ncclComm_t *comm, int n, ncclUniqueId id, int rank,
                                    ncclConfig_t *config)
{
  ncclResult_t (*f)(ncclComm_t *, int, ncclUniqueId, int, ncclConfig_t *);
  REAL(f, "ncclCommInitRankConfig");
  const int number = create_by_ids(n, &id, 1, rank);
  const ncclResult_t result = f(comm, n, id, rank, config);
  zpt_create_end(number, comm, result);
  return result;
}

ncclResult_t ncclCommInitRankScalable(ncclComm_t *comm, int n, int rank, int ids, ncclUniqueId *id,
                                      ncclConfig_t *config)
{
  ncclResult_t (*f)(ncclComm_t *, int, int, int, ncclUniqueId *, ncclConfig_t *);
  REAL(f, "ncclCommInitRankScalable");
  const int number = create_by_ids(n, id, ids, rank);
  const ncclResult_t result = f(comm, n, rank, ids, id, config);
  zpt_create_end(number, comm, result);
  return result;
}

/* Creates all members in this process. */
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
    numbers[i] = zpt_create_begin(&(zpt_creation){key, n, i, -1});
  for (int i = 0; numbers != NULL && i < n; i++) zpt_create_end(numbers[i], &comm[i], result);
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
  const int splits =
      zpt_count_split(zpt_comm(comm)); /* a rank without a color counts the split as well */
  pthread_mutex_unlock(&zpt_lock);
  snprintf(how, sizeof how, "%d:%d", splits, color);
  const int number =
      splits > 0 && color != NCCL_SPLIT_NOCOLOR ? create_by_comm(comm, how, splits) : -1;
  const ncclResult_t result = f(comm, color, order, child, config);
  zpt_create_end(number, child, result);
  return result;
}

static int by_value(const void *a, const void *b)
{
  return (*(const int *)a > *(const int *)b) - (*(const int *)a < *(const int *)b);
}

/* Excluded ranks do not call, so members cannot number their shrinks alike. Members that exclude
 * the same ranks can. */
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
    number = create_by_comm(comm, how, 0);
  }
  const ncclResult_t result = f(comm, without, n, child, config, flags);
  zpt_create_end(number, child, result);
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
      parent >= 0 || rank >= 0 ? zpt_create_begin(&(zpt_creation){"grown", 0, rank, parent}) : -1;
  const ncclResult_t result = f(comm, n, id, rank, child, config);
  zpt_create_end(number, child, result);
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
  zpt_destroy(comm);
  return f(comm);
}

ncclResult_t ncclCommAbort(ncclComm_t comm)
{
  ncclResult_t (*f)(ncclComm_t);
  REAL(f, "ncclCommAbort");
  zpt_destroy(comm);
  return f(comm);
}

/* ---- Groups ---------------------------------------------------------------------------------- */

ncclResult_t ncclGroupStart(void)
{
  ncclResult_t (*f)(void);
  REAL(f, "ncclGroupStart");
  zpt_call_begin();
  return f();
}

ncclResult_t ncclGroupEnd(void)
{
  ncclResult_t (*f)(void);
  REAL(f, "ncclGroupEnd");
  zpt_call_end();
  const int group = zpt_group_closing();
  const ncclResult_t result = f();
  zpt_group_closed(group, result);
  return result;
}

/* It ends a group as well. Its operations are recorded as if they had been entered. */
ncclResult_t ncclGroupSimulateEnd(ncclSimInfo_t *info)
{
  ncclResult_t (*f)(ncclSimInfo_t *);
  REAL(f, "ncclGroupSimulateEnd");
  zpt_call_end();
  const int group = zpt_group_closing();
  const ncclResult_t result = f(info);
  zpt_group_closed(group, result);
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
