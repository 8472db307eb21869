#include "twin.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../model/product.h"
#include "case.h"
#include "faults.h"
#include "trial_internal.h"

/* What the run ordered is compared with what the plan demands in the first order of every case,
 * which fuzz lets be one that has a path, and in every fourth: that takes about as long as a run. */
enum { PATH_SHARE = ZP_TRIAL_PLAIN };

/* Whether the path and the timeline tell of such a run: what one host does, in callbacks. */
static int has_path(const zp_trial_schedule *s)
{
  return !s->hosts && !s->own_loop && !s->offload;
}

/* ---- A case ---------------------------------------------------------------------------------- */

static void count_facts(const zp_trial_subject *j, zp_verdict *v)
{
  zp_scaler scaler = j->c.scaler;
  v->steps = j->c.steps;
  for (int32_t s = 0; s < j->c.steps; s++) {
    const zp_step_result *r = zp_trial_expected(j->trial, s);
    const int32_t before = scaler.log2_scale;
    zp_scaler_update(&scaler, r->skipped);
    v->result[s] = *r;
    v->skipped += r->skipped;
    v->clipped += r->clip_factor < 1;
    v->grown += scaler.log2_scale > before;
    v->lowered += scaler.log2_scale < before;
  }
  if (j->next == NULL) return;
  v->reloaded = 1;
  v->result[v->steps++] = *zp_trial_expected(j->next, 0);
}

static int by_value(const void *a, const void *b)
{
  const uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
  return x < y ? -1 : x > y;
}

static int64_t distinct_of(uint64_t *hash, int64_t n)
{
  int64_t distinct = n > 0;
  qsort(hash, (size_t)n, sizeof *hash, by_value);
  for (int64_t i = 1; i < n; i++) distinct += hash[i] != hash[i - 1];
  return distinct;
}

/* Of what touched data, in its order. */
static uint64_t hash_of(const zp_trial_subject *j)
{
  const uint64_t h = simdev_result(zp_trial_simdev(j->trial))->order_hash;
  if (j->next == NULL) return h;
  return h * 0x9e3779b97f4a7c15u + simdev_result(zp_trial_simdev(j->next))->order_hash;
}

static void show(const zp_case *c, const char *what, int32_t at, int32_t of)
{
  if (c->progress != NULL) c->progress(what, at, of);
}

/* The edge that is not there. */
static void say_missing(const zp_twin_fault *f, zp_verdict *v)
{
  if (f->instead) zp_verdict_say(v, "\nmissing: %s", f->instead);
  if (f->missing == ZP_SITE_NONE) return;
  zp_verdict_say(v, "\nmissing: %s: %s", zp_cuda_site_name(f->missing),
                 zp_cuda_site_why(f->missing));
}

static void found(const zp_trial_subject *j, const zp_trial *where, const zp_twin_fault *fault,
                  uint64_t schedule, zp_verdict *v)
{
  const zp_trial_found *why = zp_trial_why(where);
  const zp_reload *r = &j->c.reload;
  v->step = -1;
  v->schedule = schedule;
  v->no_memory = strcmp(why->kind, "memory") == 0;
  if (!v->no_memory) zp_verdict_clause(v, why->kind);
  zp_verdict_say(v, "%s", why->text);
  if (fault != NULL) say_missing(fault, v);
  if (where != j->next || v->no_memory) return;
  zp_verdict_clause(v, "CKPT-5");
  zp_verdict_say(v, "\n  after saving and loading with pp %d, dp %d, stage %d, buckets of %lld",
                 r->pp, r->dp, r->stage, (long long)r->bucket);
}

