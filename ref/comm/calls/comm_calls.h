/* comm_calls: the programs of one rank over a transport of the caller's own (transport.h), the same
 * bits as comm_sim and comm_mpi. The job is one data-parallel group: pp, tp, ep and replicas are 1.
 *
 * Before the bytes of an op move, all ranks exchange the op that each issues; if these differ, all
 * of them report it. Reductions are those of zp_reduce_members, on the rank that owns the result.
 *
 * Errors of all functions: a negative zp_status and *err. The transport is of no use to the engine
 * then: call zp_calls_abandon. spec: LEDG-1, LEDG-2, RED-4, RED-5 */
#ifndef ZP_COMM_CALLS_COMM_CALLS_H
#define ZP_COMM_CALLS_COMM_CALLS_H

#include "../../engine/rank.h"
#include "../transport.h"

typedef struct zp_calls zp_calls;

/* t is copied; its context outlives *out. */
int zp_calls_start(zp_calls **out, const zp_transport *t, int32_t rank, int32_t world,
                   zp_error *err);

/* Runs one phase of this process's rank, until it ends or pauses. */
int zp_calls_run(zp_calls *c, zp_rank *r, int32_t phase, zp_error *err);

/* Outside programs, by all ranks. Broadcast: from rank 0. */
int zp_calls_broadcast_bytes(zp_calls *c, void *data, int64_t bytes, zp_error *err);
int zp_calls_barrier(zp_calls *c, zp_error *err);

/* After a clean end: waits for all others, and frees c. */
int zp_calls_stop(zp_calls *c, zp_error *err);

/* After an error: reports it to the others. Frees nothing, since the transport may still write into
 * memory that it was given. */
void zp_calls_abandon(zp_calls *c, const zp_error *why);

#endif
