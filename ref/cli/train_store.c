/* --save and --load. A checkpoint carries, beside the engine's state, what this command was
 * training: a model of another shape is refused, another text or seed is remarked upon. */
#define _GNU_SOURCE
#include <inttypes.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../engine/checkpoint.h"
#include "train.h"

/* The words that go into the manifest; malloc'ed, NULL without memory. */
static char *describe(const zp_train_args *a, const zp_config *cfg)
{
  const zp_gpt_shape *g = &a->shape;
  char text[24];
  char *words;
  json_t *root;
  snprintf(text, sizeof text, "%016" PRIx64, a->text_hash);
  root = json_pack("{s:{s:i, s:i, s:i, s:i}, s:{s:s, s:I, s:i, s:I, s:b, s:b}}", "gpt", "layers",
                   g->layers, "d_model", g->d_model, "heads", g->heads, "context", g->context,
                   "run", "text", text, "seed", (json_int_t)a->o.value[ZP_OPT_SEED], "batch",
                   g->batch, "micro_batches", (json_int_t)(cfg->micro_batches * cfg->dp),
                   "vary_shapes", a->vary_shapes, "tuple", a->tuple);
  words = root == NULL ? NULL : json_dumps(root, JSON_COMPACT | JSON_SORT_KEYS);
  json_decref(root);
  return words;
}

static zp_ckpt_model model_of(const zp_train_args *a, const zp_trainer *t)
{
  const zp_ckpt_model model = {t->cfg, a->o.names};
  return model;
}

/* The ranks of this process: all of a simulation, or one. */
static int32_t local_ranks(const zp_trainer *t)
{
  return t->sim != NULL ? zp_sim_world(t->sim) : 1;
}

static zp_rank *local_rank(const zp_trainer *t, int32_t i)
{
  return t->sim != NULL ? zp_sim_rank(t->sim, i) : t->rank;
}

int zp_train_save(const zp_train_args *a, zp_trainer *t, zp_error *err)
{
  const int32_t n = local_ranks(t);
  zp_ckpt_writer **writer = calloc((size_t)n, sizeof *writer);
  zp_store *store = calloc((size_t)n, sizeof *store);
  char *words = describe(a, t->cfg);
  int status = 0;
  if (writer == NULL || store == NULL || words == NULL)
    status = zp_fail(err, ZP_E_MEMORY, -1, "no memory to save");
  for (int32_t i = 0; i < n && status == 0; i++) {
    zp_rank *r = local_rank(t, i);
    status = zp_ckpt_writer_open(&writer[i], a->save, model_of(a, t), r->step, r->rank, words,
                                 &store[i], err);
    r->store = &store[i];
  }
  if (status == 0) status = zp_trainer_run(t, ZP_PHASE_SAVE, err);
  for (int32_t i = 0; i < n; i++) {
    local_rank(t, i)->store = NULL;
    if (writer != NULL && writer[i] != NULL) zp_ckpt_writer_close(writer[i]);
  }
  free(writer);
  free(store);
  free(words);
  return status;
}

/* Compares the checkpoint's words with this run's. */
static int judge_words(const zp_train_args *a, const zp_config *cfg, const char *theirs, int speaks,
                       zp_error *err)
{
  char *ours = describe(a, cfg);
  json_t *x = json_loads(theirs == NULL ? "{}" : theirs, 0, NULL);
  json_t *y = ours == NULL ? NULL : json_loads(ours, 0, NULL);
  int status = 0;
  if (x == NULL || y == NULL || !json_is_object(json_object_get(x, "gpt"))) {
    status = zp_fail(err, ZP_E_FILE, -1, "--load %s: the checkpoint does not say which model it "
                     "holds; it was not written by `zeroproof train`.", a->load);
  } else if (!json_equal(json_object_get(x, "gpt"), json_object_get(y, "gpt"))) {
    char *want = json_dumps(json_object_get(x, "gpt"), JSON_COMPACT);
    status = zp_fail(err, ZP_E_REFUSED, -1, "--load %s: the checkpoint holds another model, %s. "
                     "Give its shape with --layers, --d-model, --heads and --context.", a->load,
                     want == NULL ? "?" : want);
    free(want);
  } else if (speaks && !json_equal(json_object_get(x, "run"), json_object_get(y, "run"))) {
    char *was = json_dumps(json_object_get(x, "run"), JSON_COMPACT);
    fprintf(stderr, "%s: note: the checkpoint was made with %s; this run differs in that, so it is "
            "not the uninterrupted run.\n", a->o.command, was == NULL ? "?" : was);
    free(was);
  }
  json_decref(x);
  json_decref(y);
  free(ours);
  return status;
}

int zp_train_load(const zp_train_args *a, zp_trainer *t, zp_error *err)
{
  const int speaks = t->mpi == NULL || zp_mpi_rank(t->mpi) == 0;
  zp_ckpt_reader *reader = NULL;
  zp_store store;
  char *words = NULL;
  int64_t step;
  int status = zp_ckpt_peek(a->load, &step, &words, err);
  if (status == 0) status = judge_words(a, t->cfg, words, speaks, err);
  if (status == 0) status = zp_ckpt_reader_open(&reader, a->load, model_of(a, t), &store, err);
  for (int32_t i = 0; i < local_ranks(t) && status == 0; i++) local_rank(t, i)->store = &store;
  if (status == 0) status = zp_trainer_run(t, ZP_PHASE_LOAD, err);
  for (int32_t i = 0; i < local_ranks(t); i++) local_rank(t, i)->store = NULL;
  if (reader != NULL) zp_ckpt_reader_close(reader);
  free(words);
  return status;
}
