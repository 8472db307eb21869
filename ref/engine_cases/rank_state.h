/* The state of a running rank, for the files of this folder. */
#ifndef ZP_ENGINE_CASES_RANK_STATE_H
#define ZP_ENGINE_CASES_RANK_STATE_H

#include "../comm/sim/comm_sim.h"
#include "../engine/engine.h"
#include "../engine/rank_query.h"
#include "rank_run.h"

/* Calls that end the engine, instead of or beside the last announcement of the last step. */
typedef enum zp_misuse {
  ZP_MISUSE_NONE = 0,
  ZP_MISUSE_DTYPE,
  ZP_MISUSE_SHORT,
  ZP_MISUSE_LONG,
  ZP_MISUSE_NULL,
  ZP_MISUSE_ENTRY, /* there is no such entry */
  ZP_MISUSE_AHEAD, /* of the next micro-batch */
  ZP_MISUSE_TWICE,
  ZP_MISUSE_LACKS, /* the announcement is missing */
  ZP_MISUSES
} zp_misuse;

enum { ZP_RANK_READS = 2 }; /* of the parameters, in each step */

/* A message of the engine's, and its copy in host memory. */
typedef struct zp_rank_message {
  zp_message there, here;
} zp_rank_message;

/* Streams, and what work on them reads and writes. Streams are numbered: the rank's own, and after
 * them, in callbacks, the engine's. */
typedef struct zp_rank_memory {
  int32_t streams;                   /* of the rank's own */
  void *stream[ZP_RANK_STREAMS + 1]; /* [streams]: the engine's, while a callback runs */
  void *grad[ZP_CASE_PARAMS][ZP_RANK_STREAMS + 1]; /* where a gradient is announced, by stream */
  float *loss[ZP_RANK_STREAMS + 1];                /* likewise */
  /* in host memory, for all steps: [steps * M] of each */
  char *made[ZP_CASE_PARAMS]; /* gradients that backward made */
  float *losses;
  char *seen[ZP_CASE_PARAMS];   /* [steps][ZP_RANK_READS]: the parameters that were read */
  char *before[ZP_CASE_PARAMS]; /* [steps]: the simulated rank's at that time */
  int64_t compared;             /* steps whose `seen` was compared */
  zp_rank_message *in;          /* [M]: by slot, what forward received */
  zp_rank_message out, dout, din;
  struct {
    void *at;
    int32_t on_host;
  } * owned;
  int64_t n_owned;
} zp_rank_memory;

typedef struct zp_rank_job {
  const zp_rank_run_options *o;
  const zp_case *c;
  zp_rank_run_found *found;
  zp_sim *sim;
  zp_rank *ref; /* the rank in the simulation */
  zp_synth synth;
  zp_workload work;
  void *inst;
  zp_hyper hyper; /* of the step; the simulator reads it */
  zp_engine *e;
  zp_error err;
  int64_t step, mb; /* mb: whose gradients backward makes */
  int32_t callbacks, partial, gradual, offload;
  int32_t in_order;   /* gradients come in backward order, for which the engine keeps least room */
  zp_misuse misuse;   /* of this rank, in the last step */
  int32_t wrong_rank; /* which rank makes a wrong call, if one does */
  zp_rank_fault fault;
  int64_t saving;   /* the steps of the checkpoint that is saved in the background; 0: none */
  int32_t returned; /* 1: a load has returned to an earlier step */
  int32_t skipped;  /* 1: a step was skipped since the ledger was compared */
  int32_t misused, wrong_entry; /* the status of the wrong call, and its entry */
  void *first[ZP_CASE_PARAMS];
  uint8_t used[ZP_CASE_PARAMS]; /* backward made a gradient */
  int32_t order[ZP_CASE_PARAMS], n_order;
  float *read;
  zp_rank_memory memory;
} zp_rank_job;

/* A random number below n (0 if n is 0), the same for the same case and numbers; rank -1: of all
 * ranks. */
