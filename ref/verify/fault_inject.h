/* Injects a fault into ref: into the programs after planning, or into a rank through its hook.
 * Product code contains none of it. */
#ifndef ZP_VERIFY_FAULT_INJECT_H
#define ZP_VERIFY_FAULT_INJECT_H

#include <stddef.h>
#include <stdint.h>

#include "../comm/sim/comm_sim.h"
#include "../engine/rank_query.h"
#include "fault.h"

struct zp_fault_state;

typedef struct zp_ref_fault {
  zp_fault fault;
  void (*inject)(struct zp_fault_state *f); /* once, before INIT; may be NULL */
  void (*before)(void *f, zp_rank *r, zp_op *op);
  void (*after)(void *f, zp_rank *r, const zp_op *op);
} zp_ref_fault;

enum { ZP_FAULT_BLOCKS = 4096, ZP_FAULT_RANKS = 64 };

/* An injected fault. */
typedef struct zp_fault_state {
  const zp_ref_fault *fault;
  zp_sim *sim;
  zp_hook hook;
  int32_t blocks;
  void *block[ZP_FAULT_BLOCKS]; /* freed with the case */
  zp_sumsq squares;             /* as they were before an op */
  const void *arrived;          /* likewise */
  int32_t taken, no_memory;
  int32_t start_same;   /* 1: of an observed run whose ranks have equal first values (backend.h) */
  int32_t scale_absent; /* 1: of an observed run whose case has no loss scale (backend.h) */
  int32_t no_experts;   /* 1: of an observed run whose sharded entries are no experts */
  int32_t cp;           /* of an observed run: context-parallel ranks; 0: not said */
  int64_t nonfinite;    /* as they were before an op */
  int64_t step;         /* in which `taken` was cleared; -1: none */
  zp_scaler scaler;
  int32_t *kept[ZP_FAULT_RANKS]; /* by rank: what was sent last, or the sums before an op */
} zp_fault_state;

/* fault: one of ref's (ref_fault.h). */
static inline const zp_ref_fault *zp_ref_fault_of(const zp_fault *fault)
{
  return (const zp_ref_fault *)fault;
}

void zp_fault_clear(zp_fault_state *f);
/* Before INIT. Sets the hook of all ranks, where the fault has one. 0, or -1 without memory. */
int zp_fault_inject(zp_fault_state *f, const zp_fault *fault, zp_sim *sim);
void zp_fault_free(zp_fault_state *f);

/* For the faults: memory that is freed with the case, or NULL. */
void *zp_fault_alloc(zp_fault_state *f, int64_t bytes);

/* Fails the rank, in a hook. */
void zp_fault_no_memory(zp_rank *r);

/* Replaces a rank's program of a phase by an empty one of room for `more` further ops, and returns
 * the old one; append with zp_fault_emit. Without memory *length is 0, and nothing is replaced. */
zp_op *zp_fault_rewrite(zp_fault_state *f, zp_rank *r, int32_t phase, int64_t more,
                        int64_t *length);
void zp_fault_emit(zp_rank *r, int32_t phase, const zp_op *op);

/* The elements [*at, *at + *n) of this rank's arrays that op's bucket has. */
void zp_fault_range(const zp_rank *r, const zp_op *op, int64_t *at, int64_t *n);

/* Copies the sums of what the rank holds of op's bucket; `ordered`: after MEAN these are the means.
 * Then puts them back. Does nothing on ranks from ZP_FAULT_RANKS on. */
void zp_fault_keep_sums(zp_fault_state *f, zp_rank *r, const zp_op *op);
void zp_fault_put_back_sums(const zp_fault_state *f, zp_rank *r, const zp_op *op);
/* The copy; NULL if nothing was copied. */
void *zp_fault_kept_sums(const zp_fault_state *f, const zp_rank *r, const zp_op *op);

/* The reduced gradient of op's bucket, after MEAN. */
float *zp_fault_means(const zp_rank *r, const zp_op *op);

/* 1 when this rank counts the elements of flat group k in the statistics. */
int zp_fault_counts(const zp_rank *r, int32_t k);

#endif
