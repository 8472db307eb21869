/* NCCL's objects: operations, communicators, launches, jobs, groups. */
#ifndef ZP_SIMDEV_NCCL_TYPES_H
#define ZP_SIMDEV_NCCL_TYPES_H
#include <nccl.h>

#include "state.h"

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
  int32_t peer; /* or root; -1: neither */
  sd_comm *comm;
  sd_stream *stream;
  int32_t call;
  int64_t tag;
  const void *pc;
  int64_t number;   /* of the communicator's collectives; of the pair's sends or receives */
  int32_t together; /* collectives of this communicator in its group */
  int32_t connects; /* the communicator's first collective of its kind, the first of a pair */
  sd_launch *launch;
  sd_op *next;    /* of its group, then of its launch */
  sd_op *partner; /* a send's receive and the other way round */
  sd_op *pair_next;
  struct sd_coll *coll;
  void *staging; /* its contribution, from the start of its launch */
  int32_t started, early, over;
  uint64_t *sync; /* released when it has contributed */
};

/* The members' operations with the same number. */
typedef struct sd_coll {
  sd_op **op; /* [members] */
  sd_op *first;
  int32_t started, ended;
  void *result; /* of an all-reduce or reduce, computed once */
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
  sd_job **job;     /* [n] of members that initialize or finalize */
  sd_coll **coll;   /* [coll_n] from number coll_first; NULL: all members have ended it */
  int64_t coll_first, coll_n, coll_cap;
  sd_pair *pair; /* [n * n], from × to */
  sd_split **split;
  int64_t split_n, split_cap;
  sd_clique *next;
};

struct ncclComm {
  uint32_t mark;
  int32_t index, rank, device, call, blocking, implicit;
  sd_clique *clique; /* NULL: a split has not made it yet */
  ncclResult_t state;
  int64_t colls, splits;
  uint32_t kinds;      /* of the collectives so far: bit 1 << sd_op_kind */
  int32_t outstanding; /* launches issued and not ended */
  int32_t finalized, aborted;
  sd_launch *last;
  sd_comm *next;
  char name[32];
};

/* The operations of one communicator in a group: one kernel. */
struct sd_launch {
  sd_comm *comm;
  sd_op *ops;
  sd_item **item; /* [streams]; the first one's stream runs it */
  int32_t streams, started, ended;
  int32_t holds; /* until it ends; of each operation whose data a member may need; of others */
  sd_launch *before_comm;   /* must have ended */
  sd_launch *before_device; /* must have started (NCCL_LAUNCH_ORDER_IMPLICIT) */
  uint64_t *join, *split;   /* between its streams; NULL: there is only one */
  sd_launch *next;          /* of its group */
};

typedef enum { SD_JOB_INIT, SD_JOB_LAUNCH, SD_JOB_FINALIZE } sd_job_kind;

/* Work of NCCL that a non-blocking call leaves to do later, or that a blocking call waits for. */
struct sd_job {
  sd_agent agent;
  sd_job_kind kind;
  sd_comm *comm, *parent;
  sd_launch *launches;
  sd_host *waiting;
  int32_t done, call;
  uint64_t *sync; /* the work of its host before it */
  sd_job *next;   /* of its group, or of the jobs that wait for the same */
};

struct sd_group {
  int32_t depth;
  sd_op *first, *last;
  sd_job *jobs; /* that its end waits for */
  int32_t in_progress;
  ncclResult_t error;
};

/* A rank's process. */
typedef struct sd_nccl_rank {
  int32_t variables_read;  /* NCCL has read its environment variables … */
  int32_t implicit;        /* … and NCCL_LAUNCH_ORDER_IMPLICIT was set */
  int32_t *running;        /* [devices] communication kernels */
  sd_launch **last_launch; /* [devices] for NCCL_LAUNCH_ORDER_IMPLICIT */
} sd_nccl_rank;

/* Of a run; made by its first NCCL call. */
struct sd_nccl {
  sd_nccl_rank *rank; /* [ranks] */
  sd_comm *comms;     /* newest first */
  sd_clique *cliques;
  int32_t clique_count;
  sd_job *deferred_jobs, *connecting_jobs;
};

#endif
