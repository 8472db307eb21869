/* Checkpoints of both engines: a rank that cannot open its part takes part all the same, as one
 * whose store fails, so that all ranks learn of it alike. spec: CKPT-2, CKPT-6 */
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
                              zp_engine_names_of names, const char *dir, int64_t step)
{
  const zp_ckpt_model model = {o->config, names};
  memset(s, 0, sizeof *s);
  return opened(
      s, zp_ckpt_writer_open(&s->writer, dir, model, step, o->rank, "{}", &s->store, &s->why));
}

zp_store *zp_engine_open_load(zp_engine_store *s, const zp_engine_options *o,
                              zp_engine_names_of names, const char *dir)
{
  const zp_ckpt_model model = {o->config, names};
  memset(s, 0, sizeof *s);
  return opened(s, zp_ckpt_reader_open(&s->reader, dir, model, &s->store, &s->why));
}

void zp_engine_close_store(zp_engine_store *s)
{
  if (s->writer) zp_ckpt_writer_close(s->writer);
  if (s->reader) zp_ckpt_reader_close(s->reader);
}
