/* STEP: one optimizer step. spec: STEP-2 … STEP-8, RED-3 … RED-5, PIPE-1 … PIPE-6, TIE-1 */
#include "step_internal.h"

/* The clock: slots of the pipeline are t = 0 … T-1, then T plus these. PIPE-5 */
enum { CLOCK_TIED = 0, CLOCK_MEAN = 1, CLOCK_AGREE = 2, CLOCK_UPDATE = 3 };
/* Tied sums, means: key or flat group times this, plus the bucket, which is at most 2^40. */
#define TIED_STRIDE ((int64_t)1 << 41)
#define MEAN_STRIDE ((int64_t)1 << 41)
/* Updates: flat group times this, plus 2 b; the gather right after it. */
#define UPDATE_STRIDE ((int64_t)1 << 42)

/* The flat group that holds tied key `key` on this stage, or -1. TIE-1 */
static int32_t tied_flat(const zp_layout *lay, int32_t key)
{
  for (int32_t k = 0; k < lay->n_flats; k++)
    if (lay->flat[k].tied == key && lay->flat[k].use == 0) return k;
  return -1;
}

/* The sum of bucket b of tied key `key`, flat group k here. TIE-1, RED-4 */
static zp_op tied_op(const zp_config *cfg, const zp_layout *lay, int32_t key, int32_t k, int64_t b,
                     int64_t t)
{
  const zp_flat *f = &lay->flat[k];
  zp_op op = zp_op_on_bucket(f, ZP_OP_ALL_REDUCE, ZP_WHAT_TIED, k, b, t, key * TIED_STRIDE + b);
  op.group = ZP_GROUP_TIED;
  op.key = key;
  if (cfg->stage == 0) op.count = zp_bucket_padded(f, b);
  op.dtype = cfg->reduce == ZP_EXACT ? ZP_I64 : ZP_F32;
  op.redop = cfg->reduce == ZP_EXACT ? ZP_RED_SUM : ZP_RED_ORDERED;
  if (cfg->reduce == ZP_EXACT) op.count = op.count * ZP_LIMBS;
  return op;
}

/* Copies of tied entries add up over the stages that hold them, key by key. TIE-1 */
static int64_t put_tied(const zp_config *cfg, const zp_layout *lay, int64_t t, zp_op *ops,
                        int64_t n)
{
  for (int32_t key = 0; key < cfg->tied_keys; key++) {
    const int32_t k = tied_flat(lay, key);
    const int64_t buckets = k < 0 ? 0 : zp_buckets(&lay->flat[k]);
    for (int64_t b = 0; b < buckets; b++) n = zp_emit(ops, n, tied_op(cfg, lay, key, k, b, t));
  }
  return n;
}

/* Divides and counts, bucket by bucket. STAT-2 */
static int64_t put_means(const zp_layout *lay, int64_t t, zp_op *ops, int64_t n)
{
  for (int32_t k = 0; k < lay->n_flats; k++) {
    const int64_t buckets = lay->flat[k].use == 0 ? zp_buckets(&lay->flat[k]) : 0;
    for (int64_t b = 0; b < buckets; b++)
      n = zp_emit(ops, n, zp_op_local(ZP_OP_MEAN, k, b, t, k * MEAN_STRIDE + b));
  }
  return n;
}

/* Updates the shard and gathers the parameters of one bucket. STEP-7, STEP-8 */
static int64_t put_update_bucket(const zp_config *cfg, const zp_layout *lay, int32_t k, int64_t b,
                                 int64_t t, zp_op *ops, int64_t n)
{
  const int64_t clock = k * UPDATE_STRIDE + 2 * b;
  zp_op update = zp_op_local(ZP_OP_UPDATE, k, b, t, clock);
  update.if_stepped = 1;
  n = zp_emit(ops, n, update);
  if (cfg->stage > 0) {
    zp_op gather =
        zp_op_on_bucket(&lay->flat[k], ZP_OP_ALL_GATHER, ZP_WHAT_PARAMETER, k, b, t, clock + 1);
    gather.dtype = cfg->precision;
    gather.if_stepped = 1;
    n = zp_emit(ops, n, gather);
  }
  return n;
}

