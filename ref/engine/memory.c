/* spec: PART-5, STEP-1 */
#include "memory.h"

#include "bucket_slots.h"
#include "early.h"
#include "partial.h"
#include "window.h"

/* Bytes of a value of flat group f. */
static int64_t flat_size(const zp_config *cfg, const zp_flat *f)
{
  return zp_dtype_bytes(zp_dtype_of(f->fp32, cfg->precision));
}

int zp_has_views(const zp_config *cfg, const zp_layout *lay, int32_t k)
{
  const int64_t size = flat_size(cfg, &lay->flat[k]);
  if (cfg->stage == 0 || lay->flat[k].use != 0) return 0;
  for (int32_t i = 0; i < lay->n_params; i++)
    if (lay->spot[i].flat == k && lay->spot[i].start * size % ZP_VIEW_BYTES != 0) return 0;
  return 1;
}

/* Bytes of the stored entries of flat group k, or -1: of those that are frozen. */
static int64_t entries_of(const zp_config *cfg, const zp_layout *lay, int32_t k)
{
  int64_t n = 0;
  for (int32_t i = 0; i < lay->n_params; i++)
    if (lay->spot[i].flat == k && zp_storage_of(cfg, lay, i) == i)
      n += cfg->params[lay->first_param + i].numel *
           zp_dtype_bytes(zp_entry_dtype(cfg, lay->first_param + i));
  return n;
}

static void add_flat(const zp_config *cfg, const zp_layout *lay, int32_t fp32_gradients, int32_t k,
                     zp_memory *m)
{
  const zp_flat *f = &lay->flat[k];
  const int32_t dtype = zp_dtype_of(f->fp32 || fp32_gradients, cfg->precision);
  const int64_t extent = zp_extent(f, cfg->stage);
  const int64_t sum = zp_kept_sum_bytes(cfg->stage, cfg->reduce, dtype);
  if (cfg->stage < 2) m->window += zp_padded(f) * sum;
  else m->reduced += extent * sum;
  if (f->use != 0) return; /* further uses of a tied key are added to the first one's sum */
  if (cfg->reduce == ZP_EXACT && cfg->stage < 2) m->mean += extent * 4;
  m->state += 3 * extent * 4;
}

zp_memory zp_memory_of(const zp_config *cfg, const zp_layout *lay, int32_t slots,
                       int32_t fp32_gradients)
{
  const zp_scratch scratch = zp_scratch_need(cfg, lay);
  zp_memory m = {.scratch = scratch.send + scratch.recv + zp_partial_bytes(cfg, lay),
                 .params = entries_of(cfg, lay, -1)};
  if (cfg->stage == 2)
    m.slots = zp_slot_count(cfg, lay, slots) * zp_slot_bytes(cfg, lay, fp32_gradients);
  for (int32_t k = 0; k < lay->n_flats; k++) {
    add_flat(cfg, lay, fp32_gradients, k, &m);
    m.params += zp_has_views(cfg, lay, k) ? zp_padded(&lay->flat[k]) * flat_size(cfg, &lay->flat[k])
                                          : entries_of(cfg, lay, k);
  }
  return m;
}

int64_t zp_memory_total(const zp_memory *m)
{
  return m->params + m->window + m->slots + m->reduced + m->mean + m->state + m->scratch;
}

int64_t zp_device_spare_limbs(const zp_block_rank *b, const zp_layout *lay)
{
  zp_config floats = b->cfg;
  if (!zp_is_packed(b->cfg.stage, b->cfg.reduce) || b->replicas > 1 || b->cfg.sequence_parallel)
    return 0;
  for (int32_t k = 0; k < lay->n_flats; k++)
    if (lay->flat[k].tied >= 0) return 0;
  floats.reduce = ZP_ORDERED;
  return zp_scratch_need(&b->cfg, lay).recv - zp_scratch_need(&floats, lay).recv;
}

int zp_device_memory_of(const zp_block_rank *b, const zp_layout *lay, zp_device_memory *m)
{
  zp_config own = b->cfg;
  zp_early early;
  own.params = b->job->params; /* gradients have no padding */
  const int failed = zp_early_open(&early, &own, lay, b->fp32_gradients, 0);
  *m = (zp_device_memory){.early = early.bytes, .limbs = zp_device_spare_limbs(b, lay)};
  zp_early_close(&early);
  if (b->cfg.stage == 2)
    m->native = zp_slot_count(&b->cfg, lay, b->slots) *
                (zp_slot_bytes(&b->cfg, lay, 1) - zp_slot_bytes(&b->cfg, lay, b->fp32_gradients));
  return failed;
}

int64_t zp_device_memory_total(const zp_memory *m, const zp_device_memory *device)
{
  return zp_memory_total(m) + device->early - device->limbs;
}
