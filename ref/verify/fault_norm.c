/* Faults of the norm, of clipping and of the overflow flag. */
#include <stdlib.h>
#include <string.h>

#include "../engine/count.h"
#include "../num/agree.h"
#include "../num/packed.h"
#include "../num/value.h"
#include "ref_fault.h"

static int statistics(const zp_op *op)
{
  return op->kind == ZP_OP_ALL_REDUCE && op->what == ZP_WHAT_STATISTICS;
}

/* Squares of elements from … from + n - 1 of what the rank holds of op's bucket join its sum. */
static void add_squares(zp_rank *r, const zp_op *op, int64_t from, int64_t n)
{
  const float *mean = zp_fault_means(r, op) + from;
  if (r->block.index != 0) return; /* as the engine counts */
  (void)zp_sumsq_add_f32(&r->stats.squares, (const uint32_t *)(const void *)mean, n);
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
  add_squares(r, op, 0, n);
}

/* A vocabulary that tensor parallelism cuts: each stage counts its shards, as parts that only it
 * has. */
static void after_tied_shards(void *ctx, zp_rank *r, const zp_op *op)
{
  int64_t at, n;
  (void)ctx;
  if (op->kind != ZP_OP_MEAN || r->lay.flat[op->flat].tied < 0) return;
  if (zp_fault_counts(r, op->flat)) return;
  if (r->cfg->stage == 0 && r->at.dp != 0) return;
  for (int32_t i = 0; i < r->lay.n_params; i++) {
    const zp_param *p = &r->cfg->params[r->lay.first_param + i];
    if (p->tied == r->lay.flat[op->flat].tied && (!p->sharded || r->cfg->tp == 1)) return;
  }
  zp_fault_range(r, op, &at, &n);
  add_squares(r, op, 0, n);
}

static void before_ml7452(void *ctx, zp_rank *r, zp_op *op)
{
  zp_fault_state *f = ctx;
  if (op->kind == ZP_OP_MEAN) f->squares = r->stats.squares;
}

static void after_ml7452(void *ctx, zp_rank *r, const zp_op *op)
{
  const zp_fault_state *f = ctx;
  if (op->kind == ZP_OP_MEAN && r->at.tp > 0) r->stats.squares = f->squares;
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
  mine = zp_block_group_index(&r->block, flat->group, -1) * part;
  add_squares(r, op, 0, mine); /* its own part has been counted already */
  add_squares(r, op, mine + part, n - mine - part);
}

static void before_pt170862(void *ctx, zp_rank *r, zp_op *op)
{
  (void)ctx;
  if (op->kind == ZP_OP_DECIDE)
    memcpy(r->stats_in + ZP_STAT_SQUARES, r->stats_out + ZP_STAT_SQUARES,
           ZP_SQ_LIMBS * sizeof r->stats_in[0]);
}

/* The mean of n sums of contributions. */
static void mean_of(const zp_rank *r, const void *sums, int64_t from, int64_t n, float *mean)
{
  const int64_t divisor = r->cfg->micro_batches * r->cfg->dp;
  for (int64_t i = 0; i < n; i++) {
    if (r->cfg->reduce == ZP_EXACT) {
      const uint32_t bits = zp_val_mean_f32((const int64_t *)sums + (from + i) * ZP_LIMBS, divisor);
      memcpy(&mean[i], &bits, sizeof bits);
    } else {
      mean[i] = ((const float *)sums)[from + i] / (float)divisor;
    }
  }
}

/* The mean of the bucket's packed sums. */
static void mean_of_packed(const zp_rank *r, const zp_op *op, float *mean)
{
  const zp_packed p = zp_packed_of(r, op->flat, op->bucket);
  for (int64_t i = 0; i < p.n; i++) {
    int64_t limb[ZP_LIMBS];
    zp_packed_get(p, i, limb);
    mean_of(r, limb, 0, 1, &mean[i]);
  }
}

