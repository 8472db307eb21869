/* A differential run: one training job that ref trains once, and the CUDA engine on simdev under
 * any number of schedules. After each run all results must have the same bits.
 *
 * The engine trains any zp_workload: forward and backward are kernels of one thread on the compute
 * stream; gpt has its own kernels (cuda/gpt). Backward writes gradients into buffers of its own.
 * One to three producer streams copy them, each into one buffer that its next copy overwrites, and
 * announce them from there, in backward order or in any order, by one host or by one for each
 * stream. The model orders nothing that the engine's contract does not require: each micro-batch
 * has its own buffers, and backward continues to read parameters after its gradients are made.
 *
 * Use: zp_diff_open runs ref; zp_diff_run any number of times; zp_diff_close. All of it runs on the
 * calling thread. spec: STEP-2, RED-4, RED-5, LEDG-1 */
#ifndef ZP_CUDA_VERIFY_DIFFERENTIAL_H
#define ZP_CUDA_VERIFY_DIFFERENTIAL_H

#include <stdint.h>

#include "../../ref/comm/sim/comm_sim.h"
#include "../engine/engine.h"
#include "schedule.h"

enum { ZP_DIFF_TEXT = 2048, ZP_DIFF_KIND = 12 };

/* The first finding of a run. kind: "" if nothing is found; else the violated clause of spec/, or
 * simdev's kind: race, access, mismatch, deadlock, leak, misuse, limit, engine; or that of the
 * happens-before check: race (a missing order), wait (a redundant wait), path (work that is not the
 * plan's). */
typedef struct zp_finding {
  char kind[ZP_DIFF_KIND];
  char text[ZP_DIFF_TEXT];
} zp_finding;

typedef struct zp_diff zp_diff;
typedef struct zp_diff_rank zp_diff_rank;   /* state.h */
typedef struct zp_rank_hosts zp_rank_hosts; /* rank_hosts.h */

/* Checkpoints that are loaded and saved; zeroed: none. */
typedef struct zp_diff_storage {
  zp_store *load; /* all ranks of ref and of the engine load this before the first step; or NULL */
  int32_t save;   /* 1: both save in memory after the last step, and the checkpoints are compared */
  /* A second destination of the engine's checkpoint, once it equals ref's: opens a rank's store for
   * a save of `step`. open may be NULL. 0, or a negative status in *err. */
  void *ctx;
  int (*open)(void *ctx, int32_t rank, int64_t step, zp_store *store, zp_error *err);
  void (*close)(void *ctx, int32_t rank);
} zp_diff_storage;

/* Observes a run of the engine that is compared with nothing: ref opens its ranks and does not run.
 * stepped, loaded: the device is idle; s is the state after the step, or after loading. */
typedef struct zp_diff_observer {
  void *ctx;
  void (*begun)(void *ctx, const zp_diff_rank *w);
  void (*issued)(void *ctx, const zp_diff_rank *w, const zp_op *op);
  void (*ended)(void *ctx, const zp_diff_rank *w);
  void (*stepped)(void *ctx, const zp_diff_rank *w, const zp_step_state *s);
  void (*loaded)(void *ctx, const zp_diff_rank *w, const zp_step_state *s);
  zp_store *save; /* NULL, or where the engine saves after the last step */
  int32_t first;  /* of the steps: that of the checkpoint that is loaded, or 0 */
} zp_diff_observer;

struct zp_case;
struct zp_gemm_report;
struct zp_train_hyper;

/* Callbacks for progress; each may be NULL. ref: ref has begun (step -1), or has done a step.
 * engine: rank 0 of the engine has the result of a step. */
typedef struct zp_diff_watch {
  void *ctx;
  void (*ref)(void *ctx, zp_sim *ref, int32_t step);
  void (*engine)(void *ctx, const zp_step_result *result);
  const zp_diff_storage *storage; /* or NULL */
  const zp_diff_observer *report; /* NULL: the engine is compared with ref */
  /* NULL, or whose rates ref and the engine set before each step: a case, or a training run with a
   * schedule. A loaded run continues its numbers of steps. */
  const struct zp_case *rates;
  const struct zp_train_hyper *scheduled;
  /* NULL: gpt multiplies in ref's order. Else it uses the program's GEMM backend
   * (zp_products_open), and ref follows (follow.h); then the run is done once, and the host asks
   * for the results of each step. ref/verify/backend.h: all members but bf16 are filled */
  struct zp_gemm_report *products;
} zp_diff_watch;

/* Runs INIT and `steps` steps on ref, with loading before and saving after them. cfg, which is
 * valid, hyper, work and storage must outlive the run. watch may be NULL. NULL after filling *err:
 * no memory, or ref failed. */
zp_diff *zp_diff_open(const zp_config *cfg, const zp_hyper *hyper, const zp_workload *work,
                      int32_t steps, const zp_diff_watch *watch, zp_error *err);
void zp_diff_close(zp_diff *t);

/* Runs the engine and compares: ledgers op by op; loss, norm, scale and skipped of every step whose
 * results the host asked for; at the end masters, moments, parameters. 0, or 1 with
 * zp_diff_finding. */
int zp_diff_run(zp_diff *t, const zp_schedule *s);

/* Of the last run. */
const zp_finding *zp_diff_finding(const zp_diff *t);
/* simdev, for its report and records. */
simdev *zp_diff_simdev(const zp_diff *t);
/* Writes the timeline of the last run, which must have kept records: for Perfetto to the file
 * trace, as an SVG to svg; either may be NULL. 0, or 1 with a text. */
int zp_diff_draw(const zp_diff *t, const char *trace, const char *svg, const char *title,
                 char *text, int64_t cap);
/* The error of a rank's engine; status ZP_OK: none. */
const zp_error *zp_diff_error(const zp_diff *t, int32_t rank);
/* Ref's result of a step. */
const zp_step_result *zp_diff_expected(const zp_diff *t, int32_t step);

/* Ref's checkpoint, for another run to load; with storage->save. */
zp_store zp_diff_saved(zp_diff *t);

/* Ref's simulation, after the last step. */
zp_sim *zp_diff_ref(const zp_diff *t);

#endif
