/* plan --check: the planner's theorems, verified on the concrete programs of all ranks.
 *
 * Every rank's programs are generated on their own and streamed past: no rank stands for another.
 * What is kept is bounded: the ledger of the first member of a few groups (regenerated when it was
 * dropped), and the exchanges of the previous stage. */
#ifndef ZP_VERIFY_PLAN_CHECK_H
#define ZP_VERIFY_PLAN_CHECK_H

#include <stdint.h>

#include "../base/error.h"
#include "../comm/block.h"

/* What is verified; the clauses stand in check_names. */
typedef enum zp_check_kind {
  ZP_CHECK_LENGTH = 0, /* programs whose length is zp_rank_program_need */
  ZP_CHECK_CLOCK,      /* clock steps */
  ZP_CHECK_WORLD,      /* ledger entries compared, by group */
  ZP_CHECK_DP,
  ZP_CHECK_EDP,
  ZP_CHECK_TP,
  ZP_CHECK_EP,
  ZP_CHECK_TIED,
  ZP_CHECK_REPLICA,
  ZP_CHECK_P2P,         /* exchanges paired with the neighbour's */
  ZP_CHECK_ADD,         /* runs that tile their entry and lie in their bucket */
  ZP_CHECK_COMPLETE,    /* reductions of a complete bucket, of the right size */
  ZP_CHECK_ONCE,        /* buckets reduced, averaged, updated, gathered once */
  ZP_CHECK_BUCKET_SLOT, /* bucket slots filled only when free */
  ZP_CHECK_ACTIVATION,  /* activation slots taken only when free, at most S - s */
  ZP_CHECK_BUFFERS,     /* stages' activation buffers: the plan's number, what a count of the
                         * schedule gives, and the most in use */
  ZP_CHECK_KINDS
} zp_check_kind;

typedef struct zp_check_job {
  const zp_config *cfg;
  int32_t replicas;              /* R, at least 1; as zp_block_check accepts */
  int32_t fp32_gradients, slots; /* as in zp_hyper */
  int32_t threads;
  double memory_max; /* bytes; with less than it needs, the check is refused. 0: no limit */
  /* Generates a program: zp_rank_program_write, or a test's version of it that makes mistakes. */
  int64_t (*write)(const zp_block_rank *b, const zp_layout *lay, int32_t phase, zp_op *ops,
                   int64_t cap);
  /* The activation buffers of stage s of S: zp_alive, or a test's version of it. */
  int64_t (*alive)(int64_t S, int64_t M, int64_t s);
  /* Called now and then with the number of ranks done; may be NULL. */
  void (*progress)(void *ctx, int64_t done, int64_t all);
  void *ctx;
} zp_check_job;

typedef struct zp_check_result {
  int64_t ranks, ops;
  int64_t count[ZP_CHECK_KINDS];
} zp_check_result;

/* Verifies all ranks of a valid configuration. 0; ZP_E_VERDICT with rank, op, group and program
 * position in *err; ZP_E_MEMORY; ZP_E_REFUSED when a program is too long to be held, when all
 * programs together have more than 2^36 ops, or when more than job->memory_max is needed; it uses
 * fewer threads before. */
int zp_check_all(const zp_check_job *job, zp_check_result *result, zp_error *err);

/* "ledgers of the dp groups are equal (LEDG-2)" */
const char *zp_check_name(int32_t kind);

#endif