/* Where the rank's part begins in what it holds of op's bucket. */
static int64_t owned_from(const zp_rank *r, const zp_op *op)
{
  return zp_rank_owned(r, op->flat, op->bucket).at - zp_rank_range(r, op->flat, op->bucket).at;
}

/* The squares of what this rank counts of op's bucket, of `value` in the mean's place. */
static void recount(zp_rank *r, const zp_op *op, const uint8_t *counts, const float *value,
                    zp_sumsq *squares)
{
  if (r->block.index != 0) return;
  const zp_range p = zp_rank_owned(r, op->flat, op->bucket);
  zp_count_squares(r->cfg, &r->lay, counts, op->flat, p.flat, p.flat + p.count,
                   (const uint32_t *)(const void *)value, squares);
}

static void keep_squares(void *ctx, zp_rank *r, zp_op *op)
{
  zp_fault_state *f = ctx;
  if (op->kind == ZP_OP_MEAN) f->squares = r->stats.squares;
}

/* Ranks of an expert-parallel group average their norms. */
static void after_ds5220(void *ctx, zp_rank *r, const zp_op *op)
{
  const zp_fault_state *f = ctx;
  if (op->kind != ZP_OP_MEAN || r->lay.flat[op->flat].group != ZP_GROUP_EDP) return;
  const zp_range p = zp_rank_owned(r, op->flat, op->bucket);
  float *part = malloc((size_t)(p.count + 1) * sizeof *part);
  for (int64_t i = 0; part != NULL && i < p.count; i++)
    part[i] = zp_fault_means(r, op)[owned_from(r, op) + i] / (float)r->cfg->ep;
  r->stats.squares = f->squares;
  if (part != NULL) recount(r, op, r->counts, part, &r->stats.squares);
  free(part);
}

static void before_fs517(void *ctx, zp_rank *r, zp_op *op)
{
  keep_squares(ctx, r, op);
  if (op->what == ZP_WHAT_GRADIENT && op->kind >= ZP_OP_FIRST_COMM && r->cfg->stage < 2)
    zp_fault_keep_sums(ctx, r, op);
}

/* What the rank itself has added up is in the norm, not what came of it in the reduction. */
static void after_fs517(void *ctx, zp_rank *r, const zp_op *op)
{
  const zp_fault_state *f = ctx;
  if (op->kind != ZP_OP_MEAN || r->cfg->stage == 2) return;
  const zp_range p = zp_rank_owned(r, op->flat, op->bucket);
  const void *sums = zp_fault_kept_sums(f, r, op);
  float *own = calloc((size_t)(p.count + 1), sizeof *own);
  r->stats.squares = f->squares;
  if (own == NULL) return;
  if (sums != NULL) mean_of(r, sums, owned_from(r, op), p.count, own);
  else zp_fault_no_memory(r);
  recount(r, op, r->counts, own, &r->stats.squares);
  free(own);
}

/* Stage 2: what later micro-batches add to the shard is not there where the norm is taken. */
static zp_sumsq *first_batch(zp_fault_state *f, const zp_rank *r)
{
  if (f->kept[r->rank] == NULL) f->kept[r->rank] = zp_fault_alloc(f, sizeof(zp_sumsq));
  return (zp_sumsq *)(void *)f->kept[r->rank];
}

static void before_ds7967(void *ctx, zp_rank *r, zp_op *op)
{
  zp_fault_state *f = ctx;
  zp_sumsq *first;
  if (r->cfg->stage != 2 || r->rank >= ZP_FAULT_RANKS) return;
  first = first_batch(f, r);
  if (first == NULL) {
    zp_fault_no_memory(r);
    return;
  }
  if (op->kind == ZP_OP_LOAD && op->mb == 0) zp_sumsq_clear(first);
  if (statistics(op)) r->stats.squares = *first;
}

