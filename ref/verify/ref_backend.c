/* ref as a backend: it runs cases against serial, and observed runs on the simulator. */
#include <string.h>

#include "backend.h"
#include "case_run.h"
#include "observe.h"
#include "random_case.h"
#include "ref_fault.h"

static void random_case(uint64_t seed, uint64_t i, zp_case *c, uint32_t *left_out)
{
  *left_out = 0;
  zp_fuzz_random(seed, i, c);
}

static uint32_t unsupported_in(const zp_case *c)
{
  (void)c;
  return 0;
}

/* ---- Observed runs --------------------------------------------------------------------------- */

typedef struct observed {
  const zp_observed_run *run;
  zp_fault_state injected;
} observed;

/* What the rank is about to enter, as the fault has left it. */
static void issues(const observed *o, const zp_rank *r, const zp_op *op)
{
  zp_issued issued = {.rank = r->rank, .at = r->at, .pc = zp_cursor_position(&r->cursor), .op = op};
  const zp_mb at = {r->step, 0, r->scaler.log2_scale};
  zp_message send, recv;
  zp_issued_messages(r->work, r->cfg, at, &issued, &send, &recv);
  /* with dynamic shapes the description came in the meta message */
  if (issued.recv != NULL && op->root < r->at.pp && r->cfg->dynamic_shapes)
    issued.recv = &r->act_in[zp_act_place(r->act_slots, op->recv_mb)];
  o->run->observer.issues(o->run->observer.ctx, &issued);
}

static void before_op(void *ctx, zp_rank *r, zp_op *op)
{
  observed *o = ctx;
  const zp_fault *fault = o->run->fault;
  if (fault != NULL && zp_ref_fault_of(fault)->before != NULL)
    zp_ref_fault_of(fault)->before(&o->injected, r, op);
  if (r->err->status == ZP_OK && r->cursor.phase <= ZP_PHASE_STEP) issues(o, r, op);
}

static void after_op(void *ctx, zp_rank *r, const zp_op *op)
{
  observed *o = ctx;
  const zp_fault *fault = o->run->fault;
  if (fault != NULL && zp_ref_fault_of(fault)->after != NULL)
    zp_ref_fault_of(fault)->after(&o->injected, r, op);
}

static const void *param_of(const void *holder, int32_t i)
{
  const zp_rank *r = holder;
  return r->param[i];
}

static const float *held_of(const void *holder, int32_t k, int64_t b, int32_t what)
{
  return zp_held_of(holder, k, b, what);
}

static zp_rank_view view_of(const zp_rank *r)
{
  zp_rank_view view = {.cfg = r->cfg,
                       .rank = r->rank,
                       .at = r->at,
                       .replicas = r->block.replicas,
                       .lay = &r->lay,
                       .holder = r,
                       .param = param_of,
                       .held = held_of,
                       .skipped = r->result.skipped,
                       .log2_scale = r->result.log2_scale,
                       .next_log2_scale = r->scaler.log2_scale};
  memcpy(&view.norm, &r->result.norm_f64, sizeof view.norm);
  return view;
}

/* Passes what each rank holds to the observer. */
static void report(const zp_observed_run *run, zp_sim *sim,
                   void (*to)(void *ctx, const zp_rank_view *view))
{
  for (int32_t q = 0; q < zp_sim_world(sim); q++) {
    const zp_rank_view view = view_of(zp_sim_rank(sim, q));
    to(run->observer.ctx, &view);
  }
}

/* SAVE or LOAD, of which the observer sees no communications. */
static int run_storage(zp_sim *sim, int32_t phase, zp_store *store, zp_error *err)
{
  for (int32_t q = 0; q < zp_sim_world(sim); q++) zp_sim_rank(sim, q)->store = store;
  (void)zp_sim_run(sim, phase, err);
  for (int32_t q = 0; q < zp_sim_world(sim); q++) zp_sim_rank(sim, q)->store = NULL;
  return err->status;
}

static int run_observed(const zp_observed_run *run, zp_sim *sim, zp_error *err)
{
  const zp_observer *to = &run->observer;
  int bad = zp_sim_run(sim, ZP_PHASE_INIT, err);
  if (!bad && run->load != NULL) {
    bad = run_storage(sim, ZP_PHASE_LOAD, run->load, err);
    if (!bad) report(run, sim, to->loaded);
  }
  for (int32_t s = 0; s < run->steps && !bad; s++) {
    for (int32_t q = 0; q < zp_sim_world(sim); q++) to->step_begins(to->ctx, q, run->first + s);
    bad = zp_sim_run(sim, ZP_PHASE_STEP, err);
    if (!bad) report(run, sim, to->stepped);
  }
  if (!bad && run->save != NULL) (void)run_storage(sim, ZP_PHASE_SAVE, run->save, err);
  for (int32_t q = 0; q < zp_sim_world(sim); q++) {
    const zp_rank *r = zp_sim_rank(sim, q);
    if (zp_cursor_position(&r->cursor) == r->length[r->cursor.phase]) to->rank_done(to->ctx, q);
  }
  return err->status;
}

static int observe(const zp_observed_run *run, zp_error *err)
{
  observed o = {.run = run};
  const zp_hook hook = {&o, before_op, after_op};
  zp_config cfg = *run->cfg;
  zp_sim *sim;
  if (strcmp(zp_observed_option(&zp_backend_ref, run, "sums"), "ordered") == 0)
    cfg.reduce = ZP_ORDERED;
  sim = zp_sim_open(&cfg, run->hyper, run->work, err);
  if (sim == NULL) return err->status;
  zp_fault_clear(&o.injected);
  o.injected.start_same = !run->start_differs;
  o.injected.scale_absent = run->scale_absent;
  o.injected.no_experts = !run->experts_sharded;
  o.injected.cp = run->cp > 0 ? run->cp : 1;
  if (run->fault != NULL && zp_fault_inject(&o.injected, run->fault, sim) != 0)
    zp_fail(err, ZP_E_MEMORY, -1, "no memory for an injected fault");
  zp_sim_hook(sim, &hook);
  if (err->status == ZP_OK) (void)run_observed(run, sim, err);
  zp_sim_close(sim);
  zp_fault_free(&o.injected);
  return err->status;
}

const zp_backend zp_backend_ref = {
    .name = "ref",
    .program = "zeroproof",
    .clean = "equal to serial bit for bit",
    .case_timeout_s = 20, /* a case takes well under a second, even under a sanitizer */
    .random_case = random_case,
    .unsupported_in = unsupported_in,
    .run_case = zp_case_run,
    .fault_count = zp_ref_fault_count,
    .fault_at = zp_ref_fault_at,
    .fault_find = zp_ref_fault_find,
    .option = {{"sums", {"exact", "ordered"}},
               {"gradients", {"precision", "fp32"}},
               {"slots", {"default", "least"}}},
    .observe = observe,
};
