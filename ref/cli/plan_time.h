/* `zeroproof plan --time`: the options and the report. */
#ifndef ZP_CLI_PLAN_TIME_H
#define ZP_CLI_PLAN_TIME_H

#include <argp.h>

#include "../verify/backend.h"
#include "options.h"

/* --time, --machine, --tokens, --activation, --sums, --offload, --partial-gather. */
typedef struct zp_time_args {
  int32_t on, given; /* given: the last of the others, which need --time; 0: none */
  int32_t offload, partial;
  int64_t tokens, activation; /* activation: elements of a token that a stage sends */
  const char *machine, *sums; /* sums: NULL: not given */
} zp_time_args;

/* Input: zp_time_args *, which the caller fills with zp_time_defaults first. */
extern const struct argp zp_time_child;
zp_time_args zp_time_defaults(void);

/* 0, or ZP_EXIT_REFUSED after a message: the options do not fit each other. Sets the options'
 * reduction to that of --sums. */
int zp_time_check(const zp_time_args *a, zp_options *o);

/* Times the plan and prints the report: text, or JSON with --json. svg, trace: files or NULL. 0, or
 * an exit code after a message. */
int zp_plan_time(const zp_time_args *a, const zp_options *o, const zp_config *cfg,
                 const zp_backend *engine, const char *svg, const char *trace);

#endif
