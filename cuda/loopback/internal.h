/* What the parts of the loopback share. lb_ on everything that is not public. */
#ifndef ZP_LOOPBACK_INTERNAL_H
#define ZP_LOOPBACK_INTERNAL_H
#include <cuda_runtime_api.h>
#include <nccl.h>
#include <stdint.h>

#include "loopback.h"

enum { LB_OPS = 256, LB_TEXT = 512 };

typedef enum lb_kind {
  LB_SEND,
  LB_RECV,
  LB_ALL_REDUCE,
  LB_REDUCE_SCATTER,
  LB_ALL_GATHER,
  LB_BROADCAST,
  LB_SPLIT
} lb_kind;

/* What a member asks for. peer: of sends and receives; the root; a split's key. */
typedef struct lb_op {
  lb_kind kind;
  int32_t peer, color, redop, dtype, blocking, over;
  uint64_t count;
  const void *send;
  void *recv;
  ncclComm_t comm, *child;
  cudaStream_t stream;
} lb_op;

/* What all members have in common. left: members that have given it up. */
typedef struct lb_shared {
  struct lb_shared *next;
  uint64_t id; /* 0: made by a split */
  int32_t n, came, left;
  uint64_t moved; /* collectives so far */
  ncclResult_t error;
  char why[LB_TEXT];
  ncclComm_t member[ZP_LOOPBACK_RANKS]; /* NULL: has not come, or has gone */
} lb_shared;

/* One member. ops: of the call that is in progress; pending: of them not over. */
struct ncclComm {
  lb_shared *s;
  int32_t rank, blocking, pending, n_ops, ending, used;
  uint64_t calls;
  cudaEvent_t ready, done, ended;
  cudaStream_t stream;
  lb_op ops[LB_OPS];
};

/* group.c: what a thread has put into its open group. Not instrumented by sanitizers: simdev's
 * hosts share a thread, and so these, and switch nowhere between an ncclGroupStart and its end. */
typedef struct lb_group {
  int32_t depth, n, over; /* over: more ops than there is room for */
  lb_op ops[LB_OPS];
} lb_group;
int lb_group_open(void); /* its depth before */
int lb_group_close(void);
int lb_group_add(const lb_op *op); /* 0: there is no open group; 1 added; -1 no room */
int lb_group_take(lb_op *ops);     /* how many */
int lb_group_depth(void);

/* comm.c */
void lb_lock(void);
void lb_unlock(void);
void lb_pause(void);
/* An error of all members; the first is kept. */
ncclResult_t lb_fail(lb_shared *s, ncclResult_t error, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
ncclComm_t lb_member(lb_shared *s, int32_t rank, int32_t blocking);
lb_shared *lb_shared_of(int32_t n, uint64_t id);
ncclResult_t lb_state(ncclComm_t c);
ncclResult_t lb_answer(ncclComm_t c); /* of a call: waits where the communicator is blocking */

/* meet.c: the calls' meeting, with the lock held. */
ncclResult_t lb_submit(ncclComm_t c, const lb_op *ops, int32_t n);
int64_t lb_bytes_of(int32_t dtype);
const char *lb_name_of(const lb_op *op, char text[96]);

/* move.c: all members have come; who sends, and who receives. */
void lb_move_collective(lb_shared *s);
void lb_move_message(ncclComm_t from, ncclComm_t to, const lb_op *send, const lb_op *recv);
int lb_can_reduce(int32_t dtype, int32_t redop);

/* 0, or all members have heard of it. */
int lb_cuda(lb_shared *s, cudaError_t error, const char *call);

#endif
