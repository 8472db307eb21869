/* Faults of who communicates what when: collectives that do not match, and the pipeline. */
#include <string.h>

#include "ref_fault.h"

enum { STEP = ZP_PHASE_STEP, INIT = ZP_PHASE_INIT };

static int32_t world(const zp_fault_state *f)
{
  return zp_sim_world(f->sim);
}

static int statistics(const zp_op *op)
{
  return op->kind == ZP_OP_ALL_REDUCE && op->what == ZP_WHAT_STATISTICS;
}

/* Every rank's STEP program through `change`, which emits what takes an op's place. */
static void rewrite(zp_fault_state *f, int64_t factor,
                    void (*change)(zp_fault_state *f, zp_rank *r, const zp_op *op))
{
  for (int32_t q = 0; q < world(f); q++) {
    zp_rank *r = zp_sim_rank(f->sim, q);
    int64_t n;
    const zp_op *old =
        zp_fault_rewrite(f, r, STEP, r->length[STEP] * (factor - 1) + r->cfg->optgroups + 1, &n);
    for (int64_t i = 0; i < n; i++) change(f, r, &old[i]);
  }
}

/* ---- The norm, one collective for each of this rank's K optimizer groups --------------------- */

/* Optimizer groups of this rank's stage that train something: its K. */
static int32_t groups_of(const zp_rank *r)
{
  int32_t k = 0;
  for (int32_t g = 0; g < r->cfg->optgroups; g++)
    for (int32_t i = 0; i < r->lay.n_params; i++) {
      const zp_param *p = &r->cfg->params[r->lay.first_param + i];
      if (p->optgroup != g || p->frozen) continue;
      k++;
      break;
    }
  return k;
}

static void change_pr7847(zp_fault_state *f, zp_rank *r, const zp_op *op)
{
  const int32_t k = statistics(op) ? groups_of(r) : 1;
  (void)f;
  for (int32_t i = 0; i < (k > 0 ? k : 1); i++) zp_fault_emit(r, STEP, op);
}

static void inject_pr7847(zp_fault_state *f)
{
  rewrite(f, 1, change_pr7847);
}

/* ---- Tied keys in an order of the rank's own ------------------------------------------------- */

static void inject_ds7208(zp_fault_state *f)
{
  for (int32_t q = 0; q < world(f); q++) {
    zp_rank *r = zp_sim_rank(f->sim, q);
    int64_t n, lo = 0, hi;
    zp_op *old;
    if (r->at.pp % 2 == 0) continue;
    old = zp_fault_rewrite(f, r, STEP, 0, &n);
    while (lo < n && old[lo].what != ZP_WHAT_TIED) lo++;
    for (hi = lo; hi < n && old[hi].what == ZP_WHAT_TIED;) hi++;
    for (int64_t i = 0; i < n; i++)
      zp_fault_emit(r, STEP, i >= lo && i < hi ? &old[hi - 1 - (i - lo)] : &old[i]);
  }
}

/* ---- First values broadcast in the wrong dtype, or from the wrong root ----------------------- */

static void before_ds4726(void *ctx, zp_rank *r, zp_op *op)
{
  (void)ctx;
  if (op->kind == ZP_OP_BROADCAST && op->group == ZP_GROUP_DP && r->at.dp > 0 &&
      op->dtype != ZP_F32) {
    op->dtype = ZP_F32;
    op->count = op->count / 2; /* stay inside the storage */
  }
}

static void before_cai2391(void *ctx, zp_rank *r, zp_op *op)
{
  (void)ctx;
  if (op->kind == ZP_OP_BROADCAST && op->group == ZP_GROUP_TP)
    op->root = (r->rank == 0 ? 0 : r->rank - 1) % r->cfg->tp;
}

/* ---- Ops that some ranks leave out ----------------------------------------------------------- */

