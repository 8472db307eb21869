/* Who carries out a case or a training run: ref, which the command itself has, or a twin, which a
 * program of its own beside it has. `--engine` names one; where this program has another, it hands
 * over to the one that has it. */
#ifndef ZP_CLI_ENGINE_H
#define ZP_CLI_ENGINE_H

#include <argp.h>
#include <stdint.h>

#include "sim_case.h"

struct zp_fault;
struct zp_adapter_side;

enum { ZP_ENGINE_LACKS = 32 };

/* What a library's matrix products came to, whose order of additions is its own. spec: ERR-7 */
typedef struct zp_engine_products {
  int64_t elements, unsaid; /* all; of these, overflows that the order decides: not judged */
  double farthest;          /* of an element, as a share of what ERR-7 allows */
  double loss, gradient;    /* from ref's own, relative: a loss; a step's gradients in norm */
  int64_t finite_in_one;    /* of these, numbers that are finite in one of both alone */
} zp_engine_products;

/* One training run, as `train` wants it. The engine trains beside ref, and compares. */
typedef struct zp_engine_training {
  const zp_config *cfg;
  const zp_hyper *hyper;
  const zp_workload *work;
  int32_t steps;
  void *ctx;
  void (*planned)(void *ctx, zp_sim *ref, int32_t step);    /* ref has begun (-1), or done a step */
  void (*stepped)(void *ctx, const zp_step_result *result); /* the engine has done one */
  int (*ended)(void *ctx, zp_sim *ref, zp_error *err); /* all bits are equal, ref is at the end */
  zp_store *load; /* where ref and the engine go on from, or NULL */
  /* NULL, or a rank's way to where the engine's state is saved behind the last step. 0, or a
   * negative status in *err. */
  int (*save)(void *ctx, int32_t rank, int64_t step, zp_store *store, zp_error *err);
  void (*saved)(void *ctx, int32_t rank); /* done with it, however it went */
  int32_t offload; /* 1: the engine's masters and moments are in host memory (OPT-5) */
  /* NULL: products in ref's order, all bits are ref's. Else by the engine's library: ref is given
   * the losses and gradients that they make, and it is told here what they came to. */
  zp_engine_products *library;
} zp_engine_training;

typedef struct zp_engine {
  const char *name;    /* as --engine has it */
  const char *program; /* which program has it */
  const char *clean;   /* what a case that failed nothing has shown */
  const char *where;   /* on what it trains, for people; with `train` */
  /* Axes of fuzz that its cases are never on, as it lacks what they need. */
  const char *const *lack;
  int32_t lacks;     /* 0 … ZP_ENGINE_LACKS */
  int32_t schedules; /* in how many orders it runs a case, by default; 0: it has but one */
  double patience_s; /* a case that takes longer hangs */
  /* Case i of a seed; bit k of *lacking: lack[k] was left out of it. */
  void (*random)(uint64_t seed, uint64_t i, zp_case *c, uint32_t *lacking);
  uint32_t (*lacking)(const zp_case *c); /* what a case needs and it lacks */
  void (*run)(const zp_case *c, const struct zp_fault *fault, zp_verdict *v);
  int32_t (*fault_count)(void);
  const struct zp_fault *(*fault_at)(int32_t i);
  const struct zp_fault *(*fault_find)(const char *name);
  /* 0, or a negative zp_status in *err: ZP_E_VERDICT for different bits. NULL: as train itself. */
  int (*train)(const zp_engine_training *job, zp_error *err);
  const char *(*products)(void); /* who multiplies matrices on a device; NULL: ref alone does */
  const int32_t *library;        /* 1: it is a library */
  const struct zp_adapter_side *adapter; /* how it stands behind the conformance suite's protocol */
} zp_engine;

extern const zp_engine zp_engine_ref;

/* Where `train --engine cuda` trains. AUTO: on a device, where there is one and a program for it. */
typedef enum zp_engine_device {
  ZP_DEVICE_NONE,
  ZP_DEVICE_AUTO,
  ZP_DEVICE_SIM,
  ZP_DEVICE_GPU
} zp_engine_device;
/* Who multiplies there. DEFAULT: a library, where the program has one. */
typedef enum zp_engine_product {
  ZP_PRODUCTS_DEFAULT,
  ZP_PRODUCTS_REF,
  ZP_PRODUCTS_CUBLASLT
} zp_engine_product;

/* --engine, --tsan, --offload, --schedules, --trace, --svg; of train: --device, --products. */
typedef struct zp_engine_args {
  const char *name;         /* NULL: not given */
  int32_t tsan;             /* the build under ThreadSanitizer */
  int32_t offload;          /* 1: optimizer states in host memory, in every run */
  int32_t schedules;        /* 0: not given */
  const char *trace, *svg;  /* files for a timeline, or NULL */
  int32_t device, products; /* zp_engine_device, NONE: a simulated one; zp_engine_product */
} zp_engine_args;
/* Input: zp_engine_args *. */
extern const struct argp zp_engine_child;

/* 0: this program has the engine that the arguments ask for; else an exit code after a message.
 * Where a program beside this one has it, does not return. argv: as the sub-command got it. */
int zp_engine_choose(const zp_engine *here, const zp_engine_args *a, int argc, char **argv);

/* The fault of that name, or NULL after a message. */
const struct zp_fault *zp_engine_fault(const zp_engine *e, const char *command, const char *name);

/* 0, or an exit code after a message: the case needs what the engine lacks. */
int zp_engine_can(const zp_engine *e, const char *command, const zp_case *c);

/* The file of a program that lies where this one does. 0, or -1 when it is not there. */
int zp_engine_beside(const char *program, char *file, int64_t cap);

/* All engines that are known, for `env`: name and program; NULL at the end. make: the target that
 * builds it, which needs that. */
typedef struct zp_engine_known {
  const char *name, *program, *make, *needs;
} zp_engine_known;
const zp_engine_known *zp_engines(void);

#endif
