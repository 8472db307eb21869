/* Faults of the accumulation window: contributions lost, doubled, stale, misplaced, misdivided. */
#include <string.h>

#include "ref_fault.h"

enum { STEP = ZP_PHASE_STEP };

static int32_t world(const zp_fault_state *f)
{
  return zp_sim_world(f->sim);
}

static int reduction(const zp_op *op)
{
  return op->kind >= ZP_OP_FIRST_COMM && op->what == ZP_WHAT_GRADIENT;
}

/* ---- Lost ------------------------------------------------------------------------------------ */

/* The accumulator starts anew with every micro-batch: both executor branches take mb 0 for that. */
static void before_oi1498(void *ctx, zp_rank *r, zp_op *op)
{
  (void)ctx;
  if (op->kind == ZP_OP_ADD && r->cfg->stage < 2) op->mb = 0;
}

static void before_ds6550(void *ctx, zp_rank *r, zp_op *op)
{
  (void)ctx;
  if (reduction(op) && r->cfg->stage == 2) op->mb = 0;
}

/* Stage 2 reduces each micro-batch; its "done" flag is not taken back after the first. */
static void before_it213(void *ctx, zp_rank *r, zp_op *op)
{
  (void)ctx;
  if (reduction(op) && r->cfg->stage == 2 && op->mb > 0) op->kind = -1;
}

static void before_ds966(void *ctx, zp_rank *r, zp_op *op)
{
  zp_fault_state *f = ctx;
  const int32_t i = op->param - r->lay.first_param;
  if (op->kind != ZP_OP_ADD || r->lay.flat[op->flat].use == 0) return;
  f->arrived = r->arrived[i]; /* one hook for the shared storage: the other use is not seen */
  f->taken = 1;
  r->arrived[i] = NULL;
}

static void after_put_back(void *ctx, zp_rank *r, const zp_op *op)
{
  zp_fault_state *f = ctx;
  if (op->kind != ZP_OP_ADD || !f->taken) return;
  r->arrived[op->param - r->lay.first_param] = f->arrived;
  f->taken = 0;
}

static void inject_no_tied(zp_fault_state *f)
{
  for (int32_t q = 0; q < world(f); q++) {
    zp_rank *r = zp_sim_rank(f->sim, q);
    for (int64_t i = 0; i < r->length[STEP]; i++)
      if (r->program[STEP][i].what == ZP_WHAT_TIED) r->program[STEP][i].kind = -1;
  }
}

/* Tied reductions move behind the means of the same program, which they do not change. */
static void before_ml844(void *ctx, zp_rank *r, zp_op *op)
{
  if (op->kind == ZP_OP_ALL_REDUCE && op->what == ZP_WHAT_TIED) zp_fault_keep_sums(ctx, r, op);
}

static void after_ml844(void *ctx, zp_rank *r, const zp_op *op)
{
  if (op->kind == ZP_OP_ALL_REDUCE && op->what == ZP_WHAT_TIED) zp_fault_put_back_sums(ctx, r, op);
}

static void inject_ml844(zp_fault_state *f)
{
  for (int32_t q = 0; q < world(f); q++) {
    zp_rank *r = zp_sim_rank(f->sim, q);
    int64_t n;
    const zp_op *old = zp_fault_rewrite(f, r, STEP, 0, &n);
    for (int64_t i = 0; i < n; i++) {
      if (old[i].what == ZP_WHAT_TIED) continue;
      if (old[i].what == ZP_WHAT_STATISTICS)
        for (int64_t k = 0; k < n; k++)
          if (old[k].what == ZP_WHAT_TIED) zp_fault_emit(r, STEP, &old[k]);
      zp_fault_emit(r, STEP, &old[i]);
    }
  }
}

/* A gradient hook that is gone: nothing arrives for one used entry. */
static void before_ds7595(void *ctx, zp_rank *r, zp_op *op)
{
  (void)ctx;
  if (op->kind != ZP_OP_ARRIVED || r->at.dp != r->cfg->dp - 1 || op->mb + 1 < r->cfg->micro_batches)
    return;
  for (int32_t i = 0; i < r->lay.n_params; i++) {
    if (!r->used[i]) continue;
    r->arrived[i] = NULL;
    return;
  }
}

/* The op's entry counts as unused on this rank. */
static void leave_out(zp_fault_state *f, zp_rank *r, const zp_op *op)
{
  const int32_t i = op->param - r->lay.first_param;
  f->arrived = r->arrived[i];
  f->taken = 1;
  r->arrived[i] = NULL;
}

/* Entries larger than a bucket stand in a table by one dtype, and are looked up by another. */
static void before_ds7653(void *ctx, zp_rank *r, zp_op *op)
{
  if (op->kind != ZP_OP_ADD || r->cfg->precision == ZP_F32) return;
  if (r->cfg->params[op->param].numel > r->lay.flat[op->flat].capacity) leave_out(ctx, r, op);
}

