/* A rank's work as data: the programs that the executors run.
 *
 * Four programs a rank: INIT (communicators, first broadcasts), STEP (one optimizer step), SAVE and
 * LOAD. Each is an array of fixed-size ops in the order in which the rank runs them.
 * spec: STEP-1 … STEP-9, LEDG-1 … LEDG-8, PIPE-5 */
#ifndef ZP_PLAN_PROGRAM_H
#define ZP_PLAN_PROGRAM_H

#include <stdint.h>

#include "config.h"
#include "layout.h"
#include "pipeline.h"
#include "topology.h"

typedef enum zp_phase {
  ZP_PHASE_INIT = 0,
  ZP_PHASE_STEP = 1,
  ZP_PHASE_SAVE = 2,
  ZP_PHASE_LOAD = 3,
  ZP_PHASES = 4
} zp_phase;

/* L: local. C: communication of op->group, an entry of that group's ledger. */
typedef enum zp_op_kind {
  ZP_OP_LOAD = 0, /* L: load micro-batch mb's data */
  ZP_OP_FORWARD,  /* L: mb, activation slot */
  ZP_OP_BACKWARD, /* L: mb, activation slot; makes its gradients */
  ZP_OP_ARRIVED,  /* L: gradients arrived = entries used, for mb (STEP-3) */
  ZP_OP_ADD,      /* L: entry param, count elements from offset, into bucket of flat */
  ZP_OP_MEAN,     /* L: bucket: Σ / (D·M), squares and non-finite values counted (STAT-2) */
  ZP_OP_DECIDE,   /* L: skip or step; clip factor (STEP-6) */
  ZP_OP_UPDATE,   /* L: bucket of the shard: optimizer, masters, rounding (STEP-7) */
  ZP_OP_WRITE,    /* L: save this rank's state of a bucket, or a frozen entry */
  ZP_OP_SEAL,     /* L: make this rank's writes durable, or record the failure (CKPT-2) */
  ZP_OP_READ,     /* L: load everything of this rank from the checkpoint */
  ZP_OP_COMMIT,   /* L: rank 0 publishes the checkpoint */
  ZP_OP_INSTALL,  /* L: make the loaded state current; INIT: masters from parameters */
  ZP_OP_FIRST_COMM,
  ZP_OP_META = ZP_OP_FIRST_COMM, /* C pp: shape and dtype of activation before the data */
  ZP_OP_P2P,            /* C pp: grouped send and receive with one neighbour (root: its stage) */
  ZP_OP_REDUCE_SCATTER, /* C dp|edp: bucket */
  ZP_OP_ALL_REDUCE,     /* C: bucket (stage 0: dp|edp; tied), statistics, save/load status */
  ZP_OP_ALL_GATHER,     /* C dp|edp: updated parameters of a bucket */
  ZP_OP_BROADCAST,      /* C: first values of an entry */
  ZP_OP_GATHER,         /* C dp|edp: state of a bucket to root, for saving */
  ZP_OP_CREATE,         /* C world: split off the communicators of kind root (key) */
  ZP_OPS
} zp_op_kind;

typedef enum zp_redop {
  ZP_RED_NONE = 0,
  ZP_RED_ORDERED = 1, /* members' values in index order, fp32 additions (RED-4); result fp32 */
  ZP_RED_EXACT = 2,   /* members' values into integer limbs (RED-5); result limbs */
  ZP_RED_SUM = 3      /* int64 addition */
} zp_redop;

/* The subject of an all-reduce or a bucket op. */
typedef enum zp_what {
  ZP_WHAT_NONE = 0,
  ZP_WHAT_GRADIENT,
  ZP_WHAT_TIED,
  ZP_WHAT_STATISTICS,
  ZP_WHAT_STATUS,
  ZP_WHAT_PARAMETER,
  ZP_WHAT_MASTER,
  ZP_WHAT_MOMENT1,
  ZP_WHAT_MOMENT2,
  ZP_WHAT_COMMUNICATOR,
  ZP_WHAT_ACTIVATION, /* P2P with the next stage: sends activations, receives their gradients */
  ZP_WHAT_ACTIVATION_GRADIENT, /* P2P with the previous stage: receives and sends the reverse */
  ZP_WHAT_PARTIAL,             /* sum over tp of a bucket's tp-replicated entries (RED-8) */
  ZP_WHATS
} zp_what;

/* One op. Unused fields are -1 (ids, micro-batches) or 0 (counts). The clock (clock_t, clock_i)
 * strictly increases along a program and is the same for all participants of one communication
 * (PIPE-5). */
