/* The check that a run of the CUDA engine ordered what the plan demands, and its critical path.
 *
 * The plan's graph is made from the configuration, the ranks' programs and the order of the
 * announcements. A piece of device work depends on the work that wrote what it reads, and on the
 * work that uses what it overwrites. Each stream executes one piece at a time, and the link of a
 * rank one communication at a time, in the program's order. A communication begins when all its
 * members have reached it, and ends for all at once. The longest path through that graph is a lower
 * bound: no executor of the program on these streams can be faster.
 *
 * The run's graph is made from simdev's record of a run. zp_hb_check compares the two: each demand
 * of the plan must be ordered in the run (else there is a race), each order of the run must be
 * demanded (else a wait is redundant), and under any costs all work must end when the bound says.
 * cuda/happens_before/README.md describes the model and its limits. spec: STEP-2, PIPE-5 */
#ifndef ZP_HAPPENS_BEFORE_H
#define ZP_HAPPENS_BEFORE_H

#include "../../ref/plan/program.h"
#include "graph.h"

enum { ZP_HB_TEXT = 1024, ZP_HB_NAME = 160, ZP_HB_PRODUCERS = 16, ZP_HB_JOINTS = 4096 };

/* An announced gradient. stream: the caller's producer stream 0, 1, …; -1: announced as unused.
 * in_place: 1: it was written where it is added (PART-8), and announced in its turn. */
typedef struct zp_hb_announcement {
  int32_t step, param, stream, in_place;
  int64_t mb;
} zp_hb_announcement;

/* A rank's announcements in their order. Zeroed, it is empty. */
typedef struct zp_hb_log {
  zp_hb_announcement *at;
  int64_t n, cap;
  int32_t no_memory;
} zp_hb_log;

void zp_hb_log_add(zp_hb_log *l, zp_hb_announcement a);
void zp_hb_log_free(zp_hb_log *l);

/* What a piece of work is for; with the position it makes the tag of simdev's records (simdev_tag).
 * Position: for ZP_HB_OP in the program of STEP; else micro-batch and entry, with 0 for both in
 * ZP_HB_GET, and entry 0 in ZP_HB_REST. Work before step 0 has the tag 0. */
typedef enum zp_hb_work {
  ZP_HB_OP = 1,
  ZP_HB_COPY,  /* by the caller: copies its gradient into the buffer, or where it is added */
  ZP_HB_STAGE, /* by the engine: stages a gradient that was announced before its turn */
  ZP_HB_REUSE, /* by the caller: overwrites the buffer after the announcement */
  ZP_HB_GET,   /* copies the state to the host, which waits for it */
  ZP_HB_REST,  /* by the caller: the part of backward after its gradients */
  ZP_HB_PIECE, /* by the caller: the part of backward that makes the entry's gradient */
  ZP_HB_READ,  /* by the caller, with partial_gather: the part of forward that needs the entry
                * first, before the rest of it */
  ZP_HB_STATE  /* the same: before all entries it reads the step's state */
} zp_hb_work;
int64_t zp_hb_tag(int32_t what, int32_t step, int64_t position_or_mb, int32_t param);

typedef struct zp_hb_case {
  const zp_config *cfg; /* entries have their flat sizes (PART-2) */
  const zp_param *own;  /* [cfg->n_params] with the sizes of gradients; NULL: the same */
  int32_t replicas;     /* R, at least 1 */
  int32_t steps;
  int32_t slots;          /* as in zp_hyper */
  int32_t native;         /* 1: NCCL adds between ranks and stages (RED-7) */
  int32_t fp32_gradients; /* 1: gradients are fp32 (RED-1) */
  int32_t launch_order;   /* 1: NCCL keeps the order of communications, the engine adds no event */
  const zp_hb_log *log;   /* [world]; NULL with `gradual`: all entries, in the program's order */
  const uint8_t *get;     /* [steps] 1: the host waits for the state after the step */
  int64_t early_bytes;    /* as in zp_cuda_options */
  int32_t rest;           /* 1: backward continues after its gradients (ZP_HB_REST) */
  int32_t sets;           /* sets of gradient buffers that micro-batches use in turn */
  int32_t offload;        /* 1: the host updates (OPT-5) */
  /* 1: backward makes one gradient after the other on the compute stream (ZP_HB_PIECE), and
   * announces each there before it makes the next; it ends with ZP_HB_REST */
  int32_t gradual;
  /* 1: gathers run on their own stream, and the first micro-batch's forward reads the trained
   * entries one after the other (ZP_HB_READ) */
  int32_t partial;
  /* 1: of each stage only the first rank, which stands for all: they do the same work at the same
   * time. Node ranks are then stages; zp_hb_demands cannot be asked. */
  int32_t stages;
} zp_hb_case;

/* Streams of a rank; with partial_gather that of its gathers, with offload those of its copies and
 * its host; then the producers. */
enum {
  ZP_HB_COMPUTE,
  ZP_HB_REDUCE,
  ZP_HB_P2P,
  ZP_HB_GATHER,
  ZP_HB_COPIES,
  ZP_HB_HOST,
  ZP_HB_STREAMS
};

/* Parts of an op's work that are not on the stream of its kernels: copies to or from the host, and
 * an update by the host. */
enum { ZP_HB_TRANSFER = 8, ZP_HB_HOST_UPDATE };

/* A piece of device work; or, with chain -1, a communication as the joint work of its members. */
typedef struct zp_hb_node {
  int32_t rank, chain, step;
  int32_t part;  /* within its tag: 0 kernels, 1 the first communication, 2 kernels …, or
                  * ZP_HB_TRANSFER … */
  int32_t joint; /* of a communication: the node of all members, else -1 */
  int32_t next;  /* joint nodes: the next one of the same hash, or -1 */
  int32_t param;
  int64_t tag, pc, mb;
  int32_t what, kind; /* zp_hb_work; of an op: zp_op_kind */
} zp_hb_node;

/* The plan's graph. Vertex i is node[i]; an edge's `why` is for zp_hb_operand_text. */
typedef struct zp_hb_plan {
  const zp_config *cfg;
  int32_t replicas, stages; /* as in the case */
  int32_t world, streams;   /* ranks of the graph; streams of a rank, with its producers */
  int32_t producer;         /* the stream of a rank's first producer */
  zp_hb_node *node;         /* [graph.n] */
  int32_t cap;
  zp_hb_graph graph;
  zp_op **program; /* [world] of STEP */
  int64_t *length;
  int32_t *joints; /* [ZP_HB_JOINTS] the newest joint node of each hash, or -1 */
} zp_hb_plan;

/* The rank of the topology that rank i of the graph is. */
static inline int32_t zp_hb_rank_of(const zp_hb_plan *p, int32_t i)
{
  return p->stages ? zp_rank_of(p->cfg, (zp_coord){.pp = i}) : i;
}

/* NULL after filling text. The case must outlive the plan. */
zp_hb_plan *zp_hb_plan_open(const zp_hb_case *c, char *text, int64_t cap);
void zp_hb_plan_close(zp_hb_plan *p);

/* The cost of each node: by its kind with seed 0, else random by kind and node. cost: [n] */
void zp_hb_costs(const zp_hb_plan *p, uint64_t seed, int64_t *cost);

/* "rank 1, step 0: add entry 3, bucket 1 of flat group 0, slot 1, micro-batch 2" */
void zp_hb_node_text(const zp_hb_plan *p, int32_t node, char *text, int64_t cap);
/* "slot 1 of flat group 0": what the two nodes of an edge with this `why` share. */
void zp_hb_operand_text(int32_t why, char *text, int64_t cap);

#endif
