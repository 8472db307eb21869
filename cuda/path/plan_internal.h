/* What the parts of the plan's side share. */
#ifndef ZP_PATH_PLAN_INTERNAL_H
#define ZP_PATH_PLAN_INTERNAL_H

#include "path.h"

/* What pieces of work on different streams share. What one stream alone touches needs no name: its
 * order is the stream's. Flat group k has three more: ZP_ON_FLAT + 3 k + (window, slot 0, 1). */
typedef enum zp_operand {
  ZP_ON_STREAM, /* no operand: one at a time on a stream */
  ZP_ON_LINK,   /* one at a time on a rank's link */
  ZP_ON_HOST,   /* the host waited before it went on */
  ZP_ON_MEMBERS,
  ZP_ON_PARAMS,
  ZP_ON_STATE, /* step count, loss scale, decision */
  ZP_ON_LOSS,
  ZP_ON_ACT_IN, /* by place */
  ZP_ON_ACT_OUT,
  ZP_ON_GRAD_IN,
  ZP_ON_GRAD_OUT,
  ZP_ON_RAW,     /* the caller's gradients, as backward leaves them */
  ZP_ON_BUFFER,  /* the caller's, by producer: what is announced */
  ZP_ON_STAGING, /* by entry */
  ZP_ON_TALLY,   /* the flag of non-finite contributions */
  ZP_ON_FLAT
} zp_operand;

typedef enum zp_mode {
  ZP_READS,
  ZP_WRITES,
  ZP_FLAGS /* atomic: in any order among themselves */
} zp_mode;

typedef struct zp_access {
  int32_t node, chain;
  zp_mode mode;
  int64_t from, to;
} zp_access;

/* Accesses to one operand that later ones may have to wait for. */
typedef struct zp_accesses {
  zp_access *at;
  int64_t n, cap;
} zp_accesses;

/* The programs' walk of one rank. */
typedef struct zp_planner {
  zp_path_plan *p;
  const zp_path_case *c;
  zp_coord at;
  zp_layout lay;
  const zp_op *op;
  int64_t length;
  int32_t rank, step;
  int32_t last[ZP_PATH_PRODUCER + ZP_PATH_PRODUCERS]; /* the newest node of each stream, or -1 */
  int32_t last_comm;                                  /* of the rank's link, or -1 */
  int32_t barrier;     /* the host has waited for this node; -1: for none */
  zp_accesses *access; /* [operands] */
  int32_t operands;
  int64_t *param_at; /* [n_params] of the stage's entries' storage among all of it */
  int64_t arrival;   /* the next announcement */
  int32_t *stream;   /* [n_params] of the current micro-batch's gradients; -1: unused */
  uint8_t *arrived, *kept;
  int64_t next; /* the first ADD or reduction that is not issued */
  int32_t act_slots, no_memory;
} zp_planner;

/* Appends a piece of work to a stream; op NULL: not of an op. */
int32_t zp_plan_put(zp_planner *b, int32_t stream, int32_t what, int64_t pc_or_mb, int32_t param,
                    int32_t part);
/* Appends a communication of the op. */
int32_t zp_plan_put_comm(zp_planner *b, int32_t stream, int64_t pc, int32_t part);
/* The node reads, writes or flags [from, to) of an operand: waits for all that conflicts. */
void zp_plan_touch(zp_planner *b, int32_t node, int32_t operand, zp_mode mode, int64_t from,
                   int64_t to);
/* The work of one step, in the order of issue. 0, or -1: the log is not the program's. */
int zp_plan_step(zp_planner *b);

#endif
