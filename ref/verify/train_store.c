#define _GNU_SOURCE
#include "train_store.h"

#include <inttypes.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "config_text.h"

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

/* The words that go into the manifest of a checkpoint before step `step`; malloc'ed, NULL without
 * memory. The loss scale is not among them: the checkpoint's scaler itself continues. */
static char *describe(const zp_train_record *run, int64_t step)
{
  const zp_gpt_shape *g = &run->shape;
  const zp_config *cfg = run->cfg;
  const zp_hyper *peak = &run->hyper->peak;
  char text[24], schedule[ZP_LR_TEXT];
  char *words, *optimizer = optimizer_words(peak);
  json_t *root;
  if (optimizer == NULL) return NULL;
  snprintf(text, sizeof text, "%016" PRIx64, run->text_hash);
  root = json_pack(
      "{s:{s:i, s:i, s:i, s:i}, s:{s:s, s:I, s:i, s:I, s:b, s:b, s:b, s:s, s:s, s:s, "
      "s:f, s:f, s:s}}",
      "gpt", "layers", g->layers, "d_model", g->d_model, "heads", g->heads, "context", g->context,
      "run", "text", text, "seed", (json_int_t)run->seed, "batch", g->batch, "micro_batches",
      (json_int_t)(cfg->micro_batches * cfg->dp), "vary_shapes", run->vary_shapes, "tuple",
      run->tuple, "fp32_norms", g->fp32_norms, "precision", zp_precision_name(cfg->precision),
      "reduce", zp_reduce_name(cfg->reduce), "optimizer", optimizer, "clip", peak->clip, "clip_eps",
      peak->clip_eps, "schedule", zp_lr_schedule_text(&run->hyper->schedule, schedule));
  free(optimizer);
  words = root == NULL || zp_train_hyper_save(run->hyper, step, root) != 0
              ? NULL
              : json_dumps(root, JSON_COMPACT | JSON_SORT_KEYS);
  json_decref(root);
  return words;
}

static zp_ckpt_model model_of(const zp_train_record *run)
{
  const zp_ckpt_model model = {run->cfg, run->names};
  return model;
}

int zp_train_open_writer(const zp_train_record *run, const char *dir, zp_ckpt_save save,
                         zp_ckpt_writer **writer, zp_store *store, zp_error *err)
{
  char *words = describe(run, save.step);
  int status;
  save.workload = words;
  status = words == NULL ? zp_fail(err, ZP_E_MEMORY, save.rank, "no memory to save")
                         : zp_ckpt_writer_open(writer, dir, model_of(run), &save, store, err);
  free(words);
  return status;
}

/* Every field of `now` that was another, or not written down, in `was`; NULL without memory. */
static char *differences(json_t *was, json_t *now)
{
  const char *key;
  json_t *value;
  char *text = NULL;
  size_t size = 0;
  int32_t n = 0;
  FILE *f = open_memstream(&text, &size);
  if (f == NULL) return NULL;
  json_object_foreach(now, key, value)
  {
    char *x, *y;
    if (json_equal(json_object_get(was, key), value)) continue;
    x = json_dumps(json_object_get(was, key), JSON_ENCODE_ANY);
    y = json_dumps(value, JSON_ENCODE_ANY);
    fprintf(f, "%s %s is %s and was %s", n == 0 ? "" : ",", key, y != NULL ? y : "?",
            x != NULL ? x : "not written down");
    n++;
    free(x);
    free(y);
  }
  if (n > 0) fputs(" when the checkpoint was made; so this is not the uninterrupted run.", f);
  if (fclose(f) == 0) return text;
  free(text);
  return NULL;
}

/* The run's words of a checkpoint; earlier versions had no schedule and no fp32 norms. */
static json_t *saved_run(const json_t *words)
{
  json_t *run = json_object_get(words, "run");
  if (run != NULL && json_object_get(run, "schedule") == NULL)
    json_object_set_new(run, "schedule", json_string("constant"));
  if (run != NULL && json_object_get(run, "fp32_norms") == NULL)
    json_object_set_new(run, "fp32_norms", json_false());
  return run;
}

/* Restores the hyperparameters, and compares the checkpoint's words with this run's. */
static int compare_words(const zp_train_record *run, const char *dir, const char *theirs,
                         char **remark, zp_error *err)
{
  json_t *x = json_loads(theirs == NULL ? "{}" : theirs, 0, NULL), *y = NULL;
  zp_error why = {0};
  char *ours = NULL;
  int status = 0;
  if (x == NULL || !json_is_object(json_object_get(x, "gpt")))
    status = zp_fail(err, ZP_E_FILE, -1,
                     "--load %s: the checkpoint does not say which model it "
                     "holds; it was not written by `zeroproof train`.",
                     dir);
  else if (zp_train_hyper_restore(run->hyper, theirs, &why) != 0)
    status = zp_fail(err, why.status, -1, "--load %s: %s", dir, why.text);
  if (status == 0) ours = describe(run, 0);
  if (ours != NULL) y = json_loads(ours, 0, NULL);
  if (status == 0 && y == NULL) {
    status = zp_fail(err, ZP_E_MEMORY, -1, "no memory to load");
  } else if (status == 0 && !json_equal(json_object_get(x, "gpt"), json_object_get(y, "gpt"))) {
    char *want = json_dumps(json_object_get(x, "gpt"), JSON_COMPACT);
    status = zp_fail(err, ZP_E_REFUSED, -1,
                     "--load %s: the checkpoint holds another model, %s. "
                     "Give its shape with --layers, --d-model, --heads and --context.",
                     dir, want == NULL ? "?" : want);
    free(want);
  } else if (status == 0 && remark != NULL) {
    *remark = differences(saved_run(x), json_object_get(y, "run"));
  }
  json_decref(x);
  json_decref(y);
  free(ours);
  return status;
}

/* What is missing, damaged or foreign is input that is refused: exit code 2, not 3. */
static int refused(zp_error *err)
{
  if (err->status == ZP_E_FILE) err->status = ZP_E_REFUSED;
  return err->status;
}

/* This rank's reader, of the checkpoint that rank 0 finds. CKPT-8 */
static int find_checkpoint(const char *dir, zp_mpi *mpi, zp_ckpt_reader **reader, zp_error *err)
{
  const int32_t rank = mpi != NULL ? zp_mpi_rank(mpi) : 0;
  zp_ckpt_id first;
  memset(&first, 0, sizeof first);
  if (rank == 0) {
    if (zp_ckpt_reader_find(reader, dir, mpi != NULL ? 0 : -1, NULL, err) != 0) return err->status;
    first = zp_ckpt_reader_id(*reader);
  }
  if (mpi == NULL) return 0;
  if (zp_mpi_broadcast_bytes(mpi, &first, sizeof first, err) != 0) return err->status;
  return rank == 0 ? 0 : zp_ckpt_reader_find(reader, dir, rank, &first, err);
}

int zp_train_open_reader(const zp_train_record *run, const char *dir, zp_mpi *mpi,
                         zp_ckpt_reader **reader, zp_store *store, char **remark, zp_error *err)
{
  if (remark != NULL) *remark = NULL;
  if (find_checkpoint(dir, mpi, reader, err) != 0) return refused(err);
  if (compare_words(run, dir, zp_ckpt_reader_workload(*reader), remark, err) != 0 ||
      zp_ckpt_reader_check(*reader, model_of(run), store, err) != 0)
    return refused(err);
  /* no rank reads values before all have found rank 0's checkpoint */
  return mpi != NULL ? zp_mpi_barrier(mpi, err) : 0;
}
