/* The critical path of the CUDA twin: what the plan demands, and what a run did.
 *
 * From the configuration, the ranks' programs and the order of the announcements alone, `plan`
 * makes the dependences between the pieces of device work: a piece waits for who made what it
 * reads, and for who still uses what it overwrites; each stream does one piece at a time, and the
 * link of a rank one communication at a time, in the program's order; a communication begins when
 * all its members have come to it, and ends for all at once. The longest path through that graph is
 * the bound: no executor of the program on these streams can be faster.
 *
 * From simdev's record of a run, `run` makes the graph of what was ordered there. zp_path_check
 * compares: what the plan demands must be ordered (else there is a race), what is ordered must be
 * demanded (else it waits for nothing), and under any costs everything ends when the bound says.
 * cuda/path/README.md says what the model holds, and what it leaves out. spec: STEP-2, PIPE-5 */
#ifndef ZP_PATH_PATH_H
#define ZP_PATH_PATH_H

#include "../../ref/plan/program.h"
#include "graph.h"

enum { ZP_PATH_TEXT = 1024, ZP_PATH_NAME = 160, ZP_PATH_PRODUCERS = 16, ZP_PATH_JOINTS = 4096 };

/* A gradient was announced: on the caller's producer stream 0, 1, …; -1: as unused. */
typedef struct zp_path_arrival {
  int32_t step, param, stream;
  int64_t mb;
} zp_path_arrival;

/* A rank's announcements in their order. Zeroed, it is empty. */
typedef struct zp_path_log {
  zp_path_arrival *at;
  int64_t n, cap;
  int32_t no_memory;
} zp_path_log;

void zp_path_announced(zp_path_log *l, int32_t step, int64_t mb, int32_t param, int32_t stream);
void zp_path_log_free(zp_path_log *l);

/* Who a piece of work belongs to, as simdev's records carry it (simdev_tag). ZP_PATH_OP: position
 * in the program of STEP; else micro-batch and entry, ZP_PATH_GET: 0, ZP_PATH_REST: entry 0. Work before step 0 has 0. */
typedef enum zp_path_what {
  ZP_PATH_OP = 1,
  ZP_PATH_COPY, /* the caller's: its gradient into the buffer that is announced */
  ZP_PATH_KEEP, /* the engine's: a gradient that came before its turn, set aside */
  ZP_PATH_SET,  /* the caller's: overwrites the buffer, which is its again */
  ZP_PATH_GET,  /* the state, copied to the host, which waits for it */
  ZP_PATH_REST  /* the caller's: what backward does behind its gradients */
} zp_path_what;
int64_t zp_path_tag(int32_t what, int32_t step, int64_t position_or_mb, int32_t param);

typedef struct zp_path_case {
  const zp_config *cfg;
  int32_t steps;
  int32_t native;         /* 1: NCCL adds between ranks and stages (RED-7) */
  int32_t launch_order;   /* 1: NCCL keeps the order of communications, the engine adds no event */
  const zp_path_log *log; /* [world] */
  const uint8_t *get;     /* [steps] 1: the host waits for the state behind the step */
  int32_t rest;           /* 1: backward goes on when its gradients are there (ZP_PATH_REST) */
  int32_t sets;           /* of buffers for what backward leaves, in turns by micro-batch */
} zp_path_case;

/* Streams of a rank. */
enum { ZP_PATH_COMPUTE, ZP_PATH_REDUCE, ZP_PATH_P2P, ZP_PATH_PRODUCER };

/* A piece of device work, or (chain -1) what all members of a communication do together. */
typedef struct zp_path_node {
  int32_t rank, chain, step;
  int32_t part;  /* of the work of its tag: 0 kernels, 1 the first communication, 2 kernels … */
  int32_t joint; /* a communication's: the node of all members, else -1 */
  int32_t next;  /* joint nodes: the next one of the same hash, or -1 */
  int32_t param;
  int64_t tag, pc, mb;
  int32_t what, kind; /* zp_path_what; of an op: zp_op_kind */
} zp_path_node;

/* The plan's graph. Vertex i is node[i]; an edge's `why` is for zp_path_why. */
typedef struct zp_path_plan {
  const zp_config *cfg;
  int32_t world, streams; /* streams of a rank: 3 and its producers */
  zp_path_node *node;     /* [graph.n] */
  int32_t cap;
  zp_graph graph;
  zp_op **program; /* [world] of STEP */
  int64_t *length;
  int32_t *joints; /* [ZP_PATH_JOINTS] the newest joint node of each hash, or -1 */
} zp_path_plan;

/* NULL: text says why. The case must outlive it. */
zp_path_plan *zp_path_plan_open(const zp_path_case *c, char *text, int64_t cap);
void zp_path_plan_close(zp_path_plan *p);

/* What each node costs: by its kind; from a seed other than 0 by that and at random. cost: [n] */
void zp_path_costs(const zp_path_plan *p, uint64_t seed, int64_t *cost);

/* "rank 1, step 0: add entry 3, bucket 1 of flat group 0, slot 1, micro-batch 2" */
void zp_path_node_text(const zp_path_plan *p, int32_t node, char *text, int64_t cap);
/* "slot 1 of flat group 0": what two nodes share that an edge with this `why` lies between. */
void zp_path_why(int32_t why, char *text, int64_t cap);

#endif
