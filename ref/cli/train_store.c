/* --save and --load. A checkpoint carries, beside the engine's state, what this command was
 * training: a model of another shape is refused, another text or seed is remarked upon. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "../engine/checkpoint.h"
#include "train.h"

/* What decides about every update, group by group; malloc'ed, NULL without memory. */
static char *optimizer_words(const zp_hyper *h)
{
  char *words = NULL;
  size_t n = 0;
  FILE *f = open_memstream(&words, &n);
  if (f == NULL) return NULL;
  for (int32_t g = 0; g < h->groups; g++) {
    const zp_optim *p = &h->optim[g];
    fprintf(f, "%s%s lr %.15g", g == 0 ? "" : "; ", p->kind == ZP_OPTIM_SGD ? "sgd" : "adamw",
            p->lr);
    if (p->kind == ZP_OPTIM_SGD) fprintf(f, " momentum %.15g", p->momentum);
    else fprintf(f, " betas %.15g %.15g eps %.15g", p->beta1, p->beta2, p->eps);
    fprintf(f, " decay %.15g", p->weight_decay);
  }
  return fclose(f) == 0 ? words : NULL;
}

/* The words that go into the manifest; malloc'ed, NULL without memory. The loss scale is not among
 * them: the checkpoint's scaler itself goes on. */
static char *describe(const zp_train_args *a, const zp_config *cfg)
{
  const zp_gpt_shape *g = &a->shape;
  char text[24];
  char *words, *optimizer = optimizer_words(&a->o.hyper);
  json_t *root;
  if (optimizer == NULL) return NULL;
  snprintf(text, sizeof text, "%016" PRIx64, a->text_hash);
  root =
      json_pack("{s:{s:i, s:i, s:i, s:i}, s:{s:s, s:I, s:i, s:I, s:b, s:b, s:s, s:s, s:s, s:f, "
                "s:f}}",
                "gpt", "layers", g->layers, "d_model", g->d_model, "heads", g->heads, "context",
                g->context, "run", "text", text, "seed", (json_int_t)a->o.value[ZP_OPT_SEED],
                "batch", g->batch, "micro_batches", (json_int_t)(cfg->micro_batches * cfg->dp),
                "vary_shapes", a->vary_shapes, "tuple", a->tuple, "precision",
                zp_precision_name(cfg->precision), "reduce", zp_reduce_name(cfg->reduce),
                "optimizer", optimizer, "clip", a->o.hyper.clip, "clip_eps", a->o.hyper.clip_eps);
  free(optimizer);
  words = root == NULL ? NULL : json_dumps(root, JSON_COMPACT | JSON_SORT_KEYS);
  json_decref(root);
  return words;
}

