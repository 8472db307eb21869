/* Ranks, their coordinates and their groups.
 * rank = (pp_index·dp + dp_index)·tp + tp_index. spec: TOPO-1 … TOPO-5 */
#ifndef ZP_PLAN_TOPOLOGY_H
#define ZP_PLAN_TOPOLOGY_H

#include <stdint.h>

#include "../../spec/acsl/bounds.h"
#include "config.h"

typedef enum zp_group {
  ZP_GROUP_WORLD = 0,
  ZP_GROUP_DP = 1,   /* same pp and tp index */
  ZP_GROUP_TP = 2,   /* same pp and dp index */
  ZP_GROUP_PP = 3,   /* same dp and tp index */
  ZP_GROUP_EDP = 4,  /* in dp: same dp index mod ep */
  ZP_GROUP_EP = 5,   /* in dp: same dp index div ep */
  ZP_GROUP_TIED = 6, /* same dp and tp index, stages that hold the key */
  ZP_GROUPS = 7
} zp_group;

typedef struct zp_coord {
  int32_t pp, dp, tp; /* indices */
} zp_coord;

#include "../../spec/acsl/topology.h"

/* Ranks of the whole job, 1..2^20. cfg is valid and readable. spec: TOPO-1 */
/*@ requires cfg: Readable(cfg) && Valid(cfg);
    terminates \true;
    exits \false;
    assigns \nothing;
    ensures world: \result == World(cfg);
    ensures product: \result == cfg->pp * cfg->dp * cfg->tp;
    ensures range: 1 <= \result <= ZP_LIMIT_RANKS; */
int32_t zp_world(const zp_config *cfg);

/* Coordinates of rank 0 <= rank < world. cfg is valid and readable. spec: TOPO-1 */
/*@ requires cfg: Readable(cfg) && Valid(cfg);
    requires rank: 0 <= rank < World(cfg);
    terminates \true;
    exits \false;
    assigns \nothing;
    ensures tp: \result.tp == rank % cfg->tp;
    ensures dp: \result.dp == (rank / cfg->tp) % cfg->dp;
    ensures pp: \result.pp == rank / cfg->tp / cfg->dp;
    ensures within: Within(cfg, \result.pp, \result.dp, \result.tp);
    ensures inverse: Rank(cfg, \result.pp, \result.dp, \result.tp) == rank; */
zp_coord zp_coord_of(const zp_config *cfg, int32_t rank);

/* The inverse of zp_coord_of: the rank at coordinates within the topology. cfg is valid and
 * readable. spec: TOPO-1 */
/*@ requires cfg: Readable(cfg) && Valid(cfg);
    requires at: Within(cfg, at.pp, at.dp, at.tp);
    terminates \true;
    exits \false;
    assigns \nothing;
    ensures rank: \result == Rank(cfg, at.pp, at.dp, at.tp);
    ensures formula: \result == (at.pp * cfg->dp + at.dp) * cfg->tp + at.tp;
    ensures range: 0 <= \result < World(cfg); */
int32_t zp_rank_of(const zp_config *cfg, zp_coord at);

/* 1 if pipeline stage `stage` has an entry with tied key `key`, else 0. cfg is valid and readable.
 * spec: TOPO-4 */
/*@ requires cfg: Readable(cfg) && Valid(cfg);
    terminates \true;
    exits \false;
    assigns \nothing;
    ensures on: \result == On(cfg, key, stage);
    ensures yes: \result == 1 <==> \exists integer j; 0 <= j < cfg->n_params &&
        cfg->params[j].tied == key && cfg->params[j].stage == stage;
    ensures bit: \result == 0 || \result == 1; */
int32_t zp_tied_on_stage(const zp_config *cfg, int32_t key, int32_t stage);

/* The number of members of the group of this kind (for ZP_GROUP_TIED: of key `key`) that contains
 * coordinate `at`; 0 if `at` is in no such group. cfg is valid and readable, `at` within the
 * topology.
 * spec: TOPO-2 … TOPO-4 */
/*@ requires cfg: Readable(cfg) && Valid(cfg);
    requires at: Within(cfg, at.pp, at.dp, at.tp);
    terminates \true;
    exits \false;
    assigns \nothing;
    ensures size: \result == GroupSize(cfg, group, key, at.pp);
    ensures range: 0 <= \result <= World(cfg); */
int32_t zp_group_size(const zp_config *cfg, int32_t group, int32_t key, zp_coord at);

/* The index of `at` in its own group, 0..size-1, or -1 if it is in no such group. cfg is valid and
 * readable, `at` within the topology. spec: TOPO-2 … TOPO-4 */
/*@ requires cfg: Readable(cfg) && Valid(cfg);
    requires at: Within(cfg, at.pp, at.dp, at.tp);
    terminates \true;
    exits \false;
    assigns \nothing;
    ensures index: \result == GroupIndex(cfg, group, key, at.pp, at.dp, at.tp);
    ensures range: -1 <= \result < World(cfg); */
int32_t zp_group_index(const zp_config *cfg, int32_t group, int32_t key, zp_coord at);

/* The i-th member (a world rank) of the group that contains `at`, 0 <= i < size; members ascend. -1
 * if there is no such member. cfg is valid and readable, `at` within the topology.
 * spec: TOPO-2 … TOPO-4 */
/*@ requires cfg: Readable(cfg) && Valid(cfg);
    requires at: Within(cfg, at.pp, at.dp, at.tp);
    terminates \true;
    exits \false;
    assigns \nothing;
    ensures member: \result == GroupMember(cfg, group, key, at.pp, at.dp, at.tp, i);
    ensures range: -1 <= \result < World(cfg); */
int32_t zp_group_member(const zp_config *cfg, int32_t group, int32_t key, zp_coord at, int32_t i);

/* A number that is equal for two ranks iff they are in the same group of this kind: the group's
 * first member. -1 if `at` is in no such group. cfg is valid and readable, `at` within the
 * topology.
 * spec: TOPO-5 */
/*@ requires cfg: Readable(cfg) && Valid(cfg);
    requires at: Within(cfg, at.pp, at.dp, at.tp);
    terminates \true;
    exits \false;
    assigns \nothing;
    ensures id: \result == GroupMember(cfg, group, key, at.pp, at.dp, at.tp, 0);
    ensures range: -1 <= \result < World(cfg); */
int32_t zp_group_id(const zp_config *cfg, int32_t group, int32_t key, zp_coord at);

/* The lowest stage that holds `key`, or -1. cfg is valid and readable. spec: TOPO-4 */
/*@ requires cfg: Readable(cfg) && Valid(cfg);
    terminates \true;
    exits \false;
    assigns \nothing;
    ensures first: \result == StageOf(cfg, key, 0);
    ensures stage: -1 <= \result < cfg->pp;
    ensures holds: 0 <= \result ==> On(cfg, key, \result) == 1;
    ensures lowest: \forall integer s; 0 <= s < cfg->pp && On(cfg, key, s) == 1 ==>
        0 <= \result <= s; */
int32_t zp_tied_first_stage(const zp_config *cfg, int32_t key);

#endif
