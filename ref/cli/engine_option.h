/* `--engine`: which engine carries out a case or a training run. ref is part of the command;
 * the CUDA engine is in a program of its own beside it, which the command then executes. */
#ifndef ZP_CLI_ENGINE_OPTION_H
#define ZP_CLI_ENGINE_OPTION_H

#include <argp.h>
#include <stdint.h>

#include "../verify/backend.h"

/* Where `train --engine cuda` trains. AUTO: on a device, if there is one and a program for it. */
typedef enum zp_device_choice {
  ZP_DEVICE_NONE,
  ZP_DEVICE_AUTO,
  ZP_DEVICE_SIM,
  ZP_DEVICE_GPU
} zp_device_choice;
/* Its products. DEFAULT: a library's, if the program has one; BF16: the same, of operands rounded
 * to bf16. */
typedef enum zp_gemm_choice {
  ZP_GEMM_DEFAULT,
  ZP_GEMM_REF,
  ZP_GEMM_CUBLASLT,
  ZP_GEMM_BF16
} zp_gemm_choice;

/* --engine, --tsan, --offload, --schedules, --trace, --svg; of train: --device, --products. */
typedef struct zp_engine_args {
  const char *name;        /* NULL: not given */
  int32_t tsan;            /* the build under ThreadSanitizer */
  int32_t offload;         /* 1: optimizer states in host memory, in every run */
  int32_t schedules;       /* 0: not given */
  const char *trace, *svg; /* files for a timeline, or NULL */
  int32_t device, gemm;    /* zp_device_choice, NONE: a simulated one; zp_gemm_choice */
} zp_engine_args;
/* Input: zp_engine_args *. */
extern const struct argp zp_engine_child;

/* 0: this program has the engine that the arguments ask for; else an exit code after a message.
 * Does not return where a program beside this one has it. argv: as the sub-command got it. */
int zp_engine_choose(const zp_backend *here, const zp_engine_args *a, int argc, char **argv);

/* Gives the sub-command's words to the program of that name beside this one. Returns only when that
 * fails: an exit code after a message. */
int zp_engine_hand_over(const char *program, int argc, char **argv);

/* The fault of that name, or NULL after a message: it does not exist, or this run cannot show it.
 * adapter: 1: the run is an adapter's. */
const zp_fault *zp_engine_fault(const zp_backend *e, const char *command, const char *name,
                                int adapter);

/* 0, or an exit code after a message: the engine does not support what the case requires. */
int zp_engine_supports(const zp_backend *e, const char *command, const zp_case *c);

/* Writes the path of a program in the folder of this one. 0, or -1 when it is not there. */
int zp_program_beside(const char *program, char *file, int64_t cap);

/* All known engines, for `env`: name, program, the make target that builds it and what that
 * requires. NULL at the end. */
typedef struct zp_known_engine {
  const char *name, *program, *make, *needs;
} zp_known_engine;
const zp_known_engine *zp_engines_known(void);

#endif
