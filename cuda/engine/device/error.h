/* Records the first error of a rank. What the error ends is teardown.h's. spec: STEP-3, LEDG-7 */
#ifndef ZP_CUDA_ERROR_H
#define ZP_CUDA_ERROR_H

#include <cuda_runtime_api.h>
#include <stdint.h>

#include "../../../ref/base/error.h"

struct zp_cuda_rank;

typedef struct zp_cuda_failure {
  zp_error first;    /* status ZP_OK: no error yet */
  int32_t agreed;    /* 1: all ranks have it, so the communicators are intact */
  int32_t torn_down; /* 1: teardown.h is done with it */
  int32_t received;  /* 1: another rank reported it */
  int32_t differs;   /* 1: hyperparameters differ */
  int64_t step;      /* of both: the step that failed; ZP_CUDA_STEP_UNKNOWN: it was not reported */
  int32_t drains;    /* 1: the steps before that end on all ranks */
} zp_cuda_failure;

/* Keeps the first error, with rank, stage, step and program position; returns -1. status: a
 * negative zp_status. The text says what is wrong and what to do. */
int zp_cuda_fail(struct zp_cuda_rank *r, int32_t status, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* Keeps an error that another rank reported, likewise; step, drains: as in zp_cuda_failure. */
int zp_cuda_fail_received(struct zp_cuda_rank *r, int64_t step, int32_t drains, const char *format,
                          ...) __attribute__((format(printf, 4, 5)));

/* Makes *to such an error, which ends nothing. */
void zp_cuda_set_error(struct zp_cuda_rank *r, zp_error *to, int32_t status, const char *format,
                       ...) __attribute__((format(printf, 4, 5)));

/* 0 if the call succeeded, else zp_cuda_fail. */
int zp_cuda_check(struct zp_cuda_rank *r, cudaError_t result, const char *call);

/* Has the device found, in a step up to `last`, which the host has waited for, that ranks'
 * hyperparameters differ? 0, or an error. Every rank passes the steps that it has waited for, not
 * what its device happens to have reached, so that ranks that wait alike end alike. STAT-6 */
int zp_cuda_check_hyper(struct zp_cuda_rank *r, int64_t last);

/* 1: an error has been recorded. */
int zp_cuda_has_failed(const struct zp_cuda_rank *r);

/* 0, or ZP_E_INTERNAL in *err. */
int zp_cuda_failure_invariant(const zp_cuda_failure *f, zp_error *err);

#endif
