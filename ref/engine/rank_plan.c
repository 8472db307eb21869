#include "rank_plan.h"

#include <stdlib.h>
#include <string.h>

#include "../comm/comm.h"
#include "count.h"
#include "ledger.h"
#include "rank_program.h"
#include "window.h"

/* a + b, or INT64_MAX. */
static int64_t plus(int64_t a, int64_t b)
{
  int64_t sum;
  return __builtin_add_overflow(a, b, &sum) ? INT64_MAX : sum;
}

/* a · b, or INT64_MAX. */
static int64_t times(int64_t a, int64_t b)
{
  int64_t product;
  return __builtin_mul_overflow(a, b, &product) ? INT64_MAX : product;
}

static void sum_ledger(int32_t phase, zp_rank_plan *p)
{
  int64_t members[ZP_ALL_GROUPS] = {0};
  memset(p->ledger[phase], 0, sizeof p->ledger[phase]);
  for (int64_t i = 0; i < p->n; i++) {
    const zp_op *op = &p->op[i];
    int64_t m;
    if (op->kind < ZP_OP_FIRST_COMM) continue;
    if (op->group == ZP_GROUP_TIED || members[op->group] == 0)
      members[op->group] = zp_block_group_size(&p->block, op->group, op->key);
    m = members[op->group];
    p->ledger[phase][op->group].ops++;
    p->ledger[phase][op->group].bytes =
        plus(p->ledger[phase][op->group].bytes,
             zp_sent_bytes(op, m, zp_block_group_index(&p->block, op->group, op->key)));
  }
}

/* The arrays, and the programs of all phases. */
static void sum_memory(zp_rank_plan *p)
{
  int64_t ops = 0;
  p->memory = zp_memory_of(&p->block.cfg, &p->lay, p->block.slots, p->block.fp32_gradients);
  for (int32_t phase = 0; phase < ZP_PHASES; phase++)
    ops = plus(ops, zp_rank_program_need(&p->block, &p->lay, phase));
  p->program = times(ops, sizeof(zp_op));
  p->total = plus(zp_memory_total(&p->memory), p->program);
}

int zp_rank_plan_open(zp_rank_plan *p, const zp_config *cfg, const zp_hyper *hyper, int32_t rank,
                      zp_error *err)
{
  int32_t first, n;
  memset(p, 0, sizeof *p);
  p->rank = rank;
  p->at = zp_coord_of(cfg, rank);
  p->block = zp_block_of(cfg, zp_replicas(hyper), rank);
  p->block.slots = hyper->slots;
  p->block.fp32_gradients = hyper->fp32_gradients;
  zp_stage_params(cfg, p->at.pp, &first, &n);
  p->lay.cap_flats = p->lay.cap_spots = n;
  p->lay.flat = calloc((size_t)n + 1, sizeof *p->lay.flat);
  p->lay.spot = calloc((size_t)n + 1, sizeof *p->lay.spot);
  if (p->lay.flat == NULL || p->lay.spot == NULL ||
      zp_block_align(&p->block, zp_entry_align(hyper->entry_align, cfg->precision)) != 0 ||
      zp_layout_build(&p->block.cfg, p->at.pp, &p->lay) != 0)
    return zp_fail(err, ZP_E_MEMORY, rank, "no memory for the layout of rank %d.", (int)rank);
  p->n = zp_rank_program_need(&p->block, &p->lay, ZP_PHASE_STEP);
  sum_memory(p);
  return 0;
}

static int check_length(const zp_rank_plan *p, int32_t phase, int64_t n, zp_error *err)
{
  if (n <= ZP_RANK_PLAN_OPS) return 0;
  return zp_fail(err, ZP_E_REFUSED, p->rank,
                 "the %s program of rank %d has %lld ops; at most %lld can be held. Use a "
                 "larger --bucket (now %lld elements) or fewer --micro-batches.",
                 zp_phase_name(phase), (int)p->rank, (long long)n, (long long)ZP_RANK_PLAN_OPS,
                 (long long)p->block.cfg.bucket);
}

int zp_rank_plan_phase(zp_rank_plan *p, int32_t phase, zp_error *err)
{
  free(p->op);
  p->op = NULL;
  p->n = zp_rank_program_need(&p->block, &p->lay, phase);
  if (check_length(p, phase, p->n, err)) return err->status;
  p->op = malloc((size_t)(p->n + 1) * sizeof *p->op);
  if (p->op == NULL || zp_rank_program_write(&p->block, &p->lay, phase, p->op, p->n) != p->n)
    return zp_fail(err, ZP_E_MEMORY, p->rank, "no memory for a program of %lld ops.",
                   (long long)p->n);
  sum_ledger(phase, p);
  return 0;
}

