/* spec: CKPT-1 … CKPT-5 */
#include "checkpoint.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../../ref/base/invariant.h"
#include "../../../ref/engine/window.h"
#include "../comm/collectives.h"
#include "../comm/host_wait.h"
#include "../device/launch.h"
#include "../device/runs.h"
#include "../device/trace.h"

/* Elements that travel between device and store at a time: 4 MiB of fp32. */
enum { BLOCK = 1 << 20 };
/* An optimizer group's state, and a step's, travel the same way. */
_Static_assert(BLOCK * sizeof(float) >= ZP_MAX_GROUPS * sizeof(zp_group_state), "all groups");
_Static_assert(BLOCK * sizeof(float) >= sizeof(zp_step_state), "a step's state");

/* ---- Copies ---------------------------------------------------------------------------------- */

int zp_cuda_checkpoint_copy(const zp_cuda_checkpoint *c, void *to, const void *from, size_t bytes)
{
  zp_cuda_rank *r = c->r;
  const cudaEvent_t copied = c->memory->copied_out;
  ZP_CUDA(r, cudaMemcpyAsync(to, from, bytes, cudaMemcpyDefault, r->reduce));
  ZP_TRY(zp_cuda_record(r, ZP_SYNC_STORED_RECORD, copied, r->reduce));
  return zp_cuda_host_wait(c->comms, ZP_SYNC_STORED_HOST, copied, "a copy of state");
}

static int failed(const zp_cuda_checkpoint *c)
{
  return c->store_error.status != ZP_OK;
}

/* ---- Calls of the store ---------------------------------------------------------------------- */

static int32_t copy_tp(const zp_cuda_plan *p, int32_t j)
{
  return p->cfg->params[j].sharded ? p->at.tp : 0;
}

static int32_t copy_ep(const zp_cuda_plan *p, int32_t j)
{
  return p->cfg->params[j].expert ? p->at.dp % p->cfg->ep : 0;
}

static void put(zp_cuda_checkpoint *c, int32_t j, int32_t what, int64_t offset, int64_t n,
                const float *value)
{
  const zp_store *s = c->store;
  const zp_cuda_plan *p = &c->r->plan;
  s->put(s->ctx, zp_name_of(p->cfg, j), copy_tp(p, j), copy_ep(p, j), what, offset, n, value,
         &c->store_error);
}

/* 0, or -1 when the store failed: then there is nothing to copy. */
static int get(zp_cuda_checkpoint *c, int32_t j, int32_t what, int64_t offset, int64_t n)
{
  const zp_store *s = c->store;
  const zp_cuda_plan *p = &c->r->plan;
  return s->get(s->ctx, zp_name_of(p->cfg, j), copy_tp(p, j), copy_ep(p, j), what, offset, n,
                c->block, &c->store_error)
             ? -1
             : 0;
}

/* ---- Saving ---------------------------------------------------------------------------------- */

int zp_cuda_checkpoint_gather(const zp_cuda_checkpoint *c, const zp_op *op)
{
  zp_cuda_rank *r = c->r;
  const zp_cuda_plan *p = &r->plan;
  const int32_t own = zp_block_group_index(&p->block, op->group, op->key);
  const zp_range range = zp_local_range(&p->block.cfg, &p->lay, p->block.at, op->flat, op->bucket);
  const size_t n = (size_t)op->count;
  const float *from = zp_cuda_state_array(c->buffers, op->flat, op->what) + range.at;
  float *parts = c->buffers->recv;
  if (c->sealing) return 0;
  if (own == op->root || r->opt.offload) { /* NCCL sends from device memory */
    ZP_CUDA(r, cudaMemcpyAsync(parts + (size_t)own * n, from, n * sizeof *from, cudaMemcpyDefault,
                               r->reduce));
    from = parts + (size_t)own * n;
  }
  zp_cuda_issued(r, op);
  return zp_cuda_gather_parts(c->comms, op, from, parts, op->count, ZP_F32);
}

/* One bucket of one state; at stages 1 and 2 it was gathered just before. CKPT-1 */
static int write_bucket(zp_cuda_checkpoint *c, const zp_op *op)
{
  const zp_cuda_plan *p = &c->r->plan;
  const zp_range w = zp_whole_range(&p->lay.flat[op->flat], op->bucket);
  const float *from = c->buffers->recv;
  int32_t i = p->lay.n_params;
  if (p->cfg->stage == 0) from = zp_cuda_state_array(c->buffers, op->flat, op->what) + w.at;
  for (;;) {
    const zp_piece g = zp_cuda_next_piece(p, op->flat, w, i);
    if (g.count == 0) return 0;
    i = g.i;
    for (int64_t at = 0; p->counted[i] && at < g.count && !failed(c); at += BLOCK) {
      const int64_t n = zp_block(g.count, at, BLOCK);
      ZP_TRY(zp_cuda_checkpoint_copy(c, c->block, from + g.in + at, (size_t)n * sizeof *from));
      put(c, g.param, op->what, g.offset + at, n, c->block);
    }
  }
}

