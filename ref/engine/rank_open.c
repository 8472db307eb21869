/* A rank's memory: everything is laid out in one block at opening; a step allocates nothing. */
#include <stdlib.h>
#include <string.h>

#include "../num/half.h"
#include "bucket_slots.h"
#include "count.h"
#include "log.h"
#include "partial.h"
#include "rank_internal.h"
#include "rank_program.h"

/* One block for all arrays: first a pass that measures (base NULL), then one that hands out. */
typedef struct zp_arena {
  char *base;
  int64_t used;
  int32_t too_large; /* 1: the sizes do not fit a size_t (a program may have 2^60 ops) */
} zp_arena;

static void *take(zp_arena *a, int64_t count, int64_t bytes)
{
  const int64_t end = zp_arena_next(a->used, count, bytes);
  void *p = a->base ? a->base + a->used : NULL;
  if (end < 0) {
    a->too_large = 1;
    return NULL;
  }
  a->used = end;
  return p;
}

/* The buffers of flat group k. */
static void lay_flat(zp_rank *r, zp_arena *a, int32_t k)
{
  const zp_config *cfg = r->cfg;
  const zp_flat *f = &r->lay.flat[k];
  const int64_t sum = zp_kept_sum_bytes(cfg->stage, cfg->reduce, zp_gradients_of(r, k));
  zp_flat_state s;
  memset(&s, 0, sizeof s);
  s.extent = zp_extent(f, cfg->stage);
  if (cfg->stage < 2) s.window = take(a, zp_padded(f), sum);
  if (cfg->stage == 2) s.reduced = take(a, s.extent, sum);
  if (f->use == 0) {
    if (cfg->reduce == ZP_EXACT && cfg->stage < 2) s.mean = take(a, s.extent, 4);
    s.master = take(a, s.extent, 4);
    s.moment1 = take(a, s.extent, 4);
    s.moment2 = take(a, s.extent, 4);
  }
  if (a->base) r->flat[k] = s;
}

/* Parameters, with the padding after them, and the tables by entry. */
static void lay_params(zp_rank *r, zp_arena *a)
{
  const int32_t n = r->lay.n_params, first = r->lay.first_param;
  r->param = take(a, n, sizeof *r->param);
  r->arrived = take(a, n, sizeof *r->arrived);
  r->used = take(a, n, 1);
  r->counts = take(a, n, 1);
  r->all_params = take(a, r->cfg->n_params, sizeof *r->all_params);
  for (int32_t i = n - 1; i >= 0; i--) {
    const int32_t h = zp_storage_of(r->cfg, &r->lay, i);
    void *p = NULL;
    if (h == i)
      p = take(a, r->block.cfg.params[first + i].numel,
               zp_dtype_bytes(zp_entry_dtype(r->cfg, first + i)));
    if (!a->base) continue;
    r->param[i] = h == i ? p : r->param[h];
    r->all_params[first + i] = r->param[i];
  }
}

/* Everything whose size depends on the layout. */
static void lay_arrays(zp_rank *r, zp_arena *a)
{
  const zp_scratch scratch = zp_scratch_need(r->cfg, &r->lay);
  for (int32_t phase = 0; phase < ZP_PHASES; phase++) {
    r->length[phase] = zp_rank_program_need(&r->block, &r->lay, phase);
    r->program[phase] = take(a, r->length[phase], sizeof(zp_op));
  }
  lay_params(r, a);
  r->flat = take(a, r->lay.n_flats, sizeof *r->flat);
  for (int32_t k = 0; k < r->lay.n_flats; k++) lay_flat(r, a, k);
  r->scratch_send = take(a, scratch.send, 1);
  r->scratch_recv = take(a, scratch.recv, 1);
  r->partial = take(a, zp_partial_bytes(r->cfg, &r->lay), 1);
  r->slot = take(a, r->slots, sizeof *r->slot);
  for (int32_t i = 0; i < r->slots; i++) {
    void *slot = take(a, zp_slot_bytes(r->cfg, &r->lay, r->block.fp32_gradients), 1);
    if (a->base) r->slot[i] = slot;
  }
  r->act_in = take(a, r->act_slots, sizeof *r->act_in);
  r->act_in_mem = take(a, (int64_t)r->act_slots * ZP_MSG_TENSORS, sizeof *r->act_in_mem);
  r->tied_ledger = take(a, r->cfg->tied_keys, sizeof *r->tied_ledger);
  r->optim = take(a, r->cfg->optgroups, sizeof *r->optim);
  r->loaded.optim = take(a, r->cfg->optgroups, sizeof *r->loaded.optim);
}

/* Is this rank the one whose first values of entry j are broadcast to all others? LEDG-5 */
static int first_values(const zp_rank *r, int32_t j)
{
  const zp_param *p = &r->cfg->params[j];
  const int32_t group = p->expert ? ZP_GROUP_EDP : ZP_GROUP_DP;
  if (r->block.index != 0 || zp_block_group_index(&r->block, group, -1) != 0) return 0;
  if (!p->sharded && r->at.tp != 0) return 0;
  return p->tied < 0 || zp_tied_first_stage(r->cfg, p->tied) == r->at.pp;
}

/* First values where this rank is their source; zeros elsewhere, until the broadcast. */
static int init_params(zp_rank *r)
{
  float *value = malloc((size_t)zp_most_numel(r->cfg, &r->lay) * sizeof *value);
  if (!value) return -1;
  for (int32_t i = 0; i < r->lay.n_params; i++) {
    const int32_t j = r->lay.first_param + i;
    if (zp_storage_of(r->cfg, &r->lay, i) != i || !first_values(r, j)) continue;
    r->work->init(r->work->ctx, r->cfg, j, zp_copy_tp(r, j), zp_copy_ep(r, j), value);
    zp_round_to(zp_entry_dtype(r->cfg, j), value, r->cfg->params[j].numel, r->param[i], 0);
  }
  free(value);
  return 0;
}