/* The timeline that the case asks for: of the order that failed, else of the first that has one. */
static void draw(const zp_trial_subject *j, const zp_trial *t, const zp_trial_schedule *s,
                 zp_verdict *v)
{
  const uint64_t schedule = s->seed;
  char text[ZP_TRIAL_TEXT], title[ZP_CASE_TEXT + 32];
  const int32_t n =
      snprintf(title, sizeof title, "schedule %llu of ", (unsigned long long)schedule);
  if (j->c.trace == NULL && j->c.svg == NULL) return;
  if (!has_path(s)) {
    if (v->failed)
      zp_verdict_say(v, "\nno timeline: it is of one host, in callbacks; in this order %s",
                     s->hosts      ? "several hosts of a rank announce"
                     : s->own_loop ? "the caller has its own loop"
                                   : "optimizer states are in host memory");
    return;
  }
  zp_case_format(&j->c, title + n, (int64_t)sizeof title - n);
  v->drawn = (int64_t)schedule;
  if (!zp_trial_draw(t, j->c.trace, j->c.svg, title, text, sizeof text)) return;
  zp_verdict_clear(v);
  v->no_memory = 1; /* or a file that cannot be written */
  zp_verdict_say(v, "the timeline: %s", text);
}

/* One order after the other. hash: room for all. */
static void run_orders(const zp_trial_subject *j, const zp_twin_fault *fault, uint64_t *hash,
                       zp_verdict *v)
{
  const int32_t n = j->c.schedules > 0 ? j->c.schedules : 1;
  for (int32_t k = 0; k < n && !v->failed; k++) {
    const uint64_t number = j->c.schedule + (uint64_t)k;
    zp_trial_schedule s = zp_twin_schedule(&j->c, number, fault);
    show(&j->c, "the twin", k, n);
    if (fault == NULL) /* a fault's result is what is looked for */
      s.path = has_path(&s) && (k == 0 || number % PATH_SHARE == 0);
    s.record = j->c.trace != NULL || j->c.svg != NULL;
    const zp_trial *where = zp_trial_subject_run(j, &s);
    if (where != NULL) found(j, where, fault, number, v);
    if (where != NULL || v->drawn < 0) draw(j, where != NULL ? where : j->trial, &s, v);
    if (v->no_memory) break;
    v->paths += s.path && !v->failed;
    v->offloads += s.offload;
    hash[v->orders++] = hash_of(j);
  }
  v->distinct = distinct_of(hash, v->orders);
  if ((j->c.trace == NULL && j->c.svg == NULL) || v->drawn >= 0 || v->failed || v->no_memory)
    return;
  v->no_memory = 1; /* as for a file that cannot be written */
  zp_verdict_say(v,
                 "the timeline: it is of one host a rank, in callbacks, without offload, as in "
                 "orders whose number %d divides; here there was none",
                 ZP_TRIAL_PLAIN);
}

void zp_twin_run(const zp_case *c, const struct zp_fault *fault, zp_verdict *v)
{
  static zp_trial_subject j;
  static zp_case plain;
  static zp_error err;
  uint64_t *hash = calloc((size_t)(c->schedules > 0 ? c->schedules : 1), sizeof *hash);
  zp_verdict_clear(v);
  show(c, "ref", -1, 0);
  zp_case_copy(&plain, c);
  if (fault != NULL && !zp_twin_fault_stores(zp_twin_fault_of(fault)))
    plain.reload.pp = 0; /* as with ref's */
  if (hash == NULL || zp_trial_subject_open(&j, &plain, &err) != 0) {
    if (hash != NULL) zp_trial_subject_close(&j);
    v->no_memory = hash == NULL || err.status == ZP_E_MEMORY;
    if (!v->no_memory) zp_verdict_clause(v, "ref");
    zp_verdict_say(v, "%s", hash == NULL ? "no memory for a trial" : err.text);
    free(hash);
    return;
  }
  count_facts(&j, v);
  run_orders(&j, fault != NULL ? zp_twin_fault_of(fault) : NULL, hash, v);
  zp_trial_subject_close(&j);
  free(hash);
}

/* ---- Training -------------------------------------------------------------------------------- */

