/* Faults of the norm, of clipping and of the overflow flag. */
#include <string.h>

#include "sim_fault.h"

static int statistics(const zp_op *op)
{
  return op->kind == ZP_OP_ALL_REDUCE && op->what == ZP_WHAT_STATISTICS;
}

/* Squares of local elements [at, at + n) of flat group k join this rank's sum. */
static void add_squares(zp_rank *r, int32_t k, int64_t at, int64_t n)
{
  (void)zp_sumsq_add_f32(&r->squares, (const uint32_t *)(const void *)(r->flat[k].mean + at), n);
}

/* ---- Counted too often, too seldom ----------------------------------------------------------- */

static void before_ds551(void *ctx, zp_rank *r, zp_op *op)
{
  (void)ctx;
  if (op->kind != ZP_OP_DECIDE) return;
  for (int32_t i = 0; i < ZP_SQ_LIMBS; i++) r->stats_in[ZP_STAT_SQUARES + i] *= r->cfg->dp;
}

static void after_ds7847_tied(void *ctx, zp_rank *r, const zp_op *op)
{
  int64_t at, n;
  (void)ctx;
  if (op->kind != ZP_OP_MEAN || r->lay.flat[op->flat].tied < 0 || r->at.tp != 0) return;
  if (zp_fault_counts(r, op->flat)) return;
  if (r->cfg->stage == 0 && r->at.dp != 0) return; /* once per stage, not once per replica */
  zp_fault_range(r, op, &at, &n);
  add_squares(r, op->flat, at, n);
}

static void before_ml7452(void *ctx, zp_rank *r, zp_op *op)
{
  zp_fault_state *f = ctx;
  if (op->kind == ZP_OP_MEAN) f->squares = r->squares;
}

static void after_ml7452(void *ctx, zp_rank *r, const zp_op *op)
{
  const zp_fault_state *f = ctx;
  if (op->kind == ZP_OP_MEAN && r->at.tp > 0) r->squares = f->squares;
}

static void after_pt88955(void *ctx, zp_rank *r, const zp_op *op)
{
  const zp_flat *flat;
  int64_t at, n, part, mine;
  (void)ctx;
  if (op->kind != ZP_OP_MEAN || r->cfg->stage != 0 || !zp_fault_counts(r, op->flat)) return;
  flat = &r->lay.flat[op->flat];
  zp_fault_range(r, op, &at, &n);
  part = zp_part(flat, op->bucket);
  mine = zp_group_index(r->cfg, flat->group, -1, r->at) * part;
  add_squares(r, op->flat, at, mine); /* its own part has been counted already */
  add_squares(r, op->flat, at + mine + part, n - mine - part);
}

static void before_pt170862(void *ctx, zp_rank *r, zp_op *op)
{
  (void)ctx;
  if (op->kind == ZP_OP_DECIDE)
    memcpy(r->stats_in + ZP_STAT_SQUARES, r->stats_out + ZP_STAT_SQUARES,
           ZP_SQ_LIMBS * sizeof r->stats_in[0]);
}

/* ---- Rounded on the way ---------------------------------------------------------------------- */

/* The rank's squares as an fp32 sum of fp32 squares; its root's square joins the exact sum. */
static void before_pt90028(void *ctx, zp_rank *r, zp_op *op)
{
  volatile float sum = 0; /* one rounding per operation, whatever the compiler */
  uint32_t bits;
  float root = 0;
  (void)ctx;
  if (!statistics(op)) return;
  for (int32_t k = 0; k < r->lay.n_flats; k++) {
    if (r->lay.flat[k].use != 0 || !zp_fault_counts(r, k)) continue;
    if (r->cfg->stage == 0 && r->at.dp != 0) continue;
    for (int64_t i = 0; i < r->flat[k].extent; i++) {
      const volatile float square = r->flat[k].mean[i] * r->flat[k].mean[i];
      sum = sum + square;
    }
  }
  if (!(sum >= 0 && sum < 1e38f)) return;
  /* Newton's steps end at the nearest float or its neighbour: near enough for a wrong norm */
  root = sum > 1 ? sum : 1;
  for (int32_t i = 0; i < 200; i++) root = 0.5f * (root + sum / root);
  if (sum == 0) root = 0;
  memcpy(&bits, &root, sizeof bits);
  zp_sumsq_clear(&r->squares);
  (void)zp_sumsq_add_f32(&r->squares, &bits, 1);
}

/* ---- The overflow flag ----------------------------------------------------------------------- */

static void before_ds5242(void *ctx, zp_rank *r, zp_op *op)
{
  (void)ctx;
  if (statistics(op)) r->nonfinite = 0; /* masked out by a multiplication with 0 */
}

static void after_ds416(void *ctx, zp_rank *r, const zp_op *op)
{
  (void)ctx;
  if (op->kind == ZP_OP_DECIDE && r->result.norm_f32 == 0x7f800000u) r->result.skipped = 1;
}

static void after_ds4512(void *ctx, zp_rank *r, const zp_op *op)
{
  (void)ctx;
  if (op->kind == ZP_OP_DECIDE) r->result.skipped = 0;
}

/* ---- Clipping, the scale --------------------------------------------------------------------- */

static void after_ds5150(void *ctx, zp_rank *r, const zp_op *op)
{
  (void)ctx;
  if (op->kind == ZP_OP_DECIDE) r->result.clip_factor = 1;
}

