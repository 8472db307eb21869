/* spec: STEP-2, STEP-4, STEP-6, LEDG-1 */
#include "step.h"

#include <stdlib.h>

#include "../../../ref/base/invariant.h"
#include "../comm/host_wait.h"
#include "../device/launch.h"
#include "../device/take.h"
#include "../device/trace.h"
#include "reduce.h"
#include "statistics.h"
#include "update.h"

static zp_cuda_rank *rank_of(const zp_cuda_steps *s)
{
  return s->ops->r;
}

int zp_cuda_steps_open(zp_cuda_steps *s)
{
  s->seen = -1;
  s->loss_copied = calloc((size_t)rank_of(s)->plan.cfg->micro_batches, 1);
  return s->loss_copied ? 0 : zp_cuda_fail(rank_of(s), ZP_E_MEMORY, "no host memory for losses");
}

int zp_cuda_steps_create_events(zp_cuda_steps *s)
{
  for (int32_t i = 0; i < ZP_CUDA_FLIGHT; i++)
    ZP_TRY(zp_cuda_create_event(rank_of(s), &s->ended[i]));
  return rank_of(s)->opt.partial_gather ? zp_cuda_create_event(rank_of(s), &s->settled) : 0;
}

void zp_cuda_steps_close(const zp_cuda_steps *s)
{
  for (int32_t i = 0; i < ZP_CUDA_FLIGHT; i++) zp_cuda_destroy_event(s->ended[i]);
  zp_cuda_destroy_event(s->settled);
  free(s->loss_copied);
}

cudaEvent_t zp_cuda_step_end(const zp_cuda_steps *s, int64_t step)
{
  return s->ended[(step + ZP_CUDA_FLIGHT) % ZP_CUDA_FLIGHT];
}

/* ---- Ops ------------------------------------------------------------------------------------- */

/* Those of the last step, if gathers have a stream of their own. */
static int join_gathers(const zp_cuda_steps *s)
{
  zp_cuda_rank *r = rank_of(s);
  if (s->ops->gathers->n == 0 || !s->ops->gathers->issued) return 0;
  return zp_cuda_wait(r, ZP_SYNC_GATHERS_WAIT, r->reduce,
                      zp_cuda_step_end(s, r->progress.host.step - 1));
}

static int run_all_reduce(const zp_cuda_steps *s, const zp_op *op)
{
  if (op->what == ZP_WHAT_REPLICA) return zp_cuda_reduce_replica(s->ops, op);
  if (op->what == ZP_WHAT_TIED) return zp_cuda_reduce_tied(s->ops, op);
  if (op->what == ZP_WHAT_PARTIAL) return zp_cuda_reduce_partial(s->ops, op);
  if (op->what == ZP_WHAT_STATUS) return zp_cuda_checkpoint_agree(s->checkpoint, op);
  ZP_TRY(zp_cuda_gathers_check(s->ops->gathers)); /* before any rank can decide */
  ZP_TRY(zp_cuda_wait_for_losses(s->pipeline, s->ops->buckets->after_forward));
  return zp_cuda_statistics(s->ops, op);
}

static int run_decide(const zp_cuda_steps *s)
{
  ZP_TRY(zp_cuda_wait_for_backward(s->pipeline));
  ZP_TRY(join_gathers(s)); /* which send what the updates overwrite */
  ZP_TRY(zp_cuda_decide(s->ops));
  if (!s->settled) return 0;
  return zp_cuda_record(rank_of(s), ZP_SYNC_SETTLED_RECORD, s->settled, rank_of(s)->reduce);
}

static int run_forward(const zp_cuda_steps *s, const zp_op *op)
{
  zp_cuda_gradients_forward(s->gradients, op->mb);
  return zp_cuda_forward(s->pipeline, op);
}

static int run_backward(const zp_cuda_steps *s, const zp_op *op)
{
  zp_cuda_gradients_begin(s->gradients, op->mb);
  return zp_cuda_backward(s->pipeline, op);
}

static int run_create(const zp_cuda_steps *s, const zp_op *op)
{
  ZP_TRY(zp_cuda_comms_create(s->ops->comms, op));
  zp_cuda_issued(rank_of(s), op);
  return 0;
}

