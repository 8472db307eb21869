/* Saving in the background: the SAVE program copies what a rank would write into memory, a thread
 * writes it to the rank's store while the ranks train, and the end of the SAVE program
 * (ZP_PHASE_SEAL) publishes it. One save at a time. Not installed.
 *
 * A save is: zp_background_take for each rank of this process; the SAVE program on all ranks with
 * the stores that it returned; zp_background_start; steps; the phase ZP_PHASE_SEAL on all ranks
 * with the stores of zp_background_seal; zp_background_end. Only the calling thread communicates.
 * An error of the thread is the result of SEAL, so that all ranks fail alike (CKPT-6), and nothing
 * is published before each rank's part is durable (CKPT-2).
 * spec: CKPT-2, CKPT-6, CKPT-11 */
#ifndef ZP_ENGINE_BACKGROUND_H
#define ZP_ENGINE_BACKGROUND_H

#include <stdint.h>

#include "../base/error.h"
#include "store.h"

typedef struct zp_background zp_background;

/* For n ranks of this process. NULL without memory. */
zp_background *zp_background_open(int32_t n);

/* Waits for a thread that writes, and frees everything. The stores stay the caller's. */
void zp_background_close(zp_background *b);

/* Prepares the part of rank i of 0 … n-1: `to` receives what the SAVE program writes. *disk, to
 * which the thread will write it, is copied and stays open until zp_background_end. No save is
 * under way. */
void zp_background_take(zp_background *b, int32_t i, const zp_store *disk, zp_store *to);

/* The copies are complete: the thread begins. If none can be started, SEAL fails with the
 * reason. */
void zp_background_start(zp_background *b);

/* 1 between zp_background_start and zp_background_end. */
int zp_background_pending(const zp_background *b);

/* 1: the thread has ended, with or without an error, so that SEAL does not block on it. */
int zp_background_written(const zp_background *b);

/* The store of rank i for ZP_PHASE_SEAL: its finish waits for the thread and returns the error of
 * the rank's part; its commit publishes. */
void zp_background_seal(zp_background *b, int32_t i, zp_store *to);

/* Waits for the thread if SEAL did not run. Another save may begin; its copies use the memory of
 * this one's. */
void zp_background_end(zp_background *b);

/* Bytes of values that rank i's last copy had: what zp_rank_plan_snapshot promises. */
int64_t zp_background_bytes(const zp_background *b, int32_t i);

#endif
