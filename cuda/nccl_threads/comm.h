/* Communicators: the state that all members share, and each member's own. */
#ifndef ZP_NCCL_THREADS_COMM_H
#define ZP_NCCL_THREADS_COMM_H
#include "nccl_threads.h"
#include "op.h"

enum { ZP_NT_TEXT = 512 };

typedef struct zp_nt_shared {
  struct zp_nt_shared *next;
  uint64_t id;             /* 0: made by a split */
  int32_t n, joined, left; /* left: members that destroyed or aborted their communicator */
  uint64_t collectives;    /* queued so far */
  ncclResult_t error;
  char why[ZP_NT_TEXT];
  ncclComm_t member[ZP_NCCL_THREADS_RANKS_MAX]; /* NULL: has not joined, or has left */
} zp_nt_shared;

/* One member. ops: of the call in progress; pending: how many of them are not queued. */
struct ncclComm {
  zp_nt_shared *s;
  int32_t rank, blocking, pending, n_ops, ending, used;
  uint64_t calls;
  cudaEvent_t ready, done, ended;
  cudaStream_t stream;
  zp_nt_op ops[ZP_NT_OPS_MAX];
};

/* comm.c */
void zp_nt_lock(void);
void zp_nt_unlock(void);
/* An error of all members; the first one is kept. */
ncclResult_t zp_nt_fail(zp_nt_shared *s, ncclResult_t error, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
/* 0, or -1: all members have received the error. */
int zp_nt_check(zp_nt_shared *s, cudaError_t error, const char *call);
zp_nt_shared *zp_nt_shared_make(int32_t n, uint64_t id);
ncclComm_t zp_nt_member_make(zp_nt_shared *s, int32_t rank, int32_t blocking);
ncclResult_t zp_nt_state(ncclComm_t c); /* with the lock held */
/* The result of a call: a blocking communicator waits until its operation is queued. */
ncclResult_t zp_nt_wait(ncclComm_t c);

/* rendezvous.c: adds a member's call, with the lock held; queues the operations that it
 * completes. */
ncclResult_t zp_nt_submit(ncclComm_t c, const zp_nt_op *ops, int32_t n);

/* queue.c: puts the work of an operation that all its members have called on their streams. */
void zp_nt_queue_collective(zp_nt_shared *s);
void zp_nt_queue_message(ncclComm_t from, ncclComm_t to, const zp_nt_op *send,
                         const zp_nt_op *recv);

#endif
