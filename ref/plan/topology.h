/* Who is who: ranks, coordinates and the groups that they form.
 * rank = (pp_index·dp + dp_index)·tp + tp_index. spec: TOPO-1 … TOPO-5 */
#ifndef ZP_PLAN_TOPOLOGY_H
#define ZP_PLAN_TOPOLOGY_H

#include <stdint.h>

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

/* Ranks of the whole job, 1..2^20 for a valid configuration. spec: TOPO-1 */
/*@ requires cfg: \valid_read(cfg);
    requires small: 1 <= cfg->pp <= 1048576 && 1 <= cfg->dp <= 1048576 && 1 <= cfg->tp <= 1048576;
    requires world: cfg->pp * cfg->dp * cfg->tp <= 1048576;
    terminates \true; exits \false;
    assigns \nothing;
    ensures product: \result == cfg->pp * cfg->dp * cfg->tp; */
int32_t zp_world(const zp_config *cfg);

/* Coordinates of rank 0 <= rank < world. spec: TOPO-1 */
/*@ requires cfg: \valid_read(cfg);
    requires small: 1 <= cfg->pp <= 1048576 && 1 <= cfg->dp <= 1048576 && 1 <= cfg->tp <= 1048576;
    requires world: cfg->pp * cfg->dp * cfg->tp <= 1048576;
    requires rank: 0 <= rank < cfg->pp * cfg->dp * cfg->tp;
    terminates \true; exits \false;
    assigns \nothing;
    ensures tp: \result.tp == rank % cfg->tp;
    ensures dp: \result.dp == (rank / cfg->tp) % cfg->dp;
    ensures pp: \result.pp == rank / cfg->tp / cfg->dp; */
zp_coord zp_coord_of(const zp_config *cfg, int32_t rank);

/* The inverse of zp_coord_of. spec: TOPO-1 */
/*@ requires cfg: \valid_read(cfg);
    requires small: 1 <= cfg->pp <= 1048576 && 1 <= cfg->dp <= 1048576 && 1 <= cfg->tp <= 1048576;
    requires world: cfg->pp * cfg->dp * cfg->tp <= 1048576;
    requires at: 0 <= at.pp < cfg->pp && 0 <= at.dp < cfg->dp && 0 <= at.tp < cfg->tp;
    terminates \true; exits \false;
    assigns \nothing;
    ensures rank: \result == (at.pp * cfg->dp + at.dp) * cfg->tp + at.tp; */
int32_t zp_rank_of(const zp_config *cfg, zp_coord at);

/* Does any entry of tied key `key` live on pipeline stage `stage`? spec: TOPO-4 */
/*@ requires cfg: \valid_read(cfg) && 0 <= cfg->n_params <= 65536;
    requires list: \valid_read(cfg->params + (0 .. cfg->n_params - 1));
    terminates \true; exits \false;
    assigns \nothing;
    ensures yes: \result == 1 <==> \exists integer j; 0 <= j < cfg->n_params &&
        cfg->params[j].tied == key && cfg->params[j].stage == stage;
    ensures bit: \result == 0 || \result == 1; */
int32_t zp_tied_on_stage(const zp_config *cfg, int32_t key, int32_t stage);

/* Members of the group of this kind (for ZP_GROUP_TIED: of key `key`) that contains coordinate
 * `at`; 0 when `at` is in no such group. spec: TOPO-2 … TOPO-4 */
/*@ requires cfg: Readable(cfg) && Valid(cfg);
    requires at: 0 <= at.pp < cfg->pp && 0 <= at.dp < cfg->dp && 0 <= at.tp < cfg->tp;
    terminates \true; exits \false;
    assigns \nothing;
    ensures size: 0 <= \result <= cfg->pp * cfg->dp * cfg->tp; */
int32_t zp_group_size(const zp_config *cfg, int32_t group, int32_t key, zp_coord at);

/* Place of `at` in its own group, 0..size-1, or -1 when it is in none. spec: TOPO-2 … TOPO-4 */
/*@ requires cfg: Readable(cfg) && Valid(cfg);
    requires at: 0 <= at.pp < cfg->pp && 0 <= at.dp < cfg->dp && 0 <= at.tp < cfg->tp;
    terminates \true; exits \false;
    assigns \nothing;
    ensures place: -1 <= \result < cfg->pp * cfg->dp * cfg->tp; */
int32_t zp_group_index(const zp_config *cfg, int32_t group, int32_t key, zp_coord at);

/* The i-th member (a world rank) of the group that contains `at`, 0 <= i < size; members ascend.
 * -1 when there is none. spec: TOPO-2 … TOPO-4 */
/*@ requires cfg: Readable(cfg) && Valid(cfg);
    requires at: 0 <= at.pp < cfg->pp && 0 <= at.dp < cfg->dp && 0 <= at.tp < cfg->tp;
    terminates \true; exits \false;
    assigns \nothing;
    ensures rank: -1 <= \result < cfg->pp * cfg->dp * cfg->tp; */
int32_t zp_group_member(const zp_config *cfg, int32_t group, int32_t key, zp_coord at, int32_t i);

/* A number that equals for two ranks iff they are in the same group of this kind: the group's
 * first member. -1 when `at` is in none. spec: TOPO-5 */
/*@ requires cfg: Readable(cfg) && Valid(cfg);
    requires at: 0 <= at.pp < cfg->pp && 0 <= at.dp < cfg->dp && 0 <= at.tp < cfg->tp;
    terminates \true; exits \false;
    assigns \nothing;
    ensures rank: -1 <= \result < cfg->pp * cfg->dp * cfg->tp; */
int32_t zp_group_id(const zp_config *cfg, int32_t group, int32_t key, zp_coord at);

/* The lowest stage that holds `key`, or -1. spec: TOPO-4 */
/*@ requires cfg: Readable(cfg) && Valid(cfg);
    terminates \true; exits \false;
    assigns \nothing;
    ensures stage: -1 <= \result < cfg->pp;
    ensures holds: 0 <= \result ==> \exists integer j; 0 <= j < cfg->n_params &&
        cfg->params[j].tied == key && cfg->params[j].stage == \result; */
int32_t zp_tied_first_stage(const zp_config *cfg, int32_t key);

#endif
