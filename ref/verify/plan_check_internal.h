/* The parts of the checker: plan_check.c (threads, order of ranks), plan_check_ledger.c (groups and
 * neighbours), plan_check_local.c (one program on its own), plan_check_report.c. */
#ifndef ZP_VERIFY_PLAN_CHECK_INTERNAL_H
#define ZP_VERIFY_PLAN_CHECK_INTERNAL_H

#include "../comm/comm.h"
#include "plan_check.h"

/* For how many ops a ledger has room at first. */
enum { ZP_CHECK_LEDGER_OPS = 8 };

/* The ledger of one group's first member in one phase. first: that rank, -1 when empty. */
typedef struct ledger {
  int32_t first;
  int64_t n, cap;
  zp_op *op;
} ledger;

/* Where a rank's stream of ops stands in one of its groups. */
typedef struct channel {
  int32_t group, key;
  ledger *ref;  /* NULL: a group of one, nothing to compare */
  int32_t self; /* this rank is the first member: it fills ref */
  int64_t pos;
} channel;

typedef struct bucket_state {
  int64_t filled;  /* elements added and not reduced yet */
  int32_t reduced; /* reductions */
  int32_t replica, tied, partial, mean, updated, gathered;
} bucket_state;

/* One stage as every one of its ranks sees it. */
typedef struct stage_info {
  zp_layout lay;
  int64_t *first_bucket; /* [n_flats + 1] place of a flat group's buckets among the stage's */
  int64_t *numel;        /* [entries] */
  int32_t trainable;     /* entries with elements that are not frozen */
  int32_t *tied;         /* keys held here */
  int32_t n_tied;
} stage_info;

/* The activation buffers that stage s needs, by a count of its own. spec: PIPE-4 */
int64_t zp_check_activations(int64_t stages, int64_t micro_batches, int64_t s);

/* Everything of one thread. */
typedef struct checker {
  const zp_check_job *job;
  const zp_config *cfg; /* of the job */
  zp_check_result *result;
  zp_error *err;
  stage_info *stage;    /* [pp], shared and read-only */
  zp_op *ops, *ref_ops; /* [cap_ops] the program at hand; a first member's, when regenerated */
  int64_t cap_ops;
  ledger *cache[ZP_PHASES][ZP_ALL_GROUPS];
  int32_t slots; /* of each cache */
  channel *channel;
  int32_t n_channels, cap_channels;
  int32_t *tied_channel; /* [tied_keys] */
  /* exchanges of the previous stage with this one */
  zp_op *up, *up_new;
  int64_t n_up, n_up_new, cap_up, cap_up_new, up_pos;
  /* one program on its own */
  bucket_state *bucket;
  int64_t *next;    /* [entries of the stage] elements of it added in this micro-batch */
  int64_t *next_mb; /* [the same] the micro-batch that `next` speaks of */
  int64_t *slot_of; /* [slots] mb · buckets + bucket in the slot, of all flat groups; or -1 */
  int64_t *act;     /* [activation slots] micro-batch held, or -1 */
  /* position, for reports */
  int32_t phase, rank;
  zp_coord at;
  zp_block_rank block; /* of rank */
} checker;

/* plan_check_report.c: fills *err with the violation at op pc of the program at hand; returns
 * ZP_E_VERDICT. */
int zp_check_violation(checker *c, int32_t kind, const zp_op *op, int64_t pc, const char *format,
                       ...) __attribute__((format(printf, 5, 6)));

/* plan_check_ledger.c: called around and for every communication op of the program at hand. */
int zp_check_channels_begin(checker *c);
int zp_check_channel_op(checker *c, const zp_op *op, int64_t pc);
int zp_check_channels_end(checker *c);

/* plan_check_local.c: one STEP program on its own. */
int zp_check_step(checker *c, const zp_op *ops, int64_t n);

#endif
