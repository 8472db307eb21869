/* The walk through a program. spec: STEP-2, STEP-4, LEDG-1 */
#include <string.h>

#include "engine_internal.h"

void zp_cuda_issuing(zp_cuda *e, const zp_op *op)
{
  if (e->opt.issuing) e->opt.issuing(e->opt.issued_ctx, e->phase, e->pc, op);
}

void zp_cuda_issued(zp_cuda *e, const zp_op *op)
{
  if (e->opt.issued) e->opt.issued(e->opt.issued_ctx, e->phase, op);
}

static int run_all_reduce(zp_cuda *e, const zp_op *op)
{
  if (op->what == ZP_WHAT_TIED) return zp_cuda_reduce_tied(e, op);
  if (op->what == ZP_WHAT_STATUS) return zp_cuda_agree(e, op);
  return zp_cuda_statistics(e, op);
}

static int run_create(zp_cuda *e, const zp_op *op)
{
  ZP_TRY(zp_cuda_create(e, op));
  zp_cuda_issued(e, op);
  return 0;
}

/* ADDs and reductions of gradients are issued as entries are announced: gather.c. */
static int run_op(zp_cuda *e, const zp_op *op)
{
  switch (op->kind) {
  case ZP_OP_LOAD: return 0; /* the model finds its data by step and micro-batch */
  case ZP_OP_FORWARD: return zp_cuda_forward(e, op);
  case ZP_OP_BACKWARD: return zp_cuda_backward(e, op);
  case ZP_OP_ARRIVED: return zp_cuda_arrived(e, op);
  case ZP_OP_META: return zp_cuda_meta(e, op);
  case ZP_OP_P2P: return zp_cuda_p2p(e, op);
  case ZP_OP_MEAN: return zp_cuda_mean(e, op);
  case ZP_OP_ALL_REDUCE: return run_all_reduce(e, op);
  case ZP_OP_DECIDE: return zp_cuda_decide(e);
  case ZP_OP_UPDATE: return zp_cuda_update(e, op);
  case ZP_OP_ALL_GATHER: return zp_cuda_gather_params(e, op);
  case ZP_OP_CREATE: return run_create(e, op);
  case ZP_OP_BROADCAST: return zp_cuda_broadcast(e, op);
  case ZP_OP_INSTALL:
    return op->what == ZP_WHAT_MASTER ? zp_cuda_install(e) : zp_cuda_storage(e, op);
  case ZP_OP_GATHER: return zp_cuda_gather_state(e, op);
  case ZP_OP_WRITE:
  case ZP_OP_SEAL:
  case ZP_OP_READ:
  case ZP_OP_COMMIT: return zp_cuda_storage(e, op);
  default: return zp_cuda_fail(e, ZP_CUDA_E_REFUSED, "an op that the CUDA engine does not know");
  }
}

/* Without callbacks the program stops before the check of a micro-batch that lacks gradients, and of
 * the last one, until the caller ends the step. */
static int pauses(const zp_cuda *e, const zp_op *op)
{
  int32_t first;
  if (!e->own || e->ending || op->kind != ZP_OP_ARRIVED) return 0;
  return op->mb == e->cfg->micro_batches - 1 || zp_cuda_missing(e, &first) > 0;
}

/* From e->pc on. The host does not know whether the step is skipped: it leaves nothing out (STEP-6).
 */
static int go_on(zp_cuda *e)
{
  const zp_op *ops = e->program[e->phase];
  const int64_t length = e->length[e->phase];
  while (e->pc < length) {
    const int64_t pc = zp_cursor_next(ops, length, e->pc, 0);
    if (pc == length) break;
    e->pc = pc;
    if (pauses(e, &ops[pc])) return 0;
    zp_cuda_issuing(e, &ops[pc]);
    ZP_TRY(run_op(e, &ops[pc]));
    e->pc = ops[pc].kind == ZP_OP_ARRIVED ? e->next : pc + 1;
  }
  return 0;
}

int zp_cuda_run(zp_cuda *e, int32_t phase)
{
  if (e->err.status) return -1;
  if (!e->ready && phase != ZP_PHASE_INIT)
    return zp_cuda_fail(e, ZP_CUDA_E_REFUSED, "zp_cuda_init comes before steps, saves and loads");
  if (e->begun)
    return zp_cuda_fail(e, ZP_CUDA_E_REFUSED,
                        "gradients were announced for a step that has not been ended: a checkpoint "
                        "is between two steps");
  e->phase = phase;
  e->pc = 0;
  return go_on(e);
}

/* Of step `step`, or -1: of INIT. */
static cudaEvent_t ended(const zp_cuda *e, int64_t step)
{
  return e->ended[(step + ZP_CUDA_FLIGHT) % ZP_CUDA_FLIGHT];
}

static int first_values(zp_cuda *e, int32_t param, void *data)
{
  int failed;
  zp_cuda_leave(e);
  failed = e->opt.model.first(e->opt.model.ctx, param, data, e->reduce);
  zp_cuda_enter(e);
  if (e->err.status) return -1;
  if (!failed) return 0;
  return zp_cuda_fail(e, ZP_CUDA_E_MODEL, "the model's first values of entry %d failed", param);
}

