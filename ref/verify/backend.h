/* What sim, fuzz, train and the conformance adapter require of an engine. ref implements it in
 * ref_backend.c, the CUDA engine in cuda/verify. */
#ifndef ZP_VERIFY_BACKEND_H
#define ZP_VERIFY_BACKEND_H

#include <stdint.h>

#include "../engine/store.h"
#include "case_run.h"
#include "counters.h"
#include "fault.h"
#include "train_hyper.h"

enum { ZP_BACKEND_UNSUPPORTED = 32, ZP_BACKEND_OPTIONS = 12, ZP_BACKEND_WORDS = 8 };

/* ---- Training -------------------------------------------------------------------------------- */

/* How far matrix products are from ref's, where a library adds in an order of its own or operands
 * are rounded to bf16. spec: ERR-7, ERR-8 */
typedef struct zp_gemm_report {
  int32_t bf16;          /* in: 1: the products' operands are rounded to bf16 */
  int64_t elements;      /* all elements of all products */
  int64_t undecided;     /* of these, overflows that the order decides: not judged */
  double max_error;      /* of one element, as a share of the bound of ERR-7 or ERR-8 */
  double loss_error;     /* relative to ref's own loss: the largest */
  double gradient_error; /* norm of a step's difference relative to its norm: the largest */
  int64_t finite_in_one; /* numbers that are finite in one of both only */
} zp_gemm_report;

/* One training run. The engine trains beside ref and compares. */
typedef struct zp_backend_training {
  const zp_config *cfg;
  const zp_train_hyper *hyper;
  const zp_workload *work;
  int32_t steps;
  int32_t offload; /* 1: the engine's masters and moments are in host memory (OPT-5) */
  zp_store *load;  /* the checkpoint that ref and the engine start from, or NULL */
  void *ctx;
  void (*ref_stepped)(void *ctx, zp_sim *ref, int32_t step); /* -1: before the first step */
  void (*stepped)(void *ctx, const zp_step_result *result);  /* the engine has done a step */
  /* After the last step, when all bits are equal: ref is at the end. 0, or a status in *err. */
  int (*finished)(void *ctx, zp_sim *ref, zp_error *err);
  /* NULL, or opens the store of a rank's part of the checkpoint after the last step. 0, or a
   * negative status in *err. save_close follows in either case. */
  int (*save_open)(void *ctx, int32_t rank, int64_t step, zp_store *store, zp_error *err);
  void (*save_close)(void *ctx, int32_t rank);
  /* NULL: ref's products, so that all bits are ref's. Else products by the engine's GEMM backend,
   * of bf16 operands if products->bf16: ref receives the losses and gradients that they result in,
   * and the report is filled. */
  zp_gemm_report *products;
} zp_backend_training;

/* ---- Observed runs --------------------------------------------------------------------------- */

/* A communication that a rank is about to issue. */
typedef struct zp_issued {
  int32_t rank;
  zp_coord at;
  int64_t pc;
  const zp_op *op;
  const zp_message *send, *recv; /* of an exchange (P2P): NULL where it has no such half */
} zp_issued;

/* What a rank holds after a step; valid until the callback returns. */
typedef struct zp_rank_view {
  const zp_config *cfg;
  int32_t rank;
  zp_coord at;
  int32_t replicas; /* R: cfg, rank and R say which block the rank is in (comm/block.h) */
  const zp_layout *lay;
  const void *holder; /* for param and held */
  /* Entry i of the rank's stage, in the precision. */
  const void *(*param)(const void *holder, int32_t i);
  /* What the rank holds of bucket b of flat group k (zp_local_range): ZP_WHAT_MASTER,
   * ZP_WHAT_MOMENT1, ZP_WHAT_MOMENT2, or ZP_WHAT_GRADIENT for the mean. */
  const float *(*held)(const void *holder, int32_t k, int64_t b, int32_t what);
  double norm;
  int32_t skipped;
  int32_t log2_scale;      /* that the step's loss was multiplied by */
  int32_t next_log2_scale; /* of the next step */
} zp_rank_view;

/* Called in the order in which things happen on a rank. */
typedef struct zp_observer {
  void *ctx;
  void (*step_begins)(void *ctx, int32_t rank, int32_t step);
  void (*issues)(void *ctx, const zp_issued *issued);
  void (*loaded)(void *ctx, const zp_rank_view *view); /* before the first step: no gradients */
  void (*stepped)(void *ctx, const zp_rank_view *view);
  void (*rank_done)(void *ctx, int32_t rank); /* nothing left to do, whatever others do */
} zp_observer;

/* One of the engine's own options and its words; the first one is the default. NULL: no more. */
typedef struct zp_backend_option {
  const char *name;
  const char *word[ZP_BACKEND_WORDS];
} zp_backend_option;

/* One run on all ranks, compared with nothing: the observer judges. */
typedef struct zp_observed_run {
  const zp_config *cfg;
  const zp_hyper *hyper;
  const zp_workload *work;
  int32_t steps;
  const char *option[ZP_BACKEND_OPTIONS]; /* a word for each of the backend's options */
  uint64_t seed;                          /* of the engine's random choices */
  const zp_fault *fault;                  /* injected, or NULL */
  int32_t start_differs; /* 1: the caller's ranks have different first values: engines, in which one
                            rank sets each, do not see it, but faults may */
  int32_t scale_absent;  /* 1: the caller has no loss scale, not even one of one; likewise */
  /* A checkpoint that is loaded before step `first`, and one that is saved after the last step;
   * or NULL. */
  zp_store *load, *save;
  int32_t first;           /* of the steps: that of the checkpoint, or 0 */
  int32_t experts_sharded; /* 1: sharded entries are experts, one on each tp rank: as above */
  int32_t cp;              /* context-parallel ranks among those of dp: to engines without attention
                            they are data-parallel ranks, but faults may tell them apart */
  zp_observer observer;
} zp_observed_run;

