/* spec: STEP-2, STEP-3, STEP-5, CKPT-5 */
#include "rank_run.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "rank_state.h"

enum { DRAW_EARLY = 40, DRAW_COMPARE = 45 };

/* ---- Running --------------------------------------------------------------------------------- */

/* The caller's own loop: its streams are joined to the first one, which ends the step. */
static int own_window(zp_rank_job *r)
{
  void *main = r->memory.stream[0];
  int status = zp_rank_fork(r, main);
  for (int64_t mb = 0; mb < r->c->cfg.micro_batches && !status; mb++) {
    const zp_engine_call c = {.step = r->step, .mb = mb, .stream = main};
    status = zp_rank_forward(r, &c);
    if (!status) status = zp_rank_loss(r, mb);
    if (!status) status = zp_rank_backward(r, &c);
  }
  return status ? status : zp_rank_join(r, main);
}

static int step(zp_rank_job *r)
{
  int status = 0;
  zp_case_hyper_at(r->c, r->step, &r->hyper);
  const zp_hyper *hyper = &r->hyper;
  zp_hyper stale;
  if (r->fault == ZP_RANK_FAULT_RATE && r->step > 0) {
    zp_case_hyper_at(r->c, r->step - 1, &stale);
    hyper = &stale;
  }
  if (r->c->rates || zp_rank_draw(r, -1, DRAW_EARLY, r->step, 2))
    status = zp_engine_set_hyper(r->e, hyper);
  if (!status && !r->callbacks) status = own_window(r);
  return status ? status : zp_engine_step(r->e, r->memory.stream[0]);
}

/* The parameters that the step has read. */
static void remember_params(zp_rank_job *r)
{
  for (int32_t j = 0; j < r->c->cfg.n_params; j++) {
    const size_t bytes = zp_rank_param_bytes(r, j);
    char *before = r->memory.before[j];
    if (before) memcpy(before + (size_t)r->step * bytes, r->ref->all_params[j], bytes);
  }
}

/* Nothing waits for the step: the next one is queued beside it. */
static int is_followed_at_once(const zp_rank_job *r)
{
  return r->o->device.asynchronous && r->step < r->c->steps - 2 &&
         zp_rank_draw(r, -1, DRAW_COMPARE, r->step, 3) == 0;
}

/* Other ranks may go on while this one waits. */
static int is_compared(const zp_rank_job *r)
{
  return !r->o->device.asynchronous || r->step >= r->c->steps - 2 ||
         zp_rank_draw(r, r->o->rank, DRAW_COMPARE + 1, r->step, 4) != 0;
}

/* before: the exponent of the scale of this step. */
static void note_step(zp_rank_job *r, int32_t before)
{
  zp_rank_run_seen *seen = &r->found->seen;
  r->skipped |= r->ref->result.skipped;
  seen->skipped += r->ref->result.skipped;
  seen->clipped += r->ref->result.clip_factor < 1;
  seen->grown += r->ref->scaler.log2_scale > before;
  seen->lowered += r->ref->scaler.log2_scale < before;
}

static int train(zp_rank_job *r)
{
  const int ends = zp_rank_ends_wrongly(r->c);
  for (; r->step < r->c->steps; r->step++) {
    if (zp_rank_refused_calls(r)) return 1;
    const int status = step(r), last = r->step == r->c->steps - 1;
    r->found->left = status != 0;
    if (ends && last && (status || r->misuse)) return zp_rank_compare_ended(r, status);
    if (status)
      return zp_rank_found(r, "STEP-2", "the step failed: %.700s", zp_engine_why(r->e)->text);
    const int32_t before = r->ref->scaler.log2_scale;
    remember_params(r);
    if (zp_sim_run(r->sim, ZP_PHASE_STEP, &r->err))
      return zp_rank_found(r, "STEP-2", "the simulation failed: %.700s", r->err.text);
    note_step(r, before);
    if (is_followed_at_once(r)) continue;
    if (is_compared(r) && zp_rank_compare(r)) return 1;
    if (!last && zp_rank_checkpoint(r)) return 1;
  }
  return 0;
}

static int not_opened(zp_rank_job *r, const char *what)
{
  snprintf(r->found->clause, sizeof r->found->clause, "STEP-1");
  snprintf(r->found->text, sizeof r->found->text, "rank %d: %s could not be opened: %.700s",
           (int)r->o->rank, what, r->err.text);
  return 1;
}

/* The rank's own streams end before the engine. */
static int finish(zp_rank_job *r)
{
  const zp_rank_device *d = &r->o->device;
  int status = 0;
  r->found->step = r->step;
  for (int32_t k = 0; k < r->memory.streams; k++) status |= d->wait(d->ctx, r->memory.stream[k]);
  if (status) (void)zp_rank_found(r, "STEP-2", "the rank's streams did not end");
  status = zp_engine_destroy(r->e, &r->err);
  r->e = NULL;
  if (!r->found->left && status)
    (void)zp_rank_found(r, "STEP-5", "zp_engine_destroy: %.700s", r->err.text);
  const int failed = r->found->clause[0] != 0;
  if (status) return failed; /* the engine may still read what the rank has: the process leaves */
  if (r->inst) r->work.close(r->inst);
  zp_sim_close(r->sim);
  zp_rank_memory_close(r);
  zp_rank_messages_close(r);
  for (int32_t j = 0; j < ZP_CASE_PARAMS; j++) free(r->first[j]);
  free(r->read);
  free(r);
  return failed;
}

int zp_rank_run(const zp_rank_run_options *o, zp_rank_run_found *found)
{
  zp_rank_job *r = calloc(1, sizeof *r);
  int failed;
  memset(found, 0, sizeof *found);
  if (!r) {
    snprintf(found->clause, sizeof found->clause, "STEP-1");
    snprintf(found->text, sizeof found->text, "no memory");
    return 1;
  }
  r->o = o;
  r->fault = o->fault;
  r->c = o->c;
  r->found = found;
  if (zp_rank_open_reference(r)) failed = not_opened(r, "the simulation");
  else {
    zp_rank_choose(r);
    if (zp_rank_memory_open(r)) failed = not_opened(r, "memory or streams");
    else if (zp_rank_create(r, &r->hyper))
      failed = zp_rank_found(r, "STEP-10", "zp_engine_create: %.700s", r->err.text);
    else failed = train(r);
  }
  if (failed && !found->clause[0]) failed = 0; /* ended by another rank's wrong call */
  if (failed) return 1; /* other ranks may wait for this one, which leaves as it is */
  return finish(r);
}
