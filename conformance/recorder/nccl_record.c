/* Records what an NCCL program enters, for `zeroproof trace check`: a library to be preloaded.
 *
 *   ZEROPROOF_TRACE=DIR LD_PRELOAD=libzptrace_nccl.so program
 *
 * A communicator's members are told by the places of all ranks' files; its key is its unique id, or,
 * of one that was split off, the parent's key, which split it was, and the color. The rank is
 * ZEROPROOF_TRACE_RANK, RANK, OMPI_COMM_WORLD_RANK, PMI_RANK or SLURM_PROCID; where there is none,
 * the place in the communicator made with an id, and one process may be several ranks. The format:
 * conformance/TRACE.md. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <nccl.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { GROUP = 1, CALL = 6, CALL_END = 7, END = 9, OP = 10, KEY = 200, COMMS = 4096, FILES = 1024 };
enum { ALL_REDUCE = 1, REDUCE_SCATTER, ALL_GATHER, REDUCE, BROADCAST, SEND = 10, RECV = 11 };
enum { ASYNC = 1, REDOP_UNKNOWN = 0, REDOP_NONE = 1, ITEM = 512 };

typedef struct trace {
  int fd, rank, groups;
} trace;

typedef struct known {
  ncclComm_t *handle, comm; /* a non-blocking init fills in the handle later */
  char key[KEY];
  int size, place, id, splits;
  trace *trace;
} known;

typedef struct item {
  uint8_t b[ITEM];
  size_t n;
} item;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static known comms[COMMS];
static trace traces[FILES];
static int n_comms, n_traces;
/* Threads group their calls by themselves; which ranks they are of is known at the first call. */
static __thread int depth;
static __thread trace *in_call[16];
static __thread int n_in_call;

static void *real(const char *name)
{
  void *f = dlsym(RTLD_NEXT, name);
  if (f == NULL) {
    fprintf(stderr, "zeroproof: there is no %s behind the recorder.\n", name);
    abort();
  }
  return f;
}

static void put(item *i, uint64_t v)
{
  for (; v > 127; v >>= 7) i->b[i->n++] = (uint8_t)((v & 127) | 128);
  i->b[i->n++] = (uint8_t)v;
}

static void out(trace *t, const item *i)
{
  for (size_t at = 0; at < i->n;) {
    const ssize_t n = write(t->fd, i->b + at, i->n - at);
    if (n <= 0) return; /* the run matters more than its trace */
    at += (size_t)n;
  }
}

static int env_rank(const char *const *name, int other)
{
  for (; *name; name++)
    if (getenv(*name) != NULL) return atoi(getenv(*name));
  return other;
}

static trace *trace_of(int place, int size)
{
  static const char *const ranks[] = {
      "ZEROPROOF_TRACE_RANK", "RANK", "OMPI_COMM_WORLD_RANK", "PMI_RANK", "SLURM_PROCID", NULL};
  static const char *const worlds[] = {"ZEROPROOF_TRACE_WORLD", "WORLD_SIZE",
                                       "OMPI_COMM_WORLD_SIZE",  "PMI_SIZE",
                                       "SLURM_NTASKS",          NULL};
  const int rank = env_rank(ranks, place);
  int world = env_rank(worlds, size);
  for (int i = 0; i < n_traces; i++)
    if (traces[i].rank == rank) return &traces[i];
  const char *dir = getenv("ZEROPROOF_TRACE");
  if (dir == NULL || n_traces == FILES) return NULL;
  char path[4096];
  snprintf(path, sizeof path, "%s/rank-%d.zpt", dir, rank);
  const int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_APPEND | O_CLOEXEC, 0666);
  if (fd < 0) {
    fprintf(stderr, "zeroproof: %s: %m: rank %d is not recorded.\n", path, rank);
    return NULL;
  }
  trace *t = &traces[n_traces++];
  *t = (trace){fd, rank, 0};
  item i = {.n = 0};
  for (const char *c = "ZPTRACE\1"; *c; c++) i.b[i.n++] = (uint8_t)*c;
  if (world <= rank) world = rank + 1;
  put(&i, (uint64_t)rank);
  put(&i, (uint64_t)world);
  out(t, &i);
  return t;
}

