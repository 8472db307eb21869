/* The calls of the rank's own host thread. spec: STEP-2, STEP-9, STEP-11, OPT-7, CKPT-1 … CKPT-5 */
#include "../../ref/engine/hyper.h"
#include "../../ref/engine/window.h"
#include "entry.h"
#include "executor/own_loop.h"
#include "options.h"
#include "parts.h"

/* The status of a call, which may have found an error of another thread's; 0 if it succeeded. */
static int leave(zp_cuda *e, int failed)
{
  const int status = zp_cuda_leave(e);
  return failed ? status : 0;
}

int zp_cuda_init(zp_cuda *e)
{
  zp_cuda_enter(e);
  return leave(e, zp_cuda_run_init(&e->steps));
}

int zp_cuda_step(zp_cuda *e)
{
  zp_cuda_enter(e);
  return leave(e, zp_cuda_run_step(&e->steps));
}

int zp_cuda_end_step(zp_cuda *e, cudaStream_t stream)
{
  zp_cuda_enter(e);
  return leave(e, zp_cuda_end_own_step(&e->steps, stream));
}

/* A launch copies the values: those of steps in flight stay. */
int zp_cuda_set_hyper(zp_cuda *e, const zp_optim *optim, double clip, double clip_eps)
{
  zp_cuda_options *o = &e->rank.opt;
  zp_cuda_enter(e);
  zp_cuda_copy_optims(o, optim);
  o->clip = clip;
  o->clip_eps = clip_eps;
  e->rank.digest = zp_hyper_digest(o->optim, o->optims, clip, clip_eps);
  return leave(e, 0);
}

int zp_cuda_get(zp_cuda *e, zp_step_state *state)
{
  zp_cuda_enter(e);
  return leave(e, zp_cuda_read_state(&e->steps, state));
}

zp_held zp_cuda_held(const zp_cuda *e, int32_t param, int64_t from)
{
  const zp_cuda_plan *p = &e->rank.plan;
  return zp_held_from(p->cfg, &p->block, &p->lay, param, from);
}

int zp_cuda_held_check(const zp_cuda *e, const zp_held_request *q, zp_error *err)
{
  const zp_cuda_plan *p = &e->rank.plan;
  return zp_held_check(p->cfg, &p->block, &p->lay, q, e->rank.opt.rank, err);
}

/* The wait comes first: a copy from or to pageable memory blocks the thread without a deadline, and
 * then it follows nothing that another rank could delay. */
int zp_cuda_copy_held(zp_cuda *e, const zp_held_request *q, float *out, const float *in)
{
  zp_step_state last;
  int failed;
  zp_cuda_enter(e);
  failed = zp_cuda_read_state(&e->steps, &last);
  for (int64_t done = 0, n = 0; done < q->count && !failed; done += n) {
    const zp_held run = zp_cuda_held(e, q->param, q->offset + done);
    float *at = zp_cuda_state_array(&e->buffers, run.flat, q->state) + run.at;
    n = zp_block(q->count, done, run.count);
    failed = zp_cuda_checkpoint_copy(&e->checkpoint, out ? out + done : at, out ? at : in + done,
                                     (size_t)n * sizeof *at);
  }
  return leave(e, failed);
}

/* A failed save leaves an error of its own, and the rank without one. */
static int run_checkpoint(zp_cuda *e, int32_t phase, zp_store *store, int32_t sealing)
{
  zp_cuda_checkpoint *c = &e->checkpoint;
  int unsaved = 0, status;
  zp_cuda_enter(e);
  if (!zp_cuda_has_failed(&e->rank)) {
    zp_cuda_checkpoint_begin(c, store, sealing);
    if (zp_cuda_run_program(&e->steps, phase)) unsaved = c->unsaved.status;
    /* after another error a copy may still be queued: closing waits for it */
    if (!zp_cuda_has_failed(&e->rank) || e->rank.failure.agreed) zp_cuda_checkpoint_end(c);
  }
  status = zp_cuda_leave(e);
  return status ? status : unsaved;
}

int zp_cuda_save(zp_cuda *e, zp_store *store)
{
  return run_checkpoint(e, ZP_PHASE_SAVE, store, 0);
}

int zp_cuda_seal(zp_cuda *e, zp_store *store)
{
  return run_checkpoint(e, ZP_PHASE_SAVE, store, 1);
}

int zp_cuda_load(zp_cuda *e, zp_store *store)
{
  return run_checkpoint(e, ZP_PHASE_LOAD, store, 0);
}
