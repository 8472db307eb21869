/* A profiler plugin of NCCL that records for `zeroproof trace check`. It is for programs with NCCL
 * linked in statically, where a preloaded library has no effect.
 *
 *   ZEROPROOF_TRACE=DIR NCCL_PROFILER_PLUGIN=/path/to/libnccl-profiler-zeroproof.so program
 *
 * NCCL (2.28 and later) reports every collective, send and receive when the program calls it,
 * with function, count, dtype and root. It reports neither the reduction nor the peer of a send
 * or receive: these are recorded as unknown and not judged. A communicator's key is its hash,
 * which NCCL derives from the unique id alike for all members. A process is one rank here: that
 * of the environment (nccl_trace.c), or else its index in the first communicator. NCCL does not
 * report operations without elements or with one member, and reports most gathers, scatters and
 * all-to-alls as sends and receives. */
#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "nccl_profiler.h"
#include "nccl_trace.h"

typedef struct communicator {
  uint64_t id;
  int size, comm_rank, group;
  zpt_trace *trace;
  struct communicator *next;
} communicator;

static communicator *all;
static int group_handle; /* its address is the handle of a grouped call */

static int init(void **context, uint64_t id, int *mask, const char *name, int nodes, int size,
                int comm_rank,
                void (*log)(int, unsigned long, const char *, int, const char *, ...))
{
  (void)name, (void)nodes, (void)log;
  *context = NULL;
  *mask = ZPT_ON_GROUP | ZPT_ON_COLLECTIVE | ZPT_ON_P2P;
  communicator *k = calloc(1, sizeof *k);
  if (k == NULL) return 0;
  pthread_mutex_lock(&zpt_lock);
  communicator *twin = all;
  while (twin != NULL && (twin->id != id || twin->comm_rank == comm_rank)) twin = twin->next;
  /* without a rank in the environment, the first communicator gives it */
  static int rank = -1;
  if (rank < 0) rank = zpt_rank(comm_rank);
  if (twin != NULL)
    fprintf(stderr,
            "zeroproof: this process is several ranks (%d and %d of one communicator), but the "
            "profiler plugin records one rank: %d is not recorded. Start one process per rank, or "
            "preload libzptrace_nccl.so.\n",
            twin->comm_rank, comm_rank, comm_rank);
  else *k = (communicator){id, size, comm_rank, 0, zpt_open(rank, zpt_world(0)), all};
  if (k->trace != NULL) {
    char key[32];
    snprintf(key, sizeof key, "%016llx", (unsigned long long)id);
    k->group = zpt_group(k->trace, key, size, comm_rank);
    *context = all = k;
  } else free(k);
  pthread_mutex_unlock(&zpt_lock);
  return 0;
}

static int finalize(void *context)
{
  pthread_mutex_lock(&zpt_lock);
  for (communicator **at = &all; *at != NULL; at = &(*at)->next)
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

static void enter(const communicator *k, const char *function, size_t count, const char *dtype,
                  int root)
{
  const int op = op_of(function);
  if (op == 0) return; /* one-sided: no other rank enters it */
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
  if (e->type == ZPT_ON_GROUP && e->group.depth > 1) { /* 1: NCCL's own, not the program's */
    zpt_call_end(); /* NCCL reports no end for a group that it aborted */
    zpt_call_begin();
    *handle = &group_handle;
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
  if (handle == &group_handle) zpt_call_end();
  return 0;
}

static int state(void *handle, int what, void *about)
{
  (void)handle, (void)what, (void)about;
  return 0;
}

#pragma GCC visibility push(default)
extern const zpt_profiler ncclProfiler_v5, ncclProfiler_v6;
const zpt_profiler ncclProfiler_v5 = {"zeroproof", init, start, stop, state, finalize};
const zpt_profiler ncclProfiler_v6 = {"zeroproof", init, start, stop, state, finalize};
#pragma GCC visibility pop