static int init(zp_cuda *e)
{
  if (e->err.status) return -1;
  for (int32_t i = 0; i < e->lay.n_params; i++) {
    const int32_t j = e->lay.first_param + i;
    if (zp_storage_of(e->cfg, &e->lay, i) != i || e->cfg->params[j].numel == 0) continue;
    ZP_TRY(first_values(e, j, e->entry[i].param));
  }
  ZP_TRY(zp_cuda_run(e, ZP_PHASE_INIT));
  ZP_TRY(zp_cuda_record(e, ZP_SITE_ENDED_RECORD, ended(e, -1), e->reduce));
  e->ready = 1;
  return 0;
}

/* The only wait of a step on the host, but with offload. What this step knows of the one before:
 * nothing but that compute, and behind it all producers, wait for it; without callbacks the
 * caller's stream does. STRM-8 */
static int begin_step(zp_cuda *e)
{
  for (int32_t k = 0; k < e->lay.n_flats; k++) e->flat[k].read[0] = e->flat[k].read[1] = 0;
  for (int32_t i = 0; i < e->lay.n_params; i++) e->entry[i].is_added = e->entry[i].is_unstaged = 0;
  e->reductions = 0;
  e->behind_forward = 0;
  e->known = 0;
  e->phase = ZP_PHASE_STEP; /* an error in the wait is this step's */
  e->pc = 0;
  if (e->heard == e->step) return 0; /* the host has seen the last step's end */
  /* step 0 waits for nothing, step 1 for INIT; with offload the host has seen the last decision,
   * which is behind all that was before */
  if (e->step > 0 && e->offload.updates == 0)
    ZP_TRY(zp_cuda_host_wait(e, ZP_SITE_ENDED_HOST, ended(e, e->step), "the step before the last"));
  if (e->own || zp_cuda_planted(e, ZP_PLANT_NO_STEP_WAIT)) return 0;
  return zp_cuda_wait(e, ZP_SITE_ENDED_WAIT, e->compute, ended(e, e->step - 1));
}

static int step(zp_cuda *e)
{
  if (e->err.status) return -1;
  if (e->own)
    return zp_cuda_fail(e, ZP_CUDA_E_REFUSED, "a step without callbacks is ended, not run");
  ZP_TRY(begin_step(e));
  ZP_TRY(zp_cuda_run(e, ZP_PHASE_STEP));
  ZP_TRY(zp_cuda_record(e, ZP_SITE_ENDED_RECORD, ended(e, e->step), e->reduce));
  e->step++;
  return 0;
}

/* ---- Without callbacks ----------------------------------------------------------------------- */

int zp_cuda_go_on(zp_cuda *e)
{
  if (!e->begun) {
    ZP_TRY(begin_step(e));
    memset(e->loss_given, 0, (size_t)e->cfg->micro_batches);
    e->begun = 1;
  }
  return go_on(e);
}

static int end_own_step(zp_cuda *e, cudaStream_t stream)
{
  if (e->err.status) return -1;
  if (!e->own) return zp_cuda_fail(e, ZP_CUDA_E_REFUSED, "a step with callbacks is run, not ended");
  ZP_TRY(zp_cuda_go_on(e));
  for (int64_t mb = 0; mb < e->cfg->micro_batches; mb++)
    if (!e->loss_given[mb]) ZP_CUDA(e, cudaMemsetAsync(e->loss + mb, 0, 4, e->reduce));
  ZP_TRY(zp_cuda_record(e, ZP_SITE_HANDED_RECORD, e->backwarded, stream));
  e->ending = 1;
  ZP_TRY(go_on(e));
  e->ending = e->begun = 0;
  ZP_TRY(zp_cuda_record(e, ZP_SITE_ENDED_RECORD, ended(e, e->step), e->reduce));
  ZP_TRY(zp_cuda_wait(e, ZP_SITE_RESUMED_WAIT, stream, ended(e, e->step)));
  e->step++;
  return 0;
}

static int get(zp_cuda *e, zp_step_state *state)
{
  if (e->err.status) return -1;
  ZP_CUDA(e, cudaMemcpyAsync(e->state_host, e->state, sizeof *state, cudaMemcpyDeviceToHost,
                             e->reduce));
  ZP_TRY(zp_cuda_record(e, ZP_SITE_READ_RECORD, e->copied_out, e->reduce));
  if (!zp_cuda_planted(e, ZP_PLANT_HOST_READ))
    ZP_TRY(zp_cuda_host_wait(e, ZP_SITE_READ_HOST, e->copied_out, "the last step"));
  *state = *e->state_host;
  e->heard = e->step;
  return 0;
}

/* ---- With the lock --------------------------------------------------------------------------- */

int zp_cuda_init(zp_cuda *e)
{
  int status;
  zp_cuda_enter(e);
  status = init(e) ? e->err.status : 0;
  zp_cuda_leave(e);
  return status;
}

int zp_cuda_step(zp_cuda *e)
{
  int status;
  zp_cuda_enter(e);
  status = step(e) ? e->err.status : 0;
  zp_cuda_leave(e);
  return status;
}

int zp_cuda_end_step(zp_cuda *e, cudaStream_t stream)
{
  int status;
  zp_cuda_enter(e);
  status = end_own_step(e, stream) ? e->err.status : 0;
  zp_cuda_leave(e);
  return status;
}

int zp_cuda_get(zp_cuda *e, zp_step_state *state)
{
  int status;
  zp_cuda_enter(e);
  status = get(e, state) ? e->err.status : 0;
  zp_cuda_leave(e);
  return status;
}
