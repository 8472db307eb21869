/* Running a case of fuzz or sim in several execution orders. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "backend.h"
#include "case.h"
#include "faults.h"
#include "state.h"

/* The happens-before check runs in the first order of every case and in every fourth after it; it
 * takes about as long as the run. */
enum { ORDER_CHECK_SHARE = ZP_SCHEDULE_PLAIN };

/* 1: the happens-before check and the timeline apply: one host a rank, callbacks, a few producer
 * streams. */
static int has_order_check(const zp_schedule *s)
{
  return !s->hosts && !s->own_loop && !s->many_streams;
}

static void count_facts(const zp_diff_case *j, zp_verdict *v)
{
  zp_scaler scaler = j->c.scaler;
  v->steps = j->c.steps;
  for (int32_t s = 0; s < j->c.steps; s++) {
    const zp_step_result *r = zp_diff_expected(j->diff, s);
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
  v->result[v->steps++] = *zp_diff_expected(j->next, 0);
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

/* A hash of the order of all items that access data. */
static uint64_t hash_of(const zp_diff_case *j)
{
  const uint64_t h = simdev_result(zp_diff_simdev(j->diff))->order_hash;
  if (j->next == NULL) return h;
  return h * 0x9e3779b97f4a7c15u + simdev_result(zp_diff_simdev(j->next))->order_hash;
}

static void show(const zp_case *c, const char *what, int32_t at, int32_t of)
{
  if (c->progress != NULL) c->progress(what, at, of);
}

/* Names the missing order. */
static void name_missing(const zp_cuda_fault *f, zp_verdict *v)
{
  if (f->instead) zp_verdict_say(v, "\nmissing: %s", f->instead);
  if (f->missing == ZP_SYNC_NONE) return;
  zp_verdict_say(v, "\nmissing: %s: %s", zp_cuda_sync_point_name(f->missing),
                 zp_cuda_sync_point_why(f->missing));
}

static void found(const zp_diff_case *j, const zp_diff *where, const zp_cuda_fault *fault,
                  uint64_t schedule, zp_verdict *v)
{
  const zp_finding *why = zp_diff_finding(where);
  const zp_reload *r = &j->c.reload;
  v->step = -1;
  v->schedule = schedule;
  v->no_memory = strcmp(why->kind, "memory") == 0;
  if (!v->no_memory) zp_verdict_clause(v, why->kind);
  zp_verdict_say(v, "%s", why->text);
  zp_diff_say_contributions(where, v);
  if (fault != NULL) name_missing(fault, v);
  if (where != j->next || v->no_memory) return;
  zp_verdict_clause(v, "CKPT-5");
  zp_verdict_say(v,
                 "\n  after saving and loading with pp %d, dp %d, stage %d, buckets of %lld, %d "
                 "replica(s)",
                 r->pp, r->dp, r->stage, (long long)r->bucket, j->other.replicas);
}

/* Draws the case's timeline: of the order that failed, else of the first that has one. If that
 * fails, the verdict stays. */
static void draw(const zp_diff_case *j, const zp_diff *t, const zp_schedule *s, zp_verdict *v)
{
  const uint64_t schedule = s->seed;
  char text[ZP_DIFF_TEXT], title[ZP_CASE_TEXT + 32];
  const int32_t n =
      snprintf(title, sizeof title, "schedule %llu of ", (unsigned long long)schedule);
  if (j->c.trace == NULL && j->c.svg == NULL) return;
  if (!has_order_check(s)) {
    if (v->failed)
      zp_verdict_say(v,
                     "\nno timeline: it requires one host a rank with callbacks; in this order %s",
                     s->hosts          ? "several hosts of a rank announce"
                     : s->own_loop     ? "the caller has its own loop"
                     : s->many_streams ? "each micro-batch has other producer streams"
                                       : "optimizer states are in host memory");
    return;
  }
  zp_case_format(&j->c, title + n, (int64_t)sizeof title - n);
  const int failed = zp_diff_draw(t, j->c.trace, j->c.svg, title, text, sizeof text);
  v->drawn = failed ? -1 : (int64_t)schedule;
  v->undrawn[0] = 0;
  if (failed) snprintf(v->undrawn, sizeof v->undrawn, "the timeline: %s", text);
}

/* Does the engine lend memory for gradients of the case, where entries do not straddle buckets?
 * PART-8 */
static int lends(const zp_case *c, const zp_schedule *s)
{
  const int fp32 = c->cfg.precision == ZP_F32 || c->synth.fp32_gradients;
  if (c->cfg.reduce == ZP_EXACT) return 0;
  return fp32 || (c->cfg.stage == 2 && !s->native);
}

/* Runs the orders. hash: [orders]. */
static void run_orders(const zp_diff_case *j, const zp_cuda_fault *fault, uint64_t *hash,
                       zp_verdict *v)
{
  const int32_t n = j->c.schedules > 0 ? j->c.schedules : 1;
  for (int32_t k = 0; k < n && !v->failed; k++) {
    const uint64_t number = j->c.schedule + (uint64_t)k;
    zp_schedule s = zp_case_schedule(&j->c, number, fault);
    show(&j->c, "the CUDA engine", k, n);
    if (fault == NULL) /* with a fault the results must show it */
      s.path = has_order_check(&s) && (k == 0 || number % ORDER_CHECK_SHARE == 0);
    s.record = j->c.trace != NULL || j->c.svg != NULL;
    const zp_diff *where = zp_diff_case_run(j, &s);
    if (where != NULL) found(j, where, fault, number, v);
    if (where != NULL || (v->drawn < 0 && v->undrawn[0] == 0))
      draw(j, where != NULL ? where : j->diff, &s, v);
    if (v->no_memory) break;
    v->paths += s.path && !v->failed;
    v->offloads += s.offload;
    v->partials += s.partial_gather;
    v->lent += s.in_place && lends(&j->c, &s);
    v->early += s.early;
    v->unused_early += s.unused_early && j->c.synth.unused > 0;
    hash[v->orders++] = hash_of(j);
  }
  v->distinct = distinct_of(hash, v->orders);
  if ((j->c.trace == NULL && j->c.svg == NULL) || v->drawn >= 0 || v->undrawn[0] != 0 ||
      v->failed || v->no_memory)
    return;
  snprintf(v->undrawn, sizeof v->undrawn,
           "the timeline: it requires one host a rank with callbacks, as in orders whose number %d "
           "divides; this case had no such order",
           ZP_SCHEDULE_PLAIN);
}

void zp_cuda_run_case(const zp_case *c, const struct zp_fault *fault, zp_verdict *v)
{
  static zp_diff_case j;
  static zp_case plain;
  static zp_error err;
  uint64_t *hash = calloc((size_t)(c->schedules > 0 ? c->schedules : 1), sizeof *hash);
  zp_verdict_clear(v);
  show(c, "ref", -1, 0);
  zp_case_copy(&plain, c);
  if (fault != NULL && !zp_cuda_fault_stores(zp_cuda_fault_of(fault)))
    plain.reload.pp = 0; /* as ref does */
  if (hash == NULL || zp_diff_case_open(&j, &plain, &err) != 0) {
    if (hash != NULL) zp_diff_case_close(&j);
    v->no_memory = hash == NULL || err.status == ZP_E_MEMORY;
    if (!v->no_memory) zp_verdict_clause(v, "ref");
    zp_verdict_say(v, "%s", hash == NULL ? "out of memory" : err.text);
    free(hash);
    return;
  }
  count_facts(&j, v);
  run_orders(&j, fault != NULL ? zp_cuda_fault_of(fault) : NULL, hash, v);
  zp_diff_case_close(&j);
  free(hash);
}
