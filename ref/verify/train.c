#include "train.h"

#include <stdlib.h>

#include "train_save.h"

/* ---- Checkpoints ----------------------------------------------------------------------------- */

/* Opens the checkpoint, and passes on what differs from the run that made it. */
static int open_reader(const zp_training *job, zp_ckpt_reader **reader, zp_store *store,
                       zp_error *err)
{
  char *text = NULL;
  const int status = zp_train_open_reader(job->record, job->load, job->mpi, reader, store,
                                          job->remark != NULL ? &text : NULL, err);
  if (text != NULL && *text != 0) job->remark(job->ctx, text);
  free(text);
  return status;
}

static int load(const zp_training *job, zp_trainer *t, zp_store *store, zp_error *err)
{
  int status;
  for (int32_t i = 0; i < zp_trainer_ranks(t); i++) zp_trainer_rank(t, i)->store = store;
  status = zp_trainer_run(t, ZP_PHASE_LOAD, err);
  if (status == 0 && job->loaded != NULL) job->loaded(job->ctx, &t->rank->scaler);
  for (int32_t i = 0; i < zp_trainer_ranks(t); i++) zp_trainer_rank(t, i)->store = NULL;
  if (status == ZP_E_FILE) status = err->status = ZP_E_REFUSED; /* damaged input */
  return status;
}

/* The ranks before the first step. A checkpoint is opened first, since it has the hyperparameters
 * that they begin with. */
static int open_trainer(const zp_training *job, zp_trainer *t, zp_ckpt_folder *loaded,
                        zp_error *err)
{
  zp_ckpt_reader *reader = NULL;
  zp_store store;
  int status = job->load == NULL ? 0 : open_reader(job, &reader, &store, err);
  if (status == 0) status = zp_trainer_open(t, job->cfg, job->hyper, job->work, job->mpi, err);
  if (status == 0 && job->load != NULL) status = load(job, t, &store, err);
  if (status == 0 && job->load != NULL) *loaded = zp_ckpt_reader_folder(reader);
  if (reader != NULL) zp_ckpt_reader_close(reader);
  return status;
}

/* ---- On ref ---------------------------------------------------------------------------------- */

/* Saves after step i of the run, if it is time to: in the background, except for the last one. */
static int save_after(zp_saving *s, int64_t i, int64_t steps, zp_error *err)
{
  const zp_training *job = s->job;
  if (job->save == NULL) return 0;
  if (i + 1 == steps) return zp_saving_now(s, err);
  if (job->save_every > 0 && (i + 1) % job->save_every == 0) return zp_saving_begin(s, err);
  return zp_saving_poll(s, err);
}

int zp_train(const zp_training *job, zp_trainer *t, zp_outcome *out, zp_error *err)
{
  zp_saving saving;
  zp_ckpt_folder loaded = {0};
  int status = open_trainer(job, t, &loaded, err);
  if (status != 0) return status;
  if (zp_outcome_open(out, job->cfg, t->rank->step, job->steps) != 0)
    return zp_fail(err, ZP_E_MEMORY, -1, "no memory for the outcome of the run");
  if (zp_saving_open(&saving, job, t, loaded, err) != 0) return err->status;
  if (job->begins != NULL) status = job->begins(job->ctx, out->first, err);
  for (int64_t i = 0; i < out->steps && status == 0; i++) {
    status = zp_trainer_run(t, ZP_PHASE_STEP, err);
    if (status != 0) break;
    out->result[i] = t->rank->result;
    if (job->stepped != NULL) job->stepped(job->ctx, &out->result[i], t->ops, t->bytes);
    status = save_after(&saving, i, out->steps, err);
  }
  zp_saving_close(&saving, status);
  return status != 0 ? status : zp_trainer_collect(t, out, err);
}

/* ---- On another engine ----------------------------------------------------------------------- */

