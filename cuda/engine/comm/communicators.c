/* spec: LEDG-4, LEDG-7 */
#include "communicators.h"

#include <stdlib.h>
#include <string.h>

#include "../../../ref/base/invariant.h"
#include "host_wait.h"

int zp_cuda_comms_open(zp_cuda_comms *c, zp_cuda_rank *r)
{
  c->r = c->order.r = r;
  c->tied = calloc((size_t)r->plan.cfg->tied_keys + 1, sizeof(ncclComm_t));
  return c->tied ? 0 : zp_cuda_fail(r, ZP_E_MEMORY, "no host memory for the communicators");
}

int zp_cuda_comms_connect(zp_cuda_comms *c)
{
  zp_cuda_rank *r = c->r;
  const zp_cuda_options *o = &r->opt;
  ncclComm_t *world = &c->group[ZP_GROUP_WORLD];
  ncclConfig_t config = NCCL_CONFIG_INITIALIZER;
  ncclUniqueId id;
  memset(&id, 0, sizeof id);
  if (o->rank == 0) ZP_NCCL(r, ncclGetUniqueId(&id));
  if (o->exchange(o->exchange_ctx, o->rank, &id, sizeof id))
    return zp_cuda_fail(r, ZP_E_PEER,
                        "options.exchange failed to copy the id of the world's communicator");
  config.blocking = 0;
  config.commName = "world";
  ZP_NCCL(r, ncclCommInitRankConfig(world, zp_world(o->cfg), id, o->rank, &config));
  return zp_cuda_wait_until_complete(r, *world, "the making of the world's communicator");
}

/* Every rank splits, members or not. The parent completes first; only then does the child exist. */
int zp_cuda_comms_create(zp_cuda_comms *c, const zp_op *op)
{
  zp_cuda_rank *r = c->r;
  ncclComm_t *to = op->root == ZP_GROUP_TIED ? &c->tied[op->key] : &c->group[op->root];
  const ncclComm_t world = c->group[ZP_GROUP_WORLD];
  const int32_t id = zp_block_group_id(&r->plan.block, op->root, op->key);
  ncclConfig_t config = NCCL_CONFIG_INITIALIZER;
  config.blocking = 0;
  ZP_NCCL(r, ncclCommSplit(world, id < 0 ? NCCL_SPLIT_NOCOLOR : id, r->opt.rank, to, &config));
  ZP_TRY(zp_cuda_wait_until_complete(r, world, "the splitting of the world"));
  return *to ? zp_cuda_wait_until_complete(r, *to, "the making of a communicator") : 0;
}

/* ---- Ending ---------------------------------------------------------------------------------- */

static int32_t count(const zp_cuda_comms *c)
{
  return c->tied ? c->r->plan.cfg->tied_keys + ZP_ALL_GROUPS : 0;
}

/* Children before the world. */
static ncclComm_t *nth(zp_cuda_comms *c, int32_t i)
{
  const int32_t keys = c->r->plan.cfg->tied_keys;
  return i < keys ? &c->tied[i] : &c->group[ZP_ALL_GROUPS - 1 - (i - keys)];
}

int zp_cuda_comms_finalize(zp_cuda_comms *c)
{
  for (int32_t i = 0; i < count(c); i++) {
    ncclComm_t *comm = nth(c, i);
    if (!*comm) continue;
    ZP_NCCL(c->r, ncclCommFinalize(*comm));
    ZP_TRY(zp_cuda_wait_until_complete(c->r, *comm, "the end of a communicator"));
    ZP_NCCL(c->r, ncclCommDestroy(*comm));
    *comm = NULL;
  }
  return 0;
}

void zp_cuda_comms_abort(zp_cuda_comms *c)
{
  for (int32_t i = 0; i < count(c); i++) {
    ncclComm_t *comm = nth(c, i);
    if (*comm) ncclCommAbort(*comm);
    *comm = NULL;
  }
}

void zp_cuda_comms_close(zp_cuda_comms *c)
{
  free(c->tied);
}

int zp_cuda_comms_invariant(const zp_cuda_comms *c, zp_error *err)
{
  ZP_INVARIANT(err, -1, c->r && c->tied);
  ZP_INVARIANT(err, -1, c->order.by_events == 0 || c->order.by_events == 1);
  ZP_INVARIANT(err, -1, !c->order.by_events || c->r->plan.cfg->pp > 1 || c->r->opt.partial_gather);
  return 0;
}
