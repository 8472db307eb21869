/* Faults of precision and of the sharded state: accumulation dtype, update, gather. */
#include <stdlib.h>
#include <string.h>

#include "../num/half.h"
#include "../num/value.h"
#include "ref_fault.h"

/* x through the configuration's precision. */
static float through(int32_t precision, float x)
{
  uint32_t bits;
  memcpy(&bits, &x, sizeof bits);
  if (precision == ZP_BF16) bits = zp_f32_from_bf16(zp_bf16_from_f32(bits));
  if (precision == ZP_F16) bits = zp_f32_from_f16(zp_f16_from_f32(bits));
  memcpy(&x, &bits, sizeof x);
  return x;
}

static void round_run(const zp_rank *r, float *x, int64_t n)
{
  for (int64_t i = 0; i < n; i++) x[i] = through(r->cfg->precision, x[i]);
}

/* Accumulation over micro-batches in the parameters' dtype, whatever was configured. */
static void after_ds_l7(void *ctx, zp_rank *r, const zp_op *op)
{
  int64_t at, n;
  (void)ctx;
  if (r->cfg->reduce != ZP_ORDERED) return;
  if (op->kind == ZP_OP_ADD && r->cfg->stage < 2) {
    float *window = r->flat[op->flat].window;
    round_run(r, window + r->lay.spot[op->param - r->lay.first_param].start + op->offset,
              op->count);
  }
  if (op->kind == ZP_OP_REDUCE_SCATTER && r->cfg->stage == 2) {
    zp_fault_range(r, op, &at, &n);
    round_run(r, zp_sums_of(r, op->flat, op->bucket), n);
  }
}

static void after_ds6485(void *ctx, zp_rank *r, const zp_op *op)
{
  int64_t at, n;
  (void)ctx;
  if (op->kind != ZP_OP_MEAN) return;
  zp_fault_range(r, op, &at, &n);
  round_run(r, zp_fault_means(r, op), n);
}

static void keep_own(void *ctx, zp_rank *r, zp_op *op)
{
  if (op->what == ZP_WHAT_GRADIENT && op->kind >= ZP_OP_FIRST_COMM && r->cfg->stage < 2)
    zp_fault_keep_sums(ctx, r, op);
}

/* The optimizer works on its rank's own gradient: the reduction's result is thrown away. */
static void after_ds_l2(void *ctx, zp_rank *r, const zp_op *op)
{
  const zp_flat *f;
  const float *own;
  float *sum;
  int64_t at, n;
  if (op->what != ZP_WHAT_GRADIENT || op->kind < ZP_OP_FIRST_COMM) return;
  if (r->cfg->stage == 2 || r->cfg->reduce != ZP_ORDERED) return;
  f = &r->lay.flat[op->flat];
  own = zp_fault_kept_sums(ctx, r, op);
  sum = zp_sums_of(r, op->flat, op->bucket);
  zp_fault_range(r, op, &at, &n);
  if (own == NULL) zp_fault_no_memory(r);
  for (int64_t i = 0; own != NULL && i < n; i++) sum[i] = own[i] * (float)f->members;
}

/* The gathered parts are put back in another order than they were cut in. */
static void after_ds2058(void *ctx, zp_rank *r, const zp_op *op)
{
  const zp_flat *f;
  int64_t size, lo, padded, part;
  (void)ctx;
  if (op->kind != ZP_OP_ALL_GATHER) return;
  f = &r->lay.flat[op->flat];
  size = zp_dtype_bytes(zp_dtype_of(f->fp32, r->cfg->precision));
  lo = op->bucket * f->capacity;
  padded = zp_bucket_padded(f, op->bucket);
  part = zp_part(f, op->bucket);
  for (int32_t i = 0; i < r->lay.n_params; i++) {
    const int64_t start = r->lay.spot[i].start;
    const int64_t numel = r->cfg->params[r->lay.first_param + i].numel;
    if (r->lay.spot[i].flat != op->flat) continue;
    for (int64_t e = 0; e < numel; e++) {
      const int64_t in = start + e - lo;
      if (in < 0 || in >= zp_bucket_numel(f, op->bucket)) continue;
      memcpy((char *)r->param[i] + e * size, (char *)r->scratch_recv + (in + part) % padded * size,
             (size_t)size);
    }
  }
}

/* The last rank's part goes out without its update. */
static void after_ds1841(void *ctx, zp_rank *r, const zp_op *op)
{
  (void)ctx;
  if (op->kind != ZP_OP_UPDATE || r->cfg->stage == 0 || r->at.dp != r->cfg->dp - 1) return;
  /* this part was never copied to what is gathered: zeros go out instead */
  const zp_flat *f = &r->lay.flat[op->flat];
  memset(
      r->scratch_send, 0,
      (size_t)(zp_part(f, op->bucket) * zp_dtype_bytes(zp_dtype_of(f->fp32, r->cfg->precision))));
}

/* Experts' parts are as long as if all data-parallel ranks had one: the rest has no master. */
static int64_t mapped(const zp_rank *r, const zp_op *op, int64_t *at, int64_t *n)
{
  const zp_flat *flat;
  if (op->kind != ZP_OP_UPDATE || r->cfg->stage == 0) return -1;
  flat = &r->lay.flat[op->flat];
  zp_fault_range(r, op, at, n);
  return flat->group == ZP_GROUP_EDP ? zp_part(flat, op->bucket) / r->cfg->ep : -1;
}

