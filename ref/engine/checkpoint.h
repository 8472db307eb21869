/* Checkpoints on files: zp_store (rank.h) for saving and for loading.
 *
 * DIR/LATEST                names the current step folder and the previous one, with checksums
 * DIR/step-N/manifest.json  step (= data position), scaler, optimizer states, the model's entries,
 *                           the workload's own words, and every data file's length and checksum
 * DIR/step-N/rank-R.bin     records of entries' elements in fp32, one file per rank that wrote any
 *
 * A save is prepared in DIR/step-N.tmp and becomes current by one rename of LATEST, after
 * everything else is on disk: a crash at any moment leaves the older checkpoint current (CKPT-2).
 * The checkpoint before the current one is kept; interrupted saves, and published ones that LATEST
 * does not name, are removed. When DIR/step-N is taken already, the folder is called step-N.1,
 * step-N.2 ….
 *
 * Records speak of (entry, copy, offset), never of ranks, shards or buckets; what was cut in one
 * way is read in any other: another pp, dp, stage, bucket or precision (CKPT-3). Entries are
 * matched by name. All uses of a tied key share one copy, filed under the first of them.
 *
 * Everything read is checked: lengths, XXH3-128 checksums of manifest and data, ranges, coverage. A
 * file that is truncated, altered, missing or not ours is refused, by name (CKPT-4). Links below
 * DIR are not followed. Processes of one job need one file system.
 *
 * One job at a time saves to DIR: each rank holds the lock of its record in DIR/LOCK from
 * zp_ckpt_writer_open to zp_ckpt_writer_close; a second job is refused with the holder's host and
 * pid. `train --save DIR` also holds the lock of DIR/LOCK.job (zp_ckpt_lock_job) from before the
 * first step to its end, so that it refuses to start beside another one (CKPT-7). The locks are
 * byte-range locks (fcntl, F_OFD_SETLK), which end with their process and exclude processes of
 * other machines where the file system passes them to its server: NFSv4 does; NFSv3 does with
 * rpc.statd running on client and server, but not if mounted with nolock or local_lock=posix|all,
 * which restrict locks to one machine; Lustre needs the mount option flock. After a client machine
 * fails, NFSv4 holds its locks until the lease ends (90 s by default).
 * spec: CKPT-1 … CKPT-7 */
#ifndef ZP_ENGINE_CHECKPOINT_H
#define ZP_ENGINE_CHECKPOINT_H

#include <stdint.h>

#include "rank.h"

enum { ZP_CKPT_NAME = 48, ZP_CKPT_VERSION = 1 };

/* What is saved or loaded. names[j] is entry j's name, unique and the same in every run; NULL:
 * "p0", "p1", …. Everything outlives the writer or reader. */
typedef struct zp_ckpt_model {
  const zp_config *cfg;
  char (*names)[ZP_CKPT_NAME];
} zp_ckpt_model;

typedef struct zp_ckpt_writer zp_ckpt_writer;
typedef struct zp_ckpt_reader zp_ckpt_reader;

/* One rank's part of a save of `step` (>= 0) below dir, which is made if its parent exists. All
 * ranks of the job open one, each its own, also within one process. workload: any text, such as the
 * model's shape as JSON; it is given back on loading. Fills *store for the SAVE program. 0, or a
 * negative status in *err. spec: CKPT-1 */
int zp_ckpt_writer_open(zp_ckpt_writer **out, const char *dir, zp_ckpt_model model, int64_t step,
                        int32_t rank, const char *workload, zp_store *store, zp_error *err);
void zp_ckpt_writer_close(zp_ckpt_writer *w);

/* Locks the folder for a job that will save to it, until the returned descriptor is closed or the
 * process ends; one process of a job does so, before it trains. Makes the folder if its parent
 * exists. The folder and its file LOCK.job stay afterwards, also if nothing was saved. -1 after
 * *err, which names the host and process of another job that holds the lock, or the reason why the
 * folder cannot be written to. The lock does not replace those of zp_ckpt_writer_open.
 * spec: CKPT-7 */
int zp_ckpt_lock_job(const char *dir, zp_error *err);

/* For tests: at(ctx, what) is called before everything that changes the disk. */
void zp_ckpt_writer_watch(zp_ckpt_writer *w, void (*at)(void *ctx, const char *what), void *ctx);

/* Opens the current checkpoint below dir, or the one that dir itself is (…/step-N), checks all of
 * it and compares its entries with the model's. Fills *store for the LOAD program; one reader may
 * serve all ranks of one process. 0, or a negative status in *err. spec: CKPT-3, CKPT-4 */
int zp_ckpt_reader_open(zp_ckpt_reader **out, const char *dir, zp_ckpt_model model, zp_store *store,
                        zp_error *err);
void zp_ckpt_reader_close(zp_ckpt_reader *r);

/* The step and the workload's words of the checkpoint that zp_ckpt_reader_open would take, from
 * its (checked) manifest alone: what a command needs to set up the model. *workload is malloc'ed,
 * the caller frees it. 0, or a negative status in *err. */
int zp_ckpt_peek(const char *dir, int64_t *step, char **workload, zp_error *err);

#endif
