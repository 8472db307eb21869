/* A rank's plan, written by the proven planner. */
#include "plan.h"

#include <stdlib.h>

#include "../../../ref/base/invariant.h"
#include "../../../ref/engine/bucket_slots.h"
#include "../../../ref/engine/count.h"
#include "../../../ref/engine/cursor.h"
#include "../../../ref/engine/last_sum.h"
#include "../../../ref/engine/partial.h"
#include "../../../ref/engine/rank_program.h"
#include "../../../ref/engine/window.h"
#include "needed_records.h"

static int open_layout(zp_cuda_plan *p)
{
  int32_t first, count;
  zp_stage_params(p->cfg, p->at.pp, &first, &count);
  p->lay.spot = calloc((size_t)count + 1, sizeof *p->lay.spot);
  p->lay.flat = calloc((size_t)count + 1, sizeof *p->lay.flat);
  p->counted = calloc((size_t)count + 1, 1);
  p->partial = calloc((size_t)count + 1, 1);
  p->lay.cap_spots = p->lay.cap_flats = count;
  if (!p->lay.spot || !p->lay.flat || !p->counted || !p->partial) return -1;
  if (zp_layout_build(&p->block.cfg, p->at.pp, &p->lay)) return -1;
  zp_counted_entries(p->cfg, &p->lay, p->at.tp, p->counted);
  for (int32_t i = 0; i < count; i++) p->partial[i] = (uint8_t)zp_is_partial(p->cfg, first + i);
  return 0;
}

static int open_program(zp_cuda_plan *p, int32_t phase)
{
  const int64_t n = zp_rank_program_need(&p->block, &p->lay, phase);
  if (n > INT64_MAX / 2 / (int64_t)sizeof(zp_op)) return -1;
  p->program[phase] = malloc((size_t)n * sizeof(zp_op) + 1);
  if (!p->program[phase]) return -1;
  p->length[phase] = n;
  return zp_rank_program_write(&p->block, &p->lay, phase, p->program[phase], n) < 0 ? -1 : 0;
}

int zp_cuda_plan_open(zp_cuda_plan *p, const zp_config *cfg, zp_cuda_plan_how how, int32_t rank)
{
  p->cfg = cfg;
  p->at = zp_coord_of(cfg, rank);
  p->block = zp_block_of(cfg, how.replicas, rank);
  p->block.fp32_gradients = how.fp32_gradients;
  if (zp_block_align(&p->block, how.entry_align) || open_layout(p)) return -1;
  p->block.slots = how.slots;
  if (cfg->stage == 2) p->slots = zp_slot_count(&p->block.cfg, &p->lay, how.slots);
  for (int32_t phase = 0; phase < ZP_PHASES; phase++)
    if (open_program(p, phase)) return -1;
  p->needed = calloc((size_t)p->length[ZP_PHASE_STEP] + 1, 1);
  p->is_last = calloc((size_t)p->length[ZP_PHASE_STEP] + 1, 1);
  p->mean = calloc((size_t)p->lay.n_flats + 1, sizeof *p->mean);
  p->last = calloc((size_t)p->length[ZP_PHASE_STEP] + 1, sizeof *p->last);
  if (!p->needed || !p->is_last || !p->mean || !p->last) return -1;
  zp_last_in_bucket(p->program[ZP_PHASE_STEP], p->length[ZP_PHASE_STEP], p->last);
  if (zp_last_sums(p->program[ZP_PHASE_STEP], p->length[ZP_PHASE_STEP], p->lay.n_flats, p->is_last,
                   p->mean))
    return -1;
  return zp_cuda_find_needed_records(p);
}

void zp_cuda_plan_close(zp_cuda_plan *p)
{
  for (int32_t phase = 0; phase < ZP_PHASES; phase++) free(p->program[phase]);
  free(p->needed);
  free(p->is_last);
  free(p->mean);
  free(p->last);
  free(p->counted);
  free(p->partial);
  free(p->lay.spot);
  free(p->lay.flat);
  zp_block_close(&p->block);
}

int zp_cuda_plan_invariant(const zp_cuda_plan *p, zp_error *err)
{
  ZP_INVARIANT(err, -1, p->at.pp >= 0 && p->at.pp < p->cfg->pp);
  ZP_INVARIANT(err, -1, p->at.dp >= 0 && p->at.dp < p->cfg->dp);
  ZP_INVARIANT(err, -1, p->at.tp >= 0 && p->at.tp < p->cfg->tp);
  ZP_INVARIANT(err, -1, p->block.index >= 0 && p->block.index < p->block.replicas);
  ZP_INVARIANT(err, -1, p->lay.n_flats >= 0 && p->lay.n_flats <= p->lay.cap_flats);
  for (int32_t phase = 0; phase < ZP_PHASES; phase++)
    ZP_INVARIANT(err, -1, p->program[phase] && p->length[phase] >= 0);
  return 0;
}

int64_t zp_cuda_flat_size(const zp_cuda_plan *p, int32_t i)
{
  return p->block.cfg.params[p->lay.first_param + i].numel;
}

int64_t zp_cuda_entry_bytes(const zp_cuda_plan *p, int32_t i)
{
  return zp_dtype_bytes(zp_entry_dtype(p->cfg, p->lay.first_param + i));
}

int32_t zp_cuda_value_dtype(const zp_cuda_plan *p, int32_t k)
{
  return zp_dtype_of(p->lay.flat[k].fp32, p->cfg->precision);
}

int64_t zp_cuda_value_bytes(const zp_cuda_plan *p, int32_t k)
{
  return zp_dtype_bytes(zp_cuda_value_dtype(p, k));
}

int32_t zp_cuda_gradient_dtype(const zp_cuda_plan *p, int32_t k)
{
  return zp_block_gradients(&p->block, p->lay.flat[k].fp32);
}

int64_t zp_cuda_divisor(const zp_cuda_plan *p)
{
  return p->cfg->micro_batches * p->cfg->dp;
}

int64_t zp_cuda_sum_bytes(const zp_cuda_plan *p, int32_t k)
{
  return zp_kept_sum_bytes(p->cfg->stage, p->cfg->reduce, zp_cuda_gradient_dtype(p, k));
}

char *zp_cuda_sum(const zp_cuda_plan *p, int32_t k, void *sums, int64_t at)
{
  return (char *)sums + at * zp_cuda_sum_bytes(p, k);
}
