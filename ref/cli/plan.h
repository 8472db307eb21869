/* What the parts of `zeroproof plan` share. */
#ifndef ZP_CLI_PLAN_H
#define ZP_CLI_PLAN_H

#include <stdint.h>

#include "../plan/program.h"
#include "options.h"

/* One rank's plan: its layout, its STEP program and what follows from them. */
typedef struct zp_plan_rank {
  int32_t rank;
  zp_coord at;
  zp_layout lay;
  zp_op *op; /* the STEP program */
  int64_t n;
  struct {
    int64_t ops, bytes; /* of a step; bytes sent under direct exchange, without exchanges in pp */
  } ledger[ZP_GROUPS];
  struct { /* bytes */
    int64_t params, window, slots, reduced, mean, state, scratch, program, total;
  } memory;
} zp_plan_rank;

/* Fills *p; 0, or an exit code after a message. The caller frees it in any case. */
int zp_plan_rank_open(const zp_options *o, const zp_config *cfg, int32_t rank, zp_plan_rank *p);
void zp_plan_rank_close(zp_plan_rank *p);

/* Will all ranks of a simulation, and `others` bytes beside them, fit this machine's memory? 0, or
 * an exit code after a message: better a refusal than the kernel's killer. */
int zp_plan_fits(const zp_options *o, const zp_config *cfg, double others);

/* Text: one rank in full (ledger: with every communication), or a line per stage. */
void zp_plan_print_rank(const zp_options *o, const zp_config *cfg, const zp_plan_rank *p,
                        int32_t ledger);
int zp_plan_print_all(const zp_options *o, const zp_config *cfg);

/* The pipeline for a terminal, at most `columns` wide. */
void zp_plan_ascii(const zp_config *cfg, int32_t columns);

/* One JSON document on standard output. rank -1: every stage's first rank. */
int zp_plan_json(const zp_options *o, const zp_config *cfg, int32_t rank, int32_t ledger);

/* Chrome trace-event JSON and SVG; 0, or an exit code after a message. */
int zp_plan_trace(const zp_options *o, const zp_config *cfg, const char *file);
int zp_plan_svg(const zp_options *o, const zp_config *cfg, const char *file);

/* --check. */
int zp_plan_check(const zp_options *o, const zp_config *cfg);

#endif
