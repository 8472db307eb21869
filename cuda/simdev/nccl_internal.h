/* What the NCCL half of simdev shares. */
#ifndef ZP_SIMDEV_NCCL_INTERNAL_H
#define ZP_SIMDEV_NCCL_INTERNAL_H
#include <nccl.h>

#include "internal.h"

typedef struct ncclComm sd_comm;
typedef struct sd_op sd_op;
typedef struct sd_clique sd_clique;

typedef enum {
  SD_ALL_REDUCE,
  SD_REDUCE_SCATTER,
  SD_ALL_GATHER,
  SD_BROADCAST,
  SD_REDUCE,
  SD_SEND,
  SD_RECV
} sd_op_kind;

/* One operation of one member. */
struct sd_op {
  sd_op_kind kind;
  const char *name;
  const void *send;
  void *recv;
  size_t count;
  ncclDataType_t dtype;
  ncclRedOp_t redop;
  int32_t peer; /* or root; -1: none */
  sd_comm *comm;
  sd_stream *stream;
  int32_t call;
  int64_t tag;
  const void *pc;
  int64_t number;   /* of the communicator's collectives; of the pair's sends or receives */
  int32_t together; /* how many collectives of this communicator are in its group */
  sd_launch *launch;
  sd_op *next;    /* of its group, then of its launch */
  sd_op *partner; /* a send's receive and the other way round */
  sd_op *pair_next;
  struct sd_coll *coll;
  void *staging; /* what it contributes, from its launch's start */
  int32_t started, early;
  uint64_t *sync; /* released when it has contributed */
};

/* The members' operations with one number. */
typedef struct sd_coll {
  sd_op **op; /* [members] */
  sd_op *first;
  int32_t started, ended;
  void *result; /* of an all-reduce or reduce, made once */
} sd_coll;

/* Sends of one member to another that have no receive yet, or receives that have no send. */
typedef struct sd_pair {
  sd_op *head, *tail;
  int64_t sends, recvs;
} sd_pair;

typedef struct sd_split {
  int32_t *color, *key; /* [members] */
  sd_comm **comm;       /* the new ones */
  sd_job **job;
  int32_t joined;
} sd_split;

struct sd_clique {
  int32_t id, n, joined, finalized;
  char key[NCCL_UNIQUE_ID_BYTES];
  sd_comm **member; /* [n] */
  sd_job **job;     /* [n] of those that still initialise or finalise */
  sd_coll **coll;
  int64_t coll_n, coll_cap;
  sd_pair *pair; /* [n * n], from × to */
  sd_split **split;
  int64_t split_n, split_cap;
  sd_clique *next;
};

struct ncclComm {
  uint32_t mark;
  int32_t index, rank, device, call, blocking, implicit;
  sd_clique *clique; /* NULL: not yet made, of a split */
  ncclResult_t state;
  int64_t colls, splits;
  int32_t outstanding; /* launches issued and not ended */
  int32_t finalized, aborted;
  sd_launch *last;
  sd_comm *next;
  char name[32];
};

/* One communicator's part of a group: one kernel. */
struct sd_launch {
  sd_comm *comm;
  sd_op *ops;
  sd_item **item; /* [streams]; the first one's stream runs it */
  int32_t streams, started, ended;
  sd_launch *before_comm;   /* must have ended */
  sd_launch *before_device; /* must have started (NCCL_LAUNCH_ORDER_IMPLICIT) */
  uint64_t *join, *split;   /* between its streams; NULL: there is one */
  sd_launch *next;          /* of its group */
};

typedef enum { SD_JOB_INIT, SD_JOB_LAUNCH, SD_JOB_FINALIZE } sd_job_kind;

/* What NCCL does behind a call's back, or a blocking call waits for. */
struct sd_job {
  sd_agent agent;
  sd_job_kind kind;
  sd_comm *comm, *parent;
  sd_launch *launches;
  sd_host *waiting;
  int32_t done, call;
  uint64_t *sync; /* what its host had done */
  sd_job *next;   /* of its group */
};

struct sd_group {
  int32_t depth;
  sd_op *first, *last;
  sd_job *jobs; /* that its end waits for */
  int32_t in_progress;
  ncclResult_t error;
};

/* nccl_comm.c */
ncclResult_t sd_nccl_enter(sd_host **h, const char *name, const void *pc);
ncclResult_t sd_comm_check(sd_host *h, const sd_comm *comm, int ready);
void sd_finalize_check(simdev *s, sd_clique *c);
const char *sd_comm_name(const sd_comm *comm, char *text, size_t cap);

/* nccl_job.c */
sd_job *sd_job_make(sd_host *h, sd_job_kind kind, sd_comm *comm);
int sd_job_wait(sd_host *h, sd_job *job); /* -1: the run has ended */
/* The host waits, or the end of its group does, or nobody. */
ncclResult_t sd_job_after(sd_host *h, sd_job *job, int blocking);
void sd_job_ready(simdev *s, sd_job *job);
void sd_job_hurry(simdev *s, const sd_comm *comm); /* NULL: all */

/* nccl_group.c */
sd_group *sd_group_of(sd_host *h); /* made where there is none; NULL: no memory */

/* nccl_launch.c */
void sd_launch_issue(simdev *s, sd_launch *l, uint64_t *in);
void sd_launch_poke(simdev *s, int32_t rank);

/* nccl_data.c */
size_t sd_dtype_bytes(ncclDataType_t t);
/* Reduces [first, first + n) of the members' contributions into to, in an order that the seed
 * chooses, rounding after every addition. */
void sd_reduce(simdev *s, const sd_coll *c, int32_t members, size_t first, size_t n, void *to);

/* nccl_match.c: 0, or -1 after a mismatch was noted. */
int sd_match(simdev *s, sd_op *op);
void sd_op_text(const sd_op *op, char *text, size_t cap);

#endif
