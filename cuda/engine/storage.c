/* The SAVE and LOAD programs. They are no part of a step: the host waits for every block that it
 * copies, through pinned memory that is there meanwhile.
 *
 * A store that fails on one rank keeps nobody waiting: the rank goes on with the program's
 * communications, and the status all-reduce tells everybody. A save that failed leaves the training
 * state and the checkpoint before as they are, and steps may follow; a load that failed leaves a
 * mixture, so the engine does nothing more. spec: CKPT-1 … CKPT-5 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "engine_internal.h"

/* Elements that travel between device and store at a time: 4 MiB of fp32. */
enum { BLOCK = 1 << 20 };
/* An optimizer group's state, and a step's, travel the same way. */
_Static_assert(BLOCK * sizeof(float) >= ZP_MAX_GROUPS * sizeof(zp_group_state), "all groups");
_Static_assert(BLOCK * sizeof(float) >= sizeof(zp_step_state), "a step's state");

/* ---- Copies ---------------------------------------------------------------------------------- */

static int wait_for_copy(zp_cuda *e)
{
  ZP_TRY(zp_cuda_record(e, ZP_SITE_STORED_RECORD, e->copied_out, e->reduce));
  return zp_cuda_host_wait(e, ZP_SITE_STORED_HOST, e->copied_out, "a copy for a checkpoint");
}

/* Behind all that the reduction stream has been given: the end of the last step, too. What is
 * offloaded is pinned host memory, which copies and kernels reach like the device's. */
static int from_device(zp_cuda *e, void *to, const void *from, size_t bytes)
{
  ZP_CUDA(e, cudaMemcpyAsync(to, from, bytes, cudaMemcpyDefault, e->reduce));
  return wait_for_copy(e);
}

static int to_device(zp_cuda *e, void *to, const void *from, size_t bytes)
{
  ZP_CUDA(e, cudaMemcpyAsync(to, from, bytes, cudaMemcpyDefault, e->reduce));
  return wait_for_copy(e);
}

static float *array_of(const zp_cuda *e, int32_t k, int32_t what)
{
  const zp_cuda_flat *s = &e->flat[k];
  if (what == ZP_WHAT_MASTER) return s->master;
  return what == ZP_WHAT_MOMENT1 ? s->moment1 : s->moment2;
}

static int failed(const zp_cuda *e)
{
  return e->store_error.status != ZP_OK;
}

/* ---- Calls of the store ---------------------------------------------------------------------- */

static int32_t copy_tp(const zp_cuda *e, int32_t j)
{
  return e->cfg->params[j].sharded ? e->at.tp : 0;
}

static int32_t copy_ep(const zp_cuda *e, int32_t j)
{
  return e->cfg->params[j].expert ? e->at.dp % e->cfg->ep : 0;
}

static void put(zp_cuda *e, int32_t j, int32_t what, int64_t offset, int64_t n, const float *value)
{
  const zp_store *s = e->store;
  s->put(s->ctx, zp_name_of(e->cfg, j), copy_tp(e, j), copy_ep(e, j), what, offset, n, value,
         &e->store_error);
}

/* 0, or -1 when the store failed: nothing is to be copied then. */
static int get(zp_cuda *e, int32_t j, int32_t what, int64_t offset, int64_t n)
{
  const zp_store *s = e->store;
  return s->get(s->ctx, zp_name_of(e->cfg, j), copy_tp(e, j), copy_ep(e, j), what, offset, n,
                e->block, &e->store_error)
             ? -1
             : 0;
}

/* ---- Saving ---------------------------------------------------------------------------------- */

