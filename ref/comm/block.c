/* spec: TOPO-6, LIM-10 */
#include "block.h"

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