static known *find(ncclComm_t comm)
{
  for (int i = n_comms - 1; i >= 0; i--) /* a handle may be used again: the newest */
    if (comms[i].comm == comm || (comms[i].handle != NULL && *comms[i].handle == comm)) {
      comms[i].comm = comm;
      comms[i].handle = NULL;
      return &comms[i];
    }
  return NULL;
}

/* What a communicator of which the recorder saw no birth is, is not known: its records are not
 * judged, and have no file to go to. */
static void born(ncclComm_t *handle, const char *key, int size, int place, trace *t)
{
  if (n_comms == COMMS || t == NULL) return;
  known *k = &comms[n_comms++];
  *k = (known){handle, NULL, "", size, place, ++t->groups, 0, t};
  snprintf(k->key, sizeof k->key, "%s", key);
  item i = {.n = 0};
  const size_t n = strlen(k->key);
  put(&i, GROUP);
  put(&i, (uint64_t)k->id);
  put(&i, n);
  memcpy(i.b + i.n, k->key, n);
  i.n += n;
  put(&i, (uint64_t)size);
  put(&i, (uint64_t)place + 1);
  put(&i, 0);
  out(t, &i);
}

static void born_of_id(ncclComm_t *handle, int size, const ncclUniqueId *id, int place)
{
  uint64_t h = 14695981039346656037u;
  char key[KEY];
  for (size_t i = 0; i < sizeof id->internal; i++)
    h = (h ^ (uint8_t)id->internal[i]) * 1099511628211u;
  snprintf(key, sizeof key, "%016llx", (unsigned long long)h);
  pthread_mutex_lock(&lock);
  born(handle, key, size, place, trace_of(place, size));
  pthread_mutex_unlock(&lock);
}

ncclResult_t ncclCommInitRank(ncclComm_t *comm, int n, ncclUniqueId id, int rank)
{
  ncclResult_t (*f)(ncclComm_t *, int, ncclUniqueId, int) = real("ncclCommInitRank");
  const ncclResult_t result = f(comm, n, id, rank);
  if (result == ncclSuccess || result == ncclInProgress) born_of_id(comm, n, &id, rank);
  return result;
}

ncclResult_t ncclCommInitRankConfig(ncclComm_t *comm, int n, ncclUniqueId id, int rank,
                                    ncclConfig_t *config)
{
  ncclResult_t (*f)(ncclComm_t *, int, ncclUniqueId, int, ncclConfig_t *) =
      real("ncclCommInitRankConfig");
  const ncclResult_t result = f(comm, n, id, rank, config);
  if (result == ncclSuccess || result == ncclInProgress) born_of_id(comm, n, &id, rank);
  return result;
}

ncclResult_t ncclCommSplit(ncclComm_t comm, int color, int order, ncclComm_t *child,
                           ncclConfig_t *config)
{
  ncclResult_t (*f)(ncclComm_t, int, int, ncclComm_t *, ncclConfig_t *) = real("ncclCommSplit");
  ncclResult_t (*count)(ncclComm_t, int *) = real("ncclCommCount");
  ncclResult_t (*user)(ncclComm_t, int *) = real("ncclCommUserRank");
  const ncclResult_t result = f(comm, color, order, child, config);
  int size = 0, place = 0;
  /* asked without the lock: the library may do other work meanwhile */
  const int made = result == ncclSuccess && color != NCCL_SPLIT_NOCOLOR && *child != NULL &&
                   count(*child, &size) == ncclSuccess && user(*child, &place) == ncclSuccess;
  pthread_mutex_lock(&lock);
  known *parent = find(comm);
  if (parent != NULL) {
    char key[KEY + 64];
    snprintf(key, sizeof key, "%s/%d:%d", parent->key, ++parent->splits, color);
    if (made) born(child, key, size, place, parent->trace);
  }
  pthread_mutex_unlock(&lock);
  return result;
}

static void call_of(trace *t)
{
  for (int i = 0; i < n_in_call; i++)
    if (in_call[i] == t) return;
  if (depth == 0 || n_in_call == 16) return;
  in_call[n_in_call++] = t;
  out(t, &(item){{CALL}, 1});
}

