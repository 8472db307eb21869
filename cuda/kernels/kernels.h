/* The device kernels of the CUDA engine: their parameters and launches. Plain C.
 *
 * A kernel takes one parameter structure by value: cudaLaunchKernel(kernel, grid, block, (void
 * *[]){&params}, shared, stream) with a handle from the list at the end and a launch from the
 * functions above it. nvcc and the C compiler compile the same bodies, which are divided into
 * phases by barriers (device.h). Results have the bits of ref/num and of the interpreter
 * (ref/engine), except that a NaN may be another NaN (NUM-4): a NaN among gradients skips the step.
 *
 * All pointers are to device memory. Elements are aligned to their own size only: tensors may start
 * anywhere. Counts are 64 bits wide; one launch covers at most 2^41 elements.
 */
#ifndef ZP_CUDA_KERNELS_H
#define ZP_CUDA_KERNELS_H
#include <stddef.h>
#include <stdint.h>

#include "../../ref/num/agree.h"
#include "../../ref/num/decide.h"
#include "../../ref/num/exact.h"
#include "../../ref/num/optim.h"
#include "../../ref/num/packed.h"
#include "../../ref/num/scaler.h"
#include "../../ref/num/value.h"
#include "../../ref/plan/dtype.h"
#include "../../ref/plan/program.h"
#ifdef __cplusplus
extern "C" {
#endif

/* ---- Runs: many pieces of memory in one launch ----------------------------------------------- */

/* Threads of a block; elements of one run that a block processes at a time; the largest number of
 * blocks of a launch, which loop over the remaining tiles. */
enum { ZP_BLOCK_THREADS = 256, ZP_TILE = 8192, ZP_GRID_MAX = 2048 };
/* The same for the exact norm: 4 · 3 · 132, where each of the 132 multiprocessors of an H200 runs
 * three blocks at once. With 2048 blocks the last 68 would run alone, and take as long as 396 do.
 * 2^41 / 1584 elements a block keep its bins below 2^62. */
enum { ZP_SQUARES_GRID_MAX = 1584 };
/* Elements whose limbs a block has in shared memory at a time; divides a tile. */
enum { ZP_STAGE_ELEMENTS = 256 };
/* Runs that are passed in the parameters, of which CUDA allows 4 KiB; every launch copies them. */
enum { ZP_RUNS_HERE = 16 };

/* A run of `count` consecutive elements. in: the source, NULL for zeros. out: the destination. at:
 * for zp_kernel_update, the run's first element in the shard's arrays, and for zp_kernel_pack_sums
 * and _unpack_sums in those of packed sums; for zp_kernel_mean_ordered, _mean_exact and
 * _mean_packed, 1: the run's squares are counted, 0: not. first_tile: set by zp_runs_lay. */
typedef struct zp_memory_run {
  const void *in;
  void *out;
  int64_t at, count;
  int64_t first_tile;
} zp_memory_run;

/* n runs, in `table` (device memory) or, if that is NULL, in `here`. tiles: their total. Unused
 * elements of `here` are zero. */
typedef struct zp_memory_runs {
  const zp_memory_run *table;
  int64_t tiles;
  int32_t n;
  zp_memory_run here[ZP_RUNS_HERE];
} zp_memory_runs;

/* Sets each run's first_tile, and returns the total number of tiles. run: (n), in host memory;
 * counts >= 0, together at most 2^41. To be called before a table is copied to the device. Errors:
 * none. spec: PART-9
 */
int64_t zp_runs_lay(zp_memory_run *run, int32_t n);

/* ---- State on the device --------------------------------------------------------------------- */

/* A rank's sums and counts of a window, in the order of ZP_STAT_*: squares and loss are limbs, not
 * carried. Initially zero; zp_kernel_pack copies it, and sets it to zero again. spec: STAT-1 */
typedef struct zp_tally {
  int64_t squares[ZP_SQ_LIMBS];
  int64_t loss[ZP_VAL_LIMBS];
  int64_t nonfinite, bad_loss;
} zp_tally;

/* The update rule of an optimizer group: the columns of the table in optim.h. spec: OPT-4 */
enum { ZP_RULE_SGD = 0, ZP_RULE_MOMENTUM = 1, ZP_RULE_ADAMW = 2 };
/* fp32 scalars of a step, the left column of the table in optim.h. */
enum { ZP_STEP_SCALARS = 12 };

/* An optimizer group's state. optim: initialized by zp_optim_state_init. rule, scalar: of the
 * latest step that was not skipped, written by zp_kernel_decide. spec: OPT-1 */
typedef struct zp_group_state {
  zp_optim_state optim;
  int32_t rule;
  float scalar[ZP_STEP_SCALARS];
} zp_group_state;

/* A rank's step state. scaler: initialized by zp_scaler_init. step: the number of steps done,
 * including skipped ones. decision: of the latest step. spec: STEP-6 */
typedef struct zp_step_state {
  zp_scaler scaler;
  int64_t step;
  zp_decision decision;
} zp_step_state;

/* A gate that the host shuts when it aborts communication, and zp_kernel_decide when
 * hyperparameters differ: a kernel of step `step` that reads *stop <= step does not change
 * parameters and state, as its input may come from an aborted communication. stop: pinned host
 * memory, or NULL: the gate is always open. spec: STEP-5, STAT-6 */
typedef struct zp_gate {
  int64_t *stop;
  int64_t step;
} zp_gate;

/* What zp_kernel_decide leaves for the host, in pinned host memory, when hyperparameters differ
 * between ranks. step: of the first such step, initially -1, written last. digest: this rank's.
 * sums: of zp_agree_words over the ranks. spec: STAT-6 */
typedef struct zp_difference {
  int64_t step;
  uint64_t digest;
  int64_t sums[ZP_AGREE_WORDS];
} zp_difference;

/* ---- Parameters ------------------------------------------------------------------------------ */

/* zp_kernel_gather_copy, _ordered, _exact: gradients into a bucket slot (stage 2) or the window
 * (stages 0, 1). runs: in = elements of dtype, NULL for an entry declared unused and for padding;
 * out = of dtype, fp32, or 9 limbs an element. first: 1: the first gradient of the window, which is
 * assigned instead of added. nonfinite: counts the non-finite elements; or NULL.
 * spec: RED-3 … RED-6, PART-7, PART-8, STAT-3 */
typedef struct zp_gather_params {
  int32_t dtype, first;
  int64_t *nonfinite;
  zp_memory_runs runs;
} zp_gather_params;

/* zp_kernel_scatter: copies runs of elements of `bytes` (2 or 4): a gathered bucket into the
 * parameters. gate: if it has one, the launch has 4 bytes of shared memory.
 * spec: STEP-5, STEP-8, PART-9 */
typedef struct zp_scatter_params {
  int32_t bytes;
  zp_gate gate;
  zp_memory_runs runs;
} zp_scatter_params;

/* zp_kernel_squares: adds the squares of the runs' elements (in, of dtype) to tally->squares, and
 * the number of non-finite elements to *nonfinite, unless that is NULL. lanes: of zp_squares_lanes.
 * zp_kernel_mean_ordered (in: fp32), zp_kernel_mean_exact (in: 9 limbs an element): the same of the
 * means of sums, which they divide by `divisor`, D·M; of runs with at = 0 they only count the
 * non-finite means. _mean_exact stores the means (out: fp32), _mean_ordered does not.
 * zp_kernel_mean_packed: the same of n packed sums, whose first words become the means; out is
 * where a run's lie. f16: 1: of fp16 numbers.
 * spec: SUM-1 … SUM-4, SUM-7 … SUM-9, RED-2, RED-4, STAT-2, STAT-3 */
typedef struct zp_squares_params {
  int32_t dtype, lanes; /* dtype: for zp_kernel_squares only */
  int64_t divisor;      /* for the others only */
  void *packed;         /* packed sums of n elements: for _mean_packed only */
  int64_t f16, n;
  zp_tally *tally;
  int64_t *nonfinite;
  zp_memory_runs runs;
} zp_squares_params;

/* zp_kernel_add_ordered: adds the members' parts, of n elements, in the order r = 0 … members - 1;
 * the sum is assigned to out (first = 1) or added to it: out = out + sum. Member r's part is at
 * own_in if r == own (-1: none), else at parts + r * stride bytes. dtype of the parts: fp32, bf16,
 * fp16. out: fp32; overlaps no part.
 * zp_kernel_add_packed: the same, exactly: out is n packed sums, as parts of dtype ZP_I64 are.
 * f16: 1: of fp16 numbers.
 * spec: RED-4, RED-5, TIE-2, SUM-6, SUM-8, SUM-9 */
typedef struct zp_add_params {
  int32_t dtype, members, own, first;
  int64_t f16, n, stride;
  const void *parts, *own_in;
  void *out;
} zp_add_params;

/* zp_kernel_add_exact: sum += part, which is carried before; n elements of 9 limbs each, which do
 * not overlap. spec: TIE-2, SUM-6 */
typedef struct zp_add_exact_params {
  int64_t n;
  const int64_t *part;
  int64_t *sum;
} zp_add_exact_params;

/* zp_kernel_settle: carries the limbs of n elements, before the rank sends them. spec: SUM-6 */
typedef struct zp_settle_params {
  int64_t n;
  int64_t *limbs;
} zp_settle_params;

/* zp_kernel_unpack_sums: runs of n packed sums, from element run.at on, as limbs (out: 9 an
 * element), which can be added by integer additions. zp_kernel_pack_sums: limbs (in), carried or
 * not, as packed sums. f16: 1: of fp16 numbers. spec: SUM-6, SUM-8, SUM-9, RED-5 */
typedef struct zp_packed_params {
  void *packed; /* of n elements: low, top (ref/num/packed.h), one after the other */
  int64_t f16, n;
  zp_memory_runs runs;
} zp_packed_params;

/* zp_kernel_update: the optimizer on the shard's elements at run.at … run.at + run.count - 1, and
 * their rounding to `dtype` at run.out. Elements from `real` on are padding: rounded only, as all
 * are when the step is skipped. grad: the means, divisor = 0; or fp32 sums, which the kernel
 * divides by `divisor`, D·M. m, v: as for zp_optim_step.
 * spec: RED-4, STEP-6, STEP-7, OPT-2 … OPT-4 */
typedef struct zp_update_params {
  const zp_step_state *step;
  const zp_group_state *group;
  const float *grad;
  float *master, *m, *v;
  int64_t divisor, real;
  int32_t dtype;
  zp_memory_runs runs;
} zp_update_params;

/* zp_kernel_loss: n losses of micro-batches, fp32, into the tally. spec: STAT-1, STAT-5 */
typedef struct zp_loss_params {
  int64_t n;
  const float *loss;
  zp_tally *tally;
} zp_loss_params;

/* zp_kernel_write: writes n integers, passed in the parameters. to: (n). spec: PIPE-6 */
enum { ZP_WRITE_MAX = 32 };
typedef struct zp_write_params {
  int64_t *to;
  int64_t value[ZP_WRITE_MAX];
  int32_t n;
  int32_t unused; /* explicit, as padding would be uninitialized when it is copied */
} zp_write_params;

/* zp_kernel_pack: writes the tally as the vector that is summed over all ranks: carried, with the
 * non-finite count as a flag. Then sets the tally to zero. stats: (ZP_STATS). digest: of the
 * hyperparameters of this rank, number `rank`.
 * spec: STAT-1, STAT-3, STAT-6, STEP-4 */
typedef struct zp_pack_params {
  zp_tally *tally;
  int64_t *stats;
  uint64_t digest;
  int32_t rank;
  int32_t unused; /* explicit, as padding would be uninitialized when it is copied */
} zp_pack_params;

enum { ZP_DECIDE_OPTIMS = 8 };
/* zp_kernel_decide: decides from the statistics of all ranks, without the host, whether to skip the
 * step. stats: (ZP_STATS), carried. divisor, clip, eps: as for zp_decide. group: (groups); group g
 * uses optim[g % optims], optims 1 … ZP_DECIDE_OPTIMS. If the gate is shut, only decision.skipped
 * changes: it becomes 1, so that the updates change nothing either. The same happens if the
 * hyperparameters of `ranks` ranks differ; then the gate is shut, too, and *difference is written.
 * digest: this rank's.
 * spec: STEP-5, STEP-6, STAT-4 … STAT-6, OPT-1 */
typedef struct zp_decide_params {
  int64_t *stats;
  zp_step_state *step;
  zp_group_state *group;
  int64_t divisor;
  double clip, eps;
  int32_t groups, optims;
  zp_optim optim[ZP_DECIDE_OPTIMS];
  int64_t ranks;
  uint64_t digest;
  zp_difference *difference;
  zp_gate gate;
} zp_decide_params;

/* ---- Launches -------------------------------------------------------------------------------- */

/* Shared memory of zp_kernel_squares and _mean_ordered, and, before the staged limbs, of
 * _mean_exact and _mean_packed: 32 pairs of bins (SUM-2), with a column for each lane that has
 * elements, so that no two threads of a warp add to the same bin; pairs summed over the lanes;
 * limbs; the non-finite count. */
enum { ZP_LANES = 32 };
typedef struct zp_squares_shared {
  int64_t total[2 * ZP_SQ_BINS];
  int64_t limb[ZP_SQ_LIMBS];
  int64_t nonfinite;
  int64_t bin[2 * ZP_SQ_BINS * ZP_LANES]; /* rows of `lanes`: lo of bin q in row q, hi in row
                                             ZP_SQ_BINS + q; only these rows are allocated */
} zp_squares_shared;

/* Blocks, threads of each (a multiple of 32, fewer for few elements), bytes of shared memory. grid
 * 0: do not launch; there is no work, and CUDA would return an error. */
typedef struct zp_launch {
  uint32_t grid, block;
  size_t shared;
} zp_launch;

/* The launch of zp_kernel_gather_copy, _gather_ordered, _scatter and _update.
 * run: (n), laid by zp_runs_lay, in host memory. Errors: none.
 * spec: PART-9
 */
zp_launch zp_launch_runs(const zp_memory_run *run, int32_t n);

/* The launch of zp_kernel_gather_exact, _unpack_sums and _pack_sums.
 * run: (n), laid by zp_runs_lay, in host memory. Errors: none.
 * spec: RED-5, PART-9
 */
zp_launch zp_launch_limb_runs(const zp_memory_run *run, int32_t n);

/* The lanes of a warp that can have elements of these runs, 0 … ZP_LANES: the columns of bins to
 * clear and to sum.
 * run: (n), in host memory. Errors: none.
 * spec: STAT-2
 */
int32_t zp_squares_lanes(const zp_memory_run *run, int32_t n);

/* The launch of zp_kernel_squares and _mean_ordered.
 * run: (n), laid by zp_runs_lay, in host memory. Errors: none.
 * spec: STAT-2
 */
zp_launch zp_launch_squares(const zp_memory_run *run, int32_t n);

/* The launch of zp_kernel_mean_exact and _mean_packed.
 * run: (n), laid by zp_runs_lay, in host memory. Errors: none.
 * spec: RED-5, STAT-2
 */
zp_launch zp_launch_mean_exact(const zp_memory_run *run, int32_t n);

/* The launch of zp_kernel_add_ordered.
 * n: elements, >= 0. Errors: none.
 * spec: RED-4
 */
zp_launch zp_launch_elements(int64_t n);

/* The launch of zp_kernel_add_exact (stages 2), _add_packed (2 if parts are sums, else 1) and
 * _settle (stages 1).
 * n: elements, >= 0. stages: of ZP_STAGE_ELEMENTS in shared memory. Errors: none.
 * spec: RED-5
 */
zp_launch zp_launch_limbs(int64_t n, int32_t stages);

/* The launch of zp_kernel_write, _loss, _pack and _decide: one block.
 * Errors: none.
 * spec: STAT-1
 */
zp_launch zp_launch_one(void);

/* ---- Handles for cudaLaunchKernel ------------------------------------------------------------ */

#define ZP_KERNELS(X)                                                                              \
  X(gather_copy)                                                                                   \
  X(gather_ordered)                                                                                \
  X(gather_exact)                                                                                  \
  X(scatter)                                                                                       \
  X(squares)                                                                                       \
  X(add_ordered)                                                                                   \
  X(add_exact)                                                                                     \
  X(add_packed)                                                                                    \
  X(settle)                                                                                        \
  X(unpack_sums)                                                                                   \
  X(pack_sums)                                                                                     \
  X(mean_ordered)                                                                                  \
  X(mean_exact) X(mean_packed) X(update) X(write) X(loss) X(pack) X(decide)
#define ZP_KERNEL_HANDLE(name) extern const void *const zp_kernel_##name;
ZP_KERNELS(ZP_KERNEL_HANDLE)
#undef ZP_KERNEL_HANDLE

#ifdef __cplusplus
}
#endif
#endif