/* Updates and gathers, bucket by bucket. STEP-7, STEP-8 */
static int64_t put_update(const zp_config *cfg, const zp_layout *lay, int64_t t, zp_op *ops,
                          int64_t n)
{
  for (int32_t k = 0; k < lay->n_flats; k++) {
    const int64_t buckets = lay->flat[k].use == 0 ? zp_buckets(&lay->flat[k]) : 0;
    for (int64_t b = 0; b < buckets; b++) n = put_update_bucket(cfg, lay, k, b, t, ops, n);
  }
  return n;
}

int64_t zp_put_step(const zp_config *cfg, const zp_layout *lay, zp_op *ops)
{
  const int64_t t = zp_slots(cfg->pp, cfg->micro_batches);
  int64_t n = zp_put_pipeline(cfg, lay, ops, 0);
  n = put_tied(cfg, lay, t + CLOCK_TIED, ops, n);
  n = put_means(lay, t + CLOCK_MEAN, ops, n);
  n = zp_emit(ops, n, zp_op_agree(ZP_WHAT_STATISTICS, ZP_STATS, t + CLOCK_AGREE, 0));
  n = zp_emit(ops, n, zp_op_blank(ZP_OP_DECIDE, t + CLOCK_AGREE, 1));
  return put_update(cfg, lay, t + CLOCK_UPDATE, ops, n);
}

/* ADD ops of one micro-batch. LEDG-8 */
static int64_t count_adds(const zp_config *cfg, const zp_layout *lay)
{
  int64_t n = 0;
  for (int32_t i = 0; i < lay->n_params; i++) {
    const int32_t k = lay->spot[i].flat;
    const int64_t numel = cfg->params[lay->first_param + i].numel;
    if (k < 0 || numel == 0) continue;
    const int64_t first = lay->spot[i].start, last = first + numel - 1;
    n += last / lay->flat[k].capacity - first / lay->flat[k].capacity + 1;
  }
  return n;
}

/* Buckets of the stage: of all flat groups, of those with use 0, of tied keys (use 0). */
typedef struct zp_bucket_counts {
  int64_t all, held, tied;
} zp_bucket_counts;

static zp_bucket_counts count_buckets(const zp_layout *lay)
{
  zp_bucket_counts c = {0, 0, 0};
  for (int32_t k = 0; k < lay->n_flats; k++) {
    const int64_t n = zp_buckets(&lay->flat[k]);
    c.all += n;
    if (lay->flat[k].use == 0) c.held += n;
    if (lay->flat[k].use == 0 && lay->flat[k].tied >= 0) c.tied += n;
  }
  return c;
}

/* META and P2P ops of the pipeline. PIPE-3, PIPE-6 */
static int64_t count_exchanges(const zp_config *cfg, int32_t s)
{
  const int64_t end = zp_end_slot(cfg->pp, cfg->micro_batches, s);
  int64_t n = 0;
  for (int64_t t = s; t < end; t = zp_next_slot(cfg->pp, cfg->micro_batches, s, t)) {
    const zp_slot a = zp_slot_at(cfg->pp, cfg->micro_batches, s, t);
    const int64_t activation = a.backward ? a.send_mb : a.recv_mb;
    if (a.send_mb >= 0 || a.recv_mb >= 0) n += cfg->dynamic_shapes && activation >= 0 ? 2 : 1;
  }
  return n;
}

int64_t zp_need_step(const zp_config *cfg, const zp_layout *lay)
{
  const int64_t M = cfg->micro_batches;
  const zp_bucket_counts c = count_buckets(lay);
  const int64_t computes = M * (lay->stage == 0 || lay->stage == cfg->pp - 1 ? 4 : 3);
  const int64_t reduces = c.all * (cfg->stage == 2 ? M : 1);
  return count_exchanges(cfg, lay->stage) + computes + M * count_adds(cfg, lay) + reduces + c.tied +
         c.held + 2 + c.held * (cfg->stage == 0 ? 1 : 2);
}
