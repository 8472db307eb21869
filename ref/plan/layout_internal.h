/* Declarations shared by the layout's files. Not installed. */
#ifndef ZP_PLAN_LAYOUT_INTERNAL_H
#define ZP_PLAN_LAYOUT_INTERNAL_H

#include "layout.h"

#include "../../spec/acsl/layout_same.h"

/* x rounded up to a multiple of m; 0 <= x <= 2^41, 1 <= m <= 2^32 (D·align). PART-3 */
/*@ requires range: 0 <= x <= 2199023255552 && 1 <= m <= 4294967296;
    terminates \true; exits \false;
    assigns \nothing;
    ensures up: \result == RoundUp(x, m);
    ensures bounds: x <= \result < x + m; */
int64_t zp_round_up(int64_t x, int64_t m);

/* A stage's entries: the first, and how many. */
typedef struct zp_span {
  int32_t first, count;
} zp_span;

/* The entries of `stage`, 0 <= stage < pp, of a valid configuration. PART-1 */
/*@ requires cfg: Readable(cfg) && Valid(cfg);
    requires stage: 0 <= stage < cfg->pp;
    terminates \true; exits \false;
    assigns \nothing;
    ensures first: \result.first == StageFirst(cfg, stage);
    ensures count: \result.count == StageCount(cfg, stage);
    ensures range: 0 <= \result.first && 0 <= \result.count &&
      \result.first + \result.count <= cfg->n_params;
    ensures mine: \forall integer j; 0 <= j < cfg->n_params ==>
      (cfg->params[j].stage == stage <==>
        \result.first <= j < \result.first + \result.count); */
zp_span zp_stage_span(const zp_config *cfg, int32_t stage);

/* These four functions make all writes to a layout, so their frames are proven once. */

/* Sets the stage and its entries, with no flat group yet. PART-1 */
/*@ requires cfg: Readable(cfg);
    requires lay: WritableLayout(cfg, lay);
    terminates \true; exits \false;
    assigns lay->stage, lay->first_param, lay->n_params, lay->n_flats;
    ensures stage: lay->stage == stage;
    ensures entries: lay->first_param == entries.first && lay->n_params == entries.count;
    ensures empty: lay->n_flats == 0;
    ensures config: SameConfig{Pre,Post}(cfg);
    ensures readable: Readable(cfg);
    ensures room: StillRoom{Pre,Post}(lay);
    ensures lay: WritableLayout(cfg, lay); */
void zp_layout_name(const zp_config *cfg, zp_layout *lay, int32_t stage, zp_span entries);

/* Puts entry j, first_param <= j < first_param + cap_spots, into flat group `flat` from `start` on;
 * flat -1, start 0: into no flat group. PART-2 */
/*@ requires cfg: Readable(cfg);
    requires lay: WritableLayout(cfg, lay);
    requires entry: 0 <= lay->first_param <= j < lay->first_param + lay->cap_spots;
    terminates \true; exits \false;
    assigns lay->spot[j - lay->first_param];
    ensures spot: lay->spot[j - lay->first_param].flat == flat &&
      lay->spot[j - lay->first_param].start == start;
    ensures config: SameConfig{Pre,Post}(cfg);
    ensures readable: Readable(cfg);
    ensures room: StillRoom{Pre,Post}(lay);
    ensures lay: WritableLayout(cfg, lay);
    ensures stage: StillStage{Pre,Post}(lay);
    ensures count: lay->n_flats == \old(lay->n_flats);
    ensures flats: \forall integer m; 0 <= m < lay->cap_flats ==>
      StillFlat{Pre,Post}(lay->flat + m);
    ensures spots: \forall integer m; 0 <= m < lay->cap_spots && m != j - lay->first_param ==>
      StillSpot{Pre,Post}(lay->spot + m); */
void zp_layout_spot(const zp_config *cfg, zp_layout *lay, int32_t j, int32_t flat, int64_t start);

/* Sets flat group k, 0 <= k < cap_flats, to f. PART-2 */
/*@ requires cfg: Readable(cfg);
    requires lay: WritableLayout(cfg, lay);
    requires flat: 0 <= k < lay->cap_flats;
    terminates \true; exits \false;
    assigns lay->flat[k];
    ensures group: lay->flat[k].group == f.group && lay->flat[k].members == f.members;
    ensures entry: lay->flat[k].optgroup == f.optgroup && lay->flat[k].fp32 == f.fp32 &&
      lay->flat[k].tied == f.tied;
    ensures use: lay->flat[k].use == f.use && lay->flat[k].holder == f.holder;
    ensures numel: lay->flat[k].numel == f.numel;
    ensures capacity: lay->flat[k].capacity == f.capacity && lay->flat[k].align == f.align;
    ensures config: SameConfig{Pre,Post}(cfg);
    ensures readable: Readable(cfg);
    ensures room: StillRoom{Pre,Post}(lay);
    ensures lay: WritableLayout(cfg, lay);
    ensures stage: StillStage{Pre,Post}(lay);
    ensures count: lay->n_flats == \old(lay->n_flats);
    ensures flats: \forall integer m; 0 <= m < lay->cap_flats && m != k ==>
      StillFlat{Pre,Post}(lay->flat + m);
    ensures spots: \forall integer m; 0 <= m < lay->cap_spots ==>
      StillSpot{Pre,Post}(lay->spot + m); */
void zp_layout_flat(const zp_config *cfg, zp_layout *lay, int32_t k, zp_flat f);

/* Sets the number of flat groups to n. PART-2 */
/*@ requires cfg: Readable(cfg);
    requires lay: WritableLayout(cfg, lay);
    terminates \true; exits \false;
    assigns lay->n_flats;
    ensures count: lay->n_flats == n;
    ensures config: SameConfig{Pre,Post}(cfg);
    ensures readable: Readable(cfg);
    ensures room: StillRoom{Pre,Post}(lay);
    ensures lay: WritableLayout(cfg, lay);
    ensures stage: StillStage{Pre,Post}(lay);
    ensures flats: \forall integer m; 0 <= m < lay->cap_flats ==>
      StillFlat{Pre,Post}(lay->flat + m);
    ensures spots: \forall integer m; 0 <= m < lay->cap_spots ==>
      StillSpot{Pre,Post}(lay->spot + m); */
void zp_layout_count(const zp_config *cfg, zp_layout *lay, int32_t n);

#endif