/* ---- Times ----------------------------------------------------------------------------------- */

/* What is timed: a step of a valid configuration, which a machine executes. */
typedef struct zp_time_job {
  const zp_config *cfg;
  const zp_hyper *hyper;    /* of it: replicas, entry_align, slots, fp32_gradients */
  int32_t native;           /* the engine's default instead of `ordered` (RED-7) */
  int32_t partial;          /* 1: the engine's option partial_gather */
  int32_t offload;          /* masters and moments are in host memory (OPT-5) */
  int64_t tokens;           /* of a micro-batch */
  int64_t activation_bytes; /* that a stage sends for a micro-batch */
  const char *machine;      /* a file, or NULL: the one that is built in */
  const char *svg, *trace;  /* files for pictures of the step, or NULL */
  /* Called before each of `all` simulations, with the number of those done; or NULL. */
  void (*progress)(int32_t done, int32_t all);
} zp_time_job;

enum { ZP_TIME_WORKS = 15, ZP_TIME_FIGURES = 18, ZP_TIME_TEXT = 320 };

/* A kind of work on the busiest rank: seconds that it would take alone, bytes of memory that its
 * kernels move, bytes that the rank sends. */
typedef struct zp_time_work {
  const char *name;
  double seconds, bytes, wire;
} zp_time_work;

/* A figure of the machine, and the step's seconds with 30 % less and 30 % more of it. */
typedef struct zp_time_figure {
  const char *key, *unit;
  double value, less, more;
  char source[ZP_TIME_TEXT];
} zp_time_figure;

/* Seconds. The bound is the largest of the four: with these buckets no schedule is faster. */
typedef struct zp_time_report {
  char machine[ZP_TIME_TEXT];
  double step, compute, communication, memory, bound;
  double host;    /* offload: of the host's updates, or of copies to and from it if they are more */
  double exposed; /* less the step without communications */
  /* offload: less the step without the host's updates and copies; and what would remain exposed if
   * the host updated while the next step's first forward runs: a bucket's copies and update, and
   * what its updates take longer than that forward */
  double offload_exposed, offload_least;
  zp_time_work work[ZP_TIME_WORKS];
  zp_time_figure figure[ZP_TIME_FIGURES];
  double needs,
      capacity; /* bytes of the rank that needs the most, without activations; of memory */
  int32_t works, figures;
  int64_t nodes; /* pieces of work of a step, of all ranks that were simulated */
} zp_time_report;

/* ---- The interface --------------------------------------------------------------------------- */

typedef struct zp_backend {
  const char *name;                   /* --engine NAME */
  const char *repeat;                 /* of fuzz, the option that chooses it; NULL: the default */
  const struct zp_backend *processes; /* --comm mpi: the same, or NULL */
  int32_t own_cases;   /* 1: it draws cases of its own, whose shares of properties do not matter */
  const char *program; /* which program contains it */
  const char *clean;   /* for people: what a case without a failure has shown */
  const char *where;   /* for people: on what it trains; only with `train` */
  /* Axes of fuzz that its cases never have, because it does not support what they require. */
  const char *const *unsupported;
  int32_t unsupported_count; /* 0 … ZP_BACKEND_UNSUPPORTED */
  int32_t schedules;     /* execution orders in which it runs a case by default; 0: it has one */
  double case_timeout_s; /* a case that takes more processor time hangs */
  /* Case i of a seed; bit k of *left_out: unsupported[k] was removed from it. */
  void (*random_case)(uint64_t seed, uint64_t i, zp_case *c, uint32_t *left_out);
  uint32_t (*unsupported_in)(const zp_case *c); /* bit k: the case requires unsupported[k] */
  void (*run_case)(const zp_case *c, const zp_fault *fault, zp_verdict *v);
  int32_t (*fault_count)(void);
  const zp_fault *(*fault_at)(int32_t i);
  const zp_fault *(*fault_find)(const char *name);
  /* Why a run, or one of an adapter (adapter = 1), cannot show the fault; NULL: it can. The
   * function may be NULL, too. */
  const char *(*fault_hidden)(const zp_fault *fault, int32_t adapter);
  /* 0, or a negative zp_status in *err: ZP_E_VERDICT for different bits. NULL: ref trains
   * itself. */
  int (*train)(const zp_backend_training *job, zp_error *err);
  const char *(*gemm)(void); /* the GEMM backend on a device; NULL: only ref multiplies */
  const int32_t *library;    /* 1: that is a library */
  zp_backend_option option[ZP_BACKEND_OPTIONS];
  int (*observe)(const zp_observed_run *run, zp_error *err); /* 0, or a negative status in *err */
  /* NULL: this program has no cost model. 0, or a negative status in *err. */
  int (*time)(const zp_time_job *job, zp_time_report *report, zp_error *err);
  /* NULL: this program counts nothing. 0, or a negative status in *err. */
  int (*counters)(const zp_counters_job *job, zp_counters *counted, zp_error *err);
} zp_backend;

extern const zp_backend zp_backend_ref;

#endif