int zp_rank_plan_holds(const zp_config *cfg, const zp_hyper *hyper, zp_error *err)
{
  int status = 0;
  for (int32_t s = 0; s < cfg->pp && status == 0; s++) {
    zp_rank_plan p;
    status = zp_rank_plan_open(&p, cfg, hyper, zp_rank_of(cfg, (zp_coord){s, 0, 0}), err);
    for (int32_t phase = 0; phase < ZP_PHASES && status == 0; phase++)
      status = check_length(&p, phase, zp_rank_program_need(&p.block, &p.lay, phase), err);
    zp_rank_plan_close(&p);
  }
  return status;
}

void zp_rank_plan_close(zp_rank_plan *p)
{
  free(p->lay.flat);
  free(p->lay.spot);
  free(p->op);
  zp_block_close(&p->block);
  memset(p, 0, sizeof *p);
}

/* ---- A save in the background ---------------------------------------------------------------- */

/* Elements of bucket b of flat group k that a SAVE program's WRITE takes. */
static int64_t count_bucket(const zp_rank_plan *p, int32_t k, int64_t b, const uint8_t *counts)
{
  const zp_range whole = zp_whole_range(&p->lay.flat[k], b);
  int32_t i = p->lay.n_params;
  int64_t n = 0;
  for (;;) {
    const zp_piece g = zp_piece_next(&p->block.cfg, &p->lay, k, whole, i);
    if (g.count == 0) return n;
    i = g.i;
    if (counts[i]) n += zp_block_own(&p->block, g.param, g.offset, g.count);
  }
}

/* Elements that the SAVE program of n ops writes. */
static int64_t count_writes(const zp_rank_plan *p, const zp_op *ops, int64_t n,
                            const uint8_t *counts)
{
  int64_t elements = 0;
  for (int64_t i = 0; i < n; i++) {
    const zp_op *op = &ops[i];
    if (op->kind != ZP_OP_WRITE) continue;
    elements += op->flat >= 0 ? count_bucket(p, op->flat, op->bucket, counts)
                              : p->block.job->params[op->param].numel;
  }
  return elements;
}

int64_t zp_rank_plan_snapshot(const zp_rank_plan *p)
{
  const int64_t n = zp_rank_program_need(&p->block, &p->lay, ZP_PHASE_SAVE);
  int64_t bytes = -1;
  if (p->block.index != 0) return 0; /* block 0 writes */
  zp_op *ops = n <= ZP_RANK_PLAN_OPS ? malloc((size_t)(n + 1) * sizeof *ops) : NULL;
  uint8_t *counts = calloc((size_t)p->lay.n_params + 1, 1);
  if (ops != NULL && counts != NULL &&
      zp_rank_program_write(&p->block, &p->lay, ZP_PHASE_SAVE, ops, n) == n) {
    zp_counted_entries(&p->block.cfg, &p->lay, p->block.at.tp, counts);
    bytes = 4 * count_writes(p, ops, n, counts);
  }
  free(ops);
  free(counts);
  return bytes;
}

int zp_rank_plan_add_snapshot(zp_rank_plan *p, zp_error *err)
{
  p->snapshot = zp_rank_plan_snapshot(p);
  if (p->snapshot < 0)
    return zp_fail(err, ZP_E_MEMORY, p->rank,
                   "no memory for the save program of rank %d, which has %lld ops.", (int)p->rank,
                   (long long)zp_rank_program_need(&p->block, &p->lay, ZP_PHASE_SAVE));
  p->total = plus(p->total, p->snapshot);
  return 0;
}

/* ---- The shard map --------------------------------------------------------------------------- */

int32_t zp_rank_plan_owner(const zp_rank_plan *p, int32_t k)
{
  return zp_block_group_index(&p->block, p->lay.flat[k].group, -1);
}

/* Backward order is the reverse of the list, so starts ascend as i falls. spec: PART-2, PART-6 */
void zp_rank_plan_runs(const zp_rank_plan *p, int32_t k,
                       void (*visit)(void *ctx, const zp_shard_run *run), void *ctx)
{
  const zp_flat *f = &p->lay.flat[k];
  const int32_t owner = zp_rank_plan_owner(p, k);
  const int64_t buckets = zp_buckets(f);
  int32_t i = p->lay.n_params - 1;
  for (int64_t b = 0; b < buckets; b++) {
    const int64_t part = zp_part(f, b), first = b * f->capacity + owner * part;
    const int64_t end = first + part < f->numel ? first + part : f->numel;
    int64_t e = first;
    while (e < end && i >= 0) {
      const zp_spot *s = &p->lay.spot[i];
      const int32_t j = p->lay.first_param + i;
      const int64_t last = s->start + p->block.job->params[j].numel;
      if (s->flat != k || last <= e) { /* or behind it, in its padding */
        i--;
        continue;
      }
      if (e < s->start) {
        e = s->start;
        continue;
      }
      const int64_t stop = last < end ? last : end;
      const zp_shard_run run = {j, e - s->start, stop - e, b, zp_shard_offset(f, b) + e - first};
      visit(ctx, &run);
      e = stop;
    }
  }
}