int32_t zp_rank_draw(const zp_rank_job *r, int32_t rank, int64_t what, int64_t which, int32_t n);

enum { ZP_DRAW_MISUSE = 20 };

/* Notes the first finding; none if the engine ended by another rank's wrong call. Returns 1. */
int zp_rank_found(zp_rank_job *r, const char *clause, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* ---- The simulation (rank_reference.c) ------------------------------------------------------- */

/* Opens it and runs INIT. 0, or not 0: no memory, or an error in r->err. */
int zp_rank_open_reference(zp_rank_job *r);

/* Makes the simulation anew, at the end of so many steps. */
int zp_rank_return_to(zp_rank_job *r, int64_t steps);

/* ---- The engine (rank_create.c, rank_checkpoints.c) ------------------------------------------ */

/* Which options it has, and which wrong call is made. */
void zp_rank_choose(zp_rank_job *r);

/* Makes r->e. 0, or a status with its error in r->err. */
int zp_rank_create(zp_rank_job *r, const zp_hyper *hyper);

/* Saves or loads, at random, between two steps. 0, or 1 after a finding. */
int zp_rank_checkpoint(zp_rank_job *r);

/* ---- Memory and streams (rank_memory.c) ------------------------------------------------------ */

/* 0, or -1: no memory. */
int zp_rank_memory_open(zp_rank_job *r);
void zp_rank_memory_close(zp_rank_job *r);

/* All streams of the rank wait for `main`, the stream of the step or of the callback; and `main`
 * for them. */
int zp_rank_fork(zp_rank_job *r, void *main);
int zp_rank_join(zp_rank_job *r, void *main);

/* The number of a stream, at random. */
int32_t zp_rank_stream(const zp_rank_job *r, int64_t what, int64_t which);

/* A dtype, and bytes of a gradient or a parameter. */
int32_t zp_rank_grad_dtype(const zp_rank_job *r, int32_t j);
size_t zp_rank_grad_bytes(const zp_rank_job *r, int32_t j);
size_t zp_rank_param_bytes(const zp_rank_job *r, int32_t j);

/* Where backward's gradient of entry j is kept in host memory. */
void *zp_rank_made(const zp_rank_job *r, int32_t j, int64_t mb);

/* Copies between the rank's memory and the engine's; the host waits. */
int zp_rank_read(const zp_rank_job *r, void *to, const void *from, size_t bytes);

/* Queues the micro-batch's loss and announces it. 0, or not 0: an error. */
int zp_rank_loss(zp_rank_job *r, int64_t mb);

/* Queues reads of the stage's parameters: when the step begins, and after its last gradient. 0, or
 * not 0: an error. */
int zp_rank_read_params(zp_rank_job *r, void *stream);
int zp_rank_read_params_again(zp_rank_job *r);

/* ---- The model (rank_model.c) ---------------------------------------------------------------- */

int zp_rank_forward(void *ctx, const zp_engine_call *c);
int zp_rank_backward(void *ctx, const zp_engine_call *c);
int zp_rank_shape(void *ctx, int64_t step, int64_t mb, zp_message *out);
void zp_rank_messages_close(zp_rank_job *r);

/* ---- Calls (rank_calls.c) -------------------------------------------------------------------- */

/* Announces the micro-batch's gradients. 0, or not 0: an engine's error. */
int zp_rank_announce(zp_rank_job *r, int64_t mb);

/* Calls between two steps that are refused and change nothing. 0, or 1 after a finding. */
int zp_rank_refused_calls(zp_rank_job *r);

/* The simulated rank's ledger continues the engine's, which has communications that the simulation
 * does not issue. */
void zp_rank_follow_ledger(zp_rank_job *r, const zp_engine_state *s);

/* Compares the state after a step. 0, or 1 after a finding. */
int zp_rank_compare(zp_rank_job *r);

/* The state after a call that ended the engine. 0, or 1 after a finding. */
int zp_rank_compare_ended(zp_rank_job *r, int status);

#endif
