/* Faults of hybrid sharding: the sum between replicas missing or twice, means and norms that take
 * one replica for another, an update of one replica only. */
#include "../comm/block.h"
#include "ref_fault.h"

enum { STEP = ZP_PHASE_STEP };

/* Every rank's STEP program with each sum between replicas `times` times. */
static void repeat_sums(zp_fault_state *f, int32_t times)
{
  for (int32_t q = 0; q < zp_sim_world(f->sim); q++) {
    zp_rank *r = zp_sim_rank(f->sim, q);
    int64_t n;
    const zp_op *old = zp_fault_rewrite(f, r, STEP, r->length[STEP], &n);
    for (int64_t i = 0; i < n; i++)
      for (int32_t k = 0; k < (old[i].what == ZP_WHAT_REPLICA ? times : 1); k++)
        zp_fault_emit(r, STEP, &old[i]);
  }
}

static void inject_no_sum(zp_fault_state *f)
{
  repeat_sums(f, 0);
}

static void inject_twice(zp_fault_state *f)
{
  repeat_sums(f, 2);
}

/* Each replica's ranks count their elements, though all replicas hold the same ones. */
static void before_norm(void *ctx, zp_rank *r, zp_op *op)
{
  (void)ctx;
  if (op->kind != ZP_OP_DECIDE) return;
  for (int32_t i = 0; i < ZP_SQ_LIMBS; i++) r->stats_in[ZP_STAT_SQUARES + i] *= r->block.replicas;
}

/* The mean is over the micro-batches of one replica. */
static void after_mean(void *ctx, zp_rank *r, const zp_op *op)
{
  int64_t at, n;
  (void)ctx;
  if (op->kind != ZP_OP_MEAN) return;
  zp_fault_range(r, op, &at, &n);
  for (int64_t i = 0; i < n; i++) zp_fault_means(r, op)[i] *= (float)r->block.replicas;
}

/* The optimizer of the other replicas does nothing: they gather the parameters that they had. */
static void before_first_only(void *ctx, zp_rank *r, zp_op *op)
{
  (void)ctx;
  if (op->kind != ZP_OP_UPDATE || r->block.index == 0) return;
  const zp_range p = zp_rank_range(r, op->flat, op->bucket);
  zp_round_to(zp_dtype_of(r->lay.flat[op->flat].fp32, r->cfg->precision),
              r->flat[op->flat].master + p.at, p.count, r->scratch_send, 0);
  op->kind = -1;
}

#define DEMO "dp=4,replicas=2,stage=2,M=2,steps=2,list=9@0.0+5@0.0"

static const zp_ref_fault table[] = {
    {{"no-replica-sum", "hybrid sharding; no public issue", "RED-9",
      "gradients are not summed between the replicas of hybrid sharding", DEMO},
     inject_no_sum,
     NULL,
     NULL},
    {{"double-replica-sum", "hybrid sharding; no public issue", "RED-2",
      "gradients are summed between the replicas of hybrid sharding twice", DEMO},
     inject_twice,
     NULL,
     NULL},
    {{"replica-norm", "hybrid sharding; no public issue", "STAT-2",
      "the norm counts each replica of an element", DEMO},
     NULL,
     before_norm,
     NULL},
    {{"replica-mean", "hybrid sharding; no public issue", "RED-2",
      "gradients are divided by the micro-batches of one replica", DEMO},
     NULL,
     NULL,
     after_mean},
    {{"replica-first", "hybrid sharding; no public issue", "STEP-7",
      "only the first replica of the state is updated", DEMO},
     NULL,
     before_first_only,
     NULL},
};

zp_fault_family zp_faults_replica(void)
{
  const zp_fault_family f = {table, (int32_t)(sizeof table / sizeof table[0])};
  return f;
}
