/* Every write to a layout. spec: PART-1, PART-2 */
#include "layout_internal.h"

void zp_layout_begin(const zp_config *cfg, int32_t stage, zp_layout *lay)
{
  lay->stage = stage;
  //@ assert input1: SameInput{Pre,Here}(cfg);
  //@ assert config1: SameConfig{Pre,Here}(cfg);
  lay->n_flats = 0;
  //@ assert input2: SameInput{Pre,Here}(cfg);
  //@ assert config2: SameConfig{Pre,Here}(cfg);
  zp_stage_params(cfg, stage, &lay->first_param, &lay->n_params);
}

void zp_layout_skip(const zp_config *cfg, zp_layout *lay, int32_t i)
{
  (void)cfg;
  lay->spot[i].flat = -1;
  lay->spot[i].start = 0;
}

void zp_layout_put(const zp_config *cfg, zp_layout *lay, int32_t i, int32_t k, zp_flat f)
{
  const int64_t numel = cfg->params[lay->first_param + i].numel;
  zp_flat *to = &lay->flat[k];
  to->group = f.group;
  to->members = f.members;
  to->optgroup = f.optgroup;
  to->tied = f.tied;
  to->use = f.use;
  to->holder = f.holder;
  to->numel = f.numel;
  to->capacity = f.capacity;
  to->align = f.align;
  //@ assert input1: SameInput{Pre,Here}(cfg);
  //@ assert config1: SameConfig{Pre,Here}(cfg);
  lay->spot[i].flat = k;
  lay->spot[i].start = f.numel - numel;
  lay->n_flats += k == lay->n_flats;
}
