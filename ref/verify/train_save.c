/* spec: CKPT-2, CKPT-6, CKPT-9, CKPT-11 */
#include "train_save.h"

#include <stdlib.h>
#include <string.h>

int zp_saving_open(zp_saving *s, const zp_training *job, zp_trainer *t, zp_ckpt_folder loaded,
                   zp_error *err)
{
  *s = (zp_saving){.job = job, .t = t, .loaded = loaded, .n = zp_trainer_ranks(t)};
  if (job->save == NULL) return 0;
  s->writer = calloc((size_t)s->n, sizeof *s->writer);
  s->disk = calloc((size_t)s->n, sizeof *s->disk);
  s->store = calloc((size_t)s->n, sizeof *s->store);
  if (job->save_every > 0) s->background = zp_background_open(s->n);
  if (s->writer != NULL && s->disk != NULL && s->store != NULL &&
      (job->save_every == 0 || s->background != NULL))
    return 0;
  zp_saving_close(s, 0);
  return zp_fail(err, ZP_E_MEMORY, -1, "no memory to save");
}

/* A random word for this save, the same on all ranks. CKPT-9 */
static int agree_on_word(const zp_training *job, uint64_t *word, zp_error *err)
{
  *word = zp_ckpt_word();
  return job->mpi == NULL ? 0 : zp_mpi_broadcast_bytes(job->mpi, word, sizeof *word, err);
}

static int open_writers(zp_saving *s, zp_error *err)
{
  zp_ckpt_save what = {.step = s->t->rank->step, .loaded = s->loaded};
  int status = agree_on_word(s->job, &what.word, err);
  s->step = what.step;
  for (int32_t i = 0; i < s->n && status == 0; i++) {
    what.rank = zp_trainer_rank(s->t, i)->rank;
    status =
        zp_train_open_writer(s->job->record, s->job->save, what, &s->writer[i], &s->disk[i], err);
  }
  return status;
}

static void close_writers(zp_saving *s)
{
  for (int32_t i = 0; s->writer != NULL && i < s->n; i++) {
    zp_ckpt_writer_close(s->writer[i]);
    s->writer[i] = NULL;
  }
}

/* Runs a phase with a store for each rank. */
static int run_with(zp_saving *s, int32_t phase, zp_store *store, zp_error *err)
{
  int status;
  for (int32_t i = 0; i < s->n; i++) zp_trainer_rank(s->t, i)->store = &store[i];
  status = zp_trainer_run(s->t, phase, err);
  for (int32_t i = 0; i < s->n; i++) zp_trainer_rank(s->t, i)->store = NULL;
  return status;
}

/* What the user can do about a save that failed. */
static int explain(const zp_saving *s, zp_error *err)
{
  if (err->status == ZP_E_FILE)
    zp_error_append(err,
                    "; rank %d could not write its part of the save at step %lld, so it was not "
                    "published, and the checkpoint before it is unchanged: remove the cause, then "
                    "continue with --load %s",
                    (int)err->rank, (long long)s->step, s->job->save);
  return err->status;
}

/* Waits for the thread, and publishes. */
static int complete(zp_saving *s, zp_error *err)
{
  int status;
  if (s->background == NULL || !zp_background_pending(s->background)) return 0;
  for (int32_t i = 0; i < s->n; i++) zp_background_seal(s->background, i, &s->store[i]);
  status = run_with(s, ZP_PHASE_SEAL, s->store, err);
  if (status != 0) return explain(s, err);
  zp_background_end(s->background);
  close_writers(s);
  if (s->job->saved != NULL) s->job->saved(s->job->ctx, s->step);
  return 0;
}

int zp_saving_begin(zp_saving *s, zp_error *err)
{
  int status = complete(s, err);
  if (status == 0) status = open_writers(s, err);
  if (status != 0) return status;
  for (int32_t i = 0; i < s->n; i++)
    zp_background_take(s->background, i, &s->disk[i], &s->store[i]);
  if (run_with(s, ZP_PHASE_SAVE, s->store, err) != 0) return explain(s, err);
  zp_background_start(s->background);
  return 0;
}

/* *all: have all ranks written their parts? */
static int all_written(const zp_saving *s, int32_t *all, zp_error *err)
{
  zp_mpi *mpi = s->job->mpi;
  void *answers = NULL;
  int64_t *sizes;
  *all = zp_background_written(s->background);
  if (mpi == NULL) return 0;
  sizes = calloc((size_t)zp_mpi_size(mpi), sizeof *sizes);
  if (sizes == NULL) return zp_fail(err, ZP_E_MEMORY, zp_mpi_rank(mpi), "no memory to save");
  int status = zp_mpi_gather_bytes(mpi, all, sizeof *all, &answers, sizes, err);
  for (int32_t r = 0; answers != NULL && r < zp_mpi_size(mpi); r++)
    if (((const int32_t *)answers)[r] == 0) *all = 0;
  free(answers);
  free(sizes);
  return status != 0 ? status : zp_mpi_broadcast_bytes(mpi, all, sizeof *all, err);
}

int zp_saving_poll(zp_saving *s, zp_error *err)
{
  int32_t all;
  if (s->background == NULL || !zp_background_pending(s->background)) return 0;
  if (all_written(s, &all, err) != 0) return err->status;
  return all ? complete(s, err) : 0;
}

int zp_saving_now(zp_saving *s, zp_error *err)
{
  int status = complete(s, err);
  if (status == 0) status = open_writers(s, err);
  if (status == 0) status = run_with(s, ZP_PHASE_SAVE, s->disk, err);
  if (status == 0 || s->job->mpi == NULL) close_writers(s);
  if (status == 0 && s->job->saved != NULL) s->job->saved(s->job->ctx, s->step);
  return status;
}

void zp_saving_close(zp_saving *s, int status)
{
  if (status != 0 && s->job->mpi != NULL) return;
  zp_background_close(s->background);
  close_writers(s);
  free(s->writer);
  free(s->disk);
  free(s->store);
  memset(s, 0, sizeof *s);
}
