/* Parts of `zeroproof plan` that print. */
#ifndef ZP_CLI_PLAN_H
#define ZP_CLI_PLAN_H

#include <stdint.h>

#include "../engine/rank_plan.h"
#include "options.h"

/* zp_plan_json: instead of a rank. */
enum { ZP_PLAN_STAGES = -1, ZP_PLAN_ALL_RANKS = -2 };

/* Text: one rank in full (ledger: with every communication; shards: with the shard map), or a line
 * per stage. 0, or an exit code after a message. */
int zp_plan_print_rank(const zp_options *o, const zp_config *cfg, int32_t rank, int32_t ledger,
                       int32_t shards);
int zp_plan_print_all(const zp_options *o, const zp_config *cfg);

/* One JSON document on standard output: of a rank, of every stage's first rank (ZP_PLAN_STAGES)
 * or of ZP_PLAN_ALL_RANKS. 0, or an exit code after a message. */
int zp_plan_json(const zp_options *o, const zp_config *cfg, int32_t rank, int32_t ledger);

/* The plan of a rank, as the options ask for it. As zp_rank_plan_open. */
int zp_plan_open(zp_rank_plan *p, const zp_options *o, const zp_config *cfg, int32_t rank,
                 zp_error *err);

/* What is unwise about the configuration, as text without a full stop, or NULL. */
const char *zp_plan_warning(const zp_config *cfg, const zp_rank_plan *p, char text[256]);

#endif