static int open_arrays(zp_rank *r)
{
  zp_arena a = {NULL, 0, 0};
  zp_spot *spot;
  int32_t first, count;
  zp_stage_params(r->cfg, r->at.pp, &first, &count);
  /* the layout's own arrays come first: all other sizes follow from it */
  spot = calloc((size_t)count + 1, sizeof *spot + sizeof(zp_flat));
  if (!spot) return -1;
  r->lay.spot = spot;
  r->lay.flat = (zp_flat *)(void *)(spot + count + 1);
  r->lay.cap_spots = r->lay.cap_flats = count;
  if (zp_block_align(&r->block, zp_entry_align(r->hyper->entry_align, r->cfg->precision)))
    return -1;
  r->block.slots = r->hyper->slots;
  r->block.fp32_gradients = r->hyper->fp32_gradients;
  if (zp_layout_build(&r->block.cfg, r->at.pp, &r->lay)) return -1;
  r->slots = r->cfg->stage == 2 ? zp_slot_count(&r->block.cfg, &r->lay, r->hyper->slots) : 0;
  r->act_slots = (int32_t)zp_alive(r->cfg->pp, r->cfg->micro_batches, r->at.pp);
  lay_arrays(r, &a);
  a.base = r->arena = a.too_large ? NULL : calloc(1, (size_t)a.used + 64);
  if (!a.base) return -1;
  a.used = 0;
  lay_arrays(r, &a);
  zp_counted_entries(r->cfg, &r->lay, r->at.tp, r->counts);
  for (int32_t phase = 0; phase < ZP_PHASES; phase++)
    if (zp_rank_program_write(&r->block, &r->lay, phase, r->program[phase], r->length[phase]) < 0)
      return -1;
  return 0;
}

zp_rank *zp_rank_open(const zp_config *cfg, const zp_hyper *hyper, const zp_workload *work,
                      int32_t rank, zp_error *err)
{
  zp_rank *r = calloc(1, sizeof *r);
  zp_place_of where;
  int failed = !r;
  if (r) {
    r->cfg = cfg;
    r->hyper = hyper;
    r->work = work;
    r->rank = rank;
    r->err = err;
    r->at = zp_coord_of(cfg, rank);
    r->block = zp_block_of(cfg, zp_replicas(hyper), rank);
    r->log_topics = zp_log_open("ref", rank).topics;
    r->scaler = hyper->scaler;
    failed = open_arrays(r);
  }
  if (!failed) {
    for (int32_t g = 0; g < cfg->optgroups; g++) zp_optim_state_init(&r->optim[g]);
    where.first_stage = where.last_stage = r->at.pp;
    where.dp_index = r->at.dp;
    where.tp_index = r->at.tp;
    failed = init_params(r) || work->open(work->ctx, cfg, where, r->all_params, &r->inst);
  }
  if (!failed) return r;
  zp_fail(err, ZP_E_MEMORY, rank,
          "rank %d: not enough memory for its parameters and state, or its workload could not "
          "be opened",
          rank);
  zp_rank_close(r);
  return NULL;
}

static void free_buffers(zp_buffer *b, int32_t n)
{
  for (int32_t i = 0; i < n; i++) free(b[i].data);
}

void zp_rank_close(zp_rank *r)
{
  if (!r) return;
  if (r->inst) r->work->close(r->inst);
  if (r->act_in_mem) free_buffers(r->act_in_mem, r->act_slots * ZP_MSG_TENSORS);
  free_buffers(r->act_out_mem, ZP_MSG_TENSORS);
  free_buffers(r->grad_in_mem, ZP_MSG_TENSORS);
  free_buffers(r->grad_out_mem, ZP_MSG_TENSORS);
  free(r->arena);
  free(r->lay.spot);
  zp_block_close(&r->block);
  free(r);
}

int zp_buffer_need(zp_buffer *b, int64_t bytes)
{
  void *p;
  if (bytes <= b->bytes && b->data) return 0;
  p = realloc(b->data, bytes > 0 ? (size_t)bytes : 1);
  if (!p) return -1;
  b->data = p;
  b->bytes = bytes;
  return 0;
}

void zp_round_to(int32_t dtype, const float *x, int64_t n, void *out, int64_t at)
{
  if (dtype == ZP_F32) {
    memcpy((float *)out + at, x, (size_t)n * sizeof *x);
    return;
  }
  uint16_t *h = (uint16_t *)out + at;
  for (int64_t i = 0; i < n; i++) {
    uint32_t bits;
    memcpy(&bits, &x[i], sizeof bits);
    h[i] = dtype == ZP_BF16 ? zp_bf16_from_f32(bits) : zp_f16_from_f32(bits);
  }
}

void zp_widen_from(int32_t dtype, const void *x, int64_t at, int64_t n, float *out)
{
  if (dtype == ZP_F32) {
    memcpy(out, (const float *)x + at, (size_t)n * sizeof *out);
    return;
  }
  const uint16_t *h = (const uint16_t *)x + at;
  for (int64_t i = 0; i < n; i++) {
    const uint32_t bits = dtype == ZP_BF16 ? zp_f32_from_bf16(h[i]) : zp_f32_from_f16(h[i]);
    memcpy(&out[i], &bits, sizeof bits);
  }
}