static void enter(ncclComm_t comm, int op, int redop, size_t count, ncclDataType_t type, int root)
{
  static const uint8_t dtypes[] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12};
  pthread_mutex_lock(&lock);
  known *k = find(comm);
  if (k != NULL) {
    const unsigned t = (unsigned)type;
    const uint64_t v[] = {
        OP,        (uint64_t)op,    (uint64_t)redop,      t < sizeof dtypes ? dtypes[t] : 0,
        count + 1, (uint64_t)k->id, (uint64_t)(root + 1), ASYNC,
        0};
    item i = {.n = 0};
    for (size_t n = 0; n < sizeof v / sizeof *v; n++) put(&i, v[n]);
    call_of(k->trace);
    out(k->trace, &i);
  }
  pthread_mutex_unlock(&lock);
}

static int redop_of(ncclRedOp_t op)
{
  static const uint8_t words[] = {2, 3, 5, 4, 6}; /* sum, prod, max, min, avg */
  return (unsigned)op < sizeof words ? words[op] : REDOP_UNKNOWN;
}

ncclResult_t ncclGroupStart(void)
{
  ncclResult_t (*f)(void) = real("ncclGroupStart");
  depth++;
  return f();
}

ncclResult_t ncclGroupEnd(void)
{
  ncclResult_t (*f)(void) = real("ncclGroupEnd");
  if (depth > 0 && --depth == 0) {
    for (int i = 0; i < n_in_call; i++) out(in_call[i], &(item){{CALL_END}, 1});
    n_in_call = 0;
  }
  return f();
}

#define FORWARD(name, op, redop, root, params, args)                                               \
  ncclResult_t name params                                                                         \
  {                                                                                                \
    ncclResult_t(*f) params = real(#name);                                                         \
    enter(comm, op, redop, count, type, root);                                                     \
    return f args;                                                                                 \
  }

FORWARD(ncclAllReduce, ALL_REDUCE, redop_of(red), -1,
        (const void *s, void *r, size_t count, ncclDataType_t type, ncclRedOp_t red,
         ncclComm_t comm, cudaStream_t stream),
        (s, r, count, type, red, comm, stream))
FORWARD(ncclReduceScatter, REDUCE_SCATTER, redop_of(red), -1,
        (const void *s, void *r, size_t count, ncclDataType_t type, ncclRedOp_t red,
         ncclComm_t comm, cudaStream_t stream),
        (s, r, count, type, red, comm, stream))
FORWARD(ncclReduce, REDUCE, redop_of(red), root,
        (const void *s, void *r, size_t count, ncclDataType_t type, ncclRedOp_t red, int root,
         ncclComm_t comm, cudaStream_t stream),
        (s, r, count, type, red, root, comm, stream))
FORWARD(ncclAllGather, ALL_GATHER, REDOP_NONE, -1,
        (const void *s, void *r, size_t count, ncclDataType_t type, ncclComm_t comm,
         cudaStream_t stream),
        (s, r, count, type, comm, stream))
FORWARD(ncclBroadcast, BROADCAST, REDOP_NONE, root,
        (const void *s, void *r, size_t count, ncclDataType_t type, int root, ncclComm_t comm,
         cudaStream_t stream),
        (s, r, count, type, root, comm, stream))
FORWARD(ncclBcast, BROADCAST, REDOP_NONE, root,
        (void *s, size_t count, ncclDataType_t type, int root, ncclComm_t comm,
         cudaStream_t stream),
        (s, count, type, root, comm, stream))
FORWARD(ncclSend, SEND, REDOP_NONE, peer,
        (const void *s, size_t count, ncclDataType_t type, int peer, ncclComm_t comm,
         cudaStream_t stream),
        (s, count, type, peer, comm, stream))
FORWARD(ncclRecv, RECV, REDOP_NONE, peer,
        (void *s, size_t count, ncclDataType_t type, int peer, ncclComm_t comm,
         cudaStream_t stream),
        (s, count, type, peer, comm, stream))

__attribute__((destructor)) static void through(void)
{
  for (int i = 0; i < n_traces; i++) out(&traces[i], &(item){{END}, 1});
}
