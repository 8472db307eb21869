/* What running one case has shown. */
#ifndef ZP_VERIFY_VERDICT_H
#define ZP_VERIFY_VERDICT_H

#include <stdint.h>
#include <string.h>

#include "../engine/rank.h"
#include "../model/synth.h"

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

enum {
  ZP_VERDICT_CLAUSES = 8,
  ZP_VERDICT_FINDINGS = 16,
  ZP_VERDICT_TEXT = 12288,
  ZP_VERDICT_UNDRAWN = 2304
};

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
  int64_t partials;          /* orders with the option partial_gather */
  int64_t lent;              /* orders that ask for memory for gradients (if it is lent) */
  int64_t early;             /* orders with little room for gradients that come early */
  int64_t unused_early;      /* orders in which unused entries are declared before backward */
  int64_t paths;             /* orders that were compared with the plan's critical path */
  uint64_t schedule;         /* the one that failed; 0: the engine has but one */
  int64_t drawn;             /* the one that the case's timeline shows; -1: none */
  int32_t reloaded;          /* 1: it was saved, loaded as c->reload says, and went on */
  zp_step_result result[32]; /* of rank 0, by step */
  int64_t text_used;
  char text[ZP_VERDICT_TEXT];       /* for people, lines */
  char undrawn[ZP_VERDICT_UNDRAWN]; /* why the requested timeline was not drawn, or empty */
} zp_verdict;

/* Nothing seen yet. */
void zp_verdict_clear(zp_verdict *v);

/* 1 when the verdict names this clause. */
int zp_verdict_names(const zp_verdict *v, const char *clause);

/* Fails the verdict with a clause; adds to its text. */
void zp_verdict_clause(zp_verdict *v, const char *clause);
void zp_verdict_say(zp_verdict *v, const char *format, ...) __attribute__((format(printf, 2, 3)));

#endif