/* Stage 1: the first entry without a gradient ends the loop over the bucket. */
static void before_ds1273(void *ctx, zp_rank *r, zp_op *op)
{
  if (op->kind != ZP_OP_ADD || r->cfg->stage != 1) return;
  for (int32_t i = op->param - r->lay.first_param + 1; i < r->lay.n_params; i++) {
    if (r->used[i] || r->lay.spot[i].flat != op->flat) continue;
    leave_out(ctx, r, op);
    return;
  }
}

/* Without a data-parallel group there is no reduction, and with it no place that adds. */
static void before_fl550(void *ctx, zp_rank *r, zp_op *op)
{
  (void)ctx;
  if (op->kind == ZP_OP_ADD && r->cfg->stage < 2 && r->cfg->dp == 1) op->mb = 0;
}

/* Sums of four or more end one member early. */
static void before_fs132(void *ctx, zp_rank *r, zp_op *op)
{
  const zp_flat *flat;
  if (op->kind != ZP_OP_ADD) return;
  flat = &r->lay.flat[op->flat];
  if (flat->members >= 4 && zp_block_group_index(&r->block, flat->group, -1) == flat->members - 1)
    leave_out(ctx, r, op);
}

/* Where sums have a buffer of their own, each backward is taken for a window. */
static void before_ds7981(void *ctx, zp_rank *r, zp_op *op)
{
  (void)ctx;
  if (op->kind == ZP_OP_ADD && r->cfg->stage < 2 && r->cfg->precision != ZP_F32) op->mb = 0;
}

/* Stage 2 in a pipeline: a step is believed to have one backward, whose gradients are reduced. */
static void before_ds677(void *ctx, zp_rank *r, zp_op *op)
{
  (void)ctx;
  if (!reduction(op) || r->cfg->stage != 2 || r->cfg->pp == 1) return;
  if (op->mb + 1 < r->cfg->micro_batches) op->kind = -1;
  else op->mb = 0;
}

/* The hooks of a backward that is nested in another one's call do not run. */
static void before_ds7787(void *ctx, zp_rank *r, zp_op *op)
{
  (void)ctx;
  if (op->kind != ZP_OP_ARRIVED || r->at.pp + 1 >= r->cfg->pp) return;
  for (int32_t i = 0; i < r->lay.n_params; i++) r->arrived[i] = NULL;
}

/* ---- Doubled --------------------------------------------------------------------------------- */

/* Every ADD of the last micro-batch (or those of further uses of a key) twice. mb 1: not the
 * first. */
static void twice(zp_fault_state *f, int32_t shared_only)
{
  for (int32_t q = 0; q < world(f); q++) {
    zp_rank *r = zp_sim_rank(f->sim, q);
    int64_t n;
    const zp_op *old;
    if (r->cfg->stage == 2) continue; /* a copy into a slot cannot be doubled */
    old = zp_fault_rewrite(f, r, STEP, r->length[STEP], &n);
    for (int64_t i = 0; i < n; i++) {
      zp_op op = old[i];
      zp_fault_emit(r, STEP, &op);
      if (op.kind != ZP_OP_ADD) continue;
      if (shared_only ? r->lay.flat[op.flat].use == 0 : op.mb != r->cfg->micro_batches - 1)
        continue;
      op.mb = 1;
      zp_fault_emit(r, STEP, &op);
    }
  }
}

static void inject_ds5605(zp_fault_state *f)
{
  twice(f, 0);
}

static void inject_pt180952(zp_fault_state *f)
{
  twice(f, 1);
}

/* ---- Stale ----------------------------------------------------------------------------------- */

static void before_ds545(void *ctx, zp_rank *r, zp_op *op)
{
  (void)ctx;
  if (op->kind == ZP_OP_ADD && !r->used[op->param - r->lay.first_param]) op->kind = -1;
}

static void before_ml4609(void *ctx, zp_rank *r, zp_op *op)
{
  (void)ctx;
  if (op->kind == ZP_OP_ADD && r->cfg->stage < 2 && r->step > 0 && op->mb == 0) op->mb = 1;
}

static void before_ds856(void *ctx, zp_rank *r, zp_op *op)
{
  if (op->kind == ZP_OP_MEAN && r->cfg->stage == 2) zp_fault_keep_sums(ctx, r, op);
  if (!reduction(op) || r->cfg->stage != 2 || r->step == 0 || op->mb != 0) return;
  zp_fault_put_back_sums(ctx, r, op);
  op->mb = 1;
}

/* ---- Misplaced ------------------------------------------------------------------------------- */