/* What a run that found something is: no verdict where memory ran out, or a real device failed. */
static int status_of(const zp_trial *t)
{
  const char *kind = zp_trial_why(t)->kind;
  if (strcmp(kind, "memory") == 0) return ZP_E_MEMORY;
  for (int32_t r = 0; zp_trial_ranks == ZP_TRIAL_THREADS && r < t->world; r++)
    if (strcmp(kind, "engine") == 0 &&
        (t->error[r].status == ZP_CUDA_E_CUDA || t->error[r].status == ZP_CUDA_E_MEMORY))
      return ZP_E_DEVICE;
  return ZP_E_VERDICT;
}

/* 0, or a negative status: *t is to be closed all the same. with: what is told before the finding. */
static int train(const zp_engine_training *job, int32_t steps, const zp_trial_watch *watch,
                 const char *with, zp_trial **t, zp_error *err)
{
  zp_trial_schedule s = zp_trial_schedule_of(1);
  *t = zp_trial_open(job->cfg, job->hyper, job->work, steps, watch, err);
  if (*t == NULL) return err->status;
  s.offload = job->offload;
  s.get_each = 1; /* people want to see each step when it is done */
  s.producers = 2;
  s.decisions_max = INT64_MAX; /* what stands still is found without it */
  if (!zp_trial_run(*t, &s)) return 0;
  return zp_fail(err, status_of(*t), -1, "the CUDA twin%s: %s: %s", with, zp_trial_why(*t)->kind,
                 zp_trial_why(*t)->text);
}

/* What the model has between its products no bound judges, and ref is given: so the first step is
 * done before, with ref's own products, where all bits are ref's. */
static int between_products(const zp_engine_training *job, zp_error *err)
{
  const zp_trial_storage storage = {.load = job->load};
  const zp_trial_watch watch = {.storage = &storage};
  zp_trial *t;
  const int status = train(job, 1, &watch, ", its first step with ref's products", &t, err);
  zp_trial_close(t);
  return status;
}

int zp_twin_train(const zp_engine_training *job, zp_error *err)
{
  const zp_trial_storage storage = {.load = job->load,
                                    .save = job->save != NULL,
                                    .ctx = job->ctx,
                                    .open = job->save,
                                    .close = job->saved};
  const zp_trial_watch watch = {.ctx = job->ctx,
                                .ref = job->planned,
                                .twin = job->stepped,
                                .storage = &storage,
                                .products = job->library};
  zp_trial *t;
  int status = job->library ? between_products(job, err) : 0;
  if (status) return status;
  status = train(job, job->steps, &watch, "", &t, err);
  if (!status) status = job->ended(job->ctx, zp_trial_ref(t), err);
  zp_trial_close(t);
  return status;
}

/* ---- The engine ------------------------------------------------------------------------------ */

#if defined(__SANITIZE_THREAD__)
#define PROGRAM "zeroproof-simdev-tsan"
#else
#define PROGRAM "zeroproof-simdev"
#endif

const zp_engine zp_engine_twin = {
    .name = "cuda",
    .program = PROGRAM,
    .clean = "the CUDA twin equal to ref bit for bit: ledgers, losses, norms, scales, masters, "
             "moments, parameters",
    .where = "the CUDA twin on a simulated device, beside ref",
    .lack = zp_trial_lack_names,
    .lacks = ZP_TRIAL_LACKS,
    .schedules = 16,
    .patience_s = 60, /* 16 ranks under ThreadSanitizer, on a core that others use too */
    .random = zp_trial_random_case,
    .lacking = zp_trial_lacking,
    .run = zp_twin_run,
    .fault_count = zp_twin_fault_count,
    .fault_at = zp_twin_fault_at,
    .fault_find = zp_twin_fault_find,
    .train = zp_twin_train,
    .products = zp_products_are,
    .library = &zp_products_library,
    .adapter = &zp_adapter_twin,
};
