/* Operations as a member calls them, and the group that a thread has open. */
#ifndef ZP_NCCL_THREADS_OP_H
#define ZP_NCCL_THREADS_OP_H
#include <cuda_runtime_api.h>
#include <nccl.h>
#include <stdint.h>

enum { ZP_NT_OPS_MAX = 256 };

typedef enum zp_nt_kind {
  ZP_NT_SEND,
  ZP_NT_RECV,
  ZP_NT_ALL_REDUCE,
  ZP_NT_REDUCE_SCATTER,
  ZP_NT_ALL_GATHER,
  ZP_NT_BROADCAST,
  ZP_NT_SPLIT
} zp_nt_kind;

/* peer: of a send or receive; the root; the key of a split. */
typedef struct zp_nt_op {
  zp_nt_kind kind;
  int32_t peer, color, redop, dtype, blocking, queued;
  uint64_t count;
  const void *send;
  void *recv;
  ncclComm_t comm, *child;
  cudaStream_t stream;
} zp_nt_op;

/* op.c */
int64_t zp_nt_dtype_bytes(int32_t dtype); /* 0: not a known type */
int zp_nt_can_reduce(int32_t dtype, int32_t redop);
/* "ncclAllReduce(count 3, type 7, op 0, root 0)" */
const char *zp_nt_op_text(const zp_nt_op *op, char text[96]);

/* group.c: the operations of the calling thread's open group. Sanitizers do not instrument this
 * file: simdev's hosts share one thread, and so this group, and do not switch between an
 * ncclGroupStart and its ncclGroupEnd. */
typedef struct zp_nt_group {
  int32_t depth, n, overflow; /* overflow: more operations were added than there is room for */
  zp_nt_op ops[ZP_NT_OPS_MAX];
} zp_nt_group;
int zp_nt_group_open(void);              /* its depth before */
int zp_nt_group_close(void);             /* its depth after; -1: there is no open group */
int zp_nt_group_add(const zp_nt_op *op); /* 1: added; 0: there is no open group; -1: no room */
int zp_nt_group_collect(zp_nt_op *ops);  /* empties it; how many, or -1: there was no room */
int zp_nt_group_depth(void);

#endif