/* A frozen entry's values, widened to fp32. CKPT-1 */
static int write_frozen(zp_cuda_checkpoint *c, const zp_op *op)
{
  const zp_cuda_plan *p = &c->r->plan;
  const int32_t dtype = zp_entry_dtype(p->cfg, op->param);
  const int64_t numel = p->cfg->params[op->param].numel, size = zp_dtype_bytes(dtype);
  const char *from = c->buffers->param[op->param - p->lay.first_param];
  for (int64_t at = 0; at < numel && !failed(c); at += BLOCK) {
    const int64_t n = zp_block(numel, at, BLOCK);
    ZP_TRY(zp_cuda_checkpoint_copy(c, c->narrow, from + at * size, (size_t)(n * size)));
    zp_widen_from(dtype, c->narrow, 0, n, c->block);
    put(c, op->param, op->what, at, n, c->block);
  }
  return 0;
}

static int seal(zp_cuda_checkpoint *c)
{
  const zp_cuda_step_memory *m = c->memory;
  zp_train_state state = {.groups = c->r->plan.cfg->optgroups, .optim = c->optim};
  zp_group_state *groups = (zp_group_state *)(void *)c->block;
  if (failed(c)) return 0;
  ZP_TRY(zp_cuda_checkpoint_copy(c, groups, m->groups, (size_t)state.groups * sizeof *groups));
  for (int32_t g = 0; g < state.groups; g++) c->optim[g] = groups[g].optim;
  ZP_TRY(zp_cuda_checkpoint_copy(c, m->state_host, m->state, sizeof *m->state_host));
  ZP_TRY(zp_cuda_check_hyper(c->r, c->r->progress.host.step - 1)); /* the last step was none */
  state.step = m->state_host->step;
  state.scaler = m->state_host->scaler;
  c->store->finish(c->store->ctx, &state, &c->store_error);
  return 0;
}

/* ---- Loading --------------------------------------------------------------------------------- */

/* One state of flat group k; padding is zero and stays so. CKPT-3 */
static int read_flat(zp_cuda_checkpoint *c, int32_t k, int32_t what)
{
  const zp_cuda_plan *p = &c->r->plan;
  for (int64_t b = 0; b < zp_buckets(&p->lay.flat[k]); b++) {
    const zp_range range = zp_local_range(&p->block.cfg, &p->lay, p->block.at, k, b);
    float *into = zp_cuda_state_array(c->buffers, k, what) + range.at;
    int32_t i = p->lay.n_params;
    for (;;) {
      const zp_piece g = zp_cuda_next_piece(p, k, range, i);
      if (g.count == 0) break;
      i = g.i;
      for (int64_t at = 0; at < g.count; at += BLOCK) {
        const int64_t n = zp_block(g.count, at, BLOCK);
        if (get(c, g.param, what, g.offset + at, n)) return 0;
        ZP_TRY(zp_cuda_checkpoint_copy(c, into + g.in + at, c->block, (size_t)n * sizeof *into));
      }
    }
  }
  return 0;
}

/* The whole entry, all ranks' parts: rounded masters, or a frozen entry. CKPT-3 */
static int read_param(zp_cuda_checkpoint *c, int32_t i)
{
  const zp_cuda_plan *p = &c->r->plan;
  const int32_t j = p->lay.first_param + i, dtype = zp_entry_dtype(p->cfg, j);
  const int64_t numel = p->cfg->params[j].numel, size = zp_dtype_bytes(dtype);
  const int32_t what = p->cfg->params[j].frozen ? ZP_WHAT_PARAMETER : ZP_WHAT_MASTER;
  char *into = c->buffers->param[i];
  for (int64_t at = 0; at < numel; at += BLOCK) {
    const int64_t n = zp_block(numel, at, BLOCK);
    if (get(c, j, what, at, n)) return 0;
    zp_round_to(dtype, c->block, n, c->narrow, 0);
    ZP_TRY(zp_cuda_checkpoint_copy(c, into + at * size, c->narrow, (size_t)(n * size)));
  }
  return 0;
}

static int read_all(zp_cuda_checkpoint *c)
{
  const zp_cuda_plan *p = &c->r->plan;
  c->loaded = (zp_train_state){.groups = p->cfg->optgroups, .optim = c->optim};
  if (failed(c) || c->store->state(c->store->ctx, &c->loaded, &c->store_error)) return 0;
  for (int32_t k = 0; k < p->lay.n_flats; k++)
    for (int32_t what = ZP_WHAT_MASTER; what <= ZP_WHAT_MOMENT2; what++)
      if (p->lay.flat[k].use == 0 && !failed(c)) ZP_TRY(read_flat(c, k, what));
  for (int32_t i = 0; i < p->lay.n_params && !failed(c); i++)
    if (zp_storage_of(p->cfg, &p->lay, i) == i) ZP_TRY(read_param(c, i));
  return 0;
}

