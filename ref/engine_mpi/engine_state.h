/* The reference as an engine of engine.h: one rank of an Open MPI job or over a transport of the
 * caller's, or a process alone. Not installed. */
#ifndef ZP_ENGINE_MPI_ENGINE_STATE_H
#define ZP_ENGINE_MPI_ENGINE_STATE_H

#include <pthread.h>

#include "../comm/calls/comm_calls.h"
#include "../comm/mpi/comm_mpi.h"
#include "../engine/engine_parts.h"

/* ZP_LENT: awaited, and the caller knows where it may write it. */
typedef enum zp_arrival { ZP_AWAITED = 0, ZP_LENT, ZP_READY, ZP_UNUSED } zp_arrival;

struct zp_engine {
  zp_engine_options o;
  zp_error err, undone; /* undone: of the last call that failed without ending the engine */
  pthread_mutex_t lock; /* of what announcements change */
  zp_mpi *mpi;          /* both NULL: alone */
  zp_calls *calls;
  zp_rank *rank;
  zp_workload work;
  zp_hook hook;
  int32_t inside; /* 1 while a program runs, and may call the options' callbacks */
  zp_engine_saving saving;
  /* Gradients as announced. Without callbacks nothing runs before zp_engine_step, as only one
   * thread may call MPI: the whole window is kept. With callbacks, or options.gradual, one
   * micro-batch. */
  int64_t rows, row_bytes;
  char *kept;       /* [rows][row_bytes] */
  int64_t *at;      /* [lay.n_params] first byte in a row */
  uint8_t *arrival; /* [rows][lay.n_params] */
  /* With callbacks: 1 for entries that were declared unused between the micro-batch's forward and
   * its backward. */
  uint8_t *unused;           /* [rank->act_slots][lay.n_params] */
  int64_t forward, backward; /* the latest micro-batch whose forward, backward has begun; or -1 */
  int64_t mb;            /* whose gradients may be announced; -1: none's; M: the window is full */
  int32_t trained, left; /* entries of a micro-batch; of them not announced yet */
  float *loss;           /* [M] */
  uint8_t *awaited; /* [lay.n_params] partial_gather: 1: waited for since the last step's end */
  int32_t begun;    /* 1: without callbacks: something came for the step that is next */
  int32_t midway;   /* 1: with options.gradual: the step's program has paused */
};

/* Of an engine that was created, under its lock. 0, or ZP_E_INTERNAL in e->err. */
int zp_engine_invariant(zp_engine *e);

/* With partial_gather: was each trained entry waited for? 0, or ZP_E_REFUSED in e->err. */
int zp_engine_check_awaited(zp_engine *e);

/* Over a transport: when all ranks have come, ends their communication; the memory remains until
 * zp_engine_destroy, which then waits for no other rank. 0, or a negative status. */
int zp_engine_leave(zp_engine *e);

/* Runs a phase until it ends or pauses. 0, or a negative status. */
int zp_engine_run(zp_engine *e, int32_t phase);

/* With options.gradual: does what the micro-batches before e->mb allow; the kept gradients are of
 * no use any more. 0, or a negative status. */
int zp_engine_proceed(zp_engine *e);

/* A workload whose gradients are those announced. */
zp_workload zp_engine_workload(zp_engine *e);

/* Before the first announcement of a window: nothing has come. */
void zp_engine_begin(zp_engine *e);

#endif
