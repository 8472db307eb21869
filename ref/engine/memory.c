/* spec: PART-5, STEP-1 */
#include "memory.h"

#include "partial.h"
#include "window.h"

static void add_flat(const zp_config *cfg, const zp_flat *f, zp_memory *m)
{
  const int64_t extent = zp_extent(f, cfg->stage), sum = zp_sum_bytes(cfg->reduce);
  if (cfg->stage < 2) m->window += zp_padded(f) * sum;
  else m->slots += 2 * zp_widest(f) * zp_dtype_bytes(cfg->precision);
  m->reduced += extent * sum;
  if (f->use != 0) return; /* further uses of a tied key are added to the first one's sum */
  if (cfg->reduce == ZP_EXACT) m->mean += extent * 4;
  m->state += 3 * extent * 4;
}

zp_memory zp_memory_of(const zp_config *cfg, const zp_layout *lay)
{
  const zp_scratch scratch = zp_scratch_need(cfg, lay);
  zp_memory m = {.scratch = scratch.send + scratch.recv + zp_partial_bytes(cfg, lay)};
  for (int32_t i = 0; i < lay->n_params; i++)
    if (zp_storage_of(cfg, lay, i) == i)
      m.params += cfg->params[lay->first_param + i].numel * zp_dtype_bytes(cfg->precision);
  for (int32_t k = 0; k < lay->n_flats; k++) add_flat(cfg, &lay->flat[k], &m);
  return m;
}

int64_t zp_memory_total(const zp_memory *m)
{
  return m->params + m->window + m->slots + m->reduced + m->mean + m->state + m->scratch;
}
