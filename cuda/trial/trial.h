/* One training job, run by ref once and by the CUDA twin on simdev under as many schedules as
 * wanted; after each, everything must have the same bits.
 *
 * The twin trains any zp_workload: its forward and backward are kernels of one thread on the
 * compute stream, which read and write device memory; gpt's are the device's own (cuda/model). Backward leaves the gradients in buffers of
 * its own; they are copied by one to three producer streams, each into one buffer that its next
 * copy overwrites, and announced from there, in backward order or in any, by one host or by one for
 * each stream. The model orders nothing
 * that the engine's contract does not ask for: there is a buffer for each micro-batch, and backward
 * goes on, reading parameters, when its gradients are made.
 *
 * Life: zp_trial_open runs ref; zp_trial_run as often as wanted; zp_trial_close. Everything of one
 * trial happens on the calling thread. spec: STEP-2, RED-4, RED-5, LEDG-1 */
#ifndef ZP_TRIAL_TRIAL_H
#define ZP_TRIAL_TRIAL_H

#include <stdint.h>

#include "../../ref/engine/comm_sim.h"
#include "../engine/engine.h"
#include "../simdev/simdev.h"

enum { ZP_TRIAL_STREAMS = 3, ZP_TRIAL_TEXT = 2048, ZP_TRIAL_KIND = 12 };

/* What a run is free to do, and the bits must not depend on. Zero is a good choice for every member
 * but that all gradients then come on one stream. */
typedef struct zp_trial_schedule {
  uint64_t seed;      /* of simdev */
  uint64_t announce;  /* of the announcements: their streams and, but for in_order, their order */
  simdev_order order; /* who goes next */
  int32_t producers;  /* streams that bring gradients, 1 … 3; 0: 1 */
  int32_t in_order;   /* 1: gradients come in backward order */
  int32_t native;     /* 1: NCCL adds in an order of its own; ref's bits where sums are exact */
  int32_t offload;    /* 1: masters and moments are in host memory, which updates them */
  int32_t get_each;   /* 1: the host asks for the results after each step; 0: after the last */
  int32_t
      launch_order; /* NCCL_LAUNCH_ORDER_IMPLICIT: 0 as it is, 1 unset, 2 for the engine to set */
  int32_t nccl_version; /* 0: the header's */
  int32_t record;       /* simdev keeps records, edges and syncs */
  int32_t path; /* 1: what the run ordered is compared with what the plan demands (cuda/path) */
  const simdev_fault *faults; /* [fault_count] */
  int32_t fault_count;
  simdev_choice remote_errors, one_comm_kernel;
  int32_t allow_leaks;
  /* planted mistakes of a model: 1 + the rank that announces one entry too few, or one twice, in
   * the last step; 0: none */
  int32_t forgets, repeats;
  int32_t waits_for_all;      /* 1: a gradient is announced behind all of the reduction stream */
  int64_t decisions_max;      /* of simdev; 0: its default */
  const zp_cuda_fault *plant; /* into the engine; NULL: nothing */
  int32_t count_flight;       /* 1: the steps in flight are counted, which makes order */
  /* 1: a rank has a host for each producer stream, which announces what that brings, and the
   * engine's watchdog. Neither a path nor a timeline: both tell what one host does. */
  int32_t hosts;
  int32_t alarm; /* 1: ranks tell each other of failures beside NCCL */
  /* 1: the caller computes in a loop of its own, and ends the steps; for one stage, else ignored.
   * Neither path nor timeline. */
  int32_t own_loop;
  int32_t default_stream; /* what the first producer is: 0 a stream of its own; 1 the legacy default
                             one, NULL; 2 cudaStreamPerThread */
} zp_trial_schedule;

/* Schedule number n, the same in every build. */
zp_trial_schedule zp_trial_schedule_of(uint64_t n);

/* What a run found. kind: "" nothing; else the clause of spec/ that does not hold, or what simdev
 * calls it: race, access, mismatch, deadlock, leak, misuse, limit, engine; or what the comparison
 * with the plan does: race (a demand that nothing orders), wait (for nothing that is demanded),
 * path (other work than the plan's). */
