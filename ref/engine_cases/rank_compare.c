/* What the public functions return after a step, compared with the simulated rank bit by bit.
 * spec: STEP-2, STEP-5, STEP-9, STEP-11, LEDG-1 */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "../engine/held.h"
#include "rank_state.h"
#include "rank_words.h"

void zp_rank_follow_ledger(zp_rank_job *r, const zp_engine_state *s)
{
  memcpy(r->ref->ledger, s->ledger, sizeof s->ledger);
  r->skipped = 0;
}

/* LEDG-6: the CUDA engine issues a skipped step's gathers, the simulation does not. */
static int compare_ledger(zp_rank_job *r, const zp_engine_state *s)
{
  if (r->o->device.asynchronous && r->skipped) zp_rank_follow_ledger(r, s);
  if (memcmp(s->ledger, r->ref->ledger, sizeof s->ledger) == 0) return 0;
  return zp_rank_found(r, "LEDG-1", "the ledger is not the simulated rank's");
}

static int compare_numbers(zp_rank_job *r, const zp_engine_state *s)
{
  const zp_step_result *want = &r->ref->result;
  double norm;
  float loss;
  int32_t log2_scale = 0;
  memcpy(&norm, &want->norm_f64, sizeof norm);
  memcpy(&loss, &want->loss, sizeof loss);
  if (s->step != r->ref->step || s->skipped != want->skipped)
    return zp_rank_found(r, "STEP-6", "got step %lld, %s; expected %lld, %s", (long long)s->step,
                         s->skipped ? "skipped" : "taken", (long long)r->ref->step,
                         want->skipped ? "skipped" : "taken");
  if (memcmp(&s->norm, &norm, sizeof norm) != 0)
    return zp_rank_found(r, "STAT-5", "norm: got %.17g, expected %.17g", s->norm, norm);
  if (memcmp(&s->loss, &loss, sizeof loss) != 0)
    return zp_rank_found(r, "STAT-5", "loss: got %.9g, expected %.9g", (double)s->loss,
                         (double)loss);
  if (s->clip != want->clip_factor)
    return zp_rank_found(r, "STEP-6", "clip factor: got %.17g, expected %.17g", s->clip,
                         want->clip_factor);
  if (zp_rank_read(r, &log2_scale, zp_engine_log2_scale(r->e), sizeof log2_scale))
    return zp_rank_found(r, "SCALE-4", "the loss scale could not be read");
  if (s->scale != ldexp(1, r->ref->scaler.log2_scale) || log2_scale != r->ref->scaler.log2_scale)
    return zp_rank_found(r, "SCALE-4", "loss scale: got %g, expected 2^%d", s->scale,
                         (int)r->ref->scaler.log2_scale);
  return compare_ledger(r, s);
}

static int compare_parameter(zp_rank_job *r, int32_t j)
{
  const zp_config *cfg = &r->c->cfg;
  const int64_t n = cfg->params[j].numel, each = zp_dtype_bytes(zp_entry_dtype(cfg, j));
  const char *at = zp_engine_param(r->e, j), *want = r->ref->all_params[j];
  const char *got = at ? (const char *)r->read : NULL;
  if ((at != NULL) != (cfg->params[j].stage == r->ref->at.pp))
    return zp_rank_found(r, "PART-1", "zp_engine_param of entry %d: got %s", (int)j,
                         at ? "memory of another stage's entry" : "NULL");
  if (at && zp_rank_read(r, r->read, at, (size_t)(n * each)))
    return zp_rank_found(r, "STEP-2", "the parameter of entry %d could not be read", (int)j);
  for (int64_t i = 0; got && i < n; i++)
    if (memcmp(got + i * each, want + i * each, (size_t)each) != 0)
      return zp_rank_found(r, "STEP-2", "parameter of entry %d, element %lld differs", (int)j,
                           (long long)i);
  return 0;
}

/* Masters and moments of an entry: which elements the rank holds, and their bits. */
static int compare_state(zp_rank_job *r, int32_t j, int32_t state, const char *name)
{
  int64_t from = 0, offset, n;
  for (;;) {
    const zp_held want = zp_held_from(&r->c->cfg, &r->ref->block, &r->ref->lay, j, from);
    if (zp_engine_held(r->e, j, from, &offset, &n) || n != want.count ||
        (n > 0 && offset != want.offset))
      return zp_rank_found(r, "STEP-11", "elements of entry %d that the rank holds from %lld on",
                           (int)j, (long long)from);
    if (n == 0) return 0;
    if (zp_engine_read_state(r->e, j, state, offset, n, r->read))
      return zp_rank_found(r, "STEP-11", "zp_engine_read_state: %s", zp_engine_why(r->e)->text);
    if (memcmp(r->read, zp_state_of(r->ref, want.flat, state) + want.at,
               (size_t)n * sizeof *r->read) != 0)
      return zp_rank_found(r, "STEP-2", "the %s of entry %d, elements %lld to %lld, differs", name,
                           (int)j, (long long)offset, (long long)(offset + n - 1));
    from = offset + n;
  }
}

/* What streams read at the beginning of the steps since the last comparison. */
static int compare_seen(zp_rank_job *r)
{
  const zp_rank_device *d = &r->o->device;
  zp_rank_memory *m = &r->memory;
  for (int32_t k = 0; k < m->streams; k++)
    if (d->wait(d->ctx, m->stream[k])) return zp_rank_found(r, "STEP-2", "a stream did not end");
  for (; m->compared < r->ref->step; m->compared++)
    for (int32_t j = 0; j < r->c->cfg.n_params; j++)
      for (int32_t i = 0; m->seen[j] && i < ZP_RANK_READS; i++) {
        const size_t bytes = zp_rank_param_bytes(r, j), at = (size_t)m->compared * bytes;
        if (memcmp(m->seen[j] + ZP_RANK_READS * at + (size_t)i * bytes, m->before[j] + at, bytes))
          return zp_rank_found(r, "STRM-4", "%s step %lld, a stream read other values of entry %d",
                               i == 0 ? "at the beginning of" : "after the gradients of",
                               (long long)m->compared, (int)j);
      }
  return 0;
}

