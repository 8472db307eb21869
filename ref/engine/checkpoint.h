/* Checkpoints on files: zp_store (rank.h) for saving and for loading.
 *
 * DIR/LATEST                names the current step folder and the previous one, with checksums
 * DIR/step-N/manifest.json  step (= data position), scaler, optimizer states, the model's entries,
 *                           the workload's own words, and every data file's length and checksum
 * DIR/step-N/rank-R.bin     records of entries' elements in fp32, one file per rank that wrote any
 *
 * A save is prepared in DIR/step-N.tmp and becomes current by one rename of LATEST, after
 * everything else is on disk: a crash at any moment leaves the older checkpoint current (CKPT-2).
 * The checkpoint before the current one is kept, and so is the one that the job loaded. Interrupted
 * saves are removed, and so are other published ones if LATEST named one that was there before the
 * save (CKPT-7). When DIR/step-N is taken already, the folder is called step-N.1, step-N.2 ….
 *
 * Records speak of (entry, copy, offset), never of ranks, shards or buckets; what was cut in one
 * way is read in any other: another pp, dp, stage, bucket or precision (CKPT-3). Entries are
 * matched by name. All uses of a tied key share one copy, filed under the first of them.
 *
 * Everything read is checked: lengths, XXH3-128 checksums of manifest and data, ranges, coverage. A
 * file that is truncated, altered, missing or not ours is refused, by name (CKPT-4). Links below
 * DIR are not followed. Processes of one job need one file system: a save is not published unless
 * rank 0 finds the notes that the other ranks wrote for this very save, which a random word marks
 * (CKPT-9), and all ranks load the checkpoint that rank 0 finds (CKPT-8).
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
 * spec: CKPT-1 … CKPT-9 */
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

/* A folder as this host knows it. Zeros: none. */
typedef struct zp_ckpt_folder {
  uint64_t device, inode;
} zp_ckpt_folder;

/* Which checkpoint it is: ranks load the same one if the checksums are equal. It has no pointers
 * and one size everywhere, so that ranks can exchange it. spec: CKPT-8 */
typedef struct zp_ckpt_id {
  int64_t step;
  char folder[64];   /* the step folder's name; "": the checkpoint is the named folder itself */
  char checksum[40]; /* the manifest's, which covers the training state and all data files */
} zp_ckpt_id;

/* What one rank knows of a save. */
typedef struct zp_ckpt_save {
  int64_t step; /* >= 0 */
  int32_t rank;
  uint64_t word;         /* random, another one for each save, the same on all ranks: CKPT-9 */
  zp_ckpt_folder loaded; /* the folder that this job loaded, which no save removes: CKPT-7 */
  const char *workload;  /* any text, such as the model's shape as JSON; loading returns it */
} zp_ckpt_save;

/* A random word for zp_ckpt_save. Rank 0 draws it for all ranks. */
uint64_t zp_ckpt_word(void);

typedef struct zp_ckpt_writer zp_ckpt_writer;
typedef struct zp_ckpt_reader zp_ckpt_reader;

/* One rank's part of a save below dir, which is made if its parent exists. All ranks of the job
 * open one, each its own, also within one process. Fills *store for the SAVE program. 0, or a
 * negative status in *err. spec: CKPT-1 */
int zp_ckpt_writer_open(zp_ckpt_writer **out, const char *dir, zp_ckpt_model model,
                        const zp_ckpt_save *save, zp_store *store, zp_error *err);
void zp_ckpt_writer_close(zp_ckpt_writer *w);

/* Locks the folder for a job that will save to it, until the returned descriptor is closed or the
 * process ends; one process of a job does so, before it trains. Makes the folder if its parent
 * exists. The folder and its file LOCK.job stay afterwards, also if nothing was saved. -1 after
 * *err, which names the host and process of another job that holds the lock, or the reason why the
 * folder cannot be written to. The lock does not replace those of zp_ckpt_writer_open.
 * spec: CKPT-7 */
int zp_ckpt_lock_job(const char *dir, zp_error *err);

/* Does any process hold one of the locks of zp_ckpt_lock_job and zp_ckpt_writer_open in this
 * folder? ZP_E_FILE with its host and process in *err if so, or if that cannot be found out; 0 if
 * none does, or there is no such folder. spec: CKPT-7 */
int zp_ckpt_unlocked(const char *dir, zp_error *err);

/* For tests: at(ctx, what) is called before everything that changes the disk. */
void zp_ckpt_writer_watch(zp_ckpt_writer *w, void (*at)(void *ctx, const char *what), void *ctx);

/* Opens the current checkpoint below dir, or the one that dir itself is (…/step-N), checks all of
 * it and compares its entries with the model's. Fills *store for the LOAD program; one reader may
 * serve all ranks of one process. 0, or a negative status in *err. spec: CKPT-3, CKPT-4 */
int zp_ckpt_reader_open(zp_ckpt_reader **out, const char *dir, zp_ckpt_model model, zp_store *store,
                        zp_error *err);
void zp_ckpt_reader_close(zp_ckpt_reader *r);

/* The same in two parts, for a job of several processes. First the folder and its manifest: of the
 * current checkpoint (rank 0; first is NULL) or of the one that rank 0 has found, *first. Another
 * checkpoint here is ZP_E_MISMATCH, and the error has both ids. Then the entries and the data
 * files, against that manifest. Nothing is looked up by name again: what was compared is what is
 * read. spec: CKPT-8 */
int zp_ckpt_reader_find(zp_ckpt_reader **out, const char *dir, int32_t rank,
                        const zp_ckpt_id *first, zp_error *err);
int zp_ckpt_reader_check(zp_ckpt_reader *r, zp_ckpt_model model, zp_store *store, zp_error *err);

/* Of a reader that has found its checkpoint: its id, its folder, the workload's words. */
zp_ckpt_id zp_ckpt_reader_id(const zp_ckpt_reader *r);
zp_ckpt_folder zp_ckpt_reader_folder(const zp_ckpt_reader *r);
const char *zp_ckpt_reader_workload(const zp_ckpt_reader *r);

/* The step and the workload's words of the checkpoint that zp_ckpt_reader_open would take, from
 * its (checked) manifest alone: what a command needs to set up the model. *workload is malloc'ed,
 * the caller frees it. 0, or a negative status in *err. */
int zp_ckpt_peek(const char *dir, int64_t *step, char **workload, zp_error *err);

#endif
