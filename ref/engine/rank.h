/* The rank interpreter: runs one rank's programs and advances until the next communication op.
 *
 * Life of a rank: zp_rank_open; then for each phase zp_rank_begin, zp_rank_advance until it answers
 * ZP_RUN_DONE, and zp_rank_complete for each request that it hands out. A backend (comm_sim,
 * comm_mpi) is the loop around that. The interpreter decides nothing: what is done, in which order
 * and with whom stands in the program. spec: STEP-1 … STEP-9 */
#ifndef ZP_ENGINE_RANK_H
#define ZP_ENGINE_RANK_H

#include <stdint.h>

#include "../base/error.h"
#include "../comm/block.h"
#include "../comm/comm.h"
#include "../plan/program.h"
#include "cursor.h"
#include "hyper.h"
#include "ledger.h"
#include "statistics.h"
#include "store.h"
#include "window.h"
#include "workload.h"

/* Everything a rank holds of one flat group. extent = the shard, at stage 0 the padded flat group;
 * width = 1 (fp32) or ZP_LIMBS (int64), by the reduction; packed: 40 or 12 bytes. */
typedef struct zp_flat_state {
  void *window;  /* stages 0, 1: (padded, width) sums of this rank's micro-batches; those of what
                    it holds become sums over the ranks, in place */
  void *reduced; /* stage 2: (extent, width) what reductions add up to; `exact`: packed: SUM-8 */
  float *mean;   /* stages 0, 1, `exact`: (extent) the reduced gradient, still scaled. Else NULL:
                   means take the place of sums */
  float *master, *moment1, *moment2; /* (extent) */
  int64_t extent;
} zp_flat_state;

/* What a step decided; equal on all ranks. spec: STAT-5, STEP-6 */
typedef struct zp_step_result {
  int64_t step;
  uint32_t loss;     /* fp32 bits of the mean loss; NaN when a loss was not finite */
  uint64_t norm_f64; /* bits of the gradient's norm, unscaled; +inf when the step is skipped */
  uint32_t norm_f32; /* of the reduced gradient as it is, scaled; may overflow to +inf */
  double clip_factor;
  int32_t log2_scale; /* the scale that was multiplied into the loss */
  int32_t skipped;
  int64_t
      nonfinite; /* ranks that saw a value that is not finite (a flag: its size means nothing) */
} zp_step_result;

typedef struct zp_rank zp_rank;

/* Called around every op of a rank when set; tests and injected faults live here, never in the
 * interpreter. before may change the rank and its op copy; after sees the op done. */
typedef struct zp_hook {
  void *ctx;
  void (*before)(void *ctx, zp_rank *r, zp_op *op);
  void (*after)(void *ctx, zp_rank *r, const zp_op *op);
} zp_hook;

typedef struct zp_buffer {
  void *data;
  int64_t bytes; /* capacity */
} zp_buffer;

