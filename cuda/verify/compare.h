/* The engine's run against ref's, bit for bit. Each: 0, or 1 after zp_diff_fail. */
#ifndef ZP_CUDA_VERIFY_COMPARE_H
#define ZP_CUDA_VERIFY_COMPARE_H

#include "../happens_before/run.h"
#include "differential.h"

int zp_diff_compare_state(zp_diff_rank *w, const zp_step_state *s);
int zp_diff_compare_memory(zp_diff_rank *w);
int zp_diff_compare_seen(zp_diff_rank *w);
int zp_diff_compare_ledger(zp_diff_rank *w);
int zp_diff_compare_waits(zp_diff_rank *w);
int zp_diff_compare_allocation(zp_diff_rank *w);
/* After each step; count: before the first one, and where other work may have made something. */
void zp_diff_count_created(zp_diff_rank *w);
int zp_diff_compare_created(zp_diff_rank *w);

/* A rank's parameters, hashed: equal if they are the same numbers. spec: NUM-4 */
uint64_t zp_hash_params(const zp_config *c, const zp_layout *lay, void *const *param);

/* order_check.c: the run as a case of the happens-before check; and the check. */
zp_hb_case zp_diff_order_case(const zp_diff *t);
int zp_diff_compare_order(zp_diff *t);

#endif