typedef struct beside {
  const zp_training *job;
  zp_outcome *out;
  zp_trainer ref; /* rank 0 of ref, while it runs */
  zp_ledger_sum before[ZP_ALL_GROUPS];
  int64_t *ops, *bytes; /* [steps] of rank 0 */
  zp_ckpt_reader *reader;
  uint64_t word;           /* of the run: it saves every step once */
  zp_ckpt_writer **writer; /* [world] */
  zp_store load;
} beside;

static void ref_stepped(void *ctx, zp_sim *ref, int32_t step)
{
  beside *b = ctx;
  zp_trainer *t = &b->ref;
  t->rank = zp_sim_rank(ref, 0);
  if (step >= 0) {
    zp_trainer_count(t, b->before);
    b->ops[step] = t->ops;
    b->bytes[step] = t->bytes;
  } else {
    b->out->first = t->rank->step;
    if (b->job->load != NULL && b->job->loaded != NULL)
      b->job->loaded(b->job->ctx, &t->rank->scaler);
  }
  for (int32_t g = 0; g < ZP_ALL_GROUPS; g++) b->before[g] = t->rank->ledger[g];
}

static void stepped(void *ctx, const zp_step_result *result)
{
  beside *b = ctx;
  const int64_t i = result->step - b->out->first;
  b->out->result[i] = *result;
  if (b->job->stepped != NULL) b->job->stepped(b->job->ctx, result, b->ops[i], b->bytes[i]);
}

static int finished(void *ctx, zp_sim *ref, zp_error *err)
{
  beside *b = ctx;
  zp_trainer t = b->ref;
  t.cfg = b->job->cfg;
  t.sim = ref;
  return zp_trainer_collect(&t, b->out, err);
}

static int save_open(void *ctx, int32_t rank, int64_t step, zp_store *store, zp_error *err)
{
  beside *b = ctx;
  zp_ckpt_save save = {.step = step, .rank = rank, .word = b->word};
  if (b->reader != NULL) save.loaded = zp_ckpt_reader_folder(b->reader);
  return zp_train_open_writer(b->job->record, b->job->save, save, &b->writer[rank], store, err);
}

static void save_close(void *ctx, int32_t rank)
{
  beside *b = ctx;
  if (b->writer[rank] != NULL) zp_ckpt_writer_close(b->writer[rank]);
  b->writer[rank] = NULL;
}

/* 0, or a negative status in *err. */
static int open_beside(beside *b, zp_error *err)
{
  const zp_training *job = b->job;
  if (zp_outcome_open(b->out, job->cfg, 0, job->steps) != 0)
    return zp_fail(err, ZP_E_MEMORY, -1, "no memory for the outcome of the run");
  b->ops = calloc((size_t)job->steps, sizeof *b->ops);
  b->bytes = calloc((size_t)job->steps, sizeof *b->bytes);
  b->writer = calloc((size_t)zp_world(job->cfg), sizeof(zp_ckpt_writer *));
  if (b->ops == NULL || b->bytes == NULL || b->writer == NULL)
    return zp_fail(err, ZP_E_MEMORY, -1, "no memory for the run's communications");
  return job->load == NULL ? 0 : open_reader(job, &b->reader, &b->load, err);
}

int zp_train_beside(const zp_training *job, const zp_backend *backend, int32_t offload,
                    zp_gemm_report *products, zp_outcome *out, zp_error *err)
{
  beside b = {.job = job, .out = out, .word = zp_ckpt_word()};
  const zp_backend_training training = {.cfg = job->cfg,
                                        .hyper = job->hyper,
                                        .work = job->work,
                                        .steps = (int32_t)job->steps,
                                        .offload = offload,
                                        .load = job->load != NULL ? &b.load : NULL,
                                        .ctx = &b,
                                        .ref_stepped = ref_stepped,
                                        .stepped = stepped,
                                        .finished = finished,
                                        .save_open = job->save != NULL ? save_open : NULL,
                                        .save_close = save_close,
                                        .products = products};
  int status = open_beside(&b, err);
  if (status == 0) status = backend->train(&training, err);
  if (b.reader != NULL) zp_ckpt_reader_close(b.reader);
  free(b.ops);
  free(b.bytes);
  free(b.writer);
  return status;
}