/* zp_cuda_get still reports the decision of the last step that ran. */
static int install_state(zp_cuda_checkpoint *c)
{
  const zp_cuda_step_memory *m = c->memory;
  const int32_t optgroups = c->r->plan.cfg->optgroups;
  zp_group_state *groups = (zp_group_state *)(void *)c->block;
  const size_t bytes = (size_t)optgroups * sizeof *groups;
  memset(groups, 0, bytes); /* the next step that is not skipped computes the rest */
  for (int32_t g = 0; g < optgroups; g++) groups[g].optim = c->optim[g];
  ZP_TRY(zp_cuda_checkpoint_copy(c, m->groups, groups, bytes));
  ZP_TRY(zp_cuda_checkpoint_copy(c, m->state_host, m->state, sizeof *m->state_host));
  m->state_host->step = c->loaded.step;
  m->state_host->scaler = c->loaded.scaler;
  ZP_TRY(zp_cuda_checkpoint_copy(c, m->state, m->state_host, sizeof *m->state_host));
  c->r->progress.host.step = c->loaded.step;
  return 0;
}

/* ---- Agreement ------------------------------------------------------------------------------- */

/* All ranks know of the failure, and the communicators are intact: no alarm is needed. */
static int agree_on_failure(zp_cuda_checkpoint *c, int64_t others)
{
  const int load = c->r->progress.host.cursor.phase == ZP_PHASE_LOAD;
  zp_error *to = load ? &c->r->failure.first : &c->unsaved;
  const char *left = load ? "what was being loaded is incomplete, so the run must end"
                          : "the training state and the checkpoint before are unchanged";
  c->r->failure.agreed = load;
  if (failed(c)) zp_cuda_set_error(c->r, to, ZP_E_FILE, "%s; %s", c->store_error.text, left);
  else
    zp_cuda_set_error(c->r, to, ZP_E_PEER, "the checkpoint failed on %lld other rank(s); %s",
                      (long long)others, left);
  return -1;
}

/* CKPT-2. Between steps nothing else uses the first statistic. */
int zp_cuda_checkpoint_agree(zp_cuda_checkpoint *c, const zp_op *op)
{
  int64_t *status = c->memory->status_host, *stats = c->memory->stats;
  *status = failed(c);
  ZP_TRY(zp_cuda_checkpoint_copy(c, stats, status, sizeof *stats));
  ZP_TRY(zp_cuda_all_reduce(c->comms, op, stats, stats, op->count, ZP_I64));
  zp_cuda_issued(c->r, op);
  ZP_TRY(zp_cuda_checkpoint_copy(c, status, stats, sizeof *stats));
  return *status == 0 ? 0 : agree_on_failure(c, *status);
}

/* ---- The programs ---------------------------------------------------------------------------- */

int zp_cuda_checkpoint_op(zp_cuda_checkpoint *c, const zp_op *op)
{
  switch (op->kind) {
  case ZP_OP_WRITE:
    if (failed(c) || c->sealing || c->r->plan.block.index != 0) return 0; /* block 0 writes */
    return op->flat >= 0 ? write_bucket(c, op) : write_frozen(c, op);
  case ZP_OP_SEAL: return seal(c);
  case ZP_OP_READ: return read_all(c);
  case ZP_OP_INSTALL: return install_state(c);
  default: /* COMMIT */
    if (c->r->opt.rank == 0) c->store->commit(c->store->ctx, &c->store_error);
    return 0;
  }
}

/* A rank without memory takes part, as one whose store fails. */
void zp_cuda_checkpoint_begin(zp_cuda_checkpoint *c, zp_store *store, int32_t sealing)
{
  memset(&c->store_error, 0, sizeof c->store_error);
  memset(&c->unsaved, 0, sizeof c->unsaved);
  c->store = store;
  c->sealing = sealing;
  c->optim = calloc((size_t)c->r->plan.cfg->optgroups, sizeof *c->optim);
  if (c->optim && cudaMallocHost((void **)&c->block, BLOCK * sizeof(float)) == cudaSuccess &&
      cudaMallocHost(&c->narrow, BLOCK * sizeof(float)) == cudaSuccess)
    return;
  c->store_error.status = ZP_E_MEMORY;
  snprintf(c->store_error.text, sizeof c->store_error.text, "no host memory for a checkpoint");
}

void zp_cuda_checkpoint_end(zp_cuda_checkpoint *c)
{
  if (c->block) cudaFreeHost(c->block);
  if (c->narrow) cudaFreeHost(c->narrow);
  free(c->optim);
  c->block = NULL;
  c->narrow = NULL;
  c->optim = NULL;
}

int zp_cuda_checkpoint_invariant(const zp_cuda_checkpoint *c, zp_error *err)
{
  ZP_INVARIANT(err, -1, c->unsaved.status <= ZP_OK);
  ZP_INVARIANT(err, -1, c->store_error.status <= ZP_OK);
  ZP_INVARIANT(err, -1, zp_cuda_has_failed(c->r) || (!c->optim && !c->block && !c->narrow));
  return 0;
}
