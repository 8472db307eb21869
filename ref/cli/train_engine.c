/* The steps of `zeroproof train` on another engine than ref, which trains beside it. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "train_session.h"

typedef struct elsewhere {
  zp_train_session *s;
  zp_ledger_sum before[ZP_GROUPS];
  int64_t *ops, *bytes; /* [steps] of rank 0 */
  zp_ckpt_reader *reader;
  zp_ckpt_writer **writer; /* [world] */
  zp_store load;
  zp_engine_products products;
} elsewhere;

static void planned(void *ctx, zp_sim *ref, int32_t step)
{
  elsewhere *w = ctx;
  zp_trainer *t = &w->s->trainer;
  t->rank = zp_sim_rank(ref, 0);
  if (step >= 0) {
    zp_trainer_count(t, w->before);
    w->ops[step] = t->ops;
    w->bytes[step] = t->bytes;
  } else {
    w->s->out.first = t->rank->step;
    if (w->s->a->load != NULL) zp_train_remark_scale(w->s->a, &t->rank->scaler);
  }
  memcpy(w->before, t->rank->ledger, sizeof w->before);
}

static void stepped(void *ctx, const zp_step_result *result)
{
  elsewhere *w = ctx;
  const int64_t i = result->step - w->s->out.first;
  w->s->trainer.ops = w->ops[i];
  w->s->trainer.bytes = w->bytes[i];
  w->s->out.result[i] = *result;
  zp_train_print_step(w->s, result);
}

static int ended(void *ctx, zp_sim *ref, zp_error *err)
{
  elsewhere *w = ctx;
  zp_trainer t = w->s->trainer;
  t.cfg = &w->s->cfg;
  t.sim = ref;
  return zp_trainer_harvest(&t, &w->s->out, err);
}

static int save_elsewhere(void *ctx, int32_t rank, int64_t step, zp_store *store, zp_error *err)
{
  elsewhere *w = ctx;
  return zp_train_writer(w->s->a, &w->s->cfg, step, rank, &w->writer[rank], store, err);
}

static void saved_elsewhere(void *ctx, int32_t rank)
{
  elsewhere *w = ctx;
  if (w->writer[rank] != NULL) zp_ckpt_writer_close(w->writer[rank]);
  w->writer[rank] = NULL;
}

/* 0, or a negative status in the session's error. */
static int open_elsewhere(elsewhere *w, int32_t steps)
{
  zp_train_session *s = w->s;
  if (zp_outcome_open(&s->out, &s->cfg, 0, steps) != 0)
    return zp_fail(&s->err, ZP_E_MEMORY, -1, "no memory for the outcome of the run");
  w->ops = calloc((size_t)steps, sizeof *w->ops);
  w->bytes = calloc((size_t)steps, sizeof *w->bytes);
  w->writer = calloc((size_t)zp_world(&s->cfg), sizeof(zp_ckpt_writer *));
  if (w->ops == NULL || w->bytes == NULL || w->writer == NULL)
    return zp_fail(&s->err, ZP_E_MEMORY, -1, "no memory for the run's communications");
  return s->a->load == NULL ? 0 : zp_train_reader(s->a, &s->cfg, 1, &w->reader, &w->load, &s->err);
}

/* What a library's products came to. */
static void say_products(zp_train_session *s, const zp_engine_products *p)
{
  const char *by = s->a->engine->products();
  if (s->a->o.json) {
    json_object_set_new(s->doc, "products",
                        json_pack("{s:s, s:I, s:I, s:f, s:f, s:f, s:I}", "by", by, "judged",
                                  (json_int_t)(p->elements - p->unsaid), "not_judged",
                                  (json_int_t)p->unsaid, "farthest", p->farthest, "loss_apart",
                                  p->loss, "gradient_apart", p->gradient, "finite_in_one",
                                  (json_int_t)p->finite_in_one));
    return;
  }
  printf("\nproducts: %s: %" PRId64 " elements judged, the farthest at %.2f of what ERR-7 allows",
         by, p->elements - p->unsaid, p->farthest);
  if (p->unsaid > 0) printf("; of %" PRId64 " the order decides whether they overflow", p->unsaid);
  printf("\nfrom ref's own products, at the same parameters: losses at most %.1e apart, a step's "
         "gradients %.1e (relative)",
         p->loss, p->gradient);
  if (p->finite_in_one > 0) printf("; %" PRId64 " numbers finite in one alone", p->finite_in_one);
  putchar('\n');
}

static void say_elsewhere(zp_train_session *s, const zp_engine_products *p, int32_t steps)
{
  if (s->a->library) say_products(s, p);
  if (s->a->o.json) return;
  if (s->a->save != NULL)
    printf("        saved in %s, continues at step %" PRId64 "\n", s->a->save,
           s->out.first + steps);
  printf("\n%s, in each of %d steps and on each of %d ranks%s\n", s->a->engine->clean, (int)steps,
         (int)zp_world(&s->cfg),
         s->a->library ? ", from the losses and gradients that it made" : "");
}

int zp_train_elsewhere(zp_train_session *s)
{
  const int32_t steps = (int32_t)s->a->o.value[ZP_OPT_STEPS];
  elsewhere w = {.s = s};
  const zp_engine_training job = {.cfg = &s->cfg,
                                  .hyper = &s->a->o.hyper,
                                  .work = &s->work,
                                  .steps = steps,
                                  .ctx = &w,
                                  .planned = planned,
                                  .stepped = stepped,
                                  .ended = ended,
                                  .load = s->a->load != NULL ? &w.load : NULL,
                                  .save = s->a->save != NULL ? save_elsewhere : NULL,
                                  .saved = saved_elsewhere,
                                  .offload = s->a->chosen.offload,
                                  .library = s->a->library ? &w.products : NULL};
  int status = open_elsewhere(&w, steps);
  if (status == 0) status = s->a->engine->train(&job, &s->err);
  s->trainer.rank = NULL; /* was the engine's */
  if (w.reader != NULL) zp_ckpt_reader_close(w.reader);
  free(w.ops);
  free(w.bytes);
  free(w.writer);
  if (status == 0) say_elsewhere(s, &w.products, steps);
  return status;
}
