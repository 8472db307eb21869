/* spec: RED-8, RED-9, STEP-2, LEDG-4 … LEDG-6, PIPE-5 */
#include "rank_program.h"

#include <string.h>

#include "bucket_slots.h"
#include "partial.h"

/* The clock of sums between replicas: flat group times this, plus the bucket, which is below 2^40.
 * PIPE-5 */
#define REPLICA_STRIDE ((int64_t)1 << 41)

/* Makes room for `more` ops at ops[at] of n, and moves the clocks of those that follow by one. */
static void open_gap(zp_op *ops, int64_t n, int64_t at, int64_t more)
{
  memmove(ops + at + more, ops + at, (size_t)(n - at) * sizeof *ops);
  for (int64_t i = at + more; i < n + more; i++) ops[i].clock_t++;
}

/* ---- INIT: the communicator, and first values of the other blocks. LEDG-4, LEDG-5 ------------ */

static int64_t count_values(const zp_block_rank *b, const zp_layout *lay)
{
  int64_t n = 0;
  for (int32_t i = 0; i < lay->n_params; i++) n += zp_param_holds(&b->cfg, lay->first_param + i);
  return n;
}

/* Of n ops, which have room for as many as are added: after the last split one more, and before the
 * masters are made, a broadcast for each one over dp or edp. Returns the new length. */
static int64_t add_init(const zp_block_rank *b, const zp_layout *lay, zp_op *ops, int64_t n)
{
  const int64_t values = count_values(b, lay);
  int64_t splits = 0, from = 0;
  zp_op split;
  while (ops[splits].kind == ZP_OP_CREATE) splits++;
  split = ops[splits - 1];
  split.root = ZP_GROUP_REPLICA;
  split.key = -1;
  split.clock_i++;
  memmove(ops + splits + 1, ops + splits, (size_t)(n - splits) * sizeof *ops);
  ops[splits] = split;
  n++;
  open_gap(ops, n, n - 1, values); /* the last op makes the masters */
  for (int64_t i = 0; i < values; i++) {
    while (ops[from].kind != ZP_OP_BROADCAST ||
           (ops[from].group != ZP_GROUP_DP && ops[from].group != ZP_GROUP_EDP))
      from++;
    ops[n - 1 + i] = ops[from++];
    ops[n - 1 + i].group = ZP_GROUP_REPLICA;
    ops[n - 1 + i].clock_t++;
  }
  return n + values;
}

/* ---- STEP: the sums. RED-9 ------------------------------------------------------------------- */

static zp_op sum_op(const zp_block_rank *b, const zp_layout *lay, int32_t k, int64_t bucket,
                    int64_t t)
{
  const int32_t exact = b->cfg.reduce == ZP_EXACT;
  const int64_t n = zp_local_range(&b->cfg, lay, b->at, k, bucket).count;
  return (zp_op){.kind = ZP_OP_ALL_REDUCE,
                 .what = ZP_WHAT_REPLICA,
                 .group = ZP_GROUP_REPLICA,
                 .key = -1,
                 .dtype = exact ? ZP_I64 : ZP_F32,
                 .redop = exact ? ZP_RED_SUM : ZP_RED_ORDERED,
                 .root = -1,
                 .flat = k,
                 .param = -1,
                 .slot = -1,
                 .mb = -1,
                 .recv_mb = -1,
                 .bucket = bucket,
                 .count = exact ? n * ZP_LIMBS : n,
                 .clock_t = t,
                 .clock_i = k * REPLICA_STRIDE + bucket};
}

static int64_t count_sums(const zp_layout *lay)
{
  int64_t n = 0;
  for (int32_t k = 0; k < lay->n_flats; k++) n += zp_buckets(&lay->flat[k]);
  return n;
}

/* Between the pipeline's slots and the rest. Returns the new length. */
static int64_t add_sums(const zp_block_rank *b, const zp_layout *lay, zp_op *ops, int64_t n)
{
  const int64_t t = zp_slots(b->cfg.pp, b->cfg.micro_batches), sums = count_sums(lay);
  int64_t at = 0;
  while (ops[at].clock_t < t) at++;
  open_gap(ops, n, at, sums);
  for (int32_t k = 0; k < lay->n_flats; k++)
    for (int64_t i = 0; i < zp_buckets(&lay->flat[k]); i++) ops[at++] = sum_op(b, lay, k, i, t);
  return n + sums;
}

/* ---- STEP: contributions. RED-1 -------------------------------------------------------------- */

/* At stage 2 reductions send contributions, for which the planner knows the dtype of values. */
static void set_dtype(const zp_block_rank *b, zp_op *ops, int64_t n)
{
  if (b->cfg.stage < 2 || !b->fp32_gradients) return;
  for (int64_t i = 0; i < n; i++)
    if (ops[i].kind == ZP_OP_REDUCE_SCATTER) ops[i].dtype = ZP_F32;
}

/* ---- Programs -------------------------------------------------------------------------------- */

static int64_t count_replica_ops(const zp_block_rank *b, const zp_layout *lay, int32_t phase)
{
  if (b->replicas == 1) return 0;
  if (phase == ZP_PHASE_INIT) return 1 + count_values(b, lay);
  return phase == ZP_PHASE_STEP ? count_sums(lay) : 0;
}

static int64_t count_partial_sums(const zp_block_rank *b, const zp_layout *lay, int32_t phase)
{
  return phase == ZP_PHASE_STEP ? zp_partial_sums(&b->cfg, lay, b->at, 0, NULL) : 0;
}

int64_t zp_rank_program_need(const zp_block_rank *b, const zp_layout *lay, int32_t phase)
{
  return zp_program_need(&b->cfg, lay, phase, b->at) + count_partial_sums(b, lay, phase) +
         count_replica_ops(b, lay, phase);
}

/* The sums over tp come before the means. RED-8 */
static int64_t add_partial_sums(const zp_block_rank *b, const zp_layout *lay, zp_op *ops, int64_t n,
                                int64_t sums)
{
  int64_t mean = 0;
  while (ops[mean].kind != ZP_OP_MEAN) mean++; /* each summed bucket has one */
  memmove(ops + mean + sums, ops + mean, (size_t)(n - mean) * sizeof *ops);
  return n + zp_partial_sums(&b->cfg, lay, b->at, ops[mean + sums].clock_t - 1, ops + mean);
}

int64_t zp_rank_program_write(const zp_block_rank *b, const zp_layout *lay, int32_t phase,
                              zp_op *ops, int64_t cap)
{
  const int64_t sums = count_partial_sums(b, lay, phase);
  const int64_t more = sums + count_replica_ops(b, lay, phase);
  int64_t n = cap < more ? -1 : zp_program_write(&b->cfg, lay, phase, b->at, ops, cap - more);
  if (n < 0) return -1;
  if (phase == ZP_PHASE_STEP) set_dtype(b, ops, n);
  if (phase == ZP_PHASE_STEP && b->cfg.stage == 2 &&
      zp_assign_slots(&b->cfg, lay, b->slots, ops, n))
    return -1;
  if (sums > 0) n = add_partial_sums(b, lay, ops, n, sums);
  if (b->replicas == 1) return n;
  if (phase == ZP_PHASE_INIT) return add_init(b, lay, ops, n);
  return phase == ZP_PHASE_STEP ? add_sums(b, lay, ops, n) : n;
}