static zp_ckpt_model model_of(const zp_train_args *a, const zp_config *cfg)
{
  const zp_ckpt_model model = {cfg, a->o.names};
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

/* 0, or ZP_E_FILE: makes a file in the folder, and the folder when it is not there, and removes
 * both. */
static int probe_folder(const char *dir, zp_error *err)
{
  char path[4096 + 16];
  const int made = mkdir(dir, 0777) == 0;
  int fd, status = 0;
  if (!made && errno != EEXIST)
    return zp_fail(err, ZP_E_FILE, -1,
                   "--save %s: the folder cannot be made: %m. Nothing was "
                   "trained.",
                   dir);
  snprintf(path, sizeof path, "%.4000s/.probe-XXXXXX", dir);
  fd = mkstemp(path);
  if (fd < 0)
    status = zp_fail(err, ZP_E_FILE, -1,
                     "--save %s: no file can be made there: %m. Nothing was "
                     "trained.",
                     dir);
  else {
    close(fd);
    unlink(path);
  }
  if (made) rmdir(dir);
  return status;
}

int zp_train_probe(const zp_train_args *a, zp_error *err)
{
  if (a->plot != NULL) {
    const int there = access(a->plot, F_OK) == 0;
    const int fd = open(a->plot, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666);
    if (fd < 0) return zp_fail(err, ZP_E_FILE, -1, "--plot %s: %m. Nothing was trained.", a->plot);
    close(fd);
    if (!there) unlink(a->plot);
  }
  return a->save != NULL ? probe_folder(a->save, err) : 0;
}

int zp_train_writer(const zp_train_args *a, const zp_config *cfg, int64_t step, int32_t rank,
                    zp_ckpt_writer **writer, zp_store *store, zp_error *err)
{
  char *words = describe(a, cfg);
  const int status = words == NULL ? zp_fail(err, ZP_E_MEMORY, rank, "no memory to save")
                                   : zp_ckpt_writer_open(writer, a->save, model_of(a, cfg), step,
                                                         rank, words, store, err);
  free(words);
  return status;
}

int zp_train_save(const zp_train_args *a, zp_trainer *t, zp_error *err)
{
  const int32_t n = local_ranks(t);
  zp_ckpt_writer **writer = calloc((size_t)n, sizeof *writer);
  zp_store *store = calloc((size_t)n, sizeof *store);
  int status = 0;
  if (writer == NULL || store == NULL) status = zp_fail(err, ZP_E_MEMORY, -1, "no memory to save");
  for (int32_t i = 0; i < n && status == 0; i++) {
    zp_rank *r = local_rank(t, i);
    status = zp_train_writer(a, t->cfg, r->step, r->rank, &writer[i], &store[i], err);
    r->store = &store[i];
  }
  if (status == 0) status = zp_trainer_run(t, ZP_PHASE_SAVE, err);
  for (int32_t i = 0; i < n; i++) {
    local_rank(t, i)->store = NULL;
    if (writer != NULL && writer[i] != NULL) zp_ckpt_writer_close(writer[i]);
  }
  free(writer);
  free(store);
  return status;
}

/* Remarks upon every field of `now` that was another, or not written down, in `was`. */
static void remark(const zp_train_args *a, json_t *was, json_t *now)
{
  const char *key;
  json_t *value;
  int32_t n = 0;
  json_object_foreach(now, key, value)
  {
    char *x, *y;
    if (json_equal(json_object_get(was, key), value)) continue;
    x = json_dumps(json_object_get(was, key), JSON_ENCODE_ANY);
    y = json_dumps(value, JSON_ENCODE_ANY);
    fprintf(stderr, "%s%s %s is %s and was %s", n == 0 ? a->o.command : "",
            n == 0 ? ": note:" : ",", key, y != NULL ? y : "?", x != NULL ? x : "not written down");
    n++;
    free(x);
    free(y);
  }
  if (n > 0)
    fputs(" when the checkpoint was made; so this is not the uninterrupted run.\n", stderr);
}

/* The checkpoint's scaler goes on, whatever this run would have begun with. */
void zp_train_remark_scale(const zp_train_args *a, const zp_scaler *now)
{
  const zp_options *o = &a->o;
  const zp_scaler *mine = &o->hyper.scaler;
  const int given = o->hyper_by_flag[ZP_HYPER_SCALE] || o->hyper_by_file[ZP_HYPER_SCALE];
  if (!given && now->dynamic == mine->dynamic && now->log2_min == mine->log2_min &&
      now->log2_max == mine->log2_max && now->window == mine->window &&
      now->hysteresis == mine->hysteresis && now->consecutive == mine->consecutive)
    return;
  fprintf(stderr, "%s: note: %s the checkpoint's scaler goes on (%s, now 2^%d", o->command,
          given ? "--loss-scale has no effect with --load:" : "the loss scale is not this run's:",
          now->dynamic ? "dynamic" : "static", (int)now->log2_scale);
  if (now->dynamic)
    fprintf(stderr, ", from 2^%d to 2^%d, window %lld, hysteresis %d", (int)now->log2_min,
            (int)now->log2_max, (long long)now->window, (int)now->hysteresis);
  fputs(").\n", stderr);
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
    status = zp_fail(err, ZP_E_FILE, -1,
                     "--load %s: the checkpoint does not say which model it "
                     "holds; it was not written by `zeroproof train`.",
                     a->load);
  } else if (!json_equal(json_object_get(x, "gpt"), json_object_get(y, "gpt"))) {
    char *want = json_dumps(json_object_get(x, "gpt"), JSON_COMPACT);
    status = zp_fail(err, ZP_E_REFUSED, -1,
                     "--load %s: the checkpoint holds another model, %s. "
                     "Give its shape with --layers, --d-model, --heads and --context.",
                     a->load, want == NULL ? "?" : want);
    free(want);
  } else if (speaks) {
    remark(a, json_object_get(x, "run"), json_object_get(y, "run"));
  }
  json_decref(x);
  json_decref(y);
  free(ours);
  return status;
}

/* What is missing, damaged or foreign is input that is refused: exit code 2, not 3. */
static int refused(int status, zp_error *err)
{
  return status == ZP_E_FILE ? err->status = ZP_E_REFUSED : status;
}

int zp_train_reader(const zp_train_args *a, const zp_config *cfg, int speaks,
                    zp_ckpt_reader **reader, zp_store *store, zp_error *err)
{
  char *words = NULL;
  int64_t step;
  int status = zp_ckpt_peek(a->load, &step, &words, err);
  if (status == 0) status = judge_words(a, cfg, words, speaks, err);
  if (status == 0) status = zp_ckpt_reader_open(reader, a->load, model_of(a, cfg), store, err);
  free(words);
  return refused(status, err);
}

int zp_train_load(const zp_train_args *a, zp_trainer *t, zp_error *err)
{
  const int speaks = t->mpi == NULL || zp_mpi_rank(t->mpi) == 0;
  zp_ckpt_reader *reader = NULL;
  zp_store store;
  int status = zp_train_reader(a, t->cfg, speaks, &reader, &store, err);
  for (int32_t i = 0; i < local_ranks(t) && status == 0; i++) local_rank(t, i)->store = &store;
  if (status == 0) status = zp_trainer_run(t, ZP_PHASE_LOAD, err);
  if (status == 0 && speaks) zp_train_remark_scale(a, &t->rank->scaler);
  for (int32_t i = 0; i < local_ranks(t); i++) local_rank(t, i)->store = NULL;
  if (reader != NULL) zp_ckpt_reader_close(reader);
  return refused(status, err);
}