typedef struct zp_op {
  int32_t kind;       /* zp_op_kind */
  int32_t what;       /* zp_what */
  int32_t group;      /* zp_group of a communication, else -1 */
  int32_t key;        /* tied key of ZP_GROUP_TIED, else -1 */
  int32_t dtype;      /* zp_dtype of the data sent, else -1 */
  int32_t redop;      /* zp_redop */
  int32_t root;       /* index in the group: broadcast, gather; P2P, META: the neighbour's index;
                    CREATE: the zp_group that is made; else -1 */
  int32_t flat;       /* flat group of the stage, or -1 */
  int32_t param;      /* entry, or -1 */
  int32_t slot;       /* activation slot, bucket slot (stage 2), or -1 */
  int32_t if_stepped; /* 1: omitted when the step is skipped (STEP-6) */
  int64_t mb;         /* micro-batch computed, added, reduced, or sent (P2P, META), or -1 */
  int64_t recv_mb;    /* micro-batch received (P2P, META), or -1 */
  int64_t bucket;     /* of flat, or -1 */
  int64_t offset;     /* ADD: first element in the entry */
  int64_t count;      /* elements: of one part (reduce-scatter, all-gather, gather), of the whole
                      message otherwise; 0 where the micro-batch decides it (P2P, META) */
  int64_t clock_t, clock_i;
} zp_op;

/* Elements of the statistics vector: squares' limbs, loss limbs, two counts, and the words from
 * which ranks know whether their hyperparameters are equal (ref/num/agree.h).
 * spec: STAT-1, STAT-6 */
enum {
  ZP_STAT_SQUARES = 0,
  ZP_STAT_LOSS = 20,
  ZP_STAT_NONFINITE = 29,
  ZP_STAT_BAD_LOSS = 30,
  ZP_STAT_AGREE = 31,
  ZP_STATS = 47
};
/* int64 limbs of one element of an exact sum of values. spec: SUM-5 */
enum { ZP_LIMBS = 9 };

#include "../../spec/acsl/ledger.h"

#include "../../spec/acsl/init_save.h"

#include "../../spec/acsl/step_program.h"

#include "../../spec/acsl/step_tail_fold.h"

#include "../../spec/acsl/step_fold.h"

#include "../../spec/acsl/step_where.h"

#include "../../spec/acsl/op_of.h"

/* 1 if entry j has storage of its own on its stage. Only further uses of a tied key on the same
 * stage have none: they share the storage of the key's last entry there. j must be an entry of a
 * valid configuration. spec: TIE-2 */
/*@ requires cfg: Readable(cfg) && Valid(cfg);
    requires entry: 0 <= j < cfg->n_params;
    terminates \true; exits \false;
    assigns \nothing;
    ensures holds: \result == Holds(cfg, j);
    ensures bit: \result == 0 || \result == 1; */
int32_t zp_param_holds(const zp_config *cfg, int32_t j);

/* The exact number of ops of the rank at `at`. lay must be the layout of stage at.pp of the valid
 * configuration cfg, `at` must lie within the topology, and `phase` must be one of zp_phase.
 * spec: LEDG-8 */
/*@ requires cfg: Readable(cfg) && Valid(cfg);
    requires lay: ReadableLayout(lay) && LayoutOf(cfg, at.pp, lay);
    requires phase: 0 <= phase < ZP_PHASES;
    requires at: 0 <= at.pp < cfg->pp && 0 <= at.dp < cfg->dp && 0 <= at.tp < cfg->tp;
    terminates \true; exits \false;
    assigns \nothing;
    ensures length: 0 <= \result;
    ensures init: phase == ZP_PHASE_INIT ==>
        \result == InitNeed(cfg, lay->stage, lay->first_param, lay->n_params);
    ensures step: phase == ZP_PHASE_STEP ==> \result == StepNeed(cfg, lay);
    ensures save: phase == ZP_PHASE_SAVE ==> \result == SaveNeed(cfg, lay, at.dp, at.tp);
    ensures load: phase == ZP_PHASE_LOAD ==> \result == 3; */
int64_t zp_program_need(const zp_config *cfg, const zp_layout *lay, int32_t phase, zp_coord at);

/* Writes the program of the rank at `at` for `phase` into ops[0 .. need-1], where need is as above.
 * lay must be the layout of stage at.pp of the valid configuration cfg, `at` must lie within the
 * topology, `phase` must be one of zp_phase, and ops must have room for cap ops. ops, configuration
 * and layout must not overlap. Returns the number of ops, or -1 if cap < need (ops is then
 * untouched).
 * spec: STEP-2, LEDG-1 … LEDG-8, PIPE-3, PIPE-5, RED-3 */
