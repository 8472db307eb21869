/* Writes traces of what NCCL is asked for: for the preloaded recorder and the profiler plugin.
 * Callers hold zpt_lock where nothing else is said. The format: conformance/TRACE.md. */
#ifndef ZP_RECORDER_NCCL_TRACE_H
#define ZP_RECORDER_NCCL_TRACE_H
#include <pthread.h>
#include <stdint.h>

enum { ZPT_ALL_REDUCE = 1, ZPT_REDUCE_SCATTER, ZPT_ALL_GATHER, ZPT_REDUCE, ZPT_BROADCAST };
enum { ZPT_GATHER = 6, ZPT_SCATTER, ZPT_ALL_TO_ALL, ZPT_SEND = 10, ZPT_RECV };
enum { ZPT_UNKNOWN = 0, ZPT_NONE = 1, ZPT_PREMUL_SUM = 7 }; /* of operators; 0 also of dtypes */
enum { ZPT_KEY = 200 };

typedef struct zpt_trace {
  int fd, rank, groups;
  int stopped; /* it could not be written any more */
} zpt_trace;

extern pthread_mutex_t zpt_lock;

/* The rank of the environment, or other where it tells none. */
int zpt_rank(int other);
/* How many processes there are by the environment, or other. */
int zpt_world(int other);
/* The trace of a rank of world, opened when it is asked for first; NULL: it cannot be recorded.
 * World 0: not known, and not what a communicator says: that may be of some ranks only. */
zpt_trace *zpt_open(int rank, int world);
/* A communicator of size members, of which this rank is the one at place; size 0: not known. Its
 * number in the trace. */
int zpt_group(zpt_trace *t, const char *key, int size, int place);
/* ncclDataType_t, or -1: not known. root: -1 where there is none, or it is not known. */
void zpt_enter(zpt_trace *t, int group, int op, int redop, int64_t count, int dtype, int root);
/* Of this thread: a grouped call begins, ends. What is entered in between is entered together. */
void zpt_call(void);
void zpt_call_end(void);
int zpt_in_call(void);

#endif
