/* Cases of fuzz and sim (ref/cli/fuzz_case.h) as trials of the twin. */
#ifndef ZP_TRIAL_CASE_H
#define ZP_TRIAL_CASE_H

#include "../../ref/cli/sim_case.h"
#include "trial.h"

/* What cases may ask for and the twin does not have yet: this list alone says so. Where a name is
 * that of one of fuzz's axes, no case is on it. */
typedef enum zp_trial_lack {
  ZP_TRIAL_VARYING_SHAPES, /* of a fixed one the engine is told how many elements it has */
  ZP_TRIAL_LACKS
} zp_trial_lack;
extern const char *const zp_trial_lack_names[ZP_TRIAL_LACKS];

/* Bit i: the case asks for lack i. */
uint32_t zp_trial_lacking(const zp_case *c);
/* The case without what the twin lacks; returns zp_trial_lacking of what it was. */
uint32_t zp_trial_leave_out(zp_case *c);

/* Orders whose number this divides have one host a rank, which is called back: fuzz's cases begin
 * with one, as that has a path to be compared. Others may have several hosts, or a loop of the
 * caller's (zp_twin_schedule). */
enum { ZP_TRIAL_PLAIN = 4 };

/* Case i of a seed, without what the twin lacks: *lacking is that. c->schedule is random, too. */
void zp_trial_random_case(uint64_t seed, uint64_t i, zp_case *c, uint32_t *lacking);

/* 1: every sum of the case's gradients is exact in any order, and it is not `exact` anyhow: NCCL
 * may add (RED-7). */
int zp_trial_any_order(const zp_case *c);

/* A case and the trial of it; and where it is saved and loaded (c.reload), the trial of the step
 * that follows. */
typedef struct zp_trial_subject {
  zp_case c, other;
  zp_hyper hyper;
  zp_synth synth;
  zp_workload work;
  zp_trial_storage save, load;
  zp_store saved;
  zp_trial *trial, *next; /* next: NULL, there is none */
} zp_trial_subject;

/* 0, or a negative status in *err; the subject stays where it is until it is closed. */
int zp_trial_subject_open(zp_trial_subject *s, const zp_case *c, zp_error *err);
/* The same; watch, or NULL, is told of the case's own trial. Its storage is not used. */
int zp_trial_subject_watched(zp_trial_subject *s, const zp_case *c, const zp_trial_watch *watch,
                             zp_error *err);
/* The same of a case's text. */
int zp_trial_subject_text(zp_trial_subject *s, const char *text, zp_error *err);
/* Runs it, and the step after loading: NULL, or the trial that found something. */
const zp_trial *zp_trial_subject_run(const zp_trial_subject *s, const zp_trial_schedule *how);
void zp_trial_subject_close(zp_trial_subject *s);

#endif