static int run_install(zp_cuda_steps *s, const zp_op *op)
{
  if (op->what == ZP_WHAT_MASTER) return zp_cuda_install_masters(s->ops);
  ZP_TRY(zp_cuda_checkpoint_op(s->checkpoint, op));
  s->seen = rank_of(s)->progress.host.step; /* the copies ended after all earlier work */
  return 0;
}

/* ADDs and reductions of gradients are issued as entries are announced: gradients.c. A mean is
 * issued with its bucket's last sum: reduce.c. */
static int run_op(zp_cuda_steps *s, const zp_op *op)
{
  switch (op->kind) {
  case ZP_OP_LOAD: return 0; /* the model finds its data by step and micro-batch */
  case ZP_OP_FORWARD: return run_forward(s, op);
  case ZP_OP_BACKWARD: return run_backward(s, op);
  case ZP_OP_ARRIVED: return zp_cuda_gradients_arrived(s->gradients, op);
  case ZP_OP_META: return zp_cuda_meta(s->messages, op);
  case ZP_OP_P2P: return zp_cuda_p2p(s->pipeline, op);
  case ZP_OP_ALL_REDUCE: return run_all_reduce(s, op);
  case ZP_OP_DECIDE: return run_decide(s);
  case ZP_OP_UPDATE: return zp_cuda_update(s->ops, op);
  case ZP_OP_ALL_GATHER: return zp_cuda_gather_params(s->ops, op);
  case ZP_OP_CREATE: return run_create(s, op);
  case ZP_OP_BROADCAST: return zp_cuda_broadcast_first_values(s->ops, op);
  case ZP_OP_INSTALL: return run_install(s, op);
  case ZP_OP_GATHER: return zp_cuda_checkpoint_gather(s->checkpoint, op);
  case ZP_OP_WRITE:
  case ZP_OP_SEAL:
  case ZP_OP_READ:
  case ZP_OP_COMMIT: return zp_cuda_checkpoint_op(s->checkpoint, op);
  default:
    return zp_cuda_fail(rank_of(s), ZP_E_REFUSED, "an op that the CUDA engine does not know");
  }
}

/* Without callbacks the program stops before the check of a micro-batch that lacks gradients,
 * and of the last one, until the caller ends the step. */
static int pauses(const zp_cuda_steps *s, const zp_op *op)
{
  int32_t first;
  if (rank_of(s)->opt.model.forward || s->ending || op->kind != ZP_OP_ARRIVED) return 0;
  return op->mb == rank_of(s)->plan.cfg->micro_batches - 1 ||
         zp_cuda_gradients_missing(s->gradients, &first) > 0;
}

/* The cursor is undecided throughout, so a skipped step issues the same ops; on the device they
 * change nothing (STEP-6). */
int zp_cuda_continue(zp_cuda_steps *s)
{
  zp_cuda_rank *r = rank_of(s);
  const zp_cursor *c = &r->progress.host.cursor;
  while (zp_cursor_position(c) < c->length) {
    const zp_op *op = &c->ops[c->pc];
    if (pauses(s, op)) return 0;
    ZP_TRY(zp_cuda_take(r));
    zp_cuda_issuing(r, op);
    ZP_TRY(run_op(s, op));
    ZP_TRY(zp_cuda_done(r));
  }
  return 0;
}

/* ---- Programs -------------------------------------------------------------------------------- */

int zp_cuda_run_program(zp_cuda_steps *s, int32_t phase)
{
  zp_cuda_rank *r = rank_of(s);
  if (zp_cuda_has_failed(r)) return -1;
  if (!r->progress.host.ready && phase != ZP_PHASE_INIT)
    return zp_cuda_fail(r, ZP_E_REFUSED, "zp_cuda_init comes before steps, saves and loads");
  if (s->begun)
    return zp_cuda_fail(
        r, ZP_E_REFUSED,
        "gradients or losses were announced for a step that has not been ended: call "
        "zp_cuda_end_step before a save or load");
  if (phase != ZP_PHASE_STEP) ZP_TRY(join_gathers(s));
  zp_cuda_begin_program(r, phase);
  return zp_cuda_continue(s);
}

