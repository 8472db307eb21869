/* What the adapter's parts share: `zeroproof adapter` answers conformance/ADAPTER.md for ref and for
 * the twin. A rank is shown as a zp_rank, of which only what these functions name is filled. */
#ifndef ZP_CLI_ADAPTER_H
#define ZP_CLI_ADAPTER_H

#include <jansson.h>
#include <stdio.h>

#include "conf.h"
#include "engine.h"

/* ---- Engines --------------------------------------------------------------------------------- */

/* One case, for an engine to run on all its ranks. What it calls is told in the order in which it
 * happens on a rank. */
typedef struct zp_adapter_job {
  zp_given *given;              /* its cfg.reduce may be changed */
  const json_t *options;        /* the case's: of the engine's own */
  uint64_t seed;                /* of what the engine may throw dice about */
  const struct zp_fault *fault; /* planted, or NULL */
  void *ctx;
  void (*begun)(void *ctx, int32_t rank, int32_t step);
  void (*enters)(void *ctx, zp_rank *r, const zp_op *op); /* as for zp_publish */
  void (*ended)(void *ctx, int32_t rank);       /* has nothing left to do, whatever others do */
  void (*stepped)(void *ctx, const zp_rank *r); /* as for zp_answer_step */
} zp_adapter_job;

typedef struct zp_adapter_side {
  const char *options;                                  /* JSON: hello's */
  int (*run)(const zp_adapter_job *job, zp_error *err); /* 0, or a negative status in *err */
} zp_adapter_side;

extern const zp_adapter_side zp_adapter_ref;

/* The value of an option, which hello has as a list of words; the first one when it is not given. */
const char *zp_adapter_option(const zp_adapter_job *job, const char *name, const char *first);

/* ---- Ledgers --------------------------------------------------------------------------------- */

/* The files that ranks publish to. file NULL: nobody wants them. */
typedef struct zp_publisher {
  const zp_config *cfg;
  FILE **file; /* [world] */
  int32_t world;
} zp_publisher;

/* folder NULL: none. 0, or -1: a file cannot be written. */
int zp_publisher_open(zp_publisher *p, const zp_config *cfg, const char *folder);
void zp_publisher_close(zp_publisher *p);
void zp_publish_step(const zp_publisher *p, int32_t rank, int32_t step);
/* The rank is through with the case. */
void zp_publish_end(const zp_publisher *p, int32_t rank);
/* One communication of a rank; r: cfg, work, rank, at, step, lay, pc, and for a message whose shape
 * came before it (dynamic shapes) act_in. A local op is none. */
void zp_publish(const zp_publisher *p, zp_rank *r, const zp_op *op);

/* ---- Answers --------------------------------------------------------------------------------- */

/* What a rank has after a step, in the words of ADAPTER.md; r: cfg, lay, at, param, flat (master and
 * mean), result, scaler. */
json_t *zp_answer_step(const zp_rank *r);
json_t *zp_answer_error(const char *text);

#endif