static void before_ds5681(void *ctx, zp_rank *r, zp_op *op)
{
  zp_fault_state *f = ctx;
  int64_t at, n;
  float *masters;
  if (mapped(r, op, &at, &n) < 0) return;
  masters = malloc((size_t)(n + 1) * sizeof *masters);
  if (masters != NULL) memcpy(masters, r->flat[op->flat].master + at, (size_t)n * sizeof *masters);
  f->arrived = masters;
}

static void after_ds5681(void *ctx, zp_rank *r, const zp_op *op)
{
  zp_fault_state *f = ctx;
  int64_t at, n;
  const int64_t has = mapped(r, op, &at, &n);
  float *masters = (float *)(uintptr_t)f->arrived, *now;
  if (has < 0 || masters == NULL) return;
  now = r->flat[op->flat].master + at;
  if (has < n) memcpy(now + has, masters + has, (size_t)(n - has) * sizeof *now);
  zp_round_to(zp_dtype_of(r->lay.flat[op->flat].fp32, r->cfg->precision), now, n, r->scratch_send,
              0);
  free(masters);
  f->arrived = NULL;
}

/* Sums go into the bucket in the dtype of parameters, whatever dtype communication was to have. */
static void before_ds2145(void *ctx, zp_rank *r, zp_op *op)
{
  const zp_flat *flat;
  (void)ctx;
  if (op->what != ZP_WHAT_GRADIENT || op->kind < ZP_OP_FIRST_COMM || r->cfg->stage == 2) return;
  flat = &r->lay.flat[op->flat];
  for (int64_t e = 0; e < zp_bucket_numel(flat, op->bucket); e++) {
    const int64_t i = op->bucket * flat->capacity + e;
    int64_t *limbs = (int64_t *)r->flat[op->flat].window + i * ZP_LIMBS;
    float *sum = (float *)r->flat[op->flat].window + i, x;
    uint32_t bits;
    if (r->cfg->reduce != ZP_EXACT) {
      round_run(r, sum, 1);
      continue;
    }
    bits = zp_val_mean_f32(limbs, 1);
    memcpy(&x, &bits, sizeof x);
    round_run(r, &x, 1);
    memcpy(&bits, &x, sizeof bits);
    memset(limbs, 0, ZP_LIMBS * sizeof *limbs);
    zp_val_add_f32(limbs, &bits, 1);
  }
}

/* Tied copies drift: stages beyond the first update theirs by another gradient. */
static void bend(zp_rank *r, const zp_op *op, float factor)
{
  int64_t at, n;
  if (op->kind != ZP_OP_UPDATE || r->at.pp == 0 || r->lay.flat[op->flat].tied < 0) return;
  zp_fault_range(r, op, &at, &n);
  for (int64_t i = 0; i < n; i++) zp_fault_means(r, op)[i] *= factor;
}

static void before_drift(void *ctx, zp_rank *r, zp_op *op)
{
  (void)ctx;
  bend(r, op, 0.5f);
}

static void after_drift(void *ctx, zp_rank *r, const zp_op *op)
{
  (void)ctx;
  bend(r, op, 2); /* only the update saw it */
}

static const zp_ref_fault table[] = {
    {{"ds-l7", "DeepSpeed #6351", "RED-4",
      "accumulation in the parameters' dtype although fp32 is asked for",
      "dp=2,stage=2,reduce=ordered,precision=bf16,M=4,mode=wild,list=40@0.0+9@0.0"},
     NULL,
     NULL,
     after_ds_l7},
    {{"ds6485", "DeepSpeed #6485", "RED-5", "the gradient is not widened to fp32 before the update",
      "dp=2,stage=1,reduce=exact,precision=bf16,M=3,mode=wild,list=40@0.0+9@0.0"},
     NULL,
     NULL,
     after_ds6485},
    {{"ds-l2", "DeepSpeed up to 0.19.7; fairscale #517", "RED-3",
      "the reduction's result is lost: each rank updates its part with its own gradient",
      "dp=2,stage=1,reduce=ordered,M=2,list=9@0.0+14@0.0"},
     NULL,
     keep_own,
     after_ds_l2},
    {{"ds2058", "DeepSpeed #2058, #2059", "STEP-8",
      "updated parameters are copied into another rank's part",
      "dp=3,stage=1,precision=bf16,M=2,list=9@0.0+14@0.0"},
     NULL,
     NULL,
     after_ds2058},
    {{"ds1841", "DeepSpeed #1841, #1679", "STEP-8",
      "one rank's updated masters are not copied to the parameters that it sends",
      "dp=2,stage=1,precision=bf16,M=2,list=9@0.0+14@0.0"},
     NULL,
     NULL,
     after_ds1841},
    {{"tied-drift", "paiml/entrenar #314", "STEP-7",
      "the copies of a tied weight are updated on their own and drift apart",
      "pp=2,dp=2,stage=1,M=2,optim=sgd,list=6@0.0t0+5@0.0+4@1.0+6@1.0t0"},
     NULL,
     before_drift,
     after_drift},
    {{"ds5681", "DeepSpeed #5681", "STEP-7",
      "experts' parts are cut as for the dense group: the rest of a part is never updated",
      "dp=4,ep=2,stage=1,M=2,list=9@0.0+24@0.0e"},
     NULL,
     before_ds5681,
     after_ds5681},
    {{"ds2145", "DeepSpeed #2145", "RED-5",
      "sums are communicated in the parameters' dtype, whatever was asked for",
      "dp=2,stage=1,reduce=exact,precision=bf16,M=3,mode=wild,list=40@0.0+9@0.0"},
     NULL,
     before_ds2145,
     NULL},
};

zp_fault_family zp_faults_state(void)
{
  const zp_fault_family f = {table, (int32_t)(sizeof table / sizeof table[0])};
  return f;
}