/* Parts of a bucket to the group's member `root`. NCCL has a gather of its own from 2.28 on. */
int zp_cuda_gather_state(zp_cuda *e, const zp_op *op)
{
  const ncclComm_t comm = zp_cuda_comm(e, op);
  const int32_t members = zp_group_size(e->cfg, op->group, op->key, e->at);
  const int32_t own = zp_group_index(e->cfg, op->group, op->key, e->at);
  const zp_range r = zp_local_range(e->cfg, &e->lay, e->at, op->flat, op->bucket);
  const size_t n = (size_t)op->count;
  const float *from = array_of(e, op->flat, op->what) + r.at;
  float *parts = e->recv;
  ncclResult_t state = ncclSuccess, ended;
  if (own == op->root || e->opt.offload) { /* NCCL sends from device memory */
    ZP_CUDA(e, cudaMemcpyAsync(parts + (size_t)own * n, from, n * sizeof *from, cudaMemcpyDefault,
                               e->reduce));
    from = parts + (size_t)own * n;
  }
  zp_cuda_issued(e, op);
  if (members == 1) return 0;
  ZP_TRY(zp_cuda_comm_begin(e, e->reduce));
  ZP_NCCL(e, ncclGroupStart());
  if (own != op->root) state = ncclSend(from, n, ncclFloat32, op->root, comm, e->reduce);
  for (int32_t m = 0; own == op->root && m < members; m++)
    if (m != own && (state == ncclSuccess || state == ncclInProgress))
      state = ncclRecv(parts + (size_t)m * n, n, ncclFloat32, m, comm, e->reduce);
  ended = ncclGroupEnd(); /* whatever happened: a group stays open else */
  ZP_NCCL(e, state);
  ZP_NCCL(e, ended);
  return zp_cuda_comm_end(e, comm, e->reduce);
}

/* One bucket of one state; at stages 1 and 2 it was gathered just before. CKPT-1 */
static int write_bucket(zp_cuda *e, const zp_op *op)
{
  const zp_range p = zp_whole_range(&e->lay.flat[op->flat], op->bucket);
  const float *from = e->cfg->stage == 0 ? array_of(e, op->flat, op->what) + p.at : e->recv;
  int32_t i = e->lay.n_params;
  for (;;) {
    const zp_piece g = zp_piece_next(e->cfg, &e->lay, op->flat, p, i);
    if (g.count == 0) return 0;
    i = g.i;
    for (int64_t at = 0; e->counts[i] && at < g.count && !failed(e); at += BLOCK) {
      const int64_t n = zp_block(g.count, at, BLOCK);
      ZP_TRY(from_device(e, e->block, from + g.in + at, (size_t)n * sizeof *from));
      put(e, g.param, op->what, g.offset + at, n, e->block);
    }
  }
}

/* A frozen entry's values, widened to fp32. CKPT-1 */
static int write_frozen(zp_cuda *e, const zp_op *op)
{
  const int64_t numel = e->cfg->params[op->param].numel, size = zp_cuda_size(e);
  const char *from = e->entry[op->param - e->lay.first_param].param;
  for (int64_t at = 0; at < numel && !failed(e); at += BLOCK) {
    const int64_t n = zp_block(numel, at, BLOCK);
    ZP_TRY(from_device(e, e->narrow, from + at * size, (size_t)(n * size)));
    zp_widen_from(e->cfg->precision, e->narrow, 0, n, e->block);
    put(e, op->param, op->what, at, n, e->block);
  }
  return 0;
}

static int seal(zp_cuda *e)
{
  zp_train_state state = {.groups = e->cfg->optgroups, .optim = e->optim};
  zp_group_state *groups = (zp_group_state *)(void *)e->block;
  if (failed(e)) return 0;
  ZP_TRY(from_device(e, groups, e->groups, (size_t)state.groups * sizeof *groups));
  for (int32_t g = 0; g < state.groups; g++) e->optim[g] = groups[g].optim;
  ZP_TRY(from_device(e, e->state_host, e->state, sizeof *e->state_host));
  state.step = e->state_host->step;
  state.scaler = e->state_host->scaler;
  e->store->finish(e->store->ctx, &state, &e->store_error);
  return 0;
}

