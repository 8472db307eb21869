/* From sim's options to a case. */
#ifndef ZP_CLI_SIM_SETUP_H
#define ZP_CLI_SIM_SETUP_H

#include "engine_option.h"
#include "options.h"

typedef struct zp_sim_args {
  zp_options o;
  zp_engine_args chosen;
  const zp_backend *engine;
  const char *fault_name; /* --fault, or NULL */
  const zp_fault *fault;
  const char *text;     /* --case, or NULL */
  int32_t list;         /* --fault list */
  int32_t mode, unused; /* -1: not given */
  int32_t vary, tuple;
  zp_hyper hyper; /* where the case's optimizers live when they were configured */
} zp_sim_args;

/* The case: --case, or the fault's own, or one for the options' defaults; changed by every option
 * and field of the configuration file that was given. 0, or an exit code after a message. */
int zp_sim_setup(zp_sim_args *a, zp_case *c);

#endif
