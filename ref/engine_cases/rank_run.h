/* A random case through the public functions of the engine (ref/engine/engine.h): one rank of it,
 * which makes calls in a random order, also wrong ones, and compares bits with the simulator. */
#ifndef ZP_ENGINE_CASES_RANK_RUN_H
#define ZP_ENGINE_CASES_RANK_RUN_H

#include "../comm/transport.h"
#include "../verify/case.h"
#include "rank_device.h"

enum { ZP_RANK_RUN_TEXT = 1024 };

/* What rank 0 does otherwise than the case says: a comparison has to find it. */
typedef enum zp_rank_fault {
  ZP_RANK_FAULT_NONE = 0,
  ZP_RANK_FAULT_BIT,    /* one bit of a gradient is another one */
  ZP_RANK_FAULT_LOAD,   /* masters and moments are not loaded again */
  ZP_RANK_FAULT_RATE,   /* a learning rate is the last step's */
  ZP_RANK_FAULT_WRONG,  /* the wrong call is left out */
  ZP_RANK_FAULT_LEDGER, /* a checkpoint's communications count as a step's */
  ZP_RANK_FAULTS
} zp_rank_fault;

typedef struct zp_rank_run_options {
  const zp_case *c;
  int32_t rank;
  const zp_transport *transport; /* NULL: a process of an MPI job, or alone */
  const char *folder;            /* for checkpoints, the same for all ranks */
  double deadline_s;
  zp_rank_fault fault;
  zp_rank_device device;
} zp_rank_run_options;

/* Which steps the case had, for the table of shares. */
typedef struct zp_rank_run_seen {
  int32_t skipped, clipped, grown, lowered; /* steps; of the last two: in which the scale changed */
  int32_t reloaded;                         /* 1: a checkpoint was loaded */
} zp_rank_run_seen;

/* What a rank has found. clause: of spec/, empty if nothing. */
typedef struct zp_rank_run_found {
  char clause[12];
  char text[ZP_RANK_RUN_TEXT];
  int64_t step; /* of the finding; else the steps that were done */
  int32_t left; /* 1: the engine ended with an error, as the case wants it: the process leaves */
  zp_rank_run_seen seen;
} zp_rank_run_found;

/* 1: one rank of the case makes a call that ends the engine, in the last step. */
int zp_rank_ends_wrongly(const zp_case *c);

/* 0: all bits are the simulator's, and each wrong call had its error; else 1. */
int zp_rank_run(const zp_rank_run_options *o, zp_rank_run_found *found);

#endif
