/* The walk through a rank's programs that makes the plan's graph. */
#ifndef ZP_HAPPENS_BEFORE_PROGRAM_WALK_H
#define ZP_HAPPENS_BEFORE_PROGRAM_WALK_H

#include "../../ref/comm/block.h"
#include "../../ref/engine/early.h"
#include "happens_before.h"
#include "operand.h"

typedef enum zp_mode {
  ZP_READS,
  ZP_WRITES,
  ZP_FLAGS /* atomically sets a flag: in any order with other such accesses */
} zp_mode;

typedef struct zp_access {
  int32_t node, chain;
  zp_mode mode;
  int64_t from, to;
} zp_access;

/* The accesses to one operand that later accesses may have to wait for. */
typedef struct zp_accesses {
  zp_access *at;
  int64_t n, cap;
} zp_accesses;

/* The state of the walk. */
typedef struct zp_hb_walk {
  zp_hb_plan *p;
  const zp_hb_case *c;
  zp_coord at;
  zp_block_rank block;
  zp_layout lay;
  const zp_op *op;
  int64_t length;
  int32_t rank, step;
  int32_t last[ZP_HB_STREAMS + ZP_HB_PRODUCERS]; /* the newest node of each stream, or -1 */
  int32_t last_comm;                             /* of the rank's link, or -1 */
  int32_t barrier;     /* the host has waited for this node; -1: it has not waited */
  zp_accesses *access; /* [operands] */
  int32_t operands;
  int64_t *param_at; /* [n_params] where each entry begins in the stage's storage */
  int64_t arrival;   /* the next announcement */
  int32_t *stream;   /* [n_params] producer stream of the current micro-batch's gradients; -1:
                      * unused */
  zp_early early;    /* places of gradients before their turn */
  uint8_t *arrived, *staged, *in_place; /* [n_params] of the current micro-batch's gradients */
  int64_t next;                         /* the first ADD or reduction that is not issued */
  uint8_t *is_last;                     /* [length] 1: a bucket's last sum; its mean follows */
  int64_t *mean;                        /* [n_flats] the position of bucket 0's mean, or -1 */
  int32_t decision;                     /* offload: the copy of the step's decision, or -1 */
  int64_t updates, landed; /* buckets that the rank updates; of the step, copied to a landing */
  int32_t act_slots, no_memory;
} zp_hb_walk;

/* Appends a piece of work to a stream. */
int32_t zp_hb_add_work(zp_hb_walk *b, int32_t stream, int32_t what, int64_t pc_or_mb, int32_t param,
                       int32_t part);
/* Appends a communication of an op to a stream. */
int32_t zp_hb_add_comm(zp_hb_walk *b, int32_t stream, int64_t pc, int32_t part);
/* The node accesses [from, to) of an operand: it depends on all earlier accesses that conflict. */
void zp_hb_access(zp_hb_walk *b, int32_t node, int32_t operand, zp_mode mode, int64_t from,
                  int64_t to);
/* Adds the work of one step, in the order of issue. 0, or -1: the log does not match the
 * program. */
int zp_hb_walk_step(zp_hb_walk *b);

#endif