/* ---- Loading --------------------------------------------------------------------------------- */

/* One state of flat group k; padding is zero and stays so. CKPT-3 */
static int read_flat(zp_cuda *e, int32_t k, int32_t what)
{
  for (int64_t b = 0; b < zp_buckets(&e->lay.flat[k]); b++) {
    const zp_range p = zp_local_range(e->cfg, &e->lay, e->at, k, b);
    float *into = array_of(e, k, what) + p.at;
    int32_t i = e->lay.n_params;
    for (;;) {
      const zp_piece g = zp_piece_next(e->cfg, &e->lay, k, p, i);
      if (g.count == 0) break;
      i = g.i;
      for (int64_t at = 0; at < g.count; at += BLOCK) {
        const int64_t n = zp_block(g.count, at, BLOCK);
        if (get(e, g.param, what, g.offset + at, n)) return 0;
        ZP_TRY(to_device(e, into + g.in + at, e->block, (size_t)n * sizeof *into));
      }
    }
  }
  return 0;
}

/* The whole entry, all ranks' parts: rounded masters, or a frozen entry. CKPT-3 */
static int read_param(zp_cuda *e, int32_t i)
{
  const int32_t j = e->lay.first_param + i;
  const int64_t numel = e->cfg->params[j].numel, size = zp_cuda_size(e);
  const int32_t what = e->cfg->params[j].frozen ? ZP_WHAT_PARAMETER : ZP_WHAT_MASTER;
  char *into = e->entry[i].param;
  for (int64_t at = 0; at < numel; at += BLOCK) {
    const int64_t n = zp_block(numel, at, BLOCK);
    if (get(e, j, what, at, n)) return 0;
    zp_round_to(e->cfg->precision, e->block, n, e->narrow, 0);
    ZP_TRY(to_device(e, into + at * size, e->narrow, (size_t)(n * size)));
  }
  return 0;
}

static int read_all(zp_cuda *e)
{
  e->loaded = (zp_train_state){.groups = e->cfg->optgroups, .optim = e->optim};
  if (failed(e) || e->store->state(e->store->ctx, &e->loaded, &e->store_error)) return 0;
  for (int32_t k = 0; k < e->lay.n_flats; k++)
    for (int32_t what = ZP_WHAT_MASTER; what <= ZP_WHAT_MOMENT2; what++)
      if (e->lay.flat[k].use == 0 && !failed(e)) ZP_TRY(read_flat(e, k, what));
  for (int32_t i = 0; i < e->lay.n_params && !failed(e); i++)
    if (zp_storage_of(e->cfg, &e->lay, i) == i) ZP_TRY(read_param(e, i));
  return 0;
}

/* What the last step decided stays what zp_cuda_get tells. */
static int install_state(zp_cuda *e)
{
  zp_group_state *groups = (zp_group_state *)(void *)e->block;
  const size_t bytes = (size_t)e->cfg->optgroups * sizeof *groups;
  memset(groups, 0, bytes); /* the next step that is not skipped makes the rest */
  for (int32_t g = 0; g < e->cfg->optgroups; g++) groups[g].optim = e->optim[g];
  ZP_TRY(to_device(e, e->groups, groups, bytes));
  ZP_TRY(from_device(e, e->state_host, e->state, sizeof *e->state_host));
  e->state_host->step = e->loaded.step;
  e->state_host->scaler = e->loaded.scaler;
  ZP_TRY(to_device(e, e->state, e->state_host, sizeof *e->state_host));
  e->step = e->heard = e->loaded.step; /* the host has seen the copies end, and all before them */
  return 0;
}

/* ---- Agreement ------------------------------------------------------------------------------- */

