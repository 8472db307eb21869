/* spec: TOPO-6, PART-2, LIM-10, LIM-11 */
#include "block.h"

#include <stdlib.h>

#include "../plan/flat_size.h"

int zp_block_check(const zp_config *job, int32_t replicas, zp_error *err)
{
  if (replicas == 1) return ZP_OK;
  if (replicas < 1 || replicas > job->dp)
    return zp_fail(err, ZP_E_REFUSED, -1,
                   "replicas: %d is out of range; allowed is 1 to dp, %d (LIM-10)", (int)replicas,
                   (int)job->dp);
  if (job->stage == 0)
    return zp_fail(err, ZP_E_REFUSED, -1,
                   "replicas: %d is refused at ZeRO stage 0, where every rank has all of the "
                   "state; allowed are stages 1 and 2 (LIM-10)",
                   (int)replicas);
  if (job->dp % replicas == 0 && job->dp / replicas % job->ep == 0) return ZP_OK;
  return zp_fail(err, ZP_E_REFUSED, -1,
                 "replicas: %d is refused: ep x replicas, %d x %d, must divide dp, %d (LIM-10)",
                 (int)replicas, (int)job->ep, (int)replicas, (int)job->dp);
}

zp_block_rank zp_block_of(const zp_config *job, int32_t replicas, int32_t rank)
{
  zp_block_rank b = {
      .job = job, .cfg = *job, .replicas = replicas, .index = 0, .at = zp_coord_of(job, rank)};
  b.cfg.dp = job->dp / replicas;
  b.index = b.at.dp / b.cfg.dp;
  b.at.dp %= b.cfg.dp;
  return b;
}

int zp_block_align(zp_block_rank *b, int64_t entry_align)
{
  const zp_config *job = b->job;
  if (entry_align <= 1) return 0;
  b->sized = calloc((size_t)job->n_params + 1, sizeof *b->sized);
  if (b->sized == NULL) return -1;
  for (int32_t j = 0; j < job->n_params; j++) {
    b->sized[j] = job->params[j];
    b->sized[j].numel = zp_flat_size(&job->params[j], entry_align);
  }
  b->cfg.params = b->sized;
  return 0;
}

void zp_block_close(zp_block_rank *b)
{
  free(b->sized);
  b->sized = NULL;
}

int zp_block_check_align(const zp_config *job, int64_t entry_align, zp_error *err)
{
  int64_t left = ZP_MAX_ELEMENTS;
  if (entry_align < 0 || entry_align > ZP_MAX_ENTRY_ALIGN)
    return zp_fail(err, ZP_E_REFUSED, -1,
                   "entry_align: %lld is out of range; allowed is 0 to %lld (LIM-11)",
                   (long long)entry_align, (long long)ZP_MAX_ENTRY_ALIGN);
  for (int32_t j = 0; entry_align > 1 && j < job->n_params; j++) {
    const zp_param *p = &job->params[j];
    const int64_t copies = (int64_t)(p->sharded ? job->tp : 1) * (p->expert ? job->ep : 1);
    left -= zp_flat_size(p, entry_align) * copies; /* at most 2^60 + 2^32 */
    if (left < 0)
      return zp_fail(err, ZP_E_REFUSED, -1,
                     "entry_align: %lld is refused: the entries take more than %lld elements with "
                     "their padding (LIM-11)",
                     (long long)entry_align, (long long)ZP_MAX_ELEMENTS);
  }
  return ZP_OK;
}

int64_t zp_block_own(const zp_block_rank *b, int32_t param, int64_t offset, int64_t count)
{
  const int64_t left = b->job->params[param].numel - offset;
  if (left <= 0) return 0;
  return left < count ? left : count;
}

/* The job's rank at `at` of block k. */
static int32_t rank_in(const zp_block_rank *b, int32_t k, zp_coord at)
{
  at.dp += k * b->cfg.dp;
  return zp_rank_of(b->job, at);
}

int32_t zp_block_group_size(const zp_block_rank *b, int32_t group, int32_t key)
{
  if (group == ZP_GROUP_REPLICA) return b->replicas;
  return group == ZP_GROUP_WORLD ? zp_world(b->job) : zp_group_size(&b->cfg, group, key, b->at);
}

int32_t zp_block_group_index(const zp_block_rank *b, int32_t group, int32_t key)
{
  if (group == ZP_GROUP_REPLICA) return b->index;
  return group == ZP_GROUP_WORLD ? rank_in(b, b->index, b->at)
                                 : zp_group_index(&b->cfg, group, key, b->at);
}

int32_t zp_block_group_member(const zp_block_rank *b, int32_t group, int32_t key, int32_t i)
{
  int32_t member;
  if (i < 0 || i >= zp_block_group_size(b, group, key)) return -1;
  if (group == ZP_GROUP_REPLICA) return rank_in(b, i, b->at);
  if (group == ZP_GROUP_WORLD) return i;
  member = zp_group_member(&b->cfg, group, key, b->at, i);
  return rank_in(b, b->index, zp_coord_of(&b->cfg, member));
}

int32_t zp_block_group_id(const zp_block_rank *b, int32_t group, int32_t key)
{
  return zp_block_group_member(b, group, key, 0);
}
