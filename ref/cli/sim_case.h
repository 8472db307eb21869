/* Runs one case on the simulator and on serial, compares everything bit for bit, and says which
 * clause of the spec failed where. */
#ifndef ZP_CLI_SIM_CASE_H
#define ZP_CLI_SIM_CASE_H

#include <stdint.h>
#include <string.h>

#include "../engine/comm_sim.h"
#include "../engine/serial.h"
#include "fuzz_case.h"

/* The numbers that results hold as bits. */
static inline double f64(uint64_t bits)
{
  double x;
  memcpy(&x, &bits, sizeof x);
  return x;
}

static inline double f32(uint32_t bits)
{
  float x;
  memcpy(&x, &bits, sizeof x);
  return (double)x;
}

enum { ZP_VERDICT_CLAUSES = 8, ZP_VERDICT_FINDINGS = 16, ZP_VERDICT_TEXT = 12288 };

/* What a case showed. Clean: failed 0, n_clauses 0. */
typedef struct zp_verdict {
  int32_t failed;
  int32_t no_memory; /* 1: the environment failed; there is no verdict */
  int32_t status;    /* zp_status of the engine's own report, or ZP_OK */
  int64_t step;      /* where it was seen; -1: before the first step */
  int32_t n_clauses;
  char clause[ZP_VERDICT_CLAUSES][12];
  int32_t n_findings;
  zp_synth_finding finding[ZP_VERDICT_FINDINGS]; /* coded gradients: what they say */
  int32_t steps, skipped, grown, lowered, clipped;
  int64_t orders, distinct;  /* of execution that were run, where the engine has several */
  int64_t offloads;          /* orders with optimizer states in host memory */
  int64_t paths;             /* orders that were compared with the plan's critical path */
  uint64_t schedule;         /* the one that failed; 0: the engine has but one */
  int64_t drawn;             /* the one that the case's timeline shows; -1: none */
  int32_t reloaded;          /* 1: it was saved, loaded as c->reload says, and went on */
  zp_step_result result[32]; /* of rank 0, by step */
  int64_t text_used;
  char text[ZP_VERDICT_TEXT]; /* for people, lines */
} zp_verdict;

struct zp_fault;

/* Nothing seen yet. */
void zp_verdict_clear(zp_verdict *v);

/* Plans, plants the fault if there is one, runs INIT and the steps; stops at the first step in
 * which anything fails. c must be a valid configuration. */
void zp_case_run(const zp_case *c, const struct zp_fault *fault, zp_verdict *v);

/* 1 when the verdict names this clause. */
int zp_verdict_names(const zp_verdict *v, const char *clause);

/* Says where the case's timeline is, if it has one. */
void zp_verdict_drawn(const zp_case *c, const zp_verdict *v);

/* For the parts below. */
void zp_verdict_clause(zp_verdict *v, const char *clause);
void zp_verdict_say(zp_verdict *v, const char *format, ...) __attribute__((format(printf, 2, 3)));

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
} zp_case_state;

/* Saves in memory, opens `other` (of zp_case_reloaded), loads; s goes on with it. 0, or a negative
 * status in *err. spec: CKPT-5 */
int zp_case_reload(zp_case_state *s, zp_case *other, const zp_hyper *hyper, const zp_workload *work,
                   zp_error *err);

/* After INIT: parameters and masters equal serial's on every rank. 0, or 1 after a verdict. */
int zp_compare_first(const zp_case_state *s);
/* After a step: results, gradients, moments, masters, parameters, ledgers. 0, or 1. */
int zp_compare_step(const zp_case_state *s);
/* Reduced gradients alone, with what coded ones say. 0, or 1. */
int zp_compare_gradients(const zp_case_state *s);
/* Serial's reduced gradients against the coded ones' formula. 0, or 1. */
int zp_compare_serial(const zp_case_state *s);
/* Every logical element is owned and counted once over all ranks. 0, or 1. */
int zp_compare_owners(const zp_case_state *s);
/* After an error that must leave everything unchanged (STEP-5). 0, or 1. */
int zp_compare_unchanged(const zp_case_state *s);
/* Explains an engine error: clauses and its text. */
void zp_explain_error(const zp_case_state *s, const zp_error *err);

#endif