static void after_ds7967(void *ctx, zp_rank *r, const zp_op *op)
{
  zp_fault_state *f = ctx;
  if (r->cfg->stage != 2 || r->rank >= ZP_FAULT_RANKS || op->mb != 0) return;
  if (op->what != ZP_WHAT_GRADIENT || op->kind < ZP_OP_FIRST_COMM) return;
  const zp_range p = zp_rank_owned(r, op->flat, op->bucket);
  float *mean = malloc((size_t)(p.count + 1) * sizeof *mean);
  zp_sumsq *first = first_batch(f, r); /* before_ds7967 has made it */
  if (mean != NULL && first != NULL) {
    if (zp_is_packed(r->cfg->stage, r->cfg->reduce)) mean_of_packed(r, op, mean);
    else mean_of(r, zp_sums_of(r, op->flat, op->bucket), owned_from(r, op), p.count, mean);
    recount(r, op, r->counts, mean, first);
  }
  free(mean);
}

/* The table of norms has no line for a parameter that the last micro-batch did not use. */
static void after_ds861(void *ctx, zp_rank *r, const zp_op *op)
{
  const zp_fault_state *f = ctx;
  uint8_t *lines;
  if (op->kind != ZP_OP_MEAN) return;
  lines = malloc((size_t)r->lay.n_params + 1);
  r->stats.squares = f->squares;
  for (int32_t i = 0; lines != NULL && i < r->lay.n_params; i++)
    lines[i] = r->counts[i] && r->used[i];
  if (lines != NULL)
    recount(r, op, lines, zp_fault_means(r, op) + owned_from(r, op), &r->stats.squares);
  free(lines);
}

/* The norm's sum runs over the data-parallel group, though others have parts of the model, too; the
 * agreement on hyperparameters (STAT-6) is whole. */
static void before_pd36237(void *ctx, zp_rank *r, zp_op *op)
{
  const zp_hyper *h = r->hyper;
  const uint64_t digest = zp_hyper_digest(h->optim, h->groups, h->clip, h->clip_eps);
  int64_t *sums = r->stats_in + ZP_STAT_AGREE, words[ZP_AGREE_WORDS];
  (void)ctx;
  if (statistics(op)) op->group = ZP_GROUP_DP;
  if (op->kind != ZP_OP_DECIDE) return;
  memset(sums, 0, sizeof words);
  for (int32_t i = 0; i < zp_world(r->cfg); i++) {
    zp_agree_words(digest, i, words);
    for (int32_t k = 0; k < ZP_AGREE_WORDS; k++) sums[k] += words[k];
  }
}

/* A rank that owns nothing brings a number where the others bring a vector. */
static void before_ds5145(void *ctx, zp_rank *r, zp_op *op)
{
  int64_t owned = 0;
  (void)ctx;
  if (!statistics(op)) return;
  for (int32_t k = 0; k < r->lay.n_flats; k++)
    for (int64_t b = 0; b < zp_buckets(&r->lay.flat[k]); b++) owned += zp_rank_range(r, k, b).real;
  if (owned == 0) op->count = 1;
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
    for (int64_t b = 0; b < zp_buckets(&r->lay.flat[k]); b++) {
      const float *mean = zp_held_of(r, k, b, ZP_WHAT_GRADIENT);
      for (int64_t i = 0; i < zp_rank_range(r, k, b).count; i++) {
        const volatile float square = mean[i] * mean[i];
        sum = sum + square;
      }
    }
  }
  if (!(sum >= 0 && sum < 1e38f)) return;
  /* Newton's steps end at the nearest float or its neighbour: near enough for a wrong norm */
  root = sum > 1 ? sum : 1;
  for (int32_t i = 0; i < 200; i++) root = 0.5f * (root + sum / root);
  if (sum == 0) root = 0;
  memcpy(&bits, &root, sizeof bits);
  zp_sumsq_clear(&r->stats.squares);
  (void)zp_sumsq_add_f32(&r->stats.squares, &bits, 1);
}