/*@ requires cfg: Readable(cfg) && Valid(cfg);
    requires lay: ReadableLayout(lay) && LayoutOf(cfg, at.pp, lay);
    requires phase: 0 <= phase < ZP_PHASES;
    requires at: 0 <= at.pp < cfg->pp && 0 <= at.dp < cfg->dp && 0 <= at.tp < cfg->tp;
    requires ops: 0 <= cap && \valid(ops + (0 .. cap - 1));
    requires apart: \separated(ops + (0 .. cap - 1), cfg, lay,
        cfg->params + (0 .. cfg->n_params - 1), lay->flat + (0 .. lay->n_flats - 1),
        lay->spot + (0 .. lay->n_params - 1));
    terminates \true; exits \false;
    assigns ops[0 .. cap - 1];
    ensures written: \result == -1 || 0 <= \result <= cap;
    ensures refused: \result == -1 ==> SameOps{Pre,Post}(ops, cap);
    ensures init: phase == ZP_PHASE_INIT ==> \result ==
        (InitNeed{Pre}(cfg, \old(lay->stage), \old(lay->first_param), \old(lay->n_params)) <= cap ?
         InitNeed{Pre}(cfg, \old(lay->stage), \old(lay->first_param), \old(lay->n_params)) : -1);
    ensures step: phase == ZP_PHASE_STEP ==> \result ==
        (StepNeed{Pre}(cfg, lay) <= cap ? StepNeed{Pre}(cfg, lay) : -1);
    ensures save: phase == ZP_PHASE_SAVE ==> \result ==
        (SaveNeed{Pre}(cfg, lay, at.dp, at.tp) <= cap ? SaveNeed{Pre}(cfg, lay, at.dp, at.tp) : -1);
    ensures load: phase == ZP_PHASE_LOAD ==> \result == (3 <= cap ? 3 : -1);
    ensures op_of: 0 <= \result ==>
        OpsOf{Pre,Post}(ops, \result, cfg, lay, phase, at.dp, at.tp);
    ensures clock: 0 <= \result ==> Increasing(ops, \result);
    ensures init_ledger: phase == ZP_PHASE_INIT && 0 <= \result ==>
        \forall integer g, key, stepped; HasLedger(g) ==>
          LedgerOf(ops, \result, g, key, stepped) == InitLedger{Pre}(cfg, \old(lay->stage),
            \old(lay->first_param), \old(lay->n_params), g, key);
    ensures step_ledger: phase == ZP_PHASE_STEP && 0 <= \result ==>
        \forall integer g, key, stepped; HasLedger(g) ==>
          LedgerOf(ops, \result, g, key, stepped) == StepLedger{Pre}(cfg, lay, g, key, stepped);
    ensures step_links: phase == ZP_PHASE_STEP && 0 <= \result ==> \forall integer peer;
        LinkOf(ops, \result, peer) == StepLink{Pre}(cfg, at.pp, peer);
    ensures no_links: phase != ZP_PHASE_STEP && 0 <= \result ==> \forall integer peer;
        LinkOf(ops, \result, peer) == Nothing;
    ensures step_added: phase == ZP_PHASE_STEP && 0 <= \result ==>
        \forall integer p, m, e, k, b; Added(ops, \result, p, m, e, k, b) ==
          StepAdded{Pre}(cfg, at.pp, p, m, e, k, b);
    ensures step_reduced: phase == ZP_PHASE_STEP && 0 <= \result ==>
        \forall integer k, b, m; Reduced(ops, \result, k, b, m) ==
          StepReduced{Pre}(cfg, at.pp, k, b, m);
    ensures step_decided: phase == ZP_PHASE_STEP && 0 <= \result ==>
        DecidedAt(ops, \result, StepDecides{Pre}(cfg, lay));
    ensures step_gradients: phase == ZP_PHASE_STEP && 0 <= \result ==>
        GradientOps{Pre,Post}(cfg, lay, ops, 0, \result);
    ensures save_ledger: phase == ZP_PHASE_SAVE && 0 <= \result ==>
        \forall integer g, key, stepped; HasLedger(g) ==>
          LedgerOf(ops, \result, g, key, stepped) == SaveLedger{Pre}(cfg, lay, g);
    ensures load_ledger: phase == ZP_PHASE_LOAD && 0 <= \result ==>
        \forall integer g, key, stepped; HasLedger(g) ==>
          LedgerOf(ops, \result, g, key, stepped) == LoadLedger(g); */
int64_t zp_program_write(const zp_config *cfg, const zp_layout *lay, int32_t phase, zp_coord at,
                         zp_op *ops, int64_t cap);

#endif
