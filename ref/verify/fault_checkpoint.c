/* Faults in what is loaded from a checkpoint. They show only in cases that continue from one. */
#include <string.h>

#include "ref_fault.h"

static int installs(const zp_rank *r, const zp_op *op)
{
  return op->kind == ZP_OP_INSTALL && r->cursor.phase == ZP_PHASE_LOAD;
}

/* The second moments are not loaded. */
static void after_lost_moments(void *ctx, zp_rank *r, const zp_op *op)
{
  (void)ctx;
  for (int32_t k = 0; installs(r, op) && k < r->lay.n_flats; k++)
    if (r->lay.flat[k].use == 0)
      memset(r->flat[k].moment2, 0, (size_t)r->flat[k].extent * sizeof(float));
}

/* AdamW's correction begins anew. */
static void after_lost_powers(void *ctx, zp_rank *r, const zp_op *op)
{
  (void)ctx;
  for (int32_t g = 0; installs(r, op) && g < r->cfg->optgroups; g++)
    zp_optim_state_init(&r->optim[g]);
}

/* The scale is loaded, its counters are not. */
static void after_lost_counters(void *ctx, zp_rank *r, const zp_op *op)
{
  zp_scaler *s = &r->scaler;
  (void)ctx;
  if (!installs(r, op)) return;
  (void)zp_scaler_init(s, s->dynamic, s->log2_scale, s->log2_min, s->log2_max, s->window,
                       s->hysteresis, s->consecutive);
}

/* A rank loads the shard of the next one. */
static void before_next_shard(void *ctx, zp_rank *r, zp_op *op)
{
  zp_fault_state *f = ctx;
  if (op->kind != ZP_OP_READ) return;
  f->taken = r->block.at.dp;
  r->block.at.dp = (r->block.at.dp + 1) % r->block.cfg.dp;
  r->at.dp = r->block.index * r->block.cfg.dp + r->block.at.dp;
}

static void after_next_shard(void *ctx, zp_rank *r, const zp_op *op)
{
  const zp_fault_state *f = ctx;
  if (op->kind != ZP_OP_READ) return;
  r->block.at.dp = f->taken;
  r->at.dp = r->block.index * r->block.cfg.dp + f->taken;
}

/* Masters are made from the rounded parameters. */
static void after_rounded_masters(void *ctx, zp_rank *r, const zp_op *op)
{
  (void)ctx;
  for (int32_t k = 0; installs(r, op) && k < r->lay.n_flats; k++) {
    const int32_t dtype = zp_dtype_of(r->lay.flat[k].fp32, r->cfg->precision);
    for (int64_t i = 0; r->lay.flat[k].use == 0 && i < r->flat[k].extent; i++) {
      uint32_t bits;
      zp_round_to(dtype, &r->flat[k].master[i], 1, &bits, 0);
      zp_widen_from(dtype, &bits, 0, 1, &r->flat[k].master[i]);
    }
  }
}

static const zp_ref_fault table[] = {
    {{"lost-moments", "optimizer states that are not saved; no public issue", "CKPT-5",
      "a checkpoint loads without second moments",
      "dp=2,stage=1,steps=2,reload=1:2:1:64,list=9@0.0"},
     NULL,
     NULL,
     after_lost_moments},
    {{"lost-powers", "step counts that are not saved; no public issue", "CKPT-5",
      "a checkpoint loads without AdamW's step count",
      "dp=2,stage=1,steps=2,reload=1:2:1:64,list=9@0.0"},
     NULL,
     NULL,
     after_lost_powers},
    {{"lost-counters", "loss scalers that are saved as a number; no public issue", "CKPT-5",
      "a checkpoint loads without the counters of the loss scale",
      "dp=2,stage=1,precision=fp16,unit=-6,scale=4:1:1:0:0:10,steps=2,reload=1:2:1:64,list=9@0.0"},
     NULL,
     NULL,
     after_lost_counters},
    {{"next-shard", "shards under another rank's name; no public issue", "CKPT-5",
      "each rank loads the shard of the next one",
      "dp=2,stage=1,steps=2,reload=1:2:1:64,list=40@0.0"},
     NULL,
     before_next_shard,
     after_next_shard},
    {{"rounded-masters", "checkpoints of parameters alone; no public issue", "CKPT-5",
      "masters are made from the rounded parameters of a checkpoint",
      "dp=2,stage=1,precision=bf16,steps=2,reload=1:2:1:64,list=40@0.0"},
     NULL,
     NULL,
     after_rounded_masters},
};

zp_fault_family zp_faults_checkpoint(void)
{
  const zp_fault_family f = {table, (int32_t)(sizeof table / sizeof table[0])};
  return f;
}