/* The op reads the entry's gradient from `from` on instead of from op->offset on. */
static void read_from(zp_fault_state *f, zp_rank *r, const zp_op *op, int64_t from)
{
  const zp_param *p = &r->cfg->params[op->param];
  const int64_t size = zp_dtype_bytes(zp_block_gradients(&r->block, p->fp32));
  const int64_t numel = p->numel;
  const int32_t i = op->param - r->lay.first_param;
  const char *grad = r->arrived[i];
  char *moved;
  if (grad == NULL) return;
  moved = zp_fault_alloc(f, numel * size);
  if (moved == NULL) {
    zp_fault_no_memory(r);
    return;
  }
  const int64_t own = zp_block_own(&r->block, op->param, op->offset, op->count);
  for (int64_t e = 0; e < own; e++)
    memcpy(moved + (op->offset + e) * size, grad + (from + e) % numel * size, (size_t)size);
  f->arrived = grad;
  f->taken = 1;
  r->arrived[i] = moved;
}

static void before_ds318(void *ctx, zp_rank *r, zp_op *op)
{
  zp_fault_state *f = ctx;
  if (op->kind == ZP_OP_ADD && op->offset > 0 && f->blocks + 1 < ZP_FAULT_BLOCKS)
    read_from(f, r, op, 0);
}

static void before_ds8279(void *ctx, zp_rank *r, zp_op *op)
{
  zp_fault_state *f = ctx;
  const int32_t i = op->param - r->lay.first_param;
  if (op->kind != ZP_OP_ADD || f->blocks + 1 >= ZP_FAULT_BLOCKS) return;
  if (i + 1 >= r->lay.n_params || r->lay.spot[i + 1].flat != op->flat) return;
  if (r->cfg->params[op->param + 1].numel == 0) read_from(f, r, op, op->offset + 1);
}

/* ---- Misdivided ------------------------------------------------------------------------------ */

static void scale_mean(zp_rank *r, const zp_op *op, float factor)
{
  int64_t at, n;
  zp_fault_range(r, op, &at, &n);
  for (int64_t i = 0; i < n; i++) zp_fault_means(r, op)[i] *= factor;
}

static void after_ds4957(void *ctx, zp_rank *r, const zp_op *op)
{
  (void)ctx;
  if (op->kind == ZP_OP_MEAN && r->lay.flat[op->flat].group == ZP_GROUP_EDP)
    scale_mean(r, op, 1.0f / (float)r->cfg->ep);
}

static void after_pt144352(void *ctx, zp_rank *r, const zp_op *op)
{
  (void)ctx;
  if (op->kind == ZP_OP_MEAN) scale_mean(r, op, (float)r->cfg->micro_batches);
}

/* ---- The table ------------------------------------------------------------------------------- */