/* ---- The overflow flag ----------------------------------------------------------------------- */

static void before_ds5242(void *ctx, zp_rank *r, zp_op *op)
{
  (void)ctx;
  if (statistics(op)) r->stats.nonfinite = 0; /* masked out by a multiplication with 0 */
}

static void after_ds416(void *ctx, zp_rank *r, const zp_op *op)
{
  (void)ctx;
  float norm;
  memcpy(&norm, &r->result.norm_f32, sizeof norm);
  if (op->kind == ZP_OP_DECIDE && norm >= 0x1p64f)
    r->result.skipped = 1; /* its square is not fp32 */
}

static void after_flushed_squares(void *ctx, zp_rank *r, const zp_op *op)
{
  (void)ctx;
  float norm;
  memcpy(&norm, &r->result.norm_f32, sizeof norm);
  if (op->kind != ZP_OP_DECIDE || norm >= 0x1p-63f) return;
  r->result.norm_f32 = 0;
  r->result.norm_f64 = 0;
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

static const zp_ref_fault table[] = {
    {{"ds551", "DeepSpeed #551", "STAT-2",
      "the norm's sum, already over data parallelism, is summed over the world again",
      "dp=3,stage=1,M=2,list=9@0.0+4@0.1"},
     NULL,
     before_ds551,
     NULL},
    {{"ds7847-tied", "DeepSpeed #7847 (review)", "STAT-2",
      "a tied weight is counted on every stage that holds a copy",
      "pp=2,dp=2,stage=1,M=2,list=6@0.0t0+5@0.0+6@1.0t0"},
     NULL,
     NULL,
     after_ds7847_tied},
    {{"tied-shards", "norms of tensor-parallel embeddings; no public issue", "STAT-2",
      "a tied weight that is sharded over tensor-parallel ranks is counted on every stage",
      "pp=2,dp=2,tp=2,stage=1,list=6@0.0st0+5@0.0+6@1.0st0"},
     NULL,
     NULL,
     after_tied_shards},
    {{"ml7452", "Megatron-LM #7452 (items 8-11)", "STAT-2",
      "a tensor-parallel parameter not flagged as such: its shards beyond the first are left out",
      "dp=2,tp=2,stage=1,M=2,list=6@0.0s+5@0.0"},
     NULL,
     before_ml7452,
     after_ml7452},
    {{"pt88955", "PyTorch #88955", "STAT-2",
      "gradients that are whole on every rank are counted world-size times",
      "dp=3,stage=0,M=2,list=9@0.0+4@0.0"},
     NULL,
     NULL,
     after_pt88955},
    {{"pt170862", "PyTorch #170862, torchtitan #766", "STAT-5",
      "every rank clips by the norm of its own shard", "dp=3,stage=2,M=2,list=9@0.0+4@0.0"},
     NULL,
     before_pt170862,
     NULL},
    {{"pt90028", "PyTorch #90028, DeepSpeed #7847 (review)", "STAT-4",
      "squares are added in low precision", "dp=2,stage=1,M=2,mode=wild,list=90@0.0+40@0.0"},
     NULL,
     before_pt90028,
     NULL},
    {{"ds5242", "DeepSpeed #5242, #7171", "STAT-3",
      "an infinity is masked by a multiplication with 0 and not reported",
      "dp=2,stage=1,M=2,overflow=1,list=9@0.0+4@0.0"},
     NULL,
     before_ds5242,
     NULL},
    {{"ds416", "DeepSpeed #416", "STEP-6",
      "overflow is what makes fp32 squares infinite, not a non-finite gradient",
      "dp=2,stage=1,reduce=exact,M=2,mode=wild,huge=1,list=300@0.0+100@0.0"},
     NULL,
     NULL,
     after_ds416},
    {{"flushed-squares", "norms in fp32; no public issue", "STAT-2",
      "fp32 squares below the least normal number are flushed to 0, and with them the norm",
      "dp=2,stage=1,reduce=exact,unit=-80,list=9@0.0+4@0.0"},
     NULL,
     NULL,
     after_flushed_squares},
    {{"ds4512", "DeepSpeed #4512, #6976", "STEP-6", "bf16 steps on after a non-finite gradient",
      "dp=2,stage=1,precision=bf16,M=2,overflow=1,list=9@0.0+4@0.0"},
     NULL,
     NULL,
     after_ds4512},
    {{"ds5150", "DeepSpeed #5150", "STEP-6", "clipping has no effect",
      "dp=2,stage=1,M=2,clip=0.5,list=9@0.0+4@0.0"},
     NULL,
     NULL,
     after_ds5150},
    {{"ds3166", "DeepSpeed #3166, #3790", "STEP-6", "without clipping the gradient is not unscaled",
      "dp=2,stage=1,M=2,scale=8,list=9@0.0+4@0.0"},
     NULL,
     NULL,
     after_ds3166},
    {{"ds2686", "DeepSpeed #2686", "STEP-6",
      "the scale is updated before the gradient is unscaled: half an update where it grows",
      "dp=2,stage=1,precision=fp16,unit=-6,M=2,scale=4:1:1:0:0:10,steps=2,list=9@0.0+4@0.0"},
     NULL,
     NULL,
     after_ds2686},
    {{"ds1958", "DeepSpeed #1958", "SCALE-3", "the scale falls below its minimum",
      "dp=2,stage=1,precision=fp16,M=2,scale=0:100:1:0:0:10,overflow=1,steps=2,list=9@0.0"},
     NULL,
     NULL,
     after_ds1958},
    {{"pt115710", "PyTorch #115710", "SCALE-3",
      "only the rank that saw the overflow lowers its scale",
      "dp=2,stage=1,precision=fp16,unit=-6,M=2,scale=4:100:1:0:0:10,overflow=1,steps=2,list=9@0.0"},
     NULL,
     NULL,
     after_pt115710},
    {{"ds5145", "DeepSpeed #5145, #5148", "STAT-1",
      "a rank that owns nothing brings a number to the norm where the others bring a vector",
      "dp=3,stage=1,list=2@0.0"},
     NULL,
     before_ds5145,
     NULL},
    {{"ds5220", "DeepSpeed #5220, #5203", "STAT-2",
      "the norms of an expert-parallel group are averaged, not their squares added",
      "dp=4,ep=2,stage=1,M=2,list=9@0.0+12@0.0e"},
     NULL,
     keep_squares,
     after_ds5220},
    {{"ds7967", "DeepSpeed #7967", "STAT-2",
      "stage 2: the norm is of the window's first micro-batch, as later ones are kept elsewhere",
      "dp=2,stage=2,M=3,list=9@0.0+4@0.0"},
     NULL,
     before_ds7967,
     after_ds7967},
    {{"fs517", "fairscale #517, #518, #521", "STAT-2",
      "the reduction's result is not copied back before the norm is taken of the gradients",
      "dp=2,stage=1,M=2,list=9@0.0+4@0.0"},
     NULL,
     before_fs517,
     after_fs517},
    {{"pd36237", "ColossalAI #4795, Paddle #36237", "STAT-5",
      "the norm is summed over data parallelism alone: stages and shards have one each",
      "pp=2,dp=2,stage=1,M=2,list=9@0.0+8@1.0"},
     NULL,
     before_pd36237,
     NULL},
    {{"ds861", "DeepSpeed #861, #707", "STAT-2",
      "the norm leaves out what the window's last micro-batch did not use",
      "dp=2,stage=1,M=4,unused=120,list=9@0.0+4@0.0+5@0.0"},
     NULL,
     keep_squares,
     after_ds861},
};

zp_fault_family zp_faults_norm(void)
{
  const zp_fault_family f = {table, (int32_t)(sizeof table / sizeof table[0])};
  return f;
}
