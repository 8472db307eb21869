/* All writes to a layout. The contracts use cfg, to state that it does not change.
 * spec: PART-1, PART-2 */
#include "layout_internal.h"

/* *to = f */
/*@ requires to: \valid(to);
    terminates \true; exits \false;
    assigns *to;
    ensures group: to->group == f.group && to->members == f.members;
    ensures entry: to->optgroup == f.optgroup && to->fp32 == f.fp32 && to->tied == f.tied;
    ensures use: to->use == f.use && to->holder == f.holder;
    ensures numel: to->numel == f.numel;
    ensures capacity: to->capacity == f.capacity && to->align == f.align; */
static void write_flat(zp_flat *to, zp_flat f)
{
  to->group = f.group;
  to->members = f.members;
  to->optgroup = f.optgroup;
  to->fp32 = f.fp32;
  to->tied = f.tied;
  to->use = f.use;
  to->holder = f.holder;
  to->numel = f.numel;
  to->capacity = f.capacity;
  to->align = f.align;
}

/* *to = {flat, start} */
/*@ requires to: \valid(to);
    terminates \true; exits \false;
    assigns *to;
    ensures spot: to->flat == flat && to->start == start; */
static void write_spot(zp_spot *to, int32_t flat, int64_t start)
{
  to->flat = flat;
  to->start = start;
}

void zp_layout_name(const zp_config *cfg, zp_layout *lay, int32_t stage, zp_span entries)
{
  (void)cfg;
  lay->stage = stage;
  lay->first_param = entries.first;
  lay->n_params = entries.count;
  lay->n_flats = 0;
}

void zp_layout_spot(const zp_config *cfg, zp_layout *lay, int32_t j, int32_t flat, int64_t start)
{
  (void)cfg;
  write_spot(&lay->spot[j - lay->first_param], flat, start);
  //@ assert scalars: SameScalars{Pre,Here}(cfg);
  //@ assert entries: \forall integer m; 0 <= m < cfg->n_params ==> SameEntry{Pre,Here}(cfg, m);
}

void zp_layout_flat(const zp_config *cfg, zp_layout *lay, int32_t k, zp_flat f)
{
  (void)cfg;
  write_flat(&lay->flat[k], f);
  //@ assert scalars: SameScalars{Pre,Here}(cfg);
  //@ assert entries: \forall integer m; 0 <= m < cfg->n_params ==> SameEntry{Pre,Here}(cfg, m);
}

void zp_layout_count(const zp_config *cfg, zp_layout *lay, int32_t n)
{
  (void)cfg;
  lay->n_flats = n;
}
