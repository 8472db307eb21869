/* Planted faults: historic bugs of other implementations, put into the programs after planning or
 * into a rank through its hook. Product code knows nothing of them. */
#ifndef ZP_CLI_SIM_FAULT_H
#define ZP_CLI_SIM_FAULT_H

#include <stddef.h>
#include <stdint.h>

#include "sim_case.h"

struct zp_fault_state;

typedef struct zp_fault {
  const char *name;
  const char *source; /* where it happened */
  const char *clause; /* the clause it breaks, and that the verdict must name */
  const char *what;   /* one line */
  const char *first;  /* a case that shows it (fuzz_case.h's text) */
  void (*plant)(struct zp_fault_state *f); /* once, before INIT; may be NULL */
  void (*before)(void *f, zp_rank *r, zp_op *op);
  void (*after)(void *f, zp_rank *r, const zp_op *op);
} zp_fault;

enum { ZP_FAULT_BLOCKS = 4096, ZP_FAULT_RANKS = 64 };

/* A planted fault. */
typedef struct zp_fault_state {
  const zp_fault *fault;
  zp_sim *sim;
  zp_hook hook;
  int32_t blocks;
  void *block[ZP_FAULT_BLOCKS]; /* freed with the case */
  zp_sumsq squares;             /* as they were before an op */
  const void *arrived;          /* likewise */
  int32_t taken;
  int32_t *kept[ZP_FAULT_RANKS]; /* by rank: what was sent last */
} zp_fault_state;

/* All faults, by number and by name. */
int32_t zp_fault_count(void);
const zp_fault *zp_fault_at(int32_t i);
const zp_fault *zp_fault_find(const char *name);

/* Why it fails, and what excludes it here: a few lines for people; NULL when `what` says it all. */
const char *zp_fault_why(const zp_fault *fault);

void zp_fault_clear(zp_fault_state *f);
/* Before INIT. Sets the hook of all ranks, where the fault has one. */
void zp_fault_plant(zp_fault_state *f, const zp_fault *fault, zp_sim *sim);
void zp_fault_free(zp_fault_state *f);

/* For the faults: memory that lives as long as the case. Never NULL; exits without memory. */
void *zp_fault_take(zp_fault_state *f, int64_t bytes);

/* Replaces a rank's program of a phase by an empty one of room for `more` further ops, and returns
 * the old one; append with zp_fault_emit. */
zp_op *zp_fault_rewrite(zp_fault_state *f, zp_rank *r, int32_t phase, int64_t more,
                        int64_t *length);
void zp_fault_emit(zp_rank *r, int32_t phase, const zp_op *op);

/* The families, each a table in a file of its own. */
typedef struct zp_fault_family {
  const zp_fault *fault;
  int32_t n;
} zp_fault_family;
zp_fault_family zp_faults_ledger(void);
zp_fault_family zp_faults_norm(void);
zp_fault_family zp_faults_window(void);
zp_fault_family zp_faults_state(void);

/* The elements [*at, *at + *n) of this rank's arrays that op's bucket has. */
void zp_fault_range(const zp_rank *r, const zp_op *op, int64_t *at, int64_t *n);

/* 1 when this rank counts the elements of flat group k in the statistics. */
int zp_fault_counts(const zp_rank *r, int32_t k);

#endif