typedef struct zp_trial_found {
  char kind[ZP_TRIAL_KIND];
  char text[ZP_TRIAL_TEXT];
} zp_trial_found;

typedef struct zp_trial zp_trial;

/* Where checkpoints come from and go to; zero: there are none. */
typedef struct zp_trial_storage {
  zp_store *load; /* what all ranks of ref and of the twin load before the first step, or NULL */
  int32_t save;   /* 1: both save after the last step, in memory; what they save is compared */
  /* Where else the twin's goes, once it equals ref's: a rank's way to it, for a save of `step`.
   * open NULL: nowhere. 0, or a negative status in *err. */
  void *ctx;
  int (*open)(void *ctx, int32_t rank, int64_t step, zp_store *store, zp_error *err);
  void (*close)(void *ctx, int32_t rank);
} zp_trial_storage;

struct zp_trial_worker;

/* Where a twin stands alone: nothing is compared with ref, which opens its ranks and does not run;
 * what each rank does and has is told. stepped: the device has come to rest; s is the step's. */
typedef struct zp_trial_report {
  void *ctx;
  void (*begun)(void *ctx, const struct zp_trial_worker *w);
  void (*issued)(void *ctx, const struct zp_trial_worker *w, const zp_op *op);
  void (*ended)(void *ctx, const struct zp_trial_worker *w);
  void (*stepped)(void *ctx, const struct zp_trial_worker *w, const zp_step_state *s);
} zp_trial_report;

struct zp_engine_products;

/* Told to who waits; each may be NULL. ref: the simulation has begun (step -1), or done a step.
 * twin: rank 0 of the twin has heard what a step came to. */
typedef struct zp_trial_watch {
  void *ctx;
  void (*ref)(void *ctx, zp_sim *ref, int32_t step);
  void (*twin)(void *ctx, const zp_step_result *result);
  const zp_trial_storage *storage; /* or NULL */
  const zp_trial_report *report;   /* NULL: the twin is compared with ref */
  /* NULL: the twin of gpt has ref's own product; else that of the program's (zp_products_open), and
   * ref follows (follow.c); the trial is then run once, and asks for results after each step */
  struct zp_engine_products *products; /* ref/cli/engine.h: all members are told */
} zp_trial_watch;

/* Runs INIT and `steps` steps on ref, loads before and saves behind them. cfg, hyper, work and
 * storage outlive the trial; cfg is valid. watch: NULL, or who is told. NULL after filling *err: no
 * memory, or ref itself failed. */
zp_trial *zp_trial_open(const zp_config *cfg, const zp_hyper *hyper, const zp_workload *work,
                        int32_t steps, const zp_trial_watch *watch, zp_error *err);
void zp_trial_close(zp_trial *t);

/* Runs the twin and compares: ledgers op by op; loss, norm, scale and skipped of every step that
 * was asked for; at the end masters, moments, parameters. 0, or 1 with zp_trial_why. */
int zp_trial_run(zp_trial *t, const zp_trial_schedule *s);

/* Of the last run. */
const zp_trial_found *zp_trial_why(const zp_trial *t);
/* simdev, for its report and records. */
simdev *zp_trial_simdev(const zp_trial *t);
/* The last run as a timeline: for Perfetto into the file trace, as a picture into svg; either may
 * be NULL. The run has kept records. 0, or 1 with a text. */
int zp_trial_draw(const zp_trial *t, const char *trace, const char *svg, const char *title,
                  char *text, int64_t cap);
/* The error of a rank's engine; status ZP_CUDA_OK: none. */
const zp_cuda_error *zp_trial_error(const zp_trial *t, int32_t rank);
/* Ref's result of a step. */
const zp_step_result *zp_trial_expected(const zp_trial *t, int32_t step);

/* What ref has saved, to be loaded by another trial; with storage->save. */
zp_store zp_trial_saved(zp_trial *t);

/* Of ref: its ranks after the last step, and what it issued. */
zp_sim *zp_trial_ref(const zp_trial *t);

#endif
