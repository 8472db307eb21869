/* What the parts of zp_layout_build share: every write to a layout is here, so that what they leave
 * alone is shown once. Not installed. */
#ifndef ZP_PLAN_LAYOUT_INTERNAL_H
#define ZP_PLAN_LAYOUT_INTERNAL_H

#include "layout.h"

#include "../../spec/acsl/layout_same.h"

/* Names the stage and its entries; no flat group yet. PART-1 */
/*@ requires cfg: Readable(cfg) && Valid(cfg);
    requires stage: 0 <= stage < cfg->pp;
    requires lay: WritableLayout(cfg, lay);
    terminates \true; exits \false;
    assigns lay->stage, lay->first_param, lay->n_params, lay->n_flats;
    ensures stage: lay->stage == stage;
    ensures first: lay->first_param == \old(StageFirst(cfg, stage));
    ensures count: lay->n_params == \old(StageCount(cfg, stage));
    ensures range: 0 <= lay->first_param && 0 <= lay->n_params && EndOf(lay) <= cfg->n_params;
    ensures empty: lay->n_flats == 0;
    ensures input: SameInput{Pre,Post}(cfg);
    ensures config: SameConfig{Pre,Post}(cfg);
    ensures readable: Readable(cfg);
    ensures room: SameRoom{Pre,Post}(lay);
    ensures lay: WritableLayout(cfg, lay); */
void zp_layout_begin(const zp_config *cfg, int32_t stage, zp_layout *lay);

/* Entry first_param + i is in no flat group: it is frozen. PART-1 */
/*@ requires cfg: Readable(cfg);
    requires lay: WritableLayout(cfg, lay);
    requires entry: 0 <= i < lay->cap_spots;
    terminates \true; exits \false;
    assigns lay->spot[i];
    ensures spot: lay->spot[i].flat == -1 && lay->spot[i].start == 0;
    ensures input: SameInput{Pre,Post}(cfg);
    ensures config: SameConfig{Pre,Post}(cfg);
    ensures readable: Readable(cfg);
    ensures stage: SameStage{Pre,Post}(lay);
    ensures room: SameRoom{Pre,Post}(lay);
    ensures lay: WritableLayout(cfg, lay);
    ensures count: lay->n_flats == \old(lay->n_flats);
    ensures flats: \forall integer m; 0 <= m < lay->cap_flats ==>
      SameFlat{Pre,Post}(lay->flat + m, 0);
    ensures spots: \forall integer m; 0 <= m < lay->cap_spots && m != i ==>
      SameSpot{Pre,Post}(lay->spot + m); */
void zp_layout_skip(const zp_config *cfg, zp_layout *lay, int32_t i);

/* Entry first_param + i is the last so far of flat group k, which becomes f; k is a new one when it
 * is n_flats. PART-2 */
/*@ requires cfg: Readable(cfg);
    requires lay: WritableLayout(cfg, lay);
    requires entry: 0 <= i < lay->cap_spots && 0 <= lay->first_param &&
      lay->first_param + i < cfg->n_params <= 65536;
    requires flat: 0 <= k <= lay->n_flats <= 65536 && k < lay->cap_flats;
    requires numel: 0 <= f.numel - cfg->params[lay->first_param + i].numel <= f.numel;
    terminates \true; exits \false;
    assigns lay->n_flats, lay->flat[k], lay->spot[i];
    ensures spot: lay->spot[i].flat == k &&
      lay->spot[i].start == f.numel - \old(cfg->params[lay->first_param + i].numel);
    ensures flat: lay->flat[k].group == f.group && lay->flat[k].members == f.members &&
      lay->flat[k].optgroup == f.optgroup && lay->flat[k].tied == f.tied &&
      lay->flat[k].use == f.use && lay->flat[k].holder == f.holder &&
      lay->flat[k].numel == f.numel && lay->flat[k].capacity == f.capacity &&
      lay->flat[k].align == f.align;
    ensures input: SameInput{Pre,Post}(cfg);
    ensures config: SameConfig{Pre,Post}(cfg);
    ensures readable: Readable(cfg);
    ensures stage: SameStage{Pre,Post}(lay);
    ensures room: SameRoom{Pre,Post}(lay);
    ensures lay: WritableLayout(cfg, lay);
    ensures count: lay->n_flats == \old(lay->n_flats) + (k == \old(lay->n_flats) ? 1 : 0);
    ensures flats: \forall integer m; 0 <= m < lay->cap_flats && m != k ==>
      SameFlat{Pre,Post}(lay->flat + m, 0);
    ensures spots: \forall integer m; 0 <= m < lay->cap_spots && m != i ==>
      SameSpot{Pre,Post}(lay->spot + m); */
void zp_layout_put(const zp_config *cfg, zp_layout *lay, int32_t i, int32_t k, zp_flat f);

#endif