/* Does the bucket hold anything that this rank used in the current micro-batch? */
static int bucket_used(const zp_rank *r, const zp_op *op)
{
  const zp_flat *flat = &r->lay.flat[op->flat];
  const int64_t lo = op->bucket * flat->capacity, hi = lo + zp_bucket_numel(flat, op->bucket);
  for (int32_t i = 0; i < r->lay.n_params; i++) {
    const int64_t start = r->lay.spot[i].start;
    const int64_t end = start + r->cfg->params[r->lay.first_param + i].numel;
    if (r->lay.spot[i].flat == op->flat && start < hi && end > lo && r->used[i]) return 1;
  }
  return 0;
}

static void before_ds_l13(void *ctx, zp_rank *r, zp_op *op)
{
  (void)ctx;
  if (op->what == ZP_WHAT_GRADIENT && op->kind >= ZP_OP_FIRST_COMM && !bucket_used(r, op))
    op->kind = -1;
}

static void before_ds275(void *ctx, zp_rank *r, zp_op *op)
{
  const zp_flat *flat;
  int64_t mine;
  (void)ctx;
  if (op->kind != ZP_OP_REDUCE_SCATTER && op->kind != ZP_OP_ALL_GATHER) return;
  flat = &r->lay.flat[op->flat];
  mine = zp_block_group_index(&r->block, flat->group, -1) * zp_part(flat, op->bucket);
  if (mine >= zp_bucket_numel(flat, op->bucket)) op->kind = -1; /* "my partition is empty" */
}

/* ---- A collective that only some stages issue ------------------------------------------------ */

static void change_ds6714(zp_fault_state *f, zp_rank *r, const zp_op *op)
{
  int32_t experts = 0;
  for (int32_t i = 0; i < r->lay.n_params; i++)
    experts += r->cfg->params[r->lay.first_param + i].expert;
  (void)f;
  if (statistics(op) && experts > 0) {
    zp_op extra = *op;
    extra.what = ZP_WHAT_STATUS;
    extra.count = 1;
    zp_fault_emit(r, STEP, &extra);
  }
  zp_fault_emit(r, STEP, op);
}

static void inject_ds6714(zp_fault_state *f)
{
  rewrite(f, 1, change_ds6714);
}

/* ---- Decisions that are not common ----------------------------------------------------------- */

static void before_fs179(void *ctx, zp_rank *r, zp_op *op)
{
  (void)ctx;
  if (op->kind == ZP_OP_DECIDE) r->stats_in[ZP_STAT_NONFINITE] = r->stats.nonfinite;
}

/* ---- Pipeline -------------------------------------------------------------------------------- */

static void change_nccl479(zp_fault_state *f, zp_rank *r, const zp_op *op)
{
  zp_op half = *op;
  (void)f;
  if (op->kind != ZP_OP_P2P || op->mb < 0 || op->recv_mb < 0) {
    zp_fault_emit(r, STEP, op);
    return;
  }
  half.recv_mb = -1;
  zp_fault_emit(r, STEP, &half);
  half = *op;
  half.mb = -1;
  zp_fault_emit(r, STEP, &half);
}

static void inject_nccl479(zp_fault_state *f)
{
  rewrite(f, 2, change_nccl479);
}

static void inject_ds1944(zp_fault_state *f)
{
  for (int32_t q = 0; q < world(f); q++) {
    zp_rank *r = zp_sim_rank(f->sim, q);
    if (r->cfg->pp == 1 || r->at.pp != r->cfg->pp - 1) continue;
    for (int64_t i = 0; i < r->length[STEP]; i++) {
      if (r->program[STEP][i].kind != ZP_OP_P2P) continue;
      r->program[STEP][i].kind = -1; /* this stage believes that the exchange has been done */
      break;
    }
  }
}

/* One place too few for activations that are alive. */
static void inject_ds2800(zp_fault_state *f)
{
  for (int32_t q = 0; q < world(f); q++) {
    zp_rank *r = zp_sim_rank(f->sim, q);
    if (r->act_slots < 2) continue;
    r->act_slots--;
    for (int64_t i = 0; i < r->length[STEP]; i++) {
      zp_op *op = &r->program[STEP][i];
      if (op->kind == ZP_OP_FORWARD || op->kind == ZP_OP_BACKWARD)
        op->slot = (int32_t)(op->mb % r->act_slots);
    }
  }
}

