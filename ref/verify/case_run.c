#define _GNU_SOURCE
#include "case_run.h"

#include <string.h>

#include "../engine/rank_program.h"
#include "plan_check.h"
#include "ref_fault.h"

/* ---- Engine errors --------------------------------------------------------------------------- */

/* What a communication that went wrong was about. */
static void clause_of_op(zp_verdict *v, const zp_case *c, const zp_op *op)
{
  if (op->kind == ZP_OP_META) zp_verdict_clause(v, "PIPE-6");
  if (op->kind == ZP_OP_P2P) zp_verdict_clause(v, "PIPE-3");
  if (op->kind == ZP_OP_BROADCAST) zp_verdict_clause(v, "LEDG-5");
  if (op->kind == ZP_OP_ALL_GATHER) zp_verdict_clause(v, "STEP-8");
  if (op->what == ZP_WHAT_STATISTICS) zp_verdict_clause(v, "STAT-1");
  if (op->what == ZP_WHAT_TIED) zp_verdict_clause(v, "TIE-1");
  if (op->what == ZP_WHAT_PARTIAL) zp_verdict_clause(v, "RED-8");
  if (op->what == ZP_WHAT_REPLICA) zp_verdict_clause(v, "RED-9");
  if (op->what == ZP_WHAT_GRADIENT) zp_verdict_clause(v, "RED-3");
  if (op->what == ZP_WHAT_GRADIENT && (c->synth.unused > 0 || c->synth.mask != NULL))
    zp_verdict_clause(v, "RED-6");
}

/* Does a received message differ from what its receiver expects, for every rank that waits in one?
 * */
static int message_differs(const zp_case_state *s)
{
  for (int32_t r = 0; r < zp_sim_world(s->sim); r++) {
    const zp_rank *a = zp_sim_rank(s->sim, r);
    const zp_rank *b;
    int32_t q;
    if (zp_cursor_position(&a->cursor) >= a->length[a->cursor.phase] ||
        a->current.kind != ZP_OP_P2P || a->current.mb < 0)
      continue;
    q = zp_block_group_member(&a->block, ZP_GROUP_PP, -1, a->current.root);
    if (q < 0) continue;
    b = zp_sim_rank(s->sim, q);
    if (b->current.kind != ZP_OP_P2P || b->current.recv_mb != a->current.mb) continue;
    if (b->request.in_msg != NULL && !zp_message_same(a->request.out_msg, b->request.in_msg))
      return 1;
  }
  return 0;
}

/* The workload refused an activation: what it was. */
static void explain_refusal(const zp_case_state *s, const zp_error *err)
{
  zp_verdict *v = s->v;
  const zp_rank *r = zp_sim_rank(s->sim, err->rank);
  const char *why = zp_synth_refusal(r->inst);
  zp_verdict_say(v, "\n  the workload says: %s", why);
  if (strstr(why, "dtype or shape") != NULL) zp_verdict_clause(v, "PIPE-6");
  else if (strstr(why, "in its slot") != NULL ||
           (r->current.kind == ZP_OP_BACKWARD && strstr(why, "activation of") == why))
    zp_verdict_clause(v, "PIPE-4");
  else zp_verdict_clause(v, "PIPE-3");
}

static void explain_error(const zp_case_state *s, const zp_error *err)
{
  zp_verdict *v = s->v;
  v->failed = 1;
  v->status = err->status;
  zp_verdict_say(v, "%s", err->text);
  if (err->status == ZP_E_MEMORY) {
    v->no_memory = 1;
    return;
  }
  if (err->status == ZP_E_MISMATCH) zp_verdict_clause(v, "LEDG-2");
  if (err->status == ZP_E_DEADLOCK) zp_verdict_clause(v, "LEDG-7");
  if (err->status == ZP_E_ARRIVAL) zp_verdict_clause(v, "STEP-3");
  if (err->status == ZP_E_WORKLOAD && err->rank >= 0) explain_refusal(s, err);
  if (err->status == ZP_E_MISMATCH && message_differs(s)) zp_verdict_clause(v, "PIPE-6");
  if (err->status == ZP_E_MISMATCH && err->rank >= 0)
    clause_of_op(v, s->c, &zp_sim_rank(s->sim, err->rank)->current);
  if (err->status != ZP_E_DEADLOCK) return;
  for (int32_t r = 0; r < zp_sim_world(s->sim); r++) {
    const zp_rank *a = zp_sim_rank(s->sim, r);
    if (zp_cursor_position(&a->cursor) < a->length[a->cursor.phase] &&
        a->current.kind >= ZP_OP_FIRST_COMM)
      clause_of_op(v, s->c, &a->current);
  }
}

/* ---- A case ---------------------------------------------------------------------------------- */

/* One phase on all ranks; 1 after a verdict. */
static int run_phase(zp_case_state *s, int32_t phase, zp_error *err)
{
  err->status = ZP_OK;
  err->text[0] = 0;
  if (zp_sim_run(s->sim, phase, err) == ZP_OK) return 0;
  explain_error(s, err);
  /* reductions of earlier micro-batches are done, the update is not */
  if (err->status == ZP_E_ARRIVAL && phase == ZP_PHASE_STEP) (void)zp_compare_unchanged(s);
  return 1;
}

