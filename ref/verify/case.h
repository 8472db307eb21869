/* One case of sim and fuzz: a configuration, a parameter list, an optimizer, given gradients, a
 * number of steps; and its one-line text, which replays it:
 *
 *   pp=2,dp=3,stage=2,reduce=exact,precision=bf16,M=4,bucket=16,list=5@0.1+7@0.0s+3@1.0t0,seed=9
 *
 * Fields that are left out keep their defaults. list: NUMEL@STAGE.GROUP and any of s (sharded over
 * tp), e (expert), f (frozen), w (fp32, whatever the precision), tKEY (tied). scale: LOG2, or
 * LOG2:WINDOW:HYSTERESIS:CONSECUTIVE:MIN:MAX for a dynamic one. reload: PP:DP:STAGE:BUCKET or
 * PP:DP:STAGE:BUCKET:REPLICAS, save after the steps, load so, one more step.
 * unused: of 256 uses of an entry in a micro-batch, so many are left out. vary=1: the shapes of
 * activations vary by micro-batch. dynamic=1: meta messages describe them (dynamic_shapes).
 * rates=1: learning rates are doubled in every second step. sequence=1: sequence parallelism
 * (RED-8). replicas=R: blocks of dp/R ranks, each with a replica of the state (TOPO-6).
 * entry_align=A: trained, untied entries start at multiples of A in their flat groups (PART-2); a
 * reload has 1. slots=N: bucket slots of a rank (STRM-2); 0: the default. fp32_gradients=1:
 * gradients are fp32, whatever the precision (RED-1). oneside=1: of the uses of a tied key, one
 * takes part in each step. overflow, oversum, bad: bits by step, of a gradient element that is not
 * finite, one that only a sum makes infinite, a loss that is not finite. unit: log2 of the unit of
 * gradients: 2^64 and 2^-80 are near 1e±20.
 * optim: sgd, momentum, adamw or mixed (groups take turns). schedule: the first order of execution,
 * for an engine that has many (--engine cuda). */
#ifndef ZP_VERIFY_CASE_H
#define ZP_VERIFY_CASE_H

#include <stdint.h>

#include "../engine/rank.h"
#include "../model/synth.h"

/* 512: sim takes lists from files; fuzz's own have at most 48 entries. */
enum { ZP_CASE_PARAMS = 512, ZP_CASE_TEXT = 2048, ZP_CASE_STEPS = 32 };

typedef enum zp_case_optim {
  ZP_CASE_SGD = 0,
  ZP_CASE_MOMENTUM = 1,
  ZP_CASE_ADAMW = 2,
  ZP_CASE_MIXED = 3
} zp_case_optim;

/* Where a checkpoint is loaded; pp 0: no checkpoint. The list is cut into stages evenly. */
typedef struct zp_reload {
  int32_t pp, dp, stage;
  int64_t bucket;
  int32_t replicas; /* 0: 1 */
} zp_reload;

/* cfg.params points at `params`: copy with zp_case_copy. */
typedef struct zp_case {
  zp_config cfg;
  zp_param params[ZP_CASE_PARAMS];
  zp_synth_options synth;
  int32_t replicas; /* R, at least 1 */
  int32_t entry_align;
  int32_t slots; /* bucket slots; 0: the default */
  int32_t steps; /* 1..32 */
  int32_t rates; /* 1: learning rates change by step */
  int32_t optim; /* zp_case_optim */
  double clip;
  zp_scaler scaler;
  zp_reload reload;
  uint64_t schedule;
  /* not part of the text */
  int32_t schedules;       /* how many orders, from `schedule` on; 0: the engine has one */
  int32_t offload;         /* 1: optimizer states in host memory in all of them; 0: as they say */
  const char *trace, *svg; /* files for a timeline of one of its orders, or NULL */
  int32_t unchecked;       /* 1: leave out the check of the programs (plan --check) */
  const zp_hyper *hyper;   /* the optimizers, when they are not optim's */
  /* for people who wait, or NULL; step -1: before the first */
  void (*progress)(const char *what, int32_t step, int32_t steps);
} zp_case;

void zp_case_init(zp_case *c);
void zp_case_copy(zp_case *to, const zp_case *from);

/* The case as c->reload says it goes on; 0 when it says nothing that is valid: the same dp·M, under
 * ordered reduction the same dp and pp. */
int zp_case_reloaded(const zp_case *c, zp_case *to);

/* Sets cfg.optgroups and cfg.tied_keys from the list, and the list's pointer. */
void zp_case_settle(zp_case *c);

/* The optimizer's constants of the case; with the learning rates of a step. */
void zp_case_hyper(const zp_case *c, zp_hyper *hyper);
void zp_case_hyper_at(const zp_case *c, int64_t step, zp_hyper *hyper);

/* The text of a case, every field that differs from zp_case_init's; and back. zp_case_parse returns
 * 0, or -1 with the reason in why; fields it does not name keep what *c holds. */
void zp_case_format(const zp_case *c, char *text, int64_t cap);
int zp_case_parse(zp_case *c, const char *text, char *why, int64_t cap);

/* Is the case's configuration valid, and can it have its replicas and entry alignment? 0, or
 * ZP_E_REFUSED in *err. spec: LIM-0, LIM-10, LIM-11 */
int zp_case_check(const zp_case *c, zp_error *err);

/* Logical elements: tied keys once, all copies over tp and ep. */
int64_t zp_case_elements(const zp_case *c);

/* K of a stage: how many optimizer groups its trained entries are in. */
int32_t zp_case_groups(const zp_case *c, int32_t stage);

#endif