/* A stage has one place for results to be sent back: another micro-batch's is in it. */
static void before_pt139404(void *ctx, zp_rank *r, zp_op *op)
{
  zp_fault_state *f = ctx;
  const zp_tensor *t = &r->grad_out.t[0];
  char now[64], *kept;
  int64_t bytes;
  if (op->kind != ZP_OP_P2P || op->what != ZP_WHAT_ACTIVATION_GRADIENT || op->mb < 0) return;
  if (r->rank >= ZP_FAULT_RANKS || r->grad_out.n == 0) return;
  bytes = zp_tensor_bytes(t) < (int64_t)sizeof now ? zp_tensor_bytes(t) : (int64_t)sizeof now;
  if (f->kept[r->rank] == NULL) {
    f->kept[r->rank] = zp_fault_alloc(f, sizeof now);
    if (f->kept[r->rank] != NULL) memcpy(f->kept[r->rank], t->data, (size_t)bytes);
    else zp_fault_no_memory(r);
    return;
  }
  kept = (char *)f->kept[r->rank];
  memcpy(now, t->data, (size_t)bytes);
  memcpy(t->data, kept, (size_t)bytes);
  memcpy(kept, now, (size_t)bytes);
}

/* The receive buffer keeps the dtype of its first use. */
static void after_ds_l12(void *ctx, zp_rank *r, const zp_op *op)
{
  zp_message *in;
  (void)ctx;
  if (op->kind != ZP_OP_META || op->recv_mb < 1) return;
  in = &r->act_in[op->recv_mb % r->act_slots];
  for (int32_t i = 0; i < in->n; i++)
    in->t[i].dtype = i == 0 && in->n > 1 ? ZP_I32 : r->cfg->precision;
}

/* A stage that trains nothing believes that it has no part in the step's end. */
static void before_ds4312(void *ctx, zp_rank *r, zp_op *op)
{
  (void)ctx;
  if (statistics(op) && groups_of(r) == 0) op->kind = -1;
}

/* Tensors that tensor parallelism cannot cut evenly are believed to be so cut. */
static void after_ds_l5(void *ctx, zp_rank *r, const zp_op *op)
{
  zp_message *in;
  (void)ctx;
  if (op->kind != ZP_OP_META || op->recv_mb < 0) return;
  in = &r->act_in[op->recv_mb % r->act_slots];
  for (int32_t i = 0; i < in->n; i++) {
    const int64_t n = zp_tensor_numel(&in->t[i]);
    if (n % r->cfg->tp == 0) continue;
    in->t[i].ndim = 1;
    in->t[i].dim[0] = n - n % r->cfg->tp;
  }
}

/* ---- The table ------------------------------------------------------------------------------- */

