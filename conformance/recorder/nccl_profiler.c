/* A profiler plugin of NCCL that records for `zeroproof trace check`: where NCCL is linked into the
 * program, so that nothing can be preloaded before it.
 *
 *   ZEROPROOF_TRACE=DIR NCCL_PROFILER_PLUGIN=/path/to/libnccl-profiler-zeroproof.so program
 *
 * NCCL (2.28 and later) tells it of every collective and of every send and receive when they are
 * asked for: function, count, dtype, root. It does not tell the operator, nor a send's or receive's
 * peer: those are unknown, and not judged. A communicator's key is its number, which NCCL derives
 * from the unique id for all members alike. One process is one rank here: it is the
 * environment's (nccl_trace.c), or else the place in the first communicator. NCCL itself leaves out
 * what has no elements, and what has one member; gathers, scatters and all-to-alls it mostly tells
 * of as sends and receives. */
#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "nccl_profiler.h"
#include "nccl_trace.h"

/* A communicator. */
typedef struct known {
  uint64_t id;
  int size, place, group;
  zpt_trace *trace;
  struct known *next;
} known;

static known *all;
static int a_call; /* its address is the handle of a grouped call */

static int init(void **context, uint64_t id, int *mask, const char *name, int nodes, int size,
                int place, void (*log)(int, unsigned long, const char *, int, const char *, ...))
{
  (void)name, (void)nodes, (void)log;
  *context = NULL;
  *mask = ZPT_ON_GROUP | ZPT_ON_COLLECTIVE | ZPT_ON_P2P;
  known *k = calloc(1, sizeof *k);
  if (k == NULL) return 0;
  pthread_mutex_lock(&zpt_lock);
  known *twin = all;
  while (twin != NULL && (twin->id != id || twin->place == place)) twin = twin->next;
  /* of a process's communicators the first tells the rank, where nothing else does */
  static int rank = -1;
  if (rank < 0) rank = zpt_rank(place);
  if (twin != NULL)
    fprintf(stderr,
            "zeroproof: this process is several ranks (places %d and %d of one communicator), and "
            "the profiler plugin records one: place %d is not recorded. Start a process for each "
            "rank, or preload libzptrace_nccl.so.\n",
            twin->place, place, place);
  else *k = (known){id, size, place, 0, zpt_open(rank, zpt_world(0)), all};
  if (k->trace != NULL) {
    char key[32];
    snprintf(key, sizeof key, "%016llx", (unsigned long long)id);
    k->group = zpt_group(k->trace, key, size, place);
    *context = all = k;
  } else free(k);
  pthread_mutex_unlock(&zpt_lock);
  return 0;
}

static int ended(void *context)
{
  pthread_mutex_lock(&zpt_lock);
  for (known **at = &all; *at != NULL; at = &(*at)->next)
    if (*at == context) {
      *at = (*at)->next;
      free(context);
      break;
    }
  pthread_mutex_unlock(&zpt_lock);
  return 0;
}

static int op_of(const char *function)
{
  static const struct {
    const char *name;
    int op;
  } ops[] = {{"AllReduce", ZPT_ALL_REDUCE},
             {"ReduceScatter", ZPT_REDUCE_SCATTER},
             {"AllGather", ZPT_ALL_GATHER},
             {"Reduce", ZPT_REDUCE},
             {"Broadcast", ZPT_BROADCAST},
             {"Gather", ZPT_GATHER},
             {"Scatter", ZPT_SCATTER},
             {"AlltoAll", ZPT_ALL_TO_ALL},
             {"Send", ZPT_SEND},
             {"Recv", ZPT_RECV}};
  for (size_t i = 0; function != NULL && i < sizeof ops / sizeof *ops; i++)
    if (strcmp(function, ops[i].name) == 0) return ops[i].op;
  return 0;
}

static int dtype_of(const char *name)
{
  static const char *const names[] = {"ncclInt8",     "ncclUint8",      "ncclInt32",
                                      "ncclUint32",   "ncclInt64",      "ncclUint64",
                                      "ncclFloat16",  "ncclFloat32",    "ncclFloat64",
                                      "ncclBfloat16", "ncclFloat8e4m3", "ncclFloat8e5m2"};
  for (int i = 0; name != NULL && i < (int)(sizeof names / sizeof *names); i++)
    if (strcmp(name, names[i]) == 0) return i;
  return -1;
}

static void enter(const known *k, const char *function, size_t count, const char *dtype, int root)
{
  const int op = op_of(function);
  if (op == 0) return; /* one-sided, which nobody enters with the rank */
  const int sums = op == ZPT_ALL_REDUCE || op == ZPT_REDUCE_SCATTER || op == ZPT_REDUCE;
  const int rooted =
      op == ZPT_REDUCE || op == ZPT_BROADCAST || op == ZPT_GATHER || op == ZPT_SCATTER;
  const int64_t n = (int64_t)count * (op == ZPT_ALL_TO_ALL ? k->size : 1); /* the whole tensor */
  pthread_mutex_lock(&zpt_lock);
  zpt_enter(k->trace, k->group, op, sums ? ZPT_UNKNOWN : ZPT_NONE, n, dtype_of(dtype),
            rooted ? root : -1);
  pthread_mutex_unlock(&zpt_lock);
}

static int start(void *context, void **handle, const zpt_event *e)
{
  *handle = NULL;
  if (e->type == ZPT_ON_GROUP && e->group.depth > 1) { /* 1: the program asked for no group */
    zpt_call_end(); /* one that NCCL gave up, of which it tells no end */
    zpt_call();
    *handle = &a_call;
  }
  if (context == NULL) return 0;
  if (e->type == ZPT_ON_COLLECTIVE)
    enter(context, e->collective.function, e->collective.count, e->collective.dtype,
          e->collective.root);
  if (e->type == ZPT_ON_P2P) enter(context, e->p2p.function, e->p2p.count, e->p2p.dtype, -1);
  return 0;
}

static int stop(void *handle)
{
  if (handle == &a_call) zpt_call_end();
  return 0;
}

static int state(void *handle, int what, void *about)
{
  (void)handle, (void)what, (void)about;
  return 0;
}

#pragma GCC visibility push(default)
extern const zpt_profiler ncclProfiler_v5, ncclProfiler_v6;
const zpt_profiler ncclProfiler_v5 = {"zeroproof", init, start, stop, state, ended};
const zpt_profiler ncclProfiler_v6 = {"zeroproof", init, start, stop, state, ended};
#pragma GCC visibility pop