static void after_ds3166(void *ctx, zp_rank *r, const zp_op *op)
{
  (void)ctx;
  /* no unscale without a clip: the scale stays in the gradient */
  if (op->kind == ZP_OP_DECIDE && r->hyper->clip == 0) r->result.log2_scale = 0;
}

static void after_ds2686(void *ctx, zp_rank *r, const zp_op *op)
{
  (void)ctx;
  if (op->kind == ZP_OP_DECIDE && !r->result.skipped) r->result.log2_scale = r->scaler.log2_scale;
}

static void after_ds1958(void *ctx, zp_rank *r, const zp_op *op)
{
  zp_scaler *s = &r->scaler;
  (void)ctx;
  if (op->kind == ZP_OP_DECIDE && r->result.skipped && s->dynamic && s->log2_scale == s->log2_min &&
      r->result.log2_scale == s->log2_min)
    s->log2_scale--; /* no guard at the smallest scale */
}

static void after_pt115710(void *ctx, zp_rank *r, const zp_op *op)
{
  zp_scaler *s = &r->scaler;
  (void)ctx;
  /* the flag was copied before it had been reduced: rank 0 alone lowers its scale */
  if (op->kind == ZP_OP_DECIDE && r->rank != 0 && s->log2_scale < r->result.log2_scale)
    s->log2_scale = r->result.log2_scale;
}

/* ---- The table ------------------------------------------------------------------------------- */

static const zp_fault table[] = {
    {"ds551", "DeepSpeed #551", "STAT-2",
     "the norm's sum, already over data parallelism, is summed over the world again",
     "dp=3,stage=1,M=2,list=9@0.0+4@0.1", NULL, before_ds551, NULL},
    {"ds7847-tied", "DeepSpeed #7847 (review)", "STAT-2",
     "a tied weight is counted on every stage that holds a copy",
     "pp=2,dp=2,stage=1,M=2,list=6@0.0t0+5@0.0+6@1.0t0", NULL, NULL, after_ds7847_tied},
    {"ml7452", "Megatron-LM #7452 (items 8-11)", "STAT-2",
     "a tensor-parallel parameter not flagged as such: its shards beyond the first are left out",
     "dp=2,tp=2,stage=1,M=2,list=6@0.0s+5@0.0", NULL, before_ml7452, after_ml7452},
    {"pt88955", "PyTorch #88955", "STAT-2",
     "gradients that are whole on every rank are counted world-size times",
     "dp=3,stage=0,M=2,list=9@0.0+4@0.0", NULL, NULL, after_pt88955},
    {"pt170862", "PyTorch #170862, torchtitan #766", "STAT-5",
     "every rank clips by the norm of its own shard", "dp=3,stage=2,M=2,list=9@0.0+4@0.0", NULL,
     before_pt170862, NULL},
    {"pt90028", "PyTorch #90028, DeepSpeed #7847 (review)", "STAT-4",
     "squares are added in low precision", "dp=2,stage=1,M=2,mode=wild,list=90@0.0+40@0.0", NULL,
     before_pt90028, NULL},
    {"ds5242", "DeepSpeed #5242, #7171", "STAT-3",
     "an infinity is masked by a multiplication with 0 and not reported",
     "dp=2,stage=1,M=2,overflow=1,list=9@0.0+4@0.0", NULL, before_ds5242, NULL},
    {"ds416", "DeepSpeed #416", "STEP-6",
     "overflow is what makes the fp32 norm infinite, not a non-finite gradient",
     "dp=2,stage=1,reduce=exact,M=2,mode=wild,huge=1,list=300@0.0+100@0.0", NULL, NULL,
     after_ds416},
    {"ds4512", "DeepSpeed #4512, #6976", "STEP-6", "bf16 steps on after a non-finite gradient",
     "dp=2,stage=1,precision=bf16,M=2,overflow=1,list=9@0.0+4@0.0", NULL, NULL, after_ds4512},
    {"ds5150", "DeepSpeed #5150", "STEP-6", "clipping has no effect",
     "dp=2,stage=1,M=2,clip=0.5,list=9@0.0+4@0.0", NULL, NULL, after_ds5150},
    {"ds3166", "DeepSpeed #3166, #3790", "STEP-6", "without clipping the gradient is not unscaled",
     "dp=2,stage=1,M=2,scale=8,list=9@0.0+4@0.0", NULL, NULL, after_ds3166},
    {"ds2686", "DeepSpeed #2686", "STEP-6",
     "the scale is updated before the gradient is unscaled: half an update where it grows",
     "dp=2,stage=1,precision=fp16,unit=-6,M=2,scale=4:1:1:0:0:10,steps=2,list=9@0.0+4@0.0", NULL,
     NULL, after_ds2686},
    {"ds1958", "DeepSpeed #1958", "SCALE-3", "the scale falls below its minimum",
     "dp=2,stage=1,precision=fp16,M=2,scale=0:100:1:0:0:10,overflow=1,steps=2,list=9@0.0", NULL,
     NULL, after_ds1958},
    {"pt115710", "PyTorch #115710", "SCALE-3",
     "only the rank that saw the overflow lowers its scale",
     "dp=2,stage=1,precision=fp16,unit=-6,M=2,scale=4:100:1:0:0:10,overflow=1,steps=2,list=9@0.0",
     NULL, NULL, after_pt115710},
};

zp_fault_family zp_faults_norm(void)
{
  const zp_fault_family f = {table, (int32_t)(sizeof table / sizeof table[0])};
  return f;
}
