/* The format of checkpoints: files, the manifest, records. Not installed. */
#ifndef ZP_ENGINE_CHECKPOINT_FORMAT_H
#define ZP_ENGINE_CHECKPOINT_FORMAT_H

#include <jansson.h>
#include <stddef.h>
#include <stdint.h>

#include "checkpoint.h"

enum {
  ZP_CKPT_PATH = 4096,
  ZP_CKPT_HEX = 33,   /* an XXH3-128 checksum as hex, with its zero */
  ZP_CKPT_HEAD = 16,  /* bytes of a data file's head: magic, rank */
  ZP_CKPT_RECORD = 32 /* bytes of a record's head */
};
#define ZP_CKPT_MAGIC "ZPCKPT1\n"
#define ZP_CKPT_TEXT_MAX ((int64_t)1 << 30) /* of a manifest: 2^20 entries need less */

/* ---- Files (checkpoint_file.c) --------------------------------------------------------------- */

/* dir/name into path; 0, or a negative status when it is too long. */
int zp_ckpt_path(char path[ZP_CKPT_PATH], const char *dir, const char *name, zp_error *err);

/* "cannot WHAT DIR/NAME: reason": a failed system call; name may be "". Returns ZP_E_FILE. */
int zp_ckpt_errno(zp_error *err, const char *what, const char *dir, const char *name);

/* An open folder: stays the same one if its name is given to another. spec: CKPT-4 */
typedef struct zp_ckpt_dir {
  int fd; /* or -1 */
  char path[ZP_CKPT_PATH];
} zp_ckpt_dir;

/* Opens the folder that the caller's user named, through links; or the one in a folder, which must
 * not be a link. 0, or a negative status, then there is nothing to close. spec: CKPT-4 */
int zp_ckpt_dir_open(zp_ckpt_dir *d, const char *path, zp_error *err);
int zp_ckpt_dir_open_in(zp_ckpt_dir *d, const zp_ckpt_dir *parent, const char *name, zp_error *err);
/* Makes the folder if its parent exists, and opens it. As zp_ckpt_dir_open. spec: CKPT-2 */
int zp_ckpt_dir_make(zp_ckpt_dir *d, const char *path, zp_error *err);
void zp_ckpt_dir_close(zp_ckpt_dir *d);
/* Which folder it is, and whether it is that one. */
zp_ckpt_folder zp_ckpt_dir_folder(const zp_ckpt_dir *d);
int zp_ckpt_dir_is(const zp_ckpt_dir *d, const zp_ckpt_folder *folder);
int zp_ckpt_sync_dir(const zp_ckpt_dir *d, zp_error *err);

/* Creates a file in the folder; a regular file of that name is removed first, and other names of it
 * keep what it had. -1 after *err. spec: CKPT-4 */
int zp_ckpt_create(const zp_ckpt_dir *d, const char *name, zp_error *err);

/* Writes a whole file and waits for the disk; 0, or a negative status. */
int zp_ckpt_write_file(const zp_ckpt_dir *d, const char *name, const char *text, size_t n,
                       zp_error *err);

/* Opens a regular file for reading, never a link or a pipe; its length in *bytes. -1 after *err. */
int zp_ckpt_open_regular(const zp_ckpt_dir *d, const char *name, int64_t *bytes, zp_error *err);

/* Reads a regular file of at most `max` bytes; malloc'ed, zero-terminated. NULL after *err. */
char *zp_ckpt_read_file(const zp_ckpt_dir *d, const char *name, int64_t max, int64_t *n,
                        zp_error *err);

/* Checksum of a buffer, and of the file d/name, which is open at its beginning, `there` bytes long
 * and must be `bytes` long. */
void zp_ckpt_hash(const void *data, size_t n, char hex[ZP_CKPT_HEX]);
int zp_ckpt_hash_file(const zp_ckpt_dir *d, const char *name, int fd, int64_t there, int64_t bytes,
                      char hex[ZP_CKPT_HEX], zp_error *err);
void zp_ckpt_hex(uint64_t high, uint64_t low, char hex[ZP_CKPT_HEX]);

/* Little-endian integers of data files. */
void zp_ckpt_put_le(unsigned char *to, uint64_t x, int bytes);
uint64_t zp_ckpt_get_le(const unsigned char *from, int bytes);

/* fp32 values to and from their little-endian bytes, in place or not. */
void zp_ckpt_swap_f32(void *to, const void *from, int64_t n);

/* 1 when text is PREFIX, decimal digits, SUFFIX. */
int zp_ckpt_numbered(const char *text, const char *prefix, const char *suffix);

/* ---- LATEST (checkpoint_latest.c) ------------------------------------------------------------ */

typedef struct zp_ckpt_latest {
  char current[64], previous[64]; /* folder names; previous is "" before the second save */
  char checksum[ZP_CKPT_HEX];     /* the current manifest's */
} zp_ckpt_latest;

/* Returns 1 if it was read, 0 if it does not exist, or a negative status. */
int zp_ckpt_latest_read(const zp_ckpt_dir *dir, zp_ckpt_latest *latest, zp_error *err);
char *zp_ckpt_latest_text(const zp_ckpt_latest *latest); /* malloc'ed, NULL without memory */

/* 1 if text is the name of a published checkpoint's folder: "step-12" or "step-12.3". */
int zp_ckpt_is_folder(const char *text);

/* ---- LOCK (checkpoint_lock.c) ---------------------------------------------------------------- */

/* Locks rank's part of the checkpoints in dir until the descriptor is closed or the process ends;
 * -1 after *err, which names the holder's host and process. spec: CKPT-7 */
int zp_ckpt_lock(const zp_ckpt_dir *dir, int32_t rank, zp_error *err);

/* ---- Manifest (checkpoint_manifest.c) -------------------------------------------------------- */

typedef struct zp_ckpt_entry {
  const char *name; /* belongs to the JSON document */
  int64_t numel;
  int32_t sharded, expert, frozen, tp, ep;
  int32_t home; /* the first entry of its tied key, or itself */
} zp_ckpt_entry;

typedef struct zp_ckpt_file {
  const char *name;
  const char *checksum;
  int64_t bytes;
} zp_ckpt_file;

typedef struct zp_ckpt_manifest {
  json_t *doc;
  char checksum[ZP_CKPT_HEX];
  zp_train_state state; /* optim is owned */
  const char *workload;
  int32_t n_entries, n_files;
  zp_ckpt_entry *entry;
  zp_ckpt_file *file;
} zp_ckpt_manifest;

/* The training state as JSON, and back (owned optim; 0, or -1 for anything wrong in it). */
json_t *zp_ckpt_state_json(const zp_train_state *state);

/* Name of entry j of the model, in buffer or as given. */
const char *zp_ckpt_name(const zp_ckpt_model *model, int32_t j, char buffer[ZP_CKPT_NAME]);

/* The first entry of j's tied key in the list, or j. spec: TIE-1 */
int32_t zp_ckpt_home(const zp_config *cfg, int32_t j);

/* The manifest's text with its checksum in it; malloc'ed, NULL without memory. Takes no reference.
 * files: [{name, bytes, xxh3_128}]. */
char *zp_ckpt_manifest_text(const zp_ckpt_model *model, json_t *state, const char *workload,
                            json_t *files, char checksum[ZP_CKPT_HEX]);

/* Reads and checks folder/manifest.json; 0, or a negative status, then there is nothing to free. */
int zp_ckpt_manifest_read(const zp_ckpt_dir *folder, zp_ckpt_manifest *m, zp_error *err);
void zp_ckpt_manifest_free(zp_ckpt_manifest *m);

#endif
