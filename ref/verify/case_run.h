/* Runs one case on the simulator and on serial, compares everything bit for bit, and says which
 * clause of the spec failed where. */
#ifndef ZP_VERIFY_CASE_RUN_H
#define ZP_VERIFY_CASE_RUN_H

#include <stdint.h>

#include "../comm/sim/comm_sim.h"
#include "../engine/serial.h"
#include "case.h"
#include "fault.h"
#include "verdict.h"

/* Plans, injects the fault if there is one, runs INIT and the steps; stops at the first step in
 * which anything fails. c must be a valid configuration. */
void zp_case_run(const zp_case *c, const zp_fault *fault, zp_verdict *v);

/* A running case. */
typedef struct zp_case_state {
  const zp_case *c;
  zp_sim *sim;
  zp_serial *serial;
  const zp_synth *synth;
  zp_scaler scaler; /* what the scaler must be */
  int64_t step;
  zp_step_result want;
  zp_verdict *v;
  zp_hyper hyper;         /* of this step; serial and the simulator read it */
  const zp_hook *loading; /* NULL, or a fault's, of the ranks that load a checkpoint */
} zp_case_state;

/* Saves in memory, opens `other` (of zp_case_reloaded), loads; s goes on with it. 0, or a negative
 * status in *err. spec: CKPT-5 */
int zp_case_reload(zp_case_state *s, zp_case *other, const zp_hyper *hyper, const zp_workload *work,
                   zp_error *err);

/* After INIT: parameters and masters equal serial's on every rank. 0, or 1 after a verdict. */
int zp_compare_first(const zp_case_state *s);
/* After a step: results, gradients, moments, masters, parameters, ledgers. 0, or 1. */
int zp_compare_step(const zp_case_state *s);
/* Every logical element is owned and counted once over all ranks. 0, or 1. */
int zp_compare_owners(const zp_case_state *s);
/* After an error that must leave everything unchanged (STEP-5). 0, or 1. */
int zp_compare_unchanged(const zp_case_state *s);

#endif
