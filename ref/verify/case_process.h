/* Many cases in child processes; and one case in a child, so that a crash is a finding. */
#ifndef ZP_VERIFY_CASE_PROCESS_H
#define ZP_VERIFY_CASE_PROCESS_H

#include <stdint.h>

#include "backend.h"
#include "random_case.h"

enum { ZP_FUZZ_JOBS = 256 };

typedef enum zp_fuzz_end {
  ZP_FUZZ_CLEAN = 0,
  ZP_FUZZ_FAILED = 1,
  ZP_FUZZ_CRASHED = 2,
  ZP_FUZZ_HUNG = 3,
  ZP_FUZZ_BROKEN = 4 /* the environment: no process, no memory */
} zp_fuzz_end;

/* Sums over cases; workers have one each. */
typedef struct zp_fuzz_sums {
  int64_t cases, ranks, elements, micro_batches, exact, steps;
  /* of execution, where the engine has several */
  int64_t orders, distinct, offloads, partials, paths;
  int64_t lacking[ZP_BACKEND_UNSUPPORTED]; /* cases of which the engine's lack k was left out */
  int64_t on_axis[ZP_FUZZ_AXES];
} zp_fuzz_sums;

typedef struct zp_fuzz_job {
  uint64_t seed;
  double seconds; /* 0: no limit */
  int64_t cases;  /* 0: no limit */
  int32_t jobs;
  const zp_fault *fault;
  const zp_backend *engine;
  int32_t offload;   /* zp_case's */
  int32_t schedules; /* in how many orders a case is run; 0: the engine has but one */
  int32_t progress;  /* 1: a line on standard error that is rewritten */
} zp_fuzz_job;

typedef struct zp_fuzz_outcome {
  zp_fuzz_sums sums;
  double seconds;
  int64_t cpu_ns; /* of all processes */
  int32_t end;    /* zp_fuzz_end */
  int32_t signal; /* CRASHED */
  zp_case found;  /* what failed, unless CLEAN or BROKEN */
  uint64_t index; /* its number */
} zp_fuzz_outcome;

/* Runs cases until the first that fails, the time or the number is over. */
void zp_fuzz_run(const zp_fuzz_job *job, zp_fuzz_outcome *out);

/* One case in a child process, which may use seconds_max of processor time, and 20 times that of
 * real time; *v is its verdict unless it crashed or hung. */
int32_t zp_fuzz_one(const zp_backend *engine, const zp_case *c, const zp_fault *fault,
                    double seconds_max, zp_verdict *v);

/* Shrinks a failing case greedily while it fails in the same way (end, and first clause of *v). The
 * result is in *c with its verdict in *v; returns the number of cases tried. */
int64_t zp_fuzz_shrink(const zp_backend *engine, zp_case *c, const zp_fault *fault, int32_t end,
                       double seconds_max, zp_verdict *v);

/* Fewer cases than this do not show which axes are covered. */
enum { ZP_FUZZ_COVERAGE_CASES = 2000 };

/* 1: the axis counts for the engine of the job. */
int zp_fuzz_is_counted(const zp_fuzz_job *job, int32_t axis);
/* 1: the axis occurs in too few of the cases, though the engine supports it; and how many do. */
int zp_fuzz_is_thin(const zp_fuzz_job *job, const zp_fuzz_sums *s, int32_t axis);
int32_t zp_fuzz_thin_axes(const zp_fuzz_job *job, const zp_fuzz_sums *s);

#endif
