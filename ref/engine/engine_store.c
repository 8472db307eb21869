/* Checkpoints of both engines: a rank that cannot open its part takes part all the same, as one
 * whose store fails, so that all ranks learn of it alike. spec: CKPT-2, CKPT-6, CKPT-8 */
#include <stdlib.h>
#include <string.h>

#include "engine_parts.h"

/* ---- A store that fails ---------------------------------------------------------------------- */

static int say_why(const zp_engine_store *s, zp_error *err)
{
  return zp_fail(err, s->why.status, s->why.rank, "%s", s->why.text);
}

static int fail_put(void *ctx, int32_t param, int32_t tp, int32_t ep, int32_t what, int64_t offset,
                    int64_t count, const float *value, zp_error *err)
{
  (void)param, (void)tp, (void)ep, (void)what, (void)offset, (void)count, (void)value;
  return say_why(ctx, err);
}

static int fail_get(void *ctx, int32_t param, int32_t tp, int32_t ep, int32_t what, int64_t offset,
                    int64_t count, float *value, zp_error *err)
{
  (void)param, (void)tp, (void)ep, (void)what, (void)offset, (void)count, (void)value;
  return say_why(ctx, err);
}

static int fail_finish(void *ctx, const zp_train_state *state, zp_error *err)
{
  (void)state;
  return say_why(ctx, err);
}

static int fail_commit(void *ctx, zp_error *err)
{
  return say_why(ctx, err);
}

static int fail_state(void *ctx, zp_train_state *state, zp_error *err)
{
  (void)state;
  return say_why(ctx, err);
}

static zp_store *opened(zp_engine_store *s, int status)
{
  if (status) s->store = (zp_store){s, fail_put, fail_finish, fail_commit, fail_get, fail_state};
  return &s->store;
}

/* ---- Files ----------------------------------------------------------------------------------- */

zp_store *zp_engine_open_save(zp_engine_store *s, const zp_engine_options *o,
                              zp_engine_saving *saving, const char *dir, int64_t step)
{
  const zp_ckpt_model model = {o->config, saving->names};
  char *hyper = zp_engine_hyper_text(&o->hyper, o->config->dp * o->config->micro_batches);
  const zp_ckpt_save save = {.step = step,
                             .rank = o->rank,
                             .word = ++saving->word, /* on every rank alike: saves are collective */
                             .loaded = saving->loaded,
                             .workload = hyper};
  zp_store *store;
  memset(s, 0, sizeof *s);
  if (!hyper)
    zp_fail(&s->why, ZP_E_MEMORY, o->rank, "rank %d: no memory for a checkpoint", (int)o->rank);
  else zp_ckpt_writer_open(&s->writer, dir, model, &save, &s->store, &s->why);
  store = opened(s, s->why.status);
  free(hyper);
  return store;
}

/* Finds this rank's checkpoint, which is to be the one that rank 0 finds: rank 0's id goes to all.
 * Where rank 0 has none, all find theirs, and the load fails with rank 0. CKPT-8 */
static int find(zp_engine_store *s, const zp_engine_options *o, const char *dir)
{
  zp_ckpt_id first;
  int failed = 0;
  memset(&first, 0, sizeof first);
  if (o->rank == 0 && zp_ckpt_reader_find(&s->reader, dir, 0, NULL, &s->why) == 0)
    first = zp_ckpt_reader_id(s->reader);
  if (o->world > 1) failed = o->exchange(o->exchange_ctx, o->rank, &first, sizeof first);
  if (failed)
    return zp_fail(&s->why, ZP_E_PEER, o->rank,
                   "rank %d: which checkpoint rank 0 loads is unknown: options.exchange failed (it "
                   "returned %d)",
                   (int)o->rank, failed);
  if (o->rank == 0) return s->why.status;
  first.folder[sizeof first.folder - 1] = first.checksum[sizeof first.checksum - 1] = 0;
  return zp_ckpt_reader_find(&s->reader, dir, o->rank, first.checksum[0] ? &first : NULL, &s->why);
}

zp_store *zp_engine_open_load(zp_engine_store *s, const zp_engine_options *o,
                              zp_engine_saving *saving, const char *dir)
{
  const zp_ckpt_model model = {o->config, saving->names};
  memset(s, 0, sizeof *s);
  s->hyper = o->hyper;
  if (find(s, o, dir) || zp_ckpt_reader_check(s->reader, model, &s->store, &s->why) ||
      zp_engine_hyper_read(zp_ckpt_reader_workload(s->reader), o->rank, 0, &s->hyper, &s->why))
    return opened(s, s->why.status);
  saving->loaded = zp_ckpt_reader_folder(s->reader);
  return &s->store;
}

void zp_engine_close_store(zp_engine_store *s)
{
  if (s->writer) zp_ckpt_writer_close(s->writer);
  if (s->reader) zp_ckpt_reader_close(s->reader);
  s->writer = NULL;
  s->reader = NULL;
}

/* ---- In the background ----------------------------------------------------------------------- */

zp_store *zp_engine_copy(const zp_engine_options *o, zp_engine_saving *saving, const char *dir,
                         int64_t step)
{
  zp_engine_store *s = &saving->behind;
  if (saving->background == NULL) saving->background = zp_background_open(1);
  zp_store *disk = zp_engine_open_save(s, o, saving, dir, step);
  if (saving->background == NULL)
    disk = opened(s, zp_fail(&s->why, ZP_E_MEMORY, o->rank, "rank %d: no memory for a checkpoint",
                             (int)o->rank));
  if (s->why.status) return disk;
  zp_background_take(saving->background, 0, disk, &saving->part);
  return &saving->part;
}

void zp_engine_copied(zp_engine_saving *saving, int status)
{
  if (status == 0) zp_background_start(saving->background);
  else zp_engine_close_store(&saving->behind);
}

int zp_engine_is_saving(const zp_engine_saving *saving)
{
  return saving->background != NULL && zp_background_pending(saving->background);
}

int zp_engine_has_written(const zp_engine_saving *saving)
{
  return !zp_engine_is_saving(saving) || zp_background_written(saving->background);
}

zp_store *zp_engine_seal(zp_engine_saving *saving)
{
  zp_background_seal(saving->background, 0, &saving->part);
  return &saving->part;
}

void zp_engine_sealed(zp_engine_saving *saving)
{
  zp_background_end(saving->background);
  zp_engine_close_store(&saving->behind);
}

void zp_engine_close_saving(zp_engine_saving *saving)
{
  if (zp_engine_is_saving(saving)) zp_engine_sealed(saving);
  zp_background_close(saving->background);
  saving->background = NULL;
  free(saving->names);
  saving->names = NULL;
}
