/* The device kernels of the CUDA twin: what they are given, how they are launched. Plain C.
 *
 * A kernel takes one parameter structure by value: cudaLaunchKernel(kernel, grid, block,
 * (void *[]){&params}, shared, stream) with a handle from the list at the end and a launch from the
 * functions above it. Bodies are written once, for nvcc and for the C compiler, in phases between
 * barriers; device.h says how. What they compute has the bits of ref/num and of the interpreter
 * (ref/engine), but for which NaN it is (NUM-4): a NaN among gradients skips the step.
 *
 * All pointers are to device memory. Elements are aligned to their own size and no more: tensors
 * may start anywhere. Counts are 64 bits wide; one launch covers at most 2^41 elements.
 */
#ifndef ZP_CUDA_KERNELS_H
#define ZP_CUDA_KERNELS_H
#include <stddef.h>
#include <stdint.h>

#include "../../ref/num/decide.h"
#include "../../ref/num/exact.h"
#include "../../ref/num/optim.h"
#include "../../ref/num/scaler.h"
#include "../../ref/num/value.h"
#include "../../ref/plan/dtype.h"
#include "../../ref/plan/program.h"
#ifdef __cplusplus
extern "C" {
#endif

/* ---- Runs: many pieces of memory in one launch ----------------------------------------------- */

/* Threads of a block; elements of one run that a block takes at a time; blocks of a launch at most
 * (the rest is looped over). */
enum { ZP_BLOCK_THREADS = 256, ZP_TILE = 8192, ZP_GRID_MAX = 2048 };
/* Of the exact norm's: four times as many as the 132 multiprocessors of an H200 have at once, three
 * each; of 2048 the last 68 would have the device to themselves, and take as long as 396 do.
 * 2^41 / 1584 elements a block keep its bins below 2^62. */
enum { ZP_SQUARES_GRID_MAX = 1584 };
/* Elements whose limbs a block has in shared memory at a time: what divides a tile. */
enum { ZP_STAGE_ELEMENTS = 256 };
/* Runs that travel with the parameters. CUDA lets these have 4 KiB; every launch copies them. */
enum { ZP_RUNS_HERE = 16 };

/* A run of `count` consecutive elements. in: where they come from, NULL for zeros. out: where they
 * go. at: zp_kernel_update only, the run's first element in the shard's arrays. first_tile: set by
 * zp_runs_lay. */
typedef struct zp_memory_run {
  const void *in;
  void *out;
  int64_t at, count;
  int64_t first_tile;
} zp_memory_run;

/* n runs, in `table` (device memory) or, where that is NULL, in `here`. tiles: of all of them. What
 * is not used of `here` is zero. */
typedef struct zp_memory_runs {
  const zp_memory_run *table;
  int64_t tiles;
  int32_t n;
  zp_memory_run here[ZP_RUNS_HERE];
} zp_memory_runs;

/* Sets each run's first_tile and returns the number of tiles of all.
 * run: (n), in host memory; counts >= 0, together at most 2^41. A table is laid before it is copied
 * to the device. Errors: none.
 * spec: PART-9
 */
int64_t zp_runs_lay(zp_memory_run *run, int32_t n);

/* ---- What stays on the device ---------------------------------------------------------------- */

/* What a rank counts in a window, in the order of ZP_STAT_*: squares and loss are limbs, not
 * carried. Starts as zeros; zp_kernel_pack hands it on and makes it zero again. spec: STAT-1 */
typedef struct zp_tally {
  int64_t squares[ZP_SQ_LIMBS];
  int64_t loss[ZP_VAL_LIMBS];
  int64_t nonfinite, bad_loss;
} zp_tally;

/* How an optimizer group updates: optim.h's columns. spec: OPT-4 */
enum { ZP_RULE_SGD = 0, ZP_RULE_MOMENTUM = 1, ZP_RULE_ADAMW = 2 };
/* fp32 scalars of a step, the left column of the table in optim.h. */
enum { ZP_STEP_SCALARS = 12 };

/* An optimizer group's state. Starts with zp_optim_state_init's. rule, scalar: of the latest step
 * that was not skipped, written by zp_kernel_decide. spec: OPT-1 */
typedef struct zp_group_state {
  zp_optim_state optim;
  int32_t rule;
  float scalar[ZP_STEP_SCALARS];
} zp_group_state;

/* A rank's step state. scaler: starts with zp_scaler_init's. step: steps done, skipped ones too.
 * decision: of the latest. spec: STEP-6 */
typedef struct zp_step_state {
  zp_scaler scaler;
  int64_t step;
  zp_decision decision;
} zp_step_state;

/* A door that the host shuts when it gives up: a kernel of step `step` that finds *stop <= step
 * leaves parameters and state alone, as what it would work on may have come from a communication
 * that was aborted. stop: pinned host memory, or NULL for a door that is always open. spec: STEP-5
 */
typedef struct zp_gate {
  const int64_t *stop;
  int64_t step;
} zp_gate;

/* ---- Parameters ------------------------------------------------------------------------------ */

/* zp_kernel_gather_copy, _ordered, _exact: gradients into a bucket slot (stage 2) or the window
 * (stages 0, 1). runs: in = elements of dtype, NULL for an entry declared unused and for padding;
 * out = of dtype, fp32, or 9 limbs an element. first: 1 when the window begins with it: assigns
 * instead of adding. nonfinite: a counter that the non-finite elements are added to, or NULL.
 * spec: RED-3 … RED-6, PART-7, PART-8, STAT-3 */
typedef struct zp_gather_params {
  int32_t dtype, first;
  int64_t *nonfinite;
  zp_memory_runs runs;
} zp_gather_params;

/* zp_kernel_scatter: copies runs of elements of `bytes` (2 or 4): a gathered bucket into the
 * parameters. gate: of the step; with one, the launch has 4 bytes of shared memory.
 * spec: STEP-5, STEP-8, PART-9 */
typedef struct zp_scatter_params {
  int32_t bytes;
  zp_gate gate;
  zp_memory_runs runs;
} zp_scatter_params;

/* zp_kernel_squares: adds the squares of the runs' elements (in, of dtype) to tally->squares, and
 * how many were not finite to *nonfinite, unless that is NULL. lanes: what zp_squares_lanes says.
 * spec: SUM-1 … SUM-4, STAT-2, STAT-3 */
typedef struct zp_squares_params {
  int32_t dtype, lanes;
  zp_tally *tally;
  int64_t *nonfinite;
  zp_memory_runs runs;
} zp_squares_params;

/* zp_kernel_add_ordered, zp_kernel_add_exact: n elements, part of member r = 0 … members-1 at
 * own_in if r == own (-1: none) and else at parts + r * stride bytes, are added up in that order;
 * the sum is assigned to out (first = 1) or added to it: out = out + sum.
 * dtype of the parts: fp32, bf16, fp16; for _exact also ZP_I64, 9 limbs an element, each part being
 * carried before it is added. out: fp32, or 9 limbs an element; apart from all parts.
 * spec: RED-4, RED-5, TIE-2, SUM-6 */
typedef struct zp_add_params {
  int32_t dtype, members, own, first;
  int64_t n, stride;
  const void *parts, *own_in;
  void *out;
} zp_add_params;

/* zp_kernel_settle: carries the n elements' limbs, before they leave the rank. spec: SUM-6 */
typedef struct zp_settle_params {
  int64_t n;
  int64_t *limbs;
} zp_settle_params;

/* zp_kernel_mean_ordered (sum: fp32), zp_kernel_mean_exact (sum: 9 limbs an element): n means, and
 * to *nonfinite how many of them are not finite. divisor: D·M. spec: RED-2, SUM-7, STAT-3 */
typedef struct zp_mean_params {
  int64_t n, divisor;
  const void *sum;
  float *mean;
  int64_t *nonfinite;
} zp_mean_params;

/* zp_kernel_update: the optimizer on the shard's elements at run.at … run.at + run.count - 1, and
 * their rounding to `dtype` at run.out. Elements from `real` on are padding: rounded only, as all
 * are when the step is skipped. m, v: as for zp_optim_step. spec: STEP-6, STEP-7, OPT-2 … OPT-4 */
typedef struct zp_update_params {
  const zp_step_state *step;
  const zp_group_state *group;
  const float *grad;
  float *master, *m, *v;
  int64_t real;
  int32_t dtype;
  zp_memory_runs runs;
} zp_update_params;

/* zp_kernel_loss: n losses of micro-batches, fp32, into the tally. spec: STAT-1, STAT-5 */
typedef struct zp_loss_params {
  int64_t n;
  const float *loss;
  zp_tally *tally;
} zp_loss_params;

/* zp_kernel_tell: n integers that travel with the launch. to: (n). spec: PIPE-6 */
enum { ZP_TELL_MAX = 32 };
typedef struct zp_tell_params {
  int64_t *to;
  int64_t value[ZP_TELL_MAX];
  int32_t n;
  int32_t unused; /* no padding: all of it is copied */
} zp_tell_params;

/* zp_kernel_pack: the tally as the vector that all ranks add up, carried, the non-finite count as a
 * flag; then the tally is zero again. stats: (ZP_STATS). spec: STAT-1, STAT-3, STEP-4 */
typedef struct zp_pack_params {
  zp_tally *tally;
  int64_t *stats;
} zp_pack_params;

enum { ZP_DECIDE_OPTIMS = 8 };
/* zp_kernel_decide: skips or steps, from what all ranks agreed on, without the host. stats:
 * (ZP_STATS), carried. divisor, clip, eps: as for zp_decide. group: (groups); group g uses
 * optim[g % optims], optims 1 … ZP_DECIDE_OPTIMS. With the gate shut nothing changes but
 * decision.skipped, which becomes 1, so that the updates change nothing either.
 * spec: STEP-5, STEP-6, STAT-4, STAT-5, OPT-1 */
typedef struct zp_decide_params {
  int64_t *stats;
  zp_step_state *step;
  zp_group_state *group;
  int64_t divisor;
  double clip, eps;
  int32_t groups, optims;
  zp_optim optim[ZP_DECIDE_OPTIMS];
  zp_gate gate;
} zp_decide_params;

/* ---- Launches -------------------------------------------------------------------------------- */

/* Shared memory of zp_kernel_squares: 32 pairs of bins (SUM-2), a column for each lane that has
 * elements, so that the threads of a warp never meet in one; pairs summed over the lanes; limbs;
 * the non-finite count. */
enum { ZP_LANES = 32 };
typedef struct zp_squares_shared {
  int64_t total[2 * ZP_SQ_BINS];
  int64_t limb[ZP_SQ_LIMBS];
  int64_t nonfinite;
  int64_t bin[2 * ZP_SQ_BINS * ZP_LANES]; /* rows of `lanes`: lo of bin q in row q, hi in row
                                             ZP_SQ_BINS + q; what is behind them is not there */
} zp_squares_shared;

/* Blocks, threads of each (a multiple of 32, fewer where there are fewer elements), bytes of shared
 * memory. grid 0: nothing is to be done, and CUDA would refuse the launch. */
typedef struct zp_launch {
  uint32_t grid, block;
  size_t shared;
} zp_launch;

/* The launch of zp_kernel_gather_copy, _gather_ordered, _scatter and _update.
 * run: (n), laid by zp_runs_lay, in host memory. Errors: none.
 * spec: PART-9
 */
zp_launch zp_launch_runs(const zp_memory_run *run, int32_t n);

/* The launch of zp_kernel_gather_exact.
 * run: (n), laid by zp_runs_lay, in host memory. Errors: none.
 * spec: RED-5, PART-9
 */
zp_launch zp_launch_limb_runs(const zp_memory_run *run, int32_t n);

/* The lanes of a warp that have elements where no run has more than the widest of these: columns of
 * bins to clear and to sum. 0 … ZP_LANES.
 * run: (n), in host memory. Errors: none.
 * spec: STAT-2
 */
int32_t zp_squares_lanes(const zp_memory_run *run, int32_t n);

/* The launch of zp_kernel_squares.
 * run: (n), laid by zp_runs_lay, in host memory. Errors: none.
 * spec: STAT-2
 */
zp_launch zp_launch_squares(const zp_memory_run *run, int32_t n);

/* The launch of zp_kernel_add_ordered and _mean_ordered.
 * n: elements, >= 0. Errors: none.
 * spec: RED-4
 */
zp_launch zp_launch_elements(int64_t n);

/* The launch of zp_kernel_add_exact (stages 2), _settle and _mean_exact (stages 1).
 * n: elements, >= 0. stages: of ZP_STAGE_ELEMENTS in shared memory. Errors: none.
 * spec: RED-5
 */
zp_launch zp_launch_limbs(int64_t n, int32_t stages);

/* The launch of zp_kernel_tell, _loss, _pack and _decide: one block.
 * Errors: none.
 * spec: STAT-1
 */
zp_launch zp_launch_one(void);

/* ---- Handles: what cudaLaunchKernel is given ------------------------------------------------- */

#define ZP_KERNELS(X)                                                                              \
  X(gather_copy)                                                                                   \
  X(gather_ordered)                                                                                \
  X(gather_exact)                                                                                  \
  X(scatter) X(squares) X(add_ordered) X(add_exact) X(settle) X(mean_ordered) X(mean_exact)        \
      X(update) X(tell) X(loss) X(pack) X(decide)
#define ZP_KERNEL_HANDLE(name) extern const void *const zp_kernel_##name;
ZP_KERNELS(ZP_KERNEL_HANDLE)
#undef ZP_KERNEL_HANDLE

#ifdef __cplusplus
}
#endif
#endif
