/* What the parts of `zeroproof plan` share. */
#ifndef ZP_CLI_PLAN_H
#define ZP_CLI_PLAN_H

#include <stdint.h>

#include "../engine/memory.h"
#include "../plan/program.h"
#include "options.h"

/* Ops of a program that can be held: 7 GB of them mean a forgotten bucket size. */
#define ZP_PLAN_OPS ((int64_t)1 << 26)
/* zp_plan_json: instead of a rank. */
enum { ZP_PLAN_STAGES = -1, ZP_PLAN_ALL_RANKS = -2 };

/* One rank's plan: its layout, its programs and what follows from them. */
typedef struct zp_plan_rank {
  int32_t rank;
  zp_coord at;
  zp_layout lay;
  zp_op *op; /* the program that was written last: STEP when just opened */
  int64_t n;
  struct {
    int64_t ops, bytes;           /* bytes sent under direct exchange, without exchanges in pp */
  } ledger[ZP_PHASES][ZP_GROUPS]; /* of the programs that were written */
  zp_memory memory;
  int64_t program, total; /* bytes: of all phases' programs; with memory */
} zp_plan_rank;

/* Fills *p; 0, or an exit code after a message. The caller frees it in any case. */
int zp_plan_rank_open(const zp_options *o, const zp_config *cfg, int32_t rank, zp_plan_rank *p);
void zp_plan_rank_close(zp_plan_rank *p);

/* Writes the program of another phase into p->op, and its sums into p->ledger. 0, or an exit code
 * after a message. */
int zp_plan_rank_phase(const zp_options *o, const zp_config *cfg, int32_t phase, zp_plan_rank *p);

/* Can every program be held? Asked before anything is printed. 0, or an exit code after a
 * message. */
int zp_plan_holds(const zp_options *o, const zp_config *cfg);

/* A run of the shard map: elements of one entry that lie together in one part of a rank's shard.
 * spec: PART-6 */
typedef struct zp_plan_run {
  int32_t entry;
  int64_t offset, count; /* in the entry */
  int64_t bucket, shard_offset;
} zp_plan_run;

/* Index of p's rank in the reduction group of flat group k: which part it owns. */
int32_t zp_plan_owner(const zp_config *cfg, const zp_plan_rank *p, int32_t k);

/* Calls take for each run that p's rank owns of flat group k, in order. */
void zp_plan_runs(const zp_config *cfg, const zp_plan_rank *p, int32_t k,
                  void (*take)(void *ctx, const zp_plan_run *run), void *ctx);

/* Will all ranks of a simulation, and `others` bytes beside them, fit this machine's memory? 0, or
 * an exit code after a message: better a refusal than the kernel's killer. */
int zp_plan_fits(const zp_options *o, const zp_config *cfg, double others);

/* Text: one rank in full (ledger: with every communication; shards: with the shard map), or a line
 * per stage. 0, or an exit code after a message. */
int zp_plan_print_rank(const zp_options *o, const zp_config *cfg, zp_plan_rank *p, int32_t ledger,
                       int32_t shards);
int zp_plan_print_all(const zp_options *o, const zp_config *cfg);

/* The pipeline for a terminal, at most `columns` wide. */
void zp_plan_ascii(const zp_config *cfg, int32_t columns);

/* One JSON document on standard output: of a rank, of every stage's first rank (ZP_PLAN_STAGES)
 * or of ZP_PLAN_ALL_RANKS. */
int zp_plan_json(const zp_options *o, const zp_config *cfg, int32_t rank, int32_t ledger);

/* Chrome trace-event JSON and SVG; 0, or an exit code after a message. */
int zp_plan_trace(const zp_options *o, const zp_config *cfg, const char *file);
int zp_plan_svg(const zp_options *o, const zp_config *cfg, const char *file);

/* --check. */
int zp_plan_check(const zp_options *o, const zp_config *cfg);

#endif