static void count_facts(zp_case_state *s)
{
  zp_verdict *v = s->v;
  const int32_t before = s->scaler.log2_scale;
  zp_scaler_update(&s->scaler, s->want.skipped);
  v->skipped += s->want.skipped;
  v->clipped += s->want.clip_factor < 1;
  v->grown += s->scaler.log2_scale > before;
  v->lowered += s->scaler.log2_scale < before;
}

/* Reports the next phase to a caller that prints progress. */
static void show(const zp_case_state *s, const char *what, int64_t step)
{
  if (s->c->progress != NULL) s->c->progress(what, (int32_t)step, s->c->steps);
}

/* One step on serial and on the simulator. The simulator goes first: an error of its must find
 * serial's state of the step before. 1 after a verdict. */
static int run_step(zp_case_state *s, zp_error *err)
{
  s->v->step = s->step;
  zp_case_hyper_at(s->c, s->step, &s->hyper);
  show(s, "simulating", s->step);
  if (run_phase(s, ZP_PHASE_STEP, err)) return 1;
  show(s, "serial", s->step);
  if (zp_serial_step(s->serial, &s->want, err)) {
    explain_error(s, err);
    return 1;
  }
  s->v->result[s->step] = zp_sim_rank(s->sim, 0)->result;
  s->v->steps++;
  count_facts(s);
  show(s, "comparing", s->step);
  if (zp_compare_step(s)) return 1;
  s->step++;
  return 0;
}

/* The programs as they were planned: lengths, clocks, ledgers, tiling, slots. 1 after a verdict. */
static int check_programs(zp_case_state *s, zp_error *err)
{
  zp_config cfg = s->c->cfg;
  const zp_check_job job = {.cfg = &cfg,
                            .replicas = s->c->replicas,
                            .fp32_gradients = s->c->synth.fp32_gradients,
                            .slots = s->c->slots,
                            .threads = 1,
                            .write = zp_rank_program_write,
                            .alive = zp_alive};
  zp_check_result result;
  cfg.params = zp_sim_rank(s->sim, 0)->block.cfg.params; /* flat sizes */
  if (zp_check_all(&job, &result, err) == ZP_OK) return 0;
  explain_error(s, err);
  if (err->status == ZP_E_VERDICT) zp_verdict_clause(s->v, "STEP-2");
  return 1;
}

/* CKPT-5: saved here, loaded there, one more step; serial was not interrupted. */
static void go_on_elsewhere(zp_case_state *s, const zp_workload *work, zp_error *err)
{
  static _Thread_local zp_case other;
  const zp_reload *r = &s->c->reload;
  if (s->c->steps >= ZP_CASE_STEPS || !zp_case_reloaded(s->c, &other)) return;
  s->v->step = s->step;
  s->hyper.replicas = other.replicas;
  s->hyper.entry_align = other.entry_align;
  s->hyper.slots = other.slots;
  if (zp_case_reload(s, &other, &s->hyper, work, err) == ZP_OK && !run_step(s, err)) return;
  if (!s->v->failed) explain_error(s, err);
  if (!s->v->no_memory) {
    zp_verdict_clause(s->v, "CKPT-5");
    zp_verdict_say(s->v,
                   "\n  after saving and loading with pp %d, dp %d, stage %d, buckets of %lld, "
                   "%d replica(s)",
                   r->pp, r->dp, r->stage, (long long)r->bucket, other.replicas);
  }
}

static void run_all(zp_case_state *s, const zp_fault *fault, zp_fault_state *injected,
                    zp_error *err)
{
  s->v->step = -1;
  show(s, "checking the programs", -1);
  if (!s->c->unchecked && check_programs(s, err)) return;
  if (fault != NULL && zp_fault_inject(injected, fault, s->sim) != 0) {
    zp_fail(err, ZP_E_MEMORY, -1, "no memory for an injected fault");
    explain_error(s, err);
    return;
  }
  show(s, "first broadcasts", -1);
  if (run_phase(s, ZP_PHASE_INIT, err) || zp_compare_first(s)) return;
  if (!s->c->unchecked && zp_compare_owners(s)) return;
  for (int32_t t = 0; t < s->c->steps; t++)
    if (run_step(s, err)) return;
}

void zp_case_run(const zp_case *c, const zp_fault *fault, zp_verdict *v)
{
  zp_synth synth = {c->synth};
  const zp_workload work = zp_synth_workload(&synth);
  zp_case_state s = {.c = c, .synth = &synth, .scaler = c->scaler, .v = v};
  zp_fault_state injected;
  static _Thread_local zp_error err;
  zp_verdict_clear(v);
  synth.opt.reads = c->reload.pp == 0;
  err.status = ZP_OK;
  zp_case_hyper(c, &s.hyper);
  zp_fault_clear(&injected);
  show(&s, "setting up", -1);
  s.sim = zp_sim_open(&c->cfg, &s.hyper, &work, &err);
  if (s.sim != NULL) s.serial = zp_serial_open(&c->cfg, &s.hyper, &work, &err);
  if (s.serial == NULL) explain_error(&s, &err);
  else run_all(&s, fault, &injected, &err);
  if (fault != NULL && zp_ref_fault_loads(fault)) s.loading = &injected.hook;
  if ((fault == NULL || s.loading != NULL) && !v->failed && c->reload.pp > 0)
    go_on_elsewhere(&s, &work, &err);
  zp_serial_close(s.serial);
  zp_sim_close(s.sim);
  zp_fault_free(&injected);
}
