/* Schedules of learning rates: warm-up, then a linear or cosine decay to a floor. A rate is the
 * real number that OPT-8 defines, rounded once to fp64, computed with integers only: the same bits
 * on every machine. PyTorch's LambdaLR with the same formula in Python's floats gives numbers that
 * may differ in their last bits. spec: OPT-8 */
#ifndef ZP_ENGINE_LR_SCHEDULE_H
#define ZP_ENGINE_LR_SCHEDULE_H

#include <stdint.h>

#include "hyper.h"

#ifdef __cplusplus
extern "C" {
#endif

enum { ZP_LR_CONSTANT = 0, ZP_LR_LINEAR = 1, ZP_LR_COSINE = 2 };
enum { ZP_LR_STEPS_MAX = 1000000000, ZP_LR_TEXT = 80 };

/* Zeros: a constant rate. */
typedef struct zp_lr_schedule {
  int32_t kind;   /* ZP_LR_* */
  int64_t warmup; /* steps in which the rate rises from 0; below total */
  int64_t total;  /* from this step on the rate is floor · peak; 1 … ZP_LR_STEPS_MAX */
  double floor;   /* a fraction of the peak rate: 0, or 10⁻⁹ … 1 */
} zp_lr_schedule;

/* Reads "constant", "linear:WARMUP,TOTAL[,FLOOR]" or "cosine:WARMUP,TOTAL[,FLOOR]"; FLOOR is 0 if
 * omitted. 0, or ZP_E_REFUSED in *err with *schedule unchanged. */
int zp_lr_schedule_parse(const char *text, zp_lr_schedule *schedule, zp_error *err);

/* The text from which zp_lr_schedule_parse reads the same schedule. Returns text. */
const char *zp_lr_schedule_text(const zp_lr_schedule *schedule, char text[ZP_LR_TEXT]);

/* The rate of step `step` ≥ 0, counted from 0, for a peak rate of 0 … 10³⁰. NaN, which OPT-6
 * refuses, if its rounding cannot be decided: the exact rate is closer than 2⁻³⁰⁰, relative to it,
 * to the middle of two fp64 numbers. spec: OPT-8 */
double zp_lr_schedule_rate(const zp_lr_schedule *schedule, double peak, int64_t step);

/* *now becomes *peak with the rates of step `step`: the hyperparameters to set before that step
 * (zp_engine_set_hyper). Each optimizer has its own peak rate. now may be peak. spec: OPT-8 */
void zp_lr_schedule_hyper(const zp_lr_schedule *schedule, const zp_hyper *peak, int64_t step,
                          zp_hyper *now);

#ifdef __cplusplus
}
#endif

#endif
