/* Programs: over MPI, over a transport, or alone. spec: STEP-2 */
#include <string.h>

#include "engine_state.h"

/* A program of a process alone: its communications have no partner. */
static int run_alone(zp_rank *r, int32_t phase)
{
  zp_rank_begin(r, phase);
  for (;;) {
    const zp_run run = zp_rank_advance(r);
    if (run == ZP_RUN_DONE || run == ZP_RUN_PAUSED) return ZP_OK;
    if (run == ZP_RUN_ERROR) return r->err->status;
    if (r->request.op->kind != ZP_OP_CREATE) zp_request_alone(&r->request);
    if (zp_rank_complete(r)) return r->err->status;
  }
}

/* Under the lock, as other threads may announce gradients. */
static void set_inside(zp_engine *e, int32_t inside)
{
  pthread_mutex_lock(&e->lock);
  e->inside = inside;
  pthread_mutex_unlock(&e->lock);
}

int zp_engine_run(zp_engine *e, int32_t phase)
{
  int status;
  set_inside(e, 1);
  status = e->mpi     ? zp_mpi_run(e->mpi, e->rank, phase, &e->err)
           : e->calls ? zp_calls_run(e->calls, e->rank, phase, &e->err)
                      : run_alone(e->rank, phase);
  set_inside(e, 0);
  return status;
}

int zp_engine_proceed(zp_engine *e)
{
  zp_rank *r = e->rank;
  const int32_t phase = e->midway ? ZP_PHASE_PAUSED : ZP_PHASE_STEP;
  r->limit = e->mb;
  e->midway = 1;
  if (zp_engine_run(e, phase)) return e->err.status;
  memset(e->arrival, ZP_AWAITED, (size_t)r->lay.n_params);
  return ZP_OK;
}