static const zp_ref_fault table[] = {
    {{"oi1498", "open-instruct #1498, NeMo Automodel #3530, Fast-LLM #550", "RED-3",
      "the accumulator is reset by every micro-batch: only the last one counts",
      "dp=2,stage=1,M=3,bucket=16,list=9@0.0+4@0.0"},
     NULL,
     before_oi1498,
     NULL},
    {{"ds6550", "DeepSpeed #6550", "RED-3",
      "stage 2 copies a micro-batch's reduction over the shard instead of adding it",
      "dp=2,stage=2,M=3,bucket=16,list=9@0.0+4@0.0"},
     NULL,
     before_ds6550,
     NULL},
    {{"it213", "InfiniTrain #213", "RED-3",
      "micro-batches after the first are not reduced: a flag is not taken back",
      "dp=2,stage=2,M=3,bucket=16,list=9@0.0+4@0.0"},
     NULL,
     before_it213,
     NULL},
    {{"ds966", "DeepSpeed #966, #684", "TIE-2",
      "a weight used twice on one stage has one hook: its second use is lost",
      "dp=2,stage=1,M=2,list=6@0.0t0+5@0.0+6@0.0t0"},
     NULL,
     before_ds966,
     after_put_back},
    {{"piper13", "uw-syfi/piper #13", "TIE-1",
      "copies of a tied weight on two stages are never added up",
      "pp=2,dp=2,stage=1,M=2,list=6@0.0t0+5@0.0+4@1.0+6@1.0t0"},
     inject_no_tied,
     NULL,
     NULL},
    {{"ml844", "Megatron-LM #844", "TIE-1",
      "tied copies are added up in the wrong order with the other reductions: partial sums remain",
      "pp=2,dp=2,stage=1,M=2,list=6@0.0t0+5@0.0+4@1.0+6@1.0t0"},
     inject_ml844,
     before_ml844,
     after_ml844},
    {{"ds7595", "DeepSpeed #7595, #7579", "STEP-3",
      "a gradient's hook is gone: a used parameter's gradient never arrives",
      "dp=2,stage=2,precision=fp16,unit=-6,M=2,list=9@0.0+4@0.0+3@0.0"},
     NULL,
     before_ds7595,
     NULL},
    {{"ds5605", "DeepSpeed #5605", "RED-3",
      "the last micro-batch is accumulated by a hook and by an explicit call",
      "pp=2,dp=2,stage=1,M=3,list=9@0.0+8@1.0"},
     inject_ds5605,
     NULL,
     NULL},
    {{"pt180952", "PyTorch #180952", "RED-3",
      "a weight used twice on one stage has its second use counted twice",
      "dp=2,stage=1,M=2,list=6@0.0t0+5@0.0+6@0.0t0"},
     inject_pt180952,
     NULL,
     NULL},
    {{"ds545", "DeepSpeed #545, #1273", "RED-6",
      "an unused parameter's place in the bucket keeps an older micro-batch's gradient",
      "dp=2,stage=2,M=5,bucket=32,unused=100,list=9@0.0+4@0.0+7@0.0"},
     NULL,
     before_ds545,
     NULL},
    {{"ml4609", "Megatron-LM #4609", "STEP-4", "the gradient buffer is not zeroed between steps",
      "dp=2,stage=1,M=2,steps=2,list=9@0.0+14@0.0"},
     NULL,
     before_ml4609,
     NULL},
    {{"ds856", "DeepSpeed #856", "STEP-4",
      "stage 2: the shard's sums of the last window are not dropped",
      "dp=2,stage=2,M=2,steps=2,list=9@0.0+14@0.0"},
     NULL,
     before_ds856,
     NULL},
    {{"ds318", "DeepSpeed #318", "PART-6",
      "a parameter that straddles buckets is stitched from the wrong slice",
      "dp=2,stage=1,M=2,bucket=6,list=19@0.0+8@0.0"},
     NULL,
     before_ds318,
     after_put_back},
    {{"ds8279", "DeepSpeed #8279, #8280", "PART-6",
      "an empty parameter shifts the offsets of the next one",
      "dp=2,stage=2,M=2,list=5@0.0+19@0.0+0@0.0+4@0.0"},
     NULL,
     before_ds8279,
     after_put_back},
    {{"ds4957", "DeepSpeed #4957, #4695", "RED-2", "expert gradients are divided twice",
      "dp=4,ep=2,stage=1,M=2,list=9@0.0+12@0.0e"},
     NULL,
     NULL,
     after_ds4957},
    {{"pt144352", "PyTorch #144352, torchtitan #1732", "RED-2",
      "the mean is over ranks, not over micro-batches", "dp=2,stage=1,M=3,list=9@0.0+14@0.0"},
     NULL,
     NULL,
     after_pt144352},
    {{"ds7653", "DeepSpeed #7653, #7660", "RED-3",
      "a parameter larger than a bucket is not found where dtypes differ, and is left out",
      "dp=2,stage=1,precision=bf16,M=2,bucket=6,list=19@0.0+8@0.0"},
     NULL,
     before_ds7653,
     after_put_back},
    {{"ds1273", "DeepSpeed #1273", "RED-3",
      "stage 1: an unused parameter ends the loop over its bucket, and others are lost",
      "dp=2,stage=1,M=4,unused=100,list=9@0.0+4@0.0+7@0.0"},
     NULL,
     before_ds1273,
     after_put_back},
    {{"fl550", "Fast-LLM #550", "RED-3",
      "without data parallelism all micro-batches but the last are dropped",
      "pp=2,dp=1,stage=1,M=3,list=9@0.0+8@1.0"},
     NULL,
     before_fl550,
     NULL},
    {{"fs132", "fairscale #132", "RED-3", "a sum over four or more ranks ends one rank early",
      "dp=4,stage=1,M=2,list=9@0.0+4@0.0"},
     NULL,
     before_fs132,
     after_put_back},
    {{"ds7981", "DeepSpeed #7981", "RED-3",
      "16 bits: each backward of a window is taken for its first, as for a step's only one",
      "dp=1,stage=1,precision=bf16,M=2,list=9@0.0+4@0.0"},
     NULL,
     before_ds7981,
     NULL},
    {{"ds677", "DeepSpeed #677, #980", "RED-3",
      "stage 2 in a pipeline reduces once a step, as if there were one backward in it",
      "pp=2,dp=2,stage=2,M=3,list=9@0.0+8@1.0"},
     NULL,
     before_ds677,
     NULL},
    {{"ds7787", "DeepSpeed #7787", "STEP-3",
      "the backward of a stage before the last bypasses the flag that lets hooks run",
      "pp=2,dp=1,stage=1,M=2,list=9@0.0+8@1.0"},
     NULL,
     before_ds7787,
     NULL},
};

zp_fault_family zp_faults_window(void)
{
  const zp_fault_family f = {table, (int32_t)(sizeof table / sizeof table[0])};
  return f;
}
