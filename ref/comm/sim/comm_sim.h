/* comm_sim: any number of ranks in one process, without threads.
 *
 * Every rank runs until its next communication op; the simulator matches the ops of a group by
 * (op, what, count, dtype, redop, root), and p2p by micro-batch direction, dtype and shape. A
 * mismatch is reported when the second member arrives, a deadlock when no rank can go on, with the
 * chain of who waits for whom. spec: LEDG-2, LEDG-7 */
#ifndef ZP_COMM_SIM_H
#define ZP_COMM_SIM_H

#include "../../engine/rank.h"

typedef struct zp_sim zp_sim;

/* All ranks of a valid configuration. NULL after filling *err. */
zp_sim *zp_sim_open(const zp_config *cfg, const zp_hyper *hyper, const zp_workload *work,
                    zp_error *err);
void zp_sim_close(zp_sim *sim);

/* Rank r of the simulation, for queries and hooks. */
zp_rank *zp_sim_rank(zp_sim *sim, int32_t r);
int32_t zp_sim_world(const zp_sim *sim);

/* Sets the hook of every rank (NULL: none). */
void zp_sim_hook(zp_sim *sim, const zp_hook *hook);

/* Runs one phase on all ranks; 0, or a negative status with the report in *err. */
int zp_sim_run(zp_sim *sim, int32_t phase, zp_error *err);

#endif
