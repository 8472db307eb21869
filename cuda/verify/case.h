/* Cases of fuzz and sim (ref/verify/case.h) as differential runs. */
#ifndef ZP_CUDA_VERIFY_CASE_H
#define ZP_CUDA_VERIFY_CASE_H

#include "../../ref/verify/case.h"
#include "../../ref/verify/verdict.h"
#include "differential.h"

/* Features of cases that the engine does not support. If a name is that of an axis of fuzz, no case
 * has it. */
typedef enum zp_cuda_unsupported_feature {
  ZP_UNSUPPORTED_VARYING_SHAPES, /* for fixed shapes the engine requires the number of elements */
  ZP_UNSUPPORTED_COUNT
} zp_cuda_unsupported_feature;
extern const char *const zp_cuda_unsupported[ZP_UNSUPPORTED_COUNT];

/* Bit i: the case requires feature i. */
uint32_t zp_cuda_unsupported_in(const zp_case *c);

/* Orders whose number this divides have one host a rank and callbacks, so that the happens-before
 * check applies; fuzz's cases begin with one. Others may have several hosts, or a loop of the
 * caller's (zp_case_schedule). */
enum { ZP_SCHEDULE_PLAIN = 4 };

/* Case i of a seed, without unsupported features; *removed: those that were removed. c->schedule is
 * random, too. */
void zp_cuda_random_case(uint64_t seed, uint64_t i, zp_case *c, uint32_t *removed);

/* 1: every sum of the case's gradients is exact in any order, although its mode is not `exact`:
 * NCCL may add (RED-7). */
int zp_sums_are_exact_in_any_order(const zp_case *c);

/* A case and its run; if it is saved and loaded (c.reload), also the run of the step after
 * loading. */
typedef struct zp_diff_case {
  zp_case c, other;
  zp_hyper hyper, next_hyper;  /* next: after loading */
  zp_synth synth, other_synth; /* other: after loading; it starts from other first values */
  zp_workload work, other_work;
  zp_diff_storage save, load;
  zp_store saved;
  zp_diff *diff, *next; /* next: the step after loading, or NULL */
} zp_diff_case;

/* 0, or a negative status in *err. *s must not move until it is closed. */
int zp_diff_case_open(zp_diff_case *s, const zp_case *c, zp_error *err);
/* The same with callbacks for the case's own run; watch->storage is not used. */
int zp_diff_case_watched(zp_diff_case *s, const zp_case *c, const zp_diff_watch *watch,
                         zp_error *err);
/* Runs the case, and the step after loading: NULL, or the run that has a finding. */
const zp_diff *zp_diff_case_run(const zp_diff_case *s, const zp_schedule *how);
void zp_diff_case_close(zp_diff_case *s);

#endif