static const zp_ref_fault table[] = {
    {{"pr7847", "DeepSpeed #7847, #1522", "STAT-1",
      "the gradient norm is all-reduced once for each of a rank's K optimizer groups; "
      "K differs between pipeline stages",
      "pp=2,dp=2,stage=1,reduce=ordered,precision=bf16,M=4,bucket=8,list=8@0.0+6@0.1+8@1.0"},
     inject_pr7847,
     NULL,
     NULL},
    {{"ds7208", "DeepSpeed #7208", "TIE-1",
      "tied keys are reduced in the order of a set, which differs between ranks",
      "pp=2,dp=1,stage=1,M=2,list=6@0.0t0+4@0.0t1+6@1.0t0+4@1.0t1"},
     inject_ds7208,
     NULL,
     NULL},
    {{"ds4726", "DeepSpeed #4726, #4727", "LEDG-5",
      "first values are broadcast from fp16 buffers into fp32 buffers",
      "pp=2,dp=2,stage=1,precision=fp16,list=8@0.0+6@1.0"},
     NULL,
     before_ds4726,
     NULL},
    {{"cai2391", "ColossalAI #2391", "LEDG-5",
      "a world rank is taken for an index in the group when the broadcast's root is named",
      "dp=2,tp=2,stage=1,list=8@0.0+6@0.0s"},
     NULL,
     before_cai2391,
     NULL},
    {{"ds-l13", "DeepSpeed 0.19.8; PyTorch #64629", "RED-6",
      "a bucket whose parameters this rank did not use is not reduced on this rank",
      "dp=3,stage=2,M=3,bucket=6,unused=128,list=6@0.0+5@0.0+7@0.0"},
     NULL,
     before_ds_l13,
     NULL},
    {{"ds275", "DeepSpeed #275, #202", "LEDG-7",
      "a rank whose part of a bucket is empty leaves the collective out",
      "dp=3,stage=1,list=2@0.0"},
     NULL,
     before_ds275,
     NULL},
    {{"ds6714", "DeepSpeed #6714", "LEDG-2",
      "an overflow all-reduce that only stages with experts issue",
      "pp=2,dp=2,ep=2,stage=1,precision=fp16,unit=-4,list=6@0.0+6@1.0+4@1.0e"},
     inject_ds6714,
     NULL,
     NULL},
    {{"fs179", "fairscale #179; PyTorch #115710", "STEP-8",
      "each rank skips the step when it saw a non-finite gradient itself; the others go on",
      "dp=3,stage=1,precision=fp16,unit=-4,overflow=1,list=9@0.0+6@0.0"},
     NULL,
     before_fs179,
     NULL},
    {{"nccl479", "NCCL #479, PyTorch #172668", "PIPE-3",
      "send and receive with the same neighbour are two calls in a row instead of one group",
      "pp=3,dp=1,stage=1,M=6,list=4@0.0+4@1.0+4@2.0"},
     inject_nccl479,
     NULL,
     NULL},
    {{"ds1944", "DeepSpeed #1944", "PIPE-3",
      "the last stage has drifted by one exchange against the others",
      "pp=2,dp=2,stage=1,M=4,list=4@0.0+4@1.0"},
     inject_ds1944,
     NULL,
     NULL},
    {{"ds2800", "DeepSpeed #2800 (how many buffers a stage needs)", "PIPE-4",
      "one place too few for activations: a slot is filled before its backward has run",
      "pp=3,dp=1,stage=1,M=6,list=4@0.0+4@1.0+4@2.0"},
     inject_ds2800,
     NULL,
     NULL},
    {{"pt139404", "PyTorch #139404", "PIPE-3",
      "a stage keeps one backward result only: what it sends is another micro-batch's",
      "pp=2,dp=1,stage=1,M=4,list=4@0.0+4@1.0"},
     NULL,
     before_pt139404,
     NULL},
    {{"ds-l12", "DeepSpeed #1400, #1474", "PIPE-6",
      "with dynamic shapes a receive buffer keeps the dtype of its first use",
      "pp=2,dp=1,stage=1,M=4,dynamic=1,tuple=1,vary=1,list=4@0.0+4@1.0"},
     NULL,
     NULL,
     after_ds_l12},
    {{"ds4312", "DeepSpeed #4312", "LEDG-7",
      "a stage that trains nothing leaves the step's last collective out",
      "pp=2,dp=1,stage=1,M=2,list=4@0.0+4@1.0f"},
     NULL,
     before_ds4312,
     NULL},
    {{"ds-l5", "DeepSpeed up to 0.19.8; no public issue", "PIPE-6",
      "tensors that tensor parallelism does not cut evenly are received as if it did",
      "pp=2,dp=1,tp=2,stage=1,M=4,dynamic=1,vary=1,list=4@0.0+4@1.0"},
     NULL,
     NULL,
     after_ds_l5},
};

zp_fault_family zp_faults_ledger(void)
{
  const zp_fault_family f = {table, (int32_t)(sizeof table / sizeof table[0])};
  return f;
}
