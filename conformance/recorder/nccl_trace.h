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
  int pid;     /* the process that opened it */
} zpt_trace;

extern pthread_mutex_t zpt_lock;

/* The rank from the environment, or other if the environment has none. A value that is not a
 * number in the range is reported once and ignored, as with zpt_world. */
int zpt_rank(int other);
/* The number of processes from the environment, or other if the environment has none. */
int zpt_world(int other);
/* The trace of a rank, opened by the first call; if it cannot be opened, one that records nothing.
 * NULL for a rank that no trace can have. World 0 means unknown; the size of a communicator is no
 * substitute, because it may contain only some ranks. */
zpt_trace *zpt_open(int64_t rank, int64_t world);
/* 1 in a process that was forked from the one that records. The lock may be held there by a
 * thread that only the other process has. The caller need not hold zpt_lock. */
int zpt_is_fork(void);
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
