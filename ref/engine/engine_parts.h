/* Options and checkpoints of the public engine, for both of its implementations (ref/engine_mpi and
 * cuda/engine). Not installed. */
#ifndef ZP_ENGINE_ENGINE_PARTS_H
#define ZP_ENGINE_ENGINE_PARTS_H

#include "background.h"
#include "checkpoint.h"
#include "engine.h"

/* Copies and judges the options. 0, or a negative status in *err. spec: LIM-0 */
int zp_engine_take(zp_engine_options *to, const zp_engine_options *from, zp_error *err);

/* May this be sent from stage to stage? 0, or a negative status in *err. spec: PIPE-6 */
int zp_engine_message(const zp_engine_options *o, const zp_message *m, const char *member,
                      zp_error *err);

/* The name of entry j, made of its number where the options have none. */
void zp_engine_name(const zp_engine_options *o, int32_t j, char *text, int64_t cap);

/* Names as checkpoints want them; malloc'ed, NULL without memory. */
typedef char (*zp_engine_names_of)[ZP_CKPT_NAME];
zp_engine_names_of zp_engine_names(const zp_engine_options *o);

/* The hyperparameters as a text of the manifest, with the micro-batches of a step on all ranks (0:
 * not known); malloc'ed, NULL without memory. spec: CKPT-10 */
char *zp_engine_hyper_text(const zp_hyper *h, int64_t global_batch);

/* *hyper becomes what such a text has, if it has as many optimizers of the same kinds, or (any) in
 * every case; else it stays. 0, or ZP_E_FILE in *err: a number is missing or out of range.
 * spec: CKPT-10 */
int zp_engine_hyper_read(const char *workload, int32_t rank, int32_t any, zp_hyper *hyper,
                         zp_error *err);

/* One rank's part of a checkpoint. Opening always gives a store: where files cannot be opened, one
 * whose calls all fail with the reason. Loading calls the options' exchange when world > 1, and
 * why.status is ZP_E_MISMATCH where this rank finds another checkpoint than rank 0: then the
 * caller does not run LOAD. spec: CKPT-6, CKPT-8 */
typedef struct zp_engine_store {
  zp_store store;
  zp_ckpt_writer *writer;
  zp_ckpt_reader *reader;
  zp_hyper hyper; /* of the options, or of the checkpoint that is loaded */
  zp_error why;
} zp_engine_store;

/* What an engine keeps for its checkpoints. names: of zp_engine_names. word: rank 0's random word,
 * plus the number of saves since, so that every save has its own (CKPT-9). loaded: the folder of
 * the last checkpoint that was loaded. */
typedef struct zp_engine_saving {
  zp_engine_names_of names;
  uint64_t word;
  zp_ckpt_folder loaded;
  zp_background *background; /* NULL before the first save in the background */
  zp_engine_store behind;    /* of the one that is under way */
  zp_store part;             /* what SAVE, later SEAL, runs with */
} zp_engine_saving;

zp_store *zp_engine_open_save(zp_engine_store *s, const zp_engine_options *o,
                              zp_engine_saving *saving, const char *dir, int64_t step);
zp_store *zp_engine_open_load(zp_engine_store *s, const zp_engine_options *o,
                              zp_engine_saving *saving, const char *dir);
void zp_engine_close_store(zp_engine_store *s);

/* A save in the background: its SAVE program runs with the store that zp_engine_copy returns;
 * zp_engine_copied, with SAVE's status, starts the thread or ends the save. Then SEAL runs with the
 * store of zp_engine_seal, and zp_engine_sealed ends the save, whether SEAL ran or not.
 * spec: CKPT-11 */
zp_store *zp_engine_copy(const zp_engine_options *o, zp_engine_saving *saving, const char *dir,
                         int64_t step);
void zp_engine_copied(zp_engine_saving *saving, int status);
int zp_engine_is_saving(const zp_engine_saving *saving);
int zp_engine_has_written(const zp_engine_saving *saving); /* 1 also if no save is under way */
zp_store *zp_engine_seal(zp_engine_saving *saving);
void zp_engine_sealed(zp_engine_saving *saving);

/* Frees everything; a save that is under way is not published. */
void zp_engine_close_saving(zp_engine_saving *saving);

/* The host at which rank 0 listens for the others: of a job its address, or loopback if all ranks
 * are on one host. NULL: unknown, as the caller has an exchange of its own. */
const char *zp_engine_host(const zp_engine_options *o);

/* Has this rank rank 0's settings? Then *word becomes a random word that rank 0 draws, the same on
 * all ranks. Collective, by the options' exchange. 0, or a negative status in *err. spec: STEP-10,
 * CKPT-9 */
int zp_engine_agree(const zp_engine_options *o, uint64_t *word, zp_error *err);

/* Is the size of a zp_engine_state one? 0, or a negative status in *err. */
int zp_engine_state_size(const zp_engine_options *o, size_t size, zp_error *err);

/* May this function be called now? inside: 1 while a callback of the options runs. 0, or a negative
 * status in *err. */
int zp_engine_may_call(const zp_engine_options *o, int inside, const char *function, zp_error *err);

/* 2^log2_scale. */
double zp_engine_scale(int32_t log2_scale);

/* May a checkpoint be written or read now: a folder is named, and no gradient has been announced
 * for the next step (announced: micro-batches complete or begun)? 0, or a negative status in
 * *err. */
int zp_engine_between(const zp_engine_options *o, const char *dir, int announced, zp_error *err);

#endif