struct zp_rank {
  const zp_config *cfg;
  const zp_hyper *hyper;
  const zp_workload *work;
  void *inst;
  int32_t rank;
  zp_coord at; /* in cfg; what the rank owns follows from its place in its block */
  zp_block_rank block;
  zp_layout lay; /* of block.cfg */
  zp_op *program[ZP_PHASES];
  int64_t length[ZP_PHASES];
  zp_cursor cursor; /* the position in the program of a phase */
  zp_op current;    /* the op being run (a copy, so that hooks may change it) */
  zp_request request;
  /* model */
  void **param;            /* [n_params of the stage] storage in the precision */
  const void **all_params; /* [cfg->n_params] the same by entry, NULL elsewhere */
  const void **arrived;    /* [n_params of the stage] gradients of the current micro-batch */
  uint8_t *used;           /* [n_params of the stage] declared for the current micro-batch */
  uint8_t *counts;         /* [n_params of the stage] counted here in the statistics (STAT-2) */
  zp_flat_state *flat;     /* [lay.n_flats] */
  /* pipeline */
  int32_t act_slots;
  void **slot; /* [slots] stage 2: (widest) contributions, one bucket each */
  int32_t slots;
  zp_message *act_in;                    /* [act_slots] */
  zp_buffer *act_in_mem;                 /* [act_slots][ZP_MSG_TENSORS] */
  zp_message act_out, grad_in, grad_out; /* to next; from next; to previous */
  zp_buffer act_out_mem[ZP_MSG_TENSORS], grad_in_mem[ZP_MSG_TENSORS], grad_out_mem[ZP_MSG_TENSORS];
  int64_t meta_out[ZP_META_LONGS], meta_in[ZP_META_LONGS];
  /* scratch of one bucket */
  void *scratch_send, *scratch_recv;
  void *partial; /* what a sum over tp sends; with sequence parallelism only */
  /* statistics and state */
  zp_statistics stats; /* of the window so far */
  int64_t stats_out[ZP_STATS], stats_in[ZP_STATS];
  zp_scaler scaler;
  zp_optim_state *optim; /* [cfg->optgroups] */
  int64_t step;
  zp_step_result result;
  zp_ledger_sum ledger[ZP_ALL_GROUPS]; /* by kind; ZP_GROUP_TIED: all keys together */
  zp_ledger_sum *tied_ledger;          /* [cfg->tied_keys] */
  /* outside */
  const zp_hook *hook;
  zp_store *store;
  int64_t store_status_out[1], store_status_in[1];
  zp_error store_error;
  zp_error *unsaved;     /* receives the error of a failed save, after which the rank may continue;
                            NULL: a failed save ends the rank. CKPT-6 */
  int32_t agreed;        /* 1: all ranks know of this failure, by the same op. CKPT-2 */
  zp_train_state loaded; /* what READ found; INSTALL makes it current */
  int32_t unasked;       /* 1: in this micro-batch a gradient arrived twice, or unasked for */
  int32_t twice;         /* the entry that it was said to be for */
  zp_error *err;
  void *arena;
  int64_t limit;       /* the program pauses before work on this micro-batch; 0: it does not */
  uint32_t log_topics; /* of ZP_LOG (log.h) */
};

typedef enum zp_run {
  ZP_RUN_DONE = 0,  /* the program has ended */
  ZP_RUN_COMM = 1,  /* r->request waits to be completed */
  ZP_RUN_ERROR = 2, /* r->err says why; the rank must not go on */
  ZP_RUN_PAUSED = 3 /* before the work of micro-batch r->limit */
} zp_run;

/* A new rank of a valid configuration with its first values (not broadcast yet). cfg, hyper, work
 * and err outlive it. NULL after filling *err. spec: STEP-1 */
zp_rank *zp_rank_open(const zp_config *cfg, const zp_hyper *hyper, const zp_workload *work,
                      int32_t rank, zp_error *err);
void zp_rank_close(zp_rank *r);

/* Starts a phase at its first op; ZP_PHASE_PAUSED: goes on where the program has paused;
 * ZP_PHASE_SEAL: the end of SAVE again, from SEAL on (background.h). SAVE, SEAL and LOAD need
 * r->store. */
enum { ZP_PHASE_PAUSED = -1, ZP_PHASE_SEAL = -2 };
void zp_rank_begin(zp_rank *r, int32_t phase);

/* Runs to the next communication op, the end, or an error (in *r->err). */
zp_run zp_rank_advance(zp_rank *r);

/* Marks the rank's request as completed. Returns 0, or a negative status in *r->err. */
int zp_rank_complete(zp_rank *r);

/* Visits what this rank owns and counts once (of several replicas in block 0) of state `what`
 * (ZP_WHAT_MASTER, _MOMENT1, _MOMENT2; ZP_WHAT_GRADIENT: the reduced gradient of the last step):
 * runs of elements of one entry, tied ones by the name of the key's first entry. */
typedef void (*zp_visit)(void *ctx, int32_t param, int64_t offset, int64_t count,
                         const float *value);
void zp_rank_visit(const zp_rank *r, int32_t what, zp_visit visit, void *ctx);

/* All that this rank's arrays hold of bucket b of flat group k: its part, at stage 0 the whole
 * padded bucket. spec: PART-5 */
zp_range zp_rank_range(const zp_rank *r, int32_t k, int64_t b);

/* The part of bucket b of flat group k that this rank owns in its block. spec: PART-6, TOPO-6 */
zp_range zp_rank_owned(const zp_rank *r, int32_t k, int64_t b);

#endif
