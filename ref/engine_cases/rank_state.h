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
  int64_t step;
  int32_t callbacks, partial, gradual;
  zp_misuse misuse; /* of this rank, in the last step */
  zp_rank_fault fault;
  int32_t saved;   /* 1: communications of checkpoints were issued: ledgers differ */
  int32_t misused; /* the status of the wrong call */
  void *first[ZP_CASE_PARAMS], *grad[ZP_CASE_PARAMS];
  uint8_t used[ZP_CASE_PARAMS]; /* backward made a gradient */
  int32_t order[ZP_CASE_PARAMS], n_order;
  float *read;
} zp_rank_job;

/* A random number below n, the same for the same case and numbers; rank -1: of all ranks. */
int32_t zp_rank_draw(const zp_rank_job *r, int32_t rank, int64_t what, int64_t which, int32_t n);

/* 1: one rank of the case makes a call that ends the engine, in the last step. */
enum { ZP_DRAW_MISUSE = 20 };
int zp_rank_ends_wrongly(const zp_case *c);

/* Notes the first finding; none if the engine ended by another rank's wrong call. Returns 1. */
int zp_rank_found(zp_rank_job *r, const char *clause, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* Announces the micro-batch's gradients, which are in r->grad. 0, or not 0: an engine's error. */
int zp_rank_announce(zp_rank_job *r, int64_t mb, void *stream);

/* Waits for the parameters, with partial_gather. 0, or a status. */
int zp_rank_wait(zp_rank_job *r, void *stream);

/* Calls between two steps that are refused and change nothing. 0, or 1 after a finding. */
int zp_rank_refused_calls(zp_rank_job *r);

/* Compares the state after a step. 0, or 1 after a finding. */
int zp_rank_compare(zp_rank_job *r);

/* The state after a call that ended the engine. 0, or 1 after a finding. */
int zp_rank_compare_ended(zp_rank_job *r, int status);

#endif