int zp_cuda_run_init(zp_cuda_steps *s)
{
  zp_cuda_rank *r = rank_of(s);
  if (zp_cuda_has_failed(r)) return -1;
  ZP_TRY(zp_cuda_queue_first_values(s->ops));
  ZP_TRY(zp_cuda_run_program(s, ZP_PHASE_INIT));
  ZP_TRY(zp_cuda_record(r, ZP_SYNC_ENDED_RECORD, zp_cuda_step_end(s, -1), r->reduce));
  r->progress.host.ready = 1;
  return 0;
}

/* The only wait of a step on the host, except with offload. Of the step before, this step only
 * waits on compute, and hence on all producers; without callbacks the caller's stream does.
 * STRM-8 */
int zp_cuda_begin_step(zp_cuda_steps *s)
{
  zp_cuda_rank *r = rank_of(s);
  const zp_cuda_position *host = &r->progress.host;
  zp_cuda_buckets_begin_step(s->ops->buckets);
  zp_cuda_gradients_begin_step(s->gradients);
  zp_cuda_begin_program(r, ZP_PHASE_STEP); /* an error in the wait is this step's */
  if (s->seen == host->step) return 0;     /* the host has seen the last step's end */
  /* step 0 waits for nothing, step 1 for INIT; with offload the host has received the last
   * decision, which follows all earlier work */
  if (host->step > 0 && s->ops->offload->updates == 0) {
    ZP_TRY(zp_cuda_host_wait(s->ops->comms, ZP_SYNC_ENDED_HOST, zp_cuda_step_end(s, host->step),
                             "the step before the last"));
    ZP_TRY(zp_cuda_check_hyper(r, host->step - ZP_CUDA_FLIGHT));
  }
  if (!r->opt.model.forward) return 0;
  return zp_cuda_wait_for_last_step(s, ZP_SYNC_ENDED_WAIT, r->compute);
}

int zp_cuda_wait_for_last_step(const zp_cuda_steps *s, int32_t sync_point, cudaStream_t stream)
{
  zp_cuda_rank *r = rank_of(s);
  if (s->settled && r->progress.host.step > 0)
    return zp_cuda_wait(r, ZP_SYNC_SETTLED_WAIT, stream, s->settled);
  return zp_cuda_wait(r, sync_point, stream, zp_cuda_step_end(s, r->progress.host.step - 1));
}

int zp_cuda_record_step_end(zp_cuda_steps *s)
{
  zp_cuda_rank *r = rank_of(s);
  ZP_TRY(zp_cuda_buckets_end_step(s->ops->buckets));
  zp_cuda_gathers_end_step(s->ops->gathers);
  return zp_cuda_record(r, ZP_SYNC_ENDED_RECORD, zp_cuda_step_end(s, r->progress.host.step),
                        s->ops->gathers->n > 0 ? r->gather : r->reduce);
}

int zp_cuda_run_step(zp_cuda_steps *s)
{
  zp_cuda_rank *r = rank_of(s);
  if (zp_cuda_has_failed(r)) return -1;
  if (!r->opt.model.forward)
    return zp_cuda_fail(r, ZP_E_REFUSED,
                        "there are no callbacks: call zp_cuda_end_step to end a step");
  ZP_TRY(zp_cuda_begin_step(s));
  ZP_TRY(zp_cuda_run_program(s, ZP_PHASE_STEP));
  ZP_TRY(zp_cuda_record_step_end(s));
  r->progress.host.step++;
  return 0;
}

int zp_cuda_read_state(zp_cuda_steps *s, zp_step_state *state)
{
  if (zp_cuda_has_failed(rank_of(s))) return -1;
  ZP_TRY(join_gathers(s));
  ZP_TRY(zp_cuda_step_memory_read(s->ops->memory, s->ops->comms, state));
  s->seen = rank_of(s)->progress.host.step;
  return 0;
}

int zp_cuda_steps_invariant(const zp_cuda_steps *s, zp_error *err)
{
  ZP_INVARIANT(err, -1, s->loss_copied);
  ZP_INVARIANT(err, -1, s->seen >= -1 && s->seen <= rank_of(s)->progress.host.step);
  ZP_INVARIANT(err, -1, !s->ending || s->begun);
  ZP_INVARIANT(err, -1, !s->begun || !rank_of(s)->opt.model.forward);
  return 0;
}