int zp_rank_compare(zp_rank_job *r)
{
  static const int32_t states[] = {ZP_WHAT_MASTER, ZP_WHAT_MOMENT1, ZP_WHAT_MOMENT2};
  static const char *const names[] = {"master", "first moment", "second moment"};
  zp_engine_state s = {.size = sizeof s};
  if (zp_engine_get(r->e, &s))
    return zp_rank_found(r, "STEP-9", "zp_engine_get: %s", zp_engine_why(r->e)->text);
  if (compare_numbers(r, &s) || compare_seen(r)) return 1;
  for (int32_t j = 0; j < r->c->cfg.n_params; j++) {
    if (compare_parameter(r, j)) return 1;
    for (int32_t k = 0; k < 3; k++)
      if (compare_state(r, j, states[k], names[k])) return 1;
  }
  return 0;
}

/* ---- Errors ---------------------------------------------------------------------------------- */

enum { WORDS = 5, WORD = 96 };

/* What the text of the wrong call's error has, whichever engine it is: rank, entry, and what is
 * wrong with which value. */
static void expect_words(const zp_rank_job *r, char word[WORDS][WORD])
{
  const int32_t j = r->wrong_entry, dtype = zp_rank_grad_dtype(r, j);
  const long long n = r->c->params[j].numel;
  const int64_t mb = r->c->cfg.micro_batches - 1 + (r->misuse == ZP_MISUSE_AHEAD);
  const int32_t by_count = r->misuse == ZP_MISUSE_SHORT || r->misuse == ZP_MISUSE_LONG ||
                           (r->misuse == ZP_MISUSE_NULL && n == 0);
  memset(word, 0, sizeof(char[WORDS][WORD]));
  snprintf(word[0], WORD, "entry %d", r->misuse == ZP_MISUSE_ENTRY ? r->c->cfg.n_params : j);
  snprintf(word[4], WORD, "rank %d", (int)r->o->rank);
  if (r->misuse == ZP_MISUSE_DTYPE) {
    snprintf(word[1], WORD, "dtype");
    snprintf(word[2], WORD, " %s,", zp_dtype_name((dtype + 1) % 3));
    snprintf(word[3], WORD, " %s", zp_dtype_name(dtype));
  } else if (by_count) {
    snprintf(word[1], WORD, "got a count of %lld, expected %lld, the entry's elements",
             r->misuse == ZP_MISUSE_SHORT ? n - 1 : n + 1, n);
  } else if (r->misuse == ZP_MISUSE_NULL) {
    snprintf(word[1], WORD, "address");
    snprintf(word[2], WORD, "is NULL");
  } else {
    snprintf(word[1], WORD, "micro-batch %lld", (long long)mb);
  }
}

/* A wrong call of this rank ended its engine: the call and the step return its error, which names
 * rank, entry and field. */
static int compare_own_error(zp_rank_job *r, int status)
{
  const zp_error *why = zp_engine_why(r->e);
  char word[WORDS][WORD];
  if (status != ZP_E_ARRIVAL || (r->misuse != ZP_MISUSE_LACKS && r->misused != ZP_E_ARRIVAL) ||
      why->rank != r->o->rank)
    return zp_rank_found(r, "STEP-3", "wrong call %d returned %d and the step %d (%.300s)",
                         (int)r->misuse, (int)r->misused, status, why->text);
  expect_words(r, word);
  for (int32_t i = 0; i < WORDS; i++)
    if (!zp_text_has(why->text, word[i]))
      return zp_rank_found(r, "STEP-3", "the error of wrong call %d does not have '%s': %.600s",
                           (int)r->misuse, word[i], why->text);
  return 0;
}

/* That of another rank did: this one's error names it. */
static int compare_other_error(zp_rank_job *r, int status)
{
  const zp_error *why = zp_engine_why(r->e);
  char word[WORD];
  snprintf(word, sizeof word, "rank %d", (int)r->wrong_rank);
  if (status == ZP_E_PEER && zp_text_has(why->text, word)) return 0;
  return zp_rank_found(r, "STEP-5", "rank %d made a wrong call; this rank's error is %d: %.600s",
                       (int)r->wrong_rank, status, why->text);
}

int zp_rank_compare_ended(zp_rank_job *r, int status)
{
  zp_engine_state s = {.size = sizeof s};
  const zp_error *why = zp_engine_why(r->e);
  if (status == ZP_OK || why->status != status)
    return zp_rank_found(r, "STEP-3", "the step after a wrong call returned %d, zp_engine_why %d",
                         status, (int)why->status);
  if (r->misuse ? compare_own_error(r, status) : compare_other_error(r, status)) return 1;
  if (zp_engine_step(r->e, NULL) != status || zp_engine_get(r->e, &s) != status ||
      zp_engine_save(r->e, r->o->folder) != status ||
      zp_engine_read_state(r->e, 0, ZP_WHAT_MASTER, 0, 0, r->read) != status)
    return zp_rank_found(r, "STEP-5", "a call after the error did not return its status, %d",
                         status);
  for (int32_t j = 0; j < r->c->cfg.n_params; j++)
    if (r->c->params[j].stage == r->ref->at.pp && !zp_engine_param(r->e, j))
      return zp_rank_found(r, "STEP-5", "entry %d has no memory after an error", (int)j);
  return 0;
}
