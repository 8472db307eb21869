/* Faults of the sums over tp that sequence parallelism needs: missing, at the wrong time, twice; of
 * means under context parallelism; and of those of experts that are whole on each tp rank. */
#include "ref_fault.h"

enum { STEP = ZP_PHASE_STEP };

static int is_sum(const zp_op *op)
{
  return op->what == ZP_WHAT_PARTIAL;
}

/* Every rank's STEP program through `change`, which emits what takes an op's place. */
static void rewrite(zp_fault_state *f,
                    void (*change)(zp_rank *r, const zp_op *old, int64_t n, int64_t i))
{
  for (int32_t q = 0; q < zp_sim_world(f->sim); q++) {
    zp_rank *r = zp_sim_rank(f->sim, q);
    int64_t n;
    const zp_op *old = zp_fault_rewrite(f, r, STEP, r->length[STEP], &n);
    for (int64_t i = 0; i < n; i++) change(r, old, n, i);
  }
}

static void change_no_sum(zp_rank *r, const zp_op *old, int64_t n, int64_t i)
{
  (void)n;
  if (!is_sum(&old[i])) zp_fault_emit(r, STEP, &old[i]);
}

static void inject_no_sum(zp_fault_state *f)
{
  rewrite(f, change_no_sum);
}

static void change_twice(zp_rank *r, const zp_op *old, int64_t n, int64_t i)
{
  (void)n;
  zp_fault_emit(r, STEP, &old[i]);
  if (is_sum(&old[i])) zp_fault_emit(r, STEP, &old[i]);
}

static void inject_twice(zp_fault_state *f)
{
  rewrite(f, change_twice);
}

/* `exact` makes the means again from the sums; `ordered` adds the means, which lie in place of the
 * sums. So the update is right and the norm is not. */
static void change_late(zp_rank *r, const zp_op *old, int64_t n, int64_t i)
{
  if (is_sum(&old[i])) return;
  zp_fault_emit(r, STEP, &old[i]);
  if (old[i].kind != ZP_OP_DECIDE) return;
  for (int64_t k = 0; k < n; k++)
    if (is_sum(&old[k])) zp_fault_emit(r, STEP, &old[k]);
  for (int64_t k = 0; r->cfg->reduce == ZP_EXACT && k < n; k++)
    if (old[k].kind == ZP_OP_MEAN) zp_fault_emit(r, STEP, &old[k]);
}

static void inject_late(zp_fault_state *f)
{
  rewrite(f, change_late);
}

/* Each sum follows the first reduction of its bucket in the program: at ZeRO stage 2 that of the
 * first micro-batch, elsewhere its place is before the reduction. */
static void change_early(zp_rank *r, const zp_op *old, int64_t n, int64_t i)
{
  const int reduces = old[i].what == ZP_WHAT_GRADIENT && old[i].kind >= ZP_OP_FIRST_COMM;
  const int after = r->cfg->stage == 2;
  if (is_sum(&old[i])) return;
  if (after) zp_fault_emit(r, STEP, &old[i]);
  for (int64_t k = 0; reduces && (!after || old[i].mb == 0) && k < n; k++)
    if (is_sum(&old[k]) && old[k].flat == old[i].flat && old[k].bucket == old[i].bucket)
      zp_fault_emit(r, STEP, &old[k]);
  if (!after) zp_fault_emit(r, STEP, &old[i]);
}

static void inject_early(zp_fault_state *f)
{
  rewrite(f, change_early);
}

/* Under context parallelism the mean is taken over the samples, whose parts are added. */
static void after_cp_mean(void *ctx, zp_rank *r, const zp_op *op)
{
  const zp_fault_state *f = ctx;
  const float cp = f->cp == 0 ? 2 : (float)f->cp;
  int64_t at, n;
  if (op->kind != ZP_OP_MEAN) return;
  zp_fault_range(r, op, &at, &n);
  for (int64_t i = 0; i < n; i++) zp_fault_means(r, op)[i] *= cp;
}

/* The gradients of experts are divided by the number of tp ranks, which have different experts. */
static void after_etp_mean(void *ctx, zp_rank *r, const zp_op *op)
{
  const zp_fault_state *f = ctx;
  int32_t i = r->lay.n_params;
  zp_piece g;
  if (op->kind != ZP_OP_MEAN || f->no_experts) return;
  const zp_range p = zp_rank_range(r, op->flat, op->bucket);
  while (zp_next_piece(r, op->flat, p, &i, &g))
    for (int64_t e = 0; r->cfg->params[g.param].sharded && e < g.count; e++)
      zp_fault_means(r, op)[g.in + e] /= (float)r->cfg->tp;
}

#define DEMO "tp=2,dp=2,stage=2,M=2,sequence=1,steps=2,list=9@0.0+6@0.0s"

static const zp_ref_fault table[] = {
    {{"no-tp-sum", "sequence parallelism; no public issue", "RED-8",
      "partial gradients of tp-replicated weights are not summed over tp", DEMO},
     inject_no_sum,
     NULL,
     NULL},
    {{"double-tp-sum", "sequence parallelism; no public issue", "RED-2",
      "partial gradients of tp-replicated weights are summed over tp twice", DEMO},
     inject_twice,
     NULL,
     NULL},
    {{"late-tp-sum", "sequence parallelism; no public issue", "STAT-2",
      "partial gradients are summed over tp after the norm was taken", DEMO},
     inject_late,
     NULL,
     NULL},
    {{"early-tp-sum", "sequence parallelism; no public issue", "RED-8",
      "partial gradients are summed over tp before their bucket is reduced over dp", DEMO},
     inject_early,
     NULL,
     NULL},
    {{"cp-mean", "context parallelism; no public issue", "RED-2",
      "with context parallelism gradients are divided by dp / cp instead of dp",
      "dp=2,stage=1,list=9@0.0"},
     NULL,
     NULL,
     after_cp_mean},
    {{"etp-mean", "expert-tensor-parallel size 1; no public issue", "RED-2",
      "gradients of experts that are whole on each tp rank are divided by tp as well",
      "dp=2,tp=2,stage=1,list=9@0.0s"},
     NULL,
     NULL,
     after_etp_mean},
};

zp_fault_family zp_faults_partial(void)
{
  const zp_fault_family f = {table, (int32_t)(sizeof table / sizeof table[0])};
  return f;
}