/* Everybody knows of the failure: communicators are sound, and nobody has to be told. */
static int agree_on_failure(zp_cuda *e, int64_t others)
{
  const int load = e->phase == ZP_PHASE_LOAD;
  zp_cuda_error *to = load ? &e->err : &e->unsaved;
  const char *left = load ? "what was being loaded is incomplete, so the run must end"
                          : "the training state and the checkpoint before are unchanged";
  e->agreed = load;
  if (failed(e)) zp_cuda_say(e, to, ZP_CUDA_E_STORE, "%s; %s", e->store_error.text, left);
  else
    zp_cuda_say(e, to, ZP_CUDA_E_PEER, "the checkpoint failed on %lld other rank(s); %s",
                (long long)others, left);
  return -1;
}

/* CKPT-2. Between steps nobody else needs the statistics' first element. */
int zp_cuda_agree(zp_cuda *e, const zp_op *op)
{
  const ncclComm_t comm = zp_cuda_comm(e, op);
  *e->status_host = failed(e);
  ZP_TRY(to_device(e, e->stats, e->status_host, sizeof *e->stats));
  ZP_TRY(zp_cuda_comm_begin(e, e->reduce));
  ZP_NCCL(
      e, ncclAllReduce(e->stats, e->stats, (size_t)op->count, ncclInt64, ncclSum, comm, e->reduce));
  ZP_TRY(zp_cuda_comm_end(e, comm, e->reduce));
  zp_cuda_issued(e, op);
  ZP_TRY(from_device(e, e->status_host, e->stats, sizeof *e->stats));
  return *e->status_host == 0 ? 0 : agree_on_failure(e, *e->status_host);
}

/* ---- The programs ---------------------------------------------------------------------------- */

int zp_cuda_storage(zp_cuda *e, const zp_op *op)
{
  switch (op->kind) {
  case ZP_OP_WRITE:
    if (failed(e)) return 0;
    return op->flat >= 0 ? write_bucket(e, op) : write_frozen(e, op);
  case ZP_OP_SEAL: return seal(e);
  case ZP_OP_READ: return read_all(e);
  case ZP_OP_INSTALL: return install_state(e);
  default: /* COMMIT */
    if (e->opt.rank == 0) e->store->commit(e->store->ctx, &e->store_error);
    return 0;
  }
}

/* A rank without memory takes part, as one whose store fails. */
static void open_blocks(zp_cuda *e)
{
  e->optim = calloc((size_t)e->cfg->optgroups, sizeof *e->optim);
  if (e->optim && cudaMallocHost((void **)&e->block, BLOCK * sizeof(float)) == cudaSuccess &&
      cudaMallocHost(&e->narrow, BLOCK * sizeof(float)) == cudaSuccess)
    return;
  e->store_error.status = ZP_E_MEMORY;
  snprintf(e->store_error.text, sizeof e->store_error.text, "no host memory for a checkpoint");
}

void zp_cuda_close_blocks(zp_cuda *e)
{
  if (e->block) cudaFreeHost(e->block);
  if (e->narrow) cudaFreeHost(e->narrow);
  free(e->optim);
  e->block = NULL;
  e->narrow = NULL;
  e->optim = NULL;
}

static int run_storage(zp_cuda *e, int32_t phase, zp_store *store)
{
  int status = 0;
  zp_cuda_enter(e);
  if (!e->err.status) {
    memset(&e->store_error, 0, sizeof e->store_error);
    memset(&e->unsaved, 0, sizeof e->unsaved);
    e->store = store;
    open_blocks(e);
    if (zp_cuda_run(e, phase)) status = e->unsaved.status;
    /* after another error a copy may be queued still: closing waits for it */
    if (!e->err.status || e->agreed) zp_cuda_close_blocks(e);
  }
  if (e->err.status) status = e->err.status;
  zp_cuda_leave(e);
  return status;
}

int zp_cuda_save(zp_cuda *e, zp_store *store)
{
  return run_storage(e, ZP_PHASE_SAVE, store);
}

int zp_cuda_load(zp_cuda *e, zp_store *store)
{
  return run_storage(e, ZP_PHASE_LOAD, store);
}
