/* Writes traces of NCCL operations, for the preloaded recorder and the profiler plugin. Callers
 * hold zpt_lock unless a comment says otherwise. The format: conformance/TRACE.md. */
#ifndef ZP_RECORDER_NCCL_TRACE_H
#define ZP_RECORDER_NCCL_TRACE_H
#include <pthread.h>
#include <stdint.h>

enum { ZPT_ALL_REDUCE = 1, ZPT_REDUCE_SCATTER, ZPT_ALL_GATHER, ZPT_REDUCE, ZPT_BROADCAST };
enum { ZPT_GATHER = 6, ZPT_SCATTER, ZPT_ALL_TO_ALL, ZPT_SEND = 10, ZPT_RECV };
enum { ZPT_UNKNOWN = 0, ZPT_NONE = 1, ZPT_PREMUL_SUM = 7 }; /* reductions; 0 is also a dtype */
enum { ZPT_KEY = 200 };

typedef struct zpt_trace {
  int fd, rank, groups;
  int stopped; /* a write failed, and the trace ends there */
} zpt_trace;

extern pthread_mutex_t zpt_lock;

/* The rank from the environment, or other if the environment has none. */
int zpt_rank(int other);
/* The number of processes from the environment, or other if the environment has none. */
int zpt_world(int other);
/* The trace of a rank, opened by the first call. NULL if it cannot be recorded. World 0 means
 * unknown; the size of a communicator is no substitute, because it may contain only some ranks. */
zpt_trace *zpt_open(int rank, int world);
/* Declares a communicator in which this rank has index comm_rank; size 0 means unknown. Returns its
 * number in the trace. */
int zpt_group(zpt_trace *t, const char *key, int size, int comm_rank);
/* dtype: ncclDataType_t, or -1 if unknown. root: -1 if the operation has none or it is unknown. */
void zpt_enter(zpt_trace *t, int group, int op, int redop, int64_t count, int dtype, int root);
/* Begin and end of a grouped call in this thread. Operations in between are entered together. */
void zpt_call_begin(void);
void zpt_call_end(void);
int zpt_in_call(void);

#endif
