/* Local ops around checkpoints, and visits to what a rank owns. spec: CKPT-1 … CKPT-5, STEP-7 */
#include <string.h>

#include "rank_internal.h"

/* One bucket of one state; at stages 1 and 2 it was gathered just before. CKPT-1 */
static void write_bucket(zp_rank *r, const zp_op *op)
{
  const zp_range p = zp_whole_range(&r->lay.flat[op->flat], op->bucket);
  const float *from =
      r->cfg->stage == 0 ? zp_held_of(r, op->flat, op->bucket, op->what) : r->scratch_recv;
  int32_t i = r->lay.n_params;
  zp_piece g;
  while (zp_next_piece(r, op->flat, p, &i, &g)) {
    if (!r->counts[g.i]) continue;
    if (r->store->put(r->store->ctx, zp_name_of(r->cfg, g.param), zp_copy_tp(r, g.param),
                      zp_copy_ep(r, g.param), op->what, g.offset, g.count, from + g.in,
                      &r->store_error))
      return;
  }
}

/* A frozen entry's values, widened to fp32 block by block. CKPT-1 */
static void write_frozen(zp_rank *r, const zp_op *op)
{
  const int64_t numel = r->cfg->params[op->param].numel;
  const void *from = r->param[op->param - r->lay.first_param];
  float block[1024];
  for (int64_t at = 0; at < numel; at += 1024) {
    const int64_t n = zp_block(numel, at, 1024);
    zp_widen_from(zp_entry_dtype(r->cfg, op->param), from, at, n, block);
    if (r->store->put(r->store->ctx, zp_name_of(r->cfg, op->param), zp_copy_tp(r, op->param),
                      zp_copy_ep(r, op->param), op->what, at, n, block, &r->store_error))
      return;
  }
}

static void run_write(zp_rank *r, const zp_op *op)
{
  if (r->block.index != 0) return;            /* block 0 writes. CKPT-1 */
  if (r->store_error.status != ZP_OK) return; /* reported by the status all-reduce */
  if (op->flat >= 0) write_bucket(r, op);
  else write_frozen(r, op);
}

/* Reads one state of flat group k into `into` (extent); padding stays zero. CKPT-3 */
static int read_flat(zp_rank *r, int32_t k, int32_t what, float *into)
{
  for (int64_t b = 0; b < zp_buckets(&r->lay.flat[k]); b++) {
    const zp_range p = zp_rank_range(r, k, b);
    int32_t i = r->lay.n_params;
    zp_piece g;
    while (zp_next_piece(r, k, p, &i, &g))
      if (r->store->get(r->store->ctx, zp_name_of(r->cfg, g.param), zp_copy_tp(r, g.param),
                        zp_copy_ep(r, g.param), what, g.offset, g.count, into + p.at + g.in,
                        &r->store_error))
        return -1;
  }
  return 0;
}

/* The whole entry (all ranks' parts) as parameters: rounded masters, or a frozen entry. CKPT-3 */
static int read_param(zp_rank *r, int32_t i)
{
  const int32_t j = r->lay.first_param + i;
  const int64_t numel = r->cfg->params[j].numel;
  const int32_t what = r->cfg->params[j].frozen ? ZP_WHAT_PARAMETER : ZP_WHAT_MASTER;
  float block[1024];
  for (int64_t at = 0; at < numel; at += 1024) {
    const int64_t n = zp_block(numel, at, 1024);
    if (r->store->get(r->store->ctx, zp_name_of(r->cfg, j), zp_copy_tp(r, j), zp_copy_ep(r, j),
                      what, at, n, block, &r->store_error))
      return -1;
    zp_round_to(zp_entry_dtype(r->cfg, j), block, n, r->param[i], at);
  }
  return 0;
}

/* A failed load ends the run, so what it read may go straight to its place. CKPT-4 */
static void run_read(zp_rank *r)
{
  memset(&r->store_error, 0, sizeof r->store_error);
  r->loaded.groups = r->cfg->optgroups;
  if (r->store->state(r->store->ctx, &r->loaded, &r->store_error)) return;
  for (int32_t k = 0; k < r->lay.n_flats; k++) {
    if (r->lay.flat[k].use != 0) continue;
    if (read_flat(r, k, ZP_WHAT_MASTER, r->flat[k].master)) return;
    if (read_flat(r, k, ZP_WHAT_MOMENT1, r->flat[k].moment1)) return;
    if (read_flat(r, k, ZP_WHAT_MOMENT2, r->flat[k].moment2)) return;
  }
  for (int32_t i = 0; i < r->lay.n_params; i++)
    if (zp_storage_of(r->cfg, &r->lay, i) == i && read_param(r, i)) return;
}

/* Masters start as the (broadcast) parameters. STEP-7 */
static void masters_from_params(zp_rank *r)
{
  for (int32_t k = 0; k < r->lay.n_flats; k++) {
    const int64_t buckets = r->lay.flat[k].use == 0 ? zp_buckets(&r->lay.flat[k]) : 0;
    for (int64_t b = 0; b < buckets; b++) {
      const zp_range p = zp_rank_range(r, k, b);
      int32_t i = r->lay.n_params;
      zp_piece g;
      while (zp_next_piece(r, k, p, &i, &g))
        zp_widen_from(zp_entry_dtype(r->cfg, g.param), r->param[g.i], g.offset, g.count,
                      r->flat[k].master + p.at + g.in);
    }
  }
}

static void run_install(zp_rank *r, const zp_op *op)
{
  if (op->what == ZP_WHAT_MASTER) {
    masters_from_params(r);
    return;
  }
  r->step = r->loaded.step;
  r->scaler = r->loaded.scaler;
  memcpy(r->optim, r->loaded.optim, (size_t)r->cfg->optgroups * sizeof *r->optim);
}

/* CKPT-2 */
static void run_seal(zp_rank *r)
{
  const zp_train_state state = {r->step, r->scaler, r->cfg->optgroups, r->optim};
  if (r->store_error.status == ZP_OK) r->store->finish(r->store->ctx, &state, &r->store_error);
}

int zp_rank_storage(zp_rank *r, const zp_op *op)
{
  switch (op->kind) {
  case ZP_OP_WRITE: run_write(r, op); break;
  case ZP_OP_SEAL: run_seal(r); break;
  case ZP_OP_READ: run_read(r); break;
  case ZP_OP_INSTALL: run_install(r, op); break;
  default: /* COMMIT */
    if (r->rank == 0) r->store->commit(r->store->ctx, &r->store_error);
  }
  return 0;
}

void zp_rank_visit(const zp_rank *r, int32_t what, zp_visit visit, void *ctx)
{
  for (int32_t k = 0; r->block.index == 0 && k < r->lay.n_flats; k++) {
    const zp_flat *f = &r->lay.flat[k];
    const int64_t buckets = f->use == 0 ? zp_buckets(f) : 0;
    for (int64_t b = 0; b < buckets; b++) {
      const zp_range p = zp_rank_owned(r, k, b);
      const float *held = zp_held_of(r, k, b, what) + (p.at - zp_rank_range(r, k, b).at);
      int32_t i = r->lay.n_params;
      zp_piece g;
      while (zp_next_piece(r, k, p, &i, &g))
        if (r->counts[g.i]) visit(ctx, zp_name_of(r->cfg, g.param), g.offset, g.count, held + g.in);
    }
  }
}
